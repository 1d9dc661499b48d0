/*
 * test_analysis_numbers.c - what analysis makes of made-up profiles, number by number.
 *
 * Other tests look at one thing in a small profile. Here are many profiles with all that real ones
 * have: threads, kernel and inlined functions, recursion, code without names, times, weights that
 * differ. Every number of every list, tree, share, insight and comparison must be what it was when
 * those tests held. Of sentences only their numbers count, so that words may change.
 */
#include "analysis/calltree.h"
#include "analysis/diff.h"
#include "analysis/extract.h"
#include "analysis/flat.h"
#include "analysis/heat.h"
#include "analysis/insight.h"
#include "analysis/quality.h"
#include "analysis/runcost.h"
#include "analysis/runshares.h"
#include "analysis/scaling.h"
#include "analysis/treeshare.h"
#include "model/append.h"
#include "model/modules.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis_numbers_expected.h"
#include "support.h"
#include "support_numbers.h"

/* --- made-up profiles --- */

static const char *const user_names[] = {
    "main",
    "serve",
    "parse",
    "walk",
    "compare",
    "render",
    "checksum",
    "sort_items",
    "malloc",
    "_int_malloc",
    "free",
    "__memcpy_avx_unaligned",
    "pthread_mutex_lock",
    "hash_name",
    "snprintf",
    "__cxa_throw",
    "_PyEval_EvalFrameDefault",
    "std::map<int, item>::find(int const&)",
    "[prog+0x20]",
    "[libx.so+0x5e30]",
    "read",
    "start_thread",
};
static const char *const kernel_names[] = {
    "entry_SYSCALL_64_after_hwframe",
    "do_syscall_64",
    "vfs_read",
    "copyout",
    "asm_exc_page_fault",
    "clear_page",
    "finish_task_switch",
    "hrtimer_interrupt",
    "_raw_spin_unlock_irqrestore",
};

enum { FRAMES = 60, STACKS = 70, USER = 22, KERNEL = 9 };

struct world {
    struct profile *p;
    uint64_t seed;
    struct frame_id frames[FRAMES];
    struct stack_id stacks[STACKS];
    struct thread_id threads[5];
};

static struct line make_line(struct world *w, bool kernel)
{
    const char *name = kernel ? kernel_names[numbers_random(&w->seed, KERNEL)]
                              : user_names[numbers_random(&w->seed, USER)];
    struct function f = {
        .name = profile_add_str(w->p, text_of(name)),
        .file = profile_add_str(w->p, text_of(numbers_random(&w->seed, 2) ? "a.c" : "b.c")),
        .line = 10};
    return (struct line){profile_add_function(w->p, &f), 10 + numbers_random(&w->seed, 5), 0};
}

static void make_frames(struct world *w)
{
    static const char *const paths[] = {"/opt/shop", "/lib/libc.so.6", "/lib/libx.so",
                                        "[kernel.kallsyms]"};
    struct mapping_id mappings[4];
    for (size_t i = 0; i < 4; i++) {
        struct mapping m = {.path = profile_add_str(w->p, text_of(paths[i])),
                            .start = 0x1000 * (i + 1),
                            .end = 0x1000 * (i + 2)};
        mappings[i] = profile_add_mapping(w->p, &m);
    }
    for (size_t i = 0; i < FRAMES; i++) {
        bool kernel = i % 6 == 5;
        struct line lines[3];
        size_t n = i % 11 == 7 ? 0 : i % 4 == 1 ? 1 + numbers_random(&w->seed, 3) : 1;
        for (size_t k = 0; k < n; k++)
            lines[k] = make_line(w, kernel);
        struct frame_key key = {.pc = i % 13 == 3 ? 0 : 0x1000 + i * 16,
                                .mapping =
                                    kernel ? mappings[3] : mappings[numbers_random(&w->seed, 3)],
                                .kind = kernel        ? FRAME_KERNEL
                                        : i % 17 == 2 ? FRAME_JIT
                                        : i % 19 == 4 ? FRAME_INLINED
                                                      : FRAME_USER,
                                .lines = lines,
                                .n_lines = n};
        w->frames[i] = profile_add_frame(w->p, &key);
    }
}

