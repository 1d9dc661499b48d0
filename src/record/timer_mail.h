/*
 * timer_mail.h - the recorder's side of the mailbox: make it, take letters out in order of time.
 */
#pragma once
#include "base/err.h"
#include "base/vec.h"
#include "wire/mailbox.h"

/* A letter as it was when it was taken; its bytes stay in the mailbox until it is released. */
struct mail_item {
    struct letter head;
    const uint8_t *bytes; /* head.n_bytes of them */
    uint32_t slot;
};

struct mail {
    int fd; /* -1 = none; inherited by children */
    uint64_t inode, size_bytes;
    struct mailbox *box;
    uint32_t n_slots, slot_bytes; /* what is in the mailbox itself is not trusted */
    VEC(struct mail_item) items;
};

struct mail_opts {
    uint64_t interval_ns, tick_ns;
    uint32_t stack_bytes;
};

int mail_open(struct mail *m, const struct mail_opts *o, struct err *err);
void mail_close(struct mail *m);

/* Fill m->items, earliest first. Release each of them before the next call. */
void mail_collect(struct mail *m);
void mail_release(struct mail *m, const struct mail_item *item);
