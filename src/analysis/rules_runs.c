/* rules_runs.c - forms of rules about measured runs, counters and expected hotspots. */
#include "analysis/rules_inner.h"

#include <math.h>

const char *const rule_tier_names[TIERS] = {"none", "primary", "secondary", "tertiary"};

/* A function that takes a fifth is worth a week, one that takes a twentieth an afternoon. */
struct interval rule_tier_range(enum rule_tier tier)
{
    static const double begins[TIERS + 1] = {0, 0.20, 0.05, 0.01, 0};
    return (struct interval){begins[tier], tier <= TIER_PRIMARY ? 1 : begins[tier - 1]};
}

static enum rule_unit unit_of_runs(enum rule_kind kind)
{
    switch (kind) {
    case RULE_SCATTER:
        return RULE_SCATTERED;
    case RULE_R2:
        return RULE_FIT;
    case RULE_FLOPS:
        return RULE_GFLOPS;
    case RULE_MEMORY:
        return RULE_BYTES;
    case RULE_METRIC:
        return RULE_NUMBER;
    default:
        return RULE_TIME;
    }
}

/* "over 10 runs": a claim about scatter needs that many. */
static int rule_take_over(struct rule_line *l, struct rule *rule)
{
    double n;
    if (rule->kind != RULE_SCATTER || !rule_more(l) || !text_starts(l->rest, "over"))
        return 0;
    struct rule_token word = rule_take_word(l);
    if (!text_is(word.text, "over"))
        return rule_fail(l, word.at, "'%s' is not known here; did you mean 'over'?",
                         rule_show(word.text).text);
    rule_more(l);
    const char *at = l->rest.at;
    if (rule_take_number(l, &n) != 0)
        return -1;
    if (!(n >= 2 && n <= 1e6 && n == floor(n)))
        return rule_fail(l, at, "scatter is over 2 to 1000000 runs");
    word = rule_take_word(l);
    if (!text_is(word.text, "runs"))
        return rule_fail(l, word.at, "write 'over %.0f runs'", n);
    rule->least_runs = (uint32_t)n;
    return 0;
}

/* Of these a name must be there, as the rule could be about many. */
static bool needs_name(enum rule_kind kind)
{
    return kind == RULE_FLOPS || kind == RULE_METRIC;
}

/* "time dot/n=64 10..50 ns", "scatter <= 5% over 10 runs", "metric tps >= 40" */
int rule_parse_runs(struct rule_line *l, struct rule *rule)
{
    rule->range.unit = unit_of_runs(rule->kind);
    l->noun = rule->kind == RULE_METRIC ? "metric" : "benchmark";
    bool named = needs_name(rule->kind) || (rule->kind != RULE_MEMORY && !rule_range_follows(l));
    if (named && rule_take_function(l, rule) != 0)
        return -1;
    if (rule_take_range(l, &rule->range) != 0)
        return -1;
    return rule_take_over(l, rule);
}

/* "per 1000" and, for those who like it whole, "instructions" */
static int rule_take_per(struct rule_line *l, struct rule *rule)
{
    double n;
    if (!rule_more(l) || !text_starts(l->rest, "per"))
        return 0;
    struct rule_token word = rule_take_word(l);
    rule_more(l);
    const char *at = l->rest.at;
    if (!text_is(word.text, "per") || !rule_number_length(l->rest))
        return rule_fail(l, word.at, "write 'per 1000'");
    if (rule_take_number(l, &n) != 0)
        return -1;
    if (n != 1000)
        return rule_fail(l, at, "rates are per 1000 instructions: write 'per 1000'");
    rule->range.unit = RULE_PER_1000;
    if (rule_more(l) && text_starts(l->rest, "instructions"))
        rule_take_word(l);
    return 0;
}

/* "cache-misses <= 1000000", "branch-misses parse <= 2 per 1000" */
int rule_parse_events(struct rule_line *l, struct rule *rule)
{
    rule->range.unit = RULE_EVENTS;
    if (!rule_range_follows(l) && rule_take_function(l, rule) != 0)
        return -1;
    if (rule_take_range(l, &rule->range) != 0)
        return -1;
    return rule_take_per(l, rule);
}

/* "hotspot matmul primary" */
int rule_parse_hotspot(struct rule_line *l, struct rule *rule)
{
    if (rule_take_function(l, rule) != 0)
        return -1;
    struct rule_token word = rule_take_word(l);
    for (int i = TIER_PRIMARY; i < TIERS; i++)
        if (text_is(word.text, rule_tier_names[i]))
            rule->tier = (enum rule_tier)i;
    if (rule->tier == TIER_NONE)
        return rule_fail(l, word.at,
                         word.text.n ? "'%s' is not a tier: use primary, secondary or tertiary"
                                     : "a tier is missing%s: primary, secondary or tertiary",
                         rule_show(word.text).text);
    rule->range = (struct rule_range){rule_tier_range(rule->tier), RULE_SHARE};
    return 0;
}
