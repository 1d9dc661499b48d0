/* Programs that scribble on the memory they share with the recorder: it reads what it likes. */
#include "base/clock.h"
#include "record/heap_inner.h"
#include "record/locks_inner.h"
#include "record/scopes_inner.h"
#include "wire/recording.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on

enum { RING_BYTES = 1 << 12, RINGS = 2, NODES = 512 };

static uint64_t seed = 88172645463325252u;

static uint64_t draw_number(void)
{
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return seed;
}

static void open_few_rings(struct rings *r)
{
    struct err err;
    struct rings_opts o = {.n_rings = RINGS, .ring_bytes = RING_BYTES};
    assert_int_equal(rings_open(r, &o, &err), 0);
}

/* As an agent takes ring I. */
static struct ring_writer take_scribbled(struct rings *r, uint32_t i)
{
    struct ring *ring = channel_ring(r->channel, i);
    ring->pid = getpid();
    ring->tid = gettid();
    ring->state = RING_LIVE;
    r->channel->next_ring = RINGS;
    return (struct ring_writer){
        .ring = ring, .data = channel_data(r->channel, RINGS, RING_BYTES, i), .size = RING_BYTES};
}

static void tell(struct ring_writer *w, uint16_t kind, uint32_t own, const uint64_t *payload,
                 size_t n)
{
    struct record *rec = ring_reserve(w, kind, (uint16_t)(n + 1));
    assert_non_null(rec);
    rec->own = own;
    memcpy(rec->payload, payload, n * 8);
    ring_commit(w);
}

/* --- rings --- */

/* The last ring ends where the memory ends. */
static void a_tail_in_the_middle_of_a_word_reads_nothing_behind_the_end(void **state)
{
    (void)state;
    struct rings r;
    open_few_rings(&r);
    struct ring_writer w = take_scribbled(&r, RINGS - 1);
    w.ring->tail = RING_BYTES - 1;
    w.ring->head = RING_BYTES;
    rings_look(&r);
    for (size_t i = 0; i < r.readers.n; i++)
        assert_true(r.readers.at[i].tail % 8 == 0 && !ring_peek(&r.readers.at[i]));
    rings_release(&r);
    rings_close(&r);
}

static void a_record_stays_as_it_was_when_it_was_looked_at(void **state)
{
    (void)state;
    struct rings r;
    open_few_rings(&r);
    struct ring_writer w = take_scribbled(&r, 0);
    tell(&w, 7, 1, (uint64_t[]){11, 12}, 2);
    tell(&w, 8, 2, (uint64_t[]){13}, 1);
    rings_look(&r);
    struct ring_reader *rr = &r.readers.at[0];
    const struct record *rec = ring_peek(rr);
    memset(w.data, 0xff, 24);
    assert_int_equal(rec->kind, 7);
    assert_int_equal(rec->words, 3);
    assert_int_equal(rec->payload[1], 12);
    ring_take(rr);
    rec = ring_peek(rr);
    assert_non_null(rec);
    assert_int_equal(rec->kind, 8);
    ring_take(rr);
    assert_null(ring_peek(rr));
    rings_close(&r);
}

/* --- scopes --- */

static void open_scopes(struct scopes *s, struct profile *p)
{
    *s = (struct scopes){.stream = -1, .events = -1};
    s->opts = (struct scopes_opts){.profile = p, .processes = processes_new(p)};
    open_few_rings(&s->rings);
    ticks_init(&s->ticks);
}

static void close_scopes(struct scopes *s)
{
    struct processes *ps = s->opts.processes;
    rings_close(&s->rings);
    for (size_t i = 0; i < s->by_ring.n; i++) {
        if (s->by_ring.at[i])
            vec_done(&s->by_ring.at[i]->paths);
        free(s->by_ring.at[i]);
    }
    vec_done(&s->by_ring);
    vec_done(&s->counters);
    free(s->halves);
    processes_free(ps);
}

static size_t deepest(const struct profile *p)
{
    size_t most = 0;
    for (uint32_t i = 0; i < p->stacks.nodes.n; i++) {
        size_t n = stacks_depth(&p->stacks, (struct stack_id){i});
        most = n > most ? n : most;
    }
    return most;
}

