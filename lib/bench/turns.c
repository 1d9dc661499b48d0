/* turns.c - one thread at a time; see turns.h. */
#include "turns.h"
#include "base/mem.h"
#include "bench.h"

#include <errno.h>
#include <setjmp.h>

enum turn_state { TURN_NONE, TURN_READY, TURN_YIELDED, TURN_BLOCKED, TURN_DONE };

/* So often in a row at one place, nobody else having run: it waits for somebody. */
enum { SPINS = 50 };

struct turn_thread {
    unsigned number;
    enum turn_state state;
    const void *waits_for; /* a lock or condition, where blocked */
    void (*body)(void *arg);
    void *arg;
    pthread_t thread;
    pthread_cond_t wake;
    jmp_buf out;
    const char *last_file; /* of its last point, to know spinning */
    int last_line, spins;
};

struct turn_lock {
    const void *at;
    unsigned owner; /* TURNS_MAIN = free: only threads lock */
};

static struct {
    pthread_mutex_t baton;
    unsigned running;
    bool active, aborting, joined;
    size_t points; /* that threads came to in this run */
    struct turn_thread threads[SCHEDULE_THREADS];
    unsigned n; /* threads, the main one too */
    VEC(struct turn_lock) locks;
    struct schedule *schedule;
    struct turns_result *result;
    jmp_buf out; /* of the main thread */
} turns = {.baton = PTHREAD_MUTEX_INITIALIZER};

static __thread struct turn_thread *me;

/* --- the baton --- */

static void turn_leave(void)
{
    if (me->number == TURNS_MAIN)
        longjmp(turns.out, 1);
    longjmp(me->out, 1);
}

static void turn_wait(void)
{
    while (turns.running != me->number)
        pthread_cond_wait(&me->wake, &turns.baton);
}

static void turn_give(unsigned to)
{
    turns.running = to;
    pthread_cond_signal(&turns.threads[to].wake);
}

/* A thread that is given the baton while all is to end leaves its body. */
static void turn_pass(unsigned to)
{
    if (to != me->number) {
        turn_give(to);
        turn_wait();
    }
    if (turns.aborting) {
        pthread_mutex_unlock(&turns.baton);
        turn_leave();
    }
}

__attribute__((format(printf, 1, 2))) static void turn_fail(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    if (!turns.result->failure && vasprintf(&turns.result->failure, fmt, ap) < 0)
        turns.result->failure = NULL;
    va_end(ap);
    turns.aborting = true;
}

/* --- who is next --- */

static size_t turn_list(enum turn_state state, uint8_t *ret)
{
    size_t n = 0;
    if (me->state == state && me->number != TURNS_MAIN)
        ret[n++] = (uint8_t)me->number;
    for (unsigned i = 1; i < turns.n; i++)
        if (turns.threads[i].state == state && i != me->number)
            ret[n++] = (uint8_t)i;
    return n;
}

static bool all_done(void)
{
    bool done = true;
    for (unsigned i = 1; i < turns.n; i++)
        done &= turns.threads[i].state == TURN_DONE;
    return done;
}

static void fail_deadlock(void)
{
    autobuf struct buf b = {0};
    for (unsigned i = 1; i < turns.n; i++)
        if (turns.threads[i].state == TURN_BLOCKED)
            buf_printf(&b, "%sthread %u waits at %s:%d", b.n ? ", " : "", i,
                       turns.threads[i].last_file, turns.threads[i].last_line);
    turn_fail("deadlock: %s", buf_cstr(&b));
}

/* Those that gave up their turn get it back when somebody else has run, or nobody else can. */
static unsigned turn_choose(void)
{
    uint8_t list[SCHEDULE_THREADS];
    size_t n = turn_list(TURN_READY, list);
    bool own = n && list[0] == me->number;
    if (!n)
        n = turn_list(TURN_YIELDED, list);
    if (!n && all_done())
        return TURNS_MAIN;
    if (!n)
        fail_deadlock();
    else if (turns.points >= SCHEDULE_CHOICES_MAX)
        turn_fail("no end after %d points: threads wait for each other in a loop, or there is too "
                  "much to interleave",
                  SCHEDULE_CHOICES_MAX);
    if (turns.aborting)
        return TURNS_MAIN;
    unsigned next = n == 1 ? list[0] : schedule_choose(turns.schedule, list, n, !own);
    for (unsigned i = 1; i < turns.n && next != me->number; i++)
        if (turns.threads[i].state == TURN_YIELDED && i != me->number)
            turns.threads[i].state = TURN_READY;
    if (turns.threads[next].state == TURN_YIELDED)
        turns.threads[next].state = TURN_READY;
    if (next != me->number)
        turns.threads[next].spins = 0;
    return next;
}

static void turn_switch(void)
{
    turn_pass(turn_choose());
}

/* --- points --- */

/* It is about to do something there. */
static void turn_comes_to(const char *file, int line)
{
    bool same = me->last_file == file && me->last_line == line;
    me->spins = same ? me->spins + 1 : 0;
    me->last_file = file;
    me->last_line = line;
    turns.points++;
}

