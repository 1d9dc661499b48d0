/*
 * A session: how many blocks it takes, when it stops by itself, and what it tells on the way. The
 * programs answer with times that are made up, so that nothing depends on the machine.
 */
#include "bench/session_inner.h"

#include "stats/paired.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#define ANSWERS(ns)                                                      \
    "sh -c 'echo \"{\\\"kelvin_bench\\\":1,\\\"program\\\":\\\"p\\\"}\n" \
    "{\\\"name\\\":\\\"x\\\",\\\"ns\\\":" ns "}\" >&$KELVIN_BENCH_FD'"
/* 500 to 1011, by the number of the process: no look can decide that. */
#define SCATTERED ANSWERS("$((500 + $$ * 7919 % 512))")

static const struct opt_list none;

static struct session_opts until_decided(void)
{
    return (struct session_opts){.time_s = 1000,
                                 .precision = 0.05,
                                 .band = PAIRED_BAND,
                                 .risk = PAIRED_RISK,
                                 .seed = 7,
                                 .unseen = true,
                                 .gates = &none};
}

static void run_plan(struct session *s, struct plan *plan, const struct plan_opts *wanted,
                     const struct session_opts *with)
{
    struct err err;
    *s = (struct session){0};
    *plan = (struct plan){0};
    struct starter_opts starter = {.stop_fd = -1, .ask = "measure_ms=1"};
    assert_int_equal(plan_build(plan, wanted, &err), 0);
    if (session_run(s, plan, with, &starter, &err) != 0)
        fail_msg("%s", err.text);
}

static void run_lines(struct session *s, struct plan *plan, const char *const *lines, size_t n,
                      const struct session_opts *with)
{
    struct plan_opts wanted = {
        .lines = (char *const *)lines, .n_lines = n, .names = &none, .list = &none, .range = &none};
    run_plan(s, plan, &wanted, with);
}

static void both_done(struct session *s, struct plan *plan)
{
    session_done(s);
    plan_done(plan);
}

/* A suite counts as its own time what is left of the whole. */
static void runs_that_do_not_count_are_time_of_programs_too(void **state)
{
    struct session s;
    struct plan plan;
    struct session_opts with = until_decided();
    const char *line = "sleep 0.1";
    (void)state;
    with.warmup = 2;
    with.runs = 1;
    run_lines(&s, &plan, &line, 1, &with);
    assert_int_equal(s.blocks, 1);
    assert_true(s.programs_s >= 0.3);
    both_done(&s, &plan);
}

/* --- when it stops --- */

static void what_is_clear_ends_at_the_first_look(void **state)
{
    static const struct {
        const char *after;
        enum verdict verdict;
    } cases[] = {{ANSWERS("900"), VERDICT_SLOWER},
                 {ANSWERS("100"), VERDICT_FASTER},
                 {ANSWERS("500"), VERDICT_SAME}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct session s;
        struct plan plan;
        struct session_opts with = until_decided();
        const char *lines[] = {ANSWERS("500"), cases[i].after};
        run_lines(&s, &plan, lines, 2, &with);
        assert_int_equal(s.comparisons.n, 1);
        assert_int_equal(s.comparisons.at[0].paired.verdict, cases[i].verdict);
        assert_int_equal(s.blocks, paired_look_at(0, SIZE_MAX));
        assert_int_equal(s.looks, 1);
        both_done(&s, &plan);
    }
}

static void one_clear_comparison_does_not_end_another(void **state)
{
    struct session s;
    struct plan plan;
    struct session_opts with = until_decided();
    const char *lines[] = {ANSWERS("700"), SCATTERED, ANSWERS("9000")};
    (void)state;
    with.max_runs = (long)paired_look_at(1, SIZE_MAX);
    run_lines(&s, &plan, lines, 3, &with);
    assert_int_equal(s.comparisons.n, 2);
    assert_int_equal(s.comparisons.at[0].paired.verdict, VERDICT_INCONCLUSIVE);
    assert_int_equal(s.comparisons.at[1].paired.verdict, VERDICT_SLOWER);
    assert_int_equal(s.blocks, paired_look_at(1, SIZE_MAX));
    assert_int_equal(s.looks, 2);
    /* What is decided is not looked at again: its risk is that of the first look. */
    assert_int_equal(s.comparisons.at[1].paired.n, paired_look_at(0, SIZE_MAX));
    assert_int_equal(s.comparisons.at[0].paired.n, paired_look_at(1, SIZE_MAX));
    both_done(&s, &plan);
}

static void the_last_look_sees_all_blocks(void **state)
{
    struct session s;
    struct plan plan;
    struct session_opts with = until_decided();
    const char *lines[] = {ANSWERS("700"), SCATTERED};
    (void)state;
    with.max_runs = (long)paired_look_at(0, SIZE_MAX) + 3;
    run_lines(&s, &plan, lines, 2, &with);
    assert_int_equal(s.looks, 2);
    assert_int_equal(s.look, PAIRED_LAST_LOOK + 1);
    assert_int_equal(s.comparisons.at[0].paired.n, with.max_runs);
    assert_true(s.comparisons.at[0].paired.miss > PAIRED_RISK / 2); /* what the first look left */
    both_done(&s, &plan);
}

