#include "unwind/gostacks.h"
#include "unwind/insn.h"

enum { FUNCTION_MAX_BYTES = 1024, SYMBOLS_MAX = 1 << 22 };

enum change { FROM_LOAD_ON, WHOLE_FUNCTION, TRAMPOLINE };

static const struct {
    const char *name; /* ".abi0" may follow */
    enum change change;
} functions[] = {
    {"runtime.systemstack", FROM_LOAD_ON},        {"runtime.mcall", FROM_LOAD_ON},
    {"runtime.morestack", FROM_LOAD_ON},          {"runtime.asmcgocall", FROM_LOAD_ON},
    {"runtime.rt0_go", WHOLE_FUNCTION},           {"runtime.sigreturn", TRAMPOLINE},
    {"runtime.sigreturn__sigaction", TRAMPOLINE},
};

enum { FUNCTIONS = sizeof functions / sizeof functions[0] };

static const struct unwind_row bottom = {.cfa = CFA_BOTTOM};
static const struct unwind_row trampoline = {.cfa = CFA_SIGNAL, .flags = ROW_NAMED};

/* From START to END - 1 rows say ROW from now on. */
static void overlay(struct unwind_table *t, uint64_t start, uint64_t end, struct unwind_row row)
{
    uint64_t from = start - t->base, to = end - t->base;
    if (start < t->base || from >= to || to > UINT32_MAX)
        return;
    const struct unwind_row *last = unwind_table_row(t, end);
    struct unwind_row after = last ? *last : (struct unwind_row){.cfa = CFA_GAP};
    struct unwind_row *rows = mem_calloc(t->n_rows + 3, sizeof *rows);
    size_t n = 0, i = 0;
    for (; i < t->n_rows && t->rows[i].pc < from; i++)
        rows[n++] = t->rows[i];
    row.pc = (uint32_t)from;
    rows[n++] = row;
    while (i < t->n_rows && t->rows[i].pc <= to)
        i++;
    after.pc = (uint32_t)to;
    rows[n++] = after;
    for (; i < t->n_rows; i++)
        rows[n++] = t->rows[i];
    free(t->rows);
    t->rows = rows;
    t->n_rows = n;
}

/* Between one load of the stack pointer and the next another stack is in use. */
static void overlay_loads(struct unwind_table *t, uint64_t start, const uint8_t *code, size_t n)
{
    uint64_t from = 0;
    for (size_t at = 0; at < n;) {
        struct insn i = insn_decode(code + at, n - at);
        if (i.kind == INSN_BAD)
            break;
        at += i.length;
        if (i.kind != INSN_SP_LOST)
            continue;
        if (from)
            overlay(t, from, start + at, bottom);
        from = from ? 0 : start + at;
    }
    if (from)
        overlay(t, from, start + n, bottom);
}

static void mend_function(struct unwind_table *t, const struct objfile *o, const Elf64_Sym *sym,
                          enum change change)
{
    uint8_t code[FUNCTION_MAX_BYTES];
    size_t most = sym->st_size < sizeof code ? sym->st_size : sizeof code;
    size_t n = objfile_code(o, sym->st_value, code, most);
    if (change == FROM_LOAD_ON)
        overlay_loads(t, sym->st_value, code, n);
    else if (change == WHOLE_FUNCTION)
        overlay(t, sym->st_value, sym->st_value + n, bottom);
    else if (n) /* looked up one byte before its start, where the return address leads */
        overlay(t, sym->st_value - 1, sym->st_value + n, trampoline);
}

static bool gostacks_is_named(const char *symbol, const char *name)
{
    size_t n = strlen(name);
    return strncmp(symbol, name, n) == 0 && (!symbol[n] || strcmp(symbol + n, ".abi0") == 0);
}

static void mend_symbol(struct unwind_table *t, const struct objfile *o, const Elf64_Sym *sym,
                        const char *name)
{
    if (strncmp(name, "runtime.", 8) != 0 || ELF64_ST_TYPE(sym->st_info) != STT_FUNC)
        return;
    for (size_t i = 0; i < FUNCTIONS; i++)
        if (gostacks_is_named(name, functions[i].name))
            mend_function(t, o, sym, functions[i].change);
}

void gostacks_mend(struct unwind_table *t, const struct objfile *o)
{
    autobuf struct buf symbols = {0}, names = {0};
    if (t->machine != EM_X86_64 || !t->n_rows || !objfile_has_section(o, ".gopclntab") ||
        !objfile_symbols(o, &symbols, &names))
        return;
    size_t n = symbols.n / sizeof(Elf64_Sym);
    for (size_t i = 0; i < n && i < SYMBOLS_MAX; i++) {
        Elf64_Sym sym;
        memcpy(&sym, symbols.at + i * sizeof sym, sizeof sym);
        if (sym.st_name < names.n)
            mend_symbol(t, o, &sym, names.at + sym.st_name);
    }
}
