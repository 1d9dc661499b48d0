/* core_lanes.c - what happened when: a lane for each thread, states, counters, scopes. */
#include "analysis/label.h"
#include "analysis/scopetree.h"
#include "base/block.h"
#include "base/idmap.h"
#include "page/lanes_inner.h"

#include <math.h>

enum { BINS_MAX = 4096, POINTS_MAX = 2000, SPANS_MAX = 4000 };

BLOCK_CALL static void lanes_span_some(const struct rows *r, size_t from, size_t to,
                                       uint64_t *first, uint64_t *last)
{
    for (size_t k = from; k < to; k++) {
        uint64_t end = r->time_ns[k] + (r->duration_ns ? r->duration_ns[k] : 0);
        *first = r->time_ns[k] < *first ? r->time_ns[k] : *first;
        *last = end > *last ? end : *last;
    }
}

/* As a range of time is understood everywhere (selection.h): since the first row of all streams. */
bool lanes_span(const struct profile *p, uint64_t *ret_first, uint64_t *ret_last)
{
    *ret_first = UINT64_MAX;
    *ret_last = 0;
    for (size_t i = 0; i < p->streams.n; i++) {
        const struct rows *r = &p->streams.at[i]->rows;
        for_each_block(from, to, r->time_ns ? r->n : 0)
            lanes_span_some(r, from, to, ret_first, ret_last);
    }
    return *ret_first <= *ret_last;
}

/* Add VALUE, spread over FROM..TO (nanoseconds since the first row), to the bins. */
void lanes_spread(const struct lanes *l, double *bins, double from, double to, double value)
{
    double per_ns = l->bins_per_ns;
    if (to < l->from_ns || from > l->to_ns || !(per_ns > 0))
        return;
    double a = (from - l->from_ns) * per_ns, b = (to - l->from_ns) * per_ns;
    double last = (double)l->bins - 1;
    if (a >= 0 && b < last && (size_t)a == (size_t)b) { /* most: within one */
        bins[(size_t)a] += value;
        return;
    }
    if (b - a < 1e-9) {
        size_t at = (size_t)(a < 0 ? 0 : a > last ? last : a);
        bins[at] += value;
        return;
    }
    double start = a < 0 ? 0 : a, end = b > last + 1 ? last + 1 : b;
    for (size_t i = (size_t)start; i < l->bins && (double)i < end; i++) {
        double low = (double)i > a ? (double)i : a, high = (double)i + 1 < b ? (double)i + 1 : b;
        if (high > low)
            bins[i] += value * (high - low) / (b - a);
    }
}

void lanes_put_bins(struct json *j, const char *key, const double *bins, size_t n)
{
    json_key(j, key);
    json_open(j, '[');
    for (size_t i = 0; i < n; i++)
        if (bins[i] >= 1e15 || bins[i] < 0.5)
            json_double(j, bins[i] > 0 ? bins[i] : 0);
        else
            json_int(j, (int64_t)(bins[i] + 0.5));
    json_close(j, ']');
}

/* --- threads --- */

/* By thread: the last of its process with its number. A thread that changes its name stays one. */
static uint32_t *lanes_same(const struct profile *p)
{
    struct idmap last = {0};
    uint32_t *same = mem_calloc(p->threads.n + 1, sizeof *same);
    for (uint32_t i = (uint32_t)p->threads.n; i-- > 0;) {
        const struct thread *t = &p->threads.at[i];
        uint32_t hash = hash_pair(t->process.i, (uint32_t)t->tid);
        same[i] = i;
        if (t->tid == THREAD_NO_ID)
            continue;
        for_each_match (&last, hash, id)
            if (p->threads.at[id].process.i == t->process.i && p->threads.at[id].tid == t->tid)
                same[i] = id;
        if (same[i] == i)
            idmap_add(&last, hash, i);
    }
    idmap_done(&last);
    return same;
}

struct lane {
    uint32_t thread; /* as in lanes.same */
    uint32_t named;  /* the one whose name it has: a thread may change its name */
    uint32_t process;
    int64_t total, samples, of_process; /* of_process: the total of all its threads */
    bool seen;
};

