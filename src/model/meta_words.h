/*
 * meta_words.h - what is known about how something was measured, as people read it.
 *
 * Views choose which keys of a struct meta they show, and in which order; how a key is called and
 * how its value is written is decided here, for all of them.
 */
#pragma once
#include "base/buf.h"
#include "model/meta.h"

/* Keys that belong together, for a view's list. */
#define META_KEYS_COMMIT META_COMMIT, META_BRANCH, META_DIRTY
#define META_KEYS_HOST                                                                          \
    META_HOST, META_CPU, META_CPUS, META_ARCH, META_MEMORY, META_OS, META_KERNEL, META_VIRTUAL, \
        META_CONTAINER, META_GOVERNOR, META_TURBO, META_SMT, META_CLOCK, META_LOAD

/* "frequency governor" for META_GOVERNOR; the key itself where nothing better is known. */
const char *meta_words_title(const char *key);

/* Add to META_RUNNING: "cycles 62% of the time". Nothing where ENABLED_NS is 0, not known. */
void meta_words_running(struct buf *b, const char *event, uint64_t enabled_ns, uint64_t running_ns);

/* The value of KEY: dates and durations in words, all else as it is. False = not known. */
bool meta_words_value(struct buf *ret, const struct meta *m, const char *key);
