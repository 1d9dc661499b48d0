/*
 * kelvin_equal.h - prove that a rewritten function computes the same as the one it replaces, then
 * let both race. Part of kelvin_bench.h, for C11 and C++11.
 *
 *     KELVIN_EQUAL(dot)
 *     {
 *         size_t n = kelvin_length(c, "n", 300);
 *         const float *x = kelvin_in_f32(c, "x", n, KELVIN_ORDINARY);
 *         const float *y = kelvin_in_f32(c, "y", n, KELVIN_ORDINARY | KELVIN_NAN);
 *         float (*dot)(const float *, const float *, size_t) = KELVIN_SIDE(c, dot_plain, dot_avx2);
 *         float sum = 0;
 *         kelvin_tolerance(c, KELVIN_RELATIVE, 1e-6);
 *         kelvin_min_speedup(c, 2.0);
 *         KELVIN_RACE(c) sum = dot(x, y, n);
 *         kelvin_result_f32(c, "sum", sum);
 *     }
 *
 * The body runs for a million inputs, once with the reference and once with the candidate for
 * each, and draws the same inputs both times. `c` is the case. All values that the body reports
 * with kelvin_result_*() and writes to arrays from kelvin_out_*() must be equal.
 *
 * The body runs in one thread. If a function faults, the body is left by a jump, so it should own
 * nothing.
 */
#ifndef KELVIN_EQUAL_H
#define KELVIN_EQUAL_H
#include "kelvin_bench.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

struct kelvin_case;

/* Any function, as a pointer. */
typedef void (*kelvin_function)(void);

