#include "cmd/input.h"
#include "analysis/diff.h"
#include "analysis/walljoin.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/opt.h"
#include "base/path.h"
#include "base/units.h"
#include "cmd/command.h"
#include "model/append.h"
#include "model/standin.h"
#include "model/streamkind.h"
#include "source/sources.h"
#include "suite/archive.h"
#include "symbol/finder.h"
#include "symbol/readable.h"
#include "symbol/sidecar.h"
#include "symbol/signature.h"
#include "wire/keepdir.h"

#include <pthread.h>
#include <stdatomic.h>

static void print_warnings(const struct import *im)
{
    char n[UNITS_MAX];
    for (size_t i = 0; i < im->notes.n; i++)
        command_say("%s", im->notes.at[i]);
    if (im->skipped)
        command_say("skipped %s %s; the first: %s", units_count(n, im->skipped),
                    im->skipped == 1 ? "flaw" : "flaws", im->first_skip);
}

/*
 * The kernel's addresses and the files that describe code made at run time belong to the machine
 * as it was: only perf.data, and a recording whose recorder was killed, are named from those. All
 * else has had its chance, or is from who knows where.
 */
static bool is_of_now(const struct profile *p, const struct import *im)
{
    return strcmp(im->format, source_perfdata.name) == 0 ||
           (strcmp(im->format, source_kelvin.name) == 0 && meta_find(&p->meta, META_CUT));
}

/* One profile on its way in. Reading prints nothing, so that several can be read at once. */
struct loading {
    const char *path;
    const struct input_opts *opts;
    struct import_opts want;
    struct import im;
    struct profile *profile;
    symbolize_missing_list missing;
    struct err err;
    int rc;
};

typedef VEC(const char *) folder_list;

/* The folders of --symbols, lists taken apart; the texts are in ARENA. */
static void split_folders(const struct opt_list *list, struct arena *arena, folder_list *ret)
{
    for (size_t i = 0; i < list->n; i++)
        for (struct text rest = text_of(list->at[i]); rest.n;) {
            struct text folder = text_cut(&rest, ':');
            if (folder.n)
                *vec_push(ret) = arena_text(arena, folder).at;
        }
}

/* Forget those that have names by now. */
static void drop_named(const struct profile *p, symbolize_missing_list *list)
{
    size_t n = 0;
    for (size_t i = 0; i < list->n; i++) {
        size_t bare = 0;
        for (size_t k = 0; k < p->frames.n && !bare; k++) {
            const struct mapping *m = &p->mappings.at[p->frames.at[k].mapping.i];
            bare += !p->frames.at[k].n_lines && m->path.i == list->at[i].path.i;
        }
        if (bare)
            list->at[n++] = list->at[i];
    }
    list->n = n;
}

/* samply can write names beside its profiles. */
static void add_names_beside(struct loading *l)
{
    autofree char *path = sidecar_path(l->path);
    struct err err;
    if (strcmp(l->im.format, source_firefox.name) != 0 || access(path, R_OK) != 0)
        return;
    int64_t named = sidecar_name(l->profile, path, &err);
    if (named < 0)
        import_note(&l->im, "'%s' was left out: %s", path, err.text);
    if (named > 0)
        drop_named(l->profile, &l->missing);
}

/* Whatever has an address, a module and no name. */
static void add_names(struct loading *l)
{
    struct arena arena = {0};
    folder_list folders = {0};
    split_folders(&l->opts->symbols, &arena, &folders);
    struct symbolize_opts o = {
        .symbols = folders.at,
        .n_symbols = folders.n,
        .symfs = l->opts->symfs,
        .files_only = !is_of_now(l->profile, &l->im),
        .places_too = folders.n || l->opts->symfs,
        .missing = &l->missing,
    };
    if ((o.places_too || !meta_find(&l->profile->meta, META_NAMED)) &&
        symbolize_wanted(l->profile, &o))
        symbolize(l->profile, &o);
    add_names_beside(l);
    vec_done(&folders);
    arena_done(&arena);
}

/* A slip of the finger in the name of a file is as common as one in an option. */
static void input_suggest(struct loading *l)
{
    autofree char *near = path_kind(l->path) == PATH_NOTHING ? input_nearest(l->path) : NULL;
    if (near)
        err_set(&l->err, EXIT_ERROR, "cannot open '%s': there is no such file; did you mean '%s'?",
                l->path, near);
}

