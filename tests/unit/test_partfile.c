/* test_partfile.c - a recording in a folder that others share. */
#include "base/mem.h"
#include "base/path.h"
#include "record/partfile.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support_folder.h"

/* x.part is in the way: it is refused, for a reason with WORD in it, and nothing is touched. */
static void check_refused(const char *word)
{
    struct partfile f;
    struct err err;
    assert_int_equal(partfile_open(&f, "x", &err), -1);
    if (!strstr(err.text, word) || !strstr(err.text, "x.part"))
        fail_msg("no '%s' in: %s", word, err.text);
    partfile_close(&f, false);
    folder_check_content("victim", "precious");
    assert_int_equal(path_kind("x"), PATH_NOTHING);
}

static void links_in_the_way_are_not_followed(void **state)
{
    (void)state;
    folder_shell("ln -s victim x.part");
    check_refused("symbolic link");
    folder_shell("ln -sf nothing x.part");
    check_refused("symbolic link");
    assert_int_equal(path_kind("nothing"), PATH_NOTHING);
    folder_shell("rm x.part && ln victim x.part");
    check_refused("second name");
}

static void what_is_not_a_file_is_refused_without_waiting(void **state)
{
    (void)state;
    alarm(20); /* a pipe without a reader would wait for ever */
    folder_shell("mkfifo x.part");
    check_refused("not a regular file");
    folder_shell("rm x.part && mkdir x.part");
    check_refused("not a regular file");
    alarm(0);
}

static void files_of_others_are_refused(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        print_message("skipped: needs root\n");
        skip();
    }
    folder_shell("touch x.part && chown 65534 x.part && chmod 666 x.part");
    check_refused("another user");
    folder_shell("mkdir -m 1777 shared && ln -s ../victim shared/x && chown -h 65534 shared/x");
    struct partfile f;
    struct err err;
    assert_int_equal(partfile_open(&f, "shared/x", &err), -1);
    assert_non_null(strstr(err.text, "another user"));
    folder_check_content("victim", "precious");
}

/* OLD: where a recording that was there must be said to be kept; NULL = there was none. */
static void publish_over(const char *output, const char *word, const char *old)
{
    struct partfile f;
    struct err err;
    autofree char *kept = NULL;
    assert_int_equal(partfile_open(&f, output, &err), 0);
    fputs(word, f.out);
    if (partfile_publish(&f, &kept, &err) != 0)
        fail_msg("%s", err.text);
    if (strcmp(kept ? kept : "none", old ? old : "none") != 0)
        fail_msg("kept as '%s', not as '%s'", kept ? kept : "none", old ? old : "none");
}

static void publish_word(const char *output, const char *word)
{
    publish_over(output, word, NULL);
}

static void a_file_that_another_put_there_makes_no_recording_public(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        print_message("skipped: needs root\n");
        skip();
    }
    folder_shell("mkdir -m 1777 shared && touch shared/x && chmod 666 shared/x && "
                 "chown 65534 shared/x");
    publish_word("shared/x", "secret");
    folder_check_mode("shared/x", 0600);
    folder_check_content("shared/x", "secret");
}

static void new_files_are_private_and_old_ones_keep_their_mode(void **state)
{
    (void)state;
    mode_t before = umask(0);
    publish_word("x.kelvin", "first");
    umask(before);
    folder_check_mode("x.kelvin", 0600);
    folder_shell("chmod 640 x.kelvin");
    publish_over("x.kelvin", "second", "x.kelvin.old");
    folder_check_mode("x.kelvin", 0640);
    folder_check_content("x.kelvin", "second");
    folder_check_content("x.kelvin.old", "first");
    assert_int_equal(path_kind("x.kelvin.part"), PATH_NOTHING);
}

static void links_as_the_target_are_written_through(void **state)
{
    (void)state;
    folder_shell(
        "mkdir far && printf old >far/real.kelvin && ln -s far/real.kelvin x && ln -s far/none y");
    publish_over("x", "new", "./far/real.kelvin.old");
    folder_check_content("far/real.kelvin", "new");
    folder_check_content("far/real.kelvin.old", "old");
    publish_word("y", "made");
    folder_check_content("far/none", "made");
    folder_shell("test -L x && test -L y");
}

