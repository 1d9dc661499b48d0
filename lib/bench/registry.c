/* registry.c - what there is to run, and what of it was asked for; see bench.h. */
#include "bench.h"

#include <fnmatch.h>

/* Filled by constructors, before main: there is nobody yet to hand a list around. */
static struct kelvin_entry *first, **last = &first;

void registry_add(struct kelvin_entry *e, const struct kind *kind)
{
    e->kind = kind;
    e->next = NULL;
    *last = e;
    last = &e->next;
}

void jobs_add(struct jobs *to, const struct kelvin_entry *e, const char *name, size_t value)
{
    *vec_push(&to->list) = (struct job){e, mem_strdup(name), value};
}

void jobs_done(struct jobs *jobs)
{
    for (size_t i = 0; i < jobs->list.n; i++)
        free(jobs->list.at[i].name);
    vec_done(&jobs->list);
}

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const struct job *const *)a)->name, (*(const struct job *const *)b)->name);
}

static int find_doubles(const struct jobs *jobs, struct err *err)
{
    size_t n = jobs->list.n;
    autofree const struct job **sorted = mem_calloc(n + 1, sizeof *sorted);
    for (size_t i = 0; i < n; i++)
        sorted[i] = &jobs->list.at[i];
    qsort(sorted, n, sizeof *sorted, by_name);
    for (size_t i = 0; i + 1 < n; i++) {
        const struct kelvin_entry *a = sorted[i]->entry, *b = sorted[i + 1]->entry;
        if (strcmp(sorted[i]->name, sorted[i + 1]->name) == 0)
            return err_set(err, EXIT_ERROR, "two have the name '%s': %s:%d and %s:%d; rename one",
                           sorted[i]->name, a->file, a->line, b->file, b->line);
    }
    return 0;
}

int registry_jobs(struct jobs *to, struct err *err)
{
    for (const struct kelvin_entry *e = first; e; e = e->next) {
        const struct kind *kind = e->kind;
        if (!kind->expand)
            jobs_add(to, e, e->name, 0);
        else if (kind->expand(e, to, err) < 0)
            return -1;
    }
    return find_doubles(to, err);
}

/* --- choosing --- */

/* "sort" is sort, and sort/n=1000 too. */
static bool registry_is_named(const struct job *job, const char *word)
{
    return strcmp(job->name, word) == 0 || strcmp(job->entry->name, word) == 0;
}

/* A part of the name; with '*', '?' or '[' a pattern for the whole of it. */
static bool is_like(const struct job *job, const char *word)
{
    if (strpbrk(word, "*?["))
        return fnmatch(word, job->name, 0) == 0;
    return strstr(job->name, word) != NULL;
}

typedef bool (*match_fn)(const struct job *job, const char *word);

/* Mark in CHOSEN what WORD stands for. */
static size_t registry_choose(const struct jobs *jobs, match_fn match, const char *word,
                              bool *chosen)
{
    size_t n = 0;
    for (size_t i = 0; i < jobs->list.n; i++) {
        bool fits = match(&jobs->list.at[i], word);
        chosen[i] |= fits;
        n += fits;
    }
    return n;
}

/* Nothing has that name: say what there is, as far as it fits. */
static int none_like(const struct jobs *jobs, const char *word, struct err *err)
{
    autofree const char **names = mem_calloc(jobs->list.n + 1, sizeof *names);
    for (size_t i = 0; i < jobs->list.n; i++)
        names[i] = jobs->list.at[i].name;
    const char *near = opt_nearest(word, names);
    if (near)
        return err_set(err, EXIT_ERROR, "nothing here is called '%s'; did you mean '%s'?", word,
                       near);
    char there[160] = "";
    for (size_t i = 0; i < jobs->list.n; i++) {
        size_t used = strlen(there);
        if (used + strlen(names[i]) + 8 > sizeof there) {
            strcpy(there + used, ", ...");
            break;
        }
        snprintf(there + used, sizeof there - used, "%s%s", i ? ", " : "", names[i]);
    }
    return err_set(err, EXIT_ERROR, "nothing here is called '%s'; there is %s", word, there);
}

static bool is_only(const struct job *job, const char *word)
{
    return strcmp(job->name, word) == 0;
}

static int mark(const struct jobs *jobs, const struct options *opts, const struct opt_result *names,
                bool *chosen, struct err *err)
{
    for (int i = 0; i < names->n_operands; i++)
        if (registry_choose(jobs, registry_is_named, names->operands[i], chosen) == 0)
            return none_like(jobs, names->operands[i], err);
    for (size_t i = 0; i < opts->filter.n; i++)
        if (registry_choose(jobs, is_like, opts->filter.at[i], chosen) == 0)
            return none_like(jobs, opts->filter.at[i], err);
    if (opts->only && registry_choose(jobs, is_only, opts->only, chosen) == 0)
        return none_like(jobs, opts->only, err);
    return 0;
}

int jobs_select(struct jobs *jobs, const struct options *opts, const struct opt_result *names,
                struct err *err)
{
    if (jobs->list.n == 0)
        return err_set(err, EXIT_ERROR,
                       "there is nothing to run: write BENCH(name) { BENCH_LOOP {...} }");
    if (names->n_operands == 0 && opts->filter.n == 0 && !opts->only)
        return 0;
    autofree bool *chosen = mem_calloc(jobs->list.n, sizeof *chosen);
    if (mark(jobs, opts, names, chosen, err) < 0)
        return -1;
    size_t kept = 0;
    for (size_t i = 0; i < jobs->list.n; i++) {
        if (chosen[i])
            jobs->list.at[kept++] = jobs->list.at[i];
        else
            free(jobs->list.at[i].name);
    }
    jobs->list.n = kept;
    return 0;
}
