/*
 * producer.h - what a program was compiled with, as far as its file says.
 */
#pragma once
#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * The compiler and its flags from the debug information of the first unit that is no assembly, else
 * its name from what Go leaves in every program or from the section .comment, else NULL. Free it.
 */
char *producer_read(const char *path);

/*
 * Whether SAID is of a compiler that lists its options and got none that optimizes: gcc. clang and
 * rustc do not list theirs, so they are never said to have optimized nothing.
 */
bool producer_optimises_nothing(const char *said);

/* The same of the unit that PC is in; false where nothing is known. */
bool producer_left_unoptimised(Dwarf *dw, uint64_t pc);
