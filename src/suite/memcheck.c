/*
 * memcheck.c - one pass over the bytes, with the names of the open elements and the text of the
 * innermost one. Nothing is kept but the findings, so a file of any size will do.
 */
#include "suite/memcheck.h"
#include "base/buf.h"
#include "base/idmap.h"

/* Deeper elements, longer names and texts are of no use: they are read over. */
enum { DEPTH = 16, NAME_MAX_BYTES = 32, TEXT_MAX_BYTES = 4096, UNIQUES = 100000 };

struct frame {
    char *function, *file;
    uint32_t line;
};

/* The error being read. */
struct error {
    char *kind, *text;
    struct frame top, now;
    bool has_top;
    unsigned stacks; /* begun so far: only the first one says where */
    uint64_t unique;
};

struct known {
    uint64_t unique;
    uint32_t kind;
};

struct scan {
    struct memcheck *m;
    char open[DEPTH][NAME_MAX_BYTES + 1];
    size_t depth;
    struct buf tag, text;
    bool in_tag, is_ours;
    struct error error;
    uint64_t pair_count, pair_unique;
    VEC(struct known) known; /* the findings, to find them again by their number */
    struct idmap known_map;
};

/* --- what is kept --- */

static const char *memcheck_keep(struct memcheck *m, const char *s)
{
    return arena_text(&m->arena, text_of(s ? s : "")).at;
}

static uint32_t memcheck_kind_of(struct memcheck *m, const char *name)
{
    for (uint32_t i = 0; i < m->kinds.n; i++)
        if (strcmp(m->kinds.at[i].name, name) == 0)
            return i;
    if (m->kinds.n >= MEMCHECK_KINDS - 1)
        name = "others";
    for (uint32_t i = 0; i < m->kinds.n; i++)
        if (strcmp(m->kinds.at[i].name, name) == 0)
            return i;
    *vec_push(&m->kinds) = (struct memcheck_kind){.name = memcheck_keep(m, name)};
    return (uint32_t)m->kinds.n - 1;
}

static void frame_done(struct frame *f)
{
    free(f->function);
    free(f->file);
    *f = (struct frame){0};
}

static void error_done(struct error *e)
{
    free(e->kind);
    free(e->text);
    frame_done(&e->top);
    frame_done(&e->now);
    *e = (struct error){0};
}

static uint32_t hash_unique(uint64_t unique)
{
    return hash_pair((uint32_t)unique, (uint32_t)(unique >> 32));
}

static void add_error(struct scan *s)
{
    struct memcheck *m = s->m;
    struct error *e = &s->error;
    uint32_t kind = memcheck_kind_of(m, e->kind && *e->kind ? e->kind : "not named");
    m->findings++;
    m->kinds.at[kind].findings++;
    m->kinds.at[kind].times++;
    if (s->known.n < UNIQUES) {
        idmap_add(&s->known_map, hash_unique(e->unique), (uint32_t)s->known.n);
        *vec_push(&s->known) = (struct known){e->unique, kind};
    }
    if (m->first.n < MEMCHECK_KEPT)
        *vec_push(&m->first) = (struct memcheck_finding){
            .kind = m->kinds.at[kind].name,
            .text = memcheck_keep(m, e->text),
            .function = memcheck_keep(m, e->top.function),
            .file = memcheck_keep(m, e->top.file),
            .line = e->top.line,
        };
    error_done(e);
}

/* How often an error happened; it was counted once already. */
static void add_pair(struct scan *s)
{
    for_each_match (&s->known_map, hash_unique(s->pair_unique), id) {
        if (s->known.at[id].unique != s->pair_unique)
            continue;
        uint64_t *times = &s->m->kinds.at[s->known.at[id].kind].times;
        uint64_t more = s->pair_count ? s->pair_count - 1 : 0;
        *times = more > UINT64_MAX - *times ? UINT64_MAX : *times + more;
        return;
    }
}