static void a_name_below_itself_makes_no_endless_stack(void **state)
{
    (void)state;
    struct scopes s;
    struct profile *p = profile_new();
    open_scopes(&s, p);
    struct ring_writer w = take_scribbled(&s.rings, 0);
    for (int i = 0; i < 4000; i++) {
        tell(&w, SCOPES_PATH, 1, (uint64_t[]){1 | UINT64_C(8) << 32, 'a'}, 2);
        scopes_poll(&s);
    }
    for (uint32_t i = 2; i < 1000; i++) {
        tell(&w, SCOPES_PATH, i, (uint64_t[]){(i - 1) | UINT64_C(8) << 32, 'b'}, 2);
        scopes_poll(&s);
    }
    assert_true(deepest(p) <= SCOPES_DEPTH_MAX + 1); /* events may stand below the deepest */
    assert_true(s.facts.bad > 0);
    close_scopes(&s);
    profile_free(p);
}

static void a_record_has_no_more_attributes_than_the_header_allows(void **state)
{
    (void)state;
    enum { MANY = 100 };
    uint64_t payload[1 + 2 * MANY] = {5};
    struct scopes s;
    struct profile *p = profile_new();
    open_scopes(&s, p);
    struct ring_writer w = take_scribbled(&s.rings, 0);
    tell(&w, SCOPES_PATH, 1, (uint64_t[]){UINT64_C(1) << 32, 'a'}, 2);
    for (uint64_t i = 0; i < MANY; i++) {
        payload[1 + 2 * i] = 1 | (uint64_t)SCOPES_INTEGER << 32;
        payload[2 + 2 * i] = i;
    }
    tell(&w, SCOPES_ATTRS, 1, payload, 1 + 2 * MANY);
    scopes_poll(&s);
    assert_true(p->attrs.nodes.n <= 1 + SCOPES_ATTRS_MAX);
    assert_int_equal(s.facts.bad, 1);
    close_scopes(&s);
    profile_free(p);
}

/* --- scribbling while it is read --- */

struct vandal {
    void *at;
    size_t bytes;
    _Atomic bool stop;
};

static void *scribble(void *arg)
{
    struct vandal *v = arg;
    uint64_t x = 362436069362436069u;
    while (!v->stop) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        volatile uint64_t *words = v->at;
        words[(x >> 20) % (v->bytes / 8)] = x & 1 ? x : x & 0x0003000f;
    }
    return NULL;
}

/* What was taken can be written, and read again. */
static void write_and_read(struct profile *p)
{
    struct err err;
    struct recording_writer w;
    struct recording_mark mark = {0};
    struct recording_state got;
    struct reader in;
    char *bytes = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&bytes, &n);
    assert_int_equal(recording_writer_init(&w, out, &err), 0);
    assert_int_equal(recording_append(&w, p, &mark, &err), 0);
    assert_int_equal(recording_end(&w, p, &err), 0);
    recording_mark_done(&mark);
    recording_writer_done(&w);
    fclose(out);
    struct profile *again = profile_new();
    reader_open_memory(&in, bytes, n);
    if (recording_read(&in, again, &got, &err) != 0)
        fail_msg("%s", err.text);
    if (!got.complete)
        fail_msg("%s", got.why);
    reader_close(&in);
    profile_free(again);
    free(bytes);
}

/* Records of all kinds with small and large numbers in them. */
static void tell_nonsense(struct ring_writer *w, uint16_t n_kinds)
{
    uint64_t payload[12];
    size_t n = draw_number() % 12;
    for (size_t i = 0; i < 12; i++) {
        uint64_t x = draw_number();
        payload[i] = x % 3 ? x % 7 | (x >> 8) % 5 << 32 : x;
    }
    if (w->reserved - w->ring->tail + 2 * 8 * (n + 1) > w->size)
        return;
    tell(w, (uint16_t)(draw_number() % (n_kinds + 1)), (uint32_t)(draw_number() % 9), payload, n);
}

static void scribbled_scopes_are_survived(void **state)
{
    (void)state;
    struct scopes s;
    struct profile *p = profile_new();
    open_scopes(&s, p);
    struct vandal v = {.at = (char *)s.rings.channel + channel_rings_end(RINGS),
                       .bytes = RINGS * RING_BYTES};
    pthread_t thread;
    for (int round = 0; round < 200; round++) {
        struct ring_writer w[] = {take_scribbled(&s.rings, 0), take_scribbled(&s.rings, 1)};
        for (int i = 0; i < RINGS; i++)
            w[i].reserved = w[i].ring->tail;
        for (int i = 0; i < 400; i++)
            tell_nonsense(&w[i % 2], SCOPES_END);
        v.stop = round % 2 == 0;
        pthread_create(&thread, NULL, scribble, &v);
        for (int i = 0; i < 3; i++)
            scopes_poll(&s);
        v.stop = true;
        pthread_join(thread, NULL);
        w[1].ring->head = draw_number() % 3 ? w[1].ring->head + 8 * (draw_number() % 99) : seed;
        w[1].ring->tid = (int)(draw_number() % 3);
        w[1].ring->start_ns = draw_number();
        scopes_poll(&s);
        w[1].ring->state = (uint32_t)(draw_number() % 5);
    }
    scopes_write_points(&s, clock_monotonic_ns());
    scopes_describe(&s);
    write_and_read(p);
    close_scopes(&s);
    profile_free(p);
}

