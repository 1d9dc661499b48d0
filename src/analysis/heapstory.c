#include "analysis/heapstory.h"
#include "analysis/heapwrappers.h"
#include "model/heap_tally.h"
#include "model/meta.h"

#include <stdlib.h>

/* --- columns --- */

static const enum heap_column story_columns[STORY_VALUES] = {
    [STORY_ALLOCATIONS] = HEAP_ALLOCATIONS,
    [STORY_ALLOCATED] = HEAP_ALLOCATED,
    [STORY_FREES] = HEAP_FREES,
    [STORY_FREED] = HEAP_FREED,
    [STORY_TEMPORARY] = HEAP_TEMPORARY,
    [STORY_SAMPLES] = HEAP_SAMPLES,
    [STORY_LEAKED] = HEAP_LEAKED,
    [STORY_PEAK] = HEAP_PEAK,
    [STORY_LEAKED_BLOCKS] = HEAP_LEAKED_BLOCKS,
};

/* Other tools know less than a recording: only what was held, or only what leaked. */
static int find_heap_stream(const struct profile *p)
{
    static const enum heap_column any[] = {HEAP_ALLOCATED, HEAP_PEAK, HEAP_LEAKED};
    struct value_ref found;
    for (size_t i = 0; i < sizeof any / sizeof *any; i++)
        if (heapstream_find(p, any[i], &found))
            return found.stream;
    return -1;
}

/* --- places --- */

/* From stacks to places. */
struct place_map {
    struct heapstory *story;
    struct heapwrappers wrappers;
    uint32_t *of_stack; /* place + 1 */
    uint8_t *known;     /* of each stack, whether its leaks are: 0 = not looked, 1 = no, 2 = yes */
    uint8_t *purpose;   /* of each stack: enum heap_purpose + 1; 0 = not looked */
    VEC(uint32_t) of_label; /* place + 1 */
};

static uint32_t heapstory_place_of(struct place_map *m, struct stack_id stack)
{
    if (m->of_stack[stack.i])
        return m->of_stack[stack.i] - 1;
    uint32_t label = heapwrappers_place(&m->wrappers, &m->story->labels, m->story->profile, stack);
    while (m->of_label.n <= label)
        *vec_push(&m->of_label) = 0;
    if (!m->of_label.at[label]) {
        *vec_push(&m->story->places) = (struct heapstory_place){.label = label};
        m->of_label.at[label] = (uint32_t)m->story->places.n;
    }
    m->of_stack[stack.i] = m->of_label.at[label];
    return m->of_stack[stack.i] - 1;
}

/* --- rows --- */

static void find_times(struct heapstory *s, const struct rows *rows)
{
    for (size_t i = 0; rows->time_ns && i < rows->n; i++) {
        uint64_t t = rows->time_ns[i];
        s->start_ns = !s->start_ns || t < s->start_ns ? t : s->start_ns;
        s->end_ns = t > s->end_ns ? t : s->end_ns;
    }
    /* A sampled heap may have its last row long before the end; the heap's size is noted there. */
    for (size_t i = 0; s->end_ns && i < s->profile->counters.n; i++) {
        const struct counter *c = &s->profile->counters.at[i];
        if (heapstream_counter_of(s->profile, c) != HEAP_COUNTER_LIVE || !c->points.n)
            continue;
        uint64_t t = c->points.at[c->points.n - 1].time_ns;
        s->end_ns = t > s->end_ns ? t : s->end_ns;
    }
}

/* Which twentieth of the recording TIME_NS is in. */
static int time_index(const struct heapstory *s, uint64_t time_ns)
{
    double span = (double)(s->end_ns - s->start_ns);
    int i = span > 0 ? (int)((double)(time_ns - s->start_ns) / span * STORY_TIMES) : 0;
    return i < STORY_TIMES ? i : STORY_TIMES - 1;
}

static bool is_known_leak(struct place_map *m, struct stack_id stack)
{
    const struct heapstory *s = m->story;
    if (!m->known[stack.i])
        m->known[stack.i] =
            s->known_leaks && suppressions_match(s->known_leaks, s->profile, stack) ? 2 : 1;
    return m->known[stack.i] == 2;
}

