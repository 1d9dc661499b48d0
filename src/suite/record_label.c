/*
 * record_label.c - what a recording says about how it was made.
 */
#include "base/clock.h"
#include "base/program.h"
#include "base/units.h"
#include "base/words.h"
#include "model/meta_words.h"
#include "suite/record_inner.h"

#include <sys/wait.h>

static void set_command(struct meta *m, char **words)
{
    autobuf struct buf b = {0};
    size_t n = 0;
    while (words[n])
        n++;
    words_join(&b, words, n);
    meta_set(m, META_COMMAND, buf_text(&b));
}

/* The command line of a process that we attach to. */
static void set_process(struct meta *m, int pid)
{
    char path[40], line[1024];
    snprintf(path, sizeof path, "/proc/%d/cmdline", pid);
    autofclose FILE *f = fopen(path, "re");
    size_t n = f ? fread(line, 1, sizeof line, f) : 0;
    while (n > 1 && !line[n - 1] && !line[n - 2]) /* behind a title that the program set itself */
        n--;
    struct text rest = {line, n};
    autobuf struct buf words = {0};
    while (rest.n) {
        struct text word = text_cut(&rest, '\0');
        autofree char *copy = mem_strndup(word.at, word.n);
        words_join(&words, &copy, 1);
    }
    meta_set(m, META_COMMAND, buf_text(&words));
    meta_set_u64(m, "pid", (uint64_t)pid);
}

static void hide_arguments(struct meta *m)
{
    autobuf struct buf b = {0};
    words_hide(&b, meta_find(m, META_COMMAND));
    meta_set(m, META_COMMAND, buf_text(&b));
}

/* An engine may find out only while it records what it has to give up. */
static void set_note(struct meta *m, const struct recorder *r)
{
    const char *notes[] = {r->engine_note, r->facts->note, r->scopes_note};
    autobuf struct buf note = {0};
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++)
        if (*notes[i])
            buf_printf(&note, "%s%s", note.n ? "; " : "", notes[i]);
    if (note.n)
        meta_set(m, META_ENGINE_NOTE, buf_text(&note));
}

static void set_machine(struct meta *m, const struct record_opts *o)
{
    const char *const parts[][2] = {{"CPU ", o->cpus}, {"cgroup ", o->cgroup}, {"user ", o->user}};
    autobuf struct buf b = {0};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i][1])
            buf_printf(&b, "%s%s%s", b.n ? ", " : "the machine, only ", parts[i][0], parts[i][1]);
    meta_set_str(m, META_MACHINE, "yes");
    if (b.n)
        meta_set_str(m, META_MACHINE_PART, buf_cstr(&b));
}

void record_label_start(struct recorder *r, const struct record_opts *o,
                        const struct record_host *host)
{
    struct meta *m = &r->profile->meta;
    const struct engine_facts *f = r->facts;
    meta_set_str(m, META_ENGINE, r->engine->name);
    set_note(m, r);
    meta_set_str(m, META_KERNEL_HIDDEN, f->kernel_hidden ? "yes" : "no");
    if (f->clocks)
        meta_set_str(m, META_CLOCKS, f->clocks);
    if (f->rate_is_most)
        meta_set_str(m, META_RATE_IS_MOST, "yes");
    if (r->opts.engine.machine)
        set_machine(m, o);
    else if (r->opts.command)
        set_command(m, r->opts.command);
    else
        set_process(m, r->opts.pid);
    if (o->hide_arguments)
        hide_arguments(m);
    meta_set_u64(m, META_TIME_NS, clock_wall_ns());
    fingerprint_put(&host->fingerprint, m);
    provenance_put(&host->provenance, m);
    provenance_put_options(m, o->n_args, o->args);
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
                 clock_timeval_ns(r->usage.ru_utime) + clock_timeval_ns(r->usage.ru_stime));
}

/*
 * Where switches and wakeups were recorded their sum, so that all parts of a report have one
 * number. Else not for one file of several: what threads waited before it began is not taken off.
 */
static void set_queued(struct meta *m, const struct recorder *r)
{
    uint64_t cpu_ns = 0, queued_ns = 0;
    meta_find_u64(m, META_CPU_TIME_NS, &cpu_ns);
    bool summed = r->waits && !*r->facts->no_wakers;
    if (summed)
        queued_ns = waits_facts_of_file(r->waits).runnable_ns;
    if (summed || (r->opts.rotate_s <= 0 && runqueue_total(&r->queue, cpu_ns, &queued_ns)))
        meta_set_u64(m, META_QUEUED_NS, queued_ns);
}

