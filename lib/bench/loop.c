/* loop.c - one body, run by one thread or several; see loop.h. */
#include "loop.h"
#include "base/clock.h"
#include "base/mem.h"
#include "bench.h"
#include "heapcount.h"
#include "rounds.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

enum state { BEFORE_LOOP, IN_LOOP, AFTER_LOOP };

struct gang;

/* A thread that runs a body. */
struct seat {
    struct gang *gang; /* NULL = a loop that only shows what a loop costs */
    size_t index, probe_count;
    enum state state;
    bool paused;
    uint64_t start_ns, end_ns, pause_ns, paused_ns; /* of this round */
    uint64_t cpu_start_ns, cpu_ns;                  /* of this round */
    double pauses;                                  /* in this round */
    struct heapcount heap_start, heap_pause;        /* when the round began; at a pause */
    struct heapcount heap;                          /* what this round allocated, but for pauses */
    double items, bytes, flops;
    const char *fault; /* what the body does wrong, or NULL */
    pthread_t thread;
};

/* All that run the same body, and what they found. */
struct gang {
    const struct loop_target *target;
    struct rounds rounds;
    struct loop_result *result;
    struct seat *seats;
    bool started, counting; /* a round was begun; it is one that counts */
    double loop_xy,
        loop_xx; /* sums of the line through the empty loops, fitted as the rounds are */
    double loop_cpu_xy;
    double cpu_clock_ns; /* CPU time that reading the clock of CPU time takes, a system call */
    double pairs, pairs_ns, pauses, done;
    double blocks, block_bytes; /* allocated in the rounds that count */
    long ousted;                /* times_ousted() when the round began */

    pthread_mutex_t lock; /* guards the rest; of no use to a single thread */
    pthread_cond_t turned;
    size_t arrived, count;
    size_t turn;  /* rounds given out */
    size_t ready; /* threads that came to a start line, over all turns: atomic */
    bool failed;
};

/* The functions that bodies call have no argument for it, so that helpers can call them too. */
static __thread struct seat *here;

/* --- what harness and loop cost --- */

static uint64_t net_ns(const struct seat *s)
{
    return s->end_ns - s->start_ns - s->paused_ns;
}

static double seat_cpu_ns(const struct gang *g, const struct seat *s)
{
    return fmax((double)s->cpu_ns - g->cpu_clock_ns, 0);
}

static double cpu_clock_cost_ns(void)
{
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < 50; i++) {
        uint64_t a = clock_thread_cpu_ns(), b = clock_thread_cpu_ns();
        least = b - a < least ? b - a : least;
    }
    return (double)least;
}

static struct seat *sit(struct seat *s)
{
    struct seat *was = here;
    here = s;
    return was;
}

static void probe_loop(struct gang *g, double count)
{
    struct seat probe = {.probe_count = (size_t)fmax(count, 1)};
    struct seat *was = sit(&probe);
    g->target->empty(0);
    sit(was);
    double n = (double)probe.probe_count;
    g->loop_xx += n * n;
    g->loop_xy += n * (double)net_ns(&probe);
    g->loop_cpu_xy += n * seat_cpu_ns(g, &probe);
}

/* Time that stays in a round after a pause and a resume. */
static void probe_pauses(struct gang *g, double spend_ns)
{
    struct seat probe = {.state = IN_LOOP};
    struct seat *was = sit(&probe);
    probe.start_ns = clock_monotonic_ns();
    do {
        for (int i = 0; i < 100; i++) {
            kelvin_pause();
            kelvin_resume();
        }
        probe.end_ns = clock_monotonic_ns();
    } while ((double)(probe.end_ns - probe.start_ns) < spend_ns);
    sit(was);
    g->pairs += probe.pauses;
    g->pairs_ns += (double)net_ns(&probe);
}

/* What an empty loop takes, roughly: bodies that are not far above it need it exactly. */
static void probe_first(struct gang *g)
{
    probe_loop(g, 20000);
    g->rounds.light_ns = 10 * g->loop_xy / g->loop_xx;
    g->loop_xy = g->loop_xx = g->loop_cpu_xy = 0;
}

