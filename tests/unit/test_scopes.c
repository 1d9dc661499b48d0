/* test_scopes.c - how far quantiles of scopes are known, and rules about them. */
#include "analysis/check.h"
#include "analysis/scopediff.h"
#include "analysis/scopequantile.h"
#include "model/meta.h"
#include "view/scopediff.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "support.h"

/* --- spans --- */

enum { CPU, SCOPES };

static struct profile *scopes_new(void)
{
    struct profile *p = profile_new();
    support_value(p, "cpu-clock", "samples", "count");
    profile_add_stream(p, "scopes", BY_TRACE);
    profile_add_value(p, SCOPES, "spans", UNIT_COUNT);
    profile_add_value(p, SCOPES, "self", UNIT_TIME);
    return p;
}

/* One after the other, a second apart. */
static void add_span(struct profile *p, const char *name, uint64_t ns)
{
    struct err err;
    struct frame_id frame = profile_add_named_frame(p, text_of(name), FRAME_USER);
    int64_t values[] = {1, (int64_t)ns};
    struct row row = {.stack = stacks_intern(&p->stacks, &frame, 1),
                      .has_time = true,
                      .time_ns = 1000000000ull * p->streams.at[SCOPES]->rows.n,
                      .duration_ns = ns,
                      .values = values};
    assert_int_equal(profile_add_row(p, SCOPES, &row, &err), 0);
}

/* 1 to N microseconds, in an order without rhyme: 37 and 1009 have no factor in common. */
static struct profile *spread(size_t n)
{
    struct profile *p = scopes_new();
    for (size_t i = 0; i < n; i++)
        add_span(p, "decode", 1000 * (1 + (i * 37) % n));
    return p;
}

/* --- rules --- */

static void comes_out(struct profile *p, const char *rule, enum check_verdict verdict,
                      const char *words)
{
    struct rules rules;
    struct check c;
    struct check_input in = {.selection = SUPPORT_ALL(p, 0), .no_code = ""};
    assert_int_equal(rules_parse(&rules, text_of(rule)), 0);
    if (check_build(&c, &rules, &in) != 0)
        fail_msg("'%s': %s", rule, rules.errors.at[0].text);
    const struct check_result *r = &c.results.at[0];
    if (r->verdict != verdict || !(strstr(r->why, words) || strstr(r->expected, words)))
        fail_msg("'%s' %s: %s (%s)", rule, check_verdict_names[r->verdict], r->why, r->expected);
    check_done(&c);
    rules_done(&rules);
}

static void is_refused(struct profile *p, const char *rule, const char *words)
{
    struct rules rules;
    struct check c;
    struct check_input in = {.selection = SUPPORT_ALL(p, 0), .no_code = ""};
    assert_int_equal(rules_parse(&rules, text_of(rule)), 0);
    assert_int_equal(check_build(&c, &rules, &in), -1);
    if (!strstr(rules.errors.at[0].text, words))
        fail_msg("'%s': %s", rule, rules.errors.at[0].text);
    check_done(&c);
    rules_done(&rules);
}

static void a_quantile_is_judged_by_its_interval(void **state)
{
    (void)state;
    struct profile *p = spread(1009); /* p90 is 909 us, ranks 890 to 927 */
    comes_out(p, "p90 decode <= 940 us", CHECK_HOLDS, "is inside");
    comes_out(p, "p90 decode <= 0.87 ms", CHECK_FAILS, "at most 870 us");
    comes_out(p, "p90 decode >= 900 us", CHECK_INCONCLUSIVE, "times as many spans would decide");
    comes_out(p, "p90 decode 870..940 us", CHECK_HOLDS, "870 us..940 us");
    comes_out(p, "p50 decode <= 400 us", CHECK_FAILS, "");
    comes_out(p, "p99 decode <= 1 s", CHECK_HOLDS, "");
    comes_out(p, "mean decode 480..530 us", CHECK_HOLDS, "");
    comes_out(p, "mean decode <= 505 us", CHECK_INCONCLUSIVE, "");
    comes_out(p, "max decode <= 1009 us", CHECK_HOLDS, "");
    comes_out(p, "max decode <= 1008 us", CHECK_FAILS, "");
    profile_free(p);
}

