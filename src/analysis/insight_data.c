/* insight_data.c - rules about the recording's worth, and about waiting. */
#include "analysis/insight_inner.h"
#include "analysis/restack.h"
#include "base/units.h"
#include "model/waitstream.h"

#include <math.h>
#include <stdlib.h>

/* Advice to raise the rate is of no use where that is not possible. */
static bool insight_rate_is_most(const struct insight_input *in)
{
    const char *most = meta_find(&in->functions->profile->meta, META_RATE_IS_MOST);
    return most && strcmp(most, "yes") == 0;
}

INSIGHT_TEST(insight_test_few)
{
    (void)self;
    const struct quality *q = in->quality;
    if (!q->has_samples || q->samples >= QUALITY_FEW_SAMPLES ||
        stream_has_every_event(in->functions->selection->stream))
        return false;
    struct interval i = stats_wilson(0.1, (double)q->samples, STATS_Z95);
    if (!q->samples) {
        buf_str(&ret->evidence, "no samples: nothing is known about what ran");
        buf_str(&ret->advice, "Record while the program works, or record what it waits for.");
        return true;
    }
    buf_printf(&ret->evidence, "only %lld sample%s: ", (long long)q->samples,
               q->samples == 1 ? "" : "s");
    if (q->samples < 10) /* nothing can show as 10% */
        buf_str(&ret->evidence, "too few to say where the time goes");
    else
        buf_printf(&ret->evidence, "a share shown as 10%% may be anything from %.0f%% to %.0f%%",
                   100 * i.low, 100 * i.high);
    if (insight_rate_is_most(in))
        buf_str(&ret->advice, "Record longer before acting on small shares: the rate was about "
                              "the highest that the machine allows.");
    return true;
}

/* Of the whole stream: what a part of it lost is not known. */
static double samples_of_stream(const struct stream *s)
{
    int counts = stream_samples(s);
    return counts >= 0 ? (double)s->types[counts].total : 0;
}

INSIGHT_TEST(insight_test_lost)
{
    const struct stream *s = in->functions->selection->stream;
    double samples = samples_of_stream(s);
    double share = (double)s->lost / ((double)s->lost + samples);
    char n[UNITS_MAX];
    if (!s->lost_known || s->lost == 0 || samples <= 0 || share < self->least)
        return false;
    buf_printf(&ret->evidence, "%.1f%% of the samples were lost (%s)", 100 * share,
               units_count(n, s->lost));
    return true;
}

/* Who ends a program by Ctrl-C or asks it to end knows why. */
INSIGHT_TEST(insight_test_failed)
{
    (void)self;
    static const char *const fine[] = {"0", "signal 2", "signal 15", NULL};
    const char *status = meta_find(&in->functions->profile->meta, META_EXIT_STATUS);
    if (!status || text_is_one_of(text_of(status), fine))
        return false;
    bool killed = text_starts(text_of(status), "signal ");
    buf_printf(&ret->evidence, "the command %s%s",
               killed ? "was ended by " : "ended with exit code ", status);
    return true;
}

