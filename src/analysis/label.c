#include "analysis/label.h"

#include "base/buf.h"

void labels_init(struct labels *l, const struct profile *p, const struct label_opts *opts)
{
    *l = (struct labels){.opts = *opts};
    intern_init(&l->texts);
    if (!p)
        return;
    vec_reserve(&l->of_line, p->lines.n);
    vec_reserve(&l->of_bare, p->frames.n);
    l->of_line.n = p->lines.n;
    l->of_bare.n = p->frames.n;
    if (p->lines.n)
        memset(l->of_line.at, 0, p->lines.n * sizeof *l->of_line.at);
    if (p->frames.n)
        memset(l->of_bare.at, 0, p->frames.n * sizeof *l->of_bare.at);
}

void labels_done(struct labels *l)
{
    intern_done(&l->texts);
    idmap_done(&l->map);
    vec_done(&l->at);
    vec_done(&l->of_line);
    vec_done(&l->of_bare);
}

uint32_t labels_add(struct labels *l, struct text text, enum frame_kind kind)
{
    uint8_t k = l->opts.merge_kinds ? FRAME_USER : (uint8_t)kind;
    uint32_t id = intern_add(&l->texts, text);
    uint32_t hash = hash_pair(id, k);
    for_each_match (&l->map, hash, i) {
        if (l->at.at[i].text == id && l->at.at[i].kind == k)
            return i;
    }
    uint32_t i = (uint32_t)l->at.n;
    *vec_push(&l->at) = (struct label){.text = id, .kind = k};
    idmap_add(&l->map, hash, i);
    return i;
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

uint32_t labels_of_frame(struct labels *l, const struct profile *p, struct frame_id id, size_t i)
{
    const struct frame *f = profile_frame(p, id);
    uint32_t *slot = f->n_lines ? &l->of_line.at[f->first_line + i] : &l->of_bare.at[id.i];
    if (*slot)
        return *slot - 1;
    enum frame_kind kind = f->n_lines && i > 0 ? FRAME_INLINED : (enum frame_kind)f->kind;
    struct text name = {"", 0};
    if (f->n_lines) {
        struct function_id function = profile_lines(p, f)[i].function;
        name = profile_function_name(p, function);
    }
    uint32_t label = add_for(l, p, f, name, kind);
    *slot = label + 1;
    return label;
}

void labels_build(struct labels *l, const struct profile *p, const struct label_opts *opts)
{
    labels_init(l, p, opts);
    for (uint32_t i = 0; i < p->frames.n; i++)
        for (size_t k = 0; k < labels_count(&p->frames.at[i]); k++)
            labels_of_frame(l, p, (struct frame_id){i}, k);
}
