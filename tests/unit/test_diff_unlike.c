/* test_diff_unlike.c - profiles that are not alike: what is told of them. */
#include "analysis/diff.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support_diff.h"

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
        cmocka_unit_test(another_program_is_unlike_and_a_renamed_one_is_not),
        cmocka_unit_test(arguments_that_differ_are_named),
        cmocka_unit_test(one_recording_twice_and_one_without_samples_are_called_that),
        cmocka_unit_test(unlike_profiles_are_told),
        cmocka_unit_test(unlike_streams_are_told),
        cmocka_unit_test(a_comparison_of_events_speaks_of_no_time),
        cmocka_unit_test(a_hidden_kernel_in_one_profile_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
