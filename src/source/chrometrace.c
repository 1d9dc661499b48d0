/*
 * chrometrace.c - Chrome's trace events: clang -ftime-trace, Chrome, Bazel, Perfetto's JSON.
 *
 *     {"traceEvents": [{"name": "Parse", "ph": "X", "ts": us, "dur": us, "pid": 1, "tid": 1,
 *                       "args": {"detail": "app.h"}}, ...]}
 *     [{"name": "run", "ph": "B", "ts": us, ...}, {"ph": "E", "ts": us, ...}, ...
 *
 * "X" is a whole span of time, "B" and "E" its two ends, "M" names a thread. Spans of a thread
 * that lie in one another are calls: each stretch of time between two ends becomes a row of the
 * stack that is open. The closing bracket of the second form may be missing.
 */
#include "base/jsonread.h"
#include "source/import.h"
#include "source/sources.h"

enum { DEPTH_MAX = 100000 };

struct span {
    uint64_t start_ns, end_ns;
    uint32_t lane, order; /* the thread; its place in the file */
    struct frame_id frame;
};

struct begun {
    uint64_t start_ns;
    struct frame_id frame;
};

/* A thread. */
struct lane {
    int64_t pid, tid;
    struct str_id name, process_name;
    VEC(struct begun) begun;
    uint64_t last_ns;
};

struct open_span {
    uint64_t end_ns;
    struct stack_id stack;
};

struct chrometrace {
    struct import *im;
    struct jsonread j;
    VEC(struct lane) lanes;
    struct idmap lane_map;
    VEC(struct span) spans;
    VEC(struct open_span) open;
    uint64_t others, sums; /* events that are no spans; sums that clang puts behind them */
    uint64_t unclosed, overlapping;
    uint64_t sampled; /* pieces of what a sampling profiler of JavaScript saw */
};

/* --- one event --- */

struct event {
    struct str_id name, detail, args_name;
    char phase;
    bool has_time, has_average;
    uint64_t time_ns, duration_ns;
    int64_t pid, tid;
};

/* Microseconds, with fractions or not, as whole nanoseconds. */
static bool read_us(struct jsonread *j, uint64_t *ret_ns)
{
    int64_t value;
    int decimals;
    if (!json_get_decimal(j, &value, &decimals))
        return false;
    unsigned __int128 ns = (unsigned __int128)value * 1000;
    for (; decimals > 0; decimals--)
        ns /= 10;
    if (ns > INT64_MAX)
        return false;
    *ret_ns = (uint64_t)ns;
    return true;
}

/* Ids are numbers; some write them as texts. */
static int64_t read_id(struct jsonread *j)
{
    uint64_t id;
    int64_t value;
    int decimals;
    if (json_peek(j) == JSON_STRING)
        return text_u64(json_get_text(j), 10, &id) && id <= INT64_MAX ? (int64_t)id : -1;
    if (json_peek(j) == JSON_NUMBER)
        return json_get_decimal(j, &value, &decimals) ? value : -1;
    json_skip(j);
    return -1;
}

static struct str_id read_str(struct chrometrace *c)
{
    if (json_peek(&c->j) == JSON_STRING)
        return profile_add_str(c->im->profile, json_get_text(&c->j));
    json_skip(&c->j);
    return (struct str_id){0};
}

static void read_args(struct chrometrace *c, struct event *e)
{
    struct text key;
    if (json_peek(&c->j) != JSON_OBJECT) {
        json_skip(&c->j);
        return;
    }
    json_enter(&c->j, JSON_OBJECT);
    while (json_member(&c->j, &key)) {
        if (text_is(key, "detail"))
            e->detail = read_str(c);
        else if (text_is(key, "name"))
            e->args_name = read_str(c);
        else {
            e->has_average |= text_is(key, "avg ms");
            json_skip(&c->j);
        }
    }
}

