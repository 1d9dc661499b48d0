#include "analysis/lockstory.h"

#include "analysis/waitreason.h"
#include "model/waitstream.h"

#include "base/buf.h"
#include "base/idmap.h"
#include "model/standin.h"
#include "model/streamkind.h"

#include <stdlib.h>

/* --- names --- */

/* Functions that lock for their callers. */
static bool is_wrapper(struct text name)
{
    static const char *const starts[] = {"std::", "pthread_", "__gthread", "boost::", "absl::"};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (text_starts(name, starts[i]))
            return true;
    return false;
}

static void lockstory_add_function(struct buf *b, struct text name, size_t *n)
{
    buf_printf(b, "%s%.*s", (*n)++ ? " < " : "", TEXT_ARG(name));
}

char *lockstory_path(struct lockstory *s, struct stack_id stack, size_t max)
{
    const struct profile *p = s->profile;
    autobuf struct buf b = {0};
    struct text innermost = {0};
    size_t n = 0;
    for (; stack.i && n < max; stack = p->stacks.nodes.at[stack.i].parent) {
        struct frame_id frame = p->stacks.nodes.at[stack.i].frame;
        for (size_t i = labels_count(profile_frame(p, frame)); i-- > 0 && n < max;) {
            struct text name = labels_text(&s->labels, labels_of_frame(&s->labels, p, frame, i));
            innermost = innermost.n ? innermost : name;
            if (n || !is_wrapper(name))
                lockstory_add_function(&b, name, &n);
        }
    }
    if (!n)
        lockstory_add_function(&b, innermost.n ? innermost : text_of("[unknown]"), &n);
    return mem_strdup(buf_cstr(&b));
}

bool lockstory_is_address(struct text name)
{
    return text_starts(name, "0x") || text_is(name, "[more locks]");
}

/* --- sums --- */

struct lockstory_sums {
    struct lockstory *story;
    struct str_id lock_key, kind_key, held_key, ended_key, holder_key;
    struct idmap locks, waiters, holders; /* places by lock and stack */
};

static struct str_id attr_text(const struct profile *p, const struct rows *rows, size_t i,
                               struct str_id key)
{
    const struct attr *a = rows->attrs && key.i ? attrs_find(&p->attrs, rows->attrs[i], key) : NULL;
    return a && !a->is_number ? a->text : (struct str_id){0};
}

static uint32_t story_lock(struct lockstory_sums *m, struct str_id name, struct str_id kind)
{
    struct lockstory *s = m->story;
    struct text is = profile_str(s->profile, kind);
    uint32_t hash = hash_pair(name.i, kind.i);
    for_each_match (&m->locks, hash, i)
        if (s->locks.at[i].name.i == name.i && s->locks.at[i].kind.i == kind.i)
            return i;
    *vec_push(&s->locks) = (struct lockstory_lock){
        .name = name, .kind = kind, .excludes = text_is(is, "mutex") || text_starts(is, "rwlock")};
    idmap_add(&m->locks, hash, (uint32_t)s->locks.n - 1);
    return (uint32_t)s->locks.n - 1;
}

static void lockstory_add_thread(lockstory_threads *list, struct thread_id id)
{
    for (size_t i = list->n; i-- > 0;)
        if (list->at[i].i == id.i)
            return;
    if (list->n < LOCKSTORY_THREADS_MAX)
        *vec_push(list) = id;
}

static void add_to_place(lockstory_places *places, struct idmap *map, uint32_t lock,
                         const struct lockstory_place *one, struct thread_id thread)
{
    uint32_t hash = hash_pair(lock, one->stack.i), at = UINT32_MAX;
    for_each_match (map, hash, i)
        if (i < places->n && places->at[i].stack.i == one->stack.i)
            at = i;
    if (at == UINT32_MAX) {
        at = (uint32_t)places->n;
        *vec_push(places) = (struct lockstory_place){.stack = one->stack};
        idmap_add(map, hash, at);
    }
    struct lockstory_place *to = &places->at[at];
    to->waits += one->waits;
    to->wait_ns += one->wait_ns;
    to->longest_ns = one->longest_ns > to->longest_ns ? one->longest_ns : to->longest_ns;
    lockstory_add_thread(&to->threads, thread);
}

