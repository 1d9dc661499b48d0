#include "source/callpaths.h"
#include "source/callunits.h"

/* Of deeper stacks the innermost callers are left out. MAX_PATHS: to a function, of small flows. */
enum { DEPTH_MAX = 2000, MAX_PATHS = 48 };

#define NO_FLOW UINT32_MAX

/* What flows into a unit by one path. */
struct flow {
    struct stack_id callers;
    uint32_t unit;
    uint32_t entry; /* the function through which, CALLUNITS_NONE = each by itself */
    uint32_t depth; /* of callers, at most */
    uint32_t costs; /* in paths.costs, a row of n_events */
    uint32_t age;
    uint32_t next; /* in paths.small: of the same unit */
    double share;  /* see share_of() */
};

struct paths {
    struct callgraph *g;
    struct profile *p;
    struct callpaths_opts opts;
    struct callunits units;
    uint32_t *cell_frame, *arc_frame; /* struct frame_id of each */
    int64_t *left;                    /* n_events a unit: what has not been dealt out */
    bool *is_odd;                     /* of each unit: its sums do not fit 64 bits */
    double *whole;                    /* of each event */
    struct stack_id *callers;         /* of each function, while its unit is looked at */
    uint32_t *seen, round;            /* of each function: in which round it was met */
    VEC(uint32_t) queue;
    VEC(struct flow) flows; /* a heap, largest share first */
    VEC(struct flow) small; /* those that are left when the steps are used up, lists by unit */
    uint32_t *small_of;     /* first of each unit; NULL until then */
    VEC(int64_t) costs;
    VEC(uint32_t) free_costs; /* rows to be used again */
    uint32_t age;
    size_t steps;
    bool cut;
};

/* --- frames --- */

/* Callgrind calls a function without a name by its address, "0x0000000000109060". */
static bool is_address(struct text name, uint64_t *ret_pc)
{
    return text_starts(name, "0x") && text_u64((struct text){name.at + 2, name.n - 2}, 16, ret_pc);
}

/* "walk'2" is walk() called by itself: callgrind counts the first call apart. */
static struct str_id shown_name(struct profile *p, struct str_id id)
{
    struct text name = profile_str(p, id);
    size_t n = name.n;
    while (n && name.at[n - 1] >= '0' && name.at[n - 1] <= '9')
        n--;
    if (n == name.n || n < 2 || name.at[n - 1] != '\'')
        return id;
    return profile_add_str(p, (struct text){name.at, n - 1});
}

static uint32_t callpaths_frame_of(struct paths *s, const struct callgraph_place *at)
{
    const struct callgraph_function *f = &s->g->functions.at[at->function];
    struct function function = {.name = shown_name(s->p, f->name), .file = at->file};
    struct mapping mapping = {.path = f->module};
    struct frame_key key = {.mapping = profile_add_mapping(s->p, &mapping)};
    uint64_t pc;
    if (is_address(profile_str(s->p, f->name), &pc)) {
        key.pc = s->opts.addresses ? pc : 0;
        return profile_add_frame(s->p, &key).i;
    }
    struct line line = {.function = profile_add_function(s->p, &function), .line = at->line};
    key.lines = &line;
    key.n_lines = 1;
    return profile_add_frame(s->p, &key).i;
}

static struct stack_id push(struct paths *s, struct stack_id callers, uint32_t frame)
{
    return stacks_push(&s->p->stacks, callers, (struct frame_id){frame});
}

/* The callers of what FRAME calls, itself at a depth of DEPTH. */
static struct stack_id push_caller(struct paths *s, struct stack_id callers, uint32_t frame,
                                   uint32_t depth)
{
    return depth < DEPTH_MAX ? push(s, callers, frame) : callers;
}

static int callpaths_add_row(struct paths *s, struct stack_id callers, uint32_t cell,
                             const int64_t *values, struct err *err)
{
    bool any = false;
    for (size_t e = 0; e < s->g->n_events; e++)
        any |= values[e] > 0;
    if (!any)
        return 0;
    struct row row = {
        .stack = push(s, callers, s->cell_frame[cell]), .thread = s->opts.thread, .values = values};
    return profile_add_row(s->p, s->opts.stream, &row, err);
}

