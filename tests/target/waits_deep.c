/* Waits far from the root of its stack: 40 frames of 256 bytes each, N times 1 ms. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((noinline)) static int go_down(int depth, int seed)
{
    volatile char room[256];
    memset((char *)room, seed, sizeof room);
    if (depth == 0)
        usleep(1000);
    else
        seed = go_down(depth - 1, seed + room[depth]);
    return seed + room[7];
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 100, sum = 0;
    for (int i = 0; i < n; i++)
        sum += go_down(40, i);
    printf("%d\n", sum);
    return 0;
}
