#include "page/question.h"

#include "base/jsonread.h"

#include <stddef.h>

enum field_kind { FIELD_TEXT, FIELD_BOOL, FIELD_INT, FIELD_NUMBER };

static const struct {
    const char *name;
    enum field_kind kind;
    size_t offset;
} fields[] = {
    {"ask", FIELD_TEXT, offsetof(struct question, ask)},
    {"file", FIELD_INT, offsetof(struct question, file)},
    {"event", FIELD_TEXT, offsetof(struct question, event)},
    {"value", FIELD_TEXT, offsetof(struct question, value)},
    {"time", FIELD_TEXT, offsetof(struct question, time)},
    {"subtree", FIELD_TEXT, offsetof(struct question, subtree)},
    {"merge-recursion", FIELD_BOOL, offsetof(struct question, merge_recursion)},
    {"other_time", FIELD_TEXT, offsetof(struct question, other_time)},
    {"by", FIELD_TEXT, offsetof(struct question, by)},
    {"sort", FIELD_TEXT, offsetof(struct question, sort)},
    {"group", FIELD_TEXT, offsetof(struct question, group)},
    {"pattern", FIELD_TEXT, offsetof(struct question, pattern)},
    {"function", FIELD_TEXT, offsetof(struct question, function)},
    {"inverted", FIELD_BOOL, offsetof(struct question, inverted)},
    {"chart", FIELD_BOOL, offsetof(struct question, chart)},
    {"brief", FIELD_BOOL, offsetof(struct question, brief)},
    {"packed", FIELD_BOOL, offsetof(struct question, packed)},
    {"force", FIELD_BOOL, offsetof(struct question, force)},
    {"same_arguments", FIELD_BOOL, offsetof(struct question, same_arguments)},
    {"least", FIELD_NUMBER, offsetof(struct question, least)},
    {"top", FIELD_INT, offsetof(struct question, top)},
    {"skip", FIELD_INT, offsetof(struct question, skip)},
    {"pid", FIELD_INT, offsetof(struct question, pid)},
    {"tid", FIELD_INT, offsetof(struct question, tid)},
    {"bins", FIELD_INT, offsetof(struct question, bins)},
    {"from_s", FIELD_NUMBER, offsetof(struct question, from_s)},
    {"to_s", FIELD_NUMBER, offsetof(struct question, to_s)},
};

static const char *const list_names[QUESTION_LISTS] = {
    "thread", "process",         "where",
    "scope",  "focus",           "ignore",
    "hide",   "collapse-module", "collapse-recursion",
};

/* Cut at a byte 0, it would select something else. */
static const char *question_word(struct question *q, struct jsonread *j)
{
    struct text t = json_get_text(j);
    if (memchr(t.at, '\0', t.n))
        json_fail(j, "nothing can be selected by a text with a byte 0");
    return arena_text(&q->arena, t).at;
}

static const char *question_text(struct question *q, struct jsonread *j)
{
    if (json_peek(j) == JSON_NULL) {
        json_skip(j);
        return NULL;
    }
    return question_word(q, j);
}

static bool read_field(struct question *q, struct jsonread *j, struct text key)
{
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        void *at = (char *)q + fields[i].offset;
        if (!text_is(key, fields[i].name))
            continue;
        switch (fields[i].kind) {
        case FIELD_TEXT:
            *(const char **)at = question_text(q, j);
            break;
        case FIELD_BOOL:
            *(bool *)at = json_get_bool(j);
            break;
        case FIELD_INT:
            *(int64_t *)at = json_get_int(j);
            break;
        case FIELD_NUMBER:
            *(double *)at = json_get_double(j);
            break;
        }
        return true;
    }
    return false;
}

