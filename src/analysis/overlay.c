/* overlay.c - runs laid over each other; see overlay.h. */
#include "analysis/overlay.h"

#include "analysis/canon.h"
#include "analysis/heapwrappers.h"
#include "analysis/label.h"
#include "stats/stats.h"

/* --- the common tree --- */

static uint32_t push_node(struct overlay *o, uint32_t parent, uint32_t name)
{
    uint32_t hash = hash_pair(parent, name);
    for_each_match (&o->map, hash, id)
        if (o->parent.at[id] == parent && o->name.at[id] == name)
            return id;
    uint32_t id = (uint32_t)o->parent.n;
    *vec_push(&o->parent) = parent;
    *vec_push(&o->name) = name;
    idmap_add(&o->map, hash, id);
    return id;
}

struct namer {
    enum overlay_by by;
    struct labels labels;
    struct heapwrappers wrappers; /* by place */
    VEC(uint32_t) name_of_label;  /* + 1; 0 = not asked for yet */
};

static uint32_t overlay_name_of(struct overlay *o, struct namer *n, uint32_t label)
{
    while (n->name_of_label.n <= label)
        *vec_push(&n->name_of_label) = 0;
    uint32_t *name = &n->name_of_label.at[label];
    if (!*name) {
        autobuf struct buf canon = {0};
        canon_add(&canon, labels_text(&n->labels, label));
        *name = intern_add(&o->names, buf_text(&canon)) + 1;
    }
    return *name - 1;
}

/* By line: the folders of two builds differ, and what is in them mostly does not. */
static uint32_t overlay_name_of_line(struct overlay *o, struct namer *n, const struct profile *p,
                                     const struct line *line, uint32_t label)
{
    struct text file = profile_str(p, p->functions.at[line->function.i].file);
    const char *slash = file.n ? memrchr(file.at, '/', file.n) : NULL;
    autobuf struct buf b = {0};
    if (!file.n || !line->line)
        return overlay_name_of(o, n, label);
    buf_printf(&b, "%s:%u", slash ? slash + 1 : file.at, line->line);
    return intern_add(&o->names, buf_text(&b));
}

/* The node of a stack, whose callers' node is known already. */
static uint32_t lay_frame(struct overlay *o, const struct overlay_run *run, struct namer *namer,
                          struct stack_node at)
{
    const struct selection *s = run->s;
    const struct frame *f = profile_frame(s->profile, at.frame);
    uint32_t node = run->node_of_stack[at.parent.i];
    for (size_t k = 0, n = labels_count(f); k < n; k++) {
        if (selection_hides(s, at.frame, k))
            continue;
        uint32_t label = labels_of_frame(&namer->labels, s->profile, at.frame, k);
        uint32_t name = namer->by == OVERLAY_LINE && f->n_lines
                            ? overlay_name_of_line(o, namer, s->profile,
                                                   &profile_lines(s->profile, f)[k], label)
                            : overlay_name_of(o, namer, label);
        if (!s->merge_recursion || !node || o->name.at[node] != name)
            node = push_node(o, node, name);
    }
    return node;
}

static uint32_t lay_place(struct overlay *o, const struct overlay_run *run, struct namer *namer,
                          struct stack_id stack)
{
    uint32_t label = heapwrappers_place(&namer->wrappers, &namer->labels, run->s->profile, stack);
    return push_node(o, 0, overlay_name_of(o, namer, label));
}

static void lay_stacks(struct overlay *o, struct overlay_run *run, enum overlay_by by)
{
    const struct profile *p = run->s->profile;
    const struct stacks *s = &p->stacks;
    struct namer namer = {.by = by};
    labels_init(&namer.labels, p, &(struct label_opts){.merge_kinds = true});
    if (by == OVERLAY_PLACE)
        heapwrappers_find(&namer.wrappers, &namer.labels, p, &run->s->stream->rows);
    run->node_of_stack = mem_calloc(s->nodes.n, sizeof *run->node_of_stack);
    for (uint32_t i = 1; i < s->nodes.n; i++)
        run->node_of_stack[i] = by == OVERLAY_PLACE
                                    ? lay_place(o, run, &namer, (struct stack_id){i})
                                    : lay_frame(o, run, &namer, s->nodes.at[i]);
    heapwrappers_done(&namer.wrappers);
    labels_done(&namer.labels);
    vec_done(&namer.name_of_label);
}

