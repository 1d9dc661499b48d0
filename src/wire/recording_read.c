#include "model/packed.h"
#include "wire/recording_inner.h"

/* Rows of K columns. HAVE is the size of the table they will go to. */
static const char *read_rows(struct loader *l, struct cursor *c, size_t k, size_t have)
{
    uint64_t n = cursor_varint(c);
    if (n > RECORDING_MAX_ROWS || n >= IDMAP_NONE - (uint64_t)have)
        return LOADER_TOO_MANY;
    return columns_read(&l->rows, c, n, k) ? NULL : LOADER_CUT_SHORT;
}

/* The same where nothing may follow. */
static const char *recording_read_table(struct loader *l, struct cursor *c, size_t k, size_t have)
{
    const char *why = read_rows(l, c, k, have);
    return why ? why : cursor_left(c) ? LOADER_TOO_LONG : NULL;
}

static const char *apply_strings(struct loader *l, struct cursor *c)
{
    const char *why = read_rows(l, c, 1, l->strings.n);
    uint64_t sum;
    if (why)
        return why;
    if (!columns_sum(&l->rows, 0, cursor_left(c), &sum))
        return LOADER_CUT_SHORT;
    if (sum != cursor_left(c))
        return LOADER_TOO_LONG;
    const uint64_t *length = columns_get(&l->rows, 0);
    vec_reserve(&l->strings, l->rows.n);
    vec_reserve(&l->p->strings.strings, l->rows.n);
    for (size_t i = 0; i < l->rows.n; i++)
        *vec_push(&l->strings) = profile_add_str(l->p, cursor_bytes(c, length[i])).i;
    return NULL;
}

