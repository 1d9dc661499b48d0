/*
 * perfscript_frame.h - one line of a call chain as `perf script` prints it.
 *
 *     ffffffff8168ec7a charge_memcg+0x4a ([kernel.kallsyms])
 *     |                |           |      |
 *     pc               symbol      cut    module
 *
 * Only text in and text out: nothing here knows of a profile, except for the kinds of frames.
 */
#pragma once
#include "base/buf.h"
#include "base/text.h"
#include "model/profile.h"

struct perfscript_frame {
    struct text pc;             /* hex digits, perhaps with blanks in front */
    struct text symbol, module; /* the symbol without its offset */
};

/* Cut LINE into its parts. False when it is no line of a call chain. */
bool perfscript_frame_split(struct text line, struct perfscript_frame *ret);

/*
 * "1183 parse+0x33": a frame without its module, as -F +srcline prints what is inlined. The line
 * behind it is "file.c:12 (inlined)".
 */
bool perfscript_frame_bare(struct text line, struct perfscript_frame *ret);

/* Whether the symbol is none, but a process name in brackets, as old versions of perf put it. */
bool perfscript_frame_is_comm(const struct perfscript_frame *f);

/* Kernel, JIT, inlined or plain, which the module shows. */
enum frame_kind perfscript_frame_kind(struct text module);

/*
 * Cut the next function off an inline chain "outer->inner" (an "operator->" is none). False when
 * there is no more.
 */
bool perfscript_frame_next(struct text *symbol, struct text *ret);

/* A function's name as people read it, in place of what B held: no argument list, no quotes. */
struct text perfscript_frame_tidy(struct buf *b, struct text function, bool java);

/* "file.c:12", the line that -F +srcline puts behind a frame. False when it is something else. */
bool perfscript_frame_srcline(struct text line, struct text *ret_file, uint32_t *ret_line);

/* "libc.so.6[27b25]", what -F +srcline prints where it knows no source. */
bool perfscript_frame_no_srcline(struct text line);
