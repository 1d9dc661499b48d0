/* report_functions.c - the tables of a report: functions with self and total, modules, threads. */
#include "base/units.h"
#include "view/caption.h"
#include "view/report_inner.h"

/* --- cells --- */

static void report_functions_cell_count(struct document *d, const struct flat *f, int64_t n)
{
    char s[UNITS_MAX];
    document_cell(d, text_of(f->count_type >= 0 ? units_count(s, (uint64_t)n) : "-"), 0);
}

double report_time_ns(const struct report *r, double share)
{
    return share * r->time_ns;
}

void report_cell_time(struct document *d, const struct report *r, double share)
{
    char s[UNITS_MAX];
    double ns = report_time_ns(r, share);
    document_cell(d, text_of(ns > 0 ? units_scaled(s, ns, SCALED_NS) : ""), 0);
}

/* "libx.so +1" where another file has a function of the same name; returns how many files have. */
static size_t cell_module(struct document *d, const struct report *r, uint32_t row)
{
    enum { MOST = 100 };
    struct mapping_id files[MOST];
    autobuf struct buf b = {0};
    size_t n = report_modules(r->functions, row, MOST, files);
    struct text module = profile_module_name(r->profile, files[0]);
    bool kernel = r->functions->rows.at[row].kernel;
    module = module.n ? module : text_of(kernel ? "[kernel]" : "-");
    buf_add(&b, module.at, module.n);
    if (n > 1)
        buf_printf(&b, " +%zu%s", n - 1, n == MOST ? " or more" : "");
    document_cell(d, buf_text(&b), 0);
    return n;
}

/* --- functions --- */

/* What stands beside a share: seconds, else what was counted where that is not samples. */
enum beside { BESIDE_NOTHING, BESIDE_TIME, BESIDE_WEIGHT };

static enum beside beside_shares(const struct report *r)
{
    const struct flat *f = r->functions;
    return r->time_ns > 0 ? BESIDE_TIME : f->count_type != f->type ? BESIDE_WEIGHT : BESIDE_NOTHING;
}

/* A narrow terminal loses the columns that the others can best replace. */
#define COLUMNS_WITH(beside)                                                                    \
    {                                                                                           \
        {"self", .right = true}, {beside, .right = true, .spare = 1}, {"total", .right = true}, \
            {beside, .right = true, .spare = 3}, {"samples", .right = true, .spare = 2},        \
            {"name", .wide = true},                                                             \
        {                                                                                       \
            "module", .wide = true, .tail = true, .least = 14                                   \
        }                                                                                       \
    }
static const struct document_column columns_time[] = COLUMNS_WITH("time");
static const struct document_column columns_weight[] = COLUMNS_WITH("weight");
static const struct document_column columns_bare[] = {
    {"self", .right = true},
    {"total", .right = true},
    {"samples", .right = true},
    {"name", .wide = true},
    {"module", .wide = true, .tail = true, .least = 14}};

static void begin_functions(struct document *d, const struct report *r)
{
    switch (beside_shares(r)) {
    case BESIDE_TIME:
        document_table(d, columns_time, 7);
        break;
    case BESIDE_WEIGHT:
        document_table(d, columns_weight, 7);
        break;
    case BESIDE_NOTHING:
        document_table(d, columns_bare, 5);
    }
}

static void cell_beside(struct document *d, const struct report *r, double share, int64_t value)
{
    autobuf struct buf b = {0};
    switch (beside_shares(r)) {
    case BESIDE_TIME:
        report_cell_time(d, r, share);
        break;
    case BESIDE_WEIGHT:
        caption_value(&b, r->profile, selection_value(r->selection), value);
        document_cell(d, value ? buf_text(&b) : text_of(""), 0);
        break;
    case BESIDE_NOTHING:
        break;
    }
}

/* Samples of its own, as the share beside the name is; none is no number. */
static void cell_self_count(struct document *d, const struct flat *f, const struct flat_row *row)
{
    if (row->self)
        report_functions_cell_count(d, f, row->self_count);
    else
        document_cell(d, text_of(""), 0);
}

