/*
 * annotate.h - the parts of `kelvin annotate`: which function, and its source files.
 */
#pragma once
#include "analysis/hits.h"
#include "cmd/input.h"
#include "cmd/output.h"
#include "code/code.h"
#include "view/annotate.h"

struct cmd_annotate_opts {
    struct input_opts input;
    struct output_opts output;
    const char *order;
    bool force, all;
    struct opt_list source;
};

struct annotate_job {
    struct cmd_annotate_opts opts;
    const char *wanted, *path;
    struct input in;
    struct text function; /* its whole name */
    struct text inlined;  /* the function that was meant, if it is only seen inlined into that */
    struct mapping mapping;
    struct code code;
    bool seen_only; /* there is no code */
};

/* Choose the function and the file it is in; fails with those that come near or are meant too. */
int annotate_find(struct annotate_job *job, struct err *err);

bool annotate_is_mapping(const struct annotate_job *job, struct mapping_id id);

/* Whether a frame is in the function itself, not only in code inlined from it. */
bool annotate_is_frame(const struct annotate_job *job, const struct frame *f);

/* Where source files may be read. */
struct annotate_source {
    const char *binary;             /* what they were compiled to */
    bool for_page;                  /* which others will see: only files of the project... */
    const struct opt_list *folders; /* ...and below these */
    const struct profile *profile;  /* may have brought some along */
};

/* An annotate_read: CTX is a struct annotate_source. */
void annotate_read_source(const void *ctx, struct annotate_file *f);

/* Every part of the job's function that ran: compilers put rare code elsewhere. */
void annotate_add_code(struct annotate_job *job, struct listing *l);

/* Frames in NAMES for every instruction and where it leads to: symbolize() gives them lines. */
void annotate_add_frames(struct profile *names, const char *path, struct listing *l);