static void too_few_spans_do_not_bound_a_high_quantile(void **state)
{
    (void)state;
    struct profile *p = spread(100);
    comes_out(p, "p99 decode <= 1 s", CHECK_INCONCLUSIVE,
              "p99 takes at least 368 independent spans; the 100 here count as ");
    comes_out(p, "p99 decode >= 1 us", CHECK_HOLDS, "");
    comes_out(p, "p99 decode >= 1 s", CHECK_INCONCLUSIVE, "");
    comes_out(p, "p90 decode <= 1 s", CHECK_HOLDS, "");
    profile_free(p);
    p = spread(1);
    comes_out(p, "mean decode <= 1 s", CHECK_INCONCLUSIVE, "");
    profile_free(p);
}

static void calls_and_rates_are_counted(void **state)
{
    (void)state;
    struct profile *p = spread(101); /* in 100 s and 1 to 101 us */
    int tokens = profile_add_counter(p, "tokens", UNIT_COUNT, (struct process_id){0});
    int other = profile_add_counter(p, "tokens", UNIT_COUNT, (struct process_id){0});
    int queue = profile_add_counter(p, "queue", "", (struct process_id){0});
    profile_add_point(p, tokens, 5, 1);
    profile_add_point(p, tokens, 6, 900);
    profile_add_point(p, other, 6, 110);
    profile_add_point(p, queue, 6, 5);
    comes_out(p, "calls decode == 101", CHECK_HOLDS, "");
    comes_out(p, "calls decode == 24", CHECK_FAILS, "exactly 24 calls");
    comes_out(p, "calls decode == 0.1 * tokens", CHECK_HOLDS, "exactly 101 calls (tokens: 1010)");
    comes_out(p, "calls decode <= 0.05*tokens", CHECK_FAILS, "");
    comes_out(p, "calls decode == 1 * decode", CHECK_HOLDS, "");
    comes_out(p, "rate tokens 10.0..10.2", CHECK_HOLDS, "");
    comes_out(p, "rate tokens >= 40", CHECK_FAILS, "at least 40/s");
    comes_out(p, "rate decode 1.0..1.1", CHECK_HOLDS, "");
    is_refused(p, "rate queue >= 1", "no counter or scope 'queue'; there are: decode, tokens");
    is_refused(p, "calls decode == 2 * queue", "no counter or scope 'queue'");
    is_refused(p, "calls tokens == 2", "no scope 'tokens'; there are: decode");
    profile_free(p);
}

static void what_was_lost_may_have_been_of_any_kind(void **state)
{
    (void)state;
    struct profile *p = spread(1009);
    profile_stream(p, SCOPES)->lost = 20;
    comes_out(p, "calls decode == 1009", CHECK_INCONCLUSIVE, "were lost");
    comes_out(p, "calls decode <= 1029", CHECK_HOLDS, "");
    comes_out(p, "calls decode <= 1008", CHECK_FAILS, "");
    comes_out(p, "max decode <= 1 s", CHECK_INCONCLUSIVE, "were lost");
    comes_out(p, "max decode <= 1 us", CHECK_FAILS, "");
    comes_out(p, "p99 decode <= 1 s", CHECK_INCONCLUSIVE, "");
    comes_out(p, "p90 decode <= 940 us", CHECK_INCONCLUSIVE, "");
    comes_out(p, "p90 decode <= 960 us", CHECK_HOLDS, "");
    comes_out(p, "p90 decode >= 897 us", CHECK_INCONCLUSIVE, ""); /* were they the short ones? */
    comes_out(p, "mean decode <= 1 s", CHECK_INCONCLUSIVE, "not known");
    comes_out(p, "rate decode <= 100", CHECK_INCONCLUSIVE, "were lost");
    profile_free(p);
}

static void counts_of_several_runs_in_one_recording_are_not_those_of_a_run(void **state)
{
    (void)state;
    struct profile *p = spread(1009);
    meta_set_u64(&p->meta, META_POOLED_RUNS, 3);
    comes_out(p, "calls decode == 1009", CHECK_INCONCLUSIVE, "holds 3 runs");
    comes_out(p, "rate decode >= 0.001", CHECK_INCONCLUSIVE, "holds 3 runs");
    comes_out(p, "p90 decode <= 940 us", CHECK_HOLDS, "");
    profile_free(p);
}