static void event_member(struct chrometrace *c, struct text key, struct event *e)
{
    if (text_is(key, "name"))
        e->name = read_str(c);
    else if (text_is(key, "ph")) {
        struct text phase = profile_str(c->im->profile, read_str(c));
        e->phase = phase.n == 1 ? phase.at[0] : '?';
    } else if (text_is(key, "ts"))
        e->has_time = read_us(&c->j, &e->time_ns);
    else if (text_is(key, "dur"))
        read_us(&c->j, &e->duration_ns);
    else if (text_is(key, "pid"))
        e->pid = read_id(&c->j);
    else if (text_is(key, "tid"))
        e->tid = read_id(&c->j);
    else if (text_is(key, "args"))
        read_args(c, e);
    else
        json_skip(&c->j);
}

/* --- threads and spans --- */

static uint32_t hash_lane(const struct event *e)
{
    return hash_pair((uint32_t)e->pid, (uint32_t)e->tid);
}

static uint32_t lane_of(struct chrometrace *c, const struct event *e)
{
    for_each_match (&c->lane_map, hash_lane(e), i)
        if (c->lanes.at[i].pid == e->pid && c->lanes.at[i].tid == e->tid)
            return i;
    uint32_t i = (uint32_t)c->lanes.n;
    idmap_add(&c->lane_map, hash_lane(e), i);
    *vec_push(&c->lanes) = (struct lane){.pid = e->pid, .tid = e->tid};
    return i;
}

static struct frame_id chrometrace_frame_of(struct chrometrace *c, const struct event *e)
{
    struct profile *p = c->im->profile;
    struct text name = profile_str(p, e->name), detail = profile_str(p, e->detail);
    if (!name.n)
        name = text_of("(no name)");
    if (!detail.n)
        return profile_add_named_frame(p, name, FRAME_USER);
    autobuf struct buf b = {0};
    buf_add(&b, name.at, name.n);
    buf_str(&b, ": ");
    buf_add(&b, detail.at, detail.n);
    return profile_add_named_frame(p, buf_text(&b), FRAME_USER);
}

static void add_span(struct chrometrace *c, uint32_t lane, struct begun b, uint64_t end_ns)
{
    *vec_push(&c->spans) = (struct span){.start_ns = b.start_ns,
                                         .end_ns = end_ns > b.start_ns ? end_ns : b.start_ns,
                                         .lane = lane,
                                         .order = (uint32_t)c->spans.n,
                                         .frame = b.frame};
}

static void name_thread(struct chrometrace *c, const struct event *e)
{
    struct text name = profile_str(c->im->profile, e->name);
    uint32_t lane = lane_of(c, e);
    struct lane *l = &c->lanes.at[lane];
    if (text_is(name, "thread_name"))
        l->name = e->args_name;
    else if (text_is(name, "process_name"))
        l->process_name = e->args_name;
}

static int event_flaw(struct chrometrace *c, struct err *err, const char *why)
{
    return import_skip_byte(c->im, reader_offset(c->im->in), err, "%s", why);
}

static int end_span(struct chrometrace *c, uint32_t lane, uint64_t time_ns, struct err *err)
{
    struct lane *l = &c->lanes.at[lane];
    if (!l->begun.n)
        return event_flaw(c, err, "a span ends that did not begin");
    add_span(c, lane, l->begun.at[--l->begun.n], time_ns);
    return 0;
}

static int chrometrace_add_event(struct chrometrace *c, const struct event *e, struct err *err)
{
    if (e->phase == 'M') {
        name_thread(c, e);
        return 0;
    }
    if (e->phase != 'X' && e->phase != 'B' && e->phase != 'E') {
        struct text name = profile_str(c->im->profile, e->name);
        bool sampled = text_is(name, "ProfileChunk") || text_is(name, "CpuProfile");
        c->sampled += sampled;
        c->others += !sampled;
        return 0;
    }
    if (e->has_average && text_starts(profile_str(c->im->profile, e->name), "Total ")) {
        c->sums++;
        return 0;
    }
    if (!e->has_time)
        return event_flaw(c, err, "an event without a time that makes sense");
    uint32_t lane = lane_of(c, e);
    uint64_t end_ns = e->time_ns + e->duration_ns;
    struct lane *l = &c->lanes.at[lane];
    l->last_ns = end_ns > l->last_ns ? end_ns : l->last_ns;
    if (e->phase == 'E')
        return end_span(c, lane, e->time_ns, err);
    struct begun b = {e->time_ns, chrometrace_frame_of(c, e)};
    if (e->phase == 'B')
        *vec_push(&l->begun) = b;
    else
        add_span(c, lane, b, end_ns);
    return 0;
}

