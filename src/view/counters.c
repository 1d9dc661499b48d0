#include "view/counters.h"

#include "base/units.h"
#include "model/heapstream.h"

#include <math.h>

/* A counter in brief. */
struct counter_range {
    bool is_count; /* it only grows: a minimum and a maximum say nothing */
    int64_t last, min, max;
    double per_second; /* NaN = not known, or no count */
};

static struct counter_range counter_range_get(const struct profile *p, const struct counter *c,
                                              double seconds)
{
    struct counter_range r = {.is_count = profile_counts(p, c)};
    for (size_t k = 0; k < c->points.n; k++) {
        r.last = c->points.at[k].value;
        r.min = !k || r.last < r.min ? r.last : r.min;
        r.max = !k || r.last > r.max ? r.last : r.max;
    }
    r.per_second = r.is_count && seconds > 0 ? (double)r.last / seconds : NAN;
    return r;
}

/* What the recorder itself counts belongs to the heap's story, and has its units there. */
static bool counter_is_own(const struct profile *p, const struct counter *c)
{
    struct value_ref of_heap;
    return heapstream_counter_of(p, c) == HEAP_COUNTERS ||
           !heapstream_find(p, HEAP_ALLOCATED, &of_heap);
}

static bool counters_any(const struct profile *p)
{
    for (size_t i = 0; i < p->counters.n; i++)
        if (counter_is_own(p, &p->counters.at[i]))
            return true;
    return false;
}

static void counter_put_value(struct json *j, const char *key, bool known, int64_t value)
{
    json_key(j, key);
    if (known)
        json_int(j, value);
    else
        json_null(j);
}

static void counter_json(struct json *j, const struct profile *p, const struct counter *c,
                         double seconds)
{
    struct counter_range r = counter_range_get(p, c, seconds);
    bool has_range = c->points.n && !r.is_count;
    json_open(j, '{');
    json_key(j, "name");
    json_text(j, profile_str(p, c->name));
    json_key(j, "unit");
    json_text(j, profile_str(p, c->unit));
    json_put_uint(j, "points", c->points.n);
    counter_put_value(j, "last", c->points.n, r.last);
    counter_put_value(j, "min", has_range, r.min);
    counter_put_value(j, "max", has_range, r.max);
    json_put_number(j, "per_second", r.per_second);
    json_close(j, '}');
}

void counters_json(struct json *j, const struct profile *p, double seconds)
{
    json_key(j, "counters");
    json_open(j, '[');
    for (size_t i = 0; i < p->counters.n; i++)
        if (counter_is_own(p, &p->counters.at[i]))
            counter_json(j, p, &p->counters.at[i], seconds);
    json_close(j, ']');
}

static void counter_cell(struct document *d, bool known, int64_t value)
{
    autofree char *s = mem_printf("%lld", (long long)value);
    document_cell(d, text_of(known ? s : "-"), 0);
}

static void counter_cell_rate(struct document *d, double per_second)
{
    char s[UNITS_MAX];
    if (per_second >= 1e4 && per_second < 1e18)
        units_count(s, (uint64_t)llround(per_second));
    else
        snprintf(s, sizeof s, "%.4g", per_second);
    document_cell(d, text_of(isnan(per_second) ? "-" : s), 0);
}

void counters_add(struct document *d, const struct profile *p, double seconds)
{
    static const struct document_column columns[] = {{"last", .right = true},
                                                     {"min", .right = true},
                                                     {"max", .right = true},
                                                     {"per second", .right = true},
                                                     {"counter", .wide = true}};
    if (!counters_any(p))
        return;
    bool rates = false;
    document_heading(d, "Counters and gauges");
    document_table(d, columns, 5);
    for (size_t i = 0; i < p->counters.n; i++) {
        const struct counter *c = &p->counters.at[i];
        struct counter_range r = counter_range_get(p, c, seconds);
        if (!counter_is_own(p, c))
            continue;
        counter_cell(d, true, r.last);
        counter_cell(d, !r.is_count, r.min);
        counter_cell(d, !r.is_count, r.max);
        counter_cell_rate(d, r.per_second);
        document_cell(d, profile_str(p, c->name), 0);
        rates |= !isnan(r.per_second);
    }
    if (rates)
        document_text(d, "Per second: from the start of the first span to the end of the last.");
}