static void lay_times(struct overlay_run *run)
{
    const struct sequence *t = &run->time;
    run->node_in_time = mem_calloc(t->n + 1, sizeof *run->node_in_time);
    for (size_t i = 0; i < t->n; i++)
        run->node_in_time[i] = run->node_of_stack[run->s->stream->rows.stack[t->order[i]].i];
}

/* Walk the tree depth first to see which nodes are the outermost of their name. */
static void find_outermost(struct overlay *o)
{
    size_t n = o->parent.n;
    autofree uint32_t *child = mem_calloc(n, sizeof *child);
    autofree uint32_t *next = mem_calloc(n, sizeof *next);
    autofree uint32_t *met = mem_calloc(o->names.strings.n, sizeof *met);
    o->outermost = mem_calloc(n, sizeof *o->outermost);
    for (size_t i = n; i-- > 1;) {
        next[i] = child[o->parent.at[i]];
        child[o->parent.at[i]] = (uint32_t)i;
    }
    for (uint32_t at = 0;;) {
        uint32_t below = child[at];
        if (below) {
            child[at] = next[below];
            o->outermost[below] = met[o->name.at[below]]++ == 0;
            at = below;
        } else if (at) {
            met[o->name.at[at]]--;
            at = o->parent.at[at];
        } else {
            break;
        }
    }
}

/* --- shares --- */

static void overlay_add_samples(struct overlay_run *run)
{
    const struct selection *s = run->s;
    const int64_t *value = selection_values(s);
    for (size_t i = 0; i < s->n_rows; i++) {
        size_t row = selection_row(s, i);
        run->self[run->node_of_stack[s->stream->rows.stack[row].i]] += (double)value[row];
    }
}

static void sum_shares(const struct overlay *o, struct overlay_run *run)
{
    size_t n = o->parent.n, n_names = o->names.strings.n;
    double whole = (double)run->s->total;
    run->self = mem_calloc(n, sizeof(double));
    run->total = mem_calloc(n, sizeof(double));
    run->fun_self = mem_calloc(n_names, sizeof(double));
    run->fun_total = mem_calloc(n_names, sizeof(double));
    overlay_add_samples(run);
    for (size_t i = n; i-- > 0;) {
        run->self[i] = whole > 0 ? run->self[i] / whole : 0;
        run->total[i] += run->self[i];
        if (i)
            run->total[o->parent.at[i]] += run->total[i];
    }
    for (size_t i = 1; i < n; i++) {
        run->fun_self[o->name.at[i]] += run->self[i];
        run->fun_total[o->name.at[i]] += o->outermost[i] ? run->total[i] : 0;
    }
}

/* --- all of it --- */

void overlay_build(struct overlay *o, const struct selection *const *runs, size_t n_runs,
                   enum overlay_by by)
{
    *o = (struct overlay){.runs = mem_calloc(n_runs, sizeof *o->runs), .n_runs = n_runs};
    intern_init(&o->names);
    *vec_push(&o->parent) = 0;
    *vec_push(&o->name) = 0;
    for (size_t i = 0; i < n_runs; i++) {
        o->runs[i] = (struct overlay_run){.s = runs[i], .time = sequence_build(runs[i])};
        lay_stacks(o, &o->runs[i], by);
        lay_times(&o->runs[i]);
    }
    find_outermost(o);
    for (size_t i = 0; i < n_runs; i++)
        sum_shares(o, &o->runs[i]);
}

