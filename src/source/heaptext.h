/*
 * heaptext.h - heap profiles as text, of tcmalloc and jemalloc.
 *
 *     heap profile:  2: 3000 [ 9: 8000] @ heapprofile     tcmalloc; live, and [allocated in all]
 *      2: 3000 [ 9: 8000] @ 0x4011ce 0x40120b             objects, bytes, stack innermost first
 *
 *     heap_v2/524288                                      jemalloc; bytes from sample to sample
 *       t*: 2: 3000 [9: 8000]                             all threads, of all stacks
 *     @ 0x4011ce 0x40120b
 *       t*: 2: 3000 [9: 8000]                             all threads; then each thread
 *
 * Both end in "MAPPED_LIBRARIES:" and the lines of /proc/self/maps. Where only some allocations
 * were sampled, one of SIZE bytes had the probability 1 - exp(-SIZE / rate), and values are divided
 * by that, as pprof and jeprof do. The file has sums only, so SIZE is the mean of each stack.
 */
#pragma once
#include "source/addrstacks.h"

/* Whether HEAD is the first line of one by tcmalloc. */
bool heaptext_is_tcmalloc(struct text head);

/* Read all of it, from its first line. */
int heaptext_read(struct addrstacks *a, struct err *err);
