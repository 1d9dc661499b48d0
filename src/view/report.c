/* report.c - gathering what a report says; its words are in report_text.c. */
#include "view/report.h"

enum { MAX_PATHS = 24 };

/* A function that calls itself directly is one row of the hot paths: a list that is sorted by
 * recursion would fill them with its name. */
static struct selection without_recursion(const struct report *r)
{
    struct selection s = *r->selection;
    s.merge_recursion = true;
    return s;
}

/* Of the innermost lines; {0} where there is none. */
static struct function_id function_of_stack(const struct profile *p, struct stack_id stack)
{
    const struct frame *f = profile_frame(p, p->stacks.nodes.at[stack.i].frame);
    return f->n_lines ? profile_lines(p, f)->function : (struct function_id){0};
}

/* Whether the hot paths show a function that calls itself. */
static bool find_recursion(const struct report *r)
{
    const struct profile *p = r->profile;
    for (uint32_t i = 1; i < p->stacks.nodes.n && !r->selection->merge_recursion; i++) {
        struct stack_id stack = {i}, caller = p->stacks.nodes.at[i].parent;
        uint32_t node = r->node_of_stack[i];
        if (node && caller.i && node == r->node_of_stack[caller.i] &&
            function_of_stack(p, stack).i &&
            function_of_stack(p, stack).i == function_of_stack(p, caller).i)
            return true;
    }
    return false;
}

/* The hot paths: as many as fit a screen or two. */
static void find_paths(struct report *r)
{
    struct selection s = without_recursion(r);
    for (r->paths_least = 0.02;; r->paths_least *= 1.5) {
        struct calltree_opts o = {.min_share = r->paths_least, .labels = {.merge_kinds = true}};
        r->paths = calltree_build(&s, &o);
        size_t branches = 0;
        for (size_t i = 0; i < r->paths->n; i++)
            branches += r->paths->child_end[i] - r->paths->child_at[i] != 1;
        if (branches <= MAX_PATHS || r->paths_least > 0.5)
            return;
        calltree_free(r->paths);
    }
}

static void build_whole(struct report *r)
{
    r->modules = flat_build(r->selection, FLAT_MODULE);
    r->threads = flat_build(r->selection, FLAT_THREAD);
    struct err ignored;
    if (meta_find(&r->profile->meta, META_MACHINE) &&
        grouping_build(&r->by_process, r->profile, r->selection->value, "process", &ignored) == 0)
        r->processes = flat_build_groups(r->selection, &r->by_process, "process");
    r->insights = insights_build(
        &(struct insight_input){r->functions, &r->quality, r->opts.code, r->opts.n_code});
    if (r->opts.outline)
        return;
    find_paths(r);
    struct selection s = without_recursion(r);
    r->node_of_stack = calltree_nodes_of_stacks(r->paths, &s);
    r->merged_recursion = find_recursion(r);
}

/* --- how sure a path is --- */

struct flat_share report_share_of_path(const struct report *r, uint32_t node)
{
    const struct calltree *t = r->paths;
    size_t n = r->profile->stacks.nodes.n;
    autofree bool *below = mem_calloc(t->n, sizeof *below);
    autofree bool *marked = mem_calloc(n, sizeof *marked);
    below[node] = true;
    for (size_t i = node + 1; i < t->n; i++) /* parents come before their children */
        below[i] = below[t->parent[i]];
    for (size_t i = 0; i < n; i++)
        marked[i] = below[r->node_of_stack[i]];
    return flat_share_of_stacks(r->functions, marked);
}

/* --- how much time it is --- */

static bool is_time_ns(const struct selection *s)
{
    const struct value_type *t = selection_value(s);
    return t->role == ROLE_FLOW && profile_is_ns(s->profile, t);
}

/* From the column itself, from the one beside the samples, else from what the run used. */
double report_time_of(const struct selection *s)
{
    uint64_t ns;
    if (is_time_ns(s))
        return (double)s->total;
    if (selection_quantity(s) != QUANTITY_CPU_TIME)
        return 0;
    for (int i = 0; i < s->stream->n_types; i++) {
        struct selection other = selection_of_type(s, i);
        if (is_time_ns(&other))
            return (double)other.total * quality_cpu_scale(s);
    }
    bool known = !s->rows && meta_find_u64(&s->profile->meta, META_CPU_TIME_NS, &ns);
    return known ? (double)ns : 0;
}

