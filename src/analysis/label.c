#include "analysis/label.h"

#include "base/buf.h"

/* N entries of 0. */
#define labels_zero(vec, count)                                            \
    do {                                                                   \
        (vec).n = (vec).cap = (count);                                     \
        (vec).at = (count) ? mem_calloc((count), sizeof *(vec).at) : NULL; \
    } while (0)

void labels_init(struct labels *l, const struct profile *p, const struct label_opts *opts)
{
    *l = (struct labels){.opts = *opts};
    intern_init(&l->texts);
    if (!p)
        return;
    labels_zero(l->of_line, p->lines.n);
    labels_zero(l->of_bare, p->frames.n);
    labels_zero(l->of_function, p->functions.n);
    labels_zero(l->of_mapping, p->mappings.n);
}

void labels_done(struct labels *l)
{
    intern_done(&l->texts);
    vec_done(&l->of_text);
    vec_done(&l->at);
    vec_done(&l->of_line);
    vec_done(&l->of_bare);
    vec_done(&l->of_function);
    vec_done(&l->of_mapping);
}

uint32_t labels_add(struct labels *l, struct text text, enum frame_kind kind)
{
    uint8_t k = l->opts.merge_kinds ? FRAME_USER : (uint8_t)kind;
    uint32_t id = intern_add(&l->texts, text);
    while (l->of_text.n <= id)
        *vec_push(&l->of_text) = 0;
    for (uint32_t i = l->of_text.at[id]; i; i = l->at.at[i - 1].same_text_plus_1)
        if (l->at.at[i - 1].kind == k)
            return i - 1;
    *vec_push(&l->at) = (struct label){id, k, l->of_text.at[id]};
    l->of_text.at[id] = (uint32_t)l->at.n;
    return (uint32_t)l->at.n - 1;
}

static const char *suffix_of(const struct label_opts *o, const struct frame *f,
                             enum frame_kind kind)
{
    if (kind == FRAME_KERNEL && o->mark_kernel)
        return "_[k]";
    if (kind == FRAME_JIT && o->mark_jit)
        return "_[j]";
    bool own_frame = f->kind == FRAME_INLINED;
    if (kind == FRAME_INLINED && (own_frame ? o->mark_inlined_frames : o->mark_inlined))
        return "_[i]";
    return "";
}

/* What a frame without a function is called. */
static void bare_name(struct buf *b, const struct labels *l, const struct profile *p,
                      const struct frame *f)
{
    struct text module = profile_module_name(p, f->mapping);
    bool bracketed = module.n && module.at[0] == '['; /* "[vdso]" needs no second pair */
    if (!module.n)
        module = text_of("unknown");
    if (!bracketed)
        buf_byte(b, '[');
    buf_add(b, module.at, bracketed && l->opts.addresses ? module.n - 1 : module.n);
    if (l->opts.addresses)
        buf_printf(b, " <%llx>", (unsigned long long)f->pc);
    if (!bracketed || l->opts.addresses)
        buf_byte(b, ']');
}

static uint32_t add_for(struct labels *l, const struct profile *p, const struct frame *f,
                        struct text name, enum frame_kind kind)
{
    autobuf struct buf b = {0};
    if (name.n)
        buf_add(&b, name.at, name.n);
    else
        bare_name(&b, l, p, f);
    const char *suffix = suffix_of(&l->opts, f, kind);
    if (!text_ends(buf_text(&b), suffix))
        buf_str(&b, suffix);
    return labels_add(l, buf_text(&b), kind);
}

/* Where the label of a frame like F is kept, or NULL: addresses are different in each. */
static struct label_memo *memo_of(struct labels *l, const struct frame *f, const struct line *line)
{
    if (line)
        return &l->of_function.at[line->function.i];
    return l->opts.addresses ? NULL : &l->of_mapping.at[f->mapping.i];
}

uint32_t labels_of_frame(struct labels *l, const struct profile *p, struct frame_id id, size_t i)
{
    const struct frame *f = profile_frame(p, id);
    uint32_t *slot = f->n_lines ? &l->of_line.at[f->first_line + i] : &l->of_bare.at[id.i];
    if (*slot)
        return *slot - 1;
    enum frame_kind kind = f->n_lines && i > 0 ? FRAME_INLINED : (enum frame_kind)f->kind;
    const struct line *line = f->n_lines ? &profile_lines(p, f)[i] : NULL;
    struct text name = line ? profile_function_name(p, line->function) : (struct text){"", 0};
    struct label_memo *memo = memo_of(l, f, name.n ? line : NULL);
    uint32_t what = (uint32_t)kind << 8 | f->kind; /* all that a label depends on besides */
    if (memo && memo->label_plus_1 && memo->what == what)
        return (*slot = memo->label_plus_1) - 1;
    *slot = add_for(l, p, f, name, kind) + 1;
    if (memo)
        *memo = (struct label_memo){*slot, what};
    return *slot - 1;
}

void labels_build(struct labels *l, const struct profile *p, const struct label_opts *opts)
{
    labels_init(l, p, opts);
    for (uint32_t i = 0; i < p->frames.n; i++)
        for (size_t k = 0; k < labels_count(&p->frames.at[i]); k++)
            labels_of_frame(l, p, (struct frame_id){i}, k);
}