static const char *apply_mappings(struct loader *l, struct cursor *c)
{
    enum { PATH, BUILD_ID, START, END, OFFSET, COLUMNS };
    const char *why = recording_read_table(l, c, COLUMNS, l->mappings.n);
    if (why)
        return why;
    if (!columns_below(&l->rows, PATH, l->strings.n) ||
        !columns_below(&l->rows, BUILD_ID, l->strings.n))
        return LOADER_BAD_ID;
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
    const char *why = recording_read_table(l, c, COLUMNS, l->functions.n);
    if (why)
        return why;
    for (int k = NAME; k <= FILE_NAME; k++)
        if (!columns_below(&l->rows, (size_t)k, l->strings.n))
            return LOADER_BAD_ID;
    if (!columns_below(&l->rows, LINE, UINT32_MAX + 1ull))
        return LOADER_BAD_VALUE;
    vec_reserve(&l->functions, l->rows.n);
    vec_reserve(&l->p->functions, l->rows.n);
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
static const char *recording_read_lines(struct loader *l, struct cursor *c, size_t n_lines)
{
    uint64_t sum, n = cursor_varint(c);
    if (!columns_below(&l->rows, n_lines, PROFILE_MAX_FRAME_LINES + 1))
        return LOADER_BAD_VALUE;
    if (n > RECORDING_MAX_LINES)
        return LOADER_TOO_MANY;
    if (!columns_read(&l->lines, c, n, LINE_COLUMNS))
        return LOADER_CUT_SHORT;
    if (!columns_sum(&l->rows, n_lines, n, &sum) || sum != n)
        return "its frames do not have the lines that it holds";
    if (cursor_left(c))
        return LOADER_TOO_LONG;
    if (!columns_below(&l->lines, LINE_FUNCTION, l->functions.n))
        return LOADER_BAD_ID;
    if (!columns_below(&l->lines, LINE_LINE, UINT32_MAX + 1ull) ||
        !columns_below(&l->lines, LINE_COLUMN, UINT32_MAX + 1ull) || l->p->lines.n + n > UINT32_MAX)
        return LOADER_BAD_VALUE;
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
        why = recording_read_lines(l, c, k + FRAME_N_LINES);
    if (why)
        return why;
    if (!columns_below(&l->rows, k + FRAME_MAPPING, l->mappings.n) ||
        (k && !columns_below(&l->rows, 0, l->p->frames.n)))
        return LOADER_BAD_ID;
    if (!columns_below(&l->rows, k + FRAME_KIND, FRAME_KINDS))
        return LOADER_BAD_VALUE;
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

/* --- attributes, processes, threads and stacks --- */

static bool all_int32(const uint64_t *cell, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((int64_t)cell[i] != (int32_t)cell[i])
            return false;
    return true;
}

enum { ATTR_PARENT, ATTR_KEY, ATTR_IS_NUMBER, ATTR_VALUE, ATTR_UNIT, ATTR_COLUMNS };

static const char *check_attrs(const struct loader *l)
{
    const uint64_t *parent = columns_get(&l->rows, ATTR_PARENT),
                   *is_number = columns_get(&l->rows, ATTR_IS_NUMBER),
                   *value = columns_get(&l->rows, ATTR_VALUE);
    if (!columns_below(&l->rows, ATTR_KEY, l->strings.n) ||
        !columns_below(&l->rows, ATTR_UNIT, l->strings.n))
        return LOADER_BAD_ID;
    if (!columns_below(&l->rows, ATTR_IS_NUMBER, 2))
        return LOADER_BAD_VALUE;
    for (size_t i = 0; i < l->rows.n; i++)
        if (parent[i] >= l->attrs.n + i || (!is_number[i] && value[i] >= l->strings.n))
            return LOADER_BAD_ID;
    return NULL;
}

static const char *apply_attrs(struct loader *l, struct cursor *c)
{
    const char *why = recording_read_table(l, c, ATTR_COLUMNS, l->attrs.n);
    if (!why)
        why = check_attrs(l);
    if (why)
        return why;
    for (size_t i = 0; i < l->rows.n; i++) {
        bool number = columns_get(&l->rows, ATTR_IS_NUMBER)[i];
        uint64_t value = columns_get(&l->rows, ATTR_VALUE)[i];
        struct attr a = {
            .key.i = l->strings.at[columns_get(&l->rows, ATTR_KEY)[i]],
            .is_number = number,
            .text.i = number ? 0 : l->strings.at[value],
            .number = number ? (int64_t)value : 0,
            .unit.i = l->strings.at[columns_get(&l->rows, ATTR_UNIT)[i]],
        };
        struct attrs_id parent = {l->attrs.at[columns_get(&l->rows, ATTR_PARENT)[i]]};
        *vec_push(&l->attrs) = attrs_add(&l->p->attrs, parent, &a).i;
    }
    return NULL;
}

enum { PROC_PID, PROC_PARENT, PROC_EXECUTABLE, PROC_HOST, PROC_START, PROC_END, PROC_ATTRS };
enum { PROC_COLUMNS = PROC_ATTRS + 1 };

/* Processes whose columns start at column K: 0 for new ones, 1 behind a column of old ids. */
static const char *check_processes(const struct loader *l, size_t k)
{
    size_t have = l->p->processes.n;
    const uint64_t *parent = columns_get(&l->rows, k + PROC_PARENT),
                   *pid = columns_get(&l->rows, k + PROC_PID);
    if (!columns_below(&l->rows, k + PROC_EXECUTABLE, l->strings.n) ||
        !columns_below(&l->rows, k + PROC_HOST, l->strings.n) ||
        !columns_below(&l->rows, k + PROC_ATTRS, l->attrs.n) ||
        (k && !columns_below(&l->rows, 0, have)))
        return LOADER_BAD_ID;
    for (size_t i = 0; i < l->rows.n; i++) {
        if (parent[i] >= have + (k ? 0 : i))
            return LOADER_BAD_ID;
        if (k && (int32_t)pid[i] != l->p->processes.at[columns_get(&l->rows, 0)[i]].pid)
            return LOADER_BAD_VALUE; /* a process keeps its pid */
    }
    return all_int32(columns_get(&l->rows, k + PROC_PID), l->rows.n) ? NULL : LOADER_BAD_VALUE;
}

static const char *apply_processes_at(struct loader *l, struct cursor *c, size_t k)
{
    const char *why = recording_read_table(l, c, k + PROC_COLUMNS, l->p->processes.n);
    if (!why)
        why = check_processes(l, k);
    if (why)
        return why;
    for (size_t i = 0; i < l->rows.n; i++) {
        struct process p = {
            .pid = (int32_t)columns_get(&l->rows, k + PROC_PID)[i],
            .parent.i = (uint32_t)columns_get(&l->rows, k + PROC_PARENT)[i],
            .executable.i = l->strings.at[columns_get(&l->rows, k + PROC_EXECUTABLE)[i]],
            .host.i = l->strings.at[columns_get(&l->rows, k + PROC_HOST)[i]],
            .start_ns = columns_get(&l->rows, k + PROC_START)[i],
            .end_ns = columns_get(&l->rows, k + PROC_END)[i],
            .attrs.i = l->attrs.at[columns_get(&l->rows, k + PROC_ATTRS)[i]],
        };
        if (k)
            l->p->processes.at[columns_get(&l->rows, 0)[i]] = p;
        else
            profile_add_process(l->p, &p);
    }
    return NULL;
}

static const char *apply_processes(struct loader *l, struct cursor *c)
{
    return apply_processes_at(l, c, 0);
}

static const char *apply_process_updates(struct loader *l, struct cursor *c)
{
    return apply_processes_at(l, c, 1);
}

static const char *apply_threads(struct loader *l, struct cursor *c)
{
    enum { PROCESS, NAME, TID, COLUMNS };
    const char *why = recording_read_table(l, c, COLUMNS, l->threads.n);
    if (why)
        return why;
    const uint64_t *process = columns_get(&l->rows, PROCESS), *name = columns_get(&l->rows, NAME),
                   *tid = columns_get(&l->rows, TID);
    if (!columns_below(&l->rows, NAME, l->strings.n) ||
        !columns_below(&l->rows, PROCESS, l->p->processes.n))
        return LOADER_BAD_ID;
    if (!all_int32(tid, l->rows.n))
        return LOADER_BAD_VALUE;
    for (size_t i = 0; i < l->rows.n; i++) {
        struct thread t = {{(uint32_t)process[i]}, {l->strings.at[name[i]]}, (int32_t)tid[i]};
        *vec_push(&l->threads) = profile_add_thread_of(l->p, &t).i;
    }
    return NULL;
}

static const char *apply_stacks(struct loader *l, struct cursor *c)
{
    enum { PARENT, FRAME, COLUMNS };
    const char *why = recording_read_table(l, c, COLUMNS, l->stacks.n);
    if (why)
        return why;
    if (!columns_below(&l->rows, FRAME, l->p->frames.n))
        return LOADER_BAD_ID;
    const uint64_t *parent = columns_get(&l->rows, PARENT), *frame = columns_get(&l->rows, FRAME);
    size_t old = l->stacks.n;
    for (size_t i = 0; i < l->rows.n; i++) {
        bool known = parent[i] < l->stacks.n;
        uint32_t depth = known ? l->stacks.at[parent[i]].depth + 1 : 0;
        if (!known || depth > RECORDING_MAX_DEPTH) {
            l->stacks.n = old;
            return known ? "a stack is deeper than 100000 frames" : LOADER_BAD_ID;
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

/* --- meta and the end --- */

static const char *apply_meta(struct loader *l, struct cursor *c)
{
    uint64_t n = cursor_varint(c);
    struct cursor check = *c;
    for (uint64_t i = 0; i < 2 * n && !check.bad; i++)
        cursor_bytes(&check, cursor_varint(&check));
    if (check.bad)
        return LOADER_CUT_SHORT;
    if (cursor_left(&check))
        return LOADER_TOO_LONG;
    if (n > RECORDING_MAX_META || l->p->meta.entries.n + n > 2ull * RECORDING_MAX_META)
        return LOADER_BAD_VALUE;
    for (uint64_t i = 0; i < n; i++) {
        struct text key = cursor_bytes(c, cursor_varint(c));
        struct text value = cursor_bytes(c, cursor_varint(c));
        autofree char *name = mem_strndup(key.at, key.n);
        meta_set(&l->p->meta, name, value);
    }
    return NULL;
}

static const char *apply_clock(struct loader *l, struct cursor *c)
{
    struct clock_pair clock = {cursor_varint(c), cursor_varint(c)};
    if (c->bad || cursor_left(c))
        return c->bad ? LOADER_CUT_SHORT : LOADER_TOO_LONG;
    l->p->clock = clock;
    return NULL;
}

static const char *apply_packed(struct loader *l, struct cursor *c)
{
    uint64_t flags = cursor_varint(c), path = cursor_varint(c);
    struct text text = cursor_bytes(c, cursor_varint(c));
    if (c->bad || cursor_left(c))
        return c->bad ? LOADER_CUT_SHORT : LOADER_TOO_LONG;
    if (path >= l->strings.n)
        return LOADER_BAD_ID;
    if (flags > PACKED_NEWER)
        return LOADER_BAD_VALUE;
    struct text name = profile_str(l->p, (struct str_id){l->strings.at[path]});
    return packed_add(l->p, name, text, flags & PACKED_NEWER) ? NULL : LOADER_BAD_VALUE;
}

static const char *apply_end(struct loader *l, struct cursor *c)
{
    const uint64_t rows[RECORDING_TABLES] = {l->strings.n,   l->mappings.n, l->functions.n,
                                             l->p->frames.n, l->attrs.n,    l->p->processes.n,
                                             l->threads.n,   l->stacks.n};
    bool same = true;
    for (int i = 0; i < RECORDING_TABLES; i++)
        same &= cursor_varint(c) == rows[i];
    same = same && recording_same_totals(l, c);
    l->ended = same && !c->bad && !cursor_left(c);
    return l->ended ? NULL : "its summary of the file does not match what was read";
}

static const struct {
    char type[5];
    const char *(*apply)(struct loader *l, struct cursor *c);
} kinds[] = {
    {"META", apply_meta},
    {"CLCK", apply_clock},
    {"STRS", apply_strings},
    {"MAPS", apply_mappings},
    {"FUNC", apply_functions},
    {"FRAM", apply_frames},
    {"FSET", apply_frame_updates},
    {"ATTR", apply_attrs},
    {"PROC", apply_processes},
    {"PSET", apply_process_updates},
    {"THRD", apply_threads},
    {"STCK", apply_stacks},
    {"STRM", recording_apply_streams},
    {"ROWS", recording_apply_rows},
    {"CNTR", recording_apply_counters},
    {"PNTS", recording_apply_points},
    {"SRCF", apply_packed},
    {"END.", apply_end},
};

static const char *recording_apply(struct loader *l, const struct chunk *chunk, bool *ret_known)
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
        l->left_bytes = r->in->at_end ? r->in->end - r->in->start : 0;
        why = recording_apply(l, &chunk, &known);
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
    return recording_read_into(in, p, NULL, ret, err);
}

int recording_read_into(struct reader *in, struct profile *p, const struct recording_sink *sink,
                        struct recording_state *ret, struct err *err)
{
    struct chunk_reader r;
    *ret = (struct recording_state){0};
    if (chunk_reader_init(&r, in, err) != 0)
        return -1;
    struct loader l = {.p = p, .sink = sink};
    *vec_push(&l.strings) = 0;
    *vec_push(&l.mappings) = 0;
    *vec_push(&l.functions) = 0;
    *vec_push(&l.attrs) = 0;
    *vec_push(&l.threads) = 0;
    *vec_push(&l.stacks) = (struct stack_ref){0};
    read_chunks(&l, &r, ret);
    vec_done(&l.strings);
    vec_done(&l.mappings);
    vec_done(&l.functions);
    vec_done(&l.attrs);
    vec_done(&l.stream_rows);
    vec_done(&l.threads);
    vec_done(&l.stacks);
    vec_done(&l.frame_lines);
    columns_done(&l.rows);
    columns_done(&l.lines);
    chunk_reader_done(&r);
    return 0;
}
