#include "analysis/walljoin.h"

#include "analysis/waitreason.h"
#include "model/waitstream.h"

#include <math.h>

struct walljoin {
    struct profile *p;
    struct waitstream waits;
    int stream;
    struct stack_id *leaf; /* by stack of a wait that was blocked; 0 = not made yet */
    struct stack_id *runnable;
    size_t n_stacks; /* of those two */
};

static bool wall_add_row(struct walljoin *w, const struct row *like, double ns, struct err *err)
{
    int64_t value = (int64_t)llround(ns);
    struct row row = *like;
    row.values = &value;
    return value <= 0 || profile_add_row(w->p, w->stream, &row, err) == 0;
}

/* --- running --- */

/* The column of CPU time in nanoseconds that goes with samples; false where there is none. */
static bool find_cpu(const struct profile *p, struct value_ref *ret)
{
    for (int s = 0; s < (int)p->streams.n; s++) {
        const struct stream *stream = profile_stream(p, s);
        for (int i = 0; stream_samples(stream) >= 0 && i < stream->n_types; i++)
            if (stream->types[i].dimension == DIM_TIME) {
                *ret = (struct value_ref){s, i};
                return true;
            }
    }
    return false;
}

/* By thread: how long it ran, by its switches, and by its samples. A thread may change its name. */
struct ran {
    double exact_ns, sampled_ns;
};

static uint64_t key_of(const struct profile *p, struct thread_id id)
{
    const struct thread *t = &p->threads.at[id.i];
    return (uint64_t)t->process.i << 32 | (uint32_t)t->tid;
}

/* By id: the first thread with the same number in the same process. */
static uint32_t *same_threads(const struct profile *p)
{
    uint32_t *first = mem_calloc(p->threads.n + 1, sizeof *first);
    struct idmap map = {0};
    for (uint32_t i = 0; i < p->threads.n; i++) {
        uint64_t key = key_of(p, (struct thread_id){i});
        uint32_t hash = hash_pair((uint32_t)key, (uint32_t)(key >> 32));
        first[i] = i;
        for_each_match (&map, hash, old) {
            if (key_of(p, (struct thread_id){old}) == key)
                first[i] = old;
        }
        if (first[i] == i)
            idmap_add(&map, hash, i);
    }
    idmap_done(&map);
    return first;
}

static void sum_ran(const struct walljoin *w, const uint32_t *first, struct value_ref cpu,
                    bool has_cpu, struct ran *ran)
{
    const struct rows *states = &profile_stream(w->p, w->waits.states)->rows;
    for (size_t i = 0; i < states->n; i++) {
        struct ran *r = &ran[first[states->thread[i].i]];
        r->exact_ns += (double)states->value[w->waits.state_column[THREAD_RUNNING]][i];
    }
    const struct rows *rows = has_cpu ? &profile_stream(w->p, cpu.stream)->rows : NULL;
    for (size_t i = 0; rows && i < rows->n; i++)
        ran[first[rows->thread[i].i]].sampled_ns += (double)rows->value[cpu.type][i];
}

static bool add_running(struct walljoin *w, struct err *err)
{
    struct profile *p = w->p;
    struct value_ref cpu = {0};
    bool has_cpu = find_cpu(p, &cpu), good = true;
    autofree uint32_t *first = same_threads(p);
    autofree struct ran *ran = mem_calloc(p->threads.n + 1, sizeof *ran);
    sum_ran(w, first, cpu, has_cpu, ran);
    size_t n = has_cpu ? profile_stream(p, cpu.stream)->rows.n : 0;
    for (size_t i = 0; good && i < n; i++) {
        const struct rows *rows = &profile_stream(p, cpu.stream)->rows;
        const struct ran *r = &ran[first[rows->thread[i].i]];
        struct row row = {.stack = rows->stack[i],
                          .thread = rows->thread[i],
                          .attrs = {rows->attrs ? rows->attrs[i].i : 0},
                          .has_time = rows->time_ns != NULL,
                          .time_ns = rows->time_ns ? rows->time_ns[i] : 0};
        double scale = r->sampled_ns > 0 ? r->exact_ns / r->sampled_ns : 0;
        good = wall_add_row(w, &row, scale * (double)rows->value[cpu.type][i], err);
    }
    struct frame_id unseen = profile_add_named_frame(p, text_of("[running, not seen]"), FRAME_USER);
    struct stack_id alone = stacks_push(&p->stacks, (struct stack_id){0}, unseen);
    n = profile_stream(p, w->waits.states)->rows.n;
    for (size_t i = 0; good && i < n; i++) {
        const struct rows *states = &profile_stream(p, w->waits.states)->rows;
        if (ran[first[states->thread[i].i]].sampled_ns > 0)
            continue;
        struct row row = {.stack = alone,
                          .thread = states->thread[i],
                          .has_time = states->time_ns != NULL,
                          .time_ns = states->time_ns ? states->time_ns[i] : 0,
                          .duration_ns = states->duration_ns ? states->duration_ns[i] : 0};
        good = wall_add_row(w, &row,
                            (double)states->value[w->waits.state_column[THREAD_RUNNING]][i], err);
    }
    return good;
}

