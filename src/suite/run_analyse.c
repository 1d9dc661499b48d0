/* run_analyse.c - the phase of a run that makes sense of what was measured. */
#include "suite/hotcode.h"
#include "suite/run_inner.h"
#include "suite/run_variants.h"

/* Hot code, where it was asked for or insights can use it. What it points into stays open. */
static void look_at_code(struct suite_result *w, struct hotcode *code)
{
    const struct suite_recording *rec = &w->recordings.at[0];
    hotcode_read_profile(code, &rec->selection, &(struct hotcode_opts){.least = 0.001});
}

/* What a share of the time is in, largest first, and what of it is not worth a word. */
static void say_classes(struct buf *b, const struct hotcode *code)
{
    static const char *const words[SIMD_VERDICTS] = {
        [SIMD_PACKED] = "in functions whose floating point is packed",
        [SIMD_PACKED_INT] = "in functions with vectors of integers",
        [SIMD_MOVES] = "in functions that copy in vectors",
        [SIMD_SCALAR] = "in scalar floating point",
        [SIMD_INTEGER] = "in plain integer code",
    };
    int64_t by_class[SIMD_VERDICTS] = {0};
    for (size_t i = 0; i < code->rows.n; i++)
        by_class[simd_verdict_of(&code->rows.at[i].hot)] += code->rows.at[i].self;
    for (int round = 0; round < SIMD_VERDICTS; round++) {
        int most = 0;
        for (int i = 1; i < SIMD_VERDICTS; i++)
            most = by_class[i] > by_class[most] ? i : most;
        double share = 100.0 * (double)by_class[most] / (double)code->total;
        if (words[most] && share >= 0.5)
            buf_printf(b, "%s%.0f%% %s", b->n ? ", " : "", share, words[most]);
        by_class[most] = -1;
    }
}

/* "53% in plain integer code, 7% in functions with vectors of integers. Hottest: find (integer)" */
static void describe_code(struct suite_result *w, const struct hotcode *code)
{
    enum { NAMED = 3 };
    autobuf struct buf line = {0};
    char word[32];
    if (!code->total || code->total - code->elsewhere <= 0) {
        suite_absent(w, COLLECT_SIMD, "the code of the hot functions could not be read");
        return;
    }
    w->simd = code->all;
    say_classes(&line, code);
    if (code->elsewhere)
        buf_printf(&line, "%s%.0f%% in code that could not be looked at, such as the kernel's",
                   line.n ? ", " : "", 100.0 * (double)code->elsewhere / (double)code->total);
    for (size_t i = 0; i < code->rows.n && i < NAMED; i++)
        buf_printf(&line, "%s%s (%s)", i ? ", " : ". The hottest: ", code->rows.at[i].name,
                   simd_describe(&code->rows.at[i].hot, word));
    w->simd_line = mem_strdup(buf_cstr(&line));
}

/* --- scopes --- */

enum { SCOPES_SHOWN = 10 };

static void take_scopes(struct suite_result *w, const struct scopetree *t)
{
    static const double q[] = {0.5, 0.99};
    struct scope_quantiles *known = scope_quantiles_new(t, q, 2);
    w->scopes_lost = t->selection->stream->lost;
    for (size_t i = 0; i < t->flat.n && i < SCOPES_SHOWN; i++) {
        const struct scope_node *n = &t->flat.at[i];
        struct text name = profile_str(t->selection->profile, n->name);
        struct suite_scope s = {.name = mem_strndup(name.at, name.n),
                                .calls = n->sum.calls,
                                .total_ns = n->sum.total_ns,
                                .max_ns = n->sum.max_ns,
                                .p50 = scope_quantiles_get(known, &t->flat, n, 0),
                                .p99 = scope_quantiles_get(known, &t->flat, n, 1)};
        *vec_push(&w->scopes) = s;
    }
    scope_quantiles_free(known);
}

