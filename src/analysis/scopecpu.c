#include "analysis/scopecpu.h"

#include "analysis/scopejoin.h"
#include "model/waitstream.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct cpu_sample {
    uint64_t thread, time_ns;
    uint32_t row;
    uint32_t depth; /* of the scope that it is in; 0 = in none so far */
    struct stack_id scope;
};

/* The samples of a thread, and where the last span began among them. */
struct cpu_lane {
    uint64_t thread;
    size_t first, end, at;
};

/* Samples of a function in a scope. */
struct cpu_pair {
    uint32_t flat;
    struct str_id function; /* 0 = it has no name */
    uint64_t samples;
};

struct scopecpu {
    const struct selection *samples;
    VEC(struct cpu_sample) at; /* by thread and time */
    VEC(struct cpu_lane) lanes;
    struct idmap map;               /* of lanes, by thread */
    VEC(uint32_t) depth_of_stack;   /* of the profile that spans come from */
    VEC(struct cpu_pair) functions; /* by scope */
    struct idmap pairs;
    struct scope_cpu *of_flat;
    const struct cpu_sample **last_of_flat; /* that was counted there */
};

/* --- samples by thread --- */

bool scopecpu_find(const struct profile *p, struct value_ref *ret)
{
    for (int i = 0; i < (int)p->streams.n; i++) {
        const struct stream *s = profile_stream(p, i);
        int samples = stream_samples(s);
        *ret = (struct value_ref){i, samples};
        if (samples < 0 || !stream_has_time(s) || scopejoin_by_label(s))
            continue;
        for (int k = 0; k < s->n_types; k++)
            if (s->types[k].dimension == DIM_TIME)
                ret->type = k;
        if (quantity_of(p, *ret) == QUANTITY_CPU_TIME)
            return true;
    }
    return false;
}

/* A thread may change its name: it is known by its number. */
static uint64_t cpu_thread(const struct profile *p, struct thread_id id)
{
    const struct thread *t = &p->threads.at[id.i];
    return (uint64_t)p->processes.at[t->process.i].pid << 32 | (uint32_t)t->tid;
}

