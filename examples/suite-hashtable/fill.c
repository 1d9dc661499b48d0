/* fill.c - a table of as many entries as asked for, each looked up again. */
#include "hashtable.h"

#include <stdio.h>

int main(int argc, char **argv)
{
    uint64_t n = argc > 1 ? (uint64_t)atoll(argv[1]) : 1000000, sum = 0;
    struct hashtable t;
    hashtable_init(&t, 16);
    for (uint64_t i = 1; i <= n; i++)
        hashtable_put(&t, i * 7919, i);
    for (uint64_t i = 1; i <= n; i++)
        sum += hashtable_find(&t, i * 7919);
    printf("%llu\n", (unsigned long long)sum);
    hashtable_done(&t);
    return sum != n * (n + 1) / 2;
}
