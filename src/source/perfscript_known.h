/*
 * perfscript_known.h - what was seen before in perf script text, by its raw text.
 *
 * The same threads and frames come again and again, so names are tidied and put into the profile
 * only the first time. Frames are known twice: all of them by symbol and module, and those seen
 * last by their whole line, pc and offset included. Most lines of a call chain are return
 * addresses, of which a program has few: one compare with the line seen last replaces all
 * scanning, and is what makes this importer fast.
 */
#pragma once
#include "base/buf.h"
#include "source/import.h"
#include "source/perfscript_frame.h"
#include "source/perfscript_header.h"

struct known_thread {
    struct text text; /* comm and ids as they stand in the text */
    struct thread_id thread;
    bool java; /* names of its frames are tidied differently */
};

/* A symbol in a module, as it stands in the text, and the frame it makes. */
struct known_frame {
    struct text symbol, module;
    bool java;
    bool keep_pc;        /* each pc makes a frame of its own */
    uint8_t kind;        /* enum frame_kind */
    uint16_t n_lines;    /* functions, outermost first */
    uint32_t first_line; /* of them in known.lines */
    struct mapping_id mapping;
    struct frame_id frame; /* if not keep_pc */
};

/*
 * A line, its newline included, and the frame it stands for. Looked up by its first bytes, the pc,
 * and then held to be the same when a 64-bit hash of all its bytes is: comparing with a copy would
 * be a cache miss a line. The hash needs no seed: a key has one slot, so none can be made slow, and
 * a file whose lines are made to have one hash is untrue about itself only.
 */
struct recent_line {
    uint64_t hash;
    struct frame_id frame;
    uint8_t tag;     /* of the first bytes */
    uint8_t used;    /* came again since another line wanted this slot */
    uint16_t n : 15; /* 0 = free, or seen only once */
    uint16_t java : 1;
};

/* What a list of frames became, by its hash: a stack, or a row of a stream whose rows are merged.
 */
struct recent_chain {
    uint64_t hash;
    uint32_t id_plus_1; /* 0 = free */
};

enum { RECENT_BITS = 13, RECENT_SLOTS = 1 << RECENT_BITS, RECENT_MAX = (1 << 15) - 1 };
enum { GUESS_BITS = 11, GUESS_SLOTS = 1 << GUESS_BITS };
enum { CHAIN_BITS = 15, CHAIN_SLOTS = 1 << CHAIN_BITS };

/* Frames a stack may have. */
enum { PERFSCRIPT_MAX_DEPTH = 100000 };

struct known {
    struct profile *profile;
    struct import_opts opts;
    struct arena texts;
    VEC(struct known_frame) frames;
    VEC(struct known_thread) threads;
    VEC(struct line) lines;
    VEC(struct frame_id) chain; /* of the sample that is being read, innermost first */
    struct idmap frame_map, thread_map;
    struct recent_line *recent;  /* RECENT_SLOTS of them */
    uint32_t *guesses;           /* RECENT_SLOTS indices of frames, by a rough hash */
    struct recent_chain *chains; /* CHAIN_SLOTS of them */
    struct buf name;             /* scratch */
};

void known_init(struct known *k, struct import *im);
void known_done(struct known *k);

/* The thread that is written like this, or NULL. */
const struct known_thread *known_thread_find(const struct known *k, struct text text);

/* The thread of a header. Good until the next call. */
const struct known_thread *known_thread_of(struct known *k, const struct perfscript_header *h);

/* The frame of a line that was cut into its parts. */
struct frame_id known_frame_of(struct known *k, const struct perfscript_frame *f, bool java);

/* The slot for k->chain in a thread and stream, or in any if WHO is 0. RET_HASH is its hash. */
struct recent_chain *known_chain(const struct known *k, uint64_t who, uint64_t *ret_hash);

/*
 * Take lines of a call chain from the reader and push their frames, innermost first, to k->chain:
 * as long as the lines are plain frames and whole in the reader's window.
 */
void known_read_chain(struct known *k, struct reader *in, bool java);
