/*
 * files_inner.h - the unwind tables of files, each once, for as long as somebody may need them.
 *
 * Every mapping that was opened holds its file. A table that no mapping holds is kept, because
 * programs that ran once (cc, sh, a test) mostly run again. The number of such tables is limited:
 * a machine that is recorded for a day runs any number of programs, and each would be an open
 * file and its rules in memory. Those released first are forgotten first.
 */
#pragma once
#include "base/intern.h"
#include "unwind/space_inner.h"

#include <sys/stat.h>

/*
 * At most this many files that no mapping holds are kept. Up to twice as many are there for a
 * moment: going through all at each process that ends would take longer than reading a table.
 */
enum { UNWIND_UNHELD_KEPT = 64, UNWIND_VDSO_ID = 1 };

/* One file that was examined, whether or not it had a table. */
struct unwind_file {
    uint64_t id;                /* of this file alone: memory comes again, numbers do not */
    struct unwind_table *table; /* NULL: not ELF, or damaged */
    struct codefile *code;      /* NULL: none, or too many */
    dev_t dev;
    ino_t ino;
    off_t size_bytes;
    struct timespec changed;
    size_t n_holders;
    uint64_t released; /* the higher, the later; of one that nobody holds */
};

struct unwind_files {
    VEC(struct unwind_file *) all;
    struct idmap by_inode;
    struct intern paths;
    struct unwind_table *vdso;
    bool vdso_tried;
    uint32_t generation;
    uint64_t last_id, last_released;
    size_t n_unheld, n_codefiles;
    struct rule_slot slots[RULE_SLOTS];
};

/* The file that is open as FD, read unless it is known; NULL where it cannot be. PATH is for
 * messages. Every hold wants its release. */
struct unwind_file *unwind_file_hold(struct unwind_files *f, int fd, const char *path);
void unwind_file_release(struct unwind_files *f, struct unwind_file *file);

/* The rules of the vdso; NULL where there is none. */
const struct unwind_table *unwind_files_vdso(struct unwind_files *f);
