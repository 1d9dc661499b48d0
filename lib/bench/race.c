/*
 * Which side is faster? Both work on the same inputs in turn: reference, candidate, candidate,
 * reference and so on, so that a machine that gets slower or faster meanwhile does so for both.
 * That is a block; what counts is the ratio inside each of them. Rounds are short, and of each side
 * the shortest of a block is taken: where the other programs on a machine get their turn in
 * the midst of a round, that says nothing about the side, and a slow side would meet it more often.
 */
#include "base/clock.h"
#include "base/units.h"
#include "equal.h"
#include "stats/paired.h"
#include "stats/repeats.h"

#include <math.h>

enum {
    MIN_BLOCKS = 18,    /* fewer prove nothing at the risk that is allowed */
    BLOCKS = 400,       /* at most */
    ROUNDS = 6,         /* of each side in a block, at most */
    ROUND_NS = 50000,   /* that one side should run for, at least */
    NARROW_PERCENT = 2, /* an interval within so much is good enough */
    MAX_CALLS = 1 << 24,
};

struct race {
    struct session *s;
    struct kelvin_case *c;
    char *name;
    struct count {
        uint64_t repeat, runs; /* calls on one clock, and such runs of the body */
    } counts[2];
    size_t rounds;   /* of each side in a block */
    double clock_ns; /* that reading the clock takes */
    double times[2][BLOCKS];
    size_t blocks;
    struct paired paired;
    double speedup;
    struct interval interval;
    struct failure failure;
};

/* Nanoseconds of a call of a side on the inputs of the tape; below 0 when it failed. */
static double time_side(struct race *r, enum side side)
{
    struct kelvin_case *c = r->c;
    const struct count *n = &r->counts[side];
    c->racing.time_ns = 0;
    for (uint64_t i = 0; i < n->runs; i++) {
        c->racing.repeat = n->repeat;
        if (!case_run(c, SOURCE_REPLAY, side, &r->failure))
            return -1;
    }
    double ns = (double)c->racing.time_ns - r->clock_ns * (double)n->runs;
    return fmax(ns, 1) / (double)(n->repeat * n->runs);
}

static double clock_cost_ns(void)
{
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < 200; i++) {
        uint64_t a = clock_monotonic_ns(), b = clock_monotonic_ns();
        least = b - a < least ? b - a : least;
    }
    return (double)least;
}

/* New inputs; the sides must agree on them too. */
static bool new_inputs(struct race *r)
{
    struct kelvin_case *c = r->c;
    c->dice = dice_seed(c->seed, r->blocks);
    c->racing.repeat = 1;
    return case_judge(c, SOURCE_RACE, &r->failure);
}

/* The shortest of a few tries; below 0 when one failed. */
static double shortest(struct race *r, enum side side)
{
    double least = time_side(r, side);
    for (int i = 0; i < 2 && least >= 0; i++)
        least = fmin(least, time_side(r, side));
    return least;
}

/*
 * How often a side must be called to be timed well; its time for one call, or below 0. Arrays that
 * are changed allow one call at a time.
 */
static double calibrate(struct race *r, enum side side)
{
    struct count *n = &r->counts[side];
    for (*n = (struct count){1, 1};;) {
        double ns = shortest(r, side);
        uint64_t calls = n->repeat * n->runs;
        if (ns < 0 || ns * (double)calls >= ROUND_NS || calls >= MAX_CALLS)
            return ns;
        if (r->c->racing.repeat == n->repeat && n->runs == 1)
            n->repeat *= 2;
        else
            *n = (struct count){1, n->runs * 2};
    }
}

/* Slow sides get fewer rounds, so that enough blocks fit into the time. */
static bool race_prepare(struct race *r)
{
    double total_ns = 0;
    for (int side = 0; side < 2; side++) {
        double ns = calibrate(r, (enum side)side);
        if (ns < 0)
            return false;
        total_ns += ns * (double)(r->counts[side].repeat * r->counts[side].runs);
    }
    double fit = r->s->opts->time_s * 1e9 / (MIN_BLOCKS * total_ns);
    r->rounds = fit < 1 ? 1 : fit > ROUNDS ? ROUNDS : (size_t)fit;
    return true;
}

static bool run_block(struct race *r)
{
    double best[2] = {INFINITY, INFINITY};
    if (!new_inputs(r))
        return false;
    for (size_t i = 0; i < 2 * r->rounds; i++) {
        enum side side = ((i + 1) / 2 + r->blocks) % 2 ? SIDE_CANDIDATE : SIDE_REFERENCE;
        double ns = time_side(r, side);
        if (ns < 0)
            return false;
        best[side] = fmin(best[side], ns);
    }
    r->times[0][r->blocks] = best[0];
    r->times[1][r->blocks++] = best[1];
    return true;
}

static void race_evaluate(struct race *r, int look)
{
    struct paired_opts opts = {PAIRED_BAND, PAIRED_RISK, r->c->racing.n_lengths};
    paired_compare(&r->paired, r->times[0], r->times[1], r->blocks, &opts, look);
    r->speedup = 1 / r->paired.ratio;
    r->interval.low = 1 / r->paired.interval.high;
    r->interval.high = r->paired.interval.low > 0 ? 1 / r->paired.interval.low : INFINITY;
}

static enum gate gate_of(const struct race *r)
{
    double least = r->c->racing.min_speedup;
    if (!(least > 0) || r->interval.low >= least)
        return GATE_HOLDS;
    return r->interval.high < least ? GATE_BROKEN : GATE_UNDECIDED;
}

static bool is_decided(const struct race *r)
{
    return gate_of(r) != GATE_UNDECIDED &&
           r->interval.high / r->interval.low < 1 + 2 * NARROW_PERCENT / 100.0;
}

