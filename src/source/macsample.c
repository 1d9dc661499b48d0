/*
 * macsample.c - the report of macOS's `sample` command.
 *
 *     Analysis of sampling Editor (pid 456) every 1 millisecond
 *     ...
 *     Call graph:
 *         2480 Thread_77   DispatchQueue_1: com.apple.main-thread  (serial)
 *         + 2480 main  (in Editor) + 10  [0x10a]
 *         +   ! 2000 draw  (in Editor) + 11,22  [0x10b,0x10c]  draw.c:12
 *         +   480 ???  (in libx.dylib)  load address 0x1000 + 0x2f  [0x102f]
 *
 *     Total number in stack (recursive counted multiple, when >=5):
 *     ...
 *     Binary Images:
 *        0x1000 - 0x1fff  libx.dylib (1.0) <A0B1-...> /usr/lib/libx.dylib
 *
 * The column of a line's count is its depth. Counts include callees, so what a function itself
 * was seen doing is its count less its children's. Threads that wait are counted like those that
 * run: this is wall-clock time.
 */
#include "base/buf.h"
#include "source/import.h"
#include "source/sources.h"

#include <ctype.h>

enum { DEPTH_MAX = 100000 };

struct node {
    size_t column;
    int64_t count, children;
    struct stack_id stack;
};

struct macsample {
    struct import *im;
    enum { HEADER, GRAPH, REST, IMAGES } section;
    VEC(struct node) path; /* from a thread's line to the current one */
    struct thread_id thread;
    int32_t pid;
    uint64_t interval_us; /* 0 = not known */
    VEC(uint32_t) module; /* string id -> mapping known by that name only */
    bool too_many;        /* some function's callees have more samples than itself */
};

/* --- samples --- */

static void make_stream(struct macsample *m)
{
    struct profile *p = m->im->profile;
    if (p->streams.n)
        return;
    int stream = profile_add_stream(p, "", m->interval_us ? BY_SOFTWARE_CLOCK : OBTAINED_UNKNOWN);
    p->default_value =
        (struct value_ref){stream, profile_add_value(p, stream, VALUE_SAMPLES, UNIT_COUNT)};
    if (!m->interval_us)
        return;
    profile_add_value(p, stream, "wall", UNIT_TIME);
    profile_stream(p, stream)->rate_hz = 1e6 / (double)m->interval_us;
}

static int macsample_add_self(struct macsample *m, const struct node *n, struct err *err)
{
    int64_t self = n->count - n->children, values[2] = {self};
    if (self < 0)
        m->too_many = true;
    if (self <= 0)
        return 0;
    make_stream(m);
    if (__builtin_mul_overflow(self, (int64_t)m->interval_us * 1000, &values[1]))
        return err_set(err, EXIT_INPUT, "line %llu: the time does not fit 64 bits",
                       (unsigned long long)m->im->in->lines);
    struct row row = {.stack = n->stack, .thread = m->thread, .values = values};
    return profile_add_row(m->im->profile, 0, &row, err);
}

/* Leave everything at COLUMN or right of it. */
static int pop_to(struct macsample *m, size_t column, struct err *err)
{
    while (m->path.n && m->path.at[m->path.n - 1].column >= column)
        if (macsample_add_self(m, &m->path.at[--m->path.n], err) != 0)
            return -1;
    return 0;
}

/* --- lines of the call graph --- */

/* Cut off and return what stands before SEP; all of it when there is none. */
static struct text cut_at(struct text *t, const char *sep)
{
    const char *at = t->n ? memmem(t->at, t->n, sep, strlen(sep)) : NULL;
    struct text head = {t->at, at ? (size_t)(at - t->at) : t->n};
    size_t used = at ? head.n + strlen(sep) : t->n;
    *t = (struct text){t->at + used, t->n - used};
    return head;
}

/*
 * "Thread_77   DispatchQueue_1: name  (serial)", "Thread_77: name   DispatchQueue_<multiple>",
 * "Thread_77: name" or only "Thread_77".
 */
static void set_thread(struct macsample *m, struct text t)
{
    struct profile *p = m->im->profile;
    struct text rest = t, id = cut_at(&rest, ":");
    struct text name = text_trim(rest);
    name = text_trim(cut_at(&name, "  ("));
    name = text_trim(cut_at(&name, "  DispatchQueue_"));
    id = text_trim(cut_at(&id, " "));
    uint64_t tid = UINT64_MAX;
    struct text digits = {id.at + 7, id.n > 7 ? id.n - 7 : 0};
    bool hex = text_starts(digits, "0x");
    if (hex)
        digits.at += 2, digits.n -= 2;
    if (!text_u64(digits, hex ? 16 : 10, &tid) || tid > INT32_MAX)
        tid = UINT64_MAX;
    struct thread_key thread = {
        .name = profile_add_str(p, name.n ? name : id),
        .pid = m->pid,
        .tid = tid == UINT64_MAX ? THREAD_NO_ID : (int32_t)tid,
    };
    m->thread = profile_add_thread(p, &thread);
}

