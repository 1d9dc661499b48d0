/*
 * selection_inner.h - the filters behind a selection.
 *
 * Each takes the job, marks rows that do not count in `out`, and adds its words. A filter that
 * matches nothing fails and lists what there is instead.
 */
#pragma once
#include "analysis/selection.h"
#include "base/buf.h"
#include "base/pattern.h"

struct selection_job {
    const struct profile *p;
    const struct stream *stream;
    struct value_ref value;
    const struct selection_opts *opts;
    uint8_t *out; /* by row of the stream */
    struct selection_moments moments;
    struct buf words;
    struct err *err;
};

int selection_by_time(struct selection_job *job);
int selection_by_thread(struct selection_job *job);
int selection_by_process(struct selection_job *job);
int selection_by_attrs(struct selection_job *job);
int selection_by_scope(struct selection_job *job);

/* Before and while rows are chosen: stacks that are changed become the job's and S's profile. */
int selection_collapse(struct selection_job *job, struct selection *s);
int selection_descend(struct selection_job *job, struct selection *s);

/* "thread worker or 123", behind what is there already. LIST ends with NULL. */
void selection_add_words(struct selection_job *job, const char *what, const char *const *list);

/* Names to offer where one is not found; they may repeat. */
typedef VEC(const char *) selection_names;

void selection_add_name(selection_names *names, const char *name);

/* "no thread 'x'; did you mean 'y'?", or with some of the names there are. Always -1. */
int selection_none(struct selection_job *job, const char *what, const char *word,
                   selection_names *names);
