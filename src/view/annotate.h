/*
 * annotate.h - a function's source lines and instructions with the time spent at each.
 */
#pragma once
#include "analysis/hits.h"
#include "base/buf.h"

#include <stdio.h>

/* A source file that code of the function comes from. */
struct annotate_file {
    struct text path, text; /* text is empty where the file is not here */
    bool owned;             /* free the text */
    const char *note;       /* what is wrong with it, or NULL */
    VEC(struct text) rows;
};

struct annotate_line {
    uint32_t line;
    int64_t self, total;
};

/* The function itself, or one that is inlined into it. */
struct annotate_part {
    struct text function;
    bool inlined;
    size_t file;
    int64_t self, total;
    VEC(struct annotate_line) lines; /* those that have code, by number */
};

struct annotate {
    const char *function, *module;
    const struct profile *names; /* whose frames the instructions refer to */
    struct listing *listing;
    struct annotate_file *files;
    size_t n_files;
    struct annotate_part *parts; /* the function's own first, then hottest first */
    size_t n_parts;
    int64_t total;   /* of the profile */
    int64_t whole;   /* total of the function, which shares are of */
    int64_t samples; /* that have the function on their stack; -1 = not known */
    bool exact;      /* nothing was sampled: shares have no intervals */
    bool by_address; /* blocks in the order of the code, not the hottest first */
    bool all;        /* code that was not seen running too */
    int64_t hottest; /* total of the hottest line, which colours are relative to */
    const char *warning;
    const char *noun;     /* "time", or "total" where the value is none */
    const char *selected; /* the part of the profile, in words; NULL = all of it */
    bool hides;           /* that leaves functions out */
    char **texts;         /* by instruction, for JSON; NULL = not disassembled */
};

/* Sums by line and by inlined function, from what was on the stacks. READ sets text and note of a
 * file whose path is set. Free with annotate_parts_done(). */
typedef void annotate_read(const void *ctx, struct annotate_file *f);
void annotate_parts_build(struct annotate *a, const struct hits *hits, annotate_read *read,
                          const void *ctx);
void annotate_parts_done(struct annotate *a);

/*
 * Where the program is gone: the addresses of a function that were seen as instructions without
 * bytes, whose lines are those of P. There are lines to show then, and no blocks. Free with
 * listing_done().
 */
typedef bool annotate_is_of(const void *ctx, const struct frame *f);
void annotate_list_seen(struct listing *l, const struct profile *p, annotate_is_of *is_of,
                        const void *ctx);
#define ANNOTATE_NO_PROGRAM \
    "the program that ran is not here: lines that were seen, no instructions"

/* For a terminal. 0, or -1 where the disassembler cannot be started. */
int annotate_print_text(FILE *out, const struct annotate *a, int width, bool colour);
int annotate_print_html(FILE *out, const struct annotate *a);

/* Needs the texts of instructions, which annotate_disassemble() makes: 0, or -1 as above. */
void annotate_print_json(FILE *out, const struct annotate *a);
int annotate_disassemble(struct annotate *a);

/* --- shared by the two --- */

struct asmtext; /* a disassembler */
struct asmtext *asmtext_open(void);
void asmtext_close(struct asmtext *t); /* NULL is fine */

/* The instruction in Intel's notation; good until the next call. */
const char *asmtext_of(struct asmtext *t, const struct listing_insn *i);

/* "packed 256" for floating point, "vector 256" for all else in such registers, "scalar", "". */
const char *annotate_class(const struct x86 *x);

/* Innermost line of an instruction; false where none is known. INLINED: into the function. */
struct annotate_place {
    struct text file, function;
    uint32_t line;
    bool inlined;
};
bool annotate_place(const struct annotate *a, const struct listing_insn *i,
                    struct annotate_place *ret);

/* The same of LEVEL calls around it that were inlined; false also where there are not so many. */
bool annotate_call_place(const struct annotate *a, const struct listing_insn *i, size_t level,
                         struct annotate_place *ret);

/* Whether any of its code is known to be of another function. */
bool annotate_has_inlined(const struct annotate *a);

/* The base of the shares, and warnings: sentences, one per line. */
void annotate_words(const struct annotate *a, struct buf *b);

/* Whether code that was on stacks for TOTAL is shown: always, if nothing was seen at all. */
bool annotate_shows(const struct annotate *a, int64_t total);

/* PART of the function's total, with the half-width of its interval: "12.3% \xc2\xb11.2", or "". */
void annotate_share(struct buf *b, const struct annotate *a, int64_t part);

/* 0 to 1: how hot a line or instruction is, relative to the hottest line, or without lines the
 * hottest instruction. */
double annotate_heat(const struct annotate *a, int64_t self, int64_t total);

/* The target of a call or jump: "memcpy", "block 3"; nothing where it is not known. */
void annotate_target(struct buf *b, const struct annotate *a, const struct listing_insn *i);

/* Numbers of the blocks in the order they are shown. Free it. */
uint32_t *annotate_order(const struct annotate *a);

/* The hottest lines of all parts: at most N, none without heat. Returns how many. */
struct annotate_spot {
    const struct annotate_part *part;
    const struct annotate_line *line;
};
size_t annotate_hottest(const struct annotate *a, size_t n, struct annotate_spot *ret);

/* Lines FROM to TO around line I of a part that are to be shown next; FROM > TO = none. */
struct annotate_range {
    uint32_t from, to;
};
struct annotate_range annotate_around(const struct annotate *a, const struct annotate_part *part,
                                      size_t i, uint32_t shown_to);

/* Text of line NUMBER, "" where it is not here. */
struct text annotate_row(const struct annotate *a, size_t file, uint32_t number);

/* "3 blocks with 20 instructions, where nothing was seen, are left out"; false where none are. */
bool annotate_left_out(const struct annotate *a, struct buf *b);

/* Source text of a line, "" where it is not here. */
struct text annotate_source(const struct annotate *a, const struct annotate_place *at);
