#include "symbol/lookup.h"

#include "base/buf.h"
#include "base/clone.h"
#include "base/utf8.h"
#include "symbol/demangle.h"

void lookup_init(struct lookup *l, struct profile *p, const uint64_t *pcs, size_t n)
{
    *l = (struct lookup){.p = p, .pcs = pcs, .n = n};
    l->found = mem_calloc(n, sizeof *l->found);
}

void lookup_done(struct lookup *l)
{
    free(l->found);
    vec_done(&l->lines);
}

void lookup_set(struct lookup *l, size_t i, const struct line *lines, size_t n)
{
    if (n > PROFILE_MAX_FRAME_LINES)
        n = PROFILE_MAX_FRAME_LINES;
    l->found[i] = (struct found){(uint32_t)l->lines.n, (uint16_t)n};
    vec_reserve(&l->lines, n);
    memcpy(l->lines.at + l->lines.n, lines, n * sizeof *lines);
    l->lines.n += n;
}

static struct str_id lookup_add_clean(struct lookup *l, struct text name)
{
    autobuf struct buf clean = {0};
    bool changed = false;
    for (size_t i = 0; i < name.n && !changed; i++)
        changed = utf8_hidden((struct text){name.at + i, name.n - i});
    if (!changed)
        return profile_add_str(l->p, name);
    for (size_t i = 0; i < name.n;) {
        size_t skip = utf8_hidden((struct text){name.at + i, name.n - i});
        buf_byte(&clean, skip ? '?' : (uint8_t)name.at[i]);
        i += skip ? skip : 1;
    }
    return profile_add_str(l->p, buf_text(&clean));
}

struct str_id lookup_add_name(struct lookup *l, struct text name)
{
    return lookup_add_clean(l, longnames_fit(&l->long_names, name));
}

struct function lookup_describe(struct lookup *l, const char *symbol)
{
    autobuf struct buf shown = {0};
    struct text whole = longnames_fit_str(&l->long_names, symbol), plain = clone_plain(whole);
    autofree char *own = mem_strndup(plain.at, plain.n);
    struct str_id raw = lookup_add_clean(l, whole);
    bool readable = demangle(own, &shown);
    if (!readable && plain.n == whole.n)
        return (struct function){.name = raw};
    return (struct function){
        .name = lookup_add_name(l, readable ? clone_plain(buf_text(&shown)) : plain),
        .system_name = raw,
    };
}

bool lookup_wants_name(const struct lookup *l, size_t i)
{
    const struct found *f = &l->found[i];
    return !f->n_lines || !profile_function_name(l->p, l->lines.at[f->first_line].function).n;
}

size_t lookup_count_unnamed(const struct lookup *l)
{
    size_t unnamed = 0;
    for (size_t i = 0; i < l->n; i++)
        unnamed += lookup_wants_name(l, i);
    return unnamed;
}

void lookup_set_name(struct lookup *l, size_t i, struct function_id function)
{
    struct line line = {.function = function};
    if (l->found[i].n_lines) {
        line = l->lines.at[l->found[i].first_line];
        struct function f = l->p->functions.at[function.i];
        f.file = l->p->functions.at[line.function.i].file;
        line.function = profile_add_function(l->p, &f);
    }
    lookup_set(l, i, &line, 1);
}

void lookup_rename(struct lookup *l, size_t i, const struct function *function)
{
    struct line *outer = &l->lines.at[l->found[i].first_line];
    struct function f = l->p->functions.at[outer->function.i];
    f.name = function->name;
    f.system_name = function->system_name;
    outer->function = profile_add_function(l->p, &f);
}

size_t lookup_lower_bound(const uint64_t *pcs, size_t n, uint64_t pc)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (pcs[mid] < pc)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

void cover_init(struct cover *c, const uint64_t *pcs, size_t n)
{
    *c = (struct cover){.pcs = pcs, .n = n};
    c->next = mem_calloc(n + 1, sizeof *c->next);
    for (size_t i = 0; i <= n; i++)
        c->next[i] = (uint32_t)i;
}

void cover_done(struct cover *c)
{
    free(c->next);
}

/* The first free address at or past I. Paths are halved on the way. */
static size_t next_free(struct cover *c, size_t i)
{
    while (c->next[i] != i) {
        c->next[i] = c->next[c->next[i]];
        i = c->next[i];
    }
    return i;
}

static size_t free_below(struct cover *c, size_t i, uint64_t end)
{
    i = next_free(c, i);
    return i < c->n && c->pcs[i] < end ? i : c->n;
}

size_t cover_first(struct cover *c, uint64_t start, uint64_t end)
{
    return free_below(c, lookup_lower_bound(c->pcs, c->n, start), end);
}

size_t cover_take(struct cover *c, size_t i, uint64_t end)
{
    c->next[i] = (uint32_t)i + 1;
    return free_below(c, i + 1, end);
}
