/*
 * test_unwind_numbers.c - what is read from code and from unwind rules, over many made-up ones.
 *
 * Other tests compare with real libraries and known cases. Here all that the decoder says of every
 * opcode, and what rules come of made-up functions and rule programs, must be what it was when
 * those held: as hashes, by group.
 */
#include "unwind/cfi.h"
#include "unwind/epilogue.h"
#include "unwind/insn.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support_numbers.h"
#include "unwind_numbers_expected.h"

/* --- instructions --- */

static uint64_t hash_insn(uint64_t hash, const uint8_t *at, size_t n)
{
    struct insn i = insn_decode(at, n);
    hash = numbers_hash(hash, i.kind);
    hash = numbers_hash(hash, i.length);
    if (i.kind >= INSN_POP)
        hash = numbers_hash(hash, i.reg);
    if (i.kind == INSN_LOAD)
        hash = numbers_hash(hash, i.base);
    return i.kind == INSN_PLAIN || i.kind == INSN_OVERWRITE ? hash
                                                            : numbers_hash(hash, (uint64_t)i.value);
}

static const struct {
    const char *name, *bytes;
    size_t n;
} prefixes[] = {
    {"none", "", 0},
    {"66", "\x66", 1},
    {"67", "\x67", 1},
    {"rex.w", "\x48", 1},
    {"rex.wb", "\x49", 1},
    {"rex.r", "\x44", 1},
    {"rex.wrxb", "\x4f", 1},
    {"f3", "\xf3", 1},
    {"66 rex.w", "\x66\x48", 2},
    {"rex.w 66", "\x48\x66", 2},
    {"fs", "\x64", 1},
    {"0f", "\x0f", 1},
    {"66 0f", "\x66\x0f", 2},
    {"rex.w 0f", "\x48\x0f", 2},
    {"0f 38", "\x0f\x38", 2},
    {"0f 3a", "\x0f\x3a", 2},
    {"vex2", "\xc5\xf8", 2},
    {"vex3 1", "\xc4\xe1\x78", 3},
    {"vex3 2", "\xc4\xe2\x78", 3},
    {"vex3 3", "\xc4\xe3\xf8", 3},
    {"evex 1", "\x62\xf1\x7c\x48", 4},
    {"evex 3", "\x62\xf3\x7d\x48", 4},
};

/* All opcodes behind PREFIX, sixteen a line, with every ModRM byte, some SIB bytes, whole and cut.
 */
static void numbers_of_opcodes(struct buf *b)
{
    static const uint8_t sibs[] = {0x24, 0x25, 0x65, 0xcc, 0x00};
    for (size_t k = 0; k < sizeof prefixes / sizeof *prefixes; k++) {
        buf_printf(b, "%s:", prefixes[k].name);
        for (unsigned row = 0; row < 16; row++) {
            uint64_t hash = NUMBERS_HASH_START;
            for (unsigned op = 16 * row; op < 16 * row + 16; op++)
                for (unsigned modrm = 0; modrm < 256; modrm++) {
                    uint8_t code[20] = {0};
                    size_t n = prefixes[k].n;
                    memcpy(code, prefixes[k].bytes, n);
                    code[n] = (uint8_t)op;
                    code[n + 1] = (uint8_t)modrm;
                    code[n + 2] = sibs[(modrm + op) % 5];
                    memcpy(code + n + 3, "\x10\xf0\x00\x01\x7f\x80\x08\xff\x02\x03", 10);
                    hash = hash_insn(hash, code, INSN_MAX_BYTES);
                    hash = hash_insn(hash, code, 1 + (modrm + op) % 9);
                }
            buf_printf(b, " %08llx", (unsigned long long)(hash & 0xffffffff));
        }
        buf_str(b, "\n");
    }
}

static void numbers_of_calls(struct buf *b)
{
    for (size_t n = 0; n <= 8; n++) {
        uint64_t hash = NUMBERS_HASH_START;
        for (size_t at = 0; at < 8; at++)
            for (unsigned modrm = 0; modrm < 256; modrm++)
                for (unsigned sib = 0; sib < 8; sib++) {
                    uint8_t code[10] = {0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90};
                    code[at] = modrm % 5 ? 0xff : 0xe8;
                    code[at + 1] = (uint8_t)modrm;
                    code[at + 2 < 8 ? at + 2 : 9] = (uint8_t)(sib * 5 + 0x20);
                    hash = numbers_hash(hash, insn_call_before(code + 8, n));
                }
        buf_printf(b, "%zu bytes: %016llx\n", n, (unsigned long long)hash);
    }
}

/* --- made-up functions --- */

struct blob {
    uint8_t at[400];
    size_t n;
    size_t starts[64], n_starts;
};

/* Instructions that matter to a stack, and some that do not; \1 stands for any byte, \2 for a
 * distance. */