static struct mapping_id module_of(struct macsample *m, struct text name)
{
    struct profile *p = m->im->profile;
    struct mapping mapping = {.path = profile_add_str(p, name)};
    while (m->module.n <= mapping.path.i)
        *vec_push(&m->module) = 0;
    struct mapping_id id = profile_add_mapping(p, &mapping);
    m->module.at[mapping.path.i] = id.i;
    return id;
}

/* "draw.c:12" */
static void set_place(struct profile *p, struct text place, struct function *f, struct line *line)
{
    const char *colon = place.n ? memrchr(place.at, ':', place.n) : NULL;
    uint64_t number;
    if (!colon)
        return;
    struct text digits = {colon + 1, place.n - (size_t)(colon + 1 - place.at)};
    if (!text_u64(digits, 10, &number) || number > UINT32_MAX)
        return;
    f->file = profile_add_str(p, (struct text){place.at, (size_t)(colon - place.at)});
    line->line = (uint32_t)number;
}

/* "draw  (in Editor) + 11  [0x10b]  draw.c:12" */
static struct frame_id macsample_frame_of(struct macsample *m, struct text t)
{
    struct profile *p = m->im->profile;
    struct text rest = t, name = text_trim(cut_at(&rest, "  (in "));
    struct text module = cut_at(&rest, ")");
    cut_at(&rest, "[0x");
    struct text address = cut_at(&rest, "]");
    struct function f = {0};
    struct line line = {0};
    set_place(p, text_trim(rest), &f, &line);
    bool named = !text_starts(name, "???");
    if (!named)
        name.n = 0;
    f.name = profile_add_str(p, name);
    line.function = profile_add_function(p, &f);
    struct frame_key key = {
        .mapping = module_of(m, module), .lines = &line, .n_lines = named ? 1 : 0};
    const struct import_opts *o = &m->im->opts;
    bool keep_pc = o->addresses || (o->bare_addresses && !named);
    if (!keep_pc || !text_u64(address, 16, &key.pc))
        key.pc = 0;
    return profile_add_frame(p, &key);
}

static int macsample_enter(struct macsample *m, struct node n, struct text what, struct err *err)
{
    struct stacks *stacks = &m->im->profile->stacks;
    if (pop_to(m, n.column, err) != 0)
        return -1;
    if (m->path.n >= DEPTH_MAX)
        return import_skip_line(m->im, err, "the stack is over 100,000 frames deep");
    if (!m->path.n && text_starts(what, "Thread_")) {
        set_thread(m, what);
    } else {
        struct node *caller = m->path.n ? &m->path.at[m->path.n - 1] : NULL;
        n.stack = stacks_push(stacks, caller ? caller->stack : (struct stack_id){0},
                              macsample_frame_of(m, what));
        if (caller && __builtin_add_overflow(caller->children, n.count, &caller->children))
            caller->children = INT64_MAX;
    }
    *vec_push(&m->path) = n;
    return 0;
}

static int graph_line(struct macsample *m, struct text line, struct err *err)
{
    size_t column = 0;
    while (column < line.n && strchr(" \t+!:|", line.at[column]) && line.at[column])
        column++;
    struct text rest = {line.at + column, line.n - column};
    struct text digits = text_cut(&rest, ' ');
    uint64_t count;
    if (!text_u64(digits, 10, &count) || count > INT64_MAX || !text_trim(rest).n)
        return import_skip_line(m->im, err, "no count and name in '%.*s'",
                                line.n < 60 ? (int)line.n : 60, line.at);
    struct node n = {.column = column, .count = (int64_t)count};
    return macsample_enter(m, n, text_trim(rest), err);
}

/* --- the rest of the report --- */

/* "Analysis of sampling NAME (pid 456) every 1 millisecond" */
static void analysis_line(struct macsample *m, struct text t)
{
    struct text rest = t;
    uint64_t pid, number;
    cut_at(&rest, "(pid ");
    if (text_u64(text_trim(cut_at(&rest, ")")), 10, &pid) && pid <= INT32_MAX)
        m->pid = (int32_t)pid;
    cut_at(&rest, "every ");
    if (!text_u64(text_cut(&rest, ' '), 10, &number) || !number || number > 1000000)
        return;
    bool micro = text_starts(rest, "microsecond");
    m->interval_us = micro ? number : number * 1000;
}