static void run_done(struct overlay_run *run)
{
    free(run->node_of_stack);
    free(run->node_in_time);
    free(run->self);
    free(run->total);
    free(run->fun_self);
    free(run->fun_total);
    sequence_done(&run->time);
}

void overlay_done(struct overlay *o)
{
    for (size_t i = 0; i < o->n_runs; i++)
        run_done(&o->runs[i]);
    free(o->runs);
    free(o->outermost);
    intern_done(&o->names);
    vec_done(&o->parent);
    vec_done(&o->name);
    idmap_done(&o->map);
}

/* --- how much samples are worth --- */

/* Sums of hits in time order for some functions at once. */
struct tally {
    const struct overlay *o;
    const struct overlay_run *run;
    uint32_t *slot;        /* by name: its place among those functions + 1; 0 = not one of them */
    uint32_t *next;        /* by node: itself or the next caller that is one of them; 0 = none */
    size_t n_sums, per;    /* sums a function; samples a sum */
    uint8_t *self, *total; /* by slot, n_sums each */
};

/* A function that is on the stack several times counts where it is met first from the root. */
static void link_callers(struct tally *t)
{
    const struct overlay *o = t->o;
    for (size_t i = 1; i < o->parent.n; i++) {
        bool counts = o->outermost[i] && t->slot[o->name.at[i]];
        t->next[i] = counts ? (uint32_t)i : t->next[o->parent.at[i]];
    }
}

static void count_hits(struct tally *t)
{
    const struct overlay *o = t->o;
    for (size_t i = 0; i < t->n_sums * t->per; i++) {
        size_t sum = i / t->per;
        uint32_t node = t->run->node_in_time[i], own = t->slot[o->name.at[node]];
        if (node && own)
            t->self[(own - 1) * t->n_sums + sum]++;
        for (node = t->next[node]; node; node = t->next[o->parent.at[node]])
            t->total[(t->slot[o->name.at[node]] - 1) * t->n_sums + sum]++;
    }
}

static double worth_of(const struct tally *t, const uint8_t *sums)
{
    struct stats_series s = {.sums = sums, .n = t->n_sums, .per = t->per};
    double n = (double)(t->n_sums * t->per);
    return stats_effective_n_of_sums(&s) / n * t->run->time.n_samples;
}

static void tally_up(struct tally *t, const uint32_t *names, size_t n, struct overlay_worth *ret)
{
    autofree uint8_t *self = mem_calloc(n * t->n_sums, 1), *total = mem_calloc(n * t->n_sums, 1);
    t->self = self;
    t->total = total;
    for (size_t i = 0; i < n; i++)
        t->slot[names[i]] = (uint32_t)i + 1;
    link_callers(t);
    count_hits(t);
    for (size_t i = 0; i < n; i++) {
        ret[i].self = worth_of(t, self + i * t->n_sums);
        ret[i].total = worth_of(t, total + i * t->n_sums);
        t->slot[names[i]] = 0;
    }
}

void overlay_worths(const struct overlay *o, size_t run, const uint32_t *names, size_t n,
                    struct overlay_worth *ret)
{
    const size_t most_bytes = 32u << 20;
    const struct sequence *time = &o->runs[run].time;
    size_t per = stats_samples_per_sum(time->n);
    autofree uint32_t *slot = mem_calloc(o->names.strings.n, sizeof *slot);
    autofree uint32_t *next = mem_calloc(o->parent.n, sizeof *next);
    struct tally t = {.o = o,
                      .run = &o->runs[run],
                      .slot = slot,
                      .next = next,
                      .n_sums = time->n / per,
                      .per = per};
    for (size_t i = 0; i < n && !time->n; i++)
        ret[i] = (struct overlay_worth){time->n_samples, time->n_samples};
    size_t step = t.n_sums ? most_bytes / t.n_sums + 1 : n;
    for (size_t i = 0; i < n && time->n; i += step)
        tally_up(&t, names + i, n - i < step ? n - i : step, ret + i);
}
