/*
 * heapstory_insight.c - what stands out on a heap, with its evidence.
 *
 * How to add one: write a function that says something only where the numbers carry it, and name it
 * in heapstory_find_insights().
 */
#include "analysis/heapstory.h"

#include "base/buf.h"
#include "base/units.h"
#include "model/streamkind.h"

#include <math.h>

#define MIB (INT64_C(1) << 20)

static void say(struct heapstory *s, const char *title, struct buf *text, const char *advice)
{
    findings_add(&s->insights, &s->arena, title, text, advice);
}

static const struct heapstory_place *top_place(const struct heapstory *s, enum heapstory_value by)
{
    uint32_t top;
    return heapstory_top(s, by, &top, 1) ? &s->places.at[top] : NULL;
}

static double heapstory_percent(int64_t part, int64_t all)
{
    return all > 0 ? 100 * (double)part / (double)all : 0;
}

/* Memory that the C++ library takes as it is loaded, to throw exceptions when there is no more. */
static bool is_reserve_of_library(const struct heapstory *s, const struct heapstory_place *p)
{
    int64_t blocks = heapstory_left(p->value); /* one of each process */
    return text_starts(heapstory_name(s, p), "[libstdc++.so") && blocks > 0 &&
           p->value[STORY_LEAKED] / blocks > MIB / 16 && p->value[STORY_LEAKED] / blocks < MIB / 8;
}

/*
 * Tables that programs make as they start and keep on purpose: all blocks are there in the first
 * tenth of the time, or by half time where they are a few of each process, and no more come.
 * Shorter recordings have no time to tell.
 */
static bool is_kept_from_the_start(const struct heapstory *s, const struct heapstory_place *p)
{
    enum { FEW = 16, HALF = STORY_TIMES / 2 - 1, EARLY = STORY_TIMES / 10 - 1 };
    int64_t processes = s->processes ? (int64_t)s->processes : 1;
    int64_t most = p->value[STORY_LEAKED] - p->value[STORY_LEAKED] / 10;
    bool few = heapstory_left(p->value) <= FEW * processes;
    return s->timed && s->has[STORY_FREED] && s->end_ns - s->start_ns >= 1000000000 &&
           p->live[few ? HALF : EARLY] >= most;
}

/* How far to trust a number of N samples. */
static void add_samples(const struct heapstory *s, struct buf *b, int64_t n)
{
    char number[UNITS_MAX];
    if (s->sampled)
        buf_printf(b, " (estimated from %s)", units_many(number, (uint64_t)n, "sample", "samples"));
}

/* A process that goes on may free what it holds when the recording ends. */
static void find_leak(struct heapstory *s)
{
    const struct heapstory_place *p = top_place(s, STORY_LEAKED);
    char bytes[UNITS_MAX], blocks[UNITS_MAX];
    struct buf b = {0};
    if (s->attached || s->running || !p || !heapstory_is_sound(s, p->value[STORY_LEAKED_SAMPLES]) ||
        is_reserve_of_library(s, p) || is_kept_from_the_start(s, p) ||
        s->value[STORY_LEAKED] < MIB / 16 ||
        heapstory_percent(p->value[STORY_LEAKED], s->value[STORY_LEAKED]) < 20)
        return;
    buf_printf(&b, "%.*s never freed %s in %s block%s: %.0f%% of all that was never freed",
               TEXT_ARG(heapstory_name(s, p)),
               units_scaled(bytes, (double)p->value[STORY_LEAKED], SCALED_BYTES),
               units_count(blocks, (uint64_t)heapstory_left(p->value)),
               heapstory_left(p->value) == 1 ? "" : "s",
               heapstory_percent(p->value[STORY_LEAKED], s->value[STORY_LEAKED]));
    add_samples(s, &b, p->value[STORY_LEAKED_SAMPLES]);
    say(s, "leak", &b,
        "Look for the owner of these blocks: a flame graph of what was leaked shows who asked "
        "for them. Memory that is kept until the end on purpose counts too.");
}

static void find_growth(struct heapstory *s)
{
    uint32_t top;
    char from[UNITS_MAX], to[UNITS_MAX];
    struct buf b = {0};
    if (!heapstory_growing(s, &top, 1))
        return;
    const struct heapstory_place *p = &s->places.at[top];
    int64_t growth = heapstory_growth(p), middle = p->live[STORY_TIMES / 2 - 1];
    if (growth < MIB / 16 || heapstory_percent(growth, heapstory_most_held(s)) < 5)
        return;
    buf_printf(&b, "memory held by %.*s grew from %s to %s over the second half of the recording",
               TEXT_ARG(heapstory_name(s, p)), units_scaled(from, (double)middle, SCALED_BYTES),
               units_scaled(to, (double)p->live[STORY_TIMES - 2], SCALED_BYTES));
    if (s->sampled)
        buf_str(&b, " (estimated from samples)");
    say(s, "growth", &b,
        "If it is a cache, bound it. If not, find out which code should free it. A longer "
        "recording "
        "shows whether it levels off.");
}

