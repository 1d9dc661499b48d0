/*
 * scopecpu.h - CPU samples by scope: how many were in each, what ran there, and what one span in
 * particular spent its time on.
 *
 * Spans come in parts and are not kept: each sample remembers the innermost span that has covered
 * it so far. In a thread spans come in the order of their ends, so the place of one among the
 * samples is found near that of the one before.
 *
 * Spans that cross threads are left out, because it is not known which thread worked for them.
 */
#pragma once
#include "analysis/scopetree.h"
#include "analysis/waitreason.h"

enum { SCOPECPU_FUNCTIONS = 3 };

struct scopecpu_function {
    char name[96];
    uint64_t samples; /* 0 = no more */
};

/* The samples in a scope, scopes inside included. */
struct scope_cpu {
    uint64_t samples;
    double cpu_ns;      /* NAN where samples do not say what they stand for */
    double self_cpu_ns; /* without the scopes inside */
    struct scopecpu_function functions[SCOPECPU_FUNCTIONS]; /* that ran, most samples first */
};

/* How one span spent its time. */
struct scope_spent {
    bool known; /* not where it crosses threads, or has no time */
    bool has_waits;
    uint64_t samples;
    double cpu_ns;
    uint64_t blocked_ns, runnable_ns; /* of its thread, within the span */
    uint64_t reason_ns;               /* the longest part of blocked_ns */
    enum wait_reason reason;          /* of it */
};

struct scopecpu;

/* The column of samples with times that CPU time is read from; false where there is none. */
bool scopecpu_find(const struct profile *p, struct value_ref *ret);

/* SAMPLES is of a column that scopecpu_find() gave, and must outlive the result. */
struct scopecpu *scopecpu_new(const struct selection *samples);
void scopecpu_free(struct scopecpu *c); /* NULL is fine */

/* Spans, in the order in which they ended in their threads; in any number of calls. */
void scopecpu_add(struct scopecpu *c, const struct selection *spans);

/* All have come: sum up by the scopes of T, in the order of T->flat. */
void scopecpu_end(struct scopecpu *c, const struct scopetree *t);

/* In all, in scopes or not; NAN where samples do not say what they stand for. */
uint64_t scopecpu_samples(const struct scopecpu *c);
double scopecpu_total_ns(const struct scopecpu *c);

/* Of the scope at index FLAT of T->flat; after scopecpu_end(). */
const struct scope_cpu *scopecpu_get(const struct scopecpu *c, size_t flat);

/* Of the slowest span of a scope. C may be NULL: then only waits count. */
struct scope_spent scopecpu_spent(const struct scopecpu *c, const struct profile *p,
                                  const struct scope_sum *sum);