/* --- the heap of flows --- */

static void swap_flows(struct flow *a, struct flow *b)
{
    struct flow c = *a;
    *a = *b;
    *b = c;
}

/* Ties by age, so that the same input gives the same bytes. */
static bool goes_first(const struct flow *a, const struct flow *b)
{
    return a->share != b->share ? a->share > b->share : a->age < b->age;
}

static void heap_push(struct paths *s, const struct flow *f)
{
    *vec_push(&s->flows) = *f;
    struct flow *at = s->flows.at;
    for (size_t i = s->flows.n - 1; i && goes_first(&at[i], &at[(i - 1) / 2]); i = (i - 1) / 2)
        swap_flows(&at[i], &at[(i - 1) / 2]);
}

static struct flow heap_pop(struct paths *s)
{
    struct flow *at = s->flows.at, first = at[0];
    size_t n = --s->flows.n;
    at[0] = at[n];
    for (size_t i = 0, child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && goes_first(&at[child + 1], &at[child]))
            child++;
        if (!goes_first(&at[child], &at[i]))
            break;
        swap_flows(&at[i], &at[child]);
    }
    return first;
}

/* Of the event of which it is the largest; 0 = nothing flows. */
static double share_of(const struct paths *s, const int64_t *costs)
{
    double largest = 0;
    for (size_t e = 0; e < s->g->n_events; e++) {
        double share = s->whole[e] > 0 ? (double)costs[e] / s->whole[e] : 0;
        largest = share > largest ? share : largest;
    }
    return largest;
}

static int64_t *costs_of(const struct paths *s, const struct flow *f)
{
    return s->costs.at + f->costs * s->g->n_events;
}

static uint32_t new_costs(struct paths *s)
{
    size_t n = s->g->n_events;
    if (s->free_costs.n)
        return s->free_costs.at[--s->free_costs.n];
    uint32_t number = (uint32_t)(s->costs.n / (n ? n : 1));
    vec_reserve(&s->costs, n);
    s->costs.n += n;
    return number;
}

static void free_costs(struct paths *s, const struct flow *f)
{
    *vec_push(&s->free_costs) = f->costs;
}

static void add_small(struct paths *s, struct flow f)
{
    f.next = s->small_of[f.unit];
    s->small_of[f.unit] = (uint32_t)s->small.n;
    *vec_push(&s->small) = f;
}

static void add_flow(struct paths *s, struct flow f, const int64_t *costs)
{
    f.costs = new_costs(s);
    f.age = s->age++;
    memcpy(costs_of(s, &f), costs, s->g->n_events * sizeof *costs);
    if (s->small_of)
        add_small(s, f);
    else
        heap_push(s, &f);
}

/* --- dealing a flow out --- */

/*
 * In every event FLOW is dealt to columns in proportion to what each has left: the first k of them
 * get flow * (their sum) / (sum of all), rounded. So nobody gets more than there is left, and all
 * together get all of the flow.
 */
struct deal {
    int64_t flow[STREAM_MAX_TYPES], all[STREAM_MAX_TYPES];
    int64_t seen[STREAM_MAX_TYPES], given[STREAM_MAX_TYPES];
};

static int64_t part(int64_t flow, int64_t sum, int64_t all)
{
    unsigned __int128 n = (unsigned __int128)(uint64_t)flow * (uint64_t)sum + (uint64_t)all / 2;
    if (!(uint64_t)(n >> 64))
        return (int64_t)((uint64_t)n / (uint64_t)all);
    return (int64_t)(n / (uint64_t)all);
}

/* Take one column's part from LEFT. */
static void deal_column(struct deal *d, size_t n_events, int64_t *left, int64_t *ret)
{
    for (size_t e = 0; e < n_events; e++) {
        d->seen[e] += left[e];
        if (!d->flow[e] || !left[e]) {
            ret[e] = 0;
            continue;
        }
        int64_t given =
            d->flow[e] == d->all[e] ? d->seen[e] : part(d->flow[e], d->seen[e], d->all[e]);
        ret[e] = given - d->given[e];
        d->given[e] = given;
        left[e] -= ret[e];
    }
}

