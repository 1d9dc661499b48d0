/* foreign.c - results of Google Benchmark and Criterion; see foreign.h. */
#include "bench/foreign.h"
#include "base/buf.h"
#include "base/jsonread.h"
#include "base/path.h"

#include <fts.h>
#include <math.h>

enum { FOREIGN_FILE_MAX = 64 << 20, FOREIGN_DEPTH_MAX = 16 };

/* Results as they come: how many values each is the mean of. */
struct foreign {
    struct program_answer *to;
    VEC(size_t) repeats;
};

/* Repetitions count as one value, their mean. */
static void foreign_add(struct foreign *f, const struct program_result *r)
{
    for (size_t i = 0; i < f->to->results.n; i++) {
        struct program_result *it = &f->to->results.at[i];
        if (strcmp(it->name, r->name) != 0)
            continue;
        double n = (double)++f->repeats.at[i];
        it->ns += (r->ns - it->ns) / n;
        it->cpu_ns += (r->cpu_ns - it->cpu_ns) / n;
        return;
    }
    if (f->to->results.n >= PROGRAM_BENCHMARKS_MAX)
        return;
    struct program_result *to = vec_push(&f->to->results);
    *vec_push(&f->repeats) = 1;
    *to = *r;
    to->name = mem_strdup(r->name);
    to->parameter = mem_strdup("");
}

/* --- Google Benchmark --- */

struct google_row {
    struct buf name, unit, kind, error;
    double real, cpu, items_per_s, bytes_per_s;
    bool failed;
};

static void foreign_text(struct buf *to, struct jsonread *j)
{
    struct text t = json_get_text(j);
    to->n = 0;
    buf_add(to, t.at, t.n);
}

static double get_number(struct jsonread *j)
{
    if (json_peek(j) == JSON_NUMBER)
        return json_get_double(j);
    json_skip(j);
    return NAN;
}

static void google_member(struct google_row *row, struct jsonread *j, struct text key)
{
    struct buf *text = text_is(key, "name")            ? &row->name
                       : text_is(key, "time_unit")     ? &row->unit
                       : text_is(key, "run_type")      ? &row->kind
                       : text_is(key, "error_message") ? &row->error
                                                       : NULL;
    double *number = text_is(key, "real_time")          ? &row->real
                     : text_is(key, "cpu_time")         ? &row->cpu
                     : text_is(key, "items_per_second") ? &row->items_per_s
                     : text_is(key, "bytes_per_second") ? &row->bytes_per_s
                                                        : NULL;
    if (text && json_peek(j) == JSON_STRING)
        foreign_text(text, j);
    else if (number)
        *number = get_number(j);
    else if (text_is(key, "error_occurred"))
        row->failed = json_get_bool(j);
    else
        json_skip(j);
}

static double unit_ns(const struct buf *unit)
{
    struct text t = buf_text(unit);
    return text_is(t, "s") ? 1e9 : text_is(t, "ms") ? 1e6 : text_is(t, "us") ? 1e3 : 1;
}

/* Rates are per second of CPU time, unless the benchmark asked for another clock: then its name
 * says so. The two differ by what other programs take. */
static double rated_time(struct google_row *row)
{
    const char *name = buf_cstr(&row->name);
    bool by_clock = strstr(name, "/real_time") || strstr(name, "/manual_time");
    return by_clock || isnan(row->cpu) ? row->real : row->cpu;
}

static void google_add(struct foreign *f, struct google_row *row)
{
    double unit = unit_ns(&row->unit), s = rated_time(row) * unit / 1e9;
    struct program_result r = {.name = (char *)buf_cstr(&row->name),
                               .ns = row->real * unit,
                               .cpu_ns = row->cpu * unit,
                               .items = isnan(row->items_per_s) ? 0 : row->items_per_s * s,
                               .bytes = isnan(row->bytes_per_s) ? 0 : row->bytes_per_s * s,
                               .r2 = NAN,
                               .cpu_r2 = NAN,
                               .size = NAN};
    bool aggregate = row->kind.n && !text_is(buf_text(&row->kind), "iteration");
    if (row->failed)
        *vec_push(&f->to->failures) =
            mem_printf("benchmark '%s' failed: %s", r.name, buf_cstr(&row->error));
    else if (!aggregate && *r.name && r.ns >= 0 && isfinite(r.ns))
        foreign_add(f, &r);
}

static void google_row(struct foreign *f, struct jsonread *j)
{
    struct google_row row = {.real = NAN, .cpu = NAN, .items_per_s = NAN, .bytes_per_s = NAN};
    struct text key;
    if (json_enter(j, JSON_OBJECT))
        while (json_member(j, &key))
            google_member(&row, j, key);
    if (!j->err.code)
        google_add(f, &row);
    buf_done(&row.name);
    buf_done(&row.unit);
    buf_done(&row.kind);
    buf_done(&row.error);
}

