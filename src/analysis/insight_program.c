/* insight_program.c - rules about what the program does. */
#include "analysis/insight_inner.h"
#include "analysis/insight_names.h"
#include "model/waitstream.h"

/* --- functions known by name --- */

static uint32_t greatest(const int64_t *values, size_t n)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < n; i++)
        best = values[i] > values[best] ? i : best;
    return best;
}

/* The member with the largest self: ", mostly malloc", or how much it is where others have more. */
static void add_member(struct buf *b, const struct flat *f, const bool *in_set, double whole,
                       enum flat_what what)
{
    uint32_t best = UINT32_MAX;
    for (uint32_t i = 0; i < f->rows.n; i++)
        if (in_set[i] && (best == UINT32_MAX || f->rows.at[i].self > f->rows.at[best].self))
            best = i;
    if (best == UINT32_MAX || !f->rows.at[best].self)
        return;
    struct flat_share s = flat_share_of_row(f, best, FLAT_SELF);
    if (what == FLAT_TOTAL && s.share < 0.25 * whole)
        return; /* most is in what they call */
    buf_str(b, s.share >= 0.995 * whole ? ", all in "
               : s.share >= 0.5 * whole ? ", mostly "
                                        : " (");
    insight_name(b, flat_name(f, best));
    if (s.share < 0.5 * whole)
        buf_printf(b, " has the most: %.1f%% of the total)", 100 * s.share);
}

/* Malloc and memcpy enter the kernel for those who call them, as does what can be any system call.
 */
static bool enters_for_its_caller(const struct flat *f, uint32_t row)
{
    struct text name = flat_name(f, row);
    return names_match(names_allocation, name, false) || names_match(names_copies, name, false) ||
           names_match(names_any_call, name, false);
}

/*
 * For each stack the row of the program's last function before the kernel, or before the allocator
 * that went there; FLAT_NOBODY = none.
 */
static uint32_t *last_user_rows(const struct flat *f)
{
    const struct profile *p = f->profile;
    uint32_t *of_stack = mem_calloc(p->stacks.nodes.n + 1, sizeof *of_stack);
    autofree bool *skipped = mem_calloc(f->rows.n + 1, sizeof *skipped);
    for (uint32_t i = 0; i < f->rows.n; i++)
        skipped[i] = f->rows.at[i].kernel || enters_for_its_caller(f, i);
    of_stack[0] = FLAT_NOBODY;
    for (size_t i = 1; i < p->stacks.nodes.n; i++) {
        struct stack_node node = p->stacks.nodes.at[i];
        of_stack[i] = of_stack[node.parent.i];
        for (size_t k = 0, n = flat_count(profile_frame(p, node.frame)); k < n; k++) {
            uint32_t row = flat_row_of(f, node.frame, k);
            if (row != FLAT_NOBODY && !skipped[row])
                of_stack[i] = row;
        }
    }
    return of_stack;
}

static bool is_all_kernel(const struct flat *f, const bool *in_set)
{
    for (uint32_t i = 0; i < f->rows.n; i++)
        if (in_set[i] && !f->rows.at[i].kernel)
            return false;
    return true;
}

/* What calls the set; for what the kernel does, the program's function that went there. */
static int64_t *callers_in_program(const struct flat *f, const bool *in_set,
                                   const struct flat_calls *c)
{
    int64_t *sums = mem_calloc(f->rows.n + 1, sizeof *sums);
    autofree uint32_t *users = last_user_rows(f);
    bool all_kernel = is_all_kernel(f, in_set);
    for (size_t i = 0; i < f->profile->stacks.nodes.n; i++) {
        uint32_t caller = c->caller_of[i];
        if (caller < f->rows.n && (all_kernel || f->rows.at[caller].kernel))
            caller = users[i];
        if (caller < f->rows.n)
            sums[caller] += f->value_of_place[i];
    }
    return sums;
}

/* What functions of our own libraries call is no news about the program: taken out, and returned.
 */
