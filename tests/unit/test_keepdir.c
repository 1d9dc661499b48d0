/* A folder of recordings: names by time, limits, and what is never removed. */
#include "wire/keepdir.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define SECOND UINT64_C(1000000000)
#define START (UINT64_C(1794900000) * SECOND)

static char *folder(void)
{
    char name[] = "/tmp/kelvin-keepdir.XXXXXX";
    assert_non_null(mkdtemp(name));
    return mem_strdup(name);
}

static void put_file(const char *path, size_t bytes)
{
    autofclose FILE *f = fopen(path, "we");
    assert_non_null(f);
    for (size_t i = 0; i < bytes; i++)
        putc('x', f);
}

static void remove_folder(char *path)
{
    autofree char *line = mem_printf("rm -rf '%s'", path);
    assert_int_equal(system(line), 0); /* NOLINT(cert-env33-c): a path of our own */
    free(path);
}

/* N recordings of 100 bytes, a minute apart. */
static char *filled(size_t n)
{
    struct err err;
    char *path = folder();
    assert_int_equal(keepdir_open(path, &err), 0);
    for (size_t i = 0; i < n; i++) {
        autofree char *name = keepdir_name(path, START + i * 60 * SECOND);
        put_file(name, 100);
    }
    return path;
}

static size_t count(const char *path)
{
    keepdir_files files = {0};
    struct err err;
    assert_int_equal(keepdir_list(path, &files, &err), 0);
    size_t n = files.n;
    keepdir_done(&files);
    return n;
}

static void test_names_are_times_and_sort(void **state)
{
    char *path = filled(3);
    keepdir_files files = {0};
    struct err err;
    (void)state;
    autofree char *part = mem_printf("%s/20261117T235959.999Z.kelvin.part", path);
    autofree char *other = mem_printf("%s/20261117T235959.999Z.kelvin.old", path);
    autofree char *text = mem_printf("%s/notes.txt", path);
    put_file(part, 1);
    put_file(other, 1);
    put_file(text, 1);
    assert_int_equal(keepdir_list(path, &files, &err), 0);
    assert_int_equal(files.n, 4);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(files.at[i].start_ns, START + i * 60 * SECOND);
        assert_int_equal(files.at[i].size_bytes, 100);
        assert_false(files.at[i].part);
    }
    assert_true(files.at[3].part);
    keepdir_done(&files);
    remove_folder(path);
}

static void test_old_ones_are_removed(void **state)
{
    char *path = filled(10);
    struct keepdir_limits limits = {.keep_s = 150};
    (void)state;
    /* At the start of the eleventh: the last two began 60 and 120 s ago. */
    assert_int_equal(keepdir_trim(path, &limits, START + 600 * SECOND, NULL, 0), 8);
    assert_int_equal(count(path), 2);
    remove_folder(path);
}

static void test_the_oldest_make_room(void **state)
{
    char *path = filled(10);
    struct keepdir_limits limits = {.max_bytes = 350};
    autofree char *last = keepdir_name(path, START + UINT64_C(9) * 60 * SECOND);
    (void)state;
    assert_int_equal(keepdir_trim(path, &limits, START, NULL, 0), 7);
    assert_int_equal(count(path), 3);
    assert_int_equal(access(last, F_OK), 0);
    assert_int_equal(keepdir_trim(path, &(struct keepdir_limits){0}, START, NULL, 1), 1);
    assert_int_equal(count(path), 2);
    /* As much as the limit is no more than it. */
    assert_int_equal(keepdir_trim(path, &(struct keepdir_limits){.max_bytes = 200}, START, NULL, 0),
                     0);
    /* The present one stays, however small the limit. */
    assert_int_equal(keepdir_trim(path, &(struct keepdir_limits){.max_bytes = 1}, START, last, 0),
                     1);
    assert_int_equal(access(last, F_OK), 0);
    remove_folder(path);
}