static const struct {
    const char *bytes;
    uint8_t n;
} pieces[] = {
    {"\x55", 1},
    {"\x53", 1},
    {"\x41\x54", 2},
    {"\x5b", 1},
    {"\x5d", 1},
    {"\x41\x5c", 2},
    {"\x58", 1},
    {"\x48\x89\xe5", 3},
    {"\x48\x8d\x6c\x24\1", 5},
    {"\xc9", 1},
    {"\xc3", 1},
    {"\xc2\x10\0", 3},
    {"\x48\x83\xec\1", 4},
    {"\x48\x83\xc4\1", 4},
    {"\x48\x81\xc4\x88\0\0\0", 7},
    {"\x48\x8d\x65\1", 4},
    {"\x48\x8d\x64\x24\1", 5},
    {"\x48\x8b\x6c\x24\1", 5},
    {"\x48\x8b\x5d\1", 4},
    {"\x48\x8b\x5c\x24\1", 5},
    {"\x74\2", 2},
    {"\xeb\2", 2},
    {"\xe8\1\0\0\0", 5},
    {"\x0f\x84\2\0\0\0", 6},
    {"\x90", 1},
    {"\xff\xe0", 2},
    {"\xff\x25\0\0\0\0", 6},
    {"\x0f\x0b", 2},
    {"\x31\xed", 2},
    {"\x48\x89\xec", 3},
    {"\x48\x83\xe4\xf0", 4},
    {"\xb8\x0f\0\0\0", 5},
    {"\x0f\x05", 2},
    {"\x48\xc7\xc0\x0f\0\0\0", 7},
    {"\xb8\xe7\0\0\0", 5},
    {"\xf4", 1},
    {"\x48\x94", 2},
    {"\x48\x8b\x65\1", 4},
    {"\x6a\1", 2},
    {"\x48\x89\xdf", 3},
    {"\xbd\1\0\0\0", 5},
};

static void make_function(struct blob *f, uint64_t *seed)
{
    size_t n = 3 + numbers_random(seed, 24);
    f->n = f->n_starts = 0;
    while (f->n_starts < n) {
        size_t k = numbers_random(seed, sizeof pieces / sizeof *pieces);
        f->starts[f->n_starts++] = f->n;
        for (size_t i = 0; i < pieces[k].n; i++) {
            uint8_t byte = (uint8_t)pieces[k].bytes[i];
            if (byte == 1 && i)
                byte = (uint8_t)(8 * numbers_random(seed, 12));
            else if (byte == 2 && i)
                byte = (uint8_t)numbers_random(seed, 24);
            f->at[f->n++] = byte;
        }
    }
    memcpy(f->at + f->n, "\x5d\xc3", 2);
    f->n += 2;
}

static size_t read_blob(void *from, uint64_t pc, uint8_t *ret, size_t n)
{
    const struct blob *f = from;
    size_t left = pc >= 0x1000 && pc - 0x1000 < f->n ? f->n - (pc - 0x1000) : 0;
    n = n < left ? n : left;
    memcpy(ret, f->at + (n ? pc - 0x1000 : 0), n);
    return n;
}

static uint64_t hash_row(uint64_t hash, const struct unwind_row *r)
{
    hash = numbers_hash(hash, r->cfa);
    hash = numbers_hash(hash, (uint64_t)r->cfa_offset);
    hash = numbers_hash(hash, r->flags);
    hash = numbers_hash(hash, r->flags & ROW_FP_SAVED ? (uint64_t)r->fp_offset : 0);
    return numbers_hash(hash, r->flags & ROW_EXTRA_SAVED ? (uint64_t)r->extra_offset : 0);
}

static void numbers_of_functions(struct buf *b)
{
    uint64_t seed = 7;
    for (size_t group = 0; group < 60; group++) {
        uint64_t hash = NUMBERS_HASH_START;
        unsigned known = 0, two = 0;
        uint32_t entry = 0;
        for (size_t i = 0; i < 60; i++) {
            struct blob f;
            make_function(&f, &seed);
            struct epilogue_code code = {read_blob, &f};
            entry += epilogue_entry_bytes(f.at, f.n);
            for (size_t k = 0; k < f.n_starts; k++) {
                struct unwind_row rows[EPILOGUE_ROWS];
                epilogue_rows(&code, 0x1000 + f.starts[k], rows);
                hash = hash_row(hash_row(hash, &rows[0]), &rows[1]);
                known += rows[0].cfa != CFA_UNKNOWN;
                two += rows[1].cfa != CFA_UNKNOWN;
            }
        }
        buf_printf(b, "functions %zu: %016llx, %u known, %u twice, entry %u\n", group,
                   (unsigned long long)hash, known, two, entry);
    }
}

/* --- made-up rules --- */

