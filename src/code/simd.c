#include "code/simd.h"

#include <endian.h>
#include <stdio.h>

static void count_one(struct simd_mix *m, const struct x86 *i)
{
    m->n++;
    m->isa[i->isa]++;
    m->kind[i->kind]++;
    m->scalar_math += i->math && i->kind == X86_SCALAR_FP;
    m->packed_math += i->math && i->kind == X86_PACKED_FP;
    if (i->width_bits >= 128)
        m->width[i->width_bits == 128 ? 0 : i->width_bits == 256 ? 1 : 2]++;
    m->needs |= i->needs;
}

static void count_x86(struct simd_mix *m, struct text code)
{
    const uint8_t *bytes = (const uint8_t *)code.at;
    for (size_t at = 0; at < code.n;) {
        struct x86 i = x86_decode(bytes + at, code.n - at);
        if (i.bad)
            m->bad++;
        else
            count_one(m, &i);
        bool back = i.flow == X86_BRANCH || i.flow == X86_JUMP;
        if (back && i.target <= 0 && (uint64_t)-i.target <= at)
            m->loops = true;
        at += i.length;
    }
}

static void count_a64(struct simd_mix *m, struct text code)
{
    for (size_t at = 0; at + 4 <= code.n; at += 4) {
        uint32_t word;
        memcpy(&word, code.at + at, 4);
        struct a64 a = a64_decode(le32toh(word));
        struct x86 i = {.isa = a.isa, .kind = a.kind, .math = a.math, .width_bits = a.width_bits};
        if (a.bad)
            m->bad += 4;
        else
            count_one(m, &i);
        bool back = a.flow == X86_BRANCH || a.flow == X86_JUMP;
        if (back && a.target <= 0 && (uint64_t)-a.target <= at)
            m->loops = true;
    }
}

void simd_count(struct simd_mix *m, struct text code)
{
    (m->machine == SIMD_A64 ? count_a64 : count_x86)(m, code);
}

void simd_add(struct simd_mix *to, const struct simd_mix *from)
{
    to->machine = from->machine;
    to->n += from->n;
    to->bad += from->bad;
    for (int i = 0; i < X86_ISAS; i++)
        to->isa[i] += from->isa[i];
    for (int i = 0; i < X86_KINDS; i++)
        to->kind[i] += from->kind[i];
    for (int i = 0; i < 3; i++)
        to->width[i] += from->width[i];
    to->scalar_math += from->scalar_math;
    to->packed_math += from->packed_math;
    to->needs |= from->needs;
    to->loops |= from->loops;
    to->int_loop |= from->int_loop;
}

static uint64_t weighted(uint64_t count, const struct simd_mix *of, uint64_t weight)
{
    return of->n ? (count * weight + of->n / 2) / of->n : 0;
}

void simd_add_weighted(struct simd_mix *to, const struct simd_mix *from, uint64_t weight)
{
    struct simd_mix m = *from;
    for (int i = 0; i < X86_ISAS; i++)
        m.isa[i] = weighted(m.isa[i], from, weight);
    for (int i = 0; i < X86_KINDS; i++)
        m.kind[i] = weighted(m.kind[i], from, weight);
    for (int i = 0; i < 3; i++)
        m.width[i] = weighted(m.width[i], from, weight);
    m.scalar_math = weighted(m.scalar_math, from, weight);
    m.packed_math = weighted(m.packed_math, from, weight);
    m.n = weighted(m.n, from, weight);
    simd_add(to, &m);
}

/*
 * Zeroed registers and copied structs are vector instructions too: a few make no vector code.
 * A vectorised loop brings a scalar one for what is left over, often unrolled: a quarter is enough.
 * Loads and stores of integers are often those of floating point (movups beside aesenc or paddd),
 * so that vectors only move where next to none of them is anything else.
 */
enum simd_verdict simd_verdict_of(const struct simd_mix *m)
{
    uint64_t math = m->scalar_math + m->packed_math;
    if (math && math * 50 >= m->n)
        return m->packed_math * 4 >= math ? SIMD_PACKED : SIMD_SCALAR;
    if (m->kind[X86_PACKED_INT] * 5 >= m->n && m->n)
        return SIMD_PACKED_INT;
    uint64_t vectors = m->kind[X86_PACKED_INT] + m->kind[X86_PACKED_FP] - m->packed_math;
    if (vectors * 5 >= m->n && m->n)
        return m->kind[X86_PACKED_INT] * 4 >= vectors ? SIMD_PACKED_INT : SIMD_MOVES;
    return math && m->packed_math == 0 && math * 100 >= m->n ? SIMD_SCALAR : SIMD_INTEGER;
}

const char *simd_isa_name(enum simd_machine machine, int isa)
{
    if (machine == SIMD_A64)
        return isa < A64_ISAS ? a64_isa_name((enum a64_isa)isa) : NULL;
    return isa < X86_ISAS ? x86_isa_name((enum x86_isa)isa) : NULL;
}

int simd_isa_of(const struct simd_mix *m)
{
    uint64_t all = m->n - m->isa[X86_BASE];
    for (int i = X86_ISAS - 1; i > X86_BASE; i--)
        if (m->isa[i] && m->isa[i] * 20 >= all)
            return i;
    return X86_BASE;
}

/*
 * A loop over numbers computes in every second to sixth instruction. An interpreter's loop computes
 * now and then, and no vectors help it.
 */
bool simd_is_candidate(const struct simd_mix *m)
{
    if (m->int_loop)
        return m->kind[X86_PACKED_INT] == 0 && m->packed_math == 0;
    return m->loops && m->packed_math == 0 && m->scalar_math * 8 >= m->n &&
           simd_verdict_of(m) == SIMD_SCALAR;
}

char *simd_describe(const struct simd_mix *m, char *to)
{
    static const char *const words[] = {"integer", "scalar", "packed", "packed integer",
                                        "vector moves"};
    enum simd_verdict v = simd_verdict_of(m);
    if (v == SIMD_INTEGER)
        snprintf(to, 32, m->int_loop ? "scalar integer" : "integer");
    else if (v == SIMD_SCALAR && m->machine == SIMD_A64)
        snprintf(to, 32, "scalar");
    else
        snprintf(to, 32, "%s %s", words[v], simd_isa_name(m->machine, simd_isa_of(m)));
    return to;
}
