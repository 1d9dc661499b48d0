/*
 * A program with scopes: tokens, each of which goes through layers.
 *
 *     scopes TOKENS LAYERS     spans of "token" > "layer" (attribute index) > "matmul"
 *     scopes odd               longjmp, fork, deep nesting, names of all kinds, spans across
 * threads scopes many N            N spans as fast as can be scopes names N           N different
 * names
 */
#define _GNU_SOURCE
#include "../../include/kelvin.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile double sink;

static void matmul(int n)
{
    KELVIN_SCOPE("matmul");
    for (int i = 0; i < n; i++)
        sink += i * 0.5;
}

static void layer(int i)
{
    KELVIN_SCOPE("layer", "index", i, "kind", i % 2 ? "odd" : "even");
    matmul(2000 * (i + 1));
}

static void tokens(int n, int layers)
{
    for (int t = 0; t < n; t++) {
        KELVIN_SCOPE("token");
        for (int i = 0; i < layers; i++)
            layer(i);
        KELVIN_COUNT("tokens", 1);
        KELVIN_GAUGE("left", n - t - 1);
    }
    KELVIN_EVENT("done");
}

static void many(long n)
{
    for (long i = 0; i < n; i++) {
        KELVIN_SCOPE("tiny");
    }
}

static void names(long n)
{
    char name[32];
    for (long i = 0; i < n; i++) {
        snprintf(name, sizeof name, "name %ld", i);
        KELVIN_SCOPE_NAMED(name);
    }
}

static jmp_buf back;

static __attribute__((noinline)) void leap(void)
{
    KELVIN_SCOPE("left by longjmp");
    longjmp(back, 1);
}

static void nest(int n)
{
    KELVIN_SCOPE("nested");
    if (n)
        nest(n - 1);
    sink++;
}

static void *finish(void *span)
{
    kelvin_thread_name("finisher");
    KELVIN_SCOPE("finish");
    usleep(2000);
    kelvin_end(*(kelvin_span *)span);
    return NULL;
}

static void cross(void)
{
    pthread_t thread;
    kelvin_span span = kelvin_begin("request");
    pthread_create(&thread, NULL, finish, &span);
    pthread_join(thread, NULL);
}

static void leaping(void)
{
    KELVIN_SCOPE("outer");
    if (!setjmp(back))
        leap();
    KELVIN_SCOPE("after longjmp");
    sink++;
}

static void forking(void)
{
    KELVIN_SCOPE("forking");
    pid_t pid = fork();
    if (pid == 0) {
        {
            KELVIN_SCOPE("child");
            sink++;
        }
        return;
    }
    waitpid(pid, NULL, 0);
}

static void odd(void)
{
    pid_t first = getpid();
    leaping();
    nest(200);
    cross();
    KELVIN_SCOPE("names \"<&>\n\x1b[31m\xff \xc3\xa9", "key", 2.5, "text", "a\tb");
    forking();
    if (getpid() != first)
        _exit(0);
    KELVIN_SCOPE("open at exit");
    exit(0);
}

int main(int argc, char **argv)
{
    long n = argc > 2 ? atol(argv[2]) : 0;
    if (argc > 1 && strcmp(argv[1], "odd") == 0)
        odd();
    else if (argc > 2 && strcmp(argv[1], "many") == 0)
        many(n);
    else if (argc > 2 && strcmp(argv[1], "names") == 0)
        names(n);
    else
        tokens(argc > 1 ? atoi(argv[1]) : 100, argc > 2 ? (int)n : 4);
    return 0;
}
