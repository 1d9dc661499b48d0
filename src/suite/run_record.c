/* run_record.c - the phase of a run that records its workloads. */
#include "base/clock.h"
#include "source/import.h"
#include "suite/pool.h"
#include "suite/run_inner.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sys/wait.h>
#include <unistd.h>

int run_load_recording(struct suite_recording *rec, const char *path, struct err *err)
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

/* --- the recorder, in a process of its own --- */

/* What that process sends; plain data, and less than a pipe holds. */
struct recorder_answer {
    int rc; /* of record_take() */
    struct record_facts facts;
    struct err err;
};

struct recorder_job {
    struct record_opts opts;
    struct words command;
    int answer_fd;
};

/* What came of one recording; why and output are to be freed. */
struct recorded {
    bool good;
    struct record_facts facts;
    char *why, *output; /* what is wrong, and the command's last lines */
};

static void recorded_done(struct recorded *it)
{
    free(it->why);
    free(it->output);
    *it = (struct recorded){0};
}

/* Only the command is kept to its CPUs: the recorder must not take time from it there. */
static void add_command(struct words *to, const struct workload *w, const struct words *cpus)
{
    autofree char *list = run_join_cpus(cpus);
    const char *pinned[] = {"taskset", "-c", list};
    for (size_t i = 0; i < sizeof pinned / sizeof *pinned && cpus->at.n; i++)
        words_add(to, text_of(pinned[i]));
    for (size_t i = 0; i < w->argv.at.n; i++)
        words_add(to, text_of(w->argv.at.at[i]));
}

static int recorder_work(void *to)
{
    const struct recorder_job *j = to;
    struct recorder_answer a = {0};
    a.rc = record_take(&j->opts, j->command.at.at, &a.facts, &a.err);
    return write(j->answer_fd, &a, sizeof a) == (ssize_t)sizeof a ? 0 : 1;
}

/* How the command ended, in the terms of exec.h. */
static struct exec_result command_end(const struct exec_result *done, const struct record_facts *f)
{
    struct exec_result ret = *done;
    if (done->end != EXEC_EXITED || !f->exited)
        return ret;
    bool signalled = WIFSIGNALED(f->status);
    ret.end = signalled ? EXEC_SIGNALLED : EXEC_EXITED;
    ret.status = signalled ? WTERMSIG(f->status) : WEXITSTATUS(f->status);
    return ret;
}

/* A is NULL where the recorder sent none. */
static void take_answer(const struct run *r, const struct exec_result *done,
                        const struct recorder_answer *a, struct recorded *ret)
{
    autobuf struct buf said = {0}, tail = {0};
    struct exec_result end = a ? command_end(done, &a->facts) : *done;
    exec_tail(r->log, RUN_TAIL_LINES, &tail);
    if (!a && done->end != EXEC_TIMED_OUT)
        buf_str(&said, "could not be recorded: the recorder ");
    if (a && a->rc != 0 && done->end == EXEC_EXITED)
        buf_printf(&said, "could not be recorded: %s", a->err.text);
    else
        exec_say(&end, &said);
    ret->good = a && a->rc == 0 && end.end == EXEC_EXITED && end.status == 0;
    if (a)
        ret->facts = a->facts;
    ret->why = mem_strdup(buf_cstr(&said));
    ret->output = mem_strdup(buf_cstr(&tail));
}

/* Run J by O, which has all but the work, and hand over its facts. */
static int run_recorder(struct run *r, struct recorder_job *j, struct exec_opts *o,
                        struct recorded *ret, struct err *err)
{
    struct recorder_answer answer;
    struct exec_result done;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return err_set_errno(err, errno, "cannot make a pipe");
    autoclose int from = ends[0];
    j->answer_fd = ends[1];
    o->work = recorder_work;
    o->work_to = j;
    int rc = run_command(r, o, &done, err);
    close(ends[1]);
    if (rc != 0)
        return -1;
    bool answered = read(from, &answer, sizeof answer) == (ssize_t)sizeof answer;
    take_answer(r, &done, answered ? &answer : NULL, ret);
    return 0;
}

