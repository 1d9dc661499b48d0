/*
 * record_report.c - what `kelvin record` tells people.
 */
#include "base/units.h"
#include "cmd/command.h"
#include "cmd/record.h"

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

/* --- when it is done --- */

static double percent(uint64_t part, uint64_t whole)
{
    return whole ? 100 * (double)part / (double)whole : 0;
}

void record_say_gate(const struct record_facts *f, const struct record_opts *o, struct err *err)
{
    switch (f->gate) {
    case GATE_GOOD:
        break;
    case GATE_FEW:
        if (f->samples)
            err_set(err, EXIT_FAILS,
                    "only %llu samples, fewer than --min-samples %ld: run longer, raise -F, or "
                    "keep the recording with --allow-partial",
                    (unsigned long long)f->samples, o->min_samples);
        else
            err_set(err, EXIT_FAILS,
                    "no samples (--min-samples %ld): the program used too little CPU time; run "
                    "longer, or raise -F",
                    o->min_samples);
        break;
    case GATE_LOST:
        err_set(err, EXIT_FAILS,
                "%.1f %% of the samples were lost (--strict allows %d %%): lower the rate with -F, "
                "or --stack-size",
                f->percent, STRICT_LOST);
        break;
    case GATE_UNFINISHED:
        err_set(err, EXIT_FAILS,
                "%.1f %% of the stacks do not reach the bottom (--strict allows %d %%): 'kelvin "
                "info' shows why; --stack-size copies more of each",
                f->percent, STRICT_UNFINISHED);
        break;
    case GATE_UNNAMED:
        err_set(err, EXIT_FAILS,
                "%.1f %% of the frames have no name (--strict allows %d %%): install debug "
                "symbols, or set DEBUGINFOD_URLS",
                f->percent, STRICT_UNNAMED);
        break;
    }
}

static void print_head(const struct record_facts *f)
{
    char n[2][UNITS_MAX];
    fprintf(stderr, "kelvin: %s samples in %.2f s, %s lost; %s %s", units_count(n[0], f->samples),
            f->wall_s, units_count(n[1], f->lost), obtained_name(f->obtained), f->event);
    if (f->rate_hz > 0)
        fprintf(stderr, " at %.10g Hz", f->rate_hz);
    if (f->rate_achieved_hz > 0)
        fprintf(stderr, " (%.0f achieved)", f->rate_achieved_hz);
    putc('\n', stderr);
}

static void print_top(const struct record_facts *f)
{
    for (int i = 0; i < RECORD_TOP && f->top[i].share > 0; i++)
        fprintf(stderr, "  %6.2f%%  %s\n", 100 * f->top[i].share, f->top[i].name);
}

static void print_quality(const struct record_facts *f)
{
    double whole = f->samples ? percent(f->ends[UNWIND_WHOLE], f->samples) : 100;
    fprintf(stderr, "  whole stacks %.1f%%, frames without a name %.1f%%%s\n", whole,
            100 * f->unnamed_share,
            f->kernel_hidden ? ", kernel hidden (kernel.perf_event_paranoid)" : "");
    for (int i = UNWIND_WHOLE + 1; i < UNWIND_ENDS; i++)
        if (percent(f->ends[i], f->samples) >= 1)
            fprintf(stderr, "  %.1f%% unfinished: %s\n", percent(f->ends[i], f->samples),
                    unwind_end_name((enum unwind_end)i));
    if (f->throttled)
        fprintf(stderr, "  the kernel throttled sampling %llu times: lower the rate\n",
                (unsigned long long)f->throttled);
    if (*f->note)
        fprintf(stderr, "  %s\n", f->note);
}

/* Few samples are kept: a short program has no more. But nobody must take them for a result. */
static void print_few(const struct record_facts *f)
{
    if (f->samples >= QUALITY_FEW_SAMPLES)
        return;
    if (!f->samples)
        fputs("  no samples: the program used hardly any CPU time; run longer, or raise -F\n",
              stderr);
    else
        fprintf(stderr, "  only %llu %s: shares are rough; run longer, or raise -F\n",
                (unsigned long long)f->samples, f->samples == 1 ? "sample" : "samples");
}

static void print_heap(const struct heap_facts *h)
{
    char n[UNITS_MAX], size[3][UNITS_MAX];
    fprintf(stderr, "  heap: %s%s allocations, %s; peak %s, never freed %s\n",
            h->samples ? "about " : "", units_count(n, (uint64_t)h->allocations),
            units_scaled(size[0], (double)h->allocated, "bytes"),
            units_scaled(size[1], (double)h->peak, "bytes"),
            units_scaled(size[2], (double)h->leaked, "bytes"));
    if (!h->programs)
        fputs("  nothing came from the command: its environment was cleared, or its loader ignores "
              "LD_PRELOAD\n",
              stderr);
    if (h->waits)
        fprintf(stderr, "  threads waited %s times for the recorder to catch up\n",
                units_count(n, h->waits));
    if (h->lost)
        fprintf(stderr, "  %llu heap records were lost\n", (unsigned long long)h->lost);
}

void record_summary(const struct record_facts *f, const struct record_opts *o)
{
    char bytes[UNITS_MAX];
    const char *out = o->output;
    const char *suffix = strrchr(out, '.');
    int stem = suffix && strcmp(suffix, ".kelvin") == 0 ? (int)(suffix - out) : (int)strlen(out);
    print_head(f);
    print_top(f);
    if (f->samples)
        print_quality(f);
    else if (*f->note)
        fprintf(stderr, "  %s\n", f->note);
    print_few(f);
    if (f->has_heap)
        print_heap(&f->heap);
    if (o->rotate_s > 0) {
        fprintf(stderr, "kelvin: wrote %.*s.0001.kelvin to %.*s.%04u.kelvin\n", stem, out, stem,
                out, f->files);
        return;
    }
    fprintf(stderr, "kelvin: wrote %s (%s)", out, units_scaled(bytes, (double)f->bytes, "bytes"));
    if (f->samples)
        fprintf(stderr, "; next: kelvin flame %s -o %.*s.svg", out, stem, out);
    putc('\n', stderr);
}
