#include "view/info.h"
#include "analysis/quality.h"
#include "base/json.h"
#include "base/units.h"
#include "base/utf8.h"
#include "model/meta_words.h"
#include "view/caption.h"
#include "view/counters.h"
#include "view/facts.h"

/* --- what is counted --- */

enum { INFO_COUNTS = 7 };

struct info_count {
    const char *words, *key;
    uint64_t n;
};

/* Row 0 of most tables stands for "none". */
static void count_tables(struct info_count *c, const struct profile *p)
{
    *c++ = (struct info_count){"rows", "rows", profile_count_rows(p)};
    *c++ = (struct info_count){"stack nodes", "stack_nodes", p->stacks.nodes.n - 1};
    *c++ = (struct info_count){"frames", "frames", p->frames.n};
    *c++ = (struct info_count){"functions", "functions", p->functions.n - 1};
    *c++ = (struct info_count){"modules", "modules", p->mappings.n - 1};
    *c++ = (struct info_count){"processes", "processes", p->processes.n - 1};
    *c++ = (struct info_count){"threads", "threads", p->threads.n - 1};
}

/* What is said of a stream, in this order. */
static const char *const facts[] = {FACT_KIND,   FACT_RATE_HZ,   FACT_RATE_ACHIEVED_HZ,
                                    FACT_LOST,   FACT_THROTTLED, FACT_UNFINISHED,
                                    FACT_GUESSED};

/* --- for people --- */

/* Of a column of names: as wide as the longest, so that what is beside it is a column too. */
enum { NAMES_LEAST = 12, FACTS_LEAST = 18, NAMES_MOST = 32 };

static int wider(int width, const char *name)
{
    size_t n = strlen(name);
    return n > (size_t)width && n <= NAMES_MOST ? (int)n : width;
}

static void row(FILE *out, int width, const char *name, const char *text)
{
    autobuf struct buf key = {0}, value = {0};
    utf8_plain(&key, text_of(name));
    utf8_plain(&value, text_of(text));
    fprintf(out, "%-*s %s\n", width, buf_cstr(&key), buf_cstr(&value));
}

/* "duration_ns 3710138009 (3.71 s)": the number for scripts, the words for people. */
static void row_of_meta(FILE *out, int width, const struct meta *m, const struct meta_entry *e)
{
    autobuf struct buf value = {0}, words = {0};
    bool scales = text_ends(text_of(e->key), "_ns") && meta_words_value(&words, m, e->key) &&
                  strcmp(buf_cstr(&words), e->value) != 0;
    buf_str(&value, e->value);
    if (scales)
        buf_printf(&value, " (%s)", buf_cstr(&words));
    row(out, width, e->key, buf_cstr(&value));
}

static void print_meta(FILE *out, const struct profile *p)
{
    static const char *const first[] = {META_SOURCE, META_FORMAT, NULL};
    int width = NAMES_LEAST;
    for (size_t i = 0; i < p->meta.entries.n; i++)
        width = wider(width, p->meta.entries.at[i].key);
    for (int i = 0; first[i]; i++) {
        const char *value = meta_find(&p->meta, first[i]);
        row(out, width, first[i], value ? value : "not recorded");
    }
    for (size_t i = 0; i < p->meta.entries.n; i++) {
        const struct meta_entry *e = &p->meta.entries.at[i];
        bool shown = false;
        for (int j = 0; first[j]; j++)
            shown |= strcmp(e->key, first[j]) == 0;
        if (!shown)
            row_of_meta(out, width, &p->meta, e);
    }
}

static void print_facts(FILE *out, const struct selection *s)
{
    int width = FACTS_LEAST;
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        autobuf struct buf b = {0};
        width = facts_add(&b, s, facts[i]) ? wider(width, facts_title(facts[i])) : width;
    }
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        autobuf struct buf b = {0};
        const char *key = facts[i];
        bool always = strcmp(key, FACT_KIND) == 0 || strcmp(key, FACT_LOST) == 0;
        bool known = facts_add(&b, s, key);
        if (!known && !always)
            continue;
        fprintf(out, "    %-*s ", width, facts_title(key));
        utf8_print(out, known ? buf_cstr(&b) : "not recorded");
        putc('\n', out);
    }
}

static void print_column(FILE *out, const struct profile *p, const struct value_type *t, bool shown)
{
    char total[UNITS_MAX];
    autobuf struct buf scaled = {0}, name = {0}, unit = {0};
    utf8_plain(&name, profile_str(p, t->name));
    utf8_plain(&unit, profile_str(p, t->unit));
    bool scales = t->dimension == DIM_TIME || t->dimension == DIM_BYTES;
    if (scales)
        caption_value(&scaled, p, t, t->total);
    fprintf(out, "  %c %-18s %18s %s%s%s%s\n", shown ? '*' : ' ', buf_cstr(&name),
            units_decimal_count(total, t->total, t->decimals),
            unit.n ? buf_cstr(&unit) : "(no unit)", scales ? " (" : "",
            scales ? buf_cstr(&scaled) : "", scales ? ")" : "");
}

