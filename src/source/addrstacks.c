#include "source/addrstacks.h"

#include "base/search.h"

void addrstacks_done(struct addrstacks *a)
{
    vec_done(&a->pcs);
    vec_done(&a->stacks);
    vec_done(&a->maps);
    vec_done(&a->names);
    vec_done(&a->frames);
    idmap_done(&a->by_pc);
}

struct addrstack *addrstacks_add(struct addrstacks *a)
{
    struct addrstack *s = vec_push(&a->stacks);
    *s = (struct addrstack){.first = a->pcs.n};
    return s;
}

void addrstacks_push(struct addrstacks *a, uint64_t pc)
{
    *vec_push(&a->pcs) = pc;
    a->stacks.at[a->stacks.n - 1].n++;
}

/* --- what was mapped --- */

static struct text next_word(struct text *line)
{
    *line = text_trim(*line);
    return text_cut(line, ' ');
}

static bool parse_range(struct text word, uint64_t *ret_start, uint64_t *ret_end)
{
    struct text start = text_cut(&word, '-');
    return word.n && text_u64(start, 16, ret_start) && text_u64(word, 16, ret_end) &&
           *ret_start < *ret_end;
}

/* "START-END: PATH", or "START-END PERMISSIONS OFFSET DEVICE INODE PATH". */
static bool parse_map(struct text line, struct mapping *ret, struct text *ret_path)
{
    struct text range = next_word(&line);
    bool brief = text_ends(range, ":");
    range.n -= brief;
    if (!parse_range(range, &ret->start, &ret->end))
        return false;
    if (!brief) {
        struct text permissions = next_word(&line), offset = next_word(&line);
        if (permissions.n != 4 || !text_u64(offset, 16, &ret->offset))
            return false;
        next_word(&line);
        next_word(&line);
    }
    *ret_path = text_trim(line);
    return true;
}

static bool is_allocator(struct text path)
{
    const char *slash = path.n ? memrchr(path.at, '/', path.n) : NULL;
    if (!slash)
        return false;
    struct text name = {slash + 1, (size_t)(path.at + path.n - slash) - 1};
    return text_starts(name, "libjemalloc") || text_starts(name, "libtcmalloc");
}

/* "source=/home": the start of paths that are written "$source/..." from there on. */
struct addrvar {
    char *name, *value;
};
typedef VEC(struct addrvar) addrvars;

static void addrstacks_set(addrvars *vars, struct text line)
{
    enum { VARS_MAX = 16 };
    struct text value = text_trim(line), name = text_cut(&value, '=');
    if (name.n && value.n && vars->n < VARS_MAX)
        *vec_push(vars) =
            (struct addrvar){mem_printf("$%.*s/", TEXT_ARG(name)), mem_strndup(value.at, value.n)};
}

/* PATH with what its variable stands for. Free it; NULL = it has none. */
static char *addrstacks_expand(const addrvars *vars, struct text path)
{
    for (size_t i = 0; i < vars->n; i++) {
        size_t n = strlen(vars->at[i].name);
        if (text_starts(path, vars->at[i].name))
            return mem_printf("%s/%.*s", vars->at[i].value, (int)(path.n - n), path.at + n);
    }
    return NULL;
}

/* Take a line of /proc/PID/maps, or "START-END: PATH". False if it is neither. */
static bool addrstacks_map(struct addrstacks *a, const addrvars *vars, struct text line)
{
    struct profile *p = a->im->profile;
    struct mapping m = {0};
    struct text path;
    if (!parse_map(line, &m, &path))
        return false;
    autofree char *whole = addrstacks_expand(vars, path);
    path = whole ? text_of(whole) : path;
    bool jit = path.n == 0 || text_starts(path, "[anon") || text_starts(path, "//anon");
    m.path = profile_add_str(p, path);
    *vec_push(&a->maps) = (struct addrmap){
        .start = m.start, .end = m.end, .jit = jit, .allocator = is_allocator(path)};
    if (path.n)
        a->maps.at[a->maps.n - 1].mapping = profile_add_mapping(p, &m);
    return true;
}

void addrstacks_read_maps(struct addrstacks *a)
{
    struct text line;
    addrvars vars = {0};
    while (reader_line(a->im->in, &line))
        if (!addrstacks_map(a, &vars, line))
            addrstacks_set(&vars, line);
    for (size_t i = 0; i < vars.n; i++) {
        free(vars.at[i].name);
        free(vars.at[i].value);
    }
    vec_done(&vars);
}

void addrstacks_name(struct addrstacks *a, uint64_t pc, struct text name)
{
    *vec_push(&a->names) = (struct addrname){pc, profile_add_str(a->im->profile, name)};
}

/* --- building --- */

static int addrstacks_by_start(const void *a, const void *b)
{
    const struct addrmap *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->mapping.i < y->mapping.i ? -1 : x->mapping.i > y->mapping.i;
}

