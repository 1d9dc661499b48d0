/*
 * run_measure.c - the phases of `kelvin run` that run programs: build, record, bench.
 */
#include "bench/count.h"
#include "bench/session.h"
#include "cmd/run.h"
#include "source/import.h"
#include "suite/exec.h"
#include "suite/memcheck.h"

#include <errno.h>
#include <math.h>
#include <sys/stat.h>

enum { TAIL_LINES = 15, FINDINGS_SHOWN = 20 };

/* Run a command of the suite; its log is empty before. */
static int run_command(struct run *r, const struct exec_opts *o, struct exec_result *ret,
                       struct err *err)
{
    unlink(r->log);
    if (exec_run(o, ret, err) != 0)
        return -1;
    r->away_s += ret->wall_s;
    return run_go_on(r, err);
}

static struct exec_opts exec_opts_of(const struct run *r, const struct suite_result *w,
                                     const struct words *cpus)
{
    return (struct exec_opts){
        .env = &w->workload.env,
        .cpus = cpus,
        .input = w->workload.input,
        .log = r->log,
        .timeout_s = w->workload.timeout_s,
        .fixed_layout = w->workload.fixed_layout,
        .stop_fd = r->stop_fd,
    };
}

/* --- build --- */

static int check_binary(const struct run *r, struct err *err)
{
    const char *binary = conf_text(&r->suite.conf, "", "build.binary");
    if (!*binary || access(binary, X_OK) == 0)
        return 0;
    return err_set_errno(err, errno, "after the build there is no program '%s' (build.binary)",
                         binary);
}

static int build_failed(const struct run *r, const struct exec_result *done, struct err *err)
{
    autobuf struct buf said = {0}, tail = {0};
    exec_say(done, &said);
    exec_tail(r->log, TAIL_LINES, &tail);
    run_say(r, "the last lines of the build:\n%s", buf_cstr(&tail));
    return err_set(err, EXIT_ERROR, "the build %s: mend it, or use --skip-build", buf_cstr(&said));
}

int run_build(struct run *r, struct err *err)
{
    struct suite *s = &r->suite;
    const char *command = conf_text(&s->conf, "", "build.command");
    char *argv[] = {(char *)"/bin/sh", (char *)"-c", (char *)command, NULL};
    struct exec_result done;
    if (r->opts->skip_build || !*command) {
        run_say(r, *command ? "skipped" : "nothing to build (build.command is empty)");
        return check_binary(r, err);
    }
    struct words env = conf_words(&s->conf, "", "build.env");
    struct exec_opts o = {.argv = argv,
                          .env = &env,
                          .input = "",
                          .log = r->log,
                          .timeout_s = conf_number(&s->conf, "", "build.timeout"),
                          .stop_fd = r->stop_fd};
    int rc = run_command(r, &o, &done, err);
    words_done(&env);
    if (rc != 0)
        return -1;
    s->build_s = done.wall_s;
    if (done.end != EXEC_EXITED || done.status != 0)
        return build_failed(r, &done, err);
    s->built = true;
    return check_binary(r, err);
}

/* --- record --- */

/* CPUs in one word: "1,2-3". Free it. */
static char *join(const struct words *cpus)
{
    autobuf struct buf b = {0};
    for (size_t i = 0; i < cpus->at.n; i++)
        buf_printf(&b, "%s%s", i ? "," : "", cpus->at.at[i]);
    return mem_strdup(buf_cstr(&b));
}

/*
 * "kelvin record ... -- COMMAND"; the recorder is this very program. Only the command is kept to
 * its CPUs: the recorder must not take time from it there.
 */
static void recorder_words(struct words *argv, const struct workload *w, const char *file,
                           const struct words *cpus)
{
    autofree char *rate = mem_printf("%ld", w->rate_hz), *list = join(cpus);
    const char *front[] = {"/proc/self/exe", "record", "-q", "-o", file, "-F", rate, "--"};
    const char *pinned[] = {"taskset", "-c", list};
    for (size_t i = 0; i < sizeof front / sizeof *front; i++)
        words_add(argv, text_of(front[i]));
    for (size_t i = 0; i < sizeof pinned / sizeof *pinned && cpus->at.n; i++)
        words_add(argv, text_of(pinned[i]));
    for (size_t i = 0; i < w->argv.at.n; i++)
        words_add(argv, text_of(w->argv.at.at[i]));
}

