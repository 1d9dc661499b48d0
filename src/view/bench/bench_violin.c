/*
 * bench_violin.c - how the runs of benchmarks are spread: what is compared stands on one axis.
 *
 *     old  1.20 ms ±2%
 *        ___/^^^\____          the shape: from ten runs on
 *     --o-oo-ooo-o--o------    every run a dot
 *        \___/^\__/
 *     new  1.10 ms ±1%
 *      ...
 *     |      |      |     |
 *
 * The shape is an estimate of the density: a bell curve on each run, of a width that depends on
 * their spread and number (Silverman). Of a few runs it would show what nobody measured. Runs far
 * outside are not drawn but reported, as they would squeeze all others into a line.
 */
#include "base/buf.h"
#include "view/bench/bench_plot.h"
#include "view/fit.h"

#include <math.h>

enum {
    STEPS = 96,
    MOST_KERNELS = 4000,
    MOST_DOTS = 400,
    MOST_ROWS = 40,
    ROW_PX = 62,
    LEAST_FOR_SHAPE = 10,
};

/* A series on the axis. */
struct strip {
    const struct series *series;
    const char *name;
    const struct comparison *comparison; /* that ends in it; or NULL */
    struct bench_summary b;
    double density[STEPS + 1], peak;
};

struct violin {
    struct plot plot;
    enum measure measure;
    struct strip strips[MOST_ROWS];
    size_t n;
};

/* --- range --- */

/* Silverman's rule of thumb. */
static double bandwidth(const struct strip *h)
{
    const struct repeats_summary *s = &h->b.s;
    double spread = fmin(s->sd, (s->q3 - s->q1) / 1.34);
    if (!(spread > 0))
        spread = s->n > 1 ? s->sd : 0;
    return 0.9 * spread * pow((double)s->n, -0.2);
}

/* What lies within four widths of the middle half, and room for the shape to come down. */
static void violin_reach(const struct strip *h, double *low, double *high)
{
    double width = h->b.s.q3 - h->b.s.q1, room = 2.5 * bandwidth(h);
    *low = fmin(*low, fmax(h->b.s.min, h->b.s.q1 - 4 * width) - room);
    *high = fmax(*high, fmin(h->b.s.max, h->b.s.q3 + 4 * width) + room);
}

static void set_range(struct violin *v)
{
    double low = INFINITY, high = -INFINITY, least = INFINITY;
    for (size_t i = 0; i < v->n; i++) {
        violin_reach(&v->strips[i], &low, &high);
        least = fmin(least, v->strips[i].b.s.min);
    }
    v->plot.x = plot_axis_around(low, high, false);
    if (least >= 0)
        v->plot.x.low = fmax(v->plot.x.low, 0);
    v->plot.height = PLOT_TOP + PLOT_BOTTOM + ROW_PX * (int)v->n;
    v->plot.y = (struct plot_axis){-(double)v->n, 0, false};
}

static size_t count_beyond(const struct violin *v, const struct strip *h)
{
    size_t n = 0;
    for (size_t i = 0; i < h->b.s.n; i++)
        n += h->b.values[i] < v->plot.x.low || h->b.values[i] > v->plot.x.high;
    return n;
}

/* --- density --- */

static void estimate(struct violin *v, struct strip *h)
{
    double step = (v->plot.x.high - v->plot.x.low) / STEPS, width = fmax(bandwidth(h), step);
    size_t n = h->b.s.n, every = 1 + n / MOST_KERNELS, used = (n + every - 1) / every;
    for (int k = 0; k <= STEPS; k++) {
        double x = v->plot.x.low + k * step, sum = 0;
        for (size_t i = 0; i < n; i += every) {
            double z = (x - h->b.values[i]) / width;
            sum += exp(-z * z / 2);
        }
        h->density[k] = sum / ((double)used * width);
        h->peak = fmax(h->peak, h->density[k]);
    }
}

/* --- drawing --- */

/* A row is one unit high: its label above, then the shape around the middle of the rest. */
#define MIDDLE 0.66
#define REACH 0.28

static double row_y(const struct violin *v, size_t row, double up)
{
    return plot_y(&v->plot, -(double)row - MIDDLE + up * REACH);
}

