/*
 * signals.h - the wish to end (Ctrl-C, kill, a closed terminal) as something to read, and signals
 * that must not end this process.
 *
 * Programs that are started must find signals as they would without us. exec() undoes handlers but
 * keeps what is ignored or blocked. So signals that we do not want to die of get a handler that
 * does nothing, and each new process calls signals_unblock() or sets the mask from before.
 */
#pragma once
#include <signal.h>
#include <stdbool.h>

struct signals {
    int fd;          /* readable when there is a signal; -1 = closed */
    sigset_t before; /* the mask that signals_open() met */
};

/*
 * Block SIGINT, SIGTERM and SIGHUP, and with CHILDREN also SIGCHLD, and read them from fd instead.
 * SIGHUP is left alone where it is ignored: nohup means it. Returns 0, or -1 and errno.
 */
int signals_open(struct signals *s, bool children);

/* Take the next signal; 0 = none is there. */
int signals_take(const struct signals *s);

/* Whether FD, that of an open struct signals, has one; it stays. */
bool signals_pending(int fd);

/* Forget what has not been taken, and put the mask back. Harmless where nothing is open. */
void signals_close(struct signals *s);

/* In a new process: undo what signals_open() blocks. */
void signals_unblock(void);

/* SIGNAL_NUMBER does nothing from now on; programs that are started do not inherit that. */
void signals_survive(int signal_number);
