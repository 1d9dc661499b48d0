/*
 * place.h - functions of stripped files, identified by where they start.
 *
 * A file without symbols still says where each function begins, in the table of its unwind
 * rules. "[libx.so+0x5e30]" is no name, and is not counted as one, but keeps hot functions apart
 * that would otherwise all be "[libx.so]". Variants that the loader chose have their public name
 * (chosen.h).
 */
#pragma once
#include "symbol/lookup.h"

#include <gelf.h>

/* Describe the addresses that have no name yet by their function's start. */
void place_name(struct lookup *l, Elf *elf, struct text module);