/* As the kernel counted it; where it did not, the event's clock, which has interrupts as well. */
static uint64_t count_cpu_ns(const struct recorder *r)
{
    uint64_t counted_ns = cpucount_total(&r->cpu);
    return counted_ns ? counted_ns : r->facts->cpu_used_ns;
}

/*
 * The kernel looks at its tick, every 1 to 10 ms, whether a process runs its own code, and takes
 * all for that where it never found it elsewhere. Of processes that end before a few ticks this
 * says nothing (seen: 22 % for 66 % that the kernel took of a shell script).
 */
static bool user_time_is_known(const struct recorder *r)
{
    enum { LIVED_NS = 20000000 };
    uint64_t all_ns = clock_timeval_ns(r->usage.ru_utime) + clock_timeval_ns(r->usage.ru_stime);
    return all_ns / (r->facts->ended_processes + 1) >= LIVED_NS;
}

/* Only its own code gives samples, or is asked for. */
static bool sees_user_only(const struct recorder *r)
{
    return r->facts->kernel_hidden || r->opts.engine.user_only || strchr(r->facts->event, ':');
}

/*
 * The looks at processes know of those that nobody waited for; what they count is that of all code,
 * so where the kernel's part is left out only the command's own helps. Where even that does not say
 * which part it was, it is all (quality.c).
 */
uint64_t record_cpu_ns(const struct recorder *r)
{
    if (r->opts.rotate_s > 0) /* the counts are of all files together */
        return 0;
    uint64_t user_ns = clock_timeval_ns(r->usage.ru_utime),
             kernel_ns = clock_timeval_ns(r->usage.ru_stime);
    if (sees_user_only(r))
        return !r->exited ? 0 : user_time_is_known(r) ? user_ns : user_ns + kernel_ns;
    uint64_t waited_ns = r->exited ? user_ns + kernel_ns : 0, /* the end of a process included */
        counted_ns = waited_ns ? cpucount_total(&r->cpu) : count_cpu_ns(r);
    return counted_ns > waited_ns ? counted_ns : waited_ns;
}

enum { SAMPLES_DUE = 5 }; /* where none of so many came, that is no chance */

bool record_was_too_short(const struct recorder *r)
{
    return !r->events[0].samples &&
           (double)record_cpu_ns(r) / 1e9 * r->facts->rate_hz >= SAMPLES_DUE;
}

static void set_sampled(struct meta *m, const struct recorder *r)
{
    uint64_t of_ns = record_cpu_ns(r);
    if (r->facts->kernel_hidden && !r->exited && r->opts.rotate_s <= 0)
        of_ns = count_cpu_ns(r);
    bool known = r->facts->sampled_ns || record_was_too_short(r);
    if (known)
        meta_set_u64(m, META_SAMPLED_NS, r->facts->sampled_ns);
    if (r->facts->ended_threads)
        meta_set_u64(m, META_THREADS_ENDED, r->facts->ended_threads);
    if (known && of_ns)
        meta_set_u64(m, META_SAMPLED_OF_NS, of_ns);
    if (!meta_find(m, META_CPU_TIME_NS) && r->facts->cpu_used_ns)
        meta_set_u64(m, META_CPU_TIME_NS, count_cpu_ns(r));
}

/*
 * Samples for each second of CPU time that could be sampled. A clock counts the time itself;
 * where the kernel is hidden its time gave no samples.
 */
static void set_achieved(struct recorder *r)
{
    const struct engine_facts *f = r->facts;
    double ns = (double)clock_timeval_ns(r->usage.ru_utime);
    if (!sees_user_only(r))
        ns += (double)clock_timeval_ns(r->usage.ru_stime);
    else if (!user_time_is_known(r))
        ns = 0;
    if (!r->exited)
        ns = f->dimension == DIM_TIME && f->counted ? (double)count_cpu_ns(r) : 0;
    if (ns > 0 && f->rate_hz > 0)
        profile_stream(r->profile, r->events[0].stream)->rate_achieved_hz =
            (double)r->events[0].samples * 1e9 / ns;
}