/* As many as the first byte says, and that byte. */
static void add_bytes(struct buf *b, const char *at)
{
    for (int i = 0; i <= at[0]; i++)
        buf_byte(b, (uint8_t)at[i]);
}

static void add_op(struct buf *b, uint64_t *seed)
{
    /* u: unsigned, s: signed, r: a register, 1 2 4 8: bytes, e: an expression */
    static const struct {
        uint8_t op;
        const char *operands;
    } ops[] = {
        {0x40, ""},   {0x41, ""},   {0x47, ""},   {0x86, "u"},  {0x83, "u"},  {0x90, "u"},
        {0x8c, "u"},  {0xc6, ""},   {0xc3, ""},   {0x02, "1"},  {0x03, "2"},  {0x04, "4"},
        {0x05, "ru"}, {0x06, "r"},  {0x07, "r"},  {0x08, "r"},  {0x09, "rr"}, {0x0a, ""},
        {0x0b, ""},   {0x0c, "ru"}, {0x0c, "ru"}, {0x0d, "r"},  {0x0e, "u"},  {0x0e, "u"},
        {0x0f, "e"},  {0x10, "re"}, {0x11, "rs"}, {0x12, "rs"}, {0x13, "s"},  {0x14, "ru"},
        {0x16, "re"}, {0x2e, "u"},  {0x2f, "ru"}, {0x00, ""},   {0x2d, ""},   {0x9e, "u"},
        {0x9d, "u"},  {0x15, "rs"}, {0x3f, ""},
    };
    static const uint8_t registers[] = {3, 6, 7, 16, 12, 29, 30, 31, 32, 0};
    static const char *const expressions[] = {"\x02\x77\x08",
                                              "\x03\x76\x10\x06",
                                              "\x03\x77\x20\x06",
                                              "\x05\x77\x18\x06\x23\x08",
                                              "\x05\x76\x78\x06\x23\x10",
                                              "\x0b\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22",
                                              "\x01\x30"};
    size_t k = numbers_random(seed, sizeof ops / sizeof *ops);
    buf_byte(b, ops[k].op);
    for (const char *o = ops[k].operands; *o; o++) {
        if (*o == 'u')
            buf_byte(b, (uint8_t)numbers_random(seed, 64));
        else if (*o == 's')
            buf_byte(b, (uint8_t)numbers_random(seed, 128));
        else if (*o == 'r')
            buf_byte(b, registers[numbers_random(seed, sizeof registers)]);
        else if (*o == 'e')
            add_bytes(b, expressions[numbers_random(seed, 7)]);
        else
            for (int i = 0; i < *o - '0'; i++)
                buf_byte(b, i ? 0 : (uint8_t)(1 + numbers_random(seed, 9)));
    }
}

static void numbers_of_rules(struct buf *b)
{
    uint64_t seed = 11;
    for (size_t group = 0; group < 120; group++) {
        struct cfi_rows rows = {.arch = arch_find(group % 3 ? EM_X86_64 : EM_AARCH64),
                                .base = 0x1000};
        uint64_t hash = NUMBERS_HASH_START;
        struct unwind_table table = {0};
        for (uint32_t i = 0; i < 40; i++) {
            autobuf struct buf program = {0}, first = {0};
            for (uint32_t k = 1 + numbers_random(&seed, 12); k-- > 0;)
                add_op(&program, &seed);
            buf_byte(&first, 0x0c);
            buf_byte(&first, group % 3 ? 7 : 31);
            buf_byte(&first, (uint8_t)(i % 4 ? 8 : 0));
            struct cfi_cie cie = {.arch = rows.arch,
                                  .code_align = 1 + group % 2,
                                  .data_align = -8,
                                  .ra = group % 3 ? 16 : 30,
                                  .version = 1,
                                  .signal = i % 19 == 0};
            cie.program = cursor_of(first.at, first.n);
            struct cursor c = cursor_of(program.at, program.n);
            uint32_t start = i * 64 + numbers_random(&seed, 80);
            cfi_run(&rows, &cie, c,
                    (struct cfi_span){.start = start,
                                      .end = start + 20 + numbers_random(&seed, 60),
                                      .first = (uint32_t)rows.rows.n,
                                      .rank = i % 3});
        }
        cfi_finish(&rows, &table);
        for (size_t i = 0; i < table.n_rows; i++)
            hash = hash_row(numbers_hash(hash, table.rows[i].pc), &table.rows[i]);
        buf_printf(b, "rules %zu: %016llx, %zu rows\n", group, (unsigned long long)hash,
                   table.n_rows);
        free(table.rows);
    }
}

static const struct numbers_part parts[] = {NUMBERS_PART(opcodes), NUMBERS_PART(calls),
                                            NUMBERS_PART(functions), NUMBERS_PART(rules)};

int main(int argc, char **argv)
{
    (void)argv;
    return numbers_main(argc, "unwind_numbers", parts, sizeof parts / sizeof *parts);
}
