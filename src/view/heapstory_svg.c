/*
 * heapstory_svg.c - live bytes and RSS over time as a drawing.
 */
#include "base/units.h"
#include "view/heapstory.h"

enum { WIDTH = 1190, HEIGHT = 260, LEFT = 90, RIGHT = 20, TOP = 24, BOTTOM = 30 };

/* More points than there are pixels would draw nothing new. */
enum { POINTS_MAX = WIDTH };

struct scale {
    uint64_t start_ns, end_ns;
    double high;
};

static void heapstory_svg_widen(struct scale *s, const struct counter *c)
{
    for (size_t i = 0; c && i < c->points.n; i++) {
        const struct counter_point *p = &c->points.at[i];
        s->start_ns = p->time_ns < s->start_ns ? p->time_ns : s->start_ns;
        s->end_ns = p->time_ns > s->end_ns ? p->time_ns : s->end_ns;
        s->high = (double)p->value > s->high ? (double)p->value : s->high;
    }
}

static double x_of(const struct scale *s, uint64_t time_ns)
{
    double span = s->end_ns > s->start_ns ? (double)(s->end_ns - s->start_ns) : 1;
    double at = time_ns > s->start_ns ? (double)(time_ns - s->start_ns) : 0;
    return LEFT + (WIDTH - LEFT - RIGHT) * (at < span ? at / span : 1);
}

static double y_of(const struct scale *s, double bytes)
{
    return TOP + (HEIGHT - TOP - BOTTOM) * (1 - bytes / s->high);
}

static void heapstory_svg_point(FILE *out, const struct scale *s, const struct counter_point *p)
{
    fprintf(out, " %.1f,%.1f", x_of(s, p->time_ns), y_of(s, (double)p->value));
}

/* The highest of N points that share a pixel. */
static const struct counter_point *highest_of(const struct counter_point *p, size_t n)
{
    const struct counter_point *most = p;
    for (size_t i = 1; i < n; i++)
        most = p[i].value > most->value ? &p[i] : most;
    return most;
}

/* PEAK is between two points, and part of the line as well; NULL = none. */
static void draw_line(FILE *out, const struct scale *s, const struct counter *c,
                      const struct counter_point *peak)
{
    size_t step = c->points.n / POINTS_MAX + 1, n = c->points.n;
    fprintf(out, "<polyline class=\"%s\" points=\"", peak ? "l" : "r");
    for (size_t i = 0; i < n; i += step) {
        const struct counter_point *p = highest_of(&c->points.at[i], n - i < step ? n - i : step);
        if (peak && peak->value > 0 && peak->time_ns < p->time_ns) {
            heapstory_svg_point(out, s, peak);
            peak = NULL;
        }
        heapstory_svg_point(out, s, p);
    }
    fputs("\"/>\n", out);
}

static void draw_axes(FILE *out, const struct scale *s)
{
    char text[UNITS_MAX];
    for (int i = 0; i <= 4; i++) {
        double bytes = s->high * i / 4, y = y_of(s, bytes);
        fprintf(out,
                "<line class=\"g\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>"
                "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
                LEFT, WIDTH - RIGHT, y, y, LEFT - 8, y + 4,
                units_scaled(text, bytes, SCALED_BYTES));
    }
    for (int i = 0; i <= 4; i++) {
        double seconds = (double)(s->end_ns - s->start_ns) / 1e9 * i / 4;
        fprintf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"%s\">%s</text>\n",
                LEFT + (WIDTH - LEFT - RIGHT) * i / 4.0, HEIGHT - 8,
                i == 0   ? "start"
                : i == 4 ? "end"
                         : "middle",
                units_seconds(text, seconds));
    }
}

/* Of a part of the recording the peak is known at the end of a slice only. */
static struct counter_point peak_point(const struct heapstory *s)
{
    return s->selected ? (struct counter_point){s->most_held_ns, s->most_held}
                       : (struct counter_point){s->peak_ns, s->value[STORY_PEAK]};
}

static void draw_peak(FILE *out, const struct scale *s, const struct heapstory *story)
{
    char text[UNITS_MAX], at[UNITS_MAX];
    struct counter_point peak = peak_point(story);
    double x = x_of(s, peak.time_ns), y = y_of(s, (double)peak.value);
    fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\"><title>peak %s at %s</title></circle>\n",
            x, y, units_scaled(text, (double)peak.value, SCALED_BYTES),
            units_seconds(at, heapstory_seconds(story, peak.time_ns)));
}

void heapstory_draw(FILE *out, const struct heapstory *story)
{
    struct counter_point peak = peak_point(story);
    struct scale s = {UINT64_MAX, 0, (double)peak.value};
    heapstory_svg_widen(&s, story->live);
    heapstory_svg_widen(&s, story->rss);
    s.high = s.high > 0 ? s.high : 1;
    fprintf(
        out,
        "<svg class=\"heap\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
        "role=\"img\" aria-label=\"heap and RSS over time\">\n"
        "<style>.heap text{font:12px system-ui,sans-serif;fill:#5b6168}.heap .g{stroke:#8884}"
        ".heap polyline{fill:none;stroke-width:1.8}.heap .l{stroke:#2f7dc4}.heap "
        ".r{stroke:#d9791a}.heap circle{fill:#2f7dc4}.heap .tl{fill:#2f7dc4}.heap "
        ".tr{fill:#d9791a}@media(prefers-color-scheme:dark){.heap text{fill:#9aa1a9}}</style>\n",
        WIDTH, HEIGHT);
    draw_axes(out, &s);
    fprintf(out, "<text class=\"tl\" x=\"%d\" y=\"14\">heap live</text>\n", LEFT);
    if (story->rss) {
        fprintf(out, "<text class=\"tr\" x=\"%d\" y=\"14\">RSS</text>\n", LEFT + 80);
        draw_line(out, &s, story->rss, NULL);
    }
    if (story->live)
        draw_line(out, &s, story->live, &peak);
    draw_peak(out, &s, story);
    fputs("</svg>\n", out);
}