/* Who had the CPUs that threads waited for. Limits are of all files together. */
static void set_rivals(struct meta *m, const struct recorder *r, const struct waits_facts *f)
{
    if (r->opts.engine.machine)
        return;
    meta_set_u64(m, META_WAITS_QUEUED_NS, f->queued_ns);
    meta_set_u64(m, META_WAITS_QUEUED_OWN_NS, f->queued_own_ns);
    if (r->opts.rotate_s > 0)
        return;
    meta_set_u64(m, META_THROTTLED_NS, cpulimits_throttled_ns(&r->limits));
    meta_set_u64(m, META_STOLEN_NS, cpulimits_stolen_ns(&r->limits));
}

static void set_waits(struct meta *m, const struct recorder *r)
{
    struct waits_facts f = r->waits ? waits_facts_of_file(r->waits) : (struct waits_facts){0};
    uint64_t n = f.unknown_ends;
    const char *no_wakers = r->facts->no_wakers;
    if (r->waits) {
        meta_set_str(m, META_WAITS_STACKS, r->facts->waits_bare ? "no" : "yes");
        meta_set_str(m, META_WAITS_WAKERS, *no_wakers ? no_wakers : "yes");
        set_rivals(m, r, &f);
    }
    if (n || meta_find(m, META_WAITS_UNKNOWN_ENDS)) /* of an earlier file */
        meta_set_u64(m, META_WAITS_UNKNOWN_ENDS, n);
}

/* How busy the machine was. */
static void set_idle(struct meta *m, const struct recorder *r)
{
    size_t cpus;
    if (!r->opts.engine.machine)
        return;
    uint64_t idle_ns = recorder_idle_ns(r, &cpus);
    if (cpus) {
        meta_set_u64(m, META_IDLE_NS, idle_ns);
        meta_set_u64(m, META_IDLE_CPUS, cpus);
    }
}

/* How much of the time counters counted: less where the CPU has fewer than were asked for. */
static void set_running(struct meta *m, const struct recorder *r)
{
    autobuf struct buf b = {0};
    for (size_t i = 0; i < r->n_events; i++) {
        const struct engine_facts *f = &r->facts[i];
        meta_words_running(&b, f->event, f->enabled_ns, f->running_ns);
    }
    if (b.n)
        meta_set(m, META_RUNNING, buf_text(&b));
}

/* Root keeps the clocks of CPUs, where it may have them. */
char *record_hidden(const struct recorder *r)
{
    const char *command = r->opts.command ? r->opts.command[0] : NULL;
    const char *why = command ? program_hidden(command) : NULL, *clocks = r->facts->clocks;
    bool root = geteuid() == 0;
    if (!why || (root && (!clocks || strcmp(clocks, "of threads") != 0)))
        return NULL;
    return mem_printf("%s %s, so the kernel %s", command, why,
                      root ? "takes its events away; run kelvin as that user, or as root "
                             "outside of containers"
                           : "hides it from you; run kelvin as root");
}

static char *say_no_samples(const struct recorder *r)
{
    char *hidden = record_hidden(r);
    char used[UNITS_MAX];
    if (hidden)
        return hidden;
    if (obtained_is_event(r->facts->obtained))
        return mem_printf("%s did not happen in this time", r->facts->event);
    if (record_was_too_short(r))
        return mem_printf("%s CPU time was used by processes and threads that live for less "
                          "than a period: a higher rate sees more of them",
                          units_seconds(used, (double)record_cpu_ns(r) / 1e9));
    return mem_printf("%s used hardly any CPU time",
                      r->opts.engine.machine ? "what was recorded" : "the program");
}

/* What looks at the file later cannot know. */
static void set_no_samples(struct meta *m, const struct recorder *r)
{
    if (r->engine == &engine_none || r->events[0].samples)
        return;
    autofree char *why = say_no_samples(r);
    meta_set_str(m, META_NO_SAMPLES, why);
}

void record_label_end(struct recorder *r, const struct quality *q)
{
    struct meta *m = &r->profile->meta;
    struct rusage own;
    char share[UNITS_MAX];
    set_note(m, r);
    meta_set_u64(m, META_DURATION_NS, r->end_ns - r->start_ns);
    set_status(m, r);
    set_sampled(m, r);
    set_idle(m, r);
    set_queued(m, r);
    set_waits(m, r);
    set_running(m, r);
    set_achieved(r);
    set_no_samples(m, r);
    meta_set_str(m, META_UNNAMED_SHARE, units_share(share, q->unnamed_share, 1));
    getrusage(RUSAGE_SELF, &own);
    meta_set_u64(m, META_RECORDER_NS,
                 clock_timeval_ns(own.ru_utime) + clock_timeval_ns(own.ru_stime));
}
