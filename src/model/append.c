#include "model/append.h"
#include "model/packed.h"

/* Ids of TO by those of FROM. */
struct append {
    struct profile *to;
    const struct profile *from;
    uint32_t *mappings, *functions, *frames, *stacks, *attrs, *processes, *threads;
};

static struct str_id append_str(const struct append *a, struct str_id id)
{
    return profile_add_str(a->to, profile_str(a->from, id));
}

/* --- tables; row 0 is the same in all profiles --- */

static void append_places(struct append *a)
{
    for (size_t i = 1; i < a->from->mappings.n; i++) {
        struct mapping m = a->from->mappings.at[i];
        m.path = append_str(a, m.path);
        m.build_id = append_str(a, m.build_id);
        a->mappings[i] = profile_add_mapping(a->to, &m).i;
    }
    for (size_t i = 1; i < a->from->functions.n; i++) {
        struct function f = a->from->functions.at[i];
        f.name = append_str(a, f.name);
        f.system_name = append_str(a, f.system_name);
        f.file = append_str(a, f.file);
        a->functions[i] = profile_add_function(a->to, &f).i;
    }
}

static void append_frames(struct append *a)
{
    VEC(struct line) lines = {0};
    for (size_t i = 0; i < a->from->frames.n; i++) {
        const struct frame *f = &a->from->frames.at[i];
        lines.n = 0;
        for (size_t k = 0; k < f->n_lines; k++) {
            struct line l = profile_lines(a->from, f)[k];
            l.function.i = a->functions[l.function.i];
            *vec_push(&lines) = l;
        }
        struct frame_key key = {.pc = f->pc,
                                .mapping = {a->mappings[f->mapping.i]},
                                .kind = (enum frame_kind)f->kind,
                                .lines = lines.at,
                                .n_lines = lines.n};
        a->frames[i] = profile_add_frame(a->to, &key).i;
    }
    vec_done(&lines);
}

/* A parent's id is smaller than its children's. */
static void append_tries(struct append *a)
{
    for (size_t i = 1; i < a->from->stacks.nodes.n; i++) {
        struct stack_node node = a->from->stacks.nodes.at[i];
        struct stack_id parent = {a->stacks[node.parent.i]};
        struct frame_id frame = {a->frames[node.frame.i]};
        a->stacks[i] = stacks_push(&a->to->stacks, parent, frame).i;
    }
    for (size_t i = 1; i < a->from->attrs.nodes.n; i++) {
        struct attr_node node = a->from->attrs.nodes.at[i];
        node.attr.key = append_str(a, node.attr.key);
        node.attr.text = node.attr.is_number ? node.attr.text : append_str(a, node.attr.text);
        node.attr.unit = node.attr.is_number ? append_str(a, node.attr.unit) : node.attr.unit;
        struct attrs_id parent = {a->attrs[node.parent.i]};
        a->attrs[i] = attrs_add(&a->to->attrs, parent, &node.attr).i;
    }
}

/* A process may be listed before its parent. */
static void append_processes(struct append *a)
{
    const struct profile *from = a->from;
    for (size_t i = 1; i < from->processes.n; i++) {
        struct process p = from->processes.at[i];
        p.parent.i = 0;
        p.executable = append_str(a, p.executable);
        p.host = append_str(a, p.host);
        p.attrs.i = a->attrs[p.attrs.i];
        a->processes[i] = profile_add_process(a->to, &p).i;
    }
    for (size_t i = 1; i < from->processes.n; i++)
        a->to->processes.at[a->processes[i]].parent.i =
            a->processes[from->processes.at[i].parent.i];
    for (size_t i = 1; i < from->threads.n; i++) {
        struct thread t = from->threads.at[i];
        t.process.i = a->processes[t.process.i];
        t.name = append_str(a, t.name);
        a->threads[i] = profile_add_thread_of(a->to, &t).i;
    }
}

/* --- streams --- */