static int load(struct suite_recording *rec, const char *path, struct err *err)
{
    struct import im;
    int rc = import_file(&im, path, &(struct import_opts){.addresses = true}, &rec->profile, err);
    import_done(&im);
    struct value_ref value;
    if (rc != 0 || profile_pick_value(rec->profile, NULL, NULL, &value, err) != 0)
        return -1;
    rec->selection = selection_all(rec->profile, value);
    return 0;
}

/* The last line of what the recorder said, without its name in front. Free it. */
static char *last_line(const struct buf *tail)
{
    struct text all = text_trim(buf_text(tail));
    while (all.n && all.at[all.n - 1] == '\n')
        all.n--;
    const char *line = all.n ? memrchr(all.at, '\n', all.n) : NULL;
    struct text last = line ? (struct text){line + 1, (size_t)(all.at + all.n - line - 1)} : all;
    last = text_trim(last);
    if (text_starts(last, "kelvin: "))
        last = (struct text){last.at + 8, last.n - 8};
    return mem_strndup(last.at ? last.at : "", last.n);
}

/* The recorder's own code 3 is its gate: it wrote no file. Others but 0 are the command's. */
static bool gate_failed(const struct exec_result *done, const char *path)
{
    return done->end == EXEC_EXITED && done->status == EXIT_FAILS && access(path, F_OK) != 0;
}

static int after_recording(struct run *r, struct suite_result *w, const struct exec_result *done,
                           const char *name)
{
    autobuf struct buf said = {0}, tail = {0};
    autofree char *path = folder_file(&r->suite.folder, name);
    struct suite_recording rec = {.file = mem_strdup(name)};
    struct err err;
    exec_tail(r->log, TAIL_LINES, &tail);
    bool ran = done->end == EXEC_EXITED && done->status == 0;
    if (ran && load(&rec, path, &err) == 0) {
        *vec_push(&w->recordings) = rec;
        return 0;
    }
    if (ran) {
        suite_absent(w, COLLECT_CPU, err.text);
    } else if (gate_failed(done, path)) {
        autofree char *why = last_line(&tail);
        char *options = strstr(why, "; run longer");
        if (options)
            *options = '\0'; /* those of kelvin record */
        autofree char *hint = mem_printf("%s; make the workload longer, or raise its 'rate'",
                                         *why ? why : "too few samples");
        suite_absent(w, COLLECT_CPU, hint);
    } else {
        exec_say(done, &said);
        suite_fail(w, buf_cstr(&said), buf_cstr(&tail));
        suite_absent(w, COLLECT_CPU, "the workload failed");
    }
    profile_free(rec.profile);
    free(rec.file);
    return -1;
}

static int record_one(struct run *r, struct suite_result *w, const struct words *cpus, long i,
                      struct err *err)
{
    autofree char *name = i ? mem_printf("%s.%ld.kelvin", w->workload.name, i + 1)
                            : mem_printf("%s.kelvin", w->workload.name);
    autofree char *path = folder_file(&r->suite.folder, name);
    struct words argv = {0};
    struct exec_result done;
    recorder_words(&argv, &w->workload, path, cpus);
    struct exec_opts o = exec_opts_of(r, w, NULL);
    o.argv = argv.at.at;
    int rc = run_command(r, &o, &done, err);
    words_done(&argv);
    if (rc != 0)
        return -1;
    if (after_recording(r, w, &done, name) != 0)
        return 1;
    return 0;
}

/* The CPU time of each recording, as a series of its own: baselines and history keep it. */
static void note_cpu_time(struct suite *s, const struct suite_result *w)
{
    autofree char *name = mem_printf("%s recorded", w->workload.name);
    struct series *to = series_add(&s->series, name);
    for (size_t i = 0; i < w->recordings.n; i++) {
        struct series_run *run = vec_push(&to->runs);
        uint64_t cpu_ns;
        run->block = (uint32_t)i;
        for (int m = 0; m < MEASURES; m++)
            run->value[m] = NAN;
        if (meta_find_u64(&w->recordings.at[i].profile->meta, META_CPU_TIME_NS, &cpu_ns))
            run->value[MEASURE_CPU] = (double)cpu_ns;
    }
}

