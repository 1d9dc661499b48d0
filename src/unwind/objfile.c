#include "unwind/objfile.h"
#include "base/cursor.h"
#include "unwind/cfi.h"

#include <dwarf.h>
#include <errno.h>
#include <sys/stat.h>
#include <zlib.h>

enum {
    NOTES_MAX_BYTES = 1 << 16,
    INFLATE_RATIO_MAX = 64, /* .debug_frame shrinks five- to tenfold; zlib could do a thousand */
    UNPACKED_MIN_BYTES = 1 << 20,
};

static bool read_at(const struct objfile *o, uint64_t offset, uint64_t n, void *ret)
{
    if (offset > o->size_bytes || n > o->size_bytes - offset)
        return false;
    if (o->fd < 0) {
        if (n)
            memcpy(ret, o->image + offset, n);
        return true;
    }
    for (char *at = ret; n > 0;) {
        ssize_t got = pread(o->fd, at, n, (off_t)offset);
        if (got <= 0 && !(got < 0 && errno == EINTR))
            return false;
        if (got < 0)
            continue;
        at += got, offset += (uint64_t)got, n -= (uint64_t)got;
    }
    return true;
}

static bool read_part(const struct objfile *o, uint64_t offset, uint64_t n, struct buf *ret)
{
    if (offset > o->size_bytes || n > o->size_bytes - offset)
        return false;
    vec_reserve(ret, n + 1);
    ret->n = n;
    return read_at(o, offset, n, ret->at);
}

static bool read_names(struct objfile *o)
{
    uint16_t i = o->head.e_shstrndx;
    if (i >= o->head.e_shnum || o->sections[i].sh_type == SHT_NOBITS)
        return true;
    if (!read_part(o, o->sections[i].sh_offset, o->sections[i].sh_size, &o->names))
        return false;
    buf_cstr(&o->names);
    return true;
}

/* Section headers may be stripped, or be a lie in a file that was packed: then do without. */
static void read_sections(struct objfile *o)
{
    uint64_t n = (uint64_t)o->head.e_shnum * sizeof *o->sections;
    if (!o->head.e_shoff || o->head.e_shentsize != sizeof *o->sections)
        n = 0;
    if (n)
        o->sections = mem_calloc(1, n);
    if (n && read_at(o, o->head.e_shoff, n, o->sections) && read_names(o))
        return;
    o->head.e_shnum = 0;
}

static int read_head(struct objfile *o, struct err *err)
{
    const char *name = o->name;
    Elf64_Ehdr *h = &o->head;
    if (!read_at(o, 0, sizeof *h, h) || memcmp(h->e_ident, ELFMAG, SELFMAG) != 0)
        return err_set(err, EXIT_INPUT, "'%s' is not an ELF file", name);
    if (h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_ident[EI_DATA] != ELFDATA2LSB)
        return err_set(err, EXIT_INPUT, "'%s' is not for a 64-bit little-endian processor", name);
    uint64_t n = (uint64_t)h->e_phnum * sizeof *o->segments;
    if (n && h->e_phentsize != sizeof *o->segments)
        return err_set(err, EXIT_INPUT, "'%s': program headers of %d bytes", name, h->e_phentsize);
    if (h->e_phoff > o->size_bytes || n > o->size_bytes - h->e_phoff)
        return err_set(err, EXIT_INPUT, "'%s' ends before its program headers do", name);
    o->segments = mem_calloc(1, n + 1);
    if (!read_at(o, h->e_phoff, n, o->segments))
        return err_set(err, EXIT_INPUT, "cannot read the program headers of '%s'", name);
    read_sections(o);
    return 0;
}

int objfile_open_fd(struct objfile *o, int fd, const char *name, struct err *err)
{
    *o = (struct objfile){.name = name, .fd = fd};
    struct stat st;
    if (fstat(fd, &st) != 0)
        return err_set_errno(err, errno, "cannot read '%s'", name);
    if (!S_ISREG(st.st_mode))
        return err_set(err, EXIT_INPUT, "'%s' is not a file", name);
    o->size_bytes = (uint64_t)st.st_size;
    return read_head(o, err);
}

