/*
 * guard.h - arrays beside inaccessible pages, and calls whose faults are survived.
 *
 *     | 64 KiB none | canary | array | canary | 64 KiB none |
 *
 * An array ends flush with the inaccessible bytes behind it, or starts flush with those in front,
 * or ends a few bytes earlier so that it has any alignment. Between it and the pages lie canary
 * bytes: at least 64, where there is room.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    GUARD_BYTES = 64 << 10,   /* inaccessible, at each end */
    GUARD_CANARY_BYTES = 64,  /* looked after, at each end of the array */
    GUARD_AT_START = -1,      /* a place: right behind the first guard; -2: a byte later... */
    GUARD_MAX_BYTES = 1 << 30 /* of an array */
};

struct region {
    uint8_t *base; /* of the accessible bytes; NULL = not mapped yet */
    size_t size_bytes;
    uint8_t *at; /* the array that lies here now */
    size_t n_bytes;
};

/*
 * Lay an array of N_BYTES (at most GUARD_MAX_BYTES) so that it ends PLACE bytes before the guard
 * behind it; or below 0, counted from the guard in front. Its contents are undefined. NULL when out
 * of memory.
 */
uint8_t *region_place(struct region *r, size_t n_bytes, int place);
void region_done(struct region *r);

/* Make the bytes around the array known, and look whether they still are: NULL, or the first. */
void region_mark(const struct region *r);
const uint8_t *region_scribbled(const struct region *r);

/* Let nothing write to it, or let it again. -1 when that cannot be had. */
int region_seal(const struct region *r, bool sealed);

/* How far ADDRESS lies before (below 0) or after the array, if in this region or its guards. */
bool region_holds(const struct region *r, uintptr_t address);

enum access { ACCESS_UNKNOWN, ACCESS_READ, ACCESS_WRITE };

struct fault {
    int signal; /* 0 = none */
    uintptr_t address;
    bool has_address; /* the processor does not report it for misaligned vector accesses */
    enum access access;
};

enum { GUARD_HANG = 64 }; /* fault.signal: did not return */

/*
 * From here on faults in guarded calls are caught, until guard_close(). CPU_LIMIT_S: a call that
 * computes for longer does not return. -1 when the handlers cannot be set.
 */
int guard_open(int cpu_limit_s);
void guard_close(void);

/*
 * Call F(ARG). Returns 0 when it returned, 1 when it faulted, 2 when it called guard_leave().
 * Not to be nested. What F had on its stack is gone in the last two cases.
 */
int guard_call(void (*f)(void *arg), void *arg, struct fault *ret_fault);
_Noreturn void guard_leave(void);

/* A function that cannot be called: the call faults at this address. */
uintptr_t guard_trap(void);
