#include "source/firefox_tables.h"
#include "source/gecko.h"

#include <ctype.h>

enum { DEPTH_MAX = 100000, INLINE_MAX = 64 };
enum { STACK_NEW, STACK_OPEN, STACK_DONE, STACK_CYCLE, STACK_DEEP, STACK_BAD };

void firefox_tables_done(struct firefox_tables *t)
{
    vec_done(&t->strings);
    vec_done(&t->stack_frame);
    vec_done(&t->stack_prefix);
    vec_done(&t->frame_func);
    vec_done(&t->frame_line);
    vec_done(&t->frame_column);
    vec_done(&t->frame_category);
    vec_done(&t->frame_inline);
    vec_done(&t->frame_lib);
    vec_done(&t->frame_address);
    vec_done(&t->func_name);
    vec_done(&t->func_resource);
    vec_done(&t->func_file);
    vec_done(&t->func_source);
    vec_done(&t->func_line);
    vec_done(&t->resource_lib);
    vec_done(&t->source_file);
    vec_done(&t->libs);
    vec_done(&t->lib_ranges);
    vec_done(&t->frame_location);
    vec_done(&t->stacks);
}

/* --- reading --- */

/* The number that comes next; FIREFOX_NONE where it is none, or below 0. */
static int64_t read_place(struct jsonread *j)
{
    int64_t v = FIREFOX_NONE;
    if (json_peek(j) == JSON_NUMBER)
        v = json_get_int(j);
    else
        json_skip(j);
    return v >= 0 ? v : FIREFOX_NONE;
}

static void read_column(struct jsonread *j, firefox_column *ret)
{
    if (json_peek(j) != JSON_ARRAY || !json_enter(j, JSON_ARRAY)) {
        json_skip(j);
        return;
    }
    ret->n = 0;
    while (json_element(j)) {
        int64_t v = read_place(j);
        *vec_push(ret) = v <= INT32_MAX ? (int32_t)v : FIREFOX_NONE;
    }
}

static void read_addresses(struct firefox_tables *t, struct jsonread *j)
{
    if (json_peek(j) != JSON_ARRAY || !json_enter(j, JSON_ARRAY)) {
        json_skip(j);
        return;
    }
    t->frame_address.n = 0;
    while (json_element(j))
        *vec_push(&t->frame_address) = read_place(j);
}

static void read_strings(struct firefox_tables *t, struct import *im, struct jsonread *j)
{
    if (json_peek(j) != JSON_ARRAY || !json_enter(j, JSON_ARRAY)) {
        json_skip(j);
        return;
    }
    t->strings.n = 0;
    while (json_element(j)) {
        struct str_id id = {0};
        if (json_peek(j) == JSON_STRING)
            id = profile_add_str(im->profile, json_get_text(j));
        else
            json_skip(j);
        *vec_push(&t->strings) = id;
    }
}

static struct str_id lower_case(struct profile *p, struct text t)
{
    autobuf struct buf b = {0};
    for (size_t i = 0; i < t.n; i++)
        buf_byte(&b, (uint8_t)tolower((unsigned char)t.at[i]));
    return profile_add_str(p, buf_text(&b));
}

/* Take a number of a library's place; false leaves it alone. */
static bool lib_place_member(struct firefox_lib *l, struct jsonread *j, struct text key)
{
    uint64_t *to = text_is(key, "start")    ? &l->start
                   : text_is(key, "end")    ? &l->end
                   : text_is(key, "offset") ? &l->offset
                                            : NULL;
    if (!to || json_peek(j) != JSON_NUMBER)
        return false;
    double v = json_get_double(j); /* the profiler's own numbers are exact up to 2^53 only */
    *to = v >= 0 && v < 0x1p63 ? (uint64_t)v : 0;
    return true;
}

