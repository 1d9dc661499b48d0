/* report_text.c - the words and tables of a report, and their printing. */
#include "base/units.h"
#include "model/meta_words.h"
#include "view/caption.h"
#include "view/document.h"
#include "view/facts.h"
#include "view/flame.h"
#include "view/report_inner.h"

void report_cell_share(struct document *d, const struct flat_share *s)
{
    autobuf struct buf b = {0};
    insight_share(&b, s);
    document_cell(d, buf_text(&b), s->share);
}

/* --- how it was recorded --- */

/* What could be sampled is of use where it is not all of the CPU time. */
static bool report_is_said_twice(const struct report *r, const char *key)
{
    const struct meta *m = &r->selection->profile->meta;
    const char *all = meta_find(m, META_CPU_TIME_NS), *seen = meta_find(m, META_SAMPLED_OF_NS);
    return strcmp(key, META_SAMPLED_OF_NS) == 0 && all && seen && strcmp(all, seen) == 0;
}

static void report_add_provenance(struct document *d, const struct report *r)
{
    static const char *const keys[] = {
        META_COMMAND,     META_EXIT_STATUS, META_TIME_NS,       META_DURATION_NS,
        META_CPU_TIME_NS, META_SAMPLED_NS,  META_SAMPLED_OF_NS, META_POOLED_RUNS,
        META_QUEUED_NS,   META_IDLE_NS,     META_IDLE_CPUS,     META_ENGINE,
        META_ENGINE_NOTE, META_CLOCKS,      FACT_RATE_HZ,       FACT_RATE_ACHIEVED_HZ,
        FACT_THROTTLED,   META_KEYS_COMMIT, META_KEYS_HOST,     META_TOOL,
        META_COMMENT,
    };
    static const struct document_column columns[] = {{"what"}, {"value", .wide = true}};
    document_heading(d, "Recorded");
    document_table(d, columns, 2);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        autobuf struct buf value = {0};
        if (report_is_said_twice(r, keys[i]) || !facts_add(&value, r->selection, keys[i]))
            continue;
        document_cell(d, text_of(facts_title(keys[i])), 0);
        document_cell(d, buf_text(&value), 0);
    }
    if (!d->blocks.at[d->blocks.n - 1].cells.n) {
        d->blocks.n -= 1; /* an empty table says nothing */
        document_text(d, "The input does not say where and how it was recorded.");
    }
}

/* --- what it is, how sure --- */

static void report_add_warnings(struct document *d, const struct report *r)
{
    autobuf struct buf b = {0};
    caption_warnings(&b, r->selection);
    struct text rest = buf_text(&b);
    while (rest.n) {
        struct text line = text_cut(&rest, '\n');
        document_text(d, "Careful: %.*s.", TEXT_ARG(line));
    }
}

/* How busy the CPUs were; shares are of what they did. */
static void report_add_machine(struct document *d, const struct report *r)
{
    const struct meta *m = &r->profile->meta;
    uint64_t idle_ns, cpus, wall_ns;
    if (!meta_find_u64(m, META_IDLE_NS, &idle_ns) || !meta_find_u64(m, META_IDLE_CPUS, &cpus) ||
        !meta_find_u64(m, META_DURATION_NS, &wall_ns) || !cpus || !wall_ns)
        return;
    double idle = (double)idle_ns / ((double)wall_ns * (double)cpus);
    idle = idle < 1 ? idle : 1;
    document_text(d, "%llu CPU%s, busy for %.1f%% of the time. Idle time is in none of the shares.",
                  (unsigned long long)cpus, cpus == 1 ? "" : "s", 100 * (1 - idle));
}

/* Nobody must take what one recording says for what all of them say. */
static void add_which_recording(struct document *d, const struct report *r)
{
    bool all = !r->opts.callers && !r->by;
    if (r->opts.n_runs > 1)
        document_text(d, "This is the first of %zu recordings. %s.", r->opts.n_runs,
                      all ? "Functions are the mean of all of them; insights, hot paths, modules "
                            "and threads are of the first alone"
                          : "The others are not used below");
}

