/*
 * top.h - a screen of the last seconds: what runs, with intervals.
 */
#pragma once
#include "analysis/flat.h"
#include "base/buf.h"

enum top_by { TOP_FUNCTIONS, TOP_THREADS, TOP_PROCESSES };

/* Parts of the time of a thread: it ran, wanted a CPU, was blocked. */
enum { TOP_TIMES = 3 };

struct top_view {
    const struct selection *selection;
    const char *head;    /* the first line: what is watched and how busy it is */
    const char *message; /* the last line; NULL = the keys */
    const char *filter;  /* only names with this in them; "" = all */
    enum top_by by;
    bool by_total;          /* sorted by total, not self */
    const char *callers_of; /* a function: show who calls it instead; NULL = no */
    size_t cursor;          /* the marked row */
    int width, height;
    bool escapes; /* the marked row stands out; else plain text */
    /* False where they are not known (yet). NULL = no column for them. */
    bool (*times)(void *arg, struct thread_id thread, double ret[TOP_TIMES]);
    void *times_arg;
    bool waiting; /* list threads without samples as well, if their times are known */
};

/* Append the screen to B: at most height lines, none longer than width. Returns how many rows of
 * the table there are; RET_NAME gets the name of the marked one ("" = none). Free it. */
size_t top_print(struct buf *b, const struct top_view *v, char **ret_name);
