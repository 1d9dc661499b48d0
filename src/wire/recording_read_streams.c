/* recording_read_streams.c - reading what recording_streams.c writes. */
#include "wire/recording_inner.h"

enum { DECIMALS_MAX = 18 };

/* --- streams --- */

static bool read_types(const struct loader *l, struct cursor *c, struct stream *s)
{
    uint64_t n = cursor_varint(c);
    if (n > STREAM_MAX_TYPES)
        return false;
    s->n_types = (int)n;
    for (int i = 0; i < s->n_types; i++) {
        uint64_t name = cursor_varint(c), unit = cursor_varint(c), dimension = cursor_varint(c),
                 role = cursor_varint(c), decimals = cursor_varint(c);
        if (name >= l->strings.n || unit >= l->strings.n || dimension >= DIMENSIONS ||
            role >= VALUE_ROLES || decimals > DECIMALS_MAX)
            return false;
        s->types[i] = (struct value_type){.name.i = l->strings.at[name],
                                          .unit.i = l->strings.at[unit],
                                          .dimension = (enum dimension)dimension,
                                          .role = (enum value_role)role,
                                          .decimals = (int)decimals};
    }
    return true;
}

static bool read_unfinished(const struct loader *l, struct cursor *c, struct stream *s)
{
    uint64_t n = cursor_varint(c);
    if (n > STREAM_MAX_ENDS + 1)
        return false;
    s->unfinished_known = n > 0;
    s->n_unfinished = n ? (int)n - 1 : 0;
    for (int i = 0; i < s->n_unfinished; i++) {
        uint64_t why = cursor_varint(c);
        s->unfinished[i].n = cursor_varint(c);
        if (why >= l->strings.n)
            return false;
        s->unfinished[i].why.i = l->strings.at[why];
    }
    return true;
}

static bool read_stream(const struct loader *l, struct cursor *c, struct stream *s)
{
    uint64_t event = cursor_varint(c), obtained = cursor_varint(c);
    if (event >= l->strings.n || obtained >= OBTAINED_WAYS)
        return false;
    *s = (struct stream){.event.i = l->strings.at[event], .obtained = (enum obtained)obtained};
    s->rate_hz = (double)cursor_varint(c) / 1000;
    s->rate_achieved_hz = (double)cursor_varint(c) / 1000;
    uint64_t lost = cursor_varint(c);
    s->lost_known = lost > 0;
    s->lost = lost ? lost - 1 : 0;
    s->throttled = cursor_varint(c);
    s->guessed = cursor_varint(c);
    return read_unfinished(l, c, s) && read_types(l, c, s) && !c->bad;
}

/* Whether TOTAL may be rescaled by so many digits; a column's values are no greater. */
static bool can_rescale(int64_t total, int digits)
{
    while (digits-- > 0)
        if (__builtin_mul_overflow(total, 10, &total))
            return false;
    return true;
}

static bool may_become(const struct stream *old, const struct stream *new)
{
    if (new->n_types < old->n_types)
        return false;
    for (int i = 0; i < old->n_types; i++) {
        int digits = new->types[i].decimals - old->types[i].decimals;
        if (digits < 0 || !can_rescale(old->types[i].total, digits))
            return false;
    }
    return true;
}

/* All but totals and rows, which stay. */
static void recording_describe(struct profile *p, int stream, const struct stream *new)
{
    struct stream *s = p->streams.at[stream];
    while (s->n_types < new->n_types)
        profile_add_value(p, stream, "", "");
    s->event = new->event;
    s->obtained = new->obtained;
    s->rate_hz = new->rate_hz;
    s->rate_achieved_hz = new->rate_achieved_hz;
    s->lost_known = new->lost_known;
    s->lost = new->lost;
    s->throttled = new->throttled;
    s->guessed = new->guessed;
    s->unfinished_known = new->unfinished_known;
    s->n_unfinished = new->n_unfinished;
    memcpy(s->unfinished, new->unfinished, sizeof s->unfinished);
    for (int i = 0; i < s->n_types; i++) {
        int64_t zero;
        struct err never; /* may_become() has said yes */
        profile_scale_value(p, (struct value_ref){stream, i}, 0, new->types[i].decimals, &zero,
                            &never);
        int64_t total = s->types[i].total;
        s->types[i] = new->types[i];
        s->types[i].total = total;
    }
}

