/*
 * Damaged and hostile ELF files: an error or a table, never a crash, and never much memory.
 */
#include "base/buf.h"
#include "base/reader.h"
#include "tiny_elf.h"
#include "unwind/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support.h"

static char folder[] = "/tmp/kelvin-elf-XXXXXX";
static struct buf program; /* a good one */

/* A table that was made of anything has rows in order, of kinds that exist. */
static void check_table(const struct unwind_table *t, size_t file_bytes)
{
    assert_true(t->n_rows <= 3 * file_bytes);
    for (size_t i = 0; i < t->n_rows; i++) {
        assert_true(i == 0 || t->rows[i].pc > t->rows[i - 1].pc);
        assert_true(t->rows[i].cfa < CFA_NO_MAP);
    }
    for (uint64_t pc = 0; pc < 100; pc++)
        unwind_table_find(t, t->base + pc * 97);
}

/* In memory of exactly that size, so that a read past its end is seen. True if it is a table. */
static bool try_bytes(const void *bytes, size_t n)
{
    struct unwind_table *t;
    struct err err;
    void *copy = mem_calloc(1, n ? n : 1);
    if (n)
        memcpy(copy, bytes, n);
    int rc = unwind_table_parse(copy, n, &t, &err);
    if (rc == 0)
        check_table(t, n);
    else
        assert_true(t == NULL && err.code == EXIT_INPUT && err.text[0]);
    unwind_table_free(t);
    free(copy);
    return rc == 0;
}

static uint64_t random_next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static void good_one(void **state)
{
    (void)state;
    assert_true(try_bytes(program.at, program.n));
}

static void cut_anywhere(void **state)
{
    (void)state;
    for (size_t n = 0; n < program.n; n += n < 2000 ? 1 : 61)
        try_bytes(program.at, n);
    assert_false(try_bytes(program.at, 100));
    assert_false(try_bytes(program.at, 0));
}

static void bits_flipped_anywhere(void **state)
{
    (void)state;
    uint64_t seed = 7;
    char *copy = mem_calloc(1, program.n);
    for (int i = 0; i < 2000; i++) {
        memcpy(copy, program.at, program.n);
        for (int k = 0; k < 1 + i % 50; k++)
            copy[random_next(&seed) % program.n] ^= (char)(1 << random_next(&seed) % 8);
        copy[i % 2 ? 0 : 4] = program.at[i % 2 ? 0 : 4];
        try_bytes(copy, program.n);
    }
    free(copy);
}

/* The headers are where lies hurt: every byte of them takes values at the edges. */
static void lies_in_headers(void **state)
{
    static const uint8_t lies[] = {0, 1, 0x7f, 0x80, 0xff};
    (void)state;
    Elf64_Ehdr *h = (Elf64_Ehdr *)(void *)program.at;
    size_t tables[][2] = {
        {0, sizeof *h},
        {h->e_phoff, h->e_phnum * sizeof(Elf64_Phdr)},
        {h->e_shoff, h->e_shnum * sizeof(Elf64_Shdr)},
    };
    for (int t = 0; t < 3; t++)
        for (size_t i = tables[t][0]; i < tables[t][0] + tables[t][1]; i++)
            for (size_t k = 0; k < sizeof lies; k++) {
                char kept = program.at[i];
                program.at[i] = (char)lies[k];
                try_bytes(program.at, program.n);
                program.at[i] = kept;
            }
}

/* def_cfa rsp+8, offset ra -8 */
#define USUAL "\x0c\x07\x08\x90\x01"

static struct unwind_row first_row(const char *cie, size_t cie_n, const char *fde, size_t fde_n)
{
    struct tiny t;
    struct unwind_table *table;
    struct err err;
    tiny_init(&t, EM_X86_64);
    size_t n = tiny_frames(&t, (struct text){cie, cie_n}, (struct text){fde, fde_n});
    assert_int_equal(unwind_table_parse(&t, n, &table, &err), 0);
    const struct unwind_row *row = unwind_table_find(table, 0x40);
    struct unwind_row ret = row ? *row : (struct unwind_row){.cfa = CFA_GAP};
    unwind_table_free(table);
    return ret;
}

#define FIRST(cie, fde) first_row(cie, sizeof(cie) - 1, fde, sizeof(fde) - 1)