static void an_old_recording_is_never_lost(void **state)
{
    (void)state;
    publish_word("x.kelvin", "first");
    folder_shell("ln -s victim x.kelvin.old && ln -s victim x.kelvin.old.new");
    publish_over("x.kelvin", "second", "x.kelvin.old");
    folder_check_content("x.kelvin.old", "first");
    folder_check_content("victim", "precious");
    folder_shell("rm -f x.kelvin.old x.kelvin.old.new && mkdir x.kelvin.old");
    struct partfile f;
    struct err err;
    char *kept = NULL;
    assert_int_equal(partfile_open(&f, "x.kelvin", &err), 0);
    fputs("third", f.out);
    assert_int_equal(partfile_publish(&f, &kept, &err), -1);
    assert_null(kept);
    assert_non_null(strstr(err.text, "x.kelvin.old"));
    partfile_close(&f, true);
    folder_check_content("x.kelvin", "second");
    folder_check_content("x.kelvin.part", "third");
}

static void a_file_that_is_no_recording_is_not_replaced(void **state)
{
    (void)state;
    struct partfile f;
    struct err err;
    assert_int_equal(partfile_open(&f, "victim", &err), -1);
    assert_non_null(strstr(err.text, "not a recording"));
    folder_check_content("victim", "precious");
    assert_int_equal(path_kind("victim.part"), PATH_NOTHING);
    folder_shell("printf 'KELVIN\\r\\n\\032' >mine && : >empty");
    publish_over("mine", "new", "mine.old");
    publish_word("empty", "new"); /* of mktemp: nothing in it to keep */
    assert_int_equal(path_kind("empty.old"), PATH_NOTHING);
}

static void a_file_that_was_exchanged_is_not_published(void **state)
{
    struct partfile f;
    struct err err;
    (void)state;
    publish_word("x.kelvin", "first");
    assert_int_equal(partfile_open(&f, "x.kelvin", &err), 0);
    folder_shell("rm x.kelvin.part && ln -s victim x.kelvin.part");
    assert_false(partfile_is_there(&f));
    assert_int_equal(partfile_publish(&f, NULL, &err), -1);
    assert_non_null(strstr(err.text, "replaced"));
    partfile_close(&f, true);
    folder_check_content("x.kelvin", "first");
    folder_shell("test ! -L x.kelvin");
}

static void two_recorders_do_not_share_a_file(void **state)
{
    struct partfile f, second;
    struct err err;
    (void)state;
    assert_int_equal(partfile_open(&f, "x", &err), 0);
    fputs("whole", f.out);
    assert_int_equal(partfile_open(&second, "x", &err), -1);
    assert_non_null(strstr(err.text, "another kelvin is recording"));
    assert_int_equal(partfile_publish(&f, NULL, &err), 0);
    folder_check_content("x", "whole");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(links_in_the_way_are_not_followed, folder_fill),
        cmocka_unit_test_setup(what_is_not_a_file_is_refused_without_waiting, folder_fill),
        cmocka_unit_test_setup(files_of_others_are_refused, folder_fill),
        cmocka_unit_test_setup(a_file_that_another_put_there_makes_no_recording_public,
                               folder_fill),
        cmocka_unit_test_setup(new_files_are_private_and_old_ones_keep_their_mode, folder_fill),
        cmocka_unit_test_setup(links_as_the_target_are_written_through, folder_fill),
        cmocka_unit_test_setup(an_old_recording_is_never_lost, folder_fill),
        cmocka_unit_test_setup(a_file_that_is_no_recording_is_not_replaced, folder_fill),
        cmocka_unit_test_setup(a_file_that_was_exchanged_is_not_published, folder_fill),
        cmocka_unit_test_setup(two_recorders_do_not_share_a_file, folder_fill),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