static int record_workload(struct run *r, struct suite_result *w, const struct words *cpus,
                           struct err *err)
{
    int rc = 0;
    for (long i = 0; i < w->workload.recordings && rc == 0; i++)
        rc = record_one(r, w, cpus, i, err);
    if (w->recordings.n) {
        note_cpu_time(&r->suite, w);
        run_say(r, "%s: %lld samples", w->workload.name,
                (long long)w->recordings.at[0].selection.n_samples);
    }
    if (w->failure)
        run_say(r, "%s: FAILED, it %s\n%s", w->workload.name, w->failure,
                w->output ? w->output : "");
    else if (w->absent[COLLECT_CPU])
        run_say(r, "%s: no recording: %s", w->workload.name, w->absent[COLLECT_CPU]);
    return rc < 0 ? -1 : 0;
}

int run_record(struct run *r, struct err *err)
{
    struct words cpus = conf_words(&r->suite.conf, "", "determinism.cpus");
    int rc = 0;
    for (size_t i = 0; i < r->suite.results.n && rc == 0; i++)
        if (r->suite.results.at[i].workload.collect[COLLECT_CPU])
            rc = record_workload(r, &r->suite.results.at[i], &cpus, err);
    words_done(&cpus);
    return rc;
}

/* --- bench --- */

/* Move series number I of a session into SET, under NAME. */
static const struct series *take_series(struct series_set *set, struct session *from, size_t i,
                                        const char *name)
{
    if (i >= from->set.series.n || !from->set.series.at[i].runs.n)
        return NULL;
    struct series *to = series_add(set, name), *old = &from->set.series.at[i];
    free(to->command);
    to->command = old->command;
    to->runs.at = old->runs.at;
    to->runs.n = old->runs.n;
    to->runs.cap = old->runs.cap;
    old->command = NULL;
    memset(&old->runs, 0, sizeof old->runs);
    return to;
}

struct bench_job {
    enum collect what;
    struct session_opts with;
    struct starter_opts start;
    struct plan_opts plan;
};

static const struct opt_list none;

static struct bench_job bench_job(const struct run *r, const struct suite_result *w,
                                  enum collect what)
{
    return (struct bench_job){
        .what = what,
        .with = {.warmup = 1,
                 .runs = w->workload.runs,
                 .precision = 0.01,
                 .paired = {PAIRED_BAND, PAIRED_RISK, 1},
                 .seed = 1,
                 .gates = &none},
        .start = {.env = w->workload.env.at.at,
                  .input = *w->workload.input ? w->workload.input : NULL,
                  .timeout_s = w->workload.timeout_s,
                  .stop_fd = r->stop_fd,
                  .fixed_layout = w->workload.fixed_layout},
        .plan = {.names = &none, .list = &none, .range = &none},
    };
}

/* Instructions repeat almost exactly: three runs will do. */
static int want_instructions(struct bench_job *j, struct err *err)
{
    enum count_by by;
    if (count_find(&by, err) != 0)
        return -1;
    j->with.warmup = 0;
    j->with.runs = 3;
    j->with.measure = MEASURE_INSTRUCTIONS;
    j->with.exact = true;
    j->with.count_valgrind = by == COUNT_BY_VALGRIND;
    j->start.fixed_layout = true;
    j->start.count_instructions = by == COUNT_BY_CPU;
    j->plan.wrap = by == COUNT_BY_VALGRIND ? count_valgrind_words : NULL;
    j->start.ask = by == COUNT_BY_VALGRIND ? "measure_ms=50" : NULL; /* valgrind answers there */
    return 0;
}

static void bench_failed(struct suite_result *w, enum collect what, const struct session *s,
                         const struct err *err)
{
    autofree char *said = mem_strndup(s->said.at ? s->said.at : "", s->said.n);
    if (s->said.n)
        suite_fail(w, err->text, said);
    suite_absent(w, what, err->text);
}

/* Run the lines of J in turns; the last is W's own, one before it the baseline's. */
static int bench_lines(struct run *r, struct suite_result *w, const struct bench_job *j,
                       struct err *err)
{
    struct plan plan = {0};
    struct session session = {0};
    autofree char *name =
        mem_printf(j->what == COLLECT_BENCH ? "%s" : "%s instructions", w->workload.name);
    int rc = plan_build(&plan, &j->plan, err);
    if (rc == 0)
        rc = session_run(&session, &plan, &j->with, &j->start, err);
    r->away_s += session.seconds;
    if (rc == 0 && j->plan.n_lines > 1)
        take_series(&r->suite.beside, &session, 0, name);
    if (rc != 0 && j->plan.n_lines == 1)
        bench_failed(w, j->what, &session, err);
    else if (rc == 0 && !take_series(&r->suite.series, &session, j->plan.n_lines - 1, name))
        suite_absent(w, j->what, "nothing was measured");
    session_done(&session);
    plan_done(&plan);
    return rc;
}

