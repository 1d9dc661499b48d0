#include "cmd/bench_public.h"

#include "base/path.h"
#include "base/words.h"

bool bench_public_is_page(const char *format)
{
    return strcmp(format, "html") == 0 || strcmp(format, "md") == 0;
}

static void set_public_text(struct bench_public *b, char **place, char *text)
{
    *vec_push(&b->texts) = (struct bench_public_text){place, *place};
    *place = text;
}

static char *public_line(const char *line)
{
    autobuf struct buf hidden = {0}, shown = {0};
    words_hide(&hidden, line);
    path_shorten(&shown, buf_text(&hidden));
    return mem_strdup(buf_cstr(&shown));
}

static const char *find_public_name(const struct bench_public *b, const char *own)
{
    for (size_t i = 0; i < b->names.n; i++)
        if (strcmp(b->names.at[i].own, own) == 0)
            return b->names.at[i].shown;
    return NULL;
}

static bool is_public_name(const struct bench_public *b, const char *shown)
{
    for (size_t i = 0; i < b->names.n; i++)
        if (strcmp(b->names.at[i].shown, shown) == 0)
            return true;
    return false;
}

/* "./app (2 arguments not shown)", with a number where another is called so already. */
static char *public_name(struct bench_public *b, const struct series *s)
{
    const char *known = find_public_name(b, s->name), *rest = s->name + strlen(s->command);
    if (known)
        return mem_strdup(known);
    autofree char *line = public_line(s->command);
    char *name = mem_printf("%s%s", line, rest);
    for (int i = 2; is_public_name(b, name); i++) {
        free(name);
        name = mem_printf("%s #%d%s", line, i, rest);
    }
    *vec_push(&b->names) = (struct bench_public_name){s->name, mem_strdup(name)};
    return name;
}

/* A series whose name was not given is called like its command, perhaps with more behind it. */
static void hide_series(struct bench_public *b, struct series *s)
{
    size_t n = strlen(s->command);
    if (n && strncmp(s->name, s->command, n) == 0)
        set_public_text(b, &s->name, public_name(b, s));
    if (n)
        set_public_text(b, &s->command, public_line(s->command));
}

/* What was typed, too: the commands are part of it. */
static void hide_options(struct bench_public *b, struct meta *m)
{
    for (size_t i = 0; i < m->entries.n; i++) {
        struct meta_entry *e = &m->entries.at[i];
        if (strcmp(e->key, META_OPTIONS) == 0) {
            autofree char *line = mem_printf("bench %s", e->value);
            set_public_text(b, &e->value, public_line(line));
        }
    }
}

void bench_public_hide(struct bench_public *b, struct series_set *s)
{
    if (!b->on)
        return;
    for (size_t i = 0; i < s->series.n; i++)
        hide_series(b, &s->series.at[i]);
    hide_options(b, &s->meta);
}

void bench_public_hide_sweeps(struct bench_public *b, struct sweeps *s)
{
    for (size_t i = 0; b->on && !b->named && i < s->at.n; i++)
        set_public_text(b, &s->at.at[i].name, public_line(s->at.at[i].name));
}

void bench_public_hide_pasts(struct bench_public *b, struct pasts *p)
{
    b->pasts = p;
    for (size_t i = 0; i < p->n; i++) {
        const char *shown = find_public_name(b, p->at[i].name);
        p->at[i].name = shown ? shown : p->at[i].name;
    }
}

static void show_pasts(struct bench_public *b)
{
    for (size_t i = 0; b->pasts && i < b->pasts->n; i++)
        for (size_t k = 0; k < b->names.n; k++)
            if (b->pasts->at[i].name == b->names.at[k].shown)
                b->pasts->at[i].name = b->names.at[k].own;
}

void bench_public_done(struct bench_public *b)
{
    show_pasts(b);
    for (size_t i = b->texts.n; i-- > 0;) {
        free(*b->texts.at[i].place);
        *b->texts.at[i].place = b->texts.at[i].kept;
    }
    for (size_t i = 0; i < b->names.n; i++)
        free(b->names.at[i].shown);
    vec_done(&b->texts);
    vec_done(&b->names);
}