static void analyse_scopes(struct suite_result *w)
{
    const struct profile *p = w->recordings.at[0].profile;
    struct value_ref ref;
    struct scopetree t;
    struct err err;
    if (!scopetree_find(p, &ref)) {
        suite_absent(w, COLLECT_SCOPES,
                     "there are no scopes in the recording: put KELVIN_SCOPE(\"name\") of kelvin.h "
                     "into the program");
        return;
    }
    struct selection all = selection_all(p, ref);
    if (scopetree_build(&t, &all, NULL, &err) == 0)
        take_scopes(w, &t);
    else
        suite_absent(w, COLLECT_SCOPES, err.text);
    scopetree_done(&t);
    selection_done(&all);
}

static int analyse_workload(struct suite_result *w, struct err *err)
{
    struct suite_recording *rec = &w->recordings.at[0];
    struct hotcode code = {0};
    look_at_code(w, &code);
    if (w->workload.collect[COLLECT_SIMD])
        describe_code(w, &code);
    struct report_opts opts = {.top = 10, .code = code.rows.at, .n_code = code.rows.n};
    int rc = report_build(&w->report, &rec->selection, &opts, err);
    w->has_report = rc == 0;
    w->report.opts.code = NULL; /* what it says is said */
    w->report.opts.n_code = 0;
    hotcode_done(&code);
    return rc;
}

static void analyse_cache(struct suite_result *w)
{
    struct report_opts opts = {.top = 10};
    struct err err;
    if (report_build(&w->misses_report, &w->cache_selection, &opts, &err) == 0)
        w->has_cache_report = true;
    else
        suite_absent(w, COLLECT_CACHE, err.text);
}

/* How many items a run of W does; 0 where it does not say, or counts another thing than FIRST. */
static double items_of_run(const struct suite_result *w, const struct suite_result *first)
{
    const struct metric *m = metrics_items(&w->workload.metrics);
    const struct metric *as = metrics_items(&first->workload.metrics);
    return m && as && strcmp(m->unit, as->unit) == 0 ? m->items : 0;
}

/* The spans of W's recording, in TO; NULL where it has none, or they are not asked for. */
static const struct selection *spans_of(const struct suite_result *w, struct selection *to)
{
    const struct profile *p = w->recordings.at[0].profile;
    struct value_ref ref;
    if (!w->workload.collect[COLLECT_SCOPES] || !scopetree_find(p, &ref))
        return NULL;
    *to = selection_all(p, ref);
    return to;
}

static void build_scaling(struct suite *s)
{
    const struct suite_result *first = NULL;
    VEC(struct scaling_run) runs = {0};
    bool differ = false;
    s->spans = mem_calloc(s->results.n + 1, sizeof *s->spans);
    for (size_t i = 0; i < s->results.n; i++) {
        struct suite_result *w = &s->results.at[i];
        if (!(w->workload.size > 0) || !w->recordings.n)
            continue;
        differ |= runs.n && runs.at[0].size != w->workload.size;
        first = first ? first : w;
        *vec_push(&runs) = (struct scaling_run){&w->recordings.at[0].selection, w->workload.size,
                                                .scopes = spans_of(w, &s->spans[i]),
                                                .items = items_of_run(w, first)};
    }
    autobuf struct buf unlike = {0};
    if (differ)
        scaling_unlike(runs.at, runs.n, &unlike);
    s->has_scaling = differ && !unlike.n;
    if (s->has_scaling)
        scaling_build(&s->scaling, runs.at, runs.n, 10);
    vec_done(&runs);
}

int run_analyse(struct run *r, struct err *err)
{
    for (size_t i = 0; i < r->suite.results.n; i++) {
        struct suite_result *w = &r->suite.results.at[i];
        if (w->cache)
            analyse_cache(w);
        if (w->recordings.n) {
            if (analyse_workload(w, err) != 0)
                return -1;
            if (w->workload.collect[COLLECT_SCOPES])
                analyse_scopes(w);
            continue;
        }
        if (w->workload.collect[COLLECT_SIMD])
            suite_absent(w, COLLECT_SIMD, "there is no recording to show which code is hot");
        if (w->workload.collect[COLLECT_SCOPES])
            suite_absent(w, COLLECT_SCOPES, "there is no recording: collect cpu as well");
    }
    for (size_t i = 0; i < r->suite.results.n; i++)
        run_describe_variants(&r->suite.results.at[i]);
    build_scaling(&r->suite);
    return 0;
}
