/* rules.c - reading rules; see rules.h. */
#include "analysis/rules_inner.h"

#include <math.h>

/* --- rules --- */

static int take_tolerance(struct rule_line *l, struct rule *rule)
{
    if (!rule_more(l) || !text_starts(l->rest, "tolerance"))
        return 0;
    struct rule_token word = rule_take_word(l);
    if (!text_is(word.text, "tolerance"))
        return rule_fail(l, word.at, "'%s' is not known here; did you mean 'tolerance'?",
                         rule_show(word.text).text);
    rule_more(l);
    const char *at = l->rest.at;
    if (rule_take_number(l, &rule->tolerance) != 0)
        return -1;
    if (rule_take_char(l, '%'))
        return rule_fail(l, at, "a tolerance is in points, without '%%'");
    if (rule->tolerance < 0 || rule->tolerance > 100)
        return rule_fail(l, at, "a tolerance is from 0 to 100 points");
    rule->tolerance *= 0.01;
    return 0;
}

static int parse_share(struct rule_line *l, struct rule *rule)
{
    rule->range.unit = RULE_SHARE;
    if (rule_take_function(l, rule) != 0 || rule_take_range(l, &rule->range) != 0)
        return -1;
    return take_tolerance(l, rule);
}

static int parse_quality(struct rule_line *l, struct rule *rule)
{
    rule->range.unit = rule->kind == RULE_SAMPLES ? RULE_COUNT : RULE_SHARE;
    return rule_take_range(l, &rule->range);
}

static int parse_simd(struct rule_line *l, struct rule *rule)
{
    if (rule_take_function(l, rule) != 0)
        return -1;
    while (rule_more(l)) {
        struct rule_token word = rule_take_word(l);
        bool packed = text_is(word.text, "packed");
        struct rule_range *r = packed ? &rule->range : &rule->width;
        if (!packed && !text_is(word.text, "width"))
            return rule_fail(l, word.at, "'%s' is not known here: write 'packed' or 'width'",
                             rule_show(word.text).text);
        if (r->unit != RULE_NONE)
            return rule_fail(l, word.at, "'%s' is there twice", packed ? "packed" : "width");
        r->unit = packed ? RULE_SHARE : RULE_BITS;
        if (rule_take_range(l, r) != 0)
            return -1;
    }
    if (rule->range.unit == RULE_NONE && rule->width.unit == RULE_NONE)
        return rule_fail(
            l, l->rest.at,
            "a simd rule needs a property of the code: write 'packed >= 80%%' or 'width >= 256'");
    return 0;
}

/* "growth total <= 1" is about all of it; "growth total f", "growth f" about f and its callees. */
static int parse_growth(struct rule_line *l, struct rule *rule)
{
    struct rule_line start = *l;
    struct rule_token what = rule_take_word(l);
    bool total = text_is(what.text, "total"), self = text_is(what.text, "self");
    rule->kind = self ? RULE_GROWTH_SELF : RULE_GROWTH_TOTAL;
    rule->range.unit = RULE_EXPONENT;
    if (!total && !self)
        *l = start;
    if ((!total || !rule_range_follows(l)) && rule_take_function(l, rule) != 0)
        return -1;
    return rule_take_range(l, &rule->range);
}

/* "peak <= 200 MiB", "allocations render_frame == 0" */
static int parse_heap(struct rule_line *l, struct rule *rule)
{
    bool per_op = rule->kind == RULE_ALLOCS_PER_OP || rule->kind == RULE_BYTES_PER_OP;
    rule->range.unit = rule->kind == RULE_ALLOCATIONS || rule->kind == RULE_TEMPORARY ? RULE_BLOCKS
                       : rule->kind == RULE_ALLOCS_PER_OP                             ? RULE_PER_OP
                                                                                      : RULE_BYTES;
    if (per_op && !rule->function && rule_range_follows(l))
        return rule_fail(l, l->rest.at,
                         "the benchmark's name is missing: write 'allocs_per_op parse/n=64 == 0'");
    if (per_op)
        l->noun = "benchmark";
    if (!rule->function && !rule_range_follows(l) && rule_take_function(l, rule) != 0)
        return -1;
    return rule_take_range(l, &rule->range);
}

