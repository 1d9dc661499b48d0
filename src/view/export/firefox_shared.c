#include "base/buf.h"
#include "view/export/firefox.h"

#include <ctype.h>

/* --- collecting --- */

static uint32_t extra_string(struct firefox_shared *s, struct text t)
{
    return (uint32_t)s->p->strings.strings.n + intern_add(&s->extras, t);
}

static uint32_t add_func(struct firefox_shared *s, const struct firefox_func *f)
{
    uint32_t hash = hash_pair(f->name, hash_pair(f->function.i, f->mapping.i));
    for_each_match (&s->func_map, hash, i) {
        const struct firefox_func *o = &s->funcs.at[i];
        if (o->name == f->name && o->function.i == f->function.i && o->mapping.i == f->mapping.i)
            return i;
    }
    uint32_t i = (uint32_t)s->funcs.n;
    *vec_push(&s->funcs) = *f;
    idmap_add(&s->func_map, hash, i);
    return i;
}

static void firefox_out_add_source(struct firefox_shared *s, struct function_id function)
{
    struct str_id file = s->p->functions.at[function.i].file;
    if (!file.i || s->source_of[file.i])
        return;
    *vec_push(&s->sources) = file;
    s->source_of[file.i] = (uint32_t)s->sources.n;
}

static void firefox_out_add_row(struct firefox_shared *s, struct frame_id id, const struct frame *f,
                                size_t i)
{
    struct firefox_func func = {.mapping = f->mapping};
    if (f->n_lines) {
        func.function = profile_lines(s->p, f)[i].function;
        func.name = s->p->functions.at[func.function.i].name.i;
        firefox_out_add_source(s, func.function);
    } else {
        char name[24];
        snprintf(name, sizeof name, "0x%llx", (unsigned long long)f->pc);
        func.name = extra_string(s, text_of(name));
    }
    *vec_push(&s->rows) = (struct firefox_row){add_func(s, &func), id, (uint16_t)i};
}

static size_t firefox_out_rows_of(const struct frame *f)
{
    return f->n_lines ? f->n_lines : 1;
}

void firefox_shared_init(struct firefox_shared *s, const struct profile *p)
{
    *s = (struct firefox_shared){.p = p};
    intern_init(&s->extras);
    s->frame_at = mem_calloc(p->frames.n + 1, sizeof *s->frame_at);
    s->stack_end = mem_calloc(p->stacks.nodes.n, sizeof *s->stack_end);
    s->source_of = mem_calloc(p->strings.strings.n, sizeof *s->source_of);
    for (uint32_t id = 0; id < p->frames.n; id++) {
        const struct frame *f = &p->frames.at[id];
        s->frame_at[id] = (uint32_t)s->rows.n;
        for (size_t i = 0; i < firefox_out_rows_of(f); i++)
            firefox_out_add_row(s, (struct frame_id){id}, f, i);
    }
    for (size_t i = 1; i < p->stacks.nodes.n; i++) {
        const struct frame *f = profile_frame(p, p->stacks.nodes.at[i].frame);
        s->stack_end[i] = s->stack_end[i - 1] + (uint32_t)firefox_out_rows_of(f);
    }
}

void firefox_shared_done(struct firefox_shared *s)
{
    vec_done(&s->rows);
    vec_done(&s->funcs);
    vec_done(&s->sources);
    idmap_done(&s->func_map);
    intern_done(&s->extras);
    free(s->frame_at);
    free(s->stack_end);
    free(s->source_of);
}

/* --- writing --- */

static void open_table(struct json *j, const char *name, size_t length)
{
    json_key(j, name);
    json_open(j, '{');
    json_key(j, "length");
    json_uint(j, length);
}

static void number_or_null(struct json *j, uint64_t v)
{
    if (v)
        json_uint(j, v);
    else
        json_null(j);
}

/* One column: VALUE is run for every row I. */
#define write_column(j, name, n, value)  \
    do {                                 \
        json_key(j, name);               \
        json_open(j, '[');               \
        for (size_t i = 0; i < (n); i++) \
            value;                       \
        json_close(j, ']');              \
    } while (0)