static int64_t take_agents(const struct flat *f, int64_t *callers)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < f->rows.n; i++)
        if (profile_is_agent(f->profile, f->rows.at[i].mapping)) {
            sum += callers[i];
            callers[i] = 0;
        }
    return sum;
}

static void add_caller(struct buf *b, int64_t part, int64_t sum, struct text name)
{
    buf_printf(b, "; %.0f%% of that comes from ", 100.0 * (double)part / (double)sum);
    insight_name(b, name);
}

/* "; 71% of that comes from parse", where one caller stands out. */
static void add_callers(struct buf *b, const struct flat *f, const bool *in_set)
{
    struct flat_calls c = flat_calls_of_set(f, in_set);
    autofree int64_t *callers = callers_in_program(f, in_set, &c);
    int64_t own = take_agents(f, callers), sum = c.self;
    uint32_t best = f->rows.n ? greatest(callers, f->rows.n) : 0;
    for (size_t i = 0; i < f->rows.n; i++)
        sum += c.callees[i];
    if (f->rows.n && callers[best] > 0 && callers[best] >= sum / 5)
        add_caller(b, callers[best], sum, flat_name(f, best));
    if (own > 0 && own >= sum / 20)
        add_caller(b, own, sum, text_of("kelvin's own recording"));
    flat_calls_done(&c);
}

/* The functions that NAMES mean; returns how many. */
static size_t insight_mark_names(const struct flat *f, const char *const *names, bool *in_set)
{
    size_t n = 0;
    struct names_set set;
    names_set_init(&set, names);
    for (uint32_t i = 0; i < f->rows.n; i++)
        n += in_set[i] = names_set_has(&set, flat_name(f, i), f->rows.at[i].kernel);
    return n;
}

INSIGHT_TEST(insight_test_names)
{
    const struct flat *f = in->functions;
    autofree bool *in_set = mem_calloc(f->rows.n + 1, sizeof *in_set);
    if (!insight_mark_names(f, self->names, in_set))
        return false;
    struct flat_share s = flat_share_of_set(f, in_set, self->count);
    if (insight_surely(f, &s) < self->least)
        return false;
    insight_share(&ret->evidence, &s);
    buf_printf(&ret->evidence, " goes to %s", self->what);
    add_member(&ret->evidence, f, in_set, s.share, self->count);
    add_callers(&ret->evidence, f, in_set);
    ret->stacks = flat_mark_stacks(f, in_set, self->count);
    return true;
}

/* All that the script does is under the loop: that is not counted twice. */
INSIGHT_TEST(insight_test_interpreter)
{
    bool found = insight_test_names(in, self, ret);
    free(ret->stacks);
    ret->stacks = NULL;
    return found;
}

static double share_of_names(const struct flat *f, const char *const *names, enum flat_what what)
{
    autofree bool *in_set = mem_calloc(f->rows.n + 1, sizeof *in_set);
    return insight_mark_names(f, names, in_set) ? flat_share_of_set(f, in_set, what).share : 0;
}

/* Who only clears has nothing to pass or to move. */
INSIGHT_TEST(insight_test_copies)
{
    const struct flat *f = in->functions;
    if (!insight_test_names(in, self, ret))
        return false;
    double all = share_of_names(f, self->names, self->count);
    if (share_of_names(f, names_fills, self->count) > 0.9 * all)
        buf_str(&ret->advice, "Clear only what is read, and reuse what is clear.");
    return true;
}

enum { MANY_PROCESSES = 10 };

