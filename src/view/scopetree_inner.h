/*
 * scopetree_inner.h - the slowest span of each scope, CPU samples by scope and what stands out, for
 * people and for programs.
 */
#pragma once
#include "analysis/scopeinsight.h"
#include "base/json.h"
#include "view/document.h"
#include "view/scopetree.h"

#include <math.h>

/* From the first span's start to the last one's end. */
static inline double scopetree_seconds(const struct scopetree *t)
{
    return (double)(t->end_ns - t->start_ns) / 1e9;
}

/* What counters are divided by; NaN where only some spans were selected, as counters are whole. */
static inline double scopetree_rate_seconds(const struct scopetree *t)
{
    return t->selection->words ? NAN : scopetree_seconds(t);
}

/* A quantile that so few spans say nothing about is not shown. */
bool scopetree_shows(const struct scope_sum *s, double q);

void scopetree_add_slowest(struct document *d, const struct scopetree_view *v);

/* As the member "slowest", for all scopes. */
void scopetree_put_slowest(struct json *j, const struct scopetree_view *v);

void scopetree_add_cpu(struct document *d, const struct scopetree_view *v);
void scopetree_put_cpu(struct json *j, const struct scopetree_view *v);
void scopetree_add_insights(struct document *d, const struct scopetree_view *v);
void scopetree_put_insights(struct json *j, const struct scopetree_view *v);
