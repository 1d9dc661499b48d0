/* run.c - the phases, one after the other; see run.h. */
#include "suite/run.h"
#include "base/clock.h"
#include "base/opt.h"
#include "base/signals.h"
#include "suite/init.h"
#include "suite/run_inner.h"

#include <libgen.h>
#include <stdarg.h>
#include <unistd.h>

void run_say(const struct run *r, const char *fmt, ...)
{
    autofree char *line = NULL;
    va_list ap;
    if (!r->opts.say)
        return;
    va_start(ap, fmt);
    if (vasprintf(&line, fmt, ap) < 0)
        line = NULL;
    va_end(ap);
    if (line)
        r->opts.say(r->opts.to, line);
}

int run_go_on(const struct run *r, struct err *err)
{
    if (!signals_pending(r->opts.stop_fd))
        return 0;
    return err_set(err, EXIT_STOPPED, "interrupted: nothing was published");
}

/* --- what to run --- */

struct run_names {
    char *const *at;
    size_t n; /* 0 = all */
};

static bool run_is_wanted(const struct run_names *names, const char *name)
{
    for (size_t i = 0; i < names->n; i++)
        if (strcmp(names->at[i], name) == 0)
            return true;
    return names->n == 0;
}

static int no_workload(const struct conf *c, const char *name, struct err *err)
{
    autofree const char **list = mem_calloc(c->names[CONF_WORKLOADS].at.n + 1, sizeof *list);
    for (size_t i = 0; i < c->names[CONF_WORKLOADS].at.n; i++)
        list[i] = c->names[CONF_WORKLOADS].at.at[i];
    const char *near = opt_nearest(name, list);
    if (near)
        return err_set(err, EXIT_ERROR, "no workload '%s'; did you mean '%s'?", name, near);
    return err_set_hint(err, EXIT_ERROR, HINT_EXPLAIN, "no workload '%s'", name);
}

static int check_names(const struct conf *c, const struct run_names *names, struct err *err)
{
    const struct conf_names *all = &c->names[CONF_WORKLOADS];
    if (!all->at.n)
        return err_set(err, EXIT_ERROR, "'%s' has no [workload NAME]: there is nothing to run",
                       c->path);
    for (size_t i = 0; i < names->n; i++) {
        bool found = false;
        for (size_t k = 0; k < all->at.n; k++)
            found |= strcmp(names->at[i], all->at.at[k]) == 0;
        if (!found)
            return no_workload(c, names->at[i], err);
    }
    for (size_t i = 0; i < all->at.n; i++)
        if (run_is_wanted(names, all->at.at[i]) && init_check_filled(c, all->at.at[i], err) != 0)
            return -1;
    return 0;
}

/* All commands are made before anything runs: a missing input is reported at once. */
static int build_workloads(struct run *r, const struct run_names *names, struct err *err)
{
    struct suite *s = &r->suite;
    if (check_names(&s->conf, names, err) != 0) {
        r->fault = RUN_NO_WORKLOAD;
        return -1;
    }
    for (size_t i = 0; i < s->conf.names[CONF_WORKLOADS].at.n; i++) {
        if (!run_is_wanted(names, s->conf.names[CONF_WORKLOADS].at.at[i]))
            continue;
        struct suite_result *w = vec_push(&s->results);
        *w = (struct suite_result){0};
        if (workload_build(&w->workload, &s->conf, i, err) != 0)
            return -1;
    }
    return 0;
}

static void note_project(struct suite *s)
{
    const char *name = conf_text(&s->conf, "", "project.name");
    autofree char *here = getcwd(NULL, 0);
    s->project = mem_strdup(*name ? name : here ? basename(here) : "project");
}

/* --- the phases --- */

static int (*const phases[PHASES])(struct run *r, struct err *err) = {
    [PHASE_HOST] = run_host,       [PHASE_BUILD] = run_build,     [PHASE_RECORD] = run_record,
    [PHASE_BENCH] = run_bench,     [PHASE_ANALYSE] = run_analyse, [PHASE_CHECK] = run_check,
    [PHASE_PUBLISH] = run_publish,
};

static int run_phases(struct run *r, struct err *err)
{
    double began = clock_monotonic_s();
    for (int i = 0; i < PHASES; i++) {
        double start = clock_monotonic_s();
        if (r->opts.phase)
            r->opts.phase(r->opts.to, (enum suite_phase)i);
        r->suite.own_s = clock_monotonic_s() - began - r->away_s;
        if (run_go_on(r, err) != 0 || phases[i](r, err) != 0)
            return -1;
        r->suite.seconds[i] = clock_monotonic_s() - start;
    }
    r->suite.own_s = clock_monotonic_s() - began - r->away_s;
    return 0;
}

int run_suite(struct run *r, char *const *names, size_t n, struct err *err)
{
    struct suite *s = &r->suite;
    struct run_names wanted = {names, n};
    note_project(s);
    s->time_s = (int64_t)(clock_wall_ns() / CLOCK_SECOND_NS);
    const char *folder = conf_text(&s->conf, "", "publish.folder");
    if (!*folder)
        return err_set(err, EXIT_ERROR, "publish.folder is empty: name a folder, such as perf");
    if (run_check_baselines(r, err) != 0 || build_workloads(r, &wanted, err) != 0 ||
        run_check_rules(r, err) != 0 || run_read_notes(r, err) != 0 ||
        folder_open(&s->folder, folder, err) != 0)
        return -1;
    r->log = folder_file(&s->folder, ".log");
    return run_phases(r, err);
}

void run_done(struct run *r)
{
    suite_done(&r->suite);
    free(r->log);
    free(r->published);
    free(r->tail);
    buf_done(&r->errors);
}