/* Returns how many files have a function of that name. */
static size_t add_function_row(struct document *d, const struct report *r, uint32_t row,
                               const struct flat_pair *share)
{
    const struct flat *f = r->functions;
    const struct flat_row *at = &f->rows.at[row];
    if (at->self)
        report_cell_share(d, &share->self);
    else
        document_cell(d, text_of(""), 0);
    cell_beside(d, r, share->self.share, at->self);
    report_cell_share(d, &share->total);
    cell_beside(d, r, share->total.share, at->total);
    cell_self_count(d, f, at);
    document_cell(d, flat_name(f, row), 0);
    return cell_module(d, r, row);
}

static bool is_few(const struct flat *f, uint32_t row)
{
    return f->count_type >= 0 && f->rows.at[row].self_count < REPORT_FEW_FOR_ORDER;
}

/* Rows that are there for their total may have few samples of their own: that is no fault. */
static void tell_few(struct document *d, size_t few, size_t by_total)
{
    const char *which = by_total > 1 ? " above them" : by_total ? " above it" : "";
    if (few == 1)
        document_text(d, "One row%s has fewer than %d samples; don't read anything into its place.",
                      which, REPORT_FEW_FOR_ORDER);
    else if (few)
        document_text(d,
                      "%zu rows%s have fewer than %d samples each; don't read anything into their "
                      "order.",
                      few, which, REPORT_FEW_FOR_ORDER);
}

/* Rows of the table: by self, then what is there for its total alone. */
struct function_list {
    uint32_t *rows;
    struct flat_pair *shares;
    size_t n, n_by_self, n_hidden;
};

static bool is_listed(const struct function_list *l, uint32_t row)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->rows[i] == row)
            return true;
    return false;
}

/* Below this total a function without a place by its self time says nothing. */
#define LEAST_TOTAL 0.05

static struct function_list list_functions(const struct report *r)
{
    const struct flat *f = r->functions;
    size_t top = r->opts.top;
    struct function_list l = {.rows = mem_calloc(2 * top + 1, sizeof *l.rows)};
    size_t n = flat_count_above(f, FLAT_TOTAL, LEAST_TOTAL * (double)f->whole);
    autofree uint32_t *by_total = mem_calloc(n + 1, sizeof *by_total);
    l.n = l.n_by_self = flat_top(f, FLAT_SELF, top, l.rows);
    n = flat_top(f, FLAT_TOTAL, n, by_total);
    for (size_t i = 0; i < n; i++) {
        if (is_listed(&l, by_total[i]))
            continue;
        if (flat_is_passed_through(f, by_total[i]))
            l.n_hidden++;
        else if (l.n < 2 * top)
            l.rows[l.n++] = by_total[i];
    }
    l.shares = mem_calloc(l.n + 1, sizeof *l.shares);
    flat_shares_of_rows(f, l.rows, l.n, l.shares);
    return l;
}

static void function_list_done(struct function_list *l)
{
    free(l->rows);
    free(l->shares);
}

/* How much of the time the hottest few functions hold together. */
struct concentration {
    size_t n, of; /* of those that were seen running */
    struct flat_share self;
};

static struct concentration concentration_of(const struct flat *f)
{
    uint32_t rows[5];
    struct concentration c = {.n = flat_top(f, FLAT_SELF, 5, rows)};
    autofree bool *in_set = mem_calloc(f->rows.n + 1, sizeof *in_set);
    for (size_t i = 0; i < f->rows.n; i++)
        c.of += f->rows.at[i].self > 0;
    for (size_t i = 0; i < c.n; i++)
        in_set[rows[i]] = true;
    c.self = flat_share_of_set(f, in_set, FLAT_SELF);
    return c;
}

/* "The top 5 of 149 functions account for 48.4%." */
static void add_concentration(struct document *d, const struct flat *f)
{
    struct concentration c = concentration_of(f);
    autobuf struct buf b = {0};
    insight_share(&b, &c.self);
    if (c.n >= 2)
        document_text(d, "The top %zu of %zu functions account for %s.", c.n, c.of, buf_cstr(&b));
}

/* Bytes and faults are no time. */
const char *report_time_word(const struct report *r)
{
    return quantity_is_time(selection_quantity(r->functions->selection)) ? " time" : "";
}

