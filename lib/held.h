/*
 * held.h - whether a thread holds a lock: what the agent of locks shows to that of the heap.
 *
 * The two are libraries of their own, and either may be missing. The heap's looks for this function
 * when a process begins, and each of its threads keeps the pointer.
 */
#pragma once
#include <stdint.h>

/* Of the agent of locks: how many locks the calling thread holds, now and later. */
#define HELD_SYMBOL "kelvin_locks_held"
typedef const uint32_t *held_count(void);
