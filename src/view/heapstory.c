#include "view/heapstory_inner.h"

#include "base/units.h"
#include "model/meta.h"
#include "view/document.h"

#include <math.h>

static void heapstory_cell(struct document *d, const char *text, double heat)
{
    document_cell(d, text_of(text), heat);
}

static void heapstory_cell_share(struct document *d, double share)
{
    char s[UNITS_MAX];
    snprintf(s, sizeof s, "%.1f%%", 100 * share);
    heapstory_cell(d, s, share);
}

static void heapstory_cell_figure(struct document *d, const struct heapstory *s,
                                  const struct heapstory_place *p, enum heapfigure figure)
{
    char n[UNITS_MAX];
    double value = heapfigure_get(s, p, figure);
    const char *unit = heapfigures[figure].unit;
    if (!heapfigure_is_known(s, figure))
        heapstory_cell(d, "-", 0);
    else if (!unit)
        heapstory_cell_share(d, value);
    else
        heapstory_cell(
            d, units_scaled(n, value, dimension_scaled(dimension_of_unit(text_of(unit)))), 0);
}

/* --- the verdict --- */

static void add_peak_sentence(struct document *d, const struct heapstory *s)
{
    char n[UNITS_MAX];
    units_scaled(n, (double)s->value[STORY_PEAK], SCALED_BYTES);
    if (s->has[STORY_PEAK] && s->timed)
        document_text(d, "Peak %s at %.2f s.", n, heapstory_seconds(s, s->peak_ns));
    else if (s->has[STORY_PEAK])
        document_text(d, "Peak %s.", n);
}

static void add_cut_sentence(struct document *d, const struct heapstory *s)
{
    char n[UNITS_MAX];
    int64_t held = s->value[STORY_ALLOCATED] - s->value[STORY_FREED];
    if (s->cut)
        document_text(d,
                      "The recording was cut off: its peak and what was never freed are not known. "
                      "Held when it ends: %s.",
                      units_scaled(n, (double)held, SCALED_BYTES));
}

static void add_flow_sentence(struct document *d, const struct heapstory *s)
{
    char n[3][UNITS_MAX];
    double seconds = heapstory_seconds(s, s->end_ns);
    if (!s->has[STORY_ALLOCATED])
        return;
    units_count(n[0], (uint64_t)s->value[STORY_ALLOCATIONS]);
    units_scaled(n[1], (double)s->value[STORY_ALLOCATED], SCALED_BYTES);
    const char *plural = s->value[STORY_ALLOCATIONS] == 1 ? "" : "s";
    if (seconds > 0)
        document_text(d, "%s allocation%s, %s in %.2f s (%s per second).", n[0], plural, n[1],
                      seconds,
                      units_count(n[2], (uint64_t)llround(heapstory_allocations_per_second(s))));
    else
        document_text(d, "%s allocation%s, %s.", n[0], plural, n[1]);
}

/* Of a process that goes on nobody can say "never". */
static const char *heapstory_left_words(const struct heapstory *s)
{
    return s->attached ? "Held at the end" : "Never freed";
}

static void add_end_sentence(struct document *d, const struct heapstory *s)
{
    char n[2][UNITS_MAX];
    const int64_t *v = s->value;
    if (s->has[STORY_LEAKED])
        document_text(d, "%s: %s in %s block%s.", heapstory_left_words(s),
                      units_scaled(n[0], (double)v[STORY_LEAKED], SCALED_BYTES),
                      units_count(n[1], (uint64_t)heapstory_left(v)),
                      heapstory_left(v) == 1 ? "" : "s");
    if (s->known_leaks)
        document_text(d, "Known leaks, left out: %s in %s block%s.",
                      units_scaled(n[0], (double)s->known_bytes, SCALED_BYTES),
                      units_count(n[1], (uint64_t)s->known_blocks),
                      s->known_blocks == 1 ? "" : "s");
    if (s->has[STORY_TEMPORARY] && v[STORY_ALLOCATIONS])
        document_text(d, "Temporary: %.1f%% of the allocations.",
                      100 * heapstory_part(v[STORY_TEMPORARY], v[STORY_ALLOCATIONS]));
}

/* What the allocator takes for itself. */
static void add_added_sentence(struct document *d, const struct heapstory *s)
{
    char n[2][UNITS_MAX];
    int64_t blocks = heapstory_small_blocks(s);
    if (!s->has_added || !blocks)
        return;
    document_text(d,
                  "Small-block overhead: malloc added %s to %s block%s below 1 KiB, %.1f%% of all "
                  "bytes allocated (glibc: an 8-byte header, rounded up to 16 bytes).",
                  units_scaled(n[0], (double)s->added, SCALED_BYTES),
                  units_count(n[1], (uint64_t)blocks), blocks == 1 ? "" : "s",
                  100 * heapstory_part(s->added, s->value[STORY_ALLOCATED]));
}