static void input_read_file(struct loading *l)
{
    autofree char *kept = NULL;
    if (*l->path == '@' && access(l->path, F_OK) != 0)
        l->rc = archive_find(l->path + 1, &kept, &l->err);
    if (l->rc == 0)
        l->rc = import_file(&l->im, kept ? kept : l->path, &l->want, &l->profile, &l->err);
    if (l->rc != 0 && !kept && *l->path != '@' && strcmp(l->path, "-") != 0)
        input_suggest(l);
    if (l->rc != 0)
        return;
    add_names(l);
    readable_rename(l->profile);
    if (l->opts->signatures || l->opts->overloads)
        signature_rename(l->profile, l->opts->signatures ? SIGNATURE_ALL : SIGNATURE_OVERLOADS);
}

/* --- a folder of recordings that follow one another --- */

/*
 * The first that is needed for the last LAST seconds: one ends where the next begins. A file that
 * was copied is as young as the copy, so the start of the youngest counts, not its end: that may
 * be one file too many.
 */
static size_t first_needed(const keepdir_files *files, const char *last)
{
    enum { SLACK_S = 2 };
    double s;
    size_t first = 0;
    if (!files->n || !last || !units_parse_time(last, &s))
        return 0;
    double from_ns = (double)files->at[files->n - 1].start_ns - (s + SLACK_S) * 1e9;
    while (first + 1 < files->n && (double)files->at[first + 1].start_ns < from_ns)
        first++;
    return first;
}

/* Times of another boot, or from before the clock was set, as those of the first file. */
static void align_times(const struct profile *to, struct profile *from)
{
    int64_t shift = (int64_t)(from->clock.wall_ns - from->clock.monotonic_ns) -
                    (int64_t)(to->clock.wall_ns - to->clock.monotonic_ns);
    if (shift > -CLOCK_SECOND_NS && shift < CLOCK_SECOND_NS)
        return;
    for (size_t i = 0; i < from->streams.n; i++) {
        struct rows *r = &from->streams.at[i]->rows;
        for (size_t k = 0; r->time_ns && k < r->n; k++)
            r->time_ns[k] += (uint64_t)shift;
    }
}

/* Facts that add up. */
static void add_facts(struct meta *to, const struct meta *from)
{
    static const char *const keys[] = {META_DURATION_NS, META_IDLE_NS, META_SAMPLED_NS,
                                       META_CPU_TIME_NS, META_RECORDER_NS};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        uint64_t a = 0, b = 0;
        meta_find_u64(to, keys[i], &a);
        if (meta_find_u64(from, keys[i], &b))
            meta_set_u64(to, keys[i], a + b);
    }
}

static int join_file(struct loading *l, struct loading *one, bool part)
{
    for (size_t i = 0; i < one->im.notes.n && !part; i++)
        import_note(&l->im, "%s: %s", one->path, one->im.notes.at[i]);
    if (!l->profile) {
        l->profile = one->profile;
        l->missing = one->missing;
        l->im.format = one->im.format;
        return 0;
    }
    align_times(l->profile, one->profile);
    int rc = profile_append(l->profile, one->profile, &l->err);
    add_facts(&l->profile->meta, &one->profile->meta);
    profile_free(one->profile);
    vec_done(&one->missing);
    return rc;
}

/* Recordings of a folder come from the folder, not from the first file that was looked into. */
static void name_folder(struct loading *l)
{
    struct text path = text_of(l->path);
    while (path.n > 1 && path.at[path.n - 1] == '/')
        path.n--;
    autofree char *folder = mem_strndup(path.at, path.n);
    const char *base = strrchr(folder, '/');
    meta_set_str(&l->profile->meta, META_SOURCE, base && base[1] ? base + 1 : folder);
}

/*
 * Of one that grows nothing may be there yet, and in one that has ended nothing may have run. The
 * last may still grow: it is incomplete by nature, which is no flaw.
 */
