/*
 * scopetree_svg.c - how often which latency occurred, on a logarithmic axis.
 */
#include "base/units.h"
#include "base/utf8.h"
#include "view/scopetree_inner.h"

#include <math.h>

enum { WIDTH = 1190, HEIGHT = 176, LEFT = 20, RIGHT = 20, TOP = 52, BOTTOM = 26, BARS = 120 };

struct latency_scale {
    double low, high; /* logarithms */
};

static double latency_x(const struct latency_scale *s, double ns)
{
    double at = (log(ns > 1 ? ns : 1) - s->low) / (s->high - s->low);
    return LEFT + (WIDTH - LEFT - RIGHT) * fmin(fmax(at, 0), 1);
}

static void count_bars(const struct scope_sum *sum, const struct latency_scale *s, uint64_t *bars)
{
    uint64_t before = 0;
    for (int i = 0; i < BARS; i++) {
        double to = exp(s->low + (s->high - s->low) * (i + 1) / BARS);
        uint64_t upto = i == BARS - 1 ? sum->calls : histogram_count_to(&sum->times, (uint64_t)to);
        bars[i] = upto - before;
        before = upto;
    }
}

static void draw_bars(FILE *out, const uint64_t *bars)
{
    double step = (double)(WIDTH - LEFT - RIGHT) / BARS;
    uint64_t most = 1;
    for (int i = 0; i < BARS; i++)
        most = bars[i] > most ? bars[i] : most;
    for (int i = 0; i < BARS; i++) {
        double h = (HEIGHT - TOP - BOTTOM) * (double)bars[i] / (double)most;
        if (bars[i])
            fprintf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n",
                    LEFT + i * step, HEIGHT - BOTTOM - fmax(h, 1), step - 1, fmax(h, 1));
    }
}

/* Its name stands at height Y: each has a line of its own, as two quantiles may be near. */
static void draw_quantile(FILE *out, const struct latency_scale *s, const struct scope_sum *sum,
                          double q, const char *name, int y)
{
    char text[UNITS_MAX];
    double ns = (double)scope_sum_quantile_ns(sum, q), x = latency_x(s, ns);
    bool left = x < WIDTH / 2.0;
    if (scopetree_shows(sum, q))
        fprintf(out,
                "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>\n"
                "<text x=\"%.1f\" y=\"%d\" text-anchor=\"%s\">%s %s</text>\n",
                x, x, y - 10, HEIGHT - BOTTOM, x + (left ? 4 : -4), y, left ? "start" : "end", name,
                units_scaled(text, ns, SCALED_NS));
}

void scopetree_draw(FILE *out, const struct scopetree_view *v, size_t i)
{
    const struct scope_node *n = &v->tree->flat.at[i];
    const struct scope_sum *sum = &n->sum;
    struct latency_scale s = {log(fmax((double)sum->min_ns, 1)), log(fmax((double)sum->max_ns, 2))};
    uint64_t bars[BARS];
    char text[2][UNITS_MAX];
    autobuf struct buf name = {0};
    s.high = s.high > s.low + 0.01 ? s.high : s.low + 0.01;
    count_bars(sum, &s, bars);
    fprintf(out,
            "<svg class=\"lat\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
            "role=\"img\" aria-label=\"latencies\">\n"
            "<style>.lat text{font:12px system-ui,sans-serif;fill:#5b6168}.lat rect{fill:#2f7dc4}"
            ".lat line{stroke:#d9791a}@media(prefers-color-scheme:dark){.lat "
            "text{fill:#9aa1a9}}</style>\n<text x=\"%d\" y=\"12\">",
            WIDTH, HEIGHT, LEFT);
    utf8_xml(&name, profile_str(v->tree->selection->profile, n->name));
    fprintf(out, "%s</text>\n", buf_cstr(&name));
    draw_bars(out, bars);
    draw_quantile(out, &s, sum, 0.5, "p50", TOP - 22);
    draw_quantile(out, &s, sum, 0.99, "p99", TOP - 8);
    fprintf(out,
            "<text x=\"%d\" y=\"%d\">%s</text><text x=\"%d\" y=\"%d\" "
            "text-anchor=\"end\">%s</text>\n</svg>\n",
            LEFT, HEIGHT - 8, units_scaled(text[0], (double)sum->min_ns, SCALED_NS), WIDTH - RIGHT,
            HEIGHT - 8, units_scaled(text[1], (double)sum->max_ns, SCALED_NS));
}