/* --- waiting --- */

/* The program's part of a stack, with NAME as its innermost frame. */
static struct stack_id waiting_at(struct profile *p, struct stack_id stack, const char *name)
{
    while (stack.i && profile_frame(p, p->stacks.nodes.at[stack.i].frame)->kind == FRAME_KERNEL)
        stack = p->stacks.nodes.at[stack.i].parent;
    struct frame_id leaf = profile_add_named_frame(p, text_of(name), FRAME_USER);
    return stacks_push(&p->stacks, stack, leaf);
}

static struct stack_id stack_of_wait(struct walljoin *w, struct stack_id stack, bool runnable)
{
    struct stack_id *known = &(runnable ? w->runnable : w->leaf)[stack.i];
    char name[64] = "[runnable]";
    if (known->i)
        return *known;
    if (!runnable)
        snprintf(name, sizeof name, "[blocked: %s]",
                 waitreason_name(waitreason_of_stack(w->p, stack)));
    return *known = waiting_at(w->p, stack, name);
}

/* A thread is blocked first, and then without a CPU. What stands for many waits lasts for none. */
static void set_times(struct row *to, const struct rows *rows, size_t at, bool runnable,
                      const struct waitstream *waits)
{
    uint64_t lasts = rows->duration_ns ? rows->duration_ns[at] : 0;
    uint64_t blocked = (uint64_t)rows->value[waits->wait_column[WAIT_BLOCKED]][at];
    blocked = blocked < lasts ? blocked : lasts;
    to->has_time = rows->time_ns != NULL;
    to->time_ns = (rows->time_ns ? rows->time_ns[at] : 0) + (runnable ? blocked : 0);
    to->duration_ns = runnable ? lasts - blocked : blocked;
}

static bool add_waiting(struct walljoin *w, struct err *err)
{
    size_t n = profile_stream(w->p, w->waits.waits)->rows.n;
    bool good = true;
    for (size_t i = 0; good && i < 2 * n; i++) {
        const struct rows *rows = &profile_stream(w->p, w->waits.waits)->rows;
        bool runnable = i % 2;
        size_t at = i / 2;
        int column = w->waits.wait_column[runnable ? WAIT_RUNNABLE : WAIT_BLOCKED];
        if (!rows->value[column][at])
            continue;
        struct row row = {.stack = stack_of_wait(w, rows->stack[at], runnable),
                          .thread = rows->thread[at],
                          .attrs = {rows->attrs ? rows->attrs[at].i : 0}};
        set_times(&row, rows, at, runnable, &w->waits);
        good = wall_add_row(w, &row, (double)rows->value[column][at], err);
    }
    return good;
}

int walljoin_add(struct profile *p, struct err *err)
{
    struct walljoin w = {.p = p};
    struct value_ref there;
    struct err ignored;
    if (profile_pick_value(p, NULL, WALL_VALUE, &there, &ignored) == 0)
        return 0;
    if (!waitstream_find(p, &w.waits))
        return err_set(err, EXIT_INPUT, "there are no waits in this profile, so no wall time");
    w.stream = stream_kind_add(p, STREAM_WALL, BY_TRACE);
    if (w.stream < 0)
        return err_set(err, EXIT_ERROR, "the profile has too many events for one more");
    profile_add_value(p, w.stream, WALL_VALUE, UNIT_TIME);
    struct stream *wall = profile_stream(p, w.stream), *waits = profile_stream(p, w.waits.waits);
    wall->lost_known = waits->lost_known;
    wall->lost = waits->lost;
    w.n_stacks = p->stacks.nodes.n;
    autofree struct stack_id *leaf = mem_calloc(w.n_stacks + 1, sizeof *leaf);
    autofree struct stack_id *runnable = mem_calloc(w.n_stacks + 1, sizeof *runnable);
    w.leaf = leaf;
    w.runnable = runnable;
    return add_running(&w, err) && add_waiting(&w, err) ? 0 : -1;
}