/* By words of the reason why most of them end. */
static void advise_on_unfinished(struct insight_found *ret, struct text why)
{
    static const struct {
        const char *word, *advice;
    } known[] = {
        {"copy too small",
         "At most 65528 bytes of a stack can be copied. The outer functions of deeper stacks are "
         "not known, and their totals are too small by that much."},
        {"not in memory", "The kernel copies a stack up to the first page that was swapped out or "
                          "never used. Totals of the outer functions are too small by that much."},
        {"no unwind rule", "Totals of the outer functions are too small by that much. C and C++ "
                           "get unwind rules with -fasynchronous-unwind-tables. Code of other "
                           "compilers may have none at all (Go's assembly, GHC's Haskell)."},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (memmem(why.at, why.n, known[i].word, strlen(known[i].word)))
            buf_str(&ret->advice, known[i].advice);
}

bool insight_is_unfinished_mark(const struct profile *p, const struct frame *f)
{
    return f->n_lines && !f->pc &&
           text_is(profile_function_name(p, profile_lines(p, f)->function), "[unfinished]");
}

/* Whether most stacks that do not reach the program's start end in code made at run time. */
static bool ends_in_jit(const struct selection *sel)
{
    const struct profile *p = sel->profile;
    const struct stack_node *nodes = p->stacks.nodes.at;
    size_t unfinished = 0, jit = 0;
    for (size_t i = 0; i < sel->n_rows; i++) {
        struct stack_id at = sel->stream->rows.stack[selection_row(sel, i)], last = {0};
        for (; nodes[at.i].parent.i; at = nodes[at.i].parent)
            last = at;
        if (!last.i || !insight_is_unfinished_mark(p, profile_frame(p, nodes[at.i].frame)))
            continue;
        unfinished++;
        jit += profile_frame(p, nodes[last.i].frame)->kind == FRAME_JIT;
    }
    return jit > unfinished / 2;
}

INSIGHT_TEST(insight_test_unfinished)
{
    const struct stream *s = in->functions->selection->stream;
    double samples = samples_of_stream(s);
    if (!s->unfinished_known || samples <= 0)
        return false;
    double share = (double)stream_unfinished(s) / samples;
    if (share < self->least)
        return false;
    buf_printf(&ret->evidence, "%.1f%% of the stacks do not reach the program's start",
               100 * share);
    const struct unfinished *most = NULL;
    for (int i = 0; i < s->n_unfinished; i++)
        if (!most || s->unfinished[i].n > most->n)
            most = &s->unfinished[i];
    if (most && most->n) {
        struct text why = profile_str(in->functions->profile, most->why);
        buf_printf(&ret->evidence, ", %s: %.*s",
                   most->n == stream_unfinished(s) ? "all for one reason" : "most of them",
                   TEXT_ARG(why));
        if (ends_in_jit(in->functions->selection))
            buf_str(
                &ret->advice,
                "Totals of the outer functions are too small by that much. Have the runtime "
                "keep frame pointers in the code that it makes (java -XX:+PreserveFramePointer).");
        else
            advise_on_unfinished(ret, why);
    }
    return true;
}

/* --- code without names --- */

/* Addresses that lie in no file and no known memory, mostly of callers: where samples are taken
 * there is code. */
static bool is_stray(const struct flat *f, uint32_t row)
{
    const struct flat_row *r = &f->rows.at[row];
    return text_is(flat_name(f, row), "[unknown]") && r->self < r->total / 2 &&
           !profile_module_name(f->profile, r->mapping).n;
}

static bool has_no_name(const struct flat *f, uint32_t row)
{
    struct text name = flat_name(f, row);
    bool state = text_starts(name, "[blocked: ") || text_is(name, "[runnable]"); /* of wall time */
    bool module = restack_is_module(f->selection->restacks[0], f->rows.at[row].mapping);
    return text_starts(name, "[") && text_ends(name, "]") && !state && !module && !is_stray(f, row);
}

INSIGHT_TEST(insight_test_strays)
{
    const struct flat *f = in->functions;
    autofree bool *in_set = mem_calloc(f->rows.n + 1, sizeof *in_set);
    for (uint32_t i = 0; i < f->rows.n; i++)
        in_set[i] = is_stray(f, i);
    struct flat_share total = flat_share_of_set(f, in_set, FLAT_TOTAL);
    struct flat_share own = flat_share_of_set(f, in_set, FLAT_SELF);
    if (insight_surely(f, &total) - own.share < self->least)
        return false;
    insight_share(&ret->evidence, &total);
    buf_str(&ret->evidence, " has callers at addresses where no code is");
    return true;
}

/* Modules of unnamed functions, those with the most first. */
enum { UNNAMED_MODULES = 3 };
struct unnamed {
    struct text module[UNNAMED_MODULES];
    size_t n; /* so many have more than half of it all; 0 = more than there is room for */
};

static bool is_module(struct text a, struct text b)
{
    return a.n == b.n && memcmp(a.at, b.at, a.n) == 0;
}

static int64_t unnamed_of_row(const struct flat *f, uint32_t row, bool by_self)
{
    return by_self ? f->rows.at[row].self : f->rows.at[row].total;
}

/* What the rows of IN_SET have that are of MODULE. */
static int64_t unnamed_of_module(const struct flat *f, const bool *in_set, struct text module,
                                 bool by_self)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < f->rows.n; i++)
        if (in_set[i] && is_module(profile_module_name(f->profile, f->rows.at[i].mapping), module))
            sum += unnamed_of_row(f, i, by_self);
    return sum;
}

