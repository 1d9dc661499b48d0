/*
 * debugdata.h - the symbols that Fedora and others pack into a stripped file (.gnu_debugdata).
 *
 * An ELF file inside of the section, packed with xz. A few kilobytes can unpack to gigabytes, so
 * there is a limit: a hundred times what is packed and a megabyte (symbols shrink to a fifth),
 * and never more than 512 MB.
 */
#pragma once
#include <gelf.h>
#include <stddef.h>

struct debugdata {
    Elf *elf;
    void *image;
    size_t image_bytes; /* of memory; the file in it may be shorter */
};

enum debugdata_end { DEBUGDATA_OPEN, DEBUGDATA_NONE, DEBUGDATA_BAD, DEBUGDATA_TOO_BIG };

/* Unpack the one in MAIN. */
enum debugdata_end debugdata_open(struct debugdata *d, Elf *main);
void debugdata_close(struct debugdata *d); /* harmless when it is not open */
