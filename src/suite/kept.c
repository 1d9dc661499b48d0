/* kept.c - programs that baselines keep; see kept.h. */
#include "suite/kept.h"
#include "base/buf.h"
#include "base/path.h"
#include "host/ask.h"
#include "suite/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
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
    bool answered = ask_program(&ask, argv, &said);
    const char *text = buf_cstr(&said);
    if (!answered) /* ldd says that of static programs, too, and calls it a failure */
        return !strstr(text, "not a dynamic executable") && !strstr(text, "statically linked");
    autofree char *below = mem_printf("=> %s/", here);
    return strstr(text, below) || strstr(text, "not found");
}

static bool is_elf(const char *binary)
{
    char magic[4] = "";
    autoclose int fd = path_open_file(binary, O_CLOEXEC, NULL);
    return fd >= 0 && read(fd, magic, sizeof magic) == sizeof magic &&
           memcmp(magic,
                  "\x7f"
                  "ELF",
                  4) == 0;
}

const char *kept_refuses(const char *binary)
{
    if (!is_elf(binary))
        return "it is a script or not a program";
    return has_own_libraries(binary) ? "it loads libraries of the project" : NULL;
}

char *kept_path(const char *folder, const char *binary)
{
    const char *slash = strrchr(binary, '/');
    return mem_printf("%s/program/%s", folder, slash ? slash + 1 : binary);
}

int kept_copy(const char *folder, const char *binary, struct err *err)
{
    autofree char *below = mem_printf("%s/program", folder), *to = kept_path(folder, binary);
    if (mkdir(below, 0777) != 0)
        return err_set_errno(err, errno, "cannot make the folder '%s'", below);
    if (folder_copy_file(binary, to, err) != 0)
        return -1;
    chmod(to, 0755);
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
