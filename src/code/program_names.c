#include "code/program_names.h"

#include "base/clone.h"
#include "symbol/debugfile.h"
#include "symbol/demangle.h"
#include "symbol/elfsym.h"
#include "symbol/inlined.h"

/* "at" of "std::vector<int>::at": what a mangled symbol has in it as it is. */
static struct text last_word(const char *name)
{
    struct text t = clone_plain(text_of(name));
    size_t end = t.n, start;
    for (int depth = 0; end && (t.at[end - 1] == '>' || depth); end--)
        depth += (t.at[end - 1] == '>') - (t.at[end - 1] == '<');
    for (start = end; start && t.at[start - 1] != ':' && t.at[start - 1] != ' ';)
        start--;
    return (struct text){t.at + start, end - start};
}

static bool is_mangled(struct text symbol)
{
    return text_starts(symbol, "_Z") || text_starts(symbol, "_R");
}

/* WORD spares us to demangle a hundred thousand others. */
static bool means(struct text symbol, const char *name, struct text word)
{
    struct text plain = clone_plain(symbol);
    if (text_is(symbol, name) || text_is(plain, name))
        return true;
    if (!is_mangled(plain) || !memmem(plain.at, plain.n, word.at, word.n))
        return false;
    autobuf struct buf b = {0};
    autofree char *own = mem_strndup(plain.at, plain.n);
    return demangle(own, &b) && text_is(clone_plain(buf_text(&b)), name);
}

static bool tables_have(const struct elfsyms *s, const char *name)
{
    struct elfsym symbol;
    struct text word = last_word(name);
    for (int t = 0; t < s->n; t++)
        for (size_t i = 0; i < s->tables[t].n; i++)
            if (elfsyms_get(s, t, i, &symbol) && means(elfsyms_name(s, &symbol), name, word))
                return true;
    return false;
}

struct wanted {
    const char *name;
    struct text word;
};

static bool is_wanted(const char *symbol, void *context)
{
    const struct wanted *w = context;
    return means((struct text){symbol, strnlen(symbol, ELFSYM_NAME_MAX)}, w->name, w->word);
}

/* In FILE, or else in the DEBUG information that was split off. */
static bool inlines_have(struct elffile *file, struct elffile *debug, const char *name)
{
    struct wanted w = {name, last_word(name)};
    Dwarf *dw = elffile_dwarf_units(file);
    if (!dw && debug->fd >= 0)
        dw = elffile_dwarf_units(debug);
    return dw && inlined_any(dw, is_wanted, &w);
}

static bool file_has(const char *path, struct text build_id, const char *name)
{
    struct elffile file, debug = {.fd = -1};
    struct elfsyms symbols = {0};
    char id[2 * BUILD_ID_MAX + 1];
    elf_version(EV_CURRENT);
    if (elffile_open(&file, path, build_id) != 0)
        return false;
    elfsyms_add(&symbols, file.elf, SHT_DYNSYM);
    elffile_build_id(file.elf, id);
    if (elfsyms_add(&symbols, file.elf, SHT_SYMTAB) != 0) {
        if (debugfile_open(&debug, path, file.elf, text_of(id), "/usr/lib/debug") == 0)
            elfsyms_add(&symbols, debug.elf, SHT_SYMTAB);
        else
            debug = (struct elffile){.fd = -1};
    }
    bool has = tables_have(&symbols, name) || inlines_have(&file, &debug, name);
    elfsyms_done(&symbols);
    elffile_close(&debug);
    elffile_close(&file);
    return has;
}

/* A file may be mapped in several pieces: only the first counts. */
static bool is_first_of_file(const struct profile *p, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (p->mappings.at[k].path.i == p->mappings.at[i].path.i &&
            p->mappings.at[k].build_id.i == p->mappings.at[i].build_id.i)
            return false;
    return true;
}

bool program_has_function(const struct profile *p, const char *name)
{
    for (size_t i = 0; i < p->mappings.n; i++) {
        struct text path = profile_str(p, p->mappings.at[i].path);
        bool is_file = path.n && path.at[0] == '/' && !memchr(path.at, 0, path.n);
        if (is_file && is_first_of_file(p, i) &&
            file_has(path.at, profile_str(p, p->mappings.at[i].build_id), name))
            return true;
    }
    return false;
}