static void rules_made_by_hand(void **state)
{
    (void)state;
    struct unwind_row r = FIRST(USUAL, "");
    assert_true(r.cfa == CFA_SP && r.cfa_offset == 1 && r.flags == 0);
    r = FIRST(USUAL, "\x0e\x10\x86\x02"); /* def_cfa_offset 16; offset rbp -16 */
    assert_true(r.cfa == CFA_SP && r.cfa_offset == 2 && r.fp_offset == -2);
    assert_int_equal(r.flags, ROW_FP_SAVED);
    r = FIRST(USUAL, "\x0d\x06"); /* def_cfa_register rbp */
    assert_true(r.cfa == CFA_FP && r.cfa_offset == 1);
    r = FIRST(USUAL, "\x0d\x03"); /* rbx */
    assert_int_equal(r.cfa, CFA_EXTRA);
    r = FIRST(USUAL, "\x0d\x0a"); /* r10 */
    assert_true(r.cfa == CFA_OTHER && r.flags >> ROW_NUMBER_SHIFT == 10);
    r = FIRST(USUAL, "\x0d\x11"); /* xmm0 */
    assert_int_equal(r.cfa, CFA_UNKNOWN);
    r = FIRST(USUAL, "\x07\x10"); /* undefined ra */
    assert_int_equal(r.cfa, CFA_BOTTOM);
    r = FIRST(USUAL, "\x0e\x0c"); /* offset 12: not in words */
    assert_int_equal(r.cfa, CFA_UNKNOWN);
    r = FIRST(USUAL, "\x86\x02\xc6"); /* saved, restored */
    assert_int_equal(r.flags, 0);
    r = FIRST(USUAL, "\x0a\x0e\x20\x0b"); /* remember, change, restore */
    assert_int_equal(r.cfa_offset, 1);
    r = FIRST(USUAL, "\x2e\x10\x2d"); /* args size, negate_ra_state: nothing changes */
    assert_true(r.cfa == CFA_SP && r.cfa_offset == 1);
    r = FIRST(USUAL, "\x09\x06\x00"); /* rbp is in rax: lost */
    assert_int_equal(r.flags, ROW_FP_AT_FP);
}

static void no_rule_past_the_end(void **state)
{
    (void)state;
    struct tiny t;
    struct unwind_table *table;
    struct err err;
    tiny_init(&t, EM_X86_64);
    size_t n = tiny_frames(&t, (struct text){USUAL, 5}, (struct text){"", 0});
    assert_int_equal(unwind_table_parse(&t, n, &table, &err), 0);
    assert_null(unwind_table_find(table, 0x3f));
    assert_non_null(unwind_table_find(table, 0x40));
    assert_non_null(unwind_table_find(table, 0x13f));
    assert_null(unwind_table_find(table, 0x140));
    unwind_table_free(table);
}

static void expressions_made_by_hand(void **state)
{
    (void)state;
    /* CFA = *(rbp - 8), rbp at rbp + 0: a function that aligns its stack */
    struct unwind_row r = FIRST(USUAL, "\x0f\x03\x76\x78\x06\x10\x06\x02\x76\x00");
    assert_true(r.cfa == CFA_FP_DEREF && r.cfa_offset == -1);
    assert_int_equal(r.flags, ROW_FP_SAVED | ROW_FP_AT_FP);
    /* CFA = *(rsp + 88) + 8 */
    r = FIRST(USUAL, "\x0f\x06\x77\xd8\x00\x06\x23\x08");
    assert_true(r.cfa == CFA_SP_DEREF && r.cfa_offset == 11 && r.flags >> ROW_NUMBER_SHIFT == 1);
    /* the PLT's */
    r = FIRST(USUAL, "\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22");
    assert_true(r.cfa == CFA_PLT && r.cfa_offset == 11);
    /* rsp + 8 without a deref is as good as a register */
    r = FIRST(USUAL, "\x0f\x02\x77\x18");
    assert_true(r.cfa == CFA_SP && r.cfa_offset == 3);
    /* something else */
    r = FIRST(USUAL, "\x0f\x01\x30");
    assert_int_equal(r.cfa, CFA_UNKNOWN);
}

static void programs_without_sense(void **state)
{
    (void)state;
    assert_int_equal(FIRST(USUAL, "\x0b").cfa, CFA_UNKNOWN);         /* nothing to restore */
    assert_int_equal(FIRST(USUAL, "\x3f").cfa, CFA_UNKNOWN);         /* no such instruction */
    assert_int_equal(FIRST(USUAL, "\x0f\x7f\x77").cfa, CFA_UNKNOWN); /* ends inside */
    assert_int_equal(FIRST("", "").cfa, CFA_UNKNOWN);                /* says nothing */
    char many[600];
    memset(many, 0x0a, sizeof many); /* remember, remember... */
    assert_int_equal(first_row(USUAL, 5, many, 500).cfa, CFA_UNKNOWN);
    /* A program as long as this for each FDE would take for ever: none of them has rules. */
    assert_int_equal(first_row(many, 600, "", 0).cfa, CFA_GAP);
}

static int set_up(void **state)
{
    (void)state;
    mkdtemp(folder);
    autofree char *path = mem_printf("%s/program", folder);
    autofree char *line = mem_printf(
        "gcc -O2 -g -gz=zlib -fno-asynchronous-unwind-tables -o %s tests/target/frames.c", path);
    struct reader in;
    struct err err;
    if (system(line) != 0 || reader_open(&in, path, &err) != 0)
        return -1;
    for (struct text t; (t = reader_peek(&in, 1)).n > 0; reader_take(&in, t.n))
        buf_add(&program, t.at, t.n);
    reader_close(&in);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    buf_done(&program);
    return support_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_one),
        cmocka_unit_test(cut_anywhere),
        cmocka_unit_test(bits_flipped_anywhere),
        cmocka_unit_test(lies_in_headers),
        cmocka_unit_test(rules_made_by_hand),
        cmocka_unit_test(no_rule_past_the_end),
        cmocka_unit_test(expressions_made_by_hand),
        cmocka_unit_test(programs_without_sense),
    };
    return cmocka_run_group_tests_name("hostile ELF files", tests, set_up, tear_down);
}
