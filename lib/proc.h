/*
 * proc.h - what agents ask the kernel about their process, without malloc, stdio or locks.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* CLOCK_MONOTONIC of the kernel, whatever was preloaded (kernelclock.c). */
uint64_t proc_now_ns(void);

/*
 * The calling thread as process RECORDER numbers it. A program may be in a pid namespace of its
 * own, where its numbers are others; false: it has a /proc of its own there, too, and cannot know.
 */
struct proc_ids {
    int32_t pid, tid;
};
bool proc_own_ids(int32_t recorder, struct proc_ids *ret);

/* Process PID has ended. One that a pid namespace hides is not known to have. */
bool proc_is_gone(int32_t pid);

/* Whether the recorder is in another pid namespace. */
bool proc_is_apart(void);

/* Open /proc/PID/fd/FD. */
int proc_open_fd_of(uint64_t pid, uint64_t fd);

/* Fill TO with whole lines of /proc/self/maps that have code, at most MAX bytes. Returns how many.
 */
uint32_t proc_read_maps(uint8_t *to, uint32_t max);

/* The mapping that holds ADDRESS: false where there is none that can be read. */
bool proc_find_map(uintptr_t address, uintptr_t *ret_start, uintptr_t *ret_end);

/* A variable of the environment into TO, from /proc: libc may not have begun. False: none. */
bool proc_read_env(const char *name, char *to, size_t max);

/* Empty memory of our own, past a stand-in for mmap; NULL when there is none. */
void *proc_map(size_t n_bytes);
void proc_unmap(void *at, size_t n_bytes);
