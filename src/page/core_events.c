/*
 * core_events.c - what happened, one by one: scopes, what the program marks itself, waits, locks,
 * page faults and other events, and processes that start and end.
 *
 * Filters by function do not apply: rows of these streams have stacks of their own.
 */
#include "analysis/label.h"
#include "analysis/scopetree.h"
#include "analysis/waitreason.h"
#include "base/firsts.h"
#include "base/pattern.h"
#include "model/streamkind.h"
#include "model/waitstream.h"
#include "page/lanes_inner.h"
#include "view/scopetree.h"

#include <math.h>

enum { EVENTS_AT_ONCE = 10000, EVENTS_FRAMES = 40, EVENTS_KINDS_MAX = 64 };

/* Of processes, which are no rows. */
enum { KIND_STARTED = EVENTS_KINDS_MAX, KIND_ENDED, KINDS };

struct happening {
    uint64_t time_ns, duration_ns;
    uint32_t row;  /* of the stream; of processes, the process */
    uint32_t kind; /* place in happenings.kinds */
};

struct event_kind {
    const struct stream *s; /* NULL = none such, or of processes */
    enum stream_kind stream_kind;
    int count_type;
    size_t n;
};

struct happenings {
    const struct profile *p;
    struct event_kind kinds[KINDS];
    VEC(struct happening) at;
    struct labels labels;
    uint8_t *reason_plus_1; /* by stack, of waits */
    struct str_id lock_key;
    struct waitstream waits;
    const char *sort;
    uint64_t first_ns;
};

static bool event_is_listed(const struct profile *p, const struct stream *s,
                            enum stream_kind *ret_kind)
{
    enum stream_kind kind = *ret_kind = stream_kind_of(p, s);
    if (!s->rows.time_ns || !s->rows.n)
        return false;
    if (kind != STREAM_OTHER)
        return kind == STREAM_SCOPES || kind == STREAM_MOMENTS || kind == STREAM_LOCKS ||
               kind == STREAM_WAITS;
    for (int i = 0; i < s->n_types; i++)
        if (s->types[i].dimension == DIM_TIME)
            return false;
    return obtained_is_event(s->obtained);
}

bool core_has_events(const struct profile *p)
{
    enum stream_kind kind;
    for (size_t i = 0; i < p->streams.n; i++)
        if (event_is_listed(p, p->streams.at[i], &kind))
            return true;
    return false;
}

static const char *event_word(const struct happenings *h, uint32_t kind)
{
    if (kind == KIND_STARTED)
        return "process starts";
    if (kind == KIND_ENDED)
        return "process ends";
    switch (h->kinds[kind].stream_kind) {
    case STREAM_SCOPES:
        return "scope";
    case STREAM_MOMENTS:
        return "mark";
    case STREAM_WAITS:
        return "wait";
    case STREAM_LOCKS:
        return "lock wait";
    default:
        return profile_str(h->p, h->kinds[kind].s->event).at;
    }
}

/* --- what each is called --- */

static enum wait_reason event_reason(struct happenings *h, struct stack_id stack)
{
    uint8_t *own = &h->reason_plus_1[stack.i];
    if (!*own)
        *own = (uint8_t)(waitreason_of_stack(h->p, stack) + 1);
    return (enum wait_reason)(*own - 1);
}

/* The innermost function of the program's own, or of the kernel where there is no other. */
static struct text event_function(struct happenings *h, struct stack_id stack)
{
    struct stack_id first = stack;
    for (; stack.i; stack = h->p->stacks.nodes.at[stack.i].parent)
        if (profile_frame(h->p, h->p->stacks.nodes.at[stack.i].frame)->kind != FRAME_KERNEL)
            break;
    stack = stack.i ? stack : first;
    if (!stack.i)
        return text_of("");
    struct frame_id frame = h->p->stacks.nodes.at[stack.i].frame;
    size_t n = labels_count(profile_frame(h->p, frame));
    return labels_text(&h->labels, labels_of_frame(&h->labels, h->p, frame, n - 1));
}

static const struct attr *event_attr(const struct happenings *h, const struct happening *e,
                                     struct str_id key)
{
    const struct rows *r = &h->kinds[e->kind].s->rows;
    return r->attrs && key.i ? attrs_find(&h->p->attrs, r->attrs[e->row], key) : NULL;
}

