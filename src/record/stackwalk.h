/*
 * stackwalk.h - the stacks that agents walk themselves: a trie that they write, the unwind rules
 * that they read, and what their processes have mapped. Of the heap, and of locks.
 *
 * The caller's rings contain the records START, MAPS and FORK (wire/stackwalk.h), which belong
 * here.
 */
#pragma once
#include "record/stackwalk_images.h"

enum { STACKWALK_MAPS_WORDS = 5 }; /* of a record START or MAPS, at least */

struct stackwalk {
    struct profile *profile;
    struct shared trie;
    struct stackwalk_images_writer images;
    struct processes *spaces;    /* what programs have mapped, in the order of their own records */
    VEC(uint32_t) stack_of_node; /* stack + 1; 0 = not asked for yet */
    VEC(uint8_t) end_of_node;    /* enum stackwalk_end */
    VEC(uint32_t) chain;         /* nodes of the stack at hand */
};

/* Of no use yet, but may be closed. */
#define STACKWALK_NONE ((struct stackwalk){.trie.fd = -1, .images.memory.fd = -1})

/* Make the memory, and say in the channel where it is. S is STACKWALK_NONE before. */
int stackwalk_open(struct stackwalk *s, struct profile *p, struct channel *c, struct err *err);
void stackwalk_close(struct stackwalk *s);

/* No more stacks come: what programs left about the code they made is there now. */
void stackwalk_end(struct stackwalk *s);

/* A process has reported what it has mapped: answer. The caller wakes its rings. */
void stackwalk_take_maps(struct stackwalk *s, int pid, const struct record *rec);

/* The lines of /proc/PID/maps in such a record, of at least STACKWALK_MAPS_WORDS words. */
struct text stackwalk_maps_text(const struct record *rec);
void stackwalk_take_fork(struct stackwalk *s, int pid, const struct record *rec);

/* The stack of a node; nodes of processes that have ended keep theirs. */
struct stack_id stackwalk_get(struct stackwalk *s, int pid, uint32_t node, uint8_t *ret_end);

/* Why a stack ends too early. */
const char *stackwalk_end_name(enum stackwalk_end end);
