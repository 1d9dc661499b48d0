/*
 * What code says about itself: lengths and effects of instructions, and the rules read from them.
 */
#include "base/reader.h"
#include "unwind/codefile.h"
#include "unwind/epilogue.h"
#include "unwind/insn.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "support.h"

static char folder[] = "/tmp/kelvin-code-XXXXXX";

/* --- instructions --- */

static void what_instructions_do_to_the_stack(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        int n;
        enum insn_kind kind;
        int reg;
        int64_t value;
    } all[] = {
        {"\x55", 1, INSN_PUSH, REG_BP, 0},
        {"\x41\x57", 2, INSN_PUSH, 15, 0},
        {"\x6a\x3c", 2, INSN_PUSH, REG_NONE, 0},
        {"\xff\x74\x24\x08", 4, INSN_PUSH, 0, 0},
        {"\x5b", 1, INSN_POP, REG_BX, 0},
        {"\x41\x5c", 2, INSN_POP, 12, 0},
        {"\x5c", 1, INSN_SP_LOST, REG_SP, 0},
        {"\x48\x83\xec\x18", 4, INSN_SP_ADD, REG_SP, -0x18},
        {"\x48\x81\xc4\x98\1\0\0", 7, INSN_SP_ADD, REG_SP, 0x198},
        {"\x48\x83\xe4\xf0", 4, INSN_SP_LOST, REG_SP, 0},
        {"\x48\x8d\x64\x24\x08", 5, INSN_SP_ADD, REG_SP, 8},
        {"\x48\x8d\x65\xd8", 4, INSN_SP_FROM, REG_SP, -0x28},
        {"\x48\x89\xec", 3, INSN_SP_FROM, REG_SP, 0},
        {"\x48\x89\xe5", 3, INSN_FP_FROM, REG_BP, 0},
        {"\x48\x8d\x6c\x24\x20", 5, INSN_FP_FROM, REG_BP, 0x20},
        {"\x48\x89\xdc", 3, INSN_SP_LOST, REG_SP, 0},
        {"\x49\x8b\x66\x38", 4, INSN_SP_LOST, REG_SP, 0},
        {"\xc9", 1, INSN_LEAVE, 0, 0},
        {"\x48\x8b\x6c\x24\x18", 5, INSN_LOAD, REG_BP, 0x18},
        {"\x48\x8b\x5d\xf8", 4, INSN_LOAD, REG_BX, -8},
        {"\x48\x8b\x1c\x8c", 4, INSN_OVERWRITE, REG_BX, 0}, /* with an index */
        {"\xc3", 1, INSN_RET, 0, 0},
        {"\xf3\xc3", 2, INSN_RET, 0, 0},
        {"\xc2\x10\0", 3, INSN_RET, 0, 16},
        {"\xe8\x10\0\0\0", 5, INSN_CALL, 0, 0x15},
        {"\x41\xff\xd4", 3, INSN_CALL, 0, 0},
        {"\xff\x25\1\2\3\4", 6, INSN_TAIL, 0, 0},
        {"\xff\xe0", 2, INSN_AWAY, 0, 0},
        {"\xeb\xfe", 2, INSN_JUMP, 0, 0},
        {"\x74\x10", 2, INSN_BRANCH, 0, 0x12},
        {"\x0f\x85\0\1\0\0", 6, INSN_BRANCH, 0, 0x106},
        {"\x0f\x05", 2, INSN_SYSCALL, 0, 0},
        {"\x0f\x0b", 2, INSN_STOP, 0, 0},
        {"\xf4", 1, INSN_STOP, 0, 0},
        {"\x31\xc0", 2, INSN_SET, REG_AX, 0},
        {"\x31\xc8", 2, INSN_OVERWRITE, REG_AX, 0},
        {"\x33\xdb", 2, INSN_SET, REG_BX, 0},
        {"\x33\xd8", 2, INSN_OVERWRITE, REG_BX, 0},
        {"\x33\x1b", 2, INSN_OVERWRITE, REG_BX, 0}, /* with what lies at rbx */
        {"\x30\xdb", 2, INSN_OVERWRITE, REG_BX, 0}, /* only the lowest byte */
        {"\x01\xdb", 2, INSN_OVERWRITE, REG_BX, 0},
        {"\x39\xc8", 2, INSN_PLAIN, 0, 0},
        {"\xb8\x0f\0\0\0", 5, INSN_SET, REG_AX, 15},
        {"\x48\xc7\xc0\x0f\0\0\0", 7, INSN_SET, REG_AX, 15},
        {"\xb0\x3c", 2, INSN_SET_LOW, REG_AX, 60},
        {"\x66\x2e\x0f\x1f\x84\0\0\0\0\0", 10, INSN_NOP, 0, 0},
        {"\x90", 1, INSN_NOP, 0, 0},
        {"\x48\xb8\1\2\3\4\5\6\7\x08", 10, INSN_SET, REG_AX, 0x0807060504030201},
        {"\x66\xc7\x45\0\1\2", 6, INSN_PLAIN, 0, 0},
        {"\xc5\xf8\x77", 3, INSN_PLAIN, 0, 0},
        {"\xc4\xe3\x7d\x39\xc1\1", 6, INSN_PLAIN, 0, 0},
        {"\x62\xf1\xfe\x48\x6f\x06", 6, INSN_PLAIN, 0, 0},
        {"\xf6\x45\0\1", 4, INSN_PLAIN, 0, 0},
        {"\x06", 1, INSN_BAD, 0, 0},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct insn got = insn_decode((const uint8_t *)all[i].bytes, (size_t)all[i].n);
        print_message("# instruction %zu\n", i);
        assert_int_equal(got.kind, all[i].kind);
        assert_int_equal(got.length, all[i].n);
        assert_int_equal(got.value, all[i].value);
        if (got.kind >= INSN_PUSH && got.kind != INSN_LEAVE && all[i].reg)
            assert_int_equal(got.reg, all[i].reg);
        for (size_t cut = 0; cut < (size_t)all[i].n && all[i].kind != INSN_BAD; cut++)
            assert_int_equal(insn_decode((const uint8_t *)all[i].bytes, cut).kind, INSN_BAD);
    }
}

