#include "record/scopelive.h"

#include "wire/scopes.h"

#define DECADE(x) 1 * (x), 2 * (x), 5 * (x)

const uint64_t scopelive_bounds_ns[SCOPELIVE_BOUNDS] = {
    DECADE(UINT64_C(100)),       DECADE(UINT64_C(1000)),       DECADE(UINT64_C(10000)),
    DECADE(UINT64_C(100000)),    DECADE(UINT64_C(1000000)),    DECADE(UINT64_C(10000000)),
    DECADE(UINT64_C(100000000)), DECADE(UINT64_C(1000000000)), DECADE(UINT64_C(10000000000)),
    UINT64_C(100000000000),
};

static struct scopelive_sum *live_get(struct scopelive *l, struct profile *p, struct str_id name)
{
    if (l->sums.n >= SCOPELIVE_MAX - 1 && (name.i >= l->of_name.n || !l->of_name.at[name.i]))
        name = profile_add_str(p, text_of(SCOPES_MORE));
    while (l->of_name.n <= name.i)
        *vec_push(&l->of_name) = 0;
    if (!l->of_name.at[name.i]) {
        *vec_push(&l->sums) = (struct scopelive_sum){.name = name};
        l->of_name.at[name.i] = (uint32_t)l->sums.n;
    }
    return &l->sums.at[l->of_name.at[name.i] - 1];
}

static size_t bound_of(uint64_t ns)
{
    size_t low = 0, high = SCOPELIVE_BOUNDS;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (ns <= scopelive_bounds_ns[middle])
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

void scopelive_add(struct scopelive *l, struct profile *p, struct str_id name,
                   const struct row *span)
{
    struct scopelive_sum *s = live_get(l, p, name);
    s->calls++;
    s->total_ns += span->duration_ns;
    s->self_ns += (uint64_t)span->values[1];
    s->max_ns = span->duration_ns > s->max_ns ? span->duration_ns : s->max_ns;
    size_t bound = bound_of(span->duration_ns);
    s->in_bound[bound]++;
    s->last[bound] = (struct scopelive_last){span->duration_ns, span->time_ns + span->duration_ns,
                                             span->attrs, span->thread};
    histogram_add(&s->times, span->duration_ns, 1);
}

void scopelive_done(struct scopelive *l)
{
    for (size_t i = 0; i < l->sums.n; i++)
        histogram_done(&l->sums.at[i].times);
    vec_done(&l->sums);
    vec_done(&l->of_name);
}
