#include "analysis/extract.h"

#include "analysis/label.h"

struct extract {
    const struct selection *s;
    const struct profile *from;
    struct profile *to;
    struct labels labels;
    struct stack_id *stack_of; /* by stack of FROM */
    uint32_t *last_label;      /* by stack of FROM: of its last function; LABEL_NONE = none */
    VEC(struct line) lines;    /* of one frame, scratch */
};

/* --- tables that stay as they are --- */

#define COPY_TABLE(to, from, table)                                            \
    do {                                                                       \
        size_t n_ = (from)->table.n;                                           \
        (to)->table.n = 0;                                                     \
        vec_reserve(&(to)->table, n_ + 1);                                     \
        memcpy((to)->table.at, (from)->table.at, n_ * sizeof *(to)->table.at); \
        (to)->table.n = n_;                                                    \
    } while (0)

static void copy_tables(struct extract *e)
{
    for (size_t i = 0; i < e->from->strings.strings.n; i++)
        profile_add_str(e->to, e->from->strings.strings.at[i]);
    COPY_TABLE(e->to, e->from, mappings);
    COPY_TABLE(e->to, e->from, functions);
    COPY_TABLE(e->to, e->from, processes);
    COPY_TABLE(e->to, e->from, threads);
    COPY_TABLE(e->to, e->from, attrs.nodes);
    COPY_TABLE(e->to, e->from, lines);
    COPY_TABLE(e->to, e->from, frames);
    e->to->clock = e->from->clock;
    for (size_t i = 0; i < e->from->meta.entries.n; i++)
        meta_set_str(&e->to->meta, e->from->meta.entries.at[i].key,
                     e->from->meta.entries.at[i].value);
    if (e->s->words)
        meta_set_str(&e->to->meta, "selected", e->s->words);
}

/* --- stacks --- */

/* Whether the K-th function of a frame is seen behind one with the label LAST. */
static bool is_seen(const struct extract *e, struct frame_id frame, size_t k, uint32_t last,
                    uint32_t *ret_label)
{
    if (selection_hides(e->s, frame, k))
        return false;
    *ret_label = labels_get(&e->labels, e->from, frame, k);
    return !e->s->merge_recursion || *ret_label != last;
}

/* What of FRAME is seen. Returns how many functions; what they are is in e->lines. */
static size_t seen_of(struct extract *e, struct frame_id frame, uint32_t *last)
{
    const struct frame *f = profile_frame(e->from, frame);
    const struct line *lines = profile_lines(e->from, f);
    size_t n = 0;
    e->lines.n = 0;
    for (size_t k = 0; k < labels_count(f); k++) {
        uint32_t label;
        if (!is_seen(e, frame, k, *last, &label))
            continue;
        *last = label;
        n++;
        if (lines)
            *vec_push(&e->lines) = lines[k];
    }
    return n;
}

static struct stack_id stack_for(struct extract *e, struct stack_node node, uint32_t *last)
{
    const struct frame *f = profile_frame(e->from, node.frame);
    struct stack_id parent = e->stack_of[node.parent.i];
    size_t n = seen_of(e, node.frame, last);
    if (n == labels_count(f))
        return stacks_push(&e->to->stacks, parent, node.frame);
    if (!n)
        return parent;
    struct frame_key key = {f->pc, f->mapping, (enum frame_kind)f->kind, e->lines.at, e->lines.n};
    return stacks_push(&e->to->stacks, parent, profile_add_frame(e->to, &key));
}

static void copy_stacks(struct extract *e)
{
    size_t n = e->from->stacks.nodes.n;
    e->stack_of = mem_calloc(n, sizeof *e->stack_of);
    e->last_label = mem_calloc(n, sizeof *e->last_label);
    e->last_label[0] = LABEL_NONE;
    labels_build(&e->labels, e->from, &(struct label_opts){0});
    for (size_t i = 1; i < n; i++) {
        struct stack_node node = e->from->stacks.nodes.at[i];
        e->last_label[i] = e->last_label[node.parent.i];
        e->stack_of[i] = stack_for(e, node, &e->last_label[i]);
    }
}

/* --- the stream --- */

/* What a part of it lost is not known. */
static void copy_stream(struct extract *e)
{
    const struct stream *from = e->s->stream;
    int stream = profile_add_stream(e->to, "", from->obtained);
    struct stream *to = profile_stream(e->to, stream);
    to->event = from->event;
    to->rate_hz = from->rate_hz;
    to->rate_achieved_hz = from->rate_achieved_hz;
    for (int i = 0; i < from->n_types; i++) {
        profile_add_value(e->to, stream, "", "");
        to->types[i] = from->types[i];
        to->types[i].total = 0;
    }
    if (!e->s->rows) {
        to->lost_known = from->lost_known;
        to->lost = from->lost;
        to->throttled = from->throttled;
        to->unfinished_known = from->unfinished_known;
        to->n_unfinished = from->n_unfinished;
        memcpy(to->unfinished, from->unfinished, sizeof to->unfinished);
    }
    e->to->default_value = (struct value_ref){stream, e->s->type};
}

static void copy_rows(struct extract *e)
{
    const struct rows *r = &e->s->stream->rows;
    int64_t *cut[STREAM_MAX_TYPES];
    int n_types = e->s->stream->n_types;
    for (int k = 0; k < n_types; k++)
        cut[k] = selection_cut(e->s, k);
    for (size_t i = 0; i < e->s->n_rows; i++) {
        int64_t values[STREAM_MAX_TYPES];
        size_t row = selection_row(e->s, i);
        for (int k = 0; k < n_types; k++)
            values[k] = cut[k] ? cut[k][row] : r->value[k][row];
        struct row to = {.stack = e->stack_of[r->stack[row].i],
                         .thread = r->thread[row],
                         .attrs = r->attrs ? r->attrs[row] : (struct attrs_id){0},
                         .has_time = r->time_ns != NULL,
                         .time_ns = r->time_ns ? r->time_ns[row] : 0,
                         .duration_ns = r->duration_ns ? r->duration_ns[row] : 0,
                         .values = values};
        struct err err; /* cannot fail: all rows together fit */
        profile_add_row(e->to, 0, &to, &err);
    }
    for (int k = 0; k < n_types; k++)
        free(cut[k]);
}

struct profile *extract_build(const struct selection *s)
{
    struct extract e = {.s = s, .from = s->profile, .to = profile_new()};
    copy_tables(&e);
    copy_stacks(&e);
    copy_stream(&e);
    copy_rows(&e);
    labels_done(&e.labels);
    free(e.stack_of);
    free(e.last_label);
    vec_done(&e.lines);
    return e.to;
}
