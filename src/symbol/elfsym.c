#include "symbol/elfsym.h"

#include "symbol/elffile.h"

#include <elfutils/libdwfl.h>

/* A symbol that stands for code. Its rank is lower the more it is to be preferred. */
struct symbol {
    uint64_t start, size;
    uint32_t name; /* offset in the table's strings */
    uint16_t section;
    uint8_t rank;
};

struct symbols {
    Elf *elf;
    Elf_Data *data;
    size_t n, strings; /* number of symbols, index of the section of their names */
    VEC(bool) code;    /* by section: holds code */
};

static void find_code_sections(struct symbols *s)
{
    GElf_Shdr shdr;
    *vec_push(&s->code) = false; /* section 0 */
    for (Elf_Scn *scn = elf_nextscn(s->elf, NULL); scn; scn = elf_nextscn(s->elf, scn))
        *vec_push(&s->code) = gelf_getshdr(scn, &shdr) && shdr.sh_flags & SHF_EXECINSTR;
}

static int open_symbols(struct symbols *s, Elf *elf, uint32_t type)
{
    GElf_Shdr shdr;
    *s = (struct symbols){.elf = elf};
    Elf_Scn *scn = elffile_section(elf, type);
    if (!scn || !gelf_getshdr(scn, &shdr) || !(s->data = elf_getdata(scn, NULL)))
        return -1;
    size_t entry_bytes = gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT);
    s->n = entry_bytes ? s->data->d_size / entry_bytes : 0;
    s->strings = shdr.sh_link;
    find_code_sections(s);
    return 0;
}

/* Symbol I if it may name code. */
static bool get_symbol(const struct symbols *s, size_t i, struct symbol *ret)
{
    GElf_Sym sym;
    if (!gelf_getsym(s->data, (int)i, &sym) || sym.st_shndx == SHN_UNDEF || !sym.st_name)
        return false;
    unsigned type = GELF_ST_TYPE(sym.st_info), bind = GELF_ST_BIND(sym.st_info);
    bool function = type == STT_FUNC || type == STT_GNU_IFUNC;
    bool in_code = sym.st_shndx < s->code.n && s->code.at[sym.st_shndx];
    if (!function && (type != STT_NOTYPE || !in_code))
        return false;
    *ret = (struct symbol){sym.st_value, sym.st_size, sym.st_name, sym.st_shndx,
                           (uint8_t)(2 * !function + (bind == STB_LOCAL))};
    return true;
}

static const char *name_of(const struct symbols *s, const struct symbol *symbol)
{
    const char *name = elf_strptr(s->elf, s->strings, symbol->name);
    return name ? name : "";
}

/* Mapping symbols of ARM ("$x") and assembler labels are no names. */
static bool is_label(const char *name)
{
    return !name[0] || name[0] == '$' || (name[0] == '.' && name[1] == 'L');
}

/* Negative where A is the better name for the same address. */
static int compare_names(const struct symbols *s, const struct symbol *a, const struct symbol *b)
{
    const char *x = name_of(s, a), *y = name_of(s, b);
    if (is_label(x) != is_label(y))
        return is_label(x) - is_label(y);
    if (a->rank != b->rank)
        return a->rank - b->rank;
    size_t m = strspn(x, "_"), n = strspn(y, "_");
    if (m != n)
        return m < n ? -1 : 1;
    m = strlen(x);
    n = strlen(y);
    return m != n ? (m < n ? -1 : 1) : strcmp(x, y);
}

/* The function of a symbol, its version ("@@GLIBC_2.34") left out; 0 if it has no name. */
static struct function_id function_of(struct lookup *l, const struct symbols *s,
                                      const struct symbol *symbol)
{
    const char *name = name_of(s, symbol);
    if (is_label(name))
        return (struct function_id){0};
    autofree char *plain = mem_strndup(name, strcspn(name, "@"));
    struct function f = lookup_describe(l, plain);
    return profile_add_function(l->p, &f);
}

/* --- symbols with a size --- */

static int by_start_last_first(const void *a, const void *b, void *symbols)
{
    const struct symbol *x = a, *y = b;
    if (x->start != y->start)
        return x->start > y->start ? -1 : 1;
    return compare_names(symbols, x, y);
}

/* Where symbols lie inside of each other the one that starts last is the nearest. */
static void name_sized(struct lookup *l, struct symbols *s, struct cover *free_pcs)
{
    VEC(struct symbol) candidates = {0};
    struct symbol symbol;
    for (size_t i = 0; i < s->n; i++)
        if (get_symbol(s, i, &symbol) && symbol.size &&
            cover_first(free_pcs, symbol.start, symbol.start + symbol.size) < free_pcs->n)
            *vec_push(&candidates) = symbol;
    if (candidates.n)
        qsort_r(candidates.at, candidates.n, sizeof symbol, by_start_last_first, s);
    for (size_t k = 0; k < candidates.n; k++) {
        struct symbol *c = &candidates.at[k];
        uint64_t end = c->start + c->size;
        size_t i = cover_first(free_pcs, c->start, end);
        struct function_id function = i < l->n ? function_of(l, s, c) : (struct function_id){0};
        if (!function.i)
            continue;
        for (; i < l->n; i = cover_take(free_pcs, i, end))
            lookup_set_name(l, i, function);
    }
    vec_done(&candidates);
}

