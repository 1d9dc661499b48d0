/*
 * diff_names.c - functions that do not compare: of modules that have names on one side only, of the
 * kernel where there is one run per side, and of interrupts.
 */
#include "analysis/diff_inner.h"
#include "model/modules.h"

/* A module by its file name: the build of before may be in another folder. */
struct module_seen {
    bool named[2], bare[2]; /* by side */
};

struct uneven {
    struct intern files;
    VEC(struct module_seen) seen; /* by file */
};

static struct text diff_names_file_of(const struct profile *p, struct str_id path)
{
    struct text t = profile_str(p, path);
    const char *slash = t.n ? memrchr(t.at, '/', t.n) : NULL;
    return slash ? (struct text){slash + 1, t.n - (size_t)(slash + 1 - t.at)} : t;
}

static uint32_t add_file(struct uneven *u, struct text file)
{
    uint32_t id = intern_add(&u->files, file);
    while (u->seen.n <= id)
        *vec_push(&u->seen) = (struct module_seen){0};
    return id;
}

/* Self shares by file; one address without a name is no module without names. */
static double *shares_of_files(struct uneven *u, const struct selection *s, size_t n_files)
{
    const struct profile *p = s->profile;
    const int64_t *value = selection_values(s);
    double *share = mem_calloc(n_files + 1, sizeof *share);
    autofree double *sums = mem_calloc(p->mappings.n + 1, sizeof *sums);
    for (size_t i = 0; i < s->n_rows; i++) {
        size_t row = selection_row(s, i);
        struct stack_id stack = s->stream->rows.stack[row];
        if (stack.i)
            sums[profile_frame(p, p->stacks.nodes.at[stack.i].frame)->mapping.i] +=
                (double)value[row];
    }
    for (size_t i = 1; i < p->mappings.n && s->total > 0; i++)
        share[add_file(u, diff_names_file_of(p, p->mappings.at[i].path))] +=
            sums[i] / (double)s->total;
    return share;
}

static void look_at_run(struct uneven *u, const struct selection *s, int side, double least)
{
    struct modules m;
    modules_build(&m, s->profile);
    for (size_t i = 0; i < m.list.n; i++)
        add_file(u, diff_names_file_of(s->profile, m.list.at[i].path));
    autofree double *share = shares_of_files(u, s, u->seen.n);
    for (size_t i = 0; i < m.list.n; i++) {
        uint32_t id = add_file(u, diff_names_file_of(s->profile, m.list.at[i].path));
        u->seen.at[id].named[side] |= module_is_named(&m.list.at[i]);
        u->seen.at[id].bare[side] |= module_is_bare(&m.list.at[i]) && share[id] >= least;
    }
    modules_done(&m);
}

static bool is_uneven(const struct module_seen *m)
{
    return (m->bare[0] && (m->named[0] || m->named[1])) ||
           (m->bare[1] && (m->named[0] || m->named[1]));
}

/* All names that code of such a module has, in either run: places as well as functions. */
static void mark_names(struct diff_builder *b, struct uneven *u, const struct overlay_run *run)
{
    const struct profile *p = run->s->profile;
    for (size_t i = 1; i < p->stacks.nodes.n; i++) {
        struct stack_node at = p->stacks.nodes.at[i];
        struct mapping_id m = profile_frame(p, at.frame)->mapping;
        struct text file = diff_names_file_of(p, p->mappings.at[m.i].path);
        uint32_t id = file.n ? intern_find(&u->files, file) : IDMAP_NONE;
        if (id == IDMAP_NONE || !is_uneven(&u->seen.at[id]))
            continue;
        uint32_t node = run->node_of_stack[i], end = run->node_of_stack[at.parent.i];
        for (; node != end && node; node = b->lay.parent.at[node])
            b->uneven[b->lay.name.at[node]] = true;
    }
}

static void say_uneven(struct diff *d, const struct uneven *u)
{
    for (uint32_t i = 0; i < u->seen.n; i++) {
        const struct module_seen *m = &u->seen.at[i];
        struct text file = intern_get(&u->files, i);
        if (!file.n || !is_uneven(m))
            continue;
        const char *where = m->bare[0] && m->bare[1] ? "in some runs"
                            : m->bare[0]             ? "before"
                                                     : "after";
        buf_printf(&d->unnamed, "%.*s has no function names %s\n", file.n < 100 ? (int)file.n : 100,
                   file.at, where);
    }
}