static void without_scopes_there_is_nothing_to_check(void **state)
{
    (void)state;
    struct profile *p = profile_new();
    support_value(p, "cpu-clock", "samples", "count");
    is_refused(p, "p99 decode <= 5 ms", "there are no scopes in the profile");
    profile_free(p);
}

/* --- intervals --- */

static double uniform(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
    return ((double)(*seed >> 33) + 0.5) / 2147483648.0;
}

/* How often the intervals of P90 and of the mean cover the truth. */
struct coverage {
    double p90, mean;
};

/* Of ROUNDS series of N exponential times, REPEAT in a row being alike. */
static struct coverage covered(size_t rounds, size_t n, size_t repeat)
{
    uint64_t seed = 42;
    struct coverage hits = {0};
    double truth = 1e6 * log(10);
    for (size_t k = 0; k < rounds; k++) {
        struct profile *p = scopes_new();
        double ns = 0;
        for (size_t i = 0; i < n; i++) {
            ns = i % repeat ? ns : -1e6 * log(uniform(&seed));
            add_span(p, "decode", (uint64_t)ns);
        }
        struct scopetree t;
        struct err err;
        struct selection all = selection_all(p, (struct value_ref){SCOPES, 1});
        assert_int_equal(scopetree_build(&t, &all, NULL, &err), 0);
        struct scope_quantile q = scope_quantile_of(&t, 0, 0.9);
        struct scope_mean m = scope_mean_of(&t, 0);
        hits.p90 += (q.interval.low <= truth && truth <= q.interval.high) / (double)rounds;
        hits.mean += (m.interval.low <= 1e6 && 1e6 <= m.interval.high) / (double)rounds;
        scopetree_done(&t);
        profile_free(p);
    }
    return hits;
}

static void intervals_cover_also_where_spans_in_a_row_are_alike(void **state)
{
    (void)state;
    struct coverage alone = covered(300, 1000, 1), alike = covered(300, 2000, 10);
    if (alone.p90 < 0.92 || alone.p90 > 0.99 || alike.p90 < 0.90)
        fail_msg("p90: covered %.3f and %.3f", alone.p90, alike.p90);
    if (alone.mean < 0.92 || alone.mean > 0.995 || alike.mean < 0.90)
        fail_msg("mean: covered %.3f and %.3f", alone.mean, alike.mean);
}

static void a_mean_of_one_span_or_of_equal_ones(void **state)
{
    (void)state;
    struct profile *p = scopes_new();
    add_span(p, "decode", 5000);
    comes_out(p, "mean decode <= 1 s", CHECK_INCONCLUSIVE, "");
    for (int i = 0; i < 99; i++)
        add_span(p, "decode", 5000);
    comes_out(p, "mean decode <= 5 us", CHECK_HOLDS, "");
    comes_out(p, "mean decode <= 4999 ns", CHECK_FAILS, "");
    profile_free(p);
}

static void same_quantile(struct scope_quantile a, struct scope_quantile b)
{
    assert_true(a.ns == b.ns && a.n_effective == b.n_effective);
    assert_true(a.interval.low == b.interval.low && a.interval.high == b.interval.high);
}

/* One pass over all scopes and one pass for each give the same. */
static void quantiles_of_all_scopes_are_those_of_each(void **state)
{
    static const double q[] = {0.5, 0.99};
    (void)state;
    struct profile *p = scopes_new();
    uint64_t seed = 7;
    for (size_t i = 0; i < 20000; i++) /* more than one span in a sum of stats_series */
        add_span(p, "decode", (uint64_t)(1e6 * uniform(&seed)));
    for (size_t i = 0; i < 10; i++)
        add_span(p, "longest", 2000000000);
    p->streams.at[SCOPES]->lost = 3;
    struct scopetree t;
    struct err err;
    struct selection all = selection_all(p, (struct value_ref){SCOPES, 1});
    assert_int_equal(scopetree_build(&t, &all, NULL, &err), 0);
    struct scope_quantiles *known = scope_quantiles_new(&t, q, 2);
    assert_int_equal(t.flat.n, 2);
    assert_int_equal(t.flat.at[0].id, 1); /* or the order of the tables is not put to the test */
    for (size_t i = 0; i < t.flat.n; i++)
        for (int k = 0; k < 2; k++) {
            struct scope_quantile of = scope_quantile_of(&t, i, q[k]);
            same_quantile(scope_quantiles_get(known, &t.flat, &t.flat.at[i], k), of);
            same_quantile(scope_quantiles_get(known, &t.tree, &t.tree.at[i], k), of);
        }
    scope_quantiles_free(known);
    scopetree_done(&t);
    profile_free(p);
}