/*
 * A share of each round goes to the empty loop, and to pauses if there are any. Where their cost
 * weighs they get as long as the round: others interrupt both alike, and the difference is right.
 */
static void probe(struct gang *g, double round_ns)
{
    double loop_ns = fmax(g->rounds.light_ns / 10, 0.01);
    bool pauses = g->seats[0].pauses > 0;
    double share = g->rounds.light ? 1 : pauses && g->rounds.each_ns < 500 ? 0.5 : 0.01;
    double spend_ns = fmax(round_ns * share, 5e3);
    probe_loop(g, fmin(spend_ns / loop_ns, g->rounds.light ? (double)g->rounds.count : INFINITY));
    if (pauses)
        probe_pauses(g, spend_ns);
}

/* --- the gang --- */

struct span {
    double all_ns, counted_ns; /* with and without pauses */
};

/* The round that is over: from the first start to the last end. */
static struct span span_of(const struct gang *g)
{
    uint64_t start_ns = UINT64_MAX;
    struct span span = {0};
    for (size_t i = 0; i < g->target->threads; i++)
        start_ns = g->seats[i].start_ns < start_ns ? g->seats[i].start_ns : start_ns;
    for (size_t i = 0; i < g->target->threads; i++) {
        const struct seat *s = &g->seats[i];
        double ns = (double)(s->end_ns - start_ns);
        span.all_ns = fmax(span.all_ns, ns);
        span.counted_ns = fmax(span.counted_ns, ns - (double)s->paused_ns);
    }
    return span;
}

/* The mean of the threads. */
static double round_cpu_ns(const struct gang *g)
{
    double sum = 0;
    for (size_t i = 0; i < g->target->threads; i++)
        sum += seat_cpu_ns(g, &g->seats[i]);
    return sum / (double)g->target->threads;
}

/* How often this thread had to give up the CPU to another program. */
static long times_ousted(void)
{
    struct rusage usage = {0};
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nivcsw;
}

static void keep_round(struct gang *g, struct span span)
{
    struct loop_result *r = g->result;
    r->disturbed += g->target->threads == 1 && times_ousted() > g->ousted;
    r->counts[r->n] = (double)g->rounds.count;
    r->cpu_times[r->n] = round_cpu_ns(g);
    r->times[r->n++] = span.counted_ns;
    for (size_t i = 0; i < g->target->threads; i++) {
        g->blocks += (double)g->seats[i].heap.blocks;
        g->block_bytes += (double)g->seats[i].heap.bytes;
    }
    g->pauses += g->seats[0].pauses;
    g->done += (double)g->rounds.count;
    probe(g, span.counted_ns);
}

/*
 * All have come to the end of a round: what is next? 0 = enough. Rounds are planned by all the time
 * that they take: nobody wants to wait for hours because most of it is paused.
 */
static size_t loop_decide(struct gang *g)
{
    struct span span = g->started ? span_of(g) : (struct span){0};
    if (!g->started)
        probe_first(g);
    if (g->counting)
        keep_round(g, span);
    g->started = true;
    size_t count = rounds_next(&g->rounds, span.all_ns);
    g->counting = g->rounds.warm;
    g->ousted = times_ousted();
    return count;
}

static void loop_fail(struct gang *g, struct seat *s, const char *fault)
{
    if (!s->fault)
        s->fault = fault;
    pthread_mutex_lock(&g->lock);
    g->failed = true;
    pthread_cond_broadcast(&g->turned);
    pthread_mutex_unlock(&g->lock);
}

/* Threads wake one after another; the round begins when the last has woken. */
static void line_up(struct gang *g, size_t turn)
{
    __atomic_add_fetch(&g->ready, 1, __ATOMIC_ACQ_REL);
    for (int spins = 0; __atomic_load_n(&g->ready, __ATOMIC_ACQUIRE) < turn * g->target->threads;)
        if (++spins > 1000)
            sched_yield();
}