/* The module with the most of those that U does not have yet; 0 where there is none. */
static int64_t unnamed_add_largest(struct unnamed *u, const struct flat *f, const bool *in_set,
                                   bool by_self)
{
    int64_t most = 0;
    for (uint32_t i = 0; i < f->rows.n; i++) {
        struct text module = profile_module_name(f->profile, f->rows.at[i].mapping);
        bool had = !in_set[i] || !module.n;
        for (size_t k = 0; k < u->n; k++)
            had |= is_module(u->module[k], module);
        int64_t value = had ? 0 : unnamed_of_module(f, in_set, module, by_self);
        if (value > most) {
            most = value;
            u->module[u->n] = module;
        }
    }
    u->n += most > 0;
    return most;
}

static struct unnamed unnamed_modules(const struct flat *f, const bool *in_set, bool by_self)
{
    struct unnamed u = {0};
    int64_t all = 0, had = 0, more = 1;
    for (uint32_t i = 0; i < f->rows.n; i++)
        all += in_set[i] ? unnamed_of_row(f, i, by_self) : 0;
    while (u.n < UNNAMED_MODULES && had <= all / 2 && more)
        had += more = unnamed_add_largest(&u, f, in_set, by_self);
    if (had <= all / 2)
        u.n = 0;
    return u;
}

/* Memory without a file has no debug symbols to install. */
static bool is_jit(struct text module)
{
    return text_is(module, "[anon]");
}

static void advise_on_jit(struct insight_found *ret)
{
    buf_str(&ret->advice, "Have the runtime name its code in /tmp/perf-PID.map or a jitdump if it "
                          "can (node --perf-basic-prof; erl +JPperf true; "
                          "java -XX:+PreserveFramePointer -XX:+UnlockDiagnosticVMOptions "
                          "-XX:+DumpPerfMapAtExit), and record "
                          "again. Otherwise its callers show what the code is for.");
}

/* ", mostly in libx.so and code made at run time" */
static void name_unnamed(struct buf *b, const struct unnamed *u)
{
    for (size_t i = 0; i < u->n; i++) {
        bool jit = is_jit(u->module[i]);
        struct text name = jit ? text_of("code made at run time") : u->module[i];
        buf_printf(b, "%s%s%.*s",
                   !i             ? ", mostly "
                   : i + 1 < u->n ? ", "
                                  : " and ",
                   jit ? "" : "in ", TEXT_ARG(name));
    }
}

/* Images of Lisp and the like: code in a file in which nothing says where functions start. */
static bool is_image(const struct flat *f, struct text module)
{
    bool known = false; /* whether this recorder looks for build IDs */
    for (size_t i = 0; i < f->profile->mappings.n; i++)
        known |= f->profile->mappings.at[i].build_id.i != 0;
    for (uint32_t i = 0; i < f->rows.n; i++) {
        struct mapping_id id = f->rows.at[i].mapping;
        bool same = is_module(profile_module_name(f->profile, id), module);
        if (same && (f->profile->mappings.at[id.i].build_id.i || !has_no_name(f, i) ||
                     memmem(flat_name(f, i).at, flat_name(f, i).n, "+0x", 3)))
            return false;
    }
    return known;
}

