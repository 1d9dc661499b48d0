#include "source/gecko.h"

#include "base/search.h"

#include <math.h>

/* --- rows --- */

void gecko_table_init(struct gecko_table *t, const char *const *names, int n)
{
    *t = (struct gecko_table){.names = names, .n_names = n};
    memset(t->position, -1, sizeof t->position);
}

void gecko_table_done(struct gecko_table *t)
{
    vec_done(&t->cells);
    vec_done(&t->starts);
}

static void gecko_read_schema(struct gecko_table *t, struct jsonread *j)
{
    struct text key;
    while (json_member(j, &key)) {
        int field = 0;
        while (field < t->n_names && !text_is(key, t->names[field]))
            field++;
        double at = json_peek(j) == JSON_NUMBER ? json_get_double(j) : (json_skip(j), -1);
        if (field < t->n_names && at >= 0 && at < GECKO_FIELDS)
            t->position[field] = (int8_t)at;
    }
}

static void gecko_read_row(struct gecko_table *t, struct jsonread *j)
{
    *vec_push(&t->starts) = t->cells.n;
    if (json_peek(j) != JSON_ARRAY || !json_enter(j, JSON_ARRAY)) {
        json_skip(j);
        return;
    }
    for (int at = 0; json_element(j); at += at < GECKO_FIELDS) {
        double v = json_peek(j) == JSON_NUMBER ? json_get_double(j) : (json_skip(j), NAN);
        if (at < GECKO_FIELDS)
            *vec_push(&t->cells) = v;
    }
}

bool gecko_table_member(struct gecko_table *t, struct jsonread *j, struct text key)
{
    bool schema = text_is(key, "schema"), data = text_is(key, "data");
    if (schema && json_peek(j) == JSON_OBJECT && json_enter(j, JSON_OBJECT))
        gecko_read_schema(t, j);
    else if (data && json_peek(j) == JSON_ARRAY && json_enter(j, JSON_ARRAY))
        while (json_element(j))
            gecko_read_row(t, j);
    else
        return false;
    return true;
}

bool gecko_table_has(const struct gecko_table *t, int field)
{
    return t->position[field] >= 0;
}

double gecko_table_get(const struct gecko_table *t, size_t row, int field)
{
    size_t end = row + 1 < t->starts.n ? t->starts.at[row + 1] : t->cells.n;
    size_t at = t->starts.at[row] + (size_t)t->position[field];
    return gecko_table_has(t, field) && at < end ? t->cells.at[at] : NAN;
}

/* --- locations --- */

/* What a location says. Texts are parts of it. */
struct location {
    struct text name, lib, file;
    int32_t line;
    uint64_t address;
    bool has_address;
};

static struct text gecko_text_from(struct text t, size_t at)
{
    return (struct text){t.at + at, t.n - at};
}

static struct text gecko_text_upto(struct text t, size_t n)
{
    return (struct text){t.at, n};
}

/* The last place of WORD in T, or -1. */
static ssize_t gecko_last_place(struct text t, const char *word)
{
    size_t n = strlen(word);
    for (ssize_t i = (ssize_t)t.n - (ssize_t)n; i >= 0; i--)
        if (memcmp(t.at + i, word, n) == 0)
            return i;
    return -1;
}

/* "name (in lib)", "name (in lib) + 12", "name (in lib) (file.c:12)" */
static bool location_native(struct text t, struct location *ret)
{
    ssize_t at = gecko_last_place(t, " (in ");
    if (at < 0)
        return false;
    struct text rest = gecko_text_from(t, (size_t)at + 5);
    const char *end = memchr(rest.at, ')', rest.n);
    if (!end)
        return false;
    struct text tail = gecko_text_from(rest, (size_t)(end - rest.at) + 1);
    if (tail.n && !text_starts(tail, " + ") && !text_starts(tail, " ("))
        return false;
    ret->name = gecko_text_upto(t, (size_t)at);
    ret->lib = gecko_text_upto(rest, (size_t)(end - rest.at));
    return true;
}

/* Cut ":12" off the end of T. */
static bool gecko_cut_number(struct text *t, int32_t *ret)
{
    uint64_t v;
    ssize_t at = gecko_last_place(*t, ":");
    if (at < 0 || !text_u64(gecko_text_from(*t, (size_t)at + 1), 10, &v) || v > INT32_MAX)
        return false;
    *ret = (int32_t)v;
    *t = gecko_text_upto(*t, (size_t)at);
    return true;
}

/* "[5]" at the end: the number of a source; the address before it says the same. */
static struct text gecko_without_source(struct text t)
{
    uint64_t v;
    ssize_t at = gecko_last_place(t, "[");
    if (at < 0 || t.at[t.n - 1] != ']')
        return t;
    struct text number = {t.at + at + 1, t.n - (size_t)at - 2};
    return text_u64(number, 10, &v) ? gecko_text_upto(t, (size_t)at) : t;
}

