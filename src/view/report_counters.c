/* report_counters.c - what a CPU's counters say by function: instructions per cycle, misses. */
#include "analysis/eventrates.h"
#include "base/units.h"
#include "view/report_inner.h"

#include <math.h>

/* "1.85 ±0.12": half of the wider side. */
static void cell_eventrate(struct document *d, const struct eventrate_sum *s, enum eventrate rate)
{
    struct eventrate_value v = eventrate_of(s, rate);
    char text[UNITS_MAX] = "-";
    double half = fmax(v.value - v.interval.low, v.interval.high - v.value);
    if (isfinite(v.value))
        snprintf(text, sizeof text, v.value < 10 ? "%.2f \xc2\xb1%.2f" : "%.1f \xc2\xb1%.1f",
                 v.value, half);
    document_cell(d, text_of(text), 0);
}

/* Both the heading and the cells of those rates that there are; then the name. */
static void add_eventrate_row(struct document *d, const struct eventrates *r,
                              const struct eventrate_sum *s, struct text name)
{
    for (int i = 0; i < EVENTRATES; i++)
        if (r->has[i])
            cell_eventrate(d, s, (enum eventrate)i);
    document_cell(d, name, 0);
}

static void open_eventrate_table(struct document *d, const struct eventrates *r)
{
    struct document_column *columns = arena_get(&d->arena, (EVENTRATES + 1) * sizeof *columns);
    size_t n = 0;
    for (int i = 0; i < EVENTRATES; i++)
        if (r->has[i])
            columns[n++] = (struct document_column){eventrate_titles[i], .right = true};
    columns[n++] = (struct document_column){"function", .wide = true};
    document_table(d, columns, n);
}

/* Those with the most of what the report is about, as in its other tables. */
static size_t counted_rows(const struct report *r, uint32_t *rows)
{
    return flat_top(r->functions, FLAT_SELF, r->opts.top, rows);
}

static void add_counter_table(struct document *d, const struct report *r, struct str_id core)
{
    struct eventrates c = eventrates_build(r->functions, core);
    autofree uint32_t *rows = mem_calloc(r->opts.top + 1, sizeof *rows);
    autofree char *title =
        core.i ? mem_printf("Counters of the CPU: %s", profile_str(r->profile, core).at)
               : mem_strdup("Counters of the CPU");
    if (eventrates_any(&c)) {
        size_t n = counted_rows(r, rows);
        document_heading(d, title);
        open_eventrate_table(d, &c);
        add_eventrate_row(d, &c, &c.whole, text_of("(the whole program)"));
        for (size_t i = 0; i < n; i++)
            add_eventrate_row(d, &c, &c.rows[rows[i]], flat_name(r->functions, rows[i]));
    }
    eventrates_done(&c);
}

/* Whether there is anything to say about counters. */
static bool has_counters(const struct report *r)
{
    struct eventrates c = eventrates_build(r->functions, (struct str_id){0});
    bool any = eventrates_any(&c);
    eventrates_done(&c);
    return any;
}

void report_add_counters(struct document *d, const struct report *r)
{
    struct str_id cores[EVENTRATE_CORES];
    size_t n = eventrates_cores(r->profile, cores);
    if (!has_counters(r))
        return;
    for (size_t i = 0; i < n; i++)
        add_counter_table(d, r, cores[i]);
    if (!n)
        add_counter_table(d, r, (struct str_id){0});
    document_text(
        d,
        "Misses are per 1000 instructions. A function's figures are its own, without "
        "what it calls; \xc2\xb1 is the half-width of a 95%% interval, and - is fewer than "
        "%d samples of one of the two events.",
        EVENTRATE_FEW);
    const char *running = meta_find(&r->profile->meta, META_RUNNING);
    if (running)
        document_text(d, "Counting: %s.", running);
}

/* --- for programs --- */

static void put_eventrates(struct json *j, const struct eventrates *r,
                           const struct eventrate_sum *s)
{
    for (int i = 0; i < EVENTRATES; i++) {
        struct eventrate_value v = eventrate_of(s, (enum eventrate)i);
        if (!r->has[i])
            continue;
        json_key(j, eventrate_names[i]);
        if (!isfinite(v.value)) {
            json_null(j);
            continue;
        }
        json_open(j, '{');
        json_put_number(j, "value", v.value);
        json_put_number(j, "low", v.interval.low);
        json_put_number(j, "high", v.interval.high);
        json_close(j, '}');
    }
}

/* The figures of the whole program, then those of its functions. */
static void put_counted(struct json *j, const struct report *r, const struct eventrates *c)
{
    autofree uint32_t *rows = mem_calloc(r->opts.top + 1, sizeof *rows);
    size_t n = counted_rows(r, rows);
    put_eventrates(j, c, &c->whole);
    json_key(j, "functions");
    json_open(j, '[');
    for (size_t i = 0; i < n; i++) {
        json_open(j, '{');
        json_key(j, "name");
        json_text(j, flat_name(r->functions, rows[i]));
        put_eventrates(j, c, &c->rows[rows[i]]);
        json_close(j, '}');
    }
    json_close(j, ']');
}

/* A hybrid CPU's kinds of cores, each by itself. */
static void put_cores(struct json *j, const struct report *r)
{
    struct str_id cores[EVENTRATE_CORES];
    size_t n = eventrates_cores(r->profile, cores);
    if (!n)
        return;
    json_key(j, "cores");
    json_open(j, '[');
    for (size_t i = 0; i < n; i++) {
        struct eventrates c = eventrates_build(r->functions, cores[i]);
        json_open(j, '{');
        json_key(j, "core");
        json_text(j, profile_str(r->profile, cores[i]));
        put_counted(j, r, &c);
        json_close(j, '}');
        eventrates_done(&c);
    }
    json_close(j, ']');
}

void report_put_counters(struct json *j, const struct report *r)
{
    struct eventrates c = eventrates_build(r->functions, (struct str_id){0});
    if (eventrates_any(&c)) {
        json_key(j, "counters");
        json_open(j, '{');
        put_counted(j, r, &c);
        put_cores(j, r);
        json_close(j, '}');
    }
    eventrates_done(&c);
}
