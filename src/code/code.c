#include "code/code.h"

#include "base/clone.h"
#include "base/cursor.h"
#include "base/search.h"
#include "symbol/debugfile.h"
#include "symbol/demangle.h"
#include "symbol/elfsym.h"
#include "symbol/gofuncs.h"

enum { RANK_FUNCTION, RANK_LABEL, RANK_UNWIND };

/* --- sections --- */

static int code_by_start(const void *a, const void *b)
{
    const struct code_section *x = a, *y = b;
    return x->start < y->start ? -1 : x->start > y->start;
}

static void find_sections(struct code *c)
{
    GElf_Shdr shdr;
    for (Elf_Scn *scn = elf_nextscn(c->main.elf, NULL); scn; scn = elf_nextscn(c->main.elf, scn)) {
        if (!gelf_getshdr(scn, &shdr) || !(shdr.sh_flags & SHF_EXECINSTR) ||
            shdr.sh_type != SHT_PROGBITS)
            continue;
        Elf_Data *data = elf_rawdata(scn, NULL);
        if (data && data->d_buf && data->d_size && shdr.sh_addr + data->d_size > shdr.sh_addr)
            *vec_push(&c->sections) =
                (struct code_section){shdr.sh_addr, data->d_size, data->d_buf};
    }
    if (c->sections.n)
        qsort(c->sections.at, c->sections.n, sizeof *c->sections.at, code_by_start);
}

static const struct code_section *section_of(const struct code *c, uint64_t pc)
{
    for (size_t i = 0; i < c->sections.n; i++)
        if (pc - c->sections.at[i].start < c->sections.at[i].size_bytes)
            return &c->sections.at[i];
    return NULL;
}

/* --- functions --- */

/* In a stripped file the symbol behind a label may be gone, and where the label's code ends. */
static bool has_no_end(const struct elfsyms *symbols, const struct elfsym *symbol)
{
    for (int t = 0; t < symbols->n; t++)
        if (!symbols->tables[t].dynamic)
            return false;
    return symbol->rank > ELFSYM_LOCAL && !symbol->size;
}

static void add_symbol(struct code *c, const struct elfsyms *symbols, const struct elfsym *symbol)
{
    struct text name = elfsyms_name(symbols, symbol);
    bool function = symbol->rank <= ELFSYM_LOCAL;
    if (has_no_end(symbols, symbol) || !name.n || name.at[0] == '$' || name.at[0] == '.' ||
        !section_of(c, symbol->start))
        return;
    *vec_push(&c->functions) =
        (struct code_function){symbol->start, symbol->size, name.at, (uint16_t)name.n,
                               function ? RANK_FUNCTION : RANK_LABEL};
}

/* Stable, by counting: tables of symbols are in no order, and comparing takes ten times as long. */
static void sort_by_start(struct elfsym *list, size_t n)
{
    enum { BITS = 11, DIGITS = 1 << BITS };
    autofree struct elfsym *other = mem_calloc(n + 1, sizeof *other);
    uint64_t all = 0;
    for (size_t i = 0; i < n; i++)
        all |= list[i].start;
    for (int shift = 0; shift < 64 && all >> shift; shift += BITS) {
        size_t from[DIGITS + 1] = {0};
        for (size_t i = 0; i < n; i++)
            from[(list[i].start >> shift) % DIGITS + 1]++;
        for (size_t d = 0; d < DIGITS; d++)
            from[d + 1] += from[d];
        for (size_t i = 0; i < n; i++)
            other[from[(list[i].start >> shift) % DIGITS]++] = list[i];
        memcpy(list, other, n * sizeof *list);
    }
}

static int compare_names(const void *a, const void *b, void *symbols)
{
    return elfsyms_compare(symbols, a, b);
}

/* By start, and of one start the best name first. */
static void sort_symbols(struct elfsyms *symbols, struct elfsym *list, size_t n)
{
    sort_by_start(list, n);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && list[end].start == list[i].start;)
            end++;
        for (size_t k = i; k < end && end - i > 1; k++)
            elfsyms_weigh(symbols, &list[k]);
        if (end - i > 1)
            qsort_r(list + i, end - i, sizeof *list, compare_names, symbols);
    }
}

