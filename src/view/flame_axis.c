/* flame_axis.c - the axis of a flame chart: round times along its top. */
#include "base/units.h"
#include "view/flame_inner.h"

#include <math.h>

/* 1, 2 or 5 times a power of ten, a little more than LEAST. */
static double round_step(double least)
{
    double power = pow(10, floor(log10(least))), part = least / power;
    return power * (part <= 1 ? 1 : part <= 2 ? 2 : part <= 5 ? 5 : 10);
}

static void add_tick(struct flame *f, double x, double value, bool last)
{
    char text[UNITS_MAX];
    bool time = f->t->extent;
    units_scaled(text, value, time ? SCALED_NS : SCALED_COUNT);
    buf_printf(&f->axis, "<path d=\"M%.1f -3V%.1f\"/><text x=\"%.1f\" y=\"-6\"%s>%s</text>\n", x,
               f->o.row_px * (double)f->n_rows, x, last ? " text-anchor=\"end\"" : "",
               value > 0 ? text : "0");
}

/* A tick each hundred pixels or so; the script does the same for what is zoomed into. */
void flame_add_axis(struct flame *f)
{
    double inner = f->o.width_px - 2 * FLAME_MARGIN_PX, span = (double)flame_span(f);
    if (!(span > 0))
        return;
    double step = round_step(span * 100 / inner);
    for (double at = 0; at <= span; at += step) {
        double x = FLAME_MARGIN_PX + at / span * inner;
        add_tick(f, x, at, x + 50 > f->o.width_px);
    }
}
