/* core_lists.c - functions, modules, threads and lines; callers and callees; searches. */
#include "base/firsts.h"
#include "base/pattern.h"
#include "base/units.h"
#include "page/core_inner.h"
#include "view/caption.h"
#include "view/report_inner.h"

enum { ROWS_MAX = 10000 };

/* --- a list --- */

struct ranked {
    const struct flat *f;
    enum ranked_sort { RANKED_TOTAL, RANKED_SELF, RANKED_SAMPLES, RANKED_NAME } sort;
};

/* After those with a self time or samples of their own, the others by total. */
static int64_t ranked_self(const struct ranked *r, const struct flat_row *row)
{
    int64_t own = r->sort == RANKED_SELF      ? row->self
                  : r->sort == RANKED_SAMPLES ? row->self_count
                                              : 0;
    return own > 0 ? own : 0;
}

static int ranked_before(const void *a, const void *b, void *ctx)
{
    const struct ranked *r = ctx;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    const struct flat_row *rx = &r->f->rows.at[x], *ry = &r->f->rows.at[y];
    int64_t sx = ranked_self(r, rx), sy = ranked_self(r, ry);
    if (sx != sy)
        return sx < sy ? 1 : -1;
    if (r->sort != RANKED_NAME && !sx && rx->total != ry->total)
        return rx->total < ry->total ? 1 : -1;
    int names = strcmp(flat_name(r->f, x).at, flat_name(r->f, y).at);
    return names ? names : (x > y) - (x < y);
}

/* All rows with anything in them whose names fit; in no order. */
static uint32_t *list_rows(const struct flat *f, const char *pattern, size_t *ret_n,
                           struct err *err)
{
    struct pattern re;
    size_t n = 0;
    bool filtered = pattern && *pattern;
    if (filtered && pattern_init(&re, pattern, true, err) != 0)
        return NULL;
    uint32_t *rows = mem_calloc(f->rows.n + 1, sizeof *rows);
    for (uint32_t i = 0; i < f->rows.n; i++)
        if (f->rows.at[i].total > 0 && (!filtered || pattern_fits(&re, flat_name(f, i).at)))
            rows[n++] = i;
    if (filtered)
        pattern_done(&re);
    *ret_n = n;
    return rows;
}

static enum ranked_sort ranked_by(const char *sort)
{
    static const char *const names[] = {"total", "self", "samples", "name"};
    for (int i = RANKED_TOTAL; sort && i <= RANKED_NAME; i++)
        if (strcmp(sort, names[i]) == 0)
            return (enum ranked_sort)i;
    return RANKED_TOTAL;
}

/* The list that Q asks for in V->ranked, its first N at least in order: a page comes back for more
 * of the same list. */
static int rank_list(struct core_view *v, const struct flat *f, const struct question *q, size_t n,
                     struct err *err)
{
    enum { AT_LEAST = 500 };
    autobuf struct buf key = {0};
    buf_printf(&key, "%s\n%s\n%s", q->by ? q->by : "", q->sort ? q->sort : "",
               q->pattern ? q->pattern : "");
    bool same = v->ranked.key && strcmp(v->ranked.key, buf_cstr(&key)) == 0;
    if (same && (n <= v->ranked.n || v->ranked.n == v->ranked.all))
        return 0;
    size_t all, twice = same ? 2 * v->ranked.n : AT_LEAST;
    uint32_t *rows = list_rows(f, q->pattern, &all, err);
    if (!rows)
        return -1;
    struct ranked r = {f, ranked_by(q->sort)};
    n = n > twice ? n : twice;
    n = n < all ? n : all;
    firsts_order(rows, all, n, ranked_before, &r);
    free(v->ranked.key);
    free(v->ranked.rows);
    v->ranked.key = mem_strdup(buf_cstr(&key));
    v->ranked.rows = rows;
    v->ranked.n = n;
    v->ranked.all = all;
    return 0;
}

/* By row: where it was met first. Not by thread. */
static struct core_place *places_of_rows(const struct flat *f)
{
    const struct profile *p = f->profile;
    struct core_place *at = mem_calloc(f->rows.n + 1, sizeof *at);
    for (uint32_t i = 0; !f->row_of_place && i < p->frames.n; i++) {
        const struct frame *frame = &p->frames.at[i];
        const struct line *lines = profile_lines(p, frame);
        for (size_t k = 0; k < flat_count(frame); k++) {
            uint32_t row = flat_row_of(f, (struct frame_id){i}, k);
            if (row != FLAT_NOBODY && !at[row].met)
                at[row] = (struct core_place){
                    frame->mapping, lines ? lines[k].function : (struct function_id){0}, true};
        }
    }
    return at;
}

/* A share as the terminal prints it, and what it stands for. */
static void list_put_share(struct json *j, const struct report *r, const struct flat_share *share,
                           int64_t value, enum flat_what what)
{
    autobuf struct buf b = {0};
    char s[UNITS_MAX];
    insight_share(&b, share);
    json_put_str(j, what == FLAT_SELF ? "self" : "total", buf_cstr(&b));
    b.n = 0;
    if (r->time_ns > 0)
        buf_str(&b, units_scaled(s, report_time_ns(r, share->share), SCALED_NS));
    else
        caption_value(&b, r->profile, selection_value(r->selection), value);
    json_put_str(j, what == FLAT_SELF ? "self_time" : "total_time", buf_cstr(&b));
}

