/*
 * Every instruction of call frame information, one by one, and what rows are made of it.
 */
#include "unwind/cfi.h"

#include <dwarf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "made_elf.h"

enum { FUNCTION = 0x1000, FUNCTION_BYTES = 0x100 };

/* DWARF numbers of x86-64 registers. */
enum { RDX = 1, RBX = 3, RDI = 5, RBP = 6, RSP = 7, R10 = 10, RIP = 16 };

enum { SAVED_BOTH = ROW_FP_SAVED | ROW_EXTRA_SAVED };

static struct unwind_table *table_of(struct text program)
{
    struct made m;
    struct unwind_table *t;
    struct err err;
    made_init(&m);
    made_fde(&m, m.plain, FUNCTION, FUNCTION_BYTES, program);
    assert_int_equal(unwind_table_parse(m.bytes, MADE_BYTES, &t, &err), 0);
    return t;
}

#define BYTES(...) (const char[]){__VA_ARGS__}, sizeof((const char[]){__VA_ARGS__})

struct cfi_case {
    const char *what;
    const char *program;
    size_t n;
    uint64_t at;
    struct unwind_row row;
};

static void check_case(const struct cfi_case *c)
{
    struct unwind_table *t = table_of((struct text){c->program, c->n});
    const struct unwind_row *row = unwind_table_find(t, FUNCTION + c->at);
    print_message("# %s at %lu\n", c->what, (unsigned long)c->at);
    assert_non_null(row);
    assert_int_equal(row->cfa, c->row.cfa);
    if (row->cfa != CFA_UNKNOWN) {
        assert_int_equal(row->cfa_offset, c->row.cfa_offset);
        assert_int_equal(row->flags, c->row.flags);
        assert_int_equal(row->fp_offset, c->row.fp_offset);
        assert_int_equal(row->extra_offset, c->row.extra_offset);
    }
    unwind_table_free(t);
}

#define SP(words)                            \
    {                                        \
        .cfa = CFA_SP, .cfa_offset = (words) \
    }
#define UNKNOWN            \
    {                      \
        .cfa = CFA_UNKNOWN \
    }

