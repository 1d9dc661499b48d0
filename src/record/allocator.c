#include "record/allocator.h"

#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* The first is the one that makes a file an allocator. */
static const struct allocator_function functions[] = {
    {.name = "malloc", .size = 1},
    {.name = "calloc", .size = 1, .times = 2},
    {.name = "realloc", .size = 2, .freed = 1},
    {.name = "posix_memalign", .align = 2, .size = 3, .result = 1},
    {.name = "aligned_alloc", .align = 1, .size = 2},
    {.name = "memalign", .align = 1, .size = 2},
    {.name = "valloc", .size = 1},
    {.name = "pvalloc", .size = 1},
    {.name = "_Znwm", .size = 1},
    {.name = "_Znam", .size = 1},
    {.name = "_ZnwmRKSt9nothrow_t", .size = 1},
    {.name = "_ZnamRKSt9nothrow_t", .size = 1},
    {.name = "_ZnwmSt11align_val_t", .size = 1},
    {.name = "_ZnamSt11align_val_t", .size = 1},
    {.name = "_ZnwmSt11align_val_tRKSt9nothrow_t", .size = 1},
    {.name = "_ZnamSt11align_val_tRKSt9nothrow_t", .size = 1},
    {.name = "free", .freed = 1},
    {.name = "_ZdlPv", .freed = 1},
    {.name = "_ZdaPv", .freed = 1},
    {.name = "_ZdlPvm", .freed = 1},
    {.name = "_ZdaPvm", .freed = 1},
    {.name = "_ZdlPvSt11align_val_t", .freed = 1},
    {.name = "_ZdaPvSt11align_val_t", .freed = 1},
    {.name = "_ZdlPvmSt11align_val_t", .freed = 1},
    {.name = "_ZdaPvmSt11align_val_t", .freed = 1},
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };
_Static_assert((int)FUNCTIONS <= (int)ALLOCATOR_PLACES, "there is room for all");

/* --- a file --- */

/* Several names of one place are one function. */
static void add_place(struct allocator *a, const struct allocator_function *f, uint64_t offset)
{
    for (size_t i = 0; i < a->n; i++)
        if (a->places[i].offset == offset || a->places[i].function == f)
            return;
    a->places[a->n++] = (struct allocator_place){f, offset};
}

/* The addresses of the functions, 0 = not there. */
struct found {
    uint64_t address[FUNCTIONS];
    bool glibc;
};

static void take_symbol(struct found *f, const Elf64_Sym *s, const char *name)
{
    if (s->st_shndx == SHN_UNDEF || ELF64_ST_TYPE(s->st_info) != STT_FUNC || !s->st_value)
        return;
    f->glibc |= strcmp(name, "_int_malloc") == 0 || strcmp(name, "__libc_mallopt") == 0;
    for (int i = 0; i < FUNCTIONS; i++)
        if (!f->address[i] && strcmp(name, functions[i].name) == 0)
            f->address[i] = s->st_value;
}

static void take_symbols(struct found *f, const struct buf *symbols, const struct buf *names)
{
    for (size_t at = 0; at + sizeof(Elf64_Sym) <= symbols->n; at += sizeof(Elf64_Sym)) {
        Elf64_Sym s;
        memcpy(&s, symbols->at + at, sizeof s);
        if (s.st_name < names->n)
            take_symbol(f, &s, names->at + s.st_name);
    }
}

void allocator_read(struct allocator *a, const struct objfile *o)
{
    struct buf symbols = {0}, names = {0};
    struct found f = {0};
    uint64_t offset;
    if (objfile_dynamic_symbols(o, &symbols, &names))
        take_symbols(&f, &symbols, &names);
    symbols.n = names.n = 0;
    if (objfile_symbols(o, &symbols, &names))
        take_symbols(&f, &symbols, &names);
    buf_done(&symbols);
    buf_done(&names);
    a->n = 0;
    a->glibc = f.glibc;
    for (int i = 0; f.address[0] && i < FUNCTIONS; i++)
        if (f.address[i] && objfile_code_offset(o, f.address[i], &offset))
            add_place(a, &functions[i], offset);
    if (a->n && a->places[0].function != functions)
        a->n = 0;
}

/* --- a process --- */

enum allocator_rank { RANK_NONE, RANK_LIBC, RANK_LIBRARY, RANK_PROGRAM };

