/* test_chosen.c - variants that the loader chose have the name of what they were chosen for. */
#include "symbol/chosen.h"

#include "symbol/elffile.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* The C library of this process, and where it is loaded. */
static struct elffile open_libc(uint64_t *ret_base)
{
    Dl_info info;
    struct elffile f;
    elf_version(EV_CURRENT);
    assert_int_not_equal(dladdr(dlsym(RTLD_DEFAULT, "gnu_get_libc_version"), &info), 0);
    assert_int_equal(elffile_open(&f, info.dli_fname, (struct text){0}), 0);
    *ret_base = (uint64_t)(uintptr_t)info.dli_fbase;
    return f;
}

static void find_in_libc(struct chosen *c, struct elffile *f)
{
    char id[2 * BUILD_ID_MAX + 1];
    elffile_build_id(f->elf, id);
    chosen_find(c, f->elf, text_of(id));
}

static void what_the_loader_chose_has_its_public_name(void **state)
{
    (void)state;
    uint64_t base;
    struct chosen c = {0};
    struct elffile f = open_libc(&base);
    void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    find_in_libc(&c, &f);
    if (!libc || !c.at.n)
        skip(); /* a C library that leaves nothing to choose */
    const char *strlen_name = chosen_name(&c, (uintptr_t)dlsym(libc, "strlen") - base);
    const char *memcmp_name = chosen_name(&c, (uintptr_t)dlsym(libc, "memcmp") - base);
    assert_string_equal(strlen_name, "strlen");
    assert_string_equal(memcmp_name, "memcmp"); /* which is bcmp() too */
    assert_null(chosen_name(&c, 1));
    chosen_done(&c);
    elffile_close(&f);
    dlclose(libc);
}

static void nothing_is_known_of_a_file_that_is_not_loaded(void **state)
{
    (void)state;
    uint64_t base;
    struct chosen c = {0};
    struct elffile f = open_libc(&base);
    chosen_find(&c, f.elf, text_of("00112233445566778899aabbccddeeff00112233"));
    assert_int_equal(c.at.n, 0);
    chosen_find(&c, f.elf, (struct text){0});
    assert_int_equal(c.at.n, 0);
    elffile_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_loader_chose_has_its_public_name),
        cmocka_unit_test(nothing_is_known_of_a_file_that_is_not_loaded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