static void list_put_words(struct json *j, const struct report *r, const uint32_t *rows, size_t n,
                           const struct flat_pair *shares)
{
    const struct flat *f = r->functions;
    autofree struct core_place *at = places_of_rows(f);
    json_key(j, "words");
    json_open(j, '[');
    for (size_t i = 0; i < n; i++) {
        json_open(j, '{');
        core_put_place(j, f->profile, &at[rows[i]]);
        list_put_share(j, r, &shares[i].self, f->rows.at[rows[i]].self, FLAT_SELF);
        list_put_share(j, r, &shares[i].total, f->rows.at[rows[i]].total, FLAT_TOTAL);
        json_close(j, '}');
    }
    json_close(j, ']');
}

/* Rows SKIP to SKIP + TOP of a list, each as `kelvin report --format json` has it. */
int core_list(struct core *c, const struct question *q, struct json *j, struct err *err)
{
    struct core_view *v = core_view(c, q, err);
    if (!v)
        return -1;
    const struct flat *f = core_flat_by(v, q->by, err);
    if (!f)
        return -1;
    struct report r = {.selection = &v->selection, .profile = v->selection.profile};
    size_t top = q->top < 0 ? 0 : q->top < ROWS_MAX ? (size_t)q->top : ROWS_MAX;
    size_t skip = q->skip < 0 ? 0 : (size_t)q->skip < f->rows.n ? (size_t)q->skip : f->rows.n;
    if (rank_list(v, f, q, skip + top, err) != 0)
        return -1;
    size_t n = v->ranked.all;
    skip = skip < n ? skip : n;
    top = top < n - skip ? top : n - skip;
    const uint32_t *rows = v->ranked.rows;
    autofree struct flat_pair *shares = mem_calloc(top + 1, sizeof *shares);
    flat_shares_of_rows(f, rows + skip, top, shares);
    r.functions = (struct flat *)(uintptr_t)f;
    r.time_ns = report_time_of(&v->selection);
    json_put_uint(j, "n", n);
    json_put_uint(j, "few", REPORT_FEW_FOR_ORDER);
    json_put_bool(j, "counted", f->count_type >= 0);
    json_key(j, "rows");
    json_open(j, '[');
    for (size_t i = 0; i < top; i++)
        report_put_row(j, &r, f, rows[skip + i], &shares[i]);
    json_close(j, ']');
    list_put_words(j, &r, rows + skip, top, shares);
    return 0;
}

/* --- callers and callees, searches --- */

static bool *match_rows(const struct flat *f, const char *pattern, size_t *ret_n, struct err *err)
{
    struct pattern re;
    bool *in = mem_calloc(f->rows.n + 1, sizeof *in);
    *ret_n = 0;
    if (pattern_init(&re, pattern, false, err) != 0) {
        free(in);
        return NULL;
    }
    for (uint32_t i = 0; i < f->rows.n; i++) {
        in[i] = pattern_fits(&re, flat_name(f, i).at);
        *ret_n += in[i];
    }
    pattern_done(&re);
    return in;
}

/* The share of the samples with a function that PATTERN matches on their stack. */
int core_search(struct core *c, const struct question *q, struct json *j, struct err *err)
{
    struct core_view *v = core_view(c, q, err);
    size_t n;
    if (!v || !q->pattern)
        return v ? err_set(err, EXIT_ERROR, "a search needs a pattern") : -1;
    const struct flat *f = core_flat(v, FLAT_FUNCTION);
    autofree bool *in = match_rows(f, q->pattern, &n, err);
    if (!in)
        return -1;
    struct flat_share total = flat_share_of_set(f, in, FLAT_TOTAL);
    struct flat_share self = flat_share_of_set(f, in, FLAT_SELF);
    json_put_uint(j, "functions", n);
    report_put_share(j, "total", &total);
    report_put_share(j, "self", &self);
    return 0;
}

/* Which of NAMES a search for PATTERN finds: 1 or 0 each. The page has no regular expressions of
 * its own: theirs have other rules, and no bounds. */
int core_match(struct core *c, const struct question *q, struct json *j, struct err *err)
{
    struct pattern re;
    (void)c;
    if (!q->pattern)
        return err_set(err, EXIT_ERROR, "a search needs a pattern");
    if (pattern_init(&re, q->pattern, false, err) != 0)
        return -1;
    json_key(j, "hits");
    json_open(j, '[');
    for (size_t i = 0; i < q->n_names; i++)
        json_uint(j, pattern_fits(&re, q->names[i]));
    json_close(j, ']');
    pattern_done(&re);
    return 0;
}

/* Who calls what: of one FUNCTION by its name, or of all that PATTERN matches. */
int core_calls(struct core *c, const struct question *q, struct json *j, struct err *err)
{
    struct core_view *v = core_view(c, q, err);
    size_t n;
    if (!v)
        return -1;
    if (!q->function && !q->pattern)
        return err_set(err, EXIT_ERROR, "callers of what?");
    struct report r = {.selection = &v->selection,
                       .profile = v->selection.profile,
                       .functions = core_flat(v, FLAT_FUNCTION),
                       .opts = {.top = q->top > 0 && q->top < ROWS_MAX ? (size_t)q->top : 50}};
    autofree bool *in = NULL;
    r.time_ns = report_time_of(&v->selection);
    if (q->pattern) {
        in = match_rows(r.functions, q->pattern, &n, err);
        if (!in || !n)
            return in ? err_set(err, EXIT_ERROR, "no function matches '%s'", q->pattern) : -1;
    } else {
        in = mem_calloc(r.functions->rows.n + 1, sizeof *in);
        if (flat_find(r.functions, q->function, in, err) != 0)
            return -1;
    }
    r.of_callers = in;
    report_put_function(j, &r);
    return 0;
}