static void add_wait(struct lockstory_sums *m, const struct rows *rows, size_t i, bool is_holder)
{
    struct lockstory *s = m->story;
    uint32_t lock = story_lock(m, attr_text(s->profile, rows, i, m->lock_key),
                               attr_text(s->profile, rows, i, m->kind_key));
    struct lockstory_lock *l = &s->locks.at[lock];
    uint64_t ns = rows->duration_ns ? rows->duration_ns[i] : 0, at_ns = rows->time_ns[i];
    struct lockstory_place one = {
        .stack = rows->stack[i], .waits = 1, .wait_ns = ns, .longest_ns = ns};
    add_to_place(is_holder ? &l->holders : &l->waiters, is_holder ? &m->holders : &m->waiters, lock,
                 &one, rows->thread[i]);
    if (is_holder) {
        l->held_known++;
        return;
    }
    if (!l->waits || at_ns < l->first_ns) {
        l->first_ns = at_ns;
        l->first = rows->stack[i];
    }
    l->waits++;
    bool open = attr_text(s->profile, rows, i, m->ended_key).i != 0;
    l->open += open;
    s->open += open;
    if (open)
        l->keeper = attr_text(s->profile, rows, i, m->holder_key);
    l->wait_ns += ns;
    l->longest_ns = ns > l->longest_ns ? ns : l->longest_ns;
    lockstory_add_thread(&l->threads, rows->thread[i]);
    s->waits++;
    s->wait_ns += ns;
}

static void add_hold(struct lockstory_sums *m, const struct rows *rows, size_t i)
{
    struct lockstory *s = m->story;
    uint32_t lock = story_lock(m, attr_text(s->profile, rows, i, m->lock_key),
                               attr_text(s->profile, rows, i, m->kind_key));
    struct lockstory_lock *l = &s->locks.at[lock];
    uint64_t ns = rows->duration_ns ? rows->duration_ns[i] : 0;
    l->holds++;
    l->held_ns += ns;
    if (ns < l->longest_held_ns)
        return;
    l->longest_held_ns = ns;
    l->longest_held = rows->stack[i];
    l->longest_holder = rows->thread[i];
}

static void add_created(struct lockstory_sums *m, const struct rows *rows, size_t i)
{
    struct lockstory *s = m->story;
    uint32_t lock = story_lock(m, attr_text(s->profile, rows, i, m->lock_key),
                               attr_text(s->profile, rows, i, m->kind_key));
    s->locks.at[lock].created = rows->stack[i];
}

static void add_order(struct lockstory_sums *m, const struct rows *rows, size_t i)
{
    struct lockstory *s = m->story;
    const struct profile *p = s->profile;
    struct lockstory_order o = {.held = attr_text(p, rows, i, m->held_key),
                                .lock = attr_text(p, rows, i, m->lock_key),
                                .process = p->threads.at[rows->thread[i].i].process,
                                .stack = rows->stack[i],
                                .thread = rows->thread[i]};
    if (o.held.i && o.lock.i && o.held.i != o.lock.i)
        *vec_push(&s->orders) = o;
}

/* --- how long at least one waited --- */

struct lockstory_span {
    uint64_t start_ns, end_ns;
    uint32_t lock;
};