static const char *check_streams(const struct loader *l, struct value_ref first,
                                 const struct stream *new, size_t n)
{
    for (size_t i = 0; i < l->p->streams.n; i++)
        if (!may_become(l->p->streams.at[i], &new[i]))
            return LOADER_BAD_VALUE;
    if (first.stream >= 0 && ((size_t)first.stream >= n || first.type >= new[first.stream].n_types))
        return LOADER_BAD_VALUE;
    return NULL;
}

const char *recording_apply_streams(struct loader *l, struct cursor *c)
{
    uint64_t stream = cursor_varint(c), type = cursor_varint(c), n = cursor_varint(c);
    if (n < l->p->streams.n || n > PROFILE_MAX_STREAMS || stream > n || type >= STREAM_MAX_TYPES)
        return LOADER_BAD_VALUE;
    struct value_ref first = {(int)stream - 1, (int)type};
    autofree struct stream *new = mem_calloc(n + 1, sizeof *new);
    for (size_t i = 0; i < n; i++)
        if (!read_stream(l, c, &new[i]))
            return c->bad ? LOADER_CUT_SHORT : LOADER_BAD_VALUE;
    if (cursor_left(c))
        return LOADER_TOO_LONG;
    const char *why = check_streams(l, first, new, n);
    if (why)
        return why;
    for (size_t i = 0; i < n; i++) {
        if (i == l->p->streams.n) {
            profile_add_stream(l->p, "", OBTAINED_UNKNOWN);
            *vec_push(&l->stream_rows) = 0;
        }
        recording_describe(l->p, (int)i, &new[i]);
    }
    l->p->default_value = first;
    return NULL;
}

/* --- rows --- */

#define SUM_TOO_LARGE "the sum of its values does not fit 64 bits"

/* A chunk of rows, as its head describes it. */
struct row_chunk {
    struct cursor *c;
    size_t n;
    uint64_t flags;
    int stream;
};

static size_t row_columns(const struct row_chunk *chunk, const struct stream *s)
{
    return 2 + (size_t)__builtin_popcountll(chunk->flags) + (size_t)s->n_types;
}

/* Where each column of a chunk of rows is; NULL where it is not there. */
struct row_columns {
    const uint64_t *stack, *thread, *time, *duration, *attrs, *value;
};

static struct row_columns find_columns(const struct loader *l, uint64_t flags)
{
    size_t k = 2;
    struct row_columns at = {.stack = columns_get(&l->rows, 0), .thread = columns_get(&l->rows, 1)};
    if (flags & ROWS_TIME)
        at.time = columns_get(&l->rows, k++);
    if (flags & ROWS_DURATION)
        at.duration = columns_get(&l->rows, k++);
    if (flags & ROWS_ATTRS)
        at.attrs = columns_get(&l->rows, k++);
    at.value = columns_get(&l->rows, k);
    return at;
}

static uint64_t room_for(const struct stream *s, int type)
{
    return (uint64_t)(INT64_MAX - s->types[type].total);
}

static const char *check_rows(const struct loader *l, const struct stream *s, uint64_t flags)
{
    size_t k = 2 + (size_t)__builtin_popcountll(flags);
    if (!columns_below(&l->rows, 0, l->stacks.n) || !columns_below(&l->rows, 1, l->threads.n))
        return LOADER_BAD_ID;
    if ((flags & ROWS_ATTRS) && !columns_below(&l->rows, k - 1, l->attrs.n))
        return LOADER_BAD_ID;
    for (int t = 0; t < s->n_types; t++) {
        uint64_t sum;
        if (!columns_sum(&l->rows, k + (size_t)t, room_for(s, t), &sum))
            return SUM_TOO_LARGE;
    }
    return NULL;
}

