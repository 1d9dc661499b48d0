/*
 * dhat.c - JSON of valgrind's DHAT and of what writes its format (dhat for Rust).
 *
 *     {"dhatFileVersion": 2, "mode": "heap", "verb": "Allocated", "bklt": true, "bkacc": true,
 *      "tu": "instrs", "cmd": "./app", "pid": 1, "te": 10223347, "tg": 3878841,
 *      "pps": [{"tb": bytes, "tbk": blocks,    all that were allocated
 *               "tl": lifetimes,               of all blocks, in "tu"
 *               "mb", "mbk"                    most that this place held, at a time of its own
 *               "gb", "gbk"                    held when the whole program held most
 *               "eb", "ebk"                    held at the end
 *               "rb", "wb"                     bytes read from and written to the blocks
 *               "fs": [frames, innermost first]}, ...],
 *      "ftbl": ["[root]", "0x10968F: main (app.c:9)", ...]}
 *
 * "mb" is left out: the most of different places are of different times, and no sum of them was
 * ever held. In the modes "copy" and "ad-hoc" only "tb" and "tbk" mean something.
 */
#include "base/jsonread.h"
#include "model/streamkind.h"
#include "source/import.h"
#include "source/sources.h"
#include "source/vgframe.h"

enum { DHAT_DEPTH_MAX = 100000, DHAT_VERSION = 2 };

enum dhat_value {
    DHAT_BLOCKS,
    DHAT_BYTES,
    DHAT_PEAK,
    DHAT_PEAK_BLOCKS,
    DHAT_END,
    DHAT_END_BLOCKS,
    DHAT_READ,
    DHAT_WRITTEN,
    DHAT_LIFETIME,
    DHAT_VALUES,
};

static const char *const dhat_keys[DHAT_VALUES] = {
    [DHAT_BLOCKS] = "tbk",      [DHAT_BYTES] = "tb",   [DHAT_PEAK] = "gb",
    [DHAT_PEAK_BLOCKS] = "gbk", [DHAT_END] = "eb",     [DHAT_END_BLOCKS] = "ebk",
    [DHAT_READ] = "rb",         [DHAT_WRITTEN] = "wb", [DHAT_LIFETIME] = "tl",
};

/* A program point. */
struct dhat_point {
    size_t first, n; /* in frames */
    int64_t value[DHAT_VALUES];
};

struct dhat {
    struct import *im;
    struct jsonread j;
    VEC(struct dhat_point) points;
    VEC(uint32_t) frames; /* indices into names, innermost first */
    VEC(struct str_id) names;
    struct str_id mode, time_unit;
    bool lifetimes, accesses; /* the file has them */
};

/* --- reading --- */

static void read_dhat_frames(struct dhat *d, struct dhat_point *point)
{
    if (!json_enter(&d->j, JSON_ARRAY))
        return;
    while (json_element(&d->j)) {
        int64_t i = json_get_int(&d->j);
        if (i < 0 || i > UINT32_MAX || point->n == DHAT_DEPTH_MAX) {
            json_fail(&d->j, "a stack whose frames are no numbers, or more than 100000");
            return;
        }
        *vec_push(&d->frames) = (uint32_t)i;
        point->n++;
    }
}

static void read_dhat_member(struct dhat *d, struct text key, struct dhat_point *point)
{
    for (int v = 0; v < DHAT_VALUES; v++)
        if (text_is(key, dhat_keys[v])) {
            point->value[v] = json_get_int(&d->j);
            if (point->value[v] < 0)
                json_fail(&d->j, "a negative number of bytes or blocks");
            return;
        }
    if (text_is(key, "fs"))
        read_dhat_frames(d, point);
    else
        json_skip(&d->j);
}

static void read_dhat_points(struct dhat *d)
{
    struct text key;
    if (!json_enter(&d->j, JSON_ARRAY))
        return;
    while (json_element(&d->j)) {
        struct dhat_point point = {.first = d->frames.n};
        if (!json_enter(&d->j, JSON_OBJECT))
            return;
        while (json_member(&d->j, &key))
            read_dhat_member(d, key, &point);
        *vec_push(&d->points) = point;
    }
}

static void read_dhat_names(struct dhat *d)
{
    if (!json_enter(&d->j, JSON_ARRAY))
        return;
    while (json_element(&d->j))
        *vec_push(&d->names) = profile_add_str(d->im->profile, json_get_text(&d->j));
}