static void exact_measures_need_three_blocks(void **state)
{
    static const char *const lines[] = {ANSWERS("500"), ANSWERS("501")};
    (void)state;
    for (size_t n = 1; n <= 2; n++) {
        struct session s;
        struct plan plan;
        struct session_opts with = until_decided();
        with.exact = true;
        run_lines(&s, &plan, lines, n, &with);
        assert_int_equal(s.blocks, 3);
        both_done(&s, &plan);
    }
}

static void alone_it_ends_when_the_median_is_known(void **state)
{
    struct session s;
    struct plan plan;
    struct session_opts with = until_decided();
    const char *steady[] = {ANSWERS("500")}, *scattered[] = {SCATTERED};
    (void)state;
    run_lines(&s, &plan, steady, 1, &with);
    assert_int_equal(s.blocks, 10);
    assert_int_equal(s.comparisons.n, 0);
    both_done(&s, &plan);
    with.min_runs = 12;
    run_lines(&s, &plan, steady, 1, &with);
    assert_int_equal(s.blocks, 12);
    both_done(&s, &plan);
    with.min_runs = 0;
    with.precision = 1e-6;
    with.max_runs = 15;
    run_lines(&s, &plan, scattered, 1, &with);
    assert_int_equal(s.blocks, 15);
    both_done(&s, &plan);
}

static void a_gate_that_decides_ends_it_whatever_the_verdict(void **state)
{
    static const struct opt_list wide = {{"1000%"}, 1};
    const char *lines[] = {ANSWERS("700"), SCATTERED};
    struct session s;
    struct plan plan;
    struct session_opts with = until_decided();
    (void)state;
    with.gates = &wide;
    with.gate_decides = true;
    run_lines(&s, &plan, lines, 2, &with);
    assert_int_equal(s.blocks, paired_look_at(0, SIZE_MAX));
    assert_int_equal(s.comparisons.at[0].gate, GATE_HOLDS);
    assert_int_equal(s.comparisons.at[0].paired.verdict, VERDICT_INCONCLUSIVE);
    both_done(&s, &plan);
}

static bool decided_at_third_look(void *to, int look)
{
    ++*(int *)to;
    return look == 2;
}

static void other_questions_keep_it_going(void **state)
{
    static const struct opt_list wide = {{"1000%"}, 1};
    const char *lines[] = {ANSWERS("700"), SCATTERED};
    struct session s;
    struct plan plan;
    struct session_opts with = until_decided();
    int asked = 0;
    (void)state;
    with.gates = &wide;
    with.gate_decides = true;
    with.decided = decided_at_third_look;
    with.decided_to = &asked;
    run_lines(&s, &plan, lines, 2, &with);
    assert_int_equal(asked, 3);
    assert_int_equal(s.look, 2);
    assert_int_equal(s.blocks, paired_look_at(2, SIZE_MAX));
    both_done(&s, &plan);
}

/* --- notes --- */

#define TAKES(ns, cpu_ns) ANSWERS(ns ",\\\"cpu_ns\\\":" cpu_ns)
#define ANY "$((500 + $$ * 7919 % 512))"

static bool has_note(const struct session *s, const char *words)
{
    bool found = false;
    for (size_t i = 0; i < s->notes.n; i++)
        found |= strstr(s->notes.at[i], words) != NULL;
    return found;
}

static void where_wall_time_cannot_tell_a_note_has_what_cpu_time_says(void **state)
{
    static const struct {
        const char *before, *after, *words; /* NULL = no note */
    } cases[] = {{TAKES("700", "500"), TAKES(ANY, "900"), "is slower: +80.0%"},
                 {TAKES("700", "700"), TAKES(ANY, ANY), NULL},
                 {TAKES("500", "500"), TAKES("900", "900"), NULL}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct session s;
        struct plan plan;
        struct session_opts with = until_decided();
        const char *lines[] = {cases[i].before, cases[i].after};
        with.runs = 14;
        run_lines(&s, &plan, lines, 2, &with);
        assert_int_equal(has_note(&s, "by CPU time"), cases[i].words != NULL);
        if (cases[i].words)
            assert_true(has_note(&s, cases[i].words));
        both_done(&s, &plan);
    }
}

/* --- what goes before and after --- */