static struct text event_name(struct happenings *h, const struct happening *e)
{
    if (e->kind >= KIND_STARTED)
        return profile_str(h->p, h->p->processes.at[e->row].executable);
    const struct event_kind *k = &h->kinds[e->kind];
    struct stack_id stack = k->s->rows.stack[e->row];
    const struct attr *lock = k->stream_kind == STREAM_LOCKS ? event_attr(h, e, h->lock_key) : NULL;
    if (lock)
        return profile_str(h->p, lock->text);
    if (k->stream_kind == STREAM_WAITS &&
        k->s->rows.value[h->waits.wait_column[WAIT_BLOCKED]][e->row])
        return text_of(waitreason_name(event_reason(h, stack)));
    if (k->stream_kind == STREAM_WAITS)
        return text_of("runnable"); /* it waited for a CPU alone */
    if (k->stream_kind == STREAM_SCOPES || k->stream_kind == STREAM_MOMENTS)
        return profile_str(h->p, scopetree_name(h->p, stack));
    return event_function(h, stack);
}

static struct thread_id event_thread(const struct happenings *h, const struct happening *e)
{
    return e->kind < KIND_STARTED ? h->kinds[e->kind].s->rows.thread[e->row]
                                  : (struct thread_id){0};
}

/* "size=12, path=/tmp", outermost first. */
static void event_details(const struct happenings *h, const struct happening *e, struct buf *b)
{
    enum { MOST = 16 };
    uint32_t path[MOST], n = 0;
    const struct rows *r = e->kind < KIND_STARTED ? &h->kinds[e->kind].s->rows : NULL;
    for (uint32_t at = r && r->attrs ? r->attrs[e->row].i : 0; at && n < MOST;
         at = h->p->attrs.nodes.at[at].parent.i)
        path[n++] = at;
    while (n-- > 0) {
        const struct attr *a = &h->p->attrs.nodes.at[path[n]].attr;
        if (a->key.i == h->lock_key.i && h->kinds[e->kind].stream_kind == STREAM_LOCKS)
            continue;
        autofree char *pair = scopetree_attr(h->p, a);
        buf_str(b, b->n ? ", " : "");
        buf_str(b, pair);
    }
}

/* --- which are asked for --- */

static uint64_t since(const struct happenings *h, uint64_t time_ns)
{
    return time_ns > h->first_ns ? time_ns - h->first_ns : 0;
}

static void add_rows(struct happenings *h, uint32_t kind, const struct selection *s)
{
    const struct rows *r = &s->stream->rows;
    vec_reserve(&h->at, s->n_rows);
    for (size_t i = 0; i < s->n_rows; i++) {
        size_t row = selection_row(s, i);
        *vec_push(&h->at) = (struct happening){
            r->time_ns[row], r->duration_ns ? r->duration_ns[row] : 0, (uint32_t)row, kind};
    }
    h->kinds[kind].n = s->n_rows;
}

/* All events of a stream that are selected by time, thread, process, label and scope. Where there
 * are none by these, that is no error as long as another stream has some. */
static bool add_stream(struct happenings *h, const struct question *q, size_t stream, uint32_t kind,
                       struct err *err)
{
    struct selection s;
    struct question other = core_of_stream(q, NULL, NULL);
    struct selection_opts o = question_selection(&other);
    o.scopes = question_selection(q).scopes;
    if (selection_build(&s, h->p, (struct value_ref){(int)stream, 0}, &o, err) != 0)
        return false;
    bool waits = h->kinds[kind].stream_kind == STREAM_WAITS && waitstream_find(h->p, &h->waits);
    h->kinds[kind].count_type =
        waits ? h->waits.wait_column[WAIT_COUNT] : stream_samples(h->kinds[kind].s);
    add_rows(h, kind, &s);
    selection_done(&s);
    return true;
}

static void add_process_moments(struct happenings *h, const struct question *q)
{
    struct selection_moments seen = {0, UINT64_MAX};
    struct err ignored;
    for (int i = 0; i < QUESTION_LISTS; i++)
        if (q->list[i][0] && i <= QUESTION_SCOPES)
            return; /* of threads, labels or scopes */
    if (q->time && selection_moments(h->p, q->time, &seen, &ignored) != 0)
        return;
    for (uint32_t i = 1; i < h->p->processes.n; i++) {
        const struct process *process = &h->p->processes.at[i];
        const uint64_t at[] = {process->start_ns, process->end_ns};
        for (int k = 0; k < 2; k++)
            if (at[k] >= h->first_ns && at[k] && at[k] >= seen.from_ns && at[k] <= seen.to_ns) {
                *vec_push(&h->at) = (struct happening){at[k], 0, i, KIND_STARTED + (uint32_t)k};
                h->kinds[KIND_STARTED + k].n++;
            }
    }
}

