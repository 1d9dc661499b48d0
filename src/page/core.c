#include "page/core_inner.h"

#include "model/standin.h"
#include "view/viewer.h"
#include "wire/recording.h"

static const struct {
    const char *name;
    core_answer *answer;
} answers[] = {
    {"about", core_about},     {"lanes", core_lanes},     {"tree", core_tree},
    {"list", core_list},       {"calls", core_calls},     {"tree_shares", core_tree_shares},
    {"search", core_search},   {"report", core_report},   {"heap", core_heap},
    {"locks", core_locks},     {"scopes", core_scopes},   {"waits", core_waits},
    {"compare", core_compare}, {"palette", core_palette}, {"code", core_code},
    {"moment", core_moment},   {"match", core_match},     {"events", core_events},
};

struct core *core_new(void)
{
    struct core *c = mem_new(struct core);
    c->rows_bytes_max = VIEWER_BYTES_MAX;
    return c;
}

void core_limit_rows(struct core *c, uint64_t bytes_max)
{
    c->rows_bytes_max = bytes_max;
}

static void forget_label(struct core_view *v)
{
    flat_free(v->by_label);
    grouping_done(&v->groups);
    free(v->label);
    v->by_label = NULL;
    v->groups = (struct grouping){0};
    v->label = NULL;
}

static void view_done(struct core_view *v)
{
    forget_label(v);
    for (int i = 0; i < FLAT_KINDS; i++)
        flat_free(v->flat[i]);
    calltree_free(v->tree);
    free(v->tree_key);
    free(v->ranked.key);
    free(v->ranked.rows);
    if (v->key)
        selection_done(&v->selection);
    free(v->key);
    *v = (struct core_view){0};
}

static void forget_views(struct core *c)
{
    for (int i = 0; i < CORE_VIEWS; i++)
        view_done(&c->views[i]);
}

void core_free(struct core *c)
{
    if (!c)
        return;
    forget_views(c);
    for (int i = 0; i < QUESTION_FILES; i++)
        profile_free(c->profile[i]), page_code_free(c->code[i]);
    buf_done(&c->columns);
    free(c);
}

/* Rows that are read, as long as a page holds them. */
struct core_rows {
    uint64_t bytes_max;
    bool too_many;
    struct err err; /* why */
};

/* From the first that are too many on, none is kept. */
static bool core_drop_rows(void *to, const struct profile *p, int stream)
{
    struct core_rows *r = to;
    (void)stream;
    if (!r->too_many)
        r->too_many = viewer_check_size(p, r->bytes_max, &r->err) != 0;
    return r->too_many;
}

int core_load(struct core *c, int file, struct text bytes, struct err *err)
{
    struct profile *p = profile_new();
    struct reader in;
    struct recording_state state;
    struct core_rows rows = {.bytes_max = c->rows_bytes_max};
    reader_open_memory(&in, bytes.at, bytes.n);
    int rc =
        recording_read_into(&in, p, &(struct recording_sink){core_drop_rows, &rows}, &state, err);
    reader_close(&in);
    if (rc == 0 && rows.too_many) {
        *err = rows.err;
        rc = -1;
    }
    if (rc == 0 && !p->streams.n)
        rc = err_set(err, EXIT_INPUT, "there is nothing in the recording%s%s",
                     state.complete ? "" : ", which is ", state.complete ? "" : state.why);
    if (rc == 0 && !state.complete)
        meta_set_str(&p->meta, META_CUT, state.why);
    if (rc != 0) {
        profile_free(p);
        return rc;
    }
    standin_leave_out(p);
    forget_views(c);
    profile_free(c->profile[file]);
    page_code_free(c->code[file]);
    c->profile[file] = p;
    c->code[file] = NULL;
    c->panes[file] = (struct core_panes){0};
    return 0;
}

int core_load_code(struct core *c, int file, struct text json, struct err *err)
{
    page_code_free(c->code[file]);
    c->code[file] = page_code_read(json, err);
    return c->code[file] ? 0 : -1;
}

/* --- selections --- */

static struct core_view *oldest_view(struct core *c)
{
    struct core_view *v = &c->views[0];
    for (int i = 1; i < CORE_VIEWS; i++)
        if (c->views[i].used < v->used)
            v = &c->views[i];
    view_done(v);
    return v;
}

static int select_rows(const struct profile *p, const struct question *q, struct selection *ret,
                       struct err *err)
{
    struct selection_opts opts = question_selection(q);
    struct value_ref value;
    if (profile_pick_value(p, q->event, q->value, &value, err) != 0)
        return -1;
    return selection_build(ret, p, value, &opts, err);
}

struct core_view *core_view(struct core *c, const struct question *q, struct err *err)
{
    autobuf struct buf key = {0};
    const struct profile *p = c->profile[q->file];
    question_add_key(q, &key);
    if (!p) {
        err_set(err, EXIT_ERROR, "file %lld is not loaded", (long long)q->file);
        return NULL;
    }
    for (int i = 0; i < CORE_VIEWS; i++)
        if (c->views[i].key && strcmp(c->views[i].key, buf_cstr(&key)) == 0) {
            c->views[i].used = ++c->clock;
            return &c->views[i];
        }
    struct core_view *v = oldest_view(c);
    struct selection s;
    if (select_rows(p, q, &s, err) != 0)
        return NULL;
    v->selection = s;
    v->key = mem_strdup(buf_cstr(&key));
    v->used = ++c->clock;
    return v;
}

struct flat *core_flat(struct core_view *v, enum flat_by by)
{
    if (!v->flat[by])
        v->flat[by] = flat_build(&v->selection, by);
    return v->flat[by];
}

static struct flat *flat_by_label(struct core_view *v, const char *key, struct err *err)
{
    if (v->label && strcmp(v->label, key) == 0)
        return v->by_label;
    forget_label(v);
    if (grouping_build(&v->groups, v->selection.profile, v->selection.value, key, err) != 0) {
        forget_label(v);
        return NULL;
    }
    v->label = mem_strdup(key);
    v->by_label = flat_build_groups(&v->selection, &v->groups, v->label);
    return v->by_label;
}

struct flat *core_flat_by(struct core_view *v, const char *name, struct err *err)
{
    static const char *const names[FLAT_KINDS] = {"function", "module", "thread", "line", "file"};
    for (int i = 0; name && i < FLAT_KINDS; i++)
        if (strcmp(name, names[i]) == 0)
            return core_flat(v, (enum flat_by)i);
    return name ? flat_by_label(v, name, err) : core_flat(v, FLAT_FUNCTION);
}

/* --- answers --- */

static int core_give_answer(struct core *c, const struct question *q, struct json *j,
                            struct err *err)
{
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
        if (strcmp(q->ask, answers[i].name) == 0)
            return answers[i].answer(c, q, j, err);
    return err_set(err, EXIT_ERROR, "nothing answers '%s'", q->ask);
}

void core_ask(struct core *c, struct text question, FILE *out)
{
    struct question q;
    struct err err = {0};
    struct json j = {.out = out};
    c->columns.n = 0;
    json_open(&j, '{');
    if (question_read(&q, question, &err) != 0 || core_give_answer(c, &q, &j, &err) != 0)
        json_put_str(&j, "error", err.text);
    json_close(&j, '}');
    question_done(&q);
}

struct text core_columns(const struct core *c)
{
    return buf_text(&c->columns);
}
