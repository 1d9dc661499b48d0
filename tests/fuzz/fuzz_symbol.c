/*
 * fuzz_symbol.c - any bytes as what names are read from: an ELF file (its symbols, stubs and Go's
 * own table), a jitdump file or a perf map, whichever they begin like.
 *
 * Debug information is left out: elfutils reads it, and has fuzzers of its own.
 */
#include "code/code.h"
#include "symbol/elfsym.h"
#include "symbol/gofuncs.h"
#include "symbol/jitdump.h"
#include "symbol/perfmap.h"
#include "symbol/plt.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

enum { PC_STEP = 5, PCS = 400, FIRST_PC = 0x401000, JIT_PID_AT = 20 };

static int fuzz_symbol_file(const uint8_t *bytes, size_t n)
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0 || write(fd, bytes, n) != (ssize_t)n || lseek(fd, 0, SEEK_SET) != 0)
        abort();
    return fd;
}

static void fuzz_symbol_elf(struct lookup *l, int fd)
{
    struct elffile f;
    struct elfsyms symbols = {0};
    elf_version(EV_CURRENT);
    if (elffile_open_fd(&f, fd, (struct text){0}) != 0)
        return;
    elfsyms_add(&symbols, f.elf, SHT_DYNSYM);
    elfsyms_add(&symbols, f.elf, SHT_SYMTAB);
    elfsyms_name_public(&symbols, l);
    plt_name(l, f.elf);
    elfsyms_name_rest(&symbols, l);
    gofuncs_name(l, f.elf);
    elfsyms_done(&symbols);
    elffile_close(&f);
}

/* The same file, as 'kelvin simd' and 'annotate' look at it. */
static void fuzz_symbol_code(int fd)
{
    struct code c;
    struct err err;
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (code_open(&c, path, (struct text){0}, &err) != 0)
        return;
    for (size_t i = 0; i < c.functions.n; i++) {
        struct text code = code_bytes(&c, &c.functions.at[i]);
        if (!*code_name(&c, &c.functions.at[i]) || (code.n && !code.at))
            abort();
    }
    code_close(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    uint64_t pcs[PCS];
    struct lookup l;
    struct profile *p = profile_new();
    int fd = fuzz_symbol_file(bytes, n);
    uint32_t pid = 0;
    for (size_t i = 0; i < PCS; i++)
        pcs[i] = FIRST_PC + i * PC_STEP;
    lookup_init(&l, p, pcs, PCS);
    if (n >= JIT_PID_AT + sizeof pid)
        memcpy(&pid, bytes + JIT_PID_AT, sizeof pid);
    if (n >= 4 && memcmp(bytes, "DTiJ", 4) == 0) {
        jitdump_name(&l, fd, pid);
    } else if (n >= 4 && memcmp(bytes, ELFMAG, SELFMAG) == 0) {
        fuzz_symbol_code(fd);
        fuzz_symbol_elf(&l, fd);
    } else {
        perfmap_name(&l, fd);
    }
    for (size_t i = 0; i < PCS; i++)
        if (l.found[i].n_lines && l.found[i].first_line + l.found[i].n_lines > l.lines.n)
            abort();
    lookup_done(&l);
    profile_free(p);
    return 0;
}