static void print_stream(FILE *out, const struct selection *shown, int stream)
{
    char rows[UNITS_MAX];
    const struct profile *p = shown->profile;
    const struct stream *s = profile_stream(p, stream);
    struct selection all = selection_all(p, (struct value_ref){stream, 0});
    struct text event = profile_str(p, s->event);
    fprintf(out, "\nstream %d: ", stream + 1);
    utf8_print(out, event.n ? event.at : "event not recorded");
    fprintf(out, ", %s %s\n", units_count(rows, s->rows.n), s->rows.n == 1 ? "row" : "rows");
    print_facts(out, &all);
    for (int i = 0; i < s->n_types; i++)
        print_column(out, p, &s->types[i], s == shown->stream && i == shown->type);
}

static void print_streams(FILE *out, const struct selection *shown)
{
    for (int i = 0; i < (int)shown->profile->streams.n; i++)
        print_stream(out, shown, i);
    fprintf(out, "  * is what report, flame and fold show by default\n");
}

static void print_counters(FILE *out, const struct profile *p)
{
    char n[UNITS_MAX];
    for (size_t i = 0; i < p->counters.n; i++) {
        const struct counter *c = &p->counters.at[i];
        fputs(i ? "  " : "\ncounters\n  ", out);
        utf8_print(out, profile_str(p, c->name).at);
        fprintf(out, ", %s points\n", units_count(n, c->points.n));
    }
}

static void print_tables(FILE *out, const struct profile *p)
{
    struct info_count counts[INFO_COUNTS];
    char n[UNITS_MAX];
    count_tables(counts, p);
    fputs("\ncontents\n ", out);
    for (int i = 0; i < INFO_COUNTS; i++)
        fprintf(out, "%s %s %s", i ? "," : "", counts[i].words, units_count(n, counts[i].n));
    putc('\n', out);
    uint64_t bytes = 0;
    for (size_t i = 0; i < p->packed.n; i++)
        bytes += p->packed.at[i].text.n;
    if (p->packed.n)
        fprintf(out, "  source files packed %zu (%s)\n", p->packed.n,
                units_scaled(n, (double)bytes, SCALED_BYTES));
}

static void print_quality(FILE *out, const struct selection *s, const struct quality *q)
{
    char n[UNITS_MAX];
    fprintf(out, "\nquality\n");
    if (!s->n_rows) {
        const char *why = meta_find(&s->profile->meta, META_NO_SAMPLES);
        fputs("  no samples: ", out);
        utf8_print(out, why ? why : "nothing was seen to run in this time");
        putc('\n', out);
        return;
    }
    if (!q->has_samples && obtained_exactly(s->stream->obtained))
        fprintf(out, "  exact counts, not samples: shares have no sampling error\n");
    else if (!q->has_samples)
        fprintf(out, "  the number of samples is not recorded, so shares have no intervals\n");
    else if (stream_has_every_event(s->stream))
        fprintf(out, "  %s sample%s, one for each event: shares are exact for this run\n",
                units_count(n, (uint64_t)q->samples), q->samples == 1 ? "" : "s");
    else if (q->samples < QUALITY_FEW_SAMPLES)
        fprintf(out, "  only %s sample%s: too few for a result, shares are rough guesses\n",
                units_count(n, (uint64_t)q->samples), q->samples == 1 ? "" : "s");
    else
        fprintf(out, "  %s\n", units_many(n, (uint64_t)q->samples, "sample", "samples"));
    fprintf(out, "  %s distinct stack%s, depth %.1f on average, %zu at most\n",
            units_count(n, q->distinct_stacks), q->distinct_stacks == 1 ? "" : "s", q->mean_depth,
            q->max_depth);
    fprintf(out, "  frames without a name: %.1f%%; samples without a stack: %.1f%%\n",
            100 * q->unnamed_share, 100 * q->empty_share);
    if (q->sampled_share < 1)
        fprintf(out, "  samples stand for %.0f%% of the CPU time: %s may have more than is shown\n",
                100 * q->sampled_share, quality_missed(s->profile));
    if (q->has_time)
        fprintf(out, "  first to last sample: %s\n",
                units_scaled(n, (double)(q->last_ns - q->first_ns), SCALED_NS));
    const char *cut = meta_find(&s->profile->meta, META_CUT);
    if (!cut)
        return;
    fputs("  the input was cut off: ", out);
    utf8_print(out, cut);
    putc('\n', out);
}