/* What helps depends on how the program got into the kernel. */
static void advise_on_kernel(struct buf *b, const struct flat *f, double least)
{
    double calls = share_of_names(f, names_system_calls, FLAT_TOTAL);
    double faults = share_of_names(f, names_faults, FLAT_TOTAL);
    double syncs = share_of_names(f, names_syncs, FLAT_TOTAL);
    double reads = share_of_names(f, names_disk_reads, FLAT_TOTAL);
    double moves = share_of_names(f, names_transfers, FLAT_TOTAL);
    bool many = f->profile->processes.n > MANY_PROCESSES;
    double starts = many ? share_of_names(f, names_starts, FLAT_TOTAL) : 0;
    bool clock = f->selection->stream->obtained == BY_SOFTWARE_CLOCK;
    buf_str(b, "The hot paths below show how it gets there.");
    if (reads >= least / 2)
        buf_str(b, " Files are read that are not in memory yet: a second run may take far less.");
    if (syncs >= least / 2)
        buf_str(b, " Sync to the disk less often: several changes at a time.");
    if (starts >= least / 2)
        buf_str(b, " Start fewer processes, each for more work.");
    if (calls - syncs - reads - starts >= least / 2 || calls + faults == 0)
        buf_str(b, moves > 0 && moves >= calls / 2
                       ? " Make fewer system calls: use bigger buffers or batches."
                       : " Make fewer system calls.");
    if (faults >= least / 2)
        buf_str(b, " For page faults, see the insight page-faults.");
    if (clock && share_of_names(f, names_interrupts_on, FLAT_SELF) >= least / 2)
        buf_str(b, " A software clock cannot sample while the kernel has interrupts off: that time "
                   "shows where they are turned on again (finish_task_switch, "
                   "_raw_spin_unlock_irqrestore and the like).");
}

INSIGHT_TEST(insight_test_kernel)
{
    const struct flat *f = in->functions;
    autofree bool *in_set = mem_calloc(f->rows.n + 1, sizeof *in_set);
    for (size_t i = 0; i < f->rows.n; i++)
        in_set[i] = f->rows.at[i].kernel;
    struct flat_share s = flat_share_of_set(f, in_set, FLAT_SELF);
    if (insight_surely(f, &s) < self->least)
        return false;
    insight_share(&ret->evidence, &s);
    buf_str(&ret->evidence, " goes to the kernel");
    add_member(&ret->evidence, f, in_set, s.share, FLAT_SELF);
    add_callers(&ret->evidence, f, in_set);
    if (meta_find(&f->profile->meta, META_HEAP_SINCE))
        buf_str(&ret->advice, "Much of that may be the probes with which kelvin follows the heap: "
                              "record again without the heap to see. ");
    advise_on_kernel(&ret->advice, f, self->least);
    ret->stacks = flat_mark_stacks(f, in_set, FLAT_SELF);
    return true;
}

/* --- the shape --- */

/* "twice as fast here gains 37.5% of the whole" */
static void add_gain(struct buf *b, const struct insight_input *in, double share)
{
    enum quantity q = selection_quantity(in->functions->selection);
    const char *what = q == QUANTITY_WORK      ? "half the work here saves"
                       : q == QUANTITY_MEMORY  ? "half as much here saves"
                       : q == QUANTITY_EVENTS  ? "half as many here saves"
                       : q == QUANTITY_ELAPSED ? "half as long here saves"
                                               : "twice as fast here gains";
    bool running = q == QUANTITY_CPU_TIME || q == QUANTITY_UNKNOWN;
    const char *hidden = meta_find(&in->functions->profile->meta, META_KERNEL_HIDDEN);
    buf_printf(b, ": %s %.1f%% of %s", what, 50 * share,
               running && hidden && strcmp(hidden, "yes") == 0 ? "the time outside the kernel"
               : insight_waits(in) || insight_may_wait(in)     ? "the CPU time"
                                                               : "the whole");
}

/* Who may not see the kernel has less than half of the CPU time in the samples. */
static bool kernel_had_most(const struct insight_input *in)
{
    const struct meta *m = &in->functions->profile->meta;
    const char *hidden = meta_find(m, META_KERNEL_HIDDEN);
    enum quantity q = selection_quantity(in->functions->selection);
    uint64_t cpu_ns, seen_ns;
    return (q == QUANTITY_CPU_TIME || q == QUANTITY_UNKNOWN) && hidden &&
           strcmp(hidden, "yes") == 0 && meta_find_u64(m, META_CPU_TIME_NS, &cpu_ns) &&
           meta_find_u64(m, META_SAMPLED_OF_NS, &seen_ns) && seen_ns < cpu_ns / 2;
}

