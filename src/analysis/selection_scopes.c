/* selection_scopes.c - rows by the scopes of the program that they were in. */
#include "analysis/scopejoin.h"
#include "analysis/scopetree.h"
#include "analysis/selection_inner.h"

/* By stack: whether a scope on it matches; false when none does at all. */
static bool stacks_in_scope(const struct profile *p, const struct pattern *re, uint8_t *has)
{
    bool any = false;
    for (size_t i = 1; i < p->stacks.nodes.n; i++) {
        struct stack_node n = p->stacks.nodes.at[i];
        const struct frame *f = profile_frame(p, n.frame);
        const struct line *lines = profile_lines(p, f);
        bool is = lines && pattern_fits(re, profile_function_name(p, lines[0].function).at);
        has[i] |= has[n.parent.i] || is;
        any |= is;
    }
    return any;
}

static int match_scopes(struct selection_job *job, int scopes, uint8_t *has)
{
    for (const char *const *at = job->opts->scopes; *at; at++) {
        struct pattern re;
        selection_names names = {0};
        if (pattern_init(&re, *at, false, job->err) != 0)
            return -1;
        bool any = stacks_in_scope(job->p, &re, has);
        pattern_done(&re);
        if (any)
            continue;
        const struct rows *rows = &profile_stream(job->p, scopes)->rows;
        for (size_t i = 0; i < rows->n && i < 4096; i++) {
            const struct frame *f =
                profile_frame(job->p, job->p->stacks.nodes.at[rows->stack[i].i].frame);
            const struct line *lines = profile_lines(job->p, f);
            if (lines)
                selection_add_name(&names, profile_function_name(job->p, lines[0].function).at);
        }
        int rc = selection_none(job, "scope", *at, &names);
        vec_done(&names);
        return rc;
    }
    return 0;
}

static bool name_fits(const void *re, const char *name)
{
    return pattern_fits(re, name);
}

/* Rows that are sums. */
static int select_by_scope_label(struct selection_job *job)
{
    autofree uint8_t *any = mem_calloc(job->p->attrs.nodes.n, 1);
    if (!scopejoin_has_labels(job->p))
        return err_set(job->err, EXIT_INPUT, SCOPEJOIN_NO_LABELS);
    for (const char *const *at = job->opts->scopes; *at; at++) {
        struct pattern re;
        if (pattern_init(&re, *at, false, job->err) != 0)
            return -1;
        autofree uint8_t *has = scopejoin_label_sets(job->p, name_fits, &re);
        pattern_done(&re);
        for (size_t i = 0; i < job->p->attrs.nodes.n; i++)
            any[i] |= has[i];
    }
    const struct attrs_id *labels = job->stream->rows.attrs;
    for (size_t i = 0; i < job->stream->rows.n; i++)
        job->out[i] |= !labels || !any[labels[i].i];
    return 0;
}

static void select_by_span(struct selection_job *job, const struct stack_id *in, const uint8_t *has)
{
    for (size_t i = 0; i < job->stream->rows.n; i++)
        job->out[i] |= !has[in ? in[i].i : job->stream->rows.stack[i].i];
}

int selection_by_scope(struct selection_job *job)
{
    if (!job->opts->scopes || !job->opts->scopes[0])
        return 0;
    int scopes = scopetree_stream(job->p);
    if (scopes < 0)
        return err_set(job->err, EXIT_INPUT,
                       "there are no scopes in this profile: the program must use kelvin.h");
    bool own = profile_stream(job->p, scopes) == job->stream;
    bool by_label = scopejoin_by_label(job->stream);
    autofree struct stack_id *in =
        own || by_label ? NULL : scopejoin_build(job->p, scopes, job->stream);
    if (!own && !job->stream->rows.n)
        return err_set(job->err, EXIT_INPUT,
                       "there are no samples to select by scope: only scopes were recorded, which "
                       "'kelvin scopes' shows");
    if (!own && !by_label && !in)
        return err_set(job->err, EXIT_INPUT, "a scope cannot be selected: the input has no times");
    autofree uint8_t *has = mem_calloc(job->p->stacks.nodes.n, 1);
    if (match_scopes(job, scopes, has) != 0 || (by_label && select_by_scope_label(job) != 0))
        return -1;
    if (!by_label)
        select_by_span(job, in, has);
    selection_add_words(job, "scope", job->opts->scopes);
    return 0;
}
