/* flat_share.c - the top of a list, shares with intervals, callers and callees. */
#include "analysis/flat.h"

#include "analysis/drawn.h"

/* --- the top --- */

struct ranking {
    const struct flat *f;
    enum flat_what what;
};

static int64_t amount(const struct flat_row *row, enum flat_what what)
{
    return what == FLAT_SELF ? row->self : row->total;
}

static int by_amount(const void *a, const void *b, void *ranking)
{
    const struct ranking *r = ranking;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    int64_t vx = amount(&r->f->rows.at[x], r->what), vy = amount(&r->f->rows.at[y], r->what);
    if (vx != vy)
        return vx < vy ? 1 : -1;
    int names = strcmp(flat_name(r->f, x).at, flat_name(r->f, y).at);
    return names ? names : (x > y) - (x < y);
}

/* Let the row at I of a heap whose first row is the least sink to its place. */
static void sink_row(struct ranking *r, uint32_t *heap, size_t n, size_t i)
{
    for (size_t below; (below = 2 * i + 1) < n; i = below) {
        below += below + 1 < n && by_amount(&heap[below + 1], &heap[below], r) > 0;
        if (by_amount(&heap[below], &heap[i], r) < 0)
            return;
        uint32_t row = heap[i];
        heap[i] = heap[below];
        heap[below] = row;
    }
}

/* Those that come first, in any order: of 10^6 functions sixty are shown, and all are compared
 * with the least of sixty instead of with each other. */
static size_t pick_top(struct ranking *r, size_t n, uint32_t *heap)
{
    size_t have = 0;
    for (uint32_t i = 0; n && i < r->f->rows.n; i++) {
        if (amount(&r->f->rows.at[i], r->what) <= 0)
            continue;
        if (have < n) {
            heap[have++] = i;
            for (size_t k = have / 2; have == n && k-- > 0;)
                sink_row(r, heap, n, k);
        } else if (by_amount(&i, &heap[0], r) < 0) {
            heap[0] = i;
            sink_row(r, heap, n, 0);
        }
    }
    return have;
}

size_t flat_top(const struct flat *f, enum flat_what what, size_t n, uint32_t *ret_rows)
{
    struct ranking r = {f, what};
    n = pick_top(&r, n < f->rows.n ? n : f->rows.n, ret_rows);
    if (n)
        qsort_r(ret_rows, n, sizeof *ret_rows, by_amount, &r);
    return n;
}

size_t flat_count_above(const struct flat *f, enum flat_what what, double least)
{
    size_t n = 0;
    for (size_t i = 0; i < f->rows.n; i++)
        n += amount(&f->rows.at[i], what) > 0 && (double)amount(&f->rows.at[i], what) >= least;
    return n;
}

/* --- shares --- */

static bool frame_is_in(const struct flat *f, struct frame_id id, const bool *in_set,
                        enum flat_what what)
{
    size_t n = flat_count(profile_frame(f->profile, id));
    uint32_t leaf = flat_leaf_of(f, id);
    if (what == FLAT_SELF)
        return leaf != FLAT_NOBODY && in_set[leaf];
    for (size_t k = 0; k < n; k++)
        if (flat_row_of(f, id, k) != FLAT_NOBODY && in_set[flat_row_of(f, id, k)])
            return true;
    return false;
}

bool *flat_mark_stacks(const struct flat *f, const bool *in_set, enum flat_what what)
{
    const struct profile *p = f->profile;
    autofree bool *frames = mem_calloc(p->frames.n + 1, sizeof *frames);
    for (uint32_t i = 0; i < p->frames.n; i++)
        frames[i] = frame_is_in(f, (struct frame_id){i}, in_set, what);
    bool *marked = mem_calloc(p->stacks.nodes.n, sizeof *marked);
    for (size_t i = 1; i < p->stacks.nodes.n; i++) {
        struct stack_node node = p->stacks.nodes.at[i];
        bool passes = what == FLAT_TOTAL || (f->hidden && f->hidden[node.frame.i]);
        marked[i] = frames[node.frame.i] || (passes && marked[node.parent.i]);
    }
    return marked;
}

static bool *mark_places(const struct flat *f, const bool *in_set)
{
    size_t n = f->n_places;
    bool *marked = mem_calloc(n + 1, sizeof *marked);
    for (size_t i = 0; i < n; i++)
        marked[i] = in_set[f->row_of_place[i]];
    return marked;
}

static double effective_n_of_drawn(const struct flat *f, double share, const bool *marked)
{
    double inside = 0;
    for (size_t i = 0; i < f->n_places; i++)
        inside += marked[i] ? f->variance_of_place[i] : 0;
    return drawn_effective_n(f->time.drawn, (double)f->whole, share, inside, f->variance - inside);
}