/* --- the heap --- */

static struct heap *open_heap(struct profile *p)
{
    struct err err;
    struct heap *h = mem_new(struct heap);
    *h = (struct heap){
        .opts = {.profile = p, .processes = processes_new(p), .blocks_max = UINT64_MAX}};
    open_few_rings(&h->rings);
    uint64_t size_bytes = stackwalk_trie_nodes_end(NODES);
    assert_int_equal(shared_open(&h->stacks.trie, "test", size_bytes, &err), 0);
    assert_int_equal(stackwalk_images_open(&h->stacks.images, &err), 0);
    h->stacks.spaces = processes_new(p);
    h->stacks.profile = p;
    heap_tally_init(&h->tally, p, &(struct heap_tally_opts){0});
    ticks_init(&h->clock);
    return h;
}

static void close_heap(struct heap *h)
{
    struct processes *ps = h->opts.processes;
    heap_close(h);
    processes_free(ps);
}

/* The table of live blocks is bounded: what comes when it is full is left out and counted. */
static void blocks_beyond_the_bound_are_left_out_and_counted(void **state)
{
    (void)state;
    struct profile *p = profile_new();
    struct heap *h = open_heap(p);
    struct ring_writer w = take_scribbled(&h->rings, 0);
    h->opts.blocks_max = 3;
    for (uint64_t i = 1; i <= 5; i++)
        tell(&w, HEAP_ALLOC_LARGE, 0, (uint64_t[]){i, i << 4, 100}, 3);
    tell(&w, HEAP_FREE, 1, (uint64_t[]){1 << 4}, 1);
    tell(&w, HEAP_FREE, 1, (uint64_t[]){5 << 4}, 1);
    tell(&w, HEAP_ALLOC_LARGE, 0, (uint64_t[]){9, 6 << 4, 100}, 3);
    heap_poll(h);
    heap_stop(h, 1);
    assert_int_equal(heap_facts(h)->no_room, 2);
    assert_int_equal(heap_facts(h)->lost, 2);
    assert_int_equal(heap_facts(h)->allocations, 4);
    assert_int_equal(heap_facts(h)->peak, 300);
    assert_int_equal(heap_facts(h)->leaked, 300);
    close_heap(h);
    profile_free(p);
}

/* A thread sleeps after it read the clock: its next block is not from before the last look. */
static void a_block_without_a_time_is_no_older_than_the_look_before_it(void **state)
{
    (void)state;
    struct profile *p = profile_new();
    struct heap *h = open_heap(p);
    struct ring_writer w = take_scribbled(&h->rings, 0);
    uint64_t first = ticks_now(&h->clock), block = UINT64_C(4096) << HEAP_SIZE_BITS | 16;
    tell(&w, HEAP_ALLOC, 0, (uint64_t[]){first, block}, 2);
    heap_poll(h);
    heap_poll(h);
    uint64_t looked = ticks_now(&h->clock);
    heap_poll(h);
    tell(&w, HEAP_ALLOC_SAME, 0, (uint64_t[]){block + (2 << HEAP_SIZE_BITS)}, 1);
    heap_poll(h);
    assert_true(h->by_ring.at[0].ticks >= looked);
    heap_stop(h, 1);
    assert_null(meta_find(&p->meta, META_HEAP_VAGUE_S));
    close_heap(h);
    profile_free(p);
}

