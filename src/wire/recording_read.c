#include "wire/column.h"
#include "wire/recording.h"

struct stack_ref {
    uint32_t id, depth;
};

/*
 * What a recording's ids are in the profile: the same, unless somebody made a file in which equal
 * rows stand twice. Frames may be equal and keep their ids.
 */
struct loader {
    struct profile *p;
    VEC(uint32_t) strings, mappings, functions, threads;
    VEC(struct stack_ref) stacks;
    uint64_t samples; /* rows; the profile has fewer when it merges */
    struct columns rows, lines;
    VEC(struct line) frame_lines; /* scratch for one frame */
    bool ended;
};

static const char cut_short[] = "it has fewer rows than it says";
static const char too_many[] = "it has more rows than a chunk may have";
static const char too_long[] = "it has bytes behind its last row";
static const char bad_id[] = "it names something that is not in the file";
static const char bad_value[] = "a value is out of its range";

/*
 * Each apply function below takes one chunk's payload. It returns NULL, or why the payload makes no
 * sense, and in that case has changed nothing. What has been checked is then added without fail.
 */

/* Rows of K columns. HAVE is the size of the table they will go to. */
static const char *read_rows(struct loader *l, struct cursor *c, size_t k, size_t have)
{
    uint64_t n = cursor_varint(c);
    if (n > RECORDING_MAX_ROWS || n >= IDMAP_NONE - (uint64_t)have)
        return too_many;
    return columns_read(&l->rows, c, n, k) ? NULL : cut_short;
}

/* The same where nothing may follow. */
static const char *read_table(struct loader *l, struct cursor *c, size_t k, size_t have)
{
    const char *why = read_rows(l, c, k, have);
    return why ? why : cursor_left(c) ? too_long : NULL;
}

static const char *apply_strings(struct loader *l, struct cursor *c)
{
    const char *why = read_rows(l, c, 1, l->strings.n);
    uint64_t sum;
    if (why)
        return why;
    if (!columns_sum(&l->rows, 0, cursor_left(c), &sum))
        return cut_short;
    if (sum != cursor_left(c))
        return too_long;
    const uint64_t *length = columns_get(&l->rows, 0);
    for (size_t i = 0; i < l->rows.n; i++)
        *vec_push(&l->strings) = profile_add_str(l->p, cursor_bytes(c, length[i])).i;
    return NULL;
}

static const char *apply_mappings(struct loader *l, struct cursor *c)
{
    enum { PATH, BUILD_ID, START, END, OFFSET, COLUMNS };
    const char *why = read_table(l, c, COLUMNS, l->mappings.n);
    if (why)
        return why;
    if (!columns_below(&l->rows, PATH, l->strings.n) ||
        !columns_below(&l->rows, BUILD_ID, l->strings.n))
        return bad_id;
    for (size_t i = 0; i < l->rows.n; i++) {
        struct mapping m = {
            .path.i = l->strings.at[columns_get(&l->rows, PATH)[i]],
            .build_id.i = l->strings.at[columns_get(&l->rows, BUILD_ID)[i]],
            .start = columns_get(&l->rows, START)[i],
            .end = columns_get(&l->rows, END)[i],
            .offset = columns_get(&l->rows, OFFSET)[i],
        };
        *vec_push(&l->mappings) = profile_add_mapping(l->p, &m).i;
    }
    return NULL;
}

static const char *apply_functions(struct loader *l, struct cursor *c)
{
    enum { NAME, SYSTEM_NAME, FILE_NAME, LINE, COLUMNS };
    const char *why = read_table(l, c, COLUMNS, l->functions.n);
    if (why)
        return why;
    for (int k = NAME; k <= FILE_NAME; k++)
        if (!columns_below(&l->rows, (size_t)k, l->strings.n))
            return bad_id;
    if (!columns_below(&l->rows, LINE, UINT32_MAX + 1ull))
        return bad_value;
    for (size_t i = 0; i < l->rows.n; i++) {
        struct function f = {
            .name.i = l->strings.at[columns_get(&l->rows, NAME)[i]],
            .system_name.i = l->strings.at[columns_get(&l->rows, SYSTEM_NAME)[i]],
            .file.i = l->strings.at[columns_get(&l->rows, FILE_NAME)[i]],
            .line = (uint32_t)columns_get(&l->rows, LINE)[i],
        };
        *vec_push(&l->functions) = profile_add_function(l->p, &f).i;
    }
    return NULL;
}

