#include "view/top.h"

#include "analysis/insight.h"
#include "base/shortname.h"
#include "base/utf8.h"

/* Lines that are not rows of the table: head, titles, foot. */
enum { OTHER_LINES = 3, NAME_LEAST = 12, SHARE_WIDTH = 15, SHARE_ALONE = 6, TIME_WIDTH = 9 };

struct top_row {
    uint32_t row;
    struct thread_id thread;         /* by thread only */
    struct flat_share first, second; /* second: of functions only */
};

typedef VEC(struct top_row) top_rows;

/* One line of at most WIDTH characters, and its end; the last has none. */
static void add_line(struct buf *b, const struct top_view *v, const char *text, bool last)
{
    autobuf struct buf plain = {0};
    utf8_plain(&plain, text_of(text));
    struct text fits = utf8_head(buf_text(&plain), (size_t)v->width);
    buf_add(b, fits.at, fits.n);
    buf_str(b, v->escapes ? "\033[K" : "");
    buf_str(b, last ? "" : v->escapes ? "\r\n" : "\n");
}

static bool is_shown(const struct top_view *v, struct text name)
{
    return !*v->filter || memmem(name.at, name.n, v->filter, strlen(v->filter));
}

static struct flat *build_list(const struct top_view *v, struct grouping *groups)
{
    struct err ignored;
    if (v->by == TOP_THREADS)
        return flat_build(v->selection, FLAT_THREAD);
    if (v->by == TOP_PROCESSES &&
        grouping_build(groups, v->selection->profile, v->selection->value, "pid", &ignored) == 0)
        return flat_build_groups(v->selection, groups, "process");
    return flat_build(v->selection, FLAT_FUNCTION);
}

/* The last thread of a row: one that has got another name is two. */
static struct thread_id thread_of_row(const struct flat *f, uint32_t row)
{
    for (uint32_t i = (uint32_t)f->n_places; i-- > 1;)
        if (f->row_of_place[i] == row)
            return (struct thread_id){i};
    return (struct thread_id){0};
}

/* Threads that have no sample, as they only wait. */
static void list_waiting(const struct top_view *v, const struct flat *f, size_t most, top_rows *ret)
{
    double ignored[TOP_TIMES];
    for (uint32_t i = 1; i < f->n_places && ret->n < most; i++) {
        uint32_t row = f->row_of_place[i];
        if (!f->rows.at[row].self && is_shown(v, flat_name(f, row)) &&
            v->times(v->times_arg, (struct thread_id){i}, ignored))
            *vec_push(ret) = (struct top_row){.row = row, .thread = {i}};
    }
}

static void list_top(const struct top_view *v, const struct flat *f, size_t most, top_rows *ret)
{
    autofree uint32_t *rows = mem_calloc(f->rows.n + 1, sizeof *rows);
    size_t n = flat_top(f, v->by_total ? FLAT_TOTAL : FLAT_SELF, f->rows.n, rows);
    for (size_t i = 0; i < n && ret->n < most; i++) {
        if (!is_shown(v, flat_name(f, rows[i])))
            continue;
        struct top_row row = {.row = rows[i], .first = flat_share_of_row(f, rows[i], FLAT_SELF)};
        if (v->by == TOP_FUNCTIONS)
            row.second = flat_share_of_row(f, rows[i], FLAT_TOTAL);
        if (v->by == TOP_THREADS)
            row.thread = thread_of_row(f, rows[i]);
        *vec_push(ret) = row;
    }
    if (v->by == TOP_THREADS && v->times && v->waiting)
        list_waiting(v, f, most, ret);
}

/* Who calls a function: of its time, how much comes from each. */
static void list_callers(const struct top_view *v, const struct flat *f, size_t most, top_rows *ret)
{
    autofree bool *in_set = mem_calloc(f->rows.n + 1, sizeof *in_set);
    for (uint32_t i = 0; i < f->rows.n; i++)
        in_set[i] = text_is(flat_name(f, i), v->callers_of);
    struct flat_calls calls = flat_calls_of_set(f, in_set);
    autofree bool *listed = mem_calloc(f->rows.n + 1, sizeof *listed);
    while (ret->n < most) {
        uint32_t best = FLAT_NOBODY;
        for (uint32_t i = 0; i < f->rows.n; i++)
            if (!listed[i] && calls.callers[i] > 0 &&
                (best == FLAT_NOBODY || calls.callers[i] > calls.callers[best]))
                best = i;
        if (best == FLAT_NOBODY)
            break;
        listed[best] = true;
        *vec_push(ret) =
            (struct top_row){.row = best, .first = flat_share_of_calls(f, calls.caller_of, best)};
    }
    flat_calls_done(&calls);
}

/* A screen too narrow for a name beside the interval has the share alone. */
static size_t share_width(const struct top_view *v)
{
    return v->width < SHARE_WIDTH + 1 + NAME_LEAST ? SHARE_ALONE : SHARE_WIDTH;
}

static void add_share(struct buf *b, const struct top_view *v, const struct flat_share *s)
{
    autobuf struct buf text = {0};
    size_t width = share_width(v);
    if (s->share > 0 && width == SHARE_ALONE)
        buf_printf(&text, "%.1f%%", 100 * s->share);
    else if (s->share > 0)
        insight_share(&text, s);
    for (size_t n = utf8_count(buf_text(&text)); n < width; n++)
        buf_byte(b, ' ');
    buf_add(b, text.at, text.n);
    buf_byte(b, ' ');
}

