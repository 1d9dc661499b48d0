/*
 * record_report.c - what `kelvin record` prints.
 */
#include "analysis/quality.h"
#include "base/units.h"
#include "base/utf8.h"
#include "base/words.h"
#include "cmd/command.h"
#include "cmd/record.h"
#include "record/rings.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- while it runs --- */

/* CPU samples cannot show waiting, and who attaches to a server would wait for them for long. */
void record_say_idle(const struct recorder *r)
{
    enum { PATIENCE = 3 }; /* in beats, about a second each */
    if (r->beats != PATIENCE || r->events[0].samples || r->waits || r->opts.engine.machine)
        return;
    command_say(
        "process %d has used no CPU time so far; kelvin waits for it (Ctrl-C ends the recording). "
        "'kelvin record --waits -p %d' shows what it waits for",
        r->opts.pid, r->opts.pid);
}

void record_say_listening(const struct listen *listen)
{
    command_say("listening: http://%s/metrics", listen_address(listen));
}

void record_status(const struct recorder *r)
{
    record_status_clear();
    record_say_idle(r);
    char n[2][UNITS_MAX];
    double seconds = (double)(r->last_flush_ns - r->start_ns) / 1e9;
    fprintf(stderr, "kelvin: %.1f s, %s, %s lost ", seconds,
            units_many(n[0], r->events[0].samples, "sample", "samples"),
            units_count(n[1], r->facts->lost));
}

void record_status_clear(void)
{
    fputs("\r\033[K", stderr);
}

/*
 * The command may have left the cursor in a line, and nothing tells where. A line's width of blanks
 * leads from there into the next line, but from the start of a line only to its end.
 */
void record_begin_line(void)
{
    struct winsize size;
    const char *term = getenv("TERM");
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || !size.ws_col || !term ||
        strcmp(term, "dumb") == 0)
        return;
    fprintf(stderr, "%*s\r\033[K", size.ws_col, "");
}

/* --- when it is done --- */

static double record_percent(uint64_t part, uint64_t whole)
{
    return whole ? 100 * (double)part / (double)whole : 0;
}

/* How to get more samples. */
static const char *or_raise_rate(const struct record_facts *f)
{
    return f->rate_is_most ? "" : ", or raise -F";
}

void record_say_gate(const struct record_facts *f, const struct record_opts *o, struct err *err)
{
    switch (f->gate) {
    case GATE_GOOD:
        break;
    case GATE_FEW:
        if (f->samples)
            err_set(err, EXIT_FAILS,
                    "only %llu sample%s, fewer than --min-samples %ld: run longer%s, or keep the "
                    "recording with --allow-partial",
                    (unsigned long long)f->samples, f->samples == 1 ? "" : "s", o->min_samples,
                    f->rate_is_most ? "" : ", raise -F");
        else
            err_set(err, EXIT_FAILS,
                    "no samples (--min-samples %ld): the program used too little CPU time; run "
                    "longer%s",
                    o->min_samples, or_raise_rate(f));
        break;
    case GATE_LOST:
        err_set(err, EXIT_FAILS,
                "%.1f%% of the samples were lost (--strict allows %d%%): lower the rate with -F, "
                "or --stack-size",
                f->percent, STRICT_LOST);
        break;
    case GATE_UNFINISHED:
        err_set(err, EXIT_FAILS,
                "%.1f%% of the stacks do not reach the bottom (--strict allows %d%%): 'kelvin "
                "info' shows why%s",
                f->percent, STRICT_UNFINISHED,
                o->stack_bytes < RECORD_STACK_BYTES ? "; --stack-size copies more of each" : "");
        break;
    case GATE_UNNAMED:
        err_set(err, EXIT_FAILS,
                "%.1f%% of the frames have no name (--strict allows %d%%): install debug "
                "symbols, or set DEBUGINFOD_URLS",
                f->percent, STRICT_UNNAMED);
        break;
    }
}

