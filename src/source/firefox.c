/*
 * firefox.c - Firefox Profiler's processed profiles, as samply and profiler.firefox.com save them,
 * and the raw ones of Gecko (gecko.h).
 *
 *     {"meta": {"preprocessedProfileVersion": 66, "interval": ms, "categories": [...], ...},
 *      "libs": [...], "shared": {tables}, "threads": [{"name": ..., "pid": "12", "tid": 12,
 *      "samples": {"stack": [rows], "timeDeltas": [ms], "weight": [...], "weightType": "samples",
 *                  "threadCPUDelta": [...]}, tables in older files}]}
 *
 * Samples without a stack are idle moments and stay out. Markers, counters and allocations are
 * not read. Files written by kelvin say in meta.kelvin what the format has no place for.
 */
#include "source/firefox_inner.h"
#include "source/gecko.h"
#include "source/sources.h"

#include <math.h>

/* --- values --- */

bool firefox_enter(struct firefox *f, enum json_token what)
{
    if (json_peek(&f->j) == what)
        return json_enter(&f->j, what);
    json_skip(&f->j);
    return false;
}

struct str_id firefox_str(struct firefox *f)
{
    if (json_peek(&f->j) == JSON_STRING)
        return profile_add_str(f->im->profile, json_get_text(&f->j));
    json_skip(&f->j);
    return (struct str_id){0};
}

double firefox_number(struct firefox *f)
{
    if (json_peek(&f->j) == JSON_NUMBER)
        return json_get_double(&f->j);
    json_skip(&f->j);
    return 0;
}

int64_t firefox_millionths(double ms)
{
    return fabs(ms) < 9e12 ? llround(ms * 1e6) : INT64_MIN;
}

/* Process and thread ids are numbers or texts; samply makes "12.1" of the second process 12. */
static int32_t get_id(struct firefox *f)
{
    uint64_t id;
    if (json_peek(&f->j) == JSON_NUMBER) {
        double d = json_get_double(&f->j);
        return d >= 0 && d <= INT32_MAX ? (int32_t)d : THREAD_NO_ID;
    }
    if (json_peek(&f->j) != JSON_STRING) {
        json_skip(&f->j);
        return THREAD_NO_ID;
    }
    struct text t = json_get_text(&f->j);
    return text_u64(text_cut(&t, '.'), 10, &id) && id <= INT32_MAX ? (int32_t)id : THREAD_NO_ID;
}

/* --- threads --- */

#define for_each_number(f, v)                                                              \
    if (firefox_enter(f, JSON_ARRAY))                                                      \
        for (double v; json_element(&(f)->j) &&                                            \
                       (v = json_peek(&(f)->j) == JSON_NUMBER ? json_get_double(&(f)->j)   \
                                                              : (json_skip(&(f)->j), NAN), \
                       true);)

/* The rows of a raw profile: stack, time, CPU time. */
static void take_sample_rows(struct fx_thread *t, const struct gecko_table *raw)
{
    for (size_t row = 0; row < raw->starts.n; row++) {
        double stack = gecko_table_get(raw, row, 0), time = gecko_table_get(raw, row, 1);
        double cpu = gecko_table_get(raw, row, 2);
        *vec_push(&t->stack) = stack >= 0 && stack <= INT32_MAX ? (int32_t)stack : FIREFOX_NONE;
        *vec_push(&t->time_ns) = isnan(time) ? INT64_MIN : firefox_millionths(time);
        *vec_push(&t->cpu) = cpu > 0 && cpu < 9e18 ? llround(cpu) : 0;
    }
}

static void samples_member(struct firefox *f, struct fx_thread *t, struct gecko_table *raw,
                           struct text key)
{
    if (text_is(key, "stack")) {
        for_each_number(f, v) * vec_push(&t->stack) =
            v >= 0 && v <= INT32_MAX ? (int32_t)v : FIREFOX_NONE;
    } else if (text_is(key, "time") || text_is(key, "timeDeltas")) {
        t->deltas = text_is(key, "timeDeltas");
        t->time_ns.n = 0;
        for_each_number(f, v) * vec_push(&t->time_ns) = isnan(v) ? 0 : firefox_millionths(v);
    } else if (text_is(key, "weight")) {
        for_each_number(f, v) * vec_push(&t->weight) = v >= 0 ? firefox_millionths(v) : -1;
    } else if (text_is(key, "threadCPUDelta")) {
        for_each_number(f, v) * vec_push(&t->cpu) = v > 0 && v < 9e18 ? llround(v) : 0;
    } else if (text_is(key, "weightType"))
        t->weight_type = firefox_str(f);
    else if (!gecko_table_member(raw, &f->j, key))
        json_skip(&f->j);
}

static void read_samples(struct firefox *f, struct fx_thread *t)
{
    struct text key;
    static const char *const fields[] = {"stack", "time", "threadCPUDelta"};
    struct gecko_table raw;
    gecko_table_init(&raw, fields, 3);
    if (firefox_enter(f, JSON_OBJECT))
        while (json_member(&f->j, &key))
            samples_member(f, t, &raw, key);
    take_sample_rows(t, &raw);
    gecko_table_done(&raw);
}

static void thread_member(struct firefox *f, struct fx_thread *t, struct text key)
{
    if (text_is(key, "name"))
        t->name = firefox_str(f);
    else if (text_is(key, "processName"))
        t->process = firefox_str(f);
    else if (text_is(key, "pid"))
        t->pid = get_id(f);
    else if (text_is(key, "tid"))
        t->tid = get_id(f);
    else if (text_is(key, "processStartupTime"))
        t->start_ms = firefox_number(f);
    else if (text_is(key, "processShutdownTime"))
        t->end_ms = firefox_number(f);
    else if (text_is(key, "samples"))
        read_samples(f, t);
    else if (!firefox_tables_member(&t->own, f->im, &f->j, key))
        json_skip(&f->j);
}