/* Paths where there are any, else names; the build-id is the code id of ELF and Mach-O files. */
static void read_lib(struct firefox_tables *t, struct import *im, struct jsonread *j)
{
    static const char *const by_worth[] = {"path", "debugPath", "name", "debugName"};
    struct profile *p = im->profile;
    struct str_id names[4] = {{0}};
    /* Addresses count from the image's first; samply has 32 bits for them. */
    struct mapping m = {.end = UINT32_MAX};
    struct firefox_lib place = {.index = (int32_t)t->libs.n};
    struct text key;
    if (json_peek(j) != JSON_OBJECT || !json_enter(j, JSON_OBJECT)) {
        json_skip(j);
        return;
    }
    while (json_member(j, &key)) {
        int known = 0;
        while (known < 4 && !text_is(key, by_worth[known]))
            known++;
        if (lib_place_member(&place, j, key))
            continue;
        if (json_peek(j) != JSON_STRING)
            json_skip(j);
        else if (known < 4)
            names[known] = profile_add_str(p, json_get_text(j));
        else if (text_is(key, "codeId"))
            m.build_id = lower_case(p, json_get_text(j));
        else
            json_skip(j);
    }
    for (int i = 0; i < 4 && !m.path.i; i++)
        m.path = names[i];
    *vec_push(&t->libs) = profile_add_mapping(p, &m);
    if (place.start < place.end)
        *vec_push(&t->lib_ranges) = place;
}

static void read_libs(struct firefox_tables *t, struct import *im, struct jsonread *j)
{
    if (json_peek(j) != JSON_ARRAY || !json_enter(j, JSON_ARRAY)) {
        json_skip(j);
        return;
    }
    t->libs.n = t->lib_ranges.n = 0;
    while (json_element(j)) {
        size_t n = t->libs.n;
        read_lib(t, im, j);
        if (t->libs.n == n)
            *vec_push(&t->libs) = (struct mapping_id){0};
    }
}

#define COLUMN(table, name, field)                          \
    {                                                       \
        table, name, offsetof(struct firefox_tables, field) \
    }

static const struct {
    const char *table, *name;
    size_t at;
} columns[] = {
    COLUMN("stackTable", "frame", stack_frame),
    COLUMN("stackTable", "prefix", stack_prefix),
    COLUMN("stackTable", "prefixOffset", stack_prefix),
    COLUMN("frameTable", "func", frame_func),
    COLUMN("frameTable", "line", frame_line),
    COLUMN("frameTable", "column", frame_column),
    COLUMN("frameTable", "category", frame_category),
    COLUMN("frameTable", "inlineDepth", frame_inline),
    COLUMN("frameTable", "lib", frame_lib),
    COLUMN("frameTable", "location", frame_location),
    COLUMN("funcTable", "name", func_name),
    COLUMN("funcTable", "resource", func_resource),
    COLUMN("funcTable", "fileName", func_file),
    COLUMN("funcTable", "source", func_source),
    COLUMN("funcTable", "lineNumber", func_line),
    COLUMN("resourceTable", "lib", resource_lib),
    COLUMN("sources", "filename", source_file),
};

enum { N_COLUMNS = sizeof columns / sizeof *columns };

static bool is_table(struct text key)
{
    for (size_t i = 0; i < N_COLUMNS; i++)
        if (text_is(key, columns[i].table))
            return true;
    return false;
}

static firefox_column *find_column(struct firefox_tables *t, const char *table, struct text name)
{
    for (size_t i = 0; i < N_COLUMNS; i++)
        if (strcmp(columns[i].table, table) == 0 && text_is(name, columns[i].name))
            return (firefox_column *)(void *)((char *)t + columns[i].at);
    return NULL;
}

/* Make columns of the rows that a raw profile has. */
static void firefox_take_rows(struct firefox_tables *t, const struct gecko_table *raw)
{
    for (int i = 0; i < N_COLUMNS; i++) {
        firefox_column *c = (firefox_column *)(void *)((char *)t + columns[i].at);
        if (gecko_table_has(raw, i))
            c->n = 0;
        for (size_t row = 0; gecko_table_has(raw, i) && row < raw->starts.n; row++) {
            double v = gecko_table_get(raw, row, i);
            *vec_push(c) = v >= 0 && v <= INT32_MAX ? (int32_t)v : FIREFOX_NONE;
        }
    }
}