static void read_folder(struct loading *l)
{
    keepdir_files files = {0};
    l->rc = keepdir_list(l->path, &files, &l->err);
    for (size_t i = first_needed(&files, l->opts->last); l->rc == 0 && i < files.n; i++) {
        struct loading one = {.path = files.at[i].path, .opts = l->opts, .want = l->want};
        one.want.empty_too = true;
        input_read_file(&one);
        if (one.rc == 0)
            l->rc = join_file(l, &one, files.at[i].part);
        else if (l->want.strict && (!files.at[i].part || i + 1 < files.n))
            l->rc = err_set(&l->err, one.err.code, "%s", one.err.text);
        else if (!files.at[i].part || l->want.strict)
            import_note(&l->im, "left out: %s", one.err.text);
        import_done(&one.im);
    }
    keepdir_done(&files);
    if (l->rc == 0 && l->profile && !l->want.empty_too && !profile_count_rows(l->profile)) {
        profile_free(l->profile);
        l->profile = NULL;
    }
    if (l->rc == 0 && l->profile)
        name_folder(l);
    else if (l->rc == 0)
        l->rc = err_set(&l->err, EXIT_INPUT, "'%s' has no %srecording with samples yet%s", l->path,
                        l->want.strict ? "finished " : "",
                        l->want.strict ? "; --strict leaves out the one that grows" : "");
}

static void input_read_profile(struct loading *l)
{
    if (keepdir_is(l->path))
        read_folder(l);
    else
        input_read_file(l);
    if (l->rc == 0)
        standin_leave_out(l->profile);
}

/* --- modules without names --- */

static const char *reason_text(enum symbolize_reason reason)
{
    switch (reason) {
    case SYMBOLIZE_OTHER_BUILD:
        return "was rebuilt since the recording (its build-id differs)";
    case SYMBOLIZE_FORBIDDEN:
        return "may not be read";
    case SYMBOLIZE_NOT_ELF:
        return "is not an ELF file";
    case SYMBOLIZE_OTHER_KERNEL:
        return "is not the one that runs now";
    case SYMBOLIZE_HIDDEN_KERNEL:
        return "does not show its symbols ('kelvin doctor' says how to change that)";
    case SYMBOLIZE_NO_MAP:
        return "described code made at run time, and is gone";
    case SYMBOLIZE_FOREIGN_MAP:
        return "belongs to another user than the process and was ignored";
    case SYMBOLIZE_GONE:
        break;
    }
    return "is gone";
}

/* Whether a file with a build ID was recorded under PATH: then it was an ELF file. */
static bool had_build_id(const struct profile *p, struct str_id path)
{
    for (size_t i = 0; i < p->mappings.n; i++)
        if (p->mappings.at[i].path.i == path.i && p->mappings.at[i].build_id.i)
            return true;
    return false;
}

/* Whether a copy of the file would help. */
static bool wants_file(const struct profile *p, const struct symbolize_missing *m)
{
    if (m->reason == SYMBOLIZE_NOT_ELF)
        return had_build_id(p, m->path);
    return m->reason == SYMBOLIZE_GONE || m->reason == SYMBOLIZE_OTHER_BUILD ||
           m->reason == SYMBOLIZE_OTHER_KERNEL;
}

static int by_frames(const void *a, const void *b)
{
    const struct symbolize_missing *x = a, *y = b;
    if (x->frames != y->frames)
        return x->frames > y->frames ? -1 : 1;
    return x->path.i < y->path.i ? -1 : x->path.i > y->path.i;
}

/* The module that most frames are from, why it has no names, and what to do about it. */
static void print_missing(const struct profile *p, symbolize_missing_list *list)
{
    if (!list->n)
        return;
    qsort(list->at, list->n, sizeof *list->at, by_frames);
    const struct symbolize_missing *m = &list->at[0];
    autobuf struct buf b = {0};
    buf_printf(&b, "%s %s: its functions have no names",
               m->path.i ? profile_str(p, m->path).at : "the kernel of the recording",
               reason_text(m->reason));
    if (list->n > 1)
        buf_printf(&b, " (and %zu more %s)", list->n - 1, list->n == 2 ? "module" : "modules");
    if (wants_file(p, m))
        buf_str(&b, "; find the old file with --symbols DIR");
    command_say("%s", buf_cstr(&b));
}

/* --- what is selected --- */

const char *const *input_words(struct input_words *w, const struct opt_list *list)
{
    memcpy(w->at, list->at, list->n * sizeof *list->at);
    w->at[list->n] = NULL;
    return w->at;
}

