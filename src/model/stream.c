/* stream.c - streams of a profile, their columns and rows; see stream.h and profile.h. */
#include "model/profile.h"
#include "model/stream_inner.h"

int stream_samples(const struct stream *s)
{
    for (int i = 0; i < s->n_types; i++)
        if (s->types[i].role == ROLE_SAMPLES)
            return i;
    return -1;
}

bool stream_has_every_event(const struct stream *s)
{
    int counts = stream_samples(s);
    if ((s->obtained != BY_TRACE && s->obtained != BY_SOFTWARE_EVENT) || counts < 0 ||
        s->rate_hz > 0 || !s->lost_known || s->lost)
        return false;
    for (int i = 0; i < s->n_types; i++)
        if (i != counts && s->types[i].dimension == DIM_COUNT &&
            s->types[i].total == s->types[counts].total)
            return true;
    return false;
}

uint64_t stream_unfinished(const struct stream *s)
{
    uint64_t n = 0;
    for (int i = 0; i < s->n_unfinished; i++)
        n += s->unfinished[i].n;
    return n;
}

static void rows_free(struct rows *r)
{
    free(r->stack);
    free(r->thread);
    free(r->time_ns);
    free(r->duration_ns);
    free(r->attrs);
    for (int i = 0; i < STREAM_MAX_TYPES; i++)
        free(r->value[i]);
}

void stream_free(struct stream *s)
{
    if (!s)
        return;
    rows_free(&s->rows);
    idmap_done(&s->row_map);
    free(s);
}

int profile_add_stream(struct profile *p, const char *event, enum obtained obtained)
{
    if (p->streams.n == PROFILE_MAX_STREAMS)
        return -1;
    struct stream *s = mem_new(struct stream);
    s->event = profile_add_str(p, text_of(event));
    s->obtained = obtained;
    *vec_push(&p->streams) = s;
    return (int)p->streams.n - 1;
}

int profile_add_value(struct profile *p, int stream, const char *name, const char *unit)
{
    struct stream *s = p->streams.at[stream];
    if (s->n_types == STREAM_MAX_TYPES)
        return -1;
    int i = s->n_types++;
    enum dimension d = dimension_of_unit(text_of(unit));
    s->types[i] = (struct value_type){
        .name = profile_add_str(p, text_of(name)),
        .unit = profile_add_str(p, text_of(unit)),
        .dimension = d,
        .role = value_role_of(text_of(name), d),
    };
    if (s->rows.cap)
        s->rows.value[i] = mem_calloc(s->rows.cap, sizeof(int64_t));
    return i;
}

void profile_set_unfinished(struct profile *p, int stream, const char *why, uint64_t n)
{
    struct stream *s = p->streams.at[stream];
    struct str_id id = profile_add_str(p, text_of(why));
    s->unfinished_known = true;
    for (int i = 0; i < s->n_unfinished; i++) {
        if (s->unfinished[i].why.i == id.i) {
            s->unfinished[i].n = n;
            return;
        }
    }
    if (n && s->n_unfinished < STREAM_MAX_ENDS)
        s->unfinished[s->n_unfinished++] = (struct unfinished){id, n};
}

int profile_find_stream(const struct profile *p, const char *event)
{
    for (size_t i = 0; i < p->streams.n; i++)
        if (text_is(profile_str(p, p->streams.at[i]->event), event))
            return (int)i;
    return -1;
}

int profile_find_column(const struct profile *p, int stream, const char *name)
{
    const struct stream *s = p->streams.at[stream];
    for (int i = 0; i < s->n_types; i++)
        if (text_is(profile_str(p, s->types[i].name), name))
            return i;
    return -1;
}

bool profile_is_ns(const struct profile *p, const struct value_type *t)
{
    return t->dimension == DIM_TIME && !t->decimals && text_is(profile_str(p, t->unit), UNIT_TIME);
}

bool profile_counts(const struct profile *p, const struct counter *c)
{
    return text_is(profile_str(p, c->unit), UNIT_COUNT);
}

/* --- rows --- */

static void *grow_column(void *old, size_t size_bytes)
{
    enum { LARGE_BYTES = 4 << 20 };
    void *column = mem_realloc(old, size_bytes);
    if (size_bytes >= LARGE_BYTES)
        mem_want_huge_pages(column, size_bytes);
    return column;
}

static void grow_rows(struct stream *s, size_t n)
{
    struct rows *r = &s->rows;
    size_t cap = r->cap + r->cap / 2;
    cap = cap < 64 ? 64 : cap;
    cap = cap < r->n + n ? r->n + n : cap;
    r->stack = grow_column(r->stack, cap * sizeof *r->stack);
    r->thread = grow_column(r->thread, cap * sizeof *r->thread);
    if (r->time_ns)
        r->time_ns = grow_column(r->time_ns, cap * sizeof *r->time_ns);
    if (r->duration_ns)
        r->duration_ns = grow_column(r->duration_ns, cap * sizeof *r->duration_ns);
    if (r->attrs)
        r->attrs = grow_column(r->attrs, cap * sizeof *r->attrs);
    for (int i = 0; i < s->n_types; i++)
        r->value[i] = grow_column(r->value[i], cap * sizeof *r->value[i]);
    r->cap = cap;
}