static void make_stacks(struct world *w)
{
    for (size_t i = 1; i < STACKS; i++) {
        struct stack_id s = w->stacks[numbers_random(&w->seed, (uint32_t)i)];
        for (uint32_t n = 1 + numbers_random(&w->seed, 3); n-- > 0;) {
            struct frame_id frame = w->frames[numbers_random(&w->seed, FRAMES)];
            s = stacks_push(&w->p->stacks, s, frame);
            if (numbers_random(&w->seed, 5) == 0)
                s = stacks_push(&w->p->stacks, s, frame);
        }
        w->stacks[i] = s;
    }
}

static void make_threads(struct world *w)
{
    static const char *const names[] = {"shop", "painter", "sorter", "shop", "worker one"};
    for (int i = 0; i < 5; i++) {
        struct thread_key key = {profile_add_str(w->p, text_of(names[i])), i < 3 ? 100 : 200,
                                 100 * (1 + i / 3) + i};
        w->threads[i] = profile_add_thread(w->p, &key);
    }
}

static void make_meta(struct world *w, uint32_t kind)
{
    struct meta *m = &w->p->meta;
    struct stream *s = profile_stream(w->p, 0);
    meta_set_str(m, META_DURATION_NS, kind % 2 ? "3000000000" : "900000000");
    meta_set_str(m, META_CPU_TIME_NS, kind % 3 ? "700000000" : "2900000000");
    if (kind % 4)
        meta_set_str(m, META_LOAD, kind % 4 == 1 ? "0.10 0.20 0.10" : "9.50 8.00 7.00");
    meta_set_str(m, META_CPUS, kind % 5 ? "2 online, 2 usable" : "8 online, 8 usable");
    if (kind % 3 == 1)
        meta_set_str(m, META_QUEUED_NS, kind % 2 ? "0" : "400000000");
    meta_set_str(m, META_EXIT_STATUS, kind % 7 == 6 ? "1" : "0");
    s->lost_known = kind % 2;
    s->lost = kind % 4 == 3 ? 40 : 0;
    if (kind % 5 == 2)
        profile_set_unfinished(w->p, 0, "the stack was cut", 30);
}

/* SHAPE decides what there is, RUN how often each is met. */
static struct profile *world_new(uint64_t shape, uint64_t run, size_t rows)
{
    struct world w = {.p = profile_new(), .seed = shape};
    support_value(w.p, shape % 4 == 3 ? "page-faults" : "cpu-clock", "samples", "count");
    if (shape % 2)
        support_value(w.p, "cpu-clock", "cpu", "nanoseconds");
    make_frames(&w);
    make_stacks(&w);
    make_threads(&w);
    uint32_t often[STACKS];
    for (size_t i = 0; i < STACKS; i++)
        often[i] = numbers_random(&w.seed, 100);
    w.seed = run;
    for (size_t i = 0; i < rows; i++) {
        struct err err;
        int64_t values[] = {1, 900000 + numbers_random(&w.seed, 200000)};
        uint32_t at = numbers_random(&w.seed, STACKS);
        while (often[at] < numbers_random(&w.seed, 100))
            at = numbers_random(&w.seed, STACKS);
        struct row row = {.stack = w.stacks[i % 50 < 9 ? i / 50 % STACKS : at],
                          .thread = w.threads[numbers_random(&w.seed, 5)],
                          .has_time = shape % 3 != 2,
                          .values = values};
        row.time_ns = 5000000 + i * 1000000 + numbers_random(&w.seed, 900000);
        assert_int_equal(profile_add_row(w.p, 0, &row, &err), 0);
    }
    make_meta(&w, (uint32_t)shape);
    return w.p;
}

static struct selection world_all(const struct profile *p, uint64_t shape)
{
    return selection_all(p, (struct value_ref){0, shape % 2 ? 1 : 0});
}

/* --- numbers --- */

static void add_share(struct buf *b, const struct flat_share *s)
{
    buf_printf(b, " %.5g (%.5g %.5g %.5g)", s->share, s->interval.low, s->interval.high,
               s->n_effective);
}

/* Long ones as a hash. */
static void add_hash(struct buf *b, const char *what, const struct buf *lines)
{
    uint64_t hash = NUMBERS_HASH_START;
    for (size_t i = 0; i < lines->n; i++)
        hash = numbers_hash(hash, (uint8_t)lines->at[i]);
    buf_printf(b, "%s %016llx\n", what, (unsigned long long)hash);
}