/* --- differences --- */

enum { MOST_RUNS = 10 };

/* N exponential times of a run; FACTOR of "decode" only. */
static struct profile *times_of(uint64_t *seed, size_t n, double factor)
{
    struct profile *p = scopes_new();
    for (size_t i = 0; i < n; i++) {
        add_span(p, "decode", (uint64_t)(-1e6 * factor * log(uniform(seed))));
        add_span(p, "other", (uint64_t)(-1e6 * log(uniform(seed))));
    }
    return p;
}

struct compared {
    struct profile *p[MOST_RUNS];
    struct selection all[MOST_RUNS];
    const struct selection *runs[MOST_RUNS];
    size_t n;
    struct scopediff diff;
};

/* RUNS per side of N spans; "decode" takes FACTOR times as long after. */
static void compare(struct compared *c, uint64_t *seed, size_t runs, size_t n, double factor)
{
    struct err err;
    c->n = 2 * runs;
    for (size_t i = 0; i < c->n; i++) {
        c->p[i] = times_of(seed, n, i < runs ? 1 : factor);
        c->all[i] = selection_all(c->p[i], (struct value_ref){SCOPES, 1});
        c->runs[i] = &c->all[i];
    }
    struct scopediff_opts o = {.runs = c->runs, .n_before = runs, .n_runs = c->n, .top = 10};
    assert_int_equal(scopediff_build(&c->diff, &o, &err), 0);
}

static void compared_done(struct compared *c)
{
    scopediff_done(&c->diff);
    for (size_t i = 0; i < c->n; i++)
        profile_free(c->p[i]);
}

static const struct scopediff_row *row_of(const struct compared *c, const char *name)
{
    for (size_t i = 0; i < c->diff.rows.n; i++)
        if (text_is(c->diff.rows.at[i].name, name))
            return &c->diff.rows.at[i];
    fail_msg("no row '%s'", name);
    return NULL;
}

static void a_change_is_found_in_the_scope_that_has_it(void **state)
{
    (void)state;
    static const struct {
        size_t runs;
        double factor;
        enum scope_verdict verdict;
    } cases[] = {{1, 4, SCOPE_SLOWER},
                 {1, 0.25, SCOPE_FASTER},
                 {5, 1.3, SCOPE_SLOWER},
                 {5, 0.75, SCOPE_FASTER}};
    uint64_t seed = 7;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct compared c;
        compare(&c, &seed, cases[i].runs, 4000, cases[i].factor);
        const struct scopediff_row *decode = row_of(&c, "decode"), *other = row_of(&c, "other");
        assert_int_equal(decode->at[0].verdict, cases[i].verdict);
        assert_int_equal(decode->at[1].verdict, cases[i].verdict);
        assert_true(decode->at[0].interval.low < cases[i].factor - 1);
        assert_true(decode->at[0].interval.high > cases[i].factor - 1);
        for (int k = 0; k < SCOPEDIFF_QUANTILES; k++)
            assert_true(other->at[k].verdict == SCOPE_SAME ||
                        other->at[k].verdict == SCOPE_UNPROVEN);
        assert_true(decode->before.calls == 4000 && decode->after.calls == 4000);
        assert_int_equal(c.diff.n_tested, 6);
        compared_done(&c);
    }
}

