/*
 * fuzz_series.c - any bytes as an exported baseline: what is read must be whole, and must come back
 * the same when written and read again.
 */
#include "base/mem.h"
#include "store/exchange.h"

#include <math.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void check(bool holds)
{
    if (!holds)
        abort();
}

static bool same_value(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static void compare(const struct series_set *a, const struct series_set *b)
{
    check(a->series.n == b->series.n && a->meta.entries.n <= b->meta.entries.n + 1000);
    for (size_t i = 0; i < a->series.n; i++) {
        const struct series *x = &a->series.at[i], *y = &b->series.at[i];
        check(x->runs.n == y->runs.n && x->runs.n > 0);
        for (size_t r = 0; r < x->runs.n; r++)
            for (int m = 0; m < MEASURES; m++)
                check(same_value(x->runs.at[r].value[m], y->runs.at[r].value[m]) &&
                      !isinf(x->runs.at[r].value[m]));
    }
}

static char *again(const char *name, const struct series_set *set)
{
    char *text = NULL, *name_back;
    size_t n;
    struct reader in;
    struct series_set back;
    struct err err;
    FILE *f = open_memstream(&text, &n);
    exchange_write(f, name, set);
    fclose(f);
    reader_open_memory(&in, text, n);
    check(exchange_read(&in, &name_back, &back, &err) == 0);
    compare(set, &back);
    reader_close(&in);
    series_set_done(&back);
    free(name_back);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct reader in;
    struct series_set set;
    struct err err;
    char *name;
    reader_open_memory(&in, bytes, n);
    if (exchange_read(&in, &name, &set, &err) == 0) {
        free(again(name, &set));
        free(name);
        series_set_done(&set);
    }
    reader_close(&in);
    return 0;
}
