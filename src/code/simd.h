/*
 * simd.h - which vector instructions a piece of code is made of.
 */
#pragma once
#include "code/a64.h"
#include "model/profile.h"

enum simd_machine { SIMD_X86, SIMD_A64 };

struct simd_mix {
    enum simd_machine machine;
    uint64_t n;             /* instructions */
    uint64_t bad;           /* bytes that are none */
    uint64_t isa[X86_ISAS]; /* of each enum x86_isa or a64_isa */
    uint64_t kind[X86_KINDS];
    uint64_t scalar_math, packed_math; /* that compute with floating point */
    uint64_t width[3];                 /* packed ones of 128, 256, 512 bits */
    uint32_t needs;                    /* 1 << enum x86_feature */
    bool loops;                        /* a branch goes back inside the code */
    bool int_loop; /* a hot loop computes with integers one at a time: intloop.h */
};

/* Count the instructions of CODE into M, which may hold counts already. */
void simd_count(struct simd_mix *m, struct text code);

void simd_add(struct simd_mix *to, const struct simd_mix *from);

/* Add FROM as if it had WEIGHT instructions: blocks count by the samples in them. */
void simd_add_weighted(struct simd_mix *to, const struct simd_mix *from, uint64_t weight);

/* What the hot blocks of a function weigh together, about: fine enough for 0.01%. */
#define HOT_WEIGHT 1000000

/* One function of a binary. */
struct simd_row {
    const char *name, *module;
    uint64_t start, size_bytes;
    struct simd_mix mix;
    struct simd_mix hot;       /* of the blocks that ran most, each by its samples and in
                                  HOT_WEIGHT per function; the same as mix without a profile */
    int64_t self;              /* of the profile; 0 without one */
    struct mapping_id mapping; /* in the profile */
    bool unoptimised;          /* compiled with -O0, as its debug information says */
};

/* The class of a function, in a word or two: "packed AVX2", "scalar SSE", "x87", "integer". */
enum simd_verdict {
    SIMD_INTEGER,    /* no floating point, no vectors worth the name */
    SIMD_SCALAR,     /* computes with one number at a time */
    SIMD_PACKED,     /* most of its floating point is packed */
    SIMD_PACKED_INT, /* vectors of integers */
    SIMD_MOVES,      /* loads and stores of vectors, which compute nothing: copies */
    SIMD_VERDICTS,
};

enum simd_verdict simd_verdict_of(const struct simd_mix *m);

/* The newest set that its vector instructions use to some extent (5% of them). */
int simd_isa_of(const struct simd_mix *m);

/* "AVX2", "NEON"; NULL past the last one. */
const char *simd_isa_name(enum simd_machine machine, int isa);

/* A loop that computes one number at a time and could use vectors: worth a look when hot. */
bool simd_is_candidate(const struct simd_mix *m);

/* Append nothing, return static text: "packed AVX2". TO holds at least 32 bytes. */
char *simd_describe(const struct simd_mix *m, char *to);
