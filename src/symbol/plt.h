/*
 * plt.h - names of the stubs through which a file calls functions of other files.
 *
 * This is the only file here that knows an architecture: the stubs are code, and where they jump
 * to stands in their instructions. x86-64; on others stubs stay without a name.
 */
#pragma once
#include "symbol/lookup.h"

#include <gelf.h>

/* Name addresses in .plt, .plt.sec and .plt.got that have no name yet, as "puts@plt". */
void plt_name(struct lookup *l, Elf *elf);
