#include "record/timer_program.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/program.h"
#include "wire/heap.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

enum { SCRIPTS_MAX = 4, PATH_BYTES = 4096 };

/* The loader ignores preloads when a program gets more rights than who starts it. */
static int check_rights(const char *path, int fd, struct err *err)
{
    struct stat st;
    char caps[64];
    if (fstat(fd, &st) != 0)
        return 0;
    bool user = st.st_mode & S_ISUID && st.st_uid != geteuid();
    bool group = st.st_mode & S_ISGID && st.st_mode & S_IXGRP && st.st_gid != getegid();
    bool capable = geteuid() != 0 && fgetxattr(fd, "security.capability", caps, sizeof caps) > 0;
    if (user || group || capable)
        return err_set(err, EXIT_ERROR,
                       "'%s' is %s, and loads no library of ours unless kelvin runs with the same "
                       "rights",
                       path,
                       user    ? "setuid"
                       : group ? "setgid"
                               : "given capabilities");
    return 0;
}

static uint16_t host_machine(void)
{
    ElfW(Ehdr) own = {0};
    autoclose int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    return fd >= 0 && read(fd, &own, sizeof own) == sizeof own ? own.e_machine : EM_NONE;
}

/* The next segment of TYPE from number *AT on; false when there is none. */
static bool next_segment(int fd, const ElfW(Ehdr) * elf, uint32_t type, int *at, ElfW(Phdr) * ret)
{
    for (; *at < elf->e_phnum; ++*at) {
        off_t offset = (off_t)(elf->e_phoff + (uint64_t)*at * elf->e_phentsize);
        if (pread(fd, ret, sizeof *ret, offset) != sizeof *ret)
            return false;
        if (ret->p_type == type) {
            ++*at;
            return true;
        }
    }
    return false;
}

/* The path of the program's loader in TO; false when it has none. */
static bool read_loader(int fd, const ElfW(Ehdr) * elf, char *to, size_t n)
{
    ElfW(Phdr) p;
    int at = 0;
    if (!next_segment(fd, elf, PT_INTERP, &at, &p))
        return false;
    ssize_t got = pread(fd, to, p.p_filesz < n ? p.p_filesz : n - 1, (off_t)p.p_offset);
    to[got > 0 ? got : 0] = '\0';
    return true;
}

/* A note whose owner is HEAP_NOTE_OWNER: see wire/heap.h. */
static bool has_heap_note(int fd, const ElfW(Ehdr) * elf)
{
    ElfW(Phdr) p;
    char notes[PATH_BYTES];
    for (int at = 0; next_segment(fd, elf, PT_NOTE, &at, &p);) {
        ssize_t n = pread(fd, notes, p.p_filesz < sizeof notes ? p.p_filesz : sizeof notes,
                          (off_t)p.p_offset);
        if (n > 0 && memmem(notes, (size_t)n, HEAP_NOTE_OWNER, sizeof HEAP_NOTE_OWNER))
            return true;
    }
    return false;
}

static int check_elf(const char *path, int fd, const ElfW(Ehdr) * elf, struct err *err)
{
    char loader[PATH_BYTES];
    if (elf->e_ident[EI_CLASS] != ELFCLASS64 || elf->e_machine != host_machine())
        return err_set(err, EXIT_ERROR,
                       "'%s' is for another machine than kelvin (a 32-bit program, or one for "
                       "another processor)",
                       path);
    if (!read_loader(fd, elf, loader, sizeof loader))
        return err_set(err, EXIT_ERROR, "'%s' is a static program", path);
    if (strstr(loader, "ld-musl"))
        return err_set(err, EXIT_ERROR, "'%s' is linked to musl, and kelvin's libraries to glibc",
                       path);
    return 0;
}

/* The first word after "#!", in place; NULL when there is none. */
static char *interpreter_of(char *head)
{
    if (strncmp(head, "#!", 2) != 0)
        return NULL;
    char *at = head + 2 + strspn(head + 2, " \t");
    at[strcspn(at, " \t\n")] = '\0';
    return *at ? at : NULL;
}

/* "#!/usr/bin/env python3": what follows is looked at no more, it is seldom static. */
static int check_path(const char *path, int depth, struct err *err)
{
    union {
        ElfW(Ehdr) elf;
        char text[256];
    } head = {0};
    autoclose int fd = path_open_file(path, 0, NULL);
    if (fd < 0 || read(fd, head.text, sizeof head.text - 1) <= 0)
        return 0;
    if (memcmp(head.text, ELFMAG, SELFMAG) == 0)
        return check_rights(path, fd, err) != 0 ? -1 : check_elf(path, fd, &head.elf, err);
    const char *next = interpreter_of(head.text);
    return next && depth < SCRIPTS_MAX ? check_path(next, depth + 1, err) : 0;
}

int timer_program_check(const char *command, const char *then, struct err *err)
{
    struct err why;
    autofree char *path = NULL;
    if (program_find(command, &path) != PROGRAM_FOUND || check_path(path, 0, &why) == 0)
        return 0;
    return err_set(err, why.code, "%s: %s", why.text, then);
}

struct timer_static timer_program_static(const char *command)
{
    struct err ignored;
    char loader[PATH_BYTES];
    ElfW(Ehdr) elf = {0};
    struct timer_static is = {0};
    autofree char *path = NULL;
    if (program_find(command, &path) != PROGRAM_FOUND)
        return is;
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, &elf, sizeof elf) != sizeof elf ||
        memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 || elf.e_ident[EI_CLASS] != ELFCLASS64 ||
        elf.e_machine != host_machine() || check_rights(path, fd, &ignored) != 0)
        return is;
    is.is_static = !read_loader(fd, &elf, loader, sizeof loader);
    is.has_heap = is.is_static && has_heap_note(fd, &elf);
    return is;
}