/* As many independent samples of equal weight as carry as much information about those places. */
static double effective_n(const struct flat *f, double share, const bool *marked)
{
    const struct sequence *t = &f->time;
    if (t->drawn)
        return effective_n_of_drawn(f, share, marked);
    if (!t->n)
        return t->n_samples;
    size_t per = stats_samples_per_sum(t->n);
    struct stats_series s = {.n = t->n / per, .per = per};
    autofree uint8_t *sums = mem_calloc(s.n + 1, 1);
    const uint32_t *place = f->place_in_time;
    for (size_t i = 0; i < s.n; i++)
        for (size_t k = 0; k < per; k++)
            sums[i] += marked[*place++];
    s.sums = sums;
    double n = (double)t->n;
    return stats_effective_n_of_sums(&s) * n / (double)(s.n * per) * t->n_samples / n;
}

/* MARKED is by place. */
static struct flat_share share_of_places(const struct flat *f, const bool *marked)
{
    int64_t sum = 0;
    for (size_t i = 0; i < f->n_places; i++)
        sum += marked[i] ? f->value_of_place[i] : 0;
    struct flat_share r = {.share = f->whole > 0 ? (double)sum / (double)f->whole : 0};
    r.share = r.share > 1 ? 1 : r.share;
    r.n_effective = effective_n(f, r.share, marked);
    r.interval = stats_wilson(r.share, r.n_effective, STATS_Z95);
    return r;
}

struct flat_share flat_share_of_set(const struct flat *f, const bool *in_set, enum flat_what what)
{
    autofree bool *marked =
        f->row_of_place ? mark_places(f, in_set) : flat_mark_stacks(f, in_set, what);
    return share_of_places(f, marked);
}

struct flat_share flat_share_of_stacks(const struct flat *f, const bool *marked)
{
    return share_of_places(f, marked);
}

struct flat_share flat_share_of_row(const struct flat *f, uint32_t row, enum flat_what what)
{
    autofree bool *in_set = mem_calloc(f->rows.n + 1, sizeof *in_set);
    in_set[row] = true;
    return flat_share_of_set(f, in_set, what);
}

/* --- callers and callees --- */

/* What is known about a stack on the way from the root. */
struct place {
    uint32_t last;   /* row of its last frame; FLAT_NOBODY for the empty stack */
    uint32_t caller; /* of the outermost row of the set; FLAT_OUTSIDE until one is met */
    uint32_t callee; /* of the innermost row of the set; FLAT_NOBODY = it ran itself */
};

static struct place flat_share_step(struct place at, uint32_t row, const bool *in_set)
{
    bool was_in = at.last != FLAT_NOBODY && in_set[at.last];
    if (in_set[row]) {
        if (at.caller == FLAT_OUTSIDE)
            at.caller = at.last;
        at.callee = FLAT_NOBODY;
    } else if (was_in) {
        at.callee = row;
    }
    at.last = row;
    return at;
}

static void find_calls(const struct flat *f, const bool *in_set, struct flat_calls *c)
{
    const struct profile *p = f->profile;
    autofree struct place *at = mem_calloc(p->stacks.nodes.n, sizeof *at);
    at[0] = (struct place){FLAT_NOBODY, FLAT_OUTSIDE, FLAT_OUTSIDE};
    for (size_t i = 1; i < p->stacks.nodes.n; i++) {
        struct stack_node node = p->stacks.nodes.at[i];
        struct place here = at[node.parent.i];
        for (size_t k = 0, n = flat_count(profile_frame(p, node.frame)); k < n; k++)
            if (flat_row_of(f, node.frame, k) != FLAT_NOBODY)
                here = flat_share_step(here, flat_row_of(f, node.frame, k), in_set);
        at[i] = here;
    }
    for (size_t i = 0; i < p->stacks.nodes.n; i++) {
        c->caller_of[i] = at[i].caller;
        c->callee_of[i] = at[i].callee;
    }
}

struct flat_calls flat_calls_of_set(const struct flat *f, const bool *in_set)
{
    const struct profile *p = f->profile;
    size_t n_stacks = p->stacks.nodes.n;
    struct flat_calls c = {
        .callers = mem_calloc(f->rows.n + 1, sizeof *c.callers),
        .callees = mem_calloc(f->rows.n + 1, sizeof *c.callees),
        .caller_of = mem_calloc(n_stacks, sizeof *c.caller_of),
        .callee_of = mem_calloc(n_stacks, sizeof *c.callee_of),
    };
    find_calls(f, in_set, &c);
    for (size_t i = 0; i < n_stacks; i++) {
        uint32_t caller = c.caller_of[i], callee = c.callee_of[i];
        int64_t value = f->value_of_place[i];
        if (caller == FLAT_OUTSIDE)
            continue;
        *(caller == FLAT_NOBODY ? &c.from_nothing : &c.callers[caller]) += value;
        *(callee == FLAT_NOBODY ? &c.self : &c.callees[callee]) += value;
    }
    return c;
}

struct flat_share flat_share_of_calls(const struct flat *f, const uint32_t *of_stack, uint32_t row)
{
    size_t n = f->profile->stacks.nodes.n;
    autofree bool *marked = mem_calloc(n, sizeof *marked);
    for (size_t i = 0; i < n; i++)
        marked[i] = of_stack[i] == row;
    return flat_share_of_stacks(f, marked);
}

void flat_calls_done(struct flat_calls *c)
{
    free(c->callers);
    free(c->callees);
    free(c->caller_of);
    free(c->callee_of);
    *c = (struct flat_calls){0};
}