static void bench_one(struct run *r, struct suite_result *w, enum collect what)
{
    struct bench_job j = bench_job(r, w, what);
    struct words cpus = conf_words(&r->suite.conf, "", "determinism.cpus");
    struct err err;
    autofree char *before = what == COLLECT_BENCH ? run_line_before(r, w) : NULL;
    autofree char *list = join(&cpus);
    const char *pinned[] = {"taskset", "-c", list, NULL};
    char *lines[] = {before, w->workload.line};
    j.plan.lines = before ? lines : lines + 1;
    j.plan.n_lines = before ? 2 : 1;
    j.plan.wrap = cpus.at.n ? pinned : NULL;
    j.plan.shell = conf_has(&r->suite.conf, w->workload.name, "workload.shell", "yes");
    words_done(&cpus);
    if (what == COLLECT_INSTRUCTIONS && want_instructions(&j, &err) != 0) {
        suite_absent(w, what, err.text);
        return;
    }
    if (bench_lines(r, w, &j, &err) == 0 || !before)
        return;
    run_say(r, "%s: the baseline's program does not run any more: %s", w->workload.name, err.text);
    j.plan.lines = lines + 1;
    j.plan.n_lines = 1;
    bench_lines(r, w, &j, &err);
}

/* Series move when the set grows: they are looked up when all are there. */
static void find_series(struct suite *s)
{
    for (size_t i = 0; i < s->results.n; i++) {
        struct suite_result *w = &s->results.at[i];
        autofree char *counted = mem_printf("%s instructions", w->workload.name);
        w->bench = series_find(&s->series, w->workload.name);
        w->instructions = series_find(&s->series, counted);
        if (!w->instructions) {
            autofree char *simulated = mem_printf("%s simulated", w->workload.name);
            w->instructions = series_find(&s->series, simulated);
        }
    }
}

/* --- valgrind --- */

struct grind {
    enum collect what;
    const char *tool, *option, *ending;
};

static const struct grind grinds[] = {
    {COLLECT_CACHE, "--tool=cachegrind", "--cachegrind-out-file=", "cachegrind"},
    {COLLECT_MEMCHECK, "--tool=memcheck", "--xml-file=", "memcheck.xml"},
    {COLLECT_HELGRIND, "--tool=helgrind", "--xml-file=", "helgrind.xml"},
};

static void grind_words(struct words *argv, const struct grind *g, const struct workload *w,
                        const char *file)
{
    autofree char *out = mem_printf("%s%s", g->option, file);
    words_add(argv, text_of("valgrind"));
    words_add(argv, text_of(g->tool));
    words_add(argv, text_of(out));
    if (g->what == COLLECT_CACHE)
        words_add(argv, text_of("--branch-sim=yes"));
    else
        words_add(argv, text_of("--xml=yes"));
    for (size_t i = 0; i < w->argv.at.n; i++)
        words_add(argv, text_of(w->argv.at.at[i]));
}

/* The instructions that were executed there, as a series of one run: baselines and gates use it. */
static void note_simulated(struct suite *s, const struct suite_result *w)
{
    const struct profile *p = w->cache;
    struct err err;
    struct value_ref value;
    if (profile_pick_value(p, "Ir", NULL, &value, &err) != 0)
        return;
    autofree char *name = mem_printf("%s simulated", w->workload.name);
    struct series *to = series_add(&s->series, name);
    struct series_run *run = vec_push(&to->runs);
    double sum = (double)profile_value(p, value)->total;
    run->block = 0;
    for (int m = 0; m < MEASURES; m++)
        run->value[m] = m == MEASURE_INSTRUCTIONS ? sum : NAN;
    free(to->command);
    to->command = mem_strdup(w->workload.line);
}

static void take_cache(struct suite *s, struct suite_result *w, const char *path, const char *name)
{
    struct suite_recording rec = {0};
    struct err err;
    if (load(&rec, path, &err) != 0) {
        suite_absent(w, COLLECT_CACHE, err.text);
        profile_free(rec.profile);
        return;
    }
    w->cache = rec.profile;
    w->cache_selection = rec.selection;
    w->cache_file = mem_strdup(name);
    note_simulated(s, w);
}