/* Five scopes, "decode" takes FACTOR times as long after, all others REST times. */
static enum scope_verdict verdict_of_five(double factor, double rest, const char *command)
{
    static const char *const others[] = {"read", "parse", "send", "log"};
    uint64_t seed = 5;
    struct compared c = {.n = 2};
    struct err err;
    for (size_t i = 0; i < 2; i++) {
        c.p[i] = times_of(&seed, 0, 1);
        for (size_t k = 0; k < 4000; k++) {
            add_span(c.p[i], "decode", (uint64_t)(-1e6 * (i ? factor : 1) * log(uniform(&seed))));
            for (size_t n = 0; n < 4; n++)
                add_span(c.p[i], others[n],
                         (uint64_t)(-1e6 * (i ? rest : 1) * log(uniform(&seed))));
        }
        struct mapping app = {.path = profile_add_str(c.p[i], text_of("/bin/app")),
                              .build_id = profile_add_str(c.p[i], text_of("abcd1234"))};
        profile_add_mapping(c.p[i], &app);
        meta_set(&c.p[i]->meta, META_COMMAND, text_of(i ? command : "/bin/app 3"));
        meta_set(&c.p[i]->meta, META_KERNEL, text_of("6.1"));
        c.all[i] = selection_all(c.p[i], (struct value_ref){SCOPES, 1});
        c.runs[i] = &c.all[i];
    }
    struct scopediff_opts o = {.runs = c.runs, .n_before = 1, .n_runs = 2, .top = 10};
    assert_int_equal(scopediff_build(&c.diff, &o, &err), 0);
    enum scope_verdict v = row_of(&c, "decode")->at[0].verdict;
    compared_done(&c);
    return v;
}

/* As in `kelvin diff`: 1.5 by itself and relative to the rest, or 3 by itself. */
static void a_run_per_side_proves_what_it_proves_of_functions(void **state)
{
    (void)state;
    assert_int_equal(verdict_of_five(1.4, 1, "/bin/app 4"), SCOPE_UNPROVEN);
    assert_int_equal(verdict_of_five(2, 1, "/bin/app 4"), SCOPE_SLOWER);
    assert_int_equal(verdict_of_five(0.5, 1, "/bin/app 4"), SCOPE_FASTER);
    assert_int_equal(verdict_of_five(2, 2, "/bin/app 4"), SCOPE_UNPROVEN); /* all of it */
    assert_int_equal(verdict_of_five(4, 4, "/bin/app 4"), SCOPE_SLOWER);
    assert_int_equal(verdict_of_five(4, 1, "/bin/app 3"), SCOPE_UNPROVEN); /* the same program */
}

/* A scope inside another, named "outer", one run per side; three others stay as they were. */
static struct compared nested_pair(double factor)
{
    uint64_t seed = 5;
    struct compared c = {.n = 2};
    struct err err;
    for (size_t i = 0; i < 2; i++) {
        c.p[i] = times_of(&seed, 0, 1);
        struct frame_id frames[] = {profile_add_named_frame(c.p[i], text_of("outer"), FRAME_USER),
                                    profile_add_named_frame(c.p[i], text_of("inner"), FRAME_USER)};
        struct stack_id stack = stacks_intern(&c.p[i]->stacks, frames, 2);
        for (size_t k = 0; k < 4000; k++) {
            uint64_t ns = (uint64_t)(-1e6 * (i ? factor : 1) * log(uniform(&seed)));
            int64_t values[] = {1, (int64_t)ns};
            struct row row = {.stack = stack,
                              .has_time = true,
                              .time_ns = 1000000000ull * c.p[i]->streams.at[SCOPES]->rows.n,
                              .duration_ns = ns,
                              .values = values};
            assert_int_equal(profile_add_row(c.p[i], SCOPES, &row, &err), 0);
            add_span(c.p[i], "outer", ns + 1000);
            add_span(c.p[i], "read", (uint64_t)(-1e6 * log(uniform(&seed))));
            add_span(c.p[i], "send", (uint64_t)(-1e6 * log(uniform(&seed))));
        }
        c.all[i] = selection_all(c.p[i], (struct value_ref){SCOPES, 1});
        c.runs[i] = &c.all[i];
    }
    struct scopediff_opts o = {.runs = c.runs, .n_before = 1, .n_runs = 2, .top = 10};
    assert_int_equal(scopediff_build(&c.diff, &o, &err), 0);
    return c;
}

