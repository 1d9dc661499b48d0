/*
 * heapstory.h - what happened on the heap of a recording: totals, peak, leaks, growth, churn, by
 * place.
 *
 * A place is the innermost function of a stack that asked for memory for itself: heapwrappers.h
 * says which do not.
 */
#pragma once
#include "analysis/finding.h"
#include "analysis/label.h"
#include "analysis/selection.h"
#include "analysis/suppressions.h"
#include "base/arena.h"
#include "stats/stats.h"

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
    STORY_LEAKED_SAMPLES,
    STORY_PEAK_SAMPLES,
    STORY_LOCKED, /* blocks allocated while a lock was held */
    STORY_VALUES,
};

/* Numbers of blocks, each with a variance where blocks are sampled. */
enum heapstory_count { STORY_COUNT_ALLOCATIONS, STORY_COUNT_LEAKED, STORY_COUNTS };

enum { STORY_TIMES = 20, STORY_CLASSES = 64 };
enum { STORY_SLICE_MS = 100 }; /* rows of recordings are sums of so long */

struct heapstory_place {
    uint32_t label;
    int64_t value[STORY_VALUES];
    double variance[STORY_COUNTS];
    int64_t live[STORY_TIMES];   /* bytes at the end of each twentieth of the recording */
    bool grows;                  /* ever more, all through the second half */
    int64_t held_from, held_to;  /* bytes at the ends of the range, where one is asked for */
    int64_t size[STORY_CLASSES]; /* blocks seen, by power of two */
    int64_t added;               /* bytes of glibc's malloc beside those of small blocks */
    int64_t grown;               /* blocks for more elements than there was room for */
    int64_t brief;               /* blocks that were freed soon: STORY_BRIEF */
    int64_t copies, copies_ended, copies_brief; /* blocks of strings made of others; see above */
};

/* Blocks that are freed sooner are brief: a power of two, in ns (17 ms). */
enum { STORY_BRIEF = 24 };

struct heapstory {
    const struct profile *profile;
    int stream;
    bool sampled;
    bool lossy;             /* records were lost: no number is exact */
    bool cut;               /* nothing after some moment: who held what at the peak is not known */
    bool blind;             /* nothing was seen, of a program or more that had something to see */
    const char *unseen;     /* names of programs that were not recorded; NULL = none */
    const char *own_malloc; /* names of programs whose malloc was not seen; NULL = none */
    uint64_t sample_bytes;  /* one sample in so many; 0 = every block, or not known */
    uint64_t processes;     /* that the numbers are sums over; 0 = not known */
    uint64_t running;       /* of these, when the recording ended */
    double followed_s;      /* from then on nothing was looked at; 0 = to the end */
    bool attached;          /* the process ran already: only blocks that came since are known */
    bool has[STORY_VALUES]; /* what the input knows: the rest is 0 and says nothing */
    bool timed;             /* it knows when */
    const struct selection_opts *only; /* NULL = all */
    char *selected;     /* "thread worker": numbers are of that alone; NULL = of all */
    int64_t kept_bytes; /* of what leaked: runtimes keep it on purpose */
    const struct suppressions *known_leaks; /* NULL = none */
    int64_t known_bytes, known_blocks;      /* leaked as they say; in no other number of leaks */
    int64_t value[STORY_VALUES];
    double variance[STORY_COUNTS];
    uint64_t start_ns, end_ns, peak_ns; /* in the clock of the rows */
    /* Of what is selected, the most that it held at the end of a slice; its value of STORY_PEAK is
     * what it held when all held most, which is whole_peak. */
    int64_t most_held, whole_peak;
    uint64_t most_held_ns;
    struct counter *part_live;         /* what it held at the end of each slice; NULL = not known */
    uint64_t part_from_ns, part_to_ns; /* from its first slice to its last */
    const struct counter *live;        /* NULL = none */
    const struct counter *rss;         /* of the process that had most */
    int64_t rss_max;                   /* 0 = not known */
    int64_t size[STORY_CLASSES], lifetime[STORY_CLASSES];
    bool has_added;             /* every block was glibc's, and seen */
    int64_t added;              /* bytes of malloc beside those of small blocks */
    const char *range;          /* as it was asked for; NULL = none */
    int64_t held_from, held_to; /* by all places */
    uint32_t *place_of_stack;   /* + 1; 0 = none */
    VEC(struct heapstory_place) places;
    struct findings insights;
    struct labels labels;
    struct arena arena;
};

