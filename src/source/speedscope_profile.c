/*
 * speedscope_profile.c - one profile of a speedscope file, sampled or evented.
 *
 * Keys come in any order, so stacks and weights are kept until the profile's end, when its type
 * and unit are known. An evented profile becomes the same two lists on the way: each stretch of
 * time between two events is a sample of the stack that is open.
 */
#include "source/speedscope.h"

enum { DEPTH_MAX = 100000, READ_DECIMALS = 9 };

/* In place of a stack: time passes, but nothing is sampled. */
#define NO_STACK UINT32_MAX

struct decimal {
    int64_t value;
    int decimals;
};

struct open_frame {
    int64_t index;
    struct stack_id stack;
};

struct unit {
    const char *name;
    enum dimension dimension;
    int exponent;     /* powers of ten to our unit */
    int max_decimals; /* of a value in our unit */
};

struct sheet {
    bool sampled, evented;
    const struct unit *unit;
    struct str_id name;
    struct decimal start, end;
    bool has_end, has_samples, has_weights, has_events;
    VEC(struct stack_id) stacks;
    VEC(struct decimal) weights;
    VEC(uint64_t) times_ns;    /* of our own exports */
    VEC(struct frame_id) path; /* the sample that is being read */
    VEC(struct open_frame) open;
    struct decimal last_at;
    bool has_event;
    int64_t own_type, own_thread; /* -1 = not ours */
    bool joins;                   /* same rows as the profile before */
};

static const struct unit *find_unit(struct text name)
{
    static const struct unit units[] = {
        {"none", DIM_COUNT, 0, 6},        {"nanoseconds", DIM_TIME, 0, 3},
        {"microseconds", DIM_TIME, 3, 3}, {"milliseconds", DIM_TIME, 6, 3},
        {"seconds", DIM_TIME, 9, 3},      {"bytes", DIM_BYTES, 0, 6},
    };
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (text_is(name, units[i].name))
            return &units[i];
    return NULL;
}

/* --- numbers --- */

/* At most MAX decimals, rounded: the noise of doubles (0.30000000000000004) goes away. */
static struct decimal round_to(struct decimal d, int max)
{
    int last = 0;
    for (; d.decimals > max; d.decimals--) {
        last = (int)(d.value % 10);
        d.value /= 10;
    }
    d.value += last >= 5;
    return d;
}

/* Exact up to overflow. */
static bool speedscope_widen(struct decimal *d, int decimals)
{
    for (; d->decimals < decimals; d->decimals++)
        if (__builtin_mul_overflow(d->value, 10, &d->value))
            return false;
    return true;
}

static bool subtract(struct decimal a, struct decimal b, struct decimal *ret)
{
    int most = a.decimals > b.decimals ? a.decimals : b.decimals;
    if (!speedscope_widen(&a, most) || !speedscope_widen(&b, most))
        return false;
    *ret = (struct decimal){a.value - b.value, most};
    return true;
}

static struct decimal read_decimal(struct jsonread *j, const char *what)
{
    struct decimal d = {0};
    enum json_token token = json_peek(j);
    if (!json_get_decimal(j, &d.value, &d.decimals)) {
        json_fail(j, "%s is %s", what,
                  token == JSON_NUMBER ? "negative or too big" : "not a number");
        return (struct decimal){0};
    }
    return round_to(d, READ_DECIMALS);
}

/* Values of our own exports are in their own type's unit already. */
static const struct unit own_unit = {"", DIM_COUNT, 0, READ_DECIMALS};

/* D of UNIT in our unit, rounded to the decimals that make sense there. */
static bool to_our_unit(const struct unit *unit, struct decimal *d)
{
    int exponent = unit->exponent;
    if (!speedscope_widen(d, exponent))
        return false;
    d->decimals -= exponent;
    *d = round_to(*d, unit->max_decimals);
    for (; d->decimals && d->value % 10 == 0; d->decimals--)
        d->value /= 10;
    return true;
}

