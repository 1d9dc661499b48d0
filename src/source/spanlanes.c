#include "source/spanlanes.h"

#include "model/streamkind.h"

#include <stdlib.h>

enum { DEPTH_MAX = 100000 };

/* --- threads and spans --- */

static uint32_t hash_key(uint64_t a, uint64_t b)
{
    return hash_pair((uint32_t)(a ^ a >> 32), (uint32_t)(b ^ b >> 32));
}

uint32_t spanlanes_lane(struct spanlanes *l, uint64_t a, uint64_t b)
{
    for_each_match (&l->lane_map, hash_key(a, b), i)
        if (l->lanes.at[i].key[0] == a && l->lanes.at[i].key[1] == b)
            return i;
    uint32_t i = (uint32_t)l->lanes.n;
    idmap_add(&l->lane_map, hash_key(a, b), i);
    *vec_push(&l->lanes) = (struct span_lane){.key = {a, b}, .pid = -1, .tid = -1};
    return i;
}

static struct span span_of(const struct span_begun *b, uint32_t lane, uint64_t end_ns, size_t order)
{
    return (struct span){.start_ns = b->start_ns,
                         .end_ns = end_ns > b->start_ns ? end_ns : b->start_ns,
                         .lane = lane,
                         .order = (uint32_t)order,
                         .frame = b->frame,
                         .attrs = b->attrs};
}

static void lane_reaches(struct spanlanes *l, uint32_t lane, uint64_t time_ns)
{
    if (time_ns > l->lanes.at[lane].last_ns)
        l->lanes.at[lane].last_ns = time_ns;
}

void spanlanes_add(struct spanlanes *l, uint32_t lane, const struct span_begun *b, uint64_t end_ns)
{
    lane_reaches(l, lane, end_ns);
    struct span new = span_of(b, lane, end_ns, l->spans.n);
    *vec_push(&l->spans) = new;
}

void spanlanes_begin(struct spanlanes *l, uint32_t lane, const struct span_begun *b)
{
    lane_reaches(l, lane, b->start_ns);
    *vec_push(&l->lanes.at[lane].begun) = *b;
}

/* Attributes that are reported at the end come behind those of the beginning. */
static struct attrs_id attrs_joined(struct profile *p, struct attrs_id set, struct attrs_id more)
{
    for (; more.i; more = p->attrs.nodes.at[more.i].parent) {
        struct attr a = p->attrs.nodes.at[more.i].attr;
        set = attrs_add(&p->attrs, set, &a);
    }
    return set;
}

bool spanlanes_end(struct spanlanes *l, uint32_t lane, uint64_t time_ns, struct attrs_id more)
{
    struct span_lane *at = &l->lanes.at[lane];
    lane_reaches(l, lane, time_ns);
    if (!at->begun.n)
        return false;
    struct span_begun b = at->begun.at[--at->begun.n];
    b.attrs = attrs_joined(l->im->profile, b.attrs, more);
    spanlanes_add(l, lane, &b, time_ns);
    return true;
}

void spanlanes_add_async(struct spanlanes *l, uint32_t lane, const struct span_begun *b,
                         uint64_t end_ns)
{
    struct span new = span_of(b, lane, end_ns, l->async.n);
    *vec_push(&l->async) = new;
}

void spanlanes_add_moment(struct spanlanes *l, uint32_t lane, struct frame_id frame,
                          uint64_t time_ns)
{
    *vec_push(&l->moments) = (struct span_moment){time_ns, lane, frame};
}

/* --- counters --- */

static struct process_id process_of_pid(struct spanlanes *l, int64_t pid)
{
    struct profile *p = l->im->profile;
    if (pid < 0 || pid > INT32_MAX)
        return (struct process_id){0};
    struct process_id known = profile_find_process(p, (int32_t)pid);
    return known.i ? known : profile_add_process(p, &(struct process){.pid = (int32_t)pid});
}

void spanlanes_add_point(struct spanlanes *l, struct text name, int64_t pid, uint64_t time_ns,
                         int64_t value)
{
    struct profile *p = l->im->profile;
    if (l->im->opts.merge)
        return;
    struct process_id process = process_of_pid(l, pid);
    if (!name.n)
        name = text_of("(no name)");
    struct str_id id = profile_add_str(p, name);
    int i = 0;
    while (i < (int)p->counters.n &&
           (p->counters.at[i].process.i != process.i || p->counters.at[i].name.i != id.i))
        i++;
    if (i == (int)p->counters.n) {
        autofree char *copy = mem_strndup(name.at, name.n);
        i = profile_add_counter(p, copy, "", process);
    }
    if (i >= 0)
        *vec_push(&p->counters.at[i].points) = (struct counter_point){time_ns, value};
}

