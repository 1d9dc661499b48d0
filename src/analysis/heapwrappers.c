/* heapwrappers.c - see heapwrappers.h. */
#include "analysis/heapwrappers.h"
#include "base/vec.h"

/* --- by name --- */

/* "<&mut alloc::string::String as core::fmt::Write>::write_str" without what is before "alloc". */
static struct text rust_type(struct text name)
{
    while (text_starts(name, "<") || text_starts(name, "&") || text_starts(name, "mut "))
        text_cut(&name, *name.at == 'm' ? ' ' : *name.at);
    return name;
}

/* "<u64 as core::fmt::Display>::fmt", "<T as ..": a type without a path is the language's own. */
static bool is_rust_builtin(struct text name)
{
    const char *as = name.n ? memmem(name.at, name.n, " as ", 4) : NULL;
    return text_starts(name, "<") && as && !memmem(name.at, (size_t)(as - name.at), "::", 2);
}

/* How names of functions end that allocate for others: av_malloc, CRYPTO_zalloc, sqlite3Malloc. */
static bool is_named_allocator(struct text name)
{
    static const char *const ends[] = {"alloc",  "Alloc",  "alloc0", "allocz",
                                       "strdup", "memdup", "strndup"};
    static const char *const parts[] = {"malloc_", "calloc_", "realloc_"}; /* zmalloc_usable */
    while (text_ends(name, "_"))
        name.n--;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (memmem(name.at, name.n, parts[i], strlen(parts[i])))
            return true;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (text_ends(name, ends[i]))
            return true;
    return false;
}

/* Functions that allocate for whoever calls them. */
static bool heapwrapper_is_named(struct text name)
{
    static const char *const starts[] = {
        "operator new", "std::",     "__gnu_cxx::", "void std::",      "alloc::",
        "__rust_",      "core::",    "hashbrown::", "xmalloc",         "xcalloc",
        "xrealloc",     "xstrdup",   "strdup",      "strndup",         "__strdup",
        "__strndup",    "vasprintf", "asprintf",    "g_malloc",        "g_realloc",
        "g_slice_",     "g_strdup",  "PyMem_",      "PyObject_Malloc", "_PyMem_",
    };
    static const char *const allocators[] = {
        "malloc",   "calloc",         "realloc", "reallocarray", "aligned_alloc",
        "memalign", "posix_memalign", "valloc",  "mmap",         "mremap",
        NULL};
    if (is_rust_builtin(name) || text_is_one_of(name, allocators) || is_named_allocator(name))
        return true;
    name = rust_type(name);
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (text_starts(name, starts[i]))
            return true;
    return name.n == 0;
}

/* --- by callers --- */

static bool allocates_for_others(const struct heapwrappers *w, const struct labels *labels,
                                 uint32_t label)
{
    return (label < w->is.n && w->is.at[label]) || heapwrapper_is_named(labels_text(labels, label));
}

/* From the innermost function outwards. */
struct outwards {
    struct stack_id stack;
    size_t left; /* labels of its frame */
};

static uint32_t next_label(struct outwards *o, struct labels *labels, const struct profile *p)
{
    while (o->stack.i && !o->left) {
        o->stack = p->stacks.nodes.at[o->stack.i].parent;
        o->left =
            o->stack.i ? labels_count(profile_frame(p, p->stacks.nodes.at[o->stack.i].frame)) : 0;
    }
    if (!o->stack.i)
        return LABEL_NONE;
    return labels_of_frame(labels, p, p->stacks.nodes.at[o->stack.i].frame, --o->left);
}

static struct outwards outwards_from(const struct profile *p, struct stack_id stack)
{
    size_t n = stack.i ? labels_count(profile_frame(p, p->stacks.nodes.at[stack.i].frame)) : 0;
    return (struct outwards){stack, n};
}

/* The place of a stack, and in RET_CALLER what called it. */
static uint32_t find_place(const struct heapwrappers *w, struct labels *labels,
                           const struct profile *p, struct stack_id stack, uint32_t *ret_caller)
{
    struct outwards o = outwards_from(p, stack);
    uint32_t first = LABEL_NONE, label;
    while ((label = next_label(&o, labels, p)) != LABEL_NONE) {
        if (!allocates_for_others(w, labels, label)) {
            if (ret_caller)
                *ret_caller = next_label(&o, labels, p);
            return label;
        }
        first = first == LABEL_NONE ? label : first;
    }
    if (ret_caller)
        *ret_caller = LABEL_NONE;
    return first != LABEL_NONE ? first : labels_add(labels, text_of("[no stack]"), FRAME_USER);
}