/* What can still be had of a recording that could not be finished. */
void record_say_left(const struct record_facts *f, const struct record_opts *o)
{
    char n[2][UNITS_MAX];
    if (f->part_left)
        command_say("%s of %s samples are in '%s', which opens like any recording",
                    units_count(n[0], f->saved_samples), units_count(n[1], f->samples), f->part);
    else if (f->samples)
        command_say("none of the%s %s could be saved", f->files > 1 ? " last" : "",
                    units_many(n[0], f->samples, "sample", "samples"));
    if (o->folder && f->others_left)
        command_say("what was recorded before is in the folder %s; see: kelvin report %s",
                    o->folder, o->folder);
}

/* Then the note says that no samples were asked for. */
static bool is_unsampled(const struct record_facts *f)
{
    return strcmp(f->engine, "none") == 0;
}

enum { RATE_LEAST = 10 }; /* a rate of fewer samples is chance */

/* The rate that the user asked for; the engine may allow less. */
static void print_rate(const struct record_facts *f, double asked_hz)
{
    if (f->rate_hz <= 0)
        return;
    bool achieved = f->rate_achieved_hz > 0 && f->files <= 1 && /* one number for all of the run */
                    f->all.samples >= RATE_LEAST;
    if (achieved) /* a lone clock takes a tenth more, see perfevents.h; a timer may take less */
        fprintf(stderr, ", %.0f per second of CPU time (", f->rate_achieved_hz);
    else
        fputs(", ", stderr);
    double asked = asked_hz > f->rate_hz ? asked_hz : f->rate_hz;
    fprintf(stderr, "%.10g%s asked for", asked, achieved ? "" : " per second");
    if (asked > f->rate_hz)
        fprintf(stderr, ", %s %.10g possible here", /* ticks meet a program by chance */
                achieved && f->rate_achieved_hz > f->rate_hz ? "about" : "at most", f->rate_hz);
    if (achieved)
        putc(')', stderr);
}

static void print_head(const struct record_facts *f, double asked_hz)
{
    char n[3][UNITS_MAX];
    units_seconds(n[2], f->all.wall_s);
    if (is_unsampled(f)) {
        fprintf(stderr, "kelvin: recorded for %s\n", n[2]);
        return;
    }
    fprintf(stderr, "kelvin: %s sample%s in %s, %s lost; %s %s", units_count(n[0], f->all.samples),
            f->all.samples == 1 ? "" : "s", n[2], units_count(n[1], f->all.lost),
            obtained_name(f->obtained), f->event);
    print_rate(f, asked_hz);
    putc('\n', stderr);
    if (f->files > 1)
        fprintf(stderr, "  the last file: %s sample%s in %s\n", units_count(n[0], f->samples),
                f->samples == 1 ? "" : "s", units_seconds(n[1], f->wall_s));
}

static void print_machine(const struct record_facts *f)
{
    char n[UNITS_MAX];
    double whole_ns = f->wall_s * 1e9 * (double)f->cpus;
    double busy = whole_ns > 0 ? 1 - (double)f->idle_ns / whole_ns : 0;
    fprintf(stderr, "  %s process%s", units_count(n, f->processes), f->processes == 1 ? "" : "es");
    if (f->cpus)
        fprintf(stderr, "; %zu CPU%s, %.0f%% busy", f->cpus, f->cpus == 1 ? "" : "s",
                100 * (busy > 0 ? busy : 0));
    putc('\n', stderr);
}

static void print_others(const struct record_facts *f)
{
    char n[UNITS_MAX];
    for (int i = 0; i < ENGINE_EVENTS_MAX && *f->others[i].event; i++)
        fprintf(stderr, "  %s sample%s of %s\n", units_count(n, f->others[i].samples),
                f->others[i].samples == 1 ? "" : "s", f->others[i].event);
}

static void print_top(const struct record_facts *f)
{
    for (int i = 0; i < RECORD_TOP && f->top[i].share > 0; i++) {
        fprintf(stderr, "  %6.2f%%  ", 100 * f->top[i].share);
        utf8_print(stderr, f->top[i].name);
        putc('\n', stderr);
    }
    if (f->agent_share >= 0.01)
        fprintf(stderr, "  %6.2f%%  (kelvin's own recording of the heap)\n", 100 * f->agent_share);
}

