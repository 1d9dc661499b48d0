/*
 * trend.c - a number over time as a drawing.
 *
 * One place for each run, in order: runs of a busy day must not hide a quiet month. The scale
 * starts at zero only where that costs little; the captions say what top and bottom are.
 */
#include "base/buf.h"
#include "base/units.h"
#include "base/utf8.h"
#include "view/history.h"

#include <math.h>
#include <time.h>

enum { WIDTH = 1190, HEIGHT = 190, LEFT = 90, RIGHT = 20, TOP = 16, BOTTOM = 30 };

struct scale {
    double low, high;
    size_t n;
};

static struct scale scale_of(const struct trend *t)
{
    struct scale s = {INFINITY, -INFINITY, t->points.n};
    for (size_t i = 0; i < t->points.n; i++) {
        const struct trend_point *p = &t->points.at[i];
        s.low = fmin(s.low, isnan(p->low) ? p->value : p->low);
        s.high = fmax(s.high, isnan(p->high) ? p->value : p->high);
    }
    double margin = (s.high - s.low) * 0.08;
    if (!(margin > 0))
        margin = fabs(s.high) * 0.05 + 1e-9;
    s.low = s.low - margin < 0 && s.low >= 0 ? 0 : s.low - margin;
    s.high += margin;
    return s;
}

static double x_of(const struct scale *s, double i)
{
    double span = s->n > 1 ? (double)s->n - 1 : 1;
    return LEFT + (WIDTH - LEFT - RIGHT) * (s->n > 1 ? i / span : 0.5);
}

static double y_of(const struct scale *s, double value)
{
    return TOP + (HEIGHT - TOP - BOTTOM) * (s->high - value) / (s->high - s->low);
}

static void put_text(FILE *out, const char *text)
{
    autobuf struct buf b = {0};
    utf8_xml(&b, text_of(text));
    fwrite(b.at ? b.at : "", 1, b.n, out);
}

static void trend_label(FILE *out, double x, double y, const char *anchor, const char *text)
{
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
    put_text(out, text);
    fputs("</text>\n", out);
}

static void trend_day(int64_t time_s, char *to, size_t size)
{
    time_t t = (time_t)time_s;
    struct tm tm;
    if (!gmtime_r(&t, &tm) || !strftime(to, size, "%Y-%m-%d", &tm))
        snprintf(to, size, "?");
}

static void draw_axes(FILE *out, const struct trend *t, const struct scale *s)
{
    char text[UNITS_MAX], first[32], last[32];
    for (int i = 0; i <= 2; i++) {
        double value = s->low + (s->high - s->low) * i / 2, y = y_of(s, value);
        fprintf(out, "<line class=\"g\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>\n", LEFT,
                WIDTH - RIGHT, y, y);
        trend_label(out, LEFT - 8, y + 4, "end", trend_value(t, value, text));
    }
    trend_day(t->points.at[0].time_s, first, sizeof first);
    trend_day(t->points.at[s->n - 1].time_s, last, sizeof last);
    trend_label(out, LEFT, HEIGHT - 8, "start", first);
    if (s->n > 1)
        trend_label(out, WIDTH - RIGHT, HEIGHT - 8, "end", last);
}

static void draw_changes(FILE *out, const struct trend *t, const struct scale *s)
{
    for (size_t i = 0; i < t->n_changes; i++) {
        autobuf struct buf said = {0};
        const struct changepoint *c = &t->changes[i];
        double x = x_of(s, (double)c->at - 0.5);
        trend_say(t, i, &said);
        fprintf(out, "<g class=\"%s\"><title>", c->after > c->before ? "w" : "b");
        put_text(out, buf_cstr(&said));
        fprintf(out, "</title><line x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/></g>\n", x, x, TOP,
                HEIGHT - BOTTOM);
    }
}

static void draw_point(FILE *out, const struct trend *t, const struct scale *s, size_t i)
{
    const struct trend_point *p = &t->points.at[i];
    char text[UNITS_MAX], when[32];
    double x = x_of(s, (double)i);
    trend_day(p->time_s, when, sizeof when);
    if (!isnan(p->low) && !isnan(p->high))
        fprintf(out, "<line class=\"e\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>", x, x,
                y_of(s, p->low), y_of(s, p->high));
    fprintf(out,
            "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%s\"><title>%s %.10s%s: %s</title></circle>\n", x,
            y_of(s, p->value), s->n > 200 ? "1.5" : "3", when, p->commit,
            p->dirty ? " with changes" : "", trend_value(t, p->value, text));
}

void trend_print_svg(FILE *out, const struct trend *t)
{
    struct scale s = scale_of(t);
    fprintf(out,
            "<svg class=\"trend\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
            "role=\"img\" aria-label=\"",
            WIDTH, HEIGHT);
    put_text(out, t->title);
    fputs("\">\n<style>.trend text{font:12px system-ui,sans-serif;fill:#5b6168}.trend "
          ".g{stroke:#8884}.trend .p{fill:none;stroke:#2f7dc4;stroke-width:1.5}.trend "
          "circle{fill:#2f7dc4}.trend .e{stroke:#2f7dc4;opacity:.45}.trend .w "
          "line{stroke:#d0342c;stroke-width:3;stroke-dasharray:4 3}.trend .b "
          "line{stroke:#2b9348;stroke-width:3;stroke-dasharray:4 3}"
          "@media(prefers-color-scheme:dark){.trend text{fill:#9aa1a9}}</style>\n",
          out);
    if (s.n) {
        draw_axes(out, t, &s);
        fputs("<polyline class=\"p\" points=\"", out);
        for (size_t i = 0; i < s.n; i++)
            fprintf(out, "%s%.1f,%.1f", i ? " " : "", x_of(&s, (double)i),
                    y_of(&s, t->points.at[i].value));
        fputs("\"/>\n", out);
        draw_changes(out, t, &s);
        for (size_t i = 0; i < s.n; i++)
            draw_point(out, t, &s, i);
    }
    fputs("</svg>\n", out);
}