static void numbers_of_lists(struct buf *b)
{
    static const char *const names[] = {"functions", "modules", "threads", "lines"};
    for (uint64_t shape = 1; shape <= 24; shape++) {
        struct profile *p = world_new(shape, shape, shape % 5 == 4 ? 1 : 150 * (shape % 4 + 1));
        struct selection s = world_all(p, shape);
        struct quality q = quality_of(&s);
        buf_printf(b, "quality %d %lld %zu %zu %.6g %.6g %.6g %.6g %d %llu %llu\n", q.has_samples,
                   (long long)q.samples, q.distinct_stacks, q.max_depth, q.mean_depth,
                   q.unnamed_share, q.empty_share, q.sampled_share, q.has_time,
                   (unsigned long long)q.first_ns, (unsigned long long)q.last_ns);
        for (int by = FLAT_FUNCTION; by <= FLAT_LINE; by++) {
            struct flat *f = flat_build(&s, (enum flat_by)by);
            autobuf struct buf all = {0};
            uint32_t rows[300];
            size_t n = flat_top(f, FLAT_SELF, shape % 2 ? 300 : 7, rows);
            for (size_t i = 0; i < n; i++)
                buf_printf(&all, " %.*s", TEXT_ARG(flat_name(f, rows[i])));
            for (uint32_t i = 0; i < f->rows.n; i++) {
                const struct flat_row *r = &f->rows.at[i];
                struct flat_share self = flat_share_of_row(f, i, FLAT_SELF);
                struct flat_share total = flat_share_of_row(f, i, FLAT_TOTAL);
                buf_printf(&all, "%.*s %d %u %lld %lld %lld %lld %u %d", TEXT_ARG(flat_name(f, i)),
                           r->kernel, r->mapping.i, (long long)r->self, (long long)r->total,
                           (long long)r->self_count, (long long)r->total_count, r->nested,
                           flat_is_passed_through(f, i));
                add_share(&all, &self);
                add_share(&all, &total);
            }
            bool set[300] = {false};
            for (uint32_t i = 0; i < f->rows.n; i += 5)
                set[i] = true;
            struct flat_share part = flat_share_of_set(f, set, FLAT_TOTAL);
            add_share(&all, &part);
            if (by == FLAT_FUNCTION) {
                struct flat_calls c = flat_calls_of_set(f, set);
                buf_printf(&all, " %lld %lld", (long long)c.from_nothing, (long long)c.self);
                for (uint32_t i = 0; i < f->rows.n; i++) {
                    struct flat_share from = flat_share_of_calls(f, c.caller_of, i);
                    buf_printf(&all, " %lld %lld", (long long)c.callers[i],
                               (long long)c.callees[i]);
                    add_share(&all, &from);
                }
                flat_calls_done(&c);
            }
            buf_printf(b, "%llu %zu ", (unsigned long long)shape, f->rows.n);
            add_hash(b, names[by], &all);
            flat_free(f);
        }
        profile_free(p);
    }
}

static void numbers_of_insights(struct buf *b)
{
    for (uint64_t shape = 1; shape <= 60; shape++) {
        struct profile *p = world_new(shape, shape, shape % 9 == 8 ? 60 : 700);
        struct selection s = world_all(p, shape);
        struct quality q = quality_of(&s);
        struct flat *f = flat_build(&s, FLAT_FUNCTION);
        struct insights all =
            insights_build(&(struct insight_input){.functions = f, .quality = &q});
        struct runcost cost = runcost_of(&s);
        buf_printf(b, "insights %llu: cost %d %.6g", (unsigned long long)shape, cost.kind,
                   cost.value);
        for (size_t i = 0; i < all.at.n; i++) {
            size_t marked = 0;
            for (size_t k = 0; all.at.at[i].stacks && k < p->stacks.nodes.n; k++)
                marked += all.at.at[i].stacks[k];
            buf_printf(b, "; %s", all.at.at[i].rule->id);
            numbers_digits(b, all.at.at[i].evidence);
            buf_printf(b, " on %zu", marked);
        }
        buf_str(b, "\n");
        insights_done(&all);
        flat_free(f);
        profile_free(p);
    }
}

