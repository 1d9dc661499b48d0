/*
 * bench_violin.c - how the runs of a benchmark are spread, before and after.
 *
 *        ___/^^^\____          now: the upper half
 *     --o-oo-ooo-o--o------    every run a dot
 *        ‾‾‾‾\__/‾‾            before: the lower half
 *     |      |      |     |
 *
 * The shape is an estimate of the density: a bell curve on each run, of a width that depends on
 * their spread and number (Silverman). Runs far outside are not drawn but told, as they would
 * squeeze all others into a line.
 */
#include "view/bench/bench_plot.h"

#include <math.h>

enum { STEPS = 96, MOST_KERNELS = 4000, MOST_DOTS = 400, HEIGHT = 128 };

struct half {
    const struct series *series;
    struct bench_summary b;
    bool there;
    double density[STEPS + 1];
};

struct violin {
    struct plot plot;
    enum measure measure;
    struct half now, before;
    double peak;
};

/* --- range --- */

/* Silverman's rule of thumb. */
static double bandwidth(const struct half *h)
{
    const struct repeats_summary *s = &h->b.s;
    double spread = fmin(s->sd, (s->q3 - s->q1) / 1.34);
    if (!(spread > 0))
        spread = s->n > 1 ? s->sd : 0;
    return 0.9 * spread * pow((double)s->n, -0.2);
}

/* What lies within four widths of the middle half, and room for the shape to come down. */
static void reach(const struct half *h, double *low, double *high)
{
    double width = h->b.s.q3 - h->b.s.q1, room = 2.5 * bandwidth(h);
    *low = fmin(*low, fmax(h->b.s.min, h->b.s.q1 - 4 * width) - room);
    *high = fmax(*high, fmin(h->b.s.max, h->b.s.q3 + 4 * width) + room);
}

static void set_range(struct violin *v)
{
    double low = INFINITY, high = -INFINITY;
    reach(&v->now, &low, &high);
    if (v->before.there)
        reach(&v->before, &low, &high);
    v->plot.x = plot_axis_around(low, high, false);
    if (v->now.b.s.min >= 0 && !(v->before.there && v->before.b.s.min < 0))
        v->plot.x.low = fmax(v->plot.x.low, 0);
    v->plot.y = (struct plot_axis){-1.08, 1.08, false};
}

static size_t count_beyond(const struct violin *v, const struct half *h)
{
    size_t n = 0;
    for (size_t i = 0; i < h->b.s.n; i++)
        n += h->b.values[i] < v->plot.x.low || h->b.values[i] > v->plot.x.high;
    return n;
}

/* --- density --- */

static void estimate(struct violin *v, struct half *h)
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
        v->peak = fmax(v->peak, h->density[k]);
    }
}

/* --- drawing --- */

/* SIGN 1 = above the line, -1 below. */
static void draw_shape(const struct violin *v, const struct half *h, int sign, const char *class)
{
    double step = (v->plot.x.high - v->plot.x.low) / STEPS;
    fprintf(v->plot.out, "<path class=\"%s\" d=\"M%.1f %.1f", class,
            plot_x(&v->plot, v->plot.x.low), plot_y(&v->plot, 0));
    for (int k = 0; k <= STEPS; k++)
        fprintf(v->plot.out, "L%.1f %.1f", plot_x(&v->plot, v->plot.x.low + k * step),
                plot_y(&v->plot, sign * h->density[k] / v->peak));
    fprintf(v->plot.out, "L%.1f %.1fZ\"/>\n", plot_x(&v->plot, v->plot.x.high),
            plot_y(&v->plot, 0));
}

/* Dots are moved up and down a little by their number, so that equal ones can be told apart. */
static void draw_dots(const struct violin *v, const struct half *h, int sign, const char *class)
{
    size_t every = 1 + h->b.s.n / MOST_DOTS;
    for (size_t i = 0; i < h->b.s.n; i += every) {
        double x = h->b.values[i], lift = 0.08 + 0.3 * fmod((double)i * 0.618034, 1);
        if (x < v->plot.x.low || x > v->plot.x.high)
            continue;
        fprintf(v->plot.out, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"1.8\"/>\n", class,
                plot_x(&v->plot, x), plot_y(&v->plot, sign * lift));
    }
}

static void draw_median(const struct violin *v, const struct half *h, int sign, const char *class)
{
    double x = plot_x(&v->plot, h->b.s.median);
    fprintf(v->plot.out, "<path class=\"%s\" d=\"M%.1f %.1fV%.1f\"/>\n", class, x,
            plot_y(&v->plot, 0), plot_y(&v->plot, sign * 1.04));
}

