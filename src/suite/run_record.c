/* run_record.c - the phase of a run that records its workloads. */
#include "source/import.h"
#include "suite/run_inner.h"

#include <math.h>
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

/* --- the recorder --- */

/* What came of one recording; why and output are to be freed. */
struct recorded {
    enum { RECORDED, RECORDED_TOO_LITTLE, RECORDED_FAILURE } how;
    char *why, *output; /* what is wrong, and the command's last lines */
};

/*
 * "kelvin record ... -- COMMAND"; the recorder is this very program. Only the command is kept to
 * its CPUs: the recorder must not take time from it there.
 */
static void recorder_words(struct words *argv, const struct workload *w, const char *file,
                           const struct words *cpus, bool arguments)
{
    autofree char *rate = mem_printf("%ld", w->rate_hz), *list = run_join_cpus(cpus);
    const char *front[] = {"/proc/self/exe", "record", "-q", "-o", file, "-F", rate};
    const char *pinned[] = {"taskset", "-c", list};
    for (size_t i = 0; i < sizeof front / sizeof *front; i++)
        words_add(argv, text_of(front[i]));
    if (!arguments)
        words_add(argv, text_of("--hide-arguments"));
    words_add(argv, text_of("--"));
    for (size_t i = 0; i < sizeof pinned / sizeof *pinned && cpus->at.n; i++)
        words_add(argv, text_of(pinned[i]));
    for (size_t i = 0; i < w->argv.at.n; i++)
        words_add(argv, text_of(w->argv.at.at[i]));
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

/* Why the recorder wrote no file, without what its own options could do about it. Free it. */
static char *gate_reason(const struct buf *tail)
{
    char *why = last_line(tail);
    char *options = strstr(why, "; run longer");
    if (options)
        *options = '\0';
    if (*why)
        return why;
    free(why);
    return mem_strdup("too few samples");
}

/*
 * Record one run of W to PATH; the only place that knows how. -1 with ERR when the run cannot go
 * on.
 */
static int record_run(struct run *r, const struct suite_result *w, const char *path,
                      struct recorded *ret, struct err *err)
{
    struct words cpus = conf_words(&r->suite.conf, "", "determinism.cpus");
    autobuf struct buf said = {0}, tail = {0};
    struct words argv = {0};
    struct exec_result done;
    recorder_words(&argv, &w->workload, path, &cpus,
                   conf_has(&r->suite.conf, "", "publish.arguments", "show"));
    struct exec_opts o = run_exec_opts(r, w);
    o.argv = argv.at.at;
    int rc = run_command(r, &o, &done, err);
    words_done(&argv);
    words_done(&cpus);
    if (rc != 0)
        return -1;
    exec_tail(r->log, RUN_TAIL_LINES, &tail);
    exec_say(&done, &said);
    ret->how = done.end == EXEC_EXITED && done.status == 0 ? RECORDED
               : gate_failed(&done, path)                  ? RECORDED_TOO_LITTLE
                                                           : RECORDED_FAILURE;
    ret->why = ret->how == RECORDED_TOO_LITTLE ? gate_reason(&tail) : mem_strdup(buf_cstr(&said));
    ret->output = mem_strdup(buf_cstr(&tail));
    return 0;
}

/* --- workloads --- */

/* Note what came of a recording. Returns whether to make the next. */
static bool take_recording(struct run *r, struct suite_result *w, const char *name,
                           const struct recorded *it)
{
    autofree char *path = folder_file(&r->suite.folder, name);
    struct suite_recording rec = {.file = mem_strdup(name)};
    struct err err;
    if (it->how == RECORDED && run_load_recording(&rec, path, &err) == 0) {
        *vec_push(&w->recordings) = rec;
        return true;
    }
    if (it->how == RECORDED) {
        suite_absent(w, COLLECT_CPU, err.text);
    } else if (it->how == RECORDED_TOO_LITTLE) {
        autofree char *hint =
            mem_printf("%s; make the workload longer, or raise its 'rate'", it->why);
        suite_absent(w, COLLECT_CPU, hint);
    } else {
        suite_fail(w, it->why, it->output);
        suite_absent(w, COLLECT_CPU, "the workload failed");
    }
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
    struct recorded it = {0};
    if (record_run(r, w, path, &it, err) != 0)
        return -1;
    bool go_on = take_recording(r, w, name, &it);
    free(it.why);
    free(it.output);
    return go_on ? 0 : 1;
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
