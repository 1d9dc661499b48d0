/* aarch64_spin.c - two functions that compute for about half a second, one below a third. */
#include <stdio.h>

static volatile unsigned long sink;

__attribute__((noinline)) static void spin_leaf(long n)
{
    for (long i = 0; i < n; i++)
        sink += (unsigned long)(i * i);
}

__attribute__((noinline)) static void spin_middle(long n)
{
    spin_leaf(n);
    sink++;
}

__attribute__((noinline)) static void spin_other(long n)
{
    for (long i = 0; i < n; i++)
        sink ^= (unsigned long)i;
    sink++;
}

int main(void)
{
    for (int i = 0; i < 60; i++) {
        spin_middle(3000000);
        spin_other(1000000);
    }
    printf("%lu\n", sink);
    return 0;
}
