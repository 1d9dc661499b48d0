/*
 * elffile.h - the ELF file of a module, and the file that has its debug information.
 */
#pragma once
#include "base/text.h"

#include <elfutils/libdw.h>
#include <gelf.h>

struct elffile {
    int fd;
    Elf *elf;
    bool has_dwarf; /* debug information, which may be unreadable */
    bool is_packed; /* and it is compressed: opening it means unpacking all of it */
    Dwarf *dw;      /* once asked for */
};

enum { BUILD_ID_MAX = 64 }; /* bytes; 20 is common */

/*
 * Open the file at PATH. With a BUILD_ID (lower-case hex) a file that has another is refused: it
 * is not the one that was running. Returns -1 if it is not there, not ELF, or another.
 */
int elffile_open(struct elffile *f, const char *path, struct text build_id);
void elffile_close(struct elffile *f); /* harmless after a failed open */

/* Take over FD, as elffile_open does its file. */
int elffile_open_fd(struct elffile *f, int fd, struct text build_id);

/* The debug information, opened at the first call; NULL where there is none that can be read. */
Dwarf *elffile_dwarf(struct elffile *f);

/* The same for a file that is asked for nothing but its units: lines are not read. */
Dwarf *elffile_dwarf_units(struct elffile *f);

/* A file's build-id in hex, NUL-terminated; "" where it has none. */
void elffile_build_id(Elf *elf, char ret[2 * BUILD_ID_MAX + 1]);

/*
 * What a mapping that has the file's byte OFFSET at START adds to the addresses that the file was
 * linked to. With START and OFFSET 0 addresses count from the image's first. 0 where not known.
 */
uint64_t elffile_bias(Elf *elf, uint64_t start, uint64_t offset);

/* The first section of a type, or with a name, or NULL. */
Elf_Scn *elffile_section(Elf *elf, uint32_t type);
Elf_Scn *elffile_named_section(Elf *elf, const char *name);
