/*
 * test_bench_numbers.c - what bench makes of made-up runs, plans and answers, number by number.
 *
 * As test_analysis_numbers.c: of sentences only their numbers count.
 */
#include "bench/baseline.h"
#include "bench/gates.h"
#include "bench/order.h"
#include "bench/outcome.h"
#include "bench/parameter.h"
#include "bench/plan.h"
#include "bench/program.h"
#include "bench/sweep.h"
#include "bench/trouble.h"
#include "bench/verdict.h"
#include "model/comparison.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bench_numbers_expected.h"
#include "support_numbers.h"
#include "support_series.h"

/* --- verdicts --- */

/* Runs of blocks of which some are missing, with every measure; every so many one is slow. */
static struct series *made_series(struct series_set *set, const char *name, uint64_t seed,
                                  double factor, size_t n)
{
    struct series *s = series_add(set, name);
    for (size_t i = 0; i < n; i++) {
        if (n > 8 && numbers_random(&seed, 19) == 0)
            continue;
        struct series_run *run = vec_push(&s->runs);
        bool slow = numbers_random(&seed, 100) < (factor > 1.04 && factor < 1.06 ? 30 : 4);
        run->block = (uint32_t)i;
        for (int k = 0; k < MEASURES; k++) {
            uint64_t own = seed + (uint64_t)k; /* one measure more must not change the others */
            numbers_random(&own, 2);
            double noise = 1 + (double)numbers_random(&own, 1000) / 60000;
            run->value[k] = 1e6 * (k + 1) * noise *
                            (k == MEASURE_CPU && factor > 1.2 ? 1 : factor) * (slow ? 1.8 : 1);
        }
        run->value[MEASURE_INSTRUCTIONS] =
            factor > 1.2 ? 5e6 : 5e6 + (double)(i % 2) + 1e5 * factor;
        if (n == 12)
            run->value[MEASURE_CPU] = NAN;
    }
    return s;
}

static void add_comparison(struct buf *b, const struct comparison *c)
{
    autobuf struct buf say = {0};
    comparison_say(&say, c, &(struct comparison_words){.limit = "--max", .more = "more"});
    buf_printf(b,
               "%s %s %s n %zu ties %zu ratio %.5g in %.5g..%.5g miss %.4g sees %.4g gate %s tails "
               "%d %.4g %.4g %.4g %.3g %d %d:",
               measure_infos[c->measure].name, verdict_names[c->paired.verdict], comparison_word(c),
               c->paired.n, c->paired.ties, c->paired.ratio, c->paired.interval.low,
               c->paired.interval.high, c->paired.miss, c->paired.detectable, gate_names[c->gate],
               c->has_tails, c->has_tails ? c->tails.slow_before : 0,
               c->has_tails ? c->tails.slow_after : 0, c->has_tails ? c->tails.mean_ratio : 0,
               c->has_tails ? c->tails.p : 0, c->same_work, c->unconfirmed);
    numbers_digits(b, buf_cstr(&say));
    buf_str(b, "\n");
}

static void numbers_of_verdicts(struct buf *b)
{
    static const double factors[] = {1, 1.02, 0.9, 1.05, 1.3, 2.7};
    static const size_t sizes[] = {1, 2, 3, 5, 8, 12, 30, 60};
    static const enum measure measures[] = {MEASURE_TIME, MEASURE_CPU, MEASURE_PEAK_RSS,
                                            MEASURE_INSTRUCTIONS};
    uint64_t seed = 3;
    for (size_t f = 0; f < 6; f++)
        for (size_t n = 0; n < 8; n++)
            for (size_t m = 0; m < 4; m++) {
                struct series_set sets[2] = {0};
                struct series *before = made_series(&sets[0], "it", f * 100 + n, 1, sizes[n]);
                struct series *after =
                    made_series(&sets[1], numbers_random(&seed, 2) ? "it" : "other",
                                f * 100 + n + 50, factors[f], sizes[n]);
                struct comparison c = {.before = before,
                                       .after = after,
                                       .measure = measures[m],
                                       .apart = (f + n) % 3 == 0,
                                       .limit = (f + n + m) % 4 == 0   ? NAN
                                                : (f + n + m) % 4 == 1 ? 0.01
                                                                       : 0.1};
                struct verdict_opts o = {.band = n % 2 ? PAIRED_BAND : 0.03,
                                         .risk = PAIRED_RISK,
                                         .comparisons = m,
                                         .look = n % 3 ? PAIRED_ONLY_LOOK : 2,
                                         .busy = (f * n) % 5 == 4};
                verdict_compare(&c, &o);
                add_comparison(b, &c);
                series_set_done(&sets[0]);
                series_set_done(&sets[1]);
            }
}

