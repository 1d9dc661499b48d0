/*
 * dataname.h - what an ELF file's symbol tables call its variables: "queue", "queue+8".
 *
 * Only the file itself is asked: a stripped program's debug file is not looked for. The tables of
 * a file are kept, so that a hundred questions cost hardly more than one.
 */
#pragma once
#include "base/text.h"
#include "base/vec.h"
#include "symbol/longnames.h"

/* A variable, by its address in the file. */
struct dataname_symbol {
    uint64_t start, size;
    char *name;
};

struct dataname_file {
    char *path;
    VEC(struct dataname_symbol) symbols; /* by start; none where the file cannot be read */
    struct longnames long_names;
};

struct datanames {
    VEC(struct dataname_file *) files;
};

/*
 * The variable at ADDRESS, as PATH was linked; NULL where there is none. Free it. With a BUILD_ID a
 * file that has another is not asked.
 */
char *datanames_find(struct datanames *d, const char *path, struct text build_id, uint64_t address);
void datanames_done(struct datanames *d);