static void advise_on_image(struct insight_found *ret)
{
    buf_str(&ret->evidence, ", a file without build ID, symbols and unwind tables");
    buf_str(&ret->advice, "If that is the image of a runtime (Lisp, Smalltalk), have the runtime "
                          "name its code in /tmp/perf-PID.map; else build the file with symbols "
                          "and unwind tables. Then record again.");
}

/* Whether unnamed functions of ROW's module do anything themselves, or only pass calls on. */
static bool unnamed_work(const struct flat *f, uint32_t row)
{
    int64_t self = 0;
    for (uint32_t i = 0; i < f->rows.n; i++)
        if (f->rows.at[i].mapping.i == f->rows.at[row].mapping.i && has_no_name(f, i))
            self += f->rows.at[i].self;
    return (double)self >= 0.005 * (double)f->whole;
}

/*
 * By total: what an unnamed function calls has a name, but nobody can tell how it got there. Not
 * those that everything passes through: a stripped main() explains nothing that is asked, nor does
 * the C++ library's start of a thread.
 */
INSIGHT_TEST(insight_test_unnamed)
{
    const struct flat *f = in->functions;
    autofree bool *in_set = mem_calloc(f->rows.n + 1, sizeof *in_set);
    for (uint32_t i = 0; i < f->rows.n; i++)
        in_set[i] = has_no_name(f, i) && !flat_is_passed_through(f, i) && unnamed_work(f, i);
    struct flat_share total = flat_share_of_set(f, in_set, FLAT_TOTAL);
    struct flat_share own = flat_share_of_set(f, in_set, FLAT_SELF);
    if (insight_surely(f, &total) < self->least)
        return false;
    bool by_self = insight_surely(f, &own) >= self->least;
    insight_share(&ret->evidence, by_self ? &own : &total);
    buf_printf(&ret->evidence, " goes to functions without a name%s",
               by_self ? "" : " and what they call");
    struct unnamed u = unnamed_modules(f, in_set, by_self);
    name_unnamed(&ret->evidence, &u);
    bool jit = false;
    for (size_t i = 0; i < u.n; i++)
        jit |= is_jit(u.module[i]);
    if (u.n == 1 && !jit && is_image(f, u.module[0]))
        advise_on_image(ret);
    if (jit && u.n > 1)
        buf_printf(&ret->advice, "%s ", self->advice);
    if (jit)
        advise_on_jit(ret);
    return true;
}

/* --- threads that run little --- */

/* Fewer samples of a thread than these do not average out where in its bursts they are. */
#define FEW_OF_THREAD 30

/*
 * What each sample of a usual clock stands for, by the thread that has most of those. Threads that
 * were born among many others have clocks of all kinds of periods, which are in step with nothing.
 */
static int64_t usual_period(const struct flat *threads)
{
    int64_t period = 0, most = 0;
    for (size_t i = 0; i < threads->rows.n; i++) {
        const struct flat_row *t = &threads->rows.at[i];
        if (t->self_count > most && t->self % t->self_count == 0) {
            most = t->self_count;
            period = t->self / most;
        }
    }
    return period;
}

/* What threads that ran little have of the selected; by all their samples, SAMPLES of all threads:
 * a part of what a long thread did is not little. */
static double share_of_bursts(const struct flat *threads, const struct flat *all, double samples)
{
    double sum = 0;
    int64_t period = usual_period(all);
    for (size_t i = 0; i < all->n_places && threads->whole > 0 && all->whole > 0; i++) {
        const struct flat_row *t = &all->rows.at[all->row_of_place[i]];
        bool little = (double)all->value_of_place[i] / (double)all->whole * samples < FEW_OF_THREAD;
        if (little && t->self == t->self_count * period)
            sum += (double)threads->value_of_place[i] / (double)threads->whole;
    }
    return sum;
}