void info_print(FILE *out, const struct selection *shown)
{
    struct quality q = quality_of(shown);
    print_meta(out, shown->profile);
    print_streams(out, shown);
    print_counters(out, shown->profile);
    print_tables(out, shown->profile);
    print_quality(out, shown, &q);
}

/* --- for programs --- */

static const char *const dimension_names[DIMENSIONS] = {"count", "time", "bytes", "other"};
static const char *const role_names[VALUE_ROLES] = {"samples", "flow", "level"};

static void json_column(struct json *j, const struct profile *p, const struct stream *s, int type,
                        const struct selection *shown)
{
    const struct value_type *t = &s->types[type];
    json_open(j, '{');
    json_key(j, "event");
    json_text(j, profile_str(p, s->event));
    json_key(j, "name");
    json_text(j, profile_str(p, t->name));
    json_key(j, "unit");
    json_text(j, profile_str(p, t->unit));
    json_put_str(j, "dimension", dimension_names[t->dimension]);
    json_put_str(j, "role", role_names[t->role]);
    json_key(j, "total");
    json_decimal(j, t->total, t->decimals);
    json_put_bool(j, "shown", s == shown->stream && type == shown->type);
    json_close(j, '}');
}

/* A count, or null where it is not known. */
static void json_known(struct json *j, const char *key, bool known, uint64_t n)
{
    json_key(j, key);
    if (known)
        json_uint(j, n);
    else
        json_null(j);
}

static void json_stream(struct json *j, const struct selection *shown, int stream)
{
    const struct profile *p = shown->profile;
    const struct stream *s = profile_stream(p, stream);
    struct selection all = selection_all(p, (struct value_ref){stream, 0});
    json_open(j, '{');
    json_key(j, "event");
    json_text(j, profile_str(p, s->event));
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        facts_put(j, &all, facts[i]);
    json_key(j, "unfinished_why");
    json_open(j, '{');
    for (int i = 0; i < s->n_unfinished; i++)
        json_put_uint(j, profile_str(p, s->unfinished[i].why).at, s->unfinished[i].n);
    json_close(j, '}');
    json_put_uint(j, "rows", s->rows.n);
    json_put_bool(j, "times", s->rows.time_ns != NULL);
    json_put_bool(j, "durations", s->rows.duration_ns != NULL);
    json_put_bool(j, "attributes", s->rows.attrs != NULL);
    json_key(j, "values");
    json_open(j, '[');
    for (int i = 0; i < s->n_types; i++)
        json_column(j, p, s, i, shown);
    json_close(j, ']');
    json_close(j, '}');
}

static void json_streams(struct json *j, const struct selection *shown)
{
    const struct profile *p = shown->profile;
    json_key(j, "values");
    json_open(j, '[');
    for (size_t i = 0; i < p->streams.n; i++)
        for (int k = 0; k < p->streams.at[i]->n_types; k++)
            json_column(j, p, p->streams.at[i], k, shown);
    json_close(j, ']');
    json_key(j, "streams");
    json_open(j, '[');
    for (int i = 0; i < (int)p->streams.n; i++)
        json_stream(j, shown, i);
    json_close(j, ']');
}

static void json_tables(struct json *j, const struct profile *p)
{
    struct info_count counts[INFO_COUNTS];
    count_tables(counts, p);
    for (int i = 0; i < INFO_COUNTS; i++)
        json_put_uint(j, counts[i].key, counts[i].n);
}

static void json_quality(struct json *j, const struct quality *q)
{
    json_key(j, "quality");
    json_open(j, '{');
    json_known(j, "samples", q->has_samples, (uint64_t)q->samples);
    json_put_uint(j, "distinct_stacks", q->distinct_stacks);
    json_put_uint(j, "max_depth", q->max_depth);
    json_put_number(j, "mean_depth", q->mean_depth);
    json_put_number(j, "unnamed_share", q->unnamed_share);
    json_put_number(j, "empty_share", q->empty_share);
    json_put_number(j, "sampled_share", q->sampled_share);
    json_known(j, "span_ns", q->has_time, q->last_ns - q->first_ns);
    json_close(j, '}');
}

void info_print_json(FILE *out, const struct selection *shown)
{
    const struct profile *p = shown->profile;
    struct quality q = quality_of(shown);
    struct json j = {.out = out};
    json_open(&j, '{');
    json_key(&j, "meta");
    json_open(&j, '{');
    for (size_t i = 0; i < p->meta.entries.n; i++)
        json_put_str(&j, p->meta.entries.at[i].key, p->meta.entries.at[i].value);
    json_close(&j, '}');
    json_streams(&j, shown);
    counters_json(&j, p, 0);
    json_tables(&j, p);
    json_quality(&j, &q);
    json_close(&j, '}');
    putc('\n', out);
}
