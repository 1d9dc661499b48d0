/*
 * conf.c - reading kelvin.conf and what overrides it.
 *
 * inih as Debian builds it takes lines of up to 198 bytes and reports no line numbers, so the lines
 * go through a reader of ours that counts them and refuses longer ones.
 */
#include "suite/conf.h"
#include "base/opt.h"
#include "base/path.h"

#include <ctype.h>
#include <errno.h>
#include <ini.h>

enum { LINE_MAX_BYTES = 198, SECTION_MAX_BYTES = 49, FILE_MAX_BYTES = 1 << 20, NAMES_MAX = 1000 };
enum { RANK_DEFAULT, RANK_FILE, RANK_ENVIRONMENT, RANK_OPTION };

static const char *const named_sections[CONF_NAMED] = {
    [CONF_WORKLOADS] = "workload",
    [CONF_INPUTS] = "input",
    [CONF_METRICS] = "metric",
    [CONF_VARIANTS] = "variant",
};

/* CONF_NAMED where it has no name. */
static int find_named(const char *section)
{
    int i = 0;
    while (i < CONF_NAMED && strcmp(named_sections[i], section) != 0)
        i++;
    return i;
}

bool conf_section_has_name(const char *section)
{
    return find_named(section) < CONF_NAMED;
}

static void value_done(struct conf_value *v)
{
    free(v->name);
    free(v->text);
    free(v->origin);
}

void conf_done(struct conf *c)
{
    for (size_t i = 0; i < c->values.n; i++)
        value_done(&c->values.at[i]);
    vec_done(&c->values);
    for (int k = 0; k < CONF_NAMED; k++) {
        for (size_t i = 0; i < c->names[k].at.n; i++)
            free(c->names[k].at.at[i]);
        vec_done(&c->names[k].at);
    }
    free(c->path);
    c->path = NULL;
}

/* --- the table of keys --- */

static const struct conf_key *find_key(const char *section, const char *key)
{
    for (const struct conf_key *k = conf_keys; k->section; k++)
        if (strcmp(k->section, section) == 0 && strcmp(k->key, key) == 0)
            return k;
    return NULL;
}

static bool is_section(const char *section)
{
    for (const struct conf_key *k = conf_keys; k->section; k++)
        if (strcmp(k->section, section) == 0)
            return true;
    return false;
}

static const char *nearest_section(const char *word)
{
    const char *list[64] = {0};
    size_t n = 0;
    for (const struct conf_key *k = conf_keys; k->section && n < 63; k++)
        if (!n || strcmp(list[n - 1], k->section) != 0)
            list[n++] = k->section;
    return opt_nearest(word, list);
}

static const char *nearest_key(const char *section, const char *word)
{
    const char *list[64] = {0};
    size_t n = 0;
    for (const struct conf_key *k = conf_keys; k->section && n < 63; k++)
        if (strcmp(k->section, section) == 0)
            list[n++] = k->key;
    return opt_nearest(word, list);
}

/* --- setting values --- */

static struct conf_value *find_value(const struct conf *c, const struct conf_key *key,
                                     const char *name)
{
    for (size_t i = 0; i < c->values.n; i++)
        if (c->values.at[i].key == key && strcmp(c->values.at[i].name, name) == 0)
            return &c->values.at[i];
    return NULL;
}

static bool is_choice(const char *choices, const char *word)
{
    struct text all = text_of(choices);
    while (all.n)
        if (text_is(text_cut(&all, ' '), word))
            return true;
    return false;
}

static bool conf_is_number(const struct conf_key *k, const char *text)
{
    char *end;
    double v = strtod(text, &end);
    if (k->kind == CONF_PERCENT && *end == '%')
        end++;
    if (end == text || *end || v != v || (k->kind == CONF_INT && v != (double)(long)v))
        return false;
    return k->min == k->max || (v >= k->min && v <= k->max);
}

static int check_number(const struct conf_key *k, const char *text, struct err *err)
{
    if (conf_is_number(k, text))
        return 0;
    if (k->min != k->max)
        return err_set(err, EXIT_ERROR, "'%s' takes a%s number from %g to %g, not '%s'", k->key,
                       k->kind == CONF_INT ? " whole" : "", k->min, k->max, text);
    return err_set(err, EXIT_ERROR, "'%s' takes a number, not '%s'", k->key, text);
}