/* "p99", "p99.9": the share of spans; 0 when the word is not of that kind. */
static double quantile_of(struct text word)
{
    char digits[16], *end;
    struct text number = {word.at + 1, word.n ? word.n - 1 : 0};
    if (number.n < 1 || number.n >= sizeof digits || *word.at != 'p' ||
        rule_number_length(number) != number.n)
        return 0;
    memcpy(digits, number.at, number.n);
    digits[number.n] = '\0';
    double percent = strtod(digits, &end);
    return !*end && percent > 0 && percent < 100 ? percent / 100 : 0;
}

/* "* tokens": the range is so many times a counter. */
static int take_multiple(struct rule_line *l, struct rule *rule)
{
    struct rule_token name;
    if (rule->kind != RULE_CALLS || !rule_more(l) || !rule_take_char(l, '*'))
        return 0;
    l->noun = "counter";
    if (rule_take_name(l, &name) != 0)
        return -1;
    rule->times = arena_text(&l->rules->arena, name.text).at;
    return 0;
}

/* "p99 decode <= 5 ms", "calls layer == 24", "rate tokens >= 40" */
static int parse_scope(struct rule_line *l, struct rule *rule)
{
    rule->range.unit = rule->kind == RULE_CALLS  ? RULE_SPANS
                       : rule->kind == RULE_RATE ? RULE_PER_SECOND
                                                 : RULE_TIME;
    l->noun = rule->kind == RULE_RATE ? "counter" : "scope";
    if (rule_take_function(l, rule) != 0 || rule_take_range(l, &rule->range) != 0)
        return -1;
    return take_multiple(l, rule);
}

static int parse_diff(struct rule_line *l, struct rule *rule);

static const struct form {
    const char *word;
    enum rule_kind kind;
    int (*parse)(struct rule_line *l, struct rule *rule);
} forms[] = {
    {"total", RULE_TOTAL, parse_share},
    {"self", RULE_SELF, parse_share},
    {"samples", RULE_SAMPLES, parse_quality},
    {"lost", RULE_LOST, parse_quality},
    {"unfinished", RULE_UNFINISHED, parse_quality},
    {"unnamed", RULE_UNNAMED, parse_quality},
    {"present", RULE_PRESENT, rule_take_function},
    {"absent", RULE_ABSENT, rule_take_function},
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
    {"time", RULE_RUN_TIME, rule_parse_runs},
    {"cpu", RULE_RUN_CPU, rule_parse_runs},
    {"scatter", RULE_SCATTER, rule_parse_runs},
    {"r2", RULE_R2, rule_parse_runs},
    {"gflops", RULE_FLOPS, rule_parse_runs},
    {"memory", RULE_MEMORY, rule_parse_runs},
    {"metric", RULE_METRIC, rule_parse_runs},
    {"cache-misses", RULE_CACHE_MISSES, rule_parse_events},
    {"l1-misses", RULE_L1_MISSES, rule_parse_events},
    {"branch-misses", RULE_BRANCH_MISSES, rule_parse_events},
    {"hotspot", RULE_HOTSPOT, rule_parse_hotspot},
};

/* "allocs(f)" is "allocs f". */
static void take_argument(struct rule_line *l, struct rule_token *word, struct rule *rule)
{
    const char *open = memchr(word->text.at, '(', word->text.n);
    if (!open || open == word->text.at || word->text.at[word->text.n - 1] != ')')
        return;
    size_t before = (size_t)(open - word->text.at);
    struct text name = {open + 1, word->text.n - before - 2};
    rule->function = arena_text(&l->rules->arena, name).at;
    rule->column = rule_column_of(l, open + 1);
    word->text.n = before;
}

/* The form that a rule has by its first word; NULL = none. */
static const struct form *form_of(const struct rule_token *word, struct rule *rule)
{
    static const struct form quantile = {"", RULE_QUANTILE, parse_scope};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (text_is(word->text, forms[i].word) && (!rule->function || forms[i].parse == parse_heap))
            return &forms[i];
    rule->quantile = rule->function ? 0 : quantile_of(word->text);
    return rule->quantile > 0 ? &quantile : NULL;
}