static bool is_libc(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    return strncmp(name, "libc.so", 7) == 0 || strncmp(name, "libc-2.", 7) == 0 ||
           strncmp(name, "ld-", 3) == 0;
}

/* "START-END r-xp OFFSET DEV INODE PATH": code of a file. RANGE is its name in map_files. */
static const char *code_path(char *line, char range[static 40])
{
    char rights[5];
    unsigned long long start, end, inode;
    int path_at = 0;
    if (sscanf(line, "%llx-%llx %4s %*s %*s %llu %n", &start, &end, rights, &inode, &path_at) < 4 ||
        !path_at || rights[2] != 'x' || !inode)
        return NULL;
    snprintf(range, 40, "%llx-%llx", start, end);
    line[strcspn(line, "\n")] = '\0';
    return line + path_at;
}

/* The file in place of what A has, where it is the better one. */
static enum allocator_rank take_file(struct allocator *a, const char *path, const char *name,
                                     enum allocator_rank rank, enum allocator_rank best)
{
    struct objfile o;
    struct err ignored;
    struct allocator new = {0};
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || objfile_open_fd(&o, fd, name, &ignored) != 0) {
        if (fd >= 0)
            objfile_done(&o);
        return best;
    }
    allocator_read(&new, &o);
    objfile_done(&o);
    if (!new.n)
        return best;
    allocator_done(a);
    *a = new;
    a->glibc |= rank == RANK_LIBC;
    a->path = mem_strdup(path);
    a->name = mem_strdup(name);
    return rank;
}

static char *program_of(int pid)
{
    char path[40], to[4096];
    snprintf(path, sizeof path, "/proc/%d/exe", pid);
    ssize_t n = readlink(path, to, sizeof to - 1);
    return mem_strndup(to, n > 0 ? (size_t)n : 0);
}

/*
 * Names of files may mean others by now, or nothing to us: links in map_files lead to what is
 * mapped. They are for root.
 */
static int allocator_search(struct allocator *a, int pid, bool *denied, struct err *err)
{
    enum allocator_rank best = RANK_NONE;
    char maps[40], range[40];
    autofree char *line = NULL, *program = program_of(pid);
    size_t cap = 0;
    snprintf(maps, sizeof maps, "/proc/%d/maps", pid);
    autofclose FILE *f = fopen(maps, "re");
    if (!f)
        return errno == ENOENT ? err_set(err, EXIT_ERROR, "no process %d", pid)
                               : err_set_errno(err, errno, "cannot read '%s'", maps);
    while (getline(&line, &cap, f) > 0) {
        const char *name = code_path(line, range);
        enum allocator_rank rank = !name                        ? RANK_NONE
                                   : strcmp(name, program) == 0 ? RANK_PROGRAM
                                   : is_libc(name)              ? RANK_LIBC
                                                                : RANK_LIBRARY;
        if (rank <= best)
            continue;
        autofree char *path = mem_printf("/proc/%d/map_files/%s", pid, range);
        *denied |= access(path, R_OK) != 0 && (errno == EPERM || errno == EACCES);
        best = take_file(a, path, name, rank, best);
    }
    return 0;
}

/* Why there is none. */
static int allocator_missing(int pid, struct err *err)
{
    char path[40];
    struct objfile o;
    struct err why;
    snprintf(path, sizeof path, "/proc/%d/exe", pid);
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_set_errno(err, errno, "cannot read the files of process %d: run as root", pid);
    int rc = objfile_open_fd(&o, fd, path, &why);
    objfile_done(&o);
    if (rc != 0)
        return err_set(err, EXIT_ERROR,
                       "process %d is not a 64-bit program: its allocations cannot be recorded",
                       pid);
    return err_set(err, EXIT_ERROR,
                   "no malloc was found in the files of process %d: its allocator is linked in "
                   "without a symbol",
                   pid);
}

int allocator_find(struct allocator *a, int pid, struct err *err)
{
    *a = (struct allocator){0};
    bool denied = false;
    if (allocator_search(a, pid, &denied, err) != 0)
        return -1;
    if (!a->n && denied)
        return err_set(err, EXIT_ERROR,
                       "no right to follow the heap of process %d, which runs already: run as "
                       "root, or record it from its start",
                       pid);
    return a->n ? 0 : allocator_missing(pid, err);
}

void allocator_done(struct allocator *a)
{
    free(a->path);
    free(a->name);
    *a = (struct allocator){0};
}
