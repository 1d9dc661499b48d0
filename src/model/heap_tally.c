#include "model/heap_tally.h"

#include <math.h>
#include <stdlib.h>

#define SLICE_NS (UINT64_C(1000000) * HEAP_SLICE_MS)

/* Exact streams have no samples: their column is left out. */
static bool has_column(const struct heap_tally *t, int column)
{
    bool samples =
        column == HEAP_SAMPLES || column == HEAP_LEAKED_SAMPLES || column == HEAP_PEAK_SAMPLES;
    return samples                    ? t->sample_bytes > 0
           : column == HEAP_TEMPORARY ? !t->no_temporary
           : column == HEAP_LOCKED    ? t->locks
                                      : true;
}

static void tally_add_columns(struct heap_tally *t)
{
    struct profile *p = t->profile;
    for (int i = 0; i < HEAP_COLUMNS; i++) {
        if (!has_column(t, i))
            continue;
        int type = heapstream_add_column(p, t->stream, (enum heap_column)i);
        struct value_type *v = &profile_stream(p, t->stream)->types[type];
        if (t->sample_bytes && v->dimension == DIM_COUNT && i != HEAP_SAMPLES &&
            i != HEAP_LEAKED_SAMPLES && i != HEAP_PEAK_SAMPLES)
            v->decimals = HEAP_SAMPLED_DECIMALS;
    }
}

void heap_tally_init(struct heap_tally *t, struct profile *p, const struct heap_tally_opts *o)
{
    enum obtained how = o->sample_bytes ? BY_BYTES : BY_EXACT_COUNT;
    struct process_id nobody = {0};
    *t = (struct heap_tally){.profile = p,
                             .sample_bytes = o->sample_bytes,
                             .no_temporary = o->no_temporary,
                             .locks = o->locks,
                             .block_unit = o->sample_bytes ? 1000 : 1};
    t->stream = stream_kind_add(p, STREAM_HEAP, how);
    tally_add_columns(t);
    t->sizes_stream = stream_kind_add(p, STREAM_HEAP_SIZES, how);
    heapstream_add_sizes_columns(p, t->sizes_stream);
    t->lifetimes_stream = stream_kind_add(p, STREAM_HEAP_LIFETIMES, how);
    profile_add_value(p, t->lifetimes_stream, "blocks", UNIT_COUNT);
    t->live_counter = heapstream_add_counter(p, HEAP_COUNTER_LIVE, nobody);
    t->blocks_counter = heapstream_add_counter(p, HEAP_COUNTER_BLOCKS, nobody);
}

void heap_tally_done(struct heap_tally *t)
{
    vec_done(&t->sites);
    vec_done(&t->touched);
    vec_done(&t->leaked);
    vec_done(&t->classes);
}

uint32_t heap_tally_new_site(struct heap_tally *t, const struct heap_site *site)
{
    *vec_push(&t->sites) = *site;
    *vec_push(&t->classes) = (struct heap_classes){0};
    return (uint32_t)t->sites.n - 1;
}

/* Sums stay within 64 bits: sizes come from programs and files that may say anything. */
static void add_capped(int64_t *sum, int64_t n)
{
    if (__builtin_add_overflow(*sum, n, sum))
        *sum = n > 0 ? INT64_MAX : INT64_MIN;
}

/* --- rows --- */

static struct thread_id thread_of_site(const struct heap_tally *t, const struct heap_site *s)
{
    return t->thread_of ? t->thread_of(t->arg, s->thread) : (struct thread_id){0};
}

static void tally_add_row(struct heap_tally *t, const struct heap_site *s, uint64_t time_ns,
                          const int64_t *values)
{
    struct err ignored;
    int64_t kept[HEAP_COLUMNS];
    int n = 0;
    for (int i = 0; i < HEAP_COLUMNS; i++)
        if (has_column(t, i))
            kept[n++] = values[i];
    struct row row = {.stack = s->stack,
                      .thread = thread_of_site(t, s),
                      .attrs = s->scopes,
                      .has_time = true,
                      .time_ns = time_ns,
                      .values = kept};
    profile_add_row(t->profile, t->stream, &row, &ignored); /* fails past 2^63 bytes */
    t->unfinished[s->end % 16]++;
}

/*
 * What flowed at a site goes into VALUES. No row is below 0: a free that is taken back after its
 * slice was written is taken from the next ones, and the site stays touched while that is owed.
 * Returns whether anything flowed.
 */
static bool take_flow(struct heap_tally *t, struct heap_site *s, int64_t *values)
{
    bool any = false;
    s->touched = false;
    for (size_t c = 0; c < sizeof s->flow / sizeof *s->flow; c++) {
        values[c] = s->flow[c] > 0 ? s->flow[c] : 0;
        add_capped(&t->total[c], values[c]);
        s->flow[c] = s->flow[c] > 0 ? 0 : s->flow[c];
        any |= values[c] > 0;
        s->touched |= s->flow[c] < 0;
    }
    return any;
}

