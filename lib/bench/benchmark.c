/* benchmark.c - benchmarks as a kind of entry: from BENCH() to a row of the table. */
#include "base/units.h"
#include "bench.h"
#include "heapcount.h"
#include "loop.h"
#include "stats/repeats.h"

#include <math.h>

struct finding {
    double ns; /* of one iteration, what the loop costs taken off */
    struct interval interval;
    double cpu_ns;      /* the same in CPU time; NAN = not known */
    double overhead_ns; /* that was taken off */
    bool is_empty;      /* cannot be told from an empty loop */
    double r2, cpu_r2;  /* NAN = not known */
    size_t outliers;
};

/* The slope of the line through the origin, what the loop costs taken off. */
static void evaluate_cpu(struct finding *f, const struct loop_result *r)
{
    double xx = 0, xy = 0;
    for (size_t i = 0; i < r->n; i++) {
        xx += r->counts[i] * r->counts[i];
        xy += r->counts[i] * r->cpu_times[i];
    }
    bool known = r->has_cpu && xx > 0;
    f->cpu_ns = known ? fmax(xy / xx - r->loop_cpu_ns, 0) : NAN;
    f->cpu_r2 = known && !r->flat ? repeats_r2(xy / xx, r->counts, r->cpu_times, r->n) : NAN;
}

/*
 * What a loop costs depends on where it lies in memory and on what it overlaps with: beside a slow
 * instruction it is free, on another side of a cache line it can take a cycle more. So the
 * interval is wider by what was taken off, at both ends. A pause is known better: a tenth.
 */
static void benchmark_evaluate(struct finding *f, const struct loop_result *r)
{
    struct slope line;
    struct repeats_summary summary;
    autofree double *each = mem_calloc(r->n, sizeof *each);
    for (size_t i = 0; i < r->n; i++)
        each[i] = r->times[i] / r->counts[i];
    repeats_slope(&line, r->counts, r->times, r->n);
    repeats_summarize(&summary, each, r->n);
    double pauses_ns = r->pauses * r->pause_ns, doubt_ns = r->loop_ns + pauses_ns / 10;
    f->overhead_ns = r->loop_ns + pauses_ns;
    f->ns = fmax(line.slope - f->overhead_ns, 0);
    f->interval.low = fmax(line.interval.low - f->overhead_ns - doubt_ns, 0);
    f->interval.high = fmax(line.interval.high - f->overhead_ns + doubt_ns, f->ns + doubt_ns);
    evaluate_cpu(f, r);
    f->is_empty = f->interval.low <= 0;
    f->r2 = r->flat ? NAN : line.r2;
    f->outliers = summary.mild_low + summary.mild_high + summary.severe_low + summary.severe_high;
}

/* --- out --- */

static void key_number(struct json *j, const char *key, double value)
{
    json_key(j, key);
    json_double(j, value);
}

static void key_numbers(struct json *j, const char *key, const double *values, size_t n)
{
    json_key(j, key);
    json_open(j, '[');
    for (size_t i = 0; i < n; i++)
        json_double(j, values[i]);
    json_close(j, ']');
}

/* The keys by which a benchmark is known; also the whole of its line in a list. */
static void put_name(struct json *j, const struct job *job)
{
    const struct kelvin_benchmark *b = (const struct kelvin_benchmark *)job->entry;
    json_key(j, "name");
    json_str(j, job->name);
    if (b->shape == KELVIN_ONCE)
        return;
    json_key(j, "param");
    json_str(j, b->parameter);
    key_number(j, "size", (double)job->value);
}

static void put_record(struct json *j, const struct job *job, const struct loop_result *r,
                       const struct finding *f)
{
    const struct kelvin_benchmark *b = (const struct kelvin_benchmark *)job->entry;
    put_name(j, job);
    key_number(j, "ns", f->ns);
    key_number(j, "low", f->interval.low);
    key_number(j, "high", f->interval.high);
    if (!isnan(f->cpu_ns))
        key_number(j, "cpu_ns", f->cpu_ns);
    key_number(j, "overhead_ns", f->overhead_ns);
    key_number(j, "r2", f->r2);
    if (!isnan(f->cpu_r2))
        key_number(j, "cpu_r2", f->cpu_r2);
    key_number(j, "items", r->items);
    key_number(j, "bytes", r->bytes);
    if (r->flops > 0)
        key_number(j, "flops", r->flops);
    if (r->has_heap) {
        key_number(j, "allocations", r->allocations);
        key_number(j, "allocated", r->allocated);
    }
    key_number(j, "threads", b->shape == KELVIN_THREADED ? (double)job->value : 1);
    key_number(j, "disturbed", (double)r->disturbed);
    json_key(j, "sampling");
    json_str(j, r->flat ? "flat" : "linear");
    key_numbers(j, "counts", r->counts, r->n);
    key_numbers(j, "times", r->times, r->n);
}

static void rates(char *s, size_t size, const struct loop_result *r, double ns)
{
    char bytes[UNITS_MAX] = "", items[UNITS_MAX] = "", flops[UNITS_MAX] = "";
    if (ns > 0 && r->bytes > 0)
        table_rate(bytes, r->bytes / ns * 1e9, "B/s");
    if (ns > 0 && r->items > 0)
        table_rate(items, r->items / ns * 1e9, "/s");
    if (ns > 0 && r->flops > 0)
        table_rate(flops, r->flops / ns * 1e9, "FLOP/s");
    snprintf(s, size, "%s%s%s%s%s", bytes, *bytes && *items ? "  " : "", items,
             (*bytes || *items) && *flops ? "  " : "", flops);
}

