/* core_states.c - lanes of threads: running, runnable, blocked by reason; and marks. */
#include "analysis/scopetree.h"
#include "analysis/waitreason.h"
#include "model/waitstream.h"
#include "page/lanes_inner.h"

enum { MOMENTS_MAX = 2000, MARK_EVENTS_MAX = 8 };

/* --- states of threads --- */

struct state_lanes {
    uint32_t *lane_of; /* by thread; UINT32_MAX = none */
    uint32_t thread[LANES_MAX], n;
    double *states;  /* by lane, state and bin */
    double *reasons; /* by lane, reason and bin */
    struct state_life {
        double from, to;
        bool summed; /* some of its waits have no times of their own */
    } life[LANES_MAX];
};

/* In the order they are met. */
static void list_state_lanes(struct state_lanes *s, const struct lanes *l, const struct rows *r)
{
    memset(s->lane_of, 0xff, l->p->threads.n * sizeof *s->lane_of);
    for (size_t i = 0; i < r->n && s->n < LANES_MAX; i++) {
        uint32_t t = l->same[r->thread[i].i];
        if (s->lane_of[t] != UINT32_MAX)
            continue;
        s->thread[s->n] = t;
        s->lane_of[t] = s->n++;
    }
}

static double *state_bins(const struct state_lanes *s, const struct lanes *l, size_t lane,
                          enum thread_state state)
{
    return s->states + (lane * THREAD_STATES + state) * l->bins;
}

/*
 * A row that stands for many waits says how long they took, not when. Of a thread with such rows no
 * moment is known to be running: sums over its life are shown instead.
 */
static void find_lives(struct state_lanes *s, const struct lanes *l, const struct waitstream *w)
{
    const struct stream *waits = profile_stream(l->p, w->waits);
    const struct rows *r = &profile_stream(l->p, w->states)->rows;
    for (size_t i = 0; i < r->n; i++) {
        uint32_t lane = s->lane_of[l->same[r->thread[i].i]];
        double at = (double)(r->time_ns[i] - l->first_ns), end = at + (double)r->duration_ns[i];
        struct state_life *life = lane == UINT32_MAX ? NULL : &s->life[lane];
        if (!life)
            continue;
        life->from = life->to > 0 && life->from < at ? life->from : at;
        life->to = life->to > end ? life->to : end;
    }
    for (size_t i = 0; waits->rows.attrs && i < waits->rows.n; i++) {
        uint32_t lane = s->lane_of[l->same[waits->rows.thread[i].i]];
        if (lane != UINT32_MAX && !s->life[lane].summed)
            s->life[lane].summed = waitstream_part_of(l->p, waits, i) == WAIT_SUMMED;
    }
}

/* All states of a row, spread over the while that it is about. */
static void fill_sum(struct state_lanes *s, const struct lanes *l, const struct waitstream *w,
                     size_t row)
{
    const struct rows *r = &profile_stream(l->p, w->states)->rows;
    size_t lane = s->lane_of[l->same[r->thread[row].i]];
    double at = (double)(r->time_ns[row] - l->first_ns);
    for (int k = 0; k < THREAD_STATES; k++)
        lanes_spread(l, state_bins(s, l, lane, (enum thread_state)k), at,
                     at + (double)r->duration_ns[row], (double)r->value[w->state_column[k]][row]);
}

/*
 * States are sums over a while, waits have their very times. So first all of a thread's known life
 * is taken for running; each wait then takes its part of that away.
 */
static void fill_life(struct state_lanes *s, const struct lanes *l, const struct waitstream *w)
{
    const struct rows *r = &profile_stream(l->p, w->states)->rows;
    for (size_t i = 0; i < r->n; i++) {
        size_t lane = s->lane_of[l->same[r->thread[i].i]];
        double at = (double)(r->time_ns[i] - l->first_ns), end = at + (double)r->duration_ns[i];
        double known = 0, unknown = (double)r->value[w->state_column[THREAD_UNKNOWN]][i];
        for (int k = 0; k < THREAD_UNKNOWN; k++)
            known += (double)r->value[w->state_column[k]][i];
        if (lane == UINT32_MAX)
            continue;
        if (s->life[lane].summed) {
            fill_sum(s, l, w, i);
            continue;
        }
        lanes_spread(l, state_bins(s, l, lane, THREAD_RUNNING), at, end, known);
        lanes_spread(l, state_bins(s, l, lane, THREAD_UNKNOWN), at, end, unknown);
    }
}

static double *reason_bins(const struct state_lanes *s, const struct lanes *l, size_t lane,
                           enum wait_reason reason)
{
    return s->reasons + (lane * WAIT_REASONS + reason) * l->bins;
}

