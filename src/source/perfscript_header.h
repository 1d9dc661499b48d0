/*
 * perfscript_header.h - the first line of a sample as `perf script` prints it.
 *
 *     V8 WorkerThread 24636/25607 [000] 94564.109216:     104345 cycles:u:  rest
 *     |               |     |           |                 |      |
 *     comm            pid   tid         time              period event
 *
 * All but one number may be missing, the comm only where a CPU or time follows the numbers; a
 * single number is the thread's. Letters of -F +misc may follow the numbers. The text after the
 * event is the payload of a tracepoint, or the only frame of a sample without a call chain.
 */
#pragma once
#include "base/text.h"

struct perfscript_header {
    struct text comm;
    struct text thread; /* comm and numbers as they stand in the line */
    struct text pid;    /* empty where not known */
    struct text tid;
    struct text tail;   /* what follows the numbers; perfscript_header_tail() takes it apart */
    struct text time;   /* "94564.109216" */
    struct text period; /* digits only */
    struct text event;  /* with its modifiers */
    struct text rest;
    struct text record; /* "PERF_RECORD_LOST lost 12": no sample, but news from the recorder */
};

/* Read LINE up to the numbers. False when it cannot be the first line of a sample. */
bool perfscript_header_parse(struct text line, struct perfscript_header *ret);

/*
 * Both at once, at less cost, for the usual shape: "comm 123 [000] 1.234567: 1000 EVENT:", of which
 * CPU and period may be missing. False when LINE is not like that. Only `thread`, `time` and
 * `period` are set, and whether `thread` is one remains to be seen: it is if another header, which
 * was parsed, had the same.
 */
bool perfscript_header_guess(struct text line, struct text event, struct perfscript_header *ret);

/* Read the rest of it. */
void perfscript_header_tail(struct perfscript_header *h);

/* Seconds with up to nine decimals. False when they do not fit. */
bool perfscript_header_time(struct text time, uint64_t *ret_ns);

/* What -F +insn, +iregs and +srccode put below a sample or frame, and records without a thread. */
bool perfscript_header_is_extra(struct text line);