static bool are_alike(const struct append *a, const struct stream *x, const struct stream *y)
{
    struct text event = profile_str(a->from, y->event), other = profile_str(a->to, x->event);
    bool same =
        x->n_types == y->n_types && event.n == other.n && memcmp(event.at, other.at, event.n) == 0;
    for (int i = 0; same && i < x->n_types; i++)
        same = x->types[i].decimals == y->types[i].decimals &&
               x->types[i].dimension == y->types[i].dimension &&
               x->types[i].role == y->types[i].role;
    return same;
}

static int find_like(const struct append *a, const struct stream *s)
{
    for (size_t i = 0; i < a->to->streams.n; i++)
        if (are_alike(a, a->to->streams.at[i], s))
            return (int)i;
    return -1;
}

/* So many samples in the sum of both times. */
static double achieved(const struct stream *x, const struct stream *y)
{
    double n = (double)x->rows.n, m = (double)y->rows.n;
    double s = n / x->rate_achieved_hz + m / y->rate_achieved_hz;
    return x->rate_achieved_hz > 0 && y->rate_achieved_hz > 0 && s > 0 ? (n + m) / s : 0;
}

static uint64_t unfinished_of(const struct stream *s, struct str_id why)
{
    for (int i = 0; i < s->n_unfinished; i++)
        if (s->unfinished[i].why.i == why.i)
            return s->unfinished[i].n;
    return 0;
}

/* Before the rows: the rate is weighted by those that were there. */
static void append_facts(struct append *a, int stream, const struct stream *from)
{
    struct stream *to = profile_stream(a->to, stream);
    to->rate_achieved_hz = achieved(to, from);
    to->lost_known &= from->lost_known;
    to->lost += from->lost;
    to->throttled += from->throttled;
    to->unfinished_known &= from->unfinished_known;
    to->guessed += from->guessed;
    for (int i = 0; i < from->n_unfinished; i++) {
        struct str_id why = append_str(a, from->unfinished[i].why);
        autofree char *words = mem_strndup(profile_str(a->to, why).at, profile_str(a->to, why).n);
        profile_set_unfinished(a->to, stream, words,
                               unfinished_of(to, why) + from->unfinished[i].n);
    }
}

static int append_stream_rows(const struct append *a, int stream, const struct stream *from,
                              struct err *err)
{
    const struct rows *r = &from->rows;
    for (size_t i = 0; i < r->n; i++) {
        int64_t values[STREAM_MAX_TYPES];
        for (int k = 0; k < from->n_types; k++)
            values[k] = r->value[k][i];
        struct row row = {.stack = {a->stacks[r->stack[i].i]},
                          .thread = {a->threads[r->thread[i].i]},
                          .attrs = {r->attrs ? a->attrs[r->attrs[i].i] : 0},
                          .has_time = r->time_ns != NULL,
                          .time_ns = r->time_ns ? r->time_ns[i] : 0,
                          .duration_ns = r->duration_ns ? r->duration_ns[i] : 0,
                          .values = values};
        if (profile_add_row(a->to, stream, &row, err) != 0)
            return -1;
    }
    return 0;
}

static bool has_event(const struct profile *p, struct text event)
{
    for (size_t i = 0; i < p->streams.n; i++) {
        struct text is = profile_str(p, p->streams.at[i]->event);
        if (is.n == event.n && memcmp(is.at, event.at, event.n) == 0)
            return true;
    }
    return false;
}

/* A stream of what a program did is made by the first of it: the runs before did it never. */
static int append_new_stream(struct append *a, const struct stream *from)
{
    struct text event = profile_str(a->from, from->event);
    autofree char *name = mem_strndup(event.at, event.n);
    if (from->obtained != BY_TRACE || has_event(a->to, event))
        return -1;
    int stream = profile_add_stream(a->to, name, from->obtained);
    for (int i = 0; stream >= 0 && i < from->n_types; i++) {
        struct text words[] = {profile_str(a->from, from->types[i].name),
                               profile_str(a->from, from->types[i].unit)};
        autofree char *type = mem_strndup(words[0].at, words[0].n);
        autofree char *unit = mem_strndup(words[1].at, words[1].n);
        profile_add_value(a->to, stream, type, unit);
    }
    if (stream >= 0)
        profile_stream(a->to, stream)->lost_known =
            profile_stream(a->to, stream)->unfinished_known = true;
    return stream;
}

