/* selection.c - what is asked for, made into rows and functions; see selection.h. */
#include "analysis/selection.h"

#include "analysis/label.h"
#include "analysis/restack.h"
#include "analysis/selection_inner.h"
#include "analysis/waitsum.h"
#include "base/block.h"
#include "base/opt.h"

/* --- words and names --- */

void selection_add_words(struct selection_job *job, const char *what, const char *const *list)
{
    if (!list || !list[0])
        return;
    buf_printf(&job->words, "%s%s ", job->words.n ? ", " : "", what);
    for (size_t i = 0; list[i]; i++)
        buf_printf(&job->words, "%s%s", i ? " or " : "", list[i]);
}

void selection_add_name(selection_names *names, const char *name)
{
    for (size_t i = 0; i < names->n && i < 64; i++)
        if (strcmp(names->at[i], name) == 0)
            return;
    if (*name)
        *vec_push(names) = name;
}

/* "a, b, c...": at most six. */
static void list_names(struct buf *b, const selection_names *names)
{
    enum { MOST = 6 };
    for (size_t i = 0; i < names->n && i < MOST; i++)
        buf_printf(b, "%s%.40s", i ? ", " : "", names->at[i]);
    buf_str(b, names->n > MOST ? ", ..." : "");
}

int selection_none(struct selection_job *job, const char *what, const char *word,
                   selection_names *names)
{
    autobuf struct buf list = {0};
    list_names(&list, names);
    *vec_push(names) = NULL;
    const char *near = opt_nearest(word, names->at);
    if (near)
        return err_set(job->err, EXIT_ERROR, "no %s matches '%s'; did you mean '%s'?", what, word,
                       near);
    if (names->n > 1)
        return err_set(job->err, EXIT_ERROR, "no %s matches '%s'; there are: %s", what, word,
                       buf_cstr(&list));
    return err_set(job->err, EXIT_ERROR, "no %s matches '%s': the profile names none", what, word);
}

/* --- functions --- */

/* The functions that patterns match: by index in profile.lines, and by frame id without lines. */
struct functions {
    uint8_t *line, *bare;
    bool optional; /* a pattern may match none */
};

static struct functions functions_new(const struct profile *p)
{
    return (struct functions){mem_calloc(p->lines.n + 1, 1), mem_calloc(p->frames.n + 1, 1), false};
}

static void functions_done(struct functions *f)
{
    free(f->line);
    free(f->bare);
}

/* By label: whether the pattern is a part of its text. */
static uint8_t *match_labels(const struct labels *l, const struct pattern *re)
{
    uint8_t *hit = mem_calloc(l->at.n + 1, 1);
    for (uint32_t i = 0; i < l->at.n; i++)
        hit[i] = pattern_fits(re, labels_text(l, i).at);
    return hit;
}

static size_t mark_functions(const struct profile *p, const struct labels *l,
                             const struct pattern *re, struct functions *f)
{
    autofree uint8_t *hit = match_labels(l, re);
    size_t n = 0;
    for (uint32_t i = 0; i < p->frames.n; i++) {
        const struct frame *frame = &p->frames.at[i];
        for (size_t k = 0; k < labels_count(frame); k++) {
            uint8_t is = hit[labels_get(l, p, (struct frame_id){i}, k)];
            uint8_t *at = frame->n_lines ? &f->line[frame->first_line + k] : &f->bare[i];
            *at |= is;
            n += is;
        }
    }
    return n;
}

static int no_function(struct selection_job *job, const struct labels *l, const char *pattern)
{
    selection_names names = {0};
    for (uint32_t i = 0; i < l->at.n; i++)
        *vec_push(&names) = labels_text(l, i).at;
    int rc = selection_none(job, "function", pattern, &names);
    vec_done(&names);
    return rc;
}

/* A pattern that matches nothing is a slip of the hand; but to hide what is not there is no harm.
 */
static int match_one(struct selection_job *job, const struct labels *l, const char *pattern,
                     struct functions *f)
{
    struct pattern re;
    if (pattern_init(&re, pattern, false, job->err) != 0)
        return -1;
    size_t n = mark_functions(job->p, l, &re, f);
    pattern_done(&re);
    return n || f->optional ? 0 : no_function(job, l, pattern);
}

