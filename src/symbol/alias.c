#include "symbol/alias.h"

#include "base/clone.h"

/* A name that was found, and the symbol that stands for its address best. */
struct alias {
    uint64_t start;
    struct elfsym best;
    bool known;    /* the tables have the name */
    bool several;  /* and more than once: static functions of several files */
    bool from_old; /* so far only as an older version */
};

struct aliases {
    struct intern names; /* [0] is "" */
    VEC(struct alias) list;
    VEC(uint32_t) by_start; /* those that are known, sorted */
    uint32_t *name_of;      /* by function; 0 = not asked for */
    size_t n_functions;
};

/* The name of a function as its file's symbol tables have it. */
static struct text symbol_of(const struct profile *p, uint32_t function)
{
    const struct function *f = &p->functions.at[function];
    return clone_plain(profile_str(p, f->system_name.i ? f->system_name : f->name));
}

static void collect_names(struct aliases *a, const struct lookup *l)
{
    intern_init(&a->names);
    a->n_functions = l->p->functions.n;
    a->name_of = mem_calloc(a->n_functions, sizeof *a->name_of);
    for (size_t i = 0; i < l->lines.n; i++) {
        uint32_t f = l->lines.at[i].function.i;
        if (f && !a->name_of[f])
            a->name_of[f] = intern_add(&a->names, symbol_of(l->p, f));
    }
    vec_reserve(&a->list, a->names.strings.n);
    a->list.n = a->names.strings.n;
    memset(a->list.at, 0, a->list.n * sizeof *a->list.at);
}

static void take_start(struct aliases *a, const struct elfsyms *s, const struct elfsym *symbol)
{
    if (symbol->chooses) /* the functions of that name start elsewhere: target_clones */
        return;
    uint32_t id = intern_find(&a->names, elfsyms_name(s, symbol));
    if (id == IDMAP_NONE || id == 0)
        return;
    struct alias *at = &a->list.at[id];
    bool old = symbol->rank == ELFSYM_DYNAMIC_OLD;
    if (at->known && (at->start == symbol->start || (old && !at->from_old)))
        return;
    at->several = at->known && old == at->from_old;
    at->known = true;
    at->from_old = old;
    at->start = symbol->start;
}

static int alias_by_start(const void *a, const void *b, void *list)
{
    const struct alias *x = (struct alias *)list + *(const uint32_t *)a;
    const struct alias *y = (struct alias *)list + *(const uint32_t *)b;
    return x->start < y->start ? -1 : x->start > y->start;
}

static void sort_known(struct aliases *a)
{
    for (uint32_t i = 1; i < a->list.n; i++)
        if (a->list.at[i].known && !a->list.at[i].several)
            *vec_push(&a->by_start) = i;
    if (a->by_start.n)
        qsort_r(a->by_start.at, a->by_start.n, sizeof *a->by_start.at, alias_by_start, a->list.at);
}

/* Offer SYMBOL to the names that stand for its address; the first of them keeps the best. */
static void take_better(struct aliases *a, const struct elfsyms *s, const struct elfsym *symbol)
{
    size_t low = 0, high = a->by_start.n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (a->list.at[a->by_start.at[mid]].start < symbol->start)
            low = mid + 1;
        else
            high = mid;
    }
    if (low == a->by_start.n)
        return;
    struct alias *at = &a->list.at[a->by_start.at[low]];
    if (at->start != symbol->start)
        return;
    elfsyms_weigh(s, &at->best);
    if (!at->best.name || elfsyms_compare(s, symbol, &at->best) < 0)
        at->best = *symbol;
}

static void each_function(struct aliases *a, const struct elfsyms *s,
                          void (*take)(struct aliases *, const struct elfsyms *,
                                       const struct elfsym *))
{
    struct elfsym symbol;
    for (int t = 0; t < s->n; t++)
        for (size_t i = 0; i < s->tables[t].n; i++)
            if (elfsyms_get(s, t, i, &symbol) && symbol.rank <= ELFSYM_LOCAL)
                take(a, s, &symbol);
}

static void share_best(struct aliases *a)
{
    for (size_t i = 1; i < a->by_start.n; i++) {
        struct alias *at = &a->list.at[a->by_start.at[i]];
        const struct alias *before = &a->list.at[a->by_start.at[i - 1]];
        if (before->start == at->start)
            at->best = before->best;
    }
}

/* What function F is called from now on. */
static struct function_id renamed(struct aliases *a, const struct elfsyms *s, struct lookup *l,
                                  uint32_t function)
{
    const struct alias *at = &a->list.at[a->name_of[function]];
    struct function f = l->p->functions.at[function];
    if (at->several || !at->best.name)
        return (struct function_id){function};
    struct function named = elfsyms_describe(s, l, &at->best);
    if (!named.name.i || named.name.i == f.name.i)
        return (struct function_id){function};
    f.name = named.name;
    f.system_name = named.system_name;
    return profile_add_function(l->p, &f);
}

static void alias_rename_all(struct aliases *a, const struct elfsyms *s, struct lookup *l)
{
    autofree uint32_t *now = mem_calloc(a->n_functions, sizeof *now);
    for (size_t i = 0; i < l->lines.n; i++) {
        uint32_t f = l->lines.at[i].function.i;
        if (!f)
            continue;
        if (!now[f])
            now[f] = renamed(a, s, l, f).i;
        l->lines.at[i].function.i = now[f];
    }
}

void alias_fold(const struct elfsyms *s, struct lookup *l)
{
    struct aliases a = {0};
    collect_names(&a, l);
    if (a.list.n > 1)
        each_function(&a, s, take_start);
    sort_known(&a);
    if (a.by_start.n) {
        each_function(&a, s, take_better);
        share_best(&a);
        alias_rename_all(&a, s, l);
    }
    intern_done(&a.names);
    vec_done(&a.list);
    vec_done(&a.by_start);
    free(a.name_of);
}
