/* heapwrappers.c - see heapwrappers.h. */
#include "analysis/heapwrappers.h"
#include "base/vec.h"

/* --- by name --- */

static bool starts_with_one_of(struct text name, const char *const *starts)
{
    while (*starts && !text_starts(name, *starts))
        starts++;
    return *starts;
}

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

/* The functions of C that allocate, wherever they are: a static program has its own. */
static bool is_allocator(struct text name)
{
    static const char *const names[] = {
        "malloc",         "calloc",   "realloc",  "reallocarray", "aligned_alloc", "memalign",
        "posix_memalign", "valloc",   "pvalloc",  "mmap",         "mmap64",        "mremap",
        "strdup",         "strndup",  "__strdup", "__strndup",    "asprintf",      "vasprintf",
        "getline",        "getdelim", NULL};
    return text_is_one_of(name, names);
}

/* Of the languages' libraries, which templates and generics put into the program itself. */
static bool is_of_language(struct text name)
{
    static const char *const starts[] = {"operator new", "std::",       "__gnu_cxx::",
                                         "void std::",   "alloc::",     "__rust_",
                                         "core::",       "hashbrown::", NULL};
    return is_rust_builtin(name) || starts_with_one_of(rust_type(name), starts);
}

/* Functions of widely used libraries and a custom of the field that only pass a call on. */
static bool is_known_wrapper(struct text name)
{
    static const char *const names[] = {
        "xmalloc",         "xcalloc",          "xrealloc",          "xstrdup",
        "xstrndup",        "xmemdup",          "xzalloc",           "PyObject_Malloc",
        "PyObject_Calloc", "PyObject_Realloc", "CRYPTO_malloc",     "CRYPTO_zalloc",
        "CRYPTO_realloc",  "CRYPTO_strdup",    "av_malloc",         "av_mallocz",
        "av_calloc",       "av_realloc",       "av_strdup",         "sqlite3_malloc",
        "sqlite3Malloc",   "sqlite3MemMalloc", "sqlite3MemRealloc", "zmalloc",
        "zcalloc",         "zrealloc",         "AllocateHeap", /* OpenJDK */
        "ReallocateHeap",  "os::malloc",       "os::realloc",       NULL};
    static const char *const starts[] = {"g_malloc", "g_realloc", "g_slice_", "g_strdup",
                                         "PyMem_",   "_PyMem_",   NULL};
    return text_is_one_of(name, names) || starts_with_one_of(name, starts);
}

/* Functions that allocate for whoever calls them. */
static bool heapwrapper_is_named(struct text name)
{
    return !name.n || is_allocator(name) || is_of_language(name) || is_known_wrapper(name);
}

/*
 * How functions are called that may only pass a call on: gv_alloc, git_strndup, zmalloc_usable.
 * Their callers decide whether they do.
 */
static bool is_like_allocator(struct text name)
{
    static const char *const ends[] = {"alloc",  "Alloc",  "alloc0", "allocz",
                                       "strdup", "memdup", "strndup"};
    static const char *const parts[] = {"malloc_", "calloc_", "realloc_"};
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

/* --- by what they are part of --- */

static bool is_allocator_library(struct text module)
{
    static const char *const starts[] = {"libjemalloc", "libtcmalloc", "libmimalloc", NULL};
    return starts_with_one_of(module, starts);
}

static bool is_of_library(const struct profile *p, struct mapping_id id)
{
    return profile_is_runtime(p, id) || profile_is_agent(p, id) ||
           is_allocator_library(profile_module_name(p, id));
}

/* --- places --- */

/* From the innermost function outwards. */
struct outwards {
    struct stack_id stack;
    size_t left; /* labels of its frame */
};

static const struct frame *outwards_frame(const struct outwards *o, const struct profile *p)
{
    return profile_frame(p, p->stacks.nodes.at[o->stack.i].frame);
}

static uint32_t next_label(struct outwards *o, struct labels *labels, const struct profile *p)
{
    while (o->stack.i && !o->left) {
        o->stack = p->stacks.nodes.at[o->stack.i].parent;
        o->left = o->stack.i ? labels_count(outwards_frame(o, p)) : 0;
    }
    if (!o->stack.i)
        return LABEL_NONE;
    return labels_of_frame(labels, p, p->stacks.nodes.at[o->stack.i].frame, --o->left);
}

static struct outwards outwards_from(const struct profile *p, struct stack_id stack)
{
    struct outwards o = {stack, 0};
    o.left = stack.i ? labels_count(outwards_frame(&o, p)) : 0;
    return o;
}

static bool allocates_for_others(const struct heapwrappers *w, const struct labels *labels,
                                 uint32_t label)
{
    return (label < w->is.n && w->is.at[label]) || heapwrapper_is_named(labels_text(labels, label));
}

/* LABEL is where O is. The caller of main is no place either. */
static bool is_of_runtime(const struct outwards *o, const struct labels *labels,
                          const struct profile *p, uint32_t label)
{
    return is_of_library(p, outwards_frame(o, p)->mapping) ||
           text_is(labels_text(labels, label), "_start");
}

static uint32_t caller_served(struct outwards *o, struct labels *labels, const struct profile *p)
{
    uint32_t label = next_label(o, labels, p);
    while (label != LABEL_NONE && is_like_allocator(labels_text(labels, label)))
        label = next_label(o, labels, p);
    return label;
}

/*
 * The place of a stack, and in RET_CALLER for whom it allocates. Where libraries are alone, as
 * before main, the innermost function of theirs that is more than an allocator.
 */
static uint32_t find_place(const struct heapwrappers *w, struct labels *labels,
                           const struct profile *p, struct stack_id stack, uint32_t *ret_caller)
{
    struct outwards o = outwards_from(p, stack);
    uint32_t first = LABEL_NONE, library = LABEL_NONE, label;
    *ret_caller = LABEL_NONE;
    while ((label = next_label(&o, labels, p)) != LABEL_NONE) {
        first = first == LABEL_NONE ? label : first;
        if (allocates_for_others(w, labels, label))
            continue;
        if (!is_of_runtime(&o, labels, p, label)) {
            *ret_caller = caller_served(&o, labels, p);
            return label;
        }
        library = library == LABEL_NONE ? label : library;
    }
    return library != LABEL_NONE ? library
           : first != LABEL_NONE ? first
                                 : labels_add(labels, text_of("[no stack]"), FRAME_USER);
}

uint32_t heapwrappers_place(const struct heapwrappers *w, struct labels *labels,
                            const struct profile *p, struct stack_id stack)
{
    uint32_t caller;
    return find_place(w, labels, p, stack, &caller);
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

/* --- by callers --- */

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

/* Functions that are taken for wrappers when many call them. */
static bool may_be_wrapper(struct text name)
{
    return profile_name_is_place(name) || is_like_allocator(name);
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
        if (callers.at[i].n == HEAPWRAPPERS_CALLERS && may_be_wrapper(labels_text(labels, i))) {
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