/* What the engine has to say; it may quote names of programs and files. */
static void print_note(const struct record_facts *f)
{
    if (!*f->note)
        return;
    fputs("  ", stderr);
    utf8_print(stderr, f->note);
    putc('\n', stderr);
}

static void print_sampled(const struct record_facts *f)
{
    char used[UNITS_MAX];
    double share = quality_sampled(f->sampled_ns, f->seen_ns, f->samples);
    if (f->lost > f->samples / 50)
        fprintf(stderr, "  %.0f%% of the samples were lost: lower the rate with -F\n",
                record_percent(f->lost, f->samples + f->lost));
    else if (share < 1)
        fprintf(stderr, "  sampled %.0f%% of %s CPU time; %s may have too few samples%s\n",
                100 * share, units_scaled(used, (double)f->seen_ns, SCALED_NS), f->missed,
                !f->rate_may_help ? ""
                : f->rate_is_most ? ", and the rate is about the highest possible here"
                                  : ": raise the rate with -F");
}

/* Beside others on its CPU a program stops before the tick that would have sampled it. */
static void print_tick(const struct record_facts *f)
{
    if (f->obtained == BY_TIMER && f->rate_achieved_hz > 0 && f->files <= 1 &&
        f->rate_achieved_hz < 0.6 * f->rate_hz)
        fprintf(
            stderr,
            "  the timer got %.0f of %.0f samples per second of CPU time: other processes share "
            "the CPU, and the program seldom runs when the kernel's clock ticks\n",
            f->rate_achieved_hz, f->rate_hz);
}

static void print_quality(const struct record_facts *f)
{
    double whole = f->samples ? record_percent(f->ends[UNWIND_WHOLE], f->samples) : 100;
    fprintf(stderr, "  whole stacks %.1f%%, frames without a name %.1f%%%s\n", whole,
            100 * f->unnamed_share,
            f->kernel_hidden ? ", kernel hidden (kernel.perf_event_paranoid)" : "");
    print_sampled(f);
    for (int i = UNWIND_WHOLE + 1; i < UNWIND_ENDS; i++)
        if (record_percent(f->ends[i], f->samples) >= 1)
            fprintf(stderr, "  %.1f%% %s: %s\n", record_percent(f->ends[i], f->samples),
                    i == UNWIND_GUESSED ? "guessed" : "unfinished",
                    unwind_end_name((enum unwind_end)i));
    if (f->throttled)
        fprintf(stderr, "  the kernel throttled sampling %llu time%s: lower the rate\n",
                (unsigned long long)f->throttled, f->throttled == 1 ? "" : "s");
    print_note(f);
    print_tick(f);
}

enum { SHORT_S = 2 }; /* what ends before has hardly waited */

static void print_none(const struct record_facts *f)
{
    char used[UNITS_MAX];
    if (obtained_is_event(f->obtained))
        fprintf(stderr, "  no samples: %s did not happen in this time\n", f->event);
    else if (f->too_short)
        fprintf(stderr,
                "  no samples of %s CPU time: processes and threads that end within one "
                "sampling period are hardly seen; %s\n",
                units_seconds(used, (double)f->seen_ns / 1e9),
                f->rate_is_most ? "the rate is about the highest possible here" : "raise -F");
    else
        fprintf(stderr, "  no samples: %s used hardly any CPU time; %s\n",
                f->machine ? "what was recorded" : "the program",
                f->has_waits || f->machine || f->wall_s < SHORT_S
                    ? "record for longer"
                    : "'kelvin record --waits' shows what it waits for");
}

/* Few samples are kept: a short program has no more. But nobody must take them for a result. */
static void print_few(const struct record_facts *f)
{
    if (f->all.samples >= QUALITY_FEW_SAMPLES || is_unsampled(f))
        return;
    if (!f->all.samples && *f->hidden) {
        fputs("  no samples: ", stderr);
        utf8_print(stderr, f->hidden);
        fputc('\n', stderr);
    } else if (!f->all.samples)
        print_none(f);
    else if (obtained_is_event(f->obtained)) /* each has a sample */
        return;
    else
        fprintf(stderr, "  only %llu %s: shares are rough; run longer%s\n",
                (unsigned long long)f->all.samples, f->all.samples == 1 ? "sample" : "samples",
                or_raise_rate(f));
}