/* The functions that any of the patterns matches; every pattern must match one, unless OPTIONAL. */
static int match_functions(struct selection_job *job, const char *const *patterns, bool optional,
                           struct functions *ret)
{
    struct labels l;
    int rc = 0;
    *ret = functions_new(job->p);
    ret->optional = optional;
    labels_build(&l, job->p, &(struct label_opts){.merge_kinds = true});
    for (size_t i = 0; patterns[i] && rc == 0; i++)
        rc = match_one(job, &l, patterns[i], ret);
    labels_done(&l);
    return rc;
}

/* --- stacks --- */

static bool frame_has(const struct functions *f, const struct profile *p, struct frame_id id)
{
    const struct frame *frame = profile_frame(p, id);
    for (size_t i = 0; i < frame->n_lines; i++)
        if (f->line[frame->first_line + i])
            return true;
    return !frame->n_lines && f->bare[id.i];
}

/* By stack: whether one of the functions is on it. */
static uint8_t *stacks_with(const struct functions *f, const struct profile *p)
{
    uint8_t *has = mem_calloc(p->stacks.nodes.n, 1);
    for (size_t i = 1; i < p->stacks.nodes.n; i++) {
        struct stack_node n = p->stacks.nodes.at[i];
        has[i] = has[n.parent.i] || frame_has(f, p, n.frame);
    }
    return has;
}

/* Rows whose stack has (or has not) one of the functions do not count. */
static int filter_stacks(struct selection_job *job, const char *what, const char *const *patterns,
                         uint8_t has_is_out)
{
    struct functions f;
    if (!patterns || !patterns[0])
        return 0;
    int rc = match_functions(job, patterns, false, &f);
    selection_add_words(job, what, patterns);
    autofree uint8_t *has = rc == 0 ? stacks_with(&f, job->p) : NULL;
    for (size_t i = 0; rc == 0 && i < job->stream->rows.n; i++)
        job->out[i] |= has[job->stream->rows.stack[i].i] == has_is_out;
    functions_done(&f);
    return rc;
}

static int hide_functions(struct selection_job *job, struct selection *s)
{
    struct functions f;
    if (!job->opts->hide || !job->opts->hide[0])
        return 0;
    int rc = match_functions(job, job->opts->hide, true, &f);
    s->hidden_line = f.line;
    s->hidden_bare = f.bare;
    return rc;
}

/* --- all of it --- */

struct selection selection_all(const struct profile *p, struct value_ref value)
{
    const struct stream *stream = profile_stream(p, value.stream);
    int counts = stream_samples(stream);
    return (struct selection){
        .profile = p,
        .stream = stream,
        .value = value,
        .type = value.type,
        .count_type = counts,
        .total = stream->types[value.type].total,
        .n_samples = counts >= 0 ? stream->types[counts].total : 0,
        .n_rows = stream->rows.n,
        .moments = {0, UINT64_MAX},
    };
}

static bool has_row_filter(const struct selection_opts *o)
{
    const char *const *const lists[] = {o->threads, o->processes, o->where,
                                        o->scopes,  o->focus,     o->ignore};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (lists[i] && lists[i][0])
            return true;
    return o->time != NULL || o->last != NULL || o->subtree != NULL;
}

BLOCK_CALL static void sum_some_rows(struct selection *s, size_t from, size_t to)
{
    const int64_t *value = selection_values(s), *count = selection_counts(s);
    for (size_t i = from; i < to; i++) {
        s->total += value[selection_row(s, i)];
        s->n_samples += count ? count[selection_row(s, i)] : 0;
    }
}

static void sum_rows(struct selection *s)
{
    s->total = s->n_samples = 0;
    for_each_block(from, to, s->n_rows) sum_some_rows(s, from, to);
}

BLOCK_CALL static void take_some_rows(struct selection *s, const uint8_t *out, size_t from,
                                      size_t to)
{
    size_t n = s->n_rows;
    for (size_t i = from; i < to; i++) {
        s->rows[n] = (uint32_t)i;
        n += !out[i];
    }
    s->n_rows = n;
}

static bool has_bounds(const struct selection *s)
{
    return s->moments.from_ns || s->moments.to_ns != UINT64_MAX;
}

