#include "symbol/elfsym.h"

#include "base/clone.h"
#include "symbol/elffile.h"

enum { VERSION_IS_OLD = 0x8000 }; /* in .gnu.version: not what programs are linked with today */

/* --- tables --- */

static void find_code_sections(struct elfsym_table *t)
{
    GElf_Shdr shdr;
    *vec_push(&t->code) = false; /* section 0 */
    for (Elf_Scn *scn = elf_nextscn(t->elf, NULL); scn; scn = elf_nextscn(t->elf, scn))
        *vec_push(&t->code) = gelf_getshdr(scn, &shdr) && shdr.sh_flags & SHF_EXECINSTR;
}

int elfsyms_add(struct elfsyms *s, Elf *elf, uint32_t type)
{
    GElf_Shdr shdr;
    struct elfsym_table t = {.elf = elf, .dynamic = type == SHT_DYNSYM};
    Elf_Scn *scn = s->n < ELFSYMS_MAX ? elffile_section(elf, type) : NULL;
    if (!scn || !gelf_getshdr(scn, &shdr) || !(t.data = elf_getdata(scn, NULL)))
        return -1;
    size_t entry_bytes = gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT);
    t.n = entry_bytes && t.data->d_buf ? t.data->d_size / entry_bytes : 0;
    t.strings = shdr.sh_link;
    Elf_Scn *versions = t.dynamic ? elffile_section(elf, SHT_GNU_versym) : NULL;
    t.versions = versions ? elf_getdata(versions, NULL) : NULL;
    find_code_sections(&t);
    s->tables[s->n++] = t;
    return 0;
}

void elfsyms_done(struct elfsyms *s)
{
    for (int i = 0; i < s->n; i++)
        vec_done(&s->tables[i].code);
    s->n = 0;
}

/* --- symbols --- */

static bool is_old(const struct elfsym_table *t, size_t i)
{
    GElf_Versym version;
    return t->versions && gelf_getversym(t->versions, (int)i, &version) && version & VERSION_IS_OLD;
}

static uint8_t rank_of(const struct elfsym_table *t, size_t i, const GElf_Sym *sym, bool function)
{
    bool local = GELF_ST_BIND(sym->st_info) == STB_LOCAL;
    if (!function)
        return local ? ELFSYM_LOCAL_LABEL : ELFSYM_GLOBAL_LABEL;
    if (local || !t->dynamic)
        return local ? ELFSYM_LOCAL : ELFSYM_GLOBAL;
    return is_old(t, i) ? ELFSYM_DYNAMIC_OLD : ELFSYM_DYNAMIC;
}

bool elfsyms_get(const struct elfsyms *s, int table, size_t i, struct elfsym *ret)
{
    const struct elfsym_table *t = &s->tables[table];
    GElf_Sym sym;
    if (!gelf_getsym(t->data, (int)i, &sym) || sym.st_shndx == SHN_UNDEF || !sym.st_name)
        return false;
    unsigned type = GELF_ST_TYPE(sym.st_info);
    bool function = type == STT_FUNC || type == STT_GNU_IFUNC;
    bool in_code = sym.st_shndx < t->code.n && t->code.at[sym.st_shndx];
    if (!function && (type != STT_NOTYPE || !in_code))
        return false;
    *ret = (struct elfsym){
        .start = sym.st_value,
        .size = sym.st_size,
        .name = sym.st_name,
        .section = sym.st_shndx,
        .table = (uint8_t)table,
        .rank = rank_of(t, i, &sym, function),
        .chooses = type == STT_GNU_IFUNC,
    };
    return true;
}

/* With its version: "free@@GLIBC_2.2.5" in .symtab. */
static const char *whole_name(const struct elfsyms *s, const struct elfsym *symbol)
{
    const struct elfsym_table *t = &s->tables[symbol->table];
    const char *name = elf_strptr(t->elf, t->strings, symbol->name);
    return name ? name : "";
}

/* Up to the version, or as much as counts. */
static struct text plain_name(const char *name)
{
    size_t n = strnlen(name, ELFSYM_NAME_MAX);
    const char *version = memchr(name, '@', n);
    return (struct text){name, version ? (size_t)(version - name) : n};
}