/* Interpreters whose functions are seen only when asked for. */
static const struct {
    const char *name, *given[4], *what, *advice;
} interpreters[] = {
    {"python",
     {"-Xperf", "perf", "perf_jit"},
     "the script itself",
     "python3 -X perf (3.12 and newer)"},
    {"node",
     {"--perf-basic-prof", "--perf-prof", "--perf-basic-prof-only-functions"},
     "the script itself",
     "node --perf-basic-prof --interpreted-frames-native-stack"},
    {"java",
     {"-XX:+DumpPerfMapAtExit"},
     "the Java program",
     "java -XX:+PreserveFramePointer -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit (17 and "
     "newer)"},
};

static bool is_given(char **command, const char *const *given)
{
    for (; *command; command++)
        for (int i = 0; i < 4 && given[i]; i++)
            if (strcmp(*command, given[i]) == 0)
                return true;
    return false;
}

static void print_interpreter(char **command)
{
    const char *slash = command ? strrchr(command[0], '/') : NULL;
    const char *name = slash ? slash + 1 : command ? command[0] : "";
    for (size_t i = 0; i < sizeof interpreters / sizeof *interpreters; i++)
        if (text_starts(text_of(name), interpreters[i].name) &&
            !is_given(command, interpreters[i].given) && !getenv("PYTHONPERFSUPPORT"))
            fprintf(stderr, "  to see the functions of %s: %s\n", interpreters[i].what,
                    interpreters[i].advice);
}

/* "; next: kelvin heap 'a b.kelvin'": WHY, then N words as a shell takes them. */
static void print_command(const char *why, const char *const *words, size_t n)
{
    autobuf struct buf line = {0};
    words_join(&line, (char **)(uintptr_t)words, n);
    fputs(why, stderr);
    utf8_print(stderr, buf_cstr(&line));
}

/* Who asked for the heap, for locks or for waits wants to see them. */
static void print_next(const struct record_facts *f, const char *out)
{
    if (f->has_heap || f->has_locks)
        print_command("; next: ", (const char *[]){"kelvin", f->has_heap ? "heap" : "locks", out},
                      3);
    else if (f->has_waits)
        print_command("; next: ", (const char *[]){"kelvin", "report", out, "--waits"}, 4);
    else
        print_command("; next: ", (const char *[]){"kelvin", "report", out}, 3);
}

/* What it cost the process, and what is not known. */
static void print_probes(const struct heap_facts *h)
{
    char n[3][UNITS_MAX];
    double cost_ns = (double)h->stops * h->stop_ns;
    if (!h->stops) {
        fprintf(stderr,
                "  no probe was hit in %.1f s: the process called neither malloc nor free, nor "
                "another allocator that kelvin knows\n",
                h->probed_s);
        return;
    }
    fprintf(stderr,
            "  only blocks allocated since kelvin attached are counted\n"
            "  probes stopped the process %s, %s each: %s in %.1f s\n",
            units_many(n[0], h->stops, "time", "times"), units_scaled(n[1], h->stop_ns, SCALED_NS),
            units_scaled(n[2], cost_ns, SCALED_NS), h->probed_s);
    if (h->too_many)
        fprintf(
            stderr,
            "  that was too often: the probes were removed after %.1f s; start the process with "
            "'kelvin record --heap=sampled -- COMMAND' to follow its heap cheaply\n",
            h->probed_s);
}

/*
 * Bytes, not blocks: samples are drawn by bytes, and a few of them say little about numbers. No
 * sample is not nothing: 95 of 100 recordings would have had one of three times the mean.
 */