static void draw(const struct violin *v)
{
    plot_open(&v->plot, v->now.series->name);
    plot_value_ticks_x(&v->plot, v->measure);
    draw_shape(v, &v->now, 1, "n");
    draw_shape(v, v->before.there ? &v->before : &v->now, -1, v->before.there ? "o" : "n");
    fprintf(v->plot.out, "<path class=\"g\" d=\"M%d %.1fH%d\"/>\n", PLOT_RIGHT, plot_y(&v->plot, 0),
            PLOT_WIDTH - PLOT_RIGHT);
    draw_dots(v, &v->now, 1, "dn");
    draw_median(v, &v->now, 1, "mn");
    if (v->before.there) {
        draw_dots(v, &v->before, -1, "do");
        draw_median(v, &v->before, -1, "mo");
    } else {
        draw_median(v, &v->now, -1, "mn");
    }
    plot_close(&v->plot);
}

/* --- caption --- */

static void tell_half(const struct violin *v, const struct half *h, const char *class,
                      const char *what)
{
    char value[BENCH_VALUE_MAX], half[BENCH_VALUE_MAX];
    FILE *out = v->plot.out;
    size_t beyond = count_beyond(v, h);
    fprintf(out, "<span class=\"%s\">", class);
    plot_escape(out, what);
    fprintf(out, "</span> %s", bench_value(value, v->measure, h->b.s.median));
    bench_half(half, h->b.s.median, &h->b.s.median_interval);
    if (*half != '?')
        fprintf(out, " &#177;%s", half);
    if (v->measure == MEASURE_TIME && *bench_throughput(value, h->series, h->b.s.median))
        fprintf(out, ", %s", value);
    if (beyond)
        fprintf(out, ", %zu beyond (to %s)", beyond, bench_value(value, v->measure, h->b.s.max));
    fputs(" ", out);
}

static void tell_verdict(FILE *out, const struct comparison *c)
{
    char change[BENCH_VALUE_MAX];
    enum verdict verdict = c->paired.verdict;
    const char *class = c->gate == GATE_BROKEN || verdict == VERDICT_SLOWER ? "bad"
                        : verdict == VERDICT_FASTER                         ? "good"
                                                                            : "dim";
    fprintf(out, "<b class=\"%s\">%s %s%s</b>", class, verdict_names[verdict],
            bench_change(change, c->paired.ratio), c->gate == GATE_BROKEN ? ", gate broken" : "");
}

static void tell(const struct violin *v, const struct bench_report *r, const struct comparison *c)
{
    FILE *out = v->plot.out;
    bool baseline = c && c->apart;
    fputs("<p class=\"c\"><b>", out);
    plot_escape(out, v->now.series->name);
    fputs("</b><br>", out);
    tell_half(v, &v->now, "kn", c && !baseline ? "this" : r->now_name ? r->now_name : "now");
    if (v->before.there) {
        const char *old = !baseline ? c->before->name : r->before_name ? r->before_name : "before";
        tell_half(v, &v->before, "ko", old);
        tell_verdict(out, c);
    }
    fputs("</p>\n", out);
}

/* The comparison that ends in a series, the one with a baseline first; NULL = none. */
static const struct comparison *comparison_of(const struct bench_report *r, const struct series *s)
{
    const struct comparison *found = NULL;
    for (size_t i = 0; i < r->n_comparisons; i++)
        if (r->comparisons[i].after == s && (!found || r->comparisons[i].apart))
            found = &r->comparisons[i];
    return found;
}

void bench_violin_print(FILE *out, const struct bench_report *r, const struct series *s)
{
    const struct comparison *c = comparison_of(r, s);
    struct violin v = {.plot = {.out = out, .height = HEIGHT, .bare_y = true},
                       .measure = r->measure,
                       .now = {.series = s}};
    if (!bench_summarize(&v.now.b, s, r->measure))
        return;
    v.before.series = c ? c->before : NULL;
    v.before.there = c && bench_summarize(&v.before.b, c->before, r->measure);
    set_range(&v);
    estimate(&v, &v.now);
    if (v.before.there)
        estimate(&v, &v.before);
    fputs("<div>", out);
    tell(&v, r, v.before.there ? c : NULL);
    draw(&v);
    fputs("</div>\n", out);
    bench_summary_done(&v.now.b);
    bench_summary_done(&v.before.b);
}
