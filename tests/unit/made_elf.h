/*
 * made_elf.h - small ELF files for x86-64 made by hand, of functions with rules, code, or both.
 *
 * Addresses are offsets in the file. Code belongs from MADE_CODE on; rules are added in any order.
 */
#pragma once
#include "tiny_elf.h"

#include <stdio.h>

enum { MADE_CODE = 0x1000, MADE_BYTES = 0x2000 };

/* Programs of a CIE: the CFA is rsp + 8, the return address below it. */
#define MADE_CIE "\x0c\x07\x08\x90\x01"

struct made {
    union {
        struct tiny tiny;
        uint8_t bytes[MADE_BYTES];
    };
    size_t end;           /* of the rules so far */
    size_t plain, signal; /* where the CIEs are */
};

static inline void made_add(struct made *m, const void *bytes, size_t n)
{
    assert_true(m->end + n < MADE_CODE);
    memcpy(m->bytes + m->end, bytes, n);
    m->end += n;
}

static inline size_t made_cie(struct made *m, const char *letters, size_t n)
{
    size_t at = m->end;
    uint32_t bytes = (uint32_t)(5 + n + 1 + 3 + (n ? 1 : 0) + sizeof MADE_CIE - 1);
    made_add(m, &bytes, 4);
    made_add(m, "\0\0\0\0\1", 5);
    made_add(m, letters, n + 1);
    made_add(m, "\1\x78\x10", 3); /* code by 1, data by -8, return address in column 16 */
    made_add(m, "\0", n ? 1 : 0); /* no augmentation data */
    made_add(m, MADE_CIE, sizeof MADE_CIE - 1);
    return at;
}

static inline void made_init(struct made *m)
{
    memset(m, 0, sizeof *m);
    tiny_init(&m->tiny, EM_X86_64);
    m->tiny.segments[0].p_filesz = m->tiny.segments[0].p_memsz = MADE_BYTES;
    m->end = offsetof(struct tiny, frames);
    m->plain = made_cie(m, "", 0);
    m->signal = made_cie(m, "zS", 2);
}

/* Rules for SIZE bytes at START. */
static inline void made_fde(struct made *m, size_t cie, uint64_t start, uint64_t size,
                            struct text program)
{
    bool sized = cie == m->signal;
    uint32_t n = (uint32_t)(4 + 16 + sized + program.n), back = (uint32_t)(m->end + 4 - cie);
    made_add(m, &n, 4);
    made_add(m, &back, 4);
    made_add(m, &start, 8);
    made_add(m, &size, 8);
    made_add(m, "\0", sized);
    made_add(m, program.at, program.n);
}

static inline void made_code(struct made *m, uint64_t at, const void *code, size_t n)
{
    assert_true(at >= MADE_CODE && at + n <= MADE_BYTES);
    memcpy(m->bytes + at, code, n);
}

static inline void made_write(const struct made *m, const char *path)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(m->bytes, 1, MADE_BYTES, f), MADE_BYTES);
    fclose(f);
}
