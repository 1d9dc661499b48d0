/*
 * clone.h - names of functions without what a compiler appends to copies and parts of them.
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