/* What is around a scope grows with it and is no rest to compare with. */
static void scopes_around_another_are_no_rest(void **state)
{
    (void)state;
    struct compared twice = nested_pair(2), more = nested_pair(4);
    assert_false(row_of(&twice, "inner")->at[0].chance.has_rest);
    assert_true(row_of(&twice, "read")->at[0].chance.has_rest);
    assert_int_equal(row_of(&twice, "inner")->at[0].verdict, SCOPE_UNPROVEN);
    assert_int_equal(row_of(&more, "inner")->at[0].verdict, SCOPE_SLOWER);
    compared_done(&twice);
    compared_done(&more);
}

static void a_run_per_side_proves_nothing_within_a_fifth(void **state)
{
    (void)state;
    uint64_t seed = 11;
    struct compared c;
    compare(&c, &seed, 1, 20000, 1.1);
    assert_int_equal(row_of(&c, "decode")->at[0].verdict, SCOPE_SAME);
    compared_done(&c);
}

/* A factor of 1.2 either way: 1 / 1.2 is -16.7%. */
static void the_band_is_the_same_factor_either_way(void **state)
{
    (void)state;
    uint64_t seed = 11;
    struct compared c;
    compare(&c, &seed, 1, 20000, 0.825);
    const struct scope_change *is = &row_of(&c, "decode")->at[0];
    assert_true(is->interval.low > -0.2 && is->interval.low < -1 / 6.0);
    assert_int_equal(is->verdict, SCOPE_UNPROVEN);
    compared_done(&c);
}

static double least_p(const struct scopediff *d)
{
    double least = 1;
    for (size_t i = 0; i < d->rows.n; i++)
        for (int k = 0; k < SCOPEDIFF_QUANTILES; k++)
            least = fmin(least, d->rows.at[i].at[k].p);
    return least;
}

static void p_is_adjusted_for_all_comparisons(void **state)
{
    (void)state;
    uint64_t seed = 13;
    struct compared c;
    struct err err;
    compare(&c, &seed, 5, 2000, 1.3);
    assert_int_equal(c.diff.n_tested, 6);
    assert_true(text_is(c.diff.rows.at[0].name, "decode"));
    double of_six = least_p(&c.diff);
    scopediff_done(&c.diff);
    struct scopediff_opts o = {.runs = c.runs, .n_before = 5, .n_runs = 10, .top = 1};
    assert_int_equal(scopediff_build(&c.diff, &o, &err), 0);
    assert_int_equal(c.diff.n_tested, 3);
    assert_true(of_six < 0.5 && fabs(of_six / least_p(&c.diff) - 2) < 1e-9);
    compared_done(&c);
}

static void losses_of_all_runs_are_counted(void **state)
{
    (void)state;
    uint64_t seed = 17;
    struct compared c;
    struct err err;
    compare(&c, &seed, 1, 100, 1);
    assert_int_equal(c.diff.lost, 0);
    scopediff_done(&c.diff);
    profile_stream(c.p[0], SCOPES)->lost = 3;
    profile_stream(c.p[1], SCOPES)->lost = 4;
    struct scopediff_opts o = {.runs = c.runs, .n_before = 1, .n_runs = 2, .top = 1};
    assert_int_equal(scopediff_build(&c.diff, &o, &err), 0);
    assert_int_equal(c.diff.lost, 7);
    compared_done(&c);
}

static void prints_in_diff(const struct compared *c, const char *words)
{
    struct scopediff_view v = {
        .diff = &c->diff, .before = "before", .after = "after", .unlike = ""};
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    scopediff_print(out, &v, &(struct document_paper){DOCUMENT_AS_TEXT, 200, false});
    fclose(out);
    if (!strstr(text, words))
        fail_msg("no '%s' in: %s", words, text);
    free(text);
}

static void the_verdict_says_what_is_slower_and_what_is_faster(void **state)
{
    (void)state;
    uint64_t seed = 7;
    struct compared c;
    compare(&c, &seed, 1, 4000, 4);
    prints_in_diff(&c, "Slower: of 6 percentiles 3 slower, 0 faster, ");
    const struct scope_change *median = &row_of(&c, "decode")->at[0];
    autofree char *times = mem_printf(" x%.2f ", median->after_ns / median->before_ns);
    prints_in_diff(&c, times);
    c.diff.rows.at[1].at[0].verdict = SCOPE_FASTER;
    c.diff.lost = 7;
    prints_in_diff(&c, "Slower and faster: of 6 percentiles 3 slower, 1 faster, ");
    prints_in_diff(&c, "7 records were lost");
    compared_done(&c);
}

