/*
 * The smallest input that fails in the same way.
 *
 * Edits are made to a copy of the tape, which is then played: the body asks for what it wants, and
 * what the tape lacks is 0. An edit that fails alike is kept. Every edit makes something shorter
 * or simpler, so this ends; there is also a limit of tries and of time.
 */
#include "base/clock.h"
#include "equal.h"

#include <math.h>

enum { TRIES = 50000, TIME_S = 10 };

struct shrink {
    struct kelvin_case *c;
    struct failure *failure;
    struct tape best, edit;
    int tries;
    uint64_t end_ns; /* tries of slow functions end here */
    bool has_improved;
};

/* An edit may come to nothing: a number that is below its range is taken as the lowest. */
static bool is_same_tape(const struct tape *a, const struct tape *b)
{
    if (a->n != b->n || a->bytes.n != b->bytes.n ||
        (a->bytes.n && memcmp(a->bytes.at, b->bytes.at, a->bytes.n) != 0))
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (a->draws[i].n != b->draws[i].n || a->draws[i].place != b->draws[i].place)
            return false;
    return true;
}

/* Play the edit, and keep it if it fails alike. */
static bool keeps_failing(struct shrink *s)
{
    struct failure f;
    if (s->tries <= 0 || clock_monotonic_ns() > s->end_ns)
        return false;
    s->tries--;
    s->c->given = &s->edit;
    if (case_judge(s->c, SOURCE_TAPE, &f) || !failure_alike(&f, s->failure) ||
        is_same_tape(&s->c->tape, &s->best))
        return false;
    *s->failure = f;
    tape_copy(&s->best, &s->c->tape);
    s->has_improved = true;
    return true;
}

static struct draw *begin_edit(struct shrink *s, size_t i)
{
    tape_copy(&s->edit, &s->best);
    return &s->edit.draws[i];
}

static uint64_t shrink_value_of(const struct shrink *s, size_t i, size_t element)
{
    const struct draw *d = &s->best.draws[i];
    return element_bits(d->type, s->best.bytes.at + d->at, element);
}

static void set_value(struct shrink *s, size_t i, size_t element, uint64_t bits)
{
    const struct draw *d = &s->edit.draws[i];
    size_t size = type_size(d->type);
    memcpy(s->edit.bytes.at + d->at + element * size, &bits, size);
}

/* --- lengths --- */

/* Cut COUNT elements at FROM out of every array that has as many elements as the length. */
static bool cut(struct shrink *s, size_t length, size_t from, size_t count)
{
    uint64_t n = shrink_value_of(s, length, 0);
    begin_edit(s, length);
    set_value(s, length, 0, n - count);
    for (size_t i = 0; i < s->edit.n; i++) {
        struct draw *d = &s->edit.draws[i];
        size_t size = type_size(d->type);
        char *at = s->edit.bytes.at + d->at;
        if (!draw_is_array(d) || d->n != n)
            continue;
        if (d->role != ROLE_OUT)
            memmove(at + from * size, at + (from + count) * size, (n - from - count) * size);
        d->n = n - count;
    }
    return keeps_failing(s);
}

/* From the end first, then from anywhere; halves first, then less. */
static void shrink_length(struct shrink *s, size_t i)
{
    for (size_t count = shrink_value_of(s, i, 0); count; count /= 2) {
        while (shrink_value_of(s, i, 0) >= count &&
               cut(s, i, shrink_value_of(s, i, 0) - count, count))
            ;
        for (size_t from = 0; from + count <= shrink_value_of(s, i, 0);)
            if (!cut(s, i, from, count))
                from += count;
    }
}

/* --- values --- */

static bool try_value(struct shrink *s, size_t i, size_t element, uint64_t bits)
{
    if (bits == shrink_value_of(s, i, element))
        return false;
    begin_edit(s, i);
    set_value(s, i, element, bits);
    return keeps_failing(s);
}

static uint64_t bits_of(enum kelvin_type type, double v)
{
    uint64_t bits = 0;
    float f = (float)v;
    memcpy(&bits, type == KELVIN_F32_ ? (void *)&f : (void *)&v, type_size(type));
    return bits;
}

