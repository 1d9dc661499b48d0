/*
 * waitinsight_pool.c - pools of threads that are too large or too small for what they do.
 */
#include "analysis/waitinsight.h"

#include "base/units.h"
#include "model/meta.h"

/* Fewer are no pool. Time below which nothing is worth a word. */
enum { POOL_THREADS = 2, POOL_LEAST_NS = 10000000 };

/* Fewer waits of a thread do not show that it does one job after the other. */
enum { JOBS_LEAST = 20 };

/* Fewer threads may well be idle. */
enum { POOL_MANY = 4 };

#define POOL_NO_CPU 0.2    /* of the time that threads of a pool want a CPU */
#define POOL_IDLE 0.1      /* of its life and of its waits: more, and it waits for work */
#define POOL_LOCKS 0.2     /* of its life: more, and further threads would queue for locks, too */
#define POOL_AWAITED 0.4   /* of its life that another thread waits for the pool */
#define POOL_AT_WORK 0.25  /* of its threads, on average: fewer, and it is idle */
#define POOL_ONE_PLACE 0.8 /* of the waits for work: less, and its threads do different things */
#define POOL_CPUS_BUSY 0.6 /* of the CPUs: more, and a larger pool would not help */

/* Threads of a process with one name. */
struct pool {
    struct process_id process;
    struct str_id name;
    size_t threads;
    int64_t wall_ns, longest_ns, state_ns[THREAD_STATES];
    bool first;                  /* the process's first thread is among them */
    int64_t idle_ns;             /* waited for work */
    int64_t handed_ns;           /* of that, for other threads of the program */
    int64_t lock_ns;             /* waited for locks */
    uint64_t idle_waits, others; /* how often it did, and waited for something else */
};

typedef VEC(struct pool) pool_list;

/* "2 online, 1 usable"; 0 = not known. */
static long usable_cpus(const struct waitsum *w)
{
    const char *cpus = meta_find(&w->selection->profile->meta, META_CPUS);
    const char *usable = cpus ? strchr(cpus, ',') : NULL;
    return usable ? atol(usable + 1) : 0;
}

/* Reasons for which threads wait for work. */
static const enum wait_reason idle_reasons[] = {WAIT_CONDITION, WAIT_JOIN, WAIT_POLL,
                                                WAIT_FUTEX,     WAIT_PIPE, WAIT_SOCKET};
enum { IDLE_REASONS = sizeof idle_reasons / sizeof *idle_reasons };

static int64_t idle_of(const struct waitsum_thread *t)
{
    int64_t ns = 0;
    for (int i = 0; i < IDLE_REASONS; i++)
        ns = waitsum_add_ns(ns, t->reason_ns[idle_reasons[i]]);
    return ns;
}

static uint64_t idle_waits_of(const struct waitsum_thread *t)
{
    uint64_t n = 0;
    for (int i = 0; i < IDLE_REASONS; i++)
        n += t->reason_waits[idle_reasons[i]];
    return n;
}

static uint64_t blocked_waits_of(const struct waitsum_thread *t)
{
    uint64_t n = 0;
    for (int i = 0; i < WAIT_REASONS; i++)
        n += t->reason_waits[i];
    return n;
}

static bool is_of_pool(const struct pool *p, const struct waitsum_thread *t)
{
    return p->process.i == t->process.i && p->name.i == t->name.i;
}

static void pool_add(pool_list *list, const struct waitsum_thread *t)
{
    size_t i = 0;
    while (i < list->n && !is_of_pool(&list->at[i], t))
        i++;
    if (i == list->n)
        *vec_push(list) = (struct pool){.process = t->process, .name = t->name};
    struct pool *p = &list->at[i];
    p->threads++;
    p->first |= t->tid == t->pid;
    p->handed_ns = waitsum_add_ns(
        p->handed_ns, waitsum_add_ns(t->reason_ns[WAIT_CONDITION], t->reason_ns[WAIT_FUTEX]));
    p->wall_ns = waitsum_add_ns(p->wall_ns, t->wall_ns);
    p->longest_ns = t->wall_ns > p->longest_ns ? t->wall_ns : p->longest_ns;
    p->idle_ns = waitsum_add_ns(p->idle_ns, idle_of(t));
    p->lock_ns = waitsum_add_ns(p->lock_ns, t->reason_ns[WAIT_LOCK]);
    p->idle_waits += idle_waits_of(t);
    p->others += blocked_waits_of(t) - idle_waits_of(t);
    for (int k = 0; k < THREAD_STATES; k++)
        p->state_ns[k] = waitsum_add_ns(p->state_ns[k], t->state_ns[k]);
}

/* More names than this are no pools but processes that come and go. */
enum { POOLS_MAX = 256 };

static pool_list find_pools(const struct waitsum *w)
{
    pool_list list = {0};
    for (size_t i = 0; i < w->threads.n && list.n < POOLS_MAX; i++)
        pool_add(&list, &w->threads.at[i]);
    return list;
}

