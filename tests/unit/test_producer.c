/* test_producer.c - what a program was compiled with, of C, Rust and Go, stripped or not. */
#include "base/mem.h"
#include "symbol/producer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "support.h"

static char folder[] = "/tmp/kelvin-producer-XXXXXX";

static void run_line(const char *line)
{
    autofree char *all = mem_printf("cd %s && { %s; } >log 2>&1", folder, line);
    assert_int_equal(system(all), 0);
}

static void write_bytes(const char *name, const char *bytes, size_t n)
{
    autofree char *path = mem_printf("%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    fclose(f);
}

static void is_built_by(const char *name, const char *begins)
{
    autofree char *path = mem_printf("%s/%s", folder, name);
    autofree char *said = producer_read(path);
    assert_non_null(said);
    if (strncmp(said, begins, strlen(begins)) != 0)
        fail_msg("'%s' is built by '%s', not '%s'", name, said, begins);
}

static void debug_information_has_the_flags(void **state)
{
    (void)state;
    run_line("gcc -g -O1 -fno-plt -o debug a.c");
    is_built_by("debug", "GNU C");
    autofree char *path = mem_printf("%s/debug", folder);
    autofree char *said = producer_read(path);
    assert_non_null(strstr(said, "-O1"));
}

static void without_it_the_comment_has_the_name(void **state)
{
    (void)state;
    run_line("gcc -g0 -o plain a.c");
    is_built_by("plain", "GCC: ");
}

static void rust_counts_before_the_c_of_its_start_up(void **state)
{
    static const char both[] =
        "GCC: (Debian) 12.2.0\0rustc version 1.95.0 (59807616e)\0Linker: LLD";
    (void)state;
    write_bytes("comment", both, sizeof both);
    run_line("gcc -g0 -o a a.c && objcopy --update-section .comment=comment a rust");
    is_built_by("rust", "rustc version 1.95.0 (59807616e)");
}

/* As in a program of "go build -ldflags=-s": VERSION behind its length, which may be a lie. */
static void go_program(const char *name, size_t length, const char *version)
{
    char info[64] = "\xff Go buildinf:\x08\x02";
    info[32] = (char)length;
    memcpy(info + 33, version, strlen(version));
    write_bytes("info", info, 33 + strlen(version));
    autofree char *line =
        mem_printf("gcc -g0 -o a a.c && objcopy --add-section .go.buildinfo=info a %s", name);
    run_line(line);
}

static void stripped_programs_of_go_name_their_compiler(void **state)
{
    (void)state;
    go_program("go", 8, "go1.19.8");
    is_built_by("go", "Go go1.19.8");
}

static void a_length_beyond_the_section_is_not_believed(void **state)
{
    (void)state;
    go_program("long", 9, "go1.19.8");
    is_built_by("long", "GCC: ");
    go_program("huge", 255, "go1.19.8");
    is_built_by("huge", "GCC: ");
    go_program("none", 0, "go1.19.8");
    is_built_by("none", "GCC: ");
}

static void what_is_no_program_has_no_compiler(void **state)
{
    (void)state;
    autofree char *path = mem_printf("%s/a.c", folder);
    assert_null(producer_read(path));
    assert_null(producer_read("/nonexistent"));
}

static int set_up(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    write_bytes("a.c", "int main(void){return 0;}\n", 26);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return support_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(debug_information_has_the_flags),
        cmocka_unit_test(without_it_the_comment_has_the_name),
        cmocka_unit_test(rust_counts_before_the_c_of_its_start_up),
        cmocka_unit_test(stripped_programs_of_go_name_their_compiler),
        cmocka_unit_test(a_length_beyond_the_section_is_not_believed),
        cmocka_unit_test(what_is_no_program_has_no_compiler),
    };
    return cmocka_run_group_tests_name("producer", tests, set_up, tear_down);
}
