#include "analysis/waitsum.h"

#include <math.h>

/* --- threads --- */

static uint32_t hash_of_thread(const struct thread *t)
{
    return hash_pair(t->process.i, (uint32_t)t->tid);
}

/* NULL where nothing was added of it. */
static struct waitsum_thread *thread_find(struct waitsum *w, const struct idmap *map,
                                          const struct thread *t)
{
    for_each_match (map, hash_of_thread(t), i) {
        struct waitsum_thread *old = &w->threads.at[i];
        if (old->process.i == t->process.i && old->tid == t->tid)
            return old;
    }
    return NULL;
}

static struct waitsum_thread *thread_of(struct waitsum *w, struct idmap *map, struct thread_id id)
{
    const struct profile *p = w->selection->profile;
    const struct thread *t = &p->threads.at[id.i];
    struct waitsum_thread *old = thread_find(w, map, t);
    if (old)
        return old;
    idmap_add(map, hash_of_thread(t), (uint32_t)w->threads.n);
    struct waitsum_thread *new = vec_push(&w->threads);
    *new = (struct waitsum_thread){
        .process = t->process, .pid = profile_pid(p, t), .tid = t->tid, .name = t->name};
    return new;
}

/* --- ranges of time --- */

static int64_t overlap_ns(uint64_t from_ns, uint64_t to_ns, struct selection_moments m)
{
    from_ns = from_ns > m.from_ns ? from_ns : m.from_ns;
    to_ns = to_ns < m.to_ns ? to_ns : m.to_ns;
    return to_ns > from_ns ? (int64_t)(to_ns - from_ns) : 0;
}

struct wait_inside waitsum_inside(const struct rows *rows, const struct waitstream *streams,
                                  size_t row, struct selection_moments moments)
{
    int64_t blocked = rows->value[streams->wait_column[WAIT_BLOCKED]][row];
    int64_t runnable = rows->value[streams->wait_column[WAIT_RUNNABLE]][row];
    uint64_t at = rows->time_ns ? rows->time_ns[row] : 0;
    uint64_t end = at + (rows->duration_ns ? rows->duration_ns[row] : 0);
    bool whole = end == at || blocked < 0 || (at >= moments.from_ns && end <= moments.to_ns);
    if (whole)
        return (struct wait_inside){blocked, runnable, false};
    uint64_t wake = at + (uint64_t)blocked;
    return (struct wait_inside){overlap_ns(at, wake, moments), overlap_ns(wake, end, moments),
                                true};
}

int64_t waitsum_value_inside(const struct selection *s, const struct waitstream *streams,
                             size_t row)
{
    const struct rows *rows = &s->stream->rows;
    if (stream_kind_of(s->profile, s->stream) == STREAM_WAITS) {
        struct wait_inside in = waitsum_inside(rows, streams, row, s->moments);
        return s->type == streams->wait_column[WAIT_BLOCKED] ? in.blocked_ns : in.runnable_ns;
    }
    uint64_t from = rows->time_ns[row], to = from + rows->duration_ns[row];
    int64_t value = rows->value[s->type][row];
    if (to == from || (from >= s->moments.from_ns && to <= s->moments.to_ns))
        return value;
    double share = (double)overlap_ns(from, to, s->moments) / (double)(to - from);
    return llround(share * (double)value);
}

/* A row of states that reaches out: of the part inside only the waits say what it was. */
static void add_edge(struct waitsum_thread *t, const struct rows *rows, size_t row,
                     struct selection_moments m, int64_t unknown_ns)
{
    uint64_t from = rows->time_ns[row], to = from + rows->duration_ns[row];
    int64_t inside = overlap_ns(from, to, m);
    double share = (double)inside / (double)rows->duration_ns[row];
    int64_t unknown = (int64_t)(share * (double)unknown_ns);
    if (t->n_edges == 2)
        return;
    t->edge[t->n_edges++] = (struct selection_moments){from > m.from_ns ? from : m.from_ns,
                                                       to < m.to_ns ? to : m.to_ns};
    t->wall_ns += inside;
    t->state_ns[THREAD_UNKNOWN] += unknown;
    t->state_ns[THREAD_RUNNING] += inside - unknown;
    t->edge_ns += inside - unknown;
}

