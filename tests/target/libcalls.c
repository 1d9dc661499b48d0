/*
 * libcalls.c - most of the time in the C library, in two threads: sorting, printing, memory,
 * numbers, files. Built with musl-gcc -static it is a program without unwind rules.
 *
 * libcalls SECONDS: of CPU time.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned sink;
static volatile double real_sink;

static int compare(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

__attribute__((noinline)) static void calls_sort(void)
{
    int numbers[500];
    for (int i = 0; i < 500; i++)
        numbers[i] = i * 7919 % 1009;
    qsort(numbers, 500, sizeof *numbers, compare);
    sink += (unsigned)numbers[3];
}

__attribute__((noinline)) static void calls_print(void)
{
    char text[200];
    for (int i = 0; i < 100; i++) {
        snprintf(text, sizeof text, "%d %s %g", i, "text", i * 0.7);
        sink += (unsigned)strlen(text);
    }
}

__attribute__((noinline)) static void calls_memory(void)
{
    for (size_t i = 1; i < 200; i++) {
        char *from = malloc(i * 100), *to = malloc(i * 100);
        memset(from, (int)i, i * 100);
        memcpy(to, from, i * 100);
        sink += (unsigned)to[i];
        free(from);
        free(to);
    }
}

__attribute__((noinline)) static void calls_numbers(void)
{
    for (int i = 1; i < 500; i++)
        real_sink += strtod("12345.678e-3", NULL) + strtod("0.1", NULL);
}

__attribute__((noinline)) static void calls_files(void)
{
    char bytes[4096];
    int fd = open("/dev/zero", O_RDONLY);
    for (int i = 0; i < 50; i++)
        sink += (unsigned)read(fd, bytes, sizeof bytes);
    close(fd);
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(bytes, sizeof bytes, f))
        sink += (unsigned)strtol(bytes + 5, NULL, 10);
    if (f)
        fclose(f);
}

static void *calls_all(void *until)
{
    do {
        calls_sort();
        calls_print();
        calls_memory();
        calls_numbers();
        calls_files();
    } while ((double)clock() < *(double *)until);
    return NULL;
}

int main(int argc, char **argv)
{
    double until = (argc > 1 ? atof(argv[1]) : 1) * CLOCKS_PER_SEC;
    pthread_t thread;
    pthread_create(&thread, NULL, calls_all, &until);
    calls_all(&until);
    pthread_join(thread, NULL);
    return 0;
}
