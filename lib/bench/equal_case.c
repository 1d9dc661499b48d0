/* One run of a body: the rules it sets, what it reports, how it ends. */
#include "base/clock.h"
#include "equal.h"

enum { DEFAULT_RACE_LENGTH = 4096 };

/* --- results and rules --- */

PUBLIC void kelvin_result(struct kelvin_case *c, const char *name, int type, const void *value)
{
    struct outcome *o = &c->outcome[c->side];
    if (o->n_results == EQUAL_RESULTS)
        case_misuse(c, "more than %d results: use an output array", EQUAL_RESULTS);
    struct result *r = &o->results[o->n_results++];
    r->name = name;
    r->type = (enum kelvin_type)type;
    r->bits = element_bits(r->type, value, 0);
    r->tolerance = c->tolerance;
}

PUBLIC void kelvin_tolerance(struct kelvin_case *c, enum kelvin_compare how, double limit)
{
    if (!(limit >= 0))
        case_misuse(c, "a tolerance cannot be below 0");
    c->tolerance.how = how;
    c->tolerance.limit = limit > 0 ? limit : how == KELVIN_ULP ? 4 : 1e-6;
}

PUBLIC void kelvin_scale(struct kelvin_case *c, double magnitude)
{
    c->tolerance.scale = __builtin_isfinite(magnitude) ? __builtin_fabs(magnitude) : 0;
}

PUBLIC void kelvin_min_speedup(struct kelvin_case *c, double times)
{
    c->racing.min_speedup = times;
}

PUBLIC bool kelvin_racing(const struct kelvin_case *c)
{
    return c->racing.on;
}

PUBLIC void kelvin_race_lengths(struct kelvin_case *c, const size_t *lengths, size_t n)
{
    if (n > EQUAL_RACES)
        case_misuse(c, "more than %d lengths to race with", EQUAL_RACES);
    memcpy(c->racing.lengths, lengths, n * sizeof *lengths);
    c->racing.n_lengths = n;
}

/* The inputs as the body has made them: nothing may change them from here on. */
static void keep_inputs(struct kelvin_case *c)
{
    c->prepared.n = 0;
    c->n_prepared = c->next;
    for (size_t i = 0; i < c->next; i++)
        if (c->tape.draws[i].role == ROLE_IN)
            buf_add(&c->prepared, c->regions[i].at, c->regions[i].n_bytes);
}

static void seal_inputs(const struct kelvin_case *c, bool sealed)
{
    for (size_t i = 0; i < c->n_prepared; i++)
        if (c->tape.draws[i].role == ROLE_IN)
            region_seal(&c->regions[i], sealed);
}

PUBLIC kelvin_function kelvin_side(struct kelvin_case *c, kelvin_function reference,
                                   kelvin_function candidate, const char *names)
{
    if (reference == candidate)
        case_misuse(c,
                    "the reference and the candidate are the same function (%s): "
                    "that they agree proves nothing",
                    names);
    c->functions[SIDE_REFERENCE] = reference;
    c->functions[SIDE_CANDIDATE] = candidate;
    c->asked_for_side = true;
    keep_inputs(c);
    if (c->seal)
        seal_inputs(c, true);
    return c->trap ? (kelvin_function)guard_trap() : c->functions[c->side];
}

/* What is changed in place is not the same input the second time. */
static bool has_inout(const struct kelvin_case *c)
{
    for (size_t i = 0; i < c->next; i++)
        if (c->tape.draws[i].role == ROLE_INOUT)
            return true;
    return false;
}

PUBLIC uint64_t kelvin_race_begin(struct kelvin_case *c)
{
    c->racing.has_statement = true;
    if (!c->racing.on)
        return 1;
    if (has_inout(c))
        c->racing.repeat = 1;
    c->racing.begin_ns = clock_monotonic_ns();
    return c->racing.repeat;
}

PUBLIC uint64_t kelvin_race_end(struct kelvin_case *c)
{
    if (c->racing.on)
        c->racing.time_ns += clock_monotonic_ns() - c->racing.begin_ns;
    return 0;
}

PUBLIC void kelvin_given(struct kelvin_case *c, const char *name, int type, const void *values,
                         size_t n)
{
    if (c->source != SOURCE_GIVEN)
        case_misuse(c, "kelvin_given_*() belong in KELVIN_REPRODUCE");
    if (c->tape.n == EQUAL_DRAWS)
        case_misuse(c, "more than %d inputs given", EQUAL_DRAWS);
    struct draw *d = &c->tape.draws[c->tape.n++];
    *d = (struct draw){.name = name, .type = (enum kelvin_type)type, .n = n};
    d->at = c->tape.bytes.n;
    buf_add(&c->tape.bytes, values, draw_bytes(d));
}

PUBLIC void kelvin_given_place(struct kelvin_case *c, int place)
{
    if (place < -4096 || place > 4096)
        case_misuse(c, "place %d is out of reach", place);
    if (c->tape.n)
        c->tape.draws[c->tape.n - 1].place = place;
}

/* --- running --- */

