/*
 * record_label.c - what a recording says about how it was made.
 */
#include "base/buf.h"
#include "base/units.h"
#include "cmd/record.h"

#include <sys/wait.h>
#include <time.h>

static uint64_t timeval_ns(struct timeval t)
{
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_usec * 1000u;
}

/* Words as one line that a shell would take apart again. */
static void set_words(struct meta *m, const char *key, char **words, int n)
{
    autobuf struct buf b = {0};
    for (int i = 0; i < n; i++) {
        bool plain = words[i][0] && !words[i][strcspn(words[i], " \t\n'\"\\$`*?[]{}()<>|&;~#!")];
        buf_printf(&b, plain ? "%s%s" : "%s'%s'", i ? " " : "", words[i]);
    }
    meta_set(m, key, buf_text(&b));
}

static int count_words(char **words)
{
    int n = 0;
    while (words[n])
        n++;
    return n;
}

static void set_time(struct meta *m)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    meta_set_u64(m, META_TIME_NS, (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec);
}

/* The command line of a process that we attach to. */
static void set_process(struct meta *m, int pid)
{
    char path[40], line[1024];
    snprintf(path, sizeof path, "/proc/%d/cmdline", pid);
    autofclose FILE *f = fopen(path, "re");
    size_t n = f ? fread(line, 1, sizeof line, f) : 0;
    while (n && !line[n - 1])
        n--;
    for (size_t i = 0; i < n; i++)
        line[i] = line[i] ? line[i] : ' ';
    meta_set(m, META_COMMAND, (struct text){line, n});
    meta_set_u64(m, "pid", (uint64_t)pid);
}

/* An engine may find out only while it records what it has to give up. */
static void set_note(struct meta *m, const struct recorder *r)
{
    const char *why = r->engine_note, *more = r->facts->note;
    autofree char *note = mem_printf("%s%s%s", why, *why && *more ? "; " : "", more);
    if (*note)
        meta_set_str(m, META_ENGINE_NOTE, note);
}

void record_label_start(struct recorder *r, const struct record_opts *o,
                        const struct record_host *host)
{
    struct meta *m = &r->profile->meta;
    const struct engine_facts *f = r->facts;
    char rate[UNITS_MAX];
    meta_set_str(m, META_KIND, f->kind);
    meta_set_str(m, META_EVENT, f->event);
    meta_set_str(m, META_ENGINE, r->engine->name);
    if (f->rate_hz > 0) {
        snprintf(rate, sizeof rate, "%.10g", o->rate_hz);
        meta_set_str(m, META_RATE_HZ, rate);
    }
    set_note(m, r);
    meta_set_str(m, META_KERNEL_HIDDEN, f->kernel_hidden ? "yes" : "no");
    if (r->opts.command)
        set_words(m, META_COMMAND, r->opts.command, count_words(r->opts.command));
    else
        set_process(m, r->opts.pid);
    set_time(m);
    fingerprint_put(&host->fingerprint, m);
    provenance_put(&host->provenance, m);
    provenance_put_options(m, host->n_args, host->args);
}

static void set_status(struct meta *m, const struct recorder *r)
{
    char s[32];
    if (!r->exited)
        return;
    if (WIFSIGNALED(r->status))
        snprintf(s, sizeof s, "signal %d", WTERMSIG(r->status));
    else
        snprintf(s, sizeof s, "%d", WEXITSTATUS(r->status));
    meta_set_str(m, META_EXIT_STATUS, s);
    meta_set_u64(m, META_CPU_TIME_NS,
                 timeval_ns(r->usage.ru_utime) + timeval_ns(r->usage.ru_stime));
}

/*
 * The CPU time that samples could see. The kernel's count knows of processes that nobody waited
 * for; it is that of all code, so where the kernel's part is left out only the command's own helps.
 */
uint64_t record_cpu_ns(const struct recorder *r)
{
    const struct engine_facts *f = r->facts;
    uint64_t user_ns = timeval_ns(r->usage.ru_utime), kernel_ns = timeval_ns(r->usage.ru_stime);
    if (f->kernel_hidden || r->opts.engine.user_only || strchr(f->event, ':'))
        return r->exited ? user_ns : 0;
    uint64_t waited_ns = r->exited ? user_ns + kernel_ns : 0; /* the end of a process included */
    return f->cpu_used_ns > waited_ns ? f->cpu_used_ns : waited_ns;
}

static void set_sampled(struct meta *m, const struct recorder *r)
{
    if (r->facts->sampled_ns)
        meta_set_u64(m, META_SAMPLED_NS, r->facts->sampled_ns);
    if (!meta_find(m, META_CPU_TIME_NS) && r->facts->cpu_used_ns)
        meta_set_u64(m, META_CPU_TIME_NS, r->facts->cpu_used_ns);
}

/*
 * Samples for each second of CPU time that could be sampled. A clock counts the time itself;
 * where the kernel is hidden its time gave no samples.
 */
static void set_achieved(struct meta *m, const struct recorder *r)
{
    const struct engine_facts *f = r->facts;
    double ns = (double)timeval_ns(r->usage.ru_utime);
    if (!f->kernel_hidden && !r->opts.engine.user_only)
        ns += (double)timeval_ns(r->usage.ru_stime);
    if (!r->exited)
        ns = strcmp(f->unit, "nanoseconds") == 0 ? (double)f->counted : 0;
    if (ns <= 0 || f->rate_hz <= 0)
        return;
    char rate[UNITS_MAX];
    snprintf(rate, sizeof rate, "%.0f", (double)r->samples * 1e9 / ns);
    meta_set_str(m, META_RATE_ACHIEVED_HZ, rate);
}

static void set_unfinished(struct meta *m, const struct recorder *r)
{
    static const char *const keys[UNWIND_ENDS] = {
        [UNWIND_STACK_CUT] = "unfinished_stack_cut", [UNWIND_NO_MAP] = "unfinished_no_mapping",
        [UNWIND_NO_RULE] = "unfinished_no_rule",     [UNWIND_NO_SENSE] = "unfinished_bad_rule",
        [UNWIND_DEEP] = "unfinished_too_deep",
    };
    meta_set_u64(m, META_UNFINISHED, r->samples - r->ends[UNWIND_WHOLE]);
    for (int i = 0; i < UNWIND_ENDS; i++)
        if (keys[i] && r->ends[i])
            meta_set_u64(m, keys[i], r->ends[i]);
}

void record_label_end(struct recorder *r, const struct quality *q)
{
    struct meta *m = &r->profile->meta;
    struct rusage own;
    char share[UNITS_MAX];
    meta_set_u64(m, META_SAMPLES, r->samples);
    set_note(m, r);
    meta_set_u64(m, META_LOST, r->facts->lost);
    meta_set_u64(m, META_THROTTLED, r->facts->throttled);
    meta_set_u64(m, META_DURATION_NS, r->end_ns - r->start_ns);
    set_status(m, r);
    set_sampled(m, r);
    set_achieved(m, r);
    set_unfinished(m, r);
    meta_set_str(m, META_UNNAMED_SHARE, units_share(share, q->unnamed_share, 1));
    getrusage(RUSAGE_SELF, &own);
    meta_set_u64(m, META_RECORDER_NS, timeval_ns(own.ru_utime) + timeval_ns(own.ru_stime));
}
