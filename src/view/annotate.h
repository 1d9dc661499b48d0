/*
 * annotate.h - a function's source lines and instructions with the time spent at each.
 */
#pragma once
#include "analysis/listing.h"

#include <stdio.h>

/* A source file that code of the function comes from. */
struct annotate_file {
    struct text path, text; /* text is empty where the file is not here */
    const char *note;       /* what is wrong with it, or NULL */
    VEC(struct text) rows;
    VEC(struct annotate_line) lines; /* those that have code, by number */
};

struct annotate_line {
    uint32_t line;
    int64_t self;
    bool inlined; /* only through other functions */
};

struct annotate {
    const char *function, *module;
    const struct profile *names; /* whose frames the instructions refer to */
    struct listing *listing;
    struct annotate_file *files; /* the function's own first */
    size_t n_files;
    int64_t total;   /* of the profile */
    int64_t samples; /* in the function; -1 = not known */
    const char *warning;
};

/* 0, or -1 where the disassembler cannot be started. */
int annotate_print(FILE *out, const struct annotate *a);
int annotate_print_html(FILE *out, const struct annotate *a);

/* --- shared by the two --- */

struct asmtext; /* a disassembler */
struct asmtext *asmtext_open(void);
void asmtext_close(struct asmtext *t); /* NULL is fine */

/* The instruction in Intel's notation; good until the next call. */
const char *asmtext_of(struct asmtext *t, const struct listing_insn *i);

/* "packed 256", "scalar fp", "" for integers. */
const char *annotate_class(const struct x86 *x);

/* Innermost line of an instruction; false where none is known. INLINED: into the function. */
struct annotate_place {
    struct text file, function;
    uint32_t line;
    bool inlined;
};
bool annotate_place(const struct annotate *a, const struct listing_insn *i,
                    struct annotate_place *ret);

/* Source text of a line, "" where it is not here. */
struct text annotate_source(const struct annotate *a, const struct annotate_place *at);