static void case_reset(struct kelvin_case *c, enum source source, enum side side)
{
    c->source = source;
    c->side = side;
    c->next = c->first_lengths = c->n_prepared = 0;
    c->prepared.n = 0;
    c->tolerance = (struct tolerance){0};
    c->misuse[0] = '\0';
    c->outcome[side].n_results = 0;
    c->outcome[side].outputs.n = 0;
    if (source != SOURCE_REPLAY)
        c->tape.n = c->tape.bytes.n = 0;
}

static void run_body(void *arg)
{
    struct kelvin_case *c = arg;
    c->body(c);
}

/* Which array an address belongs to, and where that is relative to it. */
static void locate(const struct kelvin_case *c, struct failure *f, uintptr_t address)
{
    for (size_t i = 0; i < c->next; i++) {
        const struct region *r = &c->regions[i];
        const struct draw *d = &c->tape.draws[i];
        if (!draw_is_array(d) || !region_holds(r, address))
            continue;
        int64_t from_start = (int64_t)(address - (uintptr_t)r->at);
        int64_t size = (int64_t)type_size(d->type);
        f->index = i;
        f->is_array = true;
        f->element = from_start < 0 ? -((-from_start + size - 1) / size) : from_start / size;
        f->offset_bytes = from_start < 0 ? from_start : from_start - (int64_t)r->n_bytes;
    }
}

static bool fails(struct failure *f, enum way way, enum side side)
{
    *f = (struct failure){.way = way, .side = side, .index = EQUAL_DRAWS};
    return false;
}

static bool around_arrays_is_whole(const struct kelvin_case *c, struct failure *f)
{
    for (size_t i = 0; i < c->next; i++) {
        const uint8_t *bad =
            draw_is_array(&c->tape.draws[i]) ? region_scribbled(&c->regions[i]) : NULL;
        if (!bad)
            continue;
        fails(f, WAY_SCRIBBLE, c->side);
        locate(c, f, (uintptr_t)bad);
        return false;
    }
    return true;
}

static bool is_same_input(const struct kelvin_case *c, size_t i, const char *want,
                          struct failure *f)
{
    const struct draw *d = &c->tape.draws[i];
    const struct region *r = &c->regions[i];
    if (!d->n || memcmp(r->at, want, r->n_bytes) == 0)
        return true;
    fails(f, WAY_INPUT, c->side);
    f->index = i;
    f->is_array = true;
    while (element_bits(d->type, r->at, (size_t)f->element) ==
           element_bits(d->type, want, (size_t)f->element))
        f->element++;
    f->bits[0] = element_bits(d->type, want, (size_t)f->element);
    f->bits[1] = element_bits(d->type, r->at, (size_t)f->element);
    return false;
}

static bool inputs_are_unchanged(const struct kelvin_case *c, struct failure *f)
{
    size_t at = 0;
    for (size_t i = 0; i < c->next; i++) {
        const struct draw *d = &c->tape.draws[i];
        if (d->role != ROLE_IN)
            continue;
        const char *want = i < c->n_prepared ? c->prepared.at + at : c->tape.bytes.at + d->at;
        if (!is_same_input(c, i, want, f))
            return false;
        at += i < c->n_prepared ? c->regions[i].n_bytes : 0;
    }
    return true;
}

static void keep_outputs(struct kelvin_case *c)
{
    for (size_t i = 0; i < c->next; i++)
        if (c->tape.draws[i].role == ROLE_OUT || c->tape.draws[i].role == ROLE_INOUT)
            buf_add(&c->outcome[c->side].outputs, c->regions[i].at, c->regions[i].n_bytes);
}

bool case_run(struct kelvin_case *c, enum source source, enum side side, struct failure *f)
{
    struct fault fault;
    case_reset(c, source, side);
    struct fpmode mode = fpmode_get();
    int how = guard_call(run_body, c, &fault);
    c->mode[side] = fpmode_get();
    fpmode_set(mode);
    if (c->seal)
        seal_inputs(c, false);
    if (how == 2) {
        fails(f, WAY_MISUSE, side);
        snprintf(f->text, sizeof f->text, "%s", c->misuse);
        return false;
    }
    if (how == 1) {
        fails(f, WAY_FAULT, side);
        f->fault = fault;
        if (fault.has_address)
            locate(c, f, fault.address);
        return false;
    }
    if (source == SOURCE_GIVEN)
        return true;
    if (!around_arrays_is_whole(c, f) || !inputs_are_unchanged(c, f))
        return false;
    keep_outputs(c);
    return true;
}

struct kelvin_case *case_new(void (*body)(struct kelvin_case *c), uint64_t seed)
{
    struct kelvin_case *c = mem_new(struct kelvin_case);
    c->body = body;
    c->seed = seed;
    c->racing.lengths[0] = DEFAULT_RACE_LENGTH;
    c->racing.n_lengths = 1;
    /* So that none is NULL, which even 0 must not be added to. */
    vec_reserve(&c->tape.bytes, 64);
    vec_reserve(&c->prepared, 64);
    vec_reserve(&c->outcome[0].outputs, 64);
    vec_reserve(&c->outcome[1].outputs, 64);
    return c;
}

void case_free(struct kelvin_case *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < EQUAL_DRAWS; i++)
        region_done(&c->regions[i]);
    tape_done(&c->tape);
    buf_done(&c->prepared);
    buf_done(&c->outcome[0].outputs);
    buf_done(&c->outcome[1].outputs);
    vec_done(&c->coverage.lengths);
    free(c);
}
