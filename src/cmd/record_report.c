/*
 * record_report.c - what `kelvin record` tells people, and whether a recording is good enough.
 */
#include "analysis/label.h"
#include "base/units.h"
#include "cmd/command.h"
#include "cmd/record.h"

#include <sys/stat.h>

enum { TOP = 5 };

/* --- while it runs --- */

void record_status(const struct recorder *r)
{
    char n[2][UNITS_MAX];
    double seconds = (double)(r->last_flush_ns - r->start_ns) / 1e9;
    fprintf(stderr, "\r\033[Kkelvin: %.1f s, %s samples, %s lost ", seconds,
            units_count(n[0], r->samples), units_count(n[1], r->facts->lost));
}

void record_status_clear(void)
{
    fputs("\r\033[K", stderr);
}

/* --- is it good enough --- */

static double percent(uint64_t part, uint64_t whole)
{
    return whole ? 100 * (double)part / (double)whole : 0;
}

static double percent_unfinished(const struct recorder *r)
{
    return percent(r->samples - r->ends[UNWIND_WHOLE], r->samples);
}

static int gate_strict(const struct recorder *r, const struct quality *q, struct err *err)
{
    double lost = percent(r->facts->lost, r->facts->lost + r->samples);
    double unfinished = percent_unfinished(r);
    if (lost > STRICT_LOST)
        return err_set(err, EXIT_FAILS,
                       "%.1f%% of the samples were lost (--strict allows %d%%): "
                       "lower the rate with -F, or --stack-size",
                       lost, STRICT_LOST);
    if (unfinished > STRICT_UNFINISHED)
        return err_set(err, EXIT_FAILS,
                       "%.1f%% of the stacks do not reach the bottom (--strict allows %d%%): "
                       "'kelvin info' tells why; --stack-size copies more of each",
                       unfinished, STRICT_UNFINISHED);
    if (100 * q->unnamed_share > STRICT_UNNAMED)
        return err_set(err, EXIT_FAILS,
                       "%.1f%% of the frames have no name (--strict allows %d%%): install debug "
                       "symbols, or set DEBUGINFOD_URLS",
                       100 * q->unnamed_share, STRICT_UNNAMED);
    return 0;
}

int record_gate(const struct recorder *r, const struct record_opts *o, const struct quality *q,
                struct err *err)
{
    if (r->samples == 0 && o->min_samples > 0)
        return err_set(err, EXIT_FAILS,
                       "no samples: it used too little CPU time; run longer, or raise -F");
    if (r->samples < (uint64_t)o->min_samples)
        return err_set(err, EXIT_FAILS,
                       "only %llu samples, fewer than --min-samples %ld: shares would be guesses; "
                       "run longer, raise -F, or keep it with --allow-partial",
                       (unsigned long long)r->samples, o->min_samples);
    return o->strict ? gate_strict(r, q, err) : 0;
}

/* --- when it is done --- */

struct self {
    uint32_t label;
    uint64_t samples;
};

static int by_samples(const void *a, const void *b)
{
    const struct self *x = a, *y = b;
    if (x->samples != y->samples)
        return x->samples < y->samples ? 1 : -1;
    return x->label < y->label ? -1 : 1;
}

/* Samples by the innermost function. */
static void print_top(const struct profile *p)
{
    struct labels labels;
    struct label_opts opts = {0};
    VEC(struct self) sums = {0};
    labels_init(&labels, p, &opts);
    for (size_t i = 0; i < p->samples.n; i++) {
        struct stack_id stack = p->samples.stack[i];
        if (!stack.i)
            continue;
        struct frame_id f = p->stacks.nodes.at[stack.i].frame;
        uint32_t label = labels_of_frame(&labels, p, f, labels_count(profile_frame(p, f)) - 1);
        while (sums.n <= label) {
            uint32_t next = (uint32_t)sums.n;
            *vec_push(&sums) = (struct self){.label = next};
        }
        sums.at[label].samples++;
    }
    if (sums.n)
        qsort(sums.at, sums.n, sizeof *sums.at, by_samples);
    for (size_t i = 0; i < TOP && i < sums.n && sums.at[i].samples; i++) {
        struct text name = labels_text(&labels, sums.at[i].label);
        fprintf(stderr, "  %6.2f%%  %.*s\n", percent(sums.at[i].samples, p->samples.n),
                (int)(name.n < 90 ? name.n : 90), name.at);
    }
    vec_done(&sums);
    labels_done(&labels);
}

static void print_head(const struct recorder *r)
{
    char n[2][UNITS_MAX];
    const char *achieved = meta_find(&r->profile->meta, META_RATE_ACHIEVED_HZ);
    fprintf(stderr, "kelvin: %s samples in %.2f s, %s lost; %s %s", units_count(n[0], r->samples),
            (double)(r->end_ns - r->start_ns) / 1e9, units_count(n[1], r->facts->lost),
            r->facts->kind, r->facts->event);
    if (r->facts->rate_hz > 0)
        fprintf(stderr, " at %.10g Hz", r->facts->rate_hz);
    if (achieved)
        fprintf(stderr, " (%s achieved)", achieved);
    putc('\n', stderr);
}

/* Below this share of the CPU time it is worth a word that the rest was not seen. */
enum { SAMPLED_ENOUGH = 95 };

static void print_sampled(const struct recorder *r)
{
    uint64_t cpu_ns = record_cpu_ns(r), sampled_ns = r->facts->sampled_ns;
    double seen = percent(sampled_ns, cpu_ns);
    if (!cpu_ns || !sampled_ns || seen >= SAMPLED_ENOUGH)
        return;
    fprintf(stderr, "  sampled %.0f%% of %.2f s CPU time; %s\n", seen, (double)cpu_ns / 1e9,
            r->facts->lost > r->samples / 50
                ? "samples were lost: lower the rate with -F"
                : "short processes and threads are seen too rarely: raise the rate with -F");
}

static void print_quality(const struct recorder *r, const struct quality *q)
{
    const char *note = meta_find(&r->profile->meta, META_ENGINE_NOTE);
    fprintf(stderr, "  whole stacks %.1f%%, frames without a name %.1f%%%s\n",
            100 - percent_unfinished(r), 100 * q->unnamed_share,
            r->facts->kernel_hidden ? ", kernel hidden (kernel.perf_event_paranoid)" : "");
    print_sampled(r);
    for (int i = UNWIND_WHOLE + 1; i < UNWIND_ENDS; i++)
        if (percent(r->ends[i], r->samples) >= 1)
            fprintf(stderr, "  %.1f%% unfinished: %s\n", percent(r->ends[i], r->samples),
                    unwind_end_name((enum unwind_end)i));
    if (r->facts->throttled)
        fprintf(stderr, "  the kernel throttled sampling %llu times: lower the rate\n",
                (unsigned long long)r->facts->throttled);
    if (note)
        fprintf(stderr, "  %s\n", note);
}

void record_summary(const struct recorder *r, const struct quality *q)
{
    char bytes[UNITS_MAX];
    const char *out = r->opts.output;
    const char *suffix = strrchr(out, '.');
    int stem = suffix && strcmp(suffix, ".kelvin") == 0 ? (int)(suffix - out) : (int)strlen(out);
    print_head(r);
    print_top(r->profile);
    print_quality(r, q);
    fprintf(stderr, "kelvin: wrote %s (%s); next: kelvin flame %s -o %.*s.svg\n", out,
            units_scaled(bytes, (double)r->writer.bytes, "bytes"), out, stem, out);
}
