#include "symbol/plt.h"

#include "symbol/elffile.h"

/* A slot that the dynamic linker fills with a function's address. */
struct slot {
    uint64_t address;
    uint32_t symbol;
};

struct slots {
    VEC(struct slot) by_address;
    VEC(struct slot) in_order; /* those of .rela.plt, as lazy stubs count them */
    Elf_Scn *symbols;
};

static int compare_slots(const void *a, const void *b)
{
    const struct slot *x = a, *y = b;
    return x->address < y->address ? -1 : x->address > y->address;
}

static void read_relocations(struct slots *s, Elf *elf, Elf_Scn *scn, bool lazy)
{
    GElf_Shdr shdr;
    GElf_Rela rela;
    Elf_Data *data = elf_getdata(scn, NULL);
    if (!data || !gelf_getshdr(scn, &shdr) || shdr.sh_type != SHT_RELA)
        return;
    if (!s->symbols)
        s->symbols = elf_getscn(elf, shdr.sh_link);
    for (int i = 0; gelf_getrela(data, i, &rela); i++) {
        unsigned type = GELF_R_TYPE(rela.r_info);
        struct slot slot = {rela.r_offset, (uint32_t)GELF_R_SYM(rela.r_info)};
        if (type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT)
            *vec_push(&s->by_address) = slot;
        if (lazy)
            *vec_push(&s->in_order) = slot;
    }
}

static void read_slots(struct slots *s, Elf *elf)
{
    static const char *const sections[] = {".rela.plt", ".rela.dyn"};
    for (size_t i = 0; i < 2; i++) {
        Elf_Scn *scn = elffile_named_section(elf, sections[i]);
        if (scn)
            read_relocations(s, elf, scn, i == 0);
    }
    if (s->by_address.n)
        qsort(s->by_address.at, s->by_address.n, sizeof *s->by_address.at, compare_slots);
}

/*
 * The slot that the stub CODE at ADDRESS jumps through:
 *
 *     [f3 0f 1e fa]  [f2] ff 25 DISP32     endbr64; jmp *DISP(%rip)
 *     [f3 0f 1e fa]  68 INDEX32            endbr64; push INDEX (of .rela.plt), to be bound
 */
static const struct slot *slot_of(const struct slots *s, const uint8_t *code, size_t n,
                                  uint64_t address)
{
    size_t at = n >= 4 && memcmp(code, "\xf3\x0f\x1e\xfa", 4) == 0 ? 4 : 0;
    int32_t value;
    if (at + 5 <= n && code[at] == 0x68) {
        memcpy(&value, code + at + 1, 4);
        return (uint32_t)value < s->in_order.n ? &s->in_order.at[value] : NULL;
    }
    at += at < n && code[at] == 0xf2;
    if (at + 6 > n || code[at] != 0xff || code[at + 1] != 0x25 || !s->by_address.n)
        return NULL;
    memcpy(&value, code + at + 2, 4);
    struct slot key = {.address = address + at + 6 + (uint64_t)(int64_t)value};
    return bsearch(&key, s->by_address.at, s->by_address.n, sizeof key, compare_slots);
}

static const char *symbol_name(Elf *elf, Elf_Scn *symbols, uint32_t i)
{
    GElf_Shdr shdr;
    GElf_Sym sym;
    Elf_Data *data = symbols ? elf_getdata(symbols, NULL) : NULL;
    if (!data || !gelf_getshdr(symbols, &shdr) || !gelf_getsym(data, (int)i, &sym))
        return NULL;
    return elf_strptr(elf, shdr.sh_link, sym.st_name);
}

static struct function_id stub_function(struct lookup *l, const char *symbol)
{
    struct function f = lookup_describe(l, symbol);
    autofree char *name = mem_printf("%s@plt", profile_str(l->p, f.name).at);
    f.name = profile_add_str(l->p, text_of(name));
    return profile_add_function(l->p, &f);
}

static void name_section(struct lookup *l, Elf *elf, Elf_Scn *scn, const struct slots *s)
{
    GElf_Shdr shdr;
    Elf_Data *data = elf_getdata(scn, NULL);
    if (!data || !data->d_buf || !gelf_getshdr(scn, &shdr))
        return;
    uint64_t stub_bytes = shdr.sh_entsize == 8 ? 8 : 16;
    size_t i = lookup_lower_bound(l->pcs, l->n, shdr.sh_addr);
    for (; i < l->n && l->pcs[i] - shdr.sh_addr < data->d_size; i++) {
        uint64_t at = (l->pcs[i] - shdr.sh_addr) / stub_bytes * stub_bytes;
        size_t n = data->d_size - at < stub_bytes ? data->d_size - at : stub_bytes;
        if (!lookup_wants_name(l, i))
            continue;
        const struct slot *slot =
            slot_of(s, (const uint8_t *)data->d_buf + at, n, shdr.sh_addr + at);
        const char *name = slot ? symbol_name(elf, s->symbols, slot->symbol) : NULL;
        if (name && *name)
            lookup_set_name(l, i, stub_function(l, name));
    }
}

void plt_name(struct lookup *l, Elf *elf)
{
    static const char *const sections[] = {".plt", ".plt.sec", ".plt.got"};
    GElf_Ehdr ehdr;
    struct slots s = {0};
    if (!gelf_getehdr(elf, &ehdr) || ehdr.e_machine != EM_X86_64)
        return;
    read_slots(&s, elf);
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        Elf_Scn *scn = elffile_named_section(elf, sections[i]);
        if (scn)
            name_section(l, elf, scn, &s);
    }
    vec_done(&s.by_address);
    vec_done(&s.in_order);
}