static int lane_by_total(const void *a, const void *b)
{
    const struct lane *x = a, *y = b;
    if (x->total != y->total)
        return x->total > y->total ? -1 : 1;
    return x->thread < y->thread ? -1 : x->thread > y->thread;
}

/* Threads of a process stay together, the busiest first of either. */
static int lane_by_process(const void *a, const void *b)
{
    const struct lane *x = a, *y = b;
    if (x->of_process != y->of_process)
        return x->of_process > y->of_process ? -1 : 1;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    return lane_by_total(a, b);
}

/* By thread, whatever its name. */
BLOCK_CALL static void lanes_sum_some(const struct selection *s, struct lane *lanes, size_t from,
                                      size_t to)
{
    const int64_t *value = selection_values(s), *count = selection_counts(s);
    for (size_t i = from; i < to; i++) {
        size_t row = selection_row(s, i);
        struct lane *lane = &lanes[s->stream->rows.thread[row].i];
        lane->seen = true;
        lane->total += value[row];
        lane->samples += count ? count[row] : 0;
    }
}

/* Those of one thread together; the name under which it did most is its name. */
static struct lane *lanes_join(const struct lanes *l, const struct lane *by_name, size_t all)
{
    struct lane *lanes = mem_calloc(all + 1, sizeof *lanes);
    autofree int64_t *most = mem_calloc(all + 1, sizeof *most);
    for (uint32_t t = 0; t < all; t++) {
        uint32_t same = l->same[t];
        struct lane *lane = &lanes[same];
        if (!by_name[t].seen)
            continue;
        if (!lane->seen || by_name[t].total > most[same]) {
            lane->named = t;
            most[same] = by_name[t].total;
        }
        lane->seen = true;
        lane->total += by_name[t].total;
        lane->samples += by_name[t].samples;
    }
    return lanes;
}

/* All threads of the rows that count: the busiest, which are shown, by process; then the others. */
static struct lane *list_lanes(const struct lanes *l, const struct selection *s, size_t *ret_n)
{
    size_t all = s->profile->threads.n, n = 0;
    autofree struct lane *by_name = mem_calloc(all + 1, sizeof *by_name);
    for_each_block(from, to, s->n_rows) lanes_sum_some(s, by_name, from, to);
    struct lane *lanes = lanes_join(l, by_name, all);
    autofree int64_t *of_process = mem_calloc(s->profile->processes.n + 1, sizeof *of_process);
    for (uint32_t t = 0; t < all; t++)
        if (lanes[t].seen) {
            lanes[n] = lanes[t];
            lanes[n].process = s->profile->threads.at[t].process.i;
            of_process[lanes[n].process] += lanes[n].total;
            lanes[n++].thread = t;
        }
    for (size_t i = 0; i < n; i++)
        lanes[i].of_process = of_process[lanes[i].process];
    qsort(lanes, n, sizeof *lanes, lane_by_total);
    qsort(lanes, n < LANES_MAX ? n : LANES_MAX, sizeof *lanes, lane_by_process);
    *ret_n = n;
    return lanes;
}

void lanes_put_thread(struct json *j, const struct profile *p, uint32_t thread)
{
    const struct thread *t = &p->threads.at[thread];
    json_key(j, "name");
    json_text(j, profile_str(p, t->name));
    json_key(j, "pid");
    json_int(j, profile_pid(p, t));
    json_key(j, "tid");
    json_int(j, t->tid);
}

struct lane_bins {
    const uint32_t *lane_of; /* by thread; UINT32_MAX = none */
    double *bins;            /* of all lanes, one after the other */
    bool is_time;
};

BLOCK_CALL static void lanes_fill_some(const struct lanes *l, const struct selection *s,
                                       const struct lane_bins *to, size_t first, size_t last)
{
    const struct rows *r = &s->stream->rows;
    const int64_t *value = selection_values(s);
    for (size_t i = first; i < last; i++) {
        size_t row = selection_row(s, i);
        uint32_t lane = to->lane_of[l->same[r->thread[row].i]];
        if (lane == UINT32_MAX)
            continue;
        double at = (double)(r->time_ns[row] - l->first_ns), v = (double)value[row];
        double length = r->duration_ns ? (double)r->duration_ns[row] : 0;
        double *bins = to->bins + lane * l->bins;
        if (length > 0)
            lanes_spread(l, bins, at, at + length, v);
        else
            lanes_spread(l, bins, to->is_time ? at - v : at, at, v);
    }
}

