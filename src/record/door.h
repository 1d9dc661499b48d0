/*
 * door.h - into a program that runs: where include/kelvin.h waits for a recorder.
 *
 * Each module of a program that includes the header has a door in its data: a struct kelvin_door
 * with a magic number, so that programs without symbols have it, too. To knock is to fill it in and
 * to switch on the module's scopes, whose next one loads the agent (lib/scopes_self.c) and makes
 * rings; their file is then opened by way of /proc. All of this takes the right to write the memory
 * of the process: root, or the same user where the kernel allows it (kernel.yama.ptrace_scope).
 *
 * The program may change or forge all that is read here. What is written goes to its own memory.
 */
#pragma once
#include "base/err.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct doors {
    int pid;
    VEC(uint64_t) at; /* addresses in the program */
    uint64_t request;
};

/* What came of it. */
enum door_answer {
    DOOR_SILENT, /* no scope has begun yet */
    DOOR_OPEN,
    DOOR_BUSY,   /* another recorder is there */
    DOOR_FAILED, /* the agent could not be loaded, or there was no memory */
};

/*
 * Look for the doors of a process. Fails when its memory may not be read or written; no door is no
 * failure.
 */
int doors_find(struct doors *d, int pid, struct err *err);

/* Ask all of them for rings. Library: a path that the program can open. */
int doors_knock(struct doors *d, const char *library, bool has_ticks, struct err *err);

/* Whether one has answered, and the file of the rings in the program. */
enum door_answer doors_ask(const struct doors *d, int *ret_fd);

/* Switch the scopes off. */
void doors_close(struct doors *d);
