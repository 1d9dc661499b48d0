#include "source/import.h"
#include "source/notprofile.h"
#include "source/sources.h"

#include <stdarg.h>
#include <sys/stat.h>

const struct source *const import_sources[] = {
    &source_speedscope, &source_kelvin,
    &source_perfdata,   &source_pprof,
    &source_perfetto,   &source_dtrace,
    &source_bpftrace,   &source_perfscript,
    &source_macsample,  &source_cpuprofile,
    &source_firefox,    &source_callgrind,
    &source_cachegrind, &source_chrometrace,
    &source_gperftools, &source_jemalloc,
    &source_heaptrack,  &source_massif,
    &source_dhat,       &source_leaksanitizer,
    &source_folded,     NULL,
};

/* What a stream is, by the source that is surest of it. */
static const struct source *recognise(struct text head, bool whole)
{
    const struct source *best = NULL;
    int best_score = 0;
    for (int i = 0; import_sources[i]; i++) {
        int score = import_sources[i]->probe(head, whole);
        if (score > best_score) {
            best = import_sources[i];
            best_score = score;
        }
    }
    return best;
}

static const struct source *import_find(const char *name)
{
    for (int i = 0; import_sources[i]; i++)
        if (strcmp(import_sources[i]->name, name) == 0)
            return import_sources[i];
    return NULL;
}

static int import_choose(struct import *im, const char *name, const struct source **ret,
                         struct err *err)
{
    if (im->opts.format) {
        *ret = import_find(im->opts.format);
        return *ret
                   ? 0
                   : err_set(err, EXIT_ERROR, "no format is called '%s'; see 'kelvin help formats'",
                             im->opts.format);
    }
    struct text head = reader_peek(im->in, IMPORT_HEAD_BYTES);
    struct err broken;
    if (reader_failed(im->in, &broken))
        return err_set(err, broken.code, "%s: %s", name, broken.text);
    if (head.n == 0)
        return err_set(err, EXIT_INPUT, "%s is empty", name);
    bool whole = head.n < IMPORT_HEAD_BYTES;
    head.n = whole ? head.n : IMPORT_HEAD_BYTES;
    *ret = recognise(head, whole);
    if (*ret)
        return 0;
    const char *what = notprofile_what(head);
    if (what)
        return err_set(err, EXIT_INPUT, "%s: %s", name, what);
    return err_set_hint(
        err, EXIT_INPUT, HINT_FORMAT,
        "%s: not a profile in any format known to kelvin (looked at the first %zu bytes)", name,
        head.n);
}

static void import_label(struct import *im, const char *name)
{
    struct meta *m = &im->profile->meta;
    const char *base = strrchr(name, '/');
    if (!meta_find(m, META_FORMAT))
        meta_set_str(m, META_FORMAT, im->format);
    if (!meta_find(m, META_SOURCE))
        meta_set_str(m, META_SOURCE, base ? base + 1 : name);
}

static int check_not_empty(struct import *im, const char *name, const struct source *source,
                           struct err *err)
{
    const char *programs = meta_find(&im->profile->meta, META_HEAP_PROGRAMS);
    bool counted = programs && strcmp(programs, "0") != 0; /* no allocation is a count, too */
    bool empty_too = (im->opts.empty_too || counted) && source == &source_kelvin;
    if (profile_count_rows(im->profile) || (empty_too && im->profile->streams.n))
        return 0;
    if (im->skipped)
        return err_set(err, EXIT_INPUT, "%s: no stack could be read as %s; %s", name, source->title,
                       im->first_skip);
    const char *why = meta_find(&im->profile->meta, META_NO_SAMPLES);
    if (source == &source_kelvin && why)
        return err_set(err, EXIT_INPUT, "%s: no samples in it: %s", name, why);
    if (im->notes.n)
        return err_set(err, EXIT_INPUT, "%s: no stack in it (read as %s); %s", name, source->title,
                       im->notes.at[0]);
    return err_set(err, EXIT_INPUT, "%s: no stack in it (read as %s)", name, source->title);
}

static int import_read_all(struct import *im, const char *name, struct err *err)
{
    const struct source *source;
    if (import_choose(im, name, &source, err) != 0)
        return -1;
    im->format = source->name;
    if (im->opts.names_only && source->no_mappings)
        im->opts.bare_addresses = false;
    int rc = source->read(im, err);
    struct err broken;
    if (reader_failed(im->in, &broken))
        rc = err_set(err, broken.code, "%s: %s", name, broken.text);
    else if (rc != 0) {
        struct err inner = *err;
        err_set(err, inner.code, "%s: %s", name, inner.text);
        err_hint(err, inner.hint);
    }
    if (rc != 0 || check_not_empty(im, name, source, err) != 0)
        return -1;
    import_label(im, name);
    return 0;
}

int import_reader(struct import *im, struct reader *in, const char *name,
                  const struct import_opts *opts, struct profile **ret, struct err *err)
{
    *im = (struct import){.in = in, .opts = *opts, .profile = profile_new()};
    im->profile->merge_rows = opts->merge;
    int rc = import_read_all(im, name, err);
    if (rc == 0)
        *ret = im->profile;
    else
        profile_free(im->profile);
    im->profile = NULL;
    im->in = NULL;
    return rc;
}

/* The file in a folder of perf record --threads or --kcore; NULL where PATH is no folder. */
static char *data_of_folder(const char *path)
{
    struct stat st;
    if (strcmp(path, "-") == 0 || stat(path, &st) != 0 || !S_ISDIR(st.st_mode))
        return NULL;
    return mem_printf("%s/data", path);
}

int import_file(struct import *im, const char *path, const struct import_opts *opts,
                struct profile **ret, struct err *err)
{
    struct reader in;
    *im = (struct import){0};
    const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
    autofree char *inside = data_of_folder(path);
    struct import_opts own = *opts;
    own.folder = inside ? path : NULL;
    if (inside && access(inside, F_OK) != 0)
        return err_set(err, EXIT_ERROR,
                       "'%s' is a folder, but neither one of continuous recordings nor one of "
                       "perf record, which has a file 'data'",
                       path);
    if ((inside ? reader_open_file(&in, inside, err) : reader_open(&in, path, err)) != 0)
        return -1;
    int rc = import_reader(im, &in, name, &own, ret, err);
    reader_close(&in);
    return rc;
}

void import_done(struct import *im)
{
    for (size_t i = 0; i < im->notes.n; i++)
        free(im->notes.at[i]);
    vec_done(&im->notes);
}

static int import_skip(struct import *im, const char *what, uint64_t place, const char *why,
                       struct err *err)
{
    if (im->opts.strict) {
        return err_set_hint(err, EXIT_FAILS, HINT_STRICT, "%s %llu: %s", what,
                            (unsigned long long)place, why);
    }
    if (im->skipped++ == 0)
        snprintf(im->first_skip, sizeof im->first_skip, "%s %llu: %s", what,
                 (unsigned long long)place, why);
    return 0;
}

int import_skip_line(struct import *im, struct err *err, const char *fmt, ...)
{
    char why[160];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(why, sizeof why, fmt, ap);
    va_end(ap);
    return import_skip(im, "line", im->in->lines, why, err);
}

int import_skip_byte(struct import *im, uint64_t offset, struct err *err, const char *fmt, ...)
{
    char why[160];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(why, sizeof why, fmt, ap);
    va_end(ap);
    return import_skip(im, "byte", offset, why, err);
}

void import_note(struct import *im, const char *fmt, ...)
{
    char text[300];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    *vec_push(&im->notes) = mem_strdup(text);
}
