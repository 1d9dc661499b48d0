/*
 * One profile, read by several threads at once: reports, drawings, comparisons and exports of it
 * write nothing that another reads. `make tsan` has a sanitizer watch it.
 */
#include "analysis/diff.h"
#include "view/diff.h"
#include "view/export/export.h"
#include "view/flame.h"
#include "view/info.h"
#include "view/report.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support.h"

enum { THREADS = 2, ROUNDS = 3 };

static struct profile *make_profile(void)
{
    autobuf struct buf b = {0};
    for (int i = 0; i < 300; i++)
        buf_printf(&b, "main;f%d;g%d;malloc;h%d_[k] %d\n", i % 7, i % 31, i % 5, i + 1);
    return support_folded(buf_cstr(&b));
}

/* All that is shown of one profile and one report of it. */
struct shared {
    const struct selection *s;
    const struct report *report;
    const struct calltree *tree;
    const struct diff *diff;
};

static void print_views(FILE *out, const struct shared *w)
{
    const struct selection *runs[] = {w->s, w->s};
    struct diff_view view = {.runs = runs, .unlike = "", .top = 5, .width = 100};
    struct err err;
    report_print_text(out, w->report, 100, false);
    report_print_json(out, w->report);
    report_print_html(out, w->report, NULL, NULL);
    flame_print_selection(out, w->s, w->tree, &(struct flame_opts){0});
    diff_print_text(out, w->diff, &view);
    diff_print_svg(out, w->diff, &view);
    info_print(out, w->s);
    for (int i = 0; export_formats[i]; i++)
        export_write(export_formats[i], out, w->s, &(struct export_opts){.all = true}, &err);
}

/* The same, with trees and lists of the thread's own. */
static void build_views(FILE *out, const struct selection *s)
{
    struct report report;
    struct err err;
    const struct selection *runs[] = {s, s};
    if (report_build(&report, s, &(struct report_opts){.top = 10}, &err) != 0)
        return;
    struct calltree *tree = calltree_build(s, &(struct calltree_opts){.group = GROUP_COMM});
    struct diff *diff = diff_build(&(struct diff_opts){.runs = runs, .n_before = 1, .n_runs = 2});
    print_views(out, &(struct shared){s, &report, tree, diff});
    report_done(&report);
    calltree_free(tree);
    diff_free(diff);
}

struct worker {
    pthread_t thread;
    const struct shared *shared;
    char *printed;
    size_t n;
};

static void *work(void *arg)
{
    struct worker *w = arg;
    FILE *out = open_memstream(&w->printed, &w->n);
    for (int i = 0; i < ROUNDS; i++) {
        print_views(out, w->shared);
        build_views(out, w->shared->s);
    }
    fclose(out);
    return NULL;
}

static void run_workers(const struct shared *shared)
{
    struct worker workers[THREADS] = {0};
    for (int i = 0; i < THREADS; i++) {
        workers[i].shared = shared;
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(workers[i].thread, NULL);
    assert_true(workers[0].n > 1000);
    for (int i = 1; i < THREADS; i++) {
        assert_int_equal(workers[i].n, workers[0].n);
        assert_memory_equal(workers[i].printed, workers[0].printed, workers[0].n);
    }
    for (int i = 0; i < THREADS; i++)
        free(workers[i].printed);
}

static void with_selection(const struct selection *s)
{
    struct report report;
    struct err err;
    const struct selection *runs[] = {s, s};
    assert_int_equal(report_build(&report, s, &(struct report_opts){.top = 10}, &err), 0);
    struct calltree *tree = calltree_build(s, &(struct calltree_opts){0});
    struct diff *diff = diff_build(&(struct diff_opts){.runs = runs, .n_before = 1, .n_runs = 2});
    run_workers(&(struct shared){s, &report, tree, diff});
    report_done(&report);
    calltree_free(tree);
    diff_free(diff);
}

static void a_profile_is_read_from_two_threads(void **state)
{
    (void)state;
    struct profile *p = make_profile();
    with_selection(SUPPORT_ALL(p, 0));
    profile_free(p);
}

static void a_part_of_it_as_well(void **state)
{
    (void)state;
    struct profile *p = make_profile();
    struct selection s;
    struct err err;
    struct selection_opts o = {.focus = (const char *const[]){"f1", "f2", NULL},
                               .hide = (const char *const[]){"malloc", NULL},
                               .merge_recursion = true};
    assert_int_equal(selection_build(&s, p, (struct value_ref){0, 0}, &o, &err), 0);
    with_selection(&s);
    selection_done(&s);
    profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_profile_is_read_from_two_threads),
        cmocka_unit_test(a_part_of_it_as_well),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
