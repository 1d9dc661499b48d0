#include "analysis/grouping.h"

#include "analysis/scopejoin.h"
#include "analysis/scopetree.h"
#include "analysis/waitreason.h"
#include "base/buf.h"
#include "model/waitstream.h"

enum known { BY_PROCESS, BY_PID, BY_THREAD, BY_TID, BY_STATE, BY_REASON, BY_SCOPE, BY_LABEL };

static const char *const known_keys[] = {"process", "pid",    "thread", "tid",
                                         "state",   "reason", "scope",  NULL};

static enum known known_of(const char *key)
{
    int i = 0;
    while (known_keys[i] && strcmp(known_keys[i], key) != 0)
        i++;
    return (enum known)i;
}

bool grouping_is_known(const char *key)
{
    return known_of(key) != BY_LABEL;
}

/* --- by thread --- */

/* By process: the name of its first thread. */
static struct str_id *leader_names(const struct profile *p)
{
    struct str_id *first = mem_calloc(p->processes.n + 1, sizeof *first);
    for (size_t i = p->threads.n; i-- > 0;)
        if (p->threads.at[i].name.i)
            first[p->threads.at[i].process.i] = p->threads.at[i].name;
    return first;
}

/* The program without its folder, or what its first thread is called: kernel threads have none. */
static struct text process_name(const struct profile *p, const struct thread *t,
                                const struct str_id *leaders)
{
    struct text path = profile_str(p, p->processes.at[t->process.i].executable);
    const char *slash = path.n ? memrchr(path.at, '/', path.n) : NULL;
    if (slash && slash + 1 < path.at + path.n)
        return (struct text){slash + 1, (size_t)(path.at + path.n - slash - 1)};
    return path.n ? path : profile_str(p, leaders[t->process.i]);
}

static uint32_t name_thread(struct grouping *g, const struct profile *p, const struct thread *t,
                            enum known by, const struct str_id *leaders)
{
    autobuf struct buf b = {0};
    struct text name =
        by == BY_PROCESS || by == BY_PID ? process_name(p, t, leaders) : profile_str(p, t->name);
    int32_t number = by == BY_PID ? profile_pid(p, t) : by == BY_TID ? t->tid : THREAD_NO_ID;
    buf_add(&b, name.at, name.n);
    if (number != THREAD_NO_ID)
        buf_printf(&b, "%s%d", b.n ? "-" : "", number);
    return intern_add(&g->names, buf_text(&b));
}

static void group_threads(struct grouping *g, const struct profile *p, const struct stream *s,
                          enum known by)
{
    autofree struct str_id *leaders = leader_names(p);
    autofree uint32_t *of_thread = mem_calloc(p->threads.n + 1, sizeof *of_thread);
    for (size_t i = 1; i < p->threads.n; i++)
        of_thread[i] = name_thread(g, p, &p->threads.at[i], by, leaders);
    for (size_t i = 0; i < s->rows.n; i++)
        g->of_row[i] = of_thread[s->rows.thread[i].i];
}

/* --- by what the thread did --- */

/* A row may be of both kinds, and stand for several waits: what is summed decides. */
static enum thread_state state_of_wait(const struct stream *s, const struct waitstream *w, int type,
                                       size_t row)
{
    bool blocked = s->rows.value[w->wait_column[WAIT_BLOCKED]][row] > 0;
    bool runnable = s->rows.value[w->wait_column[WAIT_RUNNABLE]][row] > 0;
    bool asked = type == w->wait_column[WAIT_RUNNABLE];
    return runnable && (asked || !blocked) ? THREAD_RUNNABLE : THREAD_BLOCKED;
}

static uint32_t name_wall(struct grouping *g, const struct profile *p, struct stack_id stack,
                          bool reasons)
{
    static const char front[] = "[blocked: ";
    const struct frame *f = stack.i ? profile_frame(p, p->stacks.nodes.at[stack.i].frame) : NULL;
    struct text leaf = f && f->n_lines ? profile_function_name(p, profile_lines(p, f)->function)
                                       : (struct text){"", 0};
    size_t n = sizeof front - 1;
    enum thread_state state = text_starts(leaf, front)      ? THREAD_BLOCKED
                              : text_is(leaf, "[runnable]") ? THREAD_RUNNABLE
                                                            : THREAD_RUNNING;
    if (reasons && state == THREAD_BLOCKED)
        return intern_add(&g->names, (struct text){leaf.at + n, leaf.n - n - 1});
    return intern_add(&g->names, text_of(thread_state_name(state)));
}

