#include "view/heapstory.h"

#include "base/units.h"
#include "model/meta.h"
#include "view/document.h"

#include <math.h>

static void heapstory_cell(struct document *d, const char *text, double heat)
{
    document_cell(d, text_of(text), heat);
}

static void cell_bytes(struct document *d, int64_t bytes)
{
    char s[UNITS_MAX];
    heapstory_cell(d, units_scaled(s, (double)bytes, UNIT_BYTES), 0);
}

static void heapstory_cell_count(struct document *d, int64_t n)
{
    char s[UNITS_MAX];
    heapstory_cell(d, units_count(s, (uint64_t)(n > 0 ? n : 0)), 0);
}

static void cell_share(struct document *d, int64_t part, int64_t whole)
{
    char s[UNITS_MAX];
    double share = whole > 0 ? (double)part / (double)whole : 0;
    snprintf(s, sizeof s, "%.1f%%", 100 * share);
    heapstory_cell(d, s, share);
}

static void cell_name(struct document *d, const struct heapstory *s,
                      const struct heapstory_place *p)
{
    document_cell(d, heapstory_name(s, p), 0);
}

/* --- the verdict --- */

static void add_peak_sentence(struct document *d, const struct heapstory *s)
{
    char n[UNITS_MAX];
    units_scaled(n, (double)s->value[STORY_PEAK], UNIT_BYTES);
    if (s->has[STORY_PEAK] && s->timed)
        document_text(d, "Peak %s at %.2f s.", n, heapstory_seconds(s, s->peak_ns));
    else if (s->has[STORY_PEAK])
        document_text(d, "Peak %s.", n);
}

static void add_flow_sentence(struct document *d, const struct heapstory *s)
{
    char n[3][UNITS_MAX];
    double seconds = heapstory_seconds(s, s->end_ns);
    if (!s->has[STORY_ALLOCATED])
        return;
    units_count(n[0], (uint64_t)s->value[STORY_ALLOCATIONS]);
    units_scaled(n[1], (double)s->value[STORY_ALLOCATED], UNIT_BYTES);
    if (seconds > 0)
        document_text(d, "%s allocations, %s in %.2f s (%s per second).", n[0], n[1], seconds,
                      units_count(n[2], (uint64_t)((double)s->value[STORY_ALLOCATIONS] / seconds)));
    else
        document_text(d, "%s allocations, %s.", n[0], n[1]);
}

static void add_end_sentence(struct document *d, const struct heapstory *s)
{
    char n[2][UNITS_MAX];
    const int64_t *v = s->value;
    if (s->has[STORY_LEAKED])
        document_text(d, "Never freed: %s in %s block%s.",
                      units_scaled(n[0], (double)v[STORY_LEAKED], UNIT_BYTES),
                      units_count(n[1], (uint64_t)heapstory_left(v)),
                      heapstory_left(v) == 1 ? "" : "s");
    if (s->known_leaks)
        document_text(d, "Known leaks, left out: %s in %s block%s.",
                      units_scaled(n[0], (double)s->known_bytes, UNIT_BYTES),
                      units_count(n[1], (uint64_t)s->known_blocks),
                      s->known_blocks == 1 ? "" : "s");
    if (s->has[STORY_TEMPORARY] && v[STORY_ALLOCATIONS])
        document_text(d, "Temporary: %.1f%% of the allocations.",
                      100 * (double)v[STORY_TEMPORARY] / (double)v[STORY_ALLOCATIONS]);
}

/* Frees that fit no allocation; nothing of them is in the other numbers. */
static void add_odd_frees(struct document *d, const struct heapstory *s)
{
    const char *unknown = meta_find(&s->profile->meta, META_UNKNOWN_FREES);
    const char *missed = meta_find(&s->profile->meta, META_MISSED_FREES);
    if (unknown)
        document_text(d,
                      "Frees of blocks that nobody was seen to allocate: %s. These are double "
                      "frees, foreign pointers, or blocks from before a fork; they were passed on "
                      "and are not counted.",
                      unknown);
    if (missed)
        document_text(d, "Blocks handed out again though no free was seen: %s.", missed);
}

