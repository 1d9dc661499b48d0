#include "symbol/dataname.h"

#include "symbol/demangle.h"
#include "symbol/elffile.h"

#include <stdlib.h>
#include <string.h>

/* --- reading --- */

static char *readable_name(struct dataname_file *f, const char *symbol)
{
    autobuf struct buf b = {0};
    struct text fits = demangle(symbol, &b) ? longnames_fit(&f->long_names, buf_text(&b))
                                            : longnames_fit_str(&f->long_names, symbol);
    return mem_strndup(fits.at, fits.n);
}

static void dataname_read_symbols(struct dataname_file *f, Elf *elf, Elf_Scn *scn)
{
    GElf_Shdr shdr;
    GElf_Sym sym;
    Elf_Data *data = gelf_getshdr(scn, &shdr) ? elf_getdata(scn, NULL) : NULL;
    for (size_t i = 0; data && gelf_getsym(data, (int)i, &sym); i++) {
        const char *name = elf_strptr(elf, shdr.sh_link, sym.st_name);
        if (GELF_ST_TYPE(sym.st_info) != STT_OBJECT || sym.st_shndx == SHN_UNDEF || !name || !*name)
            continue;
        *vec_push(&f->symbols) =
            (struct dataname_symbol){sym.st_value, sym.st_size, readable_name(f, name)};
    }
}

static int by_start(const void *a, const void *b)
{
    const struct dataname_symbol *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return strcmp(x->name, y->name); /* aliases: always the same one */
}

static void dataname_read(struct dataname_file *f, struct text build_id)
{
    struct elffile file;
    elf_version(EV_CURRENT);
    if (elffile_open(&file, f->path, build_id) != 0)
        return;
    Elf_Scn *scn = elffile_section(file.elf, SHT_SYMTAB);
    if (!scn)
        scn = elffile_section(file.elf, SHT_DYNSYM);
    if (scn)
        dataname_read_symbols(f, file.elf, scn);
    if (f->symbols.n)
        qsort(f->symbols.at, f->symbols.n, sizeof *f->symbols.at, by_start);
    elffile_close(&file);
}

/* --- asking --- */

static const struct dataname_file *dataname_file_get(struct datanames *d, const char *path,
                                                     struct text build_id)
{
    for (size_t i = 0; i < d->files.n; i++)
        if (strcmp(d->files.at[i]->path, path) == 0)
            return d->files.at[i];
    struct dataname_file *f = mem_new(struct dataname_file);
    *f = (struct dataname_file){.path = mem_strdup(path)};
    dataname_read(f, build_id);
    *vec_push(&d->files) = f;
    return f;
}

char *datanames_find(struct datanames *d, const char *path, struct text build_id, uint64_t address)
{
    const struct dataname_file *f = dataname_file_get(d, path, build_id);
    size_t from = 0, to = f->symbols.n;
    while (from < to) {
        size_t half = from + (to - from) / 2;
        if (f->symbols.at[half].start <= address)
            from = half + 1;
        else
            to = half;
    }
    const struct dataname_symbol *s = from ? &f->symbols.at[from - 1] : NULL;
    if (!s || address - s->start >= s->size)
        return NULL;
    if (address == s->start)
        return mem_strdup(s->name);
    return mem_printf("%s+%llu", s->name, (unsigned long long)(address - s->start));
}

void datanames_done(struct datanames *d)
{
    for (size_t i = 0; i < d->files.n; i++) {
        struct dataname_file *f = d->files.at[i];
        for (size_t k = 0; k < f->symbols.n; k++)
            free(f->symbols.at[k].name);
        vec_done(&f->symbols);
        free(f->path);
        free(f);
    }
    vec_done(&d->files);
}