/* Record one run of W to PATH. -1 with ERR when the run cannot go on. */
static int record_run(struct run *r, const struct suite_result *w, const char *path,
                      struct recorded *ret, struct err *err)
{
    struct words cpus = conf_words(&r->suite.conf, "", "determinism.cpus");
    char rate[24], flag[] = "-F";
    char *args[] = {flag, rate};
    struct recorder_job j = {.opts = {.output = path,
                                      .engine = "auto",
                                      .rate_hz = (double)w->workload.rate_hz,
                                      .stack_bytes = RECORD_STACK_BYTES,
                                      .quiet = true,
                                      .args = args,
                                      .n_args = 2}};
    snprintf(rate, sizeof rate, "%ld", w->workload.rate_hz);
    add_command(&j.command, &w->workload, &cpus);
    struct exec_opts o = run_exec_opts(r, w);
    int rc = run_recorder(r, &j, &o, ret, err);
    words_done(&j.command);
    words_done(&cpus);
    return rc;
}

/* --- workloads --- */

/*
 * Record W to PATH, again and again while samples are too few and there is time: short programs are
 * drawn from all of their runs. 1 when it failed.
 */
static int fill_pool(struct run *r, struct suite_result *w, const char *path, struct pool *pool,
                     struct err *err)
{
    uint64_t until_ns = clock_monotonic_ns() + (uint64_t)(w->workload.pool_s * 1e9);
    do {
        struct recorded it = {0};
        struct err why;
        unlink(path); /* or it would be kept as PATH.old */
        if (record_run(r, w, path, &it, err) != 0)
            return -1;
        bool good = it.good;
        if (!good) {
            suite_fail(w, it.why, it.output);
            suite_absent(w, COLLECT_CPU, "the workload failed");
        } else if (pool_add(pool, path, &it.facts, &why) != 0) {
            suite_absent(w, COLLECT_CPU, why.text);
            good = false;
        }
        recorded_done(&it);
        if (!good)
            return 1;
    } while (pool->samples < pool->enough && clock_monotonic_ns() < until_ns);
    return 0;
}

/* Returns whether to make the next. */
static bool take_pool(struct run *r, struct suite_result *w, const char *name, struct pool *pool)
{
    autofree char *path = folder_file(&r->suite.folder, name);
    struct suite_recording rec = {.file = mem_strdup(name)};
    struct err err;
    if (pool->samples < pool->enough)
        err_set(&err, EXIT_INCONCLUSIVE,
                "only %llu samples in %llu %s, fewer than min-samples (%ld): make the workload "
                "longer, raise its rate, or give it more pool-time",
                (unsigned long long)pool->samples, (unsigned long long)pool->runs,
                pool->runs == 1 ? "run" : "runs", w->workload.min_samples);
    else if ((pool->runs == 1 || pool_write(pool, path, &err) == 0) &&
             run_load_recording(&rec, path, &err) == 0) {
        *vec_push(&w->recordings) = rec;
        return true;
    }
    unlink(path);
    suite_absent(w, COLLECT_CPU, err.text);
    profile_free(rec.profile);
    free(rec.file);
    return false;
}

/* 1 when there is no use in another one. */
static int record_one(struct run *r, struct suite_result *w, long i, struct err *err)
{
    autofree char *name = i ? mem_printf("%s.%ld.kelvin", w->workload.name, i + 1)
                            : mem_printf("%s.kelvin", w->workload.name);
    autofree char *path = folder_file(&r->suite.folder, name);
    struct pool pool = {.enough = (uint64_t)w->workload.min_samples};
    int rc = fill_pool(r, w, path, &pool, err);
    if (rc == 0 && !take_pool(r, w, name, &pool))
        rc = 1;
    else if (rc == 0 && pool.runs > 1)
        run_say(r, "%s: pooled from %llu runs", w->workload.name, (unsigned long long)pool.runs);
    pool_done(&pool);
    return rc;
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

static int record_workload(struct run *r, struct suite_result *w, struct err *err)
{
    int rc = 0;
    for (long i = 0; i < w->workload.recordings && rc == 0; i++)
        rc = record_one(r, w, i, err);
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
    int rc = 0;
    for (size_t i = 0; i < r->suite.results.n && rc == 0; i++)
        if (r->suite.results.at[i].workload.collect[COLLECT_CPU])
            rc = record_workload(r, &r->suite.results.at[i], err);
    return rc;
}