static void find_temporary(struct heapstory *s)
{
    const struct heapstory_place *p = top_place(s, STORY_TEMPORARY);
    struct buf b = {0};
    double share = heapstory_percent(s->value[STORY_TEMPORARY], s->value[STORY_ALLOCATIONS]);
    if (!p || !heapstory_is_sound(s, p->value[STORY_SAMPLES]) ||
        !heapstory_counts_well(s, NULL, STORY_COUNT_ALLOCATIONS) ||
        s->value[STORY_ALLOCATIONS] < 10000 || share < 25)
        return;
    buf_printf(&b,
               "%.0f%% of the allocations are freed before their thread's next one; %.0f%% of "
               "those come from %.*s",
               share, heapstory_percent(p->value[STORY_TEMPORARY], s->value[STORY_TEMPORARY]),
               TEXT_ARG(heapstory_name(s, p)));
    add_samples(s, &b, s->value[STORY_SAMPLES]);
    say(s, "temporary", &b, "Reuse one buffer across calls, or keep it on the stack.");
}

/* What comes to stay is no churn. Files of other tools do not say how long blocks live. */
static bool is_kept_for_long(const struct heapstory *s, const struct heapstory_place *p)
{
    int64_t blocks = 0;
    for (int k = 0; k < STORY_CLASSES; k++)
        blocks += p->size[k];
    return stream_kind_find(s->profile, STREAM_HEAP_LIFETIMES) >= 0 && blocks > 0 &&
           heapstory_percent(p->brief, blocks) < 50;
}

static void find_churn(struct heapstory *s)
{
    const struct heapstory_place *p = top_place(s, STORY_ALLOCATIONS);
    double seconds = heapstory_active_seconds(s);
    char rate[UNITS_MAX];
    struct buf b = {0};
    if (!p || seconds <= 0 || !heapstory_is_sound(s, p->value[STORY_SAMPLES]) ||
        !heapstory_counts_well(s, NULL, STORY_COUNT_ALLOCATIONS))
        return;
    double share = heapstory_percent(p->value[STORY_ALLOCATIONS], s->value[STORY_ALLOCATIONS]);
    double per_second = (double)p->value[STORY_ALLOCATIONS] / seconds;
    if (share < 30 || per_second < 10000)
        return;
    bool stay = is_kept_for_long(s, p);
    buf_printf(&b, "%.*s makes %.0f%% of the allocations, %s per second%s",
               TEXT_ARG(heapstory_name(s, p)), share,
               units_count(rate, (uint64_t)llround(per_second)),
               stay ? "; most of its blocks live longer than 17 ms" : "");
    add_samples(s, &b, p->value[STORY_SAMPLES]);
    if (stay)
        say(s, "many blocks", &b,
            "One block for many of them (an array, an arena or a pool) saves the allocator's work "
            "and its bytes per block.");
    else
        say(s, "churn", &b,
            "Allocate outside of the loop, reserve what will be needed, or take blocks from a "
            "pool.");
}

/* One place, one power of two. */
static void find_same_size(struct heapstory *s)
{
    const struct heapstory_place *p = top_place(s, STORY_ALLOCATIONS);
    int64_t all = 0, most = 0;
    int k_most = 0;
    struct buf b = {0};
    for (int k = 0; p && k < STORY_CLASSES; k++) {
        all += p->size[k];
        if (p->size[k] > most) {
            most = p->size[k];
            k_most = k;
        }
    }
    if (all < 50000 || k_most > 10 || heapstory_percent(most, all) < 95)
        return;
    buf_printf(&b, "%.0f%% of the blocks of %.*s have %llu to %llu bytes",
               heapstory_percent(most, all), TEXT_ARG(heapstory_name(s, p)),
               k_most ? 1ull << (k_most - 1) : 0ull, (1ull << k_most) - 1);
    say(s, "one size", &b,
        "A pool or an arena for blocks of this size saves the allocator's work and its bytes per "
        "block.");
}

/* --- what blocks are for --- */

static double percent_of_blocks(const struct heapstory *s, int64_t blocks)
{
    int64_t all = 0;
    for (int k = 0; k < STORY_CLASSES; k++)
        all += s->size[k];
    return heapstory_percent(blocks, all);
}

