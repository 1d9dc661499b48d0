#include "record/heap_own.h"

#include "base/mem.h"
#include "base/path.h"
#include "base/program.h"
#include "record/allocator.h"
#include "wire/heap.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* --- a program that runs --- */

/* "START-END RIGHTS OFFSET DEV INODE PATH": the path of the first line that has one. */
static char *first_path(struct text maps)
{
    const char *slash = maps.n ? memchr(maps.at, '/', maps.n) : NULL;
    if (!slash)
        return mem_strdup("");
    size_t left = maps.n - (size_t)(slash - maps.at);
    const char *end = memchr(slash, '\n', left);
    return mem_strndup(slash, end ? (size_t)(end - slash) : left);
}

/* Opens the program; its name in the file system may mean another by now. */
static int open_program(int pid, const char *path)
{
    char link[40];
    snprintf(link, sizeof link, "/proc/%d/exe", pid);
    int fd = open(link, O_RDONLY | O_CLOEXEC);
    return fd >= 0 ? fd : path_open_file(path, 0, NULL);
}

static bool defines_malloc(int fd, const char *name)
{
    struct objfile o;
    struct err ignored;
    struct allocator a = {0};
    if (objfile_open_fd(&o, fd, name, &ignored) == 0)
        allocator_read(&a, &o);
    objfile_done(&o);
    return a.n > 0;
}

/* Where the agent is part of the program its malloc is the program's. */
bool heap_own_malloc(int pid, struct text maps, char **ret_name)
{
    autofree char *path = first_path(maps);
    autoclose int fd = open_program(pid, path);
    const char *slash = strrchr(path, '/');
    if (fd < 0 || !memmem(maps.at, maps.n, HEAP_AGENT_FILE, strlen(HEAP_AGENT_FILE)) ||
        !defines_malloc(fd, path))
        return false;
    *ret_name = mem_strdup(slash ? slash + 1 : path);
    return true;
}

/* --- a command, before it runs --- */

/* gcc's AddressSanitizer is a library that ends the program unless it is loaded first. */
static bool needs_symbol(const struct objfile *o, const char *name)
{
    struct buf symbols = {0}, names = {0};
    bool needed = false;
    if (objfile_dynamic_symbols(o, &symbols, &names))
        for (size_t at = 0; at + sizeof(Elf64_Sym) <= symbols.n && !needed;
             at += sizeof(Elf64_Sym)) {
            Elf64_Sym s;
            memcpy(&s, symbols.at + at, sizeof s);
            needed = s.st_shndx == SHN_UNDEF && s.st_name < names.n &&
                     strcmp(names.at + s.st_name, name) == 0;
        }
    buf_done(&symbols);
    buf_done(&names);
    return needed;
}

static int check_object(const struct objfile *o, const char *command, struct err *err)
{
    if (objfile_has_section(o, ".go.buildinfo"))
        return err_set(err, EXIT_ERROR,
                       "'%s' is a Go program, whose heap is not malloc's: write a heap profile "
                       "with runtime/pprof or net/http/pprof, which kelvin reads",
                       command);
    if (needs_symbol(o, "__asan_init"))
        return err_set(err, EXIT_ERROR,
                       "'%s' is built with AddressSanitizer, whose malloc replaces the one that "
                       "would be recorded: build it without -fsanitize=address",
                       command);
    return 0;
}

int heap_own_check(const char *command, struct err *err)
{
    struct objfile o;
    struct err ignored;
    autofree char *path = NULL;
    if (program_find(command, &path) != PROGRAM_FOUND)
        return 0;
    autoclose int fd = path_open_file(path, 0, NULL);
    if (fd < 0)
        return 0;
    int rc = objfile_open_fd(&o, fd, path, &ignored) == 0 ? check_object(&o, command, err) : 0;
    objfile_done(&o);
    return rc;
}