static void move_from_running(struct waitsum_thread *t, enum thread_state to, int64_t ns)
{
    ns = ns < t->edge_ns ? ns : t->edge_ns;
    t->edge_ns -= ns;
    t->state_ns[THREAD_RUNNING] -= ns;
    t->state_ns[to] += ns;
}

/* All waits of the threads, also those that were not asked for. */
static void add_waits_at_edges(struct waitsum *w, const struct idmap *map,
                               const struct waitstream *streams)
{
    const struct profile *p = w->selection->profile;
    const struct rows *rows = &w->selection->stream->rows;
    for (size_t i = 0; i < rows->n; i++) {
        struct waitsum_thread *t = thread_find(w, map, &p->threads.at[rows->thread[i].i]);
        for (int k = 0; t && k < t->n_edges; k++) {
            uint64_t at = rows->time_ns[i],
                     end = at + (rows->duration_ns ? rows->duration_ns[i] : 0);
            if (end < t->edge[k].from_ns || at > t->edge[k].to_ns)
                continue;
            struct wait_inside in = waitsum_inside(rows, streams, i, t->edge[k]);
            move_from_running(t, THREAD_BLOCKED, in.blocked_ns);
            move_from_running(t, THREAD_RUNNABLE, in.runnable_ns);
        }
    }
}

static void waitsum_total(struct waitsum *w)
{
    for (size_t i = 0; i < w->threads.n; i++) {
        const struct waitsum_thread *t = &w->threads.at[i];
        w->wall_ns = waitsum_add_ns(w->wall_ns, t->wall_ns);
        for (int k = 0; k < THREAD_STATES; k++)
            w->state_ns[k] = waitsum_add_ns(w->state_ns[k], t->state_ns[k]);
    }
}

static bool is_inside(const struct rows *rows, size_t row, struct selection_moments m)
{
    return !rows->time_ns || !rows->duration_ns || !rows->duration_ns[row] ||
           (rows->time_ns[row] >= m.from_ns &&
            rows->time_ns[row] + rows->duration_ns[row] <= m.to_ns);
}

static void add_states(struct waitsum *w, struct idmap *map, const struct waitstream *streams,
                       const struct selection *states)
{
    const struct rows *rows = &states->stream->rows;
    bool edges = false;
    for (size_t i = 0; i < states->n_rows; i++) {
        size_t row = selection_row(states, i);
        struct waitsum_thread *t = thread_of(w, map, rows->thread[row]);
        t->name = states->profile->threads.at[rows->thread[row].i].name; /* its last */
        if (!is_inside(rows, row, states->moments)) {
            add_edge(t, rows, row, states->moments,
                     rows->value[streams->state_column[THREAD_UNKNOWN]][row]);
            edges = true;
            continue;
        }
        for (int k = 0; k < THREAD_STATES; k++) {
            int64_t ns = rows->value[streams->state_column[k]][row];
            t->state_ns[k] = waitsum_add_ns(t->state_ns[k], ns);
            t->wall_ns = waitsum_add_ns(t->wall_ns, ns);
        }
    }
    if (edges)
        add_waits_at_edges(w, map, streams);
    waitsum_total(w);
}

enum wait_reason waitsum_main_reason(const struct waitsum_thread *t)
{
    enum wait_reason best = WAIT_REASONS;
    for (int k = 0; k < WAIT_REASONS; k++)
        if (t->reason_ns[k] > (best < WAIT_REASONS ? t->reason_ns[best] : 0))
            best = (enum wait_reason)k;
    return best;
}

/* --- stacks --- */

