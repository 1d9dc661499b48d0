#include "symbol/sidecar.h"

#include "base/jsonread.h"
#include "symbol/lookup.h"

#include <ctype.h>

struct sidecar_symbol {
    uint64_t start, size;
    uint64_t name; /* in the string table */
};

struct sidecar_lib {
    struct buf code_id;    /* lower-case hex; empty where the file has none, as the vDSO */
    struct buf debug_name; /* last part of its path */
    VEC(struct sidecar_symbol) symbols;
};

struct sidecar {
    struct intern texts;
    VEC(uint32_t) strings;
    VEC(struct sidecar_lib) libs;
};

/* --- reading --- */

static bool sidecar_enter(struct jsonread *j, enum json_token what)
{
    if (json_peek(j) == what)
        return json_enter(j, what);
    json_skip(j);
    return false;
}

static uint64_t read_number(struct jsonread *j)
{
    if (json_peek(j) != JSON_NUMBER) {
        json_skip(j);
        return 0;
    }
    int64_t v = json_get_int(j);
    return v > 0 ? (uint64_t)v : 0;
}

static void read_strings(struct sidecar *s, struct jsonread *j)
{
    if (!sidecar_enter(j, JSON_ARRAY))
        return;
    while (json_element(j)) {
        uint32_t id = 0;
        if (json_peek(j) == JSON_STRING)
            id = intern_add(&s->texts, json_get_text(j));
        else
            json_skip(j);
        *vec_push(&s->strings) = id;
    }
}

static void read_symbol(struct sidecar_lib *lib, struct jsonread *j)
{
    struct sidecar_symbol symbol = {0};
    struct text key;
    if (!sidecar_enter(j, JSON_OBJECT))
        return;
    while (json_member(j, &key))
        if (text_is(key, "rva"))
            symbol.start = read_number(j);
        else if (text_is(key, "size"))
            symbol.size = read_number(j);
        else if (text_is(key, "symbol"))
            symbol.name = read_number(j);
        else
            json_skip(j);
    *vec_push(&lib->symbols) = symbol;
}

static void read_lib(struct sidecar *s, struct jsonread *j)
{
    struct text key;
    if (!sidecar_enter(j, JSON_OBJECT))
        return;
    struct sidecar_lib *lib = vec_push(&s->libs);
    *lib = (struct sidecar_lib){0};
    while (json_member(j, &key))
        if (text_is(key, "code_id") && json_peek(j) == JSON_STRING) {
            struct text id = json_get_text(j);
            for (size_t i = 0; i < id.n; i++)
                buf_byte(&lib->code_id, (uint8_t)tolower((unsigned char)id.at[i]));
        } else if (text_is(key, "debug_name") && json_peek(j) == JSON_STRING) {
            struct text name = json_get_text(j);
            buf_add(&lib->debug_name, name.at, name.n);
        } else if (text_is(key, "symbol_table") && sidecar_enter(j, JSON_ARRAY)) {
            while (json_element(j))
                read_symbol(lib, j);
        } else
            json_skip(j);
}

static void read_top(struct sidecar *s, struct jsonread *j)
{
    struct text key;
    if (!json_enter(j, JSON_OBJECT))
        return;
    while (json_member(j, &key))
        if (text_is(key, "string_table"))
            read_strings(s, j);
        else if (text_is(key, "data") && sidecar_enter(j, JSON_ARRAY)) {
            while (json_element(j))
                read_lib(s, j);
        } else
            json_skip(j);
}

/* --- naming --- */

static int sidecar_by_start(const void *a, const void *b)
{
    const struct sidecar_symbol *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->name < y->name ? -1 : x->name > y->name;
}

static bool sidecar_same_text(struct text a, struct text b)
{
    return a.n == b.n && memcmp(a.at, b.at, a.n) == 0;
}

