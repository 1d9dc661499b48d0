/*
 * equal.h - the inside of equivalence proofs: a case, what its two sides gave, how it failed.
 *
 *     input.c          numbers from a seed
 *     guard.c          arrays against inaccessible pages, faults survived
 *     equal_draw.c     what a body draws
 *     equal_case.c     one run of a body, what it reports and how it ends
 *     equal_close.c    a closer look at some cases: leaks, writes to inputs
 *     fpmode.h         the floating-point mode
 *     equal_judge.c    both sides of a case, and whether they agree
 *     equal_compare.c  tolerances
 *     equal_mutate.c   would a wrong candidate be noticed?
 *     shrink.c         the smallest input that fails the same way
 *     equal_print.c    failures for people and as code
 *     equal.c          a proof from the first case to the verdict
 *     cliff.c          lengths at which the candidate is suddenly slow
 *     race.c           which one is faster
 *
 * A body draws its inputs through calls, so it is plain C with plain types and the library sees
 * everything: it records the draws on a tape, plays them again for the other side, and shrinks by
 * editing the tape. The library hands out the function under test, which makes three refusals
 * possible: the same function twice, one that is never called (it is given an address that faults),
 * and a wrong result that goes unnoticed. A fault in a guarded call is left by siglongjmp from an
 * alternate stack without saving the signal mask: no system call per case, so a million take
 * seconds.
 */
#pragma once
#include "base/buf.h"
#include "fpmode.h"
#include "guard.h"
#include "input.h"

enum {
    EQUAL_DRAWS = 32,   /* inputs and output arrays of a case */
    EQUAL_RESULTS = 32, /* reported numbers of a case */
    EQUAL_SLOTS = EQUAL_DRAWS + EQUAL_RESULTS,
    EQUAL_RACES = 16, /* lengths to race with */
};

enum role { ROLE_IN, ROLE_OUT, ROLE_INOUT, ROLE_NUMBER, ROLE_LENGTH };

struct tolerance {
    enum kelvin_compare how;
    double limit, scale;
};

/* Something the body asked for. Its values are in the tape's bytes. */
struct draw {
    const char *name;
    enum kelvin_type type;
    enum role role;
    size_t n;     /* elements; a number or a length has one */
    size_t at;    /* offset of its values; output arrays have none */
    int place;    /* where the array lies: see region_place() */
    uint64_t low; /* of whole numbers, as bits; for shrinking */
    uint64_t high;
    struct tolerance tolerance; /* of output arrays */
};

/* All inputs of a case, as they were drawn. Kept, changed and played again. */
struct tape {
    struct draw draws[EQUAL_DRAWS];
    size_t n;
    struct buf bytes;
};

struct result {
    const char *name;
    enum kelvin_type type;
    uint64_t bits;
    struct tolerance tolerance;
};

enum side { SIDE_REFERENCE, SIDE_CANDIDATE };

/* How a run of the body ended, and what it computed. */
struct outcome {
    struct result results[EQUAL_RESULTS];
    size_t n_results;
    struct buf outputs; /* contents of the output arrays, in the order of their draws */
};

enum way {
    WAY_NONE,
    WAY_DIFFERS,  /* a number or an array's element */
    WAY_REPORTS,  /* not the same results were reported */
    WAY_FAULT,    /* a signal */
    WAY_SCRIBBLE, /* bytes around an array were written */
    WAY_INPUT,    /* an input was changed */
    WAY_WRITES,   /* an input was written to, and put back */
    WAY_LEAK,     /* memory is not freed */
    WAY_MODE,     /* the floating-point mode is left changed */
    WAY_MISUSE,   /* the body does not keep the rules: no verdict */
};

/* Numbers may differ in kind, which shrinking must not confuse with each other. */
enum gap { GAP_NUMBER, GAP_NAN, GAP_INFINITE, GAP_ZERO_SIGN };

struct failure {
    enum way way;
    enum side side;
    struct fault fault;
    bool is_array;        /* then `index` is a draw, else a result */
    size_t index;         /* EQUAL_DRAWS = none: the fault was elsewhere */
    int64_t element;      /* of the array; for faults below 0 or at least n */
    int64_t offset_bytes; /* of a stray access: below 0 before the array, else behind its end */
    enum gap gap;
    uint64_t bits[2];    /* of both sides */
    size_t leaked_bytes; /* of WAY_LEAK, for each call */
    bool is_flaky;       /* the same input did not fail again */
    char text[200];      /* of WAY_MISUSE */
};

enum source { SOURCE_FRESH, SOURCE_TAPE, SOURCE_REPLAY, SOURCE_RACE, SOURCE_GIVEN };

/* The facts about an output over all cases. */
struct slot {
    const char *name;
    bool seen, varies;
    uint64_t first;             /* bits of the first element ever */
    struct tolerance tolerance; /* the loosest */
    size_t tried, noticed;      /* wrong numbers put here */
};

