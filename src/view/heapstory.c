#include "view/findings.h"
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
    if (!heapfigure_is_known_of(s, p, figure))
        heapstory_cell(d, "-", 0);
    else if (!unit)
        heapstory_cell_share(d, value);
    else
        heapstory_cell(
            d, units_scaled(n, value, dimension_scaled(dimension_of_unit(text_of(unit)))), 0);
}

/* --- the verdict --- */

/* An estimate says how far it may be off; what is counted does not. */
enum { ESTIMATE_BYTES = 160 };

static void say_interval(const struct heapstory *s, int64_t bytes, int64_t n, char *ret)
{
    char low[UNITS_MAX], high[UNITS_MAX], samples[UNITS_MAX];
    struct interval i = heapstory_interval(s, bytes, n);
    *ret = '\0';
    if (i.high > 0)
        snprintf(ret, ESTIMATE_BYTES, " (95%%: %s to %s, from %s sample%s)",
                 units_scaled(low, i.low, SCALED_BYTES), units_scaled(high, i.high, SCALED_BYTES),
                 units_count(samples, (uint64_t)n), n == 1 ? "" : "s");
}

/* "3.2 MiB", or "about 3.2 MiB (95%: 1.2 MiB to 6.6 MiB, from 6 samples)". */
static const char *say_bytes(const struct heapstory *s, enum heapstory_value bytes,
                             enum heapstory_value samples, char *ret)
{
    char n[UNITS_MAX], interval[ESTIMATE_BYTES] = "";
    if (s->has[samples])
        say_interval(s, s->value[bytes], s->value[samples], interval);
    units_scaled(n, (double)s->value[bytes], SCALED_BYTES);
    snprintf(ret, ESTIMATE_BYTES, "%s%s%s", s->sampled ? "about " : "", n, interval);
    return ret;
}

/* No sample is not nothing: "No sample; up to about 1.5 MiB may be there unseen (95%)". */
static const char *say_no_sample(const struct heapstory *s, char *ret)
{
    char most[UNITS_MAX];
    double high = heapstory_interval(s, 0, 0).high;
    snprintf(ret, ESTIMATE_BYTES, "No sample");
    if (high > 0)
        snprintf(ret, ESTIMATE_BYTES, "No sample, so at most about %s (95%%)",
                 units_scaled(most, high, SCALED_BYTES));
    return ret;
}

/* Events of one thread are summed up by slices of time: its own peak may be inside of one. */
static void add_selected(struct document *d, const struct heapstory *s)
{
    char most[UNITS_MAX], part[UNITS_MAX], whole[UNITS_MAX], at[UNITS_MAX];
    const char *about = s->sampled ? "about " : "";
    document_text(d, "Only %s.", s->selected);
    if (s->most_held)
        document_text(d, "Peak: at least %s%s, %s after the start (known every %d ms).", about,
                      units_scaled(most, (double)s->most_held, SCALED_BYTES),
                      units_seconds(at, heapstory_seconds(s, s->most_held_ns)), STORY_SLICE_MS);
    if (s->has[STORY_PEAK])
        document_text(d, "At the peak of the whole recording it held %s%s of %s.", about,
                      units_scaled(part, (double)s->value[STORY_PEAK], SCALED_BYTES),
                      units_scaled(whole, (double)s->whole_peak, SCALED_BYTES));
}