static void draw_shape(const struct violin *v, size_t row, const char *class)
{
    const struct strip *h = &v->strips[row];
    double step = (v->plot.x.high - v->plot.x.low) / STEPS;
    fprintf(v->plot.out, "<path class=\"%s\" d=\"M%.1f %.1f", class,
            plot_x(&v->plot, v->plot.x.low), row_y(v, row, 0));
    for (int k = 0; k <= STEPS; k++)
        fprintf(v->plot.out, "L%.1f %.1f", plot_x(&v->plot, v->plot.x.low + k * step),
                row_y(v, row, h->density[k] / h->peak));
    for (int k = STEPS; k >= 0; k--)
        fprintf(v->plot.out, "L%.1f %.1f", plot_x(&v->plot, v->plot.x.low + k * step),
                row_y(v, row, -h->density[k] / h->peak));
    fputs("Z\"/>\n", v->plot.out);
}

/* Dots are moved up and down a little by their number, so that equal ones can be told apart. */
static void draw_dots(const struct violin *v, size_t row, const char *class)
{
    const struct strip *h = &v->strips[row];
    size_t every = 1 + h->b.s.n / MOST_DOTS;
    for (size_t i = 0; i < h->b.s.n; i += every) {
        double x = h->b.values[i], lift = fmod((double)i * 0.618034, 1) - 0.5;
        if (x < v->plot.x.low || x > v->plot.x.high)
            continue;
        fprintf(v->plot.out, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%s\"/>\n", class,
                plot_x(&v->plot, x), row_y(v, row, lift),
                h->b.s.n < LEAST_FOR_SHAPE ? "2.8" : "1.8");
    }
}

static void draw_median(const struct violin *v, size_t row, const char *class)
{
    double x = plot_x(&v->plot, v->strips[row].b.s.median);
    fprintf(v->plot.out, "<path class=\"%s\" d=\"M%.1f %.1fV%.1f\"/>\n", class, x, row_y(v, row, 1),
            row_y(v, row, -1));
}

/* "1.202 ms Â±2%, 12 runs" */
static void add_figures(struct buf *b, const struct violin *v, const struct strip *h)
{
    char text[BENCH_VALUE_MAX];
    size_t beyond = count_beyond(v, h);
    buf_str(b, bench_value(text, v->measure, h->b.s.median));
    if (*bench_half(text, h->b.s.median, &h->b.s.median_interval) != '?')
        buf_printf(b, " \xc2\xb1%s", text);
    if (v->measure == MEASURE_TIME && *bench_throughput(text, h->series, h->b.s.median))
        buf_printf(b, ", %s", text);
    buf_printf(b, ", %zu run%s", h->b.s.n, h->b.s.n == 1 ? "" : "s");
    if (beyond)
        buf_printf(b, ", %zu off scale (%s)", beyond, bench_value(text, v->measure, h->b.s.max));
}

static void print_cut(FILE *out, struct text t, double room_px)
{
    struct fit fit = fit_of_font("sans-serif", 11);
    autobuf struct buf b = {0};
    bool cut;
    struct text head = fit_cut(&fit, t, room_px, &cut);
    buf_add(&b, head.at, head.n);
    buf_str(&b, cut ? ".." : "");
    plot_escape(out, buf_cstr(&b));
}

/* ", slower +8.0%" */
static void add_verdict(struct buf *b, const struct comparison *c)
{
    char change[BENCH_VALUE_MAX];
    if (c)
        buf_printf(b, ", %s %s", comparison_word(c), bench_change(change, c->paired.ratio));
}

static const char *tone_of(const struct comparison *c)
{
    enum verdict v = c ? c->paired.verdict : VERDICT_SAME;
    if (v == VERDICT_SLOWER || (c && c->gate == GATE_BROKEN))
        return "tbad";
    return v == VERDICT_FASTER ? "tgood" : "tdim";
}

