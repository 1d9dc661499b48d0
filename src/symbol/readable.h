/*
 * readable.h - names that an input left mangled, made readable.
 *
 *     _ZN3app5parseEi                              -> app::parse        C++
 *     _RNvCs4fqI2P2rA04_3app4main                  -> app::main         Rust, v0
 *     _$LT$app..Tree$u20$as$u20$app..Walk$GT$::go  -> <app::Tree as app::Walk>::go
 *
 * The last is what a C++ demangler makes of Rust's older names, perf's among them. What folded
 * stacks put behind a name to mark its kind ("_[k]") stays there.
 */
#pragma once
#include "base/buf.h"
#include "model/profile.h"

/* Append the readable form of NAME. False, and nothing appended, if it is readable already. */
bool readable_name(struct text name, struct buf *ret);

/* Rename the functions of P; the names they had become their system names. Returns how many. */
size_t readable_rename(struct profile *p);
