/* bench_chart.c - a benchmark over time, and its cost over size. */
#include "view/bench/bench_plot.h"

#include <math.h>
#include <time.h>

/* --- over time --- */

static double low_of(const struct past_run *run)
{
    return isfinite(run->interval.low) ? fmin(run->interval.low, run->median) : run->median;
}

static double high_of(const struct past_run *run)
{
    return isfinite(run->interval.high) ? fmax(run->interval.high, run->median) : run->median;
}

/* A place for each run: a busy day must not hide a quiet month. */
static struct plot past_plot(FILE *out, const struct past *p)
{
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < p->n_runs; i++) {
        low = fmin(low, low_of(&p->runs[i]));
        high = fmax(high, high_of(&p->runs[i]));
    }
    return (struct plot){.out = out,
                         .height = 150,
                         .x = plot_axis_around(0, (double)p->n_runs - 1, false),
                         .y = plot_axis_around(low, high, false)};
}

static void draw_line(const struct plot *p, const struct past *past)
{
    fputs("<path class=\"l\" d=\"", p->out);
    for (size_t i = 0; i < past->n_runs; i++)
        fprintf(p->out, "%c%.1f %.1f", i ? 'L' : 'M', plot_x(p, (double)i),
                plot_y(p, past->runs[i].median));
    fputs("\"/>\n", p->out);
}

static void bench_chart_day(char *to, size_t size, int64_t time_s)
{
    time_t t = (time_t)time_s;
    struct tm tm;
    if (!gmtime_r(&t, &tm) || !strftime(to, size, "%Y-%m-%d", &tm))
        snprintf(to, size, "?");
}

static void draw_point(const struct plot *p, const struct past_run *run, size_t i, bool last,
                       enum measure m)
{
    char value[BENCH_VALUE_MAX], when[32];
    double x = plot_x(p, (double)i);
    bench_chart_day(when, sizeof when, run->time_s);
    fprintf(p->out, "<path class=\"e\" d=\"M%.1f %.1fV%.1f\"/>", x, plot_y(p, low_of(run)),
            plot_y(p, high_of(run)));
    fprintf(p->out, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%s\"><title>", "dn", x,
            plot_y(p, run->median), last ? "4" : "2.5");
    fprintf(p->out, "%s, %s", bench_value(value, m, run->median), when);
    if (*run->commit) {
        fputs(", commit ", p->out);
        plot_escape(p->out, run->commit);
    }
    if (*run->baseline) {
        fputs(", ", p->out);
        plot_escape(p->out, run->baseline);
    }
    fputs("</title></circle>\n", p->out);
}

static void draw_changes(const struct plot *p, const struct past *past)
{
    char text[BENCH_VALUE_MAX];
    for (size_t i = 1; i < past->n_runs; i++) {
        if (!past->runs[i].change_point)
            continue;
        double ratio = bench_past_step(past, i), x = plot_x(p, (double)i - 0.5);
        const char *class = ratio > 1 ? "bad" : "good";
        fprintf(p->out, "<g class=\"%s\"><path d=\"M%.1f %dV%d\"/>", class, x, PLOT_TOP,
                p->height - PLOT_BOTTOM);
        bool right = x > PLOT_WIDTH - 80;
        plot_label(p, x + (right ? -4 : 4), PLOT_TOP + 10, right ? "end" : "start",
                   bench_change(text, ratio));
        fputs("</g>\n", p->out);
    }
}

void bench_past_print(FILE *out, const struct past *past, enum measure m)
{
    char text[32];
    struct plot p = past_plot(out, past);
    fputs("<div><p class=\"c\"><b>", out);
    plot_escape(out, past->name);
    fputs("</b></p>\n", out);
    plot_open(&p, past->name);
    plot_value_ticks_y(&p, m);
    draw_line(&p, past);
    for (size_t i = 0; i < past->n_runs; i++)
        draw_point(&p, &past->runs[i], i, i + 1 == past->n_runs, m);
    draw_changes(&p, past);
    bench_chart_day(text, sizeof text, past->runs[0].time_s);
    plot_label(&p, PLOT_LEFT, p.height - 6, "start", text);
    bench_chart_day(text, sizeof text, past->runs[past->n_runs - 1].time_s);
    plot_label(&p, PLOT_WIDTH - PLOT_RIGHT, p.height - 6, "end", past->n_runs > 1 ? text : "");
    plot_close(&p);
    fputs("</div>\n", out);
}

