/* When two numbers are equal. */
#include "equal.h"

#include <math.h>

uint64_t element_bits(enum kelvin_type type, const void *at, size_t i)
{
    size_t size = type_size(type);
    uint64_t bits = 0;
    memcpy(&bits, (const char *)at + i * size, size);
    /* Signed integers keep their value: the sign bit is copied upwards. */
    if (!type_is_float(type) && type_is_signed(type) && size < 8)
        bits = (uint64_t)((int64_t)(bits << (64 - 8 * size)) >> (64 - 8 * size));
    return bits;
}

double bits_number(enum kelvin_type type, uint64_t bits)
{
    if (type == KELVIN_F32_)
        return (double)kelvin_bits_f32((uint32_t)bits);
    if (type == KELVIN_F64_)
        return kelvin_bits_f64(bits);
    return type_is_signed(type) ? (double)(int64_t)bits : (double)bits;
}

/* Floating-point numbers in the order of their size, neighbours one apart, -0 and 0 the same. */
static int64_t equal_compare_rank(enum kelvin_type type, uint64_t bits)
{
    int64_t sign = type == KELVIN_F32_ ? (int64_t)1 << 31 : INT64_MIN;
    int64_t magnitude = (int64_t)(bits & ~(uint64_t)sign);
    return bits & (uint64_t)sign ? -magnitude : magnitude;
}

static bool is_within(enum kelvin_type type, uint64_t a, uint64_t b, const struct tolerance *t)
{
    double x = bits_number(type, a), y = bits_number(type, b);
    if (t->how == KELVIN_ULP && type_is_float(type)) {
        int64_t i = equal_compare_rank(type, a), j = equal_compare_rank(type, b);
        /* Of unlike signs the distance needs all 64 bits. */
        return (double)(i > j ? (uint64_t)i - (uint64_t)j : (uint64_t)j - (uint64_t)i) <= t->limit;
    }
    double away = fabs(x - y);
    if (t->how != KELVIN_RELATIVE)
        return away <= t->limit;
    double size = fmax(fmax(fabs(x), fabs(y)), t->scale);
    /* Halved, because the distance of two huge numbers can be infinite. */
    return fabs(x / 2 - y / 2) <= t->limit * (size / 2) || away == 0;
}

static enum gap gap_of(enum kelvin_type type, double x, double y)
{
    if (!type_is_float(type))
        return GAP_NUMBER;
    if (isnan(x) || isnan(y))
        return GAP_NAN;
    if (isinf(x) || isinf(y))
        return GAP_INFINITE;
    return x == y ? GAP_ZERO_SIGN : GAP_NUMBER;
}

bool compare_bits(enum kelvin_type type, uint64_t a, uint64_t b, const struct tolerance *t,
                  enum gap *ret_gap)
{
    if (a == b)
        return true;
    double x = bits_number(type, a), y = bits_number(type, b);
    if (isnan(x) && isnan(y))
        return true;
    *ret_gap = gap_of(type, x, y);
    if (t->how == KELVIN_EXACT || *ret_gap == GAP_NAN || *ret_gap == GAP_INFINITE)
        return false;
    return is_within(type, a, b, t);
}
