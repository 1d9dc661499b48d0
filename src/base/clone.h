/*
 * clone.h - names of functions without what a compiler appends to copies and parts of them, and
 * functions of the C library without what tells their variants apart.
 *
 *     parse.isra.0                    -> parse
 *     parse.cold                      -> parse
 *     parse(int) [clone .part.2]      -> parse(int)
 *     app::run::h0123456789abcdef     -> app::run
 *
 * The one place that knows these: for names that are shown, and for names that are compared.
 */
#pragma once
#include "base/text.h"

/* The front of NAME that is the function's own; never empty unless NAME is. */
struct text clone_plain(struct text name);

/*
 * Whether NAME is a variant of the C library's function WORD, one of those that the loader chooses
 * from by what the CPU can do: "__strlen_avx2" of "strlen". memcpy and memmove share their code,
 * and its name is that of memmove.
 */
bool clone_is_variant(struct text name, struct text word);
