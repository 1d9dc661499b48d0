/* test_diff.c - comparing one run with another: what is called proven, and what is not. */
#include "analysis/diff.h"
#include "view/diff.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support_diff.h"

static void a_large_change_is_proven_and_recursion_counts_once(void **state)
{
    (void)state;
    struct profile *a = profile_of(300, 700), *b = profile_of(700, 300);
    const struct selection *runs[] = {SUPPORT_ALL(a, 0), SUPPORT_ALL(b, 0)};
    struct diff *d = diff_build(
        &(struct diff_opts){.runs = runs, .n_before = 1, .n_runs = 2, .min_share = 0.005});
    const struct diff_entry *f = find(d, "f"), *g = find(d, "g");
    assert_float_equal(g->total.before, 0.7, 1e-9);
    assert_float_equal(f->self.after, 0.7, 1e-9);
    assert_true(f->self.proven && g->self.proven);
    assert_false(find(d, "main")->total.proven);
    assert_int_equal(d->verdict, DIFF_INCONCLUSIVE); /* of two, either may have moved */
    diff_free(d);
    profile_free(a);
    profile_free(b);
}

static void the_same_profile_is_unchanged_only_with_enough_samples(void **state)
{
    (void)state;
    for (int64_t n = 100; n <= 1000000; n *= 10000) {
        struct profile *a = profile_of(n, 2 * n), *b = profile_of(n + 1, 2 * n);
        const struct selection *runs[] = {SUPPORT_ALL(a, 0), SUPPORT_ALL(b, 0)};
        struct diff *d = diff_build(&(struct diff_opts){.runs = runs, .n_before = 1, .n_runs = 2});
        assert_int_equal(d->verdict, n == 100 ? DIFF_INCONCLUSIVE : DIFF_UNCHANGED);
        diff_free(d);
        profile_free(a);
        profile_free(b);
    }
}