/* --- too large --- */

static bool is_too_large(const struct pool *p, long cpus)
{
    int64_t wanted = waitsum_add_ns(p->state_ns[THREAD_RUNNABLE], p->state_ns[THREAD_RUNNING]);
    return p->threads >= POOL_THREADS && (long)p->threads > cpus &&
           p->state_ns[THREAD_RUNNABLE] >= POOL_LEAST_NS &&
           (double)p->state_ns[THREAD_RUNNABLE] >= POOL_NO_CPU * (double)wanted &&
           (double)wanted > 1.2 * (double)cpus * (double)p->longest_ns;
}

bool waitinsight_large_pool(const struct waitsum *w, struct waitinsight *ret)
{
    const struct profile *p = w->selection->profile;
    char n[2][UNITS_MAX];
    long cpus = usable_cpus(w);
    const struct pool *worst = NULL;
    if (cpus <= 0 || meta_was_busy(&p->meta))
        return false;
    pool_list list = find_pools(w);
    for (size_t i = 0; i < list.n; i++)
        if (is_too_large(&list.at[i], cpus) &&
            (!worst || list.at[i].state_ns[THREAD_RUNNABLE] > worst->state_ns[THREAD_RUNNABLE]))
            worst = &list.at[i];
    if (worst) {
        ret->id = "pool-too-large";
        ret->ns = worst->state_ns[THREAD_RUNNABLE];
        ret->advice = "More threads than CPUs make each other wait and cost context switches: use "
                      "as many as there are CPUs for work that computes.";
        snprintf(ret->evidence, sizeof ret->evidence,
                 "%zu threads '%.*s' share %ld CPU%s: they ran for %s and waited for a CPU for %s",
                 worst->threads, TEXT_ARG(profile_str(p, worst->name)), cpus, cpus == 1 ? "" : "s",
                 units_scaled(n[0], (double)worst->state_ns[THREAD_RUNNING], SCALED_NS),
                 units_scaled(n[1], (double)worst->state_ns[THREAD_RUNNABLE], SCALED_NS));
    }
    vec_done(&list);
    return worst != NULL;
}

/* --- too small --- */

/* How long threads were blocked that a thread of that name then woke. */
static int64_t ended_by(const struct waitsum *w, struct text name)
{
    int64_t ns = 0;
    for (size_t i = 0; i < w->wakers.n; i++) {
        struct stack_id waiter;
        struct text waker =
            waitstream_waker_of(w->selection->profile, w->wakers.at[i].stack, &waiter);
        if (waker.n == name.n && memcmp(waker.at, name.at, name.n) == 0)
            ns = waitsum_add_ns(ns, w->wakers.at[i].sum.ns);
    }
    return ns;
}

/* The thread outside of a pool that waits longest for others; NULL where none waits for long. */
static const struct waitsum_thread *who_awaits(const struct waitsum *w, const struct pool *p)
{
    const struct waitsum_thread *longest = NULL;
    for (size_t i = 0; i < w->threads.n; i++) {
        const struct waitsum_thread *t = &w->threads.at[i];
        if (is_of_pool(p, t) || t->process.i != p->process.i)
            continue;
        if ((double)idle_of(t) >= POOL_AWAITED * (double)t->wall_ns &&
            idle_of(t) >= POOL_LEAST_NS && (!longest || idle_of(t) > idle_of(longest)))
            longest = t;
    }
    return longest;
}

static bool is_too_small(const struct waitsum *w, const struct pool *p, long cpus)
{
    double room_ns = (double)cpus * (double)p->longest_ns;
    bool busy = (double)w->state_ns[THREAD_RUNNING] > POOL_CPUS_BUSY * room_ns;
    bool pool = p->threads >= POOL_THREADS || !p->first; /* who starts a program is no pool */
    return pool && p->longest_ns >= POOL_LEAST_NS && !busy &&
           p->others >= JOBS_LEAST * p->threads &&
           (double)p->idle_ns <= POOL_IDLE * (double)p->wall_ns &&
           (double)p->lock_ns <= POOL_LOCKS * (double)p->wall_ns &&
           (double)p->idle_waits <= POOL_IDLE * (double)p->others &&
           (double)p->state_ns[THREAD_RUNNABLE] <= POOL_NO_CPU * (double)p->wall_ns;
}

