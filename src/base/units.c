#include "base/units.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Put a comma between every three digits of the N digits at the start of S. */
static void units_separate(char *s, size_t n)
{
    for (size_t i = n; i > 3;) {
        i -= 3;
        memmove(s + i + 1, s + i, strlen(s + i) + 1);
        s[i] = ',';
    }
}

/* A drawing has tens of thousands of numbers: by printf() they take several times as long. */
char *units_plain(char *s, uint64_t n)
{
    char digits[20], *first = digits + sizeof digits;
    do
        *--first = (char)('0' + n % 10);
    while (n /= 10);
    size_t length = (size_t)(digits + sizeof digits - first);
    memcpy(s, first, length);
    s[length] = '\0';
    return s + length;
}

char *units_count(char *s, uint64_t n)
{
    char *end = units_plain(s, n);
    units_separate(s, (size_t)(end - s));
    return s;
}

char *units_decimal(char *s, int64_t value, int decimals)
{
    uint64_t scale = 1;
    for (int i = 0; i < decimals; i++)
        scale *= 10;
    uint64_t v = value < 0 ? -(uint64_t)value : (uint64_t)value;
    if (value < 0)
        s[0] = '-';
    char *end = units_plain(s + (value < 0), v / scale);
    if (v % scale == 0)
        return s;
    /* 1 before the digits keeps their zeros, and is where the point goes. */
    char *point = end;
    end = units_plain(end, v % scale + scale);
    *point = '.';
    while (end[-1] == '0')
        *--end = '\0';
    return s;
}

char *units_decimal_count(char *s, int64_t value, int decimals)
{
    units_decimal(s, value, decimals);
    char *digits = s + (s[0] == '-');
    units_separate(digits, strcspn(digits, "."));
    return s;
}

char *units_share(char *s, double part, double whole)
{
    snprintf(s, UNITS_MAX, "%.2f%%", whole > 0 ? 100 * part / whole : 0.0);
    return s;
}

double units_change(double ratio)
{
    double percent = 100 * (ratio - 1);
    return fabs(percent) < 0.05 ? 0 : percent;
}

struct scale {
    double from;
    const char *suffix;
};

static char *units_print_scaled(char *s, double value, const struct scale *scales)
{
    while (scales[1].suffix && value < scales->from)
        scales++;
    snprintf(s, UNITS_MAX, value / scales->from < 100 ? "%.3g %s" : "%.0f %s", value / scales->from,
             scales->suffix);
    return s;
}

char *units_scaled(char *s, double value, enum scaled kind)
{
    static const struct scale times[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}, {0}};
    static const struct scale sizes[] = {{1099511627776., "TiB"},
                                         {1073741824., "GiB"},
                                         {1048576., "MiB"},
                                         {1024., "KiB"},
                                         {1, "B"},
                                         {0}};
    static const struct scale *const scales[SCALED_KINDS] = {
        [SCALED_NS] = times, [SCALED_BYTES] = sizes};
    if (scales[kind])
        return units_print_scaled(s, value, scales[kind]);
    return units_count(s, value < 0 ? 0 : (uint64_t)(value + 0.5));
}

char *units_number(char *s, double value)
{
    static const struct scale large[] = {{1e12, " T"}, {1e9, " G"}, {1e6, " M"}, {0}};
    const struct scale *in = large;
    double size = fabs(value);
    while (in->suffix && size < in->from)
        in++;
    if (size >= 1e15 || size < 1e4)
        snprintf(s, UNITS_MAX, "%.4g", value);
    else if (in->suffix)
        snprintf(s, UNITS_MAX, "%.4g%s", value / in->from, in->suffix);
    else
        units_count(value < 0 ? strcpy(s, "-") + 1 : s, (uint64_t)(size + 0.5));
    return s;
}

char *units_many(char *s, uint64_t n, const char *one, const char *more)
{
    units_count(s, n);
    size_t used = strlen(s);
    snprintf(s + used, UNITS_MAX - used, " %s", n == 1 ? one : more);
    return s;
}

char *units_seconds(char *s, double seconds)
{
    if (seconds == 0) {
        snprintf(s, UNITS_MAX, "0 s");
        return s;
    }
    return units_scaled(s, seconds * 1e9, SCALED_NS);
}

char *units_utc(char *s, uint64_t since_1970_ns)
{
    time_t seconds = (time_t)(since_1970_ns / 1000000000u);
    struct tm tm;
    if (!gmtime_r(&seconds, &tm) || !strftime(s, UNITS_MAX, "%Y-%m-%d %H:%M:%S UTC", &tm))
        snprintf(s, UNITS_MAX, "not known");
    return s;
}

/* The number at the start of TEXT, and the unit behind it; NULL where there is none. */
static const char *units_parse_number(const char *text, double *ret)
{
    char *end;
    *ret = strtod(text, &end);
    if (end == text || !isfinite(*ret) || *ret < 0 || *text == '-' || *text == ' ')
        return NULL;
    while (*end == ' ')
        end++;
    return end;
}

bool units_parse_time(const char *text, double *ret_s)
{
    static const struct {
        const char *name;
        double s;
    } units[] = {{"", 1},   {"s", 1},    {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9},
                 {"m", 60}, {"min", 60}, {"h", 3600},  {"d", 86400}};
    double value;
    const char *unit = units_parse_number(text, &value);
    for (size_t i = 0; unit && i < sizeof units / sizeof *units; i++)
        if (strcmp(unit, units[i].name) == 0) {
            *ret_s = value * units[i].s;
            return true;
        }
    return false;
}

bool units_parse_size(const char *text, uint64_t *ret_bytes)
{
    static const char letters[] = "kmgt";
    double value;
    const char *suffix = units_parse_number(text, &value);
    if (!suffix)
        return false;
    const char *found = *suffix ? strchr(letters, *suffix | 0x20) : NULL;
    for (const char *k = letters; found && k <= found; k++)
        value *= 1024;
    if (*suffix && !found && strcmp(suffix, "B") != 0)
        return false;
    if (found && suffix[1] && strcmp(suffix + 1, "B") != 0 && strcmp(suffix + 1, "iB") != 0)
        return false;
    *ret_bytes = value < 0x1p63 ? (uint64_t)value : 0;
    return value < 0x1p63;
}