/* The recorder had no CPU for so long that it cannot know when the block came: it says so. */
static void times_that_may_be_off_are_counted(void **state)
{
    (void)state;
    struct profile *p = profile_new();
    struct heap *h = open_heap(p);
    struct ring_writer w = take_scribbled(&h->rings, 0);
    uint64_t now = ticks_now(&h->clock), block = UINT64_C(4096) << HEAP_SIZE_BITS | 16;
    uint64_t second = ticks_at(&h->clock, h->clock.ns_0 + 1000000000) - h->clock.ticks_0;
    tell(&w, HEAP_ALLOC, 0, (uint64_t[]){now - second, block}, 2);
    tell(&w, HEAP_ALLOC_SAME, 0, (uint64_t[]){block + (2 << HEAP_SIZE_BITS)}, 1);
    tell(&w, HEAP_ALLOC, 0, (uint64_t[]){now - second / 2, block + (4 << HEAP_SIZE_BITS)}, 2);
    heap_poll(h);
    heap_stop(h, 1);
    const char *vague_s = meta_find(&p->meta, META_HEAP_VAGUE_S);
    assert_non_null(vague_s);
    assert_true(strtod(vague_s, NULL) > 0.4 && strtod(vague_s, NULL) < 0.6);
    close_heap(h);
    profile_free(p);
}

/* 2^63 bytes are soon together where a block has 2^48. */
static void sums_of_huge_blocks_do_not_wrap(void **state)
{
    (void)state;
    struct profile *p = profile_new();
    struct heap *h = open_heap(p);
    struct ring_writer w = take_scribbled(&h->rings, 0);
    for (uint64_t i = 1; i < 40000; i++) {
        tell(&w, HEAP_ALLOC_LARGE, 0, (uint64_t[]){i, i << 4, HEAP_POINTER_MASK}, 3);
        if (i % 64 == 0)
            heap_poll(h);
    }
    heap_stop(h, 1);
    assert_true(heap_facts(h)->allocated > 0);
    assert_true(heap_facts(h)->leaked > 0);
    assert_true(heap_facts(h)->peak > 0);
    write_and_read(p);
    close_heap(h);
    profile_free(p);
}

/* The recording goes on: nothing is negative in it, which its reader would refuse. */
static void a_free_taken_back_in_the_next_slice_can_be_read(void **state)
{
    (void)state;
    const uint64_t slice_ns = UINT64_C(1000000) * HEAP_SLICE_MS;
    struct profile *p = profile_new();
    struct heap_tally t;
    heap_tally_init(&t, p, &(struct heap_tally_opts){0});
    uint32_t site = heap_tally_new_site(&t, &(struct heap_site){0});
    heap_tally_time(&t, 1);
    heap_tally_alloc(&t, site, 100);
    heap_tally_free(&t, &(struct heap_free){.site = site, .size_bytes = 100});
    heap_tally_time(&t, 2 * slice_ns);
    heap_tally_unfree(&t, site, 100);
    heap_tally_time(&t, 4 * slice_ns);
    heap_tally_free(&t, &(struct heap_free){.site = site, .size_bytes = 100});
    heap_tally_end(&t, 5 * slice_ns);
    assert_int_equal(profile_stream(p, t.stream)->types[HEAP_FREES].total, 1);
    write_and_read(p);
    heap_tally_done(&t);
    profile_free(p);
}

static void a_scribbled_heap_is_survived(void **state)
{
    (void)state;
    struct profile *p = profile_new();
    struct heap *h = open_heap(p);
    struct vandal data = {.at = (char *)h->rings.channel + channel_rings_end(RINGS),
                          .bytes = RINGS * RING_BYTES};
    struct vandal nodes = {.at = (char *)h->stacks.trie.at + CHANNEL_PAGE, .bytes = NODES * 16};
    pthread_t threads[2];
    for (int round = 0; round < 200; round++) {
        struct ring_writer w[] = {take_scribbled(&h->rings, 0), take_scribbled(&h->rings, 1)};
        ((struct stackwalk_trie *)h->stacks.trie.at)->n =
            round % 7 ? NODES : (uint32_t)draw_number();
        for (int i = 0; i < RINGS; i++)
            w[i].reserved = w[i].ring->tail;
        for (int i = 0; i < 400; i++)
            tell_nonsense(&w[i % 2], HEAP_KINDS);
        for (uint32_t i = 1; i < NODES; i++)
            *stackwalk_trie_node(h->stacks.trie.at, i) =
                (struct stackwalk_node){.pc = draw_number(), .parent = i - 1};
        data.stop = nodes.stop = round % 2 == 0;
        pthread_create(&threads[0], NULL, scribble, &data);
        pthread_create(&threads[1], NULL, scribble, &nodes);
        for (int i = 0; i < 3; i++)
            heap_poll(h);
        data.stop = nodes.stop = true;
        pthread_join(threads[0], NULL);
        pthread_join(threads[1], NULL);
        w[1].ring->head = draw_number() % 3 ? w[1].ring->head + 8 * (draw_number() % 99) : seed;
        w[1].ring->pid = (int)(draw_number() % 3) + getpid();
        heap_poll(h);
        w[1].ring->state = (uint32_t)(draw_number() % 5);
    }
    heap_stop(h, 1);
    write_and_read(p);
    close_heap(h);
    profile_free(p);
}