static int add_all(struct happenings *h, const struct question *q, struct err *err)
{
    uint32_t kind = 0;
    bool any = false;
    for (size_t i = 0; i < h->p->streams.n && kind < EVENTS_KINDS_MAX; i++) {
        enum stream_kind stream_kind;
        if (!event_is_listed(h->p, h->p->streams.at[i], &stream_kind))
            continue;
        h->kinds[kind] = (struct event_kind){h->p->streams.at[i], stream_kind, -1, 0};
        any |= add_stream(h, q, i, kind++, err);
    }
    if (!kind)
        return err_set(err, EXIT_ERROR, "there are no events in this profile");
    if (!any)
        return -1;
    add_process_moments(h, q);
    return 0;
}

/* --- filter and order --- */

static void thread_words(const struct happenings *h, const struct happening *e, struct buf *b)
{
    struct thread_id id = event_thread(h, e);
    const struct thread *t = &h->p->threads.at[id.i];
    if (!id.i)
        return;
    buf_printf(b, "%.*s", TEXT_ARG(profile_str(h->p, t->name)));
    if (t->tid >= 0)
        buf_printf(b, " %d", t->tid);
}

/* PATTERN is looked for in "EVENT NAME THREAD DETAILS". */
static bool event_fits(struct happenings *h, const struct happening *e, const struct pattern *re,
                       struct buf *b)
{
    b->n = 0;
    struct text name = event_name(h, e);
    buf_printf(b, "%s %.*s ", event_word(h, e->kind), TEXT_ARG(name));
    thread_words(h, e, b);
    buf_byte(b, ' ');
    struct buf details = {0};
    event_details(h, e, &details);
    buf_add(b, details.at ? details.at : "", details.n);
    buf_done(&details);
    return pattern_fits(re, buf_cstr(b));
}

static int choose_events(struct happenings *h, const struct question *q, uint32_t **ret,
                         size_t *ret_n, struct err *err)
{
    struct pattern re;
    autobuf struct buf b = {0};
    bool filtered = q->pattern && *q->pattern;
    if (filtered && pattern_init(&re, q->pattern, true, err) != 0)
        return -1;
    uint32_t *chosen = mem_calloc(h->at.n + 1, sizeof *chosen);
    size_t n = 0;
    for (uint32_t i = 0; i < h->at.n; i++) {
        const struct happening *e = &h->at.at[i];
        if (q->by && strcmp(q->by, event_word(h, e->kind)) != 0)
            continue;
        if (!filtered || event_fits(h, e, &re, &b))
            chosen[n++] = i;
    }
    if (filtered)
        pattern_done(&re);
    *ret = chosen;
    *ret_n = n;
    return 0;
}

static int compare_words(struct text a, struct text b)
{
    int c = memcmp(a.at, b.at, a.n < b.n ? a.n : b.n);
    return c ? c : (a.n > b.n) - (a.n < b.n);
}

/* By what is sorted, then by time, then as they stand in the recording. */
static int event_before(const void *a, const void *b, void *ctx)
{
    struct happenings *h = ctx;
    uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
    const struct happening *x = &h->at.at[i], *y = &h->at.at[k];
    int c = 0;
    if (strcmp(h->sort, "duration") == 0)
        c = (x->duration_ns < y->duration_ns) - (x->duration_ns > y->duration_ns);
    else if (strcmp(h->sort, "event") == 0)
        c = strcmp(event_word(h, x->kind), event_word(h, y->kind));
    else if (strcmp(h->sort, "name") == 0)
        c = compare_words(event_name(h, x), event_name(h, y));
    else if (strcmp(h->sort, "thread") == 0)
        c = (event_thread(h, x).i > event_thread(h, y).i) -
            (event_thread(h, x).i < event_thread(h, y).i);
    if (c)
        return c;
    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? -1 : 1;
    return (i > k) - (i < k);
}

/* --- the answer --- */