static void equal_programs_are_not_told_apart(void **state)
{
    (void)state;
    uint64_t seed = 3;
    size_t wrong = 0, covered = 0, all = 0;
    for (int round = 0; round < 60; round++) {
        struct compared c;
        compare(&c, &seed, round % 2 ? 1 : 4, 500, 1);
        for (size_t i = 0; i < c.diff.rows.n; i++)
            for (int k = 0; k < SCOPEDIFF_QUANTILES; k++) {
                const struct scope_change *is = &c.diff.rows.at[i].at[k];
                wrong += is->verdict == SCOPE_SLOWER || is->verdict == SCOPE_FASTER;
                covered += is->interval.low <= 0 && is->interval.high >= 0;
                all++;
            }
        compared_done(&c);
    }
    assert_int_equal(wrong, 0);
    if ((double)covered < 0.93 * (double)all)
        fail_msg("%zu of %zu intervals cover", covered, all);
}

static void two_or_three_runs_are_too_few_and_new_scopes_have_no_change(void **state)
{
    (void)state;
    uint64_t seed = 5;
    struct compared c;
    compare(&c, &seed, 3, 100, 10);
    assert_int_equal(c.diff.n_tested, 0);
    assert_false(scopediff_has_runs(&c.diff));
    assert_int_equal(row_of(&c, "decode")->at[0].verdict, SCOPE_UNPROVEN);
    compared_done(&c);
    compare(&c, &seed, 1, 50, 10);
    assert_true(isnan(row_of(&c, "decode")->at[2].before_ns)); /* p99 of 50 spans */
    add_span(c.p[1], "new", 5);
    scopediff_done(&c.diff);
    struct err err;
    c.all[1] = selection_all(c.p[1], (struct value_ref){SCOPES, 1});
    struct scopediff_opts o = {.runs = c.runs, .n_before = 1, .n_runs = 2, .top = 2};
    assert_int_equal(scopediff_build(&c.diff, &o, &err), 0);
    assert_int_equal(c.diff.n_left_out, 1);
    scopediff_done(&c.diff);
    o.top = 3;
    assert_int_equal(scopediff_build(&c.diff, &o, &err), 0);
    const struct scopediff_row *new = row_of(&c, "new");
    assert_true(new->before.calls == 0 && new->after.calls == 1);
    assert_true(isnan(new->at[0].change) && isnan(new->at[0].p));
    compared_done(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_quantile_is_judged_by_its_interval),
        cmocka_unit_test(too_few_spans_do_not_bound_a_high_quantile),
        cmocka_unit_test(calls_and_rates_are_counted),
        cmocka_unit_test(what_was_lost_may_have_been_of_any_kind),
        cmocka_unit_test(counts_of_several_runs_in_one_recording_are_not_those_of_a_run),
        cmocka_unit_test(without_scopes_there_is_nothing_to_check),
        cmocka_unit_test(intervals_cover_also_where_spans_in_a_row_are_alike),
        cmocka_unit_test(a_mean_of_one_span_or_of_equal_ones),
        cmocka_unit_test(quantiles_of_all_scopes_are_those_of_each),
        cmocka_unit_test(a_change_is_found_in_the_scope_that_has_it),
        cmocka_unit_test(a_run_per_side_proves_what_it_proves_of_functions),
        cmocka_unit_test(scopes_around_another_are_no_rest),
        cmocka_unit_test(a_run_per_side_proves_nothing_within_a_fifth),
        cmocka_unit_test(the_band_is_the_same_factor_either_way),
        cmocka_unit_test(p_is_adjusted_for_all_comparisons),
        cmocka_unit_test(losses_of_all_runs_are_counted),
        cmocka_unit_test(the_verdict_says_what_is_slower_and_what_is_faster),
        cmocka_unit_test(equal_programs_are_not_told_apart),
        cmocka_unit_test(two_or_three_runs_are_too_few_and_new_scopes_have_no_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
