/*
 * test_model_numbers.c - made-up profiles appended, joined and asked, and made-up heaps, number by
 * number.
 *
 * As test_analysis_numbers.c: of sentences only their numbers count.
 */
#include "model/append.h"
#include "model/event.h"
#include "model/heap_live.h"
#include "model/heap_tally.h"
#include "model/modules.h"
#include "model/quantity.h"
#include "model/waitstream.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model_numbers_expected.h"
#include "support.h"
#include "support_numbers.h"

/* --- profiles --- */

static struct str_id word(struct profile *p, uint64_t *seed, const char *what, uint32_t n)
{
    autofree char *text = mem_printf("%s%u", what, numbers_random(seed, n));
    return profile_add_str(p, text_of(text));
}

static struct frame_id made_frame(struct profile *p, uint64_t *seed)
{
    struct mapping m = {.path = word(p, seed, "/lib/lib", 3), .build_id = word(p, seed, "ab", 2)};
    m.start = 4096 * numbers_random(seed, 3);
    m.end = m.start + 4096;
    m.offset = 16 * numbers_random(seed, 2);
    struct frame_key key = {.pc = numbers_random(seed, 40), .mapping = profile_add_mapping(p, &m)};
    struct line lines[2];
    key.n_lines = numbers_random(seed, 3);
    key.lines = lines;
    key.kind = (enum frame_kind)numbers_random(seed, 2);
    for (size_t i = 0; i < key.n_lines; i++) {
        struct function f = {.name = word(p, seed, "f", 9)};
        f.system_name = word(p, seed, "_Z", 2);
        f.file = word(p, seed, "a.c", 2);
        f.line = numbers_random(seed, 3);
        lines[i].function = profile_add_function(p, &f);
        lines[i].line = numbers_random(seed, 4);
        lines[i].column = numbers_random(seed, 2);
    }
    return profile_add_frame(p, &key);
}

static struct attrs_id made_attrs(struct profile *p, uint64_t *seed)
{
    struct attrs_id id = {0};
    for (uint32_t n = numbers_random(seed, 3); n-- > 0;) {
        struct attr a = {.key = word(p, seed, "key", 3)};
        a.is_number = numbers_random(seed, 2);
        if (a.is_number) {
            a.number = (int64_t)numbers_random(seed, 5) - 2;
            a.unit = word(p, seed, "unit", 2);
        } else {
            a.text = word(p, seed, "text", 3);
        }
        id = attrs_add(&p->attrs, id, &a);
    }
    return id;
}

static void add_rows(struct profile *p, int stream, uint64_t *seed, bool timed)
{
    int types = profile_stream(p, stream)->n_types;
    for (uint32_t n = 5 + numbers_random(seed, 30); n-- > 0;) {
        struct err err;
        int64_t values[STREAM_MAX_TYPES];
        struct frame_id frames[4];
        size_t depth = numbers_random(seed, 4);
        for (size_t i = 0; i < depth; i++)
            frames[i] = made_frame(p, seed);
        for (int i = 0; i < types; i++)
            values[i] = numbers_random(seed, 100);
        struct row r = {
            .stack = stacks_intern(&p->stacks, frames, depth), .has_time = timed, .values = values};
        struct thread_key t = {.name = word(p, seed, "thread", 3)};
        t.pid = (int32_t)(10 + numbers_random(seed, 2));
        t.tid = (int32_t)(100 + numbers_random(seed, 3));
        r.thread = profile_add_thread(p, &t);
        r.attrs = made_attrs(p, seed);
        r.time_ns = timed ? 1000 + numbers_random(seed, 1000) : 0;
        r.duration_ns = timed && stream ? numbers_random(seed, 50) : 0;
        assert_int_equal(profile_add_row(p, stream, &r, &err), 0);
    }
}

