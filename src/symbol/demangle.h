/*
 * demangle.h - names of C++ and Rust as people write them.
 *
 * Without parameter lists and return types, template arguments kept: "std::vector<int>::at".
 * Rust's hashes are left out. Names over 4096 bytes, and those that would unfold to more than
 * 64 KB (a few hundred bytes can stand for gigabytes), are left as they are.
 */
#pragma once
#include "base/buf.h"

enum { DEMANGLE_INPUT_MAX = 4096, DEMANGLE_OUTPUT_MAX = 64 << 10 };

/* The same with parameters: "f(int)"; of C++ only, as Rust has no overloads. */
bool demangle_signature(const char *mangled, struct buf *ret);

/* Append the readable form of MANGLED. False, and nothing appended, if it is not mangled. */
bool demangle(const char *mangled, struct buf *ret);
