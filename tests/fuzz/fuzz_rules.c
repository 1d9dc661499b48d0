/*
 * fuzz_rules.c - any bytes as a file of rules, held against a small profile.
 */
#include "analysis/check.h"

#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static struct profile *small_profile(void)
{
    static const char *const names[] = {"main", "f", "g"};
    struct profile *p = profile_new();
    struct frame_id frames[3];
    struct err err;
    int64_t one = 1;
    profile_add_stream(p, "cpu-clock", BY_SOFTWARE_CLOCK);
    profile_add_value(p, 0, VALUE_SAMPLES, UNIT_COUNT);
    for (int i = 0; i < 3; i++) {
        frames[i] = profile_add_named_frame(p, text_of(names[i]), FRAME_USER);
        struct row r = {.stack = stacks_intern(&p->stacks, frames, (size_t)i + 1), .values = &one};
        if (profile_add_row(p, 0, &r, &err) != 0)
            abort();
    }
    return p;
}

/* What everybody counts on. */
static void check_rules(const struct rules *r)
{
    for (size_t i = 0; i < r->errors.n; i++)
        if (!r->errors.at[i].line || !r->errors.at[i].column || !r->errors.at[i].text)
            abort();
    for (size_t i = 0; i < r->at.n; i++) {
        struct interval b = rule_bounds(&r->at.at[i]);
        if (isnan(b.low) || isnan(b.high) || b.low > b.high || !r->at.at[i].text)
            abort();
    }
}

static void check_results(const struct check *c, const struct rules *r)
{
    if (c->results.n != r->at.n)
        abort();
    for (size_t i = 0; i < c->results.n; i++)
        if (!c->results.at[i].why || !c->results.at[i].observed || !c->results.at[i].expected)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct rules rules;
    int rc = rules_parse(&rules, (struct text){(const char *)bytes, n});
    check_rules(&rules);
    if ((rc == 0) != (rules.errors.n == 0))
        abort();
    if (rc == 0) {
        struct profile *p = small_profile();
        struct check c;
        struct selection all = selection_all(p, (struct value_ref){0, 0});
        struct check_input in = {.selection = &all, .before = &all, .no_code = "none here"};
        if (check_build(&c, &rules, &in) == 0)
            check_results(&c, &rules);
        check_done(&c);
        profile_free(p);
    }
    rules_done(&rules);
    return 0;
}