static size_t next_together(struct gang *g)
{
    pthread_mutex_lock(&g->lock);
    size_t turn = g->turn;
    if (++g->arrived == g->target->threads && !g->failed) {
        g->arrived = 0;
        g->count = loop_decide(g);
        g->turn++;
        pthread_cond_broadcast(&g->turned);
    }
    while (g->turn == turn && !g->failed)
        pthread_cond_wait(&g->turned, &g->lock);
    size_t count = g->turn == turn ? 0 : g->count;
    pthread_mutex_unlock(&g->lock);
    if (count)
        line_up(g, turn + 1);
    return count;
}

static size_t next_count(struct seat *s)
{
    struct gang *g = s->gang;
    if (!g)
        return s->state == BEFORE_LOOP ? s->probe_count : 0;
    if (s->fault) {
        loop_fail(g, s, s->fault);
        return 0;
    }
    return g->target->threads == 1 ? loop_decide(g) : next_together(g);
}

/* --- what bodies call --- */

/* What came since the start of the round; a pause moves the start by what it allocates. */
static struct heapcount heap_since(struct heapcount start)
{
    struct heapcount now = heapcount_now();
    return (struct heapcount){now.blocks - start.blocks, now.bytes - start.bytes};
}

PUBLIC size_t kelvin_loop(size_t left)
{
    uint64_t now_ns = clock_monotonic_ns();
    struct seat *s = here;
    if (!s) {
        fprintf(stderr, "kelvin_bench: BENCH_LOOP outside of a benchmark, or in a thread that the "
                        "benchmark started itself; see BENCH_THREADS\n");
        exit(EXIT_ERROR);
    }
    if (s->state == IN_LOOP) {
        s->end_ns = now_ns;
        s->heap = heap_since(s->heap_start);
        s->cpu_ns = clock_thread_cpu_ns() - s->cpu_start_ns;
    }
    if (s->state == AFTER_LOOP)
        s->fault = "has two BENCH_LOOPs: make it two benchmarks";
    else if (left)
        s->fault = "leaves BENCH_LOOP by 'break'; an iteration must be like any other";
    else if (s->paused)
        s->fault = "has kelvin_pause() without kelvin_resume() in its loop";
    size_t count = next_count(s);
    s->state = count ? IN_LOOP : AFTER_LOOP;
    s->paused_ns = 0;
    s->pauses = 0;
    if (count) {
        s->heap_start = heapcount_now();
        s->cpu_start_ns = clock_thread_cpu_ns();
        s->start_ns = clock_monotonic_ns();
    }
    return count;
}

PUBLIC void kelvin_pause(void)
{
    struct seat *s = here;
    if (!s || s->state != IN_LOOP)
        return;
    if (s->paused)
        s->fault = "calls kelvin_pause() twice without kelvin_resume() between";
    s->paused = true;
    s->pauses++;
    s->heap_pause = heapcount_now();
    s->pause_ns = clock_monotonic_ns();
}

PUBLIC void kelvin_resume(void)
{
    struct seat *s = here;
    if (!s || s->state != IN_LOOP)
        return;
    uint64_t now_ns = clock_monotonic_ns();
    if (s->paused)
        s->paused_ns += now_ns - s->pause_ns;
    else
        s->fault = "calls kelvin_resume() without kelvin_pause()";
    struct heapcount paused = heap_since(s->heap_pause);
    s->heap_start.blocks += s->paused ? paused.blocks : 0;
    s->heap_start.bytes += s->paused ? paused.bytes : 0;
    s->paused = false;
}

PUBLIC void kelvin_items(double items)
{
    if (here && !(items >= 0 && isfinite(items)))
        here->fault = "gives kelvin_items() a value that is not a number of items";
    else if (here)
        here->items = items;
}

PUBLIC void kelvin_flops(double operations)
{
    if (here && !(operations >= 0 && isfinite(operations)))
        here->fault = "gives kelvin_flops() a value that is not a number of operations";
    else if (here)
        here->flops = operations;
}

PUBLIC void kelvin_bytes(double bytes)
{
    if (here && !(bytes >= 0 && isfinite(bytes)))
        here->fault = "gives kelvin_bytes() a value that is not a number of bytes";
    else if (here)
        here->bytes = bytes;
}