void diff_find_uneven(struct diff_builder *b)
{
    struct uneven u = {0};
    intern_init(&u.files);
    b->uneven = mem_calloc(b->lay.names.strings.n + 1, sizeof *b->uneven);
    double least = b->o->min_share > 0 ? b->o->min_share : 0.005;
    for (size_t i = 0; i < b->o->n_runs; i++)
        look_at_run(&u, b->o->runs[i], i >= b->o->n_before, least);
    say_uneven(b->d, &u);
    for (size_t i = 0; i < b->o->n_runs && b->d->unnamed.n; i++)
        mark_names(b, &u, &b->lay.runs[i]);
    intern_done(&u.files);
    vec_done(&u.seen);
}

/* --- the kernel --- */

void diff_find_kernel(struct diff_builder *b)
{
    b->kernel = mem_calloc(b->lay.names.strings.n + 1, sizeof *b->kernel);
    for (size_t i = 0; i < b->o->n_runs; i++) {
        const struct overlay_run *run = &b->lay.runs[i];
        const struct profile *p = run->s->profile;
        for (size_t k = 1; k < p->stacks.nodes.n; k++)
            if (profile_frame(p, p->stacks.nodes.at[k].frame)->kind == FRAME_KERNEL)
                b->kernel[b->lay.name.at[run->node_of_stack[k]]] = true;
    }
}

/* --- interrupts --- */

static bool name_has(struct text name, const char *part)
{
    return memmem(name.at, name.n, part, strlen(part)) != NULL;
}

/* Where the kernel begins to serve an interrupt. mutex_lock_interruptible() and sleeping in
 * hrtimer_nanosleep() are the program's own. */
static bool is_interrupt(struct text name)
{
    static const char *const parts[] = {
        "softirq", "sysvec_", "irq_exit", "irq_enter",      "irqentry_exit",     "do_IRQ",
        "el0_irq", "el1_irq", "_64_irq",  "gic_handle_irq", "call_on_irq_stack", NULL};
    if (name_has(name, "_interrupt") && !name_has(name, "_interruptible"))
        return true;
    for (const char *const *p = parts; *p; p++)
        if (name_has(name, *p))
            return true;
    return false;
}

/* What part of a kernel function's time makes it one of interrupts. Either side counts as much, so
 * which functions these are does not depend on which side is which. */
#define ASIDE_PART 0.1

static double node_total(const struct diff_builder *b, size_t node)
{
    return (diff_mean_of(b, NODE_TOTAL, node, false) + diff_mean_of(b, NODE_TOTAL, node, true)) / 2;
}

static void add_interrupt(struct diff_builder *b, size_t node)
{
    for (int side = 0; side < 2; side++)
        b->d->interrupts[side] += diff_mean_of(b, NODE_TOTAL, node, side);
}

void diff_find_interrupts(struct diff_builder *b)
{
    size_t n_names = b->lay.names.strings.n, n = b->lay.parent.n;
    autofree bool *inside = mem_calloc(n + 1, sizeof *inside);
    autofree double *in = mem_calloc(n_names + 1, sizeof *in);
    autofree double *all = mem_calloc(n_names + 1, sizeof *all);
    b->aside = mem_calloc(n_names + 1, sizeof *b->aside);
    for (size_t i = 1; i < n; i++) {
        uint32_t name = b->lay.name.at[i];
        bool outer = inside[b->lay.parent.at[i]];
        inside[i] = outer || (b->kernel[name] && is_interrupt(intern_get(&b->lay.names, name)));
        all[name] += node_total(b, i);
        in[name] += inside[i] ? node_total(b, i) : 0;
        if (inside[i] && !outer)
            add_interrupt(b, i);
    }
    for (size_t i = 0; i < n_names; i++)
        b->aside[i] = b->kernel[i] && in[i] > 0 && in[i] >= ASIDE_PART * all[i];
}