static void set_dhat_command(struct dhat *d)
{
    struct text t = json_get_text(&d->j);
    autofree char *command = mem_printf("%.*s", TEXT_ARG(t));
    meta_set_str(&d->im->profile->meta, META_COMMAND, command);
}

static void read_dhat_key(struct dhat *d, struct text key)
{
    struct profile *p = d->im->profile;
    if (text_is(key, "pps"))
        read_dhat_points(d);
    else if (text_is(key, "ftbl"))
        read_dhat_names(d);
    else if (text_is(key, "cmd"))
        set_dhat_command(d);
    else if (text_is(key, "mode"))
        d->mode = profile_add_str(p, json_get_text(&d->j));
    else if (text_is(key, "tu"))
        d->time_unit = profile_add_str(p, json_get_text(&d->j));
    else if (text_is(key, "bklt"))
        d->lifetimes = json_get_bool(&d->j);
    else if (text_is(key, "bkacc"))
        d->accesses = json_get_bool(&d->j);
    else if (text_is(key, "dhatFileVersion")) {
        if (json_get_int(&d->j) != DHAT_VERSION)
            json_fail(&d->j, "DHAT's files of version %d are read, not others", DHAT_VERSION);
    } else
        json_skip(&d->j);
}

static int read_dhat_file(struct dhat *d, struct err *err)
{
    struct text key;
    jsonread_init(&d->j, d->im->in);
    if (json_enter(&d->j, JSON_OBJECT))
        while (json_member(&d->j, &key))
            read_dhat_key(d, key);
    json_finish(&d->j);
    return json_failed(&d->j, err) ? -1 : 0;
}

/* --- columns --- */

/* What becomes of a program point: where its column's value comes from. */
struct dhat_column {
    const char *name, *unit;
    enum dhat_value from;
    int minus; /* another value to take off, or -1 */
};

static const struct dhat_column heap_columns[] = {
    {"allocations", UNIT_COUNT, DHAT_BLOCKS, -1},
    {"allocated", UNIT_BYTES, DHAT_BYTES, -1},
};

static const struct dhat_column lifetime_columns[] = {
    {"frees", UNIT_COUNT, DHAT_BLOCKS, DHAT_END_BLOCKS},
    {"freed", UNIT_BYTES, DHAT_BYTES, DHAT_END},
    {"leaked", UNIT_BYTES, DHAT_END, -1},
    {"leaked_blocks", UNIT_COUNT, DHAT_END_BLOCKS, -1},
    {"peak", UNIT_BYTES, DHAT_PEAK, -1},
    {"peak_blocks", UNIT_COUNT, DHAT_PEAK_BLOCKS, -1},
};

static const struct dhat_column access_columns[] = {
    {"read", UNIT_BYTES, DHAT_READ, -1},
    {"written", UNIT_BYTES, DHAT_WRITTEN, -1},
};

static const struct dhat_column copy_columns[] = {
    {"copies", UNIT_COUNT, DHAT_BLOCKS, -1},
    {"copied", UNIT_BYTES, DHAT_BYTES, -1},
};

static const struct dhat_column ad_hoc_columns[] = {
    {"events", UNIT_COUNT, DHAT_BLOCKS, -1},
    {"units", UNIT_COUNT, DHAT_BYTES, -1},
};

struct dhat_columns {
    int stream, n;
    struct dhat_column at[16];
};

static void add_dhat_columns(struct dhat *d, struct dhat_columns *c, const struct dhat_column *from,
                             size_t n)
{
    for (size_t i = 0; i < n; i++) {
        c->at[c->n++] = from[i];
        profile_add_value(d->im->profile, c->stream, from[i].name, from[i].unit);
    }
}

#define ADD_DHAT_COLUMNS(d, c, from) add_dhat_columns(d, c, from, sizeof(from) / sizeof *(from))