/* --- frames --- */

enum { LINE_FUNCTION, LINE_LINE, LINE_COLUMN, LINE_COLUMNS };

/* The lines behind a table of frames whose column N_LINES says how many each has. */
static const char *read_lines(struct loader *l, struct cursor *c, size_t n_lines)
{
    uint64_t sum, n = cursor_varint(c);
    if (!columns_below(&l->rows, n_lines, PROFILE_MAX_FRAME_LINES + 1))
        return bad_value;
    if (n > RECORDING_MAX_LINES)
        return too_many;
    if (!columns_read(&l->lines, c, n, LINE_COLUMNS))
        return cut_short;
    if (!columns_sum(&l->rows, n_lines, n, &sum) || sum != n)
        return "its frames do not have the lines that it holds";
    if (cursor_left(c))
        return too_long;
    if (!columns_below(&l->lines, LINE_FUNCTION, l->functions.n))
        return bad_id;
    if (!columns_below(&l->lines, LINE_LINE, UINT32_MAX + 1ull) ||
        !columns_below(&l->lines, LINE_COLUMN, UINT32_MAX + 1ull) || l->p->lines.n + n > UINT32_MAX)
        return bad_value;
    return NULL;
}

static const struct line *lines_from(struct loader *l, size_t from, size_t n)
{
    l->frame_lines.n = 0;
    for (size_t i = from; i < from + n; i++)
        *vec_push(&l->frame_lines) = (struct line){
            .function.i = l->functions.at[columns_get(&l->lines, LINE_FUNCTION)[i]],
            .line = (uint32_t)columns_get(&l->lines, LINE_LINE)[i],
            .column = (uint32_t)columns_get(&l->lines, LINE_COLUMN)[i],
        };
    return l->frame_lines.at;
}

enum { FRAME_PC, FRAME_MAPPING, FRAME_KIND, FRAME_N_LINES, FRAME_COLUMNS };

/* Frames whose columns start at column K: 0 for new ones, 1 behind a column of old ids. */
static const char *apply_frames_at(struct loader *l, struct cursor *c, size_t k)
{
    const char *why = read_rows(l, c, k + FRAME_COLUMNS, l->p->frames.n);
    if (!why)
        why = read_lines(l, c, k + FRAME_N_LINES);
    if (why)
        return why;
    if (!columns_below(&l->rows, k + FRAME_MAPPING, l->mappings.n) ||
        (k && !columns_below(&l->rows, 0, l->p->frames.n)))
        return bad_id;
    if (!columns_below(&l->rows, k + FRAME_KIND, FRAME_KINDS))
        return bad_value;
    for (size_t i = 0, line = 0; i < l->rows.n; i++) {
        struct frame_key key = {
            .pc = columns_get(&l->rows, k + FRAME_PC)[i],
            .mapping.i = l->mappings.at[columns_get(&l->rows, k + FRAME_MAPPING)[i]],
            .kind = (enum frame_kind)columns_get(&l->rows, k + FRAME_KIND)[i],
            .n_lines = columns_get(&l->rows, k + FRAME_N_LINES)[i],
        };
        key.lines = lines_from(l, line, key.n_lines);
        line += key.n_lines;
        struct frame_id id = k ? (struct frame_id){(uint32_t)columns_get(&l->rows, 0)[i]}
                               : profile_reserve_frame(l->p);
        profile_set_frame(l->p, id, &key);
    }
    return NULL;
}

static const char *apply_frames(struct loader *l, struct cursor *c)
{
    return apply_frames_at(l, c, 0);
}

static const char *apply_frame_updates(struct loader *l, struct cursor *c)
{
    return apply_frames_at(l, c, 1);
}

