/*
 * waitsum_places.c - where threads wait and who ended it: tables with a row for each place.
 *
 * The sums have a row for each path from the thread's start. What is shown of it may be the same
 * for many, by other callers further out: nobody could tell these rows apart, so they are added up.
 */
#include "base/buf.h"
#include "base/intern.h"
#include "base/units.h"
#include "model/meta.h"
#include "view/waitpath.h"
#include "view/waitsum_inner.h"

struct place {
    const struct waitsum_stack *like; /* the longest of its rows */
    struct wait_sum sum;
    struct text cell[2]; /* what is shown */
};

struct places {
    VEC(struct place) rows;
    struct intern texts;
    struct idmap map;
};

static void places_init(struct places *t)
{
    *t = (struct places){0};
    intern_init(&t->texts);
}

static void places_done(struct places *t)
{
    vec_done(&t->rows);
    intern_done(&t->texts);
    idmap_done(&t->map);
}

static bool place_is(const struct place *p, const struct place *q, const struct profile *profile)
{
    struct stack_id waiter;
    struct text a = waitstream_waker_of(profile, p->like->stack, &waiter);
    struct text b = waitstream_waker_of(profile, q->like->stack, &waiter);
    return p->cell[0].at == q->cell[0].at && p->cell[1].at == q->cell[1].at &&
           p->like->runnable == q->like->runnable && p->like->reason == q->like->reason &&
           a.n == b.n && (!a.n || memcmp(a.at, b.at, a.n) == 0);
}

/* Adds a row of the sums to those that look like it. */
static void places_add(struct places *t, const struct profile *p, const struct waitsum_stack *s,
                       const struct buf cell[2])
{
    uint32_t id[2] = {intern_add(&t->texts, buf_text(&cell[0])),
                      intern_add(&t->texts, buf_text(&cell[1]))};
    struct place new = {s, s->sum, {intern_get(&t->texts, id[0]), intern_get(&t->texts, id[1])}};
    uint32_t hash = hash_pair(id[0], id[1]);
    for_each_match (&t->map, hash, i) {
        struct place *old = &t->rows.at[i];
        if (!place_is(old, &new, p))
            continue;
        old->sum.n += s->sum.n;
        old->sum.ns = waitsum_add_ns(old->sum.ns, s->sum.ns);
        old->sum.max_ns = s->sum.max_ns > old->sum.max_ns ? s->sum.max_ns : old->sum.max_ns;
        return;
    }
    idmap_add(&t->map, hash, (uint32_t)t->rows.n);
    *vec_push(&t->rows) = new;
}

static int places_by_time(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->sum.ns != y->sum.ns)
        return x->sum.ns < y->sum.ns ? 1 : -1;
    return (x->like > y->like) - (x->like < y->like); /* rows of one list, in its order */
}

static void places_sort(struct places *t)
{
    if (t->rows.n)
        qsort(t->rows.at, t->rows.n, sizeof *t->rows.at, places_by_time);
}

static void add_places_left(struct document *d, const struct places *t, size_t top)
{
    if (t->rows.n > top)
        document_text(d, "%zu more not shown.", t->rows.n - top);
}

/* --- where threads wait --- */

/* What the other columns leave to the stack, where all of them are shown. */
enum { STACK_LEAST = 46, BESIDE_STACK = 64, BESIDE_STACK_LEAST = 24 };

static size_t room_of_stack(int width)
{
    int room = width - BESIDE_STACK > STACK_LEAST ? width - BESIDE_STACK : STACK_LEAST;
    return (size_t)(room < width - BESIDE_STACK_LEAST ? room
                    : width > BESIDE_STACK_LEAST      ? width - BESIDE_STACK_LEAST
                                                      : 1);
}

void waitsum_add_stacks(struct document *d, const struct waitsum_view *v, int width)
{
    static const struct document_column columns[] = {
        {"time", .right = true},
        {"of off-CPU", .right = true, .spare = 1},
        {"waits", .right = true, .spare = 2},
        {"mean", .right = true, .spare = 4},
        {"max", .right = true, .spare = 3},
        {"reason"},
        {"stack", .wide = true, .tail = true, .least = STACK_LEAST}};
    const struct waitsum *w = v->sum;
    struct waitpaths paths = {.sum = w, .room = width ? room_of_stack(width) : 0, .near = v->top};
    struct places places;
    places_init(&places);
    for (size_t i = 0; i < w->stacks.n; i++)
        waitpaths_add(&paths, w->stacks.at[i].stack, (struct stack_id){0});
    for (size_t i = 0; i < w->stacks.n; i++) {
        struct buf cell[2] = {{0}, {0}};
        waitpaths_inward(&paths, i, &cell[0]);
        places_add(&places, w->selection->profile, &w->stacks.at[i], cell);
        buf_done(&cell[0]);
    }
    places_sort(&places);
    document_heading(d, "Where threads wait");
    document_table(d, columns, 7);
    for (size_t i = 0; i < places.rows.n && i < v->top; i++) {
        const struct place *at = &places.rows.at[i];
        waitsum_cells_of_sum(d, &at->sum, waitsum_off_cpu_of_all(w));
        document_cell(d,
                      text_of(at->like->runnable ? thread_state_name(THREAD_RUNNABLE)
                                                 : waitreason_name(at->like->reason)),
                      0);
        document_cell(d, at->cell[0], 0);
    }
    add_places_left(d, &places, v->top);
    waitpaths_done(&paths);
    places_done(&places);
}

