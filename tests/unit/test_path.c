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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_are_told_apart),
        cmocka_unit_test(only_plain_files_are_opened),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