/* It does it now: nobody else runs before that is done. */
static void turn_does(const char *what, const volatile void *at)
{
    struct turns_step *s = vec_push(&turns.result->steps);
    *s = (struct turns_step){me->number, what, at, me->last_file, me->last_line};
}

static bool in_turns(void)
{
    return me && me->number != TURNS_MAIN && turns.active;
}

PUBLIC void kelvin_point(const char *what, const volatile void *at, const char *file, int line)
{
    if (!in_turns())
        return;
    pthread_mutex_lock(&turns.baton);
    turn_comes_to(file, line);
    if (me->spins >= SPINS) {
        me->spins = 0;
        me->state = TURN_YIELDED;
    }
    turn_switch();
    turn_does(what, at);
    pthread_mutex_unlock(&turns.baton);
}

PUBLIC int kelvin_yield(const char *file, int line)
{
    if (!in_turns())
        return sched_yield();
    pthread_mutex_lock(&turns.baton);
    turn_comes_to(file, line);
    turn_does("yield", NULL);
    me->state = TURN_YIELDED;
    turn_switch();
    pthread_mutex_unlock(&turns.baton);
    return 0;
}

PUBLIC void kelvin_expect_failed(const char *condition, const char *file, int line)
{
    if (!me || !turns.active) {
        fprintf(stderr, "%s:%d: expected: %s\n", file, line, condition);
        abort();
    }
    pthread_mutex_lock(&turns.baton);
    turn_fail("expected %s (%s:%d)", condition, file, line);
    if (me->number != TURNS_MAIN) {
        turn_pass(TURNS_MAIN); /* which has the others leave, and this one */
        return;
    }
    pthread_mutex_unlock(&turns.baton);
    turn_leave();
}

/* --- locks --- */

static struct turn_lock *turn_lock_at(const void *at)
{
    for (size_t i = 0; i < turns.locks.n; i++)
        if (turns.locks.at[i].at == at)
            return &turns.locks.at[i];
    struct turn_lock *new = vec_push(&turns.locks);
    *new = (struct turn_lock){.at = at};
    return new;
}

static void turn_block(const void *on)
{
    me->state = TURN_BLOCKED;
    me->waits_for = on;
    turn_switch();
}

static void turn_unblock(const void *on)
{
    for (unsigned i = 1; i < turns.n; i++)
        if (turns.threads[i].state == TURN_BLOCKED && turns.threads[i].waits_for == on)
            turns.threads[i].state = TURN_READY;
}

static void turn_take_lock(const void *m)
{
    if (turn_lock_at(m)->owner == me->number) {
        turn_fail("thread %u locks a mutex that it already holds (%s:%d)", me->number,
                  me->last_file, me->last_line);
        turn_pass(TURNS_MAIN);
    }
    while (turn_lock_at(m)->owner != TURNS_MAIN)
        turn_block(m);
    turn_lock_at(m)->owner = me->number;
}

static void turn_release_lock(const void *m)
{
    if (turn_lock_at(m)->owner != me->number) {
        turn_fail("thread %u unlocks a mutex that it does not hold (%s:%d)", me->number,
                  me->last_file, me->last_line);
        turn_pass(TURNS_MAIN);
    }
    turn_lock_at(m)->owner = TURNS_MAIN;
    turn_unblock(m);
}

PUBLIC int kelvin_mutex_lock(pthread_mutex_t *m, const char *file, int line)
{
    if (!in_turns())
        return pthread_mutex_lock(m);
    pthread_mutex_lock(&turns.baton);
    turn_comes_to(file, line);
    turn_switch();
    turn_take_lock(m);
    turn_does("lock", m);
    pthread_mutex_unlock(&turns.baton);
    return 0;
}

PUBLIC int kelvin_mutex_trylock(pthread_mutex_t *m, const char *file, int line)
{
    if (!in_turns())
        return pthread_mutex_trylock(m);
    pthread_mutex_lock(&turns.baton);
    turn_comes_to(file, line);
    turn_switch();
    turn_does("try lock", m);
    bool free = turn_lock_at(m)->owner == TURNS_MAIN;
    if (free)
        turn_lock_at(m)->owner = me->number;
    pthread_mutex_unlock(&turns.baton);
    return free ? 0 : EBUSY;
}

PUBLIC int kelvin_mutex_unlock(pthread_mutex_t *m, const char *file, int line)
{
    if (!in_turns())
        return pthread_mutex_unlock(m);
    pthread_mutex_lock(&turns.baton);
    turn_comes_to(file, line);
    turn_does("unlock", m);
    turn_release_lock(m);
    turn_switch();
    pthread_mutex_unlock(&turns.baton);
    return 0;
}