/* SHAPE: what streams there are; RUN: what is in them. */
static struct profile *made_profile(uint64_t shape, uint64_t run)
{
    struct profile *p = profile_new();
    uint64_t seed = shape * 1000 + run;
    p->merge_rows = shape % 4 == 3;
    support_value(p, "cpu-clock", "samples", "count");
    support_value(p, "cpu-clock", "cpu", "nanoseconds");
    if (shape % 2) {
        profile_add_stream(p, "page-faults", BY_SOFTWARE_EVENT);
        profile_add_value(p, 1, "samples", "count");
    }
    struct process process = {.pid = 10,
                              .executable = profile_add_str(p, text_of("/bin/app")),
                              .start_ns = 900 + run,
                              .end_ns = 5000};
    profile_add_process(p, &process);
    for (int i = 0; i < (int)p->streams.n; i++) {
        add_rows(p, i, &seed, shape % 4 != 3);
        struct stream *s = profile_stream(p, i);
        s->lost_known = run % 3;
        s->lost = run;
        s->throttled = run % 2;
        s->guessed = run % 4;
        s->rate_hz = 999;
        s->rate_achieved_hz = (double)(900 + run);
        if (run % 2)
            profile_set_unfinished(p, i, run % 4 == 1 ? "cut" : "no rule", 2 + run);
    }
    int count = profile_add_counter(p, "tokens", UNIT_COUNT, (struct process_id){0});
    int gauge = profile_add_counter(p, shape % 3 ? "queue" : "depth", "", (struct process_id){0});
    for (uint64_t i = 0; i < 3 + run % 3; i++) {
        profile_add_point(p, count, 1000 + 10 * i, (int64_t)(i * (run + 1)));
        profile_add_point(p, gauge, 1001 + 10 * i, (int64_t)(i * i));
    }
    p->clock = (struct clock_pair){run, 2 * run};
    meta_set_str(&p->meta, META_COMMAND, "./app");
    meta_set_str(&p->meta, META_HOST, run % 5 ? "one" : "two");
    meta_set_str(&p->meta, META_DURATION_NS, run % 2 ? "1000" : "2500");
    meta_set_str(&p->meta, META_CPU_TIME_NS, "700");
    return p;
}

static void add_stream(struct buf *b, const struct profile *p, const struct stream *s)
{
    buf_printf(b, " '%.*s' %d %g %g %d %llu %llu %d %llu", TEXT_ARG(profile_str(p, s->event)),
               s->obtained, s->rate_hz, s->rate_achieved_hz, s->lost_known,
               (unsigned long long)s->lost, (unsigned long long)s->throttled, s->unfinished_known,
               (unsigned long long)s->guessed);
    for (int i = 0; i < s->n_unfinished; i++)
        buf_printf(b, " %llu", (unsigned long long)s->unfinished[i].n);
    for (int i = 0; i < s->n_types; i++)
        buf_printf(b, " %.*s %lld", TEXT_ARG(profile_str(p, s->types[i].name)),
                   (long long)s->types[i].total);
    for (size_t i = 0; i < s->rows.n; i++) {
        buf_printf(b, " %u %u %llu %llu %u", s->rows.stack[i].i, s->rows.thread[i].i,
                   s->rows.time_ns ? (unsigned long long)s->rows.time_ns[i] : 7,
                   s->rows.duration_ns ? (unsigned long long)s->rows.duration_ns[i] : 7,
                   s->rows.attrs ? s->rows.attrs[i].i : 7);
        for (int k = 0; k < s->n_types; k++)
            buf_printf(b, " %lld", (long long)s->rows.value[k][i]);
    }
}