static void add_peak_sentence(struct document *d, const struct heapstory *s)
{
    char n[ESTIMATE_BYTES], at[UNITS_MAX];
    if (s->selected) {
        add_selected(d, s);
        return;
    }
    say_bytes(s, STORY_PEAK, STORY_PEAK_SAMPLES, n);
    if (!s->has[STORY_PEAK])
        return;
    if (s->sampled && !s->value[STORY_PEAK])
        document_text(d, "Peak: %s.", say_no_sample(s, n));
    else if (s->timed)
        document_text(d, "Peak %s at %s.", n, units_seconds(at, heapstory_seconds(s, s->peak_ns)));
    else
        document_text(d, "Peak %s.", n);
    if (s->sampled && s->value[STORY_PEAK])
        document_text(d, "The peak of an estimate tends to be higher than the true peak.");
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

/* " (95%: 1,100 to 2,300)" of blocks, where not all are seen. */
static void say_count_interval(const struct heapstory *s, enum heapstory_count count, char *ret)
{
    char low[UNITS_MAX], high[UNITS_MAX];
    struct interval i = heapstory_count_interval(s, NULL, count);
    *ret = '\0';
    if (s->sampled && s->sample_bytes)
        snprintf(ret, ESTIMATE_BYTES, " (95%%: %s to %s)", units_count(low, (uint64_t)i.low),
                 units_count(high, (uint64_t)ceil(i.high)));
}

/* Blocks are sampled by bytes: a few samples of large blocks say little about the small ones. */
static void add_uncounted_flow(struct document *d, const struct heapstory *s, const char *bytes)
{
    char n[2][UNITS_MAX];
    double seconds = heapstory_active_seconds(s);
    struct interval i = heapstory_count_interval(s, NULL, STORY_COUNT_ALLOCATIONS);
    if (seconds > 0)
        document_text(d, "Allocated: %s in %s.", bytes, units_seconds(n[0], seconds));
    else
        document_text(d, "Allocated: %s.", bytes);
    document_text(d,
                  "Number of allocations: between %s and %s (95%%). Too few small blocks were "
                  "sampled to count them: they are a small part of the bytes.",
                  units_count(n[0], (uint64_t)i.low), units_count(n[1], (uint64_t)ceil(i.high)));
}

static void add_flow_sentence(struct document *d, const struct heapstory *s)
{
    char n[3][UNITS_MAX], bytes[ESTIMATE_BYTES], interval[ESTIMATE_BYTES];
    double seconds = heapstory_active_seconds(s);
    if (!s->has[STORY_ALLOCATED])
        return;
    if (s->sampled && !s->value[STORY_SAMPLES]) {
        document_text(d, "Allocated: %s.", say_no_sample(s, bytes));
        return;
    }
    say_bytes(s, STORY_ALLOCATED, STORY_SAMPLES, bytes);
    if (!heapstory_counts_well(s, NULL, STORY_COUNT_ALLOCATIONS)) {
        add_uncounted_flow(d, s, bytes);
        return;
    }
    units_count(n[0], (uint64_t)s->value[STORY_ALLOCATIONS]);
    say_count_interval(s, STORY_COUNT_ALLOCATIONS, interval);
    const char *about = s->sampled ? "About " : "";
    const char *plural = s->value[STORY_ALLOCATIONS] == 1 ? "" : "s";
    if (seconds > 0)
        document_text(d, "%s%s allocation%s%s, %s in %s (%s per second).", about, n[0], plural,
                      interval, bytes, units_seconds(n[2], seconds),
                      units_count(n[1], (uint64_t)llround(heapstory_allocations_per_second(s))));
    else
        document_text(d, "%s%s allocation%s%s, %s.", about, n[0], plural, interval, bytes);
}

/* Of a process that goes on nobody can say "never". */
static const char *heapstory_left_words(const struct heapstory *s)
{
    return s->attached  ? "Held at the end"
           : s->running ? "Never freed, or held at the end"
                        : "Never freed";
}

/* As many blocks as the number of all is as good as: sampled ones count by what they stand for. */
static void add_temporary(struct document *d, const struct heapstory *s)
{
    static const char about[] = "freed by the same thread before it allocates again";
    double n = (double)s->value[STORY_ALLOCATIONS], v = s->variance[STORY_COUNT_ALLOCATIONS];
    double share = heapstory_part(s->value[STORY_TEMPORARY], s->value[STORY_ALLOCATIONS]);
    struct interval i = v > 0 ? stats_wilson(share, n * n / v, 1.96) : (struct interval){0};
    if (v > 0)
        document_text(d,
                      "Temporary (%s): about %.1f%% of the allocations (95%%: %.1f%% to %.1f%%).",
                      about, 100 * share, 100 * i.low, 100 * i.high);
    else
        document_text(d, "Temporary (%s): %.1f%% of the allocations.", about, 100 * share);
}

enum { KEPT_BYTES = 160 };

/* What no program can free is no leak. */
static const char *say_kept(const struct heapstory *s, char ret[static KEPT_BYTES])
{
    char n[UNITS_MAX];
    *ret = '\0';
    if (s->kept_bytes)
        snprintf(
            ret, KEPT_BYTES,
            " Of that, runtimes keep %s%s on purpose (libstdc++ for exceptions, libc's buffers "
            "of streams).",
            s->sampled ? "about " : "", units_scaled(n, (double)s->kept_bytes, SCALED_BYTES));
    return ret;
}

static void add_end_sentence(struct document *d, const struct heapstory *s)
{
    char n[2][UNITS_MAX], bytes[ESTIMATE_BYTES], kept[KEPT_BYTES];
    const int64_t *v = s->value;
    if (s->has[STORY_LEAKED] && s->sampled && !v[STORY_LEAKED])
        document_text(d, "%s: %s.", heapstory_left_words(s), say_no_sample(s, bytes));
    else if (s->has[STORY_LEAKED] && !heapstory_counts_well(s, NULL, STORY_COUNT_LEAKED))
        document_text(d, "%s: %s.", heapstory_left_words(s),
                      say_bytes(s, STORY_LEAKED, STORY_LEAKED_SAMPLES, bytes));
    else if (s->has[STORY_LEAKED] && !v[STORY_LEAKED] && !heapstory_left(v))
        document_text(d, "%s: nothing.", heapstory_left_words(s));
    else if (s->has[STORY_LEAKED])
        document_text(d, "%s: %s in %s%s block%s.%s", heapstory_left_words(s),
                      say_bytes(s, STORY_LEAKED, STORY_LEAKED_SAMPLES, bytes),
                      s->sampled ? "about " : "", units_count(n[1], (uint64_t)heapstory_left(v)),
                      heapstory_left(v) == 1 ? "" : "s", say_kept(s, kept));
    if (s->known_leaks)
        document_text(d, "Known leaks, left out: %s in %s block%s.",
                      units_scaled(n[0], (double)s->known_bytes, SCALED_BYTES),
                      units_count(n[1], (uint64_t)s->known_blocks),
                      s->known_blocks == 1 ? "" : "s");
    if (s->has[STORY_TEMPORARY] && v[STORY_ALLOCATIONS] &&
        heapstory_counts_well(s, NULL, STORY_COUNT_ALLOCATIONS))
        add_temporary(d, s);
    if (s->has[STORY_LOCKED] && v[STORY_ALLOCATIONS])
        document_text(d, "Allocated under a lock: %.1f%% of the allocations.",
                      100 * heapstory_part(v[STORY_LOCKED], v[STORY_ALLOCATIONS]));
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
                      "Frees of blocks whose allocation was not seen: %s. These are double "
                      "frees or foreign pointers; they were passed on and are not counted.",
                      unknown);
    const char *inherited = meta_find(&s->profile->meta, META_INHERITED_FREES);
    if (inherited)
        document_text(d,
                      "Frees by forked children, of blocks that their parents had allocated: %s. "
                      "They are not counted, as the parents still have these blocks.",
                      inherited);
    if (missed && !s->lossy)
        document_text(
            d,
            "Not every free was seen: malloc gave %s block%s out again without one. Libraries "
            "that are loaded with RTLD_DEEPBIND, as PHP loads its extensions, call malloc "
            "and free of the C library past kelvin: blocks that they free may count as never "
            "freed, and blocks that they allocate are missing.",
            missed, strcmp(missed, "1") == 0 ? "" : "s");
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
        document_text(d, "Recorded from a running process: blocks that it allocated before are in "
                         "none of these numbers.");
    if (end_s)
        document_text(d,
                      "The heap was followed for the first %s s only: the process allocates so "
                      "often that the probes slowed it down too much.",
                      end_s);
}