static bool *mark_row(const struct flat *f, uint32_t row)
{
    autofree bool *in_set = mem_calloc(f->rows.n + 1, sizeof *in_set);
    in_set[row] = true;
    return flat_mark_stacks(f, in_set, FLAT_SELF);
}

/* Every wait ends in the scheduler, or where no stack was seen: no change there would help. */
static bool is_about_waits(const struct selection *s)
{
    struct waitstream streams;
    bool wall = stream_kind_of(s->profile, s->stream) == STREAM_WALL;
    return waitstream_find(s->profile, &streams) &&
           (wall || s->value.stream == streams.waits || s->value.stream == streams.states);
}

/* "[libz.so.1+0x4970]" is a function, "[unknown]" is not. */
static bool is_no_function(struct text name)
{
    return text_starts(name, "[") && text_ends(name, "]") && !memmem(name.at, name.n, "+0x", 3);
}

/* A tracepoint stands in one function: that all of its events are there is no news. */
static bool is_where_it_stands(const struct flat *f, const struct flat_share *s)
{
    return s->share >= 1 && event_is_tracepoint(selection_event(f->selection));
}

/* --- threads that wait by spinning --- */

/* Time there is time in which the program's own code waits, nearly always: it does little else. */
static bool is_of_openmp(const struct profile *p, struct mapping_id mapping)
{
    static const char *const runtimes[] = {"libgomp.so", "libomp.so", "libiomp5.so"};
    struct text module = profile_module_name(p, mapping);
    for (size_t i = 0; i < sizeof runtimes / sizeof *runtimes; i++)
        if (text_starts(module, runtimes[i]))
            return true;
    return false;
}

static bool is_openmp(const struct flat *f, uint32_t row)
{
    return is_of_openmp(f->profile, f->rows.at[row].mapping);
}

/* Part of the samples on STACKS that an OpenMP runtime brought into the kernel. */
static double part_of_openmp(const struct flat *f, const bool *stacks)
{
    const struct profile *p = f->profile;
    const int64_t *value = selection_values(f->selection);
    double all = 0, openmp = 0;
    for (size_t i = 0; i < f->selection->n_rows; i++) {
        size_t row = selection_row(f->selection, i);
        struct stack_id at = f->selection->stream->rows.stack[row];
        if (!stacks[at.i])
            continue;
        while (at.i && profile_frame(p, p->stacks.nodes.at[at.i].frame)->kind == FRAME_KERNEL)
            at = p->stacks.nodes.at[at.i].parent;
        all += (double)value[row];
        if (at.i && is_of_openmp(p, profile_frame(p, p->stacks.nodes.at[at.i].frame)->mapping))
            openmp += (double)value[row];
    }
    return all > 0 ? openmp / all : 0;
}

/* Threads of OpenMP that wait at the end of a parallel region call futex() as locks do. */
INSIGHT_TEST(insight_test_locks)
{
    if (!insight_test_names(in, self, ret))
        return false;
    if (part_of_openmp(in->functions, ret->stacks) <= 0.5)
        return true;
    struct insight_rule other = *self;
    other.what = "OpenMP threads that go to sleep and wake each other";
    free(ret->stacks);
    ret->evidence.n = 0;
    insight_test_names(in, &other, ret);
    buf_str(&ret->advice, "Share the work out more evenly, make parallel regions larger, or use "
                          "fewer threads (OMP_NUM_THREADS), above all on a busy machine.");
    return true;
}

/* Kelvin's own code in the program: nobody who reads this can make it faster. */
static bool is_of_kelvin(const struct flat *f, uint32_t row)
{
    return text_starts(profile_module_name(f->profile, f->rows.at[row].mapping), "libkelvin-");
}

/* Of the C library and the like: who reads this changes its callers, not its lines. */
static bool is_of_library(const struct flat *f, uint32_t row)
{
    return selection_quantity(f->selection) != QUANTITY_ELAPSED &&
           profile_is_runtime(f->profile, f->rows.at[row].mapping);
}

/* All memory comes from an allocator: who asks it is the one to look at. */
static bool is_allocator_of_memory(const struct flat *f, uint32_t row)
{
    return selection_quantity(f->selection) == QUANTITY_MEMORY &&
           names_match(names_allocation, flat_name(f, row), f->rows.at[row].kernel);
}