/* One by one: rows are merged with others that are alike. */
static const char *recording_merge_rows(struct loader *l, const struct row_chunk *chunk)
{
    int64_t values[STREAM_MAX_TYPES];
    struct err never; /* check_rows() has summed them */
    const struct stream *s = l->p->streams.at[chunk->stream];
    if (!columns_read(&l->rows, chunk->c, chunk->n, row_columns(chunk, s)))
        return LOADER_CUT_SHORT;
    const char *why = cursor_left(chunk->c) ? LOADER_TOO_LONG : check_rows(l, s, chunk->flags);
    if (why)
        return why;
    struct row_columns at = find_columns(l, chunk->flags);
    for (size_t i = 0; i < chunk->n; i++) {
        for (size_t t = 0; t < (size_t)s->n_types; t++)
            values[t] = (int64_t)at.value[t * chunk->n + i];
        struct row r = {
            .stack.i = l->stacks.at[at.stack[i]].id,
            .thread.i = l->threads.at[at.thread[i]],
            .attrs.i = at.attrs ? l->attrs.at[at.attrs[i]] : 0,
            .has_time = at.time,
            .time_ns = at.time ? at.time[i] : 0,
            .duration_ns = at.duration ? at.duration[i] : 0,
            .values = values,
        };
        profile_add_row(l->p, chunk->stream, &r, &never);
    }
    return NULL;
}

static bool has_any(const uint64_t *cell, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (cell[i])
            return true;
    return false;
}

/* The next column, of ids below LIMIT; NULL with a reason. Good until the next one. */
static const uint64_t *read_ids(struct loader *l, const struct row_chunk *chunk, size_t limit,
                                const char **ret_why)
{
    if (!columns_read(&l->rows, chunk->c, chunk->n, 1))
        *ret_why = LOADER_CUT_SHORT;
    else if (!columns_below(&l->rows, 0, limit))
        *ret_why = LOADER_BAD_ID;
    else
        return columns_get(&l->rows, 0);
    return NULL;
}

static const char *fill_ids(struct loader *l, const struct row_chunk *chunk, size_t first)
{
    struct rows *rows = &l->p->streams.at[chunk->stream]->rows;
    const char *why = NULL;
    const uint64_t *stack = read_ids(l, chunk, l->stacks.n, &why);
    for (size_t i = 0; stack && i < chunk->n; i++)
        rows->stack[first + i].i = l->stacks.at[stack[i]].id;
    const uint64_t *thread = stack ? read_ids(l, chunk, l->threads.n, &why) : NULL;
    for (size_t i = 0; thread && i < chunk->n; i++)
        rows->thread[first + i].i = l->threads.at[thread[i]];
    return why;
}

/* Columns of nothing but zeros are not made. */
static const char *fill_extras(struct loader *l, const struct row_chunk *chunk, size_t first)
{
    struct rows *rows = &l->p->streams.at[chunk->stream]->rows;
    const char *why = NULL;
    size_t n = chunk->n;
    if ((chunk->flags & ROWS_TIME) && !column_read(chunk->c, rows->time_ns + first, n))
        return LOADER_CUT_SHORT;
    if (chunk->flags & ROWS_DURATION) {
        if (!columns_read(&l->rows, chunk->c, n, 1))
            return LOADER_CUT_SHORT;
        const uint64_t *duration = columns_get(&l->rows, 0);
        if (has_any(duration, n)) {
            profile_make_rows(l->p, chunk->stream, 0, (struct row_extras){.duration = true});
            memcpy(rows->duration_ns + first, duration, n * sizeof *duration);
        }
    }
    if (chunk->flags & ROWS_ATTRS) {
        const uint64_t *attrs = read_ids(l, chunk, l->attrs.n, &why);
        bool any = attrs && has_any(attrs, n);
        if (any)
            profile_make_rows(l->p, chunk->stream, 0, (struct row_extras){.attrs = true});
        for (size_t i = 0; any && i < n; i++)
            rows->attrs[first + i].i = l->attrs.at[attrs[i]];
    }
    return why;
}