static void firefox_read_table(struct firefox_tables *t, const char *table, struct jsonread *j)
{
    struct text name;
    struct gecko_table raw;
    const char *names[N_COLUMNS]; /* other tables have fields of the same name */
    for (size_t i = 0; i < N_COLUMNS; i++)
        names[i] = strcmp(columns[i].table, table) == 0 ? columns[i].name : "";
    if (json_peek(j) != JSON_OBJECT || !json_enter(j, JSON_OBJECT)) {
        json_skip(j);
        return;
    }
    gecko_table_init(&raw, names, N_COLUMNS);
    while (json_member(j, &name)) {
        firefox_column *column = find_column(t, table, name);
        if (strcmp(table, "stackTable") == 0 && text_is(name, "prefixOffset"))
            t->prefix_is_offset = true;
        if (strcmp(table, "frameTable") == 0 && text_is(name, "address"))
            read_addresses(t, j);
        else if (column)
            read_column(j, column);
        else if (!gecko_table_member(&raw, j, name))
            json_skip(j);
    }
    firefox_take_rows(t, &raw);
    gecko_table_done(&raw);
}

bool firefox_tables_member(struct firefox_tables *t, struct import *im, struct jsonread *j,
                           struct text key)
{
    if (text_is(key, "stringArray") || text_is(key, "stringTable"))
        read_strings(t, im, j);
    else if (text_is(key, "libs"))
        read_libs(t, im, j);
    else if (is_table(key)) {
        char table[16];
        snprintf(table, sizeof table, "%.*s", TEXT_ARG(key));
        firefox_read_table(t, table, j);
    } else
        return false;
    return true;
}

/* --- kinds --- */

enum frame_kind firefox_kind_of(struct text category)
{
    static const char *const categories[FRAME_KINDS] = {"User", "Kernel", "JIT", "Inlined",
                                                        "Waker"};
    for (int i = 0; i < FRAME_KINDS; i++)
        if (text_is(category, categories[i]))
            return (enum frame_kind)i;
    return FRAME_USER;
}

/* --- putting together --- */

/* Row ROW of a column; FIREFOX_NONE past its end. */
static int32_t firefox_cell(const firefox_column *c, int64_t row)
{
    return row >= 0 && (uint64_t)row < c->n ? c->at[row] : FIREFOX_NONE;
}

static struct str_id string_at(const struct firefox_tables *t, int64_t row)
{
    t = t->strings_of;
    return row >= 0 && (uint64_t)row < t->strings.n ? t->strings.at[row] : (struct str_id){0};
}

static int64_t firefox_address_of(const struct firefox_tables *t, int32_t frame)
{
    return (size_t)frame < t->frame_address.n ? t->frame_address.at[frame] : FIREFOX_NONE;
}

static int32_t lib_of(const struct firefox_tables *t, int32_t frame)
{
    if (t->frame_lib.n)
        return firefox_cell(&t->frame_lib, frame);
    int32_t resource = firefox_cell(&t->func_resource, firefox_cell(&t->frame_func, frame));
    return firefox_cell(&t->resource_lib, resource);
}

/* "0x12ab" is what a function without a name is called in these files. */
static bool is_address(struct text name, uint64_t *ret)
{
    if (!text_starts(name, "0x"))
        return false;
    return text_u64((struct text){name.at + 2, name.n - 2}, 16, ret);
}

static struct function_id firefox_function_of(const struct firefox_tables *t, struct profile *p,
                                              int32_t func)
{
    struct str_id file = string_at(t, firefox_cell(&t->func_file, func));
    if (!file.i)
        file = string_at(t->sources_of, firefox_cell(&t->sources_of->source_file,
                                                     firefox_cell(&t->func_source, func)));
    int32_t line = firefox_cell(&t->func_line, func);
    struct function f = {
        .name = string_at(t, firefox_cell(&t->func_name, func)),
        .file = file,
        .line = line > 0 ? (uint32_t)line : 0,
    };
    return profile_add_function(p, &f);
}