static void report_add_head(struct document *d, const struct report *r)
{
    autobuf struct buf b = {0}, others = {0};
    caption_build(&b, r->selection);
    document_text(d, "%s", buf_cstr(&b));
    add_which_recording(d, r);
    caption_others(&others, r->selection);
    if (others.n)
        document_text(d, "S%s.", buf_cstr(&others) + 1);
    report_add_machine(d, r);
    report_add_warnings(d, r);
}

static void add_certainty(struct document *d, const struct flat *f)
{
    if (obtained_exactly(f->selection->stream->obtained))
        document_text(d, "These are exact counts, not samples: shares have no sampling error. "
                         "Counts are not time.");
    else if (f->selection->count_type >= 0 && !f->selection->n_samples)
        document_text(d, "There are no samples, so there are no shares.");
    else if (!(f->time.n_samples > 0))
        document_text(
            d, "The input does not say how many samples it has, so the shares have no intervals.");
    else if (stream_has_every_event(f->selection->stream))
        document_text(d, "Each event was recorded: shares are exact for this run. \xc2\xb1 is the "
                         "half-width of a 95%% interval for how far runs with as many events may "
                         "differ by chance, (low-high) are both ends of a lopsided one.");
    else if (f->time.order)
        document_text(
            d,
            "\xc2\xb1 is the half-width of a 95%% interval for this run, widened for correlation "
            "between consecutive samples; (low-high) are both ends of a lopsided one. Other runs "
            "may differ by more.");
    else
        document_text(
            d, "\xc2\xb1 is the half-width of a 95%% interval for this run, (low-high) are "
               "both ends of a lopsided one. The input has no times, so samples are taken as "
               "independent and it may be too narrow.");
}

/* What an interval cannot know: it takes samples for chance, and the tick is none. */
static void add_tick(struct document *d, const struct flat *f)
{
    if (f->selection->stream->obtained == BY_TIMER)
        document_text(
            d, "The timer does not see the kernel: its time, for system calls and page faults, "
               "counts as self time of the code that caused it. The timer fires at the kernel's "
               "tick. Work that repeats in step with the tick gets too large or too small a share, "
               "and no interval shows it. The engine perf has no such limit.");
}

static void add_insights(struct document *d, const struct report *r)
{
    document_heading(d, "Insights");
    for (size_t i = 0; i < r->insights.at.n; i++) {
        const struct insight *in = &r->insights.at.at[i];
        document_item(d, in->rule->id, in->evidence, in->advice);
    }
    if (!r->insights.at.n)
        document_text(d, "Nothing stands out.");
}

/* --- all of it --- */

static const char *by_title(enum flat_by by, const char *key)
{
    static const char *const titles[] = {
        [FLAT_FUNCTION] = "Functions", [FLAT_MODULE] = "Modules",    [FLAT_THREAD] = "Threads",
        [FLAT_LINE] = "Source lines",  [FLAT_FILE] = "Source files",
    };
    return by == FLAT_LABEL ? key : titles[by];
}

void report_add(struct document *d, const struct report *r, bool figure)
{
    enum { SHORT_LIST = 8 };
    size_t top = r->opts.top < SHORT_LIST ? r->opts.top : SHORT_LIST;
    add_insights(d, r);
    if (r->processes) {
        document_heading(d, "Processes");
        report_add_by(d, r, r->processes, r->opts.top);
    }
    if (figure)
        document_figure(d);
    if (r->runs) {
        report_add_runs(d, r);
    } else {
        report_add_functions(d, r);
        add_certainty(d, r->functions);
    }
    add_tick(d, r->functions);
    report_add_paths(d, r);
    report_add_counters(d, r);
    report_add_misses(d, r);
    document_heading(d, by_title(FLAT_MODULE, NULL));
    report_add_by(d, r, r->modules, top);
    if (r->profile->threads.n > 2) {
        document_heading(d, by_title(FLAT_THREAD, NULL));
        report_add_by(d, r, r->threads, top);
    }
}