int input_select_value(const struct input *in, const struct input_opts *o, struct value_ref value,
                       struct selection *ret, struct err *err)
{
    struct input_words threads, processes, where, scopes, focus, ignore, hide, modules, recursion;
    struct selection_opts opts = {
        .time = o->time,
        .last = o->last,
        .threads = input_words(&threads, &o->threads),
        .processes = input_words(&processes, &o->processes),
        .where = input_words(&where, &o->where),
        .scopes = input_words(&scopes, &o->scopes),
        .focus = input_words(&focus, &o->focus),
        .ignore = input_words(&ignore, &o->ignore),
        .hide = input_words(&hide, &o->hide),
        .merge_recursion = o->merge_recursion,
        .collapse_modules = input_words(&modules, &o->collapse_modules),
        .collapse_recursion = input_words(&recursion, &o->collapse_recursion),
        .subtree = o->subtree,
    };
    return selection_build(ret, in->profile, value, &opts, err);
}

int input_select(const struct input *in, const struct input_opts *o, struct selection *ret,
                 struct err *err)
{
    struct value_ref value;
    if (profile_pick_value(in->profile, o->event, o->value, &value, err) != 0)
        return o->no_event ? err_set(err, EXIT_INPUT, "%s", o->no_event) : -1;
    return input_select_value(in, o, value, ret, err);
}

/* --- loading --- */

/* Say what is to be said about it, and hand it over. */
static int take_profile(struct loading *l, const struct input_opts *opts, struct input *ret)
{
    *ret = (struct input){.profile = l->profile, .missing = l->missing};
    if (l->rc != 0)
        return command_fail(&l->err);
    print_warnings(&l->im);
    print_missing(l->profile, &ret->missing);
    if (opts->value && strcmp(opts->value, WALL_VALUE) == 0 &&
        walljoin_add(l->profile, &l->err) != 0)
        return command_fail(&l->err);
    return input_select(ret, opts, &ret->selection, &l->err) == 0 ? EXIT_OK : command_fail(&l->err);
}

static struct loading loading_of(const char *path, const struct input_opts *opts,
                                 const struct import_opts *want)
{
    struct loading l = {.path = path, .opts = opts, .want = *want};
    l.want.format = opts->from;
    l.want.strict = opts->strict;
    bool wall = opts->value && strcmp(opts->value, WALL_VALUE) == 0;
    if (opts->time || opts->last || opts->scopes.n || wall) /* merged rows have no times */
        l.want.merge = false;
    l.want.bare_addresses = true; /* they may get names */
    return l;
}

static int input_load_one(struct input *in, const char *path, const struct input_opts *opts,
                          const struct import_opts *want)
{
    struct loading l = loading_of(path, opts, want);
    input_read_profile(&l);
    int rc = take_profile(&l, opts, in);
    import_done(&l.im);
    return rc;
}

int input_load(struct input *in, const struct opt_result *args, const struct input_opts *opts,
               const struct import_opts *want)
{
    struct err err;
    *in = (struct input){0};
    if (args->n_operands != 1) {
        err_set(&err, EXIT_ERROR, "%s ('-' reads standard input); see --help",
                args->n_operands ? "one profile at a time" : "no profile is given: name a file");
        return command_fail(&err);
    }
    int rc = input_load_one(in, args->operands[0], opts, want);
    if (rc != EXIT_OK)
        input_done(in);
    return rc;
}

/* --- several --- */

struct crew {
    struct loading *list;
    size_t n;
    atomic_size_t next;
};

static void *read_some(void *arg)
{
    struct crew *c = arg;
    for (size_t i; (i = atomic_fetch_add(&c->next, 1)) < c->n;)
        input_read_profile(&c->list[i]);
    return NULL;
}

/* As many at once as there are CPUs; standard input can be read by one only. */
static size_t threads_for(const struct crew *c)
{
    enum { MOST = 8 };
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    size_t n = cpus < 1 ? 1 : cpus > MOST ? MOST : (size_t)cpus;
    for (size_t i = 0; i < c->n; i++)
        if (strcmp(c->list[i].path, "-") == 0)
            return 1;
    return n < c->n ? n : c->n;
}

static void read_profiles(struct crew *c)
{
    VEC(pthread_t) threads = {0};
    for (size_t i = 1, n = threads_for(c); i < n; i++)
        if (pthread_create(vec_push(&threads), NULL, read_some, c) != 0)
            threads.n--;
    read_some(c);
    for (size_t i = 0; i < threads.n; i++)
        pthread_join(threads.at[i], NULL);
    vec_done(&threads);
}

