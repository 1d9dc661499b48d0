#include "analysis/heapstory.h"
#include "analysis/heapwrappers.h"
#include "model/heap_tally.h"
#include "model/meta.h"

#include <stdlib.h>

_Static_assert((int)STORY_SLICE_MS == HEAP_SLICE_MS, "the same slices");

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
    [STORY_LEAKED_SAMPLES] = HEAP_LEAKED_SAMPLES,
    [STORY_PEAK_SAMPLES] = HEAP_PEAK_SAMPLES,
    [STORY_LOCKED] = HEAP_LOCKED,
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
    struct suppressions reserves; /* what runtimes keep on purpose */
    uint8_t *kept;                /* of each stack, whether it is such: as `known` */
    uint8_t *purpose;             /* of each stack: enum heap_purpose + 1; 0 = not looked */
    VEC(uint32_t) of_label;       /* place + 1 */
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

/* SEEN: what was found out of each stack; 0 = not looked, 1 = no, 2 = yes. */
static bool is_on_list(const struct suppressions *list, const struct profile *p,
                       struct stack_id stack, uint8_t *seen)
{
    if (!seen[stack.i])
        seen[stack.i] = suppressions_match(list, p, stack) ? 2 : 1;
    return seen[stack.i] == 2;
}

/* What leaked as it is known to goes to sums of its own. */
static void set_known_leaks_apart(struct heapstory *s, int64_t *value)
{
    s->known_bytes += value[STORY_LEAKED];
    s->known_blocks += value[STORY_LEAKED_BLOCKS];
    value[STORY_LEAKED] = value[STORY_LEAKED_BLOCKS] = value[STORY_LEAKED_SAMPLES] = 0;
}

static int64_t column_unit(const struct heapstory *s, int column)
{
    int64_t unit = 1;
    for (int d = 0;
         column >= 0 && d < profile_stream(s->profile, s->stream)->types[column].decimals; d++)
        unit *= 10;
    return unit;
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
    int64_t ended = time_ns < s->end_ns ? value[STORY_LEAKED] : 0; /* with its process */
    if (s->known_leaks && is_on_list(s->known_leaks, s->profile, stack, m->known))
        set_known_leaks_apart(s, value);
    else if (value[STORY_LEAKED] && is_on_list(&m->reserves, s->profile, stack, m->kept))
        s->kept_bytes += value[STORY_LEAKED];
    for (int v = 0; v < STORY_VALUES; v++) {
        place->value[v] += value[v];
        s->value[v] += value[v];
    }
    double unit = (double)column_unit(s, column[STORY_ALLOCATIONS]);
    heapstory_add_variance(place->variance, value, unit);
    heapstory_add_variance(s->variance, value, unit);
    if (value[STORY_PEAK])
        s->peak_ns = time_ns;
    place->live[time_index(s, time_ns)] += value[STORY_ALLOCATED] - value[STORY_FREED] - ended;
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
    for (int i = 0; i < HALF; i++) /* what it held before and takes again is no growth */
        p->grows &= p->live[END] > p->live[i];
    for (int i = HALF; i + STEP <= END; i += STEP)
        p->grows &= p->live[i + STEP] > p->live[i];
}

/* --- which rows --- */

int heapstory_select(const struct heapstory *s, int stream, struct selection *ret, struct err *err)
{
    struct value_ref value = {stream, 0};
    if (s->only)
        return selection_build(ret, s->profile, value, s->only, err);
    *ret = selection_all(s->profile, value);
    return 0;
}

/* Bytes that came at a time, or went. */
struct held_change {
    uint64_t time_ns;
    int64_t bytes;
    bool flow; /* some came or went, not only with their process */
};

