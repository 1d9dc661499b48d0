/* test_diff_chance.c - comparing profiles: what differs although the program is the same. */
#include "analysis/diff.h"
#include "view/diff.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support.h"

/* --- whole profiles: "main;f" N times --- */

static void add(struct profile *p, const char *path, int64_t n)
{
    struct err err;
    struct stack_id stack = {0};
    struct text rest = text_of(path);
    while (rest.n)
        stack = stacks_push(&p->stacks, stack,
                            profile_add_named_frame(p, text_cut(&rest, ';'), FRAME_USER));
    assert_int_equal(profile_add_row(p, 0, &(struct row){.stack = stack, .values = &n}, &err), 0);
}

static struct profile *profile_of(int64_t f, int64_t g)
{
    struct profile *p = profile_new();
    support_value(p, "", "samples", "count");
    add(p, "main;f", f);
    add(p, "main;g;g", g);
    return p;
}

static const struct diff_entry *find(const struct diff *d, const char *name)
{
    for (size_t i = 0; i < d->functions.n; i++)
        if (text_is(diff_name(d, &d->functions.at[i]), name))
            return &d->functions.at[i];
    return NULL;
}

static char *print_runs(const struct diff *d, const struct selection *const *runs)
{
    char *out = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&out, &n);
    assert_non_null(f);
    diff_print_text(f, d, &(struct diff_view){.runs = runs, .unlike = "", .top = 3, .width = 200});
    fclose(f);
    return out;
}

/* What 1,872 pairs of unchanged programs did: one function 1.4 times as much next to the rest, or
 * all of it twice as much. */
static void one_pair_differs_as_unchanged_programs_do_and_proves_nothing(void **state)
{
    static const struct {
        int64_t copy;
        uint64_t cpu_ms;
        bool proven;
    } after[] = {
        {14000, 54000, false},  /* 1.4 times as much in one function, 100,000 samples of it */
        {14000, 108000, false}, /* the same, and the machine half as fast */
        {10000, 125000, false}, /* only the machine, 2.5 times slower */
        {20000, 60000, true},   {10000, 400000, true}, /* eight times the work */
    };
    (void)state;
    for (size_t i = 0; i < sizeof after / sizeof *after; i++) {
        struct profile *p[2];
        for (int k = 0; k < 2; k++) {
            p[k] = profile_of(10000, 10000);
            add(p[k], "main;h", 10000);
            add(p[k], "main;i", 10000);
            add(p[k], "main;copy", k ? after[i].copy : 10000);
            profile_stream(p[k], 0)->obtained = BY_SOFTWARE_CLOCK;
            meta_set_u64(&p[k]->meta, META_CPU_TIME_NS,
                         (k ? after[i].cpu_ms : 50000) * UINT64_C(1000000));
        }
        const struct selection *runs[] = {SUPPORT_ALL(p[0], 0), SUPPORT_ALL(p[1], 0)};
        struct diff *d = diff_build(&(struct diff_opts){.runs = runs, .n_before = 1, .n_runs = 2});
        assert_int_equal(find(d, "copy")->self.proven, after[i].proven);
        assert_int_equal(d->verdict, after[i].proven ? DIFF_REGRESSED : DIFF_INCONCLUSIVE);
        diff_free(d);
        profile_free(p[0]);
        profile_free(p[1]);
    }
}

/* Five runs per side; in those after, interrupts and waits of the program cost three times as much.
 */
static void add_kernel(struct profile *p, const char *path, int64_t n)
{
    struct err err;
    struct text rest = text_of(path);
    struct stack_id stack = stacks_push(&p->stacks, (struct stack_id){0},
                                        profile_add_named_frame(p, text_of("main"), FRAME_USER));
    while (rest.n)
        stack = stacks_push(&p->stacks, stack,
                            profile_add_named_frame(p, text_cut(&rest, ';'), FRAME_KERNEL));
    assert_int_equal(profile_add_row(p, 0, &(struct row){.stack = stack, .values = &n}, &err), 0);
}

static struct profile *profile_with_interrupts(int64_t i, bool after)
{
    struct profile *p = profile_of(3000 + 7 * (i % 3), 6000 - 5 * (i % 4));
    int64_t n = (after ? 900 : 300) + i % 5;
    add(p, "main;handle_interrupt", n); /* an emulator's own */
    add_kernel(p, "sysvec_apic_timer_interrupt;handle_softirqs;run_timers", n);
    add_kernel(p, "sysvec_apic_timer_interrupt;pick_next_task", n);
    add_kernel(p, "do_syscall_64;mutex_lock_interruptible", n);
    profile_stream(p, 0)->obtained = BY_SOFTWARE_CLOCK;
    meta_set_u64(&p->meta, META_CPU_TIME_NS, after ? 12600000000 : 10200000000);
    return p;
}

static void interrupts_are_shown_apart_and_never_proven(void **state)
{
    static const struct {
        const char *name;
        bool interrupt;
    } functions[] = {{"run_timers", true},
                     {"pick_next_task", true},
                     {"handle_softirqs", true},
                     {"mutex_lock_interruptible", false},
                     {"handle_interrupt", false}};
    struct profile *p[10];
    struct selection all[10];
    const struct selection *runs[10];
    (void)state;
    for (int i = 0; i < 10; i++) {
        p[i] = profile_with_interrupts(i, i >= 5);
        all[i] = selection_all(p[i], (struct value_ref){0, 0});
        runs[i] = &all[i];
    }
    struct diff *d = diff_build(&(struct diff_opts){.runs = runs, .n_before = 5, .n_runs = 10});
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        const struct diff_entry *e = find(d, functions[i].name);
        assert_int_equal(e->interrupt, functions[i].interrupt);
        assert_int_equal(e->total.proven, !functions[i].interrupt);
        assert_int_equal(isnan(e->total.p), functions[i].interrupt);
    }
    assert_float_equal(d->interrupts[0], 600. / 10200, 0.001);
    assert_float_equal(d->interrupts[1], 1800. / 12600, 0.001);
    char *printed = print_runs(d, runs);
    assert_non_null(strstr(printed, "Interrupts (devices, timers, the scheduler's tick): 0.6"));
    assert_null(strstr(printed, "run_timers"));
    assert_non_null(strstr(printed, "mutex_lock_interruptible"));
    free(printed);
    diff_free(d);
    for (int i = 0; i < 10; i++)
        profile_free(p[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_pair_differs_as_unchanged_programs_do_and_proves_nothing),
        cmocka_unit_test(interrupts_are_shown_apart_and_never_proven),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