static void start_deal(struct paths *s, struct deal *d, const struct flow *f)
{
    size_t n = s->g->n_events;
    int64_t *left = s->left + f->unit * n;
    *d = (struct deal){0};
    for (size_t e = 0; e < n; e++) {
        int64_t want = costs_of(s, f)[e];
        d->all[e] = left[e];
        d->flow[e] = want < left[e] ? want : left[e];
        left[e] -= d->flow[e];
    }
}

/* --- the stacks within a unit --- */

/* In a circle: from the function through which it was entered, by the fewest calls. */
static uint32_t find_ways(struct paths *s, const struct flow *f)
{
    const struct callunits *u = &s->units;
    uint32_t depth = f->depth, end_of_level = 1;
    s->queue.n = 0;
    *vec_push(&s->queue) = f->entry;
    s->seen[f->entry] = ++s->round;
    s->callers[f->entry] = f->callers;
    for (uint32_t i = 0; i < s->queue.n; i++) {
        if (i == end_of_level) {
            depth++;
            end_of_level = (uint32_t)s->queue.n;
        }
        uint32_t from = s->queue.at[i];
        for (uint32_t k = u->inner_at[from]; k < u->inner_at[from + 1]; k++) {
            uint32_t arc = u->inner[k], to = s->g->arcs.at[arc].callee;
            s->steps++;
            if (s->seen[to] == s->round)
                continue;
            s->seen[to] = s->round;
            s->callers[to] = push_caller(s, s->callers[from], s->arc_frame[arc], depth);
            *vec_push(&s->queue) = to;
        }
    }
    return depth;
}

/* Who called each function of the unit; returns how many frames that is at most. */
static uint32_t set_callers(struct paths *s, const struct flow *f)
{
    const struct callunits *u = &s->units;
    uint32_t first = u->member_at[f->unit], end = u->member_at[f->unit + 1];
    if (f->entry != CALLUNITS_NONE && end - first > 1)
        return find_ways(s, f);
    for (uint32_t k = first; k < end; k++)
        s->callers[u->members[k]] = f->callers;
    return f->depth;
}

static int callpaths_follow(struct paths *s, const struct flow *f, struct err *err)
{
    const struct callunits *u = &s->units;
    size_t n = s->g->n_events;
    int64_t got[STREAM_MAX_TYPES];
    struct deal deal;
    start_deal(s, &deal, f);
    uint32_t depth = set_callers(s, f);
    for (uint32_t k = u->cell_at[f->unit]; k < u->cell_at[f->unit + 1]; k++) {
        uint32_t cell = u->cells[k];
        deal_column(&deal, n, callgraph_cell_costs(s->g, cell), got);
        if (callpaths_add_row(s, s->callers[s->g->cells.at[cell].function], cell, got, err) != 0)
            return -1;
    }
    for (uint32_t k = u->arc_at[f->unit]; k < u->arc_at[f->unit + 1]; k++) {
        const struct callgraph_arc *arc = &s->g->arcs.at[u->arcs[k]];
        deal_column(&deal, n, callgraph_arc_costs(s->g, u->arcs[k]), got);
        struct flow next = {
            .unit = u->of_function[arc->callee],
            .entry = arc->callee,
            .depth = depth + 1,
            .share = share_of(s, got),
        };
        if (!(next.share > 0))
            continue;
        next.callers =
            push_caller(s, s->callers[arc->at.function], s->arc_frame[u->arcs[k]], depth);
        add_flow(s, next, got);
    }
    return 0;
}

static size_t steps_of(const struct paths *s, uint32_t unit)
{
    const struct callunits *u = &s->units;
    return 1 + u->cell_at[unit + 1] - u->cell_at[unit] + u->arc_at[unit + 1] - u->arc_at[unit];
}

static int follow_large(struct paths *s, struct err *err)
{
    while (s->flows.n && s->steps < CALLPATHS_STEPS) {
        struct flow f = heap_pop(s);
        s->steps += steps_of(s, f.unit);
        if (!s->is_odd[f.unit] && callpaths_follow(s, &f, err) != 0)
            return -1;
        free_costs(s, &f);
    }
    return 0;
}

/* --- flows that are too many --- */