/* A narrow screen has no room for the second share. */
static bool has_second(const struct top_view *v)
{
    return v->by == TOP_FUNCTIONS && !v->callers_of &&
           v->width >= 2 * (SHARE_WIDTH + 1) + NAME_LEAST + 10;
}

/* Nor for the times of threads. */
static bool has_times(const struct top_view *v)
{
    return v->by == TOP_THREADS && v->times && !v->callers_of &&
           v->width >= SHARE_WIDTH + 1 + TOP_TIMES * TIME_WIDTH + 1 + NAME_LEAST;
}

static void add_times(struct buf *b, const struct top_view *v, struct thread_id thread)
{
    double part[TOP_TIMES];
    bool known = v->times(v->times_arg, thread, part);
    for (int i = 0; i < TOP_TIMES; i++)
        if (known)
            buf_printf(b, "%*.1f%%", TIME_WIDTH - 1, 100 * part[i]);
        else
            buf_printf(b, "%*s", TIME_WIDTH, "-");
    buf_byte(b, ' ');
}

static void add_row(struct buf *b, const struct top_view *v, const struct flat *f,
                    const struct top_row *row, bool marked)
{
    autobuf struct buf line = {0}, name = {0};
    bool second = has_second(v);
    if (second || !v->by_total || v->by != TOP_FUNCTIONS || v->callers_of)
        add_share(&line, v, &row->first);
    if (second || (v->by_total && v->by == TOP_FUNCTIONS && !v->callers_of))
        add_share(&line, v, &row->second);
    size_t used = (share_width(v) + 1) * (second ? 2 : 1);
    if (has_times(v)) {
        add_times(&line, v, row->thread);
        used += TOP_TIMES * TIME_WIDTH + 1;
    }
    size_t room = (size_t)v->width > used + 4 ? (size_t)v->width - used : 4;
    shortname_add(&name, flat_name(f, row->row), room);
    buf_add(&line, name.at, name.n);
    if (marked && v->escapes)
        buf_str(b, "\033[7m");
    add_line(b, v, buf_cstr(&line), false);
    if (marked && v->escapes)
        buf_str(b, "\033[0m");
}

static void add_titles(struct buf *b, const struct top_view *v)
{
    static const char *const names[] = {"function", "thread", "process"};
    autobuf struct buf line = {0};
    int width = (int)share_width(v);
    if (v->callers_of)
        buf_printf(&line, "%*s caller of %s", width, "total", v->callers_of);
    else if (has_second(v))
        buf_printf(&line, "%*s %*s %s", width, v->by_total ? "self" : "self*", width,
                   v->by_total ? "total*" : "total", names[v->by]);
    else if (has_times(v))
        buf_printf(&line, "%*s %*s%*s%*s %s", width, "share", TIME_WIDTH, "running", TIME_WIDTH,
                   "runnable", TIME_WIDTH, "blocked", names[v->by]);
    else
        buf_printf(&line, "%*s %s", width,
                   v->by != TOP_FUNCTIONS ? "share"
                   : v->by_total          ? "total"
                                          : "self",
                   names[v->by]);
    if (*v->filter && !v->callers_of) /* callers are listed whatever they are called */
        buf_printf(&line, " with '%s'", v->filter);
    add_line(b, v, buf_cstr(&line), false);
}

/* A machine may be busy before the first samples are there. */
static const char *why_empty(const struct top_view *v)
{
    return *v->filter && v->selection->n_rows ? "  no name matches the filter" : "  no samples yet";
}

/* As many as fit, whole. */
static const char *keys_of(const struct top_view *v)
{
    static const char *const keys[] = {
        "q quit  f/t/o functions/threads/processes  s sort  / filter  "
        "Enter callers  space pause  w save",
        "q quit  f/t/o group  s sort  / filter  Enter callers  space pause  w save",
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (v->width >= (int)strlen(keys[i]))
            return keys[i];
    return "q f/t/o s / Enter space w: see --help";
}

size_t top_print(struct buf *b, const struct top_view *v, char **ret_name)
{
    size_t most = v->height > OTHER_LINES ? (size_t)(v->height - OTHER_LINES) : 1;
    struct grouping groups = {0};
    struct flat *f =
        v->callers_of ? flat_build(v->selection, FLAT_FUNCTION) : build_list(v, &groups);
    top_rows rows = {0};
    (v->callers_of ? list_callers : list_top)(v, f, most, &rows);
    size_t cursor = rows.n && v->cursor >= rows.n ? rows.n - 1 : v->cursor;
    add_line(b, v, v->head, false);
    add_titles(b, v);
    for (size_t i = 0; i < rows.n; i++)
        add_row(b, v, f, &rows.at[i], i == cursor);
    for (size_t i = rows.n; v->escapes && i < most; i++)
        add_line(b, v, rows.n || i ? "" : why_empty(v), false);
    if (!rows.n && !v->escapes)
        add_line(b, v, why_empty(v), false);
    if (v->escapes)
        add_line(b, v, v->message ? v->message : keys_of(v), true);
    struct text name = rows.n ? flat_name(f, rows.at[cursor].row) : (struct text){"", 0};
    *ret_name = mem_strndup(name.at, name.n);
    size_t n = rows.n;
    vec_done(&rows);
    flat_free(f);
    grouping_done(&groups);
    return n;
}