/* Frees that fit no allocation; nothing of them is in the other numbers. */
static void add_odd_frees(struct document *d, const struct heapstory *s)
{
    const char *unknown = meta_find(&s->profile->meta, META_UNKNOWN_FREES);
    const char *missed = meta_find(&s->profile->meta, META_MISSED_FREES);
    if (unknown)
        document_text(d,
                      "Frees of blocks that nobody was seen to allocate: %s. These are double "
                      "frees or foreign pointers; they were passed on and are not counted.",
                      unknown);
    const char *inherited = meta_find(&s->profile->meta, META_INHERITED_FREES);
    if (inherited)
        document_text(d,
                      "Frees by children of a fork, of blocks that their parents had allocated: "
                      "%s. They are not counted: the blocks are the parents'.",
                      inherited);
    if (missed)
        document_text(d, "Blocks handed out again though no free was seen: %s.", missed);
    const char *vague_s = meta_find(&s->profile->meta, META_HEAP_VAGUE_S);
    if (vague_s)
        document_text(d,
                      "Times may be off by up to %s s: the recorder got no CPU for that long. "
                      "Counts and sizes are not affected.",
                      vague_s);
}

/* What a process did before somebody looked is not known. */
static void add_attached(struct document *d, const struct heapstory *s)
{
    const char *end_s = meta_find(&s->profile->meta, META_HEAP_END_S);
    if (s->attached)
        document_text(d, "Recorded from a running process: blocks that it had before are not in "
                         "any of these numbers.");
    if (end_s)
        document_text(d,
                      "The heap was followed for the first %s s only: the process allocates so "
                      "often that probes cost it too much.",
                      end_s);
}

/* How the numbers were obtained. */
static const char *method_of(const struct heapstory *s)
{
    if (s->sampled)
        return "sampled by bytes";
    if (s->cut)
        return "every allocation up to the cut was counted";
    if (s->lossy)
        return "not exact: every allocation was to be counted, and records of them were lost";
    return s->has[STORY_ALLOCATED] ? "exact: every allocation was counted"
                                   : "as the input's tool counted";
}

