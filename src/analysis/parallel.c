#include "analysis/parallel.h"
#include "base/shortname.h"

/* A thread begins or ends, or begins or ends to wait, for a reason. */
enum moment_kind { MOMENT_BIRTH, MOMENT_IN, MOMENT_OUT, MOMENT_END };

enum { READY = WAIT_REASONS }; /* it waits for nothing but a CPU */

struct moment {
    uint64_t time_ns;
    uint32_t thread;
    uint8_t kind, reason;
};

struct life {
    uint64_t start_ns, end_ns;
    struct thread_id thread; /* with its last name */
    int64_t alone_ns;
};

struct alone_span {
    uint64_t from_ns, to_ns;
    uint32_t thread;
};

struct parallel_job {
    struct parallel *ret;
    const struct profile *p;
    const struct selection *states;
    const struct selection *hiding; /* NULL = nothing is hidden */
    struct waitstream streams;
    VEC(struct life) lives;
    VEC(struct moment) moments;
    VEC(struct alone_span) alone;
    uint64_t first_ns, last_ns;
};

/* --- who lives when --- */

static uint32_t life_hash(const struct thread *t)
{
    return hash_pair(t->process.i, (uint32_t)t->tid);
}

/* IDMAP_NONE where the thread is not asked for. */
static uint32_t life_find(const struct parallel_job *j, const struct idmap *map,
                          struct thread_id id)
{
    const struct thread *t = &j->p->threads.at[id.i];
    for_each_match (map, life_hash(t), i) {
        const struct thread *old = &j->p->threads.at[j->lives.at[i].thread.i];
        if (old->process.i == t->process.i && old->tid == t->tid)
            return i;
    }
    return IDMAP_NONE;
}

static uint32_t life_of(struct parallel_job *j, struct idmap *map, struct thread_id id)
{
    uint32_t old = life_find(j, map, id);
    if (old != IDMAP_NONE)
        return old;
    idmap_add(map, life_hash(&j->p->threads.at[id.i]), (uint32_t)j->lives.n);
    *vec_push(&j->lives) = (struct life){.start_ns = UINT64_MAX, .thread = id};
    return (uint32_t)j->lives.n - 1;
}

/* False where too much of the threads' time is of unknown state: it would pass for running. */
static bool find_lives(struct parallel_job *j, struct idmap *map)
{
    const struct rows *r = &j->states->stream->rows;
    const int64_t *unknown = r->value[j->streams.state_column[THREAD_UNKNOWN]];
    struct selection_moments m = j->states->moments;
    double unknown_ns = 0, all_ns = 0;
    if (!r->n || !r->time_ns || !r->duration_ns)
        return false;
    for (size_t k = 0; k < j->states->n_rows; k++) {
        size_t i = selection_row(j->states, k);
        uint64_t start_ns = r->time_ns[i], end_ns = start_ns + r->duration_ns[i];
        unknown_ns += (double)unknown[i];
        all_ns += (double)r->duration_ns[i];
        start_ns = start_ns > m.from_ns ? start_ns : m.from_ns;
        end_ns = end_ns < m.to_ns ? end_ns : m.to_ns;
        if (end_ns < start_ns)
            continue;
        uint32_t at = life_of(j, map, r->thread[i]);
        struct life *l = &j->lives.at[at];
        l->start_ns = start_ns < l->start_ns ? start_ns : l->start_ns;
        l->end_ns = end_ns > l->end_ns ? end_ns : l->end_ns;
        l->thread = r->thread[i];
    }
    return unknown_ns <= 0.01 * all_ns;
}

/* Rows that stand for several waits do not say when each was. */
static bool has_sums(const struct parallel_job *j, const struct idmap *map)
{
    const struct rows *r = &profile_stream(j->p, j->streams.waits)->rows;
    const int64_t *count = r->value[j->streams.wait_column[WAIT_COUNT]];
    for (size_t i = 0; i < r->n; i++) {
        uint32_t thread = count[i] > 1 ? life_find(j, map, r->thread[i]) : IDMAP_NONE;
        if (thread != IDMAP_NONE && r->time_ns && r->time_ns[i] >= j->lives.at[thread].start_ns &&
            r->time_ns[i] <= j->lives.at[thread].end_ns)
            return true;
    }
    return false;
}

/* --- moments --- */

static void add_moment(struct parallel_job *j, uint64_t time_ns, uint32_t thread,
                       enum moment_kind kind, int reason)
{
    const struct life *l = &j->lives.at[thread];
    time_ns = time_ns < l->start_ns ? l->start_ns : time_ns > l->end_ns ? l->end_ns : time_ns;
    *vec_push(&j->moments) = (struct moment){time_ns, thread, (uint8_t)kind, (uint8_t)reason};
}