static int check_words(const struct conf_key *k, const char *text, struct err *err)
{
    struct words w;
    int rc = words_split(&w, text_of(text), WORDS_LIST, err);
    for (size_t i = 0; rc == 0 && k->kind == CONF_CHOICES && i < w.at.n; i++)
        if (!is_choice(k->choices, w.at.at[i]))
            rc = err_set(err, EXIT_ERROR, "'%s' is made of: %s; not '%s'", k->key, k->choices,
                         w.at.at[i]);
    words_done(&w);
    return rc;
}

static int check_value(const struct conf_key *k, const char *text, struct err *err)
{
    switch (k->kind) {
    case CONF_TEXT:
        return 0;
    case CONF_INT:
    case CONF_NUMBER:
    case CONF_PERCENT:
        return check_number(k, text, err);
    case CONF_CHOICE:
        return is_choice(k->choices, text)
                   ? 0
                   : err_set(err, EXIT_ERROR, "'%s' is one of: %s; not '%s'", k->key, k->choices,
                             text);
    case CONF_WORDS:
    case CONF_CHOICES:
        return check_words(k, text, err);
    }
    return 0;
}

struct setting {
    const struct conf_key *key;
    const char *name, *text, *origin;
    int rank;
};

static int set_value(struct conf *c, const struct setting *s, struct err *err)
{
    if (check_value(s->key, s->text, err) != 0)
        return -1;
    struct conf_value *v = find_value(c, s->key, s->name);
    if (v && v->rank == s->rank && s->rank == RANK_FILE)
        return err_set(err, EXIT_ERROR, "'%s' is given twice, first at %s", s->key->key, v->origin);
    if (v)
        value_done(v);
    else
        v = vec_push(&c->values);
    *v = (struct conf_value){s->key, mem_strdup(s->name), mem_strdup(s->text),
                             mem_strdup(s->origin), s->rank};
    return 0;
}

/* --- the file --- */

struct complaint {
    int line;
    char *text;
};

struct file {
    struct conf *conf;
    VEC(struct complaint) complaints;
    const char *path;
    struct text rest;
    int line;
    bool in_value;  /* a key of this section was read: a line behind a blank belongs to it */
    bool continues; /* this line does */
    char bad_section[64];
    struct conf_value *last; /* NULL = it was refused */
};

static void conf_complain(struct file *f, int line, const char *text)
{
    *vec_push(&f->complaints) = (struct complaint){line, mem_strdup(text)};
}

/* In the order of the file, whatever noticed them. */
static void complaints_move(struct file *f, struct buf *errors)
{
    for (size_t i = 1; i < f->complaints.n; i++)
        for (size_t k = i; k && f->complaints.at[k].line < f->complaints.at[k - 1].line; k--) {
            struct complaint later = f->complaints.at[k - 1];
            f->complaints.at[k - 1] = f->complaints.at[k];
            f->complaints.at[k] = later;
        }
    for (size_t i = 0; i < f->complaints.n; i++) {
        buf_printf(errors, "%s:%d: %s\n", f->path, f->complaints.at[i].line,
                   f->complaints.at[i].text);
        free(f->complaints.at[i].text);
    }
    vec_done(&f->complaints);
}

/* Whether T, which is no section, is empty, a comment or has a key. */
static bool is_line(struct text t)
{
    if (!t.n || t.at[0] == '#')
        return true;
    bool blank_before = true;
    for (size_t i = 0; i < t.n; i++) {
        if (t.at[i] == '=' || t.at[i] == ':')
            return true;
        if (t.at[i] == ';' && blank_before)
            return i == 0;
        blank_before = isspace((unsigned char)t.at[i]);
    }
    return false;
}

/* What inih could not hold of LINE, for which it has ROOM, or could not read; NULL = nothing. */
static const char *why_not_line(struct text line, int room, bool continues)
{
    struct text t = text_trim(line), rest = t;
    if (memchr(line.at, '\0', line.n) || line.n > LINE_MAX_BYTES || (int)line.n + 2 > room)
        return "the line is longer than 198 bytes or has a NUL: continue on the next line, after a "
               "blank";
    if (text_starts(t, "[") && text_cut(&rest, ']').n > 1 + SECTION_MAX_BYTES)
        return "the name of a section is longer than 49 bytes";
    if (continues)
        return NULL;
    bool section = text_starts(t, "[");
    return (section ? memchr(t.at, ']', t.n) != NULL : is_line(t))
               ? NULL
               : "neither '[section]' nor 'key = value'";
}

