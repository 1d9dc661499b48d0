/*
 * space.h - a process's mapped code, and the unwind table of each mapped file.
 *
 * Tables are loaded on first use and shared between processes that map the same file. Where none
 * does any more a table is kept for a while, as the next process may: files_inner.h.
 */
#pragma once
#include "unwind/table.h"

struct unwind_files; /* tables of files, by device, inode and time of change */
struct unwind_space;

struct unwind_files *unwind_files_new(void);
void unwind_files_free(struct unwind_files *f); /* after all spaces that use it; NULL is fine */

/* One executable mapping of a process. */
struct unwind_map {
    uint64_t start, end, offset; /* addresses, and the file offset of start */
    const char *path;            /* as the process sees it; "[vdso]", "" or "//anon" for no file */
    const char *open_path;       /* where to read it: /proc/PID/root/...; NULL = path */
    uint32_t user_id;            /* whatever the caller wants back from unwind_space_find() */
    int pid;                     /* that has it mapped now, for files that are deleted; 0 = none */
};

struct unwind_space *unwind_space_new(struct unwind_files *files);
struct unwind_space *unwind_space_copy(const struct unwind_space *s); /* fork */
void unwind_space_free(struct unwind_space *s);                       /* NULL is fine */

/* The processor the process ran on, until a file says otherwise. At first it is this program's. */
void unwind_space_set_machine(struct unwind_space *s, uint16_t machine);

/*
 * Map; what was mapped there before is unmapped in that range. Strings are copied. The file is
 * opened when the first walk comes by: at open_path, or at path if the process is gone by then, or
 * as what is mapped if that is gone.
 */
void unwind_space_map(struct unwind_space *s, const struct unwind_map *m);
void unwind_space_clear(struct unwind_space *s); /* exec */

/* Open a file that may be deleted: PATH, or what process PID has mapped from START to END. */
int unwind_open_mapped(const char *path, int pid, uint64_t start, uint64_t end);

/* The mapping that holds PC, or NULL. Good until the space changes. */
const struct unwind_map *unwind_space_find(const struct unwind_space *s, uint64_t pc);

/* PC as an address of its file (load bias from PT_LOAD); PC itself where no file is known. */
uint64_t unwind_space_vaddr(struct unwind_space *s, uint64_t pc);

/*
 * Whether PC lies in the code of a file that a signal handler returns to, and that has no name in
 * many a C library: x86-64's __restore_rt.
 */
bool unwind_space_is_trampoline(struct unwind_space *s, uint64_t pc);

/* What is mapped at one place, and its rules. */
struct unwind_code {
    uint64_t start, end;
    uint64_t bias;                    /* address in memory - address in the file */
    const struct unwind_table *table; /* NULL: no file, or not ELF. Good until the space changes */
    uint64_t file_id; /* no other file ever has it, even where its table lies; 0 = no table */
};

/* The I-th mapping, by address; false when there are fewer. */
bool unwind_space_code(struct unwind_space *s, size_t i, struct unwind_code *ret);