static void one_run_each_of_the_same_program_proves_nothing(void **state)
{
    static const struct {
        const char *command, *path, *build;
        bool same;
    } others[] = {
        {"./app 1", "/bin/app", "a1", true},        {"./app 2", "/bin/app", "a1", false},
        {"./app 1", "/bin/app", "a2", false},       {"./app 1", "/bin/app", "", false},
        {"./app 1", "/other/app", "a1", false},     {"./app 1", "/bin/app2", "a1", false},
        {"sh -c 'app 1'", "/bin/app", "a1", true}, /* a shell, env, time: see below */
        {"sh -c 'app 1'", "/bin/app", "a2", false}, {"sh -c 'app 1'", "/bin/app", "", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct profile *a = profile_of(300, 700), *b = profile_of(700, 300);
        bool shell = others[i].command[0] == 's';
        set_program(a, shell ? others[i].command : "./app 1", "/bin/app", "a1");
        set_program(b, others[i].command, others[i].path, others[i].build);
        const struct selection *runs[] = {SUPPORT_ALL(a, 0), SUPPORT_ALL(b, 0)};
        struct diff *d = diff_build(&(struct diff_opts){.runs = runs, .n_before = 1, .n_runs = 2});
        assert_int_equal(d->same, others[i].same);
        assert_int_equal(find(d, "f")->self.proven, !others[i].same);
        if (others[i].same)
            assert_non_null(strstr(d->why, "the same program with the same arguments"));
        diff_free(d);
        profile_free(a);
        profile_free(b);
    }
}

static struct profile *with_copying(int64_t n, enum frame_kind kind)
{
    struct profile *p = profile_of(1000, 1000);
    struct err err;
    add(p, "main;h", 1000);
    add(p, "main;i", 1000);
    struct stack_id stack = stacks_push(&p->stacks, (struct stack_id){0},
                                        profile_add_named_frame(p, text_of("main"), FRAME_USER));
    stack = stacks_push(&p->stacks, stack, profile_add_named_frame(p, text_of("copy"), kind));
    assert_int_equal(profile_add_row(p, 0, &(struct row){.stack = stack, .values = &n}, &err), 0);
    return p;
}

/* Files that were cached in one run and not in the other are no change of the program. */
static void one_run_each_proves_nothing_about_the_kernel(void **state)
{
    (void)state;
    for (int kernel = 0; kernel < 2; kernel++) {
        enum frame_kind kind = kernel ? FRAME_KERNEL : FRAME_USER;
        struct profile *a = with_copying(20, kind), *b = with_copying(1400, kind);
        const struct selection *runs[] = {SUPPORT_ALL(a, 0), SUPPORT_ALL(b, 0)};
        struct diff *d = diff_build(&(struct diff_opts){.runs = runs, .n_before = 1, .n_runs = 2});
        const struct diff_entry *copy = find(d, "copy");
        assert_int_equal(copy->self.proven, !kernel);
        assert_int_equal(copy->total.proven, !kernel);
        assert_int_equal(d->verdict, kernel ? DIFF_INCONCLUSIVE : DIFF_REGRESSED);
        diff_free(d);
        profile_free(a);
        profile_free(b);
    }
}

/* Three times the input is not proven. The CPU time then says why not, and not that it may double.
 */
static void one_pair_with_three_times_the_work_is_not_explained_by_two(void **state)
{
    (void)state;
    for (int k = 0; k < 4; k++) { /* and the other way round */
        int times = k % 2 ? 3 : 2;
        struct profile *a = profile_of(1000, 1000), *b = profile_of(times * 1000, times * 1000);
        for (int i = 0; i < 2; i++) {
            struct profile *p = i ? b : a;
            add(p, "main;h", i ? times * 1000 : 1000);
            profile_stream(p, 0)->obtained = BY_SOFTWARE_CLOCK;
            meta_set_u64(&p->meta, META_CPU_TIME_NS, i ? times * 995000000ull : 1000000000);
        }
        const struct selection *runs[] = {SUPPORT_ALL(k < 2 ? a : b, 0),
                                          SUPPORT_ALL(k < 2 ? b : a, 0)};
        struct diff *d = diff_build(&(struct diff_opts){.runs = runs, .n_before = 1, .n_runs = 2});
        assert_int_equal(d->verdict, DIFF_INCONCLUSIVE);
        assert_non_null(
            strstr(d->why, times == 2 ? "can differ by a factor of 2" : "nor by a factor of 3"));
        assert_int_equal(times == 3, !strstr(d->why, "factor of 2"));
        diff_free(d);
        profile_free(a);
        profile_free(b);
    }
}

/* Ten times the input: all functions cost ten times as much, and no machine is that slow. */
static void one_pair_with_ten_times_the_work_is_a_change(void **state)
{
    (void)state;
    struct profile *a = profile_of(1000, 1000), *b = profile_of(10000, 10000);
    for (int i = 0; i < 2; i++) {
        struct profile *p = i ? b : a;
        add(p, "main;h", i ? 10000 : 1000);
        add(p, "main;i", i ? 10000 : 1000);
        profile_stream(p, 0)->obtained = BY_SOFTWARE_CLOCK;
        meta_set_u64(&p->meta, META_CPU_TIME_NS, i ? 40000000000 : 4000000000);
    }
    const struct selection *runs[] = {SUPPORT_ALL(a, 0), SUPPORT_ALL(b, 0)};
    struct diff *d = diff_build(&(struct diff_opts){.runs = runs, .n_before = 1, .n_runs = 2});
    assert_true(find(d, "f")->self.proven && find(d, "g")->self.proven);
    assert_int_equal(d->verdict, DIFF_REGRESSED);
    diff_free(d);
    profile_free(a);
    profile_free(b);
}

/* A busy machine: threads that wait by spinning cost twice as much in one run. */
static void one_pair_on_a_busy_machine_needs_more(void **state)
{
    (void)state;
    for (int busy = 0; busy < 2; busy++) {
        struct profile *a = with_copying(2000, FRAME_USER), *b = with_copying(4200, FRAME_USER);
        meta_set_str(&a->meta, META_CPUS, "2 online, 2 usable");
        meta_set_str(&a->meta, META_LOAD, busy ? "7.25 3.40 1.51" : "0.25 0.40 0.51");
        const struct selection *runs[] = {SUPPORT_ALL(a, 0), SUPPORT_ALL(b, 0)};
        struct diff *d = diff_build(&(struct diff_opts){.runs = runs, .n_before = 1, .n_runs = 2});
        assert_int_equal(find(d, "copy")->self.proven, !busy);
        diff_free(d);
        profile_free(a);
        profile_free(b);
    }
}

/* Twice as much in a tenth of the program: more than chance, but a busy machine can do that. */
static void one_pair_on_a_busy_machine_needs_a_fifth_of_the_time(void **state)
{
    (void)state;
    for (int busy = 0; busy < 2; busy++) {
        struct profile *a = with_copying(400, FRAME_USER), *b = with_copying(1000, FRAME_USER);
        for (int i = 0; i < 2; i++) {
            struct profile *p = i ? b : a;
            profile_stream(p, 0)->obtained = BY_SOFTWARE_CLOCK;
            meta_set_u64(&p->meta, META_CPU_TIME_NS, i ? 5000000000 : 4400000000);
            meta_set_str(&p->meta, META_CPUS, "2 online, 2 usable");
            meta_set_str(&p->meta, META_LOAD, busy ? "7.25 3.40 1.51" : "0.25 0.40 0.51");
        }
        const struct selection *runs[] = {SUPPORT_ALL(a, 0), SUPPORT_ALL(b, 0)};
        struct diff *d = diff_build(&(struct diff_opts){.runs = runs, .n_before = 1, .n_runs = 2});
        assert_true(find(d, "copy")->self.proven);
        assert_int_equal(d->verdict, busy ? DIFF_INCONCLUSIVE : DIFF_REGRESSED);
        assert_int_equal(strstr(d->why, "can differ by on a busy machine") != NULL, busy);
        diff_free(d);
        profile_free(a);
        profile_free(b);
    }
}

/* Frames of /bin/app: its functions f and g, with names or as places. */
static struct profile *of_app(const char *command, const char *build, const char *const *names)
{
    struct profile *p = profile_new();
    struct err err;
    int64_t n = 1000;
    support_value(p, "", "samples", "count");
    meta_set_str(&p->meta, META_COMMAND, command);
    meta_set_str(&p->meta, META_KERNEL, "Linux 6.1");
    struct mapping m = {.path = profile_add_str(p, text_of("/bin/app")),
                        .build_id = profile_add_str(p, text_of(build))};
    struct mapping_id app = profile_add_mapping(p, &m);
    for (uint64_t i = 0; names[i]; i++) {
        struct function function = {.name = profile_add_str(p, text_of(names[i]))};
        struct line line = {.function = profile_add_function(p, &function)};
        struct frame_key key = {.pc = 0x1000 * (i + 1),
                                .mapping = app,
                                .kind = FRAME_USER,
                                .lines = &line,
                                .n_lines = 1};
        struct stack_id stack =
            stacks_push(&p->stacks, (struct stack_id){0}, profile_add_frame(p, &key));
        assert_int_equal(profile_add_row(p, 0, &(struct row){.stack = stack, .values = &n}, &err),
                         0);
    }
    return p;
}

static struct diff *diff_of(struct profile *a, struct profile *b)
{
    const struct selection *runs[] = {SUPPORT_ALL(a, 0), SUPPORT_ALL(b, 0)};
    return diff_build(&(struct diff_opts){.runs = runs, .n_before = 1, .n_runs = 2});
}

/* A function of a file that did not change cannot have got another name. */
static void one_build_renames_nothing_and_is_no_other_program(void **state)
{
    static const char *const before[] = {"main", "old", NULL}, *const after[] = {"main", "new",
                                                                                 NULL};
    static const char *const other[] = {"x", "y", "z", NULL};
    (void)state;
    for (int same = 0; same < 2; same++) {
        struct profile *a = of_app("./app 1", "a1", before),
                       *b = of_app("./app 2", same ? "a1" : "a2", after);
        struct diff *d = diff_of(a, b);
        assert_int_equal(find(d, "old")->renamed != 0, !same);
        diff_free(d);
        profile_free(b);
        b = of_app("./app 2", same ? "a1" : "a2", other);
        d = diff_of(a, b);
        assert_int_equal(diff_is_of_others(d), !same);
        assert_int_equal(strstr(d->why, "hardly a function") != NULL, !same);
        diff_free(d);
        profile_free(a);
        profile_free(b);
    }
}

/* Stripped programs keep the names that they export: one on a stack is no program with names. */
static void a_stripped_program_compares_by_its_places(void **state)
{
    static const char *const before[] = {"[app+0x1000]", "[app+0x2000]", "[app+0x3000]", NULL};
    static const char *const after[] = {"[app+0x1000]", "[app+0x2000]", "exported", NULL};
    static const char *const named[] = {"f", "g", "exported", NULL};
    (void)state;
    struct profile *a = of_app("./app 1", "a1", before), *b = of_app("./app 2", "a1", after),
                   *c = of_app("./app 3", "a1", named);
    struct diff *d = diff_of(a, b);
    assert_int_equal(d->unnamed.n, 0);
    diff_free(d);
    d = diff_of(a, c);
    assert_non_null(strstr(buf_cstr(&d->unnamed), "app has no function names before"));
    diff_free(d);
    profile_free(a);
    profile_free(b);
    profile_free(c);
}

static char *print_diff(struct profile *a, struct profile *b)
{
    const struct selection *runs[] = {SUPPORT_ALL(a, 0), SUPPORT_ALL(b, 0)};
    struct diff *d = diff_build(&(struct diff_opts){.runs = runs, .n_before = 1, .n_runs = 2});
    char *out = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&out, &n);
    assert_non_null(f);
    diff_print_text(f, d, &(struct diff_view){.runs = runs, .unlike = "", .top = 3, .width = 200});
    fclose(f);
    diff_free(d);
    return out;
}

