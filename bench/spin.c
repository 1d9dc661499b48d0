/*
 * spin.c - takes a time that can be set: for bench/gate_truth.py.
 *
 *     spin STEPS    do as many steps of arithmetic, each waiting for the one before
 */
#include <stdint.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    uint64_t x = 88172645463325252u;
    long steps = argc > 1 ? atol(argv[1]) : 0;
    for (long i = 0; i < steps; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    return x == 0;
}
