/*
 * diff_rename.c - functions that may have been renamed or moved: one went, another came, with the
 * same callers, the same callees and the same cost. Functions of a file that both sides have in the
 * same build have kept their names.
 */
#include "analysis/diff_inner.h"

#include <math.h>

/* Costs may differ by this factor, and neighbours must be alike to this part. */
#define SAME_COST 1.3
#define ALIKE 0.7

/* More candidates than that are a rewritten program: pairing them would be guesswork, and slow. */
enum { MOST_NEIGHBOURS = 4000000 };

/* Stand for the root, for the function itself, and for any other that came or went. */
enum { NEIGHBOUR_ROOT, NEIGHBOUR_SELF, NEIGHBOUR_UNKNOWN, NEIGHBOURS };

struct candidate {
    struct diff_entry *e;
    double *callers, *callees; /* shares by name + NEIGHBOURS; each adds up to 1 */
};

struct renames {
    struct diff_builder *b;
    size_t n_names;
    VEC(struct candidate) gone, came;
    uint8_t *is_candidate; /* by name */
};

static bool is_gone(const struct diff_entry *e)
{
    return e->total.before > 0 && e->total.after <= 0;
}

static bool is_new(const struct diff_entry *e)
{
    return e->total.after > 0 && e->total.before <= 0;
}

static size_t neighbour(const struct renames *r, uint32_t node)
{
    uint32_t name = r->b->lay.name.at[node];
    if (!node)
        return NEIGHBOUR_ROOT;
    return r->is_candidate[name] ? NEIGHBOUR_UNKNOWN : name + NEIGHBOURS;
}

static void make_whole(double *shares, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += shares[i];
    for (size_t i = 0; i < n && sum > 0; i++)
        shares[i] /= sum;
}

/* One walk over the tree fills the neighbours of all candidates of one side. */
static void find_neighbours(const struct renames *r, struct candidate *of, size_t n, bool after)
{
    const struct overlay *lay = &r->b->lay;
    size_t size = r->n_names + NEIGHBOURS;
    autofree struct candidate **by_name = mem_calloc(r->n_names, sizeof *by_name);
    for (size_t i = 0; i < n; i++) {
        by_name[of[i].e->name] = &of[i];
        of[i].callers = mem_calloc(size, sizeof(double));
        of[i].callees = mem_calloc(size, sizeof(double));
    }
    for (uint32_t node = 1; node < lay->parent.n; node++) {
        const struct diff_entry *path = &r->b->d->paths.at[node];
        double total = after ? path->total.after : path->total.before;
        struct candidate *own = by_name[lay->name.at[node]];
        uint32_t parent = lay->parent.at[node];
        struct candidate *caller = parent ? by_name[lay->name.at[parent]] : NULL;
        if (own) {
            own->callers[neighbour(r, parent)] += total;
            own->callees[NEIGHBOUR_SELF] += after ? path->self.after : path->self.before;
        }
        if (caller)
            caller->callees[neighbour(r, node)] += total;
    }
    for (size_t i = 0; i < n; i++) {
        make_whole(of[i].callers, size);
        make_whole(of[i].callees, size);
    }
}

static double likeness(const double *x, const double *y, size_t n)
{
    double same = 0;
    for (size_t i = 0; i < n; i++)
        same += fmin(x[i], y[i]);
    return same;
}

/* How far the costs are apart, a factor of 1 or more. */
static double apart(const struct diff *d, const struct diff_value *before,
                    const struct diff_value *after)
{
    double x = d->scale == DIFF_BY_TYPICAL ? before->before * d->typical : before->before_cost;
    double y = d->scale == DIFF_BY_TYPICAL ? after->after : after->after_cost;
    return x > 0 && y > 0 ? fmax(x / y, y / x) : INFINITY;
}

static void pair_up(struct renames *r, struct candidate *gone)
{
    struct candidate *best = NULL;
    double nearest = SAME_COST;
    size_t size = r->n_names + NEIGHBOURS;
    for (size_t i = 0; i < r->came.n; i++) {
        struct candidate *came = &r->came.at[i];
        double factor = apart(r->b->d, &gone->e->total, &came->e->total);
        if (came->e->renamed || factor > nearest ||
            likeness(gone->callers, came->callers, size) < ALIKE ||
            likeness(gone->callees, came->callees, size) < ALIKE)
            continue;
        nearest = factor;
        best = came;
    }
    if (!best)
        return;
    gone->e->renamed = best->e->name + 1;
    best->e->renamed = gone->e->name + 1;
    gone->e->self.proven = gone->e->total.proven = false;
    best->e->self.proven = best->e->total.proven = false;
}

/* A path through a renamed function is another path only by name. */
static void take_back_paths(struct renames *r)
{
    struct diff *d = r->b->d;
    autofree bool *by_name = mem_calloc(r->n_names + 1, sizeof *by_name);
    autofree bool *through = mem_calloc(d->paths.n + 1, sizeof *through);
    for (size_t i = 0; i < d->functions.n; i++)
        by_name[d->functions.at[i].name] = d->functions.at[i].renamed;
    for (size_t i = 1; i < d->paths.n; i++) {
        struct diff_entry *e = &d->paths.at[i];
        through[i] = by_name[e->name] || through[e->parent];
        if (through[i])
            e->self.proven = e->total.proven = false;
    }
}

static void find_candidates(struct renames *r)
{
    struct diff *d = r->b->d;
    for (size_t i = 0; i < d->functions.n; i++) {
        struct diff_entry *e = &d->functions.at[i];
        bool matters = (e->total.before + e->total.after) / 2 >= d->min_share;
        if (!matters || r->b->uneven[e->name] || r->b->fixed[e->name] ||
            (!is_gone(e) && !is_new(e)))
            continue;
        r->is_candidate[e->name] = 1;
        if (is_gone(e))
            *vec_push(&r->gone) = (struct candidate){.e = e};
        else
            *vec_push(&r->came) = (struct candidate){.e = e};
    }
}

static void candidates_done(struct candidate *at, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(at[i].callers);
        free(at[i].callees);
    }
    free(at);
}

void diff_find_renamed(struct diff_builder *b)
{
    struct renames r = {.b = b, .n_names = b->lay.names.strings.n};
    autofree uint8_t *is_candidate = mem_calloc(r.n_names + 1, 1);
    r.is_candidate = is_candidate;
    find_candidates(&r);
    bool few = (r.gone.n + r.came.n) * r.n_names <= MOST_NEIGHBOURS;
    if (r.gone.n && r.came.n && few) {
        find_neighbours(&r, r.gone.at, r.gone.n, false);
        find_neighbours(&r, r.came.at, r.came.n, true);
        for (size_t i = 0; i < r.gone.n; i++)
            pair_up(&r, &r.gone.at[i]);
        take_back_paths(&r);
    }
    candidates_done(r.gone.at, r.gone.n);
    candidates_done(r.came.at, r.came.n);
}
