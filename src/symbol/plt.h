/*
 * plt.h - names of the stubs through which a file calls functions of other files.
 *
 * This is the only file in this room that depends on an architecture, because the targets of
 * stubs are in their instructions. x86-64 only; on other architectures stubs have no names.
 */
#pragma once
#include "symbol/lookup.h"

#include <gelf.h>

/* Name addresses in .plt, .plt.sec and .plt.got that have no name yet, as "puts@plt". */
void plt_name(struct lookup *l, Elf *elf);
