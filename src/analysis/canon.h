/*
 * canon.h - names of functions without what a compiler changes from build to build.
 *
 *     parse.isra.0            -> parse
 *     parse(int) [clone .cold]-> parse(int)
 *     app::run::h0123456789abcdef -> app::run
 *     f()::{lambda(int)#2}    -> f()::{lambda(int)}
 *
 * Two lambdas of one function become one: their numbers shift when a third is written above them.
 */
#pragma once
#include "base/buf.h"

/* Append the canonical form of NAME to B. */
void canon_add(struct buf *b, struct text name);