/* Totals are added to when all columns are good. */
static const char *fill_values(const struct row_chunk *chunk, struct stream *s, size_t first)
{
    uint64_t sum[STREAM_MAX_TYPES];
    for (int t = 0; t < s->n_types; t++) {
        uint64_t *cell = (uint64_t *)s->rows.value[t] + first;
        if (!column_read(chunk->c, cell, chunk->n))
            return LOADER_CUT_SHORT;
        if (!column_sum(cell, chunk->n, room_for(s, t), &sum[t]))
            return SUM_TOO_LARGE;
    }
    if (cursor_left(chunk->c))
        return LOADER_TOO_LONG;
    for (int t = 0; t < s->n_types; t++)
        s->types[t].total += (int64_t)sum[t];
    return NULL;
}

/* As if there had been no rows from FIRST on, which are bad, nor columns that only they made. */
static void take_back(struct rows *now, const struct rows *before, size_t first)
{
    now->n = first;
    if (!before->time_ns) {
        free(now->time_ns);
        now->time_ns = NULL;
    }
    if (!before->duration_ns) {
        free(now->duration_ns);
        now->duration_ns = NULL;
    }
    if (!before->attrs) {
        free(now->attrs);
        now->attrs = NULL;
    }
}

/* As many rows as will come, if they are like these: columns that grow are copied. */
static size_t rows_ahead(const struct loader *l, const struct row_chunk *chunk)
{
    enum { ROWS_AHEAD_MAX = 16 << 20 };
    uint64_t rows = l->left_bytes / (cursor_left(chunk->c) / chunk->n);
    return rows < ROWS_AHEAD_MAX ? (size_t)(rows + rows / 8) : ROWS_AHEAD_MAX;
}

/* Column by column and right to their place, which takes a third of the time. */
static const char *recording_append_rows(struct loader *l, const struct row_chunk *chunk)
{
    struct stream *s = l->p->streams.at[chunk->stream];
    struct rows before = s->rows;
    if (row_columns(chunk, s) > cursor_left(chunk->c) / chunk->n) /* a cell takes a byte or more */
        return LOADER_CUT_SHORT;
    struct row_extras with = {.time = chunk->flags & ROWS_TIME};
    profile_reserve_rows(l->p, chunk->stream, chunk->n + rows_ahead(l, chunk));
    size_t first = profile_make_rows(l->p, chunk->stream, chunk->n, with);
    const char *why = fill_ids(l, chunk, first);
    if (!why)
        why = fill_extras(l, chunk, first);
    if (!why)
        why = fill_values(chunk, s, first);
    if (why)
        take_back(&s->rows, &before, first);
    return why;
}

const char *recording_apply_rows(struct loader *l, struct cursor *c)
{
    uint64_t stream = cursor_varint(c), n = cursor_varint(c), n_types = cursor_varint(c),
             flags = cursor_varint(c);
    if (stream >= l->p->streams.n)
        return LOADER_BAD_ID;
    const struct stream *s = l->p->streams.at[stream];
    if (n_types != (uint64_t)s->n_types || flags > ROWS_FLAGS)
        return LOADER_BAD_VALUE;
    if (n > RECORDING_MAX_ROWS || n >= IDMAP_NONE - l->stream_rows.at[stream])
        return LOADER_TOO_MANY;
    if (c->bad)
        return LOADER_CUT_SHORT;
    struct row_chunk chunk = {.c = c, .n = n, .flags = flags, .stream = (int)stream};
    const char *why = NULL;
    if (n)
        why = l->p->merge_rows ? recording_merge_rows(l, &chunk) : recording_append_rows(l, &chunk);
    else if (cursor_left(c))
        why = LOADER_TOO_LONG;
    if (why)
        return why;
    l->stream_rows.at[stream] += n;
    if (l->sink && l->sink->take && l->sink->take(l->sink->to, l->p, (int)stream))
        profile_forget_rows_of(l->p, (int)stream);
    return NULL;
}