static void put_stack(struct json *j, struct happenings *h, const struct happening *e)
{
    const struct event_kind *k = &h->kinds[e->kind];
    bool scoped = k->stream_kind == STREAM_SCOPES || k->stream_kind == STREAM_MOMENTS;
    size_t n = 0;
    json_key(j, "stack");
    json_open(j, '[');
    for (struct stack_id at = e->kind < KIND_STARTED ? k->s->rows.stack[e->row]
                                                     : (struct stack_id){0};
         at.i; at = h->p->stacks.nodes.at[at.i].parent) {
        struct frame_id frame = h->p->stacks.nodes.at[at.i].frame;
        if (scoped && n++ < EVENTS_FRAMES)
            json_text(j, profile_str(h->p, scopetree_name(h->p, at)));
        for (size_t i = scoped ? 0 : labels_count(profile_frame(h->p, frame)); i-- > 0;)
            if (n++ < EVENTS_FRAMES)
                json_text(j, labels_text(&h->labels, labels_of_frame(&h->labels, h->p, frame, i)));
    }
    json_close(j, ']');
}

static void put_event(struct json *j, struct happenings *h, const struct happening *e)
{
    const struct event_kind *k = &h->kinds[e->kind];
    const struct process *process = e->kind >= KIND_STARTED ? &h->p->processes.at[e->row] : NULL;
    autobuf struct buf details = {0};
    event_details(h, e, &details);
    json_open(j, '{');
    json_put_number(j, "time_s", (double)since(h, e->time_ns) / 1e9);
    json_put_number(j, "duration_s",
                    !process && k->s->rows.duration_ns ? (double)e->duration_ns / 1e9 : NAN);
    json_put_str(j, "event", event_word(h, e->kind));
    json_key(j, "what");
    json_text(j, event_name(h, e));
    json_key(j, "n");
    json_int(j, !process && k->count_type >= 0 ? k->s->rows.value[k->count_type][e->row] : 1);
    if (process) {
        json_key(j, "name");
        json_text(j, text_of(""));
        json_key(j, "pid");
        json_int(j, process->pid);
        json_key(j, "tid");
        json_int(j, THREAD_NO_ID);
    } else {
        lanes_put_thread(j, h->p, event_thread(h, e).i);
    }
    json_put_str(j, "details", buf_cstr(&details));
    put_stack(j, h, e);
    json_close(j, '}');
}

static void put_kinds(struct json *j, const struct happenings *h)
{
    json_key(j, "kinds");
    json_open(j, '[');
    for (uint32_t i = 0; i < KINDS; i++)
        if (h->kinds[i].n) {
            json_open(j, '{');
            json_put_str(j, "event", event_word(h, i));
            json_put_uint(j, "n", h->kinds[i].n);
            json_close(j, '}');
        }
    json_close(j, ']');
}

static int put_events(struct json *j, struct happenings *h, const struct question *q,
                      struct err *err)
{
    size_t n;
    uint32_t *chosen;
    if (add_all(h, q, err) != 0 || choose_events(h, q, &chosen, &n, err) != 0)
        return -1;
    size_t skip = q->skip < 0 ? 0 : (size_t)q->skip < n ? (size_t)q->skip : n;
    size_t top = q->top < 0 ? 0 : q->top < EVENTS_AT_ONCE ? (size_t)q->top : EVENTS_AT_ONCE;
    top = top < n - skip ? top : n - skip;
    firsts_order(chosen, n, skip + top, event_before, h);
    put_kinds(j, h);
    json_put_uint(j, "n", n);
    json_key(j, "rows");
    json_open(j, '[');
    for (size_t i = skip; i < skip + top; i++)
        put_event(j, h, &h->at.at[chosen[i]]);
    json_close(j, ']');
    free(chosen);
    return 0;
}

/* What happened, SKIP to SKIP + TOP, sorted by "time", "duration", "event", "name" or "thread". */
int core_events(struct core *c, const struct question *q, struct json *j, struct err *err)
{
    uint64_t last;
    const struct profile *p = c->profile[q->file];
    if (!p)
        return err_set(err, EXIT_ERROR, "file %lld is not loaded", (long long)q->file);
    struct happenings h = {.p = p, .sort = q->sort ? q->sort : "time"};
    uint32_t key = intern_find(&p->strings, text_of("lock"));
    h.lock_key.i = key == IDMAP_NONE ? 0 : key;
    if (!lanes_span(p, &h.first_ns, &last))
        return err_set(err, EXIT_ERROR, "the recording has no times");
    labels_init(&h.labels, p, &(struct label_opts){.merge_kinds = true});
    h.reason_plus_1 = mem_calloc(p->stacks.nodes.n + 1, 1);
    int rc = put_events(j, &h, q, err);
    labels_done(&h.labels);
    free(h.reason_plus_1);
    vec_done(&h.at);
    return rc;
}