int objfile_open_memory(struct objfile *o, const void *image, size_t n, struct err *err)
{
    *o = (struct objfile){.name = "image", .fd = -1, .image = image, .size_bytes = n};
    return read_head(o, err);
}

void objfile_done(struct objfile *o)
{
    free(o->segments);
    free(o->sections);
    buf_done(&o->names);
    o->segments = NULL;
    o->sections = NULL;
}

static const Elf64_Shdr *find_section(const struct objfile *o, const char *name)
{
    for (int i = 0; i < o->head.e_shnum; i++) {
        const Elf64_Shdr *s = &o->sections[i];
        if (s->sh_type != SHT_NOBITS && s->sh_name < o->names.n &&
            strcmp(o->names.at + s->sh_name, name) == 0)
            return s;
    }
    return NULL;
}

/* --- .eh_frame without section headers: by the segment that points to it --- */

static const Elf64_Phdr *load_segment_of(const struct objfile *o, uint64_t vaddr)
{
    for (int i = 0; i < o->head.e_phnum; i++) {
        const Elf64_Phdr *p = &o->segments[i];
        if (p->p_type == PT_LOAD && vaddr >= p->p_vaddr && vaddr - p->p_vaddr < p->p_filesz)
            return p;
    }
    return NULL;
}

/* .eh_frame_hdr: version, three encodings, then the address of .eh_frame. */
static bool pointed_to(const struct objfile *o, const Elf64_Phdr *hdr, uint64_t *ret_vaddr)
{
    uint8_t bytes[16] = {0};
    uint64_t n = hdr->p_filesz < sizeof bytes ? hdr->p_filesz : sizeof bytes;
    if (!read_at(o, hdr->p_offset, n, bytes) || bytes[0] != 1)
        return false;
    struct cursor c = cursor_of(bytes + 4, n > 4 ? n - 4 : 0);
    struct cfi_bases bases = {.vaddr = hdr->p_vaddr + 4, .bytes = c.at, .data = hdr->p_vaddr};
    *ret_vaddr = cfi_pointer(&c, bytes[1], &bases);
    return !c.bad;
}

/* Its length is not written anywhere: up to the end of the segment; a zero length ends it. */
static bool eh_frame_by_segment(const struct objfile *o, struct objfile_part *ret)
{
    for (int i = 0; i < o->head.e_phnum; i++) {
        const Elf64_Phdr *hdr = &o->segments[i];
        if (hdr->p_type != PT_GNU_EH_FRAME)
            continue;
        const Elf64_Phdr *load = NULL;
        if (pointed_to(o, hdr, &ret->vaddr))
            load = load_segment_of(o, ret->vaddr);
        if (!load)
            return false;
        uint64_t skip = ret->vaddr - load->p_vaddr;
        return read_part(o, load->p_offset + skip, load->p_filesz - skip, &ret->bytes);
    }
    return true;
}

bool objfile_eh_frame(const struct objfile *o, struct objfile_part *ret)
{
    *ret = (struct objfile_part){0};
    const Elf64_Shdr *s = find_section(o, ".eh_frame");
    if (!s)
        return eh_frame_by_segment(o, ret);
    ret->vaddr = s->sh_addr;
    return read_part(o, s->sh_offset, s->sh_size, &ret->bytes);
}

/* --- .debug_frame, which may be packed --- */

static bool objfile_unpack(struct buf *b)
{
    Elf64_Chdr head;
    if (b->n < sizeof head)
        return false;
    memcpy(&head, b->at, sizeof head);
    size_t packed = b->n - sizeof head;
    if (head.ch_type != ELFCOMPRESS_ZLIB ||
        head.ch_size > packed * INFLATE_RATIO_MAX + UNPACKED_MIN_BYTES)
        return false;
    struct buf out = {0};
    vec_reserve(&out, head.ch_size + 1);
    uLongf n = head.ch_size;
    int rc = uncompress((Bytef *)out.at, &n, (const Bytef *)b->at + sizeof head, packed);
    out.n = n;
    buf_done(b);
    *b = out;
    return rc == Z_OK;
}