/* --- counters --- */

const char *recording_apply_counters(struct loader *l, struct cursor *c)
{
    enum { NAME, UNIT, DIMENSION, PROCESS, COLUMNS };
    uint64_t n = cursor_varint(c);
    if (n > PROFILE_MAX_COUNTERS - l->p->counters.n)
        return LOADER_TOO_MANY;
    if (!columns_read(&l->rows, c, n, COLUMNS))
        return LOADER_CUT_SHORT;
    if (cursor_left(c))
        return LOADER_TOO_LONG;
    if (!columns_below(&l->rows, NAME, l->strings.n) ||
        !columns_below(&l->rows, UNIT, l->strings.n) ||
        !columns_below(&l->rows, PROCESS, l->p->processes.n))
        return LOADER_BAD_ID;
    if (!columns_below(&l->rows, DIMENSION, DIMENSIONS))
        return LOADER_BAD_VALUE;
    for (size_t i = 0; i < n; i++)
        *vec_push(&l->p->counters) = (struct counter){
            .name.i = l->strings.at[columns_get(&l->rows, NAME)[i]],
            .unit.i = l->strings.at[columns_get(&l->rows, UNIT)[i]],
            .dimension = (enum dimension)columns_get(&l->rows, DIMENSION)[i],
            .process.i = (uint32_t)columns_get(&l->rows, PROCESS)[i],
        };
    return NULL;
}

static bool never_goes_back(const struct counter *c, const uint64_t *time, size_t n)
{
    uint64_t last = c->points.n ? c->points.at[c->points.n - 1].time_ns : 0;
    for (size_t i = 0; i < n; i++) {
        if (time[i] < last)
            return false;
        last = time[i];
    }
    return true;
}

const char *recording_apply_points(struct loader *l, struct cursor *c)
{
    uint64_t counter = cursor_varint(c), n = cursor_varint(c);
    if (counter >= l->p->counters.n)
        return LOADER_BAD_ID;
    if (n > RECORDING_MAX_ROWS)
        return LOADER_TOO_MANY;
    if (!columns_read(&l->rows, c, n, 2))
        return LOADER_CUT_SHORT;
    if (cursor_left(c))
        return LOADER_TOO_LONG;
    const uint64_t *time = columns_get(&l->rows, 0), *value = columns_get(&l->rows, 1);
    if (!never_goes_back(&l->p->counters.at[counter], time, n))
        return LOADER_BAD_VALUE;
    for (size_t i = 0; i < n; i++)
        profile_add_point(l->p, (int)counter, time[i], (int64_t)value[i]);
    return NULL;
}

/* --- the end --- */

bool recording_same_totals(const struct loader *l, struct cursor *c)
{
    const struct profile *p = l->p;
    bool same = cursor_varint(c) == p->streams.n;
    for (size_t i = 0; same && i < p->streams.n; i++) {
        const struct stream *s = p->streams.at[i];
        same &= cursor_varint(c) == l->stream_rows.at[i];
        same &= cursor_varint(c) == (uint64_t)s->n_types;
        for (int t = 0; t < s->n_types; t++)
            same &= cursor_varint(c) == (uint64_t)s->types[t].total;
    }
    same &= cursor_varint(c) == p->counters.n;
    for (size_t i = 0; same && i < p->counters.n; i++)
        same &= cursor_varint(c) == p->counters.at[i].points.n;
    return same;
}
