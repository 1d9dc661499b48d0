/* signature.c - names with parameters; see signature.h. */
#include "symbol/signature.h"
#include "base/mem.h"
#include "symbol/demangle.h"

/* How many samples of the first stream were in each function itself, by id; free it. */
static uint64_t *signature_samples(const struct profile *p, uint64_t *ret_all)
{
    uint64_t *n = mem_calloc(p->functions.n + 1, sizeof *n);
    const struct stream *s = p->streams.n ? profile_stream(p, 0) : NULL;
    int count = s ? stream_samples(s) : -1;
    *ret_all = 0;
    for (size_t i = 0; s && i < s->rows.n; i++) {
        int64_t value = count >= 0 ? s->rows.value[count][i] : 1;
        uint64_t samples = value > 0 ? (uint64_t)value : 0;
        *ret_all += samples;
        if (!s->rows.stack[i].i)
            continue;
        const struct frame *f = profile_frame(p, p->stacks.nodes.at[s->rows.stack[i].i].frame);
        if (f->n_lines) /* the innermost */
            n[p->lines.at[f->first_line + f->n_lines - 1u].function.i] += samples;
    }
    return n;
}

/* Whether another function of the same name and another symbol is hot, too. */
static bool has_hot_overload(const struct profile *p, size_t i, const bool *hot)
{
    const struct function *f = &p->functions.at[i];
    for (size_t k = 1; k < p->functions.n; k++)
        if (hot[k] && p->functions.at[k].name.i == f->name.i &&
            p->functions.at[k].system_name.i != f->system_name.i)
            return true;
    return false;
}

/* Clones ("_Z1fi.part.0") are named by what the clone was made from. */
static bool signature_of(struct profile *p, struct str_id symbol, struct buf *ret)
{
    struct text all = profile_str(p, symbol);
    autofree char *plain = mem_strndup(all.at, all.n);
    plain[strcspn(plain, ".")] = '\0';
    return demangle_signature(plain, ret);
}

size_t signature_rename(struct profile *p, enum signature_wish wish)
{
    uint64_t all;
    autofree uint64_t *samples = signature_samples(p, &all);
    autofree bool *hot = mem_calloc(p->functions.n + 1, sizeof *hot);
    autofree bool *chosen = mem_calloc(p->functions.n + 1, sizeof *chosen);
    autobuf struct buf shown = {0};
    size_t renamed = 0;
    for (size_t i = 1; i < p->functions.n; i++)
        hot[i] = p->functions.at[i].system_name.i && all &&
                 (double)samples[i] >= SIGNATURE_HOT * (double)all;
    for (size_t i = 1; i < p->functions.n; i++)
        chosen[i] = p->functions.at[i].system_name.i &&
                    (wish == SIGNATURE_ALL || (hot[i] && has_hot_overload(p, i, hot)));
    for (size_t i = 1; i < p->functions.n; i++) {
        shown.n = 0;
        if (!chosen[i] || !signature_of(p, p->functions.at[i].system_name, &shown))
            continue;
        p->functions.at[i].name = profile_add_str(p, buf_text(&shown));
        renamed++;
    }
    return renamed;
}
