/*
 * objfile.h - the parts of an ELF file that the unwinder needs, from a file or from memory.
 *
 * Files are read, not mapped: a program that is overwritten while it is read must not kill the
 * recorder by SIGBUS. Every size is checked against the file's before memory is
 * asked for.
 *
 * ELF headers are read by hand with every offset checked: libelf offers nothing for a file without
 * section headers. The load bias is that of the segment (PT_LOAD) that is mapped at a place: with
 * lld and mold it differs between segments of one file.
 */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "unwind/table.h"

#include <elf.h>

struct objfile {
    const char *name;     /* for messages */
    int fd;               /* -1: in memory */
    const uint8_t *image; /* when in memory */
    uint64_t size_bytes;
    Elf64_Ehdr head;
    Elf64_Phdr *segments; /* head.e_phnum of them */
    Elf64_Shdr *sections; /* head.e_shnum of them, or NULL */
    struct buf names;     /* of the sections */
};

/* Read the headers. NAME is for messages. The file or the bytes must outlive the objfile. */
int objfile_open_fd(struct objfile *o, int fd, const char *name, struct err *err);
int objfile_open_memory(struct objfile *o, const void *image, size_t n, struct err *err);
void objfile_done(struct objfile *o);

/* The bytes of a section and where they are in memory. Free bytes with buf_done(). */
struct objfile_part {
    uint64_t vaddr;
    struct buf bytes;
};

/* .eh_frame or .debug_frame; empty when there is none. False when the file is cut or lies. */
bool objfile_eh_frame(const struct objfile *o, struct objfile_part *ret);
bool objfile_debug_frame(const struct objfile *o, struct objfile_part *ret);

bool objfile_has_section(const struct objfile *o, const char *name);

/* The bytes of .symtab and of its names, which end in a zero byte. False where there are none. */
bool objfile_symbols(const struct objfile *o, struct buf *ret_symbols, struct buf *ret_names);

/* The same of .dynsym, which stripped files have as well. */
bool objfile_dynamic_symbols(const struct objfile *o, struct buf *ret_symbols,
                             struct buf *ret_names);

/* Where in the file the code at VADDR is; false where there is none. */
bool objfile_code_offset(const struct objfile *o, uint64_t vaddr, uint64_t *ret);

/* Up to N bytes of the loaded segment at VADDR; returns how many there are. */
size_t objfile_code(const struct objfile *o, uint64_t vaddr, uint8_t *ret, size_t n);

/* The build-id as lower-case hex, "" for none. */
void objfile_build_id(const struct objfile *o, char *ret, size_t n);