/* Lengths as the processor's manual has them: opcode, operand and address sizes, ModRM, SIB. */
static void instructions_have_the_length_of_their_operands(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        uint8_t n;
    } all[] = {
        {"\x04", 2},                 /* add al, imm8 */
        {"\x05", 5},                 /* add eax, imm32 */
        {"\x66\x05", 4},             /* add ax, imm16 */
        {"\x3c", 2},                 /* cmp al, imm8 */
        {"\x3d", 5},                 /* cmp eax, imm32 */
        {"\x68", 5},                 /* push imm32 */
        {"\x6a", 2},                 /* push imm8 */
        {"\x69\xc0", 6},             /* imul eax, eax, imm32 */
        {"\x6b\xc0", 3},             /* imul eax, eax, imm8 */
        {"\x70", 2},                 /* jo rel8 */
        {"\x7f", 2},                 /* jg rel8 */
        {"\x80\xc0", 3},             /* add al, imm8 */
        {"\x81\xc0", 6},             /* add eax, imm32 */
        {"\x66\x81\xc0", 5},         /* add ax, imm16 */
        {"\x83\xc0", 3},             /* add eax, imm8 */
        {"\x8b\x05", 6},             /* mov eax, [rip + disp32] */
        {"\x8b\x40", 3},             /* mov eax, [rax + disp8] */
        {"\x8b\x80", 6},             /* mov eax, [rax + disp32] */
        {"\x8b\x44", 4},             /* mov eax, [rax + rax + disp8] */
        {"\x8b\x04\x25", 7},         /* mov eax, [disp32] */
        {"\x8b\x04\x05", 7},         /* mov eax, [rax + disp32] */
        {"\x8b\x04", 3},             /* mov eax, [rax + rax] */
        {"\xa0", 9},                 /* mov al, [moffs64] */
        {"\xa3", 9},                 /* mov [moffs64], eax */
        {"\x67\xa0", 6},             /* mov al, [moffs32] */
        {"\xa8", 2},                 /* test al, imm8 */
        {"\xa9", 5},                 /* test eax, imm32 */
        {"\xb0", 2},                 /* mov al, imm8 */
        {"\xb7", 2},                 /* mov bh, imm8 */
        {"\xb8", 5},                 /* mov eax, imm32 */
        {"\xbf", 5},                 /* mov edi, imm32 */
        {"\x66\xb8", 4},             /* mov ax, imm16 */
        {"\x48\xb8", 10},            /* mov rax, imm64 */
        {"\x49\xbf", 10},            /* mov r15, imm64 */
        {"\xc1\xe0", 3},             /* shl eax, imm8 */
        {"\xc2", 3},                 /* ret imm16 */
        {"\xc6\xc0", 3},             /* mov al, imm8 */
        {"\xc7\xc0", 6},             /* mov eax, imm32 */
        {"\xc8", 4},                 /* enter imm16, imm8 */
        {"\xd1\xe0", 2},             /* shl eax, 1 */
        {"\xe3", 2},                 /* jrcxz rel8 */
        {"\xe8", 5},                 /* call rel32 */
        {"\xeb", 2},                 /* jmp rel8 */
        {"\xf6\xc0", 3},             /* test al, imm8 */
        {"\xf6\xd0", 2},             /* not al */
        {"\xf7\xc0", 6},             /* test eax, imm32 */
        {"\xf7\xd0", 2},             /* not eax */
        {"\x0f\x80", 6},             /* jo rel32 */
        {"\x0f\x8f", 6},             /* jg rel32 */
        {"\x0f\xa4\xc0", 4},         /* shld eax, eax, imm8 */
        {"\x0f\xb6\xc0", 3},         /* movzx eax, al */
        {"\x0f\xba\xe0", 4},         /* bt eax, imm8 */
        {"\x0f\xc6\xc0", 4},         /* shufps xmm0, xmm0, imm8 */
        {"\x66\x0f\x70\xc0", 5},     /* pshufd xmm0, xmm0, imm8 */
        {"\x66\x0f\x3a\x0f\xc0", 6}, /* palignr xmm0, xmm0, imm8 */
        {"\x66\x0f\x38\x1c\xc0", 5}, /* pabsb xmm0, xmm0 */
        {"\x0f\x58\xc0", 3},         /* addps xmm0, xmm0 */
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        uint8_t code[INSN_MAX_BYTES + 1] = {0};
        size_t n = strlen(all[i].bytes);
        memcpy(code, all[i].bytes, n);
        struct insn got = insn_decode(code, sizeof code);
        if (got.kind == INSN_BAD || got.length != all[i].n)
            fail_msg("%zu, %02x %02x: length %d, not %d", i, code[0], code[1], got.length,
                     all[i].n);
    }
}

