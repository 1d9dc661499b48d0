/*
 * channel.h - the agent's end of a channel (wire/channel.h): finds it, takes rings for threads.
 *
 * Like all of the agent: no malloc of the program, no lock, no print, errno as it was.
 */
#pragma once
#include "wire/channel.h"

/* The channel of this process, or NULL where there is none. Found once. */
extern struct channel *channel;

/* Look for it in a variable of the environment. Again is harmless. */
void channel_find_in(const char *env);

/* Make one of our own. Its file, whose size cannot change, is for a recorder to find; -1 = none. */
int channel_make(uint32_t n, uint32_t bytes, uint32_t task);

/* A file of the recorder's: an inherited descriptor, or the same number in its own process. */
struct channel_file {
    uint32_t fd;
    uint64_t inode;
};

/* What a variable of the environment says: "PID FD INODE". False: there is none. */
bool channel_read_address(const char *env, uint64_t *ret_pid, struct channel_file *ret);

/* Map one of process PID; NULL when it cannot be had. */
void *channel_map(uint64_t pid, const struct channel_file *f, bool writable, uint64_t *ret_bytes);

/* Whether TASK (CHANNEL_*) is asked for now: one load and a branch. */
static inline bool channel_wants(uint32_t task)
{
    return channel && (atomic_load_explicit(&channel->tasks, memory_order_relaxed) & task);
}

/* Take a ring for this thread. False when there is none free: counted. */
bool channel_open_ring(struct ring_writer *w, uint32_t task);

/* The thread ends, or has forked: a ring of the parent's stays the parent's. */
void channel_close_ring(struct ring_writer *w);
void channel_forget_ring(struct ring_writer *w);

/* Wait until the recorder has made room, or is gone: then recording is over, and false. */
bool channel_wait(struct ring_writer *w);
