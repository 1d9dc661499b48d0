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

enum { RECENT_SLOTS = 4096, RECENT_TEXT = 248 };

/* A line with its newline, and the frame it stands for. */
struct recent_line {
    uint16_t n; /* 0 = free */
    bool java;
    struct frame_id frame;
    char text[RECENT_TEXT];
};

struct known {
    struct profile *profile;
    struct import_opts opts;
    struct arena texts;
    VEC(struct known_frame) frames;
    VEC(struct known_thread) threads;
    VEC(struct line) lines;
    struct idmap frame_map, thread_map;
    struct recent_line *recent; /* RECENT_SLOTS of them */
    struct buf name;            /* scratch */
};

void known_init(struct known *k, struct import *im);
void known_done(struct known *k);

/* The thread of a header. Good until the next call. */
const struct known_thread *known_thread_of(struct known *k, const struct perfscript_header *h);

/* The frame of a line that was cut into its parts. */
struct frame_id known_frame_of(struct known *k, const struct perfscript_frame *f, bool java);

/* The slot for a line, of which at least RECENT_HEAD bytes must be readable at AT. */
enum { RECENT_HEAD = 17 };

static inline struct recent_line *recent_slot(const struct known *k, const char *at)
{
    uint64_t a, b; /* "\tffffffff8168ec7a": a tab and the pc, padded to 16 */
    memcpy(&a, at + 1, 8);
    memcpy(&b, at + 9, 8);
    uint64_t h = (a * 0x9e3779b97f4a7c15u) ^ (b * 0xd6e8feb86659fd93u);
    return &k->recent[(h ^ h >> 29) * 0x9e3779b97f4a7c15u >> 52];
}

/* Whether the bytes at AT, of which there are LEFT, start with the slot's line. */
static inline bool recent_is(const struct recent_line *r, const char *at, size_t left, bool java)
{
    return r->n && r->n <= left && r->java == java && memcmp(r->text, at, r->n) == 0;
}

/* Remember LINE, its newline included. */
void recent_set(struct known *k, struct text line, bool java, struct frame_id frame);