static struct line firefox_line_of(const struct firefox_tables *t, struct import *im, int32_t frame)
{
    struct line l = {.function =
                         firefox_function_of(t, im->profile, firefox_cell(&t->frame_func, frame))};
    int32_t line = firefox_cell(&t->frame_line, frame),
            column = firefox_cell(&t->frame_column, frame);
    if (im->opts.addresses) {
        l.line = line > 0 ? (uint32_t)line : 0;
        l.column = column > 0 ? (uint32_t)column : 0;
    }
    return l;
}

struct resolver {
    struct firefox_tables *t;
    struct import *im;
    const struct firefox_tables *shared;
    const firefox_kinds *kinds;
};

static struct mapping_id firefox_mapping_of(const struct resolver *r, int32_t lib)
{
    const struct firefox_tables *from = r->t->libs.n ? r->t : r->shared;
    return lib >= 0 && (size_t)lib < from->libs.n ? from->libs.at[lib] : (struct mapping_id){0};
}

/* BEHIND: how far the address of a caller is behind its call. */
static struct frame_id frame_of(const struct resolver *r, int32_t frame, uint64_t behind)
{
    struct profile *p = r->im->profile;
    struct line line = firefox_line_of(r->t, r->im, frame);
    int32_t category = firefox_cell(&r->t->frame_category, frame);
    struct text name = profile_function_name(p, line.function);
    int64_t address = firefox_address_of(r->t, frame);
    uint64_t named_pc = 0;
    bool bare = !name.n || is_address(name, &named_pc);
    bool may_be_named = bare || profile_name_is_place(name);
    bool keep_pc = r->im->opts.addresses || (may_be_named && r->im->opts.bare_addresses);
    struct frame_key key = {
        .pc = !keep_pc       ? 0
              : address >= 0 ? (uint64_t)address
                             : named_pc,
        .mapping = firefox_mapping_of(r, lib_of(r->t, frame)),
        .lines = &line,
        .n_lines = bare ? 0 : 1,
    };
    key.pc -= key.pc ? behind : 0;
    if (category >= 0 && (size_t)category < r->kinds->n)
        key.kind = r->kinds->at[category];
    return profile_add_frame(p, &key);
}

/* Whether frame ROW is inlined into the frame of the stack row ABOVE. */
static bool is_inlined(const struct resolver *r, int32_t row, int32_t above)
{
    const struct firefox_tables *t = r->t;
    if (firefox_cell(&t->frame_inline, row) <= 0 || above < 0)
        return false;
    int32_t outer = firefox_cell(&t->stack_frame, above);
    const struct frame *f = profile_frame(r->im->profile, t->stacks.at[above].frame);
    return outer >= 0 &&
           firefox_cell(&t->frame_inline, outer) == firefox_cell(&t->frame_inline, row) - 1 &&
           firefox_address_of(t, outer) == firefox_address_of(t, row) &&
           lib_of(t, outer) == lib_of(t, row) && f->n_lines > 0 && f->n_lines < INLINE_MAX;
}

/* The frame OUTER with one more function inlined there. */
static struct frame_id inlined_frame(const struct resolver *r, struct frame_id outer, int32_t row)
{
    struct profile *p = r->im->profile;
    struct frame f = *profile_frame(p, outer);
    struct line lines[INLINE_MAX];
    memcpy(lines, profile_lines(p, &f), f.n_lines * sizeof *lines);
    lines[f.n_lines] = firefox_line_of(r->t, r->im, row);
    struct frame_key key = {f.pc, f.mapping, (enum frame_kind)f.kind, lines, f.n_lines + 1u};
    return profile_add_frame(p, &key);
}

