/*
 * insight_names.h - functions that are known by name.
 *
 * NULL-terminated lists of patterns: "malloc" is the whole name, "malloc*" how it starts,
 * "*malloc*" a part of it. A 'k:' in front: kernel code only; else the program's only.
 */
#pragma once
#include "base/text.h"

extern const char *const names_allocation[];
extern const char *const names_any_call[]; /* make whatever system call is asked of them */
extern const char *const names_collectors[];
extern const char *const names_hashing[];
extern const char *const names_locks[];
extern const char *const names_copies[], *const names_fills[];
extern const char *const names_kernel_copies[]; /* for system calls */
extern const char *const names_faults[];
extern const char *const names_exceptions[];
extern const char *const names_format[];
extern const char *const names_system_calls[];
extern const char *const names_interrupts_on[]; /* where time without interrupts shows */
extern const char *const names_syncs[], *const names_disk_reads[], *const names_starts[];
extern const char *const names_transfers[];
extern const char *const names_interpreters[];

bool names_match(const char *const *patterns, struct text name, bool kernel);

/*
 * The same for many names: of 10^6 functions most are excluded by their first letter, and most
 * others by a letter that they lack.
 */
enum { NAMES_WORDS = 2, NAMES_MAX = 64 * NAMES_WORDS };
struct names_set {
    const char *const *patterns;
    /* Of the program's and the kernel's: bits of those that may start with a letter. */
    uint64_t starting[2][256][NAMES_WORDS];
    uint64_t letters[NAMES_MAX]; /* that a name must have */
};

void names_set_init(struct names_set *s, const char *const *patterns); /* at most NAMES_MAX */
bool names_set_has(const struct names_set *s, struct text name, bool kernel);