int input_load_all(struct input *ins, char **paths, size_t n, const struct input_opts *opts,
                   const struct import_opts *want)
{
    struct crew c = {.list = mem_calloc(n + 1, sizeof *c.list), .n = n};
    int rc = EXIT_OK;
    for (size_t i = 0; i < n; i++)
        c.list[i] = loading_of(paths[i], opts, want);
    read_profiles(&c);
    for (size_t i = 0; i < n; i++) {
        if (rc == EXIT_OK)
            rc = take_profile(&c.list[i], opts, &ins[i]);
        else
            ins[i] = (struct input){.profile = c.list[i].profile, .missing = c.list[i].missing};
        import_done(&c.list[i].im);
    }
    free(c.list);
    return rc;
}

/* Whether both paths lead to one plain file. */
static bool paths_are_same(const char *x, const char *y)
{
    struct stat a, b;
    return path_kind(x) == PATH_FILE && stat(x, &a) == 0 && stat(y, &b) == 0 &&
           a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* Folders are nobody's business where it is published. */
static const char *name_of_path(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool input_repeated(const struct input *ins, char *const *paths, size_t n, struct buf *b)
{
    for (size_t k = 1; k < n; k++)
        for (size_t i = 0; i < k; i++)
            if (paths_are_same(paths[i], paths[k]) ||
                diff_is_same_recording(&ins[i].selection, &ins[k].selection)) {
                buf_printf(b, "'%s' and '%s' are the same recording, not two runs\n",
                           name_of_path(paths[i]), name_of_path(paths[k]));
                return true;
            }
    return false;
}

/* Streams that a command of its own shows; parts of them have none. */
static const struct {
    bool is_own;
    const char *command;
} own_commands[STREAM_KINDS] = {
    [STREAM_HEAP] = {true, "heap"},   [STREAM_HEAP_SIZES] = {true},
    [STREAM_HEAP_LIFETIMES] = {true}, [STREAM_SCOPES] = {true, "scopes"},
    [STREAM_MOMENTS] = {true},        [STREAM_WAITS] = {true, "report --waits"},
    [STREAM_THREAD_STATES] = {true},  [STREAM_WAKEUPS] = {true},
};

/*
 * Whether OPTS say which of the profile's streams is meant. Waits and states of threads both have
 * "blocked" and "runnable": who asks for these by name means the stacks, which states have not.
 */
static bool event_is_chosen(const struct input *in, const struct input_opts *opts,
                            const struct stream *shown)
{
    return opts->event || (opts->value && (stream_kind_of(in->profile, shown) == STREAM_WAITS ||
                                           profile_value_chooses(in->profile, opts->value, shown)));
}

void input_tell_others(const struct input *in, const struct input_opts *opts)
{
    const struct profile *p = in->profile;
    const struct stream *shown = profile_stream(p, in->selection.value.stream);
    if (event_is_chosen(in, opts, shown) || opts->scopes.n)
        return;
    for (int i = 0; i < (int)p->streams.n; i++) {
        const struct stream *s = profile_stream(p, i);
        enum stream_kind kind = stream_kind_of(p, s);
        if (s != shown && own_commands[kind].command)
            command_say("'kelvin %s' shows the %s in the input", own_commands[kind].command,
                        stream_kind_event(kind));
    }
}

void input_tell_events(const struct input *in, const struct input_opts *opts)
{
    const struct profile *p = in->profile;
    const struct stream *shown = profile_stream(p, in->selection.value.stream);
    bool more = false;
    if (event_is_chosen(in, opts, shown))
        return;
    for (int i = 0; i < (int)p->streams.n; i++) {
        const struct stream *s = profile_stream(p, i);
        more |= s != shown && !own_commands[stream_kind_of(p, s)].is_own;
    }
    if (more)
        command_say("showing the event '%s' of several; --event chooses another",
                    profile_str(p, shown->event).at);
}

char *input_find_file(const void *opts, const char *path, struct text build_id)
{
    const struct input_opts *o = opts;
    struct arena arena = {0};
    folder_list folders = {0};
    struct finder finder;
    split_folders(&o->symbols, &arena, &folders);
    finder_init(&finder, &(struct finder_opts){
                             .symbols = folders.at, .n_symbols = folders.n, .symfs = o->symfs});
    char *found = finder_path(&finder, path, build_id);
    finder_done(&finder);
    vec_done(&folders);
    arena_done(&arena);
    return found ? found : mem_strdup(path);
}

void input_make_public(struct input *in, const struct input_opts *opts)
{
    meta_make_public(&in->profile->meta, opts->arguments);
}

void input_done(struct input *in)
{
    selection_done(&in->selection);
    profile_free(in->profile);
    vec_done(&in->missing);
    in->profile = NULL;
}
