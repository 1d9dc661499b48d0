#include "record/heap_tally.h"

#define SLICE_NS (UINT64_C(1000000) * HEAP_SLICE_MS)

void heap_tally_init(struct heap_tally *t, struct profile *p)
{
    static const struct {
        const char *name, *unit;
    } columns[HEAP_COLUMNS] = {
        [HEAP_ALLOCATIONS] = {"allocations", UNIT_COUNT},
        [HEAP_ALLOCATED] = {"allocated", UNIT_BYTES},
        [HEAP_FREES] = {"frees", UNIT_COUNT},
        [HEAP_FREED] = {"freed", UNIT_BYTES},
        [HEAP_TEMPORARY] = {"temporary", UNIT_COUNT},
        [HEAP_LEAKED] = {"leaked", UNIT_BYTES},
        [HEAP_PEAK] = {"peak", UNIT_BYTES},
    };
    *t = (struct heap_tally){.profile = p};
    t->stream = profile_add_stream(p, "heap", BY_EXACT_COUNT);
    for (int i = 0; i < HEAP_COLUMNS; i++)
        profile_add_value(p, t->stream, columns[i].name, columns[i].unit);
    t->live_counter = profile_add_counter(p, "heap live", UNIT_BYTES, (struct process_id){0});
    t->blocks_counter = profile_add_counter(p, "heap blocks", UNIT_COUNT, (struct process_id){0});
}

void heap_tally_done(struct heap_tally *t)
{
    vec_done(&t->sites);
    vec_done(&t->touched);
}

uint32_t heap_tally_new_site(struct heap_tally *t, const struct heap_site *site)
{
    *vec_push(&t->sites) = *site;
    return (uint32_t)t->sites.n - 1;
}

/* --- rows --- */

static void add_row(struct heap_tally *t, const struct heap_site *s, uint64_t time_ns,
                    const int64_t *values)
{
    struct err ignored;
    struct row row = {.stack = s->stack,
                      .thread = s->thread,
                      .has_time = true,
                      .time_ns = time_ns,
                      .values = values};
    profile_add_row(t->profile, t->stream, &row, &ignored); /* fails past 2^63 bytes */
    t->unfinished[s->end % 16]++;
}

static void write_slice(struct heap_tally *t)
{
    for (size_t i = 0; i < t->touched.n; i++) {
        struct heap_site *s = &t->sites.at[t->touched.at[i]];
        int64_t values[HEAP_COLUMNS] = {0};
        memcpy(values, s->flow, sizeof s->flow);
        memset(s->flow, 0, sizeof s->flow);
        s->touched = false;
        add_row(t, s, t->slice_ns, values);
    }
    t->touched.n = 0;
}

static void add_points(struct heap_tally *t, uint64_t time_ns)
{
    profile_add_point(t->profile, t->live_counter, time_ns, t->live_bytes);
    profile_add_point(t->profile, t->blocks_counter, time_ns, t->live_blocks);
}

/* Times of different threads come in order but for those that were held up while they wrote. */
void heap_tally_time(struct heap_tally *t, uint64_t time_ns)
{
    t->now_ns = time_ns;
    if (!t->slice_ns) {
        t->slice_ns = time_ns;
        add_points(t, time_ns);
    }
    if (time_ns < t->slice_ns + SLICE_NS)
        return;
    write_slice(t);
    t->slice_ns += (time_ns - t->slice_ns) / SLICE_NS * SLICE_NS;
    add_points(t, t->slice_ns);
}

/* --- events --- */

static struct heap_site *touch(struct heap_tally *t, uint32_t site)
{
    struct heap_site *s = &t->sites.at[site];
    if (!s->touched) {
        s->touched = true;
        *vec_push(&t->touched) = site;
    }
    return s;
}

static void change_live(struct heap_tally *t, struct heap_site *s, int64_t bytes)
{
    if (s->epoch != t->epoch) {
        s->epoch = t->epoch;
        s->peak_bytes = s->live_bytes;
    }
    s->live_bytes += bytes;
    t->live_bytes += bytes;
    if (t->live_bytes <= t->peak_bytes)
        return;
    t->peak_bytes = t->live_bytes;
    t->epoch++;
}

static void add_flow(struct heap_tally *t, struct heap_site *s, enum heap_column c, int64_t n)
{
    s->flow[c] += n;
    t->total[c] += n;
}

void heap_tally_alloc(struct heap_tally *t, uint32_t site, uint64_t size_bytes)
{
    struct heap_site *s = touch(t, site);
    add_flow(t, s, HEAP_ALLOCATIONS, 1);
    add_flow(t, s, HEAP_ALLOCATED, (int64_t)size_bytes);
    uint64_t epoch = t->epoch;
    t->live_blocks++;
    change_live(t, s, (int64_t)size_bytes);
    if (t->epoch != epoch)
        t->peak_ns = t->now_ns;
}

void heap_tally_free(struct heap_tally *t, uint32_t site, uint64_t size_bytes, bool temporary)
{
    struct heap_site *s = touch(t, site);
    add_flow(t, s, HEAP_FREES, 1);
    add_flow(t, s, HEAP_FREED, (int64_t)size_bytes);
    add_flow(t, s, HEAP_TEMPORARY, temporary);
    t->live_blocks--;
    change_live(t, s, -(int64_t)size_bytes);
}

void heap_tally_unfree(struct heap_tally *t, uint32_t site, uint64_t size_bytes)
{
    struct heap_site *s = touch(t, site);
    add_flow(t, s, HEAP_FREES, -1);
    add_flow(t, s, HEAP_FREED, -(int64_t)size_bytes);
    t->live_blocks++;
    change_live(t, s, (int64_t)size_bytes);
}

void heap_tally_leak(struct heap_tally *t, uint32_t site, uint64_t size_bytes)
{
    struct heap_site *s = &t->sites.at[site];
    s->leaked_bytes += (int64_t)size_bytes;
    t->total[HEAP_LEAKED] += (int64_t)size_bytes;
    t->live_blocks--;
    change_live(t, s, -(int64_t)size_bytes);
}

/* --- the end --- */

static void write_level(struct heap_tally *t, const struct heap_site *s, enum heap_column c,
                        int64_t bytes, uint64_t time_ns)
{
    int64_t values[HEAP_COLUMNS] = {0};
    values[c] = bytes;
    if (bytes > 0)
        add_row(t, s, time_ns, values);
}

void heap_tally_end(struct heap_tally *t, uint64_t end_ns)
{
    write_slice(t);
    t->total[HEAP_PEAK] = t->peak_bytes;
    for (size_t i = 0; i < t->sites.n; i++) {
        const struct heap_site *s = &t->sites.at[i];
        int64_t at_peak = s->epoch == t->epoch ? s->peak_bytes : s->live_bytes;
        write_level(t, s, HEAP_PEAK, at_peak, t->peak_ns);
        write_level(t, s, HEAP_LEAKED, s->leaked_bytes, end_ns);
    }
}