/* Fewer are worth no word, nor are those that are a small part. Samples favour large blocks. */
static bool are_many_blocks(const struct heapstory *s, int64_t blocks)
{
    return !s->sampled && blocks >= 10000 && percent_of_blocks(s, blocks) >= 10;
}

static void find_steps(struct heapstory *s)
{
    const struct heapstory_place *p = s->places.at;
    char n[UNITS_MAX];
    struct buf b = {0};
    for (size_t i = 1; i < s->places.n; i++)
        p = s->places.at[i].grown > p->grown ? &s->places.at[i] : p;
    if (!s->places.n || !are_many_blocks(s, p->grown))
        return;
    buf_printf(&b,
               "%.*s moved to a larger block %s times, as a vector that was full or by realloc: "
               "%.0f%% of all allocations",
               TEXT_ARG(heapstory_name(s, p)), units_count(n, (uint64_t)p->grown),
               percent_of_blocks(s, p->grown));
    say(s, "growth by steps", &b,
        "Reserve the final size before filling, or keep the buffer for the next use. A buffer that "
        "grows by a factor takes fewer steps than one that grows by a constant.");
}

static void find_copies(struct heapstory *s)
{
    const struct heapstory_place *p = s->places.at;
    char n[UNITS_MAX];
    struct buf b = {0};
    for (size_t i = 1; i < s->places.n; i++)
        p = s->places.at[i].copies_brief > p->copies_brief ? &s->places.at[i] : p;
    if (!s->places.n || !are_many_blocks(s, p->copies) ||
        heapstory_percent(p->copies_brief, p->copies) < 90)
        return;
    buf_printf(&b,
               "%.*s made %s strings or copies of strings, %.0f%% of all allocations; %.0f%% of "
               "these were "
               "freed within 17 ms",
               TEXT_ARG(heapstory_name(s, p)), units_count(n, (uint64_t)p->copies),
               percent_of_blocks(s, p->copies), heapstory_percent(p->copies_brief, p->copies));
    say(s, "string copies", &b,
        "Pass strings by reference or as a view (std::string_view, &str), append to one string "
        "instead of adding strings, or reuse one buffer.");
}

/* Nobody loses time by it where nobody waits for a lock. */
static bool are_locks_waited_for(const struct profile *p)
{
    int stream = stream_kind_find(p, STREAM_LOCKS);
    return stream >= 0 && profile_stream(p, stream)->rows.n > 0;
}

static void find_under_lock(struct heapstory *s)
{
    const struct heapstory_place *p = top_place(s, STORY_LOCKED);
    double share = heapstory_percent(s->value[STORY_LOCKED], s->value[STORY_ALLOCATIONS]);
    char n[UNITS_MAX];
    struct buf b = {0};
    if (!p || s->value[STORY_LOCKED] < 1000 || share < 10 || !are_locks_waited_for(s->profile))
        return;
    buf_printf(&b,
               "%s allocations (%.0f%%) were made by a thread that held a lock; %.0f%% of those "
               "come from %.*s. Threads waited for locks during this recording",
               units_count(n, (uint64_t)s->value[STORY_LOCKED]), share,
               heapstory_percent(p->value[STORY_LOCKED], s->value[STORY_LOCKED]),
               TEXT_ARG(heapstory_name(s, p)));
    say(s, "allocation under a lock", &b,
        "Allocate before taking the lock, and free after letting it go: others wait less. The "
        "locks of this recording show which of them are waited for.");
}

static void find_rss(struct heapstory *s)
{
    char rss[UNITS_MAX], heap[UNITS_MAX];
    struct buf b = {0};
    int64_t peak = s->value[STORY_PEAK];
    if (s->attached || s->cut || s->own_malloc || s->rss_max < 2 * peak ||
        s->rss_max - peak < 64 * MIB)
        return;
    buf_printf(&b, "the process had %s in memory (RSS), but the heap never more than %s%s",
               units_scaled(rss, (double)s->rss_max, SCALED_BYTES), s->sampled ? "about " : "",
               units_scaled(heap, (double)peak, SCALED_BYTES));
    say(s, "beside the heap", &b,
        "The rest is code, stacks, memory from mmap, or fragmentation: pages that the allocator "
        "keeps for blocks that are gone.");
}

void heapstory_find_insights(struct heapstory *s)
{
    if (heapstory_is_rough(s) || s->blind)
        return;
    find_leak(s);
    find_growth(s);
    find_temporary(s);
    find_churn(s);
    find_same_size(s);
    find_steps(s);
    find_copies(s);
    find_under_lock(s);
    find_rss(s);
}