/* Simple numbers, then a whole one, then a smaller one. */
static void shrink_float(struct shrink *s, size_t i, size_t element)
{
    enum kelvin_type type = s->best.draws[i].type;
    double v = bits_number(type, shrink_value_of(s, i, element));
    const double simple[] = {0,        1,         -1, (double)NAN,
                             INFINITY, -INFINITY, 2,  fabs(v) > 4 ? trunc(v / 2) : trunc(v)};
    for (size_t k = 0; k < sizeof simple / sizeof *simple; k++)
        if (shrink_value_of(s, i, element) == bits_of(type, simple[k]) ||
            try_value(s, i, element, bits_of(type, simple[k])))
            return;
}

/* 0, 1, then halves, then one less. */
static void shrink_integer(struct shrink *s, size_t i, size_t element)
{
    uint64_t v = shrink_value_of(s, i, element);
    if (v == 0 || try_value(s, i, element, 0) || v == 1 || try_value(s, i, element, 1))
        return;
    bool is_signed = type_is_signed(s->best.draws[i].type);
    if (is_signed && (int64_t)v < 0)
        try_value(s, i, element, (uint64_t)(-(int64_t)v));
    for (;;) {
        v = shrink_value_of(s, i, element);
        uint64_t half = is_signed ? (uint64_t)((int64_t)v / 2) : v / 2;
        uint64_t less = is_signed && (int64_t)v < 0 ? v + 1 : v - 1;
        if (v <= 1 || (!try_value(s, i, element, half) && !try_value(s, i, element, less)))
            return;
    }
}

static void shrink_element(struct shrink *s, size_t i, size_t element)
{
    if (type_is_float(s->best.draws[i].type))
        shrink_float(s, i, element);
    else
        shrink_integer(s, i, element);
}

/* Zeros over a stretch of an array. */
static bool shrink_clear(struct shrink *s, size_t i, size_t from, size_t count)
{
    struct draw *d = begin_edit(s, i);
    size_t size = type_size(d->type);
    char *at = s->edit.bytes.at + d->at + from * size;
    bool is_clear = true;
    for (size_t k = 0; k < count * size; k++)
        is_clear &= !at[k];
    memset(at, 0, count * size);
    return is_clear || keeps_failing(s);
}

static void shrink_array(struct shrink *s, size_t i)
{
    const struct draw *d = &s->best.draws[i];
    if (d->place) {
        begin_edit(s, i)->place = 0;
        keeps_failing(s);
    }
    if (d->role == ROLE_OUT)
        return;
    for (size_t count = d->n; count > 1; count /= 2)
        for (size_t from = 0; from + count <= s->best.draws[i].n; from += count)
            shrink_clear(s, i, from, count);
    for (size_t k = 0; k < s->best.draws[i].n; k++)
        shrink_element(s, i, k);
}

static void shrink_once(struct shrink *s)
{
    s->has_improved = false;
    for (size_t i = 0; i < s->best.n; i++)
        if (s->best.draws[i].role == ROLE_LENGTH)
            shrink_length(s, i);
    for (size_t i = 0; i < s->best.n; i++)
        if (s->best.draws[i].role == ROLE_NUMBER)
            shrink_element(s, i, 0);
    for (size_t i = 0; i < s->best.n; i++)
        if (draw_is_array(&s->best.draws[i]))
            shrink_array(s, i);
}

void case_shrink(struct kelvin_case *c, struct failure *f)
{
    struct shrink s = {.c = c, .failure = f, .tries = TRIES};
    s.end_ns = clock_monotonic_ns() + TIME_S * (uint64_t)1000000000;
    struct failure again;
    tape_copy(&s.best, &c->tape);
    do
        shrink_once(&s);
    while (s.has_improved && s.tries > 0);
    /* Leave the case as the smallest failure left it. */
    tape_copy(&s.edit, &s.best);
    c->given = &s.edit;
    f->is_flaky = case_judge(c, SOURCE_TAPE, &again) || !failure_alike(&again, f);
    c->given = NULL;
    tape_done(&s.best);
    tape_done(&s.edit);
}