static void say_small(const struct waitsum *w, const struct pool *p,
                      const struct waitsum_thread *waits, struct waitinsight *ret)
{
    const struct profile *profile = w->selection->profile;
    char n[UNITS_MAX], many[32];
    bool one = p->threads == 1;
    ret->id = "pool-too-small";
    ret->advice =
        one ? "If it takes jobs from a queue, they queue up while CPUs are idle: let more threads "
              "take them, or start the next job while one waits (asynchronous I/O)."
            : "Work queues up while CPUs are idle: give the pool more threads, or let its "
              "threads start the next job while one waits (asynchronous I/O).";
    snprintf(many, sizeof many, "%zu threads", p->threads);
    snprintf(ret->evidence, sizeof ret->evidence,
             "the %s '%.*s' hardly ever waited for work: %s ran for %.0f%% of the time and "
             "waited for work for %.0f%%, while '%.*s' waited for %s for %s",
             one ? "thread" : many, TEXT_ARG(profile_str(profile, p->name)), one ? "it" : "they",
             100 * (double)p->state_ns[THREAD_RUNNING] / (double)p->wall_ns,
             100 * (double)p->idle_ns / (double)p->wall_ns,
             TEXT_ARG(profile_str(profile, waits->name)), one ? "it" : "them",
             units_scaled(n, (double)idle_of(waits), SCALED_NS));
}

/*
 * How long threads waited for a pool that is too small, and in RET who waited longest; 0 where it
 * is not. A lone thread that ends the waits of many others gives them work: it is no pool that does
 * it.
 */
static int64_t small_pool_ns(const struct waitsum *w, const struct pool *pool, long cpus,
                             const struct waitsum_thread **ret)
{
    *ret = is_too_small(w, pool, cpus) ? who_awaits(w, pool) : NULL;
    if (!*ret)
        return 0;
    int64_t ended_ns = ended_by(w, profile_str(w->selection->profile, pool->name));
    int64_t idle_ns = idle_of(*ret);
    bool hands_out = pool->threads == 1 && ended_ns > 3 * (idle_ns / 2);
    return 2 * ended_ns >= idle_ns && !hands_out ? ended_ns : 0;
}

bool waitinsight_small_pool(const struct waitsum *w, struct waitinsight *ret)
{
    long cpus = usable_cpus(w);
    int64_t worst_ns = 0;
    pool_list list = find_pools(w);
    for (size_t i = 0; cpus > 0 && i < list.n; i++) {
        const struct waitsum_thread *waits;
        int64_t ns = small_pool_ns(w, &list.at[i], cpus, &waits);
        if (ns > worst_ns) {
            worst_ns = ns;
            say_small(w, &list.at[i], waits, ret);
            ret->ns = ns;
        }
    }
    vec_done(&list);
    return worst_ns > 0;
}

/* --- idle --- */

/* Of its threads, how many were at work on average. */
static double pool_at_work(const struct pool *p)
{
    double idle = p->wall_ns > 0 ? (double)p->handed_ns / (double)p->wall_ns : 0;
    return (double)p->threads * (1 - idle);
}

/*
 * Threads without names of their own have their program's: they are a pool if they wait for work at
 * one place.
 */
static bool is_of_one_kind(const struct waitsum *w, const struct pool *p)
{
    int64_t all_ns = waitsum_add_ns(w->by_reason[WAIT_CONDITION].ns, w->by_reason[WAIT_FUTEX].ns);
    int64_t most_ns = 0;
    if (!p->first)
        return true;
    for (size_t i = 0; i < w->stacks.n; i++) {
        const struct waitsum_stack *s = &w->stacks.at[i];
        bool hands = !s->runnable && (s->reason == WAIT_CONDITION || s->reason == WAIT_FUTEX);
        most_ns = hands && s->sum.ns > most_ns ? s->sum.ns : most_ns;
    }
    return (double)most_ns >= POOL_ONE_PLACE * (double)all_ns;
}

/* Threads that came and went after each other were no pool; one that never got a job says nothing.
 */
static bool is_idle_pool(const struct waitsum *w, const struct pool *p)
{
    return is_of_one_kind(w, p) && p->threads >= POOL_MANY && p->longest_ns >= POOL_LEAST_NS &&
           (double)p->wall_ns >= 0.8 * (double)p->threads * (double)p->longest_ns &&
           p->idle_waits >= 2 * p->threads && pool_at_work(p) <= POOL_AT_WORK * (double)p->threads;
}

bool waitinsight_idle_pool(const struct waitsum *w, struct waitinsight *ret)
{
    char n[UNITS_MAX];
    pool_list list = find_pools(w);
    const struct pool *most = NULL;
    for (size_t i = 0; i < list.n; i++)
        if (is_idle_pool(w, &list.at[i]) && (!most || list.at[i].handed_ns > most->handed_ns))
            most = &list.at[i];
    if (most) {
        ret->id = "pool-idle";
        ret->ns = 0; /* nobody waits for them */
        ret->advice = "Fewer threads would do the same work, unless bursts need them all: each "
                      "costs memory, and waking another thread every time costs its caches.";
        snprintf(ret->evidence, sizeof ret->evidence,
                 "of the %zu threads '%.*s' %.1f were at work on average; they waited for work "
                 "for %s in total",
                 most->threads, TEXT_ARG(profile_str(w->selection->profile, most->name)),
                 pool_at_work(most), units_scaled(n, (double)most->handed_ns, SCALED_NS));
    }
    vec_done(&list);
    return most != NULL;
}