/* What leaked as it is known to goes to sums of its own. */
static void set_known_leaks_apart(struct heapstory *s, int64_t *value)
{
    s->known_bytes += value[STORY_LEAKED];
    s->known_blocks += value[STORY_LEAKED_BLOCKS];
    value[STORY_LEAKED] = value[STORY_LEAKED_BLOCKS] = 0;
}

static void take_row(struct heapstory *s, struct place_map *m, const int *column, size_t row)
{
    const struct stream *stream = profile_stream(s->profile, s->stream);
    struct stack_id stack = stream->rows.stack[row];
    uint32_t at = heapstory_place_of(m, stack); /* may move the places */
    struct heapstory_place *place = &s->places.at[at];
    uint64_t time_ns = stream->rows.time_ns ? stream->rows.time_ns[row] : 0;
    int64_t value[STORY_VALUES];
    for (int v = 0; v < STORY_VALUES; v++)
        value[v] = column[v] >= 0 ? stream->rows.value[column[v]][row] : 0;
    if (column[STORY_LEAKED_BLOCKS] < 0)
        value[STORY_LEAKED_BLOCKS] = value[STORY_ALLOCATIONS] - value[STORY_FREES];
    if (s->known_leaks && is_known_leak(m, stack))
        set_known_leaks_apart(s, value);
    for (int v = 0; v < STORY_VALUES; v++) {
        place->value[v] += value[v];
        s->value[v] += value[v];
    }
    if (value[STORY_PEAK])
        s->peak_ns = time_ns;
    place->live[time_index(s, time_ns)] += value[STORY_ALLOCATED] - value[STORY_FREED];
}

static int64_t column_unit(const struct heapstory *s, int column)
{
    int64_t unit = 1;
    for (int d = 0;
         column >= 0 && d < profile_stream(s->profile, s->stream)->types[column].decimals; d++)
        unit *= 10;
    return unit;
}

/* Sums are taken in the column's own decimals, and brought to whole numbers once. */
static void scale_values(const struct heapstory *s, const int *column, int64_t *value)
{
    for (int v = 0; v < STORY_VALUES; v++) {
        int from = v == STORY_LEAKED_BLOCKS && column[v] < 0 ? STORY_ALLOCATIONS : v;
        int64_t unit = column_unit(s, column[from]);
        value[v] = (value[v] + unit / 2) / unit;
    }
}

/* From what was added in each twentieth to what was held at its end. */
static void finish_place(struct heapstory_place *p, bool timed)
{
    enum { HALF = STORY_TIMES / 2 - 1, STEP = 3, END = STORY_TIMES - 2 };
    for (int i = 1; i < STORY_TIMES; i++)
        p->live[i] += p->live[i - 1];
    p->grows = timed && p->live[HALF] > 0;
    for (int i = HALF; i + STEP <= END; i += STEP)
        p->grows &= p->live[i + STEP] > p->live[i];
}

static void take_rows(struct heapstory *s, struct place_map *m)
{
    const struct rows *rows = &profile_stream(s->profile, s->stream)->rows;
    int column[STORY_VALUES];
    for (int v = 0; v < STORY_VALUES; v++)
        s->has[v] =
            (column[v] = heapstream_find_column(s->profile, s->stream, story_columns[v])) >= 0;
    s->timed = rows->time_ns != NULL;
    find_times(s, rows);
    for (size_t i = 0; i < rows->n; i++)
        take_row(s, m, column, i);
    scale_values(s, column, s->value);
    s->known_blocks /= column_unit(s, column[STORY_ALLOCATIONS]);
    s->has[STORY_LEAKED_BLOCKS] |= s->has[STORY_ALLOCATIONS] && s->has[STORY_FREES];
    for (size_t i = 0; i < s->places.n; i++) {
        scale_values(s, column, s->places.at[i].value);
        finish_place(&s->places.at[i], s->timed && s->has[STORY_FREED]);
    }
}

/*
 * Peak and leaks are written last. A recorder that was killed has not come to it: a heap with bytes
 * has a peak.
 */
static void find_cut(struct heapstory *s)
{
    s->cut = s->timed && s->has[STORY_PEAK] && !s->value[STORY_PEAK] && s->value[STORY_ALLOCATED];
    if (s->cut)
        s->has[STORY_PEAK] = s->has[STORY_LEAKED] = s->has[STORY_LEAKED_BLOCKS] = false;
}

/* --- classes --- */

