/*
 * agent.h - the inside of the agent, the library that samples the program it is loaded into.
 *
 *     agent.c    finds the mailbox, follows fork, says what is mapped
 *     sampler.c  a CPU-time timer for every thread, and the handler of its signal
 *     proc.c     what is asked of the kernel without malloc
 *     shield.c   keeps the signal working when the program changes all signals at once
 *     narrow.c   keeps the signal away from threads that have no room for it
 *
 * This is somebody else's program: nothing here prints, ends it, takes a lock or uses its malloc.
 * Samples that cannot be taken are left out and counted in the mailbox.
 *
 * The handler of the signal makes no system call: it claims a slot of the mailbox with a compare
 * and swap and copies registers and stack into it. Where no slot is free, the sample is counted.
 * Stacks are copied only inside memory known to be there, from sp to the end of the thread's stack;
 * of stacks unknown to us (coroutines, alternate stacks) the kernel copies what there is.
 *
 * A sample stands for the CPU time since the one before, because the kernel looks at such timers
 * only at its tick. The first sample of a thread stands for a tick: a tick meets a short thread
 * with the probability life / tick.
 *
 * Besides signal functions only pthread_create, pthread_setname_np and prctl are wrapped. A program
 * that uses the signal itself still gets its own. dlopen looks at its caller and is left alone:
 * when a stack ends in memory that is not known, the recorder reads the maps of the process again.
 */
#pragma once
#include "proc.h"
#include "wire/mailbox.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#define AGENT_API __attribute__((visibility("default")))

/* Real-time signals are queued, carry their overrun, and few programs use the last ones. */
#define AGENT_SIGNAL (SIGRTMAX - 3)

struct agent {
    struct mailbox *box; /* NULL: not sampled */
    uint32_t n_slots;    /* copies: the box may be scribbled on */
    uint32_t slot_bytes, stack_bytes;
    uint64_t interval_ns, tick_ns;
    uint8_t *slots;
    int pid;
    struct sigaction theirs; /* what the program thinks the signal does */
};

/* The agent's state of a thread. */
struct thread {
    bool armed;
    bool met;     /* by a tick, since armed */
    bool resting; /* a signal could harm it now: not sampled */
    int timer, tid;
    struct proc_ids seen;           /* as the recorder numbers it; 0 = not known, not sampled */
    uintptr_t stack_low, stack_end; /* memory from a sp in here to the end is there */
    char comm[16];
};

extern struct agent agent;
extern __thread struct thread self;

/* Set up the agent unless that is done. Threads may be made before the constructor runs. */
void agent_init(void);

/* A letter to fill in, or NULL when there is no room. Safe in a signal handler. */
struct letter *agent_letter_begin(enum letter_kind kind, uint32_t *ret_slot);
void agent_letter_end(uint32_t slot);

/* Set up the signal, and the main thread, whose stack ends at STACK_END. */
void sampler_init(uintptr_t stack_end);

/* The recorder's numbers of this thread into self.seen. */
void sampler_ask_ids(void);

/* Let the timer of this thread run. */
void sampler_begin(void);

/* No signal of ours comes to this thread from now on; counted. Or let them come again. */
void sampler_rest(void);
void sampler_resume(void);

/* The functions of libc that shield.c stands in for. */
int shield_next_sigaction(int sig, const struct sigaction *act, struct sigaction *old);
int shield_next_sigmask(int how, const sigset_t *set, sigset_t *old);