PUBLIC int kelvin_cond_wait(pthread_cond_t *c, pthread_mutex_t *m, const char *file, int line)
{
    if (!in_turns())
        return pthread_cond_wait(c, m);
    pthread_mutex_lock(&turns.baton);
    turn_comes_to(file, line);
    turn_does("wait", c);
    turn_release_lock(m);
    turn_block(c);
    turn_take_lock(m);
    turn_does("woken", c);
    pthread_mutex_unlock(&turns.baton);
    return 0;
}

/* Which of those that wait is woken is a choice as well. */
static void turn_wake_one(const void *c)
{
    uint8_t list[SCHEDULE_THREADS];
    size_t n = 0;
    for (unsigned i = 1; i < turns.n; i++)
        if (turns.threads[i].state == TURN_BLOCKED && turns.threads[i].waits_for == c)
            list[n++] = (uint8_t)i;
    if (n)
        turns.threads[n == 1 ? list[0] : schedule_choose(turns.schedule, list, n, true)].state =
            TURN_READY;
}

PUBLIC int kelvin_cond_signal(pthread_cond_t *c, bool all, const char *file, int line)
{
    if (!in_turns())
        return all ? pthread_cond_broadcast(c) : pthread_cond_signal(c);
    pthread_mutex_lock(&turns.baton);
    turn_comes_to(file, line);
    turn_does(all ? "broadcast" : "signal", c);
    if (all)
        turn_unblock(c);
    else
        turn_wake_one(c);
    turn_switch();
    pthread_mutex_unlock(&turns.baton);
    return 0;
}

/* --- threads --- */

static void *turn_thread_main(void *arg)
{
    me = arg;
    pthread_mutex_lock(&turns.baton);
    turn_wait();
    bool leaves = turns.aborting;
    pthread_mutex_unlock(&turns.baton);
    if (!leaves && setjmp(me->out) == 0)
        me->body(me->arg);
    pthread_mutex_lock(&turns.baton);
    me->state = TURN_DONE;
    if (turns.aborting)
        turn_give(TURNS_MAIN);
    else
        turn_give(turn_choose());
    pthread_mutex_unlock(&turns.baton);
    return NULL;
}

PUBLIC void kelvin_spawn(void (*body)(void *arg), void *arg)
{
    if (!me || !turns.active)
        return;
    pthread_mutex_lock(&turns.baton);
    if (turns.n == SCHEDULE_THREADS || turns.joined) {
        turn_fail(turns.joined ? "kelvin_spawn() after kelvin_join()"
                               : "more threads than the seven that can be interleaved");
        pthread_mutex_unlock(&turns.baton);
        turn_leave();
    }
    struct turn_thread *t = &turns.threads[turns.n];
    *t = (struct turn_thread){.number = turns.n, .state = TURN_READY, .body = body, .arg = arg};
    pthread_cond_init(&t->wake, NULL);
    int e = pthread_create(&t->thread, NULL, turn_thread_main, t);
    if (e == 0)
        turns.n++;
    else
        turn_fail("cannot start a thread: %s", strerror(e));
    pthread_mutex_unlock(&turns.baton);
}

/* Let all that are not done leave their bodies, and wait for their ends. */
static void turns_end(void)
{
    pthread_mutex_lock(&turns.baton);
    for (unsigned i = 1; i < turns.n; i++) {
        if (turns.threads[i].state == TURN_DONE)
            continue;
        turns.aborting = true;
        turn_give(i);
        turn_wait();
    }
    pthread_mutex_unlock(&turns.baton);
    for (unsigned i = 1; i < turns.n; i++) {
        pthread_join(turns.threads[i].thread, NULL);
        pthread_cond_destroy(&turns.threads[i].wake);
    }
    turns.n = 1;
}

PUBLIC void kelvin_join(void)
{
    if (!me || !turns.active)
        return;
    turns.joined = true;
    pthread_mutex_lock(&turns.baton);
    if (turns.n > 1 && !turns.aborting) {
        turn_give(turn_choose());
        turn_wait();
    }
    bool failed = turns.aborting;
    pthread_mutex_unlock(&turns.baton);
    turns_end();
    if (failed)
        turn_leave();
}

void turns_run(const struct turns_opts *o, struct turns_result *ret)
{
    *ret = (struct turns_result){0};
    turns.n = 1;
    turns.running = TURNS_MAIN;
    turns.aborting = turns.joined = false;
    turns.locks.n = 0;
    turns.points = 0;
    turns.schedule = o->schedule;
    turns.result = ret;
    turns.threads[0] = (struct turn_thread){.number = TURNS_MAIN, .state = TURN_DONE};
    pthread_cond_init(&turns.threads[0].wake, NULL);
    me = &turns.threads[0];
    schedule_begin(o->schedule);
    turns.active = true;
    if (setjmp(turns.out) == 0) {
        o->body();
        if (turns.n > 1)
            turn_fail("its threads never ran: call kelvin_join()");
    }
    turns_end();
    turns.active = false;
    me = NULL;
    pthread_cond_destroy(&turns.threads[0].wake);
}

void turns_result_done(struct turns_result *r)
{
    vec_done(&r->steps);
    free(r->failure);
}
