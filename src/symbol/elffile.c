#include "symbol/elffile.h"

#include "base/mem.h"
#include "symbol/busguard.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <sys/stat.h>

Elf_Scn *elffile_section(Elf *elf, uint32_t type)
{
    GElf_Shdr shdr;
    for (Elf_Scn *scn = elf_nextscn(elf, NULL); scn; scn = elf_nextscn(elf, scn))
        if (gelf_getshdr(scn, &shdr) && shdr.sh_type == type)
            return scn;
    return NULL;
}

Elf_Scn *elffile_named_section(Elf *elf, const char *name)
{
    GElf_Shdr shdr;
    size_t strings = 0;
    if (elf_getshdrstrndx(elf, &strings) != 0)
        return NULL;
    for (Elf_Scn *scn = elf_nextscn(elf, NULL); scn; scn = elf_nextscn(elf, scn)) {
        const char *has = gelf_getshdr(scn, &shdr) ? elf_strptr(elf, strings, shdr.sh_name) : NULL;
        if (has && strcmp(has, name) == 0)
            return scn;
    }
    return NULL;
}

void elffile_build_id(Elf *elf, char ret[2 * BUILD_ID_MAX + 1])
{
    static const char digits[] = "0123456789abcdef";
    const void *bytes = NULL;
    ssize_t n = dwelf_elf_gnu_build_id(elf, &bytes);
    size_t out = 0;
    for (ssize_t i = 0; i < n && i < BUILD_ID_MAX; i++) {
        uint8_t byte = ((const uint8_t *)bytes)[i];
        ret[out++] = digits[byte >> 4];
        ret[out++] = digits[byte & 15];
    }
    ret[out] = 0;
}

enum { PAGE_BYTES = 4096 }; /* the least that is mapped; headers of larger pages agree with it */

static uint64_t page_of(uint64_t address)
{
    return address & ~(uint64_t)(PAGE_BYTES - 1);
}

/* The address of the file's byte OFFSET by this segment. */
static bool holds_offset(const GElf_Phdr *load, uint64_t offset)
{
    uint64_t first = page_of(load->p_offset);
    return load->p_type == PT_LOAD && offset >= first &&
           offset - first < load->p_filesz + (load->p_offset - first);
}

/* Of segments that share a page the one with code: that is where the addresses are from. */
uint64_t elffile_bias(Elf *elf, uint64_t start, uint64_t offset)
{
    size_t n = 0;
    bool image = !start && !offset, found = false;
    uint64_t linked = start;
    if (elf_getphdrnum(elf, &n) != 0)
        return 0;
    for (size_t i = 0; i < n; i++) {
        GElf_Phdr load;
        if (!gelf_getphdr(elf, (int)i, &load))
            continue;
        if (image && load.p_type == PT_LOAD)
            return -page_of(load.p_vaddr);
        if (holds_offset(&load, offset) && (!found || load.p_flags & PF_X)) {
            linked = load.p_vaddr - load.p_offset + offset;
            found = true;
        }
    }
    return start - linked;
}

/*
 * Build-ids are compared as far as both go: the kernel's records have 20 bytes, padded with zeros
 * where the file has fewer.
 */
static bool same_build_id(struct text a, struct text b)
{
    while (a.n > b.n && a.at[a.n - 1] == '0')
        a.n--;
    while (b.n > a.n && b.at[b.n - 1] == '0')
        b.n--;
    return a.n == b.n && memcmp(a.at, b.at, a.n) == 0;
}

/* Our own readers know one byte order only, that of every machine we run on. */
static bool is_little_endian(Elf *elf)
{
    const char *ident = elf_getident(elf, NULL);
    return ident && ident[EI_DATA] == ELFDATA2LSB;
}

static void look_for_dwarf(struct elffile *f)
{
    GElf_Shdr shdr;
    Elf_Scn *plain = elffile_named_section(f->elf, ".debug_info");
    Elf_Scn *old = elffile_named_section(f->elf, ".zdebug_info");
    f->has_dwarf = is_little_endian(f->elf) && (plain || old);
    f->is_packed = old || (plain && gelf_getshdr(plain, &shdr) && shdr.sh_flags & SHF_COMPRESSED);
}

/* Not needed for names and lines, and half of what there is to read and unpack. */
static bool is_needless(const char *name)
{
    static const char *const needless[] = {
        "loc",      "loclists", "macro",        "macinfo",      "aranges", "frame",
        "pubnames", "pubtypes", "gnu_pubnames", "gnu_pubtypes", "names",
    };
    if (strncmp(name, ".debug_", 7) != 0)
        return false;
    for (size_t i = 0; i < sizeof needless / sizeof *needless; i++)
        if (strcmp(name + 7, needless[i]) == 0)
            return true;
    return false;
}

