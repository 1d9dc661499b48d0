/* sanlog.c - line by line; see sanlog.h. */
#include "suite/sanlog.h"

#include <ctype.h>

/* How likely a frame is the program's own, best first. */
enum nearness {
    NEAR_PROJECT, /* a file of the project */
    NEAR_FILE,    /* a file elsewhere, as of a library that was built here */
    NEAR_SYSTEM,  /* a header of the system */
    NEAR_NAME,    /* a function without a file */
    NEAR_RUNTIME, /* built elsewhere: the sanitizer's own code, the C library's */
    NEAR_NOTHING,
};

/* Texts point into the log. */
struct sanlog_place {
    enum nearness nearness;
    struct text function, file, line;
};

enum { SANLOG_PLACES = 2 };

struct finding {
    struct text kind, text;
    struct sanlog_place places[SANLOG_PLACES];
    struct text header; /* the line above a stack says what it is of */
    int stack;          /* the place that the next frames may be of; SANLOG_PLACES = none */
    bool any_stack, open;
};

/* --- places --- */

/* "a.c:9" and "a.c:9:5", into file and line. */
static bool sanlog_split(struct text t, struct text *ret_file, struct text *ret_line)
{
    struct text part[2] = {{0}};
    for (int i = 0; i < 2; i++) {
        size_t n = t.n;
        while (n && isdigit((unsigned char)t.at[n - 1]))
            n--;
        if (n == t.n || n < 2 || t.at[n - 1] != ':')
            break;
        part[1] = part[0];
        part[0] = (struct text){t.at + n, t.n - n};
        t.n = n - 1;
    }
    *ret_file = t;
    *ret_line = part[0];
    return part[0].n > 0;
}

static enum nearness sanlog_near(const struct sanlog_opts *o, struct text *file)
{
    size_t n = strlen(o->root);
    if (n > 1 && text_starts(*file, o->root) && file->n > n + 1 && file->at[n] == '/') {
        *file = (struct text){file->at + n + 1, file->n - n - 1};
        return NEAR_PROJECT;
    }
    if (memmem(file->at, file->n, "../", 3))
        return NEAR_RUNTIME;
    if (*file->at != '/')
        return NEAR_PROJECT;
    return text_starts(*file, "/usr/") ? NEAR_SYSTEM : NEAR_FILE;
}

/* Of another folder the name alone is shown: it is published. */
static void sanlog_shorten(struct sanlog_place *p)
{
    const char *slash = p->file.n ? memrchr(p->file.at, '/', p->file.n) : NULL;
    if (p->nearness == NEAR_PROJECT || !slash)
        return;
    p->file.n -= (size_t)(slash + 1 - p->file.at);
    p->file.at = slash + 1;
}

static struct sanlog_place sanlog_place_of(const struct sanlog_opts *o, struct text where)
{
    struct sanlog_place p = {.nearness = NEAR_NOTHING};
    if (sanlog_split(where, &p.file, &p.line)) {
        p.nearness = sanlog_near(o, &p.file);
        sanlog_shorten(&p);
    } else {
        p.file.n = 0;
    }
    return p;
}

/* The last " (" in T; NULL if there is none. */
static const char *sanlog_open(struct text t)
{
    while (t.n > 1) {
        const char *open = memrchr(t.at + 1, '(', t.n - 1);
        if (!open || open[-1] == ' ')
            return open ? open - 1 : NULL;
        t.n = (size_t)(open - t.at);
    }
    return NULL;
}

/* What stands at the end in parentheses: a module with its offset, a build-id. */
static struct text without_modules(struct text t)
{
    const char *open;
    while (text_ends(t, ")") && (open = sanlog_open(t)) != NULL) {
        size_t n = t.n - (size_t)(open - t.at);
        if (!memmem(open, n, "+0x", 3) && !memmem(open, n, "BuildId", 7))
            break;
        t.n -= n;
    }
    return t;
}

/* "0x55.. in copy_all /src/app/a.c:9:5", and of ThreadSanitizer "main /src/a.c:20 (app+0x13b2)" */
static struct sanlog_place sanlog_frame(const struct sanlog_opts *o, struct text t)
{
    if (text_starts(t, "0x")) {
        text_cut(&t, ' ');
        if (text_starts(t, "in "))
            text_cut(&t, ' ');
    }
    t = text_trim(without_modules(t));
    const char *blank = t.n ? memrchr(t.at, ' ', t.n) : NULL;
    struct sanlog_place p = {.nearness = NEAR_NOTHING};
    if (blank)
        p = sanlog_place_of(o, (struct text){blank + 1, t.n - (size_t)(blank + 1 - t.at)});
    bool place_follows = p.line.n || text_ends(t, "<null>");
    p.function = !place_follows ? t : (struct text){t.at, blank ? (size_t)(blank - t.at) : 0};
    p.function = text_trim(p.function);
    if (p.nearness == NEAR_NOTHING && p.function.n)
        p.nearness = NEAR_NAME;
    return p;
}

