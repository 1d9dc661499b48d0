/* test_publish.c - output files in a folder that others share. */
#include "base/mem.h"
#include "base/path.h"
#include "base/publish.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "support_folder.h"

static void publish_word(const char *path, const char *word)
{
    struct publish p;
    struct err err;
    assert_int_equal(publish_open(&p, path, &err), 0);
    fputs(word, p.out);
    if (publish_commit(&p, &err) != 0)
        fail_msg("%s", err.text);
}

static void the_mode_is_kept_or_what_the_umask_leaves(void **state)
{
    (void)state;
    mode_t before = umask(027);
    publish_word("x", "first");
    folder_check_mode("x", 0640);
    folder_shell("chmod 604 x");
    publish_word("x", "second");
    umask(before);
    folder_check_mode("x", 0604);
    folder_check_content("x", "second");
}

static void links_are_written_through(void **state)
{
    (void)state;
    folder_shell("mkdir far && printf old >far/real && ln -s far/real x && ln -s far/none y");
    publish_word("x", "new");
    publish_word("y", "made");
    folder_check_content("far/real", "new");
    folder_check_content("far/none", "made");
    folder_shell("test -L x && test -L y");
}

static void links_of_others_in_shared_folders_are_refused(void **state)
{
    struct publish p;
    struct err err;
    (void)state;
    if (geteuid() != 0) {
        print_message("skipped: needs root\n");
        skip();
    }
    folder_shell("mkdir -m 1777 shared && ln -s ../victim shared/x && chown -h 65534 shared/x");
    assert_int_equal(publish_open(&p, "shared/x", &err), -1);
    assert_non_null(strstr(err.text, "another user"));
    folder_check_content("victim", "precious");
}

static void skip_unless_root(void)
{
    if (geteuid() != 0) {
        print_message("skipped: needs root\n");
        skip();
    }
}

static void pipes_of_others_in_shared_folders_are_refused_without_waiting(void **state)
{
    struct publish p;
    struct err err;
    (void)state;
    skip_unless_root();
    alarm(20); /* a pipe without a reader would wait for ever */
    folder_shell("mkdir -m 1777 shared && mkfifo shared/x && ln -s x shared/y && "
                 "chown -h 65534 shared/x shared/y");
    assert_int_equal(publish_open(&p, "shared/x", &err), -1);
    assert_non_null(strstr(err.text, "another user"));
    assert_int_equal(publish_open(&p, "shared/y", &err), -1);
    assert_non_null(strstr(err.text, "another user"));
    folder_shell("chown 0 shared/x; (cat shared/x >got) &");
    publish_word("shared/x", "own");
    folder_shell("for i in $(seq 100); do test -s got && exit; sleep 0.05; done");
    folder_check_content("got", "own");
    alarm(0);
}

/* Else a file that everybody may write would be in the place of a report. */
static void the_mode_of_a_file_that_another_put_there_is_not_kept(void **state)
{
    (void)state;
    skip_unless_root();
    mode_t before = umask(022);
    folder_shell("mkdir -m 1777 shared && touch shared/x && chmod 666 shared/x && "
                 "chown 65534 shared/x");
    publish_word("shared/x", "new");
    umask(before);
    folder_check_mode("shared/x", 0644);
    folder_check_content("shared/x", "new");
}

static void what_is_private_is_for_nobody_else_to_read(void **state)
{
    struct publish p;
    struct err err;
    (void)state;
    mode_t before = umask(0);
    assert_int_equal(publish_open_private(&p, "x", &err), 0);
    assert_int_equal(publish_commit(&p, &err), 0);
    folder_check_mode("x", 0600);
    folder_shell("chmod 640 x");
    assert_int_equal(publish_open_private(&p, "x", &err), 0);
    assert_int_equal(publish_commit(&p, &err), 0);
    umask(before);
    folder_check_mode("x", 0640);
}

/* Whoever can foresee the name on the way could take it. */
static void nothing_has_a_name_before_it_is_whole(void **state)
{
    struct publish p;
    struct err err;
    (void)state;
    assert_int_equal(publish_open(&p, "x", &err), 0);
    autofree char *taken = mem_printf(".kelvin-%d-%d", (int)getpid(), fileno(p.out));
    assert_int_equal(mkdir(taken, 0700), 0);
    fputs("whole", p.out);
    assert_int_equal(publish_commit(&p, &err), 0);
    folder_check_content("x", "whole");
    assert_int_equal(rmdir(taken), 0);
}

static void a_full_disk_leaves_the_old_file_and_nothing_else(void **state)
{
    struct publish p;
    struct err err;
    struct rlimit before, small = {1000, RLIM_INFINITY};
    (void)state;
    publish_word("x", "first");
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    small.rlim_max = before.rlim_max;
    setrlimit(RLIMIT_FSIZE, &small);
    assert_int_equal(publish_open(&p, "x", &err), 0);
    for (int i = 0; i < 100000; i++)
        putc('x', p.out);
    int rc = publish_commit(&p, &err);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(rc, -1);
    assert_non_null(strstr(err.text, "unchanged"));
    folder_check_content("x", "first");
    folder_shell("test -z \"$(find . -name '.kelvin*')\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_mode_is_kept_or_what_the_umask_leaves, folder_fill),
        cmocka_unit_test_setup(links_are_written_through, folder_fill),
        cmocka_unit_test_setup(links_of_others_in_shared_folders_are_refused, folder_fill),
        cmocka_unit_test_setup(pipes_of_others_in_shared_folders_are_refused_without_waiting,
                               folder_fill),
        cmocka_unit_test_setup(the_mode_of_a_file_that_another_put_there_is_not_kept, folder_fill),
        cmocka_unit_test_setup(what_is_private_is_for_nobody_else_to_read, folder_fill),
        cmocka_unit_test_setup(nothing_has_a_name_before_it_is_whole, folder_fill),
        cmocka_unit_test_setup(a_full_disk_leaves_the_old_file_and_nothing_else, folder_fill),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
