/* Both sides of a case, and whether they agree. */
#include "equal.h"

static bool results_agree(const struct kelvin_case *c, struct failure *f)
{
    const struct outcome *a = &c->outcome[0], *b = &c->outcome[1];
    *f = (struct failure){.way = WAY_REPORTS, .side = SIDE_CANDIDATE, .index = EQUAL_DRAWS};
    if (a->n_results != b->n_results)
        return false;
    for (size_t i = 0; i < a->n_results; i++) {
        const struct result *x = &a->results[i], *y = &b->results[i];
        if (x->type != y->type || strcmp(x->name, y->name) != 0)
            return false;
        f->index = i;
        f->bits[0] = x->bits;
        f->bits[1] = y->bits;
        f->way = WAY_DIFFERS;
        if (!compare_bits(x->type, x->bits, y->bits, &x->tolerance, &f->gap))
            return false;
        f->way = WAY_REPORTS;
    }
    return true;
}

static bool array_agrees(const struct draw *d, const char *a, const char *b, struct failure *f)
{
    if (!d->n || memcmp(a, b, draw_bytes(d)) == 0)
        return true;
    for (size_t i = 0; i < d->n; i++) {
        f->element = (int64_t)i;
        f->bits[0] = element_bits(d->type, a, i);
        f->bits[1] = element_bits(d->type, b, i);
        if (!compare_bits(d->type, f->bits[0], f->bits[1], &d->tolerance, &f->gap))
            return false;
    }
    return true;
}

static bool arrays_agree(const struct kelvin_case *c, struct failure *f)
{
    size_t at = 0;
    *f = (struct failure){.way = WAY_DIFFERS, .side = SIDE_CANDIDATE, .is_array = true};
    for (size_t i = 0; i < c->tape.n; i++) {
        const struct draw *d = &c->tape.draws[i];
        if (d->role != ROLE_OUT && d->role != ROLE_INOUT)
            continue;
        f->index = i;
        if (!array_agrees(d, c->outcome[0].outputs.at + at, c->outcome[1].outputs.at + at, f))
            return false;
        at += draw_bytes(d);
    }
    return true;
}

bool case_compare(struct kelvin_case *c, struct failure *f)
{
    return results_agree(c, f) && arrays_agree(c, f);
}

/* Where both leave it changed alike, the body does. */
static bool modes_agree(const struct kelvin_case *c, struct failure *f)
{
    if (!fpmode_differs(c->mode[0], c->mode[1]))
        return true;
    *f = (struct failure){.way = WAY_MODE, .side = SIDE_CANDIDATE, .index = EQUAL_DRAWS};
    f->bits[0] = c->mode[0].control;
    f->bits[1] = c->mode[1].control;
    return false;
}

bool case_judge(struct kelvin_case *c, enum source source, struct failure *f)
{
    if (!case_run(c, source, SIDE_REFERENCE, f) || !case_run(c, SOURCE_REPLAY, SIDE_CANDIDATE, f))
        return false;
    if (c->next == c->tape.n)
        return case_compare(c, f) && modes_agree(c, f) && (!c->closely || case_look_closely(c, f));
    *f = (struct failure){.way = WAY_MISUSE, .index = EQUAL_DRAWS};
    snprintf(f->text, sizeof f->text,
             "the body draws fewer inputs for the candidate than for the reference: what it draws "
             "must not depend on the side or on what was computed");
    return false;
}

static bool is_behind(const struct failure *f)
{
    return f->offset_bytes >= 0;
}

bool failure_alike(const struct failure *a, const struct failure *b)
{
    if (a->way != b->way || a->side != b->side || a->is_array != b->is_array)
        return false;
    if (a->way == WAY_DIFFERS)
        return a->gap == b->gap;
    if (a->way == WAY_FAULT || a->way == WAY_SCRIBBLE)
        return a->fault.signal == b->fault.signal && a->fault.access == b->fault.access &&
               a->index == b->index && is_behind(a) == is_behind(b);
    return true;
}