static void a_setup_that_fails_ends_it_and_cleanup_takes_place(void **state)
{
    static const char *const setups[] = {"sh -c 'exit 3'", "sh -c 'kill -9 $$'", "true"};
    const char *lines[] = {ANSWERS("500")};
    (void)state;
    for (size_t i = 0; i < sizeof setups / sizeof *setups; i++) {
        char path[] = "/tmp/kelvin-session-XXXXXX";
        close(mkstemp(path));
        autofree char *cleanup = mem_printf("rm %s", path);
        struct plan_opts wanted = {.lines = (char *const *)lines,
                                   .n_lines = 1,
                                   .names = &none,
                                   .list = &none,
                                   .range = &none,
                                   .setup = setups[i],
                                   .cleanup = cleanup};
        struct session_opts with = until_decided();
        struct starter_opts starter = {.stop_fd = -1, .ask = "measure_ms=1"};
        struct session s = {0};
        struct plan plan = {0};
        struct err err = {0};
        bool good = i == 2;
        with.runs = 2;
        assert_int_equal(plan_build(&plan, &wanted, &err), 0);
        assert_int_equal(session_run(&s, &plan, &with, &starter, &err), good ? 0 : -1);
        assert_int_equal(s.blocks, good ? 2 : 0);
        assert_int_equal(strstr(err.text, "setup") != NULL, !good);
        assert_int_equal(access(path, F_OK), -1);
        both_done(&s, &plan);
    }
}

/* --- equal things --- */

static void equal_things_are_tried_by_twelves_and_cause_no_alarm(void **state)
{
    const char *lines[] = {ANSWERS("500")};
    struct session s;
    struct plan plan;
    struct session_opts with = until_decided();
    struct plan_opts wanted = {.lines = (char *const *)lines,
                               .n_lines = 1,
                               .names = &none,
                               .list = &none,
                               .range = &none,
                               .aa = true};
    (void)state;
    with.runs = 2 * SESSION_AA_BLOCKS + 1;
    run_plan(&s, &plan, &wanted, &with);
    assert_int_equal(s.aa_tries, 2);
    assert_int_equal(s.aa_alarms, 0);
    assert_int_equal(s.comparisons.n, 0); /* of one and the same thing */
    both_done(&s, &plan);
}

/* --- on the way --- */

struct heard {
    size_t n;
    double done[32], left_s[32];
    const char *name[32];
};

static void hear_progress(void *to, const struct session_progress *p)
{
    struct heard *h = to;
    assert_true(h->n < 32);
    h->done[h->n] = p->done;
    h->left_s[h->n] = p->left_s;
    h->name[h->n++] = p->name;
}

static void progress_is_the_share_of_all_groups(void **state)
{
    static const struct opt_list list = {{"n=1,2"}, 1};
    const char *lines[] = {"sleep 0.1{n}"}; /* longer than the pause between two words */
    struct heard h = {0};
    struct session s;
    struct plan plan;
    struct session_opts with = until_decided();
    struct plan_opts wanted = {
        .lines = (char *const *)lines, .n_lines = 1, .names = &none, .list = &list, .range = &none};
    (void)state;
    with.runs = 2;
    with.progress = hear_progress;
    with.progress_to = &h;
    run_plan(&s, &plan, &wanted, &with);
    assert_int_equal(h.n, 4);
    for (size_t i = 0; i < h.n; i++)
        assert_float_equal(h.done[i], (double)i / 4, 1e-9);
    assert_true(h.left_s[0] == 0); /* not known yet */
    assert_true(h.left_s[1] > 0 && h.left_s[3] > 0);
    assert_string_equal(h.name[0], plan.items.at[0].name);
    assert_string_equal(h.name[1], plan.items.at[1].name);
    both_done(&s, &plan);
}

static void a_note_is_kept_once(void **state)
{
    static const char *const words[] = {"one", "two", "one", "two", "three"};
    struct session s = {0};
    (void)state;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        session_note(&s, mem_strdup(words[i]));
    assert_int_equal(s.notes.n, 3);
    assert_string_equal(s.notes.at[0], "one");
    assert_string_equal(s.notes.at[1], "two");
    assert_string_equal(s.notes.at[2], "three");
    session_done(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_that_do_not_count_are_time_of_programs_too),
        cmocka_unit_test(what_is_clear_ends_at_the_first_look),
        cmocka_unit_test(one_clear_comparison_does_not_end_another),
        cmocka_unit_test(the_last_look_sees_all_blocks),
        cmocka_unit_test(exact_measures_need_three_blocks),
        cmocka_unit_test(alone_it_ends_when_the_median_is_known),
        cmocka_unit_test(a_gate_that_decides_ends_it_whatever_the_verdict),
        cmocka_unit_test(other_questions_keep_it_going),
        cmocka_unit_test(where_wall_time_cannot_tell_a_note_has_what_cpu_time_says),
        cmocka_unit_test(a_setup_that_fails_ends_it_and_cleanup_takes_place),
        cmocka_unit_test(equal_things_are_tried_by_twelves_and_cause_no_alarm),
        cmocka_unit_test(progress_is_the_share_of_all_groups),
        cmocka_unit_test(a_note_is_kept_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
