/*
 * suite.c - what came of a run.
 */
#include "suite/suite.h"
#include "base/units.h"

const char *const suite_phase_names[PHASES] = {
    [PHASE_HOST] = "host",       [PHASE_BUILD] = "build",     [PHASE_RECORD] = "record",
    [PHASE_BENCH] = "bench",     [PHASE_ANALYSE] = "analyse", [PHASE_CHECK] = "check",
    [PHASE_PUBLISH] = "publish",
};

const char *const suite_outcome_names[] = {
    [SUITE_OK] = "ok",
    [SUITE_FAILED] = "failed",
    [SUITE_REGRESSED] = "regressed",
    [SUITE_RULES] = "rules",
    [SUITE_FINDINGS] = "findings",
    [SUITE_INCOMPLETE] = "incomplete",
    [SUITE_INCONCLUSIVE] = "inconclusive",
};

const char *const suite_outcome_words[] = {
    [SUITE_OK] = "ok",
    [SUITE_FAILED] = "failed",
    [SUITE_REGRESSED] = "regressed",
    [SUITE_RULES] = "failed its rules",
    [SUITE_FINDINGS] = "has findings",
    [SUITE_INCOMPLETE] = "incomplete",
    [SUITE_INCONCLUSIVE] = "inconclusive",
};

void suite_recording_done(struct suite_recording *r)
{
    profile_free(r->profile);
    free(r->file);
    *r = (struct suite_recording){0};
}

const struct suite_recording *suite_checked(const struct suite_result *r)
{
    return r->recordings.n ? &r->recordings.at[0] : r->has_heap ? &r->heap : NULL;
}

void suite_benchmarks_free(struct suite_benchmarks *b)
{
    if (!b)
        return;
    for (size_t i = 0; i < b->gone.n; i++)
        free(b->gone.at[i]);
    vec_done(&b->gone);
    outcome_done(&b->outcome);
    plan_done(&b->plan);
    series_set_done(&b->before);
    free(b->filter);
    free(b);
}

static void variants_free(struct suite_variants *v)
{
    if (!v)
        return;
    for (size_t i = 0; i < v->lines.n; i++)
        free(v->lines.at[i]);
    for (size_t i = 0; i < v->code.n; i++)
        free(v->code.at[i]);
    for (size_t i = 0; i < v->absent.n; i++)
        free(v->absent.at[i]);
    outcome_done(&v->outcome);
    plan_done(&v->plan);
    vec_done(&v->lines);
    vec_done(&v->names);
    vec_done(&v->same);
    vec_done(&v->code);
    vec_done(&v->absent);
    free(v);
}

static void result_done(struct suite_result *r)
{
    if (r->has_report)
        report_done(&r->report);
    if (r->has_cache_report)
        report_done(&r->misses_report);
    if (r->has_heap)
        heapstory_done(&r->heap_story);
    if (r->has_check)
        check_done(&r->check);
    rules_done(&r->rules);
    diff_free(r->diff);
    for (size_t i = 0; i < r->before.n; i++)
        suite_recording_done(&r->before.at[i]);
    for (size_t i = 0; i < r->recordings.n; i++)
        suite_recording_done(&r->recordings.at[i]);
    suite_recording_done(&r->heap);
    for (size_t i = 0; i < r->scopes.n; i++)
        free(r->scopes.at[i].name);
    vec_done(&r->scopes);
    vec_done(&r->metrics);
    suite_benchmarks_free(r->benchmarks);
    variants_free(r->variants);
    suite_recording_done(&r->heap_before);
    for (int i = 0; i < COLLECTS; i++)
        free(r->absent[i]);
    vec_done(&r->before);
    vec_done(&r->recordings);
    profile_free(r->cache);
    profile_free(r->before_cache);
    free(r->cache_file);
    free(r->simd_line);
    for (int i = 0; i < SUITE_FINDERS; i++)
        free(r->findings[i].text);
    free(r->rules_file);
    free(r->unlike);
    free(r->line_before);
    free(r->why_apart);
    free(r->culprit);
    free(r->culprit_file);
    free(r->trend);
    free(r->failure);
    free(r->output);
    workload_done(&r->workload);
}

