#include "record/timer_program.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/program.h"

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

/* The path of the program's loader in TO; false when it has none. */
static bool read_loader(int fd, const ElfW(Ehdr) * elf, char *to, size_t n)
{
    for (int i = 0; i < elf->e_phnum; i++) {
        ElfW(Phdr) p;
        off_t at = (off_t)(elf->e_phoff + (uint64_t)i * elf->e_phentsize);
        if (pread(fd, &p, sizeof p, at) != sizeof p)
            return false;
        if (p.p_type != PT_INTERP)
            continue;
        ssize_t got = pread(fd, to, p.p_filesz < n ? p.p_filesz : n - 1, (off_t)p.p_offset);
        to[got > 0 ? got : 0] = '\0';
        return true;
    }
    return false;
}

static int check_elf(const char *path, int fd, const ElfW(Ehdr) * elf, struct err *err)
{
    char loader[PATH_BYTES];
    if (elf->e_ident[EI_CLASS] != ELFCLASS64 || elf->e_machine != host_machine())
        return err_set(err, EXIT_ERROR, "'%s' is for another machine than kelvin", path);
    if (!read_loader(fd, elf, loader, sizeof loader))
        return err_set(err, EXIT_ERROR, "'%s' is a static program", path);
    if (strstr(loader, "ld-musl"))
        return err_set(err, EXIT_ERROR, "'%s' uses musl, kelvin glibc", path);
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