/* --- over size --- */

static struct plot growth_plot(FILE *out, const struct bench_growth *g)
{
    double low = INFINITY, high = 0;
    for (size_t i = 0; i < g->n_points; i++) {
        low = fmin(low, g->points[i].cost);
        high = fmax(high, g->points[i].cost);
    }
    return (struct plot){
        .out = out,
        .height = 260,
        .x = plot_axis_around(g->points[0].size, g->points[g->n_points - 1].size, true),
        .y = plot_axis_around(low, high, true)};
}

/* cost = factor * size^exponent through the middle of the points, in logarithms. */
static double factor_of(const struct bench_growth *g)
{
    double sum = 0;
    for (size_t i = 0; i < g->n_points; i++)
        sum += log(g->points[i].cost) - g->growth.exponent * log(g->points[i].size);
    return exp(sum / (double)g->n_points);
}

/* From the left edge as far as the frame goes. */
static void draw_power(const struct plot *p, double factor, double exponent, const char *class)
{
    double from = p->x.low, to = p->x.high;
    if (exponent > 0) {
        from = fmax(from, pow(p->y.low / factor, 1 / exponent));
        to = fmin(to, pow(p->y.high / factor, 1 / exponent));
    }
    if (!(from < to))
        return;
    fprintf(p->out, "<path class=\"%s\" d=\"M%.1f %.1fL%.1f %.1f\"/>\n", class, plot_x(p, from),
            plot_y(p, factor * pow(from, exponent)), plot_x(p, to),
            plot_y(p, factor * pow(to, exponent)));
}

/* n and n^2 through the first point, to hold the slope against. */
static void draw_guides(const struct plot *p, const struct bench_growth *g)
{
    const struct growth_point *first = &g->points[0];
    static const char *const names[] = {"", "n", "n\xc2\xb2"};
    for (int e = 1; e <= 2; e++) {
        double factor = first->cost / pow(first->size, e);
        double to = fmin(p->x.high, pow(p->y.high / factor, 1.0 / e));
        if (!(to > first->size * 1.05))
            continue;
        draw_power(p, factor, e, "w");
        plot_label(p, plot_x(p, to) - 4, plot_y(p, factor * pow(to, e)) + 12, "end", names[e]);
    }
}

static void draw_sizes(const struct plot *p)
{
    double at[PLOT_TICKS];
    char text[BENCH_VALUE_MAX];
    size_t n = plot_ticks(&p->x, 5, at);
    for (size_t i = 0; i < n; i++) {
        fprintf(p->out, "<path class=\"g\" d=\"M%.1f %dV%d\"/>\n", plot_x(p, at[i]), PLOT_TOP,
                p->height - PLOT_BOTTOM);
        bool whole = at[i] >= 1 && at[i] < 1e9;
        snprintf(text, sizeof text, "%.6g", at[i]);
        plot_label_below(p, plot_x(p, at[i]), whole ? units_count(text, (uint64_t)at[i]) : text);
    }
}

static bool can_draw(const struct bench_growth *g)
{
    for (size_t i = 0; i < g->n_points; i++)
        if (!(g->points[i].size > 0) || !(g->points[i].cost > 0))
            return false;
    return g->n_points >= 2;
}

void bench_growth_print(FILE *out, const struct bench_growth *g)
{
    if (!can_draw(g))
        return;
    struct plot p = growth_plot(out, g);
    fputs("<div><p class=\"c\"><b>", out);
    plot_escape(out, g->name);
    fprintf(out, "</b> %s over ", measure_infos[g->measure].title);
    plot_escape(out, g->parameter);
    fputs(", both logarithmic</p>\n", out);
    plot_open(&p, g->name);
    draw_sizes(&p);
    plot_value_ticks_y(&p, g->measure);
    draw_guides(&p, g);
    draw_power(&p, factor_of(g), g->growth.exponent, "l");
    for (size_t i = 0; i < g->n_points; i++)
        fprintf(out, "<circle class=\"dn\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"/>\n",
                plot_x(&p, g->points[i].size), plot_y(&p, g->points[i].cost));
    plot_close(&p);
    fputs("</div>\n", out);
}