/* Register a proof; its body follows in braces. One name is used once in a program. */
#define KELVIN_EQUAL(name)                                                       \
    static void kelvin_equal_body_##name(struct kelvin_case *c);                 \
    __attribute__((constructor)) static void kelvin_equal_add_##name(void)       \
    {                                                                            \
        static struct kelvin_equal e = {{#name, __FILE__, __LINE__, NULL, NULL}, \
                                        kelvin_equal_body_##name};               \
        kelvin_add_equal(&e);                                                    \
    }                                                                            \
    static void kelvin_equal_body_##name(struct kelvin_case *c)

/*
 * An input that failed once and is tried first from then on. Printed when a proof fails; meant
 * to be pasted below the KELVIN_EQUAL of that name.
 */
#define KELVIN_REPRODUCE(name) KELVIN_REPRODUCE_2_(name, __COUNTER__)

/*
 * The function that this run of the body must call. Both must have the same type. The same
 * function twice is refused, and so is a body that does not call what it gets.
 */
#define KELVIN_SIDE(c, reference, candidate)                     \
    ((__typeof__(1 ? &*(reference) : &*(candidate)))kelvin_side( \
        c, (kelvin_function)(reference), (kelvin_function)(candidate), #reference " " #candidate))

/*
 * The statement that follows races: it runs once in a proof and often in a race, and only this
 * statement is timed. Without KELVIN_RACE there is no race.
 */
#define KELVIN_RACE(c)                                                  \
    for (uint64_t kelvin_left = kelvin_race_begin(c); kelvin_left != 0; \
         kelvin_left = kelvin_left > 1 ? kelvin_left - 1 : kelvin_race_end(c))

/* --- inputs: the same for both sides, bit for bit and at the same addresses --- */

/* The kinds of numbers in floating-point inputs. Integers may be any, including extremes. */
enum {
    KELVIN_ORDINARY = 1,  /* 0, -0, small whole numbers, 2^-20 to 2^20 of both signs */
    KELVIN_SUBNORMAL = 2, /* too small for full precision */
    KELVIN_HUGE = 4,      /* the largest, the smallest normal ones, any bit pattern between */
    KELVIN_INFINITE = 8,
    KELVIN_NAN = 16,
    KELVIN_FINITE = 7,
    KELVIN_ANY = 31
};

/*
 * A length: every one from 0 to MOST, and in a race those of KELVIN_RACE_LENGTHS. All inputs must
 * be drawn in the same order on both sides.
 */
size_t kelvin_length(struct kelvin_case *c, const char *name, size_t most);

/*
 * kelvin_in_f32(c, name, n, values): N elements, to be read only. They end where an inaccessible
 * page begins, or begin where one ends, or lie at every offset from 64 bytes with marked bytes
 * around. The body may change them before KELVIN_SIDE, to make room for a sentinel, say.
 *
 * kelvin_inout_f32(c, name, n, values): to be changed in place; compared afterwards.
 * kelvin_out_f32(c, name, n): to be written; compared. What neither side writes is equal.
 * kelvin_draw_f32(c, name, values), kelvin_draw_i32(c, name, low, high): one number.
 * kelvin_result_f32(c, name, value): what a side computed.
 *
 * Types are i8 u8 i16 u16 i32 u32 i64 u64 f32 f64.
 */

/* --- the comparison --- */

enum kelvin_compare {
    KELVIN_EXACT,    /* the default: the same bits; but any NaN equals any NaN */
    KELVIN_ABSOLUTE, /* |a - b| <= limit */
    KELVIN_RELATIVE, /* |a - b| <= limit * the larger of |a|, |b| and the scale */
    KELVIN_ULP       /* at most LIMIT representable numbers apart; for integers |a - b| */
};

/*
 * The tolerance of results and output arrays that follow. LIMIT 0 stands for 1e-6, with
 * KELVIN_ULP for 4. With any tolerance NaN equals only NaN, an infinity equals only itself, and
 * -0 equals 0. KELVIN_EXACT distinguishes -0 from 0.
 */
void kelvin_tolerance(struct kelvin_case *c, enum kelvin_compare how, double limit);

/*
 * The magnitude that KELVIN_RELATIVE relates errors to, for results whose terms cancel out: for a
 * sum, the sum of the absolute values. 0 = the results themselves.
 */
void kelvin_scale(struct kelvin_case *c, double magnitude);

/* --- the race --- */

/* Lengths to race with, before the first kelvin_length; else 4096. */
#define KELVIN_RACE_LENGTHS(c, ...)                                                               \
    do {                                                                                          \
        static const size_t kelvin_lengths[] = {__VA_ARGS__};                                     \
        kelvin_race_lengths(c, kelvin_lengths, sizeof kelvin_lengths / sizeof kelvin_lengths[0]); \
    } while (0)

/* A gate: fail unless the candidate is proven to be at least TIMES times as fast. */
void kelvin_min_speedup(struct kelvin_case *c, double times);

/* Is this a race? Then the body can give its inputs the shape of real data. */
bool kelvin_racing(const struct kelvin_case *c);

/* --- what the macros above are made of; not for direct use --- */

struct kelvin_equal {
    struct kelvin_entry entry;
    void (*body)(struct kelvin_case *c);
};

struct kelvin_reproduce {
    void (*body)(struct kelvin_case *c); /* of the proof */
    void (*give)(struct kelvin_case *c);
    struct kelvin_reproduce *next;
};

enum kelvin_type {
    KELVIN_I8_,
    KELVIN_U8_,
    KELVIN_I16_,
    KELVIN_U16_,
    KELVIN_I32_,
    KELVIN_U32_,
    KELVIN_I64_,
    KELVIN_U64_,
    KELVIN_F32_,
    KELVIN_F64_,
    KELVIN_IN_ = 0,
    KELVIN_OUT_ = 16,
    KELVIN_INOUT_ = 32
};

void kelvin_add_equal(struct kelvin_equal *e);
void kelvin_add_reproduce(struct kelvin_reproduce *r);
kelvin_function kelvin_side(struct kelvin_case *c, kelvin_function reference,
                            kelvin_function candidate, const char *names);
uint64_t kelvin_race_begin(struct kelvin_case *c);
uint64_t kelvin_race_end(struct kelvin_case *c);
void kelvin_race_lengths(struct kelvin_case *c, const size_t *lengths, size_t n);
void *kelvin_array(struct kelvin_case *c, const char *name, size_t n, int type_and_role,
                   unsigned values);
uint64_t kelvin_integer(struct kelvin_case *c, const char *name, int type, uint64_t low,
                        uint64_t high);
double kelvin_number(struct kelvin_case *c, const char *name, int type, unsigned values);
void kelvin_result(struct kelvin_case *c, const char *name, int type, const void *value);
void kelvin_given(struct kelvin_case *c, const char *name, int type, const void *values, size_t n);
void kelvin_given_place(struct kelvin_case *c, int place);

/* For KELVIN_REPRODUCE: the inputs by their names. PLACE says where the array lies: 0 = ends at an
 * inaccessible page, -1 = begins where one ends, else the bytes from its end to the next one. */
static inline void kelvin_given_length(struct kelvin_case *c, const char *name, uint64_t n)
{
    kelvin_given(c, name, KELVIN_U64_, &n, 1);
}

static inline float kelvin_bits_f32(uint32_t bits)
{
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static inline double kelvin_bits_f64(uint64_t bits)
{
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

#define KELVIN_REPRODUCE_2_(name, i) KELVIN_REPRODUCE_3_(name, i)
#define KELVIN_REPRODUCE_3_(name, i)                                                            \
    static void kelvin_give_##name##_##i(struct kelvin_case *c);                                \
    __attribute__((constructor)) static void kelvin_add_give_##name##_##i(void)                 \
    {                                                                                           \
        static struct kelvin_reproduce r = {kelvin_equal_body_##name, kelvin_give_##name##_##i, \
                                            NULL};                                              \
        kelvin_add_reproduce(&r);                                                               \
    }                                                                                           \
    static void kelvin_give_##name##_##i(struct kelvin_case *c)

#define KELVIN_TYPED_(suffix, T, type)                                                          \
    static inline T *kelvin_in_##suffix(struct kelvin_case *c, const char *name, size_t n,      \
                                        unsigned values)                                        \
    {                                                                                           \
        return (T *)kelvin_array(c, name, n, type | KELVIN_IN_, values);                        \
    }                                                                                           \
    static inline T *kelvin_inout_##suffix(struct kelvin_case *c, const char *name, size_t n,   \
                                           unsigned values)                                     \
    {                                                                                           \
        return (T *)kelvin_array(c, name, n, type | KELVIN_INOUT_, values);                     \
    }                                                                                           \
    static inline T *kelvin_out_##suffix(struct kelvin_case *c, const char *name, size_t n)     \
    {                                                                                           \
        return (T *)kelvin_array(c, name, n, type | KELVIN_OUT_, KELVIN_ANY);                   \
    }                                                                                           \
    static inline void kelvin_result_##suffix(struct kelvin_case *c, const char *name, T value) \
    {                                                                                           \
        kelvin_result(c, name, type, &value);                                                   \
    }                                                                                           \
    static inline void kelvin_given_##suffix(struct kelvin_case *c, const char *name,           \
                                             const T *values, size_t n, int place)              \
    {                                                                                           \
        kelvin_given(c, name, type, values, n);                                                 \
        kelvin_given_place(c, place);                                                           \
    }

#define KELVIN_TYPED_INTEGER_(suffix, T, type)                                                   \
    KELVIN_TYPED_(suffix, T, type)                                                               \
    static inline T kelvin_draw_##suffix(struct kelvin_case *c, const char *name, T low, T high) \
    {                                                                                            \
        return (T)kelvin_integer(c, name, type, (uint64_t)low, (uint64_t)high);                  \
    }

#define KELVIN_TYPED_FLOAT_(suffix, T, type)                                                       \
    KELVIN_TYPED_(suffix, T, type)                                                                 \
    static inline T kelvin_draw_##suffix(struct kelvin_case *c, const char *name, unsigned values) \
    {                                                                                              \
        return (T)kelvin_number(c, name, type, values);                                            \
    }

KELVIN_TYPED_INTEGER_(i8, int8_t, KELVIN_I8_)
KELVIN_TYPED_INTEGER_(u8, uint8_t, KELVIN_U8_)
KELVIN_TYPED_INTEGER_(i16, int16_t, KELVIN_I16_)
KELVIN_TYPED_INTEGER_(u16, uint16_t, KELVIN_U16_)
KELVIN_TYPED_INTEGER_(i32, int32_t, KELVIN_I32_)
KELVIN_TYPED_INTEGER_(u32, uint32_t, KELVIN_U32_)
KELVIN_TYPED_INTEGER_(i64, int64_t, KELVIN_I64_)
KELVIN_TYPED_INTEGER_(u64, uint64_t, KELVIN_U64_)
KELVIN_TYPED_FLOAT_(f32, float, KELVIN_F32_)
KELVIN_TYPED_FLOAT_(f64, double, KELVIN_F64_)

#ifdef __cplusplus
}
#endif
#endif
