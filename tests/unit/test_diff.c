/* test_diff.c - comparing profiles: what is called proven, and what is not. */
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

static void set_program(struct profile *p, const char *command, const char *path, const char *build)
{
    meta_set_str(&p->meta, META_COMMAND, command);
    meta_set_str(&p->meta, META_KERNEL, "Linux 6.1");
    struct mapping m = {.path = profile_add_str(p, text_of(path)),
                        .build_id = profile_add_str(p, text_of(build))};
    profile_add_mapping(p, &m);
    m = (struct mapping){.path = profile_add_str(p, text_of("/lib/libc.so.6")),
                         .build_id = profile_add_str(p, text_of("c1"))};
    profile_add_mapping(p, &m);
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

static struct profile *profile_of_four(int64_t f, int64_t rest)
{
    struct profile *p = profile_of(f, rest);
    add(p, "main;h", rest);
    add(p, "main;i", rest);
    return p;
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

/* --- several runs with a known CPU time --- */

enum { SIDE = 5, RUNS = 2 * SIDE };

struct many {
    struct profile *p[RUNS];
    struct selection all[RUNS];
    const struct selection *runs[RUNS];
    struct diff *d;
};

/* Noise that is the same each time: -1 to 1. */
static double wobble(int run, int what)
{
    uint32_t x = (uint32_t)(run * 31 + what * 17 + 3) * 2654435761u;
    x ^= x >> 15;
    x *= 2246822519u;
    return (double)((x ^ x >> 13) % 2001) / 1000 - 1;
}

/* Milliseconds of f, g, h and i, each of which has a sample a ms and varies by a percent. */
static void many_build(struct many *m, const double *before, const double *after,
                       const char *f_after)
{
    static const char *const names[] = {"f", "g", "h", "i"};
    for (int r = 0; r < RUNS; r++) {
        double sum = 0;
        m->p[r] = profile_new();
        support_value(m->p[r], "", "samples", "count");
        for (int k = 0; k < 4; k++) {
            double ms = (r < SIDE ? before : after)[k] * (1 + 0.01 * wobble(r, k));
            char path[64];
            snprintf(path, sizeof path, "main;%s", k == 0 && r >= SIDE ? f_after : names[k]);
            if (ms >= 1)
                add(m->p[r], path, (int64_t)ms);
            sum += floor(ms);
        }
        profile_stream(m->p[r], 0)->obtained = BY_SOFTWARE_CLOCK;
        meta_set_u64(&m->p[r]->meta, META_CPU_TIME_NS, (uint64_t)(sum * 1e6));
        m->all[r] = selection_all(m->p[r], (struct value_ref){0, 0});
        m->runs[r] = &m->all[r];
    }
    m->d = diff_build(
        &(struct diff_opts){.runs = m->runs, .n_before = SIDE, .n_runs = RUNS, .min_share = 0.005});
}

static void many_done(struct many *m)
{
    diff_free(m->d);
    for (int r = 0; r < RUNS; r++)
        profile_free(m->p[r]);
}

/* By shares f would stay about as it is and the others would shrink. */
static void what_is_most_of_a_program_and_grew_is_called_grown(void **state)
{
    (void)state;
    struct many m;
    const double before[] = {97000, 1000, 1000, 1000}, after[] = {120000, 1000, 1000, 1000};
    many_build(&m, before, after, "f");
    const struct diff_value *f = &find(m.d, "f")->self;
    assert_true(f->proven && f->cost > 1.2 && f->cost < 1.27);
    assert_float_equal(f->before_cost, 97, 1);
    assert_false(find(m.d, "g")->self.proven || find(m.d, "h")->self.proven);
    assert_ptr_equal(diff_most_grown(m.d), find(m.d, "f"));
    assert_int_equal(m.d->verdict, DIFF_REGRESSED);
    assert_non_null(strstr(m.d->why, "CPU 1"));
    assert_non_null(strstr(m.d->why, "'f' "));
    many_done(&m);
}

/* Three of four functions got dearer together: by the typical function f would have shrunk. */
static void a_verdict_does_not_contradict_the_cpu_time(void **state)
{
    (void)state;
    struct many m;
    const double before[] = {40000, 5000, 5000, 5000}, after[] = {40000, 20000, 20000, 20000};
    many_build(&m, before, after, "f");
    assert_int_equal(m.d->verdict, DIFF_REGRESSED);
    assert_false(find(m.d, "f")->self.proven);
    assert_true(find(m.d, "g")->self.proven && find(m.d, "g")->self.cost > 3.8);
    many_done(&m);
}

static void the_same_program_is_unchanged(void **state)
{
    (void)state;
    struct many m;
    const double same[] = {40000, 30000, 20000, 10000};
    many_build(&m, same, same, "f");
    assert_int_equal(m.d->verdict, DIFF_UNCHANGED);
    assert_null(diff_most_grown(m.d));
    assert_non_null(strstr(m.d->why, "within the 2% that count as no change"));
    many_done(&m);
}

/* All of it changed by a percent and a half, and steadily so: within the band. */
static void a_change_within_the_band_is_not_called(void **state)
{
    (void)state;
    struct many m;
    const double before[] = {40000, 30000, 20000, 10000}, after[] = {40600, 30450, 20300, 10150};
    many_build(&m, before, after, "f");
    for (size_t i = 0; i < m.d->functions.n; i++)
        assert_false(m.d->functions.at[i].self.proven || m.d->functions.at[i].total.proven);
    assert_true(m.d->verdict == DIFF_UNCHANGED || m.d->verdict == DIFF_INCONCLUSIVE);
    many_done(&m);
}

/* 8 % of 30 % of the time, in runs that vary by a percent. */
static void a_small_change_of_one_function_is_found_and_no_other(void **state)
{
    (void)state;
    struct many m;
    const double before[] = {30000, 30000, 20000, 20000}, after[] = {32400, 30000, 20000, 20000};
    many_build(&m, before, after, "f");
    assert_true(find(m.d, "f")->self.proven && find(m.d, "f")->self.q < 0.005);
    assert_false(find(m.d, "g")->self.proven || find(m.d, "h")->self.proven);
    assert_int_equal(m.d->verdict == DIFF_REGRESSED, m.d->whole.cost > 1);
    many_done(&m);
}

static void a_rename_is_no_change(void **state)
{
    (void)state;
    struct many m;
    const double same[] = {40000, 30000, 20000, 10000};
    many_build(&m, same, same, "scan");
    const struct diff_entry *f = find(m.d, "f"), *scan = find(m.d, "scan");
    assert_int_equal(f->renamed, scan->name + 1);
    assert_int_equal(scan->renamed, f->name + 1);
    assert_false(f->self.proven || scan->self.proven || scan->total.proven);
    assert_int_equal(m.d->verdict, DIFF_UNCHANGED);
    many_done(&m);
}

/* Another cost, and it is another function. */
static void what_costs_more_under_another_name_is_new(void **state)
{
    (void)state;
    struct many m;
    const double before[] = {20000, 30000, 20000, 10000}, after[] = {40000, 30000, 20000, 10000};
    many_build(&m, before, after, "scan");
    assert_true(!find(m.d, "f")->renamed && find(m.d, "f")->self.proven);
    assert_true(!find(m.d, "scan")->renamed && find(m.d, "scan")->self.proven);
    assert_int_equal(m.d->verdict, DIFF_REGRESSED);
    many_done(&m);
}

/* Five runs, a pause, five runs: the machine may have changed as well. */
static void sides_that_were_not_recorded_in_turn_need_more(void **state)
{
    (void)state;
    struct many m;
    const double before[] = {40000, 30000, 20000, 10000}, after[] = {42000, 31500, 21000, 10500};
    many_build(&m, before, after, "f");
    assert_int_equal(m.d->verdict, DIFF_REGRESSED);
    for (int r = 0; r < RUNS; r++)
        meta_set_u64(&m.p[r]->meta, META_TIME_NS, (uint64_t)r + 1);
    diff_free(m.d);
    struct diff_opts o = {.runs = m.runs, .n_before = SIDE, .n_runs = RUNS, .min_share = 0.005};
    m.d = diff_build(&o);
    assert_true(m.d->apart && m.d->band == DIFF_BAND_APART);
    assert_int_equal(m.d->verdict, DIFF_INCONCLUSIVE);
    many_done(&m);
}

/* A third more in five runs after the others, while ten programs share two CPUs. */
static void a_busy_machine_and_no_turns_give_no_verdict(void **state)
{
    (void)state;
    struct many m;
    const double before[] = {40000, 30000, 20000, 10000}, after[] = {53000, 40000, 26600, 13300};
    struct diff_opts o = {.runs = m.runs, .n_before = SIDE, .n_runs = RUNS, .min_share = 0.005};
    many_build(&m, before, after, "f");
    for (int turn = 0; turn < 2; turn++) {
        for (int r = 0; r < RUNS; r++) {
            int place = turn ? r % SIDE * 2 + r / SIDE : r;
            meta_set_u64(&m.p[r]->meta, META_TIME_NS, (uint64_t)place + 1);
            meta_set_str(&m.p[r]->meta, META_LOAD, "11.95 12.09 11.00");
            meta_set_str(&m.p[r]->meta, META_CPUS, "2 online, 2 usable");
        }
        diff_free(m.d);
        m.d = diff_build(&o);
        assert_true(m.d->busy);
        assert_int_equal(m.d->verdict, turn ? DIFF_REGRESSED : DIFF_INCONCLUSIVE);
        assert_int_equal(find(m.d, "f")->self.proven, turn);
    }
    many_done(&m);
}

/* A machine that is a third slower for a while is not a program that got slower. */
static void one_pair_on_a_slower_machine_is_inconclusive(void **state)
{
    (void)state;
    struct profile *a = profile_of_four(10000, 5000), *b = profile_of_four(13300, 6650);
    const struct selection *runs[] = {SUPPORT_ALL(a, 0), SUPPORT_ALL(b, 0)};
    profile_stream(a, 0)->obtained = profile_stream(b, 0)->obtained = BY_SOFTWARE_CLOCK;
    meta_set_u64(&a->meta, META_CPU_TIME_NS, 25000000000);
    meta_set_u64(&b->meta, META_CPU_TIME_NS, 33250000000);
    struct diff *d = diff_build(&(struct diff_opts){.runs = runs, .n_before = 1, .n_runs = 2});
    assert_int_equal(d->verdict, DIFF_INCONCLUSIVE);
    assert_false(find(d, "f")->self.proven || find(d, "g")->self.proven);
    diff_free(d);
    profile_free(a);
    profile_free(b);
}

/* The largest change of all is one that got faster: no reason for "regressed". */
static void a_regression_names_what_grew(void **state)
{
    static const char *const names[] = {"main;lookup", "main;f",    "main;g",   "main;h",
                                        "main;rest",   "main;more", "main;most"};
    static const int64_t n[2][7] = {{5000, 2000, 2000, 2000, 5000, 5000, 5000},
                                    {500, 6000, 5500, 5500, 5000, 5000, 5000}};
    struct profile *p[2];
    (void)state;
    for (int i = 0; i < 2; i++) {
        p[i] = profile_new();
        support_value(p[i], "", "samples", "count");
        for (int k = 0; k < 7; k++)
            add(p[i], names[k], n[i][k]);
        profile_stream(p[i], 0)->obtained = BY_SOFTWARE_CLOCK;
        meta_set_u64(&p[i]->meta, META_CPU_TIME_NS, i ? 32500000000 : 26000000000);
    }
    const struct selection *runs[] = {SUPPORT_ALL(p[0], 0), SUPPORT_ALL(p[1], 0)};
    struct diff *d = diff_build(&(struct diff_opts){.runs = runs, .n_before = 1, .n_runs = 2});
    assert_true(find(d, "lookup")->self.proven);
    assert_int_equal(d->verdict, DIFF_REGRESSED);
    assert_non_null(strstr(d->why, "'f' "));
    assert_null(strstr(d->why, "lookup"));
    diff_free(d);
    profile_free(p[0]);
    profile_free(p[1]);
}

/* Two threads that share work: which of them does more differs from run to run. */
static void work_that_only_changed_threads_is_not_called(void **state)
{
    (void)state;
    struct profile *p[2];
    for (int i = 0; i < 2; i++) {
        p[i] = profile_new();
        support_value(p[i], "", "samples", "count");
        add(p[i], "one;sort", i ? 8000 : 3000);
        add(p[i], "two;sort", i ? 3000 : 8000);
        add(p[i], "one;read", 1000);
        add(p[i], "one;write", 1000);
        add(p[i], "two;merge", 1000);
        profile_stream(p[i], 0)->obtained = BY_SOFTWARE_CLOCK;
        meta_set_u64(&p[i]->meta, META_CPU_TIME_NS, 14000000000);
    }
    const struct selection *runs[] = {SUPPORT_ALL(p[0], 0), SUPPORT_ALL(p[1], 0)};
    struct diff *d = diff_build(&(struct diff_opts){.runs = runs, .n_before = 1, .n_runs = 2});
    assert_false(find(d, "one")->total.proven || find(d, "two")->total.proven);
    for (size_t i = 0; i < d->paths.n; i++)
        assert_false(d->paths.at[i].total.proven || d->paths.at[i].self.proven);
    assert_int_equal(d->verdict, DIFF_INCONCLUSIVE);
    diff_free(d);
    profile_free(p[0]);
    profile_free(p[1]);
}

static void another_program_is_neither_better_nor_worse(void **state)
{
    (void)state;
    struct profile *p[2];
    for (int i = 0; i < 2; i++) {
        p[i] = profile_new();
        support_value(p[i], "", "samples", "count");
        add(p[i], i ? "start;sort;merge;compare" : "main;eval", i ? 6000 : 11000);
        add(p[i], i ? "start;read;fill" : "main;memcpy", i ? 2300 : 1000);
        add(p[i], i ? "start;write;memcpy" : "main;eval", 1000);
        profile_stream(p[i], 0)->obtained = BY_SOFTWARE_CLOCK;
        meta_set_u64(&p[i]->meta, META_CPU_TIME_NS, i ? 9300000000 : 13000000000);
    }
    const struct selection *runs[] = {SUPPORT_ALL(p[0], 0), SUPPORT_ALL(p[1], 0)};
    struct diff *d = diff_build(&(struct diff_opts){.runs = runs, .n_before = 1, .n_runs = 2});
    assert_true(diff_is_of_others(d));
    assert_float_equal(d->common[0], 1.0 / 13, 1e-9);
    assert_float_equal(d->common[1], 1.0 / 9.3, 1e-9);
    assert_int_equal(d->verdict, DIFF_INCONCLUSIVE);
    assert_non_null(strstr(d->why, "hardly a function is found on both sides"));
    diff_free(d);
    profile_free(p[0]);
    profile_free(p[1]);
}

/* Without the kernel a share is one of the time in the program, not of all CPU time. */
static void cpu_time_is_that_of_what_was_sampled(void **state)
{
    (void)state;
    struct profile *p = profile_of(400, 600);
    profile_stream(p, 0)->obtained = BY_SOFTWARE_CLOCK;
    profile_stream(p, 0)->rate_hz = 1000;
    meta_set_u64(&p->meta, META_CPU_TIME_NS, 3000000000);
    struct runcost c = runcost_of(SUPPORT_ALL(p, 0));
    assert_int_equal(c.kind, RUNCOST_CPU);
    assert_float_equal(c.value, 3, 1e-9);
    meta_set_str(&p->meta, META_KERNEL_HIDDEN, "yes");
    assert_float_equal(runcost_of(SUPPORT_ALL(p, 0)).value, 1, 1e-9);
    profile_free(p);
    p = profile_of(400, 600); /* counts of who knows what */
    assert_int_equal(runcost_of(SUPPORT_ALL(p, 0)).kind, RUNCOST_UNKNOWN);
    profile_free(p);
}

static void assert_unlike(const char *key, const char *x, const char *y, const char *want)
{
    struct profile *a = profile_of(1, 1), *b = profile_of(1, 1);
    const struct selection *runs[] = {SUPPORT_ALL(a, 0), SUPPORT_ALL(b, 0)};
    struct diff_opts o = {.runs = runs, .n_before = 1, .n_runs = 2};
    struct buf why = {0};
    if (x)
        meta_set_str(&a->meta, key, x);
    meta_set_str(&b->meta, key, y);
    diff_unlike(&o, &why);
    if (want)
        assert_non_null(strstr(buf_cstr(&why), want));
    else
        assert_int_equal(why.n, 0);
    buf_done(&why);
    profile_free(a);
    profile_free(b);
}

static void unlike_profiles_are_told(void **state)
{
    (void)state;
    assert_unlike(META_HOST, "one", "two", "host differs");
    assert_unlike(META_KERNEL_HIDDEN, "yes", "no", "scope differs: 'without the kernel'");
    assert_unlike(META_KERNEL_HIDDEN, "no", "no", NULL);
    assert_unlike(META_OPTIONS, "-q -- app --user-only", "-q --user-only -- app", NULL);
}

static void set_stream(struct profile *p, const char *event, enum obtained obtained, double rate_hz)
{
    struct stream *s = profile_stream(p, 0);
    s->event = profile_add_str(p, text_of(event));
    s->obtained = obtained;
    s->rate_hz = rate_hz;
}

/* What is known of the streams that are compared, not of others in the file. */
static void unlike_streams_are_told(void **state)
{
    (void)state;
    struct profile *a = profile_of(1, 1), *b = profile_of(1, 1);
    const struct selection *runs[] = {SUPPORT_ALL(a, 0), SUPPORT_ALL(b, 0)};
    struct diff_opts o = {.runs = runs, .n_before = 1, .n_runs = 2};
    struct buf why = {0};
    set_stream(b, "cycles:u", BY_HARDWARE, 999);
    diff_unlike(&o, &why);
    assert_int_equal(why.n, 0); /* nothing is known of the other */
    set_stream(a, "cycles:k", BY_SOFTWARE_CLOCK, 99);
    diff_unlike(&o, &why);
    assert_non_null(strstr(buf_cstr(&why), "the event differs: 'cycles:k' and 'cycles:u'"));
    assert_non_null(strstr(buf_cstr(&why), "rate differs: '99' and '999'"));
    assert_non_null(strstr(buf_cstr(&why), "'software clock' and 'hardware counter'"));
    assert_non_null(strstr(buf_cstr(&why), "scope differs: 'only the kernel'"));
    buf_done(&why);
    profile_free(a);
    profile_free(b);
}

/* Page faults are not CPU time: that of the run decides nothing, and no share is one of time. */
static void a_comparison_of_events_speaks_of_no_time(void **state)
{
    (void)state;
    struct profile *a = profile_of_four(10000, 5000), *b = profile_of_four(20000, 5000);
    const struct selection *runs[] = {SUPPORT_ALL(a, 0), SUPPORT_ALL(b, 0)};
    set_stream(a, "page-faults", BY_SOFTWARE_EVENT, 0);
    set_stream(b, "page-faults", BY_SOFTWARE_EVENT, 0);
    meta_set_u64(&a->meta, META_CPU_TIME_NS, 1000000000);
    meta_set_u64(&b->meta, META_CPU_TIME_NS, 9000000000);
    struct diff *d = diff_build(&(struct diff_opts){.runs = runs, .n_before = 1, .n_runs = 2});
    assert_false(d->has_cpu);
    assert_int_equal(d->verdict, DIFF_REGRESSED);
    assert_non_null(strstr(d->why, "total 25000 -> 35000 (+40.0%)"));
    assert_null(strstr(d->why, "time"));
    diff_free(d);
    profile_stream(a, 0)->obtained = profile_stream(b, 0)->obtained = BY_SOFTWARE_CLOCK;
    d = diff_build(&(struct diff_opts){.runs = runs, .n_before = 1, .n_runs = 2});
    assert_true(d->has_cpu);
    assert_non_null(strstr(d->why, "CPU 1.000 s -> 9.000 s"));
    diff_free(d);
    profile_free(a);
    profile_free(b);
}

/* One says that it could not see the kernel; the other says nothing, but shows kernel code. */
static void a_hidden_kernel_in_one_profile_is_told(void **state)
{
    (void)state;
    struct profile *a = profile_of(1, 1), *b = profile_of(1, 1);
    const struct selection *runs[] = {SUPPORT_ALL(a, 0), SUPPORT_ALL(b, 0)};
    struct diff_opts o = {.runs = runs, .n_before = 1, .n_runs = 2};
    struct buf why = {0};
    meta_set_str(&a->meta, META_KERNEL_HIDDEN, "yes");
    diff_unlike(&o, &why);
    assert_int_equal(why.n, 0);
    profile_add_named_frame(b, text_of("do_syscall_64"), FRAME_KERNEL);
    diff_unlike(&o, &why);
    assert_non_null(strstr(buf_cstr(&why), "'without the kernel' and 'with the kernel'"));
    buf_done(&why);
    meta_set_str(&a->meta, META_KERNEL_HIDDEN, "no");
    diff_unlike(&o, &why);
    assert_int_equal(why.n, 0);
    meta_set_str(&a->meta, META_OPTIONS, "-q --user-only -- app");
    diff_unlike(&o, &why);
    assert_non_null(strstr(buf_cstr(&why), "'without the kernel' and 'with the kernel'"));
    buf_done(&why);
    profile_free(a);
    profile_free(b);
}

/* One frame in each function of FUNCTIONS, all in the file PATH. */
static struct profile *program_of(const char *command, const char *path, const char *build,
                                  const char *functions)
{
    struct profile *p = support_folded("other 1\n");
    set_program(p, command, path, build);
    struct mapping_id m = {(uint32_t)p->mappings.n - 2};
    struct text rest = text_of(functions);
    while (rest.n) {
        struct function f = {.name = profile_add_str(p, text_cut(&rest, ' '))};
        struct line line = {.function = profile_add_function(p, &f)};
        profile_add_frame(p, &(struct frame_key){.mapping = m, .lines = &line, .n_lines = 1});
    }
    return p;
}

static void another_program_is_unlike_and_a_renamed_one_is_not(void **state)
{
    static const struct {
        const char *command, *path, *build, *functions, *wanted;
    } others[] = {
        {"./app 2", "/bin/app", "a2", "", ""},
        {"rg 'a b'", "/bin/rg", "r1", "main search walk", "the program differs: 'app' and 'rg'\n"},
        {"/x/rg", "/bin/rg", "r1", "", "the program differs: 'app' and 'rg'\n"},
        {"./new 1", "/bin/new", "n1", "main parse print", ""},
        {"./new 1", "/bin/new", "a1", "", ""}, /* a copy */
        {"./app-new", "/bin/app-new", "n1", "", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct profile *x = program_of("./app 1", "/bin/app", "a1", "main parse read print");
        struct profile *y =
            program_of(others[i].command, others[i].path, others[i].build, others[i].functions);
        const struct selection *runs[] = {SUPPORT_ALL(x, 0), SUPPORT_ALL(y, 0)};
        autobuf struct buf b = {0};
        diff_unlike(&(struct diff_opts){.runs = runs, .n_before = 1, .n_runs = 2}, &b);
        assert_string_equal(buf_cstr(&b), others[i].wanted);
        profile_free(x);
        profile_free(y);
    }
}

static void one_recording_twice_and_one_without_samples_are_called_that(void **state)
{
    (void)state;
    for (int empty = 0; empty < 2; empty++) {
        struct profile *a = profile_of(100, 200), *b = profile_of(100, 200);
        meta_set_str(&a->meta, META_COMMAND, "app");
        meta_set_u64(&a->meta, META_TIME_NS, 12345);
        meta_set_str(&b->meta, META_COMMAND, "app");
        meta_set_u64(&b->meta, META_TIME_NS, 12345);
        struct selection y = *SUPPORT_ALL(b, 0);
        if (empty) {
            y.count_type = 0;
            y.n_samples = 0;
        }
        const struct selection *runs[] = {SUPPORT_ALL(a, 0), &y};
        struct diff *d = diff_build(&(struct diff_opts){.runs = runs, .n_before = 1, .n_runs = 2});
        assert_non_null(strstr(d->why, empty ? "there are no samples on one side"
                                             : "both sides are the same recording"));
        diff_free(d);
        profile_free(a);
        profile_free(b);
    }
}

static void arguments_that_differ_are_named(void **state)
{
    static const struct {
        const char *before, *after, *wanted;
    } rows[] = {
        {"app -p fast out", "/x/app -p fast out", ""},
        {"app -p fast out", "app -p 'very slow' out",
         "the arguments differ: '-p fast' before, '-p 'very slow'' after"},
        {"app in", "app -v in", "the arguments differ: none before, '-v' after"},
        {"app (2 arguments not shown)", "app in", ""},
        {"app (2 arguments not shown)", "/x/app (2 arguments not shown)", ""},
        {"app (1 argument not shown)", "app (2 arguments not shown)", "the arguments differ"},
        {"app not shown)", "app (2 arguments not shown)", "the arguments differ"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct profile *x = profile_new(), *y = profile_new();
        meta_set_str(&x->meta, META_COMMAND, rows[i].before);
        meta_set_str(&y->meta, META_COMMAND, rows[i].after);
        autobuf struct buf b = {0};
        diff_arguments(x, y, &b);
        assert_string_equal(buf_cstr(&b), rows[i].wanted);
        assert_int_equal(diff_arguments_hidden(x, y), strstr(rows[i].before, "not shown)") ||
                                                          strstr(rows[i].after, "not shown)"));
        profile_free(x);
        profile_free(y);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_large_change_is_proven_and_recursion_counts_once),
        cmocka_unit_test(the_same_profile_is_unchanged_only_with_enough_samples),
        cmocka_unit_test(another_program_is_unlike_and_a_renamed_one_is_not),
        cmocka_unit_test(arguments_that_differ_are_named),
        cmocka_unit_test(one_recording_twice_and_one_without_samples_are_called_that),
        cmocka_unit_test(one_run_each_of_the_same_program_proves_nothing),
        cmocka_unit_test(one_run_each_proves_nothing_about_the_kernel),
        cmocka_unit_test(one_pair_with_ten_times_the_work_is_a_change),
        cmocka_unit_test(one_pair_on_a_busy_machine_needs_more),
        cmocka_unit_test(one_pair_on_a_busy_machine_needs_a_fifth_of_the_time),
        cmocka_unit_test(one_build_renames_nothing_and_is_no_other_program),
        cmocka_unit_test(a_stripped_program_compares_by_its_places),
        cmocka_unit_test(a_command_that_failed_is_told),
        cmocka_unit_test(unlike_clocks_are_told),
        cmocka_unit_test(three_runs_a_side_prove_nothing),
        cmocka_unit_test(what_only_makes_room_is_not_called),
        cmocka_unit_test(what_is_most_of_a_program_and_grew_is_called_grown),
        cmocka_unit_test(a_verdict_does_not_contradict_the_cpu_time),
        cmocka_unit_test(the_same_program_is_unchanged),
        cmocka_unit_test(a_change_within_the_band_is_not_called),
        cmocka_unit_test(a_small_change_of_one_function_is_found_and_no_other),
        cmocka_unit_test(a_rename_is_no_change),
        cmocka_unit_test(what_costs_more_under_another_name_is_new),
        cmocka_unit_test(sides_that_were_not_recorded_in_turn_need_more),
        cmocka_unit_test(a_busy_machine_and_no_turns_give_no_verdict),
        cmocka_unit_test(one_pair_on_a_slower_machine_is_inconclusive),
        cmocka_unit_test(a_regression_names_what_grew),
        cmocka_unit_test(another_program_is_neither_better_nor_worse),
        cmocka_unit_test(work_that_only_changed_threads_is_not_called),
        cmocka_unit_test(cpu_time_is_that_of_what_was_sampled),
        cmocka_unit_test(unlike_profiles_are_told),
        cmocka_unit_test(unlike_streams_are_told),
        cmocka_unit_test(a_comparison_of_events_speaks_of_no_time),
        cmocka_unit_test(a_hidden_kernel_in_one_profile_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