struct heapstory_opts {
    const struct suppressions *known_leaks; /* left out of what leaked */
    const struct selection_opts *only;      /* which threads and processes; NULL = all */
};

/*
 * Fails when P has no stream of a heap with bytes that were allocated, held or leaked, or nothing
 * of what is asked for. OPTS may be NULL; what it points to must outlive the story.
 */
int heapstory_build(struct heapstory *s, const struct profile *p, const struct heapstory_opts *opts,
                    struct err *err);
void heapstory_done(struct heapstory *s);

/* The rows of STREAM that the story is of. */
int heapstory_select(const struct heapstory *s, int stream, struct selection *ret, struct err *err);

/*
 * Find the blocks held at both ends of TIME ("1.5..3", as in selections), after the story was
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

/* Whether N samples are enough for a claim; where every block is seen, they always are. */
static inline bool heapstory_is_sound(const struct heapstory *s, int64_t n)
{
    return !s->sampled || n >= HEAPSTORY_FEW_SAMPLES;
}

/*
 * The 95% interval of BYTES that were estimated from N samples. Without a sample it ends where 95
 * of 100 recordings would have had one: each byte is as likely to be sampled, so blocks of B bytes
 * in all are missed with exp(-B / sample_bytes). Large blocks are sampled almost surely: at most
 * sample_bytes of a sample are extrapolated. High 0 = not known.
 */
struct interval heapstory_interval(const struct heapstory *s, int64_t bytes, int64_t n);

/* The 95% interval of a number of blocks, of place P or of all (NULL). */
struct interval heapstory_count_interval(const struct heapstory *s, const struct heapstory_place *p,
                                         enum heapstory_count count);

/* Whether that is narrow enough to show a number: its ends are within a factor of 4. */
bool heapstory_counts_well(const struct heapstory *s, const struct heapstory_place *p,
                           enum heapstory_count count);

/* The same of any number of blocks N; WEIGHT is that of a block that may be unseen. */
struct interval heapstory_weighted_interval(double n, double variance, double weight);
double heapstory_unseen_weight(uint64_t sample_bytes);

/* Add what a row of stack and time adds to the variances; its blocks are in 1 / BLOCK_UNIT. */
void heapstory_add_variance(double *variance, const int64_t *row, double block_unit);

/* Growth below that may be chance; 0 where every block is seen. */
static inline int64_t heapstory_least_growth(const struct heapstory *s)
{
    return (int64_t)s->sample_bytes * HEAPSTORY_FEW_SAMPLES;
}

/* The places by a value, largest first: indices into s->places, at most MAX. Returns how many. */
size_t heapstory_top(const struct heapstory *s, enum heapstory_value by, uint32_t *ret, size_t max);

/* The places that keep growing, by growth over the second half. */
size_t heapstory_growing(const struct heapstory *s, uint32_t *ret, size_t max);
int64_t heapstory_growth(const struct heapstory_place *p);

/* The most that was held, as far as it is known. */
static inline int64_t heapstory_most_held(const struct heapstory *s)
{
    return s->selected ? s->most_held : s->value[STORY_PEAK];
}

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

/* How long blocks came and went: what the numbers per second are of. */
static inline double heapstory_active_seconds(const struct heapstory *s)
{
    double seconds = s->part_live ? (double)(s->part_to_ns - s->part_from_ns) / 1e9
                                  : heapstory_seconds(s, s->end_ns);
    return s->followed_s > 0 && s->followed_s < seconds ? s->followed_s : seconds;
}

/* Find the insights; called by heapstory_build(). */
void heapstory_find_insights(struct heapstory *s);
