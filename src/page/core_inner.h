/*
 * core_inner.h - what the files that answer questions share.
 */
#pragma once
#include "analysis/calltree.h"
#include "analysis/flat.h"
#include "analysis/grouping.h"
#include "base/json.h"
#include "page/code.h"
#include "page/core.h"
#include "page/question.h"

enum { FLAT_KINDS = FLAT_LABEL }; /* but by label */

/* A selection and what was built from it so far. */
struct core_view {
    char *key; /* question_add_key(); NULL = free */
    uint64_t used;
    struct selection selection;
    struct flat *flat[FLAT_KINDS];
    struct {
        char *key; /* of the list that was ranked last: by what it is listed, sorted and filtered */
        uint32_t *rows;
        size_t n, all; /* rows in order so far; how many there are */
    } ranked;
    char *label; /* the last that was listed by, with its groups */
    struct grouping groups;
    struct flat *by_label;
    char *tree_key;
    struct calltree *tree; /* the last that was asked for */
};

enum { CORE_VIEWS = 6 };

struct core_panes {
    bool known, heap, locks;
};

struct core {
    struct profile *profile[QUESTION_FILES]; /* NULL = none */
    struct page_code *code[QUESTION_FILES];  /* the same */
    struct core_panes panes[QUESTION_FILES]; /* what the file has besides samples */
    struct core_view views[CORE_VIEWS];
    uint64_t rows_bytes_max; /* of a file that is loaded */
    uint64_t clock;          /* of uses */
    struct buf columns;      /* core_columns() */
};

/* What Q selects; stays good until CORE_VIEWS others were asked for. NULL and ERR on failure. */
struct core_view *core_view(struct core *c, const struct question *q, struct err *err);
struct flat *core_flat(struct core_view *v, enum flat_by by); /* not by label */

/* By "function", "module", "thread", "line", "file", or a label; NULL = by function. */
struct flat *core_flat_by(struct core_view *v, const char *name, struct err *err);

/* Where a label or row was met first: its module, and the file of its function. */
struct core_place {
    struct mapping_id mapping;
    struct function_id function;
    bool met;
};

void core_put_place(struct json *j, const struct profile *p, const struct core_place *at);

/* JSON that is printed somewhere else, on its way into an answer. */
struct printed {
    FILE *out;
    char *at;
    size_t n;
};

void printed_open(struct printed *p);
void printed_put(struct printed *p, struct json *j, const char *key);

/* Whether P has what core_events() lists: what happened at moments, or lasted. */
bool core_has_events(const struct profile *p);

/* Rows of the lists that commands print. */
enum { STORY_TOP = 50 };

/* The name of a recording. */
const char *core_subject(const struct profile *p);

/* The same rows of another stream: its event and value, and no filter by function. */
struct question core_of_stream(const struct question *q, const char *event, const char *value);

/* Answers: members of an object that is open already. They return 0, or -1 and ERR, and have put
 * nothing then. */
typedef int core_answer(struct core *c, const struct question *q, struct json *j, struct err *err);

core_answer core_about, core_lanes, core_tree, core_tree_shares, core_list, core_calls, core_search,
    core_report, core_heap, core_locks, core_scopes, core_waits, core_compare, core_palette,
    core_code, core_moment, core_match, core_events;