struct text elfsyms_name(const struct elfsyms *s, const struct elfsym *symbol)
{
    return plain_name(whole_name(s, symbol));
}

/* Mapping symbols of ARM ("$x") and assembler labels are no names. */
static bool is_label(const char *name)
{
    return !name[0] || name[0] == '$' || (name[0] == '.' && name[1] == 'L');
}

/* How bad a name is, before names are compared as text. */
static unsigned flaws_of(struct text plain)
{
    const char *version = plain.at + plain.n; /* "@OLD", "@@NEW", nothing, or cut off */
    unsigned flaws = version[0] == '@' && version[1] != '@' ? 4 : 0; /* of an older version */
    flaws += clone_plain(plain).n < plain.n ? 2 : 0;                 /* "parse.localalias" */
    return flaws + (text_starts(plain, "__GI_") || text_starts(plain, "__EI_")); /* glibc's own */
}

void elfsyms_weigh(const struct elfsyms *s, struct elfsym *symbol)
{
    if (symbol->weighed)
        return;
    struct text plain = elfsyms_name(s, symbol);
    symbol->label = is_label(plain.at);
    symbol->flaws = (uint8_t)flaws_of(plain);
    while (symbol->lead < plain.n && plain.at[symbol->lead] == '_')
        symbol->lead++;
    symbol->plain_n = (uint32_t)plain.n;
    symbol->weighed = true;
}

static int compare_weighed(const struct elfsyms *s, const struct elfsym *a, const struct elfsym *b)
{
    if (a->label != b->label)
        return a->label - b->label;
    if (a->rank != b->rank)
        return a->rank - b->rank;
    if (a->flaws != b->flaws)
        return a->flaws < b->flaws ? -1 : 1;
    if (a->lead != b->lead)
        return a->lead < b->lead ? -1 : 1;
    bool shorter_first = a->rank < ELFSYM_LOCAL;
    if (a->plain_n != b->plain_n)
        return (a->plain_n < b->plain_n) == shorter_first ? -1 : 1;
    if (a->table == b->table && a->name == b->name)
        return 0;
    return strncmp(whole_name(s, a), whole_name(s, b), ELFSYM_COMPARED_MAX);
}

int elfsyms_compare(const struct elfsyms *s, const struct elfsym *a, const struct elfsym *b)
{
    struct elfsym x = *a, y = *b;
    elfsyms_weigh(s, &x);
    elfsyms_weigh(s, &y);
    return compare_weighed(s, &x, &y);
}

struct function elfsyms_describe(const struct elfsyms *s, struct lookup *l,
                                 const struct elfsym *symbol)
{
    struct text name = elfsyms_name(s, symbol);
    if (!name.n || is_label(name.at))
        return (struct function){0};
    autofree char *own = mem_strndup(name.at, name.n);
    return lookup_describe(l, own);
}

/* --- symbols with a size --- */

typedef VEC(struct elfsym) elfsym_list;

static bool is_public(const struct elfsym *symbol)
{
    return symbol->rank <= ELFSYM_GLOBAL;
}

/* Those with a size that hold an address which is still free. */
static void find_sized(const struct elfsyms *s, struct cover *free_pcs, bool public,
                       elfsym_list *ret)
{
    struct elfsym symbol;
    for (int t = 0; t < s->n; t++)
        for (size_t i = 0; i < s->tables[t].n; i++)
            if (elfsyms_get(s, t, i, &symbol) && symbol.size && is_public(&symbol) == public &&
                cover_first(free_pcs, symbol.start, symbol.start + symbol.size) < free_pcs->n) {
                elfsyms_weigh(s, &symbol);
                *vec_push(ret) = symbol;
            }
}

/* .dynsym first; then, where symbols lie inside of each other, the one that starts last. */
static int by_worth(const void *a, const void *b, void *symbols)
{
    const struct elfsym *x = a, *y = b;
    bool x_dynamic = x->rank <= ELFSYM_DYNAMIC_OLD, y_dynamic = y->rank <= ELFSYM_DYNAMIC_OLD;
    if (x_dynamic != y_dynamic)
        return x_dynamic ? -1 : 1;
    if (x->start != y->start)
        return x->start > y->start ? -1 : 1;
    return elfsyms_compare(symbols, x, y);
}

