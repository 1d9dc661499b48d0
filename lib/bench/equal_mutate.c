/*
 * Would a wrong candidate be noticed? What the candidate gave is made slightly wrong and
 * compared again. An output where no such error is ever noticed proves nothing. And an input whose
 * last element no result depends on cannot tell whether a candidate looks at it.
 */
#include "equal.h"

#include <math.h>

/* --- does it vary? --- */

static void slot_observe(struct slot *s, const char *name, uint64_t bits)
{
    s->name = name;
    if (!s->seen)
        s->first = bits;
    s->seen = true;
    s->varies |= bits != s->first;
}

static void slot_loosen(struct slot *s, const struct tolerance *t)
{
    if (t->how != KELVIN_EXACT && t->limit > s->tolerance.limit)
        s->tolerance = *t;
}

static void observe_array(struct slot *s, const struct draw *d, const char *at)
{
    s->name = d->name;
    slot_loosen(s, &d->tolerance);
    for (size_t i = 0; i < d->n && !s->varies; i++)
        slot_observe(s, d->name, element_bits(d->type, at, i));
}

void case_observe(struct kelvin_case *c)
{
    const struct outcome *o = &c->outcome[SIDE_REFERENCE];
    size_t at = 0;
    for (size_t i = 0; i < o->n_results; i++) {
        slot_observe(&c->slots[i], o->results[i].name, o->results[i].bits);
        slot_loosen(&c->slots[i], &o->results[i].tolerance);
    }
    for (size_t i = 0; i < c->tape.n; i++) {
        const struct draw *d = &c->tape.draws[i];
        if (d->role != ROLE_OUT && d->role != ROLE_INOUT)
            continue;
        observe_array(&c->slots[EQUAL_RESULTS + i], d, o->outputs.at + at);
        at += draw_bytes(d);
    }
}

/* --- is an error noticed? --- */

/*
 * The same number, a little wrong: whole numbers by one, others by 1%. False for what has no
 * "little", such as NaN: a wrong one is noticed under any tolerance.
 */
static bool make_wrong(enum kelvin_type type, uint64_t bits, uint64_t *ret)
{
    double v = bits_number(type, bits);
    if (!type_is_float(type)) {
        *ret = bits ^ 1;
        return true;
    }
    double wrong = v * 1.01;
    float narrow = (float)wrong;
    *ret = 0;
    memcpy(ret, type == KELVIN_F32_ ? (void *)&narrow : (void *)&wrong, type_size(type));
    return isfinite(v) && isfinite((double)narrow) && *ret != bits;
}

/* Compare with WRONG in the place of a number of the candidate, SIZE bytes at AT. */
static void try_wrong(struct kelvin_case *c, struct slot *s, enum kelvin_type type, void *at)
{
    struct failure f;
    uint64_t right = element_bits(type, at, 0), wrong;
    if (!make_wrong(type, right, &wrong))
        return;
    memcpy(at, &wrong, type_size(type));
    s->tried++;
    s->noticed += !case_compare(c, &f);
    memcpy(at, &right, type_size(type));
}

/* The first and the last element: errors at the ends are the likely ones. */
static void mutate_array(struct kelvin_case *c, size_t i, char *at)
{
    const struct draw *d = &c->tape.draws[i];
    struct slot *s = &c->slots[EQUAL_RESULTS + i];
    if (!d->n)
        return;
    try_wrong(c, s, d->type, at);
    try_wrong(c, s, d->type, at + (d->n - 1) * type_size(d->type));
}

void case_mutate(struct kelvin_case *c)
{
    struct outcome *o = &c->outcome[SIDE_CANDIDATE];
    size_t at = 0;
    for (size_t i = 0; i < o->n_results; i++)
        try_wrong(c, &c->slots[i], o->results[i].type, &o->results[i].bits);
    for (size_t i = 0; i < c->tape.n; i++) {
        const struct draw *d = &c->tape.draws[i];
        if (d->role != ROLE_OUT && d->role != ROLE_INOUT)
            continue;
        mutate_array(c, i, o->outputs.at + at);
        at += draw_bytes(d);
    }
}

/* --- do the inputs matter? --- */

/* Another number of the same type. */
static uint64_t make_other(enum kelvin_type type, uint64_t bits)
{
    double v = bits_number(type, bits), other = isfinite(v) ? v + 1 : 1;
    float narrow = (float)other;
    if (!type_is_float(type))
        return bits ^ 1;
    memcpy(&bits, type == KELVIN_F32_ ? (void *)&narrow : (void *)&other, type_size(type));
    return bits;
}

static bool last_matters(struct kelvin_case *c, const struct draw *d)
{
    struct failure f;
    size_t size = type_size(d->type);
    char *last = c->tape.bytes.at + d->at + (d->n - 1) * size;
    uint64_t right = element_bits(d->type, last, 0), other = make_other(d->type, right);
    memcpy(last, &other, size);
    bool is_same = case_run(c, SOURCE_REPLAY, SIDE_REFERENCE, &f) && case_compare(c, &f);
    memcpy(last, &right, size);
    return !is_same;
}

void case_disturb(struct kelvin_case *c)
{
    struct coverage *v = &c->coverage;
    for (size_t i = 0; i < c->tape.n; i++) {
        const struct draw *d = &c->tape.draws[i];
        if (!draw_is_array(d) || d->role == ROLE_OUT || !d->n || v->matters[i])
            continue;
        v->inputs[i] = d->name;
        v->matters[i] = last_matters(c, d);
    }
}
