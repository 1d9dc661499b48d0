#include "view/bench/bench_plot.h"

#include "base/buf.h"
#include "base/utf8.h"

#include <math.h>

void plot_escape(FILE *out, const char *text)
{
    autobuf struct buf b = {0};
    utf8_xml(&b, text_of(text));
    fwrite(b.at ? b.at : "", 1, b.n, out);
}

void plot_label(const struct plot *p, double x, double y, const char *anchor, const char *text)
{
    fprintf(p->out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
    plot_escape(p->out, text);
    fputs("</text>\n", p->out);
}

void plot_open(const struct plot *p, const char *title)
{
    fprintf(p->out, "<svg viewBox=\"0 0 %d %d\" role=\"img\">\n<title>", PLOT_WIDTH, p->height);
    plot_escape(p->out, title);
    fputs("</title>\n", p->out);
}

void plot_close(const struct plot *p)
{
    fputs("</svg>\n", p->out);
}

/* --- places --- */

struct plot_axis plot_axis_around(double low, double high, bool log_scale)
{
    struct plot_axis a = {low, high, log_scale};
    if (log_scale) {
        double margin = pow(high / low, 0.06);
        margin = margin > 1.001 ? margin : 1.5;
        return (struct plot_axis){low / margin, high * margin, true};
    }
    double margin = (high - low) * 0.06;
    if (!(margin > fabs(high) * 1e-9))
        margin = high != 0 ? fabs(high) * 0.05 : 1;
    a.low -= margin;
    a.high += margin;
    return a;
}

static double bench_plot_share(const struct plot_axis *a, double v)
{
    double s = a->log ? log(v / a->low) / log(a->high / a->low) : (v - a->low) / (a->high - a->low);
    return s < 0 ? 0 : s > 1 ? 1 : s;
}

static double left_of(const struct plot *p)
{
    return p->bare_y ? PLOT_RIGHT : PLOT_LEFT;
}

double plot_x(const struct plot *p, double v)
{
    return left_of(p) + (PLOT_WIDTH - left_of(p) - PLOT_RIGHT) * bench_plot_share(&p->x, v);
}

double plot_y(const struct plot *p, double v)
{
    return PLOT_TOP + (p->height - PLOT_TOP - PLOT_BOTTOM) * (1 - bench_plot_share(&p->y, v));
}

/* --- ticks --- */

/* 1, 2 or 5 times a power of ten, so that about WANT of them fit. */
static double step_of(const struct plot_axis *a, int want)
{
    double rough = (a->high - a->low) / want, power = pow(10, floor(log10(rough)));
    double part = rough / power;
    return power * (part <= 1 ? 1 : part <= 2 ? 2 : part <= 5 ? 5 : 10);
}

static size_t log_ticks(const struct plot_axis *a, double ret[PLOT_TICKS])
{
    double decades = log10(a->high / a->low);
    int every = decades > 6 ? 3 : decades > 4 ? 2 : 1;
    size_t n = 0;
    for (double e = floor(log10(a->low)); e <= log10(a->high) && n + 2 < PLOT_TICKS; e += every)
        for (int k = 0; k < (decades < 1.5 ? 3 : 1); k++) {
            double v = pow(10, e) * (k == 0 ? 1 : k == 1 ? 2 : 5);
            if (v >= a->low && v <= a->high && n < PLOT_TICKS)
                ret[n++] = v;
        }
    return n;
}

static size_t even_ticks(const struct plot_axis *a, int want, double ret[PLOT_TICKS])
{
    double step = step_of(a, want);
    size_t n = 0;
    for (double i = ceil(a->low / step); i * step <= a->high && n < PLOT_TICKS; i++)
        ret[n++] = i * step + 0.0; /* not -0 */
    return n;
}

size_t plot_ticks(const struct plot_axis *a, int want, double ret[PLOT_TICKS])
{
    size_t n = a->log ? log_ticks(a, ret) : 0;
    return n >= 2 ? n : even_ticks(a, want, ret);
}

void plot_label_below(const struct plot *p, double x, const char *text)
{
    const char *anchor = x < 28 ? "start" : x > PLOT_WIDTH - 28 ? "end" : "middle";
    plot_label(p, x, p->height - PLOT_BOTTOM + 16, anchor, text);
}

void plot_value_ticks_x(const struct plot *p, enum measure m)
{
    double at[PLOT_TICKS];
    char text[BENCH_VALUE_MAX];
    size_t n = plot_ticks(&p->x, 6, at);
    for (size_t i = 0; i < n; i++) {
        double x = plot_x(p, at[i]);
        fprintf(p->out, "<path class=\"g\" d=\"M%.1f %dV%d\"/>\n", x, PLOT_TOP,
                p->height - PLOT_BOTTOM);
        plot_label_below(p, x, bench_tick(text, m, at[i]));
    }
}

void plot_value_ticks_y(const struct plot *p, enum measure m)
{
    double at[PLOT_TICKS];
    char text[BENCH_VALUE_MAX];
    size_t n = plot_ticks(&p->y, 4, at);
    for (size_t i = 0; i < n; i++) {
        double y = plot_y(p, at[i]);
        fprintf(p->out, "<path class=\"g\" d=\"M%d %.1fH%d\"/>\n", PLOT_LEFT, y,
                PLOT_WIDTH - PLOT_RIGHT);
        plot_label(p, PLOT_LEFT - 6, y + 4, "end", bench_tick(text, m, at[i]));
    }
}