/* The clock of a thread counts its CPU time only, so that threads alike are seen at like places. */
INSIGHT_TEST(insight_test_bursts)
{
    const struct selection *s = in->functions->selection;
    const char *clocks = meta_find(&s->profile->meta, META_CLOCKS);
    if (!clocks || strcmp(clocks, "of threads") != 0 || in->quality->samples <= 0 || s->total <= 0)
        return false;
    struct selection whole = selection_all(s->profile, s->value);
    struct flat *threads = flat_build(s, FLAT_THREAD), *all = flat_build(&whole, FLAT_THREAD);
    double samples = (double)in->quality->samples * ((double)whole.total / (double)s->total);
    double share = share_of_bursts(threads, all, samples);
    size_t n = all->rows.n;
    flat_free(threads);
    flat_free(all);
    if (n < 2 || share < self->least)
        return false;
    buf_printf(
        &ret->evidence,
        "%.0f%% of the samples come from threads that ran little, each sampled by a clock of its "
        "own CPU time",
        100 * share);
    return true;
}

/* --- waiting --- */

/* CPU time of the run: as the kernel counted it, else as much as was sampled and nothing lost. */
static uint64_t cpu_time_ns(const struct insight_input *in)
{
    const struct selection *s = in->functions->selection;
    const struct value_type *t = selection_value(s);
    uint64_t ns;
    if (meta_find_u64(&s->profile->meta, META_CPU_TIME_NS, &ns))
        return ns;
    bool sampled = selection_quantity(s) == QUANTITY_CPU_TIME && profile_is_ns(s->profile, t);
    bool known = sampled && s->stream->lost_known && !s->stream->lost && t->total > 0;
    return known ? (uint64_t)t->total : 0;
}

/*
 * What the states of threads add up to, so that all sections of a report have one number for it.
 * Where wakeups were not recorded most of it passes for blocked: the kernel's own count knows more.
 */
static bool sum_runnable(const struct profile *p, uint64_t *ret_ns)
{
    struct waitstream w;
    if (!waitstream_find(p, &w) || (w.wakes < 0 && meta_find(&p->meta, META_QUEUED_NS)))
        return false;
    const struct rows *rows = &profile_stream(p, (uint32_t)w.states)->rows;
    for (size_t i = 0; i < rows->n; i++)
        *ret_ns += (uint64_t)rows->value[w.state_column[THREAD_RUNNABLE]][i];
    return true;
}

/*
 * What others took: threads that had to queue for a CPU did not wait for anything of their own.
 * False where that is not known although others wanted the CPUs.
 */
static bool find_queued(const struct insight_input *in, uint64_t *ret_ns)
{
    const struct meta *m = &in->functions->profile->meta;
    const char *load = meta_find(m, META_LOAD), *cpus = meta_find(m, META_CPUS);
    *ret_ns = 0;
    if (sum_runnable(in->functions->profile, ret_ns) || meta_find_u64(m, META_QUEUED_NS, ret_ns))
        return true;
    return !load || !cpus || strtod(load, NULL) <= strtod(cpus, NULL);
}

double insight_waited(const struct insight_input *in)
{
    const struct selection *s = in->functions->selection;
    uint64_t wall_ns, queued_ns, cpu_ns = s->rows ? 0 : cpu_time_ns(in); /* rows: of a part */
    if (!cpu_ns || !meta_find_u64(&s->profile->meta, META_DURATION_NS, &wall_ns) || !wall_ns ||
        !find_queued(in, &queued_ns))
        return NAN;
    return 1 - (double)(cpu_ns + queued_ns) / (double)wall_ns;
}

bool insight_waits(const struct insight_input *in)
{
    enum quantity q = selection_quantity(in->functions->selection);
    return (q == QUANTITY_CPU_TIME || q == QUANTITY_UNKNOWN) &&
           insight_waited(in) >= INSIGHT_WAITS; /* false where it is not known */
}

