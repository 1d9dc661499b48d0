#include "symbol/kernelname.h"

#include "symbol/alias.h"
#include "symbol/dwarf.h"
#include "symbol/kallcache.h"
#include "symbol/kallsyms.h"

#include <sys/utsname.h>

struct kernelname_facts kernelname_facts_of(const struct profile *p)
{
    static const char front[] = "Linux ";
    const char *kernel = meta_find(&p->meta, META_KERNEL);
    bool known = kernel && strncmp(kernel, front, sizeof front - 1) == 0;
    struct kernelname_facts k = {.release = known ? kernel + sizeof front - 1 : ""};
    for (size_t i = 0; i < p->mappings.n; i++) {
        const struct mapping *m = &p->mappings.at[i];
        if (!text_starts(profile_str(p, m->path), "[kernel"))
            continue;
        if (!k.build_id.n)
            k.build_id = profile_str(p, m->build_id);
        if (!k.text)
            k.text = m->offset;
    }
    return k;
}

static bool is_running(const struct kernelname_facts *k)
{
    struct utsname u;
    char id[129];
    if (*k->release && uname(&u) == 0 && strcmp(k->release, u.release) != 0)
        return false;
    kallsyms_build_id(id, sizeof id);
    return !k->build_id.n || !id[0] || text_is(k->build_id, id);
}

/* The addresses of L less BY, while names are looked for; put back by unshift(). */
static uint64_t *shift(struct lookup *l, uint64_t by, const uint64_t **ret_before)
{
    uint64_t *pcs = mem_calloc(l->n, sizeof *pcs);
    for (size_t i = 0; i < l->n; i++)
        pcs[i] = l->pcs[i] - by;
    *ret_before = l->pcs;
    l->pcs = pcs;
    return pcs;
}

/* Sums wrap round: addresses that would no longer be sorted cannot be looked up. */
static bool may_shift(const struct lookup *l, uint64_t by)
{
    return l->n == 0 || (l->pcs[0] - by) <= (l->pcs[l->n - 1] - by);
}

static bool find_text(const struct elfsyms *s, uint64_t *ret)
{
    struct elfsym symbol;
    for (size_t i = 0; i < s->tables[0].n; i++)
        if (elfsyms_get(s, 0, i, &symbol) && text_is(elfsyms_name(s, &symbol), "_text")) {
            *ret = symbol.start;
            return true;
        }
    return false;
}

/* From a vmlinux. False if it does not say where it was linked to. */
static bool name_from_file(struct lookup *l, struct elffile *file, uint64_t text)
{
    struct elfsyms symbols = {0};
    const uint64_t *before;
    uint64_t linked = 0;
    bool good = elfsyms_add(&symbols, file->elf, SHT_SYMTAB) == 0 && find_text(&symbols, &linked) &&
                may_shift(l, text - linked);
    if (good) {
        autofree uint64_t *shifted = shift(l, text - linked, &before);
        (void)shifted;
        if (elffile_dwarf(file))
            dwarf_name(l, file->dw, false);
        elfsyms_name_public(&symbols, l);
        elfsyms_name_rest(&symbols, l);
        alias_fold(&symbols, l);
        l->pcs = before;
    }
    elfsyms_done(&symbols);
    return good;
}

static bool name_from_files(struct lookup *l, struct finder *f, const struct kernelname_facts *k,
                            uint64_t text, bool asked_only)
{
    struct elffile file;
    if (!text || finder_open_kernel(f, &file, k->build_id, k->release, asked_only) != 0)
        return false;
    bool good = name_from_file(l, &file, text);
    elffile_close(&file);
    return good;
}

/* The running kernel's list; the profile may be from before the last boot. */
static bool name_from_list(struct lookup *l, struct text list, uint64_t text, uint64_t text_now)
{
    const uint64_t *before;
    uint64_t by = text && text_now ? text - text_now : 0;
    if (!by)
        return kallsyms_name(l, list) == 0;
    if (!may_shift(l, by))
        return false;
    autofree uint64_t *shifted = shift(l, by, &before);
    (void)shifted;
    bool good = kallsyms_name(l, list) == 0;
    l->pcs = before;
    return good;
}

enum kernelname_end kernelname_name(struct lookup *l, struct finder *f,
                                    const struct kernelname_facts *k, const char *kallsyms)
{
    bool running = is_running(k);
    autobuf struct buf list = {0};
    if (running && !kallcache_read(kallsyms, &list))
        list.n = 0;
    uint64_t text_now = kallsyms_text(buf_text(&list));
    uint64_t text = k->text ? k->text : text_now;
    bool named = name_from_files(l, f, k, text, true);
    /* Modules are in no vmlinux. */
    if (running && (!named || lookup_count_unnamed(l)))
        named |= name_from_list(l, buf_text(&list), k->text, text_now);
    if (!named && !running)
        named = name_from_files(l, f, k, text, false);
    return named ? KERNELNAME_FOUND : running ? KERNELNAME_HIDDEN : KERNELNAME_OTHER;
}
