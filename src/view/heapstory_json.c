/*
 * heapstory_json.c - what happened on a heap, for programs. Bytes, blocks and nanoseconds.
 */
#include "base/json.h"
#include "model/meta.h"
#include "view/findings.h"
#include "view/heapstory_inner.h"

#include <stdlib.h>

static const char *const value_names[STORY_VALUES] = {
    [STORY_ALLOCATIONS] = "allocations",
    [STORY_ALLOCATED] = "allocated",
    [STORY_FREES] = "frees",
    [STORY_FREED] = "freed",
    [STORY_TEMPORARY] = "temporary",
    [STORY_SAMPLES] = "samples",
    [STORY_LEAKED] = "leaked",
    [STORY_PEAK] = "peak",
    [STORY_LEAKED_BLOCKS] = "leaked_blocks",
    [STORY_LEAKED_SAMPLES] = "leaked_samples",
    [STORY_PEAK_SAMPLES] = "peak_samples",
    [STORY_LOCKED] = "under_lock",
};

/* What the input does not know is left out. */
static void heapstory_put_values(struct json *j, const struct heapstory *s, const int64_t *value)
{
    for (int v = 0; v < STORY_VALUES; v++) {
        if (!s->has[v] && v != STORY_SAMPLES)
            continue;
        json_key(j, value_names[v]);
        json_int(j, value[v]);
    }
}