/* --- threads and stacks --- */

static bool all_int32(const uint64_t *cell, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((int64_t)cell[i] != (int32_t)cell[i])
            return false;
    return true;
}

static const char *apply_threads(struct loader *l, struct cursor *c)
{
    enum { NAME, PID, TID, COLUMNS };
    const char *why = read_table(l, c, COLUMNS, l->threads.n);
    if (why)
        return why;
    const uint64_t *name = columns_get(&l->rows, NAME), *pid = columns_get(&l->rows, PID),
                   *tid = columns_get(&l->rows, TID);
    if (!columns_below(&l->rows, NAME, l->strings.n))
        return bad_id;
    if (!all_int32(pid, l->rows.n) || !all_int32(tid, l->rows.n))
        return bad_value;
    for (size_t i = 0; i < l->rows.n; i++) {
        struct thread t = {{l->strings.at[name[i]]}, (int32_t)pid[i], (int32_t)tid[i]};
        *vec_push(&l->threads) = profile_add_thread(l->p, &t).i;
    }
    return NULL;
}

static const char *apply_stacks(struct loader *l, struct cursor *c)
{
    enum { PARENT, FRAME, COLUMNS };
    const char *why = read_table(l, c, COLUMNS, l->stacks.n);
    if (why)
        return why;
    if (!columns_below(&l->rows, FRAME, l->p->frames.n))
        return bad_id;
    const uint64_t *parent = columns_get(&l->rows, PARENT), *frame = columns_get(&l->rows, FRAME);
    size_t old = l->stacks.n;
    for (size_t i = 0; i < l->rows.n; i++) {
        bool known = parent[i] < l->stacks.n;
        uint32_t depth = known ? l->stacks.at[parent[i]].depth + 1 : 0;
        if (!known || depth > RECORDING_MAX_DEPTH) {
            l->stacks.n = old;
            return known ? "a stack is deeper than 100000 frames" : bad_id;
        }
        *vec_push(&l->stacks) = (struct stack_ref){.depth = depth};
    }
    for (size_t i = 0; i < l->rows.n; i++)
        l->stacks.at[old + i].id =
            stacks_push(&l->p->stacks, (struct stack_id){l->stacks.at[parent[i]].id},
                        (struct frame_id){(uint32_t)frame[i]})
                .i;
    return NULL;
}

/* --- types and samples --- */

enum { TYPE_EVENT, TYPE_NAME, TYPE_UNIT, TYPE_DECIMALS, TYPE_COUNT_TYPE, TYPE_COLUMNS };
enum { DECIMALS_MAX = 18 };

/* Whether TOTAL may be rescaled by so many digits; a column's values are no greater. */
static bool can_rescale(int64_t total, int digits)
{
    while (digits-- > 0)
        if (__builtin_mul_overflow(total, 10, &total))
            return false;
    return true;
}

static const char *check_types(struct loader *l, uint64_t default_plus_1)
{
    const struct profile *p = l->p;
    const uint64_t *decimals = columns_get(&l->rows, TYPE_DECIMALS);
    size_t n = l->rows.n;
    for (size_t k = TYPE_EVENT; k <= TYPE_UNIT; k++)
        if (!columns_below(&l->rows, k, l->strings.n))
            return bad_id;
    if (n < (size_t)p->n_types || n > PROFILE_MAX_TYPES || default_plus_1 > n ||
        !columns_below(&l->rows, TYPE_DECIMALS, DECIMALS_MAX + 1) ||
        !columns_below(&l->rows, TYPE_COUNT_TYPE, n + 1))
        return bad_value;
    for (int i = 0; i < p->n_types; i++)
        if ((int)decimals[i] < p->types[i].decimals ||
            !can_rescale(p->types[i].total, (int)decimals[i] - p->types[i].decimals))
            return bad_value;
    return NULL;
}