static void no_instruction_has_more_than_fifteen_bytes(void **state)
{
    uint8_t code[INSN_MAX_BYTES + 1];
    (void)state;
    memset(code, 0x66, sizeof code);
    code[INSN_MAX_BYTES - 1] = code[INSN_MAX_BYTES] = 0x90;
    struct insn longest = insn_decode(code, sizeof code);
    assert_int_not_equal(longest.kind, INSN_BAD);
    assert_int_equal(longest.length, INSN_MAX_BYTES);
    assert_int_equal(INSN_MAX_BYTES, 15);
    code[INSN_MAX_BYTES - 1] = 0x66;
    assert_int_equal(insn_decode(code, sizeof code).kind, INSN_BAD);
}

static void calls_before_a_return_address(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t n;
        bool call;
    } all[] = {
        {"\xe8\1\2\3\4", 5, true},         {"\xff\xd0", 2, true},
        {"\x41\xff\xd1", 3, true},         {"\xff\x50\x08", 3, true},
        {"\xff\x14\xc8", 3, true},         {"\xff\x54\x24\x08", 4, true},
        {"\xff\x15\1\2\3\4", 6, true},     {"\xff\x90\1\2\0\0", 6, true},
        {"\xff\x94\xc3\1\2\0\0", 7, true}, {"\xff\xe0", 2, false}, /* jmp */
        {"\xff\xd0\x90", 3, false},                                /* ends before */
        {"\xff\x15\1\2\3", 5, false},                              /* ends behind */
        {"\xe9\1\2\3\4", 5, false},        {"\x90\x90\x90\x90\x90\x90\xc3", 7, false},
        {"\xe8\1\2\3", 4, false},          {"", 0, false},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        print_message("# call %zu\n", i);
        assert_int_equal(insn_call_before((const uint8_t *)all[i].bytes + all[i].n, all[i].n),
                         all[i].call);
    }
}

/* --- rules --- */

struct bytes {
    const char *at;
    size_t n;
};

/* Code at address 0x1000. */
static size_t read_bytes(void *from, uint64_t pc, uint8_t *ret, size_t n)
{
    const struct bytes *b = from;
    if (pc < 0x1000 || pc - 0x1000 >= b->n)
        return 0;
    size_t left = b->n - (pc - 0x1000);
    n = n < left ? n : left;
    memcpy(ret, b->at + (pc - 0x1000), n);
    return n;
}