void suite_done(struct suite *s)
{
    if (s->has_scaling)
        scaling_done(&s->scaling);
    for (size_t i = 0; s->spans && i < s->results.n; i++)
        selection_done(&s->spans[i]);
    free(s->spans);
    for (size_t i = 0; i < s->results.n; i++)
        result_done(&s->results.at[i]);
    for (size_t i = 0; s->dirty_files && s->dirty_files[i]; i++)
        free(s->dirty_files[i]);
    for (size_t i = 0; i < s->warnings.n; i++)
        free(s->warnings.at[i]);
    for (size_t i = 0; i < s->variants.n; i++) {
        free(s->variants.at[i].folder);
        free(s->variants.at[i].failure);
    }
    vec_done(&s->variants);
    vec_done(&s->results);
    vec_done(&s->warnings);
    series_set_done(&s->series);
    series_set_done(&s->before);
    series_set_done(&s->beside);
    carried_done(&s->carried);
    suppressions_done(&s->known_leaks);
    free(s->dirty_files);
    free(s->notes);
    free(s->compiler);
    free(s->project);
    folder_drop(&s->folder);
    conf_done(&s->conf);
}

/* A failure is worse than a regression, that worse than a broken rule, that worse than a gap or
 * doubt. */
enum suite_outcome suite_outcome(const struct suite *s)
{
    enum suite_outcome worst = SUITE_OK;
    for (size_t i = 0; i < s->results.n; i++) {
        enum suite_outcome o = s->results.at[i].outcome;
        if (o != SUITE_OK && (worst == SUITE_OK || o < worst))
            worst = o;
    }
    return worst;
}

static bool has_gate(const struct suite_result *r, int which, enum gate gate)
{
    return r->has_compared[which] && r->compared[which].gate == gate;
}

size_t suite_count_findings(const struct suite_result *r)
{
    size_t n = 0;
    for (int i = 0; i < SUITE_FINDERS; i++)
        n += r->findings[i].n;
    return n;
}

void suite_say_heap(struct buf *b, const struct suite_result *r)
{
    const int64_t *value = r->heap_story.value;
    char peak[UNITS_MAX], n[UNITS_MAX];
    buf_printf(b, "peak %s, %s", units_scaled(peak, (double)value[STORY_PEAK], SCALED_BYTES),
               units_many(n, (uint64_t)value[STORY_ALLOCATIONS], "allocation", "allocations"));
}

static const char *const finder_names[SUITE_FINDERS] = {
    [FOUND_MEMCHECK] = "memcheck",     [FOUND_HELGRIND] = "helgrind",
    [FOUND_ASAN] = "AddressSanitizer", [FOUND_UBSAN] = "UndefinedBehaviorSanitizer",
    [FOUND_TSAN] = "ThreadSanitizer",
};

void suite_say_findings(struct buf *b, const struct suite_result *r)
{
    const char *first = NULL;
    for (int i = 0; i < SUITE_FINDERS; i++) {
        const struct suite_findings *f = &r->findings[i];
        if (!f->n)
            continue;
        buf_printf(b, "%s%zu by %s", b->n ? ", " : "", f->n, finder_names[i]);
        first = first ? first : f->text;
    }
    struct text line = text_of(first ? first : "");
    line = text_trim(text_cut(&line, '\n'));
    if (line.n)
        buf_printf(b, " (%.*s)", TEXT_ARG(line));
}

enum { NAMES_SAID = 3 };

static void say_more(struct buf *b, size_t n)
{
    if (n > NAMES_SAID)
        buf_printf(b, " and %zu more", n - NAMES_SAID);
}

/* " (find, fill)": those whose gate is GATE. */
static void say_names(struct buf *b, const struct comparisons *all, enum gate gate)
{
    size_t n = 0;
    for (size_t i = 0; i < all->n; i++)
        if (all->at[i].gate == gate && n++ < NAMES_SAID)
            buf_printf(b, "%s%s", n == 1 ? " (" : ", ", all->at[i].after->name);
    say_more(b, n);
    buf_str(b, n ? ")" : "");
}

