#include "cmd/input.h"
#include "base/units.h"
#include "cmd/command.h"
#include "source/sources.h"
#include "symbol/symbolize.h"

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

/* The files that addresses belong to are on this machine, or not at all. */
static void name_frames(struct profile *p, const struct import *im)
{
    if (!wants_names(p, im))
        return;
    struct symbolize_result r = symbolize(p, &(struct symbolize_opts){0});
    if (r.missing_files)
        command_say("%zu of the files it was recorded from are gone or have changed: their "
                    "functions have no names",
                    r.missing_files);
}

static int load(struct input *in, const char *path, const struct input_opts *opts,
                const struct import_opts *want)
{
    struct err err;
    struct import im;
    struct import_opts o = *want;
    o.format = opts->from;
    o.strict = opts->strict;
    int rc = import_file(&im, path, &o, &in->profile, &err);
    if (rc == 0) {
        print_warnings(&im);
        name_frames(in->profile, &im);
    }
    import_done(&im);
    if (rc == 0 && profile_pick_type(in->profile, opts->event, opts->value, &in->type, &err) == 0)
        return EXIT_OK;
    return command_fail(&err);
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

void input_tell_events(const struct input *in, const struct input_opts *opts)
{
    const struct profile *p = in->profile;
    int n = profile_count_events(p);
    if (opts->event || n < 2)
        return;
    struct text event = profile_str(p, p->types[in->type].event);
    command_say("%d events in the input; showing '%s' only (choose with --event)", n, event.at);
}

void input_done(struct input *in)
{
    profile_free(in->profile);
    in->profile = NULL;
}