INSIGHT_TEST(insight_test_spinning)
{
    const struct flat *f = in->functions;
    autofree bool *in_set = mem_calloc(f->rows.n + 1, sizeof *in_set);
    struct text module = {0};
    for (uint32_t i = 0; i < f->rows.n; i++) {
        in_set[i] = is_openmp(f, i);
        module = in_set[i] ? profile_module_name(f->profile, f->rows.at[i].mapping) : module;
    }
    struct flat_share s = flat_share_of_set(f, in_set, FLAT_SELF);
    if (insight_surely(f, &s) < self->least)
        return false;
    insight_share(&ret->evidence, &s);
    buf_printf(&ret->evidence,
               " goes to the OpenMP runtime itself (%.*s), whose threads spin while they wait for "
               "each other%s",
               TEXT_ARG(module),
               f->selection->stream->obtained == BY_TIMER
                   ? ", or go to sleep and wake: a timer cannot distinguish the two"
                   : "");
    ret->stacks = flat_mark_stacks(f, in_set, FLAT_SELF);
    return true;
}

INSIGHT_TEST(insight_test_dominating)
{
    uint32_t row;
    const struct flat *f = in->functions;
    if (!flat_top(f, FLAT_SELF, 1, &row) ||
        names_match(names_interpreters, flat_name(f, row), f->rows.at[row].kernel) ||
        is_about_waits(f->selection) || is_no_function(flat_name(f, row)) || is_openmp(f, row) ||
        is_of_kelvin(f, row) || is_allocator_of_memory(f, row))
        return false; /* no interpreter's loop is to blame for what it is given */
    struct flat_share s = flat_share_of_row(f, row, FLAT_SELF);
    if (insight_surely(f, &s) < self->least || is_where_it_stands(f, &s))
        return false;
    insight_name(&ret->evidence, flat_name(f, row));
    buf_str(&ret->evidence, " alone takes ");
    insight_share(&ret->evidence, &s);
    add_gain(&ret->evidence, in, s.share);
    if (insight_waits(in))
        buf_str(&ret->advice, "The program mostly waits: no change here can shorten the run by "
                              "more than its CPU time. See 'waiting' first.");
    else if (insight_may_wait(in))
        buf_str(&ret->advice, "No change here can shorten the run by more than its CPU time. See "
                              "'off-cpu' first.");
    else if (insight_is_unoptimised(in, NULL, NULL))
        buf_str(&ret->advice, "Compile with optimization first, then record again.");
    else if (kernel_had_most(in))
        buf_str(&ret->advice,
                "Most of the CPU time went to the kernel, which was not sampled: record again with "
                "the right to see it before you change anything.");
    else if (f->rows.at[row].jit)
        buf_str(&ret->advice, "Start here: the hot paths show its callers.");
    else if (is_of_library(f, row))
        buf_str(&ret->advice,
                "Start here: the hot paths show its callers, and where to call it less.");
    ret->stacks = mark_row(f, row);
    return true;
}

/* Known by name or the kernel's: other rules speak of it. */
static bool has_own_rule(const struct flat *f, uint32_t row)
{
    struct text name = flat_name(f, row);
    bool kernel = f->rows.at[row].kernel;
    for (const struct insight_rule *r = insight_rules; r->id; r++)
        if (r->names && names_match(r->names, name, kernel))
            return true;
    return kernel || is_no_function(name) || is_openmp(f, row) || is_of_kelvin(f, row);
}

enum { HOT_ROWS = 3 };
#define HOT_ALONE 0.5 /* from here on it is reported as dominating */