/*
 * What a packed section says that it unpacks to; 0 = it is not packed. libdw believes that, and
 * zlib makes a thousand bytes of one where somebody wants it to.
 */
static uint64_t unpacked_bytes(Elf_Scn *scn, const GElf_Shdr *shdr, const char *name)
{
    GElf_Chdr chdr;
    uint64_t n = 0;
    if (shdr->sh_flags & SHF_COMPRESSED)
        return gelf_getchdr(scn, &chdr) ? chdr.ch_size : UINT64_MAX;
    if (strncmp(name, ".zdebug_", 8) != 0)
        return 0;
    Elf_Data *data = elf_rawdata(scn, NULL); /* "ZLIB", and the size, largest byte first */
    for (size_t i = 4; data && data->d_buf && i < 12 && i < data->d_size; i++)
        n = n << 8 | ((const uint8_t *)data->d_buf)[i];
    return n;
}

/* Debug information becomes 3 to 20 times as large. */
static bool is_bomb(Elf_Scn *scn, const GElf_Shdr *shdr, const char *name)
{
    enum { TIMES = 64, LEAST_BYTES = 1 << 20 };
    uint64_t n = unpacked_bytes(scn, shdr, name);
    return n > LEAST_BYTES && (n - LEAST_BYTES) / TIMES > shdr->sh_size;
}

/* libdw takes up every section of debug information there is; what is NOBITS it leaves alone. */
static void hide_needless(Elf *elf, bool lines)
{
    GElf_Shdr shdr;
    size_t strings = 0;
    if (elf_getshdrstrndx(elf, &strings) != 0)
        return;
    for (Elf_Scn *scn = elf_nextscn(elf, NULL); scn; scn = elf_nextscn(elf, scn)) {
        const char *name = gelf_getshdr(scn, &shdr) ? elf_strptr(elf, strings, shdr.sh_name) : NULL;
        bool needless = name && (is_needless(name) || (!lines && strcmp(name, ".debug_line") == 0));
        if (!name || (!needless && !is_bomb(scn, &shdr, name)))
            continue;
        shdr.sh_type = SHT_NOBITS;
        shdr.sh_flags &= ~(GElf_Xword)SHF_COMPRESSED;
        gelf_update_shdr(scn, &shdr);
    }
}

static Dwarf *open_dwarf(struct elffile *f, bool lines)
{
    if (f->has_dwarf && !f->dw) {
        hide_needless(f->elf, lines);
        f->dw = dwarf_begin_elf(f->elf, DWARF_C_READ, NULL);
        f->has_dwarf = f->dw != NULL;
        if (f->dw)
            busguard_enter(); /* until elffile_close() */
    }
    return f->dw;
}

Dwarf *elffile_dwarf(struct elffile *f)
{
    return open_dwarf(f, true);
}

Dwarf *elffile_dwarf_units(struct elffile *f)
{
    return open_dwarf(f, false);
}

int elffile_open_fd(struct elffile *f, int fd, struct text build_id)
{
    struct stat st;
    char own[2 * BUILD_ID_MAX + 1];
    *f = (struct elffile){.fd = fd};
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        goto fail;
    /* Not mapped: whoever overwrites the file while we look would end the program by SIGBUS. */
    f->elf = elf_begin(fd, ELF_C_READ, NULL);
    if (!f->elf || elf_kind(f->elf) != ELF_K_ELF)
        goto fail;
    elffile_build_id(f->elf, own);
    if (build_id.n && !same_build_id(build_id, text_of(own)))
        goto fail;
    look_for_dwarf(f);
    return 0;
fail:
    elffile_close(f);
    return -1;
}

int elffile_open(struct elffile *f, const char *path, struct text build_id)
{
    *f = (struct elffile){.fd = -1};
    /* Not blocking: the path may by now be a pipe that nobody writes to. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    return fd < 0 ? -1 : elffile_open_fd(f, fd, build_id);
}

void elffile_close(struct elffile *f)
{
    if (f->dw) {
        dwarf_end(f->dw);
        busguard_leave();
    }
    if (f->elf)
        elf_end(f->elf);
    if (f->fd >= 0)
        close(f->fd);
    *f = (struct elffile){.fd = -1};
}