static void write_slice(struct heap_tally *t)
{
    size_t kept = 0;
    for (size_t i = 0; i < t->touched.n; i++) {
        uint32_t site = t->touched.at[i];
        struct heap_site *s = &t->sites.at[site];
        int64_t values[HEAP_COLUMNS] = {0};
        if (take_flow(t, s, values))
            tally_add_row(t, s, t->slice_ns, values);
        if (s->touched)
            t->touched.at[kept++] = site;
    }
    t->touched.n = kept;
}

static void add_points(struct heap_tally *t, uint64_t time_ns)
{
    profile_add_point(t->profile, t->live_counter, time_ns, t->live_bytes);
    profile_add_point(t->profile, t->blocks_counter, time_ns, t->live_blocks / t->block_unit);
}

/* Times of different threads come in order but for those that were held up while they wrote. */
void heap_tally_time(struct heap_tally *t, uint64_t time_ns)
{
    if (!t->slice_ns) {
        t->slice_ns = time_ns;
        add_points(t, time_ns);
    }
    if (time_ns < t->slice_ns + SLICE_NS)
        return;
    write_slice(t);
    uint64_t end_ns = t->slice_ns + SLICE_NS;
    t->slice_ns += (time_ns - t->slice_ns) / SLICE_NS * SLICE_NS;
    add_points(t, end_ns);
    if (t->slice_ns > end_ns)
        add_points(t, t->slice_ns); /* nothing happened in between */
}

void heap_tally_last_point(struct heap_tally *t, uint64_t end_ns)
{
    if (t->slice_ns && end_ns > t->slice_ns)
        add_points(t, end_ns); /* a short program ends within its first slice */
    t->last_point = true;
}