static void write_stack_frames(const struct firefox_shared *s, struct json *j)
{
    const struct stacks *st = &s->p->stacks;
    json_key(j, "frame");
    json_open(j, '[');
    for (size_t id = 1; id < st->nodes.n; id++) {
        struct frame_id frame = st->nodes.at[id].frame;
        for (size_t i = 0; i < firefox_out_rows_of(profile_frame(s->p, frame)); i++)
            json_uint(j, s->frame_at[frame.i] + i);
    }
    json_close(j, ']');
}

/* How many rows up the caller is: 0 for roots. */
static void write_stack_prefixes(const struct firefox_shared *s, struct json *j)
{
    const struct stacks *st = &s->p->stacks;
    json_key(j, "prefixOffset");
    json_open(j, '[');
    for (size_t id = 1; id < st->nodes.n; id++) {
        const struct stack_node *n = &st->nodes.at[id];
        json_uint(j, n->parent.i ? s->stack_end[id - 1] - firefox_stack_row(s, n->parent) : 0);
        for (size_t i = 1; i < firefox_out_rows_of(profile_frame(s->p, n->frame)); i++)
            json_uint(j, 1);
    }
    json_close(j, ']');
}

static void write_stacks(const struct firefox_shared *s, struct json *j)
{
    open_table(j, "stackTable", s->stack_end[s->p->stacks.nodes.n - 1]);
    write_stack_frames(s, j);
    write_stack_prefixes(s, j);
    json_close(j, '}');
}

/* Relative to the file that is mapped; -1 past what a number in JavaScript holds exactly. */
static int64_t firefox_out_address_of(const struct profile *p, const struct frame *f)
{
    const struct mapping *m = &p->mappings.at[f->mapping.i];
    uint64_t address = f->pc >= m->start ? f->pc - m->start + m->offset : f->pc;
    return f->pc && address <= (uint64_t)1 << 53 ? (int64_t)address : -1;
}

static struct line firefox_out_line_of(const struct firefox_shared *s, const struct firefox_row *r)
{
    const struct frame *f = profile_frame(s->p, r->frame);
    return f->n_lines ? profile_lines(s->p, f)[r->depth] : (struct line){0};
}

static void firefox_out_write_frames(const struct firefox_shared *s, struct json *j)
{
    const struct firefox_row *r = s->rows.at;
    const struct profile *p = s->p;
    size_t n = s->rows.n;
    open_table(j, "frameTable", n);
    write_column(j, "func", n, json_uint(j, r[i].func));
    write_column(j, "address", n,
                 json_int(j, firefox_out_address_of(p, profile_frame(p, r[i].frame))));
    write_column(j, "inlineDepth", n, json_uint(j, r[i].depth));
    write_column(j, "category", n, json_uint(j, profile_frame(p, r[i].frame)->kind + 1u));
    write_column(j, "subcategory", n, json_uint(j, 0));
    write_column(j, "line", n, number_or_null(j, firefox_out_line_of(s, &r[i]).line));
    write_column(j, "column", n, number_or_null(j, firefox_out_line_of(s, &r[i]).column));
    write_column(j, "nativeSymbol", n, json_null(j));
    write_column(j, "innerWindowID", n, json_null(j));
    write_column(j, "originalLocation", n, json_null(j));
    json_close(j, '}');
}

static void write_source_of(const struct firefox_shared *s, struct json *j, size_t i)
{
    uint32_t source = s->source_of[s->p->functions.at[s->funcs.at[i].function.i].file.i];
    if (source)
        json_uint(j, source - 1);
    else
        json_null(j);
}

static void write_funcs(const struct firefox_shared *s, struct json *j)
{
    const struct firefox_func *f = s->funcs.at;
    size_t n = s->funcs.n;
    open_table(j, "funcTable", n);
    write_column(j, "name", n, json_uint(j, f[i].name));
    write_column(j, "isJS", n, json_bool(j, false));
    write_column(j, "relevantForJS", n, json_bool(j, false));
    write_column(j, "resource", n, json_int(j, (int64_t)f[i].mapping.i - 1));
    write_column(j, "source", n, write_source_of(s, j, i));
    write_column(j, "lineNumber", n, number_or_null(j, s->p->functions.at[f[i].function.i].line));
    write_column(j, "columnNumber", n, json_null(j));
    write_column(j, "originalLocation", n, json_null(j));
    json_close(j, '}');
}