static void numbers_of_trees(struct buf *b)
{
    for (uint64_t shape = 1; shape <= 36; shape++) {
        struct profile *p = world_new(shape, shape + 1, 400);
        struct selection s = world_all(p, shape);
        bool chart = shape % 3 == 0;
        struct calltree_opts o = {.group = (enum calltree_group)(shape % 4),
                                  .order = chart ? ORDER_TIME : ORDER_NAME,
                                  .callers_first = shape % 5 == 1,
                                  .min_share = shape % 2 ? 0.01 : 0,
                                  .keep_up_to = shape % 7,
                                  .keep_rows = true,
                                  .underscores = shape % 2,
                                  .labels = {.mark_kernel = shape % 2,
                                             .mark_jit = shape % 2,
                                             .mark_inlined = shape % 3 == 1,
                                             .mark_inlined_frames = shape % 4 == 1,
                                             .addresses = shape % 5 == 2,
                                             .merge_kinds = shape % 6 == 1}};
        struct calltree *t = calltree_build(&s, &o);
        struct treeshare *shares = chart ? NULL : treeshare_build(t, &s, 0.02);
        autobuf struct buf all = {0};
        for (size_t i = 0; i < t->n; i++) {
            struct text name = i ? labels_text(&t->labels, t->label[i]) : text_of("");
            buf_printf(&all, "%u %.*s %lld %lld %u", t->parent[i], TEXT_ARG(name),
                       (long long)t->self[i], (long long)t->total[i],
                       t->child_end[i] - t->child_at[i]);
            if (t->self_count)
                buf_printf(&all, " %lld %lld", (long long)t->self_count[i],
                           (long long)t->total_count[i]);
            if (t->group)
                buf_printf(&all, " %d", t->group[i]);
            if (t->start)
                buf_printf(&all, " from %lld", (long long)t->start[i]);
            if (t->extent)
                buf_printf(&all, " long %lld", (long long)t->extent[i]);
            if (shares && shares[i].known)
                buf_printf(&all, " %.5g %.5g %.5g %.5g", shares[i].total.low, shares[i].total.high,
                           shares[i].self.low, shares[i].self.high);
        }
        for (size_t i = 0; i < s.n_rows; i++)
            buf_printf(&all, " %u", t->node_of_row[i]);
        buf_printf(b, "%llu %zu left out %zu ", (unsigned long long)shape, t->n, t->n_left_out);
        add_hash(b, chart ? "chart" : "tree", &all);
        free(shares);
        calltree_free(t);
        profile_free(p);
    }
}

static void add_value(struct buf *b, const struct diff_value *v)
{
    buf_printf(b, " %.5g %.5g %.5g %.5g %.4g %.4g %.4g %.4g %.4g %.3g %.3g %d", v->before, v->after,
               v->before_cost, v->after_cost, v->low, v->high, v->cost, v->cost_low, v->cost_high,
               v->p, v->q, v->proven);
}

/* A function more, one less, one twice as often: by what is left out and what is doubled. */
static void disturb(struct profile *p, uint32_t how)
{
    struct rows *r = &profile_stream(p, 0)->rows;
    for (size_t i = 0; i < r->n; i++)
        if (how % 3 == 1 && r->stack[i].i % 7 == 3)
            r->stack[i] = r->stack[0];
        else if (how % 3 == 2 && r->stack[i].i % 5 == 2)
            r->stack[i] = r->stack[i / 2];
}

/* What the whole run cost: as much on both sides, more, less, or not known. */
static void make_cost(struct profile *p, uint64_t shape, size_t i, bool after)
{
    static const double factors[] = {1, 1.3, 0.8, 1.01};
    char ns[32];
    double cost = 700e6 * (after ? factors[shape / 3 % 4] : 1) + 3e6 * (double)(i * 7 % 5);
    snprintf(ns, sizeof ns, "%.0f", cost);
    if (shape % 3 == 2)
        meta_done(&p->meta);
    else
        meta_set_str(&p->meta, META_CPU_TIME_NS, ns);
}