static void build_document(struct document *d, const struct report *r, bool figure)
{
    report_add_head(d, r);
    if (r->opts.callers)
        report_add_function(d, r);
    if (r->by) {
        autofree char *title = mem_printf("By %s", r->opts.by_key ? r->opts.by_key : "");
        document_heading(d, by_title(r->opts.by, title));
        report_add_by(d, r, r->by, r->opts.top);
    }
    if (r->opts.callers || r->by) {
        add_certainty(d, r->functions);
        add_tick(d, r->functions);
    } else {
        report_add(d, r, figure);
        report_add_provenance(d, r);
    }
}

void report_print_text(FILE *out, const struct report *r, int width, bool colour)
{
    struct document d = {0};
    autofree char *title = report_title(r);
    build_document(&d, r, false);
    struct document head = {0};
    document_text(&head, "%s", title);
    document_print_text(out, &head, width, colour);
    document_print_text(out, &d, width, colour);
    document_done(&head);
    document_done(&d);
}

void report_print_markdown(FILE *out, const struct report *r)
{
    struct document d = {0};
    autofree char *title = report_title(r);
    build_document(&d, r, false);
    document_print_markdown(out, &d, title);
    document_done(&d);
}

/* Rows of the tallest stack; parents come before their children. */
static uint32_t tree_height(const struct calltree *t)
{
    autofree uint32_t *depth = mem_calloc(t->n + 1, sizeof *depth);
    uint32_t most = 0;
    for (size_t i = 1; i < t->n; i++) {
        depth[i] = depth[t->parent[i]] + 1;
        most = depth[i] > most ? depth[i] : most;
    }
    return most;
}

static void report_draw_graph(FILE *out, const struct report *r, bool still)
{
    enum {
        STILL_ROWS_MAX = 2000
    }; /* 40,000 pixels: nobody scrolls that far, and browsers suffer */
    struct calltree_opts o = {
        .group = GROUP_COMM, .min_share = 0.002, .keep_up_to = FLAME_KEEP_UP_TO, .keep_rows = true};
    struct calltree *t = calltree_build(r->selection, &o);
    uint32_t rows = tree_height(t);
    if (still && rows > STILL_ROWS_MAX) {
        fprintf(out, "<p>The stacks are %u functions deep, too deep for a still picture.</p>\n",
                rows);
        calltree_free(t);
        return;
    }
    flame_print_selection(out, r->selection, t,
                          &(struct flame_opts){.title = "Flame graph",
                                               .min_share = 0.002,
                                               .hidden = "frames under 0.2% not drawn",
                                               .still = still,
                                               .width_px = 1190});
    calltree_free(t);
}

static void report_draw_figure(FILE *out, const void *ctx, size_t i)
{
    (void)i;
    report_draw_graph(out, ctx, false);
}

static void report_draw_still(FILE *out, const void *ctx, size_t i)
{
    (void)i;
    report_draw_graph(out, ctx, true);
}

void report_print_html(FILE *out, const struct report *r,
                       void (*end)(FILE *out, const void *end_ctx), const void *end_ctx)
{
    struct document d = {0};
    autofree char *title = report_title(r);
    build_document(&d, r, true);
    document_print_html(out, &d, title,
                        &(struct document_figures){report_draw_figure, r, end, end_ctx});
    document_done(&d);
}

void report_print_still(FILE *out, const struct report *r)
{
    struct document d = {0};
    autofree char *title = report_title(r);
    build_document(&d, r, true);
    document_print_still(out, &d, title, &(struct document_figures){report_draw_still, r});
    document_done(&d);
}
