/*
 * memcheck.h - what valgrind's memcheck, helgrind or drd found, from the file of --xml=yes.
 *
 *     <valgrindoutput> <tool>memcheck</tool>
 *       <error> <unique>0x2</unique> <kind>InvalidRead</kind> <what>Invalid read of size 4</what>
 *         <stack> <frame> <fn>use</fn> <dir>/src</dir> <file>a.c</file> <line>4</line> </frame> ...
 *       </error>
 *       <errorcounts> <pair> <count>3</count> <unique>0x2</unique> </pair> </errorcounts>
 *
 * Every error is reported once and counted; how often it happened stands at the end of the file. Of
 * a file that was cut off, what came before the cut counts.
 */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "base/reader.h"
#include "base/vec.h"

/* Findings and kinds that are kept; those beyond are only counted. */
enum { MEMCHECK_KEPT = 50, MEMCHECK_KINDS = 64 };

struct memcheck_finding {
    const char *kind; /* "InvalidRead", "Race", "Leak_DefinitelyLost" */
    const char *text; /* one sentence; "" where there is none */
    /* The innermost frame with a source line, else the innermost; "" and 0 where not known. */
    const char *function, *file;
    uint32_t line;
};

struct memcheck_kind {
    const char *name;
    uint64_t findings; /* different ones */
    uint64_t times;    /* how often they happened, as far as the file says; leaks once each */
};

struct memcheck {
    const char *tool;                   /* "memcheck", "helgrind"; "" where not known */
    uint64_t findings;                  /* different ones, of all kinds */
    VEC(struct memcheck_kind) kinds;    /* most findings first, then by name */
    VEC(struct memcheck_finding) first; /* in the order of the file */
    bool complete;                      /* false: the file ends before its end */
    struct arena arena;
};

/* Free with memcheck_done() in any case. Fails when the input is not valgrind's XML. */
int memcheck_read(struct memcheck *m, struct reader *in, struct err *err);
void memcheck_done(struct memcheck *m);
