/*
 * waitsum.h - the time that a program did not run, for people and for programs.
 */
#pragma once
#include "analysis/parallel.h"
#include "analysis/waitsum.h"
#include "view/document.h"

struct waitsum_view {
    const struct waitsum *sum;
    const char *subject;             /* the file */
    size_t top;                      /* rows of each table */
    const struct parallel *parallel; /* of the same threads and moments; NULL = not asked for */
};

void waitsum_print(FILE *out, const struct waitsum_view *v, const struct document_paper *paper);
void waitsum_print_json(FILE *out, const struct waitsum_view *v);

/* Whether the recorder could see the stacks of waits. */
bool waitsum_has_stacks(const struct waitsum *w);

/* A row of the table by reason. */
struct waitsum_reason {
    const char *name, *about;
    struct wait_sum sum;
};

enum { WAITSUM_REASONS = WAIT_REASONS + 1 };

/* Reasons that occurred, longest first, "runnable" among them; returns how many. */
size_t waitsum_reasons(const struct waitsum *w, struct waitsum_reason ret[WAITSUM_REASONS]);
