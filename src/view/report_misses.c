/* report_misses.c - misses of caches and branches, as a simulator counted them. */
#include "analysis/misses.h"
#include "base/units.h"
#include "view/report_inner.h"

static const struct document_column columns[] = {
    {"I1 missed", .right = true}, {"data accesses", .right = true}, {"D1 missed", .right = true},
    {"LL missed", .right = true}, {"branches", .right = true},      {"missed", .right = true},
    {"function", .wide = true},
};

static const char *how(const struct report *r)
{
    bool simulated = r->selection->stream->obtained == BY_SIMULATION;
    return simulated ? "simulated" : "as the input has them";
}

static void report_misses_cell_count(struct document *d, bool known, int64_t n)
{
    char s[UNITS_MAX];
    document_cell(d, text_of(known ? units_count(s, (uint64_t)n) : "-"), 0);
}

/* "7.25% !", the mark where it is over its limit. */
static void cell_rate(struct document *d, bool known, double rate, bool flag)
{
    char s[UNITS_MAX];
    snprintf(s, sizeof s, "%.2f%%%s", 100 * rate, flag ? " !" : "");
    document_cell(d, text_of(known ? s : "-"), 0);
}

static void report_misses_add_row(struct document *d, const struct misses *c,
                                  const struct misses_row *row, struct text name)
{
    const struct misses_counts *n = &row->counts;
    cell_rate(d, c->has_i1, misses_i1_rate(n), false);
    report_misses_cell_count(d, c->has_data, n->accesses);
    cell_rate(d, c->has_data, misses_d1_rate(n), row->d1_flag);
    cell_rate(d, c->has_ll, misses_ll_rate(n), row->ll_flag);
    report_misses_cell_count(d, c->has_branches, n->branches);
    cell_rate(d, c->has_branches, misses_branch_rate(n), false);
    document_cell(d, name, 0);
}

static void tell_flags(struct document *d, const struct misses *c)
{
    size_t n = 0;
    for (size_t i = 0; i < c->rows.n; i++)
        n += c->rows.at[i].d1_flag || c->rows.at[i].ll_flag;
    if (c->has_data)
        document_text(
            d,
            "! marks %.0f%% or more of data accesses missing D1, or %.0f%% or more of all "
            "accesses missing LL, in functions with %.0f%% or more of the data accesses: %zu "
            "%s.",
            100 * MISSES_D1_LIMIT, 100 * MISSES_LL_LIMIT, 100 * MISSES_LEAST, n,
            n == 1 ? "function" : "functions");
}

void report_add_misses(struct document *d, const struct report *r)
{
    struct misses c = misses_build(r->functions);
    autofree char *title = mem_printf("Caches and branches, %s", how(r));
    if (c.has_data || c.has_branches) {
        struct misses_row all = {.counts = c.whole, .d1_flag = c.d1_flag, .ll_flag = c.ll_flag};
        document_heading(d, title);
        document_table(d, columns, sizeof columns / sizeof *columns);
        report_misses_add_row(d, &c, &all, text_of("(the whole program)"));
        for (size_t i = 0; i < c.rows.n && i < r->opts.top; i++)
            report_misses_add_row(d, &c, &c.rows.at[i], flat_name(r->functions, c.rows.at[i].row));
        tell_flags(d, &c);
    }
    misses_done(&c);
}

/* --- for programs --- */

static void put_rate(struct json *j, const char *key, bool known, double rate)
{
    json_key(j, key);
    if (known)
        json_double(j, rate);
    else
        json_null(j);
}

static void put_count(struct json *j, const char *key, bool known, int64_t n)
{
    json_key(j, key);
    if (known)
        json_int(j, n);
    else
        json_null(j);
}

static void put_row(struct json *j, const struct misses *c, const struct misses_row *row)
{
    const struct misses_counts *n = &row->counts;
    put_count(j, "i1_misses", c->has_i1, n->i1_misses);
    put_rate(j, "i1_rate", c->has_i1, misses_i1_rate(n));
    put_count(j, "data_accesses", c->has_data, n->accesses);
    put_count(j, "d1_misses", c->has_data, n->d1_misses);
    put_rate(j, "d1_rate", c->has_data, misses_d1_rate(n));
    put_count(j, "ll_misses", c->has_ll, n->ll_misses);
    put_rate(j, "ll_rate", c->has_ll, misses_ll_rate(n));
    put_count(j, "branches", c->has_branches, n->branches);
    put_count(j, "branch_misses", c->has_branches, n->branch_misses);
    put_rate(j, "branch_rate", c->has_branches, misses_branch_rate(n));
    json_key(j, "d1_over");
    json_bool(j, row->d1_flag);
    json_key(j, "ll_over");
    json_bool(j, row->ll_flag);
}

static void put_rows(struct json *j, const struct report *r, const struct misses *c)
{
    json_key(j, "functions");
    json_open(j, '[');
    for (size_t i = 0; i < c->rows.n && i < r->opts.top; i++) {
        json_open(j, '{');
        json_key(j, "name");
        json_text(j, flat_name(r->functions, c->rows.at[i].row));
        put_row(j, c, &c->rows.at[i]);
        json_close(j, '}');
    }
    json_close(j, ']');
}

void report_put_misses(struct json *j, const struct report *r)
{
    struct misses c = misses_build(r->functions);
    if (c.has_data || c.has_branches) {
        struct misses_row all = {.counts = c.whole, .d1_flag = c.d1_flag, .ll_flag = c.ll_flag};
        json_key(j, "cache");
        json_open(j, '{');
        json_key(j, "how");
        json_str(j, how(r));
        put_row(j, &c, &all);
        put_rows(j, r, &c);
        json_close(j, '}');
    }
    misses_done(&c);
}