static void choose_dhat_columns(struct dhat *d, struct dhat_columns *c)
{
    struct profile *p = d->im->profile;
    struct text mode = profile_str(p, d->mode);
    bool copy = text_is(mode, "copy"), heap = !copy && !text_is(mode, "ad-hoc");
    c->stream = heap ? stream_kind_add(p, STREAM_HEAP, BY_EXACT_COUNT)
                     : profile_add_stream(p, copy ? "copy" : "ad-hoc", BY_EXACT_COUNT);
    if (heap)
        ADD_DHAT_COLUMNS(d, c, heap_columns);
    else if (copy)
        ADD_DHAT_COLUMNS(d, c, copy_columns);
    else
        ADD_DHAT_COLUMNS(d, c, ad_hoc_columns);
    if (heap && d->lifetimes) {
        const char *unit = d->time_unit.i ? profile_str(p, d->time_unit).at : "";
        ADD_DHAT_COLUMNS(d, c, lifetime_columns);
        add_dhat_columns(d, c, &(struct dhat_column){"lifetime", unit, DHAT_LIFETIME, -1}, 1);
    }
    if (heap && d->accesses)
        ADD_DHAT_COLUMNS(d, c, access_columns);
    for (int i = 0; i < c->n; i++)
        if (c->at[i].from == DHAT_PEAK || i == 1) /* bytes, unless there is a peak */
            p->default_value = (struct value_ref){c->stream, i};
}

/* --- rows --- */

static struct stack_id dhat_stack(struct dhat *d, const struct dhat_point *point,
                                  const struct frame_id *known)
{
    struct profile *p = d->im->profile;
    VEC(struct frame_id) frames = {0};
    for (size_t i = 0; i < point->n; i++) {
        uint32_t name = d->frames.at[point->first + i];
        struct text t = name < d->names.n ? profile_str(p, d->names.at[name]) : text_of("");
        if (name >= d->names.n || text_is(t, "[root]") || (!frames.n && vgframe_is_own(t)))
            continue;
        *vec_push(&frames) = known[name];
    }
    struct stack_id stack = stacks_intern_leaf_first(&p->stacks, frames.at, frames.n);
    vec_done(&frames);
    return stack;
}

static void dhat_values(const struct dhat_columns *c, const struct dhat_point *point, int64_t *ret)
{
    for (int i = 0; i < c->n; i++) {
        const struct dhat_column *column = &c->at[i];
        int64_t minus = column->minus >= 0 ? point->value[column->minus] : 0;
        ret[i] = point->value[column->from] > minus ? point->value[column->from] - minus : 0;
    }
}

static bool has_all_frames(const struct dhat *d, const struct dhat_point *point)
{
    for (size_t i = 0; i < point->n; i++)
        if (d->frames.at[point->first + i] >= d->names.n)
            return false;
    return true;
}

static int build_dhat(struct dhat *d, struct err *err)
{
    struct dhat_columns c = {0};
    autofree struct frame_id *known = mem_calloc(d->names.n + 1, sizeof *known);
    int rc = 0;
    choose_dhat_columns(d, &c);
    for (size_t i = 0; i < d->names.n; i++)
        known[i] = vgframe_add(d->im, profile_str(d->im->profile, d->names.at[i]));
    for (size_t i = 0; i < d->points.n && rc == 0; i++) {
        int64_t values[16];
        struct row row = {.values = values};
        if (!has_all_frames(d, &d->points.at[i]) &&
            import_skip_byte(d->im, reader_offset(d->im->in), err,
                             "a stack has a frame that is not in ftbl") != 0)
            return -1;
        row.stack = dhat_stack(d, &d->points.at[i], known);
        dhat_values(&c, &d->points.at[i], values);
        rc = profile_add_row(d->im->profile, c.stream, &row, err);
    }
    return rc;
}

static int dhat_read(struct import *im, struct err *err)
{
    struct dhat d = {.im = im, .lifetimes = true};
    int rc = read_dhat_file(&d, err);
    if (rc == 0)
        rc = build_dhat(&d, err);
    meta_set_str(&im->profile->meta, META_TOOL, "DHAT");
    jsonread_done(&d.j);
    vec_done(&d.points);
    vec_done(&d.frames);
    vec_done(&d.names);
    return rc;
}

static int dhat_probe(struct text head, bool whole)
{
    (void)whole;
    return text_starts(text_trim(head), "{") && memmem(head.at, head.n, "\"dhatFileVersion\"", 17)
               ? 98
               : 0;
}

const struct source source_dhat = {
    .name = "dhat",
    .title = "DHAT heap profile (JSON)",
    .probe = dhat_probe,
    .read = dhat_read,
};