/* A CFA of rsp + 8 is where every program begins. */
static void rules_for_the_cfa(void **state)
{
    (void)state;
    const struct cfi_case all[] = {
        {"nothing", "", 0, 0, SP(1)},
        {"nop", BYTES(DW_CFA_nop), 0, SP(1)},
        {"def_cfa", BYTES(DW_CFA_def_cfa, RBP, 16), 0, {.cfa = CFA_FP, .cfa_offset = 2}},
        {"def_cfa rbx", BYTES(DW_CFA_def_cfa, RBX, 8), 0, {.cfa = CFA_EXTRA, .cfa_offset = 1}},
        {"def_cfa r10",
         BYTES(DW_CFA_def_cfa, R10, 0),
         0,
         {.cfa = CFA_OTHER, .flags = R10 << ROW_NUMBER_SHIFT}},
        {"def_cfa of no register", BYTES(DW_CFA_def_cfa, 40, 8), 0, UNKNOWN},
        {"def_cfa_sf", BYTES(DW_CFA_def_cfa_sf, RBP, 0x7e), 0, {.cfa = CFA_FP, .cfa_offset = 2}},
        {"def_cfa_register",
         BYTES(DW_CFA_def_cfa_register, RBP),
         0,
         {.cfa = CFA_FP, .cfa_offset = 1}},
        {"def_cfa_offset", BYTES(DW_CFA_def_cfa_offset, 0x80, 0x02), 0, SP(32)},
        {"def_cfa_offset_sf", BYTES(DW_CFA_def_cfa_offset_sf, 0x80, 0x7f), 0, SP(128)},
        {"an odd offset", BYTES(DW_CFA_def_cfa_offset, 12), 0, UNKNOWN},
        {"far away", BYTES(DW_CFA_def_cfa_offset, 0x80, 0x80, 0x40), 0, SP(INT16_MAX)},
        {"as far as goes", BYTES(DW_CFA_def_cfa_offset, 0xf8, 0xff, 0x0f), 0, SP(INT16_MAX)},
        {"far from rbp", BYTES(DW_CFA_def_cfa, RBP, 0x80, 0x80, 0x40), 0, UNKNOWN},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        check_case(&all[i]);
}

static void expressions_for_the_cfa(void **state)
{
    (void)state;
    const struct cfi_case all[] = {
        {"rbp - 8, deref",
         BYTES(DW_CFA_def_cfa_expression, 3, DW_OP_breg6, 0x78, DW_OP_deref),
         0,
         {.cfa = CFA_FP_DEREF, .cfa_offset = -1}},
        {"rsp + 16, deref, + 8",
         BYTES(DW_CFA_def_cfa_expression, 5, DW_OP_breg7, 16, DW_OP_deref, DW_OP_plus_uconst, 8),
         0,
         {.cfa = CFA_SP_DEREF, .cfa_offset = 2, .flags = 1 << ROW_NUMBER_SHIFT}},
        {"rsp + 16, deref, + 120",
         BYTES(DW_CFA_def_cfa_expression, 5, DW_OP_breg7, 16, DW_OP_deref, DW_OP_plus_uconst, 120),
         0,
         {.cfa = CFA_SP_DEREF, .cfa_offset = 2, .flags = 15 << ROW_NUMBER_SHIFT}},
        {"too much to add",
         BYTES(DW_CFA_def_cfa_expression, 6, DW_OP_breg7, 16, DW_OP_deref, DW_OP_plus_uconst, 0x80,
               0x01),
         0, UNKNOWN},
        {"not whole words to add",
         BYTES(DW_CFA_def_cfa_expression, 5, DW_OP_breg7, 16, DW_OP_deref, DW_OP_plus_uconst, 4), 0,
         UNKNOWN},
        {"rbp + 16 as an expression",
         BYTES(DW_CFA_def_cfa_expression, 2, DW_OP_breg6, 16),
         0,
         {.cfa = CFA_FP, .cfa_offset = 2}},
        {"rbp + 8 + 8",
         BYTES(DW_CFA_def_cfa_expression, 4, DW_OP_breg6, 8, DW_OP_plus_uconst, 8),
         0,
         {.cfa = CFA_FP, .cfa_offset = 2}},
        {"rdx, deref", BYTES(DW_CFA_def_cfa_expression, 3, DW_OP_breg1, 0, DW_OP_deref), 0,
         UNKNOWN},
        {"no register first", BYTES(DW_CFA_def_cfa_expression, 1, DW_OP_lit0), 0, UNKNOWN},
        {"more than that",
         BYTES(DW_CFA_def_cfa_expression, 4, DW_OP_breg6, 8, DW_OP_deref, DW_OP_deref), 0, UNKNOWN},
        {"PLT",
         BYTES(DW_CFA_def_cfa_expression, 11, DW_OP_breg7, 8, DW_OP_breg16, 0, DW_OP_lit15,
               DW_OP_and, DW_OP_lit11, DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus),
         0,
         {.cfa = CFA_PLT, .cfa_offset = 11}},
        {"nearly PLT",
         BYTES(DW_CFA_def_cfa_expression, 11, DW_OP_breg7, 8, DW_OP_breg16, 0, DW_OP_lit15,
               DW_OP_and, DW_OP_lit11, DW_OP_gt, DW_OP_lit3, DW_OP_shl, DW_OP_plus),
         0, UNKNOWN},
        {"back to rsp",
         BYTES(DW_CFA_def_cfa_expression, 5, DW_OP_breg7, 16, DW_OP_deref, DW_OP_plus_uconst, 8,
               DW_CFA_def_cfa, RSP, 24),
         0, SP(3)},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        check_case(&all[i]);
}

#define SAVES(flags_, fp_, extra_)                                             \
    {                                                                          \
        .cfa = CFA_SP, .cfa_offset = 1, .flags = (flags_), .fp_offset = (fp_), \
        .extra_offset = (extra_)                                               \
    }

static void rules_for_registers(void **state)
{
    (void)state;
    const struct cfi_case all[] = {
        {"offset", BYTES((char)(DW_CFA_offset | RBP), 2), 0, SAVES(ROW_FP_SAVED, -2, 0)},
        {"both", BYTES((char)(DW_CFA_offset | RBP), 2, (char)(DW_CFA_offset | RBX), 3), 0,
         SAVES(SAVED_BOTH, -2, -3)},
        {"a register that nobody needs", BYTES((char)(DW_CFA_offset | R10), 2), 0, SP(1)},
        {"offset_extended", BYTES(DW_CFA_offset_extended, RBX, 4), 0,
         SAVES(ROW_EXTRA_SAVED, 0, -4)},
        {"offset_extended_sf", BYTES(DW_CFA_offset_extended_sf, RBX, 0x7e), 0,
         SAVES(ROW_EXTRA_SAVED, 0, 2)},
        {"negative offset", BYTES(DW_CFA_GNU_negative_offset_extended, RBP, 3), 0,
         SAVES(ROW_FP_SAVED, 3, 0)},
        {"restore", BYTES((char)(DW_CFA_offset | RBP), 2, (char)(DW_CFA_restore | RBP)), 0, SP(1)},
        {"restore the other one",
         BYTES((char)(DW_CFA_offset | RBP), 2, (char)(DW_CFA_restore | RBX)), 0,
         SAVES(ROW_FP_SAVED, -2, 0)},
        {"restore_extended", BYTES((char)(DW_CFA_offset | RBX), 2, DW_CFA_restore_extended, RBX), 0,
         SP(1)},
        {"restore the return address", BYTES(DW_CFA_undefined, RIP, DW_CFA_restore_extended, RIP),
         0, SP(1)},
        {"same_value", BYTES((char)(DW_CFA_offset | RBP), 2, DW_CFA_same_value, RBP), 0, SP(1)},
        {"undefined rbp", BYTES((char)(DW_CFA_offset | RBP), 2, DW_CFA_undefined, RBP), 0, SP(1)},
        {"undefined return address", BYTES(DW_CFA_undefined, RIP), 0, {.cfa = CFA_BOTTOM}},
        {"at rbp - 8", BYTES(DW_CFA_expression, RBP, 2, DW_OP_breg6, 0x78), 0,
         SAVES(ROW_FP_SAVED | ROW_FP_AT_FP, -1, 0)},
        {"rbx at rbp - 16", BYTES(DW_CFA_expression, RBX, 2, DW_OP_breg6, 0x70), 0,
         SAVES(ROW_EXTRA_SAVED | ROW_EXTRA_AT_FP, 0, -2)},
        {"at rsp + 8", BYTES(DW_CFA_expression, RBP, 2, DW_OP_breg7, 8), 0,
         SAVES(ROW_FP_AT_FP, 0, 0)},
        {"behind a pointer", BYTES(DW_CFA_expression, RBP, 3, DW_OP_breg6, 8, DW_OP_deref), 0,
         SAVES(ROW_FP_AT_FP, 0, 0)},
        {"rbp + 8 + 8", BYTES(DW_CFA_expression, RBP, 4, DW_OP_breg6, 8, DW_OP_plus_uconst, 8), 0,
         SAVES(ROW_FP_AT_FP, 0, 0)},
        {"val_expression", BYTES(DW_CFA_val_expression, RBX, 2, DW_OP_breg6, 8), 0,
         SAVES(ROW_EXTRA_AT_FP, 0, 0)},
        {"val_offset", BYTES(DW_CFA_val_offset, RBP, 2), 0, SAVES(ROW_FP_AT_FP, 0, 0)},
        {"rbp in a register", BYTES(DW_CFA_register, RBP, R10), 0, SAVES(ROW_FP_AT_FP, 0, 0)},
        {"an odd place", BYTES(DW_CFA_val_offset_sf, RBX, 0x7f, DW_CFA_offset_extended, RBP, 1), 0,
         SAVES(ROW_FP_SAVED | ROW_EXTRA_AT_FP, -1, 0)},
        {"return address in rdi",
         BYTES(DW_CFA_register, RIP, RDI, DW_CFA_def_cfa_offset, 0),
         0,
         {.cfa = CFA_RA_OTHER, .flags = RDI << ROW_NUMBER_SHIFT}},
        {"return address in a vector register", BYTES(DW_CFA_register, RIP, 17), 0, UNKNOWN},
        {"return address in rdi, by rbp",
         BYTES(DW_CFA_register, RIP, RDI, DW_CFA_def_cfa_register, RBP), 0, UNKNOWN},
        {"return address elsewhere", BYTES(DW_CFA_offset_extended, RIP, 2), 0, UNKNOWN},
        {"return address in rbp's place", BYTES(DW_CFA_same_value, RIP), 0, UNKNOWN},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        check_case(&all[i]);
}

static void places_in_the_function(void **state)
{
    (void)state;
    static const char steps[] = {DW_CFA_advance_loc | 4,
                                 DW_CFA_def_cfa_offset,
                                 16,
                                 DW_CFA_advance_loc1,
                                 8,
                                 DW_CFA_remember_state,
                                 DW_CFA_def_cfa_offset,
                                 24,
                                 DW_CFA_advance_loc2,
                                 16,
                                 0,
                                 DW_CFA_restore_state,
                                 DW_CFA_advance_loc4,
                                 16,
                                 0,
                                 0,
                                 0,
                                 DW_CFA_def_cfa_offset,
                                 8,
                                 DW_CFA_GNU_args_size,
                                 16,
                                 DW_CFA_advance_loc,
                                 DW_CFA_def_cfa_offset,
                                 32};
    static const struct {
        uint64_t at;
        int16_t words;
    } want[] = {{0, 1},  {3, 1},  {4, 2},  {11, 2}, {12, 3},
                {27, 3}, {28, 2}, {43, 2}, {44, 4}, {255, 4}};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        struct cfi_case c = {"steps", steps, sizeof steps, want[i].at, SP(want[i].words)};
        check_case(&c);
    }
    struct unwind_table *t = table_of((struct text){steps, sizeof steps});
    assert_null(unwind_table_find(t, FUNCTION - 1));
    assert_null(unwind_table_find(t, FUNCTION + FUNCTION_BYTES));
    assert_int_equal(t->n_rows, 6); /* equal neighbours are one */
    unwind_table_free(t);
}

/* What makes no sense leaves what came before and makes the rest unknown. */
static void programs_that_make_no_sense(void **state)
{
    (void)state;
    const struct cfi_case all[] = {
        {"no such instruction", BYTES(DW_CFA_advance_loc | 4, 0x3f), 0, SP(1)},
        {"no such instruction", BYTES(DW_CFA_advance_loc | 4, 0x3f), 4, UNKNOWN},
        {"set_loc", BYTES(DW_CFA_set_loc, 0, 0, 0, 0, 0, 0, 0, 0), 0, UNKNOWN},
        {"restore what was not remembered", BYTES(DW_CFA_restore_state), 0, UNKNOWN},
        {"cut", BYTES(DW_CFA_def_cfa, RBP), 0, UNKNOWN},
        {"past the end", BYTES(DW_CFA_advance_loc4, 0, 1, 0, 0, DW_CFA_def_cfa_offset, 64), 255,
         SP(1)},
        {"far past the end", BYTES(DW_CFA_MIPS_advance_loc8, 0, 0, 0, 0, 0, 0, 0, 1), 255, SP(1)},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        check_case(&all[i]);
    char many[80];
    memset(many, DW_CFA_remember_state, sizeof many);
    check_case(&(struct cfi_case){"remember 32", many, 32, 0, SP(1)});
    check_case(&(struct cfi_case){"remember 33", many, 33, 0, UNKNOWN});
}

static void numbers_of_many_bytes(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t n;
        int64_t value;
        bool bad;
    } all[] = {
        {"\x02", 1, 2, false},
        {"\x7e", 1, -2, false},
        {"\xff\x00", 2, 127, false},
        {"\x81\x7f", 2, -127, false},
        {"\x80\x01", 2, 128, false},
        {"\x80\x7f", 2, -128, false},
        {"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x7f", 10, INT64_MIN, false},
        {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00", 10, INT64_MAX, false},
        {"\x80", 1, 0, true},
        {"", 0, 0, true},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct cursor c = cursor_of(all[i].bytes, all[i].n);
        assert_true(cfi_sleb(&c) == all[i].value);
        assert_int_equal(c.bad, all[i].bad);
        assert_true(c.bad || c.at == c.end);
    }
}

static void encoded_pointers(void **state)
{
    (void)state;
    static const uint8_t bytes[] = {0xf0, 0xff, 0xff, 0xff, 1, 0, 0, 0, 0, 0};
    const struct cfi_bases bases = {.vaddr = 0x1000, .bytes = bytes, .data = 0x5000};
    const struct cfi_bases no_data = {.vaddr = 0x1000, .bytes = bytes};
    static const struct {
        uint8_t encoding;
        uint64_t value;
        size_t n;
    } all[] = {
        {DW_EH_PE_absptr, 0x1fffffff0, 8},
        {DW_EH_PE_udata2, 0xfff0, 2},
        {DW_EH_PE_sdata2, UINT64_MAX - 15, 2},
        {DW_EH_PE_udata4, 0xfffffff0, 4},
        {DW_EH_PE_sdata4, UINT64_MAX - 15, 4},
        {DW_EH_PE_udata8, 0x1fffffff0, 8},
        {DW_EH_PE_pcrel | DW_EH_PE_sdata4, 0xff0, 4},
        {DW_EH_PE_datarel | DW_EH_PE_sdata4, 0x4ff0, 4},
        {DW_EH_PE_omit, 0, 0},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct cursor c = cursor_of(bytes, sizeof bytes);
        assert_true(cfi_pointer(&c, all[i].encoding, &bases) == all[i].value);
        assert_true(!c.bad && c.at == bytes + all[i].n);
    }
    struct cursor c = cursor_of(bytes, sizeof bytes);
    cfi_pointer(&c, DW_EH_PE_datarel | DW_EH_PE_sdata4, &no_data);
    assert_true(c.bad);
    c = cursor_of(bytes, sizeof bytes);
    cfi_pointer(&c, DW_EH_PE_funcrel | DW_EH_PE_sdata4, &bases);
    assert_true(c.bad);
    c = cursor_of(bytes + 1, sizeof bytes - 1); /* counts from where it stands */
    assert_true(cfi_pointer(&c, DW_EH_PE_pcrel | DW_EH_PE_udata2, &bases) == 0x1001 + 0xffff);
}

/* Functions that overlap: the first keeps what it has, and .debug_frame only fills gaps. */
static void overlapping_functions(void **state)
{
    (void)state;
    static const char two[] = {DW_CFA_def_cfa_offset, 16};
    static const char three[] = {DW_CFA_def_cfa_offset, 24, DW_CFA_advance_loc | 0x30,
                                 DW_CFA_def_cfa_offset, 32};
    struct made m;
    struct unwind_table *t;
    struct err err;
    made_init(&m);
    made_fde(&m, m.plain, 0x1020, 0x60, (struct text){three, sizeof three});
    made_fde(&m, m.plain, 0x1000, 0x40, (struct text){two, 2});
    made_fde(&m, m.plain, 0x1010, 0x10, (struct text){three, sizeof three}); /* inside */
    made_fde(&m, m.plain, 0x1100, 0, (struct text){two, 2});                 /* empty */
    assert_int_equal(unwind_table_parse(m.bytes, MADE_BYTES, &t, &err), 0);
    static const struct {
        uint64_t at;
        int words;
    } want[] = {{0x1000, 2}, {0x1010, 2}, {0x103f, 2}, {0x1040, 3},
                {0x104f, 3}, {0x1050, 4}, {0x107f, 4}};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++)
        assert_int_equal(unwind_table_find(t, want[i].at)->cfa_offset, want[i].words);
    assert_null(unwind_table_find(t, 0x1080));
    assert_null(unwind_table_find(t, 0x1100));
    unwind_table_free(t);
}

static void signal_frames_have_no_rules_of_their_own(void **state)
{
    (void)state;
    static const char two[] = {DW_CFA_def_cfa_offset, 16};
    struct made m;
    struct unwind_table *t;
    struct err err;
    made_init(&m);
    made_fde(&m, m.signal, FUNCTION, 0x10, (struct text){two, 2});
    assert_int_equal(unwind_table_parse(m.bytes, MADE_BYTES, &t, &err), 0);
    assert_int_equal(unwind_table_find(t, FUNCTION)->cfa, CFA_SIGNAL);
    unwind_table_free(t);
}

/* Letters announce data that is not there: nothing of such a CIE can be believed. */
static void a_cie_whose_data_is_cut_gives_no_rules(void **state)
{
    static const char *const letters[] = {"zR", "zPR", "zL", "zRS"};
    const struct text two = {"\0\0", 2};
    (void)state;
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++) {
        struct made m;
        struct unwind_table *t;
        struct err err;
        made_init(&m);
        size_t cut = made_cie(&m, letters[i], strlen(letters[i]));
        made_fde(&m, cut, FUNCTION, 0x10, two);
        made_fde(&m, m.plain, FUNCTION + 0x10, 0x10, two);
        assert_int_equal(unwind_table_parse(m.bytes, MADE_BYTES, &t, &err), 0);
        const struct unwind_row *row = unwind_table_find(t, FUNCTION);
        assert_true(!row || row->cfa == CFA_GAP);
        assert_int_equal(unwind_table_find(t, FUNCTION + 0x10)->cfa, CFA_SP);
        unwind_table_free(t);
    }
}

/* SIZES: of addresses and segment selectors, from version 4 on. */
static size_t made_cie_of(struct made *m, char version, struct text sizes)
{
    size_t at = m->end;
    uint32_t bytes = (uint32_t)(4 + 2 + sizes.n + 3 + sizeof MADE_CIE - 1);
    made_add(m, &bytes, 4);
    made_add(m, "\0\0\0\0", 4);
    made_add(m, &version, 1);
    made_add(m, "", 1); /* no letters */
    made_add(m, sizes.at, sizes.n);
    made_add(m, "\1\x78\x10", 3);
    made_add(m, MADE_CIE, sizeof MADE_CIE - 1);
    return at;
}

static void only_known_versions_of_a_cie_are_read(void **state)
{
    static const struct {
        char version;
        struct text sizes;
        bool good;
    } all[] = {
        {0, {"", 0}, false},      {1, {"", 0}, true},       {2, {"", 0}, false},
        {3, {"", 0}, true},       {4, {"\x8\0", 2}, true},  {4, {"\4\0", 2}, false},
        {4, {"\x8\1", 2}, false}, {5, {"\x8\0", 2}, false},
    };
    const struct text two = {"\0\0", 2};
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct made m;
        struct unwind_table *t;
        struct err err;
        made_init(&m);
        made_fde(&m, made_cie_of(&m, all[i].version, all[i].sizes), FUNCTION, 0x10, two);
        made_fde(&m, m.plain, FUNCTION + 0x10, 0x10, two);
        assert_int_equal(unwind_table_parse(m.bytes, MADE_BYTES, &t, &err), 0);
        const struct unwind_row *row = unwind_table_find(t, FUNCTION);
        assert_int_equal(row && row->cfa == CFA_SP && row->cfa_offset == 1, all[i].good);
        unwind_table_free(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_for_the_cfa),
        cmocka_unit_test(expressions_for_the_cfa),
        cmocka_unit_test(rules_for_registers),
        cmocka_unit_test(places_in_the_function),
        cmocka_unit_test(programs_that_make_no_sense),
        cmocka_unit_test(numbers_of_many_bytes),
        cmocka_unit_test(encoded_pointers),
        cmocka_unit_test(overlapping_functions),
        cmocka_unit_test(signal_frames_have_no_rules_of_their_own),
        cmocka_unit_test(a_cie_whose_data_is_cut_gives_no_rules),
        cmocka_unit_test(only_known_versions_of_a_cie_are_read),
    };
    return cmocka_run_group_tests_name("call frame information", tests, NULL, NULL);
}