static int by_lock_and_start(const void *a, const void *b)
{
    const struct lockstory_span *x = a, *y = b;
    if (x->lock != y->lock)
        return x->lock < y->lock ? -1 : 1;
    return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

static void find_waited(struct lockstory_sums *m, const struct rows *rows)
{
    struct lockstory *s = m->story;
    VEC(struct lockstory_span) spans = {0};
    for (size_t i = 0; i < rows->n; i++) {
        uint32_t lock = story_lock(m, attr_text(s->profile, rows, i, m->lock_key),
                                   attr_text(s->profile, rows, i, m->kind_key));
        uint64_t start = rows->time_ns[i], ns = rows->duration_ns ? rows->duration_ns[i] : 0;
        *vec_push(&spans) =
            (struct lockstory_span){start, start + ns < start ? UINT64_MAX : start + ns, lock};
    }
    if (spans.n)
        qsort(spans.at, spans.n, sizeof *spans.at, by_lock_and_start);
    uint64_t until = 0;
    for (size_t i = 0; i < spans.n; i++) {
        const struct lockstory_span *w = &spans.at[i];
        if (i == 0 || spans.at[i - 1].lock != w->lock)
            until = 0;
        uint64_t from = w->start_ns > until ? w->start_ns : until;
        if (w->end_ns > from)
            s->locks.at[w->lock].waited_ns += w->end_ns - from;
        until = w->end_ns > until ? w->end_ns : until;
    }
    vec_done(&spans);
}

/* --- what else the kernel saw --- */

/* Waits for a lock of pthreads pass our agent, which also waits for the recorder when it starts. */
static bool is_of_agent(const struct profile *p, struct stack_id stack)
{
    for (; stack.i; stack = p->stacks.nodes.at[stack.i].parent) {
        const struct frame *f = profile_frame(p, p->stacks.nodes.at[stack.i].frame);
        if (profile_is_agent(p, f->mapping) || standin_find(p, stack))
            return true;
    }
    return false;
}

/* A lock that our agent does not know: of futexes by themselves, of Rust, of C11. */
static bool is_foreign_lock(const struct profile *p, struct stack_id stack)
{
    enum wait_reason reason = waitreason_of_stack(p, stack);
    return (reason == WAIT_FUTEX || reason == WAIT_LOCK) && !is_of_agent(p, stack);
}

/*
 * Behind pthread_cond_wait() comes a wait for the mutex, where another thread has it: the agent,
 * which sees the call alone, counts it as a part of the wait for the condition.
 */
static bool is_retaken_mutex(const struct profile *p, struct stack_id stack)
{
    static const char part[] = "pthread_cond_";
    if (waitreason_of_stack(p, stack) != WAIT_LOCK)
        return false;
    for (; stack.i; stack = p->stacks.nodes.at[stack.i].parent) {
        const struct frame *f = profile_frame(p, p->stacks.nodes.at[stack.i].frame);
        struct text name =
            f->n_lines ? profile_function_name(p, profile_lines(p, f)->function) : (struct text){0};
        if (name.n && memmem(name.at, name.n, part, sizeof part - 1))
            return true;
    }
    return false;
}

/* Waits for locks that did not come by the agent, where waits were recorded as well. */
static void add_futexes(struct lockstory *s)
{
    struct waitstream streams;
    const struct profile *p = s->profile;
    if (!waitstream_find(p, &streams))
        return;
    const struct rows *r = &profile_stream(p, streams.waits)->rows;
    const int64_t *count = r->value[streams.wait_column[WAIT_COUNT]];
    const int64_t *blocked = r->value[streams.wait_column[WAIT_BLOCKED]];
    enum { UNKNOWN, OTHER, FOREIGN, RETAKEN, LOCKING };
    autofree uint8_t *known = mem_calloc(p->stacks.nodes.n, 1); /* by stack */
    for (size_t i = 0; i < r->n; i++) {
        struct stack_id stack = r->stack[i];
        if (blocked[i] <= 0)
            continue;
        if (known[stack.i] == UNKNOWN)
            known[stack.i] = is_retaken_mutex(p, stack)                   ? RETAKEN
                             : is_foreign_lock(p, stack)                  ? FOREIGN
                             : waitreason_of_stack(p, stack) == WAIT_LOCK ? LOCKING
                                                                          : OTHER;
        s->blocked_waits += known[stack.i] == LOCKING ? (uint64_t)count[i] : 0;
        s->futex_waits += known[stack.i] == FOREIGN ? (uint64_t)count[i] : 0;
        s->futex_ns += known[stack.i] == FOREIGN ? (uint64_t)blocked[i] : 0;
        s->retaken += known[stack.i] == RETAKEN ? (uint64_t)count[i] : 0;
        s->retaken_ns += known[stack.i] == RETAKEN ? (uint64_t)blocked[i] : 0;
    }
}

uint64_t lockstory_woken_in_vain(const struct lockstory *s)
{
    uint64_t calls = s->locks_total.waits;
    return s->waits_stream->lost || s->blocked_waits < calls ? 0 : s->blocked_waits - calls;
}

/* --- all of it --- */

static int by_place_wait(const void *a, const void *b)
{
    const struct lockstory_place *x = a, *y = b;
    if (x->wait_ns != y->wait_ns)
        return x->wait_ns > y->wait_ns ? -1 : 1;
    return x->stack.i < y->stack.i ? -1 : x->stack.i > y->stack.i;
}

static int by_lock_wait(const void *a, const void *b)
{
    const struct lockstory_lock *x = a, *y = b;
    if (x->wait_ns != y->wait_ns)
        return x->wait_ns > y->wait_ns ? -1 : 1;
    if (x->name.i != y->name.i)
        return x->name.i < y->name.i ? -1 : 1;
    return x->kind.i < y->kind.i ? -1 : x->kind.i > y->kind.i;
}

/* A read-write lock has two rows, and is one lock. */
static void lockstory_add_up(struct lockstory *s)
{
    autofree bool *seen = mem_calloc(2 * s->profile->strings.strings.n, sizeof *seen);
    for (size_t i = 0; i < s->locks.n; i++) {
        const struct lockstory_lock *l = &s->locks.at[i];
        struct lockstory_total *t = l->excludes ? &s->locks_total : &s->signals_total;
        bool *counted = &seen[2 * l->name.i + l->excludes];
        t->n += l->waits && !*counted;
        *counted |= l->waits > 0;
        t->waits += l->waits;
        t->wait_ns += l->wait_ns;
    }
}

static void fold_place(struct lockstory_place *to, struct lockstory_place *from)
{
    to->waits += from->waits;
    to->wait_ns += from->wait_ns;
    to->longest_ns = from->longest_ns > to->longest_ns ? from->longest_ns : to->longest_ns;
    for (size_t i = 0; i < from->threads.n; i++)
        lockstory_add_thread(&to->threads, from->threads.at[i]);
    vec_done(&from->threads);
}

/* Places that differ only in the lines or instructions that call would be rows that look alike. */
static void fold_places(struct lockstory *s, lockstory_places *places)
{
    enum { LONGEST = 64, DEEPEST = 256 };
    char *paths[LONGEST];
    size_t n = 0, n_paths = 0;
    if (places->n)
        qsort(places->at, places->n, sizeof *places->at, by_place_wait);
    for (size_t i = 0; i < places->n; i++) {
        autofree char *path = i < LONGEST ? lockstory_path(s, places->at[i].stack, DEEPEST) : NULL;
        size_t k = 0;
        while (path && k < n_paths && strcmp(paths[k], path) != 0)
            k++;
        if (path && k < n_paths) {
            fold_place(&places->at[k], &places->at[i]);
            continue;
        }
        if (path)
            paths[n_paths++] = mem_strdup(path);
        places->at[n++] = places->at[i];
    }
    for (size_t i = 0; i < n_paths; i++)
        free(paths[i]);
    places->n = n;
    if (n)
        qsort(places->at, n, sizeof *places->at, by_place_wait);
}

static void lockstory_sort(struct lockstory *s)
{
    for (size_t i = 0; i < s->locks.n; i++) {
        fold_places(s, &s->locks.at[i].waiters);
        fold_places(s, &s->locks.at[i].holders);
    }
    if (s->locks.n)
        qsort(s->locks.at, s->locks.n, sizeof *s->locks.at, by_lock_wait);
}

static void lockstory_find_times(struct lockstory *s)
{
    const struct profile *p = s->profile;
    s->start_ns = UINT64_MAX;
    for (size_t i = 0; i < p->streams.n; i++) {
        const struct rows *rows = &profile_stream(p, (int)i)->rows;
        for (size_t k = 0; rows->time_ns && k < rows->n; k++) {
            uint64_t start = rows->time_ns[k];
            uint64_t end = start + (rows->duration_ns ? rows->duration_ns[k] : 0);
            s->start_ns = start < s->start_ns ? start : s->start_ns;
            s->end_ns = end > s->end_ns ? end : s->end_ns;
        }
    }
    if (s->start_ns > s->end_ns)
        s->start_ns = s->end_ns;
}

static const struct stream *lockstory_find_stream(const struct profile *p, enum stream_kind kind)
{
    int stream = stream_kind_find(p, kind);
    return stream < 0 ? NULL : profile_stream(p, stream);
}

static struct str_id lockstory_find_key(const struct profile *p, const char *key)
{
    uint32_t id = intern_find(&p->strings, text_of(key));
    return (struct str_id){id == IDMAP_NONE ? 0 : id};
}

int lockstory_build(struct lockstory *s, const struct profile *p, struct err *err)
{
    static const struct rows none;
    const struct stream *waits = lockstory_find_stream(p, STREAM_LOCKS),
                        *holders = lockstory_find_stream(p, STREAM_LOCK_HOLDERS);
    const struct stream *orders = lockstory_find_stream(p, STREAM_LOCK_ORDER);
    *s = (struct lockstory){.profile = p, .waits_stream = waits};
    labels_init(&s->labels, p, &(struct label_opts){0});
    if (!waits)
        return err_set_hint(err, EXIT_INPUT, HINT_RECORD_LOCKS,
                            "there are no locks in this profile");
    struct lockstory_sums m = {.story = s,
                               .lock_key = lockstory_find_key(p, "lock"),
                               .kind_key = lockstory_find_key(p, "kind"),
                               .held_key = lockstory_find_key(p, "held"),
                               .ended_key = lockstory_find_key(p, "ended"),
                               .holder_key = lockstory_find_key(p, "holder")};
    const struct rows *held = holders ? &holders->rows : &none, *w = &waits->rows;
    for (size_t i = 0; w->time_ns && i < w->n; i++)
        add_wait(&m, w, i, false);
    for (size_t i = 0; held->time_ns && i < held->n; i++)
        add_wait(&m, held, i, true);
    for (size_t i = 0; orders && i < orders->rows.n; i++)
        add_order(&m, &orders->rows, i);
    const struct stream *holds = lockstory_find_stream(p, STREAM_LOCK_HOLDS),
                        *created = lockstory_find_stream(p, STREAM_LOCK_CREATED);
    for (size_t i = 0; holds && i < holds->rows.n; i++)
        add_hold(&m, &holds->rows, i);
    for (size_t i = 0; created && i < created->rows.n; i++)
        add_created(&m, &created->rows, i);
    add_futexes(s);
    if (w->time_ns)
        find_waited(&m, w);
    idmap_done(&m.locks);
    idmap_done(&m.waiters);
    idmap_done(&m.holders);
    lockstory_find_times(s);
    lockstory_sort(s);
    lockstory_add_up(s);
    lockstory_find_cycles(s);
    lockstory_find_insights(s);
    return 0;
}

static void places_done(lockstory_places *places)
{
    for (size_t i = 0; i < places->n; i++)
        vec_done(&places->at[i].threads);
    vec_done(places);
}

void lockstory_done(struct lockstory *s)
{
    for (size_t i = 0; i < s->locks.n; i++) {
        places_done(&s->locks.at[i].waiters);
        places_done(&s->locks.at[i].holders);
        vec_done(&s->locks.at[i].threads);
    }
    for (size_t i = 0; i < s->cycles.n; i++)
        vec_done(&s->cycles.at[i].orders);
    vec_done(&s->locks);
    vec_done(&s->orders);
    vec_done(&s->cycles);
    vec_done(&s->insights.at);
    labels_done(&s->labels);
    arena_done(&s->arena);
}