uint32_t heapwrappers_place(const struct heapwrappers *w, struct labels *labels,
                            const struct profile *p, struct stack_id stack)
{
    return find_place(w, labels, p, stack, NULL);
}

/* --- what for --- */

static bool has_any_part(struct text name, const char *const *parts)
{
    for (; *parts; parts++)
        if (name.n && memmem(name.at, name.n, *parts, strlen(*parts)))
            return true;
    return false;
}

/*
 * Of a single function. Rooms that a string makes while it is appended to (_M_create, _M_mutate)
 * say nothing: whoever called for them does. A vector that reserves or resizes is none that grows.
 */
static enum heap_purpose purpose_of(struct text name)
{
    static const char *const growth[] = {"::_M_realloc_insert", "::_M_realloc_append",
                                         ">::grow_one", ">::reserve_for_push", NULL};
    static const char *const copies[] = {"::basic_string(",
                                         "::basic_string<",
                                         "::_M_construct",
                                         "::_M_assign(std::__cxx11::basic_string",
                                         "std::operator+",
                                         "strdup",
                                         "strndup",
                                         "String as core::clone::Clone>::clone",
                                         "ToOwned for str>::to_owned",
                                         NULL};
    return has_any_part(name, growth)   ? HEAP_FOR_GROWTH
           : has_any_part(name, copies) ? HEAP_FOR_COPY
                                        : HEAP_FOR_ANYTHING;
}

/* The innermost wrapper that says it. */
enum heap_purpose heapwrappers_purpose(const struct heapwrappers *w, struct labels *labels,
                                       const struct profile *p, struct stack_id stack)
{
    struct outwards o = outwards_from(p, stack);
    enum heap_purpose purpose = HEAP_FOR_ANYTHING;
    uint32_t label;
    while (purpose == HEAP_FOR_ANYTHING && (label = next_label(&o, labels, p)) != LABEL_NONE &&
           allocates_for_others(w, labels, label))
        purpose = purpose_of(labels_text(labels, label));
    return purpose;
}

/* --- wrappers without a name --- */

/* Different callers of a label, as many as matter. */
struct heap_callers {
    uint32_t at[HEAPWRAPPERS_CALLERS];
    size_t n;
};

static void callers_add(struct heap_callers *c, uint32_t caller)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->at[i] == caller)
            return;
    if (c->n < HEAPWRAPPERS_CALLERS)
        c->at[c->n++] = caller;
}

static bool heapwrapper_is_unnamed(struct text name)
{
    return text_starts(name, "[") && text_ends(name, "]") && memchr(name.at, '+', name.n);
}

/* One layer more. False where none was found. */
static bool find_layer(struct heapwrappers *w, struct labels *labels, const struct profile *p,
                       const struct rows *rows)
{
    VEC(struct heap_callers) callers = {0};
    bool found = false;
    autofree bool *seen = mem_calloc(p->stacks.nodes.n + 1, sizeof *seen);
    for (size_t i = 0; i < rows->n; i++) {
        uint32_t caller, label;
        if (seen[rows->stack[i].i])
            continue;
        seen[rows->stack[i].i] = true;
        label = find_place(w, labels, p, rows->stack[i], &caller);
        while (callers.n <= label)
            *vec_push(&callers) = (struct heap_callers){0};
        if (caller != LABEL_NONE)
            callers_add(&callers.at[label], caller);
    }
    for (uint32_t i = 0; i < callers.n; i++)
        if (callers.at[i].n == HEAPWRAPPERS_CALLERS &&
            heapwrapper_is_unnamed(labels_text(labels, i))) {
            while (w->is.n <= i)
                *vec_push(&w->is) = false;
            w->is.at[i] = found = true;
        }
    vec_done(&callers);
    return found;
}

void heapwrappers_find(struct heapwrappers *w, struct labels *labels, const struct profile *p,
                       const struct rows *rows)
{
    for (int layer = 0; layer < HEAPWRAPPERS_LAYERS; layer++)
        if (!find_layer(w, labels, p, rows))
            return;
}

void heapwrappers_done(struct heapwrappers *w)
{
    vec_done(&w->is);
}
