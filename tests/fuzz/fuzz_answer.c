/*
 * fuzz_answer.c - any bytes as what a benchmark program answers: every result that is read has a
 * name of its own and numbers that can be worked with.
 */
#include "bench/count.h"
#include "bench/program.h"

#include <math.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void check(bool holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct text answer = {(const char *)bytes, n};
    struct program_answer a;
    program_read(&a, answer);
    check(a.greeted || (a.results.n == 0 && a.failures.n == 0));
    for (size_t i = 0; i < a.results.n; i++) {
        const struct program_result *r = &a.results.at[i];
        check(*r->name && r->parameter && isfinite(r->ns));
        check(r->items >= 0 && r->bytes >= 0 && (isnan(r->size) || r->size > 0));
    }
    program_answer_done(&a);
    double counts[MEASURES] = {0};
    count_parse(answer, ~0u, counts);
    check(!(counts[MEASURE_INSTRUCTIONS] < 0 || counts[MEASURE_BRANCH_MISSES] < 0));
    return 0;
}
