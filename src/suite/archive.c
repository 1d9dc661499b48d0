/* archive.c - recordings by commit; see archive.h. */
#include "suite/archive.h"
#include "base/path.h"
#include "host/ask.h"
#include "suite/suite.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* The folder that the history of C is in. Free it. */
static char *archive_home(const struct conf *c)
{
    const char *store = conf_text(c, "", "history.store");
    return path_folder(*store ? store : ".kelvin/history.db");
}

int archive_check_home(const char *home, struct err *err)
{
    static const char *const parts[] = {"", "/archive", "/baselines", "/variants"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        autofree char *folder = mem_printf("%s%s", home, parts[i]);
        if (path_is_planted(folder))
            return err_set(err, EXIT_ERROR,
                           "another user put '%s' into a shared folder; remove it, or set "
                           "history.store to a path elsewhere",
                           folder);
    }
    return 0;
}

/* --- names of folders --- */

enum { COMMIT_DIGITS = 12, NAMES_MAX = 100000 };

struct entries {
    VEC(char *) at; /* oldest first */
};

static void entries_done(struct entries *e)
{
    for (size_t i = 0; i < e->at.n; i++)
        free(e->at.at[i]);
    vec_done(&e->at);
}

static int archive_by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* "20261117T081500Z-3f9a1c2d04ab": what stands in the archive under any other name is not ours. */
static bool is_entry(const char *name)
{
    return strlen(name) > 17 && strspn(name, "0123456789") == 8 && name[8] == 'T' &&
           strspn(name + 9, "0123456789") == 6 && name[15] == 'Z' && name[16] == '-';
}

static struct entries archive_list(const char *archive)
{
    struct entries e = {0};
    DIR *d = opendir(archive);
    for (struct dirent *it; d && e.at.n < NAMES_MAX && (it = readdir(d));)
        if (is_entry(it->d_name))
            *vec_push(&e.at) = mem_strdup(it->d_name);
    if (d)
        closedir(d);
    if (e.at.n)
        qsort(e.at.at, e.at.n, sizeof *e.at.at, archive_by_name);
    return e;
}

/* --- keeping --- */

static char *entry_name(const struct suite *s, time_t t)
{
    char when[32];
    struct tm utc;
    gmtime_r(&t, &utc);
    strftime(when, sizeof when, "%Y%m%dT%H%M%SZ", &utc);
    return mem_printf("%s-%.*s%s", when, COMMIT_DIGITS, *s->git.commit ? s->git.commit : "none",
                      s->n_dirty ? "-changed" : "");
}

/* Where it will be. Of two runs in one second the later takes the next: none replaces another, and
 * names stay in the order of the runs, whatever their commits are. */
static char *new_entry(const struct suite *s, const char *archive)
{
    enum { STAMP = 16 }; /* "20261117T081500Z" */
    struct entries e = archive_list(archive);
    char *name = NULL;
    for (time_t t = (time_t)s->time_s; !name; t++) {
        name = entry_name(s, t);
        for (size_t i = 0; name && i < e.at.n; i++)
            if (strncmp(e.at.at[i], name, STAMP) == 0) {
                free(name);
                name = NULL;
            }
    }
    char *path = mem_printf("%s/%s", archive, name);
    free(name);
    entries_done(&e);
    return path;
}

static int copy_recordings(const struct suite *s, const char *from, const struct folder *to,
                           struct err *err)
{
    for (size_t i = 0; i < s->results.n; i++) {
        const struct suite_result *w = &s->results.at[i];
        const char *files[] = {w->recordings.n ? w->recordings.at[0].file : NULL,
                               w->has_heap ? w->heap.file : NULL};
        for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
            if (!files[k])
                continue;
            autofree char *source = mem_printf("%s/%s", from, files[k]);
            autofree char *target = folder_file(to, files[k]);
            if (folder_copy_file(source, target, err) != 0)
                return -1;
        }
    }
    return 0;
}

