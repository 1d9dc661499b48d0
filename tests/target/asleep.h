/*
 * asleep.h - wait until another thread of this process waits for something itself.
 *
 * However busy the machine is: a thread that could run is in state R. The caller lets it say first
 * that it has come to the place.
 */
#pragma once
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static inline char state_of_thread(int tid)
{
    char path[64], line[512] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid);
    FILE *f = fopen(path, "r");
    if (!f)
        return '?';
    const char *end = fgets(line, sizeof line, f) ? strrchr(line, ')') : NULL;
    fclose(f);
    return end ? end[2] : '?';
}

/* Two looks: a thread may sleep for a moment on the way. */
static inline void wait_until_asleep(int tid)
{
    for (int looks = 0; looks < 3;) {
        struct timespec two_ms = {0, 2000000};
        nanosleep(&two_ms, NULL);
        looks = state_of_thread(tid) == 'S' ? looks + 1 : 0;
    }
}
