/* run_baseline.c - the figures, recordings and program of a baseline, loaded and saved. */
#include "base/path.h"
#include "source/import.h"
#include "store/store.h"
#include "suite/archive.h"
#include "suite/run_inner.h"

#include <ctype.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

/* It becomes the name of a folder, and in CI it is that of a branch, which anybody can choose. */
static int check_name(const char *name, struct err *err)
{
    enum { LONGEST = 100 };
    bool plain = isalnum((unsigned char)*name) || *name == '_';
    for (const char *c = name; *c; c++)
        plain &= isalnum((unsigned char)*c) || strchr("-_.+", *c);
    if (plain && strlen(name) <= LONGEST)
        return 0;
    return err_set(
        err, EXIT_ERROR,
        "'%.60s' cannot be the name of a baseline: use up to %d letters, digits, - _ . +, "
        "the first a letter, a digit or _",
        name, LONGEST);
}

/* The figures of the baseline to compare with. */
static int find_baseline(struct run *r, struct err *err)
{
    const char *path = conf_text(&r->suite.conf, "", "history.store"), *name = r->opts.against;
    struct store *store;
    autofree char *stored = mem_printf("suite:%s", name);
    if (path_kind(path) != PATH_NOTHING) {
        if (store_open(&store, path, STORE_READ, err) != 0)
            return -1;
        int rc = store_load_baseline(store, stored, &r->suite.before, err);
        store_close(store);
        if (rc == 0)
            return 0;
    }
    r->fault = RUN_NO_BASELINE;
    return err_set(err, EXIT_ERROR, "there is no baseline '%s'", name);
}

int run_check_baselines(struct run *r, struct err *err)
{
    autofree char *home = path_folder(conf_text(&r->suite.conf, "", "history.store"));
    if (archive_check_home(home, err) != 0)
        return -1;
    if (r->opts.save && check_name(r->opts.save, err) != 0)
        return -1;
    if (!r->opts.against)
        return 0;
    return check_name(r->opts.against, err) == 0 ? find_baseline(r, err) : -1;
}

char *run_home_folder(const struct run *r, const char *name)
{
    autofree char *home = path_folder(conf_text(&r->suite.conf, "", "history.store"));
    return mem_printf("%s/%s", home, name);
}

char *run_baseline_folder(const struct run *r, const char *name)
{
    autofree char *all = run_home_folder(r, "baselines");
    return mem_printf("%s/%s", all, name);
}

/* NULL where it cannot be read; then that is said. */
static struct profile *load_before(struct run *r, const char *path, struct selection *ret)
{
    struct profile *p = NULL;
    struct import im;
    struct err err;
    int rc = import_file(&im, path, &(struct import_opts){0}, &p, &err);
    import_done(&im);
    struct value_ref value;
    if (rc == 0 && profile_pick_value(p, NULL, NULL, &value, &err) == 0) {
        *ret = selection_all(p, value);
        return p;
    }
    run_say(r, "%s: %s", path, err.text);
    profile_free(p);
    return NULL;
}

static void load_recordings(struct run *r, struct suite_result *w, const char *folder)
{
    autofree char *cache = mem_printf("%s/%s.cachegrind", folder, w->workload.name);
    struct selection all;
    autofree char *heap = mem_printf("%s/%s.heap.kelvin", folder, w->workload.name);
    if (path_kind(cache) == PATH_FILE)
        w->before_cache = load_before(r, cache, &all);
    if (path_kind(heap) == PATH_FILE)
        w->heap_before.profile = load_before(r, heap, &w->heap_before.selection);
    for (int i = 0;; i++) {
        autofree char *path = i ? mem_printf("%s/%s.%d.kelvin", folder, w->workload.name, i + 1)
                                : mem_printf("%s/%s.kelvin", folder, w->workload.name);
        if (path_kind(path) != PATH_FILE)
            return;
        struct profile *p = load_before(r, path, &all);
        if (p)
            *vec_push(&w->before) = (struct suite_recording){.profile = p, .selection = all};
    }
}

int run_load_baseline(struct run *r, struct err *err)
{
    struct suite *s = &r->suite;
    const char *name = r->opts.against;
    if (!name)
        return 0;
    const char *host = meta_find(&s->before.meta, META_HOST);
    if (host && strcmp(host, s->host.name) != 0 && !r->opts.force) {
        r->fault = RUN_OTHER_HOST;
        return err_set(err, EXIT_ERROR, "baseline '%s' is from another machine (%s, this is %s)",
                       name, host, s->host.name);
    }
    s->against = name;
    autofree char *folder = run_baseline_folder(r, name);
    for (size_t i = 0; i < s->results.n; i++)
        load_recordings(r, &s->results.at[i], folder);
    return 0;
}

static int save_file(struct run *r, const struct folder *to, const char *name, struct err *err)
{
    autofree char *from = folder_file(&r->suite.folder, name), *path = folder_file(to, name);
    return folder_copy_file(from, path, err);
}

static int save_recordings(struct run *r, const struct folder *to, struct err *err)
{
    for (size_t i = 0; i < r->suite.results.n; i++) {
        const struct suite_result *w = &r->suite.results.at[i];
        for (size_t k = 0; k < w->recordings.n; k++)
            if (save_file(r, to, w->recordings.at[k].file, err) != 0)
                return -1;
        if (w->has_heap && save_file(r, to, w->heap.file, err) != 0)
            return -1;
        if (w->cache_file && save_file(r, to, w->cache_file, err) != 0)
            return -1;
    }
    return 0;
}

static int save_series(struct run *r, struct err *err)
{
    autofree char *name = mem_printf("suite:%s", r->opts.save);
    struct store *store;
    if (store_open(&store, conf_text(&r->suite.conf, "", "history.store"), STORE_WRITE, err) != 0)
        return -1;
    int rc = store_save_baseline(store, name, &r->suite.series, err);
    store_close(store);
    return rc;
}

/* The old baseline stays until all of the new one is there. */
int run_save_baseline(struct run *r, struct err *err)
{
    struct folder to = {.lock = -1};
    if (!r->opts.save)
        return 0;
    autofree char *path = run_baseline_folder(r, r->opts.save);
    int rc = folder_open(&to, path, err);
    if (rc == 0)
        rc = save_recordings(r, &to, err);
    if (rc == 0)
        rc = run_keep_programs(r, &to, err);
    if (rc == 0)
        rc = save_series(r, err);
    if (rc == 0)
        rc = folder_commit(&to, err);
    folder_drop(&to);
    return rc;
}
