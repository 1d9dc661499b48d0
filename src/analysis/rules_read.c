/* rules_read.c - words, numbers and ranges of a line of rules; see rules_inner.h. */
#include "analysis/rules_inner.h"

#include "base/buf.h"
#include "base/utf8.h"

#include <math.h>
#include <stdarg.h>

/* --- errors --- */

int rules_fail(struct rules *r, uint32_t line, uint32_t column, const char *text)
{
    *vec_push(&r->errors) = (struct rule_error){
        .line = line,
        .column = column,
        .text = arena_text(&r->arena, text_of(text)).at,
    };
    return -1;
}

uint32_t rule_column_of(const struct rule_line *l, const char *at)
{
    return (uint32_t)utf8_count((struct text){l->start, (size_t)(at - l->start)}) + 1;
}

int rule_fail(struct rule_line *l, const char *at, const char *fmt, ...)
{
    char text[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return rules_fail(l->rules, l->number, rule_column_of(l, at), text);
}

struct rule_shown rule_show(struct text t)
{
    struct rule_shown s;
    struct text head = utf8_head(t, 30);
    size_t n = 0;
    for (size_t i = 0; i < head.n && n < 40; i++)
        s.text[n++] = (unsigned char)head.at[i] < ' ' || head.at[i] == 0x7f ? '?' : head.at[i];
    memcpy(s.text + n, head.n < t.n ? ".." : "", head.n < t.n ? 3 : 1);
    return s;
}

/* --- tokens --- */

static bool rules_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static void rule_skip(struct rule_line *l, size_t n)
{
    l->rest.at += n;
    l->rest.n -= n;
}

bool rule_more(struct rule_line *l)
{
    while (l->rest.n && rules_is_blank(*l->rest.at))
        rule_skip(l, 1);
    if (l->rest.n && *l->rest.at == '#')
        l->rest.n = 0;
    return l->rest.n > 0;
}

/* Up to a blank, or one of ENDS. */
static struct rule_token rule_take_until(struct rule_line *l, const char *ends)
{
    struct rule_token t = {.at = l->rest.at};
    size_t n = 0;
    while (n < l->rest.n && !rules_is_blank(l->rest.at[n]) && !strchr(ends, l->rest.at[n]))
        n++;
    t.text = (struct text){l->rest.at, n};
    rule_skip(l, n);
    return t;
}

struct rule_token rule_take_word(struct rule_line *l)
{
    rule_more(l);
    return rule_take_until(l, "<>");
}

/* "..." with \" and \\ for the two. */
static int rule_take_quoted(struct rule_line *l, struct rule_token *ret)
{
    autobuf struct buf b = {0};
    *ret = (struct rule_token){.at = l->rest.at, .quoted = true};
    for (size_t i = 1; i < l->rest.n; i++) {
        char c = l->rest.at[i];
        if (c == '"') {
            ret->text = arena_text(&l->rules->arena, buf_text(&b));
            rule_skip(l, i + 1);
            return 0;
        }
        if (c == '\\' && i + 1 < l->rest.n && strchr("\\\"", l->rest.at[i + 1]))
            c = l->rest.at[++i];
        buf_byte(&b, (uint8_t)c);
    }
    return rule_fail(l, ret->at, "the quotes that start here do not end");
}

int rule_take_name(struct rule_line *l, struct rule_token *ret)
{
    if (!rule_more(l))
        return rule_fail(l, l->rest.at, "the name of a %s is missing", l->noun);
    if (text_starts(l->rest, "<=") || text_starts(l->rest, ">="))
        return rule_fail(l, l->rest.at, "there is no name of a %s before the range", l->noun);
    if (*l->rest.at == '"') {
        if (rule_take_quoted(l, ret) != 0)
            return -1;
    } else {
        *ret = rule_take_until(l, "");
    }
    if (!ret->text.n)
        return rule_fail(l, ret->at, "the name of a %s is empty", l->noun);
    return 0;
}

/* --- numbers and ranges --- */

/* Sign, digits, point: what strtod() takes besides (hex, nan, inf) is no number here. */
size_t rule_number_length(struct text t)
{
    size_t n = t.n && (*t.at == '+' || *t.at == '-'), digits = 0;
    for (; n < t.n && n < 32; n++) {
        bool range = t.at[n] == '.' && n + 1 < t.n && t.at[n + 1] == '.';
        if (range || !strchr("0123456789.", t.at[n]))
            break;
        digits += t.at[n] != '.';
    }
    return digits ? n : 0;
}

int rule_take_number(struct rule_line *l, double *ret)
{
    char digits[40], *end;
    rule_more(l);
    size_t n = rule_number_length(l->rest);
    memcpy(digits, l->rest.at, n);
    digits[n] = '\0';
    *ret = n ? strtod(digits, &end) : 0;
    if (!n || *end)
        return rule_fail(l, l->rest.at,
                         l->rest.n ? "'%s' is not a number" : "a number is missing%s",
                         rule_show(l->rest).text);
    rule_skip(l, n);
    return 0;
}

bool rule_take_char(struct rule_line *l, char c)
{
    if (!l->rest.n || *l->rest.at != c)
        return false;
    rule_skip(l, 1);
    return true;
}

/* "5%" or "5 %". */
static bool rule_take_percent(struct rule_line *l)
{
    size_t n = 0;
    while (n < l->rest.n && rules_is_blank(l->rest.at[n]))
        n++;
    if (n == l->rest.n || l->rest.at[n] != '%')
        return false;
    rule_skip(l, n + 1);
    return true;
}

/* What numbers of a kind may be. */
static const struct unit_limits {
    const char *what;
    double low, high, scale;
} limits[] = {
    [RULE_SHARE] = {"a share must be from 0% to 100%", 0, 100, 0.01},
    [RULE_COUNT] = {"a number of samples cannot be below 0", 0, 1e18, 1},
    [RULE_SCATTERED] = {"scatter cannot be below 0%", 0, 1e6, 0.01},
    [RULE_RELATIVE] = {"nothing can shrink by more than 100%", -100, 1e6, 0.01},
    [RULE_POINTS] = {"a change must be from -100 to +100 points", -100, 100, 0.01},
    [RULE_EXPONENT] = {"an exponent must be from -10 to 10", -10, 10, 1},
    [RULE_BITS] = {"a width must be from 64 to 512 bits", 64, 512, 1},
    [RULE_BYTES] = {"a size cannot be below 0 bytes", 0, 1e18, 1},
    [RULE_BLOCKS] = {"a number of blocks cannot be below 0", 0, 1e18, 1},
    [RULE_TIME] = {"a time cannot be below 0", 0, 1e18, 1},
    [RULE_SPANS] = {"a number of calls cannot be below 0", 0, 1e18, 1},
    [RULE_PER_SECOND] = {"a rate cannot be below 0", 0, 1e18, 1},
    [RULE_PER_OP] = {"a number of blocks cannot be below 0", 0, 1e18, 1},
    [RULE_FIT] = {"R2 must be from 0 to 1", 0, 1, 1},
    [RULE_GFLOPS] = {"GFLOP/s cannot be below 0", 0, 1e12, 1},
    [RULE_NUMBER] = {"a number must be from -1e18 to 1e18", -1e18, 1e18, 1},
    [RULE_EVENTS] = {"a number of events cannot be below 0", 0, 1e18, 1},
    [RULE_PER_1000] = {"a rate cannot be below 0", 0, 1e9, 1},
};

static const struct rule_measure {
    const char *name;
    enum rule_unit unit;
    double factor;
} measures[] = {
    {"B", RULE_BYTES, 1},         {"KiB", RULE_BYTES, 1 << 10}, {"MiB", RULE_BYTES, 1 << 20},
    {"GiB", RULE_BYTES, 1 << 30}, {"kB", RULE_BYTES, 1e3},      {"KB", RULE_BYTES, 1e3},
    {"MB", RULE_BYTES, 1e6},      {"GB", RULE_BYTES, 1e9},      {"bytes", RULE_BYTES, 1},
    {"ns", RULE_TIME, 1},         {"us", RULE_TIME, 1e3},       {"\xc2\xb5s", RULE_TIME, 1e3},
    {"ms", RULE_TIME, 1e6},       {"s", RULE_TIME, 1e9},
};

/* "MiB", "ms" behind a size or a time: how many bytes or ns; 0 when it is none of them. */
static double rule_take_measure(struct rule_line *l, enum rule_unit unit)
{
    bool bytes = unit == RULE_BYTES;
    if (!rule_more(l) && bytes)
        return 1;
    struct rule_token word = rule_take_word(l);
    for (size_t i = 0; i < sizeof measures / sizeof *measures; i++)
        if (measures[i].unit == unit && text_is(word.text, measures[i].name))
            return measures[i].factor;
    if (!word.text.n)
        rule_fail(l, word.at, "a time needs a unit: write ns, us, ms or s after the number");
    else if (bytes)
        rule_fail(l, word.at, "'%s' is not a unit of memory: use B, KiB, MiB, GiB, kB, MB or GB",
                  rule_show(word.text).text);
    else
        rule_fail(l, word.at, "'%s' is not a unit of time: use ns, us, ms or s",
                  rule_show(word.text).text);
    return 0;
}

/* The unit stands behind the last number, and is meant for both. */
static int rule_take_scaled(struct rule_line *l, struct rule_range *r)
{
    double factor = rule_take_measure(l, r->unit);
    r->is.low *= factor;
    r->is.high *= factor;
    return factor > 0 ? 0 : -1;
}

/* "%" or "points" behind the last number of a range; the latter makes a change one in points. */
static int rule_take_unit(struct rule_line *l, struct rule_range *r, bool percent)
{
    const char *at = l->rest.at;
    if (r->unit == RULE_RELATIVE && !percent) {
        struct rule_token word = rule_take_word(l);
        if (l->no_points)
            return rule_fail(l, at, "this changes by a part of it: write '+5%%'");
        if (!text_is(word.text, "points") && !text_is(word.text, "point"))
            return rule_fail(l, at,
                             "a change is in %% of the share before, or in points: '+5%%' or "
                             "'+5 points'");
        r->unit = RULE_POINTS;
        return 0;
    }
    bool scatter = r->unit == RULE_SCATTERED, parts = scatter || r->unit == RULE_SHARE;
    if (parts && !percent)
        return rule_fail(l, at, "%s is in %%: write a '%%' after the number",
                         scatter ? "scatter" : "a share");
    if (!parts && r->unit != RULE_RELATIVE && percent)
        return rule_fail(l, at - 1, "no '%%' here");
    return 0;
}

static int rule_check_range(struct rule_line *l, const char *at, struct rule_range *r)
{
    const struct unit_limits *u = &limits[r->unit];
    for (int i = 0; i < 2; i++) {
        double *end = i ? &r->is.high : &r->is.low;
        if (isinf(*end))
            continue;
        if (*end < u->low || *end > u->high)
            return rule_fail(l, at, "%s", u->what);
        *end *= u->scale;
    }
    if (r->is.low > r->is.high)
        return rule_fail(l, at, "the range is empty: the smaller number comes first");
    return 0;
}

/* Of what can be counted to the last one, and of bytes. */
static bool may_be_equal(enum rule_unit unit)
{
    return unit == RULE_BYTES || unit == RULE_BLOCKS || unit == RULE_SPANS || unit == RULE_EVENTS ||
           unit == RULE_PER_OP;
}

/* "<= 5%", ">= 5%", "5..10%"; where may_be_equal() also "== 0" */
int rule_take_range(struct rule_line *l, struct rule_range *r)
{
    rule_more(l);
    const char *at = l->rest.at;
    bool most = text_starts(l->rest, "<="), least = text_starts(l->rest, ">="), percent;
    bool equal = may_be_equal(r->unit) && text_starts(l->rest, "==");
    r->is = (struct interval){-INFINITY, INFINITY};
    if (!most && !least && !equal && !rule_number_length(l->rest))
        return rule_fail(l, at, "%s: write '<= N', '>= N' or 'A..B'",
                         l->rest.n ? "this is not a range" : "a range is missing");
    rule_skip(l, most || least || equal ? 2 : 0);
    if (rule_take_number(l, most ? &r->is.high : &r->is.low) != 0)
        return -1;
    percent = rule_take_percent(l);
    if (equal)
        r->is.high = r->is.low;
    if (!most && !least && !equal) {
        bool scaled = r->unit == RULE_BYTES || r->unit == RULE_TIME;
        if (scaled && !text_starts(l->rest, "..") && memmem(l->rest.at, l->rest.n, "..", 2))
            return rule_fail(l, l->rest.at, "both ends share one unit, after the second: '%s'",
                             r->unit == RULE_TIME ? "10..50 ms" : "10..50 MiB");
        if (!text_starts(l->rest, ".."))
            return rule_fail(l, l->rest.at,
                             "a range needs two ends: write 'A..B', or '<= N' or '>= N'");
        rule_skip(l, 2);
        if (rule_take_number(l, &r->is.high) != 0)
            return -1;
        percent = rule_take_percent(l);
    }
    if ((r->unit == RULE_BYTES || r->unit == RULE_TIME) && !percent && rule_take_scaled(l, r) != 0)
        return -1;
    bool multiple = r->unit == RULE_SPANS && text_starts(l->rest, "*");
    if (l->rest.n && !rules_is_blank(*l->rest.at) && *l->rest.at != '#' && !multiple)
        return rule_fail(l, l->rest.at, "unexpected '%s' here", rule_show(l->rest).text);
    return rule_take_unit(l, r, percent) != 0 ? -1 : rule_check_range(l, at, r);
}

int rule_take_function(struct rule_line *l, struct rule *rule)
{
    struct rule_token name = {0};
    if (rule_take_name(l, &name) != 0)
        return -1;
    rule->function = arena_text(&l->rules->arena, name.text).at;
    rule->column = rule_column_of(l, name.at);
    return 0;
}

bool rule_range_follows(struct rule_line *l)
{
    return rule_more(l) && (text_starts(l->rest, "<=") || text_starts(l->rest, ">=") ||
                            text_starts(l->rest, "==") || rule_number_length(l->rest));
}