void report_add_functions(struct document *d, const struct report *r)
{
    struct function_list l = list_functions(r);
    size_t few = 0, more = l.n - l.n_by_self, files = 1;
    const char *time = report_time_word(r);
    document_heading(d, *time ? "Functions: self time and total time (self + callees)"
                              : "Functions: self and total (self + callees)");
    add_concentration(d, r->functions);
    begin_functions(d, r);
    for (size_t i = 0; i < l.n; i++) {
        size_t of_row = add_function_row(d, r, l.rows[i], &l.shares[i]);
        files = of_row > files ? of_row : files;
        few += i < l.n_by_self && is_few(r->functions, l.rows[i]);
    }
    if (more == 1)
        document_text(d, "Sorted by self%s. The last row is here for its total%s.", time, time);
    else if (more)
        document_text(d, "Sorted by self%s. The last %zu rows are here for their total%s.", time,
                      more, time);
    tell_few(d, few, more);
    if (l.n_hidden == 1)
        document_text(d, "1 pass-through function (on nearly every stack, ~0 self) is hidden.");
    else if (l.n_hidden)
        document_text(d, "%zu pass-through functions (on nearly every stack, ~0 self) are hidden.",
                      l.n_hidden);
    if (files > 1)
        document_text(
            d, "module +N: N more files have a function of this name; the row is the sum over "
               "all.");
    function_list_done(&l);
}

/* What the table above says beyond the list by self time. */
void report_put_functions(struct json *j, const struct report *r)
{
    struct function_list l = list_functions(r);
    struct concentration c = concentration_of(r->functions);
    json_key(j, "top");
    json_open(j, '{');
    json_put_uint(j, "functions", c.n);
    json_put_uint(j, "of", c.of);
    report_put_share(j, "self", &c.self);
    json_close(j, '}');
    json_key(j, "shown_for_total");
    json_open(j, '[');
    for (size_t i = l.n_by_self; i < l.n; i++)
        report_put_row(j, r, r->functions, l.rows[i], &l.shares[i]);
    json_close(j, ']');
    json_put_uint(j, "pass_through_hidden", l.n_hidden);
    function_list_done(&l);
}

/* --- modules, threads, lines --- */

static const struct document_column columns_by[] = {
    {"self", .right = true},    {"time", .right = true},
    {"total", .right = true},   {"time", .right = true, .spare = 3},
    {"samples", .right = true}, {"name", .wide = true, .tail = true},
};
static const struct document_column columns_thread[] = {
    {"share", .right = true},
    {"time", .right = true},
    {"samples", .right = true},
    {"thread", .wide = true},
};

static const struct document_column columns_label[] = {
    {"share", .right = true},
    {"time", .right = true},
    {"samples", .right = true},
    {"name", .wide = true},
};

void report_add_by(struct document *d, const struct report *r, const struct flat *f, size_t top)
{
    bool threads = f->row_of_place != NULL;
    autofree uint32_t *rows = mem_calloc(top + 1, sizeof *rows);
    size_t n = flat_top(f, FLAT_SELF, top, rows), all = 0;
    bool by_thread = f == r->threads || (f == r->by && r->opts.by == FLAT_THREAD);
    document_table(d,
                   by_thread ? columns_thread
                   : threads ? columns_label
                             : columns_by,
                   threads ? 4 : 6);
    for (size_t i = 0; i < n; i++) {
        const struct flat_row *row = &f->rows.at[rows[i]];
        struct flat_share self = flat_share_of_row(f, rows[i], FLAT_SELF);
        report_cell_share(d, &self);
        report_cell_time(d, r, self.share);
        if (!threads) {
            struct flat_share total = flat_share_of_row(f, rows[i], FLAT_TOTAL);
            report_cell_share(d, &total);
            report_cell_time(d, r, total.share);
        }
        report_functions_cell_count(d, f, row->self_count);
        document_cell(d, flat_name(f, rows[i]), 0);
    }
    document_drop_empty(d);
    for (size_t i = 0; i < f->rows.n; i++)
        all += f->rows.at[i].self > 0;
    if (all > n)
        document_text(d, "%zu more not shown.", all - n);
}
