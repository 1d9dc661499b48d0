/* Which source files may be shown around. */
#include "base/mem.h"
#include "base/project.h"

// clang-format off
#include <setjmp.h>
#include <cmocka.h>
#include "support_folder.h"
// clang-format on

static const char *const asked[] = {"asked", "nosuch"};

static bool may(const char *binary, const char *path, size_t folders)
{
    struct project p = {binary, asked, folders};
    return project_has_path(&p, path);
}

static void what_lies_below_the_project_may_be_shown(void **state)
{
    (void)state;
    folder_shell("mkdir -p p/.git p/src/deep p/build here other asked/x p/.ssh && "
                 "touch p/src/deep/a.c p/.env p/.ssh/key.c p/.git/config other/o.c asked/x/b.c && "
                 "ln -s ../other/o.c p/src/link.c && ln -s src p/link && touch here/kelvin.conf");
    assert_int_equal(chdir("here"), 0);
    assert_true(may("../p/build/app", "../p/src/deep/a.c", 0));
    assert_true(may("../p/build/app", "../p/link/deep/a.c", 0));
    assert_false(may("../p/build/app", "../p/.env", 0));
    assert_false(may("../p/build/app", "../p/.ssh/key.c", 0));
    assert_false(may("../p/build/app", "../p/.git/config", 0));
    assert_false(may("../p/build/app", "../other/o.c", 0));
    assert_false(may("../p/build/app", "../p/src/link.c", 0)); /* leads out */
    assert_false(may("../p/build/app", "../p/nosuch.c", 0));
    assert_false(may("/nosuch/app", "../p/src/deep/a.c", 0));
    assert_int_equal(chdir(".."), 0);
    assert_true(may("p/build/app", "asked/x/b.c", 2)); /* below the current folder, too */
    assert_int_equal(chdir("here"), 0);
    struct project p = {"../p/build/app", (const char *const[]){"../asked"}, 1};
    assert_true(project_has_path(&p, "../asked/x/b.c"));
    assert_int_equal(chdir(".."), 0);
}

static void neither_the_root_nor_the_home_folder_is_a_project(void **state)
{
    (void)state;
    folder_shell("mkdir -p mine/.git mine/prog && touch mine/notes.c mine/prog/a.c && mkdir away");
    autofree char *home = realpath("mine", NULL),
                  *old = getenv("HOME") ? mem_strdup(getenv("HOME")) : NULL;
    assert_int_equal(setenv("HOME", home, 1), 0);
    assert_int_equal(chdir("away"), 0);
    assert_true(may("../mine/prog/app", "../mine/prog/a.c", 0));
    assert_false(may("../mine/prog/app", "../mine/notes.c", 0));
    assert_false(may("../mine/app", "../mine/notes.c", 0));
    assert_false(may("/app", "/etc/passwd", 0));
    assert_int_equal(chdir(".."), 0);
    if (old)
        setenv("HOME", old, 1);
    else
        unsetenv("HOME");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(what_lies_below_the_project_may_be_shown, folder_fill),
        cmocka_unit_test_setup(neither_the_root_nor_the_home_folder_is_a_project, folder_fill),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