static void print_heap_estimates(const struct heap_facts *h)
{
    char n[UNITS_MAX], size[4][UNITS_MAX];
    units_scaled(size[3], 3 * (double)h->sample_bytes, SCALED_BYTES);
    if (!h->samples) {
        fprintf(stderr, "  heap: no sample, so at most about %s was allocated (95%%)\n", size[3]);
        return;
    }
    fprintf(stderr, "  heap: about %s allocated (%s sample%s); peak about %s, %s",
            units_scaled(size[0], (double)h->allocated, SCALED_BYTES),
            units_count(n, (uint64_t)h->samples), h->samples == 1 ? "" : "s",
            units_scaled(size[1], (double)h->peak, SCALED_BYTES),
            h->probed ? "still held" : "never freed");
    if (h->leaked)
        fprintf(stderr, " about %s\n", units_scaled(size[2], (double)h->leaked, SCALED_BYTES));
    else
        fprintf(stderr, ": no sample (at most about %s, 95%%)\n", size[3]);
}

/* Whose allocations these are, and whose are missing. */
static void print_heap_coverage(const struct heap_facts *h)
{
    char n[UNITS_MAX];
    if (!h->programs)
        fputs("  heap: nothing came from the command: its environment was cleared, its loader "
              "ignores LD_PRELOAD, or it exited before the library was loaded\n",
              stderr);
    if (*h->own_malloc)
        fprintf(stderr,
                "  heap: not recorded: %s, with a malloc of its own that kelvin cannot see\n",
                h->own_malloc);
    if (h->programs && *h->unseen)
        fprintf(stderr,
                "  heap: not recorded: %s, as kelvin's library did not get into it: the program is "
                "static, setuid, 32-bit or linked to musl, its environment was cleared, its "
                "address space is limited, or it has a /proc of its own\n",
                h->unseen);
    if (h->processes > 1)
        fprintf(stderr, "  heap: sums over %s processes\n", units_count(n, h->processes));
    if (h->running)
        fprintf(stderr, "  heap: %s process%s still running; later allocations are not recorded\n",
                units_count(n, h->running), h->running == 1 ? " was" : "es were");
}

static void print_heap(const struct heap_facts *h)
{
    char n[UNITS_MAX], size[3][UNITS_MAX];
    if (h->sample_bytes)
        print_heap_estimates(h);
    else if (h->allocations || (h->programs && !*h->own_malloc))
        fprintf(stderr, "  heap: %s, %s; peak %s, never freed %s\n",
                units_many(n, (uint64_t)h->allocations, "allocation", "allocations"),
                units_scaled(size[0], (double)h->allocated, SCALED_BYTES),
                units_scaled(size[1], (double)h->peak, SCALED_BYTES),
                units_scaled(size[2], (double)h->leaked, SCALED_BYTES));
    if (h->probed)
        print_probes(h);
    print_heap_coverage(h);
    if (h->waits && h->waits < RINGS_DAMAGED)
        fprintf(stderr, "  threads waited %s for the recorder to catch up\n",
                units_many(n, h->waits, "time", "times"));
    if (h->vague_ns > HEAP_VAGUE_NS)
        fprintf(stderr,
                "  times of some allocations may be off by up to %s: the recorder got no CPU for "
                "that long\n",
                units_scaled(n, (double)h->vague_ns, SCALED_NS));
    if (h->no_room)
        fprintf(stderr,
                "  the recorder had no memory left for %s block%s: they and their frees are left "
                "out; use --heap=sampled\n",
                units_count(n, h->no_room), h->no_room == 1 ? "" : "s");
    if (h->inherited)
        fprintf(stderr, "  %s %s that a forked child inherited: not counted\n",
                units_count(n, h->inherited),
                h->inherited == 1 ? "free was of a block" : "frees were of blocks");
    if (h->unknown && !h->no_room)
        fprintf(stderr, "  %s %s whose allocation was not seen: double frees or foreign pointers\n",
                units_count(n, h->unknown),
                h->unknown == 1 ? "free was of a block" : "frees were of blocks");
    if (h->lost >= RINGS_DAMAGED)
        fputs("  heap records were lost, and so was their number: the program wrote to memory that "
              "it shares with kelvin\n",
              stderr);
    else if (h->lost > h->no_room)
        fprintf(stderr, "  %llu heap records were lost\n",
                (unsigned long long)(h->lost - h->no_room));
}

