/*
 * tolerance.c - where a tolerance ends. The candidate of a proof whose name ends in _in is wrong
 * by as much as is allowed, that of _out by a little more.
 */
#include <kelvin_bench.h>
#include <math.h>

typedef double function(double v);

static double same(double v)
{
    return v;
}

#define WRONG(name, expression, how, limit)               \
    static double name##_wrong(double v)                  \
    {                                                     \
        return expression;                                \
    }                                                     \
    KELVIN_EQUAL(name)                                    \
    {                                                     \
        double v = kelvin_draw_f64(c, "v", KELVIN_ANY);   \
        function *f = KELVIN_SIDE(c, same, name##_wrong); \
        kelvin_tolerance(c, how, limit);                  \
        kelvin_result_f64(c, "v", f(v));                  \
    }

/* Numbers that a small step up or down leaves finite and exact. */
static int is_plain(double v)
{
    return fabs(v) > 1e-3 && fabs(v) < 1e3;
}

static double steps(double v, int n)
{
    while (n-- > 0)
        v = nextafter(v, INFINITY);
    return v;
}

WRONG(absolute_in, is_plain(v) ? v + 0.0625 : v, KELVIN_ABSOLUTE, 0.063)
WRONG(absolute_out, is_plain(v) ? v + 0.0625 : v, KELVIN_ABSOLUTE, 0.062)
WRONG(relative_in, v * 0.9999991, KELVIN_RELATIVE, 0)
WRONG(relative_out, v * 0.9999989, KELVIN_RELATIVE, 0)
WRONG(ulp_in, is_plain(v) ? steps(v, 4) : v, KELVIN_ULP, 0)
WRONG(ulp_out, is_plain(v) ? steps(v, 5) : v, KELVIN_ULP, 0)
WRONG(ulp_across_zero_in, v == 0 ? steps(v, 3) : v, KELVIN_ULP, 3)
WRONG(exact_out, is_plain(v) ? steps(v, 1) : v, KELVIN_EXACT, 0)
WRONG(zero_sign_in, v == 0 ? -v : v, KELVIN_ULP, 1)
WRONG(zero_sign_out, v == 0 ? -v : v, KELVIN_EXACT, 0)
WRONG(nan_payload_in, isnan(v) ? -v : v, KELVIN_EXACT, 0)
WRONG(nan_out, isnan(v) ? 0 : v, KELVIN_RELATIVE, 0)
WRONG(infinity_out, isinf(v) ? copysign(1.7976931348623157e308, v) : v, KELVIN_ULP, 1)

/* Terms cancel out: errors are measured by what was added up. */
static double cancel(double v)
{
    return (v + 1) - v;
}

static double cancel_wrong(double v)
{
    return (v + 1) - v + v * 1e-7;
}

static void prove_cancel(struct kelvin_case *c, double scale)
{
    double v = kelvin_draw_f64(c, "v", KELVIN_ORDINARY);
    function *f = KELVIN_SIDE(c, cancel, cancel_wrong);
    kelvin_tolerance(c, KELVIN_RELATIVE, 1e-6);
    kelvin_scale(c, scale * v);
    kelvin_result_f64(c, "v", f(v));
    kelvin_result_f64(c, "drawn", v);
}

KELVIN_EQUAL(scale_in)
{
    prove_cancel(c, 1);
}

KELVIN_EQUAL(scale_out)
{
    prove_cancel(c, 0);
}

BENCH_MAIN
