/*
 * mailbox.h - memory that a recorder shares with the programs it samples from within.
 *
 * The agent in each program (lib/) puts letters into slots, the recorder takes them out. Nobody
 * waits for anybody: a slot is free, taken by a thread that writes, or full. A thread that dies
 * while it writes blocks one slot until the recorder sees that the thread has ended.
 *
 *     0         page         states_end
 *     | mailbox | states ... | slot 0 | slot 1 | ...
 *
 * The recorder trusts nothing in here: any program may scribble on it.
 */
#pragma once
#include <stdatomic.h>
#include <stdint.h>

/* Changes with the layout. */
#define MAILBOX_MAGIC UINT64_C(0x3278626d766c656b) /* "kelvmbx2" */

/*
 * Where the mailbox is: "PID FD INODE". FD is inherited, unless somebody closed it; then it can
 * still be found as /proc/PID/fd/FD.
 */
#define MAILBOX_ENV "KELVIN_AGENT"

#define MAILBOX_AGENT_FILE "libkelvin-agent.so"

enum { MAILBOX_PAGE = 4096 };

/* A slot's state; bits 32..63 are the thread that took it. */
enum { SLOT_FREE, SLOT_TAKEN, SLOT_FULL };

struct mailbox {
    uint64_t magic, size_bytes;
    uint32_t n_slots, slot_bytes; /* of a slot, whole pages */
    uint32_t stack_bytes;         /* of each stack to copy at most */
    int32_t recorder_pid;
    uint64_t interval_ns;           /* of CPU time between two samples of a thread */
    uint64_t tick_ns;               /* how often the kernel looks whether that is over */
    _Atomic uint32_t stop;          /* recording is over */
    _Atomic uint32_t next;          /* where to look for a free slot */
    _Atomic uint64_t lost, lost_ns; /* samples that found no slot, and what they stand for */
    _Atomic uint64_t unsampled;     /* threads that could not get a timer */
};

enum letter_kind {
    LETTER_START, /* a program begins; the bytes are the executable lines of its maps */
    LETTER_MAPS,  /* the same, as it is before it ends */
    LETTER_FORK,  /* of parent_pid and parent_tid */
    LETTER_SAMPLE /* the bytes are the stack from sp on */
};

enum { LETTER_REGS = 20 };

/* The start of a slot; the bytes follow. */
struct letter {
    uint64_t time_ns; /* CLOCK_MONOTONIC */
    uint64_t period_ns;
    uint32_t kind;
    int32_t pid, tid, parent_pid, parent_tid;
    uint32_t n_bytes;
    uint64_t regs[LETTER_REGS]; /* of a sample: a struct unwind_regs */
    char comm[16];              /* of the thread when it began */
};

static inline uint8_t *letter_bytes(const struct letter *l)
{
    return (uint8_t *)(uintptr_t)(l + 1);
}

static inline uint64_t mailbox_round_up(uint64_t n)
{
    return (n + MAILBOX_PAGE - 1) / MAILBOX_PAGE * MAILBOX_PAGE;
}

static inline uint64_t mailbox_slots_start(uint64_t n_slots)
{
    return MAILBOX_PAGE + mailbox_round_up(n_slots * sizeof(uint64_t));
}

static inline uint64_t mailbox_size(uint64_t n_slots, uint64_t slot_bytes)
{
    return mailbox_slots_start(n_slots) + n_slots * slot_bytes;
}

static inline _Atomic uint64_t *mailbox_state(struct mailbox *box, uint32_t slot)
{
    return (_Atomic uint64_t *)(void *)((char *)box + MAILBOX_PAGE) + slot;
}
