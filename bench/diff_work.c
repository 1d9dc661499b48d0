/*
 * diff_work.c - eight functions that use the machine in unlike ways, one of which can be made
 * slower: a program whose differences are known.
 *
 * Usage: diff_work ROUNDS [FUNCTION PERCENT]. FUNCTION (0 to 7) gets PERCENT more work; without
 * it, the shares are about 22, 19, 15, 13, 11, 9, 7 and 4 %.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORK __attribute__((noinline)) static uint64_t

enum { TABLE = 1 << 16, LIST = 1 << 17, TEXT = 1 << 14 };

static uint32_t table[TABLE], next_of[LIST];
static char text[TEXT];
static double a[64][64], b[64][64];

static uint64_t random_next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

WORK mix_bits(long n)
{
    uint64_t x = 88172645463325252u;
    for (long i = 0; i < n; i++)
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    return x;
}

WORK multiply_matrices(long n)
{
    for (long k = 0; k < n; k++) {
        size_t row = (size_t)k % 64;
        for (size_t i = 0; i < 64; i++) {
            double sum = 0;
            for (size_t j = 0; j < 64; j++)
                sum += a[row][j] * b[j][i];
            a[row][i] = sum > 1e9 ? 1 : sum;
        }
    }
    return (uint64_t)a[0][0];
}

/* Each step waits for memory. */
WORK walk_list(long n)
{
    uint32_t at = 0;
    for (long i = 0; i < n; i++)
        at = next_of[at];
    return at;
}

WORK count_words(long n)
{
    uint64_t words = 0;
    for (long k = 0; k < n; k++)
        for (size_t i = 1; i < TEXT; i++)
            words += text[i] == ' ' && text[i - 1] != ' ' && words % 7 != (uint64_t)text[i] % 5;
    return words;
}

WORK update_table(long n)
{
    uint64_t state = 1;
    for (long i = 0; i < n; i++)
        table[random_next(&state) % TABLE] += (uint32_t)i;
    return table[0];
}

/* Branches that cannot be foretold. */
WORK sift_numbers(long n)
{
    uint64_t state = 7, odd = 0;
    for (long i = 0; i < n; i++) {
        uint64_t x = random_next(&state);
        if (x & 64)
            odd += x / 3;
        else if (x & 1024)
            odd ^= x;
    }
    return odd;
}

WORK divide_numbers(long n)
{
    uint64_t sum = 0, x = 0x123456789abcdef;
    for (long i = 1; i <= n; i++)
        sum += (x ^ sum) / (uint64_t)(i | 1);
    return sum;
}

WORK hash_text(long n)
{
    uint64_t hash = 14695981039346656037u;
    for (long k = 0; k < n; k++)
        for (size_t i = 0; i < TEXT; i++)
            hash = (hash ^ (uint64_t)text[i]) * 1099511628211u;
    return hash;
}

static const struct {
    uint64_t (*run)(long n);
    long n;
} parts[] = {
    {mix_bits, 690000},     {multiply_matrices, 240}, {walk_list, 120000},      {count_words, 46},
    {update_table, 290000}, {sift_numbers, 190000},   {divide_numbers, 120000}, {hash_text, 16},
};

enum { PARTS = sizeof parts / sizeof *parts };

static void prepare(void)
{
    uint64_t state = 42;
    for (uint32_t i = 0; i < LIST; i++)
        next_of[i] = i;
    for (uint32_t i = LIST - 1; i > 0; i--) { /* one cycle through all */
        uint32_t k = (uint32_t)(random_next(&state) % i), swap = next_of[i];
        next_of[i] = next_of[k];
        next_of[k] = swap;
    }
    for (int i = 0; i < TEXT; i++)
        text[i] = random_next(&state) % 6 ? 'x' : ' ';
    for (size_t i = 0; i < 64 * 64; i++)
        (&a[0][0])[i] = (&b[0][0])[i] = (double)(i % 7) / 8;
}

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? atol(argv[1]) : 100;
    int slow = argc > 2 ? atoi(argv[2]) : -1;
    long percent = argc > 3 ? atol(argv[3]) : 10;
    volatile uint64_t sink = 0;
    prepare();
    for (long r = 0; r < rounds; r++)
        for (int i = 0; i < PARTS; i++) {
            long more = i == slow
                            ? parts[i].n * percent * (r + 1) / 100 - parts[i].n * percent * r / 100
                            : 0;
            sink += parts[i].run(parts[i].n + more);
        }
    printf("%llu\n", (unsigned long long)sink);
    return 0;
}