/* When a wait ended to be blocked and began to be runnable, and ended. Rows that stand for many
 * are both all the time. */
struct wait_span {
    double at, blocked_to, runnable_from, end, blocked, runnable;
};

static struct wait_span wait_span(const struct lanes *l, const struct waitstream *w, size_t row)
{
    const struct stream *s = profile_stream(l->p, w->waits);
    const struct rows *r = &s->rows;
    double at = (double)(r->time_ns[row] - l->first_ns), end = at + (double)r->duration_ns[row];
    struct wait_span x = {.at = at, .blocked_to = end, .runnable_from = at, .end = end};
    x.blocked = (double)r->value[w->wait_column[WAIT_BLOCKED]][row];
    x.runnable = (double)r->value[w->wait_column[WAIT_RUNNABLE]][row];
    if (waitstream_part_of(l->p, s, row) != WAIT_SUMMED)
        x.blocked_to = x.runnable_from = at + x.blocked < end ? at + x.blocked : end;
    return x;
}

/* Reasons are looked up once for each stack. */
static void fill_waits(struct state_lanes *s, const struct lanes *l, const struct waitstream *w)
{
    const struct rows *r = &profile_stream(l->p, w->waits)->rows;
    autofree uint8_t *known = mem_calloc(l->p->stacks.nodes.n + 1, 1);
    for (size_t i = 0; i < r->n; i++) {
        size_t lane = s->lane_of[l->same[r->thread[i].i]];
        uint8_t *reason = &known[r->stack[i].i];
        if (lane == UINT32_MAX)
            continue;
        if (!*reason)
            *reason = (uint8_t)(1 + waitreason_of_stack(l->p, r->stack[i]));
        struct wait_span x = wait_span(l, w, i);
        const struct state_life *life = &s->life[lane];
        if (life->summed) {
            lanes_spread(l, reason_bins(s, l, lane, (enum wait_reason)(*reason - 1)), life->from,
                         life->to, x.blocked);
            continue;
        }
        double *running = state_bins(s, l, lane, THREAD_RUNNING);
        lanes_spread(l, state_bins(s, l, lane, THREAD_BLOCKED), x.at, x.blocked_to, x.blocked);
        lanes_spread(l, state_bins(s, l, lane, THREAD_RUNNABLE), x.runnable_from, x.end,
                     x.runnable);
        lanes_spread(l, running, x.at, x.blocked_to, -x.blocked);
        lanes_spread(l, running, x.runnable_from, x.end, -x.runnable);
        if (x.blocked > 0)
            lanes_spread(l, reason_bins(s, l, lane, (enum wait_reason)(*reason - 1)), x.at,
                         x.blocked_to, x.blocked);
    }
}

/* Where waits have no times, the sums must do. */
static void fill_sums(struct state_lanes *s, const struct lanes *l, const struct waitstream *w)
{
    const struct rows *r = &profile_stream(l->p, w->states)->rows;
    for (size_t i = 0; i < r->n; i++)
        if (s->lane_of[l->same[r->thread[i].i]] != UINT32_MAX) {
            s->life[s->lane_of[l->same[r->thread[i].i]]].summed = true;
            fill_sum(s, l, w, i);
        }
}

static bool has_spans(const struct profile *p, int stream)
{
    return stream >= 0 && profile_stream(p, stream)->rows.time_ns &&
           profile_stream(p, stream)->rows.duration_ns;
}

static void fill_states(struct state_lanes *s, const struct lanes *l, const struct waitstream *w)
{
    if (!has_spans(l->p, w->states))
        return;
    if (!has_spans(l->p, w->waits)) {
        fill_sums(s, l, w);
        return;
    }
    find_lives(s, l, w);
    fill_life(s, l, w);
    fill_waits(s, l, w);
}

static bool states_any(const double *bins, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (bins[i] > 0)
            return true;
    return false;
}

static void put_state_lane(struct json *j, const struct lanes *l, const struct state_lanes *s,
                           size_t lane)
{
    const double *states = s->states + lane * THREAD_STATES * l->bins;
    const double *reasons = s->reasons + lane * WAIT_REASONS * l->bins;
    json_open(j, '{');
    lanes_put_thread(j, l->p, s->thread[lane]);
    json_put_bool(j, "summed", s->life[lane].summed);
    for (size_t k = 0; k < THREAD_STATES; k++)
        lanes_put_bins(j, thread_state_name((enum thread_state)k), states + k * l->bins, l->bins);
    json_key(j, "reasons");
    json_open(j, '{');
    for (size_t k = 0; k < WAIT_REASONS; k++)
        if (states_any(reasons + k * l->bins, l->bins))
            lanes_put_bins(j, waitreason_name((enum wait_reason)k), reasons + k * l->bins, l->bins);
    json_close(j, '}');
    json_close(j, '}');
}