static void elfsym_set_name(struct lookup *l, size_t i, const struct function *f)
{
    if (l->found[i].n_lines)
        lookup_rename(l, i, f);
    else
        lookup_set_name(l, i, profile_add_function(l->p, f));
}

static void name_sized(const struct elfsyms *s, struct lookup *l, struct cover *free_pcs,
                       bool public)
{
    elfsym_list list = {0};
    find_sized(s, free_pcs, public, &list);
    if (list.n)
        qsort_r(list.at, list.n, sizeof *list.at, by_worth, (void *)s);
    for (size_t k = 0; k < list.n; k++) {
        struct elfsym *c = &list.at[k];
        uint64_t end = c->start + c->size;
        size_t i = cover_first(free_pcs, c->start, end);
        struct function f = i < l->n ? elfsyms_describe(s, l, c) : (struct function){0};
        if (!f.name.i)
            continue;
        for (; i < l->n; i = cover_take(free_pcs, i, end))
            elfsym_set_name(l, i, &f);
    }
    vec_done(&list);
}

void elfsyms_name_public(const struct elfsyms *s, struct lookup *l)
{
    struct cover all;
    cover_init(&all, l->pcs, l->n);
    name_sized(s, l, &all, true);
    cover_done(&all);
}

/* --- symbols without a size: assembly. They reach to the next symbol or the section's end --- */

static bool in_section(const struct elfsyms *s, const struct elfsym *symbol, uint64_t pc)
{
    GElf_Shdr shdr;
    Elf_Scn *scn = elf_getscn(s->tables[symbol->table].elf, symbol->section);
    return scn && gelf_getshdr(scn, &shdr) && pc - shdr.sh_addr < shdr.sh_size;
}

/* For each address the best symbol of those that start nearest before it. */
static void find_nearest(const struct elfsyms *s, int table, struct lookup *l,
                         struct elfsym *nearest)
{
    struct elfsym symbol;
    for (size_t k = 0; k < s->tables[table].n; k++) {
        if (!elfsyms_get(s, table, k, &symbol))
            continue;
        size_t i = lookup_lower_bound(l->pcs, l->n, symbol.start);
        if (i == l->n || (nearest[i].name && nearest[i].start > symbol.start))
            continue;
        if (nearest[i].name && nearest[i].start == symbol.start)
            elfsyms_weigh(s, &nearest[i]);
        if (!nearest[i].name || nearest[i].start < symbol.start ||
            elfsyms_compare(s, &symbol, &nearest[i]) < 0)
            nearest[i] = symbol;
    }
}

/* In a stripped file the symbol that comes next may be gone, and a label has no end. */
static bool is_stripped(const struct elfsyms *s)
{
    for (int t = 0; t < s->n; t++)
        if (!s->tables[t].dynamic)
            return false;
    return true;
}

static void name_unsized(const struct elfsyms *s, struct lookup *l)
{
    autofree struct elfsym *nearest = mem_calloc(l->n, sizeof *nearest);
    for (int t = 0; t < s->n; t++)
        find_nearest(s, t, l, nearest);
    for (size_t i = 0; i < l->n; i++) {
        struct elfsym *n = &nearest[i];
        if (i && !n->name)
            *n = n[-1];
        if (!lookup_wants_name(l, i) || !n->name || n->size || !in_section(s, n, l->pcs[i]))
            continue;
        struct function f = elfsyms_describe(s, l, n);
        if (f.name.i)
            elfsym_set_name(l, i, &f);
    }
}

void elfsyms_name_rest(const struct elfsyms *s, struct lookup *l)
{
    struct cover free_pcs;
    if (!lookup_count_unnamed(l))
        return;
    cover_init(&free_pcs, l->pcs, l->n);
    for (size_t i = 0; i < l->n; i++)
        if (!lookup_wants_name(l, i))
            cover_take(&free_pcs, i, 0);
    name_sized(s, l, &free_pcs, false);
    cover_done(&free_pcs);
    if (lookup_count_unnamed(l) && !is_stripped(s))
        name_unsized(s, l);
}