/* Everything in it, as a hash; how much of each as numbers. */
static void add_profile(struct buf *to, const struct profile *p)
{
    autobuf struct buf b = {0};
    uint64_t hash = NUMBERS_HASH_START;
    for (size_t i = 0; i < p->mappings.n; i++)
        buf_printf(
            &b, " %.*s %.*s %llu %llu %llu", TEXT_ARG(profile_str(p, p->mappings.at[i].path)),
            TEXT_ARG(profile_str(p, p->mappings.at[i].build_id)),
            (unsigned long long)p->mappings.at[i].start, (unsigned long long)p->mappings.at[i].end,
            (unsigned long long)p->mappings.at[i].offset);
    for (size_t i = 0; i < p->functions.n; i++)
        buf_printf(&b, " %.*s %.*s %.*s %u", TEXT_ARG(profile_str(p, p->functions.at[i].name)),
                   TEXT_ARG(profile_str(p, p->functions.at[i].system_name)),
                   TEXT_ARG(profile_str(p, p->functions.at[i].file)), p->functions.at[i].line);
    for (size_t i = 0; i < p->frames.n; i++) {
        const struct frame *f = &p->frames.at[i];
        buf_printf(&b, " %llu %u %u", (unsigned long long)f->pc, f->mapping.i, f->kind);
        for (size_t k = 0; k < f->n_lines; k++)
            buf_printf(&b, " %u %u %u", p->lines.at[f->first_line + k].function.i,
                       p->lines.at[f->first_line + k].line, p->lines.at[f->first_line + k].column);
    }
    for (size_t i = 1; i < p->stacks.nodes.n; i++)
        buf_printf(&b, " %u %u", p->stacks.nodes.at[i].parent.i, p->stacks.nodes.at[i].frame.i);
    for (size_t i = 1; i < p->attrs.nodes.n; i++) {
        const struct attr *a = &p->attrs.nodes.at[i].attr;
        buf_printf(&b, " %u %.*s", p->attrs.nodes.at[i].parent.i, TEXT_ARG(profile_str(p, a->key)));
        if (a->is_number)
            buf_printf(&b, " %lld %.*s", (long long)a->number, TEXT_ARG(profile_str(p, a->unit)));
        else
            buf_printf(&b, " %.*s", TEXT_ARG(profile_str(p, a->text)));
    }
    for (size_t i = 0; i < p->threads.n; i++)
        buf_printf(&b, " %u %d %.*s", p->threads.at[i].process.i, p->threads.at[i].tid,
                   TEXT_ARG(profile_str(p, p->threads.at[i].name)));
    for (size_t i = 0; i < p->processes.n; i++)
        buf_printf(&b, " %d %u %llu %llu", p->processes.at[i].pid, p->processes.at[i].parent.i,
                   (unsigned long long)p->processes.at[i].start_ns,
                   (unsigned long long)p->processes.at[i].end_ns);
    for (size_t i = 0; i < p->streams.n; i++)
        add_stream(&b, p, p->streams.at[i]);
    for (size_t i = 0; i < p->counters.n; i++) {
        buf_printf(&b, " %.*s %u", TEXT_ARG(profile_str(p, p->counters.at[i].name)),
                   p->counters.at[i].process.i);
        for (size_t k = 0; k < p->counters.at[i].points.n; k++)
            buf_printf(&b, " %llu:%lld", (unsigned long long)p->counters.at[i].points.at[k].time_ns,
                       (long long)p->counters.at[i].points.at[k].value);
    }
    for (size_t i = 0; i < p->meta.entries.n; i++)
        buf_printf(&b, " %s=%s", p->meta.entries.at[i].key, p->meta.entries.at[i].value);
    for (size_t i = 0; i < b.n; i++)
        hash = numbers_hash(hash, (uint8_t)b.at[i]);
    buf_printf(to,
               "%zu mappings, %zu functions, %zu frames, %zu stacks, %zu attributes, %zu threads, "
               "%zu processes, %zu streams, "
               "%zu rows, %zu counters: %016llx\n",
               p->mappings.n, p->functions.n, p->frames.n, p->stacks.nodes.n, p->attrs.nodes.n,
               p->threads.n, p->processes.n, p->streams.n, profile_count_rows(p), p->counters.n,
               (unsigned long long)hash);
}

static void numbers_of_appended(struct buf *b)
{
    for (uint64_t k = 0; k < 32; k++) {
        struct profile *to = made_profile(k % 8, k),
                       *from = made_profile(k % 5 == 4 ? k % 8 + 1 : k % 8, k + 3);
        struct err err;
        int rc = profile_append(to, from, &err);
        buf_printf(b, "append %llu: %d ", (unsigned long long)k, rc);
        add_profile(b, to);
        if (rc == 0 && profile_append(to, from, &err) == 0)
            add_profile(b, to);
        profile_free(to);
        profile_free(from);
    }
}

static void numbers_of_joined(struct buf *b)
{
    for (uint64_t k = 0; k < 12; k++) {
        struct profile *p = made_profile(k % 4 * 2, k);
        struct err err;
        uint64_t seed = k;
        for (int i = 0; i < 2; i++) {
            int s = profile_add_stream(p, i ? "cpu-clock" : "cycles",
                                       i ? BY_SOFTWARE_CLOCK : BY_HARDWARE);
            profile_add_value(p, s, "samples", "count");
            profile_add_value(p, s, "cpu", "nanoseconds");
            add_rows(p, s, &seed, k % 3 > 0);
            profile_stream(p, s)->lost = 5;
            profile_stream(p, s)->lost_known = i;
            profile_set_unfinished(p, s, i ? "cut" : "another", 4);
        }
        buf_printf(b, "join %llu: %d ", (unsigned long long)k, profile_join_streams(p, 0, 2, &err));
        add_profile(b, p);
        struct modules m;
        modules_build(&m, p);
        for (size_t i = 0; i < m.list.n; i++)
            buf_printf(b, "%s%u %zu/%zu%s", i ? "" : "modules ", m.list.at[i].path.i,
                       m.list.at[i].named, m.list.at[i].frames, i + 1 < m.list.n ? ", " : "\n");
        modules_done(&m);
        profile_forget_rows(p);
        buf_printf(b, "forgotten: %zu rows\n", profile_count_rows(p));
        profile_free(p);
    }
}