bool waitsum_has_wakers(const struct waitsum *w)
{
    const char *seen = meta_find(&w->selection->profile->meta, META_WAITS_WAKERS);
    return seen && strcmp(seen, "yes") == 0;
}

bool waitsum_is_libc(const struct profile *p, const struct frame *f)
{
    struct text module = profile_module_name(p, f->mapping);
    return text_starts(module, "libc.so") || text_starts(module, "libc-2") ||
           text_starts(module, "libpthread") || text_starts(module, "ld-musl");
}

/* NAME without what stands before the path of a type: "void std::f<int>", "<&dyn core::Fn as ..".
 */
static struct text without_front(struct text name)
{
    static const char *const fronts[] = {"<", "&", "dyn ", "mut ", "void "};
    for (size_t i = 0; i < sizeof fronts / sizeof *fronts; i++)
        if (text_starts(name, fronts[i])) {
            size_t n = strlen(fronts[i]);
            name = (struct text){name.at + n, name.n - n};
        }
    return name;
}

bool waitsum_is_runtime(struct text name)
{
    static const char *const of[] = {"[", "std::", "__gnu_cxx::", "core::", "alloc::"};
    name = without_front(name);
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        if (text_starts(name, of[i]))
            return true;
    return false;
}

/* What is known of each stack of the profile. */
struct stack_facts {
    uint32_t path;  /* in the trie of labels */
    uint32_t place; /* the same without what the C library does inside, as far as it is innermost */
    bool libc;
    bool waker;     /* of the thread that ended the wait */
    uint8_t reason; /* + 1; 0 = not asked for yet */
};

struct waitpaths {
    struct trie trie;
    struct stack_facts *of_stack;
    struct idmap map, wakers; /* of place and reason to waitsum.stacks and waitsum.wakers */
};

/* PATH and the N outermost functions of a frame; all of them get a label. */
static uint32_t push_labels(struct waitsum *w, struct waitpaths *paths, uint32_t path,
                            struct frame_id frame, size_t n)
{
    const struct profile *p = w->selection->profile;
    for (size_t i = 0; i < labels_count(profile_frame(p, frame)); i++) {
        if (selection_hides(w->selection, frame, i))
            continue;
        uint32_t label = labels_of_frame(&w->labels, p, frame, i);
        if (i < n)
            path = trie_push(&paths->trie, path, label);
    }
    return path;
}

/*
 * The kernel's functions, which differ with the moment, are in the reason. A wait is at the call of
 * the C library that the program made, whatever that calls inside.
 */
static struct stack_facts facts_of(struct waitsum *w, struct waitpaths *paths,
                                   const struct stack_node *node)
{
    const struct profile *p = w->selection->profile;
    const struct frame *f = profile_frame(p, node->frame);
    const struct stack_facts *caller = &paths->of_stack[node->parent.i];
    struct stack_facts facts = {.libc = waitsum_is_libc(p, f), .waker = f->kind == FRAME_WAKER};
    uint32_t below = facts.waker && !caller->waker ? caller->place : caller->path;
    if (f->kind == FRAME_KERNEL) {
        push_labels(w, paths, below, node->frame, 0);
        return *caller;
    }
    facts.path = push_labels(w, paths, below, node->frame, labels_count(f));
    facts.place = facts.path;
    if (facts.libc)
        facts.place = caller->libc ? caller->place : push_labels(w, paths, below, node->frame, 1);
    return facts;
}

/* Of all stacks: a parent comes before what it calls. */
static void find_paths(struct waitsum *w, struct waitpaths *paths)
{
    const struct profile *p = w->selection->profile;
    for (size_t id = 1; id < p->stacks.nodes.n; id++)
        paths->of_stack[id] = facts_of(w, paths, &p->stacks.nodes.at[id]);
}

static enum wait_reason reason_of(struct waitsum *w, struct waitpaths *paths, struct stack_id stack)
{
    struct stack_facts *f = &paths->of_stack[stack.i];
    if (!f->reason)
        f->reason = (uint8_t)(waitreason_of_stack(w->selection->profile, stack) + 1);
    return (enum wait_reason)(f->reason - 1);
}