static int read_events(struct chrometrace *c, struct err *err)
{
    struct text key;
    int rc = 0;
    if (!json_enter(&c->j, JSON_ARRAY))
        return 0;
    while (rc == 0 && json_element(&c->j)) {
        struct event e = {.phase = '?', .pid = -1, .tid = -1};
        if (!json_enter(&c->j, JSON_OBJECT))
            break;
        while (json_member(&c->j, &key))
            event_member(c, key, &e);
        if (!c->j.err.code)
            rc = chrometrace_add_event(c, &e, err);
    }
    return rc;
}

/* --- from spans to rows --- */

static int by_nesting(const void *a, const void *b)
{
    const struct span *x = a, *y = b;
    if (x->lane != y->lane)
        return x->lane < y->lane ? -1 : 1;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    if (x->end_ns != y->end_ns)
        return x->end_ns > y->end_ns ? -1 : 1;
    return x->order > y->order ? -1 : 1; /* of equal spans the outer one is written last */
}

static struct thread_id chrometrace_thread_of(struct chrometrace *c, const struct lane *l)
{
    struct thread_key key = {
        .name = l->name.i ? l->name : l->process_name,
        .pid = l->pid >= 0 && l->pid <= INT32_MAX ? (int32_t)l->pid : THREAD_NO_ID,
        .tid = l->tid >= 0 && l->tid <= INT32_MAX ? (int32_t)l->tid : THREAD_NO_ID,
    };
    return profile_add_thread(c->im->profile, &key);
}

/* Time passes until UNTIL in the innermost open span. */
static int pass_time(struct chrometrace *c, struct thread_id thread, uint64_t *now, uint64_t until,
                     struct err *err)
{
    int rc = 0;
    if (c->open.n && until > *now) {
        int64_t value = (int64_t)(until - *now);
        struct row row = {.stack = c->open.at[c->open.n - 1].stack,
                          .thread = thread,
                          .has_time = !c->im->opts.merge,
                          .time_ns = *now,
                          .values = &value};
        rc = profile_add_row(c->im->profile, 0, &row, err);
    }
    *now = until > *now ? until : *now;
    return rc;
}

static int close_until(struct chrometrace *c, struct thread_id thread, uint64_t *now,
                       uint64_t until, struct err *err)
{
    while (c->open.n && c->open.at[c->open.n - 1].end_ns <= until) {
        if (pass_time(c, thread, now, c->open.at[c->open.n - 1].end_ns, err) != 0)
            return -1;
        c->open.n--;
    }
    return 0;
}

static int open_span(struct chrometrace *c, const struct span *s, struct err *err)
{
    enum { ROUNDING_NS = 2000 }; /* times are often whole microseconds */
    struct stack_id parent = {0};
    uint64_t end_ns = s->end_ns;
    if (c->open.n == DEPTH_MAX)
        return event_flaw(c, err, "more than 100000 spans in one another");
    if (c->open.n) {
        const struct open_span *outer = &c->open.at[c->open.n - 1];
        parent = outer->stack;
        c->overlapping += end_ns > outer->end_ns + ROUNDING_NS;
        end_ns = end_ns < outer->end_ns ? end_ns : outer->end_ns;
    }
    *vec_push(&c->open) =
        (struct open_span){end_ns, stacks_push(&c->im->profile->stacks, parent, s->frame)};
    return 0;
}

/* The spans FROM up to END are those of one thread. */
static int build_lane(struct chrometrace *c, size_t from, size_t end, struct err *err)
{
    struct thread_id thread = chrometrace_thread_of(c, &c->lanes.at[c->spans.at[from].lane]);
    uint64_t now = 0;
    c->open.n = 0;
    for (size_t i = from; i < end; i++) {
        const struct span *s = &c->spans.at[i];
        if (close_until(c, thread, &now, s->start_ns, err) != 0 ||
            pass_time(c, thread, &now, s->start_ns, err) != 0 || open_span(c, s, err) != 0)
            return -1;
    }
    return close_until(c, thread, &now, UINT64_MAX, err);
}