static int heapstory_by_time(const void *a, const void *b)
{
    const struct held_change *x = a, *y = b;
    return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

/* It held as much as before until FROM_NS, and BYTES at TO_NS. */
static void add_held_point(struct counter *to, uint64_t from_ns, uint64_t to_ns, int64_t bytes)
{
    const struct counter_point *last = to->points.n ? &to->points.at[to->points.n - 1] : NULL;
    struct counter_point before = {from_ns, last ? last->value : 0};
    if (!last || last->time_ns < from_ns)
        *vec_push(&to->points) = before;
    if (from_ns < to_ns || !last)
        *vec_push(&to->points) = (struct counter_point){to_ns, bytes};
}

/* Rows have the time at which their slice began; what a process held goes when it ends. */
static uint64_t end_of_slice(const struct heapstory *s, const struct held_change *at,
                             const struct held_change *next)
{
    uint64_t end_ns = at->time_ns + UINT64_C(1000000) * STORY_SLICE_MS;
    end_ns = next && next->time_ns < end_ns ? next->time_ns : end_ns;
    return end_ns < s->end_ns ? end_ns : s->end_ns;
}

/*
 * The most that what is selected held when a slice of time was over, or when all held most. What a
 * process holds when it ends is written before the slice that it ends in.
 */
static void find_most_held(struct heapstory *s, const struct selection *rows, const int *column)
{
    const struct rows *all = &rows->stream->rows;
    autofree struct held_change *change = mem_calloc(rows->n_rows + 1, sizeof *change);
    int64_t held = 0;
    s->most_held = s->value[STORY_PEAK];
    s->most_held_ns = s->peak_ns;
    if (!s->timed || column[STORY_ALLOCATED] < 0 || column[STORY_FREED] < 0)
        return;
    for (size_t i = 0; i < rows->n_rows; i++) {
        size_t row = selection_row(rows, i);
        int64_t came = all->value[column[STORY_ALLOCATED]][row];
        int64_t went = all->value[column[STORY_FREED]][row];
        change[i] = (struct held_change){all->time_ns[row], came - went, came || went};
        if (column[STORY_LEAKED] >= 0 && all->time_ns[row] < s->end_ns)
            change[i].bytes -= all->value[column[STORY_LEAKED]][row];
    }
    qsort(change, rows->n_rows, sizeof *change, heapstory_by_time);
    s->part_live = mem_new(struct counter);
    s->part_from_ns = s->part_to_ns = rows->n_rows ? change[0].time_ns : 0;
    for (size_t i = 0; i < rows->n_rows; i++) {
        const struct held_change *next = i + 1 < rows->n_rows ? &change[i + 1] : NULL;
        held += change[i].bytes;
        if (change[i].flow)
            s->part_to_ns = end_of_slice(s, &change[i], next);
        if (next && next->time_ns == change[i].time_ns)
            continue;
        uint64_t end_ns = end_of_slice(s, &change[i], next);
        add_held_point(s->part_live, change[i].time_ns, end_ns, held);
        if (held > s->most_held) {
            s->most_held = held;
            s->most_held_ns = end_ns;
        }
    }
    add_held_point(s->part_live, s->end_ns, s->end_ns, held);
}

static void take_selection(struct heapstory *s, const struct selection *rows, const int *column)
{
    s->selected = mem_strdup(rows->words);
    for (size_t i = 0; column[STORY_PEAK] >= 0 && i < rows->stream->rows.n; i++)
        s->whole_peak += rows->stream->rows.value[column[STORY_PEAK]][i];
    find_most_held(s, rows, column);
}

static int take_rows(struct heapstory *s, struct place_map *m, struct err *err)
{
    const struct rows *rows = &profile_stream(s->profile, s->stream)->rows;
    struct selection selected;
    int column[STORY_VALUES];
    for (int v = 0; v < STORY_VALUES; v++)
        s->has[v] =
            (column[v] = heapstream_find_column(s->profile, s->stream, story_columns[v])) >= 0;
    s->timed = rows->time_ns != NULL;
    find_times(s, rows);
    if (heapstory_select(s, s->stream, &selected, err) != 0)
        return -1;
    for (size_t i = 0; i < selected.n_rows; i++)
        take_row(s, m, column, selection_row(&selected, i));
    if (selected.words)
        take_selection(s, &selected, column);
    selection_done(&selected);
    scale_values(s, column, s->value);
    s->known_blocks /= column_unit(s, column[STORY_ALLOCATIONS]);
    s->has[STORY_LEAKED_BLOCKS] |= s->has[STORY_ALLOCATIONS] && s->has[STORY_FREES];
    for (size_t i = 0; i < s->places.n; i++) {
        scale_values(s, column, s->places.at[i].value);
        finish_place(&s->places.at[i], s->timed && s->has[STORY_FREED]);
    }
    return 0;
}

/*
 * Peak and leaks are written last. A recorder that was killed has not come to it: a heap with bytes
 * has a peak.
 */
static void find_cut(struct heapstory *s)
{
    int64_t peak = s->selected ? s->whole_peak : s->value[STORY_PEAK];
    s->cut = s->timed && s->has[STORY_PEAK] && !peak && s->value[STORY_ALLOCATED];
    if (s->cut)
        s->has[STORY_PEAK] = s->has[STORY_LEAKED] = s->has[STORY_LEAKED_BLOCKS] = false;
}

/* --- classes --- */

/*
 * Shorter lives are shown together: where blocks come and go faster than that, most of their times
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
    int64_t blocks = rows->value[0][i], brief = k <= STORY_BRIEF ? blocks : 0;
    place->brief += brief;
    if (heapstory_purpose_of(m, rows->stack[i]) != HEAP_FOR_COPY)
        return;
    place->copies_ended += blocks;
    place->copies_brief += brief;
}

static void take_classes(struct heapstory *s, struct place_map *m, enum stream_kind kind,
                         int64_t *to)
{
    int stream = stream_kind_find(s->profile, kind);
    struct selection selected;
    struct err none;
    if (stream < 0 || heapstory_select(s, stream, &selected, &none) != 0)
        return;
    const struct rows *rows = &selected.stream->rows;
    for (size_t at = 0; rows->attrs && at < selected.n_rows; at++) {
        size_t i = selection_row(&selected, at);
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
    selection_done(&selected);
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

/* They are of all threads of a process, and of all processes. */
static void find_counters(struct heapstory *s)
{
    if (s->selected) {
        s->live = s->part_live;
        return;
    }
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

/* --- what the recorder says of it --- */

static uint64_t meta_number(const struct profile *p, const char *key)
{
    const char *n = meta_find(&p->meta, key);
    return n ? strtoull(n, NULL, 10) : 0;
}

static void find_facts(struct heapstory *s)
{
    const struct profile *p = s->profile;
    bool none = meta_find(&p->meta, META_HEAP_PROGRAMS) && !meta_number(p, META_HEAP_PROGRAMS);
    s->unseen = none ? NULL : meta_find(&p->meta, META_HEAP_UNSEEN);
    s->own_malloc = meta_find(&p->meta, META_HEAP_OWN_MALLOC);
    s->sample_bytes = s->sampled ? meta_number(p, META_HEAP_SAMPLE_BYTES) : 0;
    s->processes = meta_number(p, META_HEAP_PROCESSES);
    s->running = meta_number(p, META_HEAP_RUNNING);
    s->blind = (none || s->own_malloc || s->unseen) && !s->value[STORY_ALLOCATIONS];
}

struct interval heapstory_interval(const struct heapstory *s, int64_t bytes, int64_t n)
{
    static const double z95 = 1.959964, unseen95 = 2.995732; /* a mean that gives none in 5% */
    double mean = (double)s->sample_bytes, part = mean * (double)n;
    if (n <= 0)
        return (struct interval){0, unseen95 * mean};
    struct interval of_n = stats_poisson((double)n, z95);
    double unsure = part < (double)bytes ? part : (double)bytes;
    double sure = (double)bytes - unsure;
    return mean > 0 ? (struct interval){sure + unsure * of_n.low / (double)n,
                                        sure + unsure * of_n.high / (double)n}
                    : (struct interval){0};
}

/* --- all of it --- */

static void place_map_done(struct place_map *m)
{
    m->story->place_of_stack = m->of_stack;
    free(m->known);
    free(m->kept);
    suppressions_done(&m->reserves);
    free(m->purpose);
    vec_done(&m->of_label);
    heapwrappers_done(&m->wrappers);
}

int heapstory_build(struct heapstory *s, const struct profile *p, const struct heapstory_opts *opts,
                    struct err *err)
{
    *s = (struct heapstory){.profile = p,
                            .known_leaks = opts ? opts->known_leaks : NULL,
                            .only = opts ? opts->only : NULL};
    labels_init(&s->labels, p, &(struct label_opts){0});
    s->stream = find_heap_stream(p);
    if (s->stream < 0 && heapstream_has_inuse(p))
        return err_set_hint(err, EXIT_INPUT, HINT_INUSE,
                            "this profile has only what was in use, by call stack");
    if (s->stream < 0)
        return err_set_hint(err, EXIT_INPUT, HINT_RECORD_HEAP, "no heap in this profile");
    s->sampled = heapstream_find_column(p, s->stream, HEAP_SAMPLES) >= 0;
    s->lossy = profile_stream(p, s->stream)->lost > 0;
    s->attached = meta_find(&p->meta, META_HEAP_SINCE) != NULL;
    const char *followed = meta_find(&p->meta, META_HEAP_END_S);
    s->followed_s = followed ? strtod(followed, NULL) : 0;
    struct place_map m = {.story = s};
    m.of_stack = mem_calloc(p->stacks.nodes.n + 1, sizeof *m.of_stack);
    m.known = mem_calloc(p->stacks.nodes.n + 1, sizeof *m.known);
    m.kept = mem_calloc(p->stacks.nodes.n + 1, sizeof *m.kept);
    suppressions_add_reserves(&m.reserves);
    m.purpose = mem_calloc(p->stacks.nodes.n + 1, sizeof *m.purpose);
    heapwrappers_find(&m.wrappers, &s->labels, p, &profile_stream(p, s->stream)->rows);
    int rc = take_rows(s, &m, err);
    if (rc == 0) {
        find_cut(s);
        find_facts(s);
        take_classes(s, &m, STREAM_HEAP_SIZES, s->size);
        take_classes(s, &m, STREAM_HEAP_LIFETIMES, s->lifetime);
        find_added(s);
        find_counters(s);
        heapstory_find_insights(s);
    }
    place_map_done(&m);
    return rc;
}

void heapstory_done(struct heapstory *s)
{
    vec_done(&s->places);
    vec_done(&s->insights.at);
    free(s->place_of_stack);
    free(s->selected);
    if (s->part_live)
        vec_done(&s->part_live->points);
    free(s->part_live);
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
        if (s->places.at[i].grows && heapstory_growth(&s->places.at[i]) > heapstory_least_growth(s))
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