static void set_type(struct loader *l, int i)
{
    struct sample_type *t = &l->p->types[i];
    int64_t zero;
    struct err never; /* can_rescale() has said yes */
    profile_scale_value(l->p, i, 0, (int)columns_get(&l->rows, TYPE_DECIMALS)[i], &zero, &never);
    t->event.i = l->strings.at[columns_get(&l->rows, TYPE_EVENT)[i]];
    t->name.i = l->strings.at[columns_get(&l->rows, TYPE_NAME)[i]];
    t->unit.i = l->strings.at[columns_get(&l->rows, TYPE_UNIT)[i]];
    t->count_type = (int)columns_get(&l->rows, TYPE_COUNT_TYPE)[i] - 1;
}

static const char *apply_types(struct loader *l, struct cursor *c)
{
    uint64_t default_plus_1 = cursor_varint(c);
    const char *why = read_table(l, c, TYPE_COLUMNS, 0);
    if (!why)
        why = check_types(l, default_plus_1);
    if (why)
        return why;
    while ((size_t)l->p->n_types < l->rows.n)
        profile_add_type(l->p, "", "", "");
    for (int i = 0; i < l->p->n_types; i++)
        set_type(l, i);
    l->p->default_type = (int)default_plus_1 - 1;
    return NULL;
}

/* Columns of samples: stack, thread, time if there is one, then the values from FIRST on. */
static const char *check_samples(const struct loader *l, size_t first)
{
    if (!columns_below(&l->rows, 0, l->stacks.n) || !columns_below(&l->rows, 1, l->threads.n))
        return bad_id;
    for (int t = 0; t < l->p->n_types; t++) {
        uint64_t sum, room = (uint64_t)(INT64_MAX - l->p->types[t].total);
        if (!columns_sum(&l->rows, first + (size_t)t, room, &sum))
            return "the sum of its values does not fit 64 bits";
    }
    return NULL;
}

static void add_samples(struct loader *l, bool has_time)
{
    const uint64_t *stack = columns_get(&l->rows, 0), *thread = columns_get(&l->rows, 1),
                   *time = columns_get(&l->rows, 2), *value = has_time ? time + l->rows.n : time;
    int64_t values[PROFILE_MAX_TYPES];
    struct err never; /* check_samples() has summed them */
    for (size_t i = 0; i < l->rows.n; i++) {
        for (size_t t = 0; t < (size_t)l->p->n_types; t++)
            values[t] = (int64_t)value[t * l->rows.n + i];
        struct sample s = {
            .stack.i = l->stacks.at[stack[i]].id,
            .thread.i = l->threads.at[thread[i]],
            .has_time = has_time,
            .time_ns = has_time ? time[i] : 0,
            .values = values,
        };
        profile_add_sample(l->p, &s, &never);
    }
}

static const char *apply_samples(struct loader *l, struct cursor *c)
{
    uint64_t n = cursor_varint(c), n_types = cursor_varint(c), has_time = cursor_varint(c);
    if (n_types != (uint64_t)l->p->n_types || has_time > 1)
        return bad_value;
    if (n > RECORDING_MAX_ROWS || n >= IDMAP_NONE - l->samples)
        return too_many;
    if (!columns_read(&l->rows, c, n, 2 + has_time + n_types))
        return cut_short;
    if (cursor_left(c))
        return too_long;
    const char *why = check_samples(l, 2 + has_time);
    if (why)
        return why;
    add_samples(l, has_time);
    l->samples += n;
    return NULL;
}

/* --- meta and the end --- */

static const char *apply_meta(struct loader *l, struct cursor *c)
{
    uint64_t n = cursor_varint(c);
    struct cursor check = *c;
    for (uint64_t i = 0; i < 2 * n && !check.bad; i++)
        cursor_bytes(&check, cursor_varint(&check));
    if (check.bad)
        return cut_short;
    if (cursor_left(&check))
        return too_long;
    if (n > RECORDING_MAX_META || l->p->meta.entries.n + n > 2ull * RECORDING_MAX_META)
        return bad_value;
    for (uint64_t i = 0; i < n; i++) {
        struct text key = cursor_bytes(c, cursor_varint(c));
        struct text value = cursor_bytes(c, cursor_varint(c));
        autofree char *name = mem_strndup(key.at, key.n);
        meta_set(&l->p->meta, name, value);
    }
    return NULL;
}