static void numbers_of_events(struct buf *b)
{
    static const char *const events[] = {"cycles",
                                         "cycles:u",
                                         "cpu-cycles:ppp",
                                         "instructions",
                                         "cpu-clock",
                                         "task-clock:u",
                                         "page-faults",
                                         "cs",
                                         "sched:sched_switch",
                                         "probe:x",
                                         "cpu/event=0x3c/pp",
                                         "cpu_core/cycles/",
                                         "cpu_atom/cycles/u",
                                         "cpu_core/cycles/Pu",
                                         "",
                                         ":",
                                         "LLC-load-misses",
                                         "alignment-faults",
                                         "syscalls:sys_enter_read:k",
                                         "armv8_pmuv3_0/cycles/",
                                         "branch-misses:u",
                                         "migrations",
                                         "dummy",
                                         "bpf-output",
                                         "raw 0x1c2",
                                         "r1c2",
                                         "mem-loads",
                                         "heap",
                                         "scopes"};
    static const char *const values[][2] = {{"samples", "count"},     {"cpu", "nanoseconds"},
                                            {"inuse_space", "bytes"}, {"alloc_objects", "count"},
                                            {"delay", "nanoseconds"}, {"contentions", "count"},
                                            {"Ir", "events"},         {"period", "count"},
                                            {"weight", ""},           {"wall", "microseconds"}};
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        struct text e = text_of(events[i]);
        char all[EVENT_NAME_MAX] = "";
        bool cores = event_of_all_cores(e, all);
        buf_printf(b, "event '%s': bare '%.*s' %d %d %d %d '%s'", events[i],
                   TEXT_ARG(event_bare_name(e)), event_is_tracepoint(e), event_obtained(e),
                   event_dimension(e), cores, cores ? all : "");
        for (size_t k = 0; k < sizeof values / sizeof *values; k++) {
            struct profile *p = profile_new();
            support_value(p, events[i], values[k][0], values[k][1]);
            const struct value_type *t = profile_value(p, (struct value_ref){0, 0});
            buf_printf(b, " %d%d%d%d", quantity_of(p, (struct value_ref){0, 0}), t->dimension,
                       t->role, simulated_of(p, t));
            profile_free(p);
        }
        buf_str(b, "\n");
    }
    for (int i = 0; i < OBTAINED_WAYS; i++)
        buf_printf(b, "obtained %d: %d\n", i,
                   obtained_find(text_of(obtained_name((enum obtained)i))));
}

static void numbers_of_choices(struct buf *b)
{
    static const char *const words[] = {NULL,          "samples", "weight", "cpu", "cpu-clock",
                                        "page-faults", "cycles",  "tokens", ""};
    for (uint64_t shape = 0; shape < 3; shape++) {
        struct profile *p = made_profile(shape, 1);
        if (shape == 2)
            p->default_value = (struct value_ref){0, 0};
        for (size_t i = 0; i < 9; i++)
            for (size_t k = 0; k < 9; k++) {
                struct value_ref ref = {-7, -7};
                struct err err;
                int rc = profile_pick_value(p, words[i], words[k], &ref, &err);
                buf_printf(b, "%s%d", k ? " " : "pick ", rc);
                if (rc == 0)
                    buf_printf(b, ":%d.%d", ref.stream, ref.type);
                buf_str(b, k < 8 ? "" : "\n");
            }
        profile_free(p);
    }
}

/* --- heaps --- */