static void add_moments(struct parallel_job *j, const struct idmap *map)
{
    const struct rows *r = &profile_stream(j->p, j->streams.waits)->rows;
    const int64_t *blocked = r->value[j->streams.wait_column[WAIT_BLOCKED]];
    const int64_t *runnable = r->value[j->streams.wait_column[WAIT_RUNNABLE]];
    for (uint32_t i = 0; i < j->lives.n; i++) {
        add_moment(j, j->lives.at[i].start_ns, i, MOMENT_BIRTH, 0);
        add_moment(j, j->lives.at[i].end_ns, i, MOMENT_END, 0);
    }
    for (size_t i = 0; i < r->n; i++) {
        uint32_t thread = life_find(j, map, r->thread[i]);
        if (thread == IDMAP_NONE || !r->time_ns || !r->duration_ns)
            continue;
        uint64_t end_ns = r->time_ns[i] + r->duration_ns[i];
        int reason = blocked[i] ? (int)waitreason_of_stack(j->p, r->stack[i]) : READY;
        add_moment(j, r->time_ns[i], thread, MOMENT_OUT, reason);
        if (blocked[i] && runnable[i] > 0)
            add_moment(j, end_ns - (uint64_t)runnable[i], thread, MOMENT_OUT, READY);
        add_moment(j, end_ns, thread, MOMENT_IN, reason);
    }
}

/* Of one moment: births, then who comes, who leaves, who ends. */
static int by_moment(const void *a, const void *b)
{
    const struct moment *x = a, *y = b;
    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? -1 : 1;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return (x->thread > y->thread) - (x->thread < y->thread);
}

/* --- the sweep --- */

struct sweep {
    uint64_t now_ns;
    size_t lives, runs;
    uint64_t sum_of_runners; /* of one it is the one */
    int64_t waiting[WAIT_REASONS + 1];
    uint8_t *state; /* by thread: 0 = not there, 1 = runs, 2 + reason = waits */
};

static void add_slices(struct parallel_job *j, uint64_t from_ns, uint64_t to_ns, size_t runs)
{
    double width = (double)(j->last_ns - j->first_ns) / PARALLEL_SLICES;
    for (int i = 0; runs && width > 0 && i < PARALLEL_SLICES; i++) {
        double low = (double)j->first_ns + width * i, high = low + width;
        double a = (double)from_ns > low ? (double)from_ns : low;
        double b = (double)to_ns < high ? (double)to_ns : high;
        if (b > a)
            j->ret->slice[i] += (double)runs * (b - a) / width;
    }
}

static void parallel_pass(struct parallel_job *j, struct sweep *s, uint64_t until_ns)
{
    struct parallel *q = j->ret;
    int64_t dt = (int64_t)(until_ns - s->now_ns);
    if (s->lives && dt > 0) {
        q->level_ns[s->runs < PARALLEL_LEVELS ? s->runs : PARALLEL_LEVELS - 1] += dt;
        q->mean += (double)s->runs * (double)dt;
        add_slices(j, s->now_ns, until_ns, s->runs);
    }
    q->starved_ns += s->runs == 0 && s->waiting[READY] ? dt : 0;
    q->alone_ns += s->runs == 1 ? dt : 0;
    if (s->runs == 1 && !s->waiting[READY] && dt > 0) {
        uint32_t thread = (uint32_t)s->sum_of_runners;
        q->serial_ns += dt;
        j->lives.at[thread].alone_ns += dt;
        *vec_push(&j->alone) = (struct alone_span){s->now_ns, until_ns, thread};
        for (int i = 0; i < WAIT_REASONS; i++)
            q->others_ns[i] += dt * s->waiting[i];
    }
    s->now_ns = until_ns;
}

static void set_state(struct sweep *s, uint32_t thread, uint8_t state)
{
    uint8_t old = s->state[thread];
    s->lives += (state != 0) - (old != 0);
    s->runs += (state == 1) - (old == 1);
    s->sum_of_runners += state == 1 ? thread : 0;
    s->sum_of_runners -= old == 1 ? thread : 0;
    if (old > 1)
        s->waiting[old - 2]--;
    if (state > 1)
        s->waiting[state - 2]++;
    s->state[thread] = state;
}

static void sweep_moments(struct parallel_job *j)
{
    autofree uint8_t *state = mem_calloc(j->lives.n + 1, 1);
    struct sweep s = {.now_ns = j->first_ns, .state = state};
    for (size_t i = 0; i < j->moments.n; i++) {
        const struct moment *m = &j->moments.at[i];
        parallel_pass(j, &s, m->time_ns);
        if (m->kind != MOMENT_BIRTH && !s.state[m->thread])
            continue;
        set_state(&s, m->thread,
                  m->kind == MOMENT_END   ? 0
                  : m->kind == MOMENT_OUT ? (uint8_t)(2 + m->reason)
                                          : 1);
        if (s.lives > j->ret->threads_most)
            j->ret->threads_most = s.lives;
    }
}

/* --- names --- */

static void keep_best(struct parallel_alone *list, const struct parallel_alone *new)
{
    for (int i = 0; i < PARALLEL_NAMES; i++) {
        if (new->ns <= list[i].ns &&new->samples <= list[i].samples)
            continue;
        memmove(&list[i + 1], &list[i], (size_t)(PARALLEL_NAMES - 1 - i) * sizeof *list);
        list[i] = *new;
        return;
    }
}