/* "name (https://a/b.js:12:3)[5]", "https://a/b.js:12:3" */
static bool location_script(struct text t, struct location *ret)
{
    struct text place = gecko_without_source(t), name = {"", 0};
    ssize_t at = gecko_last_place(place, " (");
    if (at >= 0 && place.n && place.at[place.n - 1] == ')') {
        name = gecko_text_upto(place, (size_t)at);
        place = (struct text){place.at + at + 2, place.n - (size_t)at - 3};
    }
    if (!gecko_cut_number(&place, &ret->line))
        return false;
    gecko_cut_number(&place, &ret->line); /* the first of two is the line, the last the column */
    ssize_t loaded = gecko_last_place(place, " -> "); /* after the script that loaded it */
    if (loaded >= 0)
        place = gecko_text_from(place, (size_t)loaded + 4);
    if (!place.n || (!name.n && gecko_last_place(place, "/") < 0))
        return false;
    ret->name = name;
    ret->file = place;
    return true;
}

static struct location location_parse(struct text t)
{
    struct location l = {.name = t};
    if (text_starts(t, "0x") && text_u64(gecko_text_from(t, 2), 16, &l.address)) {
        l.has_address = true;
        return l;
    }
    struct location other = {0};
    if (location_native(t, &other) || location_script(t, &other))
        return other;
    return l;
}

/* --- frames --- */

/* What a location became. */
struct placed {
    bool done;
    int32_t func, lib;
    int64_t address;
};

struct processor {
    struct firefox_tables *t, *libs;
    struct profile *p;
    VEC(struct placed) by_string;
};

static int gecko_lib_by_start(const void *a, const void *b)
{
    const struct firefox_lib *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

/* The library that is mapped at ADDRESS, or NULL. */
static const struct firefox_lib *gecko_lib_at(const struct firefox_tables *t, uint64_t address)
{
    const struct firefox_lib *l = search_last(&t->lib_ranges, start, address);
    return l && address < l->end ? l : NULL;
}

static int32_t gecko_add_string(struct processor *g, struct text t)
{
    *vec_push(&g->t->strings) = profile_add_str(g->p, t);
    return (int32_t)(g->t->strings.n - 1);
}

/* Code that runs as a script is loaded has no function: the script's name stands for it. */
static int32_t gecko_add_function_name(struct processor *g, const struct location *l)
{
    if (l->name.n || !l->file.n)
        return gecko_add_string(g, l->name);
    autobuf struct buf b = {0};
    buf_printf(&b, "(root scope) %.*s", TEXT_ARG(l->file));
    return gecko_add_string(g, buf_text(&b));
}

static int32_t gecko_add_function(struct processor *g, const struct location *l)
{
    struct firefox_tables *t = g->t;
    *vec_push(&t->func_name) = gecko_add_function_name(g, l);
    *vec_push(&t->func_file) = l->file.n ? gecko_add_string(g, l->file) : FIREFOX_NONE;
    *vec_push(&t->func_line) = l->line;
    return (int32_t)(t->func_name.n - 1);
}

/* A library of which only the name is known. Equal ones are one mapping all the same. */
static int32_t gecko_add_named_lib(struct processor *g, struct text name)
{
    struct mapping m = {.path = profile_add_str(g->p, name), .end = UINT32_MAX};
    *vec_push(&g->libs->libs) = profile_add_mapping(g->p, &m);
    return (int32_t)(g->libs->libs.n - 1);
}

static void gecko_place_location(struct processor *g, int32_t string, struct placed *ret)
{
    struct str_id id = g->t->strings.at[string];
    autofree char *copy = mem_strndup(profile_str(g->p, id).at, profile_str(g->p, id).n);
    struct location l = location_parse(text_of(copy));
    const struct firefox_lib *lib = l.has_address ? gecko_lib_at(g->libs, l.address) : NULL;
    *ret = (struct placed){.done = true, .lib = FIREFOX_NONE, .address = FIREFOX_NONE};
    if (lib) {
        uint64_t relative = l.address - lib->start + lib->offset;
        ret->lib = lib->index;
        ret->address = relative <= INT64_MAX ? (int64_t)relative : FIREFOX_NONE;
    } else if (l.lib.n)
        ret->lib = gecko_add_named_lib(g, l.lib);
    ret->func = gecko_add_function(g, &l);
}

static void gecko_place_frame(struct processor *g, int32_t string)
{
    struct firefox_tables *t = g->t;
    struct placed none = {.func = FIREFOX_NONE, .lib = FIREFOX_NONE, .address = FIREFOX_NONE};
    struct placed *p = &none;
    if (string >= 0 && (size_t)string < g->by_string.n) {
        p = &g->by_string.at[string];
        if (!p->done)
            gecko_place_location(g, string, p);
    }
    *vec_push(&t->frame_func) = p->func;
    *vec_push(&t->frame_lib) = p->lib;
    *vec_push(&t->frame_address) = p->address;
}

void gecko_process(struct firefox_tables *t, struct import *im, struct firefox_tables *libs)
{
    struct processor g = {.t = t, .libs = libs, .p = im->profile};
    if (!t->frame_location.n)
        return;
    t->frame_func.n = t->frame_lib.n = t->frame_address.n = 0;
    t->func_name.n = t->func_file.n = t->func_line.n = 0;
    if (libs->lib_ranges.n)
        qsort(libs->lib_ranges.at, libs->lib_ranges.n, sizeof *libs->lib_ranges.at,
              gecko_lib_by_start);
    vec_reserve(&g.by_string, t->strings.n);
    g.by_string.n = t->strings.n;
    if (g.by_string.n)
        memset(g.by_string.at, 0, g.by_string.n * sizeof *g.by_string.at);
    for (size_t i = 0; i < t->frame_location.n; i++)
        gecko_place_frame(&g, t->frame_location.at[i]);
    vec_done(&g.by_string);
}
