/* Logarithms and their kin: near those of the C library, whose last bits are its own. */
#include "base/calc.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static double ulp(double x)
{
    return nextafter(fabs(x), INFINITY) - fabs(x);
}

static void is_near(const char *what, double at, double is, double true_value, double most_ulps)
{
    if (is == true_value)
        return;
    double off = fabs(is - true_value) / ulp(true_value);
    if (!(off <= most_ulps))
        fail_msg("%s(%.17g) is %.17g, off by %.1f units in the last place of %.17g", what, at, is,
                 off, true_value);
}

/* Numbers from 2^-60 to 2^60, dense around 1. */
static double any_number(uint64_t i)
{
    uint64_t x = i * 0x9e3779b97f4a7c15ULL;
    double part = (double)(x >> 11) / 9007199254740992.0;
    return i % 2 ? ldexp(1 + part, (int)(i % 120) - 60)
                 : 1 + (part - 0.5) * ldexp(1, -(int)(i % 40));
}

static void they_are_within_two_units_in_the_last_place(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 200000; i++) {
        double x = any_number(i), s = fmod(x, 700) * (i % 3 ? 1 : -1);
        is_near("log", x, calc_log(x), log(x), 2);
        is_near("exp", s, calc_exp(s), exp(s), 2);
        is_near("expm1", s, calc_expm1(s), expm1(s), 3);
        is_near("log1p", x, calc_log1p(x), log1p(x), 2);
        double below = -fmod(x, 1);
        is_near("log1p", below, calc_log1p(below), log1p(below), 3);
    }
}

static void gamma_erfc_and_powers_are_near(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 20000; i++) {
        double x = (double)(i + 1) / 97;
        assert_true(fabs(calc_lgamma(x) - lgamma(x)) <= 2e-14 * fmax(1, fabs(lgamma(x))));
        double z = (double)i / 800 - 6;
        assert_true(fabs(calc_erfc(z) - erfc(z)) <= 1e-13 * erfc(z));
        assert_true(fabs(calc_pow(x, z) - pow(x, z)) <= 1e-13 * pow(x, z));
        is_near("hypot", x, calc_hypot(x, z), hypot(x, z), 2);
    }
    for (int i = 0; i <= 22; i++)
        assert_true(calc_ten_to(i) == pow(10, i));
}

static void ends_are_as_they_should_be(void **state)
{
    (void)state;
    assert_true(calc_log(0) == -INFINITY && isnan(calc_log(-1)) && calc_log(1) == 0);
    assert_true(isinf(calc_log(INFINITY)) && calc_log(5e-324) == log(5e-324));
    assert_true(calc_log1p(0) == 0 && calc_log1p(-1) == -INFINITY && isnan(calc_log1p(-2)));
    assert_true(calc_exp(0) == 1 && calc_exp(-INFINITY) == 0 && calc_exp(INFINITY) == INFINITY);
    assert_true(calc_exp(710) == INFINITY && calc_exp(-746) == 0 && calc_exp(-745) > 0);
    assert_true(isnan(calc_exp(NAN)) && isnan(calc_log(NAN)) && isnan(calc_erfc(NAN)));
    assert_true(calc_pow(0, 2) == 0 && calc_pow(0, 0) == 1 && calc_pow(2, -INFINITY) == 0);
    assert_true(calc_lgamma(1) == 0 && calc_lgamma(2) == 0);
    assert_true(calc_erfc(0) == 1 && calc_erfc(30) == 0 && calc_erfc(-30) == 2);
}

/* What WebAssembly and every processor must give: these bits. A compiler that fuses operations, or
 * calls its library after all, gives others. */
static void the_bits_are_these(void **state)
{
    uint64_t hash = 0;
    (void)state;
    for (uint64_t i = 0; i < 50000; i++) {
        double x = any_number(i), s = fmod(x, 700) * (i % 3 ? 1 : -1);
        double all[] = {calc_log(x),   calc_exp(s),    calc_log1p(x),
                        calc_expm1(s), calc_lgamma(x), calc_erfc(fmod(x, 27) - 2)};
        for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
            uint64_t bits;
            memcpy(&bits, &all[k], sizeof bits);
            hash = (hash ^ bits) * 0x100000001b3ULL;
            hash ^= hash >> 29;
        }
    }
    if (hash != 0x537bb19c22e8d9ddULL)
        fail_msg("the bits hash to 0x%llxULL", (unsigned long long)hash);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_are_within_two_units_in_the_last_place),
        cmocka_unit_test(gamma_erfc_and_powers_are_near),
        cmocka_unit_test(ends_are_as_they_should_be),
        cmocka_unit_test(the_bits_are_these),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
