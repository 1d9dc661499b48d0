#include "analysis/quality.h"

/* Depth and number of frames without a name, for every stack from the root up. */
struct depth {
    uint32_t frames, unnamed;
};

static bool is_unnamed(const struct profile *p, const struct frame *f)
{
    return !f->n_lines ||
           profile_name_is_place(profile_function_name(p, profile_lines(p, f)->function));
}

static struct depth *measure_stacks(const struct profile *p)
{
    const struct stacks *s = &p->stacks;
    struct depth *d = mem_calloc(s->nodes.n, sizeof *d);
    for (size_t i = 1; i < s->nodes.n; i++) {
        const struct frame *f = profile_frame(p, s->nodes.at[i].frame);
        struct depth parent = d[s->nodes.at[i].parent.i];
        uint32_t lines = f->n_lines ? f->n_lines : 1;
        d[i] = (struct depth){parent.frames + lines, parent.unnamed + is_unnamed(p, f)};
    }
    return d;
}

static void sum_stacks(struct quality *q, const struct profile *p, int type)
{
    struct depth *depths = measure_stacks(p);
    bool *seen = mem_calloc(p->stacks.nodes.n, sizeof *seen);
    double weight = 0, frames = 0, unnamed = 0, empty = 0;
    for (size_t row = 0; row < p->samples.n; row++) {
        uint32_t stack = p->samples.stack[row].i;
        struct depth d = depths[stack];
        double w = (double)p->samples.value[type][row];
        if (w == 0)
            continue;
        weight += w;
        frames += w * d.frames;
        unnamed += w * d.unnamed;
        empty += d.frames ? 0 : w;
        q->distinct_stacks += !seen[stack];
        seen[stack] = true;
        q->max_depth = d.frames > q->max_depth ? d.frames : q->max_depth;
    }
    q->mean_depth = weight > 0 ? frames / weight : 0;
    q->unnamed_share = frames > 0 ? unnamed / frames : 0;
    q->empty_share = weight > 0 ? empty / weight : 0;
    free(seen);
    free(depths);
}

static void find_times(struct quality *q, const struct profile *p)
{
    q->has_time = p->samples.time_ns && p->samples.n;
    if (!q->has_time)
        return;
    q->first_ns = UINT64_MAX;
    for (size_t row = 0; row < p->samples.n; row++) {
        uint64_t t = p->samples.time_ns[row];
        q->first_ns = t < q->first_ns ? t : q->first_ns;
        q->last_ns = t > q->last_ns ? t : q->last_ns;
    }
}

struct quality quality_of(const struct profile *p, int type)
{
    struct quality q = {0};
    int counts = profile_count_type(p, type);
    if (counts >= 0 && !text_is(profile_str(p, p->types[counts].name), "samples"))
        counts = -1; /* a heap profile's objects are counted, not sampled */
    q.has_samples = counts >= 0;
    q.samples = counts >= 0 ? p->types[counts].total : 0;
    sum_stacks(&q, p, type);
    find_times(&q, p);
    return q;
}

bool quality_is_exact(const struct profile *p)
{
    const char *kind = meta_find(&p->meta, META_KIND);
    return kind && (strcmp(kind, META_KIND_SIMULATED) == 0 || strcmp(kind, META_KIND_EXACT) == 0);
}