static void print_waits(const struct record_facts *f, const struct record_opts *o, const char *out)
{
    char n[3][UNITS_MAX];
    fprintf(stderr, "  waits: %s, %s lost", units_count(n[0], f->waits.waits),
            units_many(n[1], f->waits.lost, "record", "records"));
    bool one_file = !o->folder && !(o->rotate_s > 0 && f->files > 1);
    if (!one_file || f->has_heap || f->has_locks) /* else it is the last line, see print_next() */
        print_command("; see: ", (const char *[]){"kelvin", "report", out, "--waits"}, 4);
    putc('\n', stderr);
    if (f->waits.unknown_ends)
        fprintf(stderr, "  %s an unknown end\n",
                units_many(n[2], f->waits.unknown_ends, "wait has", "waits have"));
    if (f->waits.summed && 100 * f->waits.summed >= f->waits.waits) /* fewer are worth no word */
        fprintf(stderr,
                "  switches came too fast for a stack each: %s counted and timed, and "
                "share the stacks of the others\n",
                units_many(n[2], f->waits.summed, "wait is", "waits are"));
    if (f->waits_bare)
        fprintf(stderr,
                "  waits have durations but no stacks of their own and no reasons, because %s\n",
                o->user_only ? "--user-only leaves out the kernel"
                             : "the kernel is hidden: run as root, or "
                               "'sysctl kernel.perf_event_paranoid=1'");
    else if (*f->no_wakers)
        fprintf(stderr, "  who ended the waits is not known: %s\n", f->no_wakers);
}

static void print_locks(const struct locks_facts *l)
{
    char n[2][UNITS_MAX], time[UNITS_MAX];
    uint64_t waits = l->waits - l->signal_waits, locks = l->locks - l->signals;
    if (waits)
        fprintf(stderr, "  locks: %s wait%s for %s lock%s, %s in total\n", units_count(n[0], waits),
                waits == 1 ? "" : "s", units_count(n[1], locks), locks == 1 ? "" : "s",
                units_scaled(time, (double)(l->wait_ns - l->signal_ns), SCALED_NS));
    else if (l->programs)
        fputs("  locks: no call that locks a mutex or read-write lock had to wait\n", stderr);
    if (l->signal_waits)
        fprintf(stderr,
                "  conditions, semaphores, barriers: %s wait%s, %s in total, which may only mean "
                "that threads were idle\n",
                units_count(n[0], l->signal_waits), l->signal_waits == 1 ? "" : "s",
                units_scaled(time, (double)l->signal_ns, SCALED_NS));
    if (!l->programs)
        fputs("  nothing came from the command: its environment was cleared, or its loader ignores "
              "LD_PRELOAD\n",
              stderr);
    if (l->lost)
        fprintf(stderr, "  %s lock records were lost\n", units_count(n[0], l->lost));
}

/* Where a collector is asked for, what it did not take is a matter of interest. */
static void print_sent(const struct spansend_facts *f, const char *url)
{
    char n[4][UNITS_MAX];
    fprintf(stderr, "  otlp: %s span%s sent to %.*s, %s not: %s dropped, as it was slow or gone",
            units_count(n[0], f->sent - f->rejected), f->sent - f->rejected == 1 ? "" : "s",
            (int)strcspn(url, "?"), url, /* what follows may be a key */
            units_count(n[1], f->dropped + f->failed + f->rejected), units_count(n[2], f->dropped));
    fprintf(stderr, ", %s refused or given up", units_count(n[3], f->failed + f->rejected));
    if (*f->why) {
        fputs(" (", stderr);
        utf8_print(stderr, f->why);
        putc(')', stderr);
    }
    putc('\n', stderr);
}

