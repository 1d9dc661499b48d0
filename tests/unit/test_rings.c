/* The channel between agents and recorder: whole records, in order, through signals and death. */
#include "record/rings.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on

enum { RING_BYTES = 1 << 16, RINGS = 8 };

static void open_rings(struct rings *r)
{
    struct err err;
    struct rings_opts o = {.n_rings = RINGS, .ring_bytes = RING_BYTES, .tasks = CHANNEL_SCOPES};
    assert_int_equal(rings_open(r, &o, &err), 0);
}

/* As the agent takes ring I, for a thread that lives. */
static struct ring_writer take_ring(struct rings *r, uint32_t i)
{
    struct ring *ring = channel_ring(r->channel, i);
    ring->task = CHANNEL_SCOPES;
    ring->pid = getpid();
    ring->tid = gettid();
    strcpy(ring->comm, "worker");
    ring->state = RING_LIVE;
    if (r->channel->next_ring < i + 1)
        r->channel->next_ring = i + 1;
    return (struct ring_writer){
        .ring = ring, .data = channel_data(r->channel, RINGS, RING_BYTES, i), .size = RING_BYTES};
}

static bool write_number(struct ring_writer *w, uint64_t number, uint16_t words)
{
    struct record *rec = ring_reserve(w, 7, words);
    if (!rec) {
        ring_abandon(w);
        return false;
    }
    for (uint16_t i = 0; i + 1 < words; i++)
        rec->payload[i] = number;
    ring_commit(w);
    return true;
}

/* Take all records; each must hold its number in every word. Returns how many. */
static size_t take_all(struct ring_reader *rr, uint64_t *next)
{
    size_t n = 0;
    for (const struct record *rec; (rec = ring_peek(rr)); n++) {
        assert_int_equal(rec->kind, 7);
        for (int i = 0; i + 1 < rec->words; i++)
            assert_true(rec->payload[i] == *next);
        ++*next;
        ring_take(rr);
    }
    return n;
}

static void records_come_out_as_they_went_in(void **state)
{
    (void)state;
    struct rings r;
    open_rings(&r);
    struct ring_writer w = take_ring(&r, 0);
    uint64_t written = 0, read = 0;
    for (int round = 0; round < 200; round++) {
        while (write_number(&w, written, (uint16_t)(2 + written * 7919 % 100)))
            written++;
        assert_true(rings_look(&r));
        assert_int_equal(r.readers.n, 1);
        assert_string_equal(r.readers.at[0].comm, "worker");
        take_all(&r.readers.at[0], &read);
        assert_true(read == written);
        rings_release(&r);
    }
    assert_true(written > 20000);
    assert_false(rings_look(&r));
    rings_close(&r);
}

static void a_full_ring_refuses_and_loses_nothing(void **state)
{
    (void)state;
    struct rings r;
    open_rings(&r);
    struct ring_writer w = take_ring(&r, 0);
    uint64_t written = 0, read = 0;
    while (write_number(&w, written, 4))
        written++;
    assert_int_equal(written, RING_BYTES / 32);
    assert_false(write_number(&w, 99, 2));
    assert_int_equal(w.depth, 0);
    rings_look(&r);
    take_all(&r.readers.at[0], &read);
    assert_false(write_number(&w, 99, 2)); /* taken is not yet given back */
    rings_release(&r);
    assert_true(write_number(&w, written, 2));
    rings_look(&r);
    take_all(&r.readers.at[0], &read);
    assert_true(read == written + 1);
    rings_close(&r);
}

/* --- signals --- */

static struct ring_writer signal_writer;
static volatile uint64_t from_handler, refused;

static void on_alarm(int sig)
{
    (void)sig;
    struct record *rec = ring_reserve(&signal_writer, 9, 3);
    if (!rec) {
        refused++;
        ring_abandon(&signal_writer);
        return;
    }
    rec->payload[0] = rec->payload[1] = ++from_handler;
    ring_commit(&signal_writer);
}

/* A handler that writes while its thread writes: both kinds whole, each in its order. */
static void handlers_may_write_at_any_moment(void **state)
{
    (void)state;
    struct rings r;
    open_rings(&r);
    signal_writer = take_ring(&r, 0);
    struct sigaction a = {.sa_handler = on_alarm};
    sigaction(SIGALRM, &a, NULL);
    struct itimerval often = {{0, 50}, {0, 50}}, never = {0};
    setitimer(ITIMER_REAL, &often, NULL);
    uint64_t written = 0, read = 0, read_handler = 0;
    while (from_handler < 2000) {
        while (write_number(&signal_writer, written, (uint16_t)(2 + written % 9)))
            written++;
        rings_look(&r);
        for (const struct record *rec; (rec = ring_peek(&r.readers.at[0]));) {
            if (rec->kind == 9) {
                assert_true(rec->payload[0] == ++read_handler && rec->payload[1] == read_handler);
            } else {
                for (int i = 0; i + 1 < rec->words; i++)
                    assert_true(rec->payload[i] == read);
                read++;
            }
            ring_take(&r.readers.at[0]);
        }
        rings_release(&r);
    }
    setitimer(ITIMER_REAL, &never, NULL);
    rings_look(&r);
    while (ring_peek(&r.readers.at[0])) {
        if (ring_peek(&r.readers.at[0])->kind == 9)
            read_handler++;
        else
            read++;
        ring_take(&r.readers.at[0]);
    }
    assert_true(read == written && read_handler == from_handler);
    rings_close(&r);
}

