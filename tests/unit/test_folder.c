/* test_folder.c - a folder is replaced as a whole, and only if it is ours. */
#include "base/mem.h"
#include "suite/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/inotify.h>
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

static void folders_above_are_made(void **state)
{
    (void)state;
    struct folder f;
    struct err err;
    autofree char *perf = mem_printf("%s/a/b/perf", here), *file = mem_printf("%s/file", here);
    publish(perf, "one");
    assert_true(has(perf, "one"));
    put(here, "file", "");
    autofree char *below = mem_printf("%s/perf", file);
    assert_int_equal(folder_open(&f, below, &err), -1);
    folder_drop(&f);
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

/* Killed before it had a mark, or after its mark was removed: nothing is in it, and time passed. */
static void empty_ones_are_cleared_away_when_they_are_old(void **state)
{
    autofree char *perf = mem_printf("%s/perf", here);
    autofree char *old = mem_printf("%s/.perf.new-aaaaaa", here);
    autofree char *fresh = mem_printf("%s/.perf.new-bbbbbb", here);
    autofree char *full = mem_printf("%s/.perf.new-cccccc", here);
    struct timespec hours_ago[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
    (void)state;
    assert_int_equal(mkdir(old, 0777) | mkdir(fresh, 0777) | mkdir(full, 0777), 0);
    put(full, "thesis.txt", "years of work");
    assert_int_equal(utimensat(AT_FDCWD, old, hours_ago, 0), 0);
    assert_int_equal(utimensat(AT_FDCWD, full, hours_ago, 0), 0);
    folder_sweep(here, "perf");
    assert_false(has(here, ".perf.new-aaaaaa"));
    assert_true(has(here, ".perf.new-bbbbbb"));
    assert_true(has(full, "thesis.txt"));
    publish(perf, "one");
    assert_true(has(perf, "one"));
}

static void sweep_without_a_name_is_of_all(void **state)
{
    autofree char *left = mem_printf("%s/.20261117T181858Z-none.new-EDqR2X", here);
    (void)state;
    assert_int_equal(mkdir(left, 0777), 0);
    put(left, ".kelvin-published", "mark");
    put(left, "small.kelvin", "text");
    folder_sweep(here, "perf");
    assert_true(has(left, "small.kelvin"));
    folder_sweep(here, NULL);
    assert_int_equal(count(here), 0);
}

/* So that what a kill in the middle of it leaves is known as ours. */
static void mark_is_removed_last(void **state)
{
    autofree char *perf = mem_printf("%s/perf", here);
    union {
        struct inotify_event first;
        char bytes[8192];
    } seen;
    char last[NAME_MAX + 1] = "";
    (void)state;
    publish(perf, "one");
    for (int i = 0; i < 20; i++) {
        autofree char *name = mem_printf("file%d", i);
        put(perf, name, "text");
    }
    autoclose int fd = inotify_init();
    assert_true(inotify_add_watch(fd, perf, IN_DELETE) >= 0);
    folder_remove(perf);
    assert_int_equal(count(here), 0);
    ssize_t n = read(fd, seen.bytes, sizeof seen.bytes);
    for (char *at = seen.bytes; at < seen.bytes + n;) {
        const struct inotify_event *e = (const struct inotify_event *)(const void *)at;
        if (e->mask & IN_DELETE)
            snprintf(last, sizeof last, "%s", e->name);
        at += sizeof *e + e->len;
    }
    assert_string_equal(last, ".kelvin-published");
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
        cmocka_unit_test_setup_teardown(folders_above_are_made, set_up, tear_down),
        cmocka_unit_test_setup_teardown(dropped_one_leaves_the_old, set_up, tear_down),
        cmocka_unit_test_setup_teardown(folder_of_others_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(file_in_the_way_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(only_dead_runs_are_cleared_away, set_up, tear_down),
        cmocka_unit_test_setup_teardown(empty_ones_are_cleared_away_when_they_are_old, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(sweep_without_a_name_is_of_all, set_up, tear_down),
        cmocka_unit_test_setup_teardown(mark_is_removed_last, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_removed_is_in_the_folder, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