static int append_streams(struct append *a, struct err *err)
{
    for (size_t i = 0; i < a->from->streams.n; i++) {
        const struct stream *s = a->from->streams.at[i];
        int to = find_like(a, s);
        if (to < 0)
            to = append_new_stream(a, s);
        if (to < 0)
            return err_set(err, EXIT_ERROR, "event '%.*s' was not recorded the same way before",
                           TEXT_ARG(profile_str(a->from, s->event)));
        append_facts(a, to, s);
        if (append_stream_rows(a, to, s, err) != 0)
            return -1;
    }
    return 0;
}

/* --- counters --- */

/* The NTH counter of that name and unit in the first N of P; -1 = there are not so many. */
static int counter_nth(const struct profile *p, const struct counter *like, size_t nth, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p->counters.at[i].name.i == like->name.i && p->counters.at[i].unit.i == like->unit.i &&
            nth-- == 0)
            return (int)i;
    return -1;
}

/* How many counters of FROM before number I have its name and unit: those of other processes. */
static size_t counter_rank(const struct profile *from, size_t i)
{
    size_t rank = 0;
    while (counter_nth(from, &from->counters.at[i], rank, i) >= 0)
        rank++;
    return rank;
}

/* A count goes on from where the run before has left it; times never go back. */
static void append_points(const struct append *a, int to, const struct counter *from)
{
    const struct counter *c = &a->to->counters.at[to];
    bool is_count = text_is(profile_str(a->from, from->unit), UNIT_COUNT);
    struct counter_point last = {0};
    if (c->points.n)
        last = c->points.at[c->points.n - 1];
    for (size_t i = 0; i < from->points.n; i++) {
        struct counter_point p = from->points.at[i];
        if (is_count && __builtin_add_overflow(p.value, last.value, &p.value))
            p.value = INT64_MAX;
        profile_add_point(a->to, to, p.time_ns > last.time_ns ? p.time_ns : last.time_ns, p.value);
    }
}

static int append_counters(const struct append *a, struct err *err)
{
    size_t before = a->to->counters.n;
    for (size_t i = 0; i < a->from->counters.n; i++) {
        const struct counter *from = &a->from->counters.at[i];
        struct text name = profile_str(a->from, from->name);
        struct text unit = profile_str(a->from, from->unit);
        struct counter like = {.name = append_str(a, from->name),
                               .unit = append_str(a, from->unit)};
        int to = counter_nth(a->to, &like, counter_rank(a->from, i), before);
        if (to < 0) {
            autofree char *is = mem_strndup(name.at, name.n), *of = mem_strndup(unit.at, unit.n);
            struct process_id process = {a->processes[from->process.i]};
            to = profile_add_counter(a->to, is, of, process);
        }
        if (to < 0)
            return err_set(err, EXIT_ERROR, "more than %d counters", PROFILE_MAX_COUNTERS);
        append_points(a, to, from);
    }
    return 0;
}

static uint32_t *ids(size_t n)
{
    return mem_calloc(n + 1, sizeof(uint32_t));
}

int profile_append(struct profile *to, const struct profile *from, struct err *err)
{
    autofree uint32_t *mappings = ids(from->mappings.n), *functions = ids(from->functions.n);
    autofree uint32_t *frames = ids(from->frames.n), *stacks = ids(from->stacks.nodes.n);
    autofree uint32_t *attrs = ids(from->attrs.nodes.n), *processes = ids(from->processes.n);
    autofree uint32_t *threads = ids(from->threads.n);
    struct append a = {to, from, mappings, functions, frames, stacks, attrs, processes, threads};
    append_places(&a);
    append_frames(&a);
    append_tries(&a);
    append_processes(&a);
    packed_append(to, from);
    return append_streams(&a, err) == 0 ? append_counters(&a, err) : -1;
}