bool objfile_debug_frame(const struct objfile *o, struct objfile_part *ret)
{
    *ret = (struct objfile_part){0};
    const Elf64_Shdr *s = find_section(o, ".debug_frame");
    if (!s)
        return true;
    if (!read_part(o, s->sh_offset, s->sh_size, &ret->bytes))
        return false;
    /* Packed in a way we do not know: as if it were not there. */
    if ((s->sh_flags & SHF_COMPRESSED) && !objfile_unpack(&ret->bytes))
        ret->bytes.n = 0;
    return true;
}

bool objfile_has_section(const struct objfile *o, const char *name)
{
    return find_section(o, name) != NULL;
}

static bool objfile_read_symbols(const struct objfile *o, const char *section,
                                 struct buf *ret_symbols, struct buf *ret_names)
{
    const Elf64_Shdr *s = find_section(o, section);
    if (!s || s->sh_link >= o->head.e_shnum)
        return false;
    const Elf64_Shdr *names = &o->sections[s->sh_link];
    if (names->sh_type != SHT_STRTAB || !read_part(o, s->sh_offset, s->sh_size, ret_symbols) ||
        !read_part(o, names->sh_offset, names->sh_size, ret_names))
        return false;
    buf_cstr(ret_names);
    return true;
}

bool objfile_symbols(const struct objfile *o, struct buf *ret_symbols, struct buf *ret_names)
{
    return objfile_read_symbols(o, ".symtab", ret_symbols, ret_names);
}

bool objfile_dynamic_symbols(const struct objfile *o, struct buf *ret_symbols,
                             struct buf *ret_names)
{
    return objfile_read_symbols(o, ".dynsym", ret_symbols, ret_names);
}

bool objfile_code_offset(const struct objfile *o, uint64_t vaddr, uint64_t *ret)
{
    const Elf64_Phdr *p = load_segment_of(o, vaddr);
    if (!p || !(p->p_flags & PF_X) || p->p_offset > UINT64_MAX - (vaddr - p->p_vaddr))
        return false;
    *ret = p->p_offset + (vaddr - p->p_vaddr);
    return true;
}

size_t objfile_code(const struct objfile *o, uint64_t vaddr, uint8_t *ret, size_t n)
{
    uint64_t offset;
    if (!objfile_code_offset(o, vaddr, &offset))
        return 0;
    const Elf64_Phdr *p = load_segment_of(o, vaddr);
    uint64_t left = p->p_filesz - (vaddr - p->p_vaddr);
    n = n < left ? n : (size_t)left;
    return read_at(o, offset, n, ret) ? n : 0;
}

/* --- build-id --- */

/* A note: name size, size, type, name, bytes; each padded to 4. */
static bool find_build_id(struct cursor c, struct text *ret)
{
    while (cursor_more(&c)) {
        uint64_t name_n = cursor_uint(&c, 4), n = cursor_uint(&c, 4), type = cursor_uint(&c, 4);
        struct text name = cursor_bytes(&c, (name_n + 3) & ~UINT64_C(3));
        *ret = cursor_bytes(&c, n);
        if (c.bad)
            return false;
        if (type == NT_GNU_BUILD_ID && name_n == 4 && memcmp(name.at, "GNU", 4) == 0)
            return true;
        uint64_t padding = -n & 3;
        cursor_bytes(&c, padding < cursor_left(&c) ? padding : cursor_left(&c));
    }
    return false;
}

void objfile_build_id(const struct objfile *o, char *ret, size_t n)
{
    ret[0] = '\0';
    for (int i = 0; i < o->head.e_phnum && !ret[0]; i++) {
        const Elf64_Phdr *p = &o->segments[i];
        autobuf struct buf notes = {0};
        struct text id;
        if (p->p_type != PT_NOTE || p->p_filesz > NOTES_MAX_BYTES ||
            !read_part(o, p->p_offset, p->p_filesz, &notes) ||
            !find_build_id(cursor_of(notes.at, notes.n), &id))
            continue;
        for (size_t k = 0; k < id.n && 2 * k + 2 < n; k++)
            snprintf(ret + 2 * k, 3, "%02x", (uint8_t)id.at[k]);
    }
}
