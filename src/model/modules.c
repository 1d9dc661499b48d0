#include "model/modules.h"

static int by_path(const void *a, const void *b)
{
    const struct module_names *x = a, *y = b;
    return x->path.i < y->path.i ? -1 : x->path.i > y->path.i;
}

static bool modules_is_named(const struct profile *p, const struct frame *f)
{
    if (!f->n_lines)
        return false;
    struct text name = profile_function_name(p, profile_lines(p, f)->function);
    return name.n && !profile_name_is_place(name);
}

/* The rows of one path become one. */
static void fold_rows(struct modules *m)
{
    size_t n = 0;
    if (m->list.n)
        qsort(m->list.at, m->list.n, sizeof *m->list.at, by_path);
    for (size_t i = 0; i < m->list.n; i++) {
        const struct module_names row = m->list.at[i];
        if (n && m->list.at[n - 1].path.i == row.path.i) {
            m->list.at[n - 1].frames += row.frames;
            m->list.at[n - 1].named += row.named;
        } else {
            m->list.at[n++] = row;
        }
    }
    m->list.n = n;
}

void modules_build(struct modules *m, const struct profile *p)
{
    *m = (struct modules){0};
    for (size_t i = 0; i < p->mappings.n; i++)
        *vec_push(&m->list) = (struct module_names){.path = p->mappings.at[i].path};
    for (size_t i = 0; i < p->frames.n; i++) {
        const struct frame *f = &p->frames.at[i];
        struct module_names *row = &m->list.at[f->mapping.i];
        row->frames += f->pc || f->n_lines;
        row->named += modules_is_named(p, f);
    }
    fold_rows(m);
}

void modules_done(struct modules *m)
{
    vec_done(&m->list);
}

const struct module_names *modules_find(const struct modules *m, const struct profile *p,
                                        struct text path)
{
    for (size_t i = 0; i < m->list.n; i++) {
        struct text own = profile_str(p, m->list.at[i].path);
        if (own.n == path.n && (!own.n || memcmp(own.at, path.at, own.n) == 0))
            return &m->list.at[i];
    }
    return NULL;
}