PUBLIC size_t kelvin_thread(void)
{
    return here ? here->index : 0;
}

PUBLIC size_t kelvin_threads(void)
{
    return here && here->gang ? here->gang->target->threads : 1;
}

/* --- running a body --- */

static void *run_seat(void *at)
{
    struct seat *s = at;
    struct seat *was = sit(s);
    s->gang->target->body(s->gang->target->value);
    sit(was);
    if (s->state == BEFORE_LOOP)
        loop_fail(s->gang, s,
                  "never reaches BENCH_LOOP: what is to be timed goes into BENCH_LOOP {...}");
    else if (s->state == IN_LOOP)
        loop_fail(s->gang, s, "leaves BENCH_LOOP by 'return'; an iteration must be like any other");
    return NULL;
}

static int run_threads(struct gang *g, struct err *err)
{
    size_t n = g->target->threads, started = 1;
    int failed = 0;
    for (; started < n && !failed; started++) {
        struct seat *s = &g->seats[started];
        failed = pthread_create(&s->thread, NULL, run_seat, s);
        if (failed) {
            loop_fail(g, &g->seats[0], "has too few threads");
            err_set_errno(err, failed, "cannot start thread %zu of %zu", started, n);
            break;
        }
    }
    if (!failed)
        run_seat(&g->seats[0]);
    for (size_t i = 1; i < started; i++)
        pthread_join(g->seats[i].thread, NULL);
    return failed ? -1 : 0;
}

static int find_fault(const struct gang *g, struct err *err)
{
    for (size_t i = 0; i < g->target->threads; i++)
        if (g->seats[i].fault)
            return err_set(err, EXIT_ERROR, "%s", g->seats[i].fault);
    return 0;
}

static void conclude(const struct gang *g)
{
    struct loop_result *r = g->result;
    r->flat = g->rounds.flat;
    r->loop_ns = g->loop_xy / fmax(g->loop_xx, 1);
    r->loop_cpu_ns = g->loop_cpu_xy / fmax(g->loop_xx, 1);
    r->has_cpu = g->pauses == 0;
    r->pauses = g->pauses / fmax(g->done, 1);
    r->pause_ns = g->pairs_ns / fmax(g->pairs, 1);
    r->allocations = g->blocks / fmax(g->done, 1);
    r->allocated = g->block_bytes / fmax(g->done, 1);
    for (size_t i = 0; i < g->target->threads; i++) {
        r->items += g->seats[i].items;
        r->bytes += g->seats[i].bytes;
        r->flops += g->seats[i].flops;
    }
}

int loop_measure(struct loop_result *ret, const struct loop_target *target,
                 const struct loop_plan *plan, struct err *err)
{
    *ret = (struct loop_result){
        .counts = mem_calloc(plan->samples, sizeof(double)),
        .times = mem_calloc(plan->samples, sizeof(double)),
        .cpu_times = mem_calloc(plan->samples, sizeof(double)),
        .has_heap = heapcount_is_there(), /* asked before there are threads */
    };
    autofree struct seat *seats = mem_calloc(target->threads, sizeof *seats);
    struct gang g = {
        .target = target, .result = ret, .seats = seats, .cpu_clock_ns = cpu_clock_cost_ns()};
    pthread_mutex_init(&g.lock, NULL);
    pthread_cond_init(&g.turned, NULL);
    rounds_init(&g.rounds, plan);
    for (size_t i = 0; i < target->threads; i++)
        seats[i] = (struct seat){.gang = &g, .index = i};
    int status = run_threads(&g, err) == 0 && find_fault(&g, err) == 0 ? 0 : -1;
    if (status == 0)
        conclude(&g);
    pthread_cond_destroy(&g.turned);
    pthread_mutex_destroy(&g.lock);
    return status;
}

void loop_result_done(struct loop_result *r)
{
    free(r->counts);
    free(r->times);
    free(r->cpu_times);
    *r = (struct loop_result){0};
}