/* --- findings --- */

static void cut_before(struct text *t, const char *end)
{
    const char *at = memmem(t->at, t->n, end, strlen(end));
    if (at)
        t->n = (size_t)(at - t->at);
}

/* REST: of the first line, what follows the mark; BEFORE: what precedes it. */
static void finding_begin(struct finding *f, const struct sanlog_opts *o, struct text before,
                          struct text rest)
{
    static const char *const ends[] = {" on address 0x", " on unknown address 0x", " on 0x",
                                       " (pid="};
    *f = (struct finding){.kind = rest, .header = rest, .open = true};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        cut_before(&f->kind, ends[i]);
    const char *colon = memmem(f->kind.at, f->kind.n, ": ", 2);
    if (colon) {
        f->text = (struct text){colon + 2, f->kind.n - (size_t)(colon + 2 - f->kind.at)};
        f->kind.n = (size_t)(colon - f->kind.at);
    }
    for (int i = 0; i < SANLOG_PLACES; i++)
        f->places[i].nearness = NEAR_NOTHING;
    f->places[0] = sanlog_place_of(o, before);
}

static bool finding_has_half(const struct finding *f)
{
    return text_starts(f->header, "Previous ") ||
           memmem(f->header.at, f->header.n, " acquired here", 14);
}

/* The first stack is that of the finding; of the others one may be the second half of it. */
static void finding_stack(struct finding *f)
{
    f->stack = !f->any_stack ? 0 : f->stack == 0 && finding_has_half(f) ? 1 : SANLOG_PLACES;
    f->any_stack = true;
}

static void finding_line(struct finding *f, const struct sanlog_opts *o, struct text line)
{
    line = text_trim(line);
    if (text_starts(line, "SUMMARY: ")) {
        f->open = false;
    } else if (text_starts(line, "#")) {
        bool first = text_starts(line, "#0 ");
        text_cut(&line, ' ');
        if (first)
            finding_stack(f);
        struct sanlog_place p = sanlog_frame(o, line);
        if (!f->any_stack || f->stack == SANLOG_PLACES)
            return;
        struct sanlog_place *best = &f->places[f->stack];
        /* The first line of a finding may know the file, and a stack adds the function. */
        if (p.nearness < best->nearness || (p.nearness == best->nearness && !best->function.n))
            *best = p;
    } else if (line.n) {
        bool access = text_starts(line, "READ of size ") || text_starts(line, "WRITE of size ");
        if (access && !f->any_stack && !f->text.n) {
            f->text = line;
            cut_before(&f->text, " at 0x");
        }
        f->header = line;
    }
}

/* "in main (a.c:20)", "in strdup", "at a.c:20"; WORD goes before a function. */
static void finding_place(struct buf *b, const struct sanlog_place *p, const char *word)
{
    if (p->function.n)
        buf_printf(b, " %s %.*s", word, TEXT_ARG(p->function));
    if (p->line.n)
        buf_printf(b, p->function.n ? " (%.*s:%.*s)" : " at %.*s:%.*s", TEXT_ARG(p->file),
                   TEXT_ARG(p->line));
}

static bool same_text(struct text a, struct text b)
{
    return a.n == b.n && (!a.n || memcmp(a.at, b.at, a.n) == 0);
}

static bool same_place(const struct sanlog_place *a, const struct sanlog_place *b)
{
    return same_text(a->function, b->function) && same_text(a->file, b->file) &&
           same_text(a->line, b->line);
}

static void finding_print(struct buf *b, const struct finding *f)
{
    const struct sanlog_place *p = f->places;
    buf_printf(b, "%.*s", TEXT_ARG(text_trim(f->kind)));
    finding_place(b, &p[0], "in");
    if (p[1].nearness != NEAR_NOTHING && !same_place(&p[0], &p[1]))
        finding_place(b, &p[1], "and");
    if (f->text.n)
        buf_printf(b, ": %.*s", TEXT_ARG(f->text));
    buf_str(b, "\n");
}

size_t sanlog_read(struct text log, const struct sanlog_opts *o, struct buf *ret)
{
    struct finding f = {0};
    size_t n = 0, mark = strlen(o->mark);
    while (log.n) {
        struct text line = text_cut(&log, '\n');
        const char *at = memmem(line.at, line.n, o->mark, mark);
        if (!at) {
            if (f.open)
                finding_line(&f, o, line);
            continue;
        }
        if (n && n <= o->most)
            finding_print(ret, &f);
        n++;
        struct text before = {line.at, (size_t)(at - line.at)};
        finding_begin(&f, o, before, (struct text){at + mark, line.n - before.n - mark});
    }
    if (n && n <= o->most)
        finding_print(ret, &f);
    if (n > o->most)
        buf_printf(ret, "and %zu more\n", n - o->most);
    return n;
}