/* inih's fgets. A line that it could not hold is reported and left out; so are the keys of such a
 * section. */
static char *next_line(char *to, int room, void *ctx)
{
    struct file *f = ctx;
    if (!f->rest.n)
        return NULL;
    struct text line = text_cut(&f->rest, '\n');
    f->line++;
    f->continues = f->in_value && line.n && (line.at[0] == ' ' || line.at[0] == '\t');
    bool section = !f->continues && text_starts(text_trim(line), "[");
    if (section)
        f->in_value = false;
    const char *why = why_not_line(line, room, f->continues);
    if (why) {
        conf_complain(f, f->line, why);
        if (section)
            strcpy(f->bad_section, "?");
        line = text_of(section ? "[?]" : "");
    }
    memcpy(to, line.at, line.n);
    memcpy(to + line.n, "\n", 2);
    return to;
}

/* "workload small" in two. False for a section that nobody knows. */
static bool split_section(struct file *f, const char *section, char *kind, char *name)
{
    struct text rest = text_of(section), first = text_cut(&rest, ' ');
    struct err err = {0};
    snprintf(kind, 64, "%.*s", TEXT_ARG(first));
    rest = text_trim(rest);
    snprintf(name, 64, "%.*s", TEXT_ARG(rest));
    if (!is_section(kind)) {
        const char *near = nearest_section(kind);
        err_set(&err, EXIT_ERROR, "no section '[%s]'%s%s%s", kind, near ? "; did you mean '[" : "",
                near ? near : "", near ? "]'?" : "");
    } else if (conf_section_has_name(kind) != (*name != '\0')) {
        err_set(&err, EXIT_ERROR, *name ? "section '[%s]' takes no name" : "'[%s]' needs a name",
                kind);
    }
    for (const char *n = name; *n && !err.code; n++)
        if (!isalnum((unsigned char)*n) && !strchr(n == name ? "_" : "-_.", *n))
            err_set(
                &err, EXIT_ERROR,
                "'%s' cannot be a name: use letters, digits, - _ ., the first a letter, a digit "
                "or _",
                name);
    if (err.code && strcmp(f->bad_section, section) != 0)
        conf_complain(f, f->line, err.text);
    snprintf(f->bad_section, sizeof f->bad_section, "%s", err.code ? section : "");
    return !err.code;
}

static void note_name(struct conf *c, const char *kind, const char *name)
{
    struct conf_names *names = &c->names[find_named(kind)];
    for (size_t i = 0; i < names->at.n; i++)
        if (strcmp(names->at.at[i], name) == 0)
            return;
    if (names->at.n < NAMES_MAX)
        *vec_push(&names->at) = mem_strdup(name);
}

static void add_to_last(struct file *f, const char *text)
{
    struct conf_value *v = f->last;
    if (!v)
        return;
    char *longer = mem_printf("%s %s", v->text, text);
    free(v->text);
    v->text = longer;
}

