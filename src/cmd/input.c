#include "cmd/input.h"
#include "base/units.h"
#include "cmd/command.h"
#include "source/sources.h"
#include "symbol/symbolize.h"

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

/* perf.data holds addresses only, and so does a recording whose recorder was killed. */
static bool wants_names(const struct profile *p, const struct import *im)
{
    return strcmp(im->format, source_perfdata.name) == 0 ||
           (strcmp(im->format, source_kelvin.name) == 0 && meta_find(&p->meta, META_CUT));
}

/* One profile on its way in. Reading prints nothing, so that several can be read at once. */
struct loading {
    const char *path;
    struct import_opts want;
    struct import im;
    struct profile *profile;
    size_t missing_files;
    struct err err;
    int rc;
};

/* The files that addresses belong to are on this machine, or not at all. */
static void read_profile(struct loading *l)
{
    l->rc = import_file(&l->im, l->path, &l->want, &l->profile, &l->err);
    if (l->rc == 0 && wants_names(l->profile, &l->im))
        l->missing_files = symbolize(l->profile, &(struct symbolize_opts){0}).missing_files;
}

/* --- what is selected --- */

/* The words of a list with a NULL behind them. */
struct words {
    const char *at[OPT_LIST_MAX + 1];
};

static const char *const *words_of(struct words *w, const struct opt_list *list)
{
    memcpy(w->at, list->at, list->n * sizeof *list->at);
    w->at[list->n] = NULL;
    return w->at;
}

bool input_is_filtered(const struct input_opts *o)
{
    return o->time || o->threads.n || o->processes.n || o->where.n || o->focus.n || o->ignore.n ||
           o->hide.n || o->merge_recursion;
}

static int select_part(struct input *in, const struct input_opts *o, struct err *err)
{
    struct value_ref value;
    struct words threads, processes, where, focus, ignore, hide;
    if (profile_pick_value(in->profile, o->event, o->value, &value, err) != 0)
        return -1;
    struct selection_opts opts = {
        .time = o->time,
        .threads = words_of(&threads, &o->threads),
        .processes = words_of(&processes, &o->processes),
        .where = words_of(&where, &o->where),
        .focus = words_of(&focus, &o->focus),
        .ignore = words_of(&ignore, &o->ignore),
        .hide = words_of(&hide, &o->hide),
        .merge_recursion = o->merge_recursion,
    };
    return selection_build(&in->selection, in->profile, value, &opts, err);
}

/* --- loading --- */

/* Say what is to be said about it, and hand it over. */
static int take_profile(struct loading *l, const struct input_opts *opts, struct input *ret)
{
    *ret = (struct input){.profile = l->profile};
    if (l->rc != 0)
        return command_fail(&l->err);
    print_warnings(&l->im);
    if (l->missing_files)
        command_say("%zu of the files it was recorded from are gone or have changed: their "
                    "functions have no names",
                    l->missing_files);
    return select_part(ret, opts, &l->err) == 0 ? EXIT_OK : command_fail(&l->err);
}

static struct loading loading_of(const char *path, const struct input_opts *opts,
                                 const struct import_opts *want)
{
    struct loading l = {.path = path, .want = *want};
    l.want.format = opts->from;
    l.want.strict = opts->strict;
    if (opts->time) /* merged rows have no times */
        l.want.merge = false;
    return l;
}

static int load(struct input *in, const char *path, const struct input_opts *opts,
                const struct import_opts *want)
{
    struct loading l = loading_of(path, opts, want);
    read_profile(&l);
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
                args->n_operands ? "one profile at a time" : "which profile? name a file");
        return command_fail(&err);
    }
    int rc = load(in, args->operands[0], opts, want);
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
        read_profile(&c->list[i]);
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
            ins[i] = (struct input){.profile = c.list[i].profile};
        import_done(&c.list[i].im);
    }
    free(c.list);
    return rc;
}

void input_tell_events(const struct input *in, const struct input_opts *opts)
{
    const struct profile *p = in->profile;
    size_t n = p->streams.n;
    if (opts->event || n < 2)
        return;
    struct text event = profile_str(p, in->selection.stream->event);
    command_say("%zu events in the input; showing '%s' only (choose with --event)", n, event.at);
}

void input_done(struct input *in)
{
    selection_done(&in->selection);
    profile_free(in->profile);
    in->profile = NULL;
}
