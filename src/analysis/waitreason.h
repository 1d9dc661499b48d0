/*
 * waitreason.h - what a blocked thread waits for, judged by the functions on its stack.
 *
 * The kernel's own functions say it best: pipe_read, ep_poll, exc_page_fault. Where several match,
 * the one that says most counts, then the innermost. A futex is a lock, or a condition, or
 * something of the program's own: which, only the functions of the program can say. Where the
 * kernel's functions have no names, the function of the C library that was called is asked.
 */
#pragma once
#include "model/profile.h"

enum wait_reason {
    WAIT_UNKNOWN, /* no stack, or the kernel's functions have no names */
    WAIT_LOCK,
    WAIT_CONDITION, /* condition variables, semaphores, barriers */
    WAIT_JOIN,      /* the end of a thread */
    WAIT_FUTEX,     /* of neither kind */
    WAIT_POLL,
    WAIT_SLEEP,
    WAIT_PIPE,
    WAIT_SOCKET,
    WAIT_TERMINAL,
    WAIT_FILE,
    WAIT_SYNC,
    WAIT_PAGE_FAULT,
    WAIT_CHILD,
    WAIT_FILE_LOCK,
    WAIT_MESSAGE, /* queues and semaphores of System V, queues of POSIX */
    WAIT_SIGNAL,
    WAIT_KERNEL_LOCK,
    WAIT_STOPPED,
    WAIT_RECORDER, /* our own library in the program, for the recorder */
    WAIT_OTHER,    /* in the kernel, for something that is not in the table */
    WAIT_REASONS,
};

/* "lock"; the same in text and JSON. */
const char *waitreason_name(enum wait_reason r);

/* "a mutex or reader-writer lock": for people. */
const char *waitreason_about(enum wait_reason r);

struct waitreason_frame {
    struct text name; /* "" = not known */
    bool kernel;
};

/* The reason of a stack of N frames, innermost first. */
enum wait_reason waitreason_of(const struct waitreason_frame *frames, size_t n);

/* The same for a stack of a profile. */
enum wait_reason waitreason_of_stack(const struct profile *p, struct stack_id stack);
