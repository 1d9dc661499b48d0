/* What the body of a proof draws: inputs, and room for outputs. */
#include "equal.h"

#include <stdarg.h>

enum { UNWRITTEN = 0xd7 };

/* --- tapes --- */

void tape_done(struct tape *t)
{
    buf_done(&t->bytes);
    t->n = 0;
}

void tape_copy(struct tape *to, const struct tape *from)
{
    memcpy(to->draws, from->draws, from->n * sizeof from->draws[0]);
    to->n = from->n;
    to->bytes.n = 0;
    vec_reserve(&to->bytes, 64); /* not NULL, though all arrays may be empty */
    buf_add(&to->bytes, from->bytes.at, from->bytes.n);
}

const struct draw *tape_find(const struct tape *t, const char *name)
{
    for (size_t i = 0; i < t->n; i++)
        if (strcmp(t->draws[i].name, name) == 0)
            return &t->draws[i];
    return NULL;
}

/* --- breaking the rules --- */

void case_misuse(struct kelvin_case *c, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(c->misuse, sizeof c->misuse, fmt, args);
    va_end(args);
    guard_leave();
}

/* --- draws --- */

bool draw_is_array(const struct draw *d)
{
    return d->role <= ROLE_INOUT;
}

size_t draw_bytes(const struct draw *d)
{
    return d->n * type_size(d->type);
}

static void check_replay(struct kelvin_case *c, const struct draw *want)
{
    const struct draw *d = &c->tape.draws[c->next];
    if (c->next >= c->tape.n || strcmp(d->name, want->name) != 0 || d->type != want->type ||
        d->role != want->role || d->n != want->n)
        case_misuse(c,
                    "the body draws other inputs for the candidate than for the reference ('%s'): "
                    "what it draws must not depend on the side or on what was computed",
                    want->name);
}

/* The draw that the body asks for next. In a replay it is there already. */
static struct draw *draw_next(struct kelvin_case *c, const struct draw *want)
{
    if (c->source == SOURCE_GIVEN)
        case_misuse(c, "KELVIN_REPRODUCE gives inputs with kelvin_given_*(), it does not draw '%s'",
                    want->name);
    if (c->source == SOURCE_REPLAY) {
        check_replay(c, want);
        return &c->tape.draws[c->next++];
    }
    if (c->next == EQUAL_DRAWS)
        case_misuse(c, "more than %d inputs and output arrays", EQUAL_DRAWS);
    c->tape.n = c->next;
    if (tape_find(&c->tape, want->name))
        case_misuse(c, "two inputs have the name '%s'", want->name);
    struct draw *d = &c->tape.draws[c->next++];
    *d = *want;
    d->at = c->tape.bytes.n;
    c->tape.n = c->next;
    return d;
}

/* Room for the values of D, which is the newest draw. */
static uint8_t *draw_room(struct kelvin_case *c, const struct draw *d)
{
    size_t n = draw_bytes(d);
    vec_reserve(&c->tape.bytes, n + 8); /* numbers are stored as eight bytes, then cut */
    c->tape.bytes.n += n;
    return (uint8_t *)c->tape.bytes.at + d->at;
}

/* Values of the tape that is played, zeros where it has none. Output arrays have only a place. */
static void draw_given(struct kelvin_case *c, struct draw *d, uint8_t *to)
{
    const struct draw *g = tape_find(c->given, d->name);
    size_t want = to ? draw_bytes(d) : 0, have = g && g->type == d->type ? draw_bytes(g) : 0;
    if (have > want)
        have = want;
    if (have)
        memcpy(to, c->given->bytes.at + g->at, have);
    if (want > have)
        memset(to + have, 0, want - have);
    d->place = g ? g->place : 0;
}

/* --- arrays --- */

/*
 * Places of an array: flush with the guard behind it, flush with the one in front, then ending
 * 1, 2... elements before the guard, up to 64 bytes. The first array takes all of them, each
 * with every length, before places are left to chance.
 */
static int choose_place(struct kelvin_case *c, size_t size, bool is_first)
{
    size_t places = 64 / size + 1, lengths = c->first_lengths ? c->first_lengths : 1;
    size_t round = c->number / lengths;
    if (!is_first || round >= places) {
        uint64_t r = dice_roll(&c->dice);
        round = r % 4 < 2 ? 0 : r % 4 == 2 ? 1 : (r >> 8) % places;
    }
    return round == 1 ? GUARD_AT_START : (int)((round > 1 ? round - 1 : 0) * size);
}

static bool has_array(const struct tape *t, size_t before)
{
    for (size_t i = 0; i < before; i++)
        if (draw_is_array(&t->draws[i]))
            return true;
    return false;
}

static void array_values(struct kelvin_case *c, struct draw *d, unsigned values)
{
    bool is_first = !has_array(&c->tape, c->next - 1);
    uint8_t *to = d->role == ROLE_OUT ? NULL : draw_room(c, d);
    struct input_kind kind = {d->type, values, c->source == SOURCE_RACE};
    if (c->source == SOURCE_TAPE)
        draw_given(c, d, to);
    else if (to)
        input_fill(&c->dice, kind, to, d->n);
    if (c->source == SOURCE_FRESH)
        d->place = choose_place(c, type_size(d->type), is_first);
    if (c->source == SOURCE_RACE) /* 64-byte lines, not all at the same offset of a page */
        d->place = GUARD_AT_START - 320 * (int)(c->next - 1);
}

/* Lay the array out and put its values there. */
static uint8_t *array_lay(struct kelvin_case *c, const struct draw *d)
{
    struct region *r = &c->regions[d - c->tape.draws];
    uint8_t *at = region_place(r, draw_bytes(d), d->place);
    if (!at)
        case_misuse(c, "no memory for %zu bytes of '%s'", draw_bytes(d), d->name);
    if (d->role == ROLE_OUT)
        memset(at, UNWRITTEN, draw_bytes(d));
    else if (d->n)
        memcpy(at, c->tape.bytes.at + d->at, draw_bytes(d));
    region_mark(r);
    return at;
}