static int32_t prefix_of(const struct firefox_tables *t, int32_t row)
{
    int32_t prefix = firefox_cell(&t->stack_prefix, row);
    if (!t->prefix_is_offset)
        return prefix;
    return prefix > 0 ? row - prefix : FIREFOX_NONE; /* < -1 where it points before the table */
}

/* What the stack row ROW becomes, its caller ABOVE being done. */
static void place_row(const struct resolver *r, int32_t row, int32_t above)
{
    struct firefox_tables *t = r->t;
    struct stacks *stacks = &r->im->profile->stacks;
    struct firefox_stack s = {.state = STACK_DONE}, caller = {.state = STACK_DONE};
    int32_t frame = firefox_cell(&t->stack_frame, row);
    if (above >= 0)
        caller = t->stacks.at[above];
    s.depth = caller.depth + 1;
    if (caller.state != STACK_DONE)
        s.state = caller.state == STACK_OPEN ? STACK_CYCLE : caller.state;
    else if (frame < 0 || (size_t)frame >= t->frame_func.n)
        s.state = STACK_BAD;
    else if (s.depth > DEPTH_MAX)
        s.state = STACK_DEEP;
    if (s.state == STACK_DONE) {
        bool inlined = is_inlined(r, frame, above);
        s.below = inlined ? caller.below : caller.as_caller;
        s.frame = inlined ? inlined_frame(r, caller.frame, frame) : frame_of(r, frame, 0);
        s.stack = s.as_caller = stacks_push(stacks, s.below, s.frame);
        if (t->frame_location.n)
            s.as_caller = stacks_push(stacks, s.below, frame_of(r, frame, 1));
    }
    t->stacks.at[row] = s;
}

static void resolve_row(const struct resolver *r, firefox_column *path, int32_t row)
{
    struct firefox_tables *t = r->t;
    path->n = 0;
    while (row >= 0 && (size_t)row < t->stacks.n && t->stacks.at[row].state == STACK_NEW) {
        t->stacks.at[row].state = STACK_OPEN;
        *vec_push(path) = row;
        row = prefix_of(t, row);
    }
    bool lost = row < FIREFOX_NONE || (row >= 0 && (size_t)row >= t->stacks.n);
    while (path->n) {
        int32_t next = path->at[--path->n];
        place_row(r, next, lost ? FIREFOX_NONE : row);
        if (lost)
            t->stacks.at[next].state = STACK_BAD;
        lost = false;
        row = next;
    }
}

void firefox_tables_resolve(struct firefox_tables *t, struct import *im,
                            const struct firefox_tables *shared, const firefox_kinds *kinds)
{
    struct resolver r = {t, im, shared, kinds};
    t->strings_of = t->strings.n ? t : shared;
    t->sources_of = t->source_file.n ? t : shared;
    firefox_column path = {0};
    vec_reserve(&t->stacks, t->stack_frame.n);
    t->stacks.n = t->stack_frame.n;
    if (t->stacks.n)
        memset(t->stacks.at, 0, t->stacks.n * sizeof *t->stacks.at);
    for (size_t i = 0; i < t->stacks.n && i <= INT32_MAX; i++)
        resolve_row(&r, &path, (int32_t)i);
    vec_done(&path);
}

const char *firefox_tables_stack(const struct firefox_tables *t, int64_t row, struct stack_id *ret)
{
    static const char *const why[] = {
        [STACK_CYCLE] = "the stack goes in a circle",
        [STACK_DEEP] = "the stack is over 100,000 frames deep",
        [STACK_BAD] = "the stack has a frame or caller that is not in the tables",
    };
    if (row < 0 || (uint64_t)row >= t->stacks.n)
        return "the stack is not in the table";
    *ret = t->stacks.at[row].stack;
    uint8_t state = t->stacks.at[row].state;
    return state == STACK_DONE ? NULL : state < STACK_CYCLE ? why[STACK_CYCLE] : why[state];
}
