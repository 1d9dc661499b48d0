/* run_record.c - the phase of a run that records its workloads. */
#include "base/clock.h"
#include "base/units.h"
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
    it->why = it->output = NULL;
    it->good = false;
}

/* One recording that is to be made. */
struct take {
    struct suite_result *w;
    const struct words *argv;
    const char *path;
    const char *heap; /* as in record_opts */
};

/* Only the command is kept to its CPUs: the recorder must not take time from it there. */
static void run_record_add_command(struct words *to, const struct words *argv,
                                   const struct words *cpus)
{
    autofree char *list = run_join_cpus(cpus);
    const char *pinned[] = {"taskset", "-c", list};
    for (size_t i = 0; i < sizeof pinned / sizeof *pinned && cpus->at.n; i++)
        words_add(to, text_of(pinned[i]));
    for (size_t i = 0; i < argv->at.n; i++)
        words_add(to, text_of(argv->at.at[i]));
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

/* Record one run. -1 with ERR when the run of the suite cannot go on. */
static int record_run(struct run *r, const struct take *t, struct recorded *ret, struct err *err)
{
    const struct workload *w = &t->w->workload;
    struct words cpus = conf_words(&r->suite.conf, "", "determinism.cpus");
    char rate[24], flag[] = "-F";
    char *args[] = {flag, rate};
    struct recorder_job j = {
        .opts = {.output = t->path,
                 .engine = "auto",
                 .rate_hz = (double)w->rate_hz,
                 .hide_arguments = !conf_has(&r->suite.conf, "", "publish.arguments", "show"),
                 .stack_bytes = RECORD_STACK_BYTES,
                 .heap = t->heap,
                 .quiet = true,
                 .args = args,
                 .n_args = 2}};
    snprintf(rate, sizeof rate, "%ld", w->rate_hz);
    /* What is counted does not depend on CPUs, and taskset has blocks of its own. */
    run_record_add_command(&j.command, t->argv, t->heap ? &(struct words){0} : &cpus);
    struct exec_opts o = run_exec_opts(r, t->w);
    int rc = run_recorder(r, &j, &o, ret, err);
    words_done(&j.command);
    words_done(&cpus);
    return rc;
}

/* --- enough samples --- */

/*
 * Record T, again and again while samples are too few and there is time: short programs are drawn
 * from all of their runs. 1 when that failed: LAST says how. It is to be freed either way.
 */
static int fill_pool(struct run *r, const struct take *t, struct pool *pool, struct recorded *last,
                     struct err *err)
{
    uint64_t until_ns = clock_monotonic_ns() + (uint64_t)(t->w->workload.pool_s * 1e9);
    do {
        struct err why;
        recorded_done(last);
        unlink(t->path); /* or it would be kept as PATH.old */
        if (record_run(r, t, last, err) != 0)
            return -1;
        if (last->good && pool_add(pool, t->path, &last->facts, &why) != 0) {
            free(last->why);
            last->why = mem_strdup(why.text);
            return 1;
        }
        if (!last->good)
            return 1;
    } while (pool->samples < pool->enough && clock_monotonic_ns() < until_ns);
    return 0;
}

static int load_pool(const struct take *t, struct pool *pool, struct suite_recording *ret,
                     struct err *err)
{
    if (pool->samples < pool->enough)
        return err_set(err, EXIT_INCONCLUSIVE,
                       "only %llu sample%s in %llu %s, fewer than min-samples (%ld): make the "
                       "workload longer, raise its rate, or give it more pool-time",
                       (unsigned long long)pool->samples, pool->samples == 1 ? "" : "s",
                       (unsigned long long)pool->runs, pool->runs == 1 ? "run" : "runs",
                       t->w->workload.min_samples);
    if (pool->runs > 1 && pool_write(pool, t->path, err) != 0)
        return -1;
    return run_load_recording(ret, t->path, err);
}

/* 1 when there is none: WHY says why not, and LAST what the command did. */
static int make_recording(struct run *r, const struct take *t, struct suite_recording *ret,
                          struct recorded *last, struct err *err)
{
    struct pool pool = {.enough = (uint64_t)t->w->workload.min_samples};
    struct err why;
    int rc = fill_pool(r, t, &pool, last, err);
    if (rc == 0 && load_pool(t, &pool, ret, &why) != 0) {
        free(last->why);
        last->why = mem_strdup(why.text);
        rc = 1;
    }
    if (rc == 0 && pool.runs > 1)
        run_say(r, "%s: pooled from %llu runs", t->w->workload.name, (unsigned long long)pool.runs);
    pool_done(&pool);
    return rc;
}

/* 1 when there is no use in another one. */
static int record_now(struct run *r, struct suite_result *w, long i, struct err *err)
{
    autofree char *name = i ? mem_printf("%s.%ld.kelvin", w->workload.name, i + 1)
                            : mem_printf("%s.kelvin", w->workload.name);
    autofree char *path = folder_file(&r->suite.folder, name);
    struct take t = {w, &w->workload.argv, path};
    struct suite_recording rec = {.file = mem_strdup(name)};
    struct recorded last = {0};
    int rc = make_recording(r, &t, &rec, &last, err);
    if (rc == 0) {
        *vec_push(&w->recordings) = rec;
        rec = (struct suite_recording){0};
    } else if (rc > 0) {
        unlink(path);
        if (!last.good)
            suite_fail(w, last.why, last.output);
        suite_absent(w, COLLECT_CPU, last.good ? last.why : "the workload failed");
    }
    suite_recording_done(&rec);
    recorded_done(&last);
    return rc;
}

/* The CPU time of each recording, as a series of its own: baselines and history keep it. */
static void note_cpu_time(struct series_set *set, const struct suite_result *w, const char *what,
                          const struct suite_recording *recordings, size_t n)
{
    autofree char *name = mem_printf("%s %s", w->workload.name, what);
    struct series *to = series_add(set, name);
    free(to->command);
    to->command = mem_strdup(w->workload.line);
    for (size_t i = 0; i < n; i++) {
        struct series_run *run = vec_push(&to->runs);
        uint64_t cpu_ns;
        run->block = (uint32_t)i;
        for (int m = 0; m < MEASURES; m++)
            run->value[m] = NAN;
        if (meta_find_u64(&recordings[i].profile->meta, META_CPU_TIME_NS, &cpu_ns))
            run->value[MEASURE_CPU] = (double)cpu_ns;
    }
}

/* --- the heap --- */

static void tell_heap(const struct run *r, const struct suite_result *w)
{
    autobuf struct buf b = {0};
    suite_say_heap(&b, w);
    run_say(r, "%s: heap: %s", w->workload.name, buf_cstr(&b));
}

/* -1 with WHY when there is none. */
static int load_heap(const struct suite *s, struct suite_result *w, const char *path,
                     struct err *why)
{
    struct heapstory_opts with = {.known_leaks = s->known_leaks.all.n ? &s->known_leaks : NULL};
    if (run_load_recording(&w->heap, path, why) != 0 ||
        heapstory_build(&w->heap_story, w->heap.profile, &with, why) != 0)
        return -1;
    w->has_heap = true;
    return 0;
}

/* A run of its own: counting every block makes the CPU time of allocations look longer. */
static int record_heap(struct run *r, struct suite_result *w, struct err *err)
{
    autofree char *name = mem_printf("%s.heap.kelvin", w->workload.name);
    autofree char *path = folder_file(&r->suite.folder, name);
    struct take t = {w, &w->workload.argv, path, "exact"};
    struct recorded it = {0};
    struct err why;
    int rc = record_run(r, &t, &it, err);
    bool loaded = rc == 0 && it.good && load_heap(&r->suite, w, path, &why) == 0;
    if (loaded) {
        w->heap.file = mem_strdup(name);
        tell_heap(r, w);
        note_cpu_time(&r->suite.series, w, "heap", &w->heap, 1); /* nothing is compared with it */
    } else if (rc == 0) {
        suite_absent(w, COLLECT_HEAP, it.good ? why.text : it.why);
    }
    if (!loaded) {
        suite_recording_done(&w->heap);
        unlink(path);
    }
    if (w->absent[COLLECT_HEAP])
        run_say(r, "%s: no heap: %s", w->workload.name, w->absent[COLLECT_HEAP]);
    recorded_done(&it);
    return rc;
}

/* --- the baseline's program, in turns --- */

struct turns {
    VEC(struct suite_recording) made; /* of the baseline's program */
    bool given_up;
};

/* Its file is not published. -1 when the run cannot go on. */
static int record_before(struct run *r, struct suite_result *w, struct turns *turns,
                         struct err *err)
{
    if (!w->line_before || turns->given_up)
        return 0;
    autofree char *path = folder_file(&r->suite.folder, ".before.kelvin");
    struct words argv = {0};
    struct take t = {w, &argv, path};
    struct suite_recording rec = {0};
    struct recorded last = {0};
    struct err why;
    int rc = workload_split(&argv, w->line_before, w->workload.shell, &why);
    if (rc != 0)
        last.why = mem_strdup(why.text);
    rc = rc == 0 ? make_recording(r, &t, &rec, &last, err) : 1;
    if (rc == 0) {
        *vec_push(&turns->made) = rec;
    } else {
        suite_recording_done(&rec);
        turns->given_up = true;
    }
    if (rc > 0)
        run_say(r, "%s: the baseline's program cannot be recorded any more: it %s",
                w->workload.name, last.why);
    unlink(path);
    words_done(&argv);
    recorded_done(&last);
    return rc < 0 ? -1 : 0;
}

/* Recordings made in turns take the place of those that the baseline kept. */
static void take_turns(struct run *r, struct suite_result *w, struct turns *turns)
{
    bool good = !turns->given_up && turns->made.n && turns->made.n == w->recordings.n;
    for (size_t i = 0; i < (good ? w->before.n : turns->made.n); i++)
        suite_recording_done(good ? &w->before.at[i] : &turns->made.at[i]);
    if (good) {
        w->before.n = 0;
        for (size_t i = 0; i < turns->made.n; i++)
            *vec_push(&w->before) = turns->made.at[i];
        w->before_beside = true;
        note_cpu_time(&r->suite.beside, w, "recorded", w->before.at, w->before.n);
    }
    vec_done(&turns->made);
}

/* --- workloads --- */

/* Who goes first changes from one recording to the next. */
static int record_turn(struct run *r, struct suite_result *w, long i, struct turns *turns,
                       struct err *err)
{
    if (i % 2 == 0 && record_before(r, w, turns, err) != 0)
        return -1;
    int rc = record_now(r, w, i, err);
    if (rc == 0 && i % 2)
        rc = record_before(r, w, turns, err);
    return rc;
}

static int record_workload(struct run *r, struct suite_result *w, struct err *err)
{
    struct turns turns = {0};
    int rc = 0;
    for (long i = 0; i < w->workload.recordings && rc == 0; i++)
        rc = record_turn(r, w, i, &turns, err);
    take_turns(r, w, &turns);
    if (w->recordings.n) {
        note_cpu_time(&r->suite.series, w, "recorded", w->recordings.at, w->recordings.n);
        long long n = (long long)w->recordings.at[0].selection.n_samples;
        run_say(r, "%s: %lld sample%s", w->workload.name, n, n == 1 ? "" : "s");
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
    for (size_t i = 0; i < r->suite.results.n && rc == 0; i++) {
        struct suite_result *w = &r->suite.results.at[i];
        run_find_beside(r, w);
        if (w->why_apart)
            run_say(r, "%s: cannot run side by side with '%s': %s", w->workload.name,
                    r->suite.against, w->why_apart);
        if (w->workload.collect[COLLECT_CPU])
            rc = record_workload(r, w, err);
        if (rc == 0 && w->workload.collect[COLLECT_HEAP] && !w->failure)
            rc = record_heap(r, w, err);
    }
    return rc;
}