static void numbers_of_sets(struct buf *b)
{
    static const struct opt_list gates[] = {
        {{"10%"}, 1}, {{"a=1%", "b=50%"}, 2}, {{"nobody=1%"}, 1}, {{NULL}, 0}};
    for (size_t k = 0; k < 12; k++) {
        struct series_set before = {0}, now = {0};
        struct comparisons all = {0};
        made_series(&before, "a", k, 1, 20);
        made_series(&before, "b", k + 1, 1, 20);
        made_series(&before, "gone", k + 2, 1, 20);
        made_series(&now, "a", k + 3, k % 3 ? 1.3 : 1, 20);
        made_series(&now, k % 4 ? "b" : "c", k + 4, k % 2 ? 0.8 : 1, 20);
        meta_set_str(&before.meta, META_HOST, k % 2 ? "one" : "two");
        meta_set_str(&now.meta, META_HOST, k % 3 ? "one" : "two");
        meta_set_str(&before.meta, META_BUILD, "gcc 12.2 -O2 -g -fno-omit-frame-pointer -DA=1");
        meta_set_str(&now.meta, META_BUILD,
                     k % 2 ? "gcc 12.2 -O2 -g -fno-omit-frame-pointer -DA=2" : "clang 19");
        struct verdict_rules rules = {MEASURE_TIME, PAIRED_BAND, PAIRED_RISK, &gates[k % 4]};
        verdict_compare_sets(&all, &before, &now, &rules);
        for (size_t i = 0; i < all.n; i++)
            add_comparison(b, &all.at[i]);
        enum gate worst = verdict_worst(all.at, all.n);
        autofree char *differ = baseline_differences(&before.meta, &now.meta),
                      *built = baseline_rebuilt(&before.meta, &now.meta);
        buf_printf(b, "set %zu: %zu worst %d code %d baseline %d differ %zu built %zu\n", k, all.n,
                   worst, verdict_code(worst), baseline_gate(&all), differ ? strlen(differ) : 0,
                   built ? strlen(built) : 0);
        free(all.at);
        series_set_done(&before);
        series_set_done(&now);
    }
}

/* --- plans --- */

static void add_plan(struct buf *b, const struct plan *p)
{
    for (size_t i = 0; i < p->items.n; i++) {
        const struct plan_item *it = &p->items.at[i];
        buf_printf(b, " <%s|%s> line %zu of %zu:", it->name, it->line, it->line_number, it->group);
        buf_printf(b, " %zu %zd %zd %zd%s", it->command, (ssize_t)it->prepare, (ssize_t)it->setup,
                   (ssize_t)it->cleanup, it->aa ? " again" : "");
    }
    buf_printf(b, " sweep %zd nothing %zu,", (ssize_t)plan_sweep(p), p->nothing);
    for (size_t i = 0; i < p->commands.n; i++) {
        for (size_t k = 0; p->commands.at[i].at.at[k]; k++)
            buf_printf(b, " %s", p->commands.at[i].at.at[k]);
        buf_str(b, ";");
    }
}