static void say_head(struct session *s)
{
    if (!s->has_head)
        session_say(s, "%-*s  %10s  %-22s  %10s  %-6s  %-10s  %s\n", s->name_width, "benchmark",
                    "time", "95% interval", "CPU time", "R^2", "outliers", "throughput");
    s->has_head = true;
}

/* "0 ns" where the body cannot be told from an empty loop: digits would be noise. */
static void say_row(struct session *s, const struct job *job, const struct loop_result *r,
                    const struct finding *f)
{
    char time[UNITS_MAX], cpu[UNITS_MAX] = "-", interval[UNITS_MAX], r2[16] = "-", outliers[32],
                          rate[3 * UNITS_MAX + 8];
    double ns = f->is_empty ? 0 : f->ns, half = (f->interval.high - f->interval.low) / 2;
    table_time(time, ns, half);
    if (!isnan(f->cpu_ns))
        table_time(cpu, f->is_empty ? 0 : f->cpu_ns, fmax(f->cpu_ns, 1) / 100);
    table_interval(interval, ns, f->interval.low, f->interval.high);
    if (!isnan(f->r2))
        snprintf(r2, sizeof r2, "%.4f%s", f->r2, f->r2 < REPEATS_R2_LIMIT ? "!" : "");
    snprintf(outliers, sizeof outliers, "%zu of %zu", f->outliers, r->n);
    rates(rate, sizeof rate, r, ns);
    say_head(s);
    session_say(s, "%-*s  %10s  %-22s  %10s  %-6s  %-*s%s\n", s->name_width, job->name, time,
                interval, cpu, r2, *rate ? 12 : 0, outliers, rate);
    if (r->has_heap) {
        char blocks[UNITS_MAX], bytes[UNITS_MAX];
        session_say(s, "%-*s  per iteration: %s allocations, %s\n", s->name_width, "",
                    units_scaled(blocks, r->allocations, SCALED_COUNT),
                    units_scaled(bytes, r->allocated, SCALED_BYTES));
    }
    if (f->is_empty)
        session_say(s,
                    "%-*s  takes no longer than an empty loop: the compiler may have removed the "
                    "work (KELVIN_KEEP its result, KELVIN_HIDE its input)\n",
                    s->name_width, "");
}

/* A mean over rounds that others interrupted is too long, and no statistics can fix that. */
static void benchmark_finish(struct session *s)
{
    if (s->rounds > 0 && s->disturbed > s->rounds / 4)
        session_say(s,
                    "The machine was busy: in %.0f%% of all rounds another process took the CPU "
                    "for a while. The times are too long and throughputs too low; CPU time leaves "
                    "such waits out.\n",
                    100 * s->disturbed / s->rounds);
}

/* --- the kind --- */

static int benchmark_expand(const struct kelvin_entry *e, struct jobs *to, struct err *err)
{
    const struct kelvin_benchmark *b = (const struct kelvin_benchmark *)e;
    if (b->shape == KELVIN_ONCE) {
        jobs_add(to, e, e->name, 0);
        return 0;
    }
    if (b->n_values == 0)
        return err_set(err, EXIT_ERROR, "%s (%s:%d): no value is given for %s", e->name, e->file,
                       e->line, b->parameter);
    for (size_t i = 0; i < b->n_values; i++) {
        if (b->shape == KELVIN_THREADED && (b->values[i] == 0 || b->values[i] > 10000))
            return err_set(err, EXIT_ERROR, "%s (%s:%d): cannot be run by %zu threads", e->name,
                           e->file, e->line, b->values[i]);
        autofree char *name = mem_printf("%s/%s=%zu", e->name, b->parameter, b->values[i]);
        jobs_add(to, e, name, b->values[i]);
    }
    return 0;
}

static int benchmark_measure(struct session *s, const struct job *job, struct loop_result *r,
                             struct err *err)
{
    const struct kelvin_benchmark *b = (const struct kelvin_benchmark *)job->entry;
    struct loop_target target = {
        .name = job->name,
        .body = b->body,
        .empty = b->empty,
        .value = job->value,
        .threads = b->shape == KELVIN_THREADED ? job->value : 1,
    };
    struct loop_plan plan = {
        .warm_up_ns = s->opts->warm_up_s * 1e9,
        .time_ns = s->opts->time_s * 1e9,
        .samples = (size_t)s->opts->samples,
    };
    int rc = loop_measure(r, &target, &plan, err);
    if (rc == 0 && r->has_heap)
        heapcount_tell(job->name, r->allocations, r->allocated);
    return rc;
}

static int benchmark_run(struct session *s, const struct job *job, struct err *err)
{
    struct loop_result r = {0};
    struct finding f;
    int status = benchmark_measure(s, job, &r, err);
    if (status == 0) {
        benchmark_evaluate(&f, &r);
        s->rounds += (double)r.n;
        s->disturbed += (double)r.disturbed;
        struct json *j = session_record(s);
        if (j) {
            put_record(j, job, &r, &f);
            session_record_end(s);
        } else {
            say_row(s, job, &r, &f);
        }
    }
    loop_result_done(&r);
    return status;
}

static const struct kind benchmark_kind = {
    .word = "benchmark",
    .expand = benchmark_expand,
    .describe = put_name,
    .run = benchmark_run,
    .finish = benchmark_finish,
};

PUBLIC void kelvin_add(struct kelvin_benchmark *b)
{
    registry_add(&b->entry, &benchmark_kind);
}
