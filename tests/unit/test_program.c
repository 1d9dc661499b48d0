/* Programs found as execvp finds them, and why one cannot be started. */
#include "base/mem.h"
#include "base/program.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "support.h"

static char *folder, *own_path;

static void shell(const char *line)
{
    autofree char *whole = mem_printf("cd '%s' && %s", folder, line);
    assert_int_equal(system(whole), 0);
}

static int set_up(void **state)
{
    (void)state;
    own_path = mem_strdup(getenv("PATH"));
    folder = mem_strdup("/tmp/kelvin-program-XXXXXX");
    assert_non_null(mkdtemp(folder));
    shell("chmod 755 . && mkdir one two two/tool three 'with space' closed && "
          "printf '#!/bin/sh\\n' >three/tool && chmod 755 three/tool && "
          "printf '#!/no/such/shell\\n' >three/odd && chmod 755 three/odd && "
          "touch one/tool plain closed/tool && chmod 644 one/tool && chmod 755 closed/tool && "
          "cp three/tool here && chmod 700 closed && cp three/tool mine && chmod 700 mine");
    assert_int_equal(chdir(folder), 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    assert_int_equal(chdir("/"), 0);
    setenv("PATH", own_path, 1);
    free(own_path);
    support_remove(folder);
    free(folder);
    return 0;
}

static void finds(const char *path, const char *command, enum program_state state, const char *at)
{
    autofree char *got = NULL;
    if (path)
        setenv("PATH", path, 1);
    else
        unsetenv("PATH");
    assert_int_equal(program_find(command, &got), state);
    if (at)
        assert_string_equal(got, at);
    else
        assert_null(got);
    assert_int_equal(program_exists(command), state == PROGRAM_FOUND);
}

static void path_is_searched_as_execvp_does(void **state)
{
    (void)state;
    finds("one:two:three", "tool", PROGRAM_FOUND, "three/tool");
    finds("three", "tool", PROGRAM_FOUND, "three/tool");
    finds("three", "./here", PROGRAM_FOUND, "./here");
    finds("", "here", PROGRAM_FOUND, "./here");
    finds("one:", "here", PROGRAM_FOUND, "./here");
    finds("one::two", "here", PROGRAM_FOUND, "./here");
    finds("one", "here", PROGRAM_NOT_FOUND, NULL);
    finds("two", "tool", PROGRAM_NOT_FOUND, NULL);
    finds("one:two", "tool", PROGRAM_NOT_EXECUTABLE, "one/tool");
    finds("one", "", PROGRAM_NOT_FOUND, NULL);
    finds(NULL, "sh", PROGRAM_FOUND, "/bin/sh");
    finds("one", "./two", PROGRAM_FOLDER, "./two");
    finds("one", "./plain", PROGRAM_NOT_EXECUTABLE, "./plain");
    finds("one", "./plain/tool", PROGRAM_NOT_FOUND, NULL);
}

static void explains(const char *command, int errnum, const char *sentence)
{
    struct err err;
    program_explain(command, errnum, &err);
    assert_string_equal(err.text, sentence);
    assert_int_equal(err.code, EXIT_ERROR);
}

static void each_reason_has_its_sentence(void **state)
{
    (void)state;
    setenv("PATH", "three", 1);
    explains("./nosuch", ENOENT, "./nosuch: not found");
    explains("nosuch", ENOENT, "nosuch: not found in PATH");
    explains("LANG=C", ENOENT, "LANG=C: not a program; 'env NAME=VALUE COMMAND' sets a variable");
    explains("7z=x", ENOENT, "7z=x: not found in PATH"); /* no shell takes it for one */
    explains("toool", ENOENT, "toool: not found in PATH; did you mean 'tool'?");
    explains("here", ENOENT, "here: not found in PATH; did you mean './here'?");
    explains("./two", EACCES, "./two: is a folder");
    explains("./plain", EACCES, "./plain: not executable; 'chmod +x' it");
    explains("three/odd", ENOENT, "three/odd: its interpreter is missing; 'file' shows which");
    explains("./here", E2BIG, "./here: Argument list too long");
}

/* As a user for whom the right bits count. */
static void as_nobody(void (*check)(void))
{
    pid_t pid = fork();
    if (pid == 0) {
        if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
            _exit(2);
        check();
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void expect_text(const char *command, enum program_state state, const char *sentence)
{
    struct err err;
    if (program_explain(command, EACCES, &err) != state || strcmp(err.text, sentence) != 0) {
        fprintf(stderr, "# %s\n", err.text);
        _exit(1);
    }
}

static void check_closed(void)
{
    setenv("PATH", "closed", 1);
    expect_text("closed/tool", PROGRAM_CLOSED,
                "closed/tool: you may not enter the folder 'closed'");
    expect_text("tool", PROGRAM_CLOSED,
                "tool: not found in PATH; it may be in 'closed', which you may not enter");
    expect_text("mine", PROGRAM_CLOSED, "mine: not found in PATH; did you mean './mine'?");
    setenv("PATH", "closed:three", 1);
    if (!program_exists("tool"))
        _exit(3);
    expect_text("./mine", PROGRAM_FORBIDDEN,
                "./mine: you may not execute it; see 'ls -l' and 'findmnt -T'");
}

static void a_closed_folder_is_not_a_missing_chmod(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        assert_int_equal(chmod("closed", 0), 0);
        assert_int_equal(chmod("mine", 010), 0);
    }
    as_nobody(check_closed);
    chmod("closed", 0700);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(path_is_searched_as_execvp_does),
        cmocka_unit_test(each_reason_has_its_sentence),
        cmocka_unit_test(a_closed_folder_is_not_a_missing_chmod),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