static void a_command_that_failed_is_told(void **state)
{
    (void)state;
    for (int failed = 0; failed < 2; failed++) {
        struct profile *a = profile_of(1000, 1000), *b = profile_of(1000, 1000);
        meta_set_str(&a->meta, META_EXIT_STATUS, "0");
        meta_set_str(&b->meta, META_EXIT_STATUS, failed ? "2" : "signal 15");
        autofree char *out = print_diff(a, b);
        assert_int_equal(strstr(out, "an exit code other than 0, in 1 of 1 run after.") != NULL,
                         failed);
        assert_null(strstr(out, "run before."));
        profile_free(a);
        profile_free(b);
    }
}

/* Each clock misses what the other sees: no function ended because the program changed. */
static void unlike_clocks_are_told(void **state)
{
    (void)state;
    for (int unlike = 0; unlike < 2; unlike++) {
        struct profile *a = profile_of(1000, 1000), *b = profile_of(1000, 1000);
        meta_set_str(&a->meta, META_CLOCKS, "of CPUs");
        meta_set_str(&b->meta, META_CLOCKS, unlike ? "of threads" : "of CPUs");
        autofree char *out = print_diff(a, b);
        assert_int_equal(strstr(out, "by clocks of CPUs, some by clocks of threads") != NULL,
                         unlike);
        profile_free(a);
        profile_free(b);
    }
}