/* Whose numbers these are. */
static void add_processes(struct document *d, const struct heapstory *s)
{
    char n[UNITS_MAX];
    if (s->processes > 1 && !s->selected)
        document_text(
            d,
            "These numbers are sums over %s processes. Memory that a process held when it "
            "ended counts as never freed, and those sums may exceed the peak.",
            units_count(n, s->processes));
    if (s->running)
        document_text(d,
                      "%s process%s still running when the recording ended: later allocations and "
                      "frees are not known.",
                      units_count(n, s->running), s->running == 1 ? " was" : "es were");
}

/* The peak that is sure. */
static double heapstory_least_peak(const struct heapstory *s)
{
    int64_t peak = s->value[STORY_PEAK];
    return s->sampled ? heapstory_interval(s, peak, s->value[STORY_PEAK_SAMPLES]).low
                      : (double)peak;
}

/* RSS is read ten times a second: a peak in between is not in it. */
static void add_rss(struct document *d, const struct heapstory_view *v)
{
    static const int64_t much = INT64_C(16) << 20;
    const struct heapstory *s = v->story;
    char n[UNITS_MAX], rest[UNITS_MAX], peak[UNITS_MAX] = "";
    int64_t beside = s->rss_max - s->value[STORY_PEAK];
    double rss = (double)s->rss_max;
    bool above = s->has[STORY_PEAK] && (double)s->value[STORY_PEAK] > rss;
    units_scaled(n, rss, SCALED_BYTES);
    if (!s->rss_max)
        return;
    if (s->has[STORY_PEAK] && !s->sampled)
        units_scaled(peak, (double)s->value[STORY_PEAK], SCALED_BYTES);
    if (s->processes > 1)
        document_text(d, "RSS of the largest process reached %s.", n);
    else if (above && strcmp(n, peak) == 0) /* no difference that is seen */
        document_text(d, "RSS reached %s, about as much as the heap.", n);
    else if (above && heapstory_least_peak(s) <= rss)
        document_text(d, "RSS reached %s, below the estimated peak but within its interval.", n);
    else if (s->has[STORY_PEAK] && !s->attached && beside >= much && beside >= s->rss_max / 2)
        document_text(
            d,
            "RSS reached %s: %s%s of it was not allocated with malloc, and is in no other "
            "number here. It is memory that was mapped, code or stacks.%s%s",
            n, s->sampled ? "about " : "", units_scaled(rest, (double)beside, SCALED_BYTES),
            v->maps_hint ? " " : "", v->maps_hint ? v->maps_hint : "");
    else if (!above)
        document_text(d, "RSS reached %s; the heap is part of it.", n);
    else
        document_text(d,
                      "RSS reached %s, less than the heap: the rest was never touched, or was held "
                      "only between two readings of RSS (10 per second).",
                      n);
}

