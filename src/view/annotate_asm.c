#include "view/annotate.h"

#include <capstone/capstone.h>

struct asmtext {
    csh handle;
    cs_insn *insn;
    char text[256];
};

struct asmtext *asmtext_open(void)
{
    struct asmtext *t = mem_new(struct asmtext);
    if (cs_open(CS_ARCH_X86, CS_MODE_64, &t->handle) != CS_ERR_OK) {
        free(t);
        return NULL;
    }
    t->insn = cs_malloc(t->handle);
    return t;
}

void asmtext_close(struct asmtext *t)
{
    if (!t)
        return;
    cs_free(t->insn, 1);
    cs_close(&t->handle);
    free(t);
}

/* capstone 4 knows little of AVX-512: then the set and the bytes are shown. */
static void show_bytes(struct asmtext *t, const struct listing_insn *i)
{
    int n = snprintf(t->text, sizeof t->text, "(%s)",
                     i->x.bad ? "no instruction" : x86_isa_name((enum x86_isa)i->x.isa));
    for (int k = 0; k < i->x.length; k++)
        n += snprintf(t->text + n, sizeof t->text - (size_t)n, " %02x", i->bytes[k]);
}

const char *asmtext_of(struct asmtext *t, const struct listing_insn *i)
{
    const uint8_t *code = i->bytes;
    size_t n = i->x.length;
    uint64_t pc = i->pc;
    if (!i->x.bad && cs_disasm_iter(t->handle, &code, &n, &pc, t->insn) && n == 0)
        snprintf(t->text, sizeof t->text, "%s%s%s", t->insn->mnemonic,
                 t->insn->op_str[0] ? " " : "", t->insn->op_str);
    else
        show_bytes(t, i);
    return t->text;
}

int annotate_disassemble(struct annotate *a)
{
    struct asmtext *t = asmtext_open();
    if (!t)
        return -1;
    a->texts = mem_calloc(a->listing->insns.n + 1, sizeof *a->texts);
    for (size_t i = 0; i < a->listing->insns.n; i++)
        a->texts[i] = mem_strdup(asmtext_of(t, &a->listing->insns.at[i]));
    asmtext_close(t);
    return 0;
}

const char *annotate_class(const struct x86 *x)
{
    static const char *const packed[] = {"packed 128", "packed 256", "packed 512"};
    static const char *const vector[] = {"vector 128", "vector 256", "vector 512"};
    int width = x->width_bits == 512 ? 2 : x->width_bits == 256;
    switch (x->kind) {
    case X86_INTEGER:
        return "";
    case X86_SCALAR_FP:
        return "scalar";
    default:
        return x->kind == X86_PACKED_FP ? packed[width] : vector[width];
    }
}

bool annotate_call_place(const struct annotate *a, const struct listing_insn *i, size_t level,
                         struct annotate_place *ret)
{
    const struct frame *f = profile_frame(a->names, i->frame);
    const struct line *lines = profile_lines(a->names, f);
    if (level >= f->n_lines)
        return false;
    const struct line *line = &lines[f->n_lines - 1 - level];
    const struct function *function = &a->names->functions.at[line->function.i];
    *ret = (struct annotate_place){
        .file = profile_str(a->names, function->file),
        .function = profile_str(a->names, function->name),
        .line = line->line,
        .inlined = level + 1 < f->n_lines,
    };
    return ret->line && ret->file.n;
}

bool annotate_place(const struct annotate *a, const struct listing_insn *i,
                    struct annotate_place *ret)
{
    return annotate_call_place(a, i, 0, ret);
}