static void say_gone(struct buf *b, const struct suite_benchmarks *of)
{
    for (size_t i = 0; i < of->gone.n && i < NAMES_SAID; i++)
        buf_printf(b, "%s'%s'", i ? ", " : "; no ", of->gone.at[i]);
    say_more(b, of->gone.n);
    buf_str(b, of->gone.n ? " any more" : "");
}

void suite_say_benchmarks(struct buf *b, const struct suite_result *r)
{
    const struct comparisons *all = &r->benchmarks->outcome.against;
    size_t n[GATE_BROKEN + 1] = {0};
    for (size_t i = 0; i < all->n; i++)
        n[all->at[i].gate]++;
    if (!all->n)
        buf_str(b, "the baseline has none of them");
    else if (!n[GATE_BROKEN] && !n[GATE_UNDECIDED])
        buf_printf(b, "none of %zu slower than allowed", all->n);
    if (n[GATE_BROKEN]) {
        buf_printf(b, "%zu of %zu slower than allowed", n[GATE_BROKEN], all->n);
        say_names(b, all, GATE_BROKEN);
    }
    if (n[GATE_UNDECIDED])
        buf_printf(b, "%s%zu of %zu not decided", n[GATE_BROKEN] ? ", " : "", n[GATE_UNDECIDED],
                   all->n);
    say_gone(b, r->benchmarks);
}

double suite_max_regression(const struct suite *s, const struct suite_result *r)
{
    const char *own = conf_text(&s->conf, r->workload.name, "workload.max-regression");
    return (*own ? strtod(own, NULL) : conf_number(&s->conf, "", "check.max-regression")) / 100;
}

size_t suite_comparisons(const struct suite *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->results.n; i++) {
        const struct workload *w = &s->results.at[i].workload;
        n += w->collect[COLLECT_BENCH] || w->collect[COLLECT_CPU] ? 2 + w->metrics.at.n : 0;
    }
    return n ? n : 1;
}

const char *suite_why_no_metric(const struct suite_metric *m)
{
    if (!m->runs || !m->runs->runs.n)
        return "nothing was measured";
    if (m->metric->pattern)
        return m->metric->was_long ? "its pattern matched no number in the last 64 KiB of any "
                                     "run's output: print it "
                                     "at the end, or write it to a file ('json')"
                                   : "its pattern matched a number in the output of no run";
    return *m->metric->file ? "no run wrote a file with that number" : "no run was timed";
}

void suite_say_metric_doubt(struct buf *b, const struct suite_metric *m)
{
    if (m->absent)
        return;
    if (m->missing)
        buf_printf(b, "metric %s: %zu of %zu runs did not give it", m->metric->name, m->missing,
                   m->runs->runs.n);
    if (m->metric->most_matches > 1)
        buf_printf(
            b, "%s%s%s its pattern matches up to %zu numbers in a run, of which the last counts",
            m->missing ? "; " : "metric ", m->missing ? "" : m->metric->name, m->missing ? "" : ":",
            m->metric->most_matches);
}

bool suite_metrics_gate(const struct suite_result *r, enum gate gate)
{
    bool found = false;
    for (size_t i = 0; i < r->metrics.n; i++)
        found |= r->metrics.at[i].has_compared && r->metrics.at[i].compared.gate == gate;
    return found;
}

/*
 * Whether slow runs or the mean leave a gate open that the median passes. Of wall time, where CPU
 * time holds, that takes more: other programs make slow runs as well.
 */
static bool mean_is_open(const struct suite_result *r)
{
    const struct comparison *wall = &r->compared[BY_TIME], *cpu = &r->compared[BY_CPU];
    if (r->has_compared[BY_CPU] && cpu->mean_broke)
        return true;
    return r->has_compared[BY_TIME] && wall->mean_broke &&
           (!has_gate(r, BY_CPU, GATE_HOLDS) || wall->tails.p <= 0.01 || wall->tails.mean_z >= 2.6);
}