struct coverage {
    VEC(uint8_t) lengths; /* [n] = the first length was n once */
    size_t lengths_seen, longest;
    uint64_t alignments; /* bit k: the first array began k bytes past a multiple of 64 */
    const char *inputs[EQUAL_DRAWS]; /* arrays that were drawn, NULL between them */
    bool matters[EQUAL_DRAWS];       /* a result depended on the last element once */
};

struct racing {
    bool on;
    uint64_t repeat, begin_ns, time_ns;
    bool has_statement;
    size_t lengths[EQUAL_RACES], n_lengths;
    size_t length; /* of the race that runs */
    double min_speedup;
};

/* Five kilobytes and more: allocated once for each proof. */
struct kelvin_case {
    void (*body)(struct kelvin_case *c);
    enum source source;
    enum side side;
    bool trap;    /* give a function that cannot be called */
    bool seal;    /* let nothing write to the inputs once the side was asked for */
    bool closely; /* look closely at what the sides do besides */
    struct tape tape;
    const struct tape *given; /* SOURCE_TAPE plays this */
    size_t next;              /* number of the next draw */
    size_t first_lengths;     /* how many the first length can have; 0 = no length yet */
    struct region regions[EQUAL_DRAWS];
    struct buf prepared; /* inputs as they were when the side was asked for */
    size_t n_prepared;   /* draws that were made by then; 0 = the side was not asked for */
    bool asked_for_side;
    struct dice dice;
    uint64_t seed, number; /* of the case */
    struct tolerance tolerance;
    struct outcome outcome[2];
    struct fpmode mode[2]; /* that each side left */
    kelvin_function functions[2];
    char misuse[200];
    struct coverage coverage;
    struct slot slots[EQUAL_SLOTS]; /* results, then draws */
    struct racing racing;
};

/* --- equal_draw.c --- */

bool draw_is_array(const struct draw *d);
size_t draw_bytes(const struct draw *d);
void tape_copy(struct tape *to, const struct tape *from);
void tape_done(struct tape *t);
const struct draw *tape_find(const struct tape *t, const char *name); /* may be NULL */

/* Leave the body for good: it does not keep the rules. */
_Noreturn void case_misuse(struct kelvin_case *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* --- equal_case.c --- */

struct kelvin_case *case_new(void (*body)(struct kelvin_case *c), uint64_t seed);
void case_free(struct kelvin_case *c);

/* Run the body for one side; false and *F when it faulted or broke a rule. */
bool case_run(struct kelvin_case *c, enum source source, enum side side, struct failure *f);

/* --- equal_judge.c --- */

/* Run both sides on the next inputs of SOURCE. True when they agree, else *F. */
bool case_judge(struct kelvin_case *c, enum source source, struct failure *f);

/* Compare what both sides gave, again. */
bool case_compare(struct kelvin_case *c, struct failure *f);

/* Is this the same fault, so that a smaller input shows what the larger did? */
bool failure_alike(const struct failure *a, const struct failure *b);

/* --- equal_close.c --- */

/* After the sides agreed: does the candidate leak, or write to its inputs? False and *F then. */
bool case_look_closely(struct kelvin_case *c, struct failure *f);

/* --- equal_compare.c --- */

/* Does B equal A, both bits of TYPE? If not, in which way. */
bool compare_bits(enum kelvin_type type, uint64_t a, uint64_t b, const struct tolerance *t,
                  enum gap *ret_gap);

/* Number I of the elements at AT, as bits. */
uint64_t element_bits(enum kelvin_type type, const void *at, size_t i);
double bits_number(enum kelvin_type type, uint64_t bits); /* as near as a double can */

/* --- equal_mutate.c --- */

/* After a case whose sides agreed: note what varies, and try wrong numbers in its outputs. */
void case_observe(struct kelvin_case *c);
void case_mutate(struct kelvin_case *c);

/* Does a result depend on the last element of each input? Spoils the outcome of the reference. */
void case_disturb(struct kelvin_case *c);

/* --- shrink.c --- */

/* Make the inputs of C, which failed with *F, as small and simple as possible. */
void case_shrink(struct kelvin_case *c, struct failure *f);

/* --- equal_print.c --- */

/* "candidate differs: sum is 3, not 4", then the code that makes it happen again. */
void failure_print(struct buf *to, const struct kelvin_case *c, const struct failure *f);
void case_print_code(struct buf *to, const struct kelvin_case *c, const char *name);
void print_bits(struct buf *to, enum kelvin_type type, uint64_t bits);
/* 1234567 as "1,234,567". */
void print_count(struct buf *to, uint64_t n);

/* --- equal.c --- */

/* Of the names in front of each line. */
int equal_name_width(const struct session *s);

/* --- cliff.c --- */

/* After a race: time all lengths of the proof, and say where the candidate is suddenly slow. */
void cliff_look(struct session *s, struct kelvin_case *c, const char *name, const char *length);

/* --- race.c --- */

/*
 * Race over all lengths; failures are reported to the session. -1 only when nothing could be
 * measured.
 */
int race_run(struct session *s, struct kelvin_case *c, const char *name, struct err *err);