static int by_pc(const void *a, const void *b)
{
    const struct addrname *x = a, *y = b;
    if (x->pc != y->pc)
        return x->pc < y->pc ? -1 : 1;
    return x->name.i < y->name.i ? -1 : x->name.i > y->name.i;
}

static const struct addrmap *find_map(const struct addrstacks *a, uint64_t pc)
{
    const struct addrmap *m = search_last(&a->maps, start, pc);
    return m && pc < m->end ? m : NULL;
}

static const struct addrname *find_name(const struct addrstacks *a, uint64_t pc)
{
    struct addrname key = {pc, {0}};
    size_t low = 0, high = a->names.n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (by_pc(&a->names.at[mid], &key) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low < a->names.n && a->names.at[low].pc == pc ? &a->names.at[low] : NULL;
}

static const struct addrname *name_around(const struct addrstacks *a, uint64_t pc)
{
    const struct addrname *name = find_name(a, pc);
    return name ? name : find_name(a, pc + 1);
}

typedef VEC(struct line) line_list;

/* "inner--outer": the functions inlined at one address, innermost first. */
static void add_lines(struct addrstacks *a, struct text names, line_list *ret)
{
    struct profile *p = a->im->profile;
    while (names.n && ret->n < PROFILE_MAX_FRAME_LINES) {
        const char *end = names.n > 2 ? memmem(names.at + 1, names.n - 1, "--", 2) : NULL;
        size_t n = end ? (size_t)(end - names.at) : names.n;
        struct function f = {.name = profile_add_str(p, (struct text){names.at, n})};
        *vec_push(ret) = (struct line){.function = profile_add_function(p, &f)};
        n += end ? 2 : 0;
        names = (struct text){names.at + n, names.n - n};
    }
    for (size_t i = 0; i < ret->n / 2; i++) {
        struct line first = ret->at[i];
        ret->at[i] = ret->at[ret->n - 1 - i];
        ret->at[ret->n - 1 - i] = first;
    }
}

static struct frame_id addrstacks_make_frame(struct addrstacks *a, uint64_t pc)
{
    struct profile *p = a->im->profile;
    const struct import_opts *opts = &a->im->opts;
    const struct addrmap *m = find_map(a, pc);
    const struct addrname *name = name_around(a, pc);
    struct frame_key key = {.pc = pc};
    line_list lines = {0};
    if (m) {
        key.mapping = m->mapping;
        key.kind = m->jit ? FRAME_JIT : FRAME_USER;
    }
    if (name)
        add_lines(a, profile_str(p, name->name), &lines);
    key.lines = lines.at;
    key.n_lines = lines.n;
    if (!opts->addresses && (key.n_lines || !opts->bare_addresses))
        key.pc = 0;
    struct frame_id id = profile_add_frame(p, &key);
    vec_done(&lines);
    return id;
}

static struct frame_id addrstacks_frame_of(struct addrstacks *a, uint64_t pc)
{
    uint32_t hash = hash_u64(pc);
    for_each_match (&a->by_pc, hash, i)
        if (a->frames.at[i].pc == pc)
            return a->frames.at[i].frame;
    struct frame_id frame = addrstacks_make_frame(a, pc);
    idmap_add(&a->by_pc, hash, (uint32_t)a->frames.n);
    *vec_push(&a->frames) = (struct addrframe){pc, frame};
    return frame;
}

/* The innermost frames of S that are the allocator's. One frame stays in any case. */
static size_t own_frames(const struct addrstacks *a, const struct addrstack *s)
{
    size_t n = 0;
    if (a->names_from_caller) {
        while (n < s->n && !name_around(a, a->pcs.at[s->first + n]))
            n++;
        return n < s->n ? n : 0;
    }
    while (a->heap && n + 1 < s->n) {
        const struct addrmap *m = find_map(a, a->pcs.at[s->first + n]);
        if (!m || !m->allocator)
            break;
        n++;
    }
    return n;
}

int addrstacks_build(struct addrstacks *a, int stream, struct err *err)
{
    struct profile *p = a->im->profile;
    VEC(struct frame_id) frames = {0};
    int rc = 0;
    if (a->maps.n)
        qsort(a->maps.at, a->maps.n, sizeof *a->maps.at, addrstacks_by_start);
    if (a->names.n)
        qsort(a->names.at, a->names.n, sizeof *a->names.at, by_pc);
    for (size_t i = 0; i < a->stacks.n && rc == 0; i++) {
        const struct addrstack *s = &a->stacks.at[i];
        frames.n = 0;
        for (size_t k = own_frames(a, s); k < s->n; k++)
            *vec_push(&frames) = addrstacks_frame_of(a, a->pcs.at[s->first + k]);
        struct row row = {.stack = stacks_intern_leaf_first(&p->stacks, frames.at, frames.n),
                          .values = s->values};
        rc = profile_add_row(p, stream, &row, err);
    }
    vec_done(&frames);
    return rc;
}