/* How the numbers were obtained. */
static const char *method_of(const struct heapstory *s)
{
    if (s->sampled)
        return "sampled by bytes";
    return s->has[STORY_ALLOCATED] ? "exact: every allocation was counted"
                                   : "as the input's tool counted";
}

static void heapstory_add_head(struct document *d, const struct heapstory *s, const char *subject)
{
    char n[UNITS_MAX];
    add_peak_sentence(d, s);
    add_flow_sentence(d, s);
    add_end_sentence(d, s);
    add_odd_frees(d, s);
    if (s->rss_max)
        document_text(d, "RSS reached %s; the heap is part of it.",
                      units_scaled(n, (double)s->rss_max, UNIT_BYTES));
    if (s->sampled)
        document_text(d,
                      "Estimated from %s sampled blocks: a number that rests on n samples is good "
                      "to about 196 / sqrt(n) %% (95%% interval).",
                      units_count(n, (uint64_t)s->value[STORY_SAMPLES]));
    document_text(d, "%s · %s", method_of(s), subject);
}

static void add_insights(struct document *d, const struct heapstory *s)
{
    if (!s->insights.n)
        return;
    document_heading(d, "Insights");
    for (size_t i = 0; i < s->insights.n; i++)
        document_item(d, s->insights.at[i].title, s->insights.at[i].text, s->insights.at[i].advice);
}

/* --- by place --- */

static const struct document_column place_columns[] = {{"share", .right = true},
                                                       {"bytes", .right = true},
                                                       {"blocks", .right = true},
                                                       {"function", .wide = true}};

/* Bytes of one column, with a number of blocks beside it where one is known. */
struct places_section {
    const char *title;
    enum heapstory_value by;
    int64_t (*blocks)(const int64_t *value);
};

static void add_places(struct document *d, const struct heapstory_view *v,
                       const struct places_section *section)
{
    const struct heapstory *s = v->story;
    enum heapstory_value by = section->by;
    autofree uint32_t *top = mem_calloc(v->top + 1, sizeof *top);
    size_t n = heapstory_top(s, by, top, v->top);
    document_heading(d, section->title);
    if (!n) {
        document_text(d, "Nothing.");
        return;
    }
    document_table(d, place_columns, 4);
    for (size_t i = 0; i < n; i++) {
        const struct heapstory_place *p = &s->places.at[top[i]];
        cell_share(d, p->value[by], s->value[by]);
        cell_bytes(d, p->value[by]);
        if (section->blocks)
            heapstory_cell_count(d, section->blocks(p->value));
        else
            heapstory_cell(d, "", 0);
        cell_name(d, s, p);
    }
    document_drop_empty(d);
}

static int64_t allocations(const int64_t *value)
{
    return value[STORY_ALLOCATIONS];
}

static void add_growth(struct document *d, const struct heapstory_view *v)
{
    static const struct document_column columns[] = {{"growth", .right = true},
                                                     {"at half time", .right = true},
                                                     {"near the end", .right = true},
                                                     {"function", .wide = true}};
    const struct heapstory *s = v->story;
    autofree uint32_t *top = mem_calloc(v->top + 1, sizeof *top);
    size_t n = heapstory_growing(s, top, v->top);
    document_heading(d, "Growth");
    if (!n) {
        document_text(d, "Nothing kept growing through the second half of the recording.");
        return;
    }
    document_text(d, "These held ever more through the second half of the recording.");
    document_table(d, columns, 4);
    for (size_t i = 0; i < n; i++) {
        const struct heapstory_place *p = &s->places.at[top[i]];
        cell_bytes(d, heapstory_growth(p));
        cell_bytes(d, p->live[STORY_TIMES / 2 - 1]);
        cell_bytes(d, p->live[STORY_TIMES - 2]);
        cell_name(d, s, p);
    }
}

