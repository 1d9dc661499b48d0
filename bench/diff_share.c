/*
 * diff_share.c - a program of which one function has a given share, and can be made slower.
 *
 * Usage: diff_share ROUNDS SHARE [PERCENT]. target() has about SHARE percent of the time, four
 * others have the rest in equal parts; target() gets PERCENT more work.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define WORK __attribute__((noinline)) static uint64_t

/* One loop for all, so that a unit of work takes as long in each. */
#define LOOP(N)                                      \
    uint64_t x = 88172645463325252u + (uint64_t)(N); \
    for (long i = 0; i < (N); i++) {                 \
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;     \
        __asm__ volatile("" : "+r"(x));              \
    }                                                \
    return x

WORK target(long n)
{
    LOOP(n);
}

WORK first(long n)
{
    LOOP(n + 1);
}

WORK second(long n)
{
    LOOP(n + 2);
}

WORK third(long n)
{
    LOOP(n + 3);
}

WORK fourth(long n)
{
    LOOP(n + 4);
}

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? atol(argv[1]) : 100, share = argc > 2 ? atol(argv[2]) : 50;
    long percent = argc > 3 ? atol(argv[3]) : 0, unit = 5000;
    uint64_t sum = 0;
    for (long i = 0; i < rounds; i++) {
        long rest = (100 - share) * unit / 4;
        sum += target(share * unit * (100 + percent) / 100);
        sum += first(rest) + second(rest) + third(rest) + fourth(rest);
    }
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}