static void numbers_of_diffs(struct buf *b)
{
    for (uint64_t shape = 1; shape <= 72; shape++) {
        size_t per_side = shape % 4 == 0 ? 5 : shape % 4 == 3 ? 2 : 1, n = 2 * per_side;
        struct profile *p[10];
        struct selection s[10];
        const struct selection *runs[10];
        for (size_t i = 0; i < n; i++) {
            p[i] =
                world_new(shape, shape * 100 + i, 500 + (i >= per_side && shape % 5 == 4 ? 90 : 0));
            if (i >= per_side)
                disturb(p[i], (uint32_t)shape / 4);
            make_cost(p[i], shape, i, i >= per_side);
            s[i] = world_all(p[i], shape);
            runs[i] = &s[i];
        }
        struct diff_opts o = {.runs = runs,
                              .n_before = per_side,
                              .n_runs = n,
                              .min_share = 0.005,
                              .band = shape % 6 == 5 ? 0.1 : 0};
        struct diff *d = diff_build(&o);
        autobuf struct buf all = {0}, unlike = {0};
        buf_printf(b,
                   "diff %llu: %s %zu of %zu, %d %d %d %d, least p %.4g band %.4g scale %d typical "
                   "%.5g common %.5g %.5g:",
                   (unsigned long long)shape, diff_verdict_names[d->verdict], d->n_tested,
                   d->functions.n, d->by_runs, d->apart, d->busy, d->has_samples, d->least_p,
                   d->band, d->scale, d->typical, d->common[0], d->common[1]);
        numbers_digits(b, d->why);
        add_value(&all, &d->whole);
        for (size_t i = 0; i < d->functions.n; i++) {
            const struct diff_entry *e = &d->functions.at[i];
            buf_printf(&all, "%.*s %d %d", TEXT_ARG(diff_name(d, e)), e->unnamed, e->renamed > 0);
            add_value(&all, &e->self);
            add_value(&all, &e->total);
        }
        for (size_t i = 0; i < d->paths.n; i++) {
            buf_printf(&all, " %u", d->paths.at[i].parent);
            add_value(&all, &d->paths.at[i].total);
        }
        const struct diff_entry *most = diff_most_grown(d);
        buf_printf(b, " most %.*s", TEXT_ARG(most ? diff_name(d, most) : text_of("none")));
        diff_unlike(&o, &unlike);
        numbers_digits(b, buf_cstr(&unlike));
        add_hash(b, "", &all);
        diff_free(d);
        if (n == 10 && shape % 2 == 0) {
            struct runshares *r = runshares_build(runs, n);
            autobuf struct buf rows = {0};
            for (size_t i = 0; i < r->rows.n; i++) {
                buf_printf(&rows, " %u %zu", r->rows.at[i].name, r->rows.at[i].n_seen);
                add_share(&rows, &r->rows.at[i].self);
                add_share(&rows, &r->rows.at[i].total);
            }
            add_hash(b, "runs", &rows);
            runshares_free(r);
        }
        for (size_t i = 0; i < n; i++)
            profile_free(p[i]);
    }
}

static void add_profile(struct buf *b, const struct profile *p)
{
    const struct stream *s = profile_stream(p, 0);
    buf_printf(b, "%zu %zu %zu %zu %zu %zu %d %lld %d %lld %d", p->frames.n, p->functions.n,
               p->stacks.nodes.n, p->threads.n, p->processes.n, p->mappings.n, s->lost_known,
               (long long)s->lost, s->unfinished_known, (long long)s->types[0].total,
               s->n_unfinished);
    for (size_t i = 0; i < s->rows.n; i++)
        buf_printf(b, " %u %u %llu %lld", s->rows.stack[i].i, s->rows.thread[i].i,
                   s->rows.time_ns ? (unsigned long long)s->rows.time_ns[i] : 0,
                   (long long)s->rows.value[0][i]);
    for (size_t i = 0; i < p->frames.n; i++)
        buf_printf(b, " %llu %u %u %u", (unsigned long long)p->frames.at[i].pc,
                   p->frames.at[i].mapping.i, p->frames.at[i].n_lines, p->frames.at[i].kind);
    struct modules m;
    modules_build(&m, p);
    for (size_t i = 0; i < m.list.n; i++)
        buf_printf(b, " %u %zu %zu", m.list.at[i].path.i, (size_t)m.list.at[i].frames,
                   (size_t)m.list.at[i].named);
    modules_done(&m);
}

