/* Names of functions from the table of a Go program, of each of its forms. */
#include "base/buf.h"
#include "symbol/gofuncs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { TEXT_AT = 0x401000, TEXT_BYTES = 0x100 };

struct go_form {
    uint32_t magic;
    bool old;            /* addresses of 8 bytes, and no address of the code */
    bool by_loader;      /* that address is 0 in the file */
    const char *section; /* of the table */
};

static const struct go_form forms[] = {
    {0xfffffffa, true, false, ".gopclntab"},
    {0xfffffff0, false, false, ".gopclntab"},
    {0xfffffff1, false, false, ".data.rel.ro.gopclntab"},
    {0xfffffff1, false, true, ".gopclntab"},
};

static void put(struct buf *b, uint64_t value, size_t bytes)
{
    buf_add(b, (const char *)&value, bytes);
}

/* main.fill at 0x10 of the code and main.rest from 0x40 up to 0x80; NAMES: all there are. */
static void make_table(struct buf *b, const struct go_form *form, struct text names)
{
    static const uint64_t starts[] = {0x10, 0x40, 0x80};
    size_t head = form->old ? 64 : 72, width = form->old ? 8 : 4;
    uint64_t functions = head, data = 5 * width, bytes = width + 4;
    put(b, form->magic, 4);
    put(b, 0x08010000, 4);
    put(b, 2, 8);
    put(b, 0, 8);
    if (!form->old)
        put(b, form->by_loader ? 0 : TEXT_AT, 8);
    put(b, functions + data + 2 * bytes, 8); /* names, at the end */
    put(b, 0, 8);
    put(b, 0, 8);
    put(b, 0, 8);
    put(b, functions, 8);
    for (size_t i = 0; i < 3; i++) {
        put(b, starts[i] + (form->old ? TEXT_AT : 0), width);
        if (i < 2)
            put(b, data + i * bytes, width);
    }
    for (size_t i = 0; i < 2; i++) {
        put(b, starts[i], width);
        put(b, i ? 10 : 0, 4); /* of "main.fill" and a NUL */
    }
    buf_add(b, names.at, names.n);
}

/* A program with that table and code, and nothing else. */
static void make_program(struct buf *b, const struct go_form *form, struct text names)
{
    autobuf struct buf table = {0}, strings = {0};
    make_table(&table, form, names);
    buf_add(&strings, "\0.text\0", 7);
    buf_add(&strings, form->section, strlen(form->section) + 1);
    Elf64_Ehdr head = {.e_type = ET_EXEC,
                       .e_machine = EM_X86_64,
                       .e_version = EV_CURRENT,
                       .e_ehsize = sizeof head,
                       .e_shoff = sizeof head,
                       .e_shentsize = sizeof(Elf64_Shdr),
                       .e_shnum = 4,
                       .e_shstrndx = 3};
    memcpy(head.e_ident, "\177ELF\2\1\1", 7);
    uint64_t at = sizeof head + 4 * sizeof(Elf64_Shdr);
    Elf64_Shdr sections[4] = {
        {0},
        {.sh_name = 1, .sh_type = SHT_NOBITS, .sh_addr = TEXT_AT, .sh_size = TEXT_BYTES},
        {.sh_name = 7, .sh_type = SHT_PROGBITS, .sh_offset = at, .sh_size = table.n},
        {.sh_type = SHT_STRTAB, .sh_offset = at + table.n, .sh_size = strings.n}};
    buf_add(b, (const char *)&head, sizeof head);
    buf_add(b, (const char *)sections, sizeof sections);
    buf_add(b, table.at, table.n);
    buf_add(b, strings.at, strings.n);
}

/* The name of PC by the table of a program; "" where it has none. */
static char *name_at(const struct go_form *form, struct text names, uint64_t pc)
{
    autobuf struct buf file = {0};
    make_program(&file, form, names);
    elf_version(EV_CURRENT);
    Elf *elf = elf_memory(file.at, file.n);
    assert_non_null(elf);
    struct profile *p = profile_new();
    struct lookup l;
    lookup_init(&l, p, &pc, 1);
    gofuncs_name(&l, elf);
    char *name = l.found[0].n_lines
                     ? mem_printf("%.*s", TEXT_ARG(profile_function_name(
                                              p, l.lines.at[l.found[0].first_line].function)))
                     : mem_strdup("");
    lookup_done(&l);
    profile_free(p);
    elf_end(elf);
    return name;
}

#define NAMES ((struct text){"main.fill\0main.rest\0", 20})

static void functions_of_every_form_are_named(void **state)
{
    static const struct {
        uint64_t pc;
        const char *name;
    } cases[] = {
        {0x0f, ""},          {0x10, "main.fill"}, {0x3f, "main.fill"},
        {0x40, "main.rest"}, {0x7f, "main.rest"}, {0x80, ""}, /* the end of the last one */
    };
    (void)state;
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            autofree char *name = name_at(&forms[f], NAMES, TEXT_AT + cases[i].pc);
            if (strcmp(name, cases[i].name) != 0)
                fail_msg("form %zu, %#lx: '%s'", f, (unsigned long)cases[i].pc, name);
        }
}

/* A name that the section cuts off may be the beginning of any. */
static void a_name_without_an_end_is_none(void **state)
{
    (void)state;
    autofree char *whole = name_at(&forms[1], (struct text){NAMES.at, 19}, TEXT_AT + 0x10);
    autofree char *cut = name_at(&forms[1], (struct text){NAMES.at, 19}, TEXT_AT + 0x40);
    assert_string_equal(whole, "main.fill");
    assert_string_equal(cut, "");
}

static void tables_of_other_kinds_name_nothing(void **state)
{
    (void)state;
    struct go_form unknown = {0xfffffffb, false, false, ".gopclntab"}; /* Go 1.2 to 1.15 */
    struct go_form elsewhere = {0xfffffff1, false, false, ".rodata"};
    autofree char *one = name_at(&unknown, NAMES, TEXT_AT + 0x10);
    autofree char *other = name_at(&elsewhere, NAMES, TEXT_AT + 0x10);
    assert_string_equal(one, "");
    assert_string_equal(other, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_of_every_form_are_named),
        cmocka_unit_test(a_name_without_an_end_is_none),
        cmocka_unit_test(tables_of_other_kinds_name_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