bool suite_undecided(const struct suite_result *r)
{
    bool told = has_gate(r, BY_TIME, GATE_HOLDS) || has_gate(r, BY_CPU, GATE_HOLDS) ||
                has_gate(r, BY_TIME, GATE_BROKEN) || has_gate(r, BY_CPU, GATE_BROKEN);
    bool open = has_gate(r, BY_TIME, GATE_UNDECIDED) || has_gate(r, BY_CPU, GATE_UNDECIDED);
    return (open && !told) || mean_is_open(r) || has_gate(r, BY_INSTRUCTIONS, GATE_UNDECIDED);
}

static bool has_verdict(const struct suite_result *r, int which, enum verdict v)
{
    return r->has_compared[which] && r->compared[which].paired.verdict == v;
}

bool suite_same_work(const struct suite_result *r)
{
    return has_verdict(r, BY_INSTRUCTIONS, VERDICT_SAME) &&
           (has_verdict(r, BY_TIME, VERDICT_SLOWER) || has_verdict(r, BY_CPU, VERDICT_SLOWER));
}

static bool is_benchmark(const struct suite_result *r, const struct comparison *c)
{
    const struct comparisons *all = r->benchmarks ? &r->benchmarks->outcome.against : NULL;
    return all && c >= all->at && c < all->at + all->n;
}

void suite_say_comparison(struct buf *b, const struct suite *s, const struct suite_result *r,
                          const struct comparison *c)
{
    autofree char *than =
        s->against ? mem_printf("in the baseline '%s'", s->against) : mem_strdup("in the baseline");
    bool benchmark = is_benchmark(r, c);
    autofree char *whole = mem_printf("%s: %s", r->workload.name, c->after->name);
    struct comparison_words words = {
        .name = benchmark ? whole : r->workload.name,
        .than = than,
        .limit = *conf_text(&s->conf, r->workload.name, "workload.max-regression")
                     ? "its max-regression"
                     : "check.max-regression",
        .more = c->apart && (benchmark || c->after == r->bench)
                    ? "the baseline's program did not run beside it; use a quieter machine, or "
                      "more 'runs'"
                : benchmark ? "raise its 'decide-time', or use a quieter machine"
                : c->after == r->bench && r->looks
                    ? "raise its 'decide-time', or use a quieter machine"
                : c->after == r->bench ? "raise its 'runs', or use a quieter machine"
                                       : "collect bench, or make at least 6 recordings"};
    comparison_say(b, c, &words);
}

/* Numbers of the suite file, and a word that everybody has. */
static bool is_harmless(const char *word)
{
    static const char *const names[] = {"KELVIN_SEED=", "LC_ALL=", "GOMAXPROCS="};
    const char *equals = strchr(word, '=');
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(word, names[i], strlen(names[i])) == 0)
            return true;
    return equals && text_ends((struct text){word, (size_t)(equals - word)}, "_NUM_THREADS");
}

void suite_say_environment(struct buf *b, const struct suite *s, const struct words *env)
{
    for (size_t i = 0; i < env->at.n; i++) {
        const char *word = env->at.at[i];
        autofree char *name = mem_strndup(word, strcspn(word, "="));
        bool shown = is_harmless(word) || conf_has(&s->conf, "", "publish.environment", name);
        const char *value = shown && strchr(word, '=') ? strchr(word, '=') + 1 : "(not shown)";
        const char *quote = strpbrk(value, " \t") && shown ? "\"" : "";
        buf_printf(b, "%s%s=%s%s%s", i ? " " : "", name, quote, value, quote);
    }
}

void suite_absent(struct suite_result *r, enum collect what, const char *text)
{
    if (!r->absent[what])
        r->absent[what] = mem_strdup(text);
}

void suite_fail(struct suite_result *r, const char *why, const char *output)
{
    r->outcome = SUITE_FAILED;
    if (r->failure)
        return;
    r->failure = mem_strdup(why);
    r->output = output && *output ? mem_strdup(output) : NULL;
}