static uint32_t hash_row(const struct row *r)
{
    return hash_pair(hash_pair(r->stack.i, r->thread.i), r->attrs.i);
}

static bool is_row(const struct rows *rows, size_t i, const struct row *r)
{
    return rows->stack[i].i == r->stack.i && rows->thread[i].i == r->thread.i &&
           (rows->attrs ? rows->attrs[i].i : 0) == r->attrs.i;
}

size_t profile_find_row(const struct profile *p, int stream, const struct row *r)
{
    const struct stream *s = p->streams.at[stream];
    for_each_match (&s->row_map, hash_row(r), id) {
        if (is_row(&s->rows, id, r))
            return id;
    }
    return SIZE_MAX;
}

/* Where R was put the last time, if the caller remembers, spares the search. */
static size_t old_row(const struct profile *p, int stream, const struct row *r)
{
    const struct rows *rows = &p->streams.at[stream]->rows;
    size_t row = r->hint ? *r->hint : SIZE_MAX;
    if (row < rows->n && is_row(rows, row, r))
        return row;
    return profile_find_row(p, stream, r);
}

/* The optional columns: each is made by the first row that has something there. */
static void set_extras(struct rows *rows, size_t i, const struct row *r, bool merged)
{
    bool has_time = r->has_time && !merged;
    if (has_time && !rows->time_ns)
        rows->time_ns = mem_calloc(rows->cap, sizeof *rows->time_ns);
    if (rows->time_ns)
        rows->time_ns[i] = has_time ? r->time_ns : 0;
    if (r->duration_ns && !merged && !rows->duration_ns)
        rows->duration_ns = mem_calloc(rows->cap, sizeof *rows->duration_ns);
    if (rows->duration_ns)
        rows->duration_ns[i] = r->duration_ns;
    if (r->attrs.i && !rows->attrs)
        rows->attrs = mem_calloc(rows->cap, sizeof *rows->attrs);
    if (rows->attrs)
        rows->attrs[i] = r->attrs;
}

/* The row for R: an old one when rows are merged, else a new one. */
static size_t row_for(struct profile *p, int stream, const struct row *r)
{
    struct stream *s = p->streams.at[stream];
    size_t old = p->merge_rows ? old_row(p, stream, r) : SIZE_MAX;
    if (old != SIZE_MAX)
        return old;
    if (s->rows.n == s->rows.cap)
        grow_rows(s, 1);
    size_t i = s->rows.n++;
    s->rows.stack[i] = r->stack;
    s->rows.thread[i] = r->thread;
    for (int k = 0; k < s->n_types; k++)
        s->rows.value[k][i] = 0;
    set_extras(&s->rows, i, r, p->merge_rows);
    if (p->merge_rows)
        idmap_add(&s->row_map, hash_row(r), (uint32_t)i);
    return i;
}

int profile_add_row(struct profile *p, int stream, const struct row *r, struct err *err)
{
    struct stream *s = p->streams.at[stream];
    for (int i = 0; i < s->n_types; i++) {
        int64_t sum;
        if (__builtin_add_overflow(s->types[i].total, r->values[i], &sum))
            return err_set(err, EXIT_INPUT, "the sum of all '%s' values does not fit 64 bits",
                           profile_str(p, s->types[i].name).at);
    }
    size_t row = row_for(p, stream, r);
    if (r->hint)
        *r->hint = (uint32_t)row;
    for (int i = 0; i < s->n_types; i++) {
        s->types[i].total += r->values[i];
        s->rows.value[i][row] += r->values[i];
    }
    return 0;
}

/* NULL becomes a column of zeros. */
#define MAKE_COLUMN(column, cap) ((column) ? (column) : mem_calloc(cap, sizeof *(column)))

void profile_reserve_rows(struct profile *p, int stream, size_t n)
{
    struct stream *s = p->streams.at[stream];
    if (s->rows.cap < s->rows.n + n / 2)
        grow_rows(s, n);
}

size_t profile_make_rows(struct profile *p, int stream, size_t n, struct row_extras with)
{
    struct stream *s = p->streams.at[stream];
    struct rows *r = &s->rows;
    size_t first = r->n;
    if (n > r->cap - r->n)
        grow_rows(s, n);
    if (with.time)
        r->time_ns = MAKE_COLUMN(r->time_ns, r->cap);
    else if (r->time_ns)
        memset(r->time_ns + first, 0, n * sizeof *r->time_ns);
    if (with.duration)
        r->duration_ns = MAKE_COLUMN(r->duration_ns, r->cap);
    else if (r->duration_ns)
        memset(r->duration_ns + first, 0, n * sizeof *r->duration_ns);
    if (with.attrs)
        r->attrs = MAKE_COLUMN(r->attrs, r->cap);
    else if (r->attrs)
        memset(r->attrs + first, 0, n * sizeof *r->attrs);
    r->n += n;
    return first;
}