/* The functions of the program's own that are worth a look, none of which is most of it. */
INSIGHT_TEST(insight_test_hot)
{
    const struct flat *f = in->functions;
    uint32_t rows[HOT_ROWS];
    size_t n = flat_top(f, FLAT_SELF, HOT_ROWS, rows), told = 0, jit = 0;
    autofree bool *in_set = mem_calloc(f->rows.n + 1, sizeof *in_set);
    if ((in->quality->has_samples ? in->quality->samples : f->whole) < QUALITY_FEW_SAMPLES)
        return false;
    for (size_t i = 0; i < n; i++) {
        struct flat_share s = flat_share_of_row(f, rows[i], FLAT_SELF);
        double surely = insight_surely(f, &s);
        if (surely < self->least || surely >= HOT_ALONE || has_own_rule(f, rows[i]))
            continue;
        buf_str(&ret->evidence, told ? ". " : "");
        insight_name(&ret->evidence, flat_name(f, rows[i]));
        buf_str(&ret->evidence, " takes ");
        insight_share(&ret->evidence, &s);
        if (told++)
            buf_printf(&ret->evidence, ": %.1f%% to gain", 50 * s.share);
        else
            add_gain(&ret->evidence, in, s.share);
        in_set[rows[i]] = true;
        jit += f->rows.at[rows[i]].jit;
    }
    if (told && jit == told) /* which is in no file */
        buf_str(&ret->advice, "Its callers show where to make fewer calls.");
    ret->stacks = told ? flat_mark_stacks(f, in_set, FLAT_SELF) : NULL;
    return told > 0;
}

enum { FLAT_TOP_ROWS = 20 };

INSIGHT_TEST(insight_test_flat)
{
    (void)self;
    const struct flat *f = in->functions;
    uint32_t rows[FLAT_TOP_ROWS];
    if (flat_top(f, FLAT_SELF, FLAT_TOP_ROWS, rows) < FLAT_TOP_ROWS || f->whole <= 0)
        return false;
    int64_t sum = 0;
    for (size_t i = 0; i < FLAT_TOP_ROWS; i++)
        sum += f->rows.at[rows[i]].self;
    double top = (double)sum / (double)f->whole;
    struct flat_share s = flat_share_of_row(f, rows[0], FLAT_SELF);
    if (top > 0.5 || insight_bounds(f, &s).high > 0.1)
        return false;
    buf_printf(&ret->evidence,
               "the top %d functions account for only %.0f%%, the first of them for ",
               FLAT_TOP_ROWS, 100 * top);
    insight_share(&ret->evidence, &s);
    return true;
}

enum { DEEP_NESTING = 50 };

/* Whether a stack with the function of ROW lacks its callers: it may have been called more often.
 */
static bool is_cut_off(const struct flat *f, uint32_t row)
{
    const struct profile *p = f->profile;
    const struct stack_node *nodes = p->stacks.nodes.at;
    autofree bool *cut = mem_calloc(p->stacks.nodes.n + 1, sizeof *cut);
    for (size_t i = 1; i < p->stacks.nodes.n; i++) { /* a parent comes before what it calls */
        const struct frame *frame = profile_frame(p, nodes[i].frame);
        cut[i] = nodes[i].parent.i ? cut[nodes[i].parent.i] : insight_is_unfinished_mark(p, frame);
        for (size_t k = 0; cut[i] && k < flat_count(frame); k++)
            if (flat_row_of(f, nodes[i].frame, k) == row)
                return true;
    }
    return false;
}

INSIGHT_TEST(insight_test_recursion)
{
    const struct flat *f = in->functions;
    const struct flat_row *deepest = NULL;
    for (size_t i = 0; i < f->rows.n; i++) {
        const struct flat_row *r = &f->rows.at[i];
        bool matters = (double)r->total >= self->least * (double)f->whole;
        if (text_starts(flat_name(f, (uint32_t)i), "["))
            continue; /* several functions without a name are not one that calls itself */
        if (matters && r->nested >= DEEP_NESTING && (!deepest || r->nested > deepest->nested))
            deepest = r;
    }
    if (!deepest)
        return false;
    uint32_t row = (uint32_t)(deepest - f->rows.at);
    insight_name(&ret->evidence, flat_name(f, row));
    buf_printf(&ret->evidence, " is up to %u times on one stack%s", deepest->nested,
               is_cut_off(f, row) ? ", and perhaps more often on those that were cut off" : "");
    return true;
}
