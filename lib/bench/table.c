/* table.c - numbers as people read them; see bench.h. */
#include "base/units.h"
#include "bench.h"

#include <math.h>

struct unit {
    double ns;
    const char *name;
};

static const struct unit *unit_of(double ns)
{
    static const struct unit units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}};
    const struct unit *u = units;
    while (u->ns > 1 && ns < u->ns)
        u++;
    return u;
}

/* Digits after the point that a deviation of WITHIN leaves any sense in; one more than sure. */
static int table_digits(double within)
{
    if (!(within > 0) || !isfinite(within))
        return 3;
    return (int)fmin(fmax(1 - floor(log10(within)), 0), 3);
}

char *table_time(char *s, double time_ns, double within_ns)
{
    const struct unit *u = unit_of(time_ns);
    snprintf(s, UNITS_MAX, "%.*f %s", time_ns > 0 ? table_digits(within_ns / u->ns) : 0,
             time_ns / u->ns, u->name);
    return s;
}

char *table_interval(char *s, double time_ns, double low_ns, double high_ns)
{
    if (!isfinite(low_ns) || !isfinite(high_ns)) {
        snprintf(s, UNITS_MAX, "unknown");
        return s;
    }
    const struct unit *u = unit_of(time_ns > 0 ? time_ns : high_ns);
    int after = table_digits((high_ns - low_ns) / 2 / u->ns);
    snprintf(s, UNITS_MAX, "%.*f .. %.*f %s", low_ns > 0 ? after : 0, low_ns / u->ns, after,
             high_ns / u->ns, u->name);
    return s;
}

char *table_rate(char *s, double per_second, const char *unit)
{
    static const char *const prefixes[] = {"", "k", "M", "G", "T", "P"};
    size_t i = 0;
    for (; per_second >= 999.5 && i < 5; i++)
        per_second /= 1000;
    snprintf(s, UNITS_MAX, "%.3g %s%s", per_second, prefixes[i], unit);
    return s;
}
