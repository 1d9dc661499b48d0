/*
 * sender.h - whether a thread is woken by who runs there, though it is a soft interrupt that wakes.
 *
 * Data that a thread sends over the loopback interface is received on the same CPU at once, in a
 * soft interrupt that runs before the thread goes on:
 *
 *     try_to_wake_up < sock_def_readable < tcp_v4_rcv < process_backlog < net_rx_action
 *         < handle_softirqs < __local_bh_enable_ip < __dev_queue_xmit < tcp_sendmsg < sys_sendto
 *
 * A thread that is merely interrupted has the end of an interrupt (__irq_exit_rcu) there instead.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum sender_mark {
    SENDER_RECEIVES,
    SENDER_SENDS,
    SENDER_INTERRUPTED,
    SENDER_IS_OTHER,
    SENDER_MARKS
};

/* Where functions of the kernel are; both ends 0 = not known. */
struct sender {
    struct sender_range {
        uint64_t from, to;
    } at[SENDER_MARKS];
};

/* Read the kernel's list of symbols, which takes some milliseconds: before anything is recorded. */
void sender_find(struct sender *s);
void sender_read(struct sender *s, FILE *symbols);

/* PCS is the kernel's call chain at a wakeup in a soft interrupt, innermost first. */
bool sender_is_current(const struct sender *s, const uint64_t *pcs, size_t n);