/* --- symbols without a size: assembly. They reach to the next symbol or the section's end --- */

static bool in_section(const struct symbols *s, const struct symbol *symbol, uint64_t pc)
{
    GElf_Shdr shdr;
    Elf_Scn *scn = elf_getscn(s->elf, symbol->section);
    return scn && gelf_getshdr(scn, &shdr) && pc - shdr.sh_addr < shdr.sh_size;
}

/* For each address the best symbol of those that start nearest before it. */
static void find_nearest(struct lookup *l, const struct symbols *s, struct symbol *nearest)
{
    struct symbol symbol;
    for (size_t k = 0; k < s->n; k++) {
        if (!get_symbol(s, k, &symbol))
            continue;
        size_t i = lookup_lower_bound(l->pcs, l->n, symbol.start);
        if (i == l->n || (nearest[i].name && nearest[i].start > symbol.start))
            continue;
        if (!nearest[i].name || nearest[i].start < symbol.start ||
            compare_names(s, &symbol, &nearest[i]) < 0)
            nearest[i] = symbol;
    }
    for (size_t i = 1; i < l->n; i++)
        if (!nearest[i].name)
            nearest[i] = nearest[i - 1];
}

static void name_unsized(struct lookup *l, struct symbols *s)
{
    autofree struct symbol *nearest = mem_calloc(l->n, sizeof *nearest);
    find_nearest(l, s, nearest);
    for (size_t i = 0; i < l->n; i++) {
        struct symbol *n = &nearest[i];
        if (!lookup_wants_name(l, i) || !n->name || n->size || !in_section(s, n, l->pcs[i]))
            continue;
        struct function_id function = function_of(l, s, n);
        if (function.i)
            lookup_set_name(l, i, function);
    }
}

static void name_from(struct lookup *l, struct symbols *s)
{
    struct cover free_pcs;
    cover_init(&free_pcs, l->pcs, l->n);
    for (size_t i = 0; i < l->n; i++)
        if (!lookup_wants_name(l, i))
            cover_take(&free_pcs, i, 0);
    name_sized(l, s, &free_pcs);
    cover_done(&free_pcs);
    if (lookup_count_unnamed(l))
        name_unsized(l, s);
}

void elfsym_name(struct lookup *l, Elf *elf)
{
    struct symbols s;
    if (open_symbols(&s, elf, SHT_SYMTAB) == 0 || open_symbols(&s, elf, SHT_DYNSYM) == 0)
        name_from(l, &s);
    vec_done(&s.code);
}

/* --- symbols packed with xz, which only libdwfl unpacks --- */

static int no_debug_file(Dwfl_Module *m, void **data, const char *name, Dwarf_Addr base,
                         const char *file, const char *link, GElf_Word crc, char **ret_name)
{
    (void)m, (void)data, (void)name, (void)base, (void)file, (void)link, (void)crc, (void)ret_name;
    return -1;
}

/* The unpacked file: it belongs to M. */
static Elf *unpacked(Dwfl_Module *m)
{
    GElf_Addr bias;
    Elf *main = dwfl_module_getelf(m, &bias);
    int n = dwfl_module_getsymtab(m);
    for (int i = 1; i < n; i++) {
        GElf_Sym sym;
        GElf_Addr address;
        Elf *elf = NULL;
        if (dwfl_module_getsym_info(m, i, &sym, &address, NULL, &elf, &bias) && elf && elf != main)
            return elf;
    }
    return NULL;
}

void elfsym_name_packed(struct lookup *l, int fd)
{
    const Dwfl_Callbacks callbacks = {.find_debuginfo = no_debug_file};
    Dwfl *dwfl = dwfl_begin(&callbacks);
    int own_fd = dup(fd);
    if (!dwfl || own_fd < 0)
        goto out;
    dwfl_report_begin(dwfl);
    Dwfl_Module *m = dwfl_report_elf(dwfl, "module", "module", own_fd, 0, true);
    if (m)
        own_fd = -1; /* it is the module's now */
    dwfl_report_end(dwfl, NULL, NULL);
    Elf *elf = m ? unpacked(m) : NULL;
    if (elf)
        elfsym_name(l, elf);
out:
    if (own_fd >= 0)
        close(own_fd);
    dwfl_end(dwfl);
}
