/*
 * support_folder.h - tests that write files: a folder of their own, which is the current one, and
 * in it a file that nothing may harm. Include it after cmocka.h and support.h.
 */
#pragma once
#include "support.h"

#include <sys/stat.h>

static char folder[] = "/tmp/kelvin-unit-XXXXXX";

static inline int folder_make(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(folder));
    return chdir(folder);
}

static inline int folder_remove(void **state)
{
    (void)state;
    assert_int_equal(chdir("/"), 0);
    return support_remove(folder);
}

static inline int folder_fill(void **state)
{
    (void)state;
    return system("rm -rf * && printf precious >victim && chmod 644 victim");
}

static inline void folder_shell(const char *line)
{
    assert_int_equal(system(line), 0);
}

static inline void folder_check_content(const char *path, const char *expected)
{
    char bytes[64] = "";
    autofclose FILE *f = fopen(path, "r");
    assert_non_null(f);
    bytes[fread(bytes, 1, sizeof bytes - 1, f)] = '\0';
    assert_string_equal(bytes, expected);
}

static inline void folder_check_mode(const char *path, mode_t mode)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, mode);
}
