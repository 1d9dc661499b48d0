/* What a path leads to. */
#include "base/mem.h"
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support.h"

static char folder[] = "/tmp/kelvin-path-XXXXXX";

static int set_up(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    return system("printf hello >file && mkdir folder && mkfifo pipe && ln -s file link && "
                  "ln -s nothing dangling");
}

static int tear_down(void **state)
{
    (void)state;
    assert_int_equal(chdir("/"), 0);
    return support_remove(folder);
}

static void kinds_are_told_apart(void **state)
{
    (void)state;
    assert_int_equal(path_kind("file"), PATH_FILE);
    assert_int_equal(path_kind("link"), PATH_FILE);
    assert_int_equal(path_kind("folder"), PATH_FOLDER);
    assert_int_equal(path_kind("pipe"), PATH_OTHER);
    assert_int_equal(path_kind("/dev/null"), PATH_OTHER);
    assert_int_equal(path_kind("dangling"), PATH_NOTHING);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(path_kind("file/x"), PATH_NOTHING);
    assert_int_equal(errno, ENOTDIR);
}

/* A pipe that nobody writes to must not make us wait. */
static void only_plain_files_are_opened(void **state)
{
    struct stat st;
    (void)state;
    autoclose int fd = path_open_file("link", 0, &st);
    assert_true(fd >= 0);
    assert_int_equal(st.st_size, 5);
    assert_int_equal(path_open_file("link", O_NOFOLLOW, NULL), -1);
    assert_int_equal(errno, ELOOP);
    assert_int_equal(path_open_file("pipe", 0, NULL), -1);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(path_open_file("folder", 0, NULL), -1);
    assert_int_equal(path_open_file("/dev/null", 0, NULL), -1);
    assert_int_equal(path_open_file("nothing", 0, NULL), -1);
    assert_int_equal(errno, ENOENT);
}

static void check_target(const char *path, const char *expected)
{
    autofree char *target = path_target(path);
    assert_non_null(target);
    assert_string_equal(target, expected);
}

static void writing_goes_where_links_lead(void **state)
{
    (void)state;
    check_target("file", "file");
    check_target("nosuch", "nosuch");
    check_target("link", "./file");
    check_target("dangling", "./nothing");
    assert_int_equal(system("ln -s /etc/nosuch absolute; ln -s ../nosuch folder/up; ln -s absolute "
                            "twice; ln -s round round"),
                     0);
    check_target("absolute", "/etc/nosuch");
    check_target("folder/up", "folder/../nosuch");
    check_target("twice", "/etc/nosuch");
    assert_null(path_target("round"));
    assert_int_equal(errno, ELOOP);
}

/* As /tmp is: everybody may put a link there that waits for somebody with more rights. */
static void links_of_others_in_shared_folders_are_not_followed(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        print_message("skipped: needs root\n");
        skip();
    }
    assert_int_equal(system("mkdir -m 1777 shared && ln -s ../file shared/trap && "
                            "chown -h 65534 shared/trap && ln -s ../file shared/own"),
                     0);
    check_target("shared/own", "shared/../file");
    assert_null(path_target("shared/trap"));
    assert_int_equal(errno, EACCES);
    assert_int_equal(system("chmod 755 shared"), 0);
    check_target("shared/trap", "shared/../file");
}

/* As the kernel has it for links: whoever may write to /tmp must not speak for those below it. */
static void what_is_found_counts_by_its_owner(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        print_message("skipped: needs root\n");
        skip();
    }
    assert_int_equal(system("mkdir -m 1777 open && touch open/own open/other && "
                            "chown 65534 open/other && ln -s own open/link && "
                            "chown -h 65534 open/link && mkdir open/others && "
                            "touch open/others/conf && chown -R 65534 open/others"),
                     0);
    assert_true(path_is_planted("open/other") && path_is_planted("open/link"));
    assert_false(path_is_planted("open/own"));
    assert_false(path_is_planted("open/nothing"));
    assert_false(path_is_planted("open/others/conf")); /* no shared folder */
    assert_true(path_is_trusted("open/own", false) && path_is_trusted("open/own", true));
    assert_false(path_is_trusted("open/other", false));
    assert_false(path_is_trusted("open/other", true));
    assert_false(path_is_trusted("open/link", true));
    assert_true(path_is_trusted("open/others/conf", false));
    assert_false(path_is_trusted("open/others/conf", true));
    assert_int_equal(chdir("open/others"), 0);
    assert_true(path_is_trusted("conf", true)); /* of whom this folder is */
    assert_int_equal(chdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_are_told_apart),
        cmocka_unit_test(only_plain_files_are_opened),
        cmocka_unit_test(writing_goes_where_links_lead),
        cmocka_unit_test(links_of_others_in_shared_folders_are_not_followed),
        cmocka_unit_test(what_is_found_counts_by_its_owner),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