static void rows_at(struct bytes b, uint64_t into, struct unwind_row *ret)
{
    struct epilogue_code code = {read_bytes, &b};
    epilogue_rows(&code, 0x1000 + into, ret);
}

static void rules_of_usual_functions(void **state)
{
    (void)state;
    static const struct {
        const char *code;
        size_t n, at;
        enum unwind_cfa cfa;
        int offset, fp; /* in words; fp 0: unchanged */
    } all[] = {
        {"\xc3", 1, 0, CFA_SP, 1, 0},
        {"\x5b\x5d\xc3", 3, 0, CFA_SP, 3, -2},
        {"\x55\x53\x90\x5b\x5d\xc3", 6, 0, CFA_SP, 1, -2}, /* fp is not saved yet: below sp */
        {"\x48\x81\xc4\x88\0\0\0\x5d\xc3", 9, 0, CFA_SP, 19, -2},
        {"\x90\xc9\xc3", 3, 0, CFA_FP, 2, -2},
        {"\x55\x48\x89\xe5\x90\xc9\xc3", 7, 1, CFA_SP, 2, -2},
        {"\x48\x8d\x65\xf0\x5b\x41\x5c\x5d\xc3", 9, 0, CFA_FP, 2, -2},
        {"\x48\x8b\x6c\x24\x18\x48\x83\xc4\x20\xc3", 10, 0, CFA_SP, 5, -2}, /* Go */
        {"\xff\x25\0\0\0\0", 6, 0, CFA_SP, 1, 0},
        {"\xeb\x01\xf4\x5d\xc3", 5, 0, CFA_SP, 2, -2},
        {"\x74\x02\x0f\x0b\x5d\xc3", 6, 0, CFA_SP, 2, -2}, /* one branch stops */
        {"\x74\x03\x5d\xc3\x90\x5d\xc3", 7, 0, CFA_SP, 2, -2},
        {"\xff\xe0", 2, 0, CFA_UNKNOWN, 0, 0},
        {"\xeb\xfe", 2, 0, CFA_UNKNOWN, 0, 0},
        {"\x48\x83\xe4\xf0\xc3", 5, 0, CFA_BOTTOM, 0, 0},  /* takes another stack */
        {"\x48\x83\xec\x10\xc3", 5, 0, CFA_UNKNOWN, 0, 0}, /* a return address below rsp */
        {"\x55", 1, 0, CFA_UNKNOWN, 0, 0},                 /* cut */
        {"\x48\xc7\xc0\x0f\0\0\0\x0f\x05", 9, 0, CFA_SIGNAL, 0, 0},
        {"\xb8\x0e\0\0\0\x0f\x05\xc3", 8, 0, CFA_SP, 1, 0},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct unwind_row rows[EPILOGUE_ROWS];
        print_message("# code %zu\n", i);
        rows_at((struct bytes){all[i].code, all[i].n}, all[i].at, rows);
        assert_int_equal(rows[0].cfa, all[i].cfa);
        assert_int_equal(rows[0].cfa_offset, all[i].offset);
        assert_int_equal(rows[0].flags & ROW_FP_SAVED ? rows[0].fp_offset : 0, all[i].fp);
        assert_int_equal(rows[1].cfa, CFA_UNKNOWN);
    }
}

static void saved_rbx_is_found(void **state)
{
    (void)state;
    struct unwind_row rows[EPILOGUE_ROWS];
    rows_at((struct bytes){"\x48\x83\xc4\x08\x5b\x5d\xc3", 7}, 0, rows);
    assert_int_equal(rows[0].flags, ROW_FP_SAVED | ROW_EXTRA_SAVED);
    assert_int_equal(rows[0].cfa_offset, 4);
    assert_int_equal(rows[0].extra_offset, -3);
    assert_int_equal(rows[0].fp_offset, -2);
}