int foreign_parse_google(struct program_answer *a, struct text document, struct err *err)
{
    struct foreign f = {.to = a};
    struct reader in;
    struct jsonread j;
    struct text key;
    reader_open_memory(&in, document.at, document.n);
    jsonread_init(&j, &in);
    if (json_enter(&j, JSON_OBJECT))
        while (json_member(&j, &key)) {
            if (!text_is(key, "benchmarks")) {
                json_skip(&j);
                continue;
            }
            if (json_enter(&j, JSON_ARRAY))
                while (json_element(&j))
                    google_row(&f, &j);
        }
    bool failed = json_failed(&j, err);
    vec_done(&f.repeats);
    jsonread_done(&j);
    reader_close(&in);
    return failed ? -1 : 0;
}

/* --- Criterion --- */

/* A member of an object of the document, "mean.point_estimate"; a text goes to TEXT. */
static double criterion_field(struct text document, const char *outer, const char *inner,
                              struct buf *text)
{
    struct reader in;
    struct jsonread j;
    struct text key;
    double found = NAN;
    reader_open_memory(&in, document.at, document.n);
    jsonread_init(&j, &in);
    if (json_enter(&j, JSON_OBJECT))
        while (json_member(&j, &key)) {
            bool here = text_is(key, outer);
            if (here && text && json_peek(&j) == JSON_STRING)
                foreign_text(text, &j);
            else if (here && inner && json_peek(&j) == JSON_OBJECT && json_enter(&j, JSON_OBJECT))
                while (json_member(&j, &key))
                    if (text_is(key, inner))
                        found = get_number(&j);
                    else
                        json_skip(&j);
            else
                json_skip(&j);
        }
    jsonread_done(&j);
    reader_close(&in);
    return found;
}

/* How many of UNIT one iteration does, 0 where that is not declared. */
static double criterion_throughput(struct text about, const char *unit)
{
    double n = criterion_field(about, "throughput", unit, NULL);
    return n > 0 && isfinite(n) ? n : 0;
}

/* FOLDER is NAME/new. Old versions have no benchmark.json: then the folder's own name has to do. */
static void criterion_add(struct foreign *f, const char *folder, size_t root_bytes,
                          struct timespec since)
{
    autofree char *estimates = mem_printf("%s/estimates.json", folder);
    autofree char *benchmark = mem_printf("%s/benchmark.json", folder);
    autobuf struct buf numbers = {0}, about = {0}, name = {0};
    struct timespec ever = {0};
    if (!path_read_fresh(&numbers, estimates, since, FOREIGN_FILE_MAX))
        return;
    if (path_read_fresh(&about, benchmark, ever, FOREIGN_FILE_MAX))
        criterion_field(buf_text(&about), "full_id", NULL, &name);
    size_t all = strlen(folder), end = strlen("/new");
    if (!name.n && all > root_bytes + 1 + end)
        buf_add(&name, folder + root_bytes + 1, all - root_bytes - 1 - end);
    struct program_result r = {
        .name = (char *)buf_cstr(&name),
        .ns = criterion_field(buf_text(&numbers), "mean", "point_estimate", NULL),
        .cpu_ns = NAN,
        .items = criterion_throughput(buf_text(&about), "Elements"),
        .bytes = criterion_throughput(buf_text(&about), "Bytes"),
        .r2 = NAN,
        .cpu_r2 = NAN,
        .size = NAN};
    if (name.n && r.ns >= 0 && isfinite(r.ns))
        foreign_add(f, &r);
}

static void criterion_read(struct program_answer *a, const char *path, struct timespec since)
{
    struct foreign f = {.to = a};
    char *paths[] = {(char *)path, NULL};
    FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    for (FTSENT *it; tree && (it = fts_read(tree));) {
        if (it->fts_info == FTS_D && strcmp(it->fts_name, "new") == 0)
            criterion_add(&f, it->fts_path, strlen(path), since);
        if (it->fts_level > FOREIGN_DEPTH_MAX)
            fts_set(tree, it, FTS_SKIP);
    }
    if (tree)
        fts_close(tree);
    vec_done(&f.repeats);
}

/* --- either --- */

int foreign_read(struct program_answer *a, const char *path, struct timespec since, struct err *err)
{
    autobuf struct buf b = {0};
    struct err why;
    a->greeted = a->ended = true;
    if (path_kind(path) == PATH_FOLDER) {
        criterion_read(a, path, since);
    } else if (path_read_fresh(&b, path, since, FOREIGN_FILE_MAX) &&
               foreign_parse_google(a, buf_text(&b), &why) != 0) {
        return err_set(err, EXIT_ERROR, "'%s': %s", path, why.text);
    }
    if (a->failures.n)
        return err_set(err, EXIT_ERROR, "%s", a->failures.at[0]);
    if (!a->results.n)
        return err_set(err, EXIT_ERROR, "the run wrote no results to '%s'", path);
    return 0;
}

int foreign_filter(struct program_answer *a, const char *filter, struct err *err)
{
    size_t kept = 0, n = a->results.n;
    for (size_t i = 0; i < n; i++) {
        struct program_result *r = &a->results.at[i];
        if (strstr(r->name, filter)) {
            a->results.at[kept++] = *r;
            continue;
        }
        free(r->name);
        free(r->parameter);
    }
    a->results.n = kept;
    if (!kept && n)
        return err_set(err, EXIT_ERROR, "none of its %zu benchmarks has '%s' in its name", n,
                       filter);
    return 0;
}