/* The name gets what the rest leaves, but always enough to be known by. */
static void draw_label(const struct violin *v, size_t row, const char *class)
{
    enum { LEAST_NAME_PX = 90 };
    const struct strip *h = &v->strips[row];
    FILE *out = v->plot.out;
    autobuf struct buf figures = {0}, verdict = {0};
    struct fit fit = fit_of_font("sans-serif", 11); /* as .kb text has it */
    add_figures(&figures, v, h);
    add_verdict(&verdict, h->comparison);
    double used = fit_width(&fit, buf_text(&figures)) + fit_width(&fit, buf_text(&verdict));
    double room = PLOT_WIDTH - 2 * PLOT_RIGHT - used - 10;
    fprintf(out, "<text x=\"%d\" y=\"%.1f\"><tspan class=\"%s\">", PLOT_RIGHT,
            plot_y(&v->plot, -(double)row) + 14, class);
    print_cut(out, text_of(h->name), fmax(room, LEAST_NAME_PX));
    fputs("</tspan> &#160;", out);
    plot_escape(out, buf_cstr(&figures));
    fprintf(out, "<tspan class=\"%s\">", tone_of(h->comparison));
    plot_escape(out, buf_cstr(&verdict));
    fputs("</tspan></text>\n", out);
}

/* The one that the others are compared with has a colour of its own. */
static void draw_strip(const struct violin *v, size_t row)
{
    bool reference = v->n > 1 && row == 0;
    if (v->strips[row].b.s.n >= LEAST_FOR_SHAPE)
        draw_shape(v, row, reference ? "o" : "n");
    draw_dots(v, row, reference ? "do" : "dn");
    draw_median(v, row, reference ? "mo" : "mn");
    draw_label(v, row, reference ? "to" : "tn");
}

static void violin_draw(const struct violin *v, const char *title)
{
    plot_open(&v->plot, title);
    plot_value_ticks_x(&v->plot, v->measure);
    for (size_t i = 0; i < v->n; i++)
        draw_strip(v, i);
    plot_close(&v->plot);
}

static void add_strip(struct violin *v, const struct series *s, const char *name,
                      const struct comparison *c)
{
    struct strip *h = &v->strips[v->n];
    if (v->n == MOST_ROWS)
        return;
    *h = (struct strip){.series = s, .name = name, .comparison = c};
    v->n += bench_summarize(&h->b, s, v->measure);
}

static void print_violin(struct violin *v, const char *title)
{
    FILE *out = v->plot.out;
    if (!v->n)
        return;
    set_range(v);
    for (size_t i = 0; i < v->n; i++)
        estimate(v, &v->strips[i]);
    fputs("<div>", out);
    if (title) {
        fputs("<p class=\"c\"><b>", out);
        plot_escape(out, title);
        fputs("</b></p>\n", out);
    }
    violin_draw(v, title ? title : v->strips[0].name);
    fputs("</div>\n", out);
    for (size_t i = 0; i < v->n; i++)
        bench_summary_done(&v->strips[i].b);
}

/* The comparison of S with its own past, or with another series of this session; NULL = none. */
static const struct comparison *comparison_of(const struct bench_report *r, const struct series *s,
                                              bool past)
{
    for (size_t i = 0; i < r->n_comparisons; i++) {
        const struct comparison *c = &r->comparisons[i];
        if (c->after == s && comparison_is_with_baseline(c) == past)
            return c;
    }
    return NULL;
}

/* S with its past on one axis. */
static void print_past(FILE *out, const struct bench_report *r, const struct comparison *c)
{
    struct violin v = {.plot = {.out = out, .bare_y = true}, .measure = r->measure};
    add_strip(&v, c->before, r->before_name ? r->before_name : "before", NULL);
    add_strip(&v, c->after, r->now_name ? r->now_name : "now", v.n ? c : NULL);
    print_violin(&v, c->after->name);
}

void bench_violin_print(FILE *out, const struct bench_report *r, const struct series *s)
{
    const struct comparison *past = comparison_of(r, s, true);
    struct violin v = {.plot = {.out = out, .bare_y = true}, .measure = r->measure};
    if (past)
        print_past(out, r, past);
    if (comparison_of(r, s, false)) /* stands on the axis of what it is compared with */
        return;
    add_strip(&v, s, s->name, NULL);
    size_t others = 0;
    for (size_t i = 0; i < r->n_comparisons; i++) {
        const struct comparison *c = &r->comparisons[i];
        if (comparison_is_with_baseline(c) || c->before != s)
            continue;
        add_strip(&v, c->after, c->after->name, c);
        others++;
    }
    if (!past || others)
        print_violin(&v, NULL);
    else if (v.n)
        bench_summary_done(&v.strips[0].b);
}