static void read_thread(struct firefox *f)
{
    struct text key;
    struct fx_thread t = {.of = f->process, .pid = THREAD_NO_ID, .tid = THREAD_NO_ID};
    f->in_text += json_peek(&f->j) == JSON_STRING;
    if (firefox_enter(f, JSON_OBJECT))
        while (json_member(&f->j, &key))
            thread_member(f, &t, key);
    *vec_push(&f->threads) = t;
}

static void read_threads(struct firefox *f)
{
    if (firefox_enter(f, JSON_ARRAY))
        while (json_element(&f->j))
            read_thread(f);
}

static void read_shared(struct firefox *f)
{
    struct text key;
    if (!firefox_enter(f, JSON_OBJECT))
        return;
    while (json_member(&f->j, &key))
        if (!firefox_tables_member(&f->process->shared, f->im, &f->j, key))
            json_skip(&f->j);
}

/* Of a child process's meta only what is its own; all else is the parent's. */
static void child_meta_member(struct firefox *f, struct text key)
{
    if (text_is(key, "startTime"))
        f->process->start_ms = firefox_number(f);
    else if (text_is(key, "categories"))
        firefox_read_categories(f);
    else
        json_skip(&f->j);
}

static void read_child_meta(struct firefox *f)
{
    struct text key;
    if (firefox_enter(f, JSON_OBJECT))
        while (json_member(&f->j, &key))
            child_meta_member(f, key);
}

static void top_member(struct firefox *f, struct text key);

static struct fx_process *add_process(struct firefox *f)
{
    struct fx_process *process = mem_new(struct fx_process);
    *vec_push(&f->processes) = process;
    return process;
}

/* Each is a whole profile, which may have children itself: JSON_DEPTH_MAX ends that. */
static void read_processes(struct firefox *f)
{
    struct text key;
    struct fx_process *parent = f->process;
    if (!firefox_enter(f, JSON_ARRAY))
        return;
    while (json_element(&f->j)) {
        f->process = add_process(f);
        f->in_text += json_peek(&f->j) == JSON_STRING;
        if (firefox_enter(f, JSON_OBJECT))
            while (json_member(&f->j, &key))
                top_member(f, key);
    }
    f->process = parent;
}

/* A recording of the developer tools, until Firefox 91, holds a raw profile and lists of its own.
 */
static void read_wrapped(struct firefox *f)
{
    struct text key;
    if (firefox_enter(f, JSON_OBJECT))
        while (json_member(&f->j, &key))
            top_member(f, key);
}

static void top_member(struct firefox *f, struct text key)
{
    if (text_is(key, "profile"))
        read_wrapped(f);
    else if (text_is(key, "meta") && f->process != f->processes.at[0])
        read_child_meta(f);
    else if (text_is(key, "meta"))
        firefox_read_meta(f);
    else if (text_is(key, "processes"))
        read_processes(f);
    else if (text_is(key, "threads"))
        read_threads(f);
    else if (text_is(key, "shared"))
        read_shared(f);
    else if (text_is(key, "libs"))
        firefox_tables_member(&f->process->shared, f->im, &f->j, key);
    else
        json_skip(&f->j);
}

/* --- all of it --- */

static void done(struct firefox *f)
{
    for (size_t i = 0; i < f->threads.n; i++) {
        struct fx_thread *t = &f->threads.at[i];
        firefox_tables_done(&t->own);
        vec_done(&t->stack);
        vec_done(&t->time_ns);
        vec_done(&t->weight);
        vec_done(&t->cpu);
    }
    for (size_t i = 0; i < f->processes.n; i++) {
        firefox_tables_done(&f->processes.at[i]->shared);
        vec_done(&f->processes.at[i]->kinds);
        free(f->processes.at[i]);
    }
    vec_done(&f->processes);
    vec_done(&f->threads);
    vec_done(&f->facts);
    jsonread_done(&f->j);
}

static int firefox_read(struct import *im, struct err *err)
{
    struct firefox f = {.im = im, .show_first = -1};
    struct text key;
    f.process = add_process(&f);
    jsonread_init(&f.j, im->in);
    if (json_enter(&f.j, JSON_OBJECT))
        while (json_member(&f.j, &key))
            top_member(&f, key);
    json_finish(&f.j);
    int rc = json_failed(&f.j, err) ? -1 : firefox_build(&f, err);
    done(&f);
    return rc;
}

static bool firefox_has(struct text head, const char *word)
{
    return head.n && memmem(head.at, head.n, word, strlen(word));
}

static int firefox_probe(struct text head, bool whole)
{
    (void)whole;
    if (!text_starts(text_trim(head), "{"))
        return 0;
    if (firefox_has(head, "\"preprocessedProfileVersion\""))
        return 98;
    int words = firefox_has(head, "\"stackTable\"") + firefox_has(head, "\"frameTable\"") +
                firefox_has(head, "\"funcTable\"") + firefox_has(head, "\"stringArray\"") +
                firefox_has(head, "\"pausedRanges\"") + firefox_has(head, "\"debugName\"") +
                firefox_has(head, "\"stackwalk\"") + firefox_has(head, "\"gcpoison\"") +
                firefox_has(head, "\"breakpadId\"") + firefox_has(head, "\"processType\"") +
                firefox_has(head, "\"isOffMainThread\"") + firefox_has(head, "\"endStack\"");
    return words > 1 ? 80 : 0;
}

const struct source source_firefox = {
    .name = "firefox",
    .title = "Firefox Profiler profile",
    .probe = firefox_probe,
    .read = firefox_read,
};