static void group_states(struct grouping *g, const struct profile *p, struct value_ref value,
                         bool reasons)
{
    struct waitstream w;
    const struct stream *s = profile_stream(p, value.stream);
    bool is_wait = waitstream_find(p, &w) && profile_stream(p, w.waits) == s;
    autofree uint32_t *of_stack = mem_calloc(p->stacks.nodes.n + 1, sizeof *of_stack);
    bool wall = stream_kind_of(p, s) == STREAM_WALL;
    for (size_t i = 0; i < s->rows.n; i++) {
        if (wall) {
            g->of_row[i] = name_wall(g, p, s->rows.stack[i], reasons);
            continue;
        }
        enum thread_state state = is_wait ? state_of_wait(s, &w, value.type, i) : THREAD_RUNNING;
        uint32_t *known = &of_stack[s->rows.stack[i].i];
        const char *name = thread_state_name(state);
        if (reasons && state == THREAD_BLOCKED) {
            if (!*known)
                *known = intern_add(
                    &g->names, text_of(waitreason_name(waitreason_of_stack(p, s->rows.stack[i]))));
            g->of_row[i] = *known;
        } else {
            g->of_row[i] = intern_add(&g->names, text_of(name));
        }
    }
}

/* --- by scope --- */

/* The innermost that the row was in. */
static int group_scopes(struct grouping *g, const struct profile *p, const struct stream *s,
                        struct err *err)
{
    int scopes = scopetree_stream(p);
    if (scopes < 0)
        return err_set(err, EXIT_INPUT,
                       "there are no scopes in this profile: the program must use kelvin.h");
    bool own = profile_stream(p, scopes) == s;
    autofree struct stack_id *in = own ? NULL : scopejoin_build(p, scopes, s);
    if (!own && !in)
        return err_set(err, EXIT_INPUT, "no groups by scope: the input has no times");
    for (size_t i = 0; i < s->rows.n; i++) {
        struct stack_id at = own ? s->rows.stack[i] : in[i];
        g->of_row[i] = at.i ? intern_add(&g->names, profile_str(p, scopetree_name(p, at))) : 0;
    }
    return 0;
}

/* --- by label --- */

static uint32_t name_attr(struct grouping *g, const struct profile *p, const struct attr *a)
{
    char number[32];
    if (!a->is_number)
        return intern_add(&g->names, profile_str(p, a->text));
    snprintf(number, sizeof number, "%lld", (long long)a->number);
    return intern_add(&g->names, text_of(number));
}

/* By set: the pair added last under the key counts. */
static uint32_t *names_of_sets(struct grouping *g, const struct profile *p, const char *key)
{
    uint32_t *of_set = mem_calloc(p->attrs.nodes.n + 1, sizeof *of_set);
    for (size_t i = 1; i < p->attrs.nodes.n; i++) {
        const struct attr_node *n = &p->attrs.nodes.at[i];
        bool same = text_is(profile_str(p, n->attr.key), key);
        of_set[i] = same ? name_attr(g, p, &n->attr) : of_set[n->parent.i];
    }
    return of_set;
}

static void group_labels(struct grouping *g, const struct profile *p, const struct stream *s,
                         const char *key)
{
    autofree uint32_t *of_set = names_of_sets(g, p, key);
    for (size_t i = 0; i < s->rows.n; i++) {
        const struct thread *t = &p->threads.at[s->rows.thread[i].i];
        uint32_t own = s->rows.attrs ? of_set[s->rows.attrs[i].i] : 0;
        g->of_row[i] = own ? own : of_set[p->processes.at[t->process.i].attrs.i];
    }
}

static int no_label(const struct profile *p, const char *key, struct err *err)
{
    autobuf struct buf keys = {0};
    struct intern seen;
    intern_init(&seen);
    for (int i = 0; known_keys[i]; i++)
        buf_printf(&keys, "%s%s", keys.n ? ", " : "", known_keys[i]);
    for (size_t i = 1; i < p->attrs.nodes.n && keys.n < 160; i++) {
        struct text name = profile_str(p, p->attrs.nodes.at[i].attr.key);
        if (intern_find(&seen, name) == IDMAP_NONE)
            buf_printf(&keys, ", %.*s", TEXT_ARG(name));
        intern_add(&seen, name);
    }
    intern_done(&seen);
    return err_set(err, EXIT_ERROR, "nothing has a label '%s'; there are: %s", key,
                   buf_cstr(&keys));
}

/* --- --- */

int grouping_build(struct grouping *g, const struct profile *p, struct value_ref value,
                   const char *key, struct err *err)
{
    const struct stream *s = profile_stream(p, value.stream);
    enum known by = known_of(key);
    *g = (struct grouping){.of_row = mem_calloc(s->rows.n + 1, sizeof *g->of_row)};
    intern_init(&g->names);
    if (by == BY_SCOPE && group_scopes(g, p, s, err) != 0)
        return -1;
    if (by == BY_SCOPE)
        return 0;
    if (by == BY_LABEL)
        group_labels(g, p, s, key);
    else if (by == BY_STATE || by == BY_REASON)
        group_states(g, p, value, by == BY_REASON);
    else
        group_threads(g, p, s, by);
    return by == BY_LABEL && g->names.strings.n < 2 ? no_label(p, key, err) : 0;
}

void grouping_done(struct grouping *g)
{
    if (g->of_row)
        intern_done(&g->names);
    free(g->of_row);
    *g = (struct grouping){0};
}

char *grouping_title(const struct grouping *g, uint32_t group, const char *key)
{
    struct text name = intern_get(&g->names, group);
    return name.n ? mem_strndup(name.at, name.n) : mem_printf("[no %s]", key);
}