/* One without a time makes the mean unknown. */
static double mean_time(const struct report_opts *o)
{
    double sum = 0;
    for (size_t i = 0; i < o->n_runs; i++) {
        double ns = report_time_of(o->runs[i]);
        if (!(ns > 0))
            return 0;
        sum += ns;
    }
    return sum / (double)o->n_runs;
}

/* --- modules of a name --- */

/* Copies of a program, or names of one file, are one module. */
static bool is_same_file(const struct mapping *a, const struct mapping *b)
{
    return a->path.i == b->path.i || (a->build_id.i && a->build_id.i == b->build_id.i);
}

static size_t add_module(const struct profile *p, struct mapping_id *list, size_t n, size_t most,
                         struct mapping_id new)
{
    for (size_t i = 0; i < n; i++)
        if (is_same_file(&p->mappings.at[list[i].i], &p->mappings.at[new.i]))
            return n;
    if (n < most)
        list[n++] = new;
    return n;
}

size_t report_modules(const struct flat *f, uint32_t row, size_t most, struct mapping_id *ret)
{
    const struct profile *p = f->profile;
    size_t n = add_module(p, ret, 0, most, f->rows.at[row].mapping);
    if (p->mappings.n < 2) /* no files at all */
        return n;
    for (uint32_t i = 0; i < p->frames.n; i++)
        for (size_t k = 0; k < flat_count(&p->frames.at[i]); k++)
            if (flat_row_of(f, (struct frame_id){i}, k) == row)
                n = add_module(p, ret, n, most, p->frames.at[i].mapping);
    return n;
}

/* --- callers and callees --- */

static int report_by_value(const void *a, const void *b, void *values)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    const int64_t *v = values;
    if (v[x] != v[y])
        return v[x] > v[y] ? -1 : 1;
    return x < y ? -1 : x > y;
}

uint32_t *report_rank(const struct flat *f, const int64_t *values, size_t *ret_n)
{
    uint32_t *rows = mem_calloc(f->rows.n + 1, sizeof *rows);
    size_t n = 0;
    for (uint32_t i = 0; i < f->rows.n; i++)
        if (values[i] > 0)
            rows[n++] = i;
    qsort_r(rows, n, sizeof *rows, report_by_value, (void *)values);
    *ret_n = n;
    return rows;
}

/* --- all of it --- */

int report_build(struct report *r, const struct selection *s, const struct report_opts *opts,
                 struct err *err)
{
    *r = (struct report){.selection = s, .profile = s->profile, .opts = *opts};
    r->quality = quality_of(s);
    r->time_ns = report_time_of(s);
    r->functions = opts->functions ? opts->functions : flat_build(s, FLAT_FUNCTION);
    if (opts->has_by && opts->by == FLAT_LABEL) {
        if (grouping_build(&r->groups, s->profile, s->value, opts->by_key, err) != 0)
            return -1;
        r->by = flat_build_groups(s, &r->groups, opts->by_key);
    } else if (opts->has_by) {
        r->by = flat_build(s, opts->by);
    }
    if (opts->callers) {
        r->of_callers = mem_calloc(r->functions->rows.n + 1, sizeof *r->of_callers);
        return flat_find(r->functions, opts->callers, r->of_callers, err);
    }
    if (!opts->has_by)
        build_whole(r);
    if (opts->n_runs > 1) {
        r->runs = runshares_build(opts->runs, opts->n_runs);
        r->mean_time_ns = mean_time(opts);
    }
    return 0;
}

void report_done(struct report *r)
{
    if (!r->opts.functions)
        flat_free(r->functions);
    flat_free(r->modules);
    flat_free(r->threads);
    flat_free(r->by);
    flat_free(r->processes);
    grouping_done(&r->groups);
    grouping_done(&r->by_process);
    runshares_free(r->runs);
    calltree_free(r->paths);
    insights_done(&r->insights);
    free(r->of_callers);
    free(r->node_of_stack);
}

char *report_title(const struct report *r)
{
    const char *what = meta_find(&r->profile->meta, META_COMMAND);
    const char *part = meta_find(&r->profile->meta, META_MACHINE_PART);
    if (meta_find(&r->profile->meta, META_MACHINE))
        what = part ? part : "the whole machine";
    if (!what)
        what = meta_find(&r->profile->meta, META_SOURCE);
    return mem_printf("Report on %s", what ? what : "a profile");
}