static void numbers_of_plans(struct buf *b)
{
    static char *lines[] = {(char *)"./app {n} 'x y'", (char *)"./app  {m}", (char *)"./other",
                            (char *)"./app {n}{m}",    (char *)"",           (char *)"{n",
                            (char *)"./a 'b",          (char *)"./other"};
    static const struct opt_list lists[] = {{{NULL}, 0},  {{"n=1,2,4"}, 1}, {{"n=1,2", "m=a,b"}, 2},
                                            {{"n=1"}, 1}, {{"n=0,2,3"}, 1}, {{"n=a,'b c',d"}, 1},
                                            {{"n="}, 1},  {{"=1,2"}, 1},    {{"n"}, 1}};
    static const struct opt_list ranges[] = {
        {{NULL}, 0},        {{"m=1..3"}, 1},        {{"m=1..10..4"}, 1},
        {{"n=10..1"}, 1},   {{"m=0.5..2..0.5"}, 1}, {{"m=1..5000"}, 1},
        {{"m=1..2..0"}, 1}, {{"m=x..2"}, 1}};
    static const struct opt_list names[] = {
        {{NULL}, 0}, {{"one"}, 1}, {{"one", "two"}, 2}, {{"one", "one"}, 2}, {{""}, 1}};
    static const char *const wrap[] = {"valgrind", "-q", NULL};
    uint64_t seed = 5;
    for (size_t k = 0; k < 160; k++) {
        size_t n = 1 + numbers_random(&seed, 2);
        char *given[2];
        given[0] = lines[numbers_random(&seed, k % 5 ? 4 : 8)];
        given[1] = lines[numbers_random(&seed, 4)];
        struct plan_opts o = {.lines = given,
                              .n_lines = n,
                              .prepare = k % 5 == 1 ? "make {n}" : NULL,
                              .setup = k % 7 == 1 ? "./set up" : NULL,
                              .cleanup = k % 7 == 2 ? "rm -f x" : NULL,
                              .wrap = k % 11 == 3 ? wrap : NULL,
                              .shell = k % 9 == 4,
                              .aa = k % 8 == 5};
        o.names = &names[k % 3 ? 0 : numbers_random(&seed, 5)];
        o.list = &lists[numbers_random(&seed, k % 4 ? 4 : 9)];
        o.range = &ranges[numbers_random(&seed, k % 6 ? 3 : 8)];
        struct plan p;
        struct err err;
        buf_printf(b, "plan %zu:", k);
        if (plan_build(&p, &o, &err) == 0)
            add_plan(b, &p);
        else
            numbers_digits(b, err.text);
        buf_str(b, "\n");
        plan_done(&p);
    }
}

static void numbers_of_parameters(struct buf *b)
{
    static const char *const specs[] = {
        "n=1,2,4", "n=1,2,2", "n=-1,2", "n=1e3,0x10", "n=a,b", "n='a,b',c", "n=,",          "n=1,",
        "n",       "=1",      "",       "n=1 ,2",     "n.x=1", "n='",       "n=1.5,2.5,inf"};
    static const char *const ranges[] = {
        "n=1..4",       "n=1..4..2",       "n=4..1",    "n=4..1..-1", "n=1..1",
        "n=0..1",       "n=1..2..0.25",    "n=1..",     "n=..2",      "n=1...2",
        "n=1..2..3..4", "n=0.1..0.5..0.1", "n=1..1001", "n=1..1000",  "n=1..1e9",
        "n=-2..2",      "n=1..2..nan",     "n",         "=1..2"};
    for (size_t k = 0; k < (sizeof specs + sizeof ranges) / sizeof *specs; k++) {
        size_t n_specs = sizeof specs / sizeof *specs;
        struct plan_parameter p = {0};
        struct err err;
        bool is_list = k < n_specs;
        int rc = is_list ? parameter_list(&p, specs[k], &err)
                         : parameter_range(&p, ranges[k - n_specs], &err);
        buf_printf(b, "parameter %s:", is_list ? specs[k] : ranges[k - n_specs]);
        if (rc != 0)
            numbers_digits(b, err.text);
        else
            buf_printf(b, " %s numbers %d of %zu", p.name, p.numbers, p.values.at.n);
        for (size_t i = 0; rc == 0 && p.values.at.at[i] && i < 12; i++)
            buf_printf(b, " %s=%.6g", p.values.at.at[i], p.numbers ? p.number[i] : 0);
        buf_str(b, rc != 0 ? " refused\n" : "\n");
        parameter_done(&p);
    }
}

static void numbers_of_gates(struct buf *b)
{
    static const char *const gates[] = {"10%",  "0%",     "a=5%",    "a=b=7%", "5",
                                        "x=",   "=3%",    "%",       "-1%",    "1000%",
                                        "2.5%", "a=1e1%", "1000.5%", "nan%",   "a b=1%"};
    for (size_t i = 0; i < sizeof gates / sizeof *gates; i++) {
        struct opt_list one = {{gates[i]}, 1}, two = {{"a=3%", gates[i]}, 2};
        struct err err;
        int rc = gates_check(&one, &err);
        struct text name = gates_name(gates[i]);
        buf_printf(b, "gate %s: %d name '%.*s'", gates[i], rc, TEXT_ARG(name));
        if (rc == 0)
            buf_printf(b, " %g %g %g %g", gates_find(&one, "a", "z"), gates_find(&one, "z", "a"),
                       gates_find(&two, "a", "a b"), gates_find(&two, "none", "none"));
        buf_str(b, "\n");
    }
    for (size_t n = 1; n <= 7; n++) {
        uint64_t rng = n;
        struct order o;
        size_t at[7];
        order_init(&o, n, &rng);
        buf_printf(b, "order %zu:", n);
        for (size_t k = 0; k < 3 * n; k++) {
            order_next(&o, at);
            for (size_t i = 0; i < n; i++)
                buf_printf(b, "%s%zu", i ? "" : " ", at[i]);
        }
        buf_printf(b, " then %zu\n", order_random(&rng, 1000));
        order_done(&o);
    }
}

