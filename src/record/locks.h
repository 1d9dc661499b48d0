/*
 * locks.h - every wait of a command for a lock, beside the engine that samples.
 *
 *     locks.c        rings of all threads, in any order
 *     locks_take.c   what a record does
 *     stackwalk.c    stacks that the agents walked themselves
 *
 * An agent (lib/locks.c) is preloaded: only threads that have to wait report something, and threads
 * that let go of what another waits for. Nothing there waits for the recorder; records that find
 * no room are lost and counted.
 *
 *     stream "locks"         a row for each wait: stack and thread that waited, attributes lock,
 *                            kind and holder, when and how long
 *                            (`ended` = "no": it had not ended when the program or recording did)
 *     stream "lock-holders"  the same waits, with the stack and thread that held the lock when
 *                            the wait began, taken when it let go
 *     stream "lock-holds"    how long locks were held that others waited for, with the stack and
 *                            thread that let go: duration from the lock to the unlock
 *     stream "lock-created"  where locks were made (pthread_mutex_init) that somebody waited for
 *     stream "lock-order"    where a lock was first taken while another was held; attributes lock
 *                            and held
 *
 * The record of a holder comes after it has let go, on a busy machine long after: a wait is kept
 * until that was seen, or for a second. A lock is called what the program calls it
 * (kelvin_lock_name), else by its symbol, else by its address.
 */
#pragma once
#include "process/process.h"

struct locks;

/* Something in a file that is mapped; its address is as the file was linked. */
struct locks_place {
    const char *path;
    struct text build_id;
    uint64_t address;
};

/* What a symbol calls a place, "queue+8"; NULL where there is none. The caller frees it. */
typedef char *locks_namer(void *arg, const struct locks_place *place);

struct locks_opts {
    char **command;
    struct profile *profile;
    struct processes *processes; /* for names of threads */
    locks_namer *name;           /* may be NULL */
    void *name_arg;
};

struct locks_facts {
    uint64_t programs; /* that an agent got into */
    uint64_t waits, wait_ns;
    uint64_t signal_waits, signal_ns; /* of these, for conditions, semaphores and barriers */
    uint64_t open;     /* of all, that had not ended when the program or the recording did */
    uint64_t locks;    /* that somebody waited for */
    uint64_t signals;  /* of these, conditions, semaphores and barriers */
    uint64_t lost;     /* records that found no room */
    uint64_t ringless; /* threads that found no ring */
    uint64_t bad;      /* records that make no sense */
};

/* Before the command is forked. Refuses programs that no agent gets into. */
int locks_open(const struct locks_opts *o, struct locks **ret, struct err *err);
void locks_attach(struct locks *l); /* the command is forked, and waits */

/* Take what came. True when there is more. */
bool locks_poll(struct locks *l);

/* Take the rest. */
void locks_stop(struct locks *l);
const struct locks_facts *locks_facts(struct locks *l);
void locks_close(struct locks *l); /* NULL is fine */
