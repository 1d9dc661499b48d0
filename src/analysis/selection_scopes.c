/* selection_scopes.c - rows by the scopes of the program that they were in. */
#include "analysis/scopejoin.h"
#include "analysis/scopetree.h"
#include "analysis/selection_inner.h"

/* By stack: whether a scope on it matches; false when none does at all. */
static bool stacks_in_scope(const struct profile *p, const regex_t *re, uint8_t *has)
{
    bool any = false;
    for (size_t i = 1; i < p->stacks.nodes.n; i++) {
        struct stack_node n = p->stacks.nodes.at[i];
        const struct frame *f = profile_frame(p, n.frame);
        const struct line *lines = profile_lines(p, f);
        bool is =
            lines && regexec(re, profile_function_name(p, lines[0].function).at, 0, NULL, 0) == 0;
        has[i] |= has[n.parent.i] || is;
        any |= is;
    }
    return any;
}

static int match_scopes(struct selection_job *job, int scopes, uint8_t *has)
{
    for (const char *const *at = job->opts->scopes; *at; at++) {
        regex_t re;
        selection_names names = {0};
        if (selection_pattern(job, *at, &re) != 0)
            return -1;
        bool any = stacks_in_scope(job->p, &re, has);
        regfree(&re);
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

int selection_by_scope(struct selection_job *job)
{
    if (!job->opts->scopes || !job->opts->scopes[0])
        return 0;
    int scopes = scopetree_stream(job->p);
    if (scopes < 0)
        return err_set(job->err, EXIT_ERROR,
                       "there are no scopes in this profile: the program must use kelvin.h");
    bool own = profile_stream(job->p, scopes) == job->stream;
    autofree struct stack_id *in = own ? NULL : scopejoin_build(job->p, scopes, job->stream);
    if (!own && !job->stream->rows.n)
        return err_set(job->err, EXIT_ERROR,
                       "there are no samples to select by scope: only scopes were recorded, which "
                       "'kelvin scopes' shows");
    if (!own && !in)
        return err_set(job->err, EXIT_ERROR, "a scope cannot be selected: the input has no times");
    autofree uint8_t *has = mem_calloc(job->p->stacks.nodes.n, 1);
    if (match_scopes(job, scopes, has) != 0)
        return -1;
    for (size_t i = 0; i < job->stream->rows.n; i++)
        job->out[i] |= !has[own ? job->stream->rows.stack[i].i : in[i].i];
    selection_add_words(job, "scope", job->opts->scopes);
    return 0;
}
