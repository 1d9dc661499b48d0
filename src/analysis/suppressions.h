/*
 * suppressions.h - known leaks, as files of Valgrind and LeakSanitizer list them.
 *
 * LeakSanitizer's lines are `leak:PATTERN`: part of any function, file or module of the stack;
 * `*` is anything, `^` and `$` are the ends. Valgrind's are blocks in braces: a name, the line
 * `Memcheck:Leak`, then frames from the innermost on, where
 *
 *     fun:g_hash_table_new      is the symbol, mangled in C++, with * and ? as in a shell,
 *     obj:*libfoo.so*           the module,
 *     ...                       any number of frames.
 *
 * Valgrind's stacks begin with malloc or a relative, ours with its caller: a leading fun:malloc
 * matches no frame. Blocks about other errors than leaks are passed over. match-leak-kinds is not
 * minded: a recording knows of no kinds.
 */
#pragma once
#include "base/arena.h"
#include "model/profile.h"

enum suppression_kind {
    SUPPRESS_FUNCTION,
    SUPPRESS_MODULE,
    SUPPRESS_ANY_FRAMES,
    SUPPRESS_ANYWHERE
};

struct suppression_line {
    enum suppression_kind kind;
    struct text pattern;
};

struct suppression {
    size_t first, n; /* in lines */
};

struct suppressions {
    VEC(struct suppression) all;
    VEC(struct suppression_line) lines;
    struct arena arena;
};

/* Add what FILE has. Fails with the line that is not valid. */
int suppressions_parse(struct suppressions *s, struct text file, struct err *err);
void suppressions_done(struct suppressions *s);

/*
 * Memory that runtimes keep on purpose until a program ends: libstdc++'s memory for exceptions
 * thrown when there is none left, buffers of C's streams (a stream that is never closed leaks its
 * FILE as well), what kelvin.h's library needs to be loaded. No program can free these.
 */
void suppressions_add_reserves(struct suppressions *s);

bool suppressions_match(const struct suppressions *s, const struct profile *p,
                        struct stack_id stack);
