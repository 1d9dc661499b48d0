#include "symbol/debugfile.h"

#include "base/mem.h"
#include "symbol/debuginfod.h"

#include <elfutils/libdwelf.h>
#include <zlib.h>

/* Open one place where it might be; it counts only if it has debug information or symbols. */
static int try_open(struct elffile *ret, char *path, struct text build_id)
{
    autofree char *own = path;
    if (elffile_open(ret, own, build_id) != 0)
        return -1;
    if (ret->has_dwarf || elffile_section(ret->elf, SHT_SYMTAB))
        return 0;
    elffile_close(ret);
    return -1;
}

/* As debuggers keep them, and as perf does. */
static int by_build_id(struct elffile *ret, struct text id, const char *folder)
{
    if (id.n < 4 || id.n > 2 * BUILD_ID_MAX)
        return -1;
    int rest = (int)id.n - 2;
    const char *more = id.at + 2;
    if (try_open(ret, mem_printf("%s/.build-id/%.2s/%.*s.debug", folder, id.at, rest, more), id) ==
            0 ||
        try_open(ret, mem_printf("%s/.build-id/%.2s/%.*s/debug", folder, id.at, rest, more), id) ==
            0)
        return 0;
    return try_open(ret, mem_printf("%s/%.2s/%.*s.debug", folder, id.at, rest, more), id);
}

/*
 * The checksum that .gnu_debuglink gives of the debug file: zlib's CRC-32 of all its bytes. Not by
 * elf_rawfile(), after which libelf forgets to free what it read before.
 */
static bool has_checksum(int fd, GElf_Word crc)
{
    enum { PIECE = 1 << 16 };
    autofree uint8_t *piece = mem_realloc(NULL, PIECE);
    uLong sum = crc32_z(0, NULL, 0);
    off_t at = 0;
    for (ssize_t n; (n = pread(fd, piece, PIECE, at)) > 0; at += n)
        sum = crc32_z(sum, piece, (size_t)n);
    return sum == crc;
}

static int try_link(struct elffile *ret, char *path, struct text build_id, GElf_Word crc)
{
    if (try_open(ret, path, build_id) != 0)
        return -1;
    if (build_id.n || has_checksum(ret->fd, crc))
        return 0;
    elffile_close(ret);
    return -1;
}

/* The file that .gnu_debuglink names: beside MAIN, in .debug, or in the folder of debug files. */
static int by_link(struct elffile *ret, const char *path, Elf *main, struct text build_id,
                   const char *folder)
{
    GElf_Word crc = 0;
    const char *name = dwelf_elf_gnu_debuglink(main, &crc);
    const char *slash = strrchr(path, '/');
    if (!name || !*name || strchr(name, '/') || !slash)
        return -1;
    int n = (int)(slash - path);
    const char *base = slash + 1;
    if (strcmp(base, name) != 0 &&
        try_link(ret, mem_printf("%.*s/%s", n, path, name), build_id, crc) == 0)
        return 0;
    if (try_link(ret, mem_printf("%.*s/.debug/%s", n, path, name), build_id, crc) == 0)
        return 0;
    return try_link(ret, mem_printf("%s%.*s/%s", folder, n, path, name), build_id, crc);
}

static int by_place(struct elffile *ret, const char *path, struct text build_id, const char *folder)
{
    /* Without a build-id nothing says whether such a file belongs to this one. */
    if (!build_id.n)
        return -1;
    return try_open(ret, mem_printf("%s%s.debug", folder, path), build_id);
}

int debugfile_open(struct elffile *ret, const char *path, Elf *main, struct text build_id,
                   const char *folder)
{
    if (by_build_id(ret, build_id, folder) == 0 ||
        (main && by_link(ret, path, main, build_id, folder) == 0))
        return 0;
    return by_place(ret, path, build_id, folder);
}

int debugfile_ask(struct elffile *ret, struct text build_id)
{
    int fd = debuginfod_find(build_id);
    return fd < 0 ? -1 : elffile_open_fd(ret, fd, build_id);
}
