#include "input.h"

#include <float.h>
#include <math.h>

/* splitmix64: one addition, two multiplications, any seed is good. */
uint64_t dice_roll(struct dice *d)
{
    uint64_t z = (d->state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

struct dice dice_seed(uint64_t seed, uint64_t case_number)
{
    struct dice d = {seed};
    d.state = dice_roll(&d) ^ (case_number * 0xd1342543de82ef95u);
    dice_roll(&d);
    return d;
}

/* The high half of a product: no division, and a bias below n / 2^64. */
uint64_t dice_below(struct dice *d, uint64_t n)
{
    return (uint64_t)(((unsigned __int128)dice_roll(d) * n) >> 64);
}

static const uint8_t sizes[] = {1, 1, 2, 2, 4, 4, 8, 8, 4, 8};

size_t type_size(enum kelvin_type type)
{
    return sizes[type];
}

bool type_is_float(enum kelvin_type type)
{
    return type == KELVIN_F32_ || type == KELVIN_F64_;
}

bool type_is_signed(enum kelvin_type type)
{
    return type_is_float(type) || type % 2 == 0;
}

/* --- integers --- */

/* What the elements of an array have in common. */
enum flavour { FLAVOUR_RANDOM, FLAVOUR_FEW, FLAVOUR_ENDS, FLAVOUR_SAME, FLAVOURS };

/* 0, 1, -1, the largest and smallest of both signs, and their neighbours. */
static uint64_t integer_end(struct dice *d, size_t size_bytes)
{
    uint64_t half = (uint64_t)1 << (8 * size_bytes - 1);
    const uint64_t ends[] = {0, 1, 2, (uint64_t)-1, (uint64_t)-2, half - 1, half, half + 1};
    return ends[dice_roll(d) % 8];
}

static uint64_t integer_draw(struct dice *d, size_t size_bytes, enum flavour f, uint64_t same)
{
    switch (f) {
    case FLAVOUR_FEW:
        return dice_roll(d) & 3;
    case FLAVOUR_ENDS:
        return integer_end(d, size_bytes);
    case FLAVOUR_SAME:
        return same;
    default:
        return dice_roll(d);
    }
}

static void fill_random(struct dice *d, uint8_t *at, size_t n_bytes)
{
    size_t whole = n_bytes / 8 * 8;
    for (size_t i = 0; i < whole; i += 8) {
        uint64_t v = dice_roll(d);
        memcpy(at + i, &v, 8);
    }
    uint64_t v = dice_roll(d);
    memcpy(at + whole, &v, n_bytes - whole);
}

static void fill_integers(struct dice *d, struct input_kind kind, uint8_t *at, size_t n)
{
    size_t size = type_size(kind.type);
    enum flavour f = kind.plain ? FLAVOUR_RANDOM : (enum flavour)(dice_roll(d) % FLAVOURS);
    if (f == FLAVOUR_RANDOM) {
        fill_random(d, at, n * size);
        return;
    }
    uint64_t same = dice_roll(d);
    for (size_t i = 0; i < n; i++) {
        uint64_t v = integer_draw(d, size, f, same);
        memcpy(at + i * size, &v, size); /* little end first, as everywhere we run */
    }
}

uint64_t input_unsigned(struct dice *d, uint64_t low, uint64_t high)
{
    uint64_t span = high - low, how = dice_roll(d) % 8;
    if (how < 2)
        return how ? high : low;
    if (how == 2)
        return low + (span < 4 ? dice_below(d, span + 1) : dice_roll(d) % 4);
    return span == UINT64_MAX ? dice_roll(d) : low + dice_below(d, span + 1);
}

int64_t input_signed(struct dice *d, int64_t low, int64_t high)
{
    /* In the order of unsigned numbers, the smallest at 0. */
    uint64_t flip = (uint64_t)1 << 63;
    if (low <= 0 && high >= 0 && dice_roll(d) % 8 == 0)
        return 0;
    return (int64_t)(input_unsigned(d, (uint64_t)low ^ flip, (uint64_t)high ^ flip) ^ flip);
}

size_t input_length(struct dice *d, size_t most)
{
    size_t few = most < 40 ? most : 40;
    return dice_below(d, (dice_roll(d) & 1 ? few : most) + 1);
}

/* --- floating point --- */

/* How ordinary numbers of an array look: -10 to 10 and -0; -1 to 1; any fraction, times 2^-20 to
 * 2^20. */
enum shape { SHAPE_WHOLE, SHAPE_UNIT, SHAPE_WIDE, SHAPES };

static double ordinary(uint64_t r, enum shape s)
{
    if (s == SHAPE_WHOLE)
        return (double)((int64_t)(r >> 32) % 21 - 10) * (r & 1 ? 1 : -1);
    if (s == SHAPE_UNIT)
        return (double)(int64_t)r * 0x1p-63;
    return kelvin_bits_f64((r & 0x800fffffffffffff) | (1003 + (r >> 52) % 41) << 52);
}

static double subnormal(uint64_t r, bool is_float)
{
    double smallest = is_float ? 0x1p-149 : 0x1p-1074;
    uint64_t steps = r & 1 ? 1 : r >> (is_float ? 42 : 13);
    return smallest * (double)(steps ? steps : 1) * (r & 2 ? -1 : 1);
}

static double huge_number(uint64_t r, bool is_float)
{
    const double ends[2][4] = {{DBL_MAX, DBL_MIN, 0x1p1023, DBL_MAX / 2},
                               {FLT_MAX, FLT_MIN, 0x1p127, FLT_MAX / 2}};
    int range = is_float ? 126 : 1021;
    double v = r & 4
                   ? ends[is_float][(r >> 3) % 4]
                   : ldexp(1 + (double)(r >> 12) * 0x1p-52, (int)((r >> 3) % (2 * range)) - range);
    return r & 2 ? -v : v;
}

/* One number of a kind that is in VALUES and is not ordinary. */
static double special(struct dice *d, unsigned values, bool is_float)
{
    uint64_t r = dice_roll(d);
    unsigned kinds[5] = {0}, n = 0;
    for (unsigned bit = KELVIN_SUBNORMAL; bit <= KELVIN_NAN; bit *= 2)
        if (values & bit)
            kinds[n++] = bit;
    switch (n ? kinds[dice_below(d, n)] : 0) {
    case KELVIN_SUBNORMAL:
        return subnormal(r, is_float);
    case KELVIN_HUGE:
        return huge_number(r, is_float);
    case KELVIN_INFINITE:
        return r & 1 ? INFINITY : -INFINITY;
    case KELVIN_NAN:
        return r & 1 ? (double)NAN : -(double)NAN;
    default:
        return r & 1 ? 0.0 : -0.0;
    }
}

static void input_store(struct input_kind kind, uint8_t *at, size_t i, double v)
{
    float f = (float)v;
    if (kind.type == KELVIN_F32_)
        memcpy(at + i * sizeof f, &f, sizeof f);
    else
        memcpy(at + i * sizeof v, &v, sizeof v);
}

/* Elements that are not ordinary: none in half of the arrays, else one, some, or most. */
static void sprinkle(struct dice *d, struct input_kind kind, uint8_t *at, size_t n)
{
    uint64_t how = dice_roll(d) % 16;
    size_t count = how < 8 ? 0 : how < 12 ? 1 : how < 15 ? 1 + dice_below(d, n / 4 + 1) : n;
    for (; count; count--)
        input_store(kind, at, dice_below(d, n), special(d, kind.values, kind.type == KELVIN_F32_));
}

static void fill_floats(struct dice *d, struct input_kind kind, uint8_t *at, size_t n)
{
    uint64_t r = dice_roll(d);
    enum shape shape = kind.plain ? SHAPE_UNIT : (enum shape)(r % SHAPES);
    bool same = !kind.plain && (r >> 8) % 16 == 0;
    uint64_t one = dice_roll(d);
    for (size_t i = 0; i < n; i++)
        input_store(kind, at, i,
                    kind.values & KELVIN_ORDINARY
                        ? ordinary(same ? one : dice_roll(d), shape)
                        : special(d, kind.values, kind.type == KELVIN_F32_));
    if (!kind.plain && n)
        sprinkle(d, kind, at, n);
}

void input_fill(struct dice *d, struct input_kind kind, void *at, size_t n)
{
    if (type_is_float(kind.type))
        fill_floats(d, kind, at, n);
    else
        fill_integers(d, kind, at, n);
}