/* {"below": 64, "blocks": 12, "share": 0.5} for each power of two that has any. */
static void put_classes(struct json *j, const char *key, const int64_t *classes)
{
    int64_t all = heapstory_classes_sum(classes);
    json_key(j, key);
    json_open(j, '[');
    for (int k = 0; k < STORY_CLASSES; k++) {
        if (!classes[k])
            continue;
        json_open(j, '{');
        json_put_uint(j, "below", UINT64_C(1) << k);
        json_put_uint(j, "blocks", (uint64_t)classes[k]);
        json_put_number(j, "share", heapstory_part(classes[k], all));
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void put_counter(struct json *j, const char *key, const struct heapstory *s,
                        const struct counter *c)
{
    json_key(j, key);
    json_open(j, '[');
    for (size_t i = 0; c && i < c->points.n; i++) {
        json_open(j, '[');
        json_double(j, heapstory_seconds(s, c->points.at[i].time_ns));
        json_int(j, c->points.at[i].value);
        json_close(j, ']');
    }
    json_close(j, ']');
}

static void put_place(struct json *j, const struct heapstory *s, const struct heapstory_place *p)
{
    json_open(j, '{');
    json_key(j, "function");
    json_text(j, heapstory_name(s, p));
    heapstory_put_values(j, s, p->value);
    for (enum heapfigure k = 0; k < HEAPFIGURES; k++)
        if (heapfigures[k].key && heapfigure_is_known_of(s, p, k))
            json_put_number(j, heapfigures[k].key, heapfigure_get(s, p, k));
    json_put_bool(j, "grows", p->grows);
    if (s->has_added)
        json_put_uint(j, "small_block_overhead", (uint64_t)p->added);
    put_classes(j, "sizes", p->size);
    json_close(j, '}');
}

static void put_places(struct json *j, const struct heapstory *s)
{
    autofree uint32_t *order = mem_calloc(s->places.n + 1, sizeof *order);
    size_t n = heapstory_top(s, heapstory_main_value(s), order, s->places.n);
    json_key(j, "places");
    json_open(j, '[');
    for (size_t i = 0; i < n; i++)
        put_place(j, s, &s->places.at[order[i]]);
    json_close(j, ']');
}

static void put_odd_frees(struct json *j, const struct heapstory *s, const char *key,
                          const char *meta)
{
    const char *n = meta_find(&s->profile->meta, meta);
    json_put_uint(j, key, n ? strtoull(n, NULL, 10) : 0);
}

/* Figures that are made of two others. */
static void put_made_of_two(struct json *j, const struct heapstory *s)
{
    const int64_t *v = s->value;
    double rate = heapstory_allocations_per_second(s);
    bool counted = heapstory_counts_well(s, NULL, STORY_COUNT_ALLOCATIONS);
    if (s->has[STORY_ALLOCATED] && rate > 0 && counted)
        json_put_number(j, "allocations_per_second", rate);
    if (s->has[STORY_TEMPORARY] && v[STORY_ALLOCATIONS] && counted)
        json_put_number(j, "temporary_share",
                        heapstory_part(v[STORY_TEMPORARY], v[STORY_ALLOCATIONS]));
    if (s->has[STORY_LOCKED] && v[STORY_ALLOCATIONS])
        json_put_number(j, "under_lock_share",
                        heapstory_part(v[STORY_LOCKED], v[STORY_ALLOCATIONS]));
}

/* Only of glibc's malloc is it known. */
static void put_added(struct json *j, const struct heapstory *s)
{
    if (!s->has_added)
        return;
    json_put_uint(j, "small_blocks", (uint64_t)heapstory_small_blocks(s));
    json_put_uint(j, "small_block_overhead", (uint64_t)s->added);
}

/* Whose heaps these are, and what is not in the numbers. */
static void put_coverage(struct json *j, const struct heapstory *s)
{
    if (s->processes)
        json_put_uint(j, "processes", s->processes);
    if (s->running)
        json_put_uint(j, "processes_running_at_end", s->running);
    if (s->blind)
        json_put_bool(j, "nothing_seen", true);
    if (s->unseen)
        json_put_str(j, "not_recorded", s->unseen);
    if (s->own_malloc)
        json_put_str(j, "own_malloc", s->own_malloc);
    if (s->kept_bytes)
        json_put_uint(j, "leaked_kept_by_runtimes", (uint64_t)s->kept_bytes);
    if (s->sample_bytes)
        json_put_uint(j, "sample_bytes", s->sample_bytes);
}

static void put_two(struct json *j, const char *key, struct interval i)
{
    json_key(j, key);
    json_open(j, '[');
    json_double(j, i.low);
    json_double(j, i.high);
    json_close(j, ']');
}

/* 95% intervals, where numbers are estimates. */
static void heapstory_put_interval(struct json *j, const struct heapstory *s, const char *key,
                                   enum heapstory_value bytes, enum heapstory_value samples)
{
    if (!s->sample_bytes || !s->has[bytes] || !s->has[samples])
        return;
    put_two(j, key, heapstory_interval(s, s->value[bytes], s->value[samples]));
}

static void put_count_intervals(struct json *j, const struct heapstory *s)
{
    if (s->sample_bytes && s->has[STORY_SAMPLES])
        put_two(j, "allocations_interval",
                heapstory_count_interval(s, NULL, STORY_COUNT_ALLOCATIONS));
    if (s->sample_bytes && s->has[STORY_LEAKED_SAMPLES])
        put_two(j, "leaked_blocks_interval", heapstory_count_interval(s, NULL, STORY_COUNT_LEAKED));
}

void heapstory_print_json(FILE *out, const struct heapstory_view *v)
{
    const struct heapstory *s = v->story;
    struct json j = {.out = out};
    json_open(&j, '{');
    json_put_str(&j, "source", v->subject);
    json_put_bool(&j, "sampled", s->sampled);
    if (s->lossy)
        json_put_bool(&j, "records_lost", true);
    if (s->cut)
        json_put_bool(&j, "cut_off", true);
    json_put_bool(&j, "attached", s->attached);
    put_coverage(&j, s);
    if (s->selected) {
        json_put_str(&j, "selected", s->selected);
        json_put_number(&j, "most_held", (double)s->most_held);
        json_put_number(&j, "whole_peak", (double)s->whole_peak);
    }
    if (s->timed) {
        json_put_number(&j, "seconds", heapstory_seconds(s, s->end_ns));
        json_put_number(&j, "peak_seconds", heapstory_seconds(s, s->peak_ns));
    }
    heapstory_put_values(&j, s, s->value);
    if (s->range) {
        json_put_str(&j, "range", s->range);
        json_put_number(&j, "live_at_range_start", (double)s->held_from);
        json_put_number(&j, "live_at_range_end", (double)s->held_to);
    }
    heapstory_put_interval(&j, s, "peak_interval", STORY_PEAK, STORY_PEAK_SAMPLES);
    heapstory_put_interval(&j, s, "leaked_interval", STORY_LEAKED, STORY_LEAKED_SAMPLES);
    heapstory_put_interval(&j, s, "allocated_interval", STORY_ALLOCATED, STORY_SAMPLES);
    put_count_intervals(&j, s);
    put_made_of_two(&j, s);
    put_added(&j, s);
    if (s->known_leaks) {
        json_put_uint(&j, "suppressed", (uint64_t)s->known_bytes);
        json_put_uint(&j, "suppressed_blocks", (uint64_t)s->known_blocks);
    }
    put_odd_frees(&j, s, "unknown_frees", META_UNKNOWN_FREES);
    put_odd_frees(&j, s, "inherited_frees", META_INHERITED_FREES);
    put_odd_frees(&j, s, "missed_frees", META_MISSED_FREES);
    json_put_uint(&j, "rss_max", (uint64_t)s->rss_max);
    findings_put(&j, &s->insights);
    put_places(&j, s);
    put_classes(&j, "sizes", s->size);
    put_classes(&j, "lifetimes_ns", s->lifetime);
    put_counter(&j, "live", s, s->live);
    put_counter(&j, "rss", s, s->rss);
    json_close(&j, '}');
    putc('\n', out);
}
