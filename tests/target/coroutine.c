/*
 * coroutine.c - work in coroutines made with makecontext(3), each with a stack of its own.
 *
 * coroutine SECONDS: eight of them take turns for that much CPU time.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>

enum { COROUTINES = 8, STACK_BYTES = 64 << 10 };

static ucontext_t scheduler, coroutines[COROUTINES];
static int running;
static volatile unsigned sink;

__attribute__((noinline)) static void coroutine_work(int depth)
{
    char text[64];
    if (depth > 0) {
        coroutine_work(depth - 1);
        sink++;
        return;
    }
    for (int i = 0; i < 500; i++) {
        snprintf(text, sizeof text, "%d %s", i, "text");
        sink += (unsigned)strlen(text);
    }
}

static void coroutine_body(int number)
{
    for (;;) {
        coroutine_work(number);
        swapcontext(&coroutines[running], &scheduler);
    }
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 1;
    for (int i = 0; i < COROUTINES; i++) {
        getcontext(&coroutines[i]);
        coroutines[i].uc_stack.ss_sp = malloc(STACK_BYTES);
        coroutines[i].uc_stack.ss_size = STACK_BYTES;
        makecontext(&coroutines[i], (void (*)(void))coroutine_body, 1, i);
    }
    while ((double)clock() < seconds * CLOCKS_PER_SEC)
        for (running = 0; running < COROUTINES; running++)
            swapcontext(&scheduler, &coroutines[running]);
    return 0;
}