static void end_frame(struct error *e)
{
    bool better = !e->has_top || (!e->top.file && e->now.file);
    if (e->stacks != 1 || !better) {
        frame_done(&e->now);
        return;
    }
    frame_done(&e->top);
    e->top = e->now;
    e->now = (struct frame){0};
    e->has_top = true;
}

/* --- elements --- */

static bool inside(const struct scan *s, const char *name)
{
    for (size_t i = 0; i < s->depth && i < DEPTH; i++)
        if (strcmp(s->open[i], name) == 0)
            return true;
    return false;
}

static void memcheck_set(char **to, const struct buf *text)
{
    struct text t = text_trim(buf_text(text));
    free(*to);
    *to = t.n ? mem_strndup(t.at, t.n) : NULL;
}

static uint64_t memcheck_number(const struct buf *text)
{
    struct text t = text_trim(buf_text(text));
    uint64_t n = 0;
    bool hex = text_starts(t, "0x");
    if (hex)
        t.at += 2, t.n -= 2;
    return text_u64(t, hex ? 16 : 10, &n) ? n : 0;
}

/* The end of an element within <frame>. */
static void frame_part(struct scan *s, const char *name)
{
    struct frame *f = &s->error.now;
    uint64_t line;
    if (strcmp(name, "fn") == 0)
        memcheck_set(&f->function, &s->text);
    else if (strcmp(name, "file") == 0)
        memcheck_set(&f->file, &s->text);
    else if (strcmp(name, "line") == 0 && (line = memcheck_number(&s->text)) <= UINT32_MAX)
        f->line = (uint32_t)line;
}

/* The end of an element within <error>. Of several texts the first says what happened. */
static void error_part(struct scan *s, const char *name)
{
    struct error *e = &s->error;
    if (strcmp(name, "frame") == 0)
        end_frame(e);
    else if (inside(s, "frame"))
        frame_part(s, name);
    else if (strcmp(name, "kind") == 0)
        memcheck_set(&e->kind, &s->text);
    else if (strcmp(name, "unique") == 0)
        e->unique = memcheck_number(&s->text);
    else if (!e->text && (strcmp(name, "what") == 0 || strcmp(name, "text") == 0))
        memcheck_set(&e->text, &s->text);
}

static void end_element(struct scan *s, const char *name)
{
    if (strcmp(name, "error") == 0)
        add_error(s);
    else if (inside(s, "error"))
        error_part(s, name);
    else if (strcmp(name, "pair") == 0 && inside(s, "errorcounts"))
        add_pair(s);
    else if (strcmp(name, "count") == 0)
        s->pair_count = memcheck_number(&s->text);
    else if (strcmp(name, "unique") == 0)
        s->pair_unique = memcheck_number(&s->text);
    else if (strcmp(name, "tool") == 0)
        s->m->tool = memcheck_keep(s->m, buf_cstr(&s->text));
    else if (strcmp(name, "valgrindoutput") == 0)
        s->m->complete = true;
}

static void start_element(struct scan *s, const char *name)
{
    if (s->depth == 0 && strcmp(name, "valgrindoutput") == 0)
        s->is_ours = true;
    if (strcmp(name, "error") == 0)
        error_done(&s->error);
    if (strcmp(name, "stack") == 0)
        s->error.stacks++;
    if (s->depth < DEPTH)
        snprintf(s->open[s->depth], sizeof s->open[0], "%s", name);
    s->depth++;
}

/* A closing tag closes what is open by that name; one that closes nothing is read over. */
static void close_element(struct scan *s, const char *name)
{
    size_t i = s->depth < DEPTH ? s->depth : DEPTH;
    if (s->depth > DEPTH) {
        s->depth--;
        return;
    }
    while (i > 0 && strcmp(s->open[i - 1], name) != 0)
        i--;
    if (!i)
        return;
    s->depth = i - 1;
    if (s->is_ours)
        end_element(s, name);
}

/* --- bytes --- */

