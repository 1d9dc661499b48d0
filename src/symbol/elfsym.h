/*
 * elfsym.h - function names from an ELF file's symbol tables.
 */
#pragma once
#include "symbol/lookup.h"

#include <gelf.h>

/*
 * Name the addresses that have no name yet: from .symtab, else from .dynsym. Of several symbols
 * at one address functions go before plain labels, global ones before local, then those with
 * fewer underscores in front: "write" and not "__write".
 */
void elfsym_name(struct lookup *l, Elf *elf);

/* The same from the packed symbols (.gnu_debugdata) of the file that FD is open on. */
void elfsym_name_packed(struct lookup *l, int fd);
