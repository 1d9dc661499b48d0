/* report.c - gathering what a report tells; its words are in report_text.c. */
#include "view/report.h"

enum { MAX_PATHS = 24 };

/* The hot paths: as many as fit a screen or two. */
static void find_paths(struct report *r)
{
    for (r->paths_least = 0.02;; r->paths_least *= 1.5) {
        struct calltree_opts o = {
            .type = r->type, .min_share = r->paths_least, .labels = {.merge_kinds = true}};
        r->paths = calltree_build(r->profile, &o);
        size_t branches = 0;
        for (size_t i = 0; i < r->paths->n; i++)
            branches += r->paths->child_end[i] - r->paths->child_at[i] != 1;
        if (branches <= MAX_PATHS || r->paths_least > 0.5)
            return;
        calltree_free(r->paths);
    }
}

static void build_whole(struct report *r)
{
    r->modules = flat_build(r->profile, r->type, FLAT_MODULE);
    r->threads = flat_build(r->profile, r->type, FLAT_THREAD);
    r->insights = insights_build(&(struct insight_input){r->profile, r->functions, &r->quality,
                                                         r->opts.code, r->opts.n_code});
    find_paths(r);
}

int report_build(struct report *r, const struct profile *p, int type,
                 const struct report_opts *opts, struct err *err)
{
    *r = (struct report){.profile = p, .type = type, .opts = *opts};
    r->quality = quality_of(p, type);
    r->functions = flat_build(p, type, FLAT_FUNCTION);
    if (opts->has_by)
        r->by = flat_build(p, type, opts->by);
    if (opts->callers) {
        r->of_callers = mem_calloc(r->functions->rows.n + 1, sizeof *r->of_callers);
        return flat_find(r->functions, opts->callers, r->of_callers, err);
    }
    if (!opts->has_by)
        build_whole(r);
    return 0;
}

void report_done(struct report *r)
{
    flat_free(r->functions);
    flat_free(r->modules);
    flat_free(r->threads);
    flat_free(r->by);
    calltree_free(r->paths);
    insights_done(&r->insights);
    free(r->of_callers);
}

char *report_title(const struct report *r)
{
    const char *what = meta_find(&r->profile->meta, META_COMMAND);
    if (!what)
        what = meta_find(&r->profile->meta, META_SOURCE);
    return mem_printf("Report on %s", what ? what : "a profile");
}
