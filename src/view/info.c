#include "view/info.h"
#include "analysis/quality.h"
#include "base/json.h"
#include "base/units.h"

/* --- for people --- */

static void row(FILE *out, const char *name, const char *text)
{
    fprintf(out, "%-12s %s\n", name, text);
}

static void print_meta(FILE *out, const struct profile *p)
{
    static const char *const first[] = {META_SOURCE, META_FORMAT, META_KIND, META_LOST, NULL};
    for (int i = 0; first[i]; i++) {
        const char *value = meta_find(&p->meta, first[i]);
        row(out, first[i], value ? value : "not recorded");
    }
    for (size_t i = 0; i < p->meta.entries.n; i++) {
        const struct meta_entry *e = &p->meta.entries.at[i];
        bool shown = false;
        for (int j = 0; first[j]; j++)
            shown |= strcmp(e->key, first[j]) == 0;
        if (!shown)
            row(out, e->key, e->value);
    }
}

static void print_types(FILE *out, const struct profile *p, int shown)
{
    fprintf(out, "\nvalues\n");
    for (int i = 0; i < p->n_types; i++) {
        const struct sample_type *t = &p->types[i];
        char total[UNITS_MAX], scaled[UNITS_MAX];
        const char *unit = profile_str(p, t->unit).at;
        double value = (double)t->total;
        for (int d = 0; d < t->decimals; d++)
            value /= 10;
        bool scales = strcmp(unit, "nanoseconds") == 0 || strcmp(unit, "bytes") == 0;
        fprintf(out, "  %c %-20s %-14s %18s %s%s%s%s\n", i == shown ? '*' : ' ',
                profile_str(p, t->event).at, profile_str(p, t->name).at,
                units_decimal_count(total, t->total, t->decimals), *unit ? unit : "(no unit)",
                scales ? " (" : "", scales ? units_scaled(scaled, value, unit) : "",
                scales ? ")" : "");
    }
    fprintf(out, "  * is what flame and fold show; choose with --event and --value\n");
}

static void print_tables(FILE *out, const struct profile *p)
{
    char n[6][UNITS_MAX];
    fprintf(out,
            "\ncontents\n"
            "  rows %s, stack nodes %s, frames %s, functions %s, modules %s, threads %s\n",
            units_count(n[0], p->samples.n), units_count(n[1], p->stacks.nodes.n - 1),
            units_count(n[2], p->frames.n), units_count(n[3], p->functions.n - 1),
            units_count(n[4], p->mappings.n - 1), units_count(n[5], p->threads.n - 1));
}

static void print_quality(FILE *out, const struct profile *p, const struct quality *q)
{
    char n[UNITS_MAX];
    fprintf(out, "\nquality\n");
    if (!q->has_samples && quality_is_exact(p))
        fprintf(out, "  exact counts, not samples: shares have no sampling error\n");
    else if (!q->has_samples)
        fprintf(out, "  the number of samples is not recorded: no word on how sure shares are\n");
    else if (q->samples < QUALITY_FEW_SAMPLES)
        fprintf(out, "  only %s samples: too few for a result, shares are rough guesses\n",
                units_count(n, (uint64_t)q->samples));
    else
        fprintf(out, "  %s samples\n", units_count(n, (uint64_t)q->samples));
    fprintf(out, "  %s distinct stacks, depth %.1f on average, %zu at most\n",
            units_count(n, q->distinct_stacks), q->mean_depth, q->max_depth);
    fprintf(out, "  frames without a name: %.1f%%; samples without a stack: %.1f%%\n",
            100 * q->unnamed_share, 100 * q->empty_share);
    if (q->has_time)
        fprintf(out, "  first to last sample: %s\n",
                units_scaled(n, (double)(q->last_ns - q->first_ns), "nanoseconds"));
    const char *cut = meta_find(&p->meta, META_CUT);
    if (cut)
        fprintf(out, "  the input was cut off: %s\n", cut);
}

void info_print(FILE *out, const struct profile *p, int type)
{
    struct quality q = quality_of(p, type);
    print_meta(out, p);
    print_types(out, p, type);
    print_tables(out, p);
    print_quality(out, p, &q);
}

/* --- for programs --- */

static void json_types(struct json *j, const struct profile *p, int shown)
{
    json_key(j, "values");
    json_open(j, '[');
    for (int i = 0; i < p->n_types; i++) {
        const struct sample_type *t = &p->types[i];
        json_open(j, '{');
        json_key(j, "event");
        json_text(j, profile_str(p, t->event));
        json_key(j, "name");
        json_text(j, profile_str(p, t->name));
        json_key(j, "unit");
        json_text(j, profile_str(p, t->unit));
        json_key(j, "total");
        json_decimal(j, t->total, t->decimals);
        json_key(j, "shown");
        json_bool(j, i == shown);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void json_count(struct json *j, const char *key, uint64_t n)
{
    json_key(j, key);
    json_uint(j, n);
}

static void json_quality(struct json *j, const struct quality *q)
{
    json_key(j, "quality");
    json_open(j, '{');
    json_key(j, "samples");
    if (q->has_samples)
        json_int(j, q->samples);
    else
        json_null(j);
    json_count(j, "distinct_stacks", q->distinct_stacks);
    json_count(j, "max_depth", q->max_depth);
    json_key(j, "mean_depth");
    json_double(j, q->mean_depth);
    json_key(j, "unnamed_share");
    json_double(j, q->unnamed_share);
    json_key(j, "empty_share");
    json_double(j, q->empty_share);
    json_key(j, "span_ns");
    if (q->has_time)
        json_uint(j, q->last_ns - q->first_ns);
    else
        json_null(j);
    json_close(j, '}');
}

void info_print_json(FILE *out, const struct profile *p, int type)
{
    struct quality q = quality_of(p, type);
    struct json j = {.out = out};
    json_open(&j, '{');
    json_key(&j, "meta");
    json_open(&j, '{');
    for (size_t i = 0; i < p->meta.entries.n; i++) {
        json_key(&j, p->meta.entries.at[i].key);
        json_str(&j, p->meta.entries.at[i].value);
    }
    json_close(&j, '}');
    json_types(&j, p, type);
    json_count(&j, "rows", p->samples.n);
    json_count(&j, "stack_nodes", p->stacks.nodes.n - 1);
    json_count(&j, "frames", p->frames.n);
    json_count(&j, "functions", p->functions.n - 1);
    json_count(&j, "modules", p->mappings.n - 1);
    json_count(&j, "threads", p->threads.n - 1);
    json_quality(&j, &q);
    json_close(&j, '}');
    putc('\n', out);
}