static int by_path(const void *a, const void *b)
{
    const struct flow *x = a, *y = b;
    if (x->callers.i != y->callers.i)
        return x->callers.i < y->callers.i ? -1 : 1;
    if (x->entry != y->entry)
        return x->entry < y->entry ? -1 : 1;
    return (x->age > y->age) - (x->age < y->age);
}

static int by_share(const void *a, const void *b)
{
    return goes_first(a, b) ? -1 : goes_first(b, a);
}

/* Flows of the same path become one. Returns how many there are then. */
static size_t join_flows(struct paths *s, struct flow *at, size_t n)
{
    size_t out = 0;
    qsort(at, n, sizeof *at, by_path);
    for (size_t i = 0; i < n; i++) {
        struct flow *last = out ? &at[out - 1] : NULL;
        if (!last || last->callers.i != at[i].callers.i || last->entry != at[i].entry) {
            at[out++] = at[i];
            continue;
        }
        int64_t *sum = costs_of(s, last), *more = costs_of(s, &at[i]);
        for (size_t e = 0; e < s->g->n_events; e++)
            if (__builtin_add_overflow(sum[e], more[e], &sum[e]))
                sum[e] = INT64_MAX;
        last->share = share_of(s, sum);
        free_costs(s, &at[i]);
    }
    return out;
}

/* Forget some of the innermost callers; at last by which function the unit was entered.
 */
static void shorten(struct paths *s, struct flow *f)
{
    uint32_t n = f->depth / 32 + 1;
    if (!f->callers.i && s->units.member_at[f->unit + 1] - s->units.member_at[f->unit] > 1)
        f->entry = CALLUNITS_NONE;
    f->depth -= n < f->depth ? n : f->depth;
    while (n-- > 0 && f->callers.i)
        f->callers = s->p->stacks.nodes.at[f->callers.i].parent;
}

static size_t thin_out(struct paths *s, struct flow *at, size_t n, size_t most)
{
    n = join_flows(s, at, n);
    while (n > most) {
        qsort(at, n, sizeof *at, by_share);
        for (size_t k = most - 1; k < n; k++)
            shorten(s, &at[k]);
        s->cut = true;
        n = join_flows(s, at, n);
    }
    return n;
}

/* What flows into a unit, when all that its callers send is there. */
static int follow_unit(struct paths *s, uint32_t unit, size_t most, struct err *err)
{
    VEC(struct flow) flows = {0};
    for (uint32_t i = s->small_of[unit]; i != NO_FLOW; i = s->small.at[i].next)
        *vec_push(&flows) = s->small.at[i];
    flows.n = flows.n ? thin_out(s, flows.at, flows.n, most) : 0;
    int rc = 0;
    for (size_t i = 0; i < flows.n && rc == 0; i++) {
        rc = s->is_odd[unit] ? 0 : callpaths_follow(s, &flows.at[i], err);
        free_costs(s, &flows.at[i]);
    }
    vec_done(&flows);
    return rc;
}

/* A caller's number is larger than its callees': each unit is looked at once. */
static int follow_small(struct paths *s, struct err *err)
{
    size_t most = (CALLPATHS_STEPS << 4) / (s->g->cells.n + s->g->arcs.n + 1) + 1;
    if (!s->flows.n)
        return 0;
    s->small_of = mem_calloc(s->units.n + 1, sizeof *s->small_of);
    for (size_t i = 0; i < s->units.n; i++)
        s->small_of[i] = NO_FLOW;
    for (size_t i = 0; i < s->flows.n; i++)
        add_small(s, s->flows.at[i]);
    for (uint32_t unit = (uint32_t)s->units.n; unit-- > 0;)
        if (follow_unit(s, unit, most < MAX_PATHS ? most : MAX_PATHS, err) != 0)
            return -1;
    return 0;
}

/* --- where flows start --- */

static void add_to(struct paths *s, int64_t *sums, uint32_t unit, const int64_t *costs)
{
    size_t n = s->g->n_events;
    for (size_t e = 0; e < n; e++)
        if (__builtin_add_overflow(sums[unit * n + e], costs[e], &sums[unit * n + e])) {
            sums[unit * n + e] = INT64_MAX;
            s->is_odd[unit] = true;
        }
}

