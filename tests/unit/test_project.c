/* Which source files may be shown around. */
#include "base/mem.h"
#include "base/path.h"
#include "base/project.h"

// clang-format off
#include <setjmp.h>
#include <cmocka.h>
#include "support_folder.h"
// clang-format on

static const char *const asked[] = {"asked", "nosuch"};

/* As those ask who read a file: by where the open one is. */
static bool has_file(const struct project *p, const char *path)
{
    autoclose int fd = path_open_file(path, 0, NULL);
    autofree char *real = fd >= 0 ? path_of_open(fd) : NULL;
    return real && project_has(p, real);
}

static bool may(const char *binary, const char *path, size_t folders)
{
    return has_file(&(struct project){binary, asked, folders}, path);
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
    assert_true(has_file(&p, "../asked/x/b.c"));
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
    assert_false(may("nosuch/app", "mine/notes.c", 0)); /* here everybody's home is */
    folder_shell("touch kelvin.conf");
    assert_false(may("mine/prog/app", "mine/notes.c", 0));
    if (old)
        setenv("HOME", old, 1);
    else
        unsetenv("HOME");
}

static void what_others_put_into_a_folder_for_everybody_is_no_mark(void **state)
{
    (void)state;
    folder_shell("mkdir -p tmp/.git tmp/mine tmp/prog away && touch tmp/notes.c tmp/mine/m.c "
                 "tmp/prog/a.c && chmod 1777 tmp");
    assert_int_equal(chdir("away"), 0);
    assert_true(may("../tmp/prog/app", "../tmp/prog/a.c", 0));
    assert_false(may("../tmp/prog/app", "../tmp/mine/m.c", 0));
    assert_true(may("../tmp/app", "../tmp/notes.c", 0)); /* where the program itself is */
    assert_int_equal(chdir(".."), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(what_lies_below_the_project_may_be_shown, folder_fill),
        cmocka_unit_test_setup(neither_the_root_nor_the_home_folder_is_a_project, folder_fill),
        cmocka_unit_test_setup(what_others_put_into_a_folder_for_everybody_is_no_mark, folder_fill),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