uint64_t heap_tally_slice_end(const struct heap_tally *t)
{
    return t->slice_ns + SLICE_NS;
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

/* A block that was seen comes (BLOCKS 1) or goes (-1). */
static void change_live(struct heap_tally *t, struct heap_site *s, int64_t bytes, int blocks)
{
    if (s->epoch != t->epoch) {
        s->epoch = t->epoch;
        s->peak_bytes = s->live_bytes;
        s->peak_samples = s->live_samples;
    }
    s->live_samples += blocks;
    add_capped(&s->live_bytes, bytes);
    add_capped(&t->live_bytes, bytes);
    if (t->live_bytes <= t->peak_bytes)
        return;
    t->peak_bytes = t->live_bytes;
    t->epoch++;
}

/* What a block stands for. */
struct amount {
    int64_t blocks, bytes;
};

static struct amount amount_of(const struct heap_tally *t, uint64_t size_bytes)
{
    if (!t->sample_bytes)
        return (struct amount){1, (int64_t)size_bytes};
    double z = size_bytes ? (double)size_bytes : 1;
    double weight = -1 / expm1(-z / (double)t->sample_bytes);
    return (struct amount){llround(weight * (double)t->block_unit),
                           llround(weight * (double)size_bytes)};
}

static int heap_class_of(uint64_t n)
{
    int k = n ? 64 - __builtin_clzll(n) : 0;
    return k < HEAP_CLASSES ? k : HEAP_CLASSES - 1;
}

/* Counts of samples are of blocks that were seen. */
static void count_class(uint32_t *classes, uint64_t n)
{
    uint32_t *at = &classes[heap_class_of(n)];
    *at += *at < UINT32_MAX;
}

/*
 * On 64 bits malloc of glibc puts 8 bytes before a block, and makes both together a multiple of 16
 * that is 32 at least: 24 bytes take 32, 25 take 48.
 */
static uint64_t glibc_adds(uint64_t size_bytes)
{
    uint64_t whole = (size_bytes + 8 + 15) & ~UINT64_C(15);
    return (whole < 32 ? 32 : whole) - size_bytes;
}

void heap_tally_alloc(struct heap_tally *t, uint32_t site, uint64_t size_bytes)
{
    struct heap_site *s = touch(t, site);
    struct amount a = amount_of(t, size_bytes);
    add_capped(&s->flow[HEAP_ALLOCATIONS], a.blocks);
    add_capped(&s->flow[HEAP_ALLOCATED], a.bytes);
    s->flow[HEAP_SAMPLES]++;
    struct heap_classes *c = &t->classes.at[site];
    count_class(c->size, size_bytes);
    if (size_bytes < HEAP_SMALL_BYTES)
        c->added[heap_class_of(size_bytes)] += glibc_adds(size_bytes);
    uint64_t epoch = t->epoch;
    t->live_blocks += a.blocks;
    change_live(t, s, a.bytes, 1);
    if (t->epoch != epoch)
        t->peak_at = t->now;
}

void heap_tally_grown(struct heap_tally *t, uint32_t site, uint64_t size_bytes)
{
    count_class(t->classes.at[site].grown, size_bytes);
}

void heap_tally_locked(struct heap_tally *t, uint32_t site, uint64_t size_bytes)
{
    add_capped(&touch(t, site)->flow[HEAP_LOCKED], amount_of(t, size_bytes).blocks);
}

void heap_tally_free(struct heap_tally *t, const struct heap_free *f)
{
    struct heap_site *s = touch(t, f->site);
    struct amount a = amount_of(t, f->size_bytes);
    add_capped(&s->flow[HEAP_FREES], a.blocks);
    add_capped(&s->flow[HEAP_FREED], a.bytes);
    if (f->temporary)
        add_capped(&s->flow[HEAP_TEMPORARY], a.blocks);
    if (f->lifetime_ns != HEAP_LIFETIME_UNKNOWN)
        count_class(t->classes.at[f->site].lifetime, f->lifetime_ns);
    t->live_blocks -= a.blocks;
    change_live(t, s, -a.bytes, -1);
}

void heap_tally_unfree(struct heap_tally *t, uint32_t site, uint64_t size_bytes)
{
    struct heap_site *s = touch(t, site);
    struct amount a = amount_of(t, size_bytes);
    add_capped(&s->flow[HEAP_FREES], -a.blocks);
    add_capped(&s->flow[HEAP_FREED], -a.bytes);
    t->live_blocks += a.blocks;
    change_live(t, s, a.bytes, 1);
}

void heap_tally_leak(struct heap_tally *t, uint32_t site, uint64_t size_bytes)
{
    struct heap_site *s = &t->sites.at[site];
    struct amount a = amount_of(t, size_bytes);
    if (!s->leaked_samples++)
        *vec_push(&t->leaked) = site;
    add_capped(&s->leaked_bytes, a.bytes);
    add_capped(&s->leaked_blocks, a.blocks);
    add_capped(&t->total[HEAP_LEAKED], a.bytes);
    add_capped(&t->total[HEAP_LEAKED_BLOCKS], a.blocks);
    t->live_blocks -= a.blocks;
    change_live(t, s, -a.bytes, -1);
}

/* --- the end --- */

static void write_peak(struct heap_tally *t, const struct heap_site *s)
{
    int64_t values[HEAP_COLUMNS] = {0};
    bool changed = s->epoch == t->epoch; /* since the peak */
    values[HEAP_PEAK] = changed ? s->peak_bytes : s->live_bytes;
    values[HEAP_PEAK_SAMPLES] = changed ? s->peak_samples : s->live_samples;
    if (values[HEAP_PEAK] > 0)
        tally_add_row(t, s, t->peak_ns, values);
}

static void write_leaked(struct heap_tally *t, struct heap_site *s, uint64_t end_ns)
{
    int64_t values[HEAP_COLUMNS] = {0};
    values[HEAP_LEAKED] = s->leaked_bytes;
    values[HEAP_LEAKED_BLOCKS] = s->leaked_blocks;
    values[HEAP_LEAKED_SAMPLES] = s->leaked_samples;
    tally_add_row(t, s, end_ns, values);
    s->leaked_bytes = s->leaked_blocks = s->leaked_samples = 0;
}

static int by_site(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/*
 * No row is before those of what came first: they have the time that their slice begins. Blocks are
 * found in the order of a hash table: rows must not follow it.
 */
void heap_tally_leaked(struct heap_tally *t, uint64_t time_ns)
{
    uint64_t at_ns = time_ns > t->slice_ns ? time_ns : t->slice_ns;
    if (t->leaked.n)
        qsort(t->leaked.at, t->leaked.n, sizeof *t->leaked.at, by_site);
    for (size_t i = 0; i < t->leaked.n; i++)
        write_leaked(t, &t->sites.at[t->leaked.at[i]], at_ns);
    t->leaked.n = 0;
}

/* A row for each class of a site that has blocks. */
static void write_classes(struct heap_tally *t, size_t site, bool sizes, uint64_t end_ns)
{
    struct profile *p = t->profile;
    const struct heap_site *s = &t->sites.at[site];
    const struct heap_classes *c = &t->classes.at[site];
    struct attr attr = {.key = profile_add_str(p, text_of(sizes ? "size" : "lifetime")),
                        .is_number = true,
                        .unit = profile_add_str(p, text_of(sizes ? UNIT_BYTES : UNIT_TIME))};
    for (int k = 0; k < HEAP_CLASSES; k++) {
        int64_t values[] = {sizes ? c->size[k] : c->lifetime[k],
                            k < HEAP_SMALL_CLASSES ? (int64_t)c->added[k] : 0, c->grown[k]};
        struct err ignored;
        attr.number = (int64_t)(UINT64_C(1) << k) - 1;
        struct row row = {.stack = s->stack,
                          .thread = thread_of_site(t, s),
                          .has_time = true,
                          .time_ns = end_ns,
                          .values = values}; /* lifetimes have one column */
        if (!values[0])
            continue;
        row.attrs = attrs_add(&p->attrs, s->scopes, &attr);
        profile_add_row(p, sizes ? t->sizes_stream : t->lifetimes_stream, &row, &ignored);
    }
}

void heap_tally_end(struct heap_tally *t, uint64_t end_ns)
{
    write_slice(t);
    if (!t->last_point)
        heap_tally_last_point(t, end_ns);
    t->total[HEAP_PEAK] = t->peak_bytes;
    heap_tally_leaked(t, end_ns);
    for (size_t i = 0; i < t->sites.n; i++) {
        const struct heap_site *s = &t->sites.at[i];
        write_peak(t, s);
        write_classes(t, i, true, end_ns);
        write_classes(t, i, false, end_ns);
    }
}