static void start_flow(struct paths *s, uint32_t unit, const int64_t *called)
{
    const struct callunits *u = &s->units;
    size_t n = s->g->n_events;
    uint32_t first = u->member_at[unit];
    int64_t costs[STREAM_MAX_TYPES] = {0};
    for (size_t e = 0; e < n; e++) {
        int64_t all = s->left[unit * n + e], in = called[unit * n + e];
        costs[e] = all > in ? all - in : 0;
    }
    struct flow f = {.unit = unit, .entry = CALLUNITS_NONE, .share = share_of(s, costs)};
    if (u->member_at[unit + 1] - first == 1)
        f.entry = u->members[first];
    if (f.share > 0)
        add_flow(s, f, costs);
}

/* What a unit cost beyond what its callers account for started there. */
static void start_flows(struct paths *s)
{
    const struct callgraph *g = s->g;
    const struct callunits *u = &s->units;
    size_t n = g->n_events;
    autofree int64_t *called = mem_calloc(u->n * n + 1, sizeof *called);
    for (size_t i = 0; i < g->cells.n; i++) {
        const int64_t *costs = callgraph_cell_costs(g, i);
        add_to(s, s->left, u->of_function[g->cells.at[i].function], costs);
        for (size_t e = 0; e < n; e++)
            s->whole[e] += (double)costs[e];
    }
    for (size_t i = 0; i < g->arcs.n; i++) {
        uint32_t from = u->of_function[g->arcs.at[i].at.function];
        uint32_t to = u->of_function[g->arcs.at[i].callee];
        if (from == to)
            continue;
        add_to(s, s->left, from, callgraph_arc_costs(g, i));
        add_to(s, called, to, callgraph_arc_costs(g, i));
    }
    for (uint32_t unit = 0; unit < u->n; unit++)
        start_flow(s, unit, called);
}

/* --- what no flow reached --- */

/* Nothing, but in graphs whose sums make no sense. */
static int add_rest(struct paths *s, struct err *err)
{
    for (uint32_t i = 0; i < s->g->cells.n; i++)
        if (callpaths_add_row(s, (struct stack_id){0}, i, callgraph_cell_costs(s->g, i), err) != 0)
            return -1;
    return 0;
}

/* --- all of it --- */

static void paths_init(struct paths *s)
{
    struct callgraph *g = s->g;
    callunits_build(&s->units, g);
    s->cell_frame = mem_calloc(g->cells.n + 1, sizeof *s->cell_frame);
    s->arc_frame = mem_calloc(g->arcs.n + 1, sizeof *s->arc_frame);
    for (size_t i = 0; i < g->cells.n; i++)
        s->cell_frame[i] = callpaths_frame_of(s, &g->cells.at[i]);
    for (size_t i = 0; i < g->arcs.n; i++)
        s->arc_frame[i] = callpaths_frame_of(s, &g->arcs.at[i].at);
    s->left = mem_calloc(s->units.n * g->n_events + 1, sizeof *s->left);
    s->is_odd = mem_calloc(s->units.n + 1, sizeof *s->is_odd);
    s->whole = mem_calloc(g->n_events + 1, sizeof *s->whole);
    s->callers = mem_calloc(g->functions.n + 1, sizeof *s->callers);
    s->seen = mem_calloc(g->functions.n + 1, sizeof *s->seen);
}

static void paths_done(struct paths *s)
{
    callunits_done(&s->units);
    free(s->cell_frame);
    free(s->arc_frame);
    free(s->left);
    free(s->small_of);
    free(s->is_odd);
    free(s->whole);
    free(s->callers);
    free(s->seen);
    vec_done(&s->queue);
    vec_done(&s->flows);
    vec_done(&s->small);
    vec_done(&s->costs);
    vec_done(&s->free_costs);
}

int callpaths_emit(struct callgraph *g, struct profile *p, const struct callpaths_opts *opts,
                   bool *ret_cut, struct err *err)
{
    struct paths s = {.g = g, .p = p, .opts = *opts};
    paths_init(&s);
    start_flows(&s);
    int rc = follow_large(&s, err);
    if (rc == 0)
        rc = follow_small(&s, err);
    if (rc == 0)
        rc = add_rest(&s, err);
    *ret_cut = s.cut;
    paths_done(&s);
    return rc;
}