/* --- locks --- */

static struct locks *open_locks(struct profile *p)
{
    struct err err;
    struct locks *l = mem_new(struct locks);
    *l = (struct locks){.opts = {.profile = p, .processes = processes_new(p)},
                        .stacks = STACKWALK_NONE};
    open_few_rings(&l->rings);
    l->stacks.profile = p;
    l->stacks.spaces = processes_new(p);
    assert_int_equal(shared_open(&l->stacks.trie, "test", stackwalk_trie_nodes_end(NODES), &err),
                     0);
    assert_int_equal(stackwalk_images_open(&l->stacks.images, &err), 0);
    ticks_init(&l->ticks);
    locks_add_streams(l);
    return l;
}

static void close_locks(struct locks *l)
{
    struct processes *ps = l->opts.processes;
    locks_close(l);
    processes_free(ps);
}

static uint64_t mutex_at(uint64_t address)
{
    return address | (uint64_t)LOCKS_MUTEX << LOCKS_KIND_SHIFT;
}

/* The first that lets go after a wait began is its holder, in whatever order the rings come. */
static void a_wait_meets_the_release_that_comes_later(void **state)
{
    (void)state;
    struct profile *p = profile_new();
    struct locks *l = open_locks(p);
    struct ring_writer waiter = take_scribbled(&l->rings, 0), holder = take_scribbled(&l->rings, 1);
    uint64_t now = ticks_now(&l->ticks);
    tell(&waiter, LOCKS_WAIT, 0, (uint64_t[]){now + 100, 500, mutex_at(4096), 0}, 4);
    tell(&waiter, LOCKS_WAIT, 0, (uint64_t[]){now + 700, 50, mutex_at(4096), 0}, 4);
    locks_poll(l);
    tell(&holder, LOCKS_RELEASE, 0, (uint64_t[]){now + 300, mutex_at(8192), 0}, 3);
    tell(&holder, LOCKS_RELEASE, 0, (uint64_t[]){now + 400, mutex_at(4096), 380}, 3);
    tell(&holder, LOCKS_RELEASE, 0, (uint64_t[]){now + 50, mutex_at(4096), 0}, 3);
    tell(&holder, LOCKS_RELEASE, 0, (uint64_t[]){1000, mutex_at(4096), 2000}, 3); /* nonsense */
    tell(&holder, LOCKS_CREATE, 0, (uint64_t[]){now + 10, mutex_at(4096)}, 2);
    tell(&holder, LOCKS_CREATE, 0, (uint64_t[]){now + 20, mutex_at(4096)}, 2); /* once more */
    tell(&holder, LOCKS_CREATE, 0, (uint64_t[]){now + 30, mutex_at(12288)}, 2);
    locks_stop(l);
    assert_int_equal(locks_facts(l)->waits, 2);
    assert_int_equal(locks_facts(l)->locks, 1);
    assert_int_equal(profile_stream(p, l->waits)->rows.n, 2);
    assert_int_equal(profile_stream(p, l->holders)->rows.n, 1);
    assert_int_equal(profile_stream(p, l->holders)->rows.value[1][0],
                     profile_stream(p, l->waits)->rows.value[1][0]);
    assert_int_equal(profile_stream(p, l->holds)->rows.n, 1);
    assert_int_equal(profile_stream(p, l->holds)->rows.duration_ns[0],
                     ticks_length_ns(&l->ticks, 380));
    assert_int_equal(profile_stream(p, l->created)->rows.n, 1); /* of what was waited for */
    assert_int_equal(l->facts.bad, 1);
    close_locks(l);
    profile_free(p);
}