static void functions_that_do_not_return(void **state)
{
    (void)state;
    struct unwind_row rows[EPILOGUE_ROWS];
    /* call to ud2, then another function's end */
    rows_at((struct bytes){"\xe8\x02\0\0\0\x5d\xc3\x0f\x0b", 9}, 0, rows);
    assert_true(rows[0].cfa == CFA_UNKNOWN && rows[0].flags == EPILOGUE_NEVER);
    /* call of somebody unknown, then padding up to the next function */
    rows_at((struct bytes){"\x90\x90\xe8\xf9\xff\xff\xff\x66\x0f\x1f\x84\0\0\0\0\0\x5d\xc3", 18}, 2,
            rows);
    assert_int_equal(rows[0].cfa, CFA_UNKNOWN);
    /* by a table: it may well return */
    rows_at((struct bytes){"\xff\xe0", 2}, 0, rows);
    assert_int_equal(rows[0].flags, 0);
}

/* Two paths that disagree are both given. */
static void paths_that_disagree(void **state)
{
    (void)state;
    struct unwind_row rows[EPILOGUE_ROWS];
    rows_at((struct bytes){"\x74\x02\x5d\xc3\x5b\x5d\xc3", 7}, 0, rows);
    assert_int_equal(rows[0].cfa_offset, 2);
    assert_int_equal(rows[1].cfa, CFA_SP);
    assert_int_equal(rows[1].cfa_offset, 3);
}

/* --- against the rules of a real library --- */

struct score {
    size_t right, wrong, silent;
};

/* Compare what the code says with the rule, instruction by instruction. */
static void score_row(struct codefile *c, const struct unwind_table *t, size_t i,
                      const uint8_t *code, struct score *to)
{
    const struct unwind_row *row = &t->rows[i];
    uint64_t at = row->pc, end = t->rows[i + 1].pc;
    bool reached = true; /* no byte after a jump or ret: that is padding */
    while (at < end && reached) {
        struct insn insn = insn_decode(code + at, end - at);
        const struct unwind_row *said = codefile_rows(c, t->base + at);
        if (said->cfa != row->cfa || said[1].cfa != CFA_UNKNOWN)
            to->silent++;
        else if (said->cfa_offset == row->cfa_offset)
            to->right++;
        else
            to->wrong++;
        reached = insn.kind != INSN_JUMP && insn.kind != INSN_RET && insn.kind != INSN_AWAY &&
                  insn.kind != INSN_STOP && insn.kind != INSN_BAD && insn.kind != INSN_TAIL;
        at += insn.length;
    }
}

static void code_agrees_with_the_rules_of_a_library(void **state)
{
    (void)state;
    autofree char *path = mem_printf("%s/program", folder);
    autofree char *line =
        mem_printf("gcc -O2 -static -o %s tests/target/deep.c -pthread 2>%s/errors", path, folder);
    struct unwind_table *t;
    struct err err;
    if (system(line) != 0) {
        print_message("no static C library here\n");
        skip();
    }
    assert_int_equal(unwind_table_load(path, &t, &err), 0);
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct codefile *c = codefile_new(fd, t);
    const struct unwind_segment *s = &t->segments[0];
    uint8_t *code = mem_calloc(1, s->size);
    assert_int_equal(pread(fd, code, s->size, (off_t)s->offset), s->size);
    struct score all = {0};
    for (size_t i = 0; i + 1 < t->n_rows; i += 5)
        if ((t->rows[i].cfa == CFA_SP || t->rows[i].cfa == CFA_FP) && t->rows[i + 1].pc < s->size &&
            t->base == s->vaddr)
            score_row(c, t, i, code, &all);
    print_message("# right %zu, wrong %zu, silent %zu\n", all.right, all.wrong, all.silent);
    assert_true(all.right > 5000);
    assert_true(all.wrong * 500 < all.right);
    assert_true(all.silent * 8 < all.right);
    free(code);
    codefile_free(c);
    unwind_table_free(t);
}

static int set_up(void **state)
{
    (void)state;
    setenv("XDG_CACHE_HOME", mkdtemp(folder), 1);
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
        cmocka_unit_test(what_instructions_do_to_the_stack),
        cmocka_unit_test(instructions_have_the_length_of_their_operands),
        cmocka_unit_test(no_instruction_has_more_than_fifteen_bytes),
        cmocka_unit_test(calls_before_a_return_address),
        cmocka_unit_test(rules_of_usual_functions),
        cmocka_unit_test(saved_rbx_is_found),
        cmocka_unit_test(functions_that_do_not_return),
        cmocka_unit_test(paths_that_disagree),
        cmocka_unit_test(code_agrees_with_the_rules_of_a_library),
    };
    return cmocka_run_group_tests_name("code without rules", tests, set_up, tear_down);
}