static void add_unseen(struct document *d, const struct heapstory *s)
{
    if (s->own_malloc)
        document_text(d, "Not recorded: %s, with a malloc of its own that kelvin cannot see.",
                      s->own_malloc);
    if (s->unseen)
        document_text(d,
                      "Not recorded: %s, as kelvin's library did not get into it. The program is "
                      "static, setuid, 32-bit or linked to musl, its environment was cleared, its "
                      "address space is limited, or it has a /proc of its own.",
                      s->unseen);
    if (s->blind && !s->own_malloc && !s->unseen)
        document_text(d, "Nothing was recorded: kelvin's library was not loaded into the program. "
                         "Its heap is not known.");
}

/* Of estimates, how good they are. */
static void add_sampling(struct document *d, const struct heapstory *s)
{
    char n[UNITS_MAX], mean[UNITS_MAX], one_in[2 * UNITS_MAX] = "";
    if (!s->sampled)
        return;
    if (s->sample_bytes)
        snprintf(one_in, sizeof one_in, ", one per %s on average",
                 units_scaled(mean, (double)s->sample_bytes, SCALED_BYTES));
    document_text(
        d,
        "Estimated from %s sampled block%s%s: bytes that rest on n samples are accurate to about "
        "196 / sqrt(n) %% (95%% interval). Numbers of blocks are less accurate, as small blocks "
        "are rarely sampled: '-' stands where the interval is wider than a factor "
        "of 4.%s",
        units_count(n, (uint64_t)s->value[STORY_SAMPLES]), s->value[STORY_SAMPLES] == 1 ? "" : "s",
        one_in,
        heapstory_is_rough(s) ? " That is too few for insights: record longer, or "
                                "sample more often."
                              : "");
}

