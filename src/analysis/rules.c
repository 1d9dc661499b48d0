/* rules.c - reading rules; see rules.h. */
#include "analysis/rules.h"

#include "base/buf.h"
#include "base/utf8.h"

#include <math.h>
#include <stdarg.h>

/* A line that is being read. */
struct line {
    struct rules *rules;
    const char *start;
    struct text rest; /* what has not been read yet */
    uint32_t number;
    const char *noun; /* what names are of: "function" */
};

/* A piece of a line, and where it stands. */
struct token {
    struct text text;
    const char *at;
    bool quoted;
};

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

static uint32_t column_of(const struct line *l, const char *at)
{
    return (uint32_t)utf8_count((struct text){l->start, (size_t)(at - l->start)}) + 1;
}

__attribute__((format(printf, 3, 4))) static int fail(struct line *l, const char *at,
                                                      const char *fmt, ...)
{
    char text[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return rules_fail(l->rules, l->number, column_of(l, at), text);
}

/* What stands at a place, for a message: short, and nothing a terminal would act on. */
struct shown {
    char text[48];
};

static struct shown rules_show(struct text t)
{
    struct shown s;
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

static void rules_skip(struct line *l, size_t n)
{
    l->rest.at += n;
    l->rest.n -= n;
}

/* Step over blanks; a comment ends the line. Whether there is more. */
static bool more(struct line *l)
{
    while (l->rest.n && rules_is_blank(*l->rest.at))
        rules_skip(l, 1);
    if (l->rest.n && *l->rest.at == '#')
        l->rest.n = 0;
    return l->rest.n > 0;
}

/* Up to a blank, or one of ENDS. */
static struct token take_until(struct line *l, const char *ends)
{
    struct token t = {.at = l->rest.at};
    size_t n = 0;
    while (n < l->rest.n && !rules_is_blank(l->rest.at[n]) && !strchr(ends, l->rest.at[n]))
        n++;
    t.text = (struct text){l->rest.at, n};
    rules_skip(l, n);
    return t;
}

/* The next word of the language, or an empty one at the end: "samples" of "samples>=200". */
static struct token take_word(struct line *l)
{
    more(l);
    return take_until(l, "<>");
}

/* "..." with \" and \\ for the two. */
static int take_quoted(struct line *l, struct token *ret)
{
    autobuf struct buf b = {0};
    *ret = (struct token){.at = l->rest.at, .quoted = true};
    for (size_t i = 1; i < l->rest.n; i++) {
        char c = l->rest.at[i];
        if (c == '"') {
            ret->text = arena_text(&l->rules->arena, buf_text(&b));
            rules_skip(l, i + 1);
            return 0;
        }
        if (c == '\\' && i + 1 < l->rest.n && strchr("\\\"", l->rest.at[i + 1]))
            c = l->rest.at[++i];
        buf_byte(&b, (uint8_t)c);
    }
    return fail(l, ret->at, "the quotes that start here do not end");
}

static int take_name(struct line *l, struct token *ret)
{
    if (!more(l))
        return fail(l, l->rest.at, "the name of a %s is missing", l->noun);
    if (text_starts(l->rest, "<=") || text_starts(l->rest, ">="))
        return fail(l, l->rest.at, "there is no name of a %s before the range", l->noun);
    if (*l->rest.at == '"') {
        if (take_quoted(l, ret) != 0)
            return -1;
    } else {
        *ret = take_until(l, "");
    }
    if (!ret->text.n)
        return fail(l, ret->at, "the name of a %s is empty", l->noun);
    return 0;
}

/* --- numbers and ranges --- */

/* Sign, digits, point: what strtod() takes besides (hex, nan, inf) is no number here. */
static size_t number_length(struct text t)
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

static int take_number(struct line *l, double *ret)
{
    char digits[40], *end;
    more(l);
    size_t n = number_length(l->rest);
    memcpy(digits, l->rest.at, n);
    digits[n] = '\0';
    *ret = n ? strtod(digits, &end) : 0;
    if (!n || *end)
        return fail(l, l->rest.at, l->rest.n ? "'%s' is not a number" : "a number is missing%s",
                    rules_show(l->rest).text);
    rules_skip(l, n);
    return 0;
}

static bool take_char(struct line *l, char c)
{
    if (!l->rest.n || *l->rest.at != c)
        return false;
    rules_skip(l, 1);
    return true;
}

/* What numbers of a kind may be. */
static const struct unit_limits {
    const char *what;
    double low, high, scale;
} limits[] = {
    [RULE_SHARE] = {"a share is from 0 to 100%", 0, 100, 0.01},
    [RULE_COUNT] = {"a number of samples is from 0 up", 0, 1e18, 1},
    [RULE_RELATIVE] = {"a share cannot shrink by more than 100%", -100, 1e6, 0.01},
    [RULE_POINTS] = {"a change is from -100 to +100 points", -100, 100, 0.01},
    [RULE_EXPONENT] = {"an exponent is from -10 to 10", -10, 10, 1},
    [RULE_BITS] = {"a width is from 64 to 512 bits", 64, 512, 1},
    [RULE_BYTES] = {"a size is from 0 bytes up", 0, 1e18, 1},
    [RULE_BLOCKS] = {"a number of blocks is from 0 up", 0, 1e18, 1},
    [RULE_TIME] = {"a time is from 0 up", 0, 1e18, 1},
    [RULE_SPANS] = {"a number of calls is from 0 up", 0, 1e18, 1},
    [RULE_PER_SECOND] = {"a rate is from 0 up", 0, 1e18, 1},
    [RULE_PER_OP] = {"a number of blocks is from 0 up", 0, 1e18, 1},
};

static const struct measure {
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
static double take_measure(struct line *l, enum rule_unit unit)
{
    bool bytes = unit == RULE_BYTES;
    if (!more(l) && bytes)
        return 1;
    struct token word = take_word(l);
    for (size_t i = 0; i < sizeof measures / sizeof *measures; i++)
        if (measures[i].unit == unit && text_is(word.text, measures[i].name))
            return measures[i].factor;
    if (!word.text.n)
        fail(l, word.at, "a time has a unit: write ns, us, ms or s behind the number");
    else if (bytes)
        fail(l, word.at, "'%s' is not a unit of memory: use B, KiB, MiB, GiB, kB, MB or GB",
             rules_show(word.text).text);
    else
        fail(l, word.at, "'%s' is not a unit of time: use ns, us, ms or s",
             rules_show(word.text).text);
    return 0;
}

/* The unit stands behind the last number, and is meant for both. */
static int take_scaled(struct line *l, struct rule_range *r)
{
    double factor = take_measure(l, r->unit);
    r->is.low *= factor;
    r->is.high *= factor;
    return factor > 0 ? 0 : -1;
}

/* "%" or "points" behind the last number of a range; the latter makes a change one in points. */
static int take_unit(struct line *l, struct rule_range *r, bool percent)
{
    const char *at = l->rest.at;
    if (r->unit == RULE_RELATIVE && !percent) {
        struct token word = take_word(l);
        if (!text_is(word.text, "points") && !text_is(word.text, "point"))
            return fail(l, at,
                        "a change is in %% of the share before, or in points: '+5%%' or "
                        "'+5 points'");
        r->unit = RULE_POINTS;
        return 0;
    }
    if (r->unit == RULE_SHARE && !percent)
        return fail(l, at, "a share is in %%: write a '%%' behind the number");
    if (r->unit != RULE_SHARE && r->unit != RULE_RELATIVE && percent)
        return fail(l, at - 1, "no '%%' here");
    return 0;
}

static int check_range(struct line *l, const char *at, struct rule_range *r)
{
    const struct unit_limits *u = &limits[r->unit];
    for (int i = 0; i < 2; i++) {
        double *end = i ? &r->is.high : &r->is.low;
        if (isinf(*end))
            continue;
        if (*end < u->low || *end > u->high)
            return fail(l, at, "%s", u->what);
        *end *= u->scale;
    }
    if (r->is.low > r->is.high)
        return fail(l, at, "the range is empty: the smaller number comes first");
    return 0;
}

/* Of what can be counted to the last one, and of bytes. */
static bool may_be_equal(enum rule_unit unit)
{
    return unit == RULE_BYTES || unit == RULE_BLOCKS || unit == RULE_SPANS || unit == RULE_PER_OP;
}

/* "<= 5%", ">= 5%", "5..10%"; where may_be_equal() also "== 0" */
static int take_range(struct line *l, struct rule_range *r)
{
    more(l);
    const char *at = l->rest.at;
    bool most = text_starts(l->rest, "<="), least = text_starts(l->rest, ">="), percent;
    bool equal = may_be_equal(r->unit) && text_starts(l->rest, "==");
    r->is = (struct interval){-INFINITY, INFINITY};
    if (!most && !least && !equal && !number_length(l->rest))
        return fail(l, at, "%s: write '<= N', '>= N' or 'A..B'",
                    l->rest.n ? "this is not a range" : "a range is missing");
    rules_skip(l, most || least || equal ? 2 : 0);
    if (take_number(l, most ? &r->is.high : &r->is.low) != 0)
        return -1;
    percent = take_char(l, '%');
    if (equal)
        r->is.high = r->is.low;
    if (!most && !least && !equal) {
        if (!text_starts(l->rest, ".."))
            return fail(l, l->rest.at, "a range has two ends: 'A..B', or write '<= N' or '>= N'");
        rules_skip(l, 2);
        if (take_number(l, &r->is.high) != 0)
            return -1;
        percent = take_char(l, '%');
    }
    if ((r->unit == RULE_BYTES || r->unit == RULE_TIME) && !percent && take_scaled(l, r) != 0)
        return -1;
    bool multiple = r->unit == RULE_SPANS && text_starts(l->rest, "*");
    if (l->rest.n && !rules_is_blank(*l->rest.at) && *l->rest.at != '#' && !multiple)
        return fail(l, l->rest.at, "unexpected '%s' here", rules_show(l->rest).text);
    return take_unit(l, r, percent) != 0 ? -1 : check_range(l, at, r);
}

/* --- rules --- */

static int take_tolerance(struct line *l, struct rule *rule)
{
    if (!more(l) || !text_starts(l->rest, "tolerance"))
        return 0;
    struct token word = take_word(l);
    if (!text_is(word.text, "tolerance"))
        return fail(l, word.at, "'%s' is not known here; did you mean 'tolerance'?",
                    rules_show(word.text).text);
    more(l);
    const char *at = l->rest.at;
    if (take_number(l, &rule->tolerance) != 0)
        return -1;
    if (take_char(l, '%'))
        return fail(l, at, "a tolerance is in points, without '%%'");
    if (rule->tolerance < 0 || rule->tolerance > 100)
        return fail(l, at, "a tolerance is from 0 to 100 points");
    rule->tolerance *= 0.01;
    return 0;
}

static int take_function(struct line *l, struct rule *rule)
{
    struct token name = {0};
    if (take_name(l, &name) != 0)
        return -1;
    rule->function = arena_text(&l->rules->arena, name.text).at;
    rule->column = column_of(l, name.at);
    return 0;
}

static int parse_share(struct line *l, struct rule *rule)
{
    rule->range.unit = RULE_SHARE;
    if (take_function(l, rule) != 0 || take_range(l, &rule->range) != 0)
        return -1;
    return take_tolerance(l, rule);
}

static int parse_quality(struct line *l, struct rule *rule)
{
    rule->range.unit = rule->kind == RULE_SAMPLES ? RULE_COUNT : RULE_SHARE;
    return take_range(l, &rule->range);
}

static int parse_simd(struct line *l, struct rule *rule)
{
    if (take_function(l, rule) != 0)
        return -1;
    while (more(l)) {
        struct token word = take_word(l);
        bool packed = text_is(word.text, "packed");
        struct rule_range *r = packed ? &rule->range : &rule->width;
        if (!packed && !text_is(word.text, "width"))
            return fail(l, word.at, "'%s' is not known here: write 'packed' or 'width'",
                        rules_show(word.text).text);
        if (r->unit != RULE_NONE)
            return fail(l, word.at, "'%s' is there twice", packed ? "packed" : "width");
        r->unit = packed ? RULE_SHARE : RULE_BITS;
        if (take_range(l, r) != 0)
            return -1;
    }
    if (rule->range.unit == RULE_NONE && rule->width.unit == RULE_NONE)
        return fail(l, l->rest.at, "what of its code? write 'packed >= 80%%', 'width >= 256'");
    return 0;
}

static bool range_follows(struct line *l)
{
    return more(l) && (text_starts(l->rest, "<=") || text_starts(l->rest, ">=") ||
                       text_starts(l->rest, "==") || number_length(l->rest));
}

/* "growth total <= 1" is about all of it; "growth total f", "growth f" about f and its callees. */
static int parse_growth(struct line *l, struct rule *rule)
{
    struct line start = *l;
    struct token what = take_word(l);
    bool total = text_is(what.text, "total"), self = text_is(what.text, "self");
    rule->kind = self ? RULE_GROWTH_SELF : RULE_GROWTH_TOTAL;
    rule->range.unit = RULE_EXPONENT;
    if (!total && !self)
        *l = start;
    if ((!total || !range_follows(l)) && take_function(l, rule) != 0)
        return -1;
    return take_range(l, &rule->range);
}

/* "peak <= 200 MiB", "allocations render_frame == 0" */
static int parse_heap(struct line *l, struct rule *rule)
{
    bool per_op = rule->kind == RULE_ALLOCS_PER_OP || rule->kind == RULE_BYTES_PER_OP;
    rule->range.unit = rule->kind == RULE_ALLOCATIONS || rule->kind == RULE_TEMPORARY ? RULE_BLOCKS
                       : rule->kind == RULE_ALLOCS_PER_OP                             ? RULE_PER_OP
                                                                                      : RULE_BYTES;
    if (per_op && !rule->function && range_follows(l))
        return fail(l, l->rest.at, "of which benchmark? write 'allocs_per_op parse/n=64 == 0'");
    if (per_op)
        l->noun = "benchmark";
    if (!rule->function && !range_follows(l) && take_function(l, rule) != 0)
        return -1;
    return take_range(l, &rule->range);
}

/* "p99", "p99.9": the share of spans; 0 when the word is not of that kind. */
static double quantile_of(struct text word)
{
    char digits[16], *end;
    struct text number = {word.at + 1, word.n ? word.n - 1 : 0};
    if (number.n < 1 || number.n >= sizeof digits || *word.at != 'p' ||
        number_length(number) != number.n)
        return 0;
    memcpy(digits, number.at, number.n);
    digits[number.n] = '\0';
    double percent = strtod(digits, &end);
    return !*end && percent > 0 && percent < 100 ? percent / 100 : 0;
}

/* "* tokens": the range is so many times a counter. */
static int take_multiple(struct line *l, struct rule *rule)
{
    struct token name;
    if (rule->kind != RULE_CALLS || !more(l) || !take_char(l, '*'))
        return 0;
    l->noun = "counter";
    if (take_name(l, &name) != 0)
        return -1;
    rule->times = arena_text(&l->rules->arena, name.text).at;
    return 0;
}

/* "p99 decode <= 5 ms", "calls layer == 24", "rate tokens >= 40" */
static int parse_scope(struct line *l, struct rule *rule)
{
    rule->range.unit = rule->kind == RULE_CALLS  ? RULE_SPANS
                       : rule->kind == RULE_RATE ? RULE_PER_SECOND
                                                 : RULE_TIME;
    l->noun = rule->kind == RULE_RATE ? "counter" : "scope";
    if (take_function(l, rule) != 0 || take_range(l, &rule->range) != 0)
        return -1;
    return take_multiple(l, rule);
}

static int parse_diff(struct line *l, struct rule *rule);

static const struct form {
    const char *word;
    enum rule_kind kind;
    int (*parse)(struct line *l, struct rule *rule);
} forms[] = {
    {"total", RULE_TOTAL, parse_share},
    {"self", RULE_SELF, parse_share},
    {"samples", RULE_SAMPLES, parse_quality},
    {"lost", RULE_LOST, parse_quality},
    {"unfinished", RULE_UNFINISHED, parse_quality},
    {"unnamed", RULE_UNNAMED, parse_quality},
    {"present", RULE_PRESENT, take_function},
    {"absent", RULE_ABSENT, take_function},
    {"diff", RULE_DIFF_TOTAL, parse_diff},
    {"simd", RULE_SIMD, parse_simd},
    {"growth", RULE_GROWTH_TOTAL, parse_growth},
    {"peak", RULE_PEAK, parse_heap},
    {"leaked", RULE_LEAKED, parse_heap},
    {"allocated", RULE_ALLOCATED, parse_heap},
    {"allocations", RULE_ALLOCATIONS, parse_heap},
    {"allocs", RULE_ALLOCATIONS, parse_heap},
    {"temporary", RULE_TEMPORARY, parse_heap},
    {"allocs_per_op", RULE_ALLOCS_PER_OP, parse_heap},
    {"bytes_per_op", RULE_BYTES_PER_OP, parse_heap},
    {"mean", RULE_MEAN, parse_scope},
    {"max", RULE_MAX, parse_scope},
    {"calls", RULE_CALLS, parse_scope},
    {"rate", RULE_RATE, parse_scope},
};

/* "allocs(f)" is "allocs f". */
static void take_argument(struct line *l, struct token *word, struct rule *rule)
{
    const char *open = memchr(word->text.at, '(', word->text.n);
    if (!open || open == word->text.at || word->text.at[word->text.n - 1] != ')')
        return;
    size_t before = (size_t)(open - word->text.at);
    struct text name = {open + 1, word->text.n - before - 2};
    rule->function = arena_text(&l->rules->arena, name).at;
    rule->column = column_of(l, open + 1);
    word->text.n = before;
}

/* The form that a rule has by its first word; NULL = none. */
static const struct form *form_of(const struct token *word, struct rule *rule)
{
    static const struct form quantile = {"", RULE_QUANTILE, parse_scope};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (text_is(word->text, forms[i].word) && (!rule->function || forms[i].parse == parse_heap))
            return &forms[i];
    rule->quantile = rule->function ? 0 : quantile_of(word->text);
    return rule->quantile > 0 ? &quantile : NULL;
}

/* "diff peak <= +5%", "diff allocs(f) <= 0%" */
static int parse_heap_change(struct line *l, struct rule *rule)
{
    rule->change = true;
    rule->range.unit = RULE_RELATIVE;
    if (!rule->function && !range_follows(l) && take_function(l, rule) != 0)
        return -1;
    const char *range = l->rest.at;
    if (take_range(l, &rule->range) != 0)
        return -1;
    return rule->range.unit == RULE_RELATIVE
               ? 0
               : fail(l, range, "the heap changes by a part of it: write '<= +5%%'");
}

static int parse_diff(struct line *l, struct rule *rule)
{
    struct token what = take_word(l);
    take_argument(l, &what, rule);
    const struct form *form = form_of(&what, rule);
    rule->quantile = 0;
    if (form && form->parse == parse_heap) {
        rule->kind = form->kind;
        return parse_heap_change(l, rule);
    }
    if (!form || (form->kind != RULE_SELF && form->kind != RULE_TOTAL))
        return fail(l, what.at,
                    "'diff' goes on with 'total' or 'self' and the function's name, or with "
                    "'peak' or another word of the heap");
    rule->kind = form->kind == RULE_SELF ? RULE_DIFF_SELF : RULE_DIFF_TOTAL;
    rule->range.unit = RULE_RELATIVE;
    if (take_function(l, rule) != 0 || take_range(l, &rule->range) != 0)
        return -1;
    return take_tolerance(l, rule);
}

static int parse_rule(struct line *l, struct rule *rule)
{
    struct token word = take_word(l);
    take_argument(l, &word, rule);
    const struct form *form = form_of(&word, rule);
    if (!form)
        return fail(l, word.at,
                    "no rule starts with '%s': there are total, self, samples, lost, unfinished, "
                    "unnamed, present, absent, diff, simd, growth; of the heap peak, leaked, "
                    "allocated, allocations and temporary; of scopes p50, p99 and the like, mean, "
                    "max, calls and rate",
                    rules_show(word.text).text);
    rule->kind = form->kind;
    if (form->parse(l, rule) != 0)
        return -1;
    return more(l) ? fail(l, l->rest.at, "unexpected '%s' here", rules_show(l->rest).text) : 0;
}

static void parse_line(struct rules *r, struct text source, uint32_t number)
{
    struct line l = {
        .rules = r, .start = source.at, .rest = source, .number = number, .noun = "function"};
    if (!more(&l))
        return;
    const char *start = l.rest.at;
    struct rule rule = {.line = number, .column = column_of(&l, start)};
    if (parse_rule(&l, &rule) != 0)
        return;
    /* Where the line ends or a comment starts is where reading stopped. */
    struct text text = text_trim((struct text){start, (size_t)(l.rest.at - start)});
    rule.text = arena_text(&r->arena, text).at;
    *vec_push(&r->at) = rule;
}

int rules_parse(struct rules *r, struct text source)
{
    *r = (struct rules){0};
    if (source.n && memchr(source.at, 0, source.n))
        return rules_fail(r, 1, 1, "this is not text: rules are lines such as 'samples >= 200'");
    if (source.n > RULES_MAX_BYTES)
        return rules_fail(r, 1, 1, "too large for a file of rules, which may have 1 MB");
    uint32_t number = 0;
    while (source.n && r->at.n < RULES_MAX && r->errors.n < RULES_MAX)
        parse_line(r, text_cut(&source, '\n'), ++number);
    if (source.n)
        rules_fail(r, number + 1, 1, "more than 10,000 rules, or errors");
    if (!r->at.n && !r->errors.n)
        rules_fail(r, 1, 1, "there are no rules in it; an example: samples >= 200");
    return r->errors.n ? -1 : 0;
}

void rules_done(struct rules *r)
{
    vec_done(&r->at);
    vec_done(&r->errors);
    arena_done(&r->arena);
}

/* --- asking --- */

bool rules_need_code(const struct rules *r)
{
    for (size_t i = 0; i < r->at.n; i++)
        if (r->at.at[i].kind == RULE_SIMD)
            return true;
    return false;
}

bool rule_is_of_scopes(const struct rule *rule)
{
    return rule->kind >= RULE_QUANTILE && rule->kind <= RULE_RATE;
}

bool rules_need_scopes(const struct rules *r)
{
    for (size_t i = 0; i < r->at.n; i++)
        if (rule_is_of_scopes(&r->at.at[i]))
            return true;
    return false;
}

static bool compares(const struct rule *rule)
{
    return rule->kind == RULE_DIFF_TOTAL || rule->kind == RULE_DIFF_SELF || rule->change;
}

static bool is_growth(const struct rule *rule)
{
    return rule->kind == RULE_GROWTH_TOTAL || rule->kind == RULE_GROWTH_SELF;
}

int rules_require(struct rules *r, bool has_before, bool has_sizes)
{
    for (size_t i = 0; i < r->at.n; i++) {
        const struct rule *rule = &r->at.at[i];
        r->lacks_before |= compares(rule) && !has_before;
        r->lacks_sizes |= is_growth(rule) && !has_sizes;
        if (compares(rule) && !has_before)
            rules_fail(r, rule->line, 1,
                       "a diff rule compares with another profile, and there is none");
        if (is_growth(rule) && !has_sizes)
            rules_fail(r, rule->line, 1,
                       "a growth rule needs profiles of several sizes, and there are none");
    }
    return r->errors.n ? -1 : 0;
}

struct interval rule_bounds(const struct rule *rule)
{
    struct interval i = rule->range.is;
    return (struct interval){i.low - rule->tolerance, i.high + rule->tolerance};
}
