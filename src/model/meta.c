#include "model/meta.h"
#include "base/path.h"
#include "base/words.h"

#include <stdio.h>

void meta_done(struct meta *m)
{
    for (size_t i = 0; i < m->entries.n; i++) {
        free(m->entries.at[i].key);
        free(m->entries.at[i].value);
    }
    vec_done(&m->entries);
}

static struct meta_entry *meta_find_entry(const struct meta *m, const char *key)
{
    for (size_t i = 0; i < m->entries.n; i++)
        if (strcmp(m->entries.at[i].key, key) == 0)
            return &m->entries.at[i];
    return NULL;
}

void meta_set(struct meta *m, const char *key, struct text value)
{
    char *copy = mem_strndup(value.at, value.n);
    struct meta_entry *e = meta_find_entry(m, key);
    if (e) {
        free(e->value);
        e->value = copy;
    } else {
        *vec_push(&m->entries) = (struct meta_entry){mem_strdup(key), copy};
    }
}

void meta_set_str(struct meta *m, const char *key, const char *value)
{
    meta_set(m, key, text_of(value));
}

void meta_set_u64(struct meta *m, const char *key, uint64_t value)
{
    char s[24];
    snprintf(s, sizeof s, "%llu", (unsigned long long)value);
    meta_set_str(m, key, s);
}

const char *meta_find(const struct meta *m, const char *key)
{
    const struct meta_entry *e = meta_find_entry(m, key);
    return e ? e->value : NULL;
}

bool meta_find_u64(const struct meta *m, const char *key, uint64_t *ret)
{
    const char *s = meta_find(m, key);
    return s && text_u64(text_of(s), 10, ret);
}

void meta_make_public(struct meta *m, bool arguments)
{
    for (size_t i = 0; i < m->entries.n; i++) {
        struct meta_entry *e = &m->entries.at[i];
        autobuf struct buf line = {0}, shown = {0};
        if (!arguments && strcmp(e->key, META_COMMAND) == 0)
            words_hide(&line, e->value);
        else
            buf_str(&line, e->value);
        path_shorten(&shown, buf_text(&line));
        free(e->value);
        e->value = mem_strdup(buf_cstr(&shown));
    }
}

/* "11.95 12.09 11.00", held against "2 online, 2 usable". */
bool meta_was_busy(const struct meta *m)
{
    const char *load = meta_find(m, META_LOAD), *cpus = meta_find(m, META_CPUS);
    double n = cpus ? strtod(cpus, NULL) : 0;
    return load && n > 0 && strtod(load, NULL) > n;
}