/* How the numbers were obtained. */
static const char *method_of(const struct heapstory *s)
{
    if (s->blind)
        return "nothing was counted";
    if (s->sampled)
        return "sampled by bytes";
    if (s->unseen)
        return "not exact: allocations by programs that were not recorded were not counted";
    if (s->own_malloc)
        return "not exact: allocations by a program's own malloc were not counted";
    if (s->cut)
        return "every allocation up to the cut was counted";
    if (s->lossy)
        return "not exact: every allocation was to be counted, and records of them were lost";
    if (meta_find(&s->profile->meta, META_MISSED_FREES))
        return "not exact: some calls of malloc and free went past kelvin";
    return s->has[STORY_ALLOCATED] ? "exact: every allocation was counted"
                                   : "as the input's tool counted";
}

static void heapstory_add_head(struct document *d, const struct heapstory_view *v)
{
    const struct heapstory *s = v->story;
    add_unseen(d, s);
    if (!s->blind) {
        add_peak_sentence(d, s);
        add_cut_sentence(d, s);
        add_flow_sentence(d, s);
        add_end_sentence(d, s);
        add_processes(d, s);
        add_added_sentence(d, s);
        if (!s->selected)
            add_odd_frees(d, s); /* nobody knows whose they are */
        add_attached(d, s);
        add_rss(d, v);
        add_sampling(d, s);
    }
    document_text(d, "%s · %s", method_of(s), v->subject);
}

/* --- by place --- */

/* The places of one order, each with some of its figures. */
struct places_section {
    const char *title;
    enum heapstory_value by; /* largest first */
    size_t n;
    enum heapfigure figures[6];
    enum heapfigure samples; /* that a row rests on, where not every block is seen; 0 = not known */
};

static void add_places_table(struct document *d, const struct heapstory *s,
                             const struct places_section *section, const uint32_t *top, size_t n)
{
    struct places_section with = *section;
    if (s->sampled && section->samples)
        with.figures[with.n++] = section->samples;
    section = &with;
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
    bool whole = v->story->selected && section->by == STORY_PEAK;
    document_heading(d, whole ? "Live at the peak of the whole recording" : section->title);
    char none[ESTIMATE_BYTES];
    if (n)
        add_places_table(d, v->story, section, top, n);
    else if (v->story->sampled)
        document_text(d, "%s.", say_no_sample(v->story, none));
    else
        document_text(d, "Nothing.");
}

/*
 * Growth is seen where each of three parts of the second half has a sample: all three do with 95%
 * where exp(-part / sample_bytes) is below 0.017, which is four samples' worth each.
 */
static void add_no_growth(struct document *d, const struct heapstory *s)
{
    enum { SURELY_SEEN = 12 };
    char mean[UNITS_MAX], least[UNITS_MAX];
    if (!s->sampled)
        document_text(d, "Nothing kept growing through the second half of the recording.");
    else if (s->sample_bytes)
        document_text(
            d,
            "No function was seen to keep growing. With one sample per %s, one that grew by "
            "less than about %s in the second half of the recording can go unnoticed.",
            units_scaled(mean, (double)s->sample_bytes, SCALED_BYTES),
            units_scaled(least, SURELY_SEEN * (double)s->sample_bytes, SCALED_BYTES));
    else
        document_text(d, "No function was seen to keep growing; samples can miss it.");
}

static void heapstory_add_growth(struct document *d, const struct heapstory_view *v)
{
    static const struct places_section growth = {
        .n = 3, .figures = {HEAP_GROWTH, HEAP_LIVE_HALF, HEAP_LIVE_END}};
    autofree uint32_t *top = mem_calloc(v->top + 1, sizeof *top);
    size_t n = heapstory_growing(v->story, top, v->top);
    document_heading(d, "Growth");
    if (!n) {
        add_no_growth(d, v->story);
        return;
    }
    document_text(d, "Memory held by these grew throughout the second half of the recording.");
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
    "Live at the peak", STORY_PEAK, 2, {HEAP_PEAK_SHARE, HEAP_PEAK}, HEAP_PEAK_SAMPLES};
static const struct places_section never_freed = {
    "Never freed",
    STORY_LEAKED,
    3,
    {HEAP_LEAKED_SHARE, HEAP_LEAKED, HEAP_LEAKED_BLOCKS},
    HEAP_LEAKED_SAMPLES};