static struct wait_sum *sum_of_place(waitsum_stacks *list, struct idmap *map,
                                     const struct waitpaths *paths,
                                     const struct waitsum_stack *like)
{
    uint32_t place = paths->of_stack[like->stack.i].place;
    uint32_t hash = hash_pair(place, like->runnable ? WAIT_REASONS : like->reason);
    for_each_match (map, hash, i) {
        struct waitsum_stack *old = &list->at[i];
        if (paths->of_stack[old->stack.i].place == place && old->runnable == like->runnable &&
            old->reason == like->reason)
            return &old->sum;
    }
    idmap_add(map, hash, (uint32_t)list->n);
    struct waitsum_stack *new = vec_push(list);
    *new = *like;
    return &new->sum;
}

/* --- waits --- */

static void wait_sum_add(struct wait_sum *s, int64_t n, int64_t ns)
{
    int64_t each_ns = n > 1 ? ns / n : ns;
    s->n += (uint64_t)n;
    s->ns += ns;
    s->max_ns = each_ns > s->max_ns ? each_ns : s->max_ns;
}

struct wait_row {
    int64_t n, ns;
    bool runnable;
};

static void waitsum_add_wait(struct waitsum *w, struct waitpaths *paths, struct waitsum_thread *t,
                             struct stack_id stack, const struct wait_row *row)
{
    struct waitsum_stack like = {.stack = stack, .runnable = row->runnable};
    if (!row->runnable)
        like.reason = reason_of(w, paths, stack);
    wait_sum_add(sum_of_place(&w->stacks, &paths->map, paths, &like), row->n, row->ns);
    wait_sum_add(row->runnable ? &w->runnable : &w->by_reason[like.reason], row->n, row->ns);
    if (row->runnable)
        return;
    t->reason_ns[like.reason] += row->ns;
    t->reason_waits[like.reason] += (uint64_t)row->n;
}

static void add_waits(struct waitsum *w, struct idmap *map, const struct waitstream *streams,
                      struct waitpaths *paths)
{
    const struct selection *s = w->selection;
    const struct rows *rows = &s->stream->rows;
    const int64_t *count = rows->value[streams->wait_column[WAIT_COUNT]];
    for (size_t i = 0; i < s->n_rows; i++) {
        size_t row = selection_row(s, i);
        struct wait_inside in = waitsum_inside(rows, streams, row, s->moments);
        if (in.cut && !in.blocked_ns && !in.runnable_ns)
            continue;
        struct waitsum_thread *t = thread_of(w, map, rows->thread[row]);
        enum wait_part part = waitstream_part_of(s->profile, s->stream, row);
        t->waits += (uint64_t)count[row];
        w->n_waits += (uint64_t)count[row];
        w->n_open += part == WAIT_NO_END;
        w->n_begun += part == WAIT_NO_START;
        w->n_summed += part == WAIT_SUMMED ? (uint64_t)count[row] : 0;
        w->n_near += part == WAIT_NEAR;
        w->n_cut += in.cut && part != WAIT_NO_END && part != WAIT_NO_START;
        if (waitstream_is_no_stack(s->profile, rows->stack[row]))
            w->n_stackless += (uint64_t)count[row];
        if (in.blocked_ns || !in.runnable_ns)
            waitsum_add_wait(w, paths, t, rows->stack[row],
                             &(struct wait_row){count[row], in.blocked_ns, false});
        if (in.runnable_ns)
            waitsum_add_wait(w, paths, t, rows->stack[row],
                             &(struct wait_row){count[row], in.runnable_ns, true});
        if (in.blocked_ns && in.runnable_ns)
            t->after_ns[reason_of(w, paths, rows->stack[row])] += in.runnable_ns;
    }
}

/* --- wakers --- */