int64_t *selection_cut(const struct selection *s, int type)
{
    enum stream_kind kind = stream_kind_of(s->profile, s->stream);
    struct selection of = *s;
    struct waitstream streams;
    of.type = type;
    if (!has_bounds(s) || !s->stream->rows.duration_ns ||
        (kind != STREAM_WAITS && kind != STREAM_WALL))
        return NULL;
    waitstream_find(s->profile, &streams);
    if (kind == STREAM_WAITS && type == streams.wait_column[WAIT_COUNT])
        return NULL;
    int64_t *inside = mem_calloc(s->stream->rows.n + 1, sizeof *inside);
    for (size_t i = 0; i < s->n_rows; i++) {
        size_t row = selection_row(s, i);
        inside[row] = waitsum_value_inside(&of, &streams, row);
    }
    return inside;
}

static void take_rows(struct selection *s, const uint8_t *out)
{
    size_t n = 0;
    for (size_t i = 0; i < s->stream->rows.n; i++)
        n += !out[i];
    s->rows = mem_array(n + 1, sizeof *s->rows);
    s->n_rows = 0;
    for_each_block(from, to, s->stream->rows.n) take_some_rows(s, out, from, to);
    s->inside = selection_cut(s, s->type);
    sum_rows(s);
}

static int filter_rows(struct selection_job *job, struct selection *s)
{
    autofree uint8_t *out = mem_calloc(job->stream->rows.n + 1, 1);
    job->out = out;
    if (selection_by_time(job) != 0 || selection_by_thread(job) != 0 ||
        selection_by_process(job) != 0 || selection_by_attrs(job) != 0 ||
        selection_by_scope(job) != 0 || selection_descend(job, s) != 0 ||
        filter_stacks(job, "focus", job->opts->focus, 0) != 0 ||
        filter_stacks(job, "without", job->opts->ignore, 1) != 0)
        return -1;
    s->moments = job->moments;
    take_rows(s, out);
    if (!s->n_rows)
        return err_set(job->err, EXIT_ERROR, "nothing was recorded with all of: %s",
                       buf_cstr(&job->words));
    return 0;
}

int selection_build(struct selection *ret, const struct profile *p, struct value_ref value,
                    const struct selection_opts *opts, struct err *err)
{
    *ret = selection_all(p, value);
    struct selection_job job = {.p = p,
                                .stream = ret->stream,
                                .value = value,
                                .opts = opts,
                                .moments = ret->moments,
                                .err = err};
    ret->merge_recursion = opts->merge_recursion;
    int rc = selection_collapse(&job, ret);
    if (rc == 0)
        rc = hide_functions(&job, ret);
    if (rc == 0 && has_row_filter(opts))
        rc = filter_rows(&job, ret);
    selection_add_words(&job, "hide", opts->hide);
    if (opts->merge_recursion)
        buf_printf(&job.words, "%srecursion merged", job.words.n ? ", " : "");
    if (rc == 0 && job.words.n)
        ret->words = mem_strdup(buf_cstr(&job.words));
    buf_done(&job.words);
    if (rc != 0)
        selection_done(ret);
    return rc;
}

void selection_done(struct selection *s)
{
    free(s->rows);
    free(s->inside);
    free(s->hidden_line);
    free(s->hidden_bare);
    free(s->words);
    for (int i = 0; i < SELECTION_RESTACKS; i++) {
        restack_free(s->restacks[i]);
        s->restacks[i] = NULL;
    }
    s->rows = NULL;
    s->inside = NULL;
    s->hidden_line = s->hidden_bare = NULL;
    s->words = NULL;
}

struct selection selection_of_type(const struct selection *s, int type)
{
    struct selection r = *s;
    r.value.type = r.type = type;
    r.inside = type == s->type ? s->inside : NULL;
    if (s->rows)
        sum_rows(&r);
    else
        r.total = s->stream->types[type].total;
    return r;
}

bool *selection_hidden_frames(const struct selection *s)
{
    if (!s->hidden_line)
        return NULL;
    bool *hidden = mem_calloc(s->profile->frames.n + 1, sizeof *hidden);
    for (uint32_t i = 0; i < s->profile->frames.n; i++)
        hidden[i] = selection_hides_frame(s, (struct frame_id){i});
    return hidden;
}
