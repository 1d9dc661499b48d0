/* run_host.c - the first phase of a run: on what machine, from what sources. */
#include "host/ask.h"
#include "suite/exec.h"
#include "suite/run_inner.h"

static void note_compiler(struct suite *s)
{
    autobuf struct buf said = {0};
    const char *argv[] = {"cc", "--version", NULL};
    struct ask ask = {.ms_left = 2000};
    bool known = ask_program(&ask, argv, &said);
    struct text all = buf_text(&said), line = text_cut(&all, '\n');
    s->compiler = mem_strndup(known ? line.at : "", known ? line.n : 0);
}

static void warn(struct suite *s, char *text)
{
    *vec_push(&s->warnings) = text;
}

static void look_at_host(struct suite *s)
{
    const struct fingerprint *h = &s->host;
    char *busy = fingerprint_busy(h);
    if (busy)
        warn(s, busy);
    if (s->folder.in_use)
        warn(s, mem_strdup("another 'kelvin run' of this suite is running: each distorts the times "
                           "of the other"));
    if (strcmp(h->governor, "performance") != 0 && strcmp(h->governor, FINGERPRINT_UNKNOWN) != 0)
        warn(s, mem_printf("the CPU's frequency is governed by '%s': 'cpupower frequency-set -g "
                           "performance' steadies it",
                           h->governor));
    if (strcmp(h->turbo, "on") == 0)
        warn(s, mem_strdup("turbo is on: the first seconds of a run may be faster than the rest"));
    if (strcmp(h->hypervisor, "none") != 0 && strcmp(h->hypervisor, FINGERPRINT_UNKNOWN) != 0)
        warn(s, mem_printf("a virtual machine (%s): other guests may distort the measurements",
                           h->hypervisor));
}

/* The files that differ from the commit, as git names them. */
static void note_dirty_files(struct suite *s)
{
    autobuf struct buf said = {0};
    const char *argv[] = {
        "git", "-c", "core.quotePath=false", "status", "--porcelain", "--untracked-files=no", NULL};
    struct ask ask = {.ms_left = 2000};
    if (!s->git.dirty || !ask_program(&ask, argv, &said))
        return;
    struct text rest = buf_text(&said);
    s->dirty_files = mem_calloc(SUITE_DIRTY_SHOWN + 1, sizeof *s->dirty_files);
    while (rest.n) {
        struct text line = text_cut(&rest, '\n');
        if (line.n > 3 && s->n_dirty < SUITE_DIRTY_SHOWN)
            s->dirty_files[s->n_dirty] = mem_strndup(line.at + 3, line.n - 3);
        s->n_dirty++;
    }
}

int run_host(struct run *r, struct err *err)
{
    struct suite *s = &r->suite;
    struct words cpus = conf_words(&s->conf, "", "determinism.cpus");
    char line[320];
    int rc = exec_check_cpus(&cpus, err);
    words_done(&cpus);
    if (rc != 0)
        return -1;
    fingerprint_read(&s->host, "");
    provenance_read(&s->git);
    fingerprint_put(&s->host, &s->series.meta);
    provenance_put(&s->git, &s->series.meta);
    meta_set_u64(&s->series.meta, META_TIME_NS, (uint64_t)s->time_s * 1000000000u);
    note_compiler(s);
    note_dirty_files(s);
    look_at_host(s);
    run_say(r, "%s", fingerprint_line(&s->host, line));
    for (size_t i = 0; i < s->warnings.n; i++)
        run_say(r, "note: %s", s->warnings.at[i]);
    if (s->git.dirty)
        run_say(r, "note: %zu file%s from the commit; the pages say so", s->n_dirty,
                s->n_dirty == 1 ? " differs" : "s differ");
    return run_load_baseline(r, err);
}