/*
 * Shorter lives are told together: where blocks come and go faster than that, most of their times
 * are not read from the clock but shared out evenly between two readings of it.
 */
enum { SHORTEST_LIFETIME = 8 }; /* up to 255 ns */

/* The power of two that a class's largest number is one less than. */
static int class_of(const struct profile *p, const struct rows *rows, size_t i)
{
    uint64_t largest = (uint64_t)p->attrs.nodes.at[rows->attrs[i].i].attr.number;
    return largest ? 64 - __builtin_clzll(largest) : 0;
}

static enum heap_purpose heapstory_purpose_of(struct place_map *m, struct stack_id stack)
{
    struct heapstory *s = m->story;
    if (!m->purpose[stack.i])
        m->purpose[stack.i] =
            (uint8_t)heapwrappers_purpose(&m->wrappers, &s->labels, s->profile, stack) + 1;
    return (enum heap_purpose)(m->purpose[stack.i] - 1);
}

/* 0 where the stream has no such column. */
static int64_t sizes_value(const struct profile *p, int stream, enum heap_sizes_column column,
                           size_t row)
{
    int found = heapstream_find_sizes_column(p, stream, column);
    return found >= 0 ? profile_stream(p, stream)->rows.value[found][row] : 0;
}

static void take_sizes_row(struct place_map *m, int stream, size_t i, int k)
{
    struct heapstory *s = m->story;
    const struct rows *rows = &profile_stream(s->profile, stream)->rows;
    struct heapstory_place *place = &s->places.at[heapstory_place_of(m, rows->stack[i])];
    enum heap_purpose purpose = heapstory_purpose_of(m, rows->stack[i]);
    int64_t blocks = rows->value[0][i];
    place->size[k] += blocks;
    place->added += sizes_value(s->profile, stream, HEAP_SIZES_ADDED, i);
    place->grown +=
        purpose == HEAP_FOR_GROWTH ? blocks : sizes_value(s->profile, stream, HEAP_SIZES_GROWN, i);
    place->copies += purpose == HEAP_FOR_COPY ? blocks : 0;
}

static void take_lifetimes_row(struct place_map *m, int stream, size_t i, int k)
{
    struct heapstory *s = m->story;
    const struct rows *rows = &profile_stream(s->profile, stream)->rows;
    struct heapstory_place *place = &s->places.at[heapstory_place_of(m, rows->stack[i])];
    if (heapstory_purpose_of(m, rows->stack[i]) != HEAP_FOR_COPY)
        return;
    place->copies_ended += rows->value[0][i];
    place->copies_brief += k <= STORY_BRIEF ? rows->value[0][i] : 0;
}

static void take_classes(struct heapstory *s, struct place_map *m, enum stream_kind kind,
                         int64_t *to)
{
    int stream = stream_kind_find(s->profile, kind);
    const struct rows *rows = stream >= 0 ? &profile_stream(s->profile, stream)->rows : NULL;
    for (size_t i = 0; rows && rows->attrs && i < rows->n; i++) {
        int k = class_of(s->profile, rows, i);
        if (k >= STORY_CLASSES)
            continue;
        if (to == s->lifetime && k < SHORTEST_LIFETIME)
            k = SHORTEST_LIFETIME;
        to[k] += rows->value[0][i];
        if (to == s->size)
            take_sizes_row(m, stream, i, k);
        else
            take_lifetimes_row(m, stream, i, k);
    }
}

static void find_added(struct heapstory *s)
{
    s->has_added = !s->sampled && !s->lossy && meta_find(&s->profile->meta, META_HEAP_MALLOC);
    for (size_t i = 0; i < s->places.n; i++)
        s->added += s->places.at[i].added;
}

int64_t heapstory_small_blocks(const struct heapstory *s)
{
    int64_t n = 0;
    for (int k = 0; k < HEAP_SMALL_CLASSES; k++)
        n += s->size[k];
    return n;
}

/* --- counters --- */

static void find_counters(struct heapstory *s)
{
    for (size_t i = 0; i < s->profile->counters.n; i++) {
        const struct counter *c = &s->profile->counters.at[i];
        enum heap_counter counts = heapstream_counter_of(s->profile, c);
        if (counts == HEAP_COUNTER_LIVE)
            s->live = c;
        for (size_t k = 0; counts == HEAP_COUNTER_RSS && k < c->points.n; k++)
            if (c->points.at[k].value > s->rss_max) {
                s->rss_max = c->points.at[k].value;
                s->rss = c;
            }
    }
}