/* Wakers of threads whose waits were asked for. */
static void add_wakers(struct waitsum *w, struct idmap *map, const struct waitstream *streams,
                       struct waitpaths *paths)
{
    const struct profile *p = w->selection->profile;
    const struct rows *rows = streams->wakes < 0 ? NULL : &profile_stream(p, streams->wakes)->rows;
    struct selection_moments m = w->selection->moments;
    for (size_t i = 0; rows && i < rows->n; i++) {
        uint64_t at_ns = rows->time_ns ? rows->time_ns[i] : 0;
        int64_t n = rows->value[streams->wake_column[WAKE_COUNT]][i];
        int64_t ns = rows->value[streams->wake_column[WAKE_WAITED]][i];
        const struct waitsum_thread *t = thread_find(w, map, &p->threads.at[rows->thread[i].i]);
        if (!t || (w->selection->rows && !t->waits) || n <= 0 || at_ns < m.from_ns ||
            at_ns > m.to_ns)
            continue;
        struct waitsum_stack like = {.stack = rows->stack[i]};
        like.reason = reason_of(w, paths, like.stack);
        wait_sum_add(sum_of_place(&w->wakers, &paths->wakers, paths, &like), n, ns);
        wait_sum_add(&w->woken, n, ns);
    }
}

/* --- order --- */

static int threads_by_time(const void *a, const void *b)
{
    const struct waitsum_thread *x = a, *y = b;
    int64_t xo = waitsum_off_cpu_ns(x), yo = waitsum_off_cpu_ns(y);
    if (waitsum_never_woke(x) != waitsum_never_woke(y))
        return waitsum_never_woke(x) ? 1 : -1;
    if (xo != yo)
        return xo < yo ? 1 : -1;
    return x->tid != y->tid ? (x->tid > y->tid) - (x->tid < y->tid)
                            : (x->process.i > y->process.i) - (x->process.i < y->process.i);
}

static int stacks_by_time(const void *a, const void *b)
{
    const struct waitsum_stack *x = a, *y = b;
    if (x->sum.ns != y->sum.ns)
        return x->sum.ns < y->sum.ns ? 1 : -1;
    return x->stack.i != y->stack.i ? (x->stack.i > y->stack.i) - (x->stack.i < y->stack.i)
                                    : x->runnable - y->runnable;
}

int waitsum_build(struct waitsum *w, const struct selection *s, const struct selection *states,
                  struct err *err)
{
    struct waitstream streams;
    struct waitpaths paths = {0};
    struct idmap threads = {0};
    *w = (struct waitsum){.selection = s};
    labels_init(&w->labels, s->profile, &(struct label_opts){0});
    if (!waitstream_find(s->profile, &streams) || s->value.stream != streams.waits ||
        (states && states->value.stream != streams.states))
        return err_set(err, EXIT_INPUT, "no waits in this profile");
    trie_init(&paths.trie);
    paths.of_stack = mem_calloc(s->profile->stacks.nodes.n, sizeof *paths.of_stack);
    find_paths(w, &paths);
    w->has_states = states != NULL;
    if (states)
        add_states(w, &threads, &streams, states);
    add_waits(w, &threads, &streams, &paths);
    if (states)
        add_wakers(w, &threads, &streams, &paths);
    if (w->threads.n)
        qsort(w->threads.at, w->threads.n, sizeof *w->threads.at, threads_by_time);
    if (w->stacks.n)
        qsort(w->stacks.at, w->stacks.n, sizeof *w->stacks.at, stacks_by_time);
    if (w->wakers.n)
        qsort(w->wakers.at, w->wakers.n, sizeof *w->wakers.at, stacks_by_time);
    free(paths.of_stack);
    trie_done(&paths.trie);
    idmap_done(&paths.map);
    idmap_done(&paths.wakers);
    idmap_done(&threads);
    return 0;
}

void waitsum_done(struct waitsum *w)
{
    vec_done(&w->threads);
    vec_done(&w->stacks);
    vec_done(&w->wakers);
    labels_done(&w->labels);
}
