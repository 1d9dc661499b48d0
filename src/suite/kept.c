/* kept.c - programs that baselines keep; see kept.h. */
#include "suite/kept.h"
#include "base/buf.h"
#include "base/path.h"
#include "host/ask.h"
#include "suite/folder.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

/* Whether it needs a library that lies below this folder. */
static bool has_own_libraries(const char *binary)
{
    autobuf struct buf said = {0};
    autofree char *here = getcwd(NULL, 0);
    const char *argv[] = {"ldd", binary, NULL};
    struct ask ask = {.ms_left = 5000};
    if (!here)
        return true;
    if (!ask_program(&ask, argv, &said))
        return true;
    const char *text = buf_cstr(&said);
    autofree char *below = mem_printf("=> %s/", here);
    return strstr(text, below) || strstr(text, "not found");
}

/* Of a program with a loader: a static one has no libraries, and ldd calls that a failure. */
static bool has_loader(int fd, const Elf64_Ehdr *head)
{
    for (int i = 0; i < head->e_phnum; i++) {
        Elf64_Phdr p;
        off_t at = (off_t)(head->e_phoff + (uint64_t)i * sizeof p);
        if (pread(fd, &p, sizeof p, at) != sizeof p)
            return true;
        if (p.p_type == PT_INTERP)
            return true;
    }
    return false;
}

const char *kept_refuses(const char *binary)
{
    Elf64_Ehdr head = {0};
    autoclose int fd = path_open_file(binary, O_CLOEXEC, NULL);
    if (fd < 0 || pread(fd, &head, sizeof head, 0) != sizeof head ||
        memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
        return "it is a script or not a program";
    return has_loader(fd, &head) && has_own_libraries(binary) ? "it loads libraries of the project"
                                                              : NULL;
}

char *kept_path(const char *folder, const char *binary)
{
    const char *slash = strrchr(binary, '/');
    return mem_printf("%s/program/%s", folder, slash ? slash + 1 : binary);
}

int kept_copy(const char *folder, const char *binary, struct err *err)
{
    autofree char *below = mem_printf("%s/program", folder), *to = kept_path(folder, binary);
    struct stat st;
    if (stat(binary, &st) != 0 || (mkdir(below, 0700) != 0 && errno != EEXIST))
        return err_set_errno(err, errno, "cannot make the folder '%s'", below);
    if (folder_copy_file(binary, to, err) != 0)
        return -1;
    /* Nobody may read the copy who may not read the program; no rights of its owner go along. */
    if (chmod(to, (st.st_mode & 0777) | 0100) != 0 || chmod(below, 0755) != 0)
        return err_set_errno(err, errno, "cannot set the mode of '%s'", to);
    return 0;
}

char *kept_hash(const char *path)
{
    char chunk[65536];
    ssize_t n = -1;
    autoclose int fd = path_open_file(path, O_CLOEXEC, NULL);
    XXH3_state_t *state = fd >= 0 ? XXH3_createState() : NULL;
    if (!state)
        return NULL;
    XXH3_64bits_reset(state);
    while ((n = read(fd, chunk, sizeof chunk)) > 0)
        XXH3_64bits_update(state, chunk, (size_t)n);
    uint64_t hash = XXH3_64bits_digest(state);
    XXH3_freeState(state);
    return n == 0 ? mem_printf("%016llx", (unsigned long long)hash) : NULL;
}
