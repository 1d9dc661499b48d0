/* baseline.c - which sessions may be compared; see baseline.h. */
#include "bench/baseline.h"

static const struct {
    const char *key, *what;
} must_agree[] = {
    {META_HOST, "the host differs"},
    {META_GOVERNOR, "the frequency governor differs"},
    {META_METHOD, "the measuring options differ"},
};

/* Where the first word that differs begins, if much is alike before it: flags are long. */
static size_t skip_alike(const char *a, const char *b)
{
    size_t n = 0;
    while (a[n] && a[n] == b[n])
        n++;
    while (n > 0 && a[n - 1] != ' ')
        n--;
    return n > 20 ? n : 0;
}

/* Append WHAT and both values of KEY, if both are known and differ. */
static void add_difference(struct buf *b, const struct meta *before, const struct meta *now,
                           const char *key, const char *what)
{
    const char *a = meta_find(before, key), *c = meta_find(now, key);
    if (!a || !c || strcmp(a, c) == 0)
        return;
    size_t skip = skip_alike(a, c);
    const char *dots = skip ? "..." : "";
    buf_printf(b, "%s%s ('%s%.60s', now '%s%.60s')", b->n ? ", " : "", what, dots, a + skip, dots,
               c + skip);
}

char *baseline_differences(const struct meta *before, const struct meta *now)
{
    autobuf struct buf b = {0};
    for (size_t i = 0; i < sizeof must_agree / sizeof *must_agree; i++)
        add_difference(&b, before, now, must_agree[i].key, must_agree[i].what);
    return b.n ? mem_strdup(buf_cstr(&b)) : NULL;
}

char *baseline_rebuilt(const struct meta *before, const struct meta *now)
{
    autobuf struct buf b = {0};
    add_difference(&b, before, now, META_BUILD, "the build differs");
    return b.n ? mem_strdup(buf_cstr(&b)) : NULL;
}

int baseline_rename(struct series_set *set, const char *spec, struct err *err)
{
    const char *equals = strrchr(spec, '=');
    autofree char *old_name = equals ? mem_strndup(spec, (size_t)(equals - spec)) : NULL;
    struct series *s = old_name ? series_find(set, old_name) : NULL;
    if (!s || !equals[1])
        return 0;
    if (series_find(set, equals + 1))
        return err_set(err, EXIT_ERROR, "the baseline has a '%s' already", equals + 1);
    free(s->name);
    s->name = mem_strdup(equals + 1);
    return 0;
}

enum gate baseline_gate(const struct comparisons *c)
{
    return c->n ? verdict_worst(c->at, c->n) : GATE_UNDECIDED;
}
