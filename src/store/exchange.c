/* exchange.c - a set of series to JSON and back. */
#include "store/exchange.h"

#include "base/json.h"
#include "base/jsonread.h"

#include <math.h>

enum { VERSION = 1, SERIES_MAX = 10000, FACTS_MAX = 1000, RUNS_MAX = 1 << 20 };

/* --- writing --- */

static bool has_measure(const struct series *s, int m)
{
    for (size_t i = 0; i < s->runs.n; i++)
        if (!isnan(s->runs.at[i].value[m]))
            return true;
    return false;
}

static void write_runs(struct json *j, const struct series *s)
{
    json_key(j, "blocks");
    json_open(j, '[');
    for (size_t i = 0; i < s->runs.n; i++)
        json_uint(j, s->runs.at[i].block);
    json_close(j, ']');
    json_key(j, "measures");
    json_open(j, '{');
    for (int m = 0; m < MEASURES; m++) {
        if (!has_measure(s, m))
            continue;
        json_key(j, measure_infos[m].name);
        json_open(j, '[');
        for (size_t i = 0; i < s->runs.n; i++)
            json_double(j, s->runs.at[i].value[m]);
        json_close(j, ']');
    }
    json_close(j, '}');
}

static void write_series(struct json *j, const struct series *s)
{
    json_open(j, '{');
    json_key(j, "name");
    json_str(j, s->name);
    json_key(j, "command");
    json_str(j, s->command);
    json_key(j, "items");
    json_double(j, s->items);
    json_key(j, "bytes");
    json_double(j, s->bytes);
    json_key(j, "size");
    json_double(j, s->size);
    json_key(j, "parameter");
    json_str(j, s->parameter);
    write_runs(j, s);
    json_close(j, '}');
}

void exchange_write(FILE *out, const char *name, const struct series_set *set)
{
    struct json j = {.out = out};
    json_open(&j, '{');
    json_key(&j, "kelvin");
    json_str(&j, "bench");
    json_key(&j, "version");
    json_int(&j, VERSION);
    json_key(&j, "name");
    json_str(&j, name);
    json_key(&j, "meta");
    json_open(&j, '{');
    for (size_t i = 0; i < set->meta.entries.n; i++) {
        json_key(&j, set->meta.entries.at[i].key);
        json_str(&j, set->meta.entries.at[i].value);
    }
    json_close(&j, '}');
    json_key(&j, "series");
    json_open(&j, '[');
    for (size_t i = 0; i < set->series.n; i++) {
        fputs(i ? "" : "\n", out);
        write_series(&j, &set->series.at[i]);
        fputs("\n", out);
    }
    json_close(&j, ']');
    json_close(&j, '}');
    putc('\n', out);
}

/* --- reading --- */

/* A text of the file as a C string: a NUL inside would cut it where nobody sees. Free it. */
static char *get_string(struct jsonread *j)
{
    struct text t = json_get_text(j);
    if (t.n && memchr(t.at, '\0', t.n)) {
        json_fail(j, "a NUL character in a text");
        return mem_strdup("");
    }
    return mem_strndup(t.at, t.n);
}

static void exchange_take_string(struct jsonread *j, char **to)
{
    free(*to);
    *to = get_string(j);
}

/* null = NAN */
static double get_value(struct jsonread *j)
{
    if (json_peek(j) != JSON_NULL)
        return json_get_double(j);
    json_skip(j);
    return NAN;
}

static double get_amount(struct jsonread *j, const char *what)
{
    double v = json_get_double(j);
    if (v < 0)
        json_fail(j, "'%s' may not be negative", what);
    return v;
}

static void read_facts(struct jsonread *j, struct meta *m)
{
    struct text key;
    if (!json_enter(j, JSON_OBJECT))
        return;
    while (json_member(j, &key)) {
        autofree char *name = mem_strndup(key.at, key.n);
        autofree char *value = get_string(j);
        if (!*name || strlen(name) != key.n)
            json_fail(j, "a key in 'meta' is empty");
        else if (m->entries.n >= FACTS_MAX)
            json_fail(j, "more than %d keys in 'meta'", FACTS_MAX);
        else
            meta_set_str(m, name, value);
    }
}

static struct series_run *run_at(struct jsonread *j, struct series *s, size_t i)
{
    if (i >= RUNS_MAX) {
        json_fail(j, "more than %d runs", RUNS_MAX);
        return NULL;
    }
    if (i < s->runs.n)
        return &s->runs.at[i];
    struct series_run *run = vec_push(&s->runs);
    *run = (struct series_run){0};
    for (int m = 0; m < MEASURES; m++)
        run->value[m] = NAN;
    return run;
}

/* How many elements the lists of a series have: all must agree. -1 = none was read yet. */
static void exchange_agree(struct jsonread *j, int64_t *length, size_t n)
{
    if (*length >= 0 && (size_t)*length != n)
        json_fail(j, "lists of %lld and %zu runs in one series", (long long)*length, n);
    *length = (int64_t)n;
}