/* A sample of CPU time stands for the time before it. */
static void lanes_fill(const struct lanes *l, const struct selection *s, const uint32_t *lane_of,
                       double *bins)
{
    const struct value_type *type = selection_value(s);
    struct lane_bins to = {
        lane_of, bins, type->dimension == DIM_TIME && type->role == ROLE_FLOW && !type->decimals};
    for_each_block(first, last, s->n_rows) lanes_fill_some(l, s, &to, first, last);
}

/* What a process is called: its program, or the thread that it began with, or its busiest. */
static struct text lanes_process_name(const struct profile *p, const struct lane *busiest)
{
    const struct process *process = &p->processes.at[busiest->process];
    struct text path = profile_str(p, process->executable);
    const char *slash = path.n ? memrchr(path.at, '/', path.n) : NULL;
    if (slash)
        return (struct text){slash + 1, (size_t)(path.at + path.n - slash - 1)};
    if (path.n)
        return path;
    for (size_t i = 0; i < p->threads.n; i++)
        if (p->threads.at[i].process.i == busiest->process && process->pid >= 0 &&
            p->threads.at[i].tid == process->pid)
            return profile_str(p, p->threads.at[i].name);
    return profile_str(p, p->threads.at[busiest->named].name);
}

/* In the order of the lanes. */
static void put_lane_processes(struct json *j, const struct lanes *l, const struct selection *s,
                               const struct lane *list, size_t n)
{
    size_t shown = n < LANES_MAX ? n : LANES_MAX;
    json_key(j, "processes");
    json_open(j, '[');
    for (size_t i = 0; i < shown; i++) {
        size_t threads = 0;
        if (i && list[i].process == list[i - 1].process)
            continue;
        for (size_t k = 0; k < n; k++)
            threads += list[k].process == list[i].process;
        json_open(j, '{');
        json_key(j, "name");
        json_text(j, lanes_process_name(l->p, &list[i]));
        json_key(j, "pid");
        json_int(j, l->p->processes.at[list[i].process].pid);
        json_put_uint(j, "threads", threads);
        json_key(j, "total");
        json_decimal(j, list[i].of_process, selection_value(s)->decimals);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void put_lanes(struct json *j, const struct lanes *l, const struct selection *s)
{
    size_t n;
    autofree struct lane *list = list_lanes(l, s, &n);
    autofree uint32_t *lane_of = mem_calloc(l->p->threads.n + 1, sizeof *lane_of);
    size_t shown = n < LANES_MAX ? n : LANES_MAX;
    bool timed = stream_has_time(s->stream) && l->bins;
    autofree double *bins = mem_calloc(shown * l->bins + 1, sizeof *bins);
    memset(lane_of, 0xff, l->p->threads.n * sizeof *lane_of);
    for (uint32_t i = 0; i < shown; i++)
        lane_of[list[i].thread] = i;
    if (timed)
        lanes_fill(l, s, lane_of, bins);
    json_put_uint(j, "threads", n);
    put_lane_processes(j, l, s, list, n);
    json_key(j, "lanes");
    json_open(j, '[');
    for (size_t i = 0; i < shown; i++) {
        json_open(j, '{');
        lanes_put_thread(j, l->p, list[i].named);
        json_put_bool(j, "first",
                      !i || list[i].process != list[i - 1].process); /* of its process */
        json_key(j, "total");
        json_decimal(j, list[i].total, selection_value(s)->decimals);
        json_key(j, "samples");
        json_int(j, list[i].samples);
        if (timed)
            lanes_put_bins(j, "bins", bins + i * l->bins, l->bins);
        json_close(j, '}');
    }
    json_close(j, ']');
}

/* --- counters --- */

static void put_point(struct json *j, const struct lanes *l, const struct counter_point *at)
{
    json_open(j, '[');
    json_double(j, at->time_ns > l->first_ns ? (double)(at->time_ns - l->first_ns) / 1e9 : 0);
    json_int(j, at->value);
    json_close(j, ']');
}

/* Of more points than fit, the highest and the last of each STEP: no peak is left out. */
static void put_points(struct json *j, const struct lanes *l, const struct counter *c)
{
    size_t step = c->points.n <= POINTS_MAX ? 1 : c->points.n / (POINTS_MAX / 2) + 1;
    json_key(j, "points");
    json_open(j, '[');
    for (size_t i = 0; i < c->points.n; i += step) {
        size_t last = (i + step < c->points.n ? i + step : c->points.n) - 1, highest = i;
        for (size_t k = i; k <= last; k++)
            highest = c->points.at[k].value > c->points.at[highest].value ? k : highest;
        if (highest != last)
            put_point(j, l, &c->points.at[highest]);
        put_point(j, l, &c->points.at[last]);
    }
    json_close(j, ']');
}

static void put_counters(struct json *j, const struct lanes *l)
{
    json_key(j, "counters");
    json_open(j, '[');
    for (size_t i = 0; i < l->p->counters.n && i < LANES_MAX; i++) {
        const struct counter *c = &l->p->counters.at[i];
        if (c->points.n < 2)
            continue;
        json_open(j, '{');
        json_key(j, "name");
        json_text(j, profile_str(l->p, c->name));
        json_key(j, "unit");
        json_text(j, profile_str(l->p, c->unit));
        json_put_bool(j, "bytes", c->dimension == DIM_BYTES);
        json_key(j, "pid");
        json_int(j, l->p->processes.at[c->process.i].pid);
        put_points(j, l, c);
        json_close(j, '}');
    }
    json_close(j, ']');
}

/* --- scopes --- */

static bool span_is_seen(const struct lanes *l, const struct rows *r, size_t row, double *ret_start)
{
    double at = (double)(r->time_ns[row] - l->first_ns), end = at + (double)r->duration_ns[row];
    *ret_start = at;
    return end >= l->from_ns && at <= l->to_ns &&
           (double)r->duration_ns[row] >= (l->to_ns - l->from_ns) / 2000;
}

static void put_span(struct json *j, const struct lanes *l, const struct stream *s, size_t row)
{
    const struct profile *p = l->p;
    size_t depth = 0;
    for (struct stack_id at = s->rows.stack[row]; at.i; at = p->stacks.nodes.at[at.i].parent)
        depth++;
    json_open(j, '[');
    json_int(j, p->threads.at[s->rows.thread[row].i].tid);
    json_double(j, (double)(s->rows.time_ns[row] - l->first_ns) / 1e9);
    json_double(j, (double)s->rows.duration_ns[row] / 1e9);
    json_uint(j, depth);
    json_text(j, profile_str(p, scopetree_name(p, s->rows.stack[row])));
    json_close(j, ']');
}

/* [tid, start, duration, depth, name]; what is narrower than half a pixel is not there. */
static void put_spans(struct json *j, const struct lanes *l)
{
    int stream = scopetree_stream(l->p);
    size_t n = 0;
    double start;
    json_key(j, "spans");
    json_open(j, '[');
    if (stream >= 0) {
        const struct stream *s = profile_stream(l->p, stream);
        for (size_t i = 0; s->rows.time_ns && s->rows.duration_ns && i < s->rows.n; i++)
            if (n < SPANS_MAX && span_is_seen(l, &s->rows, i, &start)) {
                put_span(j, l, s, i);
                n++;
            }
    }
    json_close(j, ']');
}

/* --- one moment --- */

/* The row of a thread that is nearest to MOMENT; n_rows where it has none. */
static size_t nearest_row(const struct selection *s, const struct question *q, double moment_ns,
                          double *ret_off_ns)
{
    const struct rows *r = &s->stream->rows;
    size_t best = s->n_rows;
    for (size_t i = 0; i < s->n_rows; i++) {
        size_t row = selection_row(s, i);
        const struct thread *t = &s->profile->threads.at[r->thread[row].i];
        if (t->tid != q->tid || profile_pid(s->profile, t) != q->pid)
            continue;
        double from = (double)r->time_ns[row];
        double to = from + (r->duration_ns ? (double)r->duration_ns[row] : 0);
        double off = moment_ns < from ? from - moment_ns : moment_ns > to ? moment_ns - to : 0;
        if (best == s->n_rows || off < *ret_off_ns) {
            best = i;
            *ret_off_ns = off;
        }
    }
    return best;
}

static void moment_put_frame(struct json *j, const struct selection *s, struct labels *l,
                             struct stack_id at)
{
    struct frame_id frame = s->profile->stacks.nodes.at[at.i].frame;
    for (size_t k = labels_count(profile_frame(s->profile, frame)); k-- > 0;)
        if (!selection_hides(s, frame, k))
            json_text(j, labels_text(l, labels_of_frame(l, s->profile, frame, k)));
}

/* The call stack of thread TID of process PID nearest to the moment FROM_S, leaf first. */
int core_moment(struct core *c, const struct question *q, struct json *j, struct err *err)
{
    struct core_view *v = core_view(c, q, err);
    uint64_t first, last;
    double off = 0;
    struct labels l;
    if (!v)
        return -1;
    const struct selection *s = &v->selection;
    if (!stream_has_time(s->stream) || !lanes_span(s->profile, &first, &last))
        return err_set(err, EXIT_ERROR, "the recording has no times");
    size_t at = nearest_row(s, q, (double)first + q->from_s * 1e9, &off);
    json_put_number(j, "off_s", at < s->n_rows ? off / 1e9 : NAN);
    json_key(j, "stack");
    json_open(j, '[');
    labels_init(&l, s->profile, &(struct label_opts){.merge_kinds = true});
    for (struct stack_id k = at < s->n_rows ? s->stream->rows.stack[selection_row(s, at)]
                                            : (struct stack_id){0};
         k.i; k = s->profile->stacks.nodes.at[k.i].parent)
        moment_put_frame(j, s, &l, k);
    labels_done(&l);
    json_close(j, ']');
    return 0;
}

/* Samples of CPU time are shown as the time they stand for, where that is recorded. */
static struct selection lanes_shown(const struct selection *s)
{
    for (int i = 0; selection_value(s)->role == ROLE_SAMPLES && i < s->stream->n_types; i++)
        if (s->stream->types[i].dimension == DIM_TIME && s->stream->types[i].role == ROLE_FLOW)
            return selection_of_type(s, i);
    return selection_of_type(s, s->type);
}

int core_lanes(struct core *c, const struct question *q, struct json *j, struct err *err)
{
    struct core_view *v = core_view(c, q, err);
    if (!v)
        return -1;
    autofree uint32_t *same = lanes_same(v->selection.profile);
    struct lanes l = {.p = v->selection.profile, .same = same};
    bool timed = lanes_span(l.p, &l.first_ns, &l.last_ns);
    double all_ns = timed ? (double)(l.last_ns - l.first_ns) : 0;
    l.from_ns = q->from_s > 0 ? q->from_s * 1e9 : 0;
    l.to_ns = q->to_s > 0 ? q->to_s * 1e9 : all_ns > 0 ? all_ns : 1;
    l.bins = !timed || q->bins < 0 ? 0 : q->bins > BINS_MAX ? BINS_MAX : (size_t)q->bins;
    l.bins_per_ns = l.to_ns > l.from_ns ? (double)l.bins / (l.to_ns - l.from_ns) : 0;
    struct selection shown = lanes_shown(&v->selection);
    const struct value_type *type = selection_value(&shown);
    json_put_bool(j, "timed", timed && stream_has_time(v->selection.stream));
    json_put_number(j, "span_s", all_ns / 1e9);
    json_put_number(j, "from_s", l.from_ns / 1e9);
    json_put_number(j, "to_s", l.to_ns / 1e9);
    json_put_uint(j, "bins", l.bins);
    json_put_bool(j, "is_time", type->dimension == DIM_TIME && type->role == ROLE_FLOW);
    put_lanes(j, &l, &shown);
    if (q->brief)
        return 0;
    lanes_put_states(j, &l);
    lanes_put_marks(j, &l, v->selection.stream);
    put_counters(j, &l);
    put_spans(j, &l);
    return 0;
}