static int by_point_time(const void *a, const void *b)
{
    const struct counter_point *x = a, *y = b;
    return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

static void sort_points(struct profile *p)
{
    for (size_t i = 0; i < p->counters.n; i++)
        if (p->counters.at[i].points.n)
            qsort(p->counters.at[i].points.at, p->counters.at[i].points.n,
                  sizeof(struct counter_point), by_point_time);
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

static struct thread_id lane_thread(struct spanlanes *l, uint32_t i)
{
    struct span_lane *at = &l->lanes.at[i];
    struct thread_key key = {
        .name = at->name.i ? at->name : at->process_name,
        .pid = at->pid >= 0 && at->pid <= INT32_MAX ? (int32_t)at->pid : THREAD_NO_ID,
        .tid = at->tid >= 0 && at->tid <= INT32_MAX ? (int32_t)at->tid : THREAD_NO_ID,
    };
    if (!at->thread.i)
        at->thread = profile_add_thread(l->im->profile, &key);
    return at->thread;
}

/* Time passes until UNTIL in the innermost open span. */
static int pass_time(struct spanlanes *l, struct thread_id thread, uint64_t *now, uint64_t until,
                     struct err *err)
{
    int rc = 0;
    if (l->open.n && until > *now) {
        int64_t value = (int64_t)(until - *now);
        struct row row = {.stack = l->open.at[l->open.n - 1].stack,
                          .thread = thread,
                          .has_time = !l->im->opts.merge,
                          .time_ns = *now,
                          .values = &value};
        rc = profile_add_row(l->im->profile, l->calls, &row, err);
    }
    *now = until > *now ? until : *now;
    return rc;
}

static int add_scope(struct spanlanes *l, struct thread_id thread, const struct span *s,
                     struct stack_id stack, int64_t self_ns, struct err *err)
{
    const int64_t values[2] = {1, self_ns};
    struct row row = {.stack = stack,
                      .thread = thread,
                      .attrs = s->attrs,
                      .has_time = !l->im->opts.merge,
                      .time_ns = s->start_ns,
                      .duration_ns = l->im->opts.merge ? 0 : s->end_ns - s->start_ns,
                      .values = values};
    return l->scopes < 0 ? 0 : profile_add_row(l->im->profile, l->scopes, &row, err);
}

static int close_innermost(struct spanlanes *l, struct thread_id thread, struct err *err)
{
    struct span_open o = l->open.at[--l->open.n];
    uint64_t length_ns = o.span->end_ns - o.span->start_ns;
    if (l->open.n)
        l->open.at[l->open.n - 1].children_ns += length_ns;
    int64_t self_ns = o.children_ns < length_ns ? (int64_t)(length_ns - o.children_ns) : 0;
    return add_scope(l, thread, o.span, o.stack, self_ns, err);
}

static int close_until(struct spanlanes *l, struct thread_id thread, uint64_t *now, uint64_t until,
                       struct err *err)
{
    while (l->open.n && l->open.at[l->open.n - 1].end_ns <= until)
        if (pass_time(l, thread, now, l->open.at[l->open.n - 1].end_ns, err) != 0 ||
            close_innermost(l, thread, err) != 0)
            return -1;
    return 0;
}

static int open_span(struct spanlanes *l, const struct span *s, struct err *err)
{
    enum { ROUNDING_NS = 2000 }; /* times are often whole microseconds */
    struct stack_id parent = {0};
    uint64_t end_ns = s->end_ns;
    if (l->open.n == DEPTH_MAX)
        return import_skip_byte(l->im, reader_offset(l->im->in), err, "%s",
                                "more than 100000 spans in one another");
    if (l->open.n) {
        const struct span_open *outer = &l->open.at[l->open.n - 1];
        parent = outer->stack;
        l->overlapping += end_ns > outer->end_ns + ROUNDING_NS;
        end_ns = end_ns < outer->end_ns ? end_ns : outer->end_ns;
    }
    *vec_push(&l->open) =
        (struct span_open){.end_ns = end_ns,
                           .span = s,
                           .stack = stacks_push(&l->im->profile->stacks, parent, s->frame)};
    return 0;
}

/* The spans FROM up to END are those of one thread. */
static int build_lane(struct spanlanes *l, size_t from, size_t end, struct err *err)
{
    struct thread_id thread = lane_thread(l, l->spans.at[from].lane);
    uint64_t now = 0;
    l->open.n = 0;
    for (size_t i = from; i < end; i++) {
        const struct span *s = &l->spans.at[i];
        if (close_until(l, thread, &now, s->start_ns, err) != 0 ||
            pass_time(l, thread, &now, s->start_ns, err) != 0 || open_span(l, s, err) != 0)
            return -1;
    }
    return close_until(l, thread, &now, UINT64_MAX, err);
}

static void close_begun(struct spanlanes *l)
{
    for (uint32_t i = 0; i < l->lanes.n; i++) {
        l->unclosed += l->lanes.at[i].begun.n;
        while (l->lanes.at[i].begun.n) {
            struct span_begun b = l->lanes.at[i].begun.at[--l->lanes.at[i].begun.n];
            spanlanes_add(l, i, &b, l->lanes.at[i].last_ns);
        }
    }
}

/* --- what belongs to no stack of calls --- */

static int build_async(struct spanlanes *l, struct err *err)
{
    struct profile *p = l->im->profile;
    struct attr mark = {
        .key = profile_add_str(p, text_of("async")), .is_number = true, .number = 1};
    for (size_t i = 0; i < l->async.n; i++) {
        struct span s = l->async.at[i];
        struct stack_id stack = stacks_push(&p->stacks, (struct stack_id){0}, s.frame);
        s.attrs = attrs_add(&p->attrs, s.attrs, &mark);
        if (add_scope(l, lane_thread(l, s.lane), &s, stack, 0, err) != 0)
            return -1;
    }
    return 0;
}

static int build_moments(struct spanlanes *l, struct err *err)
{
    struct profile *p = l->im->profile;
    static const int64_t one[] = {1};
    if (!l->moments.n)
        return 0;
    int stream = stream_kind_add(p, STREAM_MOMENTS, BY_TRACE);
    profile_add_value(p, stream, "events", UNIT_COUNT);
    for (size_t i = 0; i < l->moments.n; i++) {
        const struct span_moment *m = &l->moments.at[i];
        struct row row = {.stack = stacks_push(&p->stacks, (struct stack_id){0}, m->frame),
                          .thread = lane_thread(l, m->lane),
                          .has_time = !l->im->opts.merge,
                          .time_ns = m->time_ns,
                          .values = one};
        if (profile_add_row(p, stream, &row, err) != 0)
            return -1;
    }
    return 0;
}

/* --- all of it --- */

static void add_streams(struct spanlanes *l)
{
    struct profile *p = l->im->profile;
    l->calls = profile_add_stream(p, "", BY_TRACE);
    profile_add_value(p, l->calls, "duration", UNIT_TIME);
    l->scopes = -1;
    if (!l->spans.n && !l->async.n)
        return;
    l->scopes = stream_kind_add(p, STREAM_SCOPES, BY_TRACE);
    profile_add_value(p, l->scopes, "spans", UNIT_COUNT);
    profile_add_value(p, l->scopes, "self", UNIT_TIME);
    p->default_value = (struct value_ref){l->calls, 0};
}

static void spanlanes_tell(struct spanlanes *l)
{
    if (l->unclosed)
        import_note(l->im, "spans without an end, which last until their thread's last event: %llu",
                    (unsigned long long)l->unclosed);
    if (l->overlapping)
        import_note(l->im, "spans that end after the one around them, and were cut there: %llu",
                    (unsigned long long)l->overlapping);
}

int spanlanes_build(struct spanlanes *l, struct err *err)
{
    close_begun(l);
    add_streams(l);
    if (l->spans.n)
        qsort(l->spans.at, l->spans.n, sizeof *l->spans.at, by_nesting);
    for (size_t from = 0, end; from < l->spans.n; from = end) {
        for (end = from; end < l->spans.n && l->spans.at[end].lane == l->spans.at[from].lane;)
            end++;
        if (build_lane(l, from, end, err) != 0)
            return -1;
    }
    if (build_async(l, err) != 0 || build_moments(l, err) != 0)
        return -1;
    sort_points(l->im->profile);
    spanlanes_tell(l);
    return 0;
}

void spanlanes_done(struct spanlanes *l)
{
    for (size_t i = 0; i < l->lanes.n; i++)
        vec_done(&l->lanes.at[i].begun);
    vec_done(&l->lanes);
    vec_done(&l->spans);
    vec_done(&l->async);
    vec_done(&l->moments);
    vec_done(&l->open);
    idmap_done(&l->lane_map);
}