/* --- answers --- */

static void numbers_of_answers(struct buf *b)
{
    static const char *const lines[] = {
        "{\"kelvin_bench\":1,\"program\":\"./x\"}",
        "{\"kelvin_bench\":2}",
        "{\"name\":\"a\",\"ns\":1.5}",
        "{\"name\":\"a\",\"ns\":3,\"cpu_ns\":2,\"low\":1,\"items\":4,\"bytes\":8}",
        "{\"name\":\"b/n=4\",\"ns\":9,\"param\":\"n\",\"size\":4}",
        "{\"name\":\"c\",\"ns\":-1}",
        "{\"name\":\"\",\"ns\":1}",
        "{\"name\":\"d\"}",
        "{\"ns\":4}",
        "{\"name\":\"e\",\"ns\":0,\"low\":0}",
        "{\"name\":\"f\",\"ns\":2,\"low\":0}",
        "{\"end\":true}",
        "{\"end\":false}",
        "{\"equal\":\"x\",\"ok\":true,\"cases\":1000}",
        "{\"equal\":\"x\",\"ok\":true}",
        "{\"equal\":\"x\",\"ok\":false,\"message\":\"at 3\"}",
        "{\"race\":\"r\",\"ok\":true,\"ratio\":2.5,\"low\":2.25,\"high\":2.75,\"min_speedup\":2}",
        "{\"race\":\"r\",\"ok\":true,\"ratio\":2.5,\"low\":2.25,\"high\":2.75}",
        "{\"race\":\"r\",\"ok\":true}",
        "{\"race\":\"r\",\"ok\":false}",
        "{\"cliff\":\"k\",\"message\":\"drop at 7\"}",
        "{\"cliff\":\"k\"}",
        "{\"error\":\"no 5\"}",
        "nonsense",
        "{",
        "{}",
        "",
        "{\"name\":\"g\",\"ns\":1,\"size\":3}",
        "{\"name\":\"h\",\"ns\":1,\"param\":\"n\"}",
        "{\"name\":\"i\",\"ns\":1e300,\"cpu_ns\":-5,\"items\":-1}"};
    uint64_t seed = 9;
    for (size_t k = 0; k < 90; k++) {
        autobuf struct buf said = {0};
        struct program_answer a;
        if (k % 9)
            buf_printf(&said, "%s\n", lines[0]);
        for (size_t i = 0; i < 1 + k % 4; i++)
            buf_printf(
                &said, "%s%s",
                lines[k < 30 && !i ? k : numbers_random(&seed, sizeof lines / sizeof *lines)],
                k % 13 == 12 ? "" : "\n");
        program_read(&a, buf_text(&said));
        buf_printf(b, "answer %zu: %d %d, %zu proofs, %zu failures", k, a.greeted, a.ended,
                   a.proofs.n, a.failures.n);
        for (size_t i = 0; i < a.results.n; i++)
            buf_printf(b, "; %s %g %g %d %g %g '%s' %g", a.results.at[i].name, a.results.at[i].ns,
                       a.results.at[i].cpu_ns, a.results.at[i].is_empty, a.results.at[i].items,
                       a.results.at[i].bytes, a.results.at[i].parameter, a.results.at[i].size);
        for (size_t i = 0; i < a.proofs.n; i++)
            numbers_digits(b, a.proofs.at[i]);
        for (size_t i = 0; i < a.failures.n; i++)
            numbers_digits(b, a.failures.at[i]);
        buf_str(b, "\n");
        program_answer_done(&a);
    }
}