static void numbers_of_heaps(struct buf *b)
{
    for (uint64_t k = 0; k < 12; k++) {
        struct profile *p = profile_new();
        struct heap_tally t;
        struct heap_live live = {0};
        uint64_t seed = k, ns = 1000000;
        struct frame_id frame = profile_add_named_frame(p, text_of("f"), FRAME_USER);
        heap_tally_init(&t, p, &(struct heap_tally_opts){k % 3 == 2 ? 4096 : 0});
        for (size_t i = 0; i < 5; i++) {
            struct heap_site site = {.stack = stacks_intern(&p->stacks, &frame, i % 2),
                                     .end = (uint8_t)(i % 3)};
            heap_tally_new_site(&t, &site);
        }
        for (size_t i = 0; i < 600; i++) {
            struct heap_block block = {.address = 16 * (1 + numbers_random(&seed, 60)),
                                       .ticks = ns},
                              old;
            ns += numbers_random(&seed, 900000);
            t.now = i;
            heap_tally_time(&t, ns);
            block.size_bytes = 1 + numbers_random(&seed, 5000);
            block.site = numbers_random(&seed, 5);
            uint32_t what = numbers_random(&seed, 9);
            if (what < 4 && heap_live_add(&live, &block, &old))
                heap_tally_alloc(&t, block.site, block.size_bytes);
            else if (what < 4)
                buf_printf(b, "%s%llu", i % 9 ? "" : " ", (unsigned long long)old.size_bytes % 10);
            else if (heap_live_take(&live, block.address, &old)) {
                struct heap_free f = {
                    .site = old.site, .size_bytes = old.size_bytes, .temporary = what == 5};
                f.lifetime_ns = what == 6 ? HEAP_LIFETIME_UNKNOWN : ns - old.ticks;
                heap_tally_free(&t, &f);
                if (what == 8) {
                    heap_tally_unfree(&t, old.site, old.size_bytes);
                    heap_live_add(&live, &old, &block);
                }
            }
        }
        buf_printf(b, "\nheap %llu: live %zu %lld %lld, peak %lld at %llu, slice ends %llu\n",
                   (unsigned long long)k, live.n, (long long)t.live_bytes, (long long)t.live_blocks,
                   (long long)t.peak_bytes, (unsigned long long)t.peak_at,
                   (unsigned long long)heap_tally_slice_end(&t));
        struct heap_block left;
        for (size_t at = 0; heap_live_next(&live, &at, &left);)
            heap_tally_leak(&t, left.site, left.size_bytes);
        t.peak_ns = 2000000;
        heap_tally_end(&t, ns + 5);
        for (int i = 0; i < HEAP_COLUMNS; i++)
            buf_printf(b, " %lld", (long long)t.total[i]);
        buf_str(b, " ");
        heap_tally_done(&t);
        add_profile(b, p);
        heap_live_done(&live);
        profile_free(p);
    }
}

static const struct numbers_part parts[] = {NUMBERS_PART(appended), NUMBERS_PART(joined),
                                            NUMBERS_PART(events), NUMBERS_PART(choices),
                                            NUMBERS_PART(heaps)};

/* So many that some have the same hash: they must still be told apart. */
static void what_has_the_same_hash_is_not_the_same(void **state)
{
    (void)state;
    enum { MANY = 300000 };
    struct profile *p = profile_new();
    struct function f = {.name = profile_add_str(p, text_of("f"))};
    struct function_id function = profile_add_function(p, &f);
    size_t frames = p->frames.n, functions = p->functions.n, mappings = p->mappings.n;
    for (uint32_t i = 1; i <= MANY; i++) {
        struct line line = {function, i, 7}, other = {function, 7, i};
        struct mapping m = {.path = f.name, .start = i, .end = 1u << 31};
        f.line = i;
        profile_add_frame(p, &(struct frame_key){.pc = (uint64_t)i << 20});
        profile_add_frame(p, &(struct frame_key){.pc = 5, .lines = &line, .n_lines = 1});
        profile_add_frame(p, &(struct frame_key){.pc = 6, .lines = &other, .n_lines = 1});
        profile_add_function(p, &f);
        profile_add_mapping(p, &m);
    }
    assert_int_equal(p->frames.n, frames + 3 * MANY);
    assert_int_equal(p->functions.n, functions + MANY);
    assert_int_equal(p->mappings.n, mappings + MANY);
    profile_free(p);
}

int main(int argc, char **argv)
{
    (void)argv;
    struct numbers_parts all = {parts, sizeof parts / sizeof *parts};
    const struct CMUnitTest tests[] = {cmocka_unit_test_prestate(every_number_is_as_it_was, &all),
                                       cmocka_unit_test(what_has_the_same_hash_is_not_the_same)};
    return argc > 1 ? numbers_write("model_numbers", all.at, all.n)
                    : cmocka_run_group_tests(tests, NULL, NULL);
}