/* The best name for an address first, by the same rule as in profiles. */
static void add_symbols(struct code *c)
{
    struct elfsyms symbols = {0};
    VEC(struct elfsym) list = {0};
    struct elfsym symbol;
    elfsyms_add(&symbols, c->main.elf, SHT_DYNSYM);
    if (elfsyms_add(&symbols, c->main.elf, SHT_SYMTAB) != 0 && c->debug.elf)
        elfsyms_add(&symbols, c->debug.elf, SHT_SYMTAB);
    for (int t = 0; t < symbols.n; t++)
        for (size_t i = 0; i < symbols.tables[t].n; i++)
            if (elfsyms_get(&symbols, t, i, &symbol))
                *vec_push(&list) = symbol;
    sort_symbols(&symbols, list.at, list.n);
    for (size_t i = 0; i < list.n; i++)
        if (!i || list.at[i].start != list.at[i - 1].start || !list.at[i - 1].size)
            add_symbol(c, &symbols, &list.at[i]);
    vec_done(&list);
    elfsyms_done(&symbols);
}

/*
 * Bytes of code that the rule at ADDRESS is for; 0 = not known. It begins with four numbers of 4
 * bytes: its length, where what it shares with others is, start and size of the code.
 */
static uint64_t size_of_rule(const struct code_section *frames, uint64_t address)
{
    enum { SIZE_AT = 12, LONG_LENGTH = 0xffffffff };
    uint64_t offset = address - frames->start;
    if (frames->size_bytes < SIZE_AT + 4 || offset > frames->size_bytes - SIZE_AT - 4)
        return 0;
    struct cursor in = cursor_of(frames->bytes + offset, SIZE_AT + 4);
    if (cursor_uint(&in, 4) == LONG_LENGTH)
        return 0;
    cursor_uint(&in, 4);
    cursor_uint(&in, 4);
    return cursor_uint(&in, 4);
}

static struct code_section unwind_rules(const struct code *c)
{
    GElf_Shdr shdr;
    Elf_Scn *scn = elffile_named_section(c->main.elf, ".eh_frame");
    Elf_Data *data = scn && gelf_getshdr(scn, &shdr) ? elf_rawdata(scn, NULL) : NULL;
    if (!data || !data->d_buf)
        return (struct code_section){0};
    return (struct code_section){shdr.sh_addr, data->d_size, data->d_buf};
}

/*
 * .eh_frame_hdr: version u8 = 1, three encodings u8, address of the rules, number of
 * entries, then pairs of (function start, rule), all 4 bytes, relative to the section.
 */
static void add_unwind_starts(struct code *c)
{
    GElf_Shdr shdr;
    struct code_section rules = unwind_rules(c);
    Elf_Scn *scn = elffile_named_section(c->main.elf, ".eh_frame_hdr");
    Elf_Data *data = scn && gelf_getshdr(scn, &shdr) ? elf_rawdata(scn, NULL) : NULL;
    if (!data || !data->d_buf)
        return;
    struct cursor in = cursor_of(data->d_buf, data->d_size);
    uint64_t encodings = cursor_uint(&in, 4);
    if (encodings >> 16 != 0x3b03 || (encodings & 0xff) != 1)
        return;
    cursor_uint(&in, 4);
    for (uint64_t n = cursor_uint(&in, 4); n && cursor_left(&in) >= 8; n--) {
        uint64_t start = shdr.sh_addr + (uint64_t)(int32_t)cursor_uint(&in, 4);
        uint64_t rule = shdr.sh_addr + (uint64_t)(int32_t)cursor_uint(&in, 4);
        if (section_of(c, start))
            *vec_push(&c->functions) =
                (struct code_function){start, size_of_rule(&rules, rule), "", 0, RANK_UNWIND};
    }
}