/* Of the files in the folder PATH. */
static double entry_bytes(const char *path)
{
    double sum = 0;
    struct stat st;
    DIR *d = opendir(path);
    for (struct dirent *it; d && (it = readdir(d));)
        if (fstatat(dirfd(d), it->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
            sum += (double)st.st_size;
    if (d)
        closedir(d);
    return sum;
}

/* The newest stays, however large it is: it is what was just measured. */
static size_t forget_old(const char *archive, const struct archive_limits *most)
{
    struct entries e = archive_list(archive);
    double bytes = 0;
    size_t kept = 0, too_large = 0;
    for (size_t i = e.at.n; i-- > 0;) {
        autofree char *path = mem_printf("%s/%s", archive, e.at.at[i]);
        bytes += entry_bytes(path);
        bool few = kept < (size_t)most->runs, small = !kept || bytes <= most->bytes;
        if (few && small && !too_large) {
            kept++;
            continue;
        }
        too_large += few && !small;
        folder_remove(path);
    }
    entries_done(&e);
    folder_sweep(archive, NULL);
    return too_large;
}

static bool has_recordings(const struct suite *s)
{
    bool any = false;
    for (size_t i = 0; i < s->results.n; i++)
        any |= s->results.at[i].recordings.n || s->results.at[i].has_heap;
    return any;
}

int archive_add(const struct suite *s, const char *folder, const struct archive_limits *most,
                size_t *ret_too_large, struct err *err)
{
    struct folder to = {.lock = -1};
    *ret_too_large = 0;
    if (most->runs <= 0 || !has_recordings(s))
        return 0;
    autofree char *home = archive_home(&s->conf), *archive = mem_printf("%s/archive", home);
    autofree char *path = new_entry(s, archive);
    int rc = archive_check_home(home, err);
    if (rc == 0)
        rc = folder_make(archive, err);
    if (rc == 0)
        rc = folder_open(&to, path, err);
    if (rc == 0)
        rc = copy_recordings(s, folder, &to, err);
    if (rc == 0)
        rc = folder_commit(&to, err);
    folder_drop(&to);
    if (rc == 0)
        *ret_too_large = forget_old(archive, most);
    return rc;
}

/* --- finding --- */

/* All digits of the commit that git knows as NAME; false where it knows none. */
static bool ask_commit(const char *name, char ret[65])
{
    autobuf struct buf said = {0};
    autofree char *commit = mem_printf("%s^{commit}", name);
    const char *argv[] = {"git",  "rev-parse", "--verify", "--quiet", "--end-of-options",
                          commit, NULL};
    struct ask ask = {.ms_left = 2000};
    if (*name == '-' || !ask_program(&ask, argv, &said))
        return false;
    struct text line = text_trim(buf_text(&said));
    while (line.n && line.at[line.n - 1] == '\n')
        line.n--;
    snprintf(ret, 65, "%.*s", TEXT_ARG(line));
    return strspn(ret, "0123456789abcdef") >= COMMIT_DIGITS;
}

static bool archive_has(const char *folder, const char *workload)
{
    autofree char *path = mem_printf("%s/%s.kelvin", folder, workload);
    return path_kind(path) == PATH_FILE;
}

/*
 * The newest entry that is of COMMIT, or of any (""), and has a recording of WORKLOAD, if one is
 * named: a run of other workloads has none. Where no entry has it the newest of them; NULL = none.
 * Free it.
 */
static char *newest(const char *archive, const char *commit, const char *workload)
{
    struct entries e = archive_list(archive);
    char *found = NULL;
    bool done = false;
    for (size_t i = e.at.n; i-- > 0 && !done;) {
        autofree char *path = mem_printf("%s/%s", archive, e.at.at[i]);
        if (*commit && strncmp(e.at.at[i] + 17, commit, COMMIT_DIGITS) != 0)
            continue;
        done = !*workload || (!strchr(workload, '/') && archive_has(path, workload));
        if (done || !found) {
            free(found);
            found = mem_strdup(path);
        }
    }
    entries_done(&e);
    return found;
}

/* The folder that REF means, for a recording of WORKLOAD or, if "", of any; NULL with ERR. */
static char *find_folder(const char *home, const char *ref, const char *workload, struct err *err)
{
    autofree char *archive = mem_printf("%s/archive", home);
    autofree char *baseline = mem_printf("%s/baselines/%s", home, ref);
    char commit[65];
    bool plain = *ref != '.' && !strchr(ref, '/');
    if (strcmp(ref, "last") == 0) {
        char *found = newest(archive, "", workload);
        if (!found)
            err_set(err, EXIT_ERROR, "no run of the suite is in the archive yet (history.keep)");
        return found;
    }
    if (plain && path_kind(baseline) == PATH_FOLDER)
        return mem_strdup(baseline);
    if (!ask_commit(ref, commit)) {
        err_set(err, EXIT_ERROR,
                "'@%s' is neither @last nor a baseline nor a commit that git knows", ref);
        return NULL;
    }
    char *found = newest(archive, commit, workload);
    if (!found)
        err_set(err, EXIT_ERROR,
                "'@%s' is commit %.*s, of which no run is in the archive: it keeps good runs only, "
                "as many as history.keep and history.max-size allow",
                ref, COMMIT_DIGITS, commit);
    return found;
}

/* "small.2" and "small.heap" are further recordings of "small", if that is there. */
static bool is_further(const char *folder, const char *name)
{
    const char *dot = strrchr(name, '.');
    if (!dot || !(strcmp(dot, ".heap") == 0 || strspn(dot + 1, "0123456789") == strlen(dot + 1)))
        return false;
    autofree char *first = mem_strndup(name, (size_t)(dot - name));
    return archive_has(folder, first);
}

/* The workloads that have a recording in FOLDER, by name. */
static struct entries archive_workloads(const char *folder)
{
    struct entries e = {0};
    DIR *d = opendir(folder);
    for (struct dirent *it; d && e.at.n < NAMES_MAX && (it = readdir(d));) {
        struct text name = text_of(it->d_name);
        size_t ending = strlen(".kelvin");
        if (name.n <= ending || !text_ends(name, ".kelvin"))
            continue;
        autofree char *workload = mem_strndup(name.at, name.n - ending);
        if (archive_has(folder, workload) && !is_further(folder, workload))
            *vec_push(&e.at) = mem_strdup(workload);
    }
    if (d)
        closedir(d);
    if (e.at.n)
        qsort(e.at.at, e.at.n, sizeof *e.at.at, archive_by_name);
    return e;
}

/* The one recording in FOLDER. */
static int find_only(const char *folder, const char *ref, char **ret, struct err *err)
{
    autobuf struct buf names = {0};
    struct entries e = archive_workloads(folder);
    for (size_t i = 0; i < e.at.n; i++)
        buf_printf(&names, "%s@%s:%s", i ? ", " : "", ref, e.at.at[i]);
    *ret = e.at.n == 1 ? mem_printf("%s/%s.kelvin", folder, e.at.at[0]) : NULL;
    size_t n = e.at.n;
    entries_done(&e);
    if (n == 1)
        return 0;
    if (!n)
        return err_set(err, EXIT_ERROR, "'@%s' has no recordings", ref);
    return err_set(err, EXIT_ERROR, "'@%s' has %zu recordings; name one: %s", ref, n,
                   buf_cstr(&names));
}

static int find_file(const char *folder, const char *ref, const char *workload, char **ret,
                     struct err *err)
{
    if (!*workload)
        return find_only(folder, ref, ret, err);
    *ret = strchr(workload, '/') ? mem_strdup("") : mem_printf("%s/%s.kelvin", folder, workload);
    if (path_kind(*ret) == PATH_FILE)
        return 0;
    free(*ret);
    *ret = NULL;
    return err_set(err, EXIT_ERROR, "'@%s' has no recording of '%s'", ref, workload);
}

/* Where the suite is, and its history. Free it. */
static char *find_home(void)
{
    autobuf struct buf errors = {0};
    struct conf c;
    struct err err;
    autofree char *conf = NULL;
    if (conf_locate(&conf, &err) != 0 || !conf)
        return mem_strdup(".kelvin");
    conf_read(&c, conf, (struct conf_sets){0}, &errors,
              &err); /* what is wrong does not matter here */
    autofree char *home = archive_home(&c), *folder = path_folder(conf);
    conf_done(&c);
    return *home == '/' ? mem_strdup(home) : mem_printf("%s/%s", folder, home);
}

int archive_find(const char *name, char **ret, struct err *err)
{
    autofree char *home = find_home();
    autofree char *ref = mem_strdup(name), *folder = NULL;
    char *colon = strrchr(ref, ':');
    *ret = NULL;
    if (colon)
        *colon = '\0';
    if (archive_check_home(home, err) != 0)
        return -1;
    const char *workload = colon ? colon + 1 : "";
    folder = find_folder(home, ref, workload, err);
    return folder ? find_file(folder, ref, workload, ret, err) : -1;
}

/* --- all of them --- */

/* "20261117T081500Z-3f9a1c2d04ab-changed" for people. */
static void step_name(const char *entry, char *to, size_t size)
{
    bool changed = text_ends(text_of(entry), "-changed");
    snprintf(to, size, "%.4s-%.2s-%.2s %.2s:%.2s:%.2s UTC, commit %.*s%s", entry, entry + 4,
             entry + 6, entry + 9, entry + 11, entry + 13, COMMIT_DIGITS, entry + 17,
             changed ? " with changes" : "");
}

static void archive_add_step(const char *archive, const char *entry, const char *workload,
                             struct archive_steps *ret)
{
    autofree char *folder = mem_printf("%s/%s", archive, entry);
    if (!archive_has(folder, workload))
        return;
    struct archive_step *s = vec_push(&ret->at);
    s->path = mem_printf("%s/%s.kelvin", folder, workload);
    step_name(entry, s->name, sizeof s->name);
}

/* All workloads of all entries, each once. */
static struct entries all_workloads(const char *archive, const struct entries *runs)
{
    struct entries all = {0};
    for (size_t i = 0; i < runs->at.n; i++) {
        autofree char *folder = mem_printf("%s/%s", archive, runs->at.at[i]);
        struct entries some = archive_workloads(folder);
        for (size_t k = 0; k < some.at.n; k++) {
            bool known = false;
            for (size_t m = 0; m < all.at.n && !known; m++)
                known = strcmp(all.at.at[m], some.at.at[k]) == 0;
            if (!known)
                *vec_push(&all.at) = mem_strdup(some.at.at[k]);
        }
        entries_done(&some);
    }
    if (all.at.n)
        qsort(all.at.at, all.at.n, sizeof *all.at.at, archive_by_name);
    return all;
}

/* WORKLOAD is not there, or none was named and there are several. */
static int no_steps(const char *workload, const struct entries *all, struct err *err)
{
    autobuf struct buf names = {0};
    for (size_t i = 0; i < all->at.n && i < 12; i++)
        buf_printf(&names, "%s%s", i ? ", " : "", all->at.at[i]);
    if (!all->at.n)
        return err_set(err, EXIT_ERROR, "no run of the suite is in the archive yet (history.keep)");
    if (*workload)
        return err_set(err, EXIT_ERROR, "no archived run has a recording of '%s'; there are: %s",
                       workload, buf_cstr(&names));
    return err_set(err, EXIT_ERROR, "archived runs have recordings of %zu workloads; name one: %s",
                   all->at.n, buf_cstr(&names));
}

int archive_steps(const char *workload, struct archive_steps *ret, struct err *err)
{
    autofree char *home = find_home(), *archive = mem_printf("%s/archive", home);
    *ret = (struct archive_steps){0};
    if (archive_check_home(home, err) != 0)
        return -1;
    struct entries e = archive_list(archive), all = all_workloads(archive, &e);
    const char *which = !*workload && all.at.n == 1 ? all.at.at[0] : workload;
    for (size_t i = 0; i < e.at.n && *which && !strchr(which, '/'); i++)
        archive_add_step(archive, e.at.at[i], which, ret);
    int rc = ret->at.n ? 0 : no_steps(workload, &all, err);
    entries_done(&e);
    entries_done(&all);
    return rc;
}

void archive_steps_done(struct archive_steps *s)
{
    for (size_t i = 0; i < s->at.n; i++)
        free(s->at.at[i].path);
    vec_done(&s->at);
}