/* --- threads and death --- */

struct crew {
    struct rings *rings;
    uint32_t index;
    uint64_t n;
};

static void *write_many(void *arg)
{
    struct crew *c = arg;
    struct ring_writer w = take_ring(c->rings, c->index);
    for (uint64_t i = 0; i < c->n;)
        if (write_number(&w, i, (uint16_t)(2 + i % 5)))
            i++;
        else
            sched_yield();
    w.ring->state = RING_CLOSED;
    return NULL;
}

static void threads_write_beside_each_other(void **state)
{
    (void)state;
    enum { THREADS = 4, EACH = 100000 };
    struct rings r;
    struct crew crew[THREADS];
    pthread_t threads[THREADS];
    uint64_t next[RINGS] = {0}, sum = 0;
    open_rings(&r);
    r.channel->next_ring = THREADS;
    for (uint32_t i = 0; i < THREADS; i++) {
        crew[i] = (struct crew){&r, i, EACH};
        pthread_create(&threads[i], NULL, write_many, &crew[i]);
    }
    while (sum < THREADS * EACH) {
        rings_look(&r);
        for (size_t i = 0; i < r.readers.n; i++)
            sum += take_all(&r.readers.at[i], &next[r.readers.at[i].index]);
        rings_release(&r);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    rings_look(&r);
    rings_release(&r);
    assert_int_equal(r.readers.n, 0); /* all closed, drained and given back */
    for (uint32_t i = 0; i < THREADS; i++)
        assert_int_equal(channel_ring(r.channel, i)->state, RING_FREE);
    rings_close(&r);
}

static void what_a_killed_process_wrote_is_read(void **state)
{
    (void)state;
    struct rings r;
    uint64_t read = 0;
    open_rings(&r);
    pid_t pid = fork();
    if (pid == 0) {
        struct ring_writer w = take_ring(&r, 0);
        for (uint64_t i = 0; i < 1000; i++)
            write_number(&w, i, 3);
        ring_reserve(&w, 7, 3); /* never filled, never handed over */
        kill(getpid(), SIGKILL);
    }
    waitpid(pid, NULL, 0);
    rings_look(&r);
    assert_int_equal(take_all(&r.readers.at[0], &read), 1000);
    for (int i = 0; i < 20 && r.readers.n; i++) {
        rings_look(&r);
        rings_release(&r);
    }
    assert_int_equal(r.readers.n, 0); /* its thread is known to be dead */
    rings_close(&r);
}

/* --- scribbles --- */

static void scribbles_do_no_harm(void **state)
{
    (void)state;
    uint64_t x = 88172645463325252u;
    for (int round = 0; round < 2000; round++) {
        struct rings r;
        open_rings(&r);
        struct ring_writer w = take_ring(&r, 0);
        for (uint64_t i = 0; i < 50; i++)
            write_number(&w, i, 3);
        for (int i = 0; i < 20; i++) {
            x ^= x << 13, x ^= x >> 7, x ^= x << 17;
            uint64_t *words = (uint64_t *)(void *)w.data;
            words[x % 160] = x;
        }
        if (round % 3 == 0)
            w.ring->head = x;
        if (round % 5 == 0)
            r.channel->next_ring = (uint32_t)x;
        for (int look = 0; look < 3; look++) {
            rings_look(&r);
            for (size_t i = 0; i < r.readers.n; i++)
                while (ring_peek(&r.readers.at[i]))
                    ring_take(&r.readers.at[i]);
            rings_release(&r);
        }
        rings_close(&r);
    }
}

/* The program can write there. A count that ends up as "not known", or as none, would hide the
 * loss. */
static void counts_that_the_program_wrote_over_are_damaged(void **state)
{
    struct rings r;
    (void)state;
    open_rings(&r);
    struct ring_writer w = take_ring(&r, 0);
    assert_true(write_number(&w, 1, 2));
    assert_true(rings_look(&r));
    assert_int_equal(rings_lost(&r), 0);
    atomic_store(&r.readers.at[0].ring->lost, UINT64_MAX);
    atomic_store(&r.readers.at[0].ring->waits, RINGS_DAMAGED + 1);
    assert_true(rings_lost(&r) == RINGS_DAMAGED);
    assert_true(rings_waits(&r) == RINGS_DAMAGED);
    rings_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_come_out_as_they_went_in),
        cmocka_unit_test(counts_that_the_program_wrote_over_are_damaged),
        cmocka_unit_test(a_full_ring_refuses_and_loses_nothing),
        cmocka_unit_test(handlers_may_write_at_any_moment),
        cmocka_unit_test(threads_write_beside_each_other),
        cmocka_unit_test(what_a_killed_process_wrote_is_read),
        cmocka_unit_test(scribbles_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