static bool times_ten(int64_t *v, int n)
{
    while (n-- > 0)
        if (__builtin_mul_overflow(*v, 10, v))
            return false;
    return true;
}

int profile_scale_value(struct profile *p, struct value_ref ref, int64_t value, int decimals,
                        int64_t *ret_value, struct err *err)
{
    struct stream *s = p->streams.at[ref.stream];
    struct value_type *t = &s->types[ref.type];
    int64_t total = t->total;
    int more = decimals - t->decimals;
    if (!times_ten(&value, -more) || !times_ten(&total, more))
        return err_set(err, EXIT_INPUT, "the values have too many digits to sum exactly");
    if (more > 0) {
        for (size_t i = 0; i < s->rows.n; i++)
            times_ten(&s->rows.value[ref.type][i], more);
        t->total = total;
        t->decimals = decimals;
    }
    *ret_value = value;
    return 0;
}

void profile_forget_rows_of(struct profile *p, int stream)
{
    struct rows *r = &p->streams.at[stream]->rows;
    r->forgotten += r->n;
    r->n = 0;
}

void profile_forget_rows(struct profile *p)
{
    for (size_t i = 0; i < p->streams.n; i++)
        profile_forget_rows_of(p, (int)i);
}

size_t profile_programs(const struct profile *p, const char **ret, size_t n)
{
    size_t have = 0;
    for (size_t i = 0; i < p->processes.n && have < n; i++) {
        const char *path = profile_str(p, p->processes.at[i].executable).at;
        bool known = path[0] != '/';
        for (size_t k = 0; k < have && !known; k++)
            known = strcmp(ret[k], path) == 0;
        if (!known)
            ret[have++] = path;
    }
    if (!have)
        ret[have++] = "/";
    return have;
}

size_t profile_count_rows(const struct profile *p)
{
    size_t n = 0;
    for (size_t i = 0; i < p->streams.n; i++)
        n += p->streams.at[i]->rows.forgotten + p->streams.at[i]->rows.n;
    return n;
}

/* Row I of a stream as it could be added again. VALUES has room for all columns. */
static struct row row_at(const struct stream *s, size_t i, int64_t *values)
{
    const struct rows *r = &s->rows;
    for (int k = 0; k < s->n_types; k++)
        values[k] = r->value[k][i];
    return (struct row){
        .stack = r->stack[i],
        .thread = r->thread[i],
        .attrs = r->attrs ? r->attrs[i] : (struct attrs_id){0},
        .has_time = r->time_ns != NULL,
        .time_ns = r->time_ns ? r->time_ns[i] : 0,
        .duration_ns = r->duration_ns ? r->duration_ns[i] : 0,
        .values = values,
    };
}

int profile_join_streams(struct profile *p, int to, int from, struct err *err)
{
    struct stream *s = p->streams.at[to], *old = p->streams.at[from];
    int64_t values[STREAM_MAX_TYPES];
    for (size_t i = 0; i < old->rows.n; i++) {
        struct row row = row_at(old, i, values);
        if (profile_add_row(p, to, &row, err) != 0)
            return -1;
    }
    s->lost += old->lost;
    s->throttled += old->throttled;
    stream_free(old);
    size_t behind = p->streams.n - (size_t)from - 1;
    memmove(&p->streams.at[from], &p->streams.at[from + 1], behind * sizeof *p->streams.at);
    p->streams.n--;
    return 0;
}

void profile_label_rows(struct profile *p, int stream, const char *key, struct text value)
{
    struct rows *r = &p->streams.at[stream]->rows;
    struct attr attr = {.key = profile_add_str(p, text_of(key)), .text = profile_add_str(p, value)};
    if (!r->attrs)
        r->attrs = mem_calloc(r->cap, sizeof *r->attrs);
    for (size_t i = 0; i < r->n; i++)
        r->attrs[i] = attrs_add(&p->attrs, r->attrs[i], &attr);
}

/* --- counters --- */

int profile_add_counter(struct profile *p, const char *name, const char *unit,
                        struct process_id process)
{
    if (p->counters.n == PROFILE_MAX_COUNTERS)
        return -1;
    *vec_push(&p->counters) = (struct counter){
        .name = profile_add_str(p, text_of(name)),
        .unit = profile_add_str(p, text_of(unit)),
        .dimension = dimension_of_unit(text_of(unit)),
        .process = process,
    };
    return (int)p->counters.n - 1;
}

void profile_add_point(struct profile *p, int counter, uint64_t time_ns, int64_t value)
{
    *vec_push(&p->counters.at[counter].points) = (struct counter_point){time_ns, value};
}

void stream_clear(struct stream *s)
{
    s->rows.forgotten = s->rows.n = 0;
    for (int k = 0; k < s->n_types; k++)
        s->types[k].total = 0;
    s->n_unfinished = 0;
}