static const char *apply_end(struct loader *l, struct cursor *c)
{
    const uint64_t rows[] = {l->strings.n, l->mappings.n, l->functions.n, l->p->frames.n,
                             l->threads.n, l->stacks.n,   l->samples};
    bool same = true;
    for (int i = 0; i < RECORDING_TABLES; i++)
        same &= cursor_varint(c) == rows[i];
    same &= cursor_varint(c) == (uint64_t)l->p->n_types;
    for (int i = 0; i < l->p->n_types; i++)
        same &= cursor_varint(c) == (uint64_t)l->p->types[i].total;
    l->ended = same && !c->bad && !cursor_left(c);
    return l->ended ? NULL : "what it says about the whole file is not what was read";
}

static const struct {
    char type[5];
    const char *(*apply)(struct loader *l, struct cursor *c);
} kinds[] = {
    {"META", apply_meta},      {"STRS", apply_strings}, {"MAPS", apply_mappings},
    {"FUNC", apply_functions}, {"FRAM", apply_frames},  {"FSET", apply_frame_updates},
    {"THRD", apply_threads},   {"STCK", apply_stacks},  {"TYPE", apply_types},
    {"SMPL", apply_samples},   {"END.", apply_end},
};

static const char *apply(struct loader *l, const struct chunk *chunk, bool *ret_known)
{
    struct cursor c = cursor_of(chunk->payload.at, chunk->payload.n);
    *ret_known = true;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (memcmp(kinds[i].type, chunk->type, 4) == 0)
            return kinds[i].apply(l, &c);
    *ret_known = false;
    return NULL;
}

static void say_stop(struct recording_state *ret, const struct chunk_reader *r,
                     enum chunk_status status, const char *why)
{
    unsigned long long start = r->start, end = reader_offset(r->in) + r->in->end - r->in->start;
    if (status == CHUNK_CUT)
        snprintf(ret->why, sizeof ret->why,
                 "cut off at byte %llu, within a chunk that starts at byte %llu", end, start);
    else if (status == CHUNK_END)
        snprintf(ret->why, sizeof ret->why, "not closed: it ends at byte %llu without a last chunk",
                 start);
    else
        snprintf(ret->why, sizeof ret->why, "damaged in a chunk at byte %llu: %s", start, why);
}

static void read_chunks(struct loader *l, struct chunk_reader *r, struct recording_state *ret)
{
    enum chunk_status status;
    struct chunk chunk;
    const char *why = NULL;
    while (!l->ended && (status = chunk_read(r, &chunk)) == CHUNK_OK) {
        bool known;
        why = apply(l, &chunk, &known);
        if (why)
            break;
        ret->chunks++;
        ret->unknown_chunks += !known;
    }
    ret->complete = l->ended;
    if (l->ended)
        ret->trailing = reader_peek(r->in, 1).n > 0;
    else
        say_stop(ret, r, status, why ? why : r->why);
}

int recording_read(struct reader *in, struct profile *p, struct recording_state *ret,
                   struct err *err)
{
    struct chunk_reader r;
    *ret = (struct recording_state){0};
    if (chunk_reader_init(&r, in, err) != 0)
        return -1;
    struct loader l = {.p = p};
    *vec_push(&l.strings) = 0;
    *vec_push(&l.mappings) = 0;
    *vec_push(&l.functions) = 0;
    *vec_push(&l.threads) = 0;
    *vec_push(&l.stacks) = (struct stack_ref){0};
    read_chunks(&l, &r, ret);
    vec_done(&l.strings);
    vec_done(&l.mappings);
    vec_done(&l.functions);
    vec_done(&l.threads);
    vec_done(&l.stacks);
    vec_done(&l.frame_lines);
    columns_done(&l.rows);
    columns_done(&l.lines);
    chunk_reader_done(&r);
    return 0;
}
