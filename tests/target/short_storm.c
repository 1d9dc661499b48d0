/*
 * short_storm.c - one short process after the other, as a build makes them.
 *
 * short_storm SECONDS: half of the children work and end, the others exec this program, by fork or
 * vfork.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned sink;

__attribute__((noinline)) static void storm_work(void)
{
    char text[64];
    for (int i = 0; i < 2000; i++) {
        snprintf(text, sizeof text, "%d", i);
        sink += (unsigned)strlen(text);
    }
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "leaf") == 0) {
        storm_work();
        return 0;
    }
    time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 1);
    for (int i = 0; time(NULL) < end; i++) {
        pid_t pid = i % 4 == 3 ? vfork() : fork();
        if (pid == 0) {
            if (i % 2)
                execl("/proc/self/exe", "storm", "leaf", (char *)NULL);
            storm_work();
            _exit(0);
        }
        waitpid(pid, NULL, 0);
    }
    return 0;
}