/* --- reading --- */

static void speedscope_skip(struct speedscope *s, const char *why)
{
    struct err err;
    if (import_skip_byte(s->im, reader_offset(s->im->in), &err, "%s", why) != 0 && !s->j.err.code)
        s->j.err = err;
}

static void read_sample(struct speedscope *s, struct sheet *t)
{
    struct stack_id stack = {NO_STACK};
    size_t depth = 0;
    t->path.n = 0;
    json_enter(&s->j, JSON_ARRAY);
    for (; json_element(&s->j); depth++) {
        struct frame_id frame = speedscope_frame(s, json_get_int(&s->j));
        if (depth < DEPTH_MAX)
            *vec_push(&t->path) = frame;
    }
    if (s->j.err.code)
        return;
    if (depth > DEPTH_MAX)
        speedscope_skip(s, "a stack deeper than 100,000 frames");
    else
        stack = stacks_intern(&s->im->profile->stacks, t->path.at, t->path.n);
    *vec_push(&t->stacks) = stack;
}

/* The time since the last event goes to the stack that is open. */
static void pass_time(struct speedscope *s, struct sheet *t, struct decimal at)
{
    struct decimal passed;
    if (!t->has_event) {
        t->has_event = true;
        t->last_at = t->start = at;
        return;
    }
    if (!subtract(at, t->last_at, &passed)) {
        json_fail(&s->j, "\"at\" has too many digits");
        return;
    }
    if (passed.value < 0) {
        json_fail(&s->j, "\"at\" goes back in time: events must be in order");
        return;
    }
    t->last_at = at;
    if (passed.value == 0)
        return;
    bool idle = t->open.n == 0;
    *vec_push(&t->stacks) = idle ? (struct stack_id){NO_STACK} : t->open.at[t->open.n - 1].stack;
    *vec_push(&t->weights) = passed;
}

static void open_frame(struct speedscope *s, struct sheet *t, int64_t index)
{
    struct frame_id frame = speedscope_frame(s, index);
    struct stack_id stack = t->open.n ? t->open.at[t->open.n - 1].stack : (struct stack_id){0};
    if (s->j.err.code)
        return;
    if (t->open.n == DEPTH_MAX)
        speedscope_skip(s, "a stack deeper than 100,000 frames");
    if (t->open.n >= DEPTH_MAX)
        stack.i = NO_STACK;
    else
        stack = stacks_push(&s->im->profile->stacks, stack, frame);
    *vec_push(&t->open) = (struct open_frame){index, stack};
}

static void close_frame(struct speedscope *s, struct sheet *t, int64_t index)
{
    if (t->open.n == 0) {
        speedscope_skip(s, "a frame is closed while none is open");
        return;
    }
    int64_t top = t->open.at[t->open.n - 1].index;
    if (top != index)
        json_fail(&s->j, "frame %lld is closed while frame %lld is the last one open",
                  (long long)index, (long long)top);
    t->open.n--;
}

static void speedscope_read_event(struct speedscope *s, struct sheet *t)
{
    struct jsonread *j = &s->j;
    char what = 0;
    int64_t index = -1;
    struct decimal at = {0};
    bool has_at = false;
    struct text key;
    json_enter(j, JSON_OBJECT);
    while (json_member(j, &key)) {
        if (text_is(key, "type")) {
            struct text type = json_get_text(j);
            what = type.n == 1 ? type.at[0] : 0;
        } else if (text_is(key, "frame")) {
            index = json_get_int(j);
        } else if (text_is(key, "at")) {
            at = read_decimal(j, "\"at\"");
            has_at = true;
        } else {
            json_skip(j);
        }
    }
    if ((what != 'O' && what != 'C') || index < 0 || !has_at)
        json_fail(j, "an event needs \"type\" (\"O\" or \"C\"), \"frame\" and \"at\"");
    if (!j->err.code)
        pass_time(s, t, at);
    if (!j->err.code)
        (what == 'O' ? open_frame : close_frame)(s, t, index);
}

