/*
 * heapstory.h - what happened on the heap of a recording: totals, peak, leaks, growth, churn, by
 * place.
 *
 * A place is the innermost function of a stack that does more than allocate for others: behind
 * operator new, containers and strdup comes who asked for them.
 */
#pragma once
#include "analysis/label.h"
#include "analysis/suppressions.h"
#include "base/arena.h"

enum heapstory_value {
    STORY_ALLOCATIONS, /* blocks */
    STORY_ALLOCATED,   /* bytes */
    STORY_FREES,
    STORY_FREED,
    STORY_TEMPORARY, /* blocks freed by the same thread before its next allocation */
    STORY_SAMPLES,   /* 0 where every block was seen */
    STORY_LEAKED,
    STORY_PEAK,
    STORY_LEAKED_BLOCKS, /* as the input counts them, or allocations - frees */
    STORY_VALUES,
};

enum { STORY_TIMES = 20, STORY_CLASSES = 64 };

struct heapstory_place {
    uint32_t label;
    int64_t value[STORY_VALUES];
    int64_t live[STORY_TIMES];   /* bytes at the end of each twentieth of the recording */
    bool grows;                  /* ever more, all through the second half */
    int64_t held_from, held_to;  /* bytes at the ends of the range, where one is asked for */
    int64_t size[STORY_CLASSES]; /* blocks seen, by power of two */
    int64_t added;               /* bytes of glibc's malloc beside those of small blocks */
    int64_t grown;               /* blocks for more elements than there was room for */
    int64_t copies, copies_ended, copies_brief; /* blocks of strings made of others; see above */
};

/* Blocks that are freed sooner are brief: a power of two, in ns (17 ms). */
enum { STORY_BRIEF = 24 };

struct heapstory_insight {
    const char *title, *text, *advice;
};

struct heapstory {
    const struct profile *profile;
    int stream;
    bool sampled;
    bool lossy;             /* records were lost: no number is exact */
    bool cut;               /* nothing after some moment: who held what at the peak is not known */
    bool attached;          /* the process ran already: only blocks that came since are known */
    bool has[STORY_VALUES]; /* what the input knows: the rest is 0 and says nothing */
    bool timed;             /* it knows when */
    const struct suppressions *known_leaks; /* NULL = none */
    int64_t known_bytes, known_blocks;      /* leaked as they say; in no other number of leaks */
    int64_t value[STORY_VALUES];
    uint64_t start_ns, end_ns, peak_ns; /* in the clock of the rows */
    const struct counter *live;         /* NULL = none */
    const struct counter *rss;          /* of the process that had most */
    int64_t rss_max;                    /* 0 = not known */
    int64_t size[STORY_CLASSES], lifetime[STORY_CLASSES];
    bool has_added;             /* every block was glibc's, and seen */
    int64_t added;              /* bytes of malloc beside those of small blocks */
    const char *range;          /* as it was asked for; NULL = none */
    int64_t held_from, held_to; /* by all places */
    uint32_t *place_of_stack;   /* + 1; 0 = none */
    VEC(struct heapstory_place) places;
    VEC(struct heapstory_insight) insights;
    struct labels labels;
    struct arena arena;
};

/*
 * Fails when P has no stream of a heap with bytes that were allocated, held or leaked. What leaked
 * as KNOWN_LEAKS says (NULL: nothing) is left out of what leaked. They must outlive the story.
 */
int heapstory_build(struct heapstory *s, const struct profile *p,
                    const struct suppressions *known_leaks, struct err *err);
void heapstory_done(struct heapstory *s);

/*
 * Find what was held at both ends of TIME ("1.5..3", as selections have it), after the story was
 * built. Rows are sums of HEAP_SLICE_MS: the ends are that exact.
 */
int heapstory_between(struct heapstory *s, const char *time, struct err *err);

/* The places that held more at its end than at its beginning, by the difference. */
size_t heapstory_grown(const struct heapstory *s, uint32_t *ret, size_t max);

/* Fewer sampled blocks than this prove nothing about the program. */
enum { HEAPSTORY_FEW_SAMPLES = 10 };

static inline bool heapstory_is_rough(const struct heapstory *s)
{
    return s->sampled && s->value[STORY_SAMPLES] < HEAPSTORY_FEW_SAMPLES;
}

/* The places by a value, largest first: indices into s->places, at most MAX. Returns how many. */
size_t heapstory_top(const struct heapstory *s, enum heapstory_value by, uint32_t *ret, size_t max);

/* The places that keep growing, by growth over the second half. */
size_t heapstory_growing(const struct heapstory *s, uint32_t *ret, size_t max);
int64_t heapstory_growth(const struct heapstory_place *p);

/* Blocks seen below HEAP_SMALL_BYTES. */
int64_t heapstory_small_blocks(const struct heapstory *s);

/* Blocks never freed. */
static inline int64_t heapstory_left(const int64_t *value)
{
    return value[STORY_LEAKED_BLOCKS] > 0 ? value[STORY_LEAKED_BLOCKS] : 0;
}

/* The value that every place has: what was allocated, where that is known. */
static inline enum heapstory_value heapstory_main_value(const struct heapstory *s)
{
    return s->has[STORY_ALLOCATED] ? STORY_ALLOCATED
           : s->has[STORY_PEAK]    ? STORY_PEAK
                                   : STORY_LEAKED;
}

static inline struct text heapstory_name(const struct heapstory *s, const struct heapstory_place *p)
{
    return labels_text(&s->labels, p->label);
}

/* Seconds from the start of the heap's rows. */
static inline double heapstory_seconds(const struct heapstory *s, uint64_t time_ns)
{
    return time_ns > s->start_ns ? (double)(time_ns - s->start_ns) / 1e9 : 0;
}

/* What stands out; called by heapstory_build(). */
void heapstory_find_insights(struct heapstory *s);
