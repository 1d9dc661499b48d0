/*
 * scopejoin.h - which scopes rows of another stream were in: joined by thread and time, or by
 * label where rows are sums over a time, as those of the heap are.
 */
#pragma once
#include "model/profile.h"

/*
 * For each row of STREAM the stack of scopes that it was in, innermost last; 0 = none. SCOPES is
 * the index of the stream of scopes. Spans that cross threads have no part in it. Free it. NULL
 * where rows have no times.
 */
struct stack_id *scopejoin_build(const struct profile *p, int scopes, const struct stream *stream);

/* Whether rows of the stream are sums, whose scopes are labels (SCOPE_KEY). */
bool scopejoin_by_label(const struct stream *s);

/* Whether such rows know their scopes at all: not every recorder does. */
bool scopejoin_has_labels(const struct profile *p);

#define SCOPEJOIN_NO_LABELS \
    "its allocations do not know their scopes: record the program anew with its heap"

/*
 * By set of labels: whether one of its scopes has a name that FITS. Free it.
 */
uint8_t *scopejoin_label_sets(const struct profile *p, bool (*fits)(const void *arg, const char *),
                              const void *arg);

/* Whether the program has a scope of that name. */
bool scopejoin_has_scope(const struct profile *p, const char *name);

/* The attribute of spans that cross threads. */
#define SCOPE_ASYNC_KEY "async"

/*
 * For each row of the stream of scopes the span around it in its thread, as row + 1; 0 = none. Free
 * it. NULL where rows have no times.
 */
uint32_t *scopejoin_parents(const struct profile *p, const struct stream *scopes);

struct selection;

/*
 * The selection as a profile whose stacks begin with the scopes that each row was in. Fails where
 * there are none. Free it with profile_free().
 */
int scopejoin_stacks(const struct selection *s, struct profile **ret, struct err *err);