/* The kernel took the holder's CPU away after it let go: it says so many looks later. */
static void a_wait_meets_a_release_that_comes_late(void **state)
{
    (void)state;
    struct profile *p = profile_new();
    struct locks *l = open_locks(p);
    struct ring_writer waiter = take_scribbled(&l->rings, 0), holder = take_scribbled(&l->rings, 1);
    uint64_t now = ticks_now(&l->ticks), second = ticks_at(&l->ticks, l->ticks.ns_0 + 1000000000);
    second -= l->ticks.ticks_0;
    tell(&waiter, LOCKS_WAIT, 0, (uint64_t[]){now, 500, mutex_at(4096), 0}, 4);
    tell(&waiter, LOCKS_WAIT, 0, (uint64_t[]){now - 2 * second, 500, mutex_at(8192), 0}, 4);
    for (int i = 0; i < 100; i++)
        locks_poll(l);
    assert_int_equal(profile_stream(p, l->waits)->rows.n, 1); /* that of two seconds ago */
    tell(&holder, LOCKS_RELEASE, 0, (uint64_t[]){now + 400, mutex_at(4096), 0}, 3);
    for (int i = 0; i < 100; i++)
        locks_poll(l);
    assert_int_equal(profile_stream(p, l->waits)->rows.n, 2);
    assert_int_equal(profile_stream(p, l->holders)->rows.n, 1);
    locks_stop(l);
    close_locks(l);
    profile_free(p);
}

static void more_locks_than_there_is_room_for_share_a_name(void **state)
{
    (void)state;
    struct profile *p = profile_new();
    struct locks *l = open_locks(p);
    struct ring_writer w = take_scribbled(&l->rings, 0);
    for (uint64_t i = 1; i <= LOCKS_MAX + 500; i++) {
        tell(&w, LOCKS_WAIT, 0, (uint64_t[]){i, 1, mutex_at(i * 64), 0}, 4);
        if (i % 64 == 0)
            locks_poll(l);
    }
    locks_stop(l);
    assert_int_equal(locks_facts(l)->waits, LOCKS_MAX + 500);
    assert_true(l->locks.n <= LOCKS_MAX + 1);
    close_locks(l);
    profile_free(p);
}

static void scribbled_locks_are_survived(void **state)
{
    (void)state;
    struct profile *p = profile_new();
    struct locks *l = open_locks(p);
    struct vandal data = {.at = (char *)l->rings.channel + channel_rings_end(RINGS),
                          .bytes = RINGS * RING_BYTES};
    pthread_t thread;
    for (int round = 0; round < 200; round++) {
        struct ring_writer w[] = {take_scribbled(&l->rings, 0), take_scribbled(&l->rings, 1)};
        ((struct stackwalk_trie *)l->stacks.trie.at)->n =
            round % 7 ? NODES : (uint32_t)draw_number();
        for (int i = 0; i < RINGS; i++)
            w[i].reserved = w[i].ring->tail;
        for (int i = 0; i < 400; i++)
            tell_nonsense(&w[i % 2], LOCKS_NAME);
        for (uint32_t i = 1; i < NODES; i++)
            *stackwalk_trie_node(l->stacks.trie.at, i) =
                (struct stackwalk_node){.pc = draw_number(), .parent = i - 1};
        data.stop = round % 2 == 0;
        pthread_create(&thread, NULL, scribble, &data);
        for (int i = 0; i < 3; i++)
            locks_poll(l);
        data.stop = true;
        pthread_join(thread, NULL);
        w[1].ring->head = draw_number() % 3 ? w[1].ring->head + 8 * (draw_number() % 99) : seed;
        w[1].ring->pid = (int)(draw_number() % 3) + getpid();
        w[1].ring->start_ns = draw_number();
        locks_poll(l);
        w[1].ring->state = (uint32_t)(draw_number() % 5);
    }
    locks_stop(l);
    write_and_read(p);
    close_locks(l);
    profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tail_in_the_middle_of_a_word_reads_nothing_behind_the_end),
        cmocka_unit_test(a_record_stays_as_it_was_when_it_was_looked_at),
        cmocka_unit_test(a_name_below_itself_makes_no_endless_stack),
        cmocka_unit_test(a_record_has_no_more_attributes_than_the_header_allows),
        cmocka_unit_test(scribbled_scopes_are_survived),
        cmocka_unit_test(a_block_without_a_time_is_no_older_than_the_look_before_it),
        cmocka_unit_test(times_that_may_be_off_are_counted),
        cmocka_unit_test(sums_of_huge_blocks_do_not_wrap),
        cmocka_unit_test(blocks_beyond_the_bound_are_left_out_and_counted),
        cmocka_unit_test(a_free_taken_back_in_the_next_slice_can_be_read),
        cmocka_unit_test(a_scribbled_heap_is_survived),
        cmocka_unit_test(a_wait_meets_the_release_that_comes_later),
        cmocka_unit_test(a_wait_meets_a_release_that_comes_late),
        cmocka_unit_test(more_locks_than_there_is_room_for_share_a_name),
        cmocka_unit_test(scribbled_locks_are_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