static int cpu_compare(const void *a, const void *b)
{
    const struct cpu_sample *x = a, *y = b;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

static void find_lanes(struct scopecpu *c)
{
    for (size_t i = 0, end; i < c->at.n; i = end) {
        uint64_t thread = c->at.at[i].thread;
        for (end = i; end < c->at.n && c->at.at[end].thread == thread; end++)
            ;
        idmap_add(&c->map, hash_u64(thread), (uint32_t)c->lanes.n);
        *vec_push(&c->lanes) = (struct cpu_lane){thread, i, end, i};
    }
}

struct scopecpu *scopecpu_new(const struct selection *samples)
{
    struct scopecpu *c = mem_new(struct scopecpu);
    const struct rows *rows = &samples->stream->rows;
    *c = (struct scopecpu){.samples = samples};
    for (size_t i = 0; i < samples->n_rows; i++) {
        size_t row = selection_row(samples, i);
        *vec_push(&c->at) =
            (struct cpu_sample){.thread = cpu_thread(samples->profile, rows->thread[row]),
                                .time_ns = rows->time_ns[row],
                                .row = (uint32_t)row};
    }
    if (c->at.n)
        qsort(c->at.at, c->at.n, sizeof *c->at.at, cpu_compare);
    find_lanes(c);
    return c;
}

static struct cpu_lane *cpu_lane_find(const struct scopecpu *c, uint64_t thread)
{
    for_each_match (&c->map, hash_u64(thread), i)
        if (c->lanes.at[i].thread == thread)
            return &c->lanes.at[i];
    return NULL;
}

/* The first sample of a lane at or after a time, looked for around the last place. */
static size_t cpu_seek(const struct scopecpu *c, struct cpu_lane *l, uint64_t time_ns)
{
    const struct cpu_sample *at = c->at.at;
    while (l->at > l->first && at[l->at - 1].time_ns >= time_ns)
        l->at--;
    while (l->at < l->end && at[l->at].time_ns < time_ns)
        l->at++;
    return l->at;
}

/* --- spans --- */

static void cpu_learn_depths(struct scopecpu *c, const struct stacks *s)
{
    if (!c->depth_of_stack.n)
        *vec_push(&c->depth_of_stack) = 0;
    for (size_t i = c->depth_of_stack.n; i < s->nodes.n; i++) {
        uint32_t depth = c->depth_of_stack.at[s->nodes.at[i].parent.i] + 1;
        *vec_push(&c->depth_of_stack) = depth;
    }
}

static void cpu_cover(struct scopecpu *c, struct cpu_lane *l, const struct rows *rows, size_t row)
{
    uint64_t start_ns = rows->time_ns[row], end_ns = start_ns + rows->duration_ns[row];
    struct stack_id scope = rows->stack[row];
    uint32_t depth = c->depth_of_stack.at[scope.i];
    for (size_t i = cpu_seek(c, l, start_ns); i < l->end && c->at.at[i].time_ns < end_ns; i++) {
        struct cpu_sample *s = &c->at.at[i];
        if (depth > s->depth) {
            s->depth = depth;
            s->scope = scope;
        }
    }
}

void scopecpu_add(struct scopecpu *c, const struct selection *spans)
{
    const struct profile *p = spans->profile;
    const struct rows *rows = &spans->stream->rows;
    uint32_t key = intern_find(&p->strings, text_of(SCOPE_ASYNC_KEY));
    struct thread_id last = {UINT32_MAX};
    struct cpu_lane *lane = NULL;
    cpu_learn_depths(c, &p->stacks);
    for (size_t i = 0; rows->time_ns && rows->duration_ns && i < spans->n_rows; i++) {
        size_t row = selection_row(spans, i);
        bool crosses = key != IDMAP_NONE && rows->attrs &&
                       attrs_find(&p->attrs, rows->attrs[row], (struct str_id){key});
        if (rows->thread[row].i != last.i) {
            last = rows->thread[row];
            lane = cpu_lane_find(c, cpu_thread(p, last));
        }
        if (lane && !crosses)
            cpu_cover(c, lane, rows, row);
    }
}

/* --- sums --- */

static uint64_t cpu_count(const struct scopecpu *c, uint32_t row)
{
    return (uint64_t)c->samples->stream->rows.value[c->samples->count_type][row];
}

/* NAN where the column is samples itself. */
static double cpu_ns(const struct scopecpu *c, uint32_t row)
{
    bool is_time = c->samples->stream->types[c->samples->type].dimension == DIM_TIME;
    return is_time ? (double)selection_values(c->samples)[row] : NAN;
}

/* The innermost function of a sample. */
static struct str_id cpu_function(const struct scopecpu *c, uint32_t row)
{
    const struct profile *p = c->samples->profile;
    struct stack_id stack = c->samples->stream->rows.stack[row];
    const struct frame *f = profile_frame(p, p->stacks.nodes.at[stack.i].frame);
    const struct line *lines = profile_lines(p, f);
    return lines ? p->functions.at[lines[f->n_lines - 1].function.i].name : (struct str_id){0};
}

static void cpu_add_function(struct scopecpu *c, uint32_t flat, const struct cpu_sample *s)
{
    struct str_id function = cpu_function(c, s->row);
    uint32_t hash = hash_pair(flat, function.i);
    for_each_match (&c->pairs, hash, i)
        if (c->functions.at[i].flat == flat && c->functions.at[i].function.i == function.i) {
            c->functions.at[i].samples += cpu_count(c, s->row);
            return;
        }
    idmap_add(&c->pairs, hash, (uint32_t)c->functions.n);
    *vec_push(&c->functions) = (struct cpu_pair){flat, function, cpu_count(c, s->row)};
}

/* Once for each name around it. */
static void cpu_add_sample(struct scopecpu *c, const struct scopetree *t, const uint32_t *flat_of,
                           const struct cpu_sample *s)
{
    const struct profile *p = t->selection->profile;
    for (struct stack_id at = s->scope; at.i; at = p->stacks.nodes.at[at.i].parent) {
        uint32_t flat = flat_of[scopetree_name(p, at).i];
        if (!flat || c->last_of_flat[flat - 1] == s)
            continue;
        if (at.i == s->scope.i)
            c->of_flat[flat - 1].self_cpu_ns += cpu_ns(c, s->row);
        c->last_of_flat[flat - 1] = s;
        c->of_flat[flat - 1].samples += cpu_count(c, s->row);
        c->of_flat[flat - 1].cpu_ns += cpu_ns(c, s->row);
        cpu_add_function(c, flat - 1, s);
    }
}

/* Into the list of a scope, which is short and sorted. */
static void cpu_rank(const struct scopecpu *c, const struct cpu_pair *pair)
{
    struct scopecpu_function *list = c->of_flat[pair->flat].functions;
    int i = SCOPECPU_FUNCTIONS;
    while (i > 0 && list[i - 1].samples < pair->samples)
        i--;
    if (i == SCOPECPU_FUNCTIONS || !pair->function.i)
        return;
    memmove(&list[i + 1], &list[i], sizeof *list * (size_t)(SCOPECPU_FUNCTIONS - 1 - i));
    snprintf(list[i].name, sizeof list[i].name, "%.*s",
             TEXT_ARG(profile_str(c->samples->profile, pair->function)));
    list[i].samples = pair->samples;
}

void scopecpu_end(struct scopecpu *c, const struct scopetree *t)
{
    autofree uint32_t *flat_of =
        mem_calloc(t->selection->profile->strings.strings.n + 1, sizeof *flat_of);
    free(c->of_flat);
    free(c->last_of_flat);
    c->of_flat = mem_calloc(t->flat.n + 1, sizeof *c->of_flat);
    c->last_of_flat = mem_calloc(t->flat.n + 1, sizeof *c->last_of_flat);
    for (size_t i = 0; i < t->flat.n; i++)
        flat_of[t->flat.at[i].name.i] = (uint32_t)i + 1;
    for (size_t i = 0; i < c->at.n; i++)
        cpu_add_sample(c, t, flat_of, &c->at.at[i]);
    for (size_t i = 0; i < c->functions.n; i++)
        cpu_rank(c, &c->functions.at[i]);
}

uint64_t scopecpu_samples(const struct scopecpu *c)
{
    uint64_t n = 0;
    for (size_t i = 0; i < c->at.n; i++)
        n += cpu_count(c, c->at.at[i].row);
    return n;
}

double scopecpu_total_ns(const struct scopecpu *c)
{
    double ns = 0;
    for (size_t i = 0; i < c->at.n; i++)
        ns += cpu_ns(c, c->at.at[i].row);
    return ns;
}

const struct scope_cpu *scopecpu_get(const struct scopecpu *c, size_t flat)
{
    return &c->of_flat[flat];
}

/* --- one span --- */

static void spent_sampled(const struct scopecpu *c, const struct profile *p,
                          const struct scope_sum *sum, struct scope_spent *to)
{
    struct cpu_lane *l = cpu_lane_find(c, cpu_thread(p, sum->slowest.thread));
    uint64_t start_ns = sum->slowest.time_ns, end_ns = start_ns + sum->max_ns;
    if (!l)
        return;
    for (size_t i = cpu_seek(c, l, start_ns); i < l->end && c->at.at[i].time_ns < end_ns; i++) {
        to->samples += cpu_count(c, c->at.at[i].row);
        to->cpu_ns += cpu_ns(c, c->at.at[i].row);
    }
}

/* The part of a wait that lies within the span, blocked first and then runnable. */
static void spent_wait(const struct profile *p, const struct waitstream *w, size_t row,
                       const struct scope_sum *sum, uint64_t *by_reason, struct scope_spent *to)
{
    const struct rows *rows = &profile_stream(p, w->waits)->rows;
    uint64_t from_ns = sum->slowest.time_ns, to_ns = from_ns + sum->max_ns;
    uint64_t start_ns = rows->time_ns[row], end_ns = start_ns + rows->duration_ns[row];
    uint64_t woken_ns = start_ns + (uint64_t)rows->value[w->wait_column[WAIT_BLOCKED]][row];
    uint64_t low = start_ns > from_ns ? start_ns : from_ns, high = end_ns < to_ns ? end_ns : to_ns;
    if (low >= high)
        return;
    uint64_t blocked = woken_ns > low ? (woken_ns < high ? woken_ns : high) - low : 0;
    enum wait_reason why = blocked ? waitreason_of_stack(p, rows->stack[row]) : WAIT_UNKNOWN;
    to->blocked_ns += blocked;
    to->runnable_ns += high - low - blocked;
    by_reason[why] += blocked;
    if (by_reason[why] > to->reason_ns) {
        to->reason_ns = by_reason[why];
        to->reason = why;
    }
}

static void spent_waiting(const struct profile *p, const struct scope_sum *sum,
                          struct scope_spent *to)
{
    struct waitstream w;
    uint64_t by_reason[WAIT_REASONS] = {0};
    uint64_t thread = cpu_thread(p, sum->slowest.thread);
    if (!waitstream_find(p, &w))
        return;
    const struct rows *rows = &profile_stream(p, w.waits)->rows;
    if (!rows->time_ns || !rows->duration_ns)
        return;
    to->has_waits = true;
    for (size_t i = 0; i < rows->n; i++)
        if (cpu_thread(p, rows->thread[i]) == thread)
            spent_wait(p, &w, i, sum, by_reason, to);
}

struct scope_spent scopecpu_spent(const struct scopecpu *c, const struct profile *p,
                                  const struct scope_sum *sum)
{
    struct scope_spent spent = {0};
    uint32_t key = intern_find(&p->strings, text_of(SCOPE_ASYNC_KEY));
    if (!sum->slowest.time_ns ||
        (key != IDMAP_NONE && attrs_find(&p->attrs, sum->slowest.attrs, (struct str_id){key})))
        return spent;
    spent.known = true;
    if (c)
        spent_sampled(c, p, sum, &spent);
    spent_waiting(p, sum, &spent);
    return spent;
}

void scopecpu_free(struct scopecpu *c)
{
    if (!c)
        return;
    vec_done(&c->at);
    vec_done(&c->lanes);
    vec_done(&c->depth_of_stack);
    vec_done(&c->functions);
    idmap_done(&c->map);
    idmap_done(&c->pairs);
    free(c->of_flat);
    free(c->last_of_flat);
    free(c);
}