static void test_links_and_folders_are_no_recordings(void **state)
{
    char *path = filled(2);
    autofree char *link = keepdir_name(path, START - 60 * SECOND);
    autofree char *inner = keepdir_name(path, START - 120 * SECOND);
    autofree char *first = keepdir_name(path, START);
    (void)state;
    assert_int_equal(symlink(first, link), 0);
    assert_int_equal(mkdir(inner, 0700), 0);
    assert_int_equal(count(path), 2);
    assert_int_equal(keepdir_trim(path, &(struct keepdir_limits){.max_bytes = 1}, START, NULL, 0),
                     2);
    assert_int_equal(access(inner, F_OK), 0);
    remove_folder(path);
}

static void test_nothing_is_removed_in_the_folder_of_another_program(void **state)
{
    struct err err;
    char *path = folder();
    autofree char *name = keepdir_name(path, START);
    (void)state;
    put_file(name, 100);
    assert_false(keepdir_is(path));
    assert_int_equal(keepdir_open(path, &err), -1);
    assert_non_null(strstr(err.text, "empty folder"));
    assert_int_equal(keepdir_trim(path, &(struct keepdir_limits){.max_bytes = 1}, START, NULL, 1),
                     0);
    assert_int_equal(count(path), 1);
    remove_folder(path);
}

static void test_a_folder_is_made_and_found_again(void **state)
{
    struct err err;
    char *path = folder();
    autofree char *inner = mem_printf("%s/new", path), *file = mem_printf("%s/file", path);
    (void)state;
    put_file(file, 1);
    assert_int_equal(keepdir_open(inner, &err), 0);
    assert_true(keepdir_is(inner));
    assert_int_equal(keepdir_open(inner, &err), 0);
    assert_int_equal(keepdir_open(file, &err), -1);
    assert_non_null(strstr(err.text, "not a folder"));
    remove_folder(path);
}

/* What another process says to keepdir_lock(): 0, or 1 if it is refused. */
static int lock_of_another_process(const char *path)
{
    int status, pid = fork();
    if (pid == 0) {
        struct err err;
        int fd, rc = keepdir_lock(path, &fd, &err);
        _exit(rc == 0 ? 0 : strstr(err.text, "another recorder") ? 1 : 2);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WEXITSTATUS(status);
}

static void test_one_recorder_at_a_time_has_a_folder(void **state)
{
    struct err err;
    char *path = filled(1);
    int fd;
    (void)state;
    assert_int_equal(lock_of_another_process(path), 0);
    assert_int_equal(keepdir_lock(path, &fd, &err), 0);
    assert_true(fd >= 0);
    keepdir_files files = {0};
    assert_int_equal(keepdir_open(path, &err), 0); /* which must not give the lock away */
    assert_int_equal(keepdir_list(path, &files, &err), 0);
    keepdir_done(&files);
    assert_int_equal(lock_of_another_process(path), 1);
    close(fd);
    assert_int_equal(lock_of_another_process(path), 0);
    remove_folder(path);
}

static void test_the_folder_of_another_user_is_refused(void **state)
{
    struct err err;
    (void)state;
    if (geteuid() != 0) {
        print_message("skipped: needs root\n");
        skip();
    }
    char *path = filled(2);
    struct keepdir_limits none = {.max_bytes = 1};
    assert_int_equal(chown(path, 65534, 65534), 0);
    assert_int_equal(keepdir_open(path, &err), -1);
    assert_non_null(strstr(err.text, "another user"));
    autofree char *mark = mem_printf("%s/kelvin-recordings", path);
    assert_int_equal(chown(path, 0, 0), 0);
    assert_int_equal(chmod(path, 01777), 0);
    assert_int_equal(chown(mark, 65534, 65534), 0); /* as if somebody had put it there */
    assert_false(keepdir_is(path));
    assert_int_equal(keepdir_trim(path, &none, START, NULL, 0), 0);
    assert_int_equal(count(path), 2);
    remove_folder(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_are_times_and_sort),
        cmocka_unit_test(test_old_ones_are_removed),
        cmocka_unit_test(test_the_oldest_make_room),
        cmocka_unit_test(test_links_and_folders_are_no_recordings),
        cmocka_unit_test(test_nothing_is_removed_in_the_folder_of_another_program),
        cmocka_unit_test(test_one_recorder_at_a_time_has_a_folder),
        cmocka_unit_test(test_the_folder_of_another_user_is_refused),
        cmocka_unit_test(test_a_folder_is_made_and_found_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
