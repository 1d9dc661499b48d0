/*
 * Is there a length at which the candidate is suddenly several times slower?
 *
 * A race is run with a few lengths, and a cliff is at one that nobody thought of: a multiple of
 * 4096, one less than a vector. So all lengths of the proof are timed, roughly: at each some
 * inputs, of each the shortest of some rounds. It is a cliff when every input takes several times
 * as long as any did one element before, and the reference has no such step. What seems to be one
 * is measured once more.
 */
#include "base/clock.h"
#include "base/units.h"
#include "equal.h"

#include <math.h>

enum {
    MOST_LENGTHS = 4096,
    CLIFFS_SHOWN = 3,
    ROUND_NS = 5000,
    MAX_CALLS = 1 << 16,
    FIRST_INPUTS = 2, /* at each length, when looking */
    FIRST_ROUNDS = 3,
    INPUTS = 5, /* to be sure */
    ROUNDS = 9,
};

static const double cliff_times = 3, reference_times = 1.5, cliff_least_ns = 50;

/* The range of the inputs' times at one length, of both sides. */
struct cost {
    double low[2], high[2];
};

struct cliff {
    struct session *s;
    struct kelvin_case *c;
    const char *name, *length;
    uint64_t calls[2]; /* in a round; kept from length to length */
    struct cost *costs;
    size_t n; /* lengths that were timed: 0 to n - 1 */
};

/* Nanoseconds of one call on the inputs of the tape: below 0 when it fails. */
static double round_ns(struct cliff *v, enum side side)
{
    struct kelvin_case *c = v->c;
    struct failure ignored;
    c->racing.repeat = v->calls[side];
    c->racing.time_ns = 0;
    if (!case_run(c, SOURCE_REPLAY, side, &ignored))
        return -1;
    return (double)c->racing.time_ns / (double)(c->racing.repeat ? c->racing.repeat : 1);
}

/* So many calls that a round takes long enough; what is changed in place allows one. */
static void fit_calls(struct cliff *v, enum side side, double call_ns)
{
    double calls = ROUND_NS / fmax(call_ns, 0.1);
    v->calls[side] = calls < 1 ? 1 : calls > MAX_CALLS ? MAX_CALLS : (uint64_t)calls;
}

/* The shortest of some rounds. */
static double side_ns(struct cliff *v, enum side side, int rounds)
{
    double least = INFINITY;
    for (int i = 0; i < rounds; i++) {
        double ns = round_ns(v, side);
        if (ns < 0)
            return -1;
        least = fmin(least, ns);
        fit_calls(v, side, least);
    }
    return least;
}

static bool time_length(struct cliff *v, size_t n, int inputs, int rounds, struct cost *ret)
{
    struct kelvin_case *c = v->c;
    struct failure ignored;
    *ret = (struct cost){{INFINITY, INFINITY}, {0, 0}};
    c->racing.length = n;
    for (int i = 0; i < inputs; i++) {
        c->dice = dice_seed(c->seed, n * 64 + (size_t)(inputs + i));
        c->racing.repeat = 1;
        if (!case_judge(c, SOURCE_RACE, &ignored))
            return false;
        for (int side = 0; side < 2; side++) {
            double ns = side_ns(v, (enum side)side, rounds);
            if (ns < 0)
                return false;
            ret->low[side] = fmin(ret->low[side], ns);
            ret->high[side] = fmax(ret->high[side], ns);
        }
    }
    return true;
}

static bool is_step(const struct cost *from, const struct cost *to)
{
    return to->low[SIDE_CANDIDATE] > cliff_times * from->high[SIDE_CANDIDATE] &&
           to->low[SIDE_CANDIDATE] > from->high[SIDE_CANDIDATE] + cliff_least_ns &&
           to->low[SIDE_REFERENCE] < reference_times * from->high[SIDE_REFERENCE];
}

/* Measured with care, N and its neighbours; the last length has one. */
static bool is_sure(struct cliff *v, size_t n, struct cost ret[3])
{
    ret[2] = (struct cost){0};
    return time_length(v, n - 1, INPUTS, ROUNDS, &ret[0]) &&
           time_length(v, n, INPUTS, ROUNDS, &ret[1]) && is_step(&ret[0], &ret[1]) &&
           (n + 1 >= v->n || time_length(v, n + 1, INPUTS, ROUNDS, &ret[2]));
}

static void add_cost(struct buf *b, const struct cliff *v, const char *between, size_t n, double ns)
{
    char time[UNITS_MAX];
    buf_printf(b, "%s%s at %s=%zu", between, table_time(time, ns, ns / 100), v->length, n);
}

static void say_cliff(struct cliff *v, size_t n, const struct cost at[3])
{
    autobuf struct buf b = {0};
    add_cost(&b, v, "cliff: the candidate takes ", n, at[1].low[SIDE_CANDIDATE]);
    add_cost(&b, v, ", ", n - 1, at[0].high[SIDE_CANDIDATE]);
    if (n + 1 < v->n)
        add_cost(&b, v, " and ", n + 1, at[2].high[SIDE_CANDIDATE]);
    buf_str(&b, "; the reference has no such step");
    session_say(v->s, "race  %-*s  %s\n", equal_name_width(v->s), v->name, buf_cstr(&b));
    struct json *j = session_record(v->s);
    if (!j)
        return;
    json_key(j, "cliff");
    json_str(j, v->name);
    json_key(j, "length");
    json_uint(j, n);
    json_key(j, "message");
    json_str(j, buf_cstr(&b));
    session_record_end(v->s);
}

static bool time_all(struct cliff *v, size_t n_lengths)
{
    uint64_t end_ns = clock_monotonic_ns() + (uint64_t)(v->s->opts->time_s * 1e9);
    for (v->n = 0; v->n < n_lengths && clock_monotonic_ns() < end_ns; v->n++)
        if (!time_length(v, v->n, FIRST_INPUTS, FIRST_ROUNDS, &v->costs[v->n]))
            return false;
    return true;
}

void cliff_look(struct session *s, struct kelvin_case *c, const char *name, const char *length)
{
    size_t n_lengths = c->coverage.longest + 1, shown = 0;
    n_lengths = n_lengths < MOST_LENGTHS ? n_lengths : MOST_LENGTHS;
    autofree struct cost *costs = mem_calloc(n_lengths, sizeof *costs);
    struct cliff v = {s, c, name, length, {1, 1}, costs, 0};
    if (!time_all(&v, n_lengths))
        return;
    for (size_t n = 1; n < v.n && shown < CLIFFS_SHOWN; n++) {
        struct cost at[3];
        if (!is_step(&costs[n - 1], &costs[n]) || !is_sure(&v, n, at))
            continue;
        say_cliff(&v, n, at);
        shown++;
    }
}