static void read_type(struct speedscope *s, struct sheet *t)
{
    struct text type = json_get_text(&s->j);
    t->sampled = text_is(type, "sampled");
    t->evented = text_is(type, "evented");
    if (!t->sampled && !t->evented)
        json_fail(&s->j, "a profile of type '%.*s': only sampled and evented are known",
                  (int)(type.n < 40 ? type.n : 40), type.at);
}

static void read_unit(struct speedscope *s, struct sheet *t)
{
    struct text unit = json_get_text(&s->j);
    t->unit = find_unit(unit);
    if (!t->unit)
        json_fail(&s->j, "the unit '%.*s' is not known to speedscope",
                  (int)(unit.n < 40 ? unit.n : 40), unit.at);
}

static void read_own(struct speedscope *s, struct sheet *t)
{
    struct jsonread *j = &s->j;
    struct text key;
    json_enter(j, JSON_OBJECT);
    while (json_member(j, &key)) {
        if (text_is(key, "type"))
            t->own_type = json_get_int(j);
        else if (text_is(key, "thread"))
            t->own_thread = json_get_int(j);
        else if (text_is(key, "joins"))
            t->joins = json_get_bool(j);
        else if (text_is(key, "time_ns")) {
            json_enter(j, JSON_ARRAY);
            while (json_element(j))
                *vec_push(&t->times_ns) = (uint64_t)json_get_int(j);
        } else
            json_skip(j);
    }
    if (t->own_type < 0 || t->own_type >= (int64_t)s->own_types.n || t->own_thread < 0 ||
        (uint64_t)t->own_thread >= s->own_threads.n)
        json_fail(j, "a profile of a type or thread that is not in the file");
}

static void read_list(struct speedscope *s, struct sheet *t, struct text key)
{
    struct jsonread *j = &s->j;
    char which = key.at[0]; /* samples, weights, events */
    bool *seen = which == 's' ? &t->has_samples : which == 'w' ? &t->has_weights : &t->has_events;
    if (*seen || (which == 'e' ? t->has_samples || t->has_weights : t->has_events))
        json_fail(j, "a second list of samples or events in one profile");
    *seen = true;
    json_enter(j, JSON_ARRAY);
    while (json_element(j))
        if (which == 's')
            read_sample(s, t);
        else if (which == 'w')
            *vec_push(&t->weights) = read_decimal(j, "a weight");
        else
            speedscope_read_event(s, t);
}

/* Where a sheet starts; a negative value (clocks may have any zero) counts as 0. */
static struct decimal read_bound(struct jsonread *j)
{
    struct decimal d = {0};
    return json_get_decimal(j, &d.value, &d.decimals) ? round_to(d, READ_DECIMALS)
                                                      : (struct decimal){0};
}

static void read_sheet(struct speedscope *s, struct sheet *t)
{
    struct jsonread *j = &s->j;
    struct text key;
    json_enter(j, JSON_OBJECT);
    while (json_member(j, &key)) {
        if (text_is(key, "type"))
            read_type(s, t);
        else if (text_is(key, "unit"))
            read_unit(s, t);
        else if (text_is(key, "name"))
            t->name = profile_add_str(s->im->profile, json_get_text(j));
        else if (text_is(key, "startValue"))
            t->start = t->has_event ? (json_skip(j), t->start) : read_bound(j);
        else if (text_is(key, "endValue")) {
            t->end = read_bound(j);
            t->has_end = true;
        } else if (text_is(key, "samples") || text_is(key, "weights") || text_is(key, "events"))
            read_list(s, t, key);
        else if (text_is(key, "kelvin") && s->is_own)
            read_own(s, t);
        else
            json_skip(j);
    }
}

