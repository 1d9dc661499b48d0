#include "base/calc.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* The first has 20 zeros at its end, so that its multiples by exponents are exact. */
#define LN2_HIGH 0x1.62e42fee00000p-1
#define LN2_LOW 0x1.a39ef35793c76p-33
#define LOG2_E 0x1.71547652b82fep+0
#define HALF_LOG_2PI 0x1.d67f1c864beb5p-1
#define TWO_OVER_SQRT_PI 0x1.20dd750429b6dp+0

/* --- powers of two --- */

/* 2^K for -1022 <= K <= 1023. */
static double calc_two_to(int k)
{
    uint64_t bits = (uint64_t)(k + 1023) << 52;
    double d;
    memcpy(&d, &bits, sizeof d);
    return d;
}

static double calc_scale(double x, int k)
{
    if (k > 1023)
        return x * calc_two_to(1023) * calc_two_to(k - 1023 > 1023 ? 1023 : k - 1023);
    if (k < -1022)
        return x * calc_two_to(-1022) * calc_two_to(k + 1022 < -1022 ? -1022 : k + 1022);
    return x * calc_two_to(k);
}

/* X = M * 2^k with M in [sqrt(1/2), sqrt(2)). X is finite and above 0. */
static double calc_split(double x, int *ret_k)
{
    uint64_t bits;
    int k = 0;
    if (x < 0x1p-1022) {
        x *= 0x1p54;
        k = -54;
    }
    memcpy(&bits, &x, sizeof bits);
    k += (int)(bits >> 52) - 1023;
    bits = (bits & 0xfffffffffffffULL) | 1023ULL << 52;
    memcpy(&x, &bits, sizeof x);
    if (x >= 0x1.6a09e667f3bcdp+0) {
        x /= 2;
        k++;
    }
    *ret_k = k;
    return x;
}

/* --- exponentials --- */

/* exp(R) - 1 - R over R^2, for |R| < 0.36: 1/2! + R/3! + ... */
static double calc_exp_tail(double r)
{
    double sum = 0;
    for (int n = 15; n >= 2; n--) {
        static const double over[] = {[2] = 2,
                                      [3] = 6,
                                      [4] = 24,
                                      [5] = 120,
                                      [6] = 720,
                                      [7] = 5040,
                                      [8] = 40320,
                                      [9] = 362880,
                                      [10] = 3628800,
                                      [11] = 39916800,
                                      [12] = 479001600,
                                      [13] = 6227020800.0,
                                      [14] = 87178291200.0,
                                      [15] = 1307674368000.0};
        sum = sum * r + 1 / over[n];
    }
    return sum;
}

double calc_exp(double x)
{
    if (isnan(x))
        return x;
    if (x > 709.79)
        return INFINITY;
    if (x < -745.2)
        return 0;
    double k = floor(x * LOG2_E + 0.5);
    double high = x - k * LN2_HIGH, low = k * LN2_LOW, r = high - low;
    double lost = high - r - low; /* what R rounds away */
    return calc_scale(1 + (r + (r * r * calc_exp_tail(r) + lost * (1 + r))), (int)k);
}

double calc_expm1(double x)
{
    return fabs(x) < 0.35 ? x + x * x * calc_exp_tail(x) : calc_exp(x) - 1;
}

/* --- logarithms --- */

/* log(1 + F) is 2 (s + s^3/3 + s^5/5 ...) with s = F / (2 + F): what follows 2 s, over s. */
static double calc_log_tail(double s)
{
    double square = s * s, sum = 0;
    for (int n = 23; n >= 3; n -= 2)
        sum = sum * square + 2.0 / n;
    return square * sum;
}

/* log(1 + F) + K log(2), for |F| < 0.42. As 2 s = F - s F, S and its rounding matter little. */
static double calc_log_near(double f, int k)
{
    double s = f / (2 + f), half = f * f / 2;
    return k * LN2_HIGH + (f - (half - (s * (half + calc_log_tail(s)) + k * LN2_LOW)));
}

double calc_log(double x)
{
    int k;
    if (isnan(x) || x < 0)
        return NAN;
    if (x == 0 || isinf(x))
        return x == 0 ? -INFINITY : x;
    double m = calc_split(x, &k);
    return calc_log_near(m - 1, k);
}

double calc_log1p(double x)
{
    double u = 1 + x;
    if (x > -0.29 && x < 0.41)
        return calc_log_near(x, 0);
    return isfinite(u) && u > 0 ? calc_log(u) + (x - (u - 1)) / u : calc_log(u);
}

double calc_pow(double x, double y)
{
    if (y == 0 || x == 1)
        return 1;
    if (x == 0)
        return y > 0 ? 0 : INFINITY;
    return calc_exp(y * calc_log(x));
}

double calc_ten_to(int n)
{
    double ten = 1;
    for (; n > 0; n--)
        ten *= 10;
    return ten;
}

/* --- gamma --- */

/* Stirling's series behind its first terms, for X >= 15: the next term is below 1e-19. */
static double calc_stirling_tail(double x)
{
    static const double terms[] = {1.0 / 12,   -1.0 / 360,      1.0 / 1260, -1.0 / 1680,
                                   1.0 / 1188, -691.0 / 360360, 1.0 / 156,  -3617.0 / 122400};
    double over = 1 / (x * x), sum = 0;
    for (int i = sizeof terms / sizeof *terms; i-- > 0;)
        sum = sum * over + terms[i];
    return sum / x;
}

double calc_lgamma(double x)
{
    double product = 1;
    if (x == 1 || x == 2)
        return 0;
    for (; x < 15; x += 1)
        product *= x;
    return (x - 0.5) * calc_log(x) - x + HALF_LOG_2PI + calc_stirling_tail(x) -
           (product == 1 ? 0 : calc_log(product));
}

/* --- the normal distribution --- */

/* exp(-X^2), with X^2 in two parts: rounded, it would be off by X^2 units in the last place. */
static double calc_bell(double x)
{
    float head = (float)x;
    double high = head, low = x - high;
    return calc_exp(-high * high) * calc_exp(-low * (x + high));
}

/* erf(X) = 2/sqrt(pi) exp(-X^2) (X + 2 X^3/3 + 4 X^5/15 + ...): all terms have one sign. */
static double calc_erf_series(double x)
{
    double term = x, sum = x;
    for (int n = 1; n < 80; n++) {
        term *= 2 * x * x / (2 * n + 1);
        sum += term;
    }
    return TWO_OVER_SQRT_PI * calc_bell(x) * sum;
}

double calc_erfc(double x)
{
    enum { STEPS = 200 };
    if (isnan(x))
        return x;
    if (x < 1)
        return x < -6 ? 2 : x < -1 ? 2 - calc_erfc(-x) : 1 - calc_erf_series(x);
    if (x > 27.3)
        return 0;
    double at = x; /* a continued fraction, from its far end */
    for (int n = STEPS; n > 0; n--)
        at = x + n / 2.0 / at;
    return TWO_OVER_SQRT_PI / 2 * calc_bell(x) / at;
}

double calc_hypot(double a, double b)
{
    return sqrt(a * a + b * b);
}