/* "InvalidRead in parse (a.c:12): Invalid read of size 4", a line each. */
static void say_findings(const struct memcheck *m, struct buf *b)
{
    for (size_t i = 0; i < m->first.n && i < FINDINGS_SHOWN; i++) {
        const struct memcheck_finding *f = &m->first.at[i];
        buf_printf(b, "%s in %s", f->kind, *f->function ? f->function : "code without a name");
        if (*f->file)
            buf_printf(b, " (%s:%u)", f->file, f->line);
        buf_printf(b, "%s%s\n", *f->text ? ": " : "", f->text);
    }
    if (m->findings > FINDINGS_SHOWN)
        buf_printf(b, "and %llu more\n", (unsigned long long)(m->findings - FINDINGS_SHOWN));
}

static void take_findings(struct suite_result *w, enum collect what, const char *path)
{
    struct suite_findings *to = what == COLLECT_MEMCHECK ? &w->memcheck : &w->helgrind;
    autobuf struct buf text = {0};
    struct reader in;
    struct memcheck m;
    struct err err;
    if (reader_open(&in, path, &err) != 0) {
        suite_absent(w, what, err.text);
        return;
    }
    if (memcheck_read(&m, &in, &err) != 0) {
        suite_absent(w, what, err.text);
    } else {
        say_findings(&m, &text);
        *to = (struct suite_findings){true, (size_t)m.findings, mem_strdup(buf_cstr(&text))};
    }
    memcheck_done(&m);
    reader_close(&in);
}

static int grind(struct run *r, struct suite_result *w, const struct grind *g, struct err *err)
{
    autofree char *name = mem_printf("%s.%s", w->workload.name, g->ending);
    autofree char *path = folder_file(&r->suite.folder, name);
    autobuf struct buf said = {0};
    struct words argv = {0};
    struct exec_result done;
    grind_words(&argv, g, &w->workload, path);
    struct exec_opts o = exec_opts_of(r, w, NULL);
    o.argv = argv.at.at;
    int rc = run_command(r, &o, &done, err);
    words_done(&argv);
    if (rc != 0)
        return -1;
    exec_say(&done, &said);
    if (done.end == EXEC_NOT_RUN && done.status == ENOENT)
        suite_absent(w, g->what, "valgrind is not installed: 'apt install valgrind'");
    else if (done.end != EXEC_EXITED || done.status != 0)
        suite_absent(w, g->what, buf_cstr(&said));
    else if (g->what == COLLECT_CACHE)
        take_cache(&r->suite, w, path, name);
    else
        take_findings(w, g->what, path);
    if (w->absent[g->what])
        run_say(r, "%s: no %s: %s", w->workload.name, collect_names[g->what], w->absent[g->what]);
    return 0;
}

static int bench_workload(struct run *r, struct suite_result *w, struct err *err)
{
    static const enum collect timed[] = {COLLECT_BENCH, COLLECT_INSTRUCTIONS};
    for (size_t i = 0; i < sizeof timed / sizeof *timed; i++) {
        if (!w->workload.collect[timed[i]])
            continue;
        run_say(r, "%s: %s", w->workload.name, collect_names[timed[i]]);
        bench_one(r, w, timed[i]);
        if (run_go_on(r, err) != 0)
            return -1;
        if (w->absent[timed[i]])
            run_say(r, "%s: no %s: %s", w->workload.name, collect_names[timed[i]],
                    w->absent[timed[i]]);
    }
    for (size_t i = 0; i < sizeof grinds / sizeof *grinds; i++) {
        if (!w->workload.collect[grinds[i].what])
            continue;
        run_say(r, "%s: %s, under valgrind, which is many times slower", w->workload.name,
                collect_names[grinds[i].what]);
        if (grind(r, w, &grinds[i], err) != 0)
            return -1;
    }
    return 0;
}

static void mark_absent(struct suite_result *w)
{
    for (int i = 0; i < COLLECTS; i++)
        if (w->workload.collect[i])
            suite_absent(w, (enum collect)i, "the workload failed");
}

int run_bench(struct run *r, struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < r->suite.results.n && rc == 0; i++) {
        struct suite_result *w = &r->suite.results.at[i];
        if (w->failure)
            mark_absent(w);
        else
            rc = bench_workload(r, w, err);
    }
    find_series(&r->suite);
    return rc;
}