static const struct places_section held_at_end = {
    "Held at the end",
    STORY_LEAKED,
    3,
    {HEAP_LEAKED_SHARE, HEAP_LEAKED, HEAP_LEAKED_BLOCKS},
    HEAP_LEAKED_SAMPLES};
static const struct places_section by_number = {
    "Allocations",
    STORY_ALLOCATIONS,
    5,
    {HEAP_ALLOCATIONS_SHARE, HEAP_ALLOCATIONS, HEAP_ALLOCATED, HEAP_MEAN, HEAP_TEMPORARY_SHARE},
    HEAP_SAMPLES};
static const struct places_section by_bytes = {"Allocated bytes",
                                               STORY_ALLOCATED,
                                               3,
                                               {HEAP_ALLOCATED_SHARE, HEAP_ALLOCATED, HEAP_BLOCKS},
                                               HEAP_SAMPLES};

/* --- sizes and lifetimes --- */

/* A class holds the numbers of so many bits: 4,096 bytes are below 8 KiB, not up to 4. */
static void add_classes(struct document *d, const char *title, const int64_t *classes,
                        enum scaled kind)
{
    static const struct document_column columns[] = {
        {"below", .right = true}, {"blocks", .right = true}, {"share", .right = true}};
    int64_t all = heapstory_classes_sum(classes);
    char s[UNITS_MAX];
    if (!all)
        return;
    document_heading(d, title);
    document_table(d, columns, 3);
    for (int k = 0; k < STORY_CLASSES; k++) {
        if (!classes[k])
            continue;
        heapstory_cell(d, units_scaled(s, ldexp(1, k), kind), 0);
        heapstory_cell(d, units_count(s, (uint64_t)classes[k]), 0);
        heapstory_cell_share(d, heapstory_part(classes[k], all));
    }
}

/* A lifetime is known once it is over: the longest are missing from the table. */
static void add_lifetimes(struct document *d, const struct heapstory *s)
{
    char n[UNITS_MAX];
    int64_t left = s->sampled ? s->value[STORY_LEAKED_SAMPLES] : heapstory_left(s->value);
    left += s->sampled ? 0 : s->known_blocks;
    add_classes(d, s->sampled ? "Lifetimes of sampled blocks" : "Lifetimes", s->lifetime,
                SCALED_NS);
    if (heapstory_classes_sum(s->lifetime) && s->has[STORY_LEAKED] && left > 0)
        document_text(
            d,
            "Lifetimes are those of blocks that were freed. Not in the table: %s %sblock%s "
            "still held at the end.",
            units_count(n, (uint64_t)left), s->sampled ? "sampled " : "", left == 1 ? "" : "s");
}

/* --- all of it --- */

static void heapstory_build_document(struct document *d, const struct heapstory_view *v,
                                     bool figure)
{
    const struct heapstory *s = v->story;
    heapstory_add_head(d, v);
    if (s->blind)
        return;
    findings_show(d, &s->insights);
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
    if (s->has[STORY_ALLOCATED] && heapstory_counts_well(s, NULL, STORY_COUNT_ALLOCATIONS))
        add_places(d, v, &by_number);
    if (s->has[STORY_ALLOCATED])
        add_places(d, v, &by_bytes);
    add_classes(d, s->sampled ? "Sizes of sampled blocks" : "Sizes", s->size, SCALED_BYTES);
    add_lifetimes(d, s);
}

static char *heapstory_title_of(const struct heapstory_view *v)
{
    const char *command = meta_find(&v->story->profile->meta, META_COMMAND);
    return mem_printf("Heap of %s", command ? command : v->subject);
}

static void heapstory_draw_figure(FILE *out, const void *story, size_t i)
{
    (void)i;
    heapstory_draw(out, story);
}

void heapstory_print(FILE *out, const struct heapstory_view *v, const struct document_paper *paper)
{
    struct document d = {0};
    autofree char *title = heapstory_title_of(v);
    heapstory_build_document(&d, v, paper->form == DOCUMENT_AS_HTML);
    document_print(out, &d, title, paper,
                   &(struct document_figures){heapstory_draw_figure, v->story});
    document_done(&d);
}
