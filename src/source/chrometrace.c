/*
 * chrometrace.c - Chrome's trace events: clang -ftime-trace, Chrome, Bazel, Perfetto's JSON.
 *
 *     {"traceEvents": [{"name": "Parse", "ph": "X", "ts": us, "dur": us, "pid": 1, "tid": 1,
 *                       "args": {"detail": "app.h"}}, ...]}
 *     [{"name": "run", "ph": "B", "ts": us, ...}, {"ph": "E", "ts": us, ...}, ...
 *
 * "X" is a whole span of time, "B" and "E" its two ends, "b" and "e" those of one that belongs to
 * an id, not to a thread; "i" is a moment, "C" a counter, "M" names a thread. Spans of a thread
 * that lie in one another are calls: see spanlanes.h. The closing bracket of the second form may be
 * missing.
 */
#include "base/jsonread.h"
#include "source/import.h"
#include "source/sources.h"
#include "source/spanlanes.h"

/* Attributes of a span that are kept, and members of a counter's. */
enum { ARGS_MAX = 16 };

/* A span of an id that has begun. */
struct trace_async {
    uint64_t key[2];
    bool open;
    uint32_t lane;
    struct span_begun begun;
};

struct chrometrace {
    struct import *im;
    struct jsonread j;
    struct spanlanes lanes;
    VEC(struct trace_async) async;
    struct idmap async_map;
    uint64_t others, sums; /* events that are not read; sums that clang puts behind them */
    uint64_t sampled;      /* pieces of what a sampling profiler of JavaScript saw */
};

/* --- one event --- */

/* A member of "args" that is a number. */
struct trace_number {
    struct str_id key;
    int64_t value;
};

struct event {
    struct str_id name, detail, args_name, category, id;
    char phase;
    bool has_time, has_average;
    uint64_t time_ns, duration_ns;
    int64_t pid, tid;
    struct attrs_id attrs;
    int n_attrs;
    struct trace_number numbers[ARGS_MAX];
    int n_numbers;
};

