/* report_runs.c - functions over several recordings of one program. */
#include "base/units.h"
#include "view/report_inner.h"

/* Self by time, or total, of one recording on average. */
static void cell_mean_time(struct document *d, const struct report *r, double share)
{
    char s[UNITS_MAX];
    double ns = share * r->mean_time_ns;
    document_cell(d, text_of(ns > 0 ? units_scaled(s, ns, SCALED_NS) : ""), 0);
}

static void add_run_row(struct document *d, const struct report *r, const struct runshare *row)
{
    char seen[48];
    report_cell_share(d, &row->self);
    cell_mean_time(d, r, row->self.share);
    report_cell_share(d, &row->total);
    cell_mean_time(d, r, row->total.share);
    snprintf(seen, sizeof seen, "%zu of %zu", row->n_seen, r->opts.n_runs);
    document_cell(d, text_of(seen), 0);
    document_cell(d, intern_get(&r->runs->overlay.names, row->name), 0);
}

/* On nearly all stacks of every recording and doing nothing itself. */
static bool is_pass_through(const struct runshare *row)
{
    return row->total.share >= 0.98 && row->self.share < 0.01;
}

void report_add_runs(struct document *d, const struct report *r)
{
    static const struct document_column columns[] = {
        {"self", .right = true},
        {"time", .right = true, .spare = 1},
        {"total", .right = true},
        {"time", .right = true, .spare = 3},
        {"seen in", .right = true, .spare = 2},
        {"name", .wide = true},
    };
    size_t shown = 0;
    document_heading(
        d, *report_time_word(r)
               ? "Functions: self time and total time (self + callees), mean per recording"
               : "Functions: self and total (self + callees), mean per recording");
    document_table(d, columns, 6);
    for (size_t i = 0; i < r->runs->rows.n && shown < r->opts.top; i++) {
        if (is_pass_through(&r->runs->rows.at[i]))
            continue;
        add_run_row(d, r, &r->runs->rows.at[i]);
        shown++;
    }
    document_drop_empty(d);
    document_text(d,
                  "\xc2\xb1 is the half-width of a 95%% interval of the mean of %zu recordings, "
                  "(low-high) are both ends of one that is cut off at 0 or 100%%. It covers "
                  "run-to-run variation as well as sampling error.",
                  r->opts.n_runs);
}

void report_put_runs(struct json *j, const struct report *r)
{
    json_key(j, "recordings");
    json_int(j, (int64_t)r->opts.n_runs);
    json_key(j, "over_recordings");
    json_open(j, '[');
    for (size_t i = 0; i < r->runs->rows.n && i < r->opts.top; i++) {
        const struct runshare *row = &r->runs->rows.at[i];
        json_open(j, '{');
        json_key(j, "name");
        json_text(j, intern_get(&r->runs->overlay.names, row->name));
        report_put_share(j, "self", &row->self);
        report_put_share(j, "total", &row->total);
        json_key(j, "seen_in");
        json_int(j, (int64_t)row->n_seen);
        json_close(j, '}');
    }
    json_close(j, ']');
}
