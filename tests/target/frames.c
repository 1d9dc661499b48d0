/*
 * frames.c - functions whose frames differ, for looking at their unwind rules. Any processor.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int calls;

__attribute__((noinline)) int leaf(int a, int b)
{
    return a * b + calls;
}

__attribute__((noinline)) int variable_part(int n)
{
    volatile char *bytes = __builtin_alloca((size_t)n + 1);
    bytes[n] = (char)n;
    return leaf(bytes[n], n) + 1;
}

__attribute__((noinline)) int aligned_part(int n)
{
    volatile double words[32] __attribute__((aligned(64)));
    words[n % 32] = n;
    return leaf(n, (int)words[n % 32]) + 1;
}

__attribute__((noinline)) int large_frame(int n)
{
    volatile char bytes[70000];
    bytes[n] = (char)n;
    return leaf(n, bytes[n]) + 1;
}

__attribute__((noinline)) int huge_frame(int n)
{
    volatile char bytes[1 << 20];
    bytes[n] = (char)n;
    return leaf(n, bytes[n]) + 1;
}

__attribute__((noinline)) int many_registers(int a, int b, int c, int d, int e)
{
    int x = leaf(a, b), y = leaf(c, d), z = leaf(e, a);
    if (x > 10)
        return 0;
    x += leaf(y, z) * leaf(x, z) + leaf(x, y);
    return a + b + c + d + e + x + y + z;
}

int main(int argc, char **argv)
{
    int n = argc + (int)strlen(argv[0]);
    calls = n;
    n += variable_part(n) + aligned_part(n) + large_frame(n) + huge_frame(n);
    printf("%d\n", many_registers(n, 1, 2, 3, 4) + atoi(argv[0]));
    return 0;
}