/* "diff peak <= +5%", "diff allocs(f) <= 0%", "diff cache-misses <= +2%", "diff memory <= +5%" */
static int parse_part_change(struct rule_line *l, struct rule *rule)
{
    rule->change = true;
    rule->range.unit = RULE_RELATIVE;
    bool whole = rule->kind == RULE_MEMORY; /* of the command, whatever it calls */
    if (!whole && !rule->function && !rule_range_follows(l) && rule_take_function(l, rule) != 0)
        return -1;
    l->no_points = true;
    return rule_take_range(l, &rule->range);
}

static int parse_diff(struct rule_line *l, struct rule *rule)
{
    struct rule_token what = rule_take_word(l);
    take_argument(l, &what, rule);
    const struct form *form = form_of(&what, rule);
    rule->quantile = 0;
    if (form && (form->parse == parse_heap || form->parse == rule_parse_events ||
                 form->kind == RULE_MEMORY)) {
        rule->kind = form->kind;
        return parse_part_change(l, rule);
    }
    if (!form || (form->kind != RULE_SELF && form->kind != RULE_TOTAL))
        return rule_fail(l, what.at,
                         "'diff' is followed by 'total' or 'self' and the function's name, or with "
                         "'peak' or another word of the heap, or with memory, cache-misses, "
                         "l1-misses or branch-misses");
    rule->kind = form->kind == RULE_SELF ? RULE_DIFF_SELF : RULE_DIFF_TOTAL;
    rule->range.unit = RULE_RELATIVE;
    if (rule_take_function(l, rule) != 0 || rule_take_range(l, &rule->range) != 0)
        return -1;
    return take_tolerance(l, rule);
}

static int parse_rule(struct rule_line *l, struct rule *rule)
{
    struct rule_token word = rule_take_word(l);
    take_argument(l, &word, rule);
    const struct form *form = form_of(&word, rule);
    if (!form)
        return rule_fail(l, word.at, "no rule starts with '%s': see 'kelvin help check'",
                         rule_show(word.text).text);
    rule->kind = form->kind;
    if (form->parse(l, rule) != 0)
        return -1;
    return rule_more(l) ? rule_fail(l, l->rest.at, "unexpected '%s' here", rule_show(l->rest).text)
                        : 0;
}

static void parse_line(struct rules *r, struct text source, uint32_t number)
{
    struct rule_line l = {
        .rules = r, .start = source.at, .rest = source, .number = number, .noun = "function"};
    if (!rule_more(&l))
        return;
    const char *start = l.rest.at;
    struct rule rule = {.line = number, .column = rule_column_of(&l, start)};
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

bool rule_is_of_runs(const struct rule *rule)
{
    return rule->kind >= RULE_RUN_TIME && rule->kind <= RULE_METRIC;
}

bool rule_is_of_events(const struct rule *rule)
{
    return rule->kind >= RULE_CACHE_MISSES && rule->kind <= RULE_BRANCH_MISSES;
}

bool rules_need_scopes(const struct rules *r)
{
    for (size_t i = 0; i < r->at.n; i++)
        if (rule_is_of_scopes(&r->at.at[i]))
            return true;
    return false;
}

bool rule_compares(const struct rule *rule)
{
    return rule->kind == RULE_DIFF_TOTAL || rule->kind == RULE_DIFF_SELF || rule->change;
}

static bool is_growth(const struct rule *rule)
{
    return rule->kind == RULE_GROWTH_TOTAL || rule->kind == RULE_GROWTH_SELF;
}

int rules_require(struct rules *r, const struct rules_have *have)
{
    for (size_t i = 0; i < r->at.n; i++) {
        const struct rule *rule = &r->at.at[i];
        bool has_before = have->before || (rule_is_of_events(rule) && have->counts_before) ||
                          have->may_lack_before;
        r->lacks_before |= rule_compares(rule) && !has_before;
        r->lacks_sizes |= is_growth(rule) && !have->sizes;
        if (rule_compares(rule) && !has_before)
            rules_fail(r, rule->line, 1,
                       "a diff rule compares with another profile, and there is none");
        if (is_growth(rule) && !have->sizes)
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