static void name_threads_alone(struct parallel_job *j)
{
    for (size_t i = 0; i < j->lives.n; i++) {
        const struct thread *t = &j->p->threads.at[j->lives.at[i].thread.i];
        struct parallel_alone a = {.tid = t->tid, .ns = j->lives.at[i].alone_ns};
        snprintf(a.name, sizeof a.name, "%.*s", TEXT_ARG(profile_str(j->p, t->name)));
        keep_best(j->ret->threads, &a);
    }
}

static const struct alone_span *span_at(const struct parallel_job *j, uint64_t time_ns)
{
    size_t low = 0, high = j->alone.n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (j->alone.at[middle].to_ns <= time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low < j->alone.n && j->alone.at[low].from_ns <= time_ns ? &j->alone.at[low] : NULL;
}

/*
 * The innermost function that has a name and is the program's: not of the library of its language,
 * nor of our own. Of a program without names the innermost that is its own, as a place.
 */
static uint32_t function_of(const struct parallel_job *j, struct labels *labels,
                            struct stack_id stack)
{
    const struct profile *p = j->p;
    uint32_t first = LABEL_NONE, place = LABEL_NONE;
    for (; stack.i; stack = p->stacks.nodes.at[stack.i].parent) {
        struct frame_id id = p->stacks.nodes.at[stack.i].frame;
        const struct frame *f = profile_frame(p, id);
        if (j->hiding && selection_hides(j->hiding, id, labels_count(f) - 1))
            continue;
        uint32_t label = labels_of_frame(labels, p, id, labels_count(f) - 1);
        first = first == LABEL_NONE ? label : first;
        if (f->kind == FRAME_KERNEL || waitsum_is_libc(p, f) || profile_is_agent(p, f->mapping))
            continue;
        if (f->n_lines && !waitsum_is_runtime(labels_text(labels, label)))
            return label;
        if (place == LABEL_NONE && profile_name_is_place(labels_text(labels, label)))
            place = label;
    }
    return place != LABEL_NONE ? place : first;
}

enum { SHORT_NAME = 48 }; /* in characters, several on a line */

static void name_functions_alone(struct parallel_job *j, const struct idmap *map)
{
    struct labels labels;
    VEC(uint64_t) counts = {0};
    labels_init(&labels, j->p, &(struct label_opts){0});
    const struct stream *s = j->p->streams.n ? profile_stream(j->p, 0) : NULL;
    bool sampled = s && stream_samples(s) >= 0 && s->rows.time_ns;
    for (size_t i = 0; sampled && i < s->rows.n; i++) {
        const struct alone_span *span = span_at(j, s->rows.time_ns[i]);
        uint32_t thread = life_find(j, map, s->rows.thread[i]);
        if (!span || span->thread != thread)
            continue;
        uint32_t label = function_of(j, &labels, s->rows.stack[i]);
        while (counts.n <= label && label != LABEL_NONE)
            *vec_push(&counts) = 0;
        if (label != LABEL_NONE)
            counts.at[label]++;
        j->ret->samples++;
    }
    for (uint32_t i = 0; i < counts.n; i++) {
        struct parallel_alone a = {.samples = counts.at[i]};
        autobuf struct buf name = {0};
        shortname_add(&name, labels_text(&labels, i), SHORT_NAME);
        snprintf(a.name, sizeof a.name, "%s", buf_cstr(&name));
        keep_best(j->ret->functions, &a);
    }
    vec_done(&counts);
    labels_done(&labels);
}

/* --- --- */

int64_t parallel_busy_ns(const struct parallel *q)
{
    int64_t ns = 0;
    for (int i = 1; i < PARALLEL_LEVELS; i++)
        ns += q->level_ns[i];
    return ns;
}

static void parallel_measure(struct parallel_job *j, const struct idmap *map)
{
    j->first_ns = UINT64_MAX;
    for (size_t i = 0; i < j->lives.n; i++) {
        const struct life *l = &j->lives.at[i];
        j->first_ns = l->start_ns < j->first_ns ? l->start_ns : j->first_ns;
        j->last_ns = l->end_ns > j->last_ns ? l->end_ns : j->last_ns;
    }
    add_moments(j, map);
    qsort(j->moments.at, j->moments.n, sizeof *j->moments.at, by_moment);
    sweep_moments(j);
    j->ret->wall_ns = (int64_t)(j->last_ns - j->first_ns);
    j->ret->mean = j->ret->wall_ns > 0 ? j->ret->mean / (double)j->ret->wall_ns : 0;
    name_threads_alone(j);
    name_functions_alone(j, map);
    j->ret->known = j->ret->wall_ns > 0;
}

void parallel_build(struct parallel *ret, const struct selection *states,
                    const struct selection *hiding)
{
    struct parallel_job j = {.ret = ret, .p = states->profile, .states = states, .hiding = hiding};
    struct idmap map = {0};
    *ret = (struct parallel){0};
    if (waitstream_find(j.p, &j.streams) && find_lives(&j, &map) && !has_sums(&j, &map))
        parallel_measure(&j, &map);
    idmap_done(&map);
    vec_done(&j.lives);
    vec_done(&j.moments);
    vec_done(&j.alone);
}