/* KEY of SECTION is not in the table. */
static void complain_key(struct file *f, const char *section, const char *kind, const char *key)
{
    const char *near = nearest_key(kind, key);
    struct err err;
    err_set(&err, EXIT_ERROR, "no key '%s' in [%s]%s%s%s", key, section,
            near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    conf_complain(f, f->line, err.text);
}

static void start_value(struct file *f, const char *section, const char *key, const char *text)
{
    char kind[64], name[64];
    struct err err;
    f->in_value = true;
    f->last = NULL;
    if (!split_section(f, section, kind, name))
        return;
    const struct conf_key *k = find_key(kind, key);
    if (!k) {
        complain_key(f, section, kind, key);
        return;
    }
    if (conf_section_has_name(kind))
        note_name(f->conf, kind, name);
    autofree char *origin = mem_printf("%s:%d", f->path, f->line);
    struct setting s = {k, name, text, origin, RANK_FILE};
    if (set_value(f->conf, &s, &err) != 0)
        conf_complain(f, f->line, err.text);
    else
        f->last = find_value(f->conf, k, name);
}

static int take_value(void *ctx, const char *section, const char *key, const char *text)
{
    struct file *f = ctx;
    if (f->continues)
        add_to_last(f, text);
    else
        start_value(f, section, key, text);
    return 1;
}

/* Values that went over several lines are checked as a whole. */
static void check_again(struct file *f)
{
    struct err err;
    for (size_t i = 0; i < f->conf->values.n; i++) {
        const struct conf_value *v = &f->conf->values.at[i];
        if (check_value(v->key, v->text, &err) != 0)
            conf_complain(f, atoi(strrchr(v->origin, ':') + 1), err.text);
    }
}

static void parse(struct conf *c, const char *path, struct text text, struct buf *errors)
{
    struct file f = {.conf = c, .path = path, .rest = text};
    const char *slash = strrchr(path, '/');
    if (slash)
        f.path = slash + 1;
    if (text_starts(f.rest, "\xef\xbb\xbf")) /* a byte order mark */
        f.rest = (struct text){f.rest.at + 3, f.rest.n - 3};
    int bad = ini_parse_stream(next_line, &f, take_value, &f);
    if (bad > 0)
        conf_complain(&f, bad, "neither '[section]' nor 'key = value'");
    check_again(&f);
    complaints_move(&f, errors);
}

static int first_error(const struct buf *errors, struct err *err)
{
    struct text rest = buf_text(errors);
    if (!rest.n)
        return 0;
    struct text first = text_cut(&rest, '\n');
    return err_set(err, EXIT_ERROR, "%.*s", TEXT_ARG(first));
}

int conf_parse(struct conf *c, const char *path, struct text text, struct buf *errors,
               struct err *err)
{
    *c = (struct conf){.path = mem_strdup(path)};
    parse(c, path, text, errors);
    return first_error(errors, err);
}

/* --- what overrides the file --- */

/* The environment variable over a key: "KELVIN_WORKLOAD_SMALL_RUNS". */
static void conf_variable(struct buf *b, const struct conf_key *key, const char *name)
{
    size_t from = b->n;
    buf_printf(b, "KELVIN_%s%s%s_%s", key->section, *name ? "_" : "", name, key->key);
    for (size_t i = from; i < b->n; i++)
        b->at[i] = isalnum((unsigned char)b->at[i]) ? (char)toupper((unsigned char)b->at[i]) : '_';
}

static void take_variable(struct conf *c, const struct conf_key *k, const char *name,
                          struct buf *errors)
{
    autobuf struct buf variable = {0};
    struct err err;
    conf_variable(&variable, k, name);
    const char *text = getenv(buf_cstr(&variable));
    if (!text)
        return;
    struct setting s = {k, name, text, buf_cstr(&variable), RANK_ENVIRONMENT};
    if (set_value(c, &s, &err) != 0)
        buf_printf(errors, "%s: %s\n", buf_cstr(&variable), err.text);
}

static void take_environment(struct conf *c, struct buf *errors)
{
    for (const struct conf_key *k = conf_keys; k->section; k++) {
        int named = find_named(k->section);
        if (named == CONF_NAMED)
            take_variable(c, k, "", errors);
        for (size_t i = 0; named < CONF_NAMED && i < c->names[named].at.n; i++)
            take_variable(c, k, c->names[named].at.at[i], errors);
    }
}

/* "workload.small.runs=20": the section up to the first point, the key from the last on. */
static int take_set(struct conf *c, const char *word, const char *origin, struct err *err)
{
    const char *equals = strchr(word, '=');
    struct text path = {word, equals ? (size_t)(equals - word) : 0};
    struct text section = text_cut(&path, '.');
    const char *dot = path.n ? memrchr(path.at, '.', path.n) : NULL;
    struct text name = {path.at, dot ? (size_t)(dot - path.at) : 0};
    struct text key = dot ? (struct text){dot + 1, path.n - name.n - 1} : path;
    autofree char *s = mem_strndup(section.at, section.n), *k = mem_strndup(key.at, key.n),
                  *n = mem_strndup(name.at, name.n);
    const struct conf_key *found = equals ? find_key(s, k) : NULL;
    if (!found || conf_section_has_name(s) != (*n != '\0')) {
        const char *near = nearest_key(s, k);
        return err_set(err, EXIT_ERROR,
                       "%s takes SECTION.KEY=VALUE or workload.NAME.KEY=VALUE, not '%s'%s%s%s",
                       origin, word, near ? "; did you mean the key '" : "", near ? near : "",
                       near ? "'?" : "");
    }
    if (conf_section_has_name(s))
        note_name(c, s, n);
    struct setting setting = {found, n, equals + 1, origin, RANK_OPTION};
    return set_value(c, &setting, err);
}

static int conf_read_file(const char *path, struct buf *b, struct err *err)
{
    autoclose int fd = path_open_file(path, 0, NULL);
    char chunk[4096];
    ssize_t n;
    if (fd < 0 && errno == EINVAL)
        return err_set(err, EXIT_ERROR, "cannot read '%s': it is not a regular file", path);
    if (fd < 0)
        return err_set_errno(err, errno, "cannot open '%s'", path);
    while ((n = read(fd, chunk, sizeof chunk)) > 0 && b->n < FILE_MAX_BYTES)
        buf_add(b, chunk, (size_t)n);
    if (n < 0)
        return err_set_errno(err, errno, "cannot read '%s'", path);
    if (b->n >= FILE_MAX_BYTES)
        return err_set(err, EXIT_ERROR, "'%s' is over 1 MB: is it a suite file?", path);
    return 0;
}

int conf_read(struct conf *c, const char *path, struct conf_sets sets, struct buf *errors,
              struct err *err)
{
    autobuf struct buf text = {0};
    struct err one;
    *c = (struct conf){.path = mem_strdup(path)};
    if (conf_read_file(path, &text, err) != 0)
        return -1;
    parse(c, path, buf_text(&text), errors);
    take_environment(c, errors);
    for (size_t i = 0; i < sets.n; i++)
        if (take_set(c, sets.at[i], sets.origin, &one) != 0)
            buf_printf(errors, "%s\n", one.text);
    return first_error(errors, err);
}

/* --- asking --- */

static const struct conf_key *get_key(const char *dotted)
{
    const char *dot = strchr(dotted, '.');
    for (const struct conf_key *k = conf_keys; k->section; k++)
        if (text_is((struct text){dotted, (size_t)(dot - dotted)}, k->section) &&
            strcmp(k->key, dot + 1) == 0)
            return k;
    abort(); /* no such row: a mistake in the program, not in its input */
}

struct conf_value conf_find(const struct conf *c, const char *name, const char *key)
{
    const struct conf_key *k = get_key(key);
    const struct conf_value *v = find_value(c, k, name);
    if (v)
        return *v;
    return (struct conf_value){k, (char *)"", (char *)k->fallback, (char *)"default", RANK_DEFAULT};
}

const char *conf_text(const struct conf *c, const char *name, const char *key)
{
    return conf_find(c, name, key).text;
}

double conf_number(const struct conf *c, const char *name, const char *key)
{
    return strtod(conf_text(c, name, key), NULL);
}

int conf_fail_at(const struct conf *c, const char *name, const char *key, struct err *err)
{
    struct conf_value v = conf_find(c, name, key);
    struct err why = *err;
    return v.rank == RANK_DEFAULT ? -1 : err_set(err, why.code, "%s: %s", v.origin, why.text);
}

struct words conf_words(const struct conf *c, const char *name, const char *key)
{
    struct words w;
    struct err err;
    words_split(&w, text_of(conf_text(c, name, key)), WORDS_LIST, &err);
    return w;
}

bool conf_has(const struct conf *c, const char *name, const char *key, const char *word)
{
    struct words w = conf_words(c, name, key);
    bool found = false;
    for (size_t i = 0; i < w.at.n; i++)
        found |= strcmp(w.at.at[i], word) == 0;
    words_done(&w);
    return found;
}

const struct conf_names *conf_section_names(const struct conf *c, const char *section)
{
    int i = find_named(section);
    return i < CONF_NAMED ? &c->names[i] : NULL;
}

bool conf_overrules(const struct conf_value *v)
{
    return v->rank >= RANK_ENVIRONMENT;
}

int conf_locate(char **ret, struct err *err)
{
    autofree char *here = realpath(".", NULL);
    *ret = NULL;
    for (bool above = false; here && *here; above = true) {
        autofree char *path = mem_printf("%s/kelvin.conf", here);
        bool there = access(path, F_OK) == 0;
        if (there && !path_is_trusted(path, above))
            return err_set_hint(err, EXIT_ERROR, HINT_TRUST_CONF,
                                "'%s' belongs to another user and is not used", path);
        if (there) {
            *ret = mem_strdup(path);
            return 0;
        }
        *strrchr(here, '/') = '\0';
    }
    return 0;
}