/* Those of a stripped Go program. */
static void add_go_functions(struct code *c)
{
    struct gofuncs g;
    struct gofunc f;
    if (elffile_section(c->main.elf, SHT_SYMTAB) || !gofuncs_open(&g, c->main.elf))
        return;
    for (size_t i = 0; i < g.n; i++)
        if (gofuncs_get(&g, i, &f) && section_of(c, f.start))
            *vec_push(&c->functions) = (struct code_function){f.start, f.end - f.start, f.name.at,
                                                              (uint16_t)f.name.n, RANK_FUNCTION};
}

static int by_function_start(const void *a, const void *b)
{
    const struct code_function *x = a, *y = b;
    return x->start < y->start ? -1 : x->start > y->start;
}

static bool is_sorted(const struct code_function *f, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (f[i].start < f[i - 1].start)
            return false;
    return true;
}

/* The first N_SYMBOLS are sorted, and the unwind starts behind them should be: put them together.
 */
static void merge_starts(struct code *c, size_t n_symbols)
{
    struct code_function *f = c->functions.at;
    size_t n = c->functions.n, i = 0, k = n_symbols, out = 0;
    if (!is_sorted(f + n_symbols, n - n_symbols))
        qsort(f + n_symbols, n - n_symbols, sizeof *f, by_function_start);
    autofree struct code_function *symbols = mem_calloc(n_symbols + 1, sizeof *symbols);
    memcpy(symbols, f, n_symbols * sizeof *symbols);
    while (i < n_symbols)
        f[out++] = k < n && f[k].start < symbols[i].start ? f[k++] : symbols[i++];
}

/* A label or unwind start inside of a function that has a size begins no other; a name is better
 * than none. */
static bool is_inside(const struct code_function *f, const struct code_function *outer)
{
    return f->rank >= RANK_LABEL && f->rank >= outer->rank && outer->size_bytes &&
           f->start - outer->start < outer->size_bytes;
}

static void drop_doubles(struct code *c)
{
    size_t n = 0;
    for (size_t i = 0; i < c->functions.n; i++) {
        struct code_function *f = &c->functions.at[i];
        struct code_function *last = n ? &c->functions.at[n - 1] : NULL;
        if (last && last->start == f->start) {
            if (!last->size_bytes)
                last->size_bytes = f->size_bytes;
        } else if (!last || !is_inside(f, last)) {
            c->functions.at[n++] = *f;
        }
    }
    c->functions.n = n;
}

static void set_size(struct code *c, size_t i)
{
    struct code_function *f = &c->functions.at[i];
    const struct code_section *s = section_of(c, f->start);
    uint64_t most = s->start + s->size_bytes - f->start;
    if (i + 1 < c->functions.n && c->functions.at[i + 1].start - f->start < most)
        most = c->functions.at[i + 1].start - f->start;
    if (!f->size_bytes || f->size_bytes > most)
        f->size_bytes = most;
}

static void find_functions(struct code *c)
{
    add_symbols(c);
    size_t n_symbols = c->functions.n;
    add_go_functions(c);
    add_unwind_starts(c);
    if (c->functions.n)
        merge_starts(c, n_symbols);
    drop_doubles(c);
    for (size_t i = 0; i < c->functions.n; i++)
        set_size(c, i);
}

/* --- */

static int cannot_open(const char *path, struct text build_id, struct err *err)
{
    struct elffile other;
    char id[2 * BUILD_ID_MAX + 1] = "";
    if (access(path, R_OK) != 0)
        return err_set(err, EXIT_ERROR, "the file '%s' that ran is not here", path);
    if (elffile_open(&other, path, (struct text){0}) != 0)
        return err_set(err, EXIT_INPUT, "'%s' is not an ELF file", path);
    elffile_build_id(other.elf, id);
    elffile_close(&other);
    return err_set_hint(err, EXIT_INPUT, HINT_FORCE,
                        "'%s' has changed since: its build-id is %.12s, that of the profile %.12s",
                        path, id[0] ? id : "none", build_id.at);
}

