/*
 * handlers.c - signal handlers that are interrupted by signal handlers.
 *
 * handlers SECONDS [alt]: three deep on the stack of what they interrupt; with alt on a stack of
 * their own (sigaltstack).
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned sink;

__attribute__((noinline)) static void handler_work(unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        sink += i * 7;
}

static void handler_inner(int sig)
{
    (void)sig;
    handler_work(100000);
    sink++; /* no tail call */
}

static void handler_middle(int sig)
{
    (void)sig;
    raise(SIGUSR2);
    handler_work(100000);
    sink++; /* no tail call */
}

static void handler_outer(int sig)
{
    (void)sig;
    raise(SIGUSR1);
    handler_work(100000);
    sink++; /* no tail call */
}

__attribute__((noinline)) static void interrupted(int depth)
{
    if (depth > 0) {
        interrupted(depth - 1);
        sink++;
        return;
    }
    handler_work(50000);
    kill(getpid(), SIGTERM);
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 1;
    stack_t own = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
    struct sigaction act = {.sa_handler = handler_inner, .sa_flags = argc > 2 ? SA_ONSTACK : 0};
    sigaltstack(&own, NULL);
    sigaction(SIGUSR2, &act, NULL);
    act.sa_handler = handler_middle;
    sigaction(SIGUSR1, &act, NULL);
    act.sa_handler = handler_outer;
    sigaction(SIGTERM, &act, NULL);
    while ((double)clock() < seconds * CLOCKS_PER_SEC)
        interrupted(10);
    return 0;
}