/* --- who ended the waits --- */

/* The waits that somebody ended; who is preempted waits for no one. */
static uint64_t waitsum_count_blocked(const struct waitsum *w)
{
    uint64_t n = 0;
    for (int i = 0; i < WAIT_REASONS; i++)
        n += w->by_reason[i].n;
    return n;
}

/* Of a stack of wakeups: the frame with the waker's name, behind the waiter's stack. */
static struct stack_id name_of_waker(const struct profile *p, struct stack_id stack,
                                     struct stack_id waiter)
{
    while (stack.i && p->stacks.nodes.at[stack.i].parent.i != waiter.i)
        stack = p->stacks.nodes.at[stack.i].parent;
    return stack;
}

enum { FROM_LEAST = 26, WAITED_LEAST = 32, BESIDE_BOTH = 70 };

static size_t room_of_names(int width, int least)
{
    int room = (width - BESIDE_BOTH) / 2;
    return !width ? 0 : room > least ? (size_t)room : (size_t)least;
}

static void add_cell_from(const struct waitsum *w, struct stack_id stack, int width,
                          struct buf *ret)
{
    enum { NAMES_OF_WAKER = 2 };
    struct stack_id waiter;
    waitstream_waker_of(w->selection->profile, stack, &waiter);
    struct stack_id named = name_of_waker(w->selection->profile, stack, waiter);
    if (named.i == stack.i)
        return;
    struct waitpaths own = {.sum = w, .room = room_of_names(width, FROM_LEAST)};
    waitpaths_add(&own, stack, named);
    waitpaths_outward(&own, 0, NAMES_OF_WAKER, ret);
    waitpaths_done(&own);
}

/* A row for each pair of who waited where and who ended it from where. */
static void find_wakers(struct places *places, const struct waitsum_view *v, int width)
{
    const struct waitsum *w = v->sum;
    enum { NAMES_OF_WAITER = 6 };
    const struct profile *p = w->selection->profile;
    struct waitpaths paths = {.sum = w, .room = room_of_names(width, WAITED_LEAST), .near = v->top};
    for (size_t i = 0; i < w->wakers.n; i++) {
        struct stack_id waiter;
        waitstream_waker_of(p, w->wakers.at[i].stack, &waiter);
        waitpaths_add(&paths, waiter, (struct stack_id){0});
    }
    for (size_t i = 0; i < w->wakers.n; i++) {
        struct buf cell[2] = {{0}, {0}};
        add_cell_from(w, w->wakers.at[i].stack, width, &cell[0]);
        waitpaths_outward(&paths, i, NAMES_OF_WAITER, &cell[1]);
        places_add(places, p, &w->wakers.at[i], cell);
        buf_done(&cell[0]);
        buf_done(&cell[1]);
    }
    waitpaths_done(&paths);
    places_sort(places);
}

static void add_waker_row(struct document *d, const struct waitsum *w, const struct place *at)
{
    char n[UNITS_MAX];
    struct stack_id waiter;
    waitsum_cell_ns(d, at->sum.ns);
    waitsum_cell_share(d, at->sum.ns, w->woken.ns);
    document_cell(d, text_of(units_count(n, at->sum.n)), 0);
    document_cell(d, text_of(waitreason_name(at->like->reason)), 0);
    document_cell(d, waitstream_waker_of(w->selection->profile, at->like->stack, &waiter), 0);
    document_cell(d, at->cell[0], 0);
    document_cell(d, at->cell[1], 0);
}

static void add_waker_notes(struct document *d, const struct waitsum *w)
{
    char n[2][UNITS_MAX];
    uint64_t blocked = waitsum_count_blocked(w);
    if (w->selection->moments.from_ns || w->selection->moments.to_ns != UINT64_MAX)
        document_text(d, "A wakeup counts with the whole wait that it ended, where that began "
                         "before the selected time too.");
    if (w->n_summed && w->woken.n < blocked)
        document_text(
            d,
            "Wakers are known for %s of the %s waits in which a thread was blocked: those "
            "with a stack of their own. Nobody ends a wait for a CPU.",
            units_count(n[0], w->woken.n), units_count(n[1], blocked));
}

void waitsum_add_wakers(struct document *d, const struct waitsum_view *v, int width)
{
    static const struct document_column columns[] = {
        {"blocked", .right = true, .spare = 1},
        {"of all woken", .right = true, .spare = 5},
        {"wakeups", .right = true, .spare = 4},
        {"reason", .spare = 3},
        {"woken by"},
        {"from", .wide = true, .least = FROM_LEAST},
        {"where it waited", .wide = true, .least = WAITED_LEAST}};
    const struct waitsum *w = v->sum;
    const char *seen = meta_find(&w->selection->profile->meta, META_WAITS_WAKERS);
    if (seen && strcmp(seen, "yes") != 0 && w->has_states)
        document_text(d, "Wakers are not known: %s.", seen);
    if (!w->wakers.n)
        return;
    struct places places;
    places_init(&places);
    find_wakers(&places, v, width);
    document_heading(d, "Who ended the waits");
    document_table(d, columns, 7);
    for (size_t i = 0; i < places.rows.n && i < v->top; i++)
        add_waker_row(d, w, &places.rows.at[i]);
    add_places_left(d, &places, v->top);
    places_done(&places);
    add_waker_notes(d, w);
}
