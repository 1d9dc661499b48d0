/*
 * firefox_tables.h - the columns of a Firefox Profiler file, and the stacks they stand for.
 *
 * A stack is a row that names its caller's row and a frame; a frame names a function and a
 * place; a function names strings. Older files have a set of these tables in every thread, newer
 * ones a single set for all. Tables may come in any order, and after rows that refer to them, so
 * the columns are kept as they are and joined at the end of the file.
 *
 *     stackTable -> frameTable -> funcTable -> stringArray
 *                                     |-> resourceTable -> libs
 *                                     '-> sources -> stringArray       (58 and later)
 */
#pragma once
#include "base/jsonread.h"
#include "source/import.h"

/* A column of numbers; null, and what does not fit 32 bits, is FIREFOX_NONE. */
typedef VEC(int32_t) firefox_column;

#define FIREFOX_NONE (-1)

/* What a row of the stack table became. */
struct firefox_stack {
    struct stack_id stack;
    struct stack_id below;     /* the stack without its last frame */
    struct frame_id frame;     /* that frame, with all that is inlined into it so far */
    struct stack_id as_caller; /* of others: in raw profiles its address is one behind the call */
    uint32_t depth;
    uint8_t state;
};

typedef VEC(struct firefox_stack) firefox_stacks;

/* Where a library was mapped. */
struct firefox_lib {
    uint64_t start, end, offset;
    int32_t index; /* in libs */
};

struct firefox_tables {
    VEC(struct str_id) strings;
    firefox_column stack_frame, stack_prefix;
    bool prefix_is_offset; /* rows back to the caller, 0 = root (66 and later) */
    firefox_column frame_func, frame_line, frame_column, frame_category, frame_inline, frame_lib;
    VEC(int64_t) frame_address; /* relative to the library, -1 = not known */
    firefox_column func_name, func_resource, func_file, func_source, func_line;
    firefox_column resource_lib;
    firefox_column source_file;
    VEC(struct mapping_id) libs;
    VEC(struct firefox_lib) lib_ranges;
    firefox_column
        frame_location; /* in raw profiles: one string, which gecko_process() takes apart */
    /* Whose strings and sources these are: in 56 to 59 the profile's, all else the thread's. */
    const struct firefox_tables *strings_of, *sources_of;
    firefox_stacks stacks; /* filled by firefox_tables_resolve() */
};

void firefox_tables_done(struct firefox_tables *t);

/* Read the value of member KEY where it is one of the tables; false leaves it alone. */
bool firefox_tables_member(struct firefox_tables *t, struct import *im, struct jsonread *j,
                           struct text key);

/* The kind of a frame by its category's name, as samply and kelvin call them. */
enum frame_kind firefox_kind_of(struct text category);

typedef VEC(uint8_t) firefox_kinds; /* enum frame_kind by category */

/* Add all stacks to the profile. SHARED has what T lacks: libraries, strings, sources. */
void firefox_tables_resolve(struct firefox_tables *t, struct import *im,
                            const struct firefox_tables *shared, const firefox_kinds *kinds);

/* What ROW of the stack table became. NULL, or why it is no stack. */
const char *firefox_tables_stack(const struct firefox_tables *t, int64_t row, struct stack_id *ret);