void lanes_put_states(struct json *j, const struct lanes *l)
{
    struct waitstream w;
    json_key(j, "states");
    json_open(j, '[');
    if (l->bins && waitstream_find(l->p, &w) && w.states >= 0) {
        autofree uint32_t *lane_of = mem_calloc(l->p->threads.n + 1, sizeof *lane_of);
        struct state_lanes s = {.lane_of = lane_of};
        list_state_lanes(&s, l, &profile_stream(l->p, w.states)->rows);
        autofree double *states = mem_calloc(s.n * THREAD_STATES * l->bins + 1, sizeof *states);
        autofree double *reasons = mem_calloc(s.n * WAIT_REASONS * l->bins + 1, sizeof *reasons);
        s.states = states;
        s.reasons = reasons;
        fill_states(&s, l, &w);
        for (size_t i = 0; i < s.n; i++)
            put_state_lane(j, l, &s, i);
    }
    json_close(j, ']');
}

/* --- marks --- */

/* Events that happen at moments: page faults, tracepoints. Not clocks, whose rows are time. */
static bool is_marked(const struct lanes *l, const struct stream *s, const struct stream *shown)
{
    if (s == shown || stream_kind_of(l->p, s) != STREAM_OTHER || !s->rows.time_ns ||
        s->rows.duration_ns)
        return false;
    for (int i = 0; i < s->n_types; i++)
        if (s->types[i].dimension == DIM_TIME)
            return false;
    return true;
}

static int64_t mark_weight(const struct stream *s, size_t row)
{
    int type = stream_samples(s);
    return type < 0 ? 1 : s->rows.value[type][row];
}

/* Of one event: for each thread the bins with something, [bin, how often]. */
static void put_event_marks(struct json *j, const struct lanes *l, const struct stream *s)
{
    const struct rows *r = &s->rows;
    struct state_lanes lanes = {.lane_of = mem_calloc(l->p->threads.n + 1, sizeof(uint32_t))};
    list_state_lanes(&lanes, l, r);
    autofree double *bins = mem_calloc(lanes.n * l->bins + 1, sizeof *bins);
    for (size_t i = 0; i < r->n; i++) {
        size_t lane = lanes.lane_of[l->same[r->thread[i].i]];
        double at = (double)(r->time_ns[i] - l->first_ns);
        if (lane != UINT32_MAX)
            lanes_spread(l, bins + lane * l->bins, at, at, (double)mark_weight(s, i));
    }
    for (size_t lane = 0; lane < lanes.n; lane++) {
        json_open(j, '{');
        json_key(j, "event");
        json_text(j, profile_str(l->p, s->event));
        lanes_put_thread(j, l->p, lanes.thread[lane]);
        json_key(j, "at");
        json_open(j, '[');
        for (size_t i = 0; i < l->bins; i++)
            if (bins[lane * l->bins + i] > 0) {
                json_open(j, '[');
                json_uint(j, i);
                json_int(j, (int64_t)(bins[lane * l->bins + i] + 0.5));
                json_close(j, ']');
            }
        json_close(j, ']');
        json_close(j, '}');
    }
    free(lanes.lane_of);
}

static void put_moments(struct json *j, const struct lanes *l)
{
    int stream = stream_kind_find(l->p, STREAM_MOMENTS);
    const struct rows *r = stream < 0 ? NULL : &profile_stream(l->p, stream)->rows;
    size_t n = 0;
    json_key(j, "moments");
    json_open(j, '[');
    for (size_t i = 0; r && r->time_ns && i < r->n && n < MOMENTS_MAX; i++) {
        double at = (double)(r->time_ns[i] - l->first_ns);
        if (at < l->from_ns || at > l->to_ns || !r->stack[i].i)
            continue;
        json_open(j, '[');
        json_int(j, l->p->threads.at[r->thread[i].i].tid);
        json_double(j, at / 1e9);
        json_text(j, profile_str(l->p, scopetree_name(l->p, r->stack[i])));
        json_close(j, ']');
        n++;
    }
    json_close(j, ']');
}

void lanes_put_marks(struct json *j, const struct lanes *l, const struct stream *shown)
{
    int n = 0;
    json_key(j, "marks");
    json_open(j, '[');
    for (size_t i = 0; l->bins && i < l->p->streams.n && n < MARK_EVENTS_MAX; i++)
        if (is_marked(l, l->p->streams.at[i], shown)) {
            put_event_marks(j, l, l->p->streams.at[i]);
            n++;
        }
    json_close(j, ']');
    put_moments(j, l);
}