static void close_begun(struct chrometrace *c)
{
    for (uint32_t i = 0; i < c->lanes.n; i++) {
        struct lane *l = &c->lanes.at[i];
        c->unclosed += l->begun.n;
        while (l->begun.n)
            add_span(c, i, l->begun.at[--l->begun.n], l->last_ns);
    }
}

static void chrometrace_tell(struct chrometrace *c)
{
    if (c->sampled)
        import_note(
            c->im,
            "only spans are read, and not the samples of JavaScript that the trace has too, "
            "in %llu piece%s; Node's --cpu-prof writes those as a .cpuprofile, which is read",
            (unsigned long long)c->sampled, c->sampled == 1 ? "" : "s");
    if (c->others)
        import_note(c->im,
                    "left out as they are not spans of time on a thread (marks, counters, "
                    "asynchronous events): %llu",
                    (unsigned long long)c->others);
    if (c->unclosed)
        import_note(c->im, "spans without an end, which last until their thread's last event: %llu",
                    (unsigned long long)c->unclosed);
    if (c->overlapping)
        import_note(c->im, "spans that end after the one around them, and were cut there: %llu",
                    (unsigned long long)c->overlapping);
}

static int chrometrace_build(struct chrometrace *c, struct err *err)
{
    struct profile *p = c->im->profile;
    profile_add_value(p, profile_add_stream(p, "", BY_TRACE), "duration", UNIT_TIME);
    close_begun(c);
    if (c->spans.n)
        qsort(c->spans.at, c->spans.n, sizeof *c->spans.at, by_nesting);
    for (size_t from = 0, end; from < c->spans.n; from = end) {
        for (end = from; end < c->spans.n && c->spans.at[end].lane == c->spans.at[from].lane;)
            end++;
        if (build_lane(c, from, end, err) != 0)
            return -1;
    }
    chrometrace_tell(c);
    return 0;
}

/* --- the file --- */

/* "[{...}, {...}," is whole: the closing bracket is optional. */
static bool ends_between_events(struct chrometrace *c)
{
    return c->j.depth == 1 && !c->j.in_object[0] && !reader_peek(c->im->in, 1).n;
}

static int chrometrace_read_file(struct chrometrace *c, struct err *err)
{
    struct text key;
    int rc = 0;
    if (json_peek(&c->j) == JSON_ARRAY)
        rc = read_events(c, err);
    else if (json_enter(&c->j, JSON_OBJECT))
        while (rc == 0 && json_member(&c->j, &key)) {
            if (text_is(key, "traceEvents"))
                rc = read_events(c, err);
            else {
                c->sampled += text_is(key, "stackFrames");
                json_skip(&c->j);
            }
        }
    if (rc != 0)
        return -1;
    json_finish(&c->j);
    return json_failed(&c->j, err) && !ends_between_events(c) ? -1 : 0;
}

static int chrometrace_read(struct import *im, struct err *err)
{
    struct chrometrace c = {.im = im};
    jsonread_init(&c.j, im->in);
    int rc = chrometrace_read_file(&c, err);
    if (rc == 0)
        rc = chrometrace_build(&c, err);
    jsonread_done(&c.j);
    for (size_t i = 0; i < c.lanes.n; i++)
        vec_done(&c.lanes.at[i].begun);
    vec_done(&c.lanes);
    vec_done(&c.spans);
    vec_done(&c.open);
    idmap_done(&c.lane_map);
    return rc;
}

static bool chrometrace_has(struct text head, const char *word)
{
    return head.n && memmem(head.at, head.n, word, strlen(word));
}

static int chrometrace_probe(struct text head, bool whole)
{
    (void)whole;
    struct text start = text_trim(head);
    if (text_starts(start, "{") && chrometrace_has(head, "\"traceEvents\""))
        return 97; /* more than a CPU profile, which a trace may hold */
    return text_starts(start, "[") && chrometrace_has(head, "\"ph\"") &&
                   chrometrace_has(head, "\"ts\"")
               ? 85
               : 0;
}

const struct source source_chrometrace = {
    .name = "chrometrace",
    .title = "Chrome trace events",
    .probe = chrometrace_probe,
    .read = chrometrace_read,
};