static void read_blocks(struct jsonread *j, struct series *s, int64_t *length)
{
    size_t n = 0;
    if (!json_enter(j, JSON_ARRAY))
        return;
    while (json_element(j)) {
        int64_t block = json_get_int(j);
        struct series_run *run = run_at(j, s, n++);
        if (block < 0 || block > UINT32_MAX)
            json_fail(j, "the block %lld is out of range", (long long)block);
        else if (run)
            run->block = (uint32_t)block;
    }
    exchange_agree(j, length, n);
}

static void read_values(struct jsonread *j, struct series *s, int m, int64_t *length)
{
    size_t n = 0;
    if (!json_enter(j, JSON_ARRAY))
        return;
    while (json_element(j)) {
        double v = get_value(j);
        struct series_run *run = run_at(j, s, n++);
        if (run)
            run->value[m] = v;
    }
    exchange_agree(j, length, n);
}

static void read_measures(struct jsonread *j, struct series *s, int64_t *length)
{
    struct text key;
    bool seen[MEASURES] = {0};
    if (!json_enter(j, JSON_OBJECT))
        return;
    while (json_member(j, &key)) {
        char name[32];
        snprintf(name, sizeof name, "%.*s", TEXT_ARG(key));
        int m = measure_find(name);
        if (m < 0 || seen[m]) {
            json_fail(j, "the measure '%s' is %s", name, m < 0 ? "not known" : "there twice");
            return;
        }
        seen[m] = true;
        read_values(j, s, m, length);
    }
}

static void read_member(struct jsonread *j, struct text key, struct series *s, int64_t *length)
{
    if (text_is(key, "name"))
        exchange_take_string(j, &s->name);
    else if (text_is(key, "command"))
        exchange_take_string(j, &s->command);
    else if (text_is(key, "items"))
        s->items = get_amount(j, "items");
    else if (text_is(key, "bytes"))
        s->bytes = get_amount(j, "bytes");
    else if (text_is(key, "size"))
        s->size = get_value(j);
    else if (text_is(key, "parameter"))
        exchange_take_string(j, &s->parameter);
    else if (text_is(key, "blocks"))
        read_blocks(j, s, length);
    else if (text_is(key, "measures"))
        read_measures(j, s, length);
    else
        json_skip(j);
}

static void read_one(struct jsonread *j, struct series_set *set)
{
    struct text key;
    int64_t length = -1;
    if (set->series.n >= SERIES_MAX) {
        json_fail(j, "more than %d series", SERIES_MAX);
        return;
    }
    if (!json_enter(j, JSON_OBJECT))
        return;
    struct series *s = series_add(set, "");
    while (json_member(j, &key))
        read_member(j, key, s, &length);
    if (!*s->name)
        json_fail(j, "a series without a name");
    else if (series_find(set, s->name) != s)
        json_fail(j, "the series '%.60s' is there twice", s->name);
    else if (!s->runs.n)
        json_fail(j, "the series '%.60s' has no runs", s->name);
}

static void exchange_read_all(struct jsonread *j, struct series_set *set)
{
    if (!json_enter(j, JSON_ARRAY))
        return;
    while (json_element(j))
        read_one(j, set);
    if (!set->series.n)
        json_fail(j, "no series");
}

static void check_head(struct jsonread *j, bool ours, int64_t version)
{
    if (!ours)
        json_fail(j, "this is not an export of 'kelvin bench'");
    else if (version != VERSION)
        json_fail(j, "it was written by another kelvin (format %lld, this one reads %d)",
                  (long long)version, VERSION);
}

/* "kelvin" and "version" must come first, so that nothing else is read of what is not ours. */
static void read_document(struct jsonread *j, char **ret_name, struct series_set *set)
{
    struct text key;
    bool ours = false, checked = false;
    int64_t version = 0;
    if (!json_enter(j, JSON_OBJECT))
        return;
    while (json_member(j, &key)) {
        if (text_is(key, "kelvin")) {
            ours = text_is(json_get_text(j), "bench");
            continue;
        }
        if (text_is(key, "version")) {
            version = json_get_int(j);
            check_head(j, ours, version);
            checked = true;
            continue;
        }
        if (!checked) {
            check_head(j, false, 0);
            return;
        }
        if (text_is(key, "name"))
            exchange_take_string(j, ret_name);
        else if (text_is(key, "meta"))
            read_facts(j, &set->meta);
        else if (text_is(key, "series"))
            exchange_read_all(j, set);
        else
            json_skip(j);
    }
    if (!set->series.n)
        json_fail(j, "no series");
    json_finish(j);
}

int exchange_read(struct reader *in, char **ret_name, struct series_set *ret, struct err *err)
{
    struct jsonread j;
    *ret = (struct series_set){0};
    *ret_name = mem_strdup("");
    jsonread_init(&j, in);
    read_document(&j, ret_name, ret);
    bool failed = json_failed(&j, err);
    jsonread_done(&j);
    if (!failed)
        return 0;
    series_set_done(ret);
    free(*ret_name);
    *ret_name = NULL;
    return -1;
}
