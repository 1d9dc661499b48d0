#include "analysis/quality.h"

#include "analysis/restack.h"
#include "base/block.h"

#include <math.h>

/* Depth and number of frames without a name, for every stack from the root up. */
struct depth {
    uint32_t frames, unnamed;
};

static bool is_unnamed(const struct selection *s, const struct frame *f)
{
    const struct profile *p = s->profile;
    if (restack_is_module(s->restacks[0], f->mapping))
        return false;
    return !f->n_lines ||
           profile_name_is_place(profile_function_name(p, profile_lines(p, f)->function));
}

/* How many functions of a frame are to be seen. */
static uint32_t count_visible(const struct selection *s, struct frame_id id)
{
    const struct frame *f = profile_frame(s->profile, id);
    uint32_t all = f->n_lines ? f->n_lines : 1, n = 0;
    if (!s->hidden_line)
        return all;
    for (size_t i = 0; i < all; i++)
        n += !selection_hides(s, id, i);
    return n;
}

static struct depth *measure_stacks(const struct selection *s)
{
    const struct profile *p = s->profile;
    const struct stacks *stacks = &p->stacks;
    struct depth *d = mem_calloc(stacks->nodes.n, sizeof *d);
    for (size_t i = 1; i < stacks->nodes.n; i++) {
        struct stack_node node = stacks->nodes.at[i];
        struct depth parent = d[node.parent.i];
        uint32_t seen = count_visible(s, node.frame);
        bool unnamed = seen && is_unnamed(s, profile_frame(p, node.frame));
        d[i] = (struct depth){parent.frames + seen, parent.unnamed + unnamed};
    }
    return d;
}

struct stack_sums {
    struct depth *depths; /* by stack */
    bool *seen;           /* the same */
    double weight, frames, unnamed, empty;
};

BLOCK_CALL static void sum_some_stacks(struct quality *q, const struct selection *s,
                                       struct stack_sums *sums, size_t from, size_t to)
{
    const int64_t *value = selection_values(s);
    for (size_t i = from; i < to; i++) {
        size_t row = selection_row(s, i);
        uint32_t stack = s->stream->rows.stack[row].i;
        struct depth d = sums->depths[stack];
        double w = (double)value[row];
        if (w == 0)
            continue;
        sums->weight += w;
        sums->frames += w * d.frames;
        sums->unnamed += w * d.unnamed;
        sums->empty += d.frames ? 0 : w;
        q->distinct_stacks += !sums->seen[stack];
        sums->seen[stack] = true;
        q->max_depth = d.frames > q->max_depth ? d.frames : q->max_depth;
    }
}

static void sum_stacks(struct quality *q, const struct selection *s)
{
    struct stack_sums sums = {.depths = measure_stacks(s),
                              .seen = mem_calloc(s->profile->stacks.nodes.n, sizeof(bool))};
    for_each_block(from, to, s->n_rows) sum_some_stacks(q, s, &sums, from, to);
    q->mean_depth = sums.weight > 0 ? sums.frames / sums.weight : 0;
    q->unnamed_share = sums.frames > 0 ? sums.unnamed / sums.frames : 0;
    q->empty_share = sums.weight > 0 ? sums.empty / sums.weight : 0;
    free(sums.seen);
    free(sums.depths);
}

static void find_times(struct quality *q, const struct selection *s)
{
    const uint64_t *time_ns = s->stream->rows.time_ns;
    q->has_time = time_ns && s->n_rows;
    if (!q->has_time)
        return;
    q->first_ns = UINT64_MAX;
    for (size_t i = 0; i < s->n_rows; i++) {
        uint64_t t = time_ns[selection_row(s, i)];
        q->first_ns = t < q->first_ns ? t : q->first_ns;
        q->last_ns = t > q->last_ns ? t : q->last_ns;
    }
}

/* A clock that meets a program at random gets so much more or less than its due by chance. */
double quality_sampled(uint64_t sampled_ns, uint64_t of_ns, uint64_t samples)
{
    if (!of_ns || !sampled_ns || !samples)
        return 1;
    double share = (double)sampled_ns / (double)of_ns;
    bool clearly = share < 0.95 && share * (1 + 3 / sqrt((double)samples)) < 1;
    return clearly ? share : 1;
}

/* What a recorder counted is about its first event. */
double quality_sampled_share(const struct selection *s)
{
    const struct meta *m = &s->profile->meta;
    uint64_t sampled_ns, of_ns;
    if (s->count_type < 0 || s->stream != s->profile->streams.at[0] ||
        !meta_find_u64(m, META_SAMPLED_NS, &sampled_ns) ||
        !meta_find_u64(m, META_SAMPLED_OF_NS, &of_ns))
        return 1;
    if (!sampled_ns)
        return 0;
    return quality_sampled(sampled_ns, of_ns, (uint64_t)s->stream->types[s->count_type].total);
}

static bool is_kernel_hidden(const struct meta *m)
{
    const char *hidden = meta_find(m, META_KERNEL_HIDDEN);
    return hidden && strcmp(hidden, "yes") == 0;
}

/* And nobody knows how much of the CPU time it took. */
static bool hides_kernel_time(const struct meta *m)
{
    uint64_t cpu_ns, of_ns;
    return is_kernel_hidden(m) && meta_find_u64(m, META_CPU_TIME_NS, &cpu_ns) &&
           meta_find_u64(m, META_SAMPLED_OF_NS, &of_ns) && of_ns >= cpu_ns;
}

double quality_cpu_scale(const struct selection *s)
{
    const struct meta *m = &s->profile->meta;
    uint64_t sampled_ns = 0, of_ns = 0;
    if (s->stream != s->profile->streams.at[0] || !meta_find_u64(m, META_SAMPLED_NS, &sampled_ns) ||
        !meta_find_u64(m, META_SAMPLED_OF_NS, &of_ns) || !sampled_ns || !of_ns ||
        quality_sampled_share(s) < 1 || hides_kernel_time(m))
        return 1;
    return (double)of_ns / (double)sampled_ns;
}

/* Under all its names, and none ended unseen; a thread of a program that never had another cannot
 * have been a short one.
 */
static bool has_one_thread(const struct profile *p)
{
    for (size_t i = 2; i < p->threads.n; i++)
        if (p->threads.at[i].tid != p->threads.at[1].tid)
            return false;
    uint64_t ended; /* of which it may be one */
    return p->threads.n > 1 && (!meta_find_u64(&p->meta, META_THREADS_ENDED, &ended) || ended <= 1);
}

bool quality_misses_threads(const struct profile *p)
{
    return !has_one_thread(p);
}

const char *quality_missed(const struct profile *p)
{
    bool threads = quality_misses_threads(p);
    if (!is_kernel_hidden(&p->meta))
        return threads ? "short-lived processes and threads or kernel code with interrupts off"
                       : "kernel code with interrupts off";
    return !threads                      ? "the hidden kernel"
           : hides_kernel_time(&p->meta) ? "the hidden kernel or short-lived processes and threads"
                                         : "short-lived processes and threads";
}

struct quality quality_of(const struct selection *s)
{
    struct quality q = {.has_samples = s->count_type >= 0,
                        .samples = s->n_samples,
                        .sampled_share = quality_sampled_share(s)};
    sum_stacks(&q, s);
    find_times(&q, s);
    return q;
}