/* Programs without scopes get no word about them. */
static void print_scopes(const struct scopes_facts *f, const char *out, bool functions)
{
    char n[2][UNITS_MAX];
    if (functions && !f->functions)
        fputs("  no function was seen: build the program with -finstrument-functions (or all were "
              "left out)\n",
              stderr);
    if (!f->spans && !f->lost)
        return;
    fprintf(stderr, "  scopes: %s span%s, %s lost", units_count(n[0], f->spans),
            f->spans == 1 ? "" : "s", units_count(n[1], f->lost));
    print_command("; see: ", (const char *[]){"kelvin", "scopes", out}, 3);
    putc('\n', stderr);
}

static void say_folder(const struct record_facts *f, const struct record_opts *o)
{
    unsigned n = f->files > f->gaps ? f->files - f->gaps : 1;
    command_say("wrote %u recording%s to the folder %s; see: kelvin report %s --last 10m", n,
                n == 1 ? "" : "s", o->folder, o->folder);
    if (f->gaps)
        command_say("%u time%s a file could not be written: samples of about a second were lost "
                    "each time",
                    f->gaps, f->gaps == 1 ? "" : "s");
}

/* What was recorded may be less than what was meant. Ctrl-C and a request to end are no failure. */
static void print_failure(const struct record_facts *f)
{
    if (!f->exited)
        return;
    if (WIFSIGNALED(f->status) && WTERMSIG(f->status) != SIGINT && WTERMSIG(f->status) != SIGTERM)
        fprintf(stderr, "  the command was ended by signal %d\n", WTERMSIG(f->status));
    else if (WIFEXITED(f->status) && WEXITSTATUS(f->status))
        fprintf(stderr, "  the command ended with exit code %d\n", WEXITSTATUS(f->status));
}

static void print_packed(const struct record_packed *k)
{
    char bytes[UNITS_MAX];
    fprintf(stderr, "kelvin: source: %u file%s packed (%s)", k->files, k->files == 1 ? "" : "s",
            units_scaled(bytes, (double)k->bytes, SCALED_BYTES));
    if (k->outside)
        fprintf(stderr,
                ", %u outside of the project left out (--pack-source=DIR takes those below "
                "DIR)",
                k->outside);
    if (k->too_large)
        fprintf(stderr, ", %u too large", k->too_large);
    if (k->absent)
        fprintf(stderr, ", %u not here", k->absent);
    putc('\n', stderr);
}

void record_summary(const struct record_facts *f, const struct record_opts *o)
{
    char bytes[UNITS_MAX];
    const char *out = o->output;
    char **command = o->pid || o->machine ? NULL : o->args + o->n_args;
    const char *suffix = strrchr(out, '.');
    int stem = suffix && strcmp(suffix, ".kelvin") == 0 ? (int)(suffix - out) : (int)strlen(out);
    print_head(f, o->rate_hz);
    print_failure(f);
    if (f->machine)
        print_machine(f);
    print_others(f);
    print_top(f);
    autofree char *first = o->rotate_s > 0 && !o->folder /* the one to look at */
                               ? mem_printf("%.*s.0001.kelvin", stem, out)
                               : mem_strdup(out);
    if (f->samples)
        print_quality(f);
    else
        print_note(f);
    print_few(f);
    print_interpreter(command);
    if (f->has_waits)
        print_waits(f, o, first);
    if (f->has_heap)
        print_heap(&f->heap);
    if (f->has_locks)
        print_locks(&f->locks);
    print_scopes(&f->scopes, first, o->functions != NULL);
    if (o->otlp)
        print_sent(&f->sent, o->otlp);
    if (o->pack_source && !o->rotate_s)
        print_packed(&f->packed);
    if (o->folder) {
        say_folder(f, o);
        return;
    }
    if (o->rotate_s > 0 && f->files > 1) {
        command_say("wrote %.*s.0001.kelvin to %.*s.%04u.kelvin", stem, out, stem, out, f->files);
        return;
    }
    fputs("kelvin: wrote ", stderr);
    utf8_print(stderr, out);
    fprintf(stderr, " (%s)", units_scaled(bytes, (double)f->bytes, SCALED_BYTES));
    if (f->samples || f->has_heap || f->has_locks || f->has_waits)
        print_next(f, out);
    putc('\n', stderr);
    if (*f->old)
        command_say("the recording that was there before is kept as %s", f->old);
}