/* Frames that were never closed run until the end of the profile. */
static void close_all(struct speedscope *s, struct sheet *t)
{
    struct decimal left;
    if (t->open.n == 0)
        return;
    speedscope_skip(s, "frames are still open at the end of the profile");
    if (t->has_end && subtract(t->end, t->last_at, &left) && left.value > 0)
        pass_time(s, t, t->end);
}

static void check_sheet(struct speedscope *s, struct sheet *t)
{
    struct jsonread *j = &s->j;
    if (!t->sampled && !t->evented)
        json_fail(j, "a profile without \"type\"");
    else if (!t->unit)
        json_fail(j, "a profile without \"unit\"");
    else if (t->sampled && (!t->has_samples || !t->has_weights))
        json_fail(j, "a sampled profile without \"samples\" and \"weights\"");
    else if (t->evented && !t->has_events)
        json_fail(j, "an evented profile without \"events\"");
    else if (t->stacks.n != t->weights.n)
        json_fail(j, "a profile with %zu samples but %zu weights", t->stacks.n, t->weights.n);
    else if (t->times_ns.n && t->times_ns.n != t->stacks.n)
        json_fail(j, "a profile with %zu samples but %zu times", t->stacks.n, t->times_ns.n);
}

/* --- from the lists to samples --- */

/* The stream of a sheet: how many samples, if they are in time, and what they weigh. */
static int speedscope_add_stream(struct speedscope *s, const struct sheet *t)
{
    static const char *const names[DIMENSIONS][2] = {/* sampled, evented */
                                                     [DIM_TIME] = {"time", "duration"},
                                                     [DIM_BYTES] = {"bytes", "traced_bytes"},
                                                     [DIM_COUNT] = {"weight", "traced"}};
    struct profile *p = s->im->profile;
    enum dimension d = t->unit->dimension;
    int *stream = &s->streams[d][t->evented];
    if (*stream >= 0)
        return *stream;
    *stream = profile_add_stream(p, "", t->evented ? BY_TRACE : OBTAINED_UNKNOWN);
    if (*stream < 0)
        return -1;
    if (t->sampled && d == DIM_TIME)
        profile_add_value(p, *stream, VALUE_SAMPLES, UNIT_COUNT);
    profile_add_value(p, *stream, names[d][t->evented], dimension_unit(d));
    return *stream;
}

static struct thread_id speedscope_thread_of(struct speedscope *s, const struct sheet *t)
{
    if (t->own_thread >= 0)
        return s->own_threads.at[t->own_thread];
    struct thread_key thread = {.name = t->name, .pid = THREAD_NO_ID, .tid = THREAD_NO_ID};
    return profile_add_thread(s->im->profile, &thread);
}

struct output {
    const struct unit *unit;
    struct value_ref column;
    int samples; /* the column that counts, or -1 */
    struct thread_id thread;
    bool joins, has_time;
    int64_t values[STREAM_MAX_TYPES]; /* all zero between rows */
};

/* Values of a sheet that are a further column of the rows before it. */
static bool joins_rows(const struct speedscope *s, const struct sheet *t, const struct output *o)
{
    const struct rows *rows = &profile_stream(s->im->profile, o->column.stream)->rows;
    if (!t->joins || s->im->profile->merge_rows || s->group_stream != o->column.stream ||
        s->group_n != t->stacks.n || s->group_row + s->group_n > rows->n)
        return false;
    for (size_t i = 0; i < s->group_n; i++)
        if (rows->stack[s->group_row + i].i != t->stacks.at[i].i ||
            rows->thread[s->group_row + i].i != o->thread.i)
            return false;
    return true;
}

static int speedscope_add_value(struct speedscope *s, size_t row, struct value_ref column,
                                int64_t value, struct err *err)
{
    struct profile *p = s->im->profile;
    struct stream *to = profile_stream(p, column.stream);
    struct value_type *type = &to->types[column.type];
    if (__builtin_add_overflow(type->total, value, &type->total))
        return err_set(err, EXIT_INPUT, "the sum of all '%s' values does not fit 64 bits",
                       profile_str(p, type->name).at);
    to->rows.value[column.type][row] += value;
    return 0;
}