/* Microseconds, with fractions or not, as whole nanoseconds. */
static bool read_us(struct jsonread *j, uint64_t *ret_ns)
{
    int64_t value;
    int decimals;
    bool is_text = json_peek(j) == JSON_STRING; /* Hermes writes numbers as texts */
    if (is_text ? !text_decimal(json_get_text(j), &value, &decimals)
                : !json_get_decimal(j, &value, &decimals))
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

/* The id of an asynchronous event: a text, a number, or {"local": ...}. */
static struct str_id read_async_id(struct chrometrace *c)
{
    char digits[24];
    struct text key;
    struct str_id id = {0};
    if (json_peek(&c->j) == JSON_NUMBER) {
        snprintf(digits, sizeof digits, "%lld", (long long)read_id(&c->j));
        return profile_add_str(c->im->profile, text_of(digits));
    }
    if (json_peek(&c->j) != JSON_OBJECT)
        return read_str(c);
    json_enter(&c->j, JSON_OBJECT);
    while (json_member(&c->j, &key))
        id = read_str(c);
    return id;
}

/* 2.50 is a text for us: attributes are whole numbers or texts. */
static void read_number_arg(struct chrometrace *c, struct event *e, struct str_id key)
{
    struct profile *p = c->im->profile;
    double value = json_get_double(&c->j);
    bool fits = value > -9e15 && value < 9e15;
    int64_t whole = fits ? (int64_t)value : 0;
    struct attr a = {.key = key, .is_number = true, .number = whole};
    if (e->n_numbers < ARGS_MAX && fits)
        e->numbers[e->n_numbers++] = (struct trace_number){key, whole};
    if (!fits || (double)whole != value) {
        char text[48];
        snprintf(text, sizeof text, "%.15g", value);
        a = (struct attr){.key = key, .text = profile_add_str(p, text_of(text))};
    }
    e->attrs = attrs_add(&p->attrs, e->attrs, &a);
}

static void read_arg(struct chrometrace *c, struct event *e, struct text name)
{
    struct profile *p = c->im->profile;
    if (c->im->opts.merge || e->n_attrs == ARGS_MAX) {
        json_skip(&c->j);
        return;
    }
    struct str_id key = profile_add_str(p, name); /* before the text that holds it is gone */
    enum json_token kind = json_peek(&c->j);
    if (kind != JSON_STRING && kind != JSON_NUMBER) {
        json_skip(&c->j);
        return;
    }
    e->n_attrs++;
    if (kind == JSON_NUMBER) {
        read_number_arg(c, e, key);
        return;
    }
    struct attr a = {.key = key, .text = read_str(c)};
    e->attrs = attrs_add(&p->attrs, e->attrs, &a);
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
        e->has_average |= text_is(key, "avg ms");
        if (text_is(key, "detail"))
            e->detail = read_str(c);
        else if (text_is(key, "name"))
            e->args_name = read_str(c);
        else
            read_arg(c, e, key);
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
    else if (text_is(key, "cat"))
        e->category = read_str(c);
    else if (text_is(key, "id") || text_is(key, "id2"))
        e->id = read_async_id(c);
    else if (text_is(key, "args"))
        read_args(c, e);
    else
        json_skip(&c->j);
}

/* --- threads and spans --- */

static uint32_t lane_of(struct chrometrace *c, const struct event *e)
{
    uint32_t i = spanlanes_lane(&c->lanes, (uint64_t)e->pid, (uint64_t)e->tid);
    c->lanes.lanes.at[i].pid = e->pid;
    c->lanes.lanes.at[i].tid = e->tid;
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

static void name_thread(struct chrometrace *c, const struct event *e)
{
    struct text name = profile_str(c->im->profile, e->name);
    uint32_t lane = lane_of(c, e);
    struct span_lane *l = &c->lanes.lanes.at[lane];
    if (text_is(name, "thread_name"))
        l->name = e->args_name;
    else if (text_is(name, "process_name"))
        l->process_name = e->args_name;
}

static int event_flaw(struct chrometrace *c, struct err *err, const char *why)
{
    return import_skip_byte(c->im, reader_offset(c->im->in), err, "%s", why);
}

/* --- spans of an id --- */

static struct trace_async *async_find(struct chrometrace *c, const struct event *e)
{
    const uint64_t key[2] = {(uint64_t)e->pid << 32 | e->category.i,
                             (uint64_t)e->name.i << 32 | e->id.i};
    uint32_t hash = hash_pair((uint32_t)(key[0] ^ key[0] >> 32), (uint32_t)(key[1] ^ key[1] >> 32));
    for_each_match (&c->async_map, hash, i)
        if (c->async.at[i].key[0] == key[0] && c->async.at[i].key[1] == key[1])
            return &c->async.at[i];
    idmap_add(&c->async_map, hash, (uint32_t)c->async.n);
    struct trace_async *new = vec_push(&c->async);
    *new = (struct trace_async){.key = {key[0], key[1]}};
    return new;
}

static int async_event(struct chrometrace *c, const struct event *e, struct err *err)
{
    uint32_t lane = lane_of(c, e);
    struct trace_async *a = async_find(c, e);
    if (e->phase == 'b' || e->phase == 'S') {
        a->open = true;
        a->lane = lane;
        a->begun = (struct span_begun){e->time_ns, chrometrace_frame_of(c, e), e->attrs};
        return 0;
    }
    if (!a->open)
        return event_flaw(c, err, "a span ends that did not begin");
    a->open = false;
    spanlanes_add_async(&c->lanes, a->lane, &a->begun, e->time_ns);
    return 0;
}

/* --- all kinds --- */

/* "name", or "name.member" where a counter has several. */
static void counter_event(struct chrometrace *c, const struct event *e)
{
    struct profile *p = c->im->profile;
    for (int i = 0; i < e->n_numbers; i++) {
        autobuf struct buf name = {0};
        struct text own = profile_str(p, e->name), key = profile_str(p, e->numbers[i].key);
        buf_add(&name, own.at, own.n);
        if (e->n_numbers > 1) {
            buf_byte(&name, '.');
            buf_add(&name, key.at, key.n);
        }
        spanlanes_add_point(&c->lanes, buf_text(&name), e->pid, e->time_ns, e->numbers[i].value);
    }
}

static int chrometrace_add_event(struct chrometrace *c, const struct event *e, struct err *err)
{
    if (e->phase == 'M') {
        name_thread(c, e);
        return 0;
    }
    if (!strchr("XBEbeSFiIC", e->phase)) {
        struct text name = profile_str(c->im->profile, e->name);
        bool sampled = text_is(name, "ProfileChunk") || text_is(name, "CpuProfile");
        *(sampled ? &c->sampled : &c->others) += 1;
        return 0;
    }
    if (e->has_average && text_starts(profile_str(c->im->profile, e->name), "Total ")) {
        c->sums++;
        return 0;
    }
    if (!e->has_time)
        return event_flaw(c, err, "an event without a valid time");
    if (strchr("beSF", e->phase))
        return async_event(c, e, err);
    if (e->phase == 'C') {
        counter_event(c, e);
        return 0;
    }
    uint32_t lane = lane_of(c, e);
    struct span_begun b = {e->time_ns, {0}, e->attrs};
    if (e->phase == 'E')
        return spanlanes_end(&c->lanes, lane, e->time_ns, e->attrs)
                   ? 0
                   : event_flaw(c, err, "a span ends that did not begin");
    b.frame = chrometrace_frame_of(c, e);
    if (e->phase == 'B')
        spanlanes_begin(&c->lanes, lane, &b);
    else if (e->phase == 'X')
        spanlanes_add(&c->lanes, lane, &b, e->time_ns + e->duration_ns);
    else
        spanlanes_add_moment(&c->lanes, lane, b.frame, e->time_ns);
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

static int chrometrace_build(struct chrometrace *c, struct err *err)
{
    uint64_t open = 0;
    if (c->sampled)
        import_note(c->im,
                    "only spans are read, and not the samples of JavaScript that the trace has "
                    "too, in %llu piece%s; Node's --cpu-prof writes those as a .cpuprofile",
                    (unsigned long long)c->sampled, c->sampled == 1 ? "" : "s");
    if (c->others)
        import_note(
            c->im, "events left out, as they are neither spans of time, moments nor counters: %llu",
            (unsigned long long)c->others);
    for (size_t i = 0; i < c->async.n; i++)
        open += c->async.at[i].open;
    if (open)
        import_note(c->im, "asynchronous spans without an end, which were left out: %llu",
                    (unsigned long long)open);
    return spanlanes_build(&c->lanes, err);
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
    struct chrometrace c = {.im = im, .lanes.im = im};
    jsonread_init(&c.j, im->in);
    int rc = chrometrace_read_file(&c, err);
    if (rc == 0)
        rc = chrometrace_build(&c, err);
    jsonread_done(&c.j);
    spanlanes_done(&c.lanes);
    vec_done(&c.async);
    idmap_done(&c.async_map);
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