static void numbers_of_troubles(struct buf *b)
{
    static const char *const commands[] = {"cd",          "nosuchprogram", "./nosuchfile",
                                           "/etc/passwd", "exit",          "while"};
    setenv("PATH", "/nowhere", 1); /* whether a program has a name much like 'exit' is chance */
    for (size_t k = 0; k < 96; k++) {
        static const enum starter_end ends[] = {STARTER_NOT_RUN, STARTER_TIMED_OUT, STARTER_EXITED,
                                                STARTER_SIGNALLED};
        struct starter_run r = {.end = ends[k % 4],
                                .status = k % 4         ? (int)k % 7 + 1
                                          : k % 12 == 4 ? EACCES
                                                        : ENOENT};
        struct trouble t = {.line = "cmd 77",
                            .what = k / 8 % 2 ? "setup" : "",
                            .block = (long)(k / 4 % 4) - 1,
                            .ignoring = k / 16 % 2,
                            .unseen = k / 32 % 2};
        char *argv[] = {(char *)commands[k / 4 % 6], NULL};
        enum trouble_help help;
        struct err err;
        if (k % 5 == 0)
            buf_str(&r.said, "oops");
        assert_int_equal(trouble_say(&t, &r, argv, &help, &err), -1);
        buf_printf(b, "trouble %zu: help %d '%s' in words %zu:", k, help, argv[0],
                   k % 4 ? strlen(err.text) : 0);
        if (k % 4) /* what is not found depends on what there is */
            numbers_digits(b, err.text);
        buf_str(b, "\n");
        buf_done(&r.said);
    }
}

/* --- sweeps --- */

static void numbers_of_sweeps(struct buf *b)
{
    static char *lines[] = {(char *)"./app {n} {m}", (char *)"./other {n}"};
    static const struct opt_list lists[] = {{{"n=4,1,2", "m=a,b"}, 2},
                                            {{"n=8,2,4,1", "m=3"}, 2},
                                            {{"n=1,2", "m=1,2,3"}, 2},
                                            {{"n=a,b,c", "m=1"}, 2}};
    static const struct opt_list none = {{NULL}, 0};
    for (size_t k = 0; k < 8; k++) {
        struct plan p;
        struct err err;
        struct plan_opts o = {.lines = lines,
                              .n_lines = 1 + k / 4,
                              .names = &none,
                              .list = &lists[k % 4],
                              .range = &none};
        assert_int_equal(plan_build(&p, &o, &err), 0);
        struct session s = {.plan = &p, .opts = {.measure = MEASURE_TIME}};
        struct sweeps w;
        for (size_t i = 0; i < p.items.n; i++)
            for (size_t j = 0; j < 1 + k % 2; j++) {
                autofree char *name = mem_printf("%s:%zu", p.items.at[i].name, j);
                struct series *series = made_series(&s.set, name, i, (double)(1 + i * i), 3);
                if (k == 5 && j) {
                    free(series->parameter);
                    series->parameter = mem_strdup("q");
                    series->size = (double)(i + 1);
                }
                *vec_push(&s.origins) = (struct session_origin){
                    .item = i, .benchmark = mem_strdup(j ? "inner/q=3/z" : "")};
            }
        sweeps_build(&w, &s);
        buf_printf(b, "sweeps %zu: %zu\n", k, w.at.n);
        for (size_t i = 0; i < w.at.n; i++) {
            const struct sweep *one = &w.at.at[i];
            buf_printf(b, "  %s by %s: %.5g %.5g..%.5g %s", one->name, one->parameter,
                       one->growth.exponent, one->growth.interval.low, one->growth.interval.high,
                       growth_shape_names[one->growth.shape]);
            for (size_t j = 0; j < one->points.n; j++)
                buf_printf(b, " %g:%.6g", one->points.at[j].size, one->points.at[j].cost);
            buf_str(b, "\n");
        }
        sweeps_done(&w);
        for (size_t i = 0; i < s.origins.n; i++)
            free(s.origins.at[i].benchmark);
        vec_done(&s.origins);
        series_set_done(&s.set);
        plan_done(&p);
    }
}

static const struct numbers_part parts[] = {
    NUMBERS_PART(verdicts), NUMBERS_PART(sets),    NUMBERS_PART(plans),    NUMBERS_PART(parameters),
    NUMBERS_PART(gates),    NUMBERS_PART(answers), NUMBERS_PART(troubles), NUMBERS_PART(sweeps),
};

int main(int argc, char **argv)
{
    (void)argv;
    return numbers_main(argc, "bench_numbers", parts, sizeof parts / sizeof *parts);
}