static void add_churn(struct document *d, const struct heapstory_view *v)
{
    static const struct document_column columns[] = {
        {"share", .right = true}, {"allocations", .right = true}, {"bytes", .right = true},
        {"mean", .right = true},  {"temporary", .right = true},   {"function", .wide = true}};
    const struct heapstory *s = v->story;
    autofree uint32_t *top = mem_calloc(v->top + 1, sizeof *top);
    size_t n = heapstory_top(s, STORY_ALLOCATIONS, top, v->top);
    document_heading(d, "Allocations");
    document_table(d, columns, 6);
    for (size_t i = 0; i < n; i++) {
        const struct heapstory_place *p = &s->places.at[top[i]];
        cell_share(d, p->value[STORY_ALLOCATIONS], s->value[STORY_ALLOCATIONS]);
        heapstory_cell_count(d, p->value[STORY_ALLOCATIONS]);
        cell_bytes(d, p->value[STORY_ALLOCATED]);
        cell_bytes(d, p->value[STORY_ALLOCATED] / p->value[STORY_ALLOCATIONS]);
        if (s->has[STORY_TEMPORARY])
            cell_share(d, p->value[STORY_TEMPORARY], p->value[STORY_ALLOCATIONS]);
        else
            heapstory_cell(d, "-", 0);
        cell_name(d, s, p);
    }
}

/* --- sizes and lifetimes --- */

static void add_classes(struct document *d, const char *title, const int64_t *classes,
                        const char *unit)
{
    static const struct document_column columns[] = {
        {"up to", .right = true}, {"blocks", .right = true}, {"share", .right = true}};
    int64_t all = 0;
    char s[UNITS_MAX];
    for (int k = 0; k < STORY_CLASSES; k++)
        all += classes[k];
    if (!all)
        return;
    document_heading(d, title);
    document_table(d, columns, 3);
    for (int k = 0; k < STORY_CLASSES; k++) {
        if (!classes[k])
            continue;
        heapstory_cell(d, units_scaled(s, ldexp(1, k) - 1, unit), 0);
        heapstory_cell_count(d, classes[k]);
        cell_share(d, classes[k], all);
    }
}

/* --- all of it --- */

static void heapstory_build_document(struct document *d, const struct heapstory_view *v,
                                     bool figure)
{
    const struct heapstory *s = v->story;
    heapstory_add_head(d, s, v->subject);
    add_insights(d, s);
    if (figure && s->live && s->live->points.n > 1) {
        document_heading(d, "Over time");
        document_figure(d);
    }
    if (s->has[STORY_PEAK])
        add_places(d, v, &(struct places_section){"Live at the peak", STORY_PEAK, NULL});
    if (s->has[STORY_LEAKED])
        add_places(d, v, &(struct places_section){"Never freed", STORY_LEAKED, heapstory_left});
    if (s->timed && s->has[STORY_FREED])
        add_growth(d, v);
    if (s->has[STORY_ALLOCATED]) {
        add_churn(d, v);
        add_places(d, v, &(struct places_section){"Allocated bytes", STORY_ALLOCATED, allocations});
    }
    add_classes(d, s->sampled ? "Sizes of sampled blocks" : "Sizes", s->size, UNIT_BYTES);
    add_classes(d, s->sampled ? "Lifetimes of sampled blocks" : "Lifetimes", s->lifetime,
                UNIT_TIME);
}

static char *heapstory_title_of(const struct heapstory_view *v)
{
    const char *command = meta_find(&v->story->profile->meta, META_COMMAND);
    return mem_printf("Heap of %s", command ? command : v->subject);
}

void heapstory_print_text(FILE *out, const struct heapstory_view *v, int width, bool colour)
{
    struct document d = {0};
    autofree char *title = heapstory_title_of(v);
    document_heading(&d, title);
    heapstory_build_document(&d, v, false);
    document_print_text(out, &d, width, colour);
    document_done(&d);
}

void heapstory_print_markdown(FILE *out, const struct heapstory_view *v)
{
    struct document d = {0};
    autofree char *title = heapstory_title_of(v);
    heapstory_build_document(&d, v, false);
    document_print_markdown(out, &d, title);
    document_done(&d);
}

static void heapstory_draw_figure(FILE *out, const void *story, size_t i)
{
    (void)i;
    heapstory_draw(out, story);
}

void heapstory_print_html(FILE *out, const struct heapstory_view *v)
{
    struct document d = {0};
    autofree char *title = heapstory_title_of(v);
    heapstory_build_document(&d, v, true);
    document_print_html(out, &d, title,
                        &(struct document_figures){heapstory_draw_figure, v->story});
    document_done(&d);
}