static void numbers_of_selections(struct buf *b)
{
    static const char *const times[] = {NULL, "10%..60%", "50ms..", "..0.2", "100ms..250ms"};
    static const char *const threads[][3] = {{NULL}, {"painter"}, {"shop", "101"}, {"worker"}};
    static const char *const focus[][2] = {{NULL}, {"malloc"}, {"^main$"}, {"a"}};
    static const char *const hide[][2] = {{NULL}, {"serve|walk"}, {"e"}};
    for (uint64_t shape = 1; shape <= 40; shape++) {
        struct profile *p = world_new(shape, shape + 7, 300);
        struct selection s;
        struct err err;
        s = world_all(p, shape);
        struct profile *whole = extract_build(&s);
        autobuf struct buf everything = {0};
        add_profile(&everything, whole);
        buf_printf(b, "%llu ", (unsigned long long)shape);
        add_hash(b, "whole", &everything);
        profile_free(whole);
        struct selection_opts o = {.time = times[shape % 3 == 2 ? 0 : shape % 5],
                                   .threads = threads[shape % 4],
                                   .focus = focus[shape / 4 % 4],
                                   .ignore = focus[shape / 8 % 3],
                                   .hide = hide[shape % 3],
                                   .merge_recursion = shape % 2};
        if (selection_build(&s, p, (struct value_ref){0, 0}, &o, &err) != 0) {
            buf_printf(b, "selection %llu: refused\n", (unsigned long long)shape);
            profile_free(p);
            continue;
        }
        struct profile *part = extract_build(&s);
        struct flat *f = flat_build(&s, FLAT_FUNCTION);
        struct heat heat;
        autobuf struct buf all = {0};
        add_profile(&all, part);
        for (size_t i = 0; i < f->rows.n; i++)
            buf_printf(&all, " %lld %lld %u", (long long)f->rows.at[i].self,
                       (long long)f->rows.at[i].total, f->rows.at[i].nested);
        heat_build(&heat, &s);
        buf_printf(&all, " %lld %lld", (long long)heat.total, (long long)heat.no_address);
        for (size_t i = 0; i < heat.spots.n; i++)
            buf_printf(&all, " %u %llu %lld", heat.spots.at[i].mapping.i,
                       (unsigned long long)heat.spots.at[i].pc, (long long)heat.spots.at[i].self);
        buf_printf(b, "selection %llu: %zu rows, %lld, %lld samples", (unsigned long long)shape,
                   s.n_rows, (long long)s.total, (long long)s.n_samples);
        add_hash(b, "", &all);
        heat_done(&heat);
        flat_free(f);
        profile_free(part);
        selection_done(&s);
        profile_free(p);
    }
}

static void numbers_of_scaling(struct buf *b)
{
    for (uint64_t shape = 1; shape <= 12; shape++) {
        struct profile *p[4];
        struct selection all[4];
        struct scaling_run runs[4];
        size_t n = 1 + shape % 4;
        for (size_t i = 0; i < n; i++) {
            p[i] = world_new(shape, i + 1, 100 * (i + 1) * (shape % 2 ? i + 1 : 1));
            all[i] = world_all(p[i], shape);
            runs[n - 1 - i] = (struct scaling_run){&all[i], 100 * (double)(i + 1)};
        }
        struct scaling s;
        scaling_build(&s, runs, n, 6);
        buf_printf(b, "scaling %llu: dimension %d, whole %d %.5g %.5g..%.5g\n",
                   (unsigned long long)shape, s.dimension, s.whole.fits, s.whole.growth.exponent,
                   s.whole.growth.interval.low, s.whole.growth.interval.high);
        for (size_t i = 0; i < s.functions.n; i++) {
            const struct scaling_function *f = &s.functions.at[i];
            struct scaling_ratio r = scaling_ratio_of(&s, &f->total);
            buf_printf(b, "  %.*s %d %.5g %d %.5g x %.5g %.5g", TEXT_ARG(f->name), f->self.fits,
                       f->self.fits ? f->self.growth.exponent : 0, f->total.fits,
                       f->total.fits ? f->total.growth.exponent : 0, r.size, r.cost);
            add_share(b, &f->at_end);
            buf_str(b, "\n");
        }
        scaling_done(&s);
        for (size_t i = 0; i < n; i++)
            profile_free(p[i]);
    }
}

static const struct numbers_part parts[] = {NUMBERS_PART(lists),      NUMBERS_PART(insights),
                                            NUMBERS_PART(trees),      NUMBERS_PART(diffs),
                                            NUMBERS_PART(selections), NUMBERS_PART(scaling)};

int main(int argc, char **argv)
{
    (void)argv;
    return numbers_main(argc, "analysis_numbers", parts, sizeof parts / sizeof *parts);
}