/* Each pair would look proven by itself; three runs per side cannot prove anything. */
static void three_runs_a_side_prove_nothing(void **state)
{
    (void)state;
    struct selection all[6];
    const struct selection *runs[6];
    for (int i = 0; i < 6; i++) {
        struct profile *p = profile_of(i < 3 ? 400 + i : 600 + i, 500);
        all[i] = selection_all(p, (struct value_ref){0, 0});
        runs[i] = &all[i];
    }
    struct diff *d = diff_build(&(struct diff_opts){.runs = runs, .n_before = 3, .n_runs = 6});
    assert_false(find(d, "f")->self.proven);
    assert_float_equal(d->least_p, 0.1, 1e-9);
    diff_free(d);
    for (int i = 0; i < 6; i++)
        profile_free((struct profile *)runs[i]->profile);
}

/* f doubles, so the shares of all others fall by a third; their costs do not. */
static void what_only_makes_room_is_not_called(void **state)
{
    (void)state;
    struct profile *a = profile_of_four(10000, 5000), *b = profile_of_four(20000, 5000);
    const struct selection *runs[] = {SUPPORT_ALL(a, 0), SUPPORT_ALL(b, 0)};
    struct diff *d = diff_build(&(struct diff_opts){.runs = runs, .n_before = 1, .n_runs = 2});
    assert_true(find(d, "f")->self.proven);
    assert_float_equal(find(d, "f")->self.cost, 2, 1e-6);
    assert_false(find(d, "g")->self.proven || find(d, "h")->self.proven);
    assert_true(find(d, "h")->self.high < 0); /* though its share did fall */
    assert_int_equal(d->verdict, DIFF_REGRESSED);
    diff_free(d);
    profile_free(a);
    profile_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_large_change_is_proven_and_recursion_counts_once),
        cmocka_unit_test(the_same_profile_is_unchanged_only_with_enough_samples),
        cmocka_unit_test(one_run_each_of_the_same_program_proves_nothing),
        cmocka_unit_test(one_run_each_proves_nothing_about_the_kernel),
        cmocka_unit_test(one_pair_with_ten_times_the_work_is_a_change),
        cmocka_unit_test(one_pair_with_three_times_the_work_is_not_explained_by_two),
        cmocka_unit_test(one_pair_on_a_busy_machine_needs_more),
        cmocka_unit_test(one_pair_on_a_busy_machine_needs_a_fifth_of_the_time),
        cmocka_unit_test(one_build_renames_nothing_and_is_no_other_program),
        cmocka_unit_test(a_stripped_program_compares_by_its_places),
        cmocka_unit_test(a_command_that_failed_is_told),
        cmocka_unit_test(unlike_clocks_are_told),
        cmocka_unit_test(three_runs_a_side_prove_nothing),
        cmocka_unit_test(what_only_makes_room_is_not_called),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