/* "<name attribute>", "</name>", "<name/>"; "<?xml ...>" and "<!...>" are read over. */
static void end_tag(struct scan *s)
{
    char name[NAME_MAX_BYTES + 1];
    struct text t = buf_text(&s->tag);
    bool closes = text_starts(t, "/"), empty = text_ends(t, "/");
    if (closes)
        t.at++, t.n--;
    size_t n = 0;
    while (n < t.n && n < NAME_MAX_BYTES && !strchr(" \t\r\n/", t.at[n]))
        name[n] = t.at[n], n++;
    name[n] = '\0';
    if (n && name[0] != '?' && name[0] != '!') {
        if (!closes)
            start_element(s, name);
        if (closes || empty)
            close_element(s, name);
    }
    s->text.n = 0;
}

static void add_entity(struct buf *b, struct text name)
{
    static const struct {
        const char *name, *text;
    } table[] = {{"lt", "<"}, {"gt", ">"}, {"amp", "&"}, {"apos", "'"}, {"quot", "\""}};
    uint64_t code;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (text_is(name, table[i].name))
            buf_str(b, table[i].text);
    if (name.n < 2 || name.at[0] != '#')
        return;
    bool hex = name.at[1] == 'x';
    struct text digits = {name.at + 1 + hex, name.n - 1 - hex};
    if (text_u64(digits, hex ? 16 : 10, &code))
        buf_byte(b, code >= ' ' && code < 127 ? (uint8_t)code : '?');
}

/* The end of an entity: undo the escape that is at the end of the text. */
static void end_entity(struct buf *b)
{
    const char *amp = b->n ? memrchr(b->at, '&', b->n) : NULL;
    size_t at = amp ? (size_t)(amp - b->at) : 0;
    if (!amp || b->n - at > 10) {
        buf_byte(b, ';');
        return;
    }
    char name[12];
    size_t n = b->n - at - 1;
    memcpy(name, amp + 1, n);
    b->n = at;
    add_entity(b, (struct text){name, n});
}

static void scan_byte(struct scan *s, char c)
{
    struct buf *b = s->in_tag ? &s->tag : &s->text;
    if (c == '<' && !s->in_tag) {
        s->in_tag = true;
        s->tag.n = 0;
    } else if (c == '>' && s->in_tag) {
        s->in_tag = false;
        end_tag(s);
    } else if (c == ';' && !s->in_tag) {
        end_entity(b);
    } else if (b->n < TEXT_MAX_BYTES && c) {
        buf_byte(b, (uint8_t)((unsigned char)c < ' ' ? ' ' : c));
    }
}

static int by_findings(const void *a, const void *b)
{
    const struct memcheck_kind *x = a, *y = b;
    if (x->findings != y->findings)
        return x->findings > y->findings ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* The first thing in the file must be the element that is valgrind's. */
static bool is_foreign(const struct scan *s)
{
    return !s->is_ours && (s->depth || s->tag.n + s->text.n >= TEXT_MAX_BYTES);
}

int memcheck_read(struct memcheck *m, struct reader *in, struct err *err)
{
    *m = (struct memcheck){.tool = ""};
    struct scan s = {.m = m};
    struct text ahead;
    while (!is_foreign(&s) && (ahead = reader_peek(in, 1)).n) {
        for (size_t i = 0; i < ahead.n; i++)
            scan_byte(&s, ahead.at[i]);
        reader_take(in, ahead.n);
    }
    if (m->kinds.n)
        qsort(m->kinds.at, m->kinds.n, sizeof *m->kinds.at, by_findings);
    error_done(&s.error);
    buf_done(&s.tag);
    buf_done(&s.text);
    vec_done(&s.known);
    idmap_done(&s.known_map);
    if (reader_failed(in, err))
        return -1;
    return s.is_ours ? 0
                     : err_set(err, EXIT_INPUT,
                               "not a report of valgrind; run it with --xml=yes --xml-file=FILE");
}

void memcheck_done(struct memcheck *m)
{
    vec_done(&m->kinds);
    vec_done(&m->first);
    arena_done(&m->arena);
}