static bool race_measure(struct race *r)
{
    uint64_t end_ns = clock_monotonic_ns() + (uint64_t)(r->s->opts->time_s * 1e9);
    r->clock_ns = clock_cost_ns();
    if (!new_inputs(r) || !race_prepare(r))
        return false;
    for (int look = 0;; look++) {
        size_t until = paired_look_at(look, BLOCKS);
        while (r->blocks < until && (r->blocks < MIN_BLOCKS || clock_monotonic_ns() < end_ns))
            if (!run_block(r))
                return false;
        race_evaluate(r, look);
        if (r->blocks == BLOCKS || (r->blocks >= MIN_BLOCKS && clock_monotonic_ns() >= end_ns) ||
            is_decided(r))
            return true;
    }
}

/* --- the report --- */

/* Of one call. */
static double median_ns(const struct race *r, enum side side)
{
    struct repeats_summary summary;
    repeats_summarize(&summary, r->times[side], r->blocks);
    return summary.median;
}

static void say_race(struct race *r)
{
    static const char *const words[] = {[GATE_HOLDS] = "passed",
                                        [GATE_BROKEN] = "FAILED",
                                        [GATE_UNDECIDED] = "INCONCLUSIVE, give more --time"};
    char times[2][UNITS_MAX];
    for (int side = 0; side < 2; side++) {
        double ns = median_ns(r, (enum side)side);
        table_time(times[side], ns, ns / 100);
    }
    session_say(r->s,
                "race  %-*s  %.3g times as fast, %.3g .. %.3g (%.4g%%); %s, was %s; %zu blocks",
                equal_name_width(r->s), r->name, r->speedup, r->interval.low, r->interval.high,
                100 * (1 - r->paired.miss), times[1], times[0], r->blocks);
    if (r->c->racing.min_speedup > 0)
        session_say(r->s, "; at least %g: %s", r->c->racing.min_speedup, words[gate_of(r)]);
    session_say(r->s, "\n");
}

static void key_number(struct json *j, const char *key, double value)
{
    json_key(j, key);
    json_double(j, value);
}

static void record_message(const struct race *r, struct json *j)
{
    autofree char *text =
        mem_printf("%.3g times as fast (%.3g .. %.3g), not proven to be at least %g", r->speedup,
                   r->interval.low, r->interval.high, r->c->racing.min_speedup);
    json_key(j, "message");
    json_str(j, text);
}

static void record_race(struct race *r)
{
    static const char *const words[] = {
        [GATE_HOLDS] = "holds", [GATE_BROKEN] = "broken", [GATE_UNDECIDED] = "undecided"};
    struct json *j = session_record(r->s);
    if (!j)
        return;
    json_key(j, "race");
    json_str(j, r->name);
    key_number(j, "ratio", r->speedup);
    key_number(j, "low", r->interval.low);
    key_number(j, "high", r->interval.high);
    key_number(j, "miss", r->paired.miss);
    key_number(j, "blocks", (double)r->blocks);
    key_number(j, "reference_ns", median_ns(r, SIDE_REFERENCE));
    key_number(j, "candidate_ns", median_ns(r, SIDE_CANDIDATE));
    if (r->c->racing.min_speedup > 0)
        key_number(j, "min_speedup", r->c->racing.min_speedup);
    if (gate_of(r) != GATE_HOLDS)
        record_message(r, j);
    json_key(j, "gate");
    json_str(j, words[gate_of(r)]);
    json_key(j, "ok");
    json_bool(j, gate_of(r) == GATE_HOLDS);
    session_record_end(r->s);
}

/* A side that does not stand the race's inputs, which are longer than those of the proof. */
static int fall(const struct race *r, struct err *err)
{
    autobuf struct buf what = {0};
    if (r->failure.way == WAY_MISUSE)
        return err_set(err, EXIT_ERROR, "refused: %s", r->failure.text);
    failure_print(&what, r->c, &r->failure);
    return err_set(err, EXIT_FAILS,
                   "in the race %s, %s; to see a smaller input, raise the longest length of the "
                   "proof",
                   r->name, buf_cstr(&what));
}

static int race_one(struct race *r, struct err *err)
{
    static const int codes[] = {[GATE_BROKEN] = EXIT_FAILS, [GATE_UNDECIDED] = EXIT_INCONCLUSIVE};
    if (!race_measure(r))
        return fall(r, err);
    say_race(r);
    record_race(r);
    if (gate_of(r) != GATE_HOLDS)
        session_fails(r->s, codes[gate_of(r)]);
    return 0;
}

static const char *length_name(const struct kelvin_case *c)
{
    for (size_t i = 0; i < c->tape.n; i++)
        if (c->tape.draws[i].role == ROLE_LENGTH)
            return c->tape.draws[i].name;
    return NULL;
}

int race_run(struct session *s, struct kelvin_case *c, const char *name, struct err *err)
{
    const char *length = length_name(c);
    size_t n = length ? c->racing.n_lengths : 1;
    if (!c->racing.has_statement && c->racing.min_speedup > 0)
        return err_set(err, EXIT_ERROR,
                       "refused: kelvin_min_speedup() without KELVIN_RACE: there is no race");
    if (!c->racing.has_statement)
        return 0;
    c->racing.on = true;
    for (size_t i = 0; i < n; i++) {
        autofree struct race *r = mem_new(struct race);
        c->racing.length = c->racing.lengths[i];
        autofree char *full =
            length ? mem_printf("%s/%s=%zu", name, length, c->racing.length) : mem_strdup(name);
        r->s = s;
        r->c = c;
        r->name = full;
        if (race_one(r, err) < 0)
            return -1;
    }
    if (length)
        cliff_look(s, c, name, length);
    return 0;
}
