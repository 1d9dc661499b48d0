/* A program that counts its own anonymous maps: whole ones, parts, moved ones. Prints lines as
 * heap.c does. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#define PAGE 4096UL
static long allocations, allocated, frees, freed;
static char *take(size_t pages)
{
    char *p = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    allocations++, allocated += (long)(pages * PAGE);
    return p;
}
/* BLOCKS: maps that are gone as a whole. */
static void give(char *p, size_t pages, int blocks)
{
    munmap(p, pages * PAGE);
    frees += blocks, freed += (long)(pages * PAGE);
}
__attribute__((noinline)) static void part_whole(int n)
{
    for (int i = 0; i < n; i++)
        give(take(1 + (size_t)i % 7), 1 + (size_t)i % 7, 1);
}
__attribute__((noinline)) static void part_parts(void)
{
    char *p = take(10);
    give(p, 2, 0);
    give(p + 8 * PAGE, 2, 0);
    give(p + 4 * PAGE, 2, -1); /* two maps of one */
    give(p + 2 * PAGE, 6, 2);  /* both, and the hole */
    freed -= 2 * (long)PAGE;
}
__attribute__((noinline)) static void part_moved(void)
{
    char *p = take(4), *block = take(1);
    p = mremap(p, 4 * PAGE, 400 * PAGE, MREMAP_MAYMOVE);
    allocations++, allocated += 400 * (long)PAGE, frees++, freed += 4 * (long)PAGE;
    if (mremap(p, 400 * PAGE, 1UL << 46, 0) != MAP_FAILED)
        exit(1);
    give(p, 400, 1);
    give(block, 1, 1);
}
__attribute__((noinline)) static void part_fixed(void)
{
    char *p = take(4);
    mmap(p, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    allocations++, allocated += (long)PAGE, freed += (long)PAGE;
    give(p, 4, 2);
}
__attribute__((noinline)) static void part_leaked(void)
{
    *take(25) = 1;
    char *volatile block = malloc(300000); /* libc's own map is none of the program's */
    free(block);
}
int main(void)
{
    part_whole(1000);
    part_parts();
    part_moved();
    part_fixed();
    part_leaked();
    printf("allocations %ld\nallocated %ld\nfrees %ld\nfreed %ld\nleaked %ld\n", allocations,
           allocated, frees, freed, allocated - freed);
    return 0;
}