int code_open(struct code *c, const char *path, struct text build_id, struct err *err)
{
    GElf_Ehdr ehdr;
    const char *slash = strrchr(path, '/');
    *c = (struct code){.debug.fd = -1, .module = slash ? slash + 1 : path};
    elf_version(EV_CURRENT);
    if (elffile_open(&c->main, path, build_id) != 0)
        return cannot_open(path, build_id, err);
    c->machine = gelf_getehdr(c->main.elf, &ehdr) ? ehdr.e_machine : EM_NONE;
    if (!elffile_section(c->main.elf, SHT_SYMTAB)) {
        char id[2 * BUILD_ID_MAX + 1];
        elffile_build_id(c->main.elf, id);
        if (debugfile_open(&c->debug, path, c->main.elf, text_of(id), "/usr/lib/debug") != 0)
            c->debug = (struct elffile){.fd = -1};
    }
    find_sections(c);
    find_functions(c);
    return 0;
}

void code_close(struct code *c)
{
    elffile_close(&c->debug);
    elffile_close(&c->main);
    vec_done(&c->sections);
    vec_done(&c->functions);
    arena_done(&c->names);
}

const struct code_function *code_find(const struct code *c, uint64_t pc)
{
    const struct code_function *f = search_last(&c->functions, start, pc);
    return f && pc - f->start < f->size_bytes ? f : NULL;
}

/* Nothing but what fills the space up to the next function. */
static bool is_padding(const struct code *c, struct text code)
{
    static const uint8_t fillers[] = {0x00, 0x0f, 0x1f, 0x2e, 0x40, 0x44,
                                      0x66, 0x80, 0x84, 0x90, 0xcc};
    if (c->machine != EM_X86_64)
        return code.n < 64;
    for (size_t i = 0; i < code.n; i++)
        if (!memchr(fillers, (uint8_t)code.at[i], sizeof fillers))
            return false;
    return true;
}

bool code_find_gap(struct code *c, uint64_t pc, struct code_function *ret)
{
    const struct code_section *s = section_of(c, pc);
    const struct code_function *before = search_last(&c->functions, start, pc);
    const struct code_function *next = before ? before + 1 : c->functions.at;
    if (!s || (before && pc - before->start < before->size_bytes))
        return false;
    uint64_t start = s->start, end = s->start + s->size_bytes;
    if (before && before->start >= start)
        start = before->start + before->size_bytes;
    if (next < c->functions.at + c->functions.n && next->start < end)
        end = next->start;
    if (!c->gap_name) {
        autofree char *name = mem_printf("[%s]", c->module);
        c->gap_name = arena_text(&c->names, text_of(name)).at;
    }
    *ret = (struct code_function){start, end - start, c->gap_name, (uint16_t)strlen(c->gap_name),
                                  RANK_UNWIND};
    return !is_padding(c, code_bytes(c, ret));
}

/* Demangled, and cut where it is longer than anybody reads: a small file may have it many times. */
static const char *name_of_symbol(struct code *c, struct text symbol)
{
    enum { SHOWN_MAX = 2048 };
    autobuf struct buf b = {0};
    symbol = clone_plain(symbol);
    autofree char *plain = mem_strndup(symbol.at, symbol.n);
    if (!demangle(plain, &b))
        buf_str(&b, plain);
    struct text shown = clone_plain(buf_text(&b));
    shown.n = shown.n < SHOWN_MAX ? shown.n : SHOWN_MAX;
    return arena_text(&c->names, longnames_fit(&c->long_names, shown)).at;
}

const char *code_name(struct code *c, const struct code_function *f)
{
    if (!f->symbol[0]) {
        autofree char *place = mem_printf("[%s+0x%llx]", c->module, (unsigned long long)f->start);
        return arena_text(&c->names, text_of(place)).at;
    }
    if (c->last_symbol != f->symbol) {
        c->last_name = name_of_symbol(c, (struct text){f->symbol, f->symbol_bytes});
        c->last_symbol = f->symbol;
    }
    return c->last_name;
}

struct text code_bytes(const struct code *c, const struct code_function *f)
{
    const struct code_section *s = section_of(c, f->start);
    if (!s || f->size_bytes > s->size_bytes - (f->start - s->start))
        return (struct text){0};
    return (struct text){(const char *)s->bytes + (f->start - s->start), f->size_bytes};
}
