#include "view/diff.h"
#include "base/json.h"
#include "base/utf8.h"

#include <math.h>

const char *diff_presence(const struct diff_value *total)
{
    return total->before <= 0 ? "new" : total->after <= 0 ? "gone" : "";
}

static const char *runs_word(size_t n)
{
    return n == 1 ? "run" : "runs";
}

void diff_basis(struct buf *b, const struct diff *d)
{
    if (!d->by_runs) {
        buf_str(b, d->has_samples ? "one run a side: sampling error only; how much runs differ by "
                                    "themselves is not known"
                                  : "one run a side, number of samples not recorded: not tested");
        return;
    }
    buf_printf(b,
               "%zu %s before, %zu %s after: permutation test on the runs' shares, smallest p "
               "in reach %.2g",
               d->n_before, runs_word(d->n_before), d->n_after, runs_word(d->n_after), d->least_p);
    if (d->least_p > DIFF_LEVEL)
        buf_str(b, ", too few to prove anything: four a side are the least");
}

/* --- lists --- */

/* One of the lists: which entries, which of their values, which way they moved. */
struct list {
    const char *title;
    bool paths, total, grew;
};

static const struct list lists[] = {
    {"Grew, self", false, false, true},    {"Shrank, self", false, false, false},
    {"Grew, total", false, true, true},    {"Shrank, total", false, true, false},
    {"Paths that grew", true, true, true}, {"Paths that shrank", true, true, false},
};

static const struct diff_value *value_of(const struct list *l, const struct diff_entry *e)
{
    return l->total ? &e->total : &e->self;
}

static int by_points(const void *a, const void *b, void *context)
{
    const struct list *l = context;
    const struct diff_entry *x = *(const struct diff_entry *const *)a;
    const struct diff_entry *y = *(const struct diff_entry *const *)b;
    double p = fabs(diff_points(value_of(l, x))), q = fabs(diff_points(value_of(l, y)));
    bool proven = value_of(l, x)->proven, other = value_of(l, y)->proven;
    if (proven != other)
        return proven ? -1 : 1;
    return p > q ? -1 : p < q ? 1 : x < y ? -1 : x > y;
}

struct picked {
    VEC(const struct diff_entry *) at;
};

/* Less than a hundredth of a point is not shown, nor are paths that prove nothing. */
static bool belongs(const struct list *l, const struct diff_entry *e)
{
    double points = diff_points(value_of(l, e));
    if (fabs(points) < 0.005 || (points > 0) != l->grew)
        return false;
    return !l->paths || value_of(l, e)->proven;
}

static struct picked pick(const struct diff *d, const struct list *l, size_t top)
{
    struct picked p = {0};
    const struct diff_entry *at = l->paths ? d->paths.at : d->functions.at;
    size_t n = l->paths ? d->paths.n : d->functions.n;
    for (size_t i = l->paths ? 1 : 0; i < n; i++)
        if (belongs(l, &at[i]))
            *vec_push(&p.at) = &at[i];
    if (p.at.n)
        qsort_r(p.at.at, p.at.n, sizeof *p.at.at, by_points, (void *)l);
    p.at.n = p.at.n < top ? p.at.n : top;
    return p;
}

/* "main > parse > scan": at most the last five, as the end is what differs. */
static void add_path(struct buf *b, const struct diff *d, const struct diff_entry *e)
{
    struct text parts[5];
    int n = 0;
    while (e != d->paths.at && n < 5) {
        parts[n++] = diff_name(d, e);
        e = &d->paths.at[e->parent];
    }
    buf_str(b, e != d->paths.at ? ".. > " : "");
    while (n-- > 0)
        buf_printf(b, "%.*s%s", TEXT_ARG(parts[n]), n ? " > " : "");
}

static void add_name(struct buf *b, const struct diff *d, const struct list *l,
                     const struct diff_entry *e)
{
    const char *presence = diff_presence(&e->total);
    if (l->paths)
        add_path(b, d, e);
    else
        buf_printf(b, "%.*s", TEXT_ARG(diff_name(d, e)));
    if (*presence)
        buf_printf(b, " (%s)", presence);
}

static void format_test(const struct diff_value *v, char *interval, char *p)
{
    enum { SIZE = 40 };
    snprintf(interval, SIZE, "-");
    snprintf(p, SIZE, "-");
    if (isnan(v->p))
        return;
    if (isfinite(v->low))
        snprintf(interval, SIZE, "%+.2f to %+.2f", v->low * 100, v->high * 100);
    snprintf(p, SIZE, v->q < 0.0001 ? "<0.0001" : "%.4f", v->q);
}

static void print_row(FILE *out, const struct diff *d, const struct list *l,
                      const struct diff_entry *e, bool markdown)
{
    autobuf struct buf name = {0};
    char interval[40], p[40];
    const struct diff_value *v = value_of(l, e);
    add_name(&name, d, l, e);
    format_test(v, interval, p);
    if (markdown)
        fprintf(out, "| %s%+.2f%s | %s | %.2f %% | %.2f %% | %s | `%s` |\n", v->proven ? "**" : "",
                diff_points(v), v->proven ? "**" : "", interval, v->before * 100, v->after * 100, p,
                buf_cstr(&name));
    else
        fprintf(out, "%c %+7.2f  %17s  %8.2f %8.2f  %8s  %s\n", v->proven ? '*' : ' ',
                diff_points(v), interval, v->before * 100, v->after * 100, p, buf_cstr(&name));
}

