#include "symbol/chosen.h"

#include "base/buf.h"
#include "symbol/elffile.h"

#include <dlfcn.h>
#include <link.h>

/* --- which file of this process it is --- */

struct loaded {
    struct text build_id; /* that is looked for */
    uint64_t base;
    char *path;
};

/* The build-id in notes at AT: name and description are padded to four bytes. */
static bool has_build_id(const uint8_t *at, size_t n, struct text wanted)
{
    while (n >= sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) note;
        memcpy(&note, at, sizeof note);
        size_t name = (note.n_namesz + 3u) & ~3u, size = (note.n_descsz + 3u) & ~3u;
        const uint8_t *id = at + sizeof note + name;
        if (name > n - sizeof note || size > n - sizeof note - name)
            return false;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4) {
            autobuf struct buf hex = {0};
            for (size_t i = 0; i < note.n_descsz; i++)
                buf_printf(&hex, "%02x", id[i]);
            return text_is(wanted, buf_cstr(&hex));
        }
        at += sizeof note + name + size;
        n -= sizeof note + name + size;
    }
    return false;
}

static int take_if_wanted(struct dl_phdr_info *info, size_t size, void *to)
{
    (void)size;
    struct loaded *l = to;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        const uint8_t *notes = (const uint8_t *)(info->dlpi_addr + p->p_vaddr);
        if (p->p_type != PT_NOTE || !has_build_id(notes, p->p_memsz, l->build_id))
            continue;
        l->base = info->dlpi_addr;
        l->path = mem_strdup(info->dlpi_name);
        return 1;
    }
    return 0;
}

/* --- names --- */

/* Of an older time, for functions that have another name. */
static bool is_dated(const char *name)
{
    static const char *const dated[] = {"bcmp", "bcopy", "bzero", "index", "rindex"};
    for (size_t i = 0; i < sizeof dated / sizeof *dated; i++)
        if (strcmp(name, dated[i]) == 0)
            return true;
    return false;
}

/* As of other public names: fewer underscores, then shorter, then by alphabet. */
static bool is_better_name(const char *a, const char *b)
{
    size_t x = strspn(a, "_") + 9 * is_dated(a), y = strspn(b, "_") + 9 * is_dated(b);
    if (x != y)
        return x < y;
    return strlen(a) != strlen(b) ? strlen(a) < strlen(b) : strcmp(a, b) < 0;
}

static void chosen_add(struct chosen *c, uint64_t start, const char *name)
{
    for (size_t i = 0; i < c->at.n; i++) {
        struct chosen_function *f = &c->at.at[i];
        if (f->start != start)
            continue;
        if (is_better_name(name, f->name)) {
            free(f->name);
            f->name = mem_strdup(name);
        }
        return;
    }
    *vec_push(&c->at) = (struct chosen_function){start, mem_strdup(name)};
}

static void ask_loader(struct chosen *c, Elf *elf, const struct loaded *l, void *handle)
{
    GElf_Shdr shdr;
    GElf_Sym sym;
    Elf_Scn *scn = elffile_section(elf, SHT_DYNSYM);
    Elf_Data *data = scn && gelf_getshdr(scn, &shdr) ? elf_getdata(scn, NULL) : NULL;
    for (int i = 0; data && gelf_getsym(data, i, &sym); i++) {
        const char *name = elf_strptr(elf, shdr.sh_link, sym.st_name);
        if (GELF_ST_TYPE(sym.st_info) != STT_GNU_IFUNC || sym.st_shndx == SHN_UNDEF || !name)
            continue;
        uint64_t at = (uint64_t)(uintptr_t)dlsym(handle, name);
        if (at && at - l->base != sym.st_value)
            chosen_add(c, at - l->base, name);
    }
}

void chosen_find(struct chosen *c, Elf *elf, struct text build_id)
{
    struct loaded l = {.build_id = build_id};
    if (!build_id.n || !dl_iterate_phdr(take_if_wanted, &l))
        return;
    void *handle = *l.path ? dlopen(l.path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    if (handle) {
        ask_loader(c, elf, &l, handle);
        dlclose(handle);
    }
    free(l.path);
}

const char *chosen_name(const struct chosen *c, uint64_t start)
{
    for (size_t i = 0; i < c->at.n; i++)
        if (c->at.at[i].start == start)
            return c->at.at[i].name;
    return NULL;
}

void chosen_done(struct chosen *c)
{
    for (size_t i = 0; i < c->at.n; i++)
        free(c->at.at[i].name);
    vec_done(&c->at);
}