static void cover_alignment(struct kelvin_case *c, const struct draw *d, const uint8_t *at)
{
    if (c->source == SOURCE_FRESH && d->n && !has_array(&c->tape, c->next - 1))
        c->coverage.alignments |= (uint64_t)1 << ((uintptr_t)at % 64);
}

PUBLIC void *kelvin_array(struct kelvin_case *c, const char *name, size_t n, int type_and_role,
                          unsigned values)
{
    struct draw want = {.name = name, .n = n, .tolerance = c->tolerance};
    want.type = (enum kelvin_type)(type_and_role & 15);
    want.role = type_and_role & KELVIN_OUT_     ? ROLE_OUT
                : type_and_role & KELVIN_INOUT_ ? ROLE_INOUT
                                                : ROLE_IN;
    if (n > GUARD_MAX_BYTES / type_size(want.type))
        case_misuse(c, "'%s' has %zu elements: no array may be larger than a gigabyte", name, n);
    struct draw *d = draw_next(c, &want);
    d->tolerance = c->tolerance;
    if (c->source != SOURCE_REPLAY)
        array_values(c, d, values & KELVIN_ANY ? values : KELVIN_ANY);
    uint8_t *at = array_lay(c, d);
    cover_alignment(c, d, at);
    return at;
}

/* --- numbers --- */

static bool in_order(enum kelvin_type type, uint64_t low, uint64_t high)
{
    return type_is_signed(type) ? (int64_t)low <= (int64_t)high : low <= high;
}

static uint64_t clamp(const struct draw *d, uint64_t v)
{
    if (!in_order(d->type, d->low, v))
        return d->low;
    return in_order(d->type, v, d->high) ? v : d->high;
}

static uint64_t draw_integer(struct kelvin_case *c, const struct draw *d)
{
    return type_is_signed(d->type)
               ? (uint64_t)input_signed(&c->dice, (int64_t)d->low, (int64_t)d->high)
               : input_unsigned(&c->dice, d->low, d->high);
}

/* The value of a draw of one element, sign and all. */
static uint64_t number_bits(struct kelvin_case *c, const struct draw *d)
{
    return element_bits(d->type, c->tape.bytes.at + d->at, 0);
}

PUBLIC uint64_t kelvin_integer(struct kelvin_case *c, const char *name, int type, uint64_t low,
                               uint64_t high)
{
    struct draw want = {.name = name, .role = ROLE_NUMBER, .n = 1, .low = low, .high = high};
    want.type = (enum kelvin_type)type;
    if (!in_order(want.type, low, high))
        case_misuse(c, "'%s' is drawn from an empty range: its low end is above the high one",
                    name);
    struct draw *d = draw_next(c, &want);
    if (c->source == SOURCE_REPLAY)
        return number_bits(c, d);
    uint8_t *to = draw_room(c, d);
    uint64_t v;
    if (c->source == SOURCE_TAPE) {
        draw_given(c, d, to);
        v = clamp(d, number_bits(c, d));
    } else {
        v = draw_integer(c, d);
    }
    memcpy(to, &v, sizeof v);
    return number_bits(c, d);
}

PUBLIC double kelvin_number(struct kelvin_case *c, const char *name, int type, unsigned values)
{
    struct draw want = {.name = name, .role = ROLE_NUMBER, .n = 1};
    want.type = (enum kelvin_type)type;
    struct draw *d = draw_next(c, &want);
    if (c->source == SOURCE_TAPE)
        draw_given(c, d, draw_room(c, d));
    else if (c->source != SOURCE_REPLAY)
        input_fill(&c->dice, (struct input_kind){d->type, values, c->source == SOURCE_RACE},
                   draw_room(c, d), 1);
    return bits_number(d->type, number_bits(c, d));
}

static void cover_length(struct kelvin_case *c, size_t n, size_t most)
{
    struct coverage *v = &c->coverage;
    if (most >= 1 << 20)
        return;
    while (v->lengths.n <= most)
        *vec_push(&v->lengths) = 0;
    v->lengths_seen += !v->lengths.at[n];
    v->lengths.at[n] = 1;
    v->longest = v->longest < most ? most : v->longest;
}

/* The first length takes all values in turn, the rest is left to chance. */
static uint64_t fresh_length(struct kelvin_case *c, size_t most)
{
    if (c->first_lengths || most == SIZE_MAX)
        return input_length(&c->dice, most);
    c->first_lengths = most + 1;
    uint64_t places = 64 + 1;
    size_t n =
        c->number / (most + 1) < places ? c->number % (most + 1) : input_length(&c->dice, most);
    cover_length(c, n, most);
    return n;
}

PUBLIC size_t kelvin_length(struct kelvin_case *c, const char *name, size_t most)
{
    struct draw want = {
        .name = name, .type = KELVIN_U64_, .role = ROLE_LENGTH, .n = 1, .high = most};
    if (most > GUARD_MAX_BYTES)
        case_misuse(c, "'%s' may be up to %zu: no array can be that long", name, most);
    struct draw *d = draw_next(c, &want);
    if (c->source != SOURCE_REPLAY) {
        uint8_t *to = draw_room(c, d);
        uint64_t n = c->racing.length;
        if (c->source == SOURCE_TAPE) {
            draw_given(c, d, to);
            n = clamp(d, number_bits(c, d));
        } else if (c->source == SOURCE_FRESH) {
            n = fresh_length(c, most);
        }
        memcpy(to, &n, sizeof n);
    }
    return number_bits(c, d);
}