/* By build-id; a file without one by its name, among those that have none. */
static struct sidecar_lib *lib_of(const struct sidecar *s, struct text build_id, struct text path)
{
    const char *slash = path.n ? memrchr(path.at, '/', path.n) : NULL;
    size_t folder = slash ? (size_t)(slash + 1 - path.at) : 0;
    struct text name = {path.at + folder, path.n - folder};
    for (size_t i = 0; i < s->libs.n; i++) {
        struct text id = buf_text(&s->libs.at[i].code_id);
        bool same = build_id.n ? sidecar_same_text(id, build_id)
                               : !id.n && name.n &&
                                     sidecar_same_text(buf_text(&s->libs.at[i].debug_name), name);
        if (same)
            return &s->libs.at[i];
    }
    return NULL;
}

/* The last one that starts at or before PC; without a size it reaches to the next. */
static const struct sidecar_symbol *symbol_at(const struct sidecar_lib *lib, uint64_t pc)
{
    size_t low = 0, high = lib->symbols.n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (lib->symbols.at[mid].start <= pc)
            low = mid + 1;
        else
            high = mid;
    }
    const struct sidecar_symbol *at = low ? &lib->symbols.at[low - 1] : NULL;
    return at && (!at->size || pc - at->start < at->size) ? at : NULL;
}

static bool name_frame(const struct sidecar *s, struct lookup *names, uint32_t i,
                       const struct sidecar_lib *lib)
{
    struct profile *p = names->p;
    struct frame f = p->frames.at[i];
    const struct sidecar_symbol *at = symbol_at(lib, f.pc);
    struct text name = at && at->name < s->strings.n
                           ? intern_get(&s->texts, s->strings.at[at->name])
                           : (struct text){0};
    if (!name.n)
        return false;
    struct function function = {.name = lookup_add_name(names, name)};
    struct line line = {.function = profile_add_function(p, &function)};
    struct frame_key key = {f.pc, f.mapping, (enum frame_kind)f.kind, &line, 1};
    profile_set_frame(p, (struct frame_id){i}, &key);
    return true;
}

static int64_t name_frames(struct sidecar *s, struct profile *p)
{
    struct lookup names = {.p = p};
    int64_t named = 0;
    VEC(struct sidecar_lib *) libs = {0}; /* by mapping */
    for (size_t i = 0; i < s->libs.n; i++)
        if (s->libs.at[i].symbols.n)
            qsort(s->libs.at[i].symbols.at, s->libs.at[i].symbols.n,
                  sizeof *s->libs.at[i].symbols.at, sidecar_by_start);
    for (size_t i = 0; i < p->mappings.n; i++)
        *vec_push(&libs) = lib_of(s, profile_str(p, p->mappings.at[i].build_id),
                                  profile_str(p, p->mappings.at[i].path));
    for (uint32_t i = 0; i < p->frames.n; i++) {
        const struct frame *f = &p->frames.at[i];
        if (f->pc && !f->n_lines && libs.at[f->mapping.i])
            named += name_frame(s, &names, i, libs.at[f->mapping.i]);
    }
    vec_done(&libs);
    return named;
}

/* --- */

char *sidecar_path(const char *profile_path)
{
    const char *slash = strrchr(profile_path, '/'), *dot = strrchr(profile_path, '.');
    size_t n = strlen(profile_path);
    if (dot && dot > (slash ? slash + 1 : profile_path))
        n = (size_t)(dot - profile_path);
    return mem_printf("%.*s.syms.json", (int)n, profile_path);
}

static void sidecar_done(struct sidecar *s)
{
    for (size_t i = 0; i < s->libs.n; i++) {
        buf_done(&s->libs.at[i].code_id);
        buf_done(&s->libs.at[i].debug_name);
        vec_done(&s->libs.at[i].symbols);
    }
    vec_done(&s->libs);
    vec_done(&s->strings);
    intern_done(&s->texts);
}

int64_t sidecar_name(struct profile *p, const char *path, struct err *err)
{
    struct sidecar s = {0};
    struct reader in;
    struct jsonread j;
    if (reader_open_file(&in, path, err) != 0)
        return -1;
    intern_init(&s.texts);
    jsonread_init(&j, &in);
    read_top(&s, &j);
    json_finish(&j);
    int64_t named = json_failed(&j, err) ? -1 : name_frames(&s, p);
    jsonread_done(&j);
    reader_close(&in);
    sidecar_done(&s);
    return named;
}
