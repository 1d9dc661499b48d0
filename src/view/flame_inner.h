/* flame_inner.h - a flame graph while it is drawn: shared by the files of flame.h. */
#pragma once
#include "base/buf.h"
#include "view/fit.h"
#include "view/flame.h"

struct flame {
    const struct calltree *t;
    const struct paint *paint;
    struct flame_opts o; /* defaults filled in */
    struct fit fit;
    struct buf head, rows, axis, foot; /* parts of the document, before its id is known */
    double head_px, foot_px;
    size_t n_rows;
    VEC(uint32_t) drawn; /* nodes, in the order of the document */
    VEC(uint32_t) rest;  /* nodes that are too narrow to draw while their parent is not */
    bool has_inlined;
    struct style style;
};

/* The label of a node in the drawing. */
struct text flame_name(const struct flame *f, uint32_t node);

/* Charts: how long the whole is, in nanoseconds or in the unit of the values. */
static inline int64_t flame_span(const struct flame *f)
{
    return f->t->extent ? f->t->extent[0] : f->t->total[0];
}

/* Charts: round times along the top, with a line through all rows at each. */
void flame_add_axis(struct flame *f);

/* The numbers of all nodes as JSON in a <metadata> element. */
void flame_print_data(FILE *out, const struct flame *f);