static void header_line(struct macsample *m, struct text t)
{
    static const struct {
        const char *label, *key;
    } table[] = {
        {"Path:", META_COMMAND},
        {"OS Version:", META_OS},
        {"Code Type:", META_ARCH},
        {"Analysis Tool:", META_TOOL},
    };
    if (text_starts(t, "Analysis of sampling "))
        analysis_line(m, t);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        size_t n = strlen(table[i].label);
        if (text_starts(t, table[i].label))
            meta_set(&m->im->profile->meta, table[i].key,
                     text_trim((struct text){t.at + n, t.n - n}));
    }
}

/* "<A0B1C2D3-...>" in lower case without dashes. */
static struct str_id build_id_of(struct profile *p, struct text uuid)
{
    autobuf struct buf b = {0};
    for (size_t i = 0; i < uuid.n; i++)
        if (isxdigit((unsigned char)uuid.at[i]))
            buf_byte(&b, (uint8_t)tolower((unsigned char)uuid.at[i]));
    return profile_add_str(p, buf_text(&b));
}

static bool hex_address(struct text t, uint64_t *ret)
{
    t = text_trim(t);
    if (!text_starts(t, "0x"))
        return false;
    return text_u64((struct text){t.at + 2, t.n - 2}, 16, ret);
}

/*
 * "0x1000 - 0x1fff  +libx.dylib (1.0) <UUID> /usr/lib/libx.dylib": the mapping that so far has
 * only a name gets its range and path. Nothing is looked up by mapping after this.
 */
static void image_line(struct macsample *m, struct text line)
{
    struct profile *p = m->im->profile;
    struct mapping image = {0};
    struct text rest = line;
    if (!hex_address(cut_at(&rest, " - "), &image.start))
        return;
    rest = text_trim(rest);
    if (!hex_address(cut_at(&rest, " "), &image.end) || image.end < image.start)
        return;
    cut_at(&rest, "<");
    image.build_id = build_id_of(p, cut_at(&rest, ">"));
    struct text path = text_trim(rest);
    const char *slash = path.n ? memrchr(path.at, '/', path.n) : NULL;
    if (!slash)
        return;
    struct text base = {slash + 1, path.n - (size_t)(slash + 1 - path.at)};
    uint32_t name = intern_find(&p->strings, base);
    if (name >= m->module.n || !m->module.at[name])
        return;
    image.path = profile_add_str(p, path);
    p->mappings.at[m->module.at[name]] = image;
    m->module.at[name] = 0;
}

static int macsample_line(struct macsample *m, struct text line, struct err *err)
{
    struct text t = text_trim(line);
    if (text_starts(line, "Call graph:")) {
        m->section = GRAPH;
    } else if (text_starts(line, "Total number in stack") || text_starts(line, "Sort by top")) {
        m->section = REST;
        return pop_to(m, 0, err);
    } else if (text_starts(line, "Binary Images:")) {
        m->section = IMAGES;
        return pop_to(m, 0, err);
    } else if (m->section == GRAPH && t.n) {
        return graph_line(m, line, err);
    } else if (m->section == HEADER) {
        header_line(m, t);
    } else if (m->section == IMAGES) {
        image_line(m, line);
    }
    return 0;
}

/* Callees that are missing would make their callers' own samples too many: leave those out. */
static int end_early(struct macsample *m, struct err *err)
{
    meta_set_str(&m->im->profile->meta, META_CUT, "within the call graph");
    return import_skip_line(m->im, err,
                            "the report ends within its call graph; the last stack is left out");
}

static int macsample_read(struct import *im, struct err *err)
{
    struct macsample m = {.im = im, .pid = THREAD_NO_ID};
    struct text line;
    int rc = 0;
    while (rc == 0 && reader_line(im->in, &line))
        rc = macsample_line(&m, line, err);
    if (rc == 0 && m.section == GRAPH)
        rc = end_early(&m, err);
    if (m.too_many)
        import_note(im, "some functions have fewer samples than what they call; their own were "
                        "taken as none");
    vec_done(&m.path);
    vec_done(&m.module);
    return rc;
}

static int macsample_probe(struct text head, bool whole)
{
    (void)whole;
    bool analysis = false, graph = false;
    while (head.n) {
        struct text line = text_cut(&head, '\n');
        analysis |= text_starts(line, "Analysis of sampling ");
        graph |= text_starts(line, "Call graph:");
    }
    return analysis && graph ? 95 : analysis || graph ? 70 : 0;
}

const struct source source_macsample = {
    .name = "sample",
    .title = "macOS sample report",
    .probe = macsample_probe,
    .read = macsample_read,
};