/* Every mapping but "not known" is a library, and a resource of the same number. */
static void write_resources(struct firefox_shared *s, struct json *j)
{
    enum { RESOURCE_LIBRARY = 1 };
    size_t n = s->p->mappings.n - 1;
    open_table(j, "resourceTable", n);
    write_column(j, "lib", n, json_uint(j, i));
    write_column(j, "name", n,
                 json_uint(j, extra_string(s, profile_module_name(
                                                  s->p, (struct mapping_id){(uint32_t)i + 1}))));
    write_column(j, "host", n, json_null(j));
    write_column(j, "type", n, json_uint(j, RESOURCE_LIBRARY));
    json_close(j, '}');
}

static void write_sources(const struct firefox_shared *s, struct json *j)
{
    size_t n = s->sources.n;
    open_table(j, "sources", n);
    write_column(j, "id", n, json_null(j));
    write_column(j, "filename", n, json_uint(j, s->sources.at[i].i));
    write_column(j, "startLine", n, json_uint(j, 1));
    write_column(j, "startColumn", n, json_uint(j, 1));
    write_column(j, "sourceMapURL", n, json_null(j));
    write_column(j, "content", n, json_null(j));
    json_close(j, '}');
}

/* Tables that must be there and that we have nothing for. */
static void write_empty_tables(struct json *j)
{
    static const char *const names[][6] = {
        {"nativeSymbols", "libIndex", "address", "name", "functionSize", NULL},
        {"sourceLocationTable", "source", "line", "column", NULL},
    };
    for (size_t t = 0; t < sizeof names / sizeof *names; t++) {
        open_table(j, names[t][0], 0);
        for (int c = 1; names[t][c]; c++) {
            json_key(j, names[t][c]);
            json_open(j, '[');
            json_close(j, ']');
        }
        json_close(j, '}');
    }
}

void firefox_shared_write(struct firefox_shared *s, struct json *j)
{
    json_key(j, "shared");
    json_open(j, '{');
    write_stacks(s, j);
    firefox_out_write_frames(s, j);
    write_funcs(s, j);
    write_resources(s, j);
    write_sources(s, j);
    write_empty_tables(j);
    json_key(j, "stringArray");
    json_open(j, '[');
    for (size_t i = 0; i < s->p->strings.strings.n; i++)
        json_text(j, s->p->strings.strings.at[i]);
    for (size_t i = 0; i < s->extras.strings.n; i++)
        json_text(j, s->extras.strings.at[i]);
    json_close(j, ']');
    json_close(j, '}');
}

/* --- libraries --- */

/* Breakpad's id of an ELF file: the first 16 bytes of its build-id read as a GUID, and "0". */
static void write_breakpad_id(struct json *j, struct text build_id)
{
    static const char order[16] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
    char id[34] = "";
    for (int i = 0; i < 16; i++)
        for (int half = 0; half < 2; half++) {
            size_t at = (size_t)order[i] * 2 + (size_t)half;
            id[i * 2 + half] =
                (char)(at < build_id.n ? toupper((unsigned char)build_id.at[at]) : '0');
        }
    id[32] = '0';
    json_str(j, build_id.n ? id : "");
}

static void write_lib(const struct profile *p, struct json *j, struct mapping_id id)
{
    struct text path = profile_str(p, p->mappings.at[id.i].path);
    struct text build_id = profile_str(p, p->mappings.at[id.i].build_id);
    struct text name = profile_module_name(p, id);
    const char *const names[] = {"name", "debugName"}, *const paths[] = {"path", "debugPath"};
    json_open(j, '{');
    for (int i = 0; i < 2; i++) {
        json_key(j, names[i]);
        json_text(j, name);
        json_key(j, paths[i]);
        json_text(j, path);
    }
    json_key(j, "breakpadId");
    write_breakpad_id(j, build_id);
    json_key(j, "codeId");
    if (build_id.n)
        json_text(j, build_id);
    else
        json_null(j);
    json_key(j, "arch");
    json_str(j, "");
    json_close(j, '}');
}

void firefox_libs_write(const struct profile *p, struct json *j)
{
    json_key(j, "libs");
    json_open(j, '[');
    for (uint32_t i = 1; i < p->mappings.n; i++)
        write_lib(p, j, (struct mapping_id){i});
    json_close(j, ']');
}