/* --- all of it --- */

int heapstory_build(struct heapstory *s, const struct profile *p,
                    const struct suppressions *known_leaks, struct err *err)
{
    *s = (struct heapstory){.profile = p, .known_leaks = known_leaks};
    labels_init(&s->labels, p, &(struct label_opts){0});
    s->stream = find_heap_stream(p);
    if (s->stream < 0)
        return err_set_hint(err, EXIT_INPUT, HINT_RECORD_HEAP, "no heap in this profile");
    s->sampled = heapstream_find_column(p, s->stream, HEAP_SAMPLES) >= 0;
    s->lossy = profile_stream(p, s->stream)->lost > 0;
    s->attached = meta_find(&p->meta, META_HEAP_SINCE) != NULL;
    struct place_map m = {.story = s};
    m.of_stack = mem_calloc(p->stacks.nodes.n + 1, sizeof *m.of_stack);
    m.known = mem_calloc(p->stacks.nodes.n + 1, sizeof *m.known);
    m.purpose = mem_calloc(p->stacks.nodes.n + 1, sizeof *m.purpose);
    heapwrappers_find(&m.wrappers, &s->labels, p, &profile_stream(p, s->stream)->rows);
    take_rows(s, &m);
    find_cut(s);
    take_classes(s, &m, STREAM_HEAP_SIZES, s->size);
    take_classes(s, &m, STREAM_HEAP_LIFETIMES, s->lifetime);
    find_added(s);
    s->place_of_stack = m.of_stack;
    free(m.known);
    free(m.purpose);
    vec_done(&m.of_label);
    heapwrappers_done(&m.wrappers);
    find_counters(s);
    heapstory_find_insights(s);
    return 0;
}

void heapstory_done(struct heapstory *s)
{
    vec_done(&s->places);
    vec_done(&s->insights);
    free(s->place_of_stack);
    labels_done(&s->labels);
    arena_done(&s->arena);
}

/* --- tops --- */

struct rank {
    int64_t value;
    uint32_t place;
};

static int heapstory_by_value(const void *a, const void *b)
{
    const struct rank *x = a, *y = b;
    if (x->value != y->value)
        return x->value < y->value ? 1 : -1;
    return x->place < y->place ? -1 : 1;
}

static size_t heapstory_rank(struct rank *all, size_t n, uint32_t *ret, size_t max)
{
    if (n)
        qsort(all, n, sizeof *all, heapstory_by_value);
    n = n < max ? n : max;
    for (size_t i = 0; i < n; i++)
        ret[i] = all[i].place;
    return n;
}

size_t heapstory_top(const struct heapstory *s, enum heapstory_value by, uint32_t *ret, size_t max)
{
    autofree struct rank *all = mem_calloc(s->places.n + 1, sizeof *all);
    size_t n = 0;
    for (uint32_t i = 0; i < s->places.n; i++)
        if (s->places.at[i].value[by] > 0)
            all[n++] = (struct rank){s->places.at[i].value[by], i};
    return heapstory_rank(all, n, ret, max);
}

int64_t heapstory_growth(const struct heapstory_place *p)
{
    return p->live[STORY_TIMES - 2] - p->live[STORY_TIMES / 2 - 1];
}

size_t heapstory_growing(const struct heapstory *s, uint32_t *ret, size_t max)
{
    autofree struct rank *all = mem_calloc(s->places.n + 1, sizeof *all);
    size_t n = 0;
    for (uint32_t i = 0; i < s->places.n; i++)
        if (s->places.at[i].grows && heapstory_growth(&s->places.at[i]) > 0)
            all[n++] = (struct rank){heapstory_growth(&s->places.at[i]), i};
    return heapstory_rank(all, n, ret, max);
}

size_t heapstory_grown(const struct heapstory *s, uint32_t *ret, size_t max)
{
    autofree struct rank *all = mem_calloc(s->places.n + 1, sizeof *all);
    size_t n = 0;
    for (uint32_t i = 0; i < s->places.n; i++) {
        const struct heapstory_place *p = &s->places.at[i];
        if (p->held_to > p->held_from)
            all[n++] = (struct rank){p->held_to - p->held_from, i};
    }
    return heapstory_rank(all, n, ret, max);
}