bool insight_may_wait(const struct insight_input *in)
{
    const struct selection *s = in->functions->selection;
    enum quantity q = selection_quantity(s);
    uint64_t wall_ns, queued_ns, cpu_ns = s->rows ? 0 : cpu_time_ns(in);
    if ((q != QUANTITY_CPU_TIME && q != QUANTITY_UNKNOWN) || !cpu_ns || find_queued(in, &queued_ns))
        return false;
    return meta_find_u64(&s->profile->meta, META_DURATION_NS, &wall_ns) && wall_ns &&
           1 - (double)cpu_ns / (double)wall_ns >= INSIGHT_WAITS;
}

/* A thread is one row for each name that it had. */
/* In one run: a program that was run several times has a thread in each of them. */
static bool has_several_threads(const struct profile *p)
{
    uint64_t runs = 1;
    meta_find_u64(&p->meta, META_POOLED_RUNS, &runs);
    uint64_t others = 0;
    for (size_t i = 2; i < p->threads.n; i++)
        others += p->threads.at[i].tid != p->threads.at[i - 1].tid;
    return others >= runs;
}

/* What threads do at the same time counts twice: without any on a CPU it was that long or longer.
 */
INSIGHT_TEST(insight_test_waiting)
{
    (void)self;
    const struct profile *p = in->functions->profile;
    uint64_t wall_ns, queued_ns;
    char wall[UNITS_MAX], cpu[UNITS_MAX];
    double waited = insight_waited(in);
    if (!insight_waits(in))
        return false;
    meta_find_u64(&p->meta, META_DURATION_NS, &wall_ns);
    buf_printf(&ret->evidence, "%s wall, %s CPU: off-CPU for %s%.0f%% of the run",
               units_scaled(wall, (double)wall_ns, SCALED_NS),
               units_scaled(cpu, (double)cpu_time_ns(in), SCALED_NS),
               has_several_threads(p) ? "at least " : "", 100 * waited);
    if (find_queued(in, &queued_ns) && queued_ns)
        buf_str(&ret->evidence, ", not counting the wait for a CPU");
    if (waitstream_find(p, &(struct waitstream){0}))
        buf_str(&ret->advice,
                "CPU samples cannot show waiting, and all shares below are of the CPU "
                "time. The waits were recorded, too: the report on waits shows "
                "them by reason and call stack.");
    return true;
}

/* The same where others wanted the CPUs, and nobody counted how long the program queued for one. */
INSIGHT_TEST(insight_test_off_cpu)
{
    (void)self;
    const struct profile *p = in->functions->profile;
    uint64_t wall_ns;
    char wall[UNITS_MAX], cpu[UNITS_MAX];
    if (!insight_may_wait(in))
        return false;
    meta_find_u64(&p->meta, META_DURATION_NS, &wall_ns);
    buf_printf(&ret->evidence,
               "%s wall, %s CPU: the rest went to waiting or to queueing for a CPU, and which of "
               "them was not recorded (load at start: %.1f)",
               units_scaled(wall, (double)wall_ns, SCALED_NS),
               units_scaled(cpu, (double)cpu_time_ns(in), SCALED_NS),
               strtod(meta_find(&p->meta, META_LOAD), NULL));
    return true;
}

/* The program itself has kept the CPUs busy for this share of the run. */
static double own_load(const struct insight_input *in, double wall_ns)
{
    const char *cpus = meta_find(&in->functions->profile->meta, META_CPUS);
    double n = cpus ? strtod(cpus, NULL) : 0;
    return n > 0 ? (double)cpu_time_ns(in) / (n * wall_ns) : 0;
}

/*
 * Of the QUEUED_NS that its threads queued, the part in which its own had the CPUs; -1 = that is
 * not known of most of it.
 */
