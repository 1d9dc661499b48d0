/* fill.c - a table of as many entries as asked for, each looked up again; all of it as often as
 * asked for. */
#include "hashtable.h"

#include <malloc.h>
#include <stdio.h>

/* The sum of all values. */
static uint64_t fill_and_find(uint64_t n)
{
    uint64_t sum = 0;
    struct hashtable t;
    hashtable_init(&t, 16);
    for (uint64_t i = 1; i <= n; i++)
        hashtable_put(&t, i * 7919, i);
    for (uint64_t i = 1; i <= n; i++)
        sum += hashtable_find(&t, i * 7919);
    hashtable_done(&t);
    return sum;
}

int main(int argc, char **argv)
{
    uint64_t n = argc > 1 ? (uint64_t)atoll(argv[1]) : 50000,
             times = argc > 2 ? (uint64_t)atoll(argv[2]) : 1, sum = 0;
    mallopt(M_MMAP_THRESHOLD, 1 << 30); /* the table is measured, not fresh pages of the kernel */
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    for (uint64_t i = 0; i < times; i++)
        sum += fill_and_find(n);
    printf("%llu\n", (unsigned long long)sum);
    return sum != times * (n * (n + 1) / 2);
}
