/*
 * heap_stacks.h - the stacks that agents walk themselves: a trie that they write, the unwind rules
 * that they read, and what their processes have mapped. Of the heap, and of locks.
 *
 * The caller's rings bring the records START, MAPS and FORK (wire/heap.h), which belong here.
 */
#pragma once
#include "record/heap_images.h"

enum { HEAP_MAPS_WORDS = 5 }; /* of a record START or MAPS, at least */

struct heap_stacks {
    struct profile *profile;
    struct shared trie;
    struct heap_images_writer images;
    struct processes *spaces;    /* what programs have mapped, in the order of their own records */
    VEC(uint32_t) stack_of_node; /* stack + 1; 0 = not asked for yet */
    VEC(uint8_t) end_of_node;    /* enum heap_end */
    VEC(uint32_t) chain;         /* nodes of the stack at hand */
};

/* Of no use yet, but may be closed. */
#define HEAP_STACKS_NONE ((struct heap_stacks){.trie.fd = -1, .images.memory.fd = -1})

/* Make the memory, and say in the channel where it is. S is HEAP_STACKS_NONE before. */
int heap_stacks_open(struct heap_stacks *s, struct profile *p, struct channel *c, struct err *err);
void heap_stacks_close(struct heap_stacks *s);

/* A process has told what it has mapped: answer. The caller wakes its rings. */
void heap_stacks_take_maps(struct heap_stacks *s, int pid, const struct record *rec);
void heap_stacks_take_fork(struct heap_stacks *s, int pid, const struct record *rec);

/* The stack of a node; nodes of processes that are gone stay what they were. */
struct stack_id heap_stacks_get(struct heap_stacks *s, int pid, uint32_t node, uint8_t *ret_end);

/* Why a stack ends too early. */
const char *heap_stacks_end_name(enum heap_end end);