static int speedscope_add_row(struct speedscope *s, struct output *o, const struct row *row,
                              struct err *err)
{
    bool counted = o->samples >= 0;
    if (o->values[o->column.type] == 0 && !counted && !s->is_own)
        return 0; /* no effect */
    if (counted)
        o->values[o->samples] = 1;
    return profile_add_row(s->im->profile, o->column.stream, row, err);
}

/* Picoseconds, which 64 bits hold for a hundred days only: not enough for times since 1970. */
typedef unsigned __int128 clock_ps;

static clock_ps clock_of(struct decimal d)
{
    clock_ps ps = (clock_ps)d.value;
    for (int i = d.decimals; i < 3; i++)
        ps *= 10;
    return ps;
}

static int speedscope_add_samples(struct speedscope *s, struct sheet *t, struct output *o,
                                  struct err *err)
{
    static const char too_big[] = "a value that does not fit 64 bits in our unit";
    struct decimal start = t->start;
    if (!to_our_unit(o->unit, &start))
        return err_set(err, EXIT_INPUT, "%s", too_big);
    clock_ps now = clock_of(start);
    for (size_t i = 0; i < t->stacks.n; i++) {
        struct decimal w = t->weights.at[i];
        struct row row = {.stack = t->stacks.at[i], .thread = o->thread, .values = o->values};
        row.has_time = o->has_time || t->times_ns.n;
        row.time_ns = t->times_ns.n ? t->times_ns.at[i] : (uint64_t)(now / 1000);
        int64_t *value = &o->values[o->column.type];
        if (!to_our_unit(o->unit, &w))
            return err_set(err, EXIT_INPUT, "%s", too_big);
        now += clock_of(w);
        if (row.stack.i == NO_STACK)
            continue;
        if (profile_scale_value(s->im->profile, o->column, w.value, w.decimals, value, err) != 0)
            return -1;
        int rc = o->joins ? speedscope_add_value(s, s->group_row + i, o->column, *value, err)
                          : speedscope_add_row(s, o, &row, err);
        if (rc != 0)
            return -1;
    }
    return 0;
}

static void speedscope_emit(struct speedscope *s, struct sheet *t)
{
    struct profile *p = s->im->profile;
    struct output o = {.thread = speedscope_thread_of(s, t), .samples = -1};
    struct err err;
    bool own = t->own_type >= 0;
    o.unit = own ? &own_unit : t->unit;
    if (own) {
        o.column = s->own_types.at[t->own_type];
        o.joins = joins_rows(s, t, &o);
    } else {
        int stream = speedscope_add_stream(s, t);
        if (stream < 0) {
            json_fail(&s->j, "more than %d streams", PROFILE_MAX_STREAMS);
            return;
        }
        o.column = (struct value_ref){stream, profile_stream(p, stream)->n_types - 1};
        o.samples = stream_samples(profile_stream(p, stream));
        o.has_time = t->unit->dimension == DIM_TIME;
    }
    const struct rows *rows = &profile_stream(p, o.column.stream)->rows;
    if (!o.joins)
        s->group_row = rows->n;
    if (speedscope_add_samples(s, t, &o, &err) != 0)
        json_fail(&s->j, "%s", err.text);
    s->group_n = rows->n - s->group_row;
    s->group_stream = o.column.stream;
    *vec_push(&s->value_of_profile) = o.column;
}

void speedscope_profile(struct speedscope *s)
{
    struct sheet t = {.own_type = -1, .own_thread = -1};
    read_sheet(s, &t);
    if (!s->j.err.code)
        close_all(s, &t);
    check_sheet(s, &t);
    if (!s->j.err.code)
        speedscope_emit(s, &t);
    vec_done(&t.stacks);
    vec_done(&t.weights);
    vec_done(&t.times_ns);
    vec_done(&t.path);
    vec_done(&t.open);
}
