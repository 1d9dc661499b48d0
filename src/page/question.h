/*
 * question.h - what the page asks: one JSON object, taken apart.
 *
 *     {"ask": "tree", "file": 0, "time": "1..2", "focus": ["parse"], "inverted": true}
 *
 * The members that select have the names and the meaning of the command line's options, so the page
 * can show its selection as a command. An unknown member is an error: a question that is half
 * understood would get an answer to another one.
 */
#pragma once
#include "analysis/selection.h"
#include "base/arena.h"
#include "base/buf.h"

enum { QUESTION_FILES = 2, QUESTION_LIST_MAX = 64, QUESTION_NAMES_MAX = 100000 };

enum question_list {
    QUESTION_THREADS,
    QUESTION_PROCESSES,
    QUESTION_WHERE,
    QUESTION_SCOPES,
    QUESTION_FOCUS,
    QUESTION_IGNORE,
    QUESTION_HIDE,
    QUESTION_COLLAPSE_MODULES,
    QUESTION_COLLAPSE_RECURSION,
    QUESTION_LISTS,
};

struct question {
    const char *ask;
    int64_t file;              /* which of the loaded files */
    const char *event, *value; /* NULL = as the terminal would choose */
    const char *time;          /* NULL = all */
    const char *subtree;       /* the same */
    const char *list[QUESTION_LISTS][QUESTION_LIST_MAX + 1];
    bool merge_recursion;
    const char *other_time; /* compare with this range of the same file; NULL = the second file */
    const char *by, *sort, *group, *pattern, *function;
    const char **names; /* of functions that PATTERN may match, N_NAMES */
    size_t n_names;
    bool inverted, chart, force;
    bool same_arguments; /* of two files that leave them out: they are known not to differ */
    bool brief;          /* of the timeline: threads alone, no states, marks, counters and scopes;
                            of the report: what stands out, modules and threads */
    bool packed;  /* of trees: columns of numbers as bytes beside the answer (core_columns) */
    double least; /* share below which nodes are left out */
    int64_t top, skip, bins;
    int64_t pid, tid;    /* of the moment that is asked about */
    double from_s, to_s; /* what of the time axis is seen; to_s 0 = all */
    struct arena arena;
};

/* Take JSON apart. Give the memory back with question_done(), whatever is returned. */
int question_read(struct question *q, struct text json, struct err *err);
void question_done(struct question *q);

/* What it selects. Points into Q. */
struct selection_opts question_selection(const struct question *q);

/* Append a text that identifies the selection. */
void question_add_key(const struct question *q, struct buf *b);