static double own_part(const struct profile *p, uint64_t queued_ns)
{
    uint64_t known_ns, own_ns;
    bool known = meta_find_u64(&p->meta, META_WAITS_QUEUED_NS, &known_ns) &&
                 meta_find_u64(&p->meta, META_WAITS_QUEUED_OWN_NS, &own_ns);
    return known && known_ns && known_ns >= queued_ns / 2 ? (double)own_ns / (double)known_ns : -1;
}

/* Up to here others had the CPUs: the usual advice. */
#define OTHERS_HAD_THEM 0.1

/* From here on the threads of the program wait for each other rather than for other programs. */
#define OWN_LOAD 0.8

INSIGHT_TEST(insight_test_busy)
{
    const struct profile *p = in->functions->profile;
    bool several = has_several_threads(p);
    char queued[UNITS_MAX], wall[UNITS_MAX];
    uint64_t wall_ns, ns = 0, cpu_ns = cpu_time_ns(in);
    if (in->functions->selection->rows || !find_queued(in, &ns) ||
        !meta_find_u64(&p->meta, META_DURATION_NS, &wall_ns))
        return false;
    if (!several && ns + cpu_ns > wall_ns) /* what was not looked at is an estimate */
        ns = wall_ns > cpu_ns ? wall_ns - cpu_ns : 0;
    if (!ns || (double)ns < self->least * (double)(wall_ns > cpu_ns + ns ? wall_ns : cpu_ns + ns))
        return false;
    buf_printf(&ret->evidence,
               several ? "the program's threads waited %s in total for a CPU, in a run of %s"
                       : "the program had to wait %s of its %s for a CPU",
               units_scaled(queued, (double)ns, SCALED_NS),
               units_scaled(wall, (double)wall_ns, SCALED_NS));
    double own = own_load(in, (double)wall_ns), part = own_part(p, ns);
    if (several && own >= OWN_LOAD)
        buf_printf(&ret->advice,
                   "The program itself kept the CPUs %.0f%% busy: its threads wait for each other. "
                   "More threads cannot make it faster here.",
                   100 * (own < 1 ? own : 1));
    else if (several && part > OTHERS_HAD_THEM)
        buf_printf(&ret->advice,
                   "Its own threads had the CPUs for %.0f%% of that time, other processes for the "
                   "rest. Wall times are too long, and vary.",
                   100 * (part < 1 ? part : 1));
    else if (several && part < 0)
        buf_printf(&ret->advice,
                   "Other processes, or its own threads, had the CPUs: %s shows which. Wall times "
                   "are too long, and vary.",
                   waitstream_find(p, &(struct waitstream){0}) ? "the report on its waits"
                                                               : "a recording of its waits");
    return true;
}

INSIGHT_TEST(insight_test_empty)
{
    if (in->quality->empty_share < self->least)
        return false;
    buf_printf(&ret->evidence, "%.1f%% was sampled without any stack",
               100 * in->quality->empty_share);
    return true;
}

/* Kelvin's own code in the program: its time is the measurement's, and its callers look dear. */
INSIGHT_TEST(insight_test_agent)
{
    const struct flat *f = in->functions;
    if (meta_find(&f->profile->meta, META_MACHINE)) /* somebody else records there */
        return false;
    autofree bool *in_set = mem_calloc(f->rows.n + 1, sizeof *in_set);
    bool probes = meta_find(&f->profile->meta, META_HEAP_SINCE); /* those of a running process */
    for (uint32_t i = 0; i < f->rows.n; i++)
        in_set[i] = text_is(profile_module_name(f->profile, f->rows.at[i].mapping),
                            probes ? "[uprobes]" : "libkelvin-heap.so");
    struct flat_share s = flat_share_of_set(f, in_set, FLAT_TOTAL);
    if (insight_surely(f, &s) < self->least)
        return false;
    insight_share(&ret->evidence, &s);
    buf_str(&ret->evidence, probes ? " goes to the probes with which kelvin follows the heap"
                                   : " goes to allocations with kelvin's own counting of them");
    ret->stacks = flat_mark_stacks(f, in_set, FLAT_TOTAL);
    return true;
}