static void heapstory_add_head(struct document *d, const struct heapstory *s, const char *subject)
{
    char n[UNITS_MAX];
    add_peak_sentence(d, s);
    add_cut_sentence(d, s);
    add_flow_sentence(d, s);
    add_end_sentence(d, s);
    add_added_sentence(d, s);
    add_odd_frees(d, s);
    add_attached(d, s);
    if (s->rss_max)
        document_text(d, "RSS reached %s; the heap is part of it.",
                      units_scaled(n, (double)s->rss_max, SCALED_BYTES));
    if (s->sampled)
        document_text(d,
                      "Estimated from %s sampled block%s: a number that rests on n samples is good "
                      "to about 196 / sqrt(n) %% (95%% interval).%s",
                      units_count(n, (uint64_t)s->value[STORY_SAMPLES]),
                      s->value[STORY_SAMPLES] == 1 ? "" : "s",
                      heapstory_is_rough(s) ? " That is too few for insights: record longer, or "
                                              "sample more often."
                                            : "");
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

/* The places of one order, each with some of its figures. */
struct places_section {
    const char *title;
    enum heapstory_value by; /* largest first */
    size_t n;
    enum heapfigure figures[5];
};

static void add_places_table(struct document *d, const struct heapstory *s,
                             const struct places_section *section, const uint32_t *top, size_t n)
{
    struct document_column *columns = arena_get(&d->arena, (section->n + 1) * sizeof *columns);
    for (size_t k = 0; k < section->n; k++)
        columns[k] =
            (struct document_column){heapfigures[section->figures[k]].column, .right = true};
    columns[section->n] = (struct document_column){"function", .wide = true};
    document_table(d, columns, section->n + 1);
    for (size_t i = 0; i < n; i++) {
        const struct heapstory_place *p = &s->places.at[top[i]];
        for (size_t k = 0; k < section->n; k++)
            heapstory_cell_figure(d, s, p, section->figures[k]);
        document_cell(d, heapstory_name(s, p), 0);
    }
}

static void add_places(struct document *d, const struct heapstory_view *v,
                       const struct places_section *section)
{
    autofree uint32_t *top = mem_calloc(v->top + 1, sizeof *top);
    size_t n = heapstory_top(v->story, section->by, top, v->top);
    document_heading(d, section->title);
    if (n)
        add_places_table(d, v->story, section, top, n);
    else
        document_text(d, "Nothing.");
}

static void heapstory_add_growth(struct document *d, const struct heapstory_view *v)
{
    static const struct places_section growth = {
        .n = 3, .figures = {HEAP_GROWTH, HEAP_LIVE_HALF, HEAP_LIVE_END}};
    autofree uint32_t *top = mem_calloc(v->top + 1, sizeof *top);
    size_t n = heapstory_growing(v->story, top, v->top);
    document_heading(d, "Growth");
    if (!n) {
        document_text(d, "Nothing kept growing through the second half of the recording.");
        return;
    }
    document_text(d, "These held ever more through the second half of the recording.");
    add_places_table(d, v->story, &growth, top, n);
}

static void heapstory_add_range(struct document *d, const struct heapstory_view *v)
{
    static const struct places_section grown = {
        .n = 3, .figures = {HEAP_RANGE_GROWTH, HEAP_RANGE_START, HEAP_RANGE_END}};
    const struct heapstory *s = v->story;
    autofree uint32_t *top = mem_calloc(v->top + 1, sizeof *top);
    size_t n = heapstory_grown(s, top, v->top);
    char from[UNITS_MAX], to[UNITS_MAX];
    document_heading(d, "Growth in the time range");
    document_text(d, "In %s the heap went from %s to %s.%s", s->range,
                  units_scaled(from, (double)s->held_from, SCALED_BYTES),
                  units_scaled(to, (double)s->held_to, SCALED_BYTES),
                  n ? "" : " No function held more at its end than at its start.");
    if (n)
        add_places_table(d, s, &grown, top, n);
}

static const struct places_section at_peak = {
    "Live at the peak", STORY_PEAK, 2, {HEAP_PEAK_SHARE, HEAP_PEAK}};
static const struct places_section never_freed = {
    "Never freed", STORY_LEAKED, 3, {HEAP_LEAKED_SHARE, HEAP_LEAKED, HEAP_LEAKED_BLOCKS}};
static const struct places_section held_at_end = {
    "Held at the end", STORY_LEAKED, 3, {HEAP_LEAKED_SHARE, HEAP_LEAKED, HEAP_LEAKED_BLOCKS}};
static const struct places_section by_number = {
    "Allocations",
    STORY_ALLOCATIONS,
    5,
    {HEAP_ALLOCATIONS_SHARE, HEAP_ALLOCATIONS, HEAP_ALLOCATED, HEAP_MEAN, HEAP_TEMPORARY_SHARE}};
static const struct places_section by_bytes = {
    "Allocated bytes", STORY_ALLOCATED, 3, {HEAP_ALLOCATED_SHARE, HEAP_ALLOCATED, HEAP_BLOCKS}};

/* --- sizes and lifetimes --- */

static void add_classes(struct document *d, const char *title, const int64_t *classes,
                        enum scaled kind)
{
    static const struct document_column columns[] = {
        {"up to", .right = true}, {"blocks", .right = true}, {"share", .right = true}};
    int64_t all = heapstory_classes_sum(classes);
    char s[UNITS_MAX];
    if (!all)
        return;
    document_heading(d, title);
    document_table(d, columns, 3);
    for (int k = 0; k < STORY_CLASSES; k++) {
        if (!classes[k])
            continue;
        heapstory_cell(d, units_scaled(s, ldexp(1, k) - 1, kind), 0);
        heapstory_cell(d, units_count(s, (uint64_t)classes[k]), 0);
        heapstory_cell_share(d, heapstory_part(classes[k], all));
    }
}

/* --- all of it --- */

static void heapstory_build_document(struct document *d, const struct heapstory_view *v,
                                     bool figure)
{
    const struct heapstory *s = v->story;
    heapstory_add_head(d, s, v->subject);
    add_insights(d, s);
    if (s->range)
        heapstory_add_range(d, v);
    if (figure && s->live && s->live->points.n > 1) {
        document_heading(d, "Over time");
        document_figure(d);
    }
    if (s->has[STORY_PEAK])
        add_places(d, v, &at_peak);
    if (s->has[STORY_LEAKED])
        add_places(d, v, s->attached ? &held_at_end : &never_freed);
    if (s->timed && s->has[STORY_FREED])
        heapstory_add_growth(d, v);
    if (s->has[STORY_ALLOCATED]) {
        add_places(d, v, &by_number);
        add_places(d, v, &by_bytes);
    }
    add_classes(d, s->sampled ? "Sizes of sampled blocks" : "Sizes", s->size, SCALED_BYTES);
    add_classes(d, s->sampled ? "Lifetimes of sampled blocks" : "Lifetimes", s->lifetime,
                SCALED_NS);
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
