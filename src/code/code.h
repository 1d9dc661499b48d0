/*
 * code.h - the functions of an ELF file with their addresses and bytes.
 *
 * Functions come from the symbols (of the separate debug file, where there is one) and, where
 * there are none, from the unwind rules, which know where functions start and end. They do not
 * overlap: one ends at the latest where the next begins. Code between them belongs to none.
 */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"
#include "symbol/elffile.h"
#include "symbol/longnames.h"

struct code_function {
    uint64_t start, size_bytes;
    const char *symbol; /* as in the symbol table, in the file's memory; "" where there is none */
    uint16_t symbol_bytes;
    uint8_t rank; /* while building: lower is better */
};

struct code_section {
    uint64_t start, size_bytes;
    const uint8_t *bytes;
};

struct code {
    struct elffile main, debug;
    VEC(struct code_section) sections; /* that hold code, by start */
    VEC(struct code_function) functions;
    struct arena names;
    struct longnames long_names;
    const char *module;                  /* last part of the path */
    int machine;                         /* EM_X86_64... */
    const char *gap_name;                /* of code_find_gap() */
    const char *last_symbol, *last_name; /* of code_name(): one name may have many functions */
};

/* Open PATH; with a BUILD_ID (hex, may be empty) a file that has another is refused. */
int code_open(struct code *c, const char *path, struct text build_id, struct err *err);
void code_close(struct code *c); /* harmless after a failed open */

/* The function that holds PC, or NULL. */
const struct code_function *code_find(const struct code *c, uint64_t pc);

/*
 * The code around PC that belongs to no function which is known: hand-written assembly in a
 * stripped file. Its name is "[libx.so]". False where PC is in a function, in no code, or between
 * two functions.
 */
bool code_find_gap(struct code *c, uint64_t pc, struct code_function *ret);

/* Its name, demangled; "[libx.so+0x5e30]" where there is none; cut if very long. Lives as long as
 * C. */
const char *code_name(struct code *c, const struct code_function *f);

/* The bytes of a function; empty if the file does not have them. */
struct text code_bytes(const struct code *c, const struct code_function *f);