static bool read_list(struct question *q, struct jsonread *j, struct text key)
{
    for (int i = 0; i < QUESTION_LISTS; i++) {
        size_t n = 0;
        if (!text_is(key, list_names[i]))
            continue;
        json_enter(j, JSON_ARRAY);
        while (json_element(j))
            if (n < QUESTION_LIST_MAX)
                q->list[i][n++] = question_word(q, j);
            else
                json_fail(j, "more than %d of '%s'", QUESTION_LIST_MAX, list_names[i]);
        return true;
    }
    return false;
}

static bool read_names(struct question *q, struct jsonread *j, struct text key)
{
    VEC(const char *) names = {0};
    if (!text_is(key, "names"))
        return false;
    json_enter(j, JSON_ARRAY);
    while (json_element(j))
        if (names.n < QUESTION_NAMES_MAX)
            *vec_push(&names) = arena_text(&q->arena, json_get_text(j)).at;
        else
            json_fail(j, "more than %d names", QUESTION_NAMES_MAX);
    q->n_names = names.n;
    q->names = arena_get(&q->arena, (names.n + 1) * sizeof *q->names);
    if (names.n)
        memcpy(q->names, names.at, names.n * sizeof *q->names);
    vec_done(&names);
    return true;
}

int question_read(struct question *q, struct text json, struct err *err)
{
    struct reader in;
    struct jsonread j;
    struct text key;
    *q = (struct question){.least = 0};
    reader_open_memory(&in, json.at, json.n);
    jsonread_init(&j, &in);
    json_enter(&j, JSON_OBJECT);
    while (json_member(&j, &key))
        if (!read_field(q, &j, key) && !read_list(q, &j, key) && !read_names(q, &j, key))
            json_fail(&j, "no question has a member '%.*s'", TEXT_ARG(key));
    json_finish(&j);
    int rc = json_failed(&j, err) ? -1 : 0;
    if (rc == 0 && !q->ask)
        rc = err_set(err, EXIT_ERROR, "a question needs the member 'ask'");
    if (rc == 0 && (q->file < 0 || q->file >= QUESTION_FILES))
        rc = err_set(err, EXIT_ERROR, "there is no file %lld", (long long)q->file);
    jsonread_done(&j);
    reader_close(&in);
    return rc;
}

void question_done(struct question *q)
{
    arena_done(&q->arena);
}

static const char *const *list_or_null(const struct question *q, enum question_list which)
{
    return q->list[which][0] ? q->list[which] : NULL;
}

struct selection_opts question_selection(const struct question *q)
{
    return (struct selection_opts){
        .time = q->time,
        .threads = list_or_null(q, QUESTION_THREADS),
        .processes = list_or_null(q, QUESTION_PROCESSES),
        .where = list_or_null(q, QUESTION_WHERE),
        .scopes = list_or_null(q, QUESTION_SCOPES),
        .focus = list_or_null(q, QUESTION_FOCUS),
        .ignore = list_or_null(q, QUESTION_IGNORE),
        .hide = list_or_null(q, QUESTION_HIDE),
        .merge_recursion = q->merge_recursion,
        .collapse_modules = list_or_null(q, QUESTION_COLLAPSE_MODULES),
        .collapse_recursion = list_or_null(q, QUESTION_COLLAPSE_RECURSION),
        .subtree = q->subtree,
    };
}

/* With lengths, so that no text can look like two. */
static void add_word(struct buf *b, const char *word)
{
    buf_printf(b, word ? "%zu:" : "-", word ? strlen(word) : 0);
    buf_str(b, word ? word : "");
}

void question_add_key(const struct question *q, struct buf *b)
{
    buf_printf(b, "%lld%d", (long long)q->file, q->merge_recursion);
    add_word(b, q->event);
    add_word(b, q->value);
    add_word(b, q->time);
    add_word(b, q->subtree);
    for (int i = 0; i < QUESTION_LISTS; i++) {
        for (size_t k = 0; q->list[i][k]; k++)
            add_word(b, q->list[i][k]);
        buf_byte(b, '\n');
    }
}
