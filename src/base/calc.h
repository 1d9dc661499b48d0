/*
 * calc.h - logarithms and their kin that give the same bits everywhere.
 *
 * C libraries differ in the last bit of log() and exp(), and the page of `kelvin view` runs with
 * another one than the program. These use nothing but + - * / and sqrt(), which IEEE 754 defines to
 * the last bit, in a fixed order; the Makefile forbids compilers to fuse them. So stats and
 * analysis use no others, and a browser and a terminal show the same digits. Within 2 units in the
 * last place of the true value where that is not said otherwise.
 */
#pragma once

double calc_exp(double x);
double calc_expm1(double x);
double calc_log(double x); /* -INFINITY at 0, NAN below */
double calc_log1p(double x);
double calc_pow(double x, double y); /* of X > 0, and 0 at 0; the error grows with |y log x| */

/* 10^N, exact for 0 <= N <= 22. */
double calc_ten_to(int n);

/* Of X > 0. Error below 2e-14 of the value, or 2e-14 where that is below 1. */
double calc_lgamma(double x);

/* Relative error below 1e-13. */
double calc_erfc(double x);

/* Of lengths whose squares neither overflow nor vanish. */
double calc_hypot(double a, double b);