static void print_list(FILE *out, const struct diff *d, const struct list *l, size_t top,
                       bool markdown)
{
    struct picked p = pick(d, l, top);
    if (p.at.n && markdown)
        fprintf(out,
                "\n### %s\n\n| points | 95 %% interval | before | after | p | %s |\n"
                "|---:|---|---:|---:|---:|---|\n",
                l->title, l->paths ? "path" : "function");
    else if (p.at.n)
        fprintf(out, "\n%s\n   points    95 %% interval      before %%  after %%         p  %s\n",
                l->title, l->paths ? "path" : "function");
    for (size_t i = 0; i < p.at.n; i++)
        print_row(out, d, l, p.at.at[i], markdown);
    vec_done(&p.at);
}

/* --- above the lists --- */

static void print_cpu(FILE *out, const struct diff *d)
{
    const struct diff_value *c = &d->cpu_s;
    if (!d->has_cpu || c->before <= 0)
        return;
    fprintf(out, "CPU time: %.3f s before, %.3f s after (%+.1f %%", c->before, c->after,
            (c->after - c->before) / c->before * 100);
    if (isnan(c->p))
        fprintf(out, "; one run a side, not tested");
    else
        fprintf(out, "; p = %.4f", c->p);
    fprintf(out, ")\n");
}

static void print_unlike(FILE *out, const char *unlike, const char *before_line)
{
    struct text rest = text_of(unlike);
    while (rest.n) {
        struct text line = text_cut(&rest, '\n');
        fprintf(out, "%sUnlike profiles, compared by force: %.*s\n", before_line, TEXT_ARG(line));
    }
}

static void print_head(FILE *out, const struct diff *d)
{
    autobuf struct buf basis = {0};
    diff_basis(&basis, d);
    print_cpu(out, d);
    fprintf(out, "Basis: %s.\n", buf_cstr(&basis));
    fprintf(out,
            "Tested: %zu functions with a share of %g %% or more; p is adjusted for that number "
            "(Benjamini-Hochberg); * = proven at 5 %%.\n",
            d->n_tested, d->min_share * 100);
}

static void print_lists(FILE *out, const struct diff *d, const struct diff_view *v, bool markdown)
{
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        print_list(out, d, &lists[i], v->top, markdown);
}

void diff_print_text(FILE *out, const struct diff *d, const struct diff_view *v)
{
    fprintf(out, "Verdict: %s: %s.\n", diff_verdict_names[d->verdict], d->why);
    print_unlike(out, v->unlike, "");
    print_head(out, d);
    print_lists(out, d, v, false);
}

void diff_print_markdown(FILE *out, const struct diff *d, const struct diff_view *v)
{
    fprintf(out, "**%s**: %s.\n\n", diff_verdict_names[d->verdict], d->why);
    print_unlike(out, v->unlike, "> ");
    print_head(out, d);
    print_lists(out, d, v, true);
}

/* --- JSON --- */

static void json_number(struct json *j, const char *key, double v)
{
    json_key(j, key);
    if (isfinite(v))
        json_double(j, v);
    else
        json_null(j);
}

static void json_value(struct json *j, const char *key, const struct diff_value *v)
{
    json_key(j, key);
    json_open(j, '{');
    json_number(j, "before", v->before);
    json_number(j, "after", v->after);
    json_number(j, "difference", v->after - v->before);
    json_number(j, "low", v->low);
    json_number(j, "high", v->high);
    json_number(j, "p", v->p);
    json_number(j, "p_adjusted", v->q);
    json_key(j, "proven");
    json_bool(j, v->proven);
    json_close(j, '}');
}

static void json_names(struct json *j, const struct diff *d, const struct diff_entry *e)
{
    VEC(const struct diff_entry *) chain = {0};
    for (; e != d->paths.at; e = &d->paths.at[e->parent])
        *vec_push(&chain) = e;
    json_key(j, "path");
    json_open(j, '[');
    while (chain.n)
        json_text(j, diff_name(d, chain.at[--chain.n]));
    json_close(j, ']');
    vec_done(&chain);
}

static void json_entries(struct json *j, const struct diff *d, bool paths)
{
    const struct diff_entry *at = paths ? d->paths.at : d->functions.at;
    size_t n = paths ? d->paths.n : d->functions.n;
    json_key(j, paths ? "paths" : "functions");
    json_open(j, '[');
    for (size_t i = paths ? 1 : 0; i < n; i++) {
        const struct diff_entry *e = &at[i];
        if (paths && (e->total.before + e->total.after) / 2 < d->min_share)
            continue;
        json_open(j, '{');
        if (paths) {
            json_names(j, d, e);
        } else {
            json_key(j, "name");
            json_text(j, diff_name(d, e));
        }
        json_value(j, "self", &e->self);
        json_value(j, "total", &e->total);
        json_close(j, '}');
    }
    json_close(j, ']');
}

void diff_print_json(FILE *out, const struct diff *d, const struct diff_view *v)
{
    struct json j = {.out = out};
    autobuf struct buf basis = {0};
    diff_basis(&basis, d);
    json_open(&j, '{');
    json_key(&j, "verdict");
    json_str(&j, diff_verdict_names[d->verdict]);
    json_key(&j, "why");
    json_str(&j, d->why);
    json_key(&j, "basis");
    json_text(&j, buf_text(&basis));
    json_key(&j, "forced");
    json_str(&j, v->unlike);
    json_key(&j, "runs_before");
    json_uint(&j, d->n_before);
    json_key(&j, "runs_after");
    json_uint(&j, d->n_after);
    json_number(&j, "smallest_p", d->by_runs ? d->least_p : NAN);
    json_number(&j, "min_share", d->min_share);
    if (d->has_cpu)
        json_value(&j, "cpu_seconds", &d->cpu_s);
    json_entries(&j, d, false);
    json_entries(&j, d, true);
    json_close(&j, '}');
    putc('\n', out);
}
