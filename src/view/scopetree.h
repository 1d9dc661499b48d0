/*
 * scopetree.h - how long a program's scopes took, for people and for programs.
 */
#pragma once
#include "analysis/scopecpu.h"
#include "view/document.h"

struct scopetree_view {
    const struct scopetree *tree;
    const char *subject;        /* the file */
    const char *by;             /* key of an attribute, or NULL */
    size_t top;                 /* rows of each table */
    const struct scopecpu *cpu; /* after scopecpu_end(); NULL = nothing was sampled */
};

void scopetree_print(FILE *out, const struct scopetree_view *v, const struct document_paper *paper);
void scopetree_print_json(FILE *out, const struct scopetree_view *v);
void scopetree_print_csv(FILE *out, const struct scopetree_view *v);

/* How often which latency occurred, of the I-th scope of the table by name. */
void scopetree_draw(FILE *out, const struct scopetree_view *v, size_t i);

/* "index=3", "thread=worker" of a group. Free it. */
char *scopetree_attr(const struct profile *p, const struct attr *a);
