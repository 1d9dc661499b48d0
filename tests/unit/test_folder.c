/* test_folder.c - a folder is replaced as a whole, and only if it is ours. */
#include "base/mem.h"
#include "suite/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "support.h"

static char *here;

static int set_up(void **state)
{
    char path[] = "/tmp/kelvin-folder-XXXXXX";
    (void)state;
    assert_non_null(mkdtemp(path));
    here = mem_strdup(path);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    int rc = support_remove(here);
    free(here);
    return rc;
}

static void put(const char *folder, const char *name, const char *text)
{
    autofree char *path = mem_printf("%s/%s", folder, name);
    autofclose FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
}

static bool has(const char *folder, const char *name)
{
    autofree char *path = mem_printf("%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

static size_t count(const char *folder)
{
    DIR *d = opendir(folder);
    size_t n = 0;
    while (readdir(d))
        n++;
    closedir(d);
    return n - 2;
}

static void publish(const char *path, const char *name)
{
    struct folder f;
    struct err err;
    assert_int_equal(folder_open(&f, path, &err), 0);
    put(f.staging, name, "text");
    assert_int_equal(folder_commit(&f, &err), 0);
    folder_drop(&f);
}

static void second_replaces_all_of_the_first(void **state)
{
    autofree char *perf = mem_printf("%s/perf", here);
    (void)state;
    publish(perf, "one");
    assert_true(has(perf, "one"));
    publish(perf, "two");
    assert_true(has(perf, "two"));
    assert_false(has(perf, "one"));
    assert_int_equal(count(here), 1);
}

static void dropped_one_leaves_the_old(void **state)
{
    autofree char *perf = mem_printf("%s/perf", here);
    struct folder f;
    struct err err;
    (void)state;
    publish(perf, "one");
    assert_int_equal(folder_open(&f, perf, &err), 0);
    put(f.staging, "two", "text");
    folder_drop(&f);
    assert_true(has(perf, "one"));
    assert_int_equal(count(here), 1);
}

static void folder_of_others_is_refused(void **state)
{
    autofree char *perf = mem_printf("%s/perf", here);
    struct folder f;
    struct err err;
    (void)state;
    assert_int_equal(mkdir(perf, 0777), 0);
    put(perf, "thesis.txt", "years of work");
    assert_int_equal(folder_open(&f, perf, &err), -1);
    assert_non_null(strstr(err.text, "not made by kelvin"));
    folder_drop(&f);
    assert_true(has(perf, "thesis.txt"));
    assert_int_equal(count(here), 1);
}

static void file_in_the_way_is_refused(void **state)
{
    autofree char *perf = mem_printf("%s/perf", here);
    struct folder f;
    struct err err;
    (void)state;
    put(here, "perf", "a file");
    assert_int_equal(folder_open(&f, perf, &err), -1);
    assert_non_null(strstr(err.text, "not a folder"));
    folder_drop(&f);
}

/* What a killed run leaves is removed; what a living one writes is not. */
static void only_dead_runs_are_cleared_away(void **state)
{
    autofree char *perf = mem_printf("%s/perf", here);
    struct folder living, next;
    struct err err;
    int status;
    (void)state;
    pid_t pid = fork();
    if (pid == 0) {
        struct folder dead;
        _exit(folder_open(&dead, perf, &err) == 0 ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(count(here), 1);
    assert_int_equal(folder_open(&living, perf, &err), 0);
    assert_int_equal(count(here), 1);
    assert_int_equal(folder_open(&next, perf, &err), 0);
    assert_int_equal(count(here), 2);
    folder_drop(&next);
    folder_drop(&living);
    assert_int_equal(count(here), 0);
}

/* --- somebody else changes the folder while it is removed --- */

enum { FILES = 30, ROUNDS = 150 };

struct swapper {
    const char *a, *b;
    _Atomic bool stop;
};

static void *swap_names(void *arg)
{
    struct swapper *s = arg;
    while (!s->stop)
        renameat2(AT_FDCWD, s->a, AT_FDCWD, s->b, RENAME_EXCHANGE);
    return NULL;
}

static void put_files(const char *folder)
{
    char name[16];
    assert_int_equal(mkdir(folder, 0700), 0);
    for (int i = 0; i < FILES; i++) {
        snprintf(name, sizeof name, "f%d", i);
        put(folder, name, "precious");
    }
}

/* A folder becomes a link to other files of the same names, and back, all the time. */
static void what_is_removed_is_in_the_folder(void **state)
{
    autofree char *perf = mem_printf("%s/perf", here), *victim = mem_printf("%s/victim", here);
    autofree char *below = mem_printf("%s/below", perf), *link = mem_printf("%s/link", perf);
    (void)state;
    put_files(victim);
    for (int i = 0; i < ROUNDS; i++) {
        struct swapper s = {.a = below, .b = link};
        pthread_t thread;
        publish(perf, "index.html");
        put_files(below);
        assert_int_equal(symlink(victim, link), 0);
        pthread_create(&thread, NULL, swap_names, &s);
        folder_remove(perf);
        s.stop = true;
        pthread_join(thread, NULL);
        assert_int_equal(count(victim), FILES);
        support_remove(perf);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(second_replaces_all_of_the_first, set_up, tear_down),
        cmocka_unit_test_setup_teardown(dropped_one_leaves_the_old, set_up, tear_down),
        cmocka_unit_test_setup_teardown(folder_of_others_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(file_in_the_way_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(only_dead_runs_are_cleared_away, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_removed_is_in_the_folder, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
