/*
 * convert.c - any profile into any format.
 */
#include "base/publish.h"
#include "cmd/command.h"
#include "cmd/input.h"
#include "view/export/otlp.h"
#include "wire/collector.h"

#include <unistd.h>

struct convert_opts {
    struct input_opts input;
    const char *output, *to;
};

static const struct opt convert_table[] = {
    {'o', "output", OPT_TEXT, offsetof(struct convert_opts, output), "FILE",
     "write to FILE (default: standard output), or send spans to http://HOST:PORT, an OTLP "
     "collector"},
    {'t', "to", OPT_TEXT, offsetof(struct convert_opts, to), "FORMAT",
     "the format to write (default: by the end of the output's name); 'kelvin help formats' "
     "lists them"},
    PUBLIC_OPTS(struct convert_opts),
    SELECTION_OPTS(struct convert_opts),
    INPUT_OPTS(struct convert_opts),
    OPT_END,
};

/* --- to a collector --- */

/* Bodies of so many spans; a collector takes 64 MB or less. */
enum { POST_BATCH = 1024 };

/* A collector that is gone is gone soon: somebody waits. */
#define POST_PATIENCE_S 30.0

static bool is_url(const char *output)
{
    return strncmp(output, "http://", 7) == 0 || strncmp(output, "https://", 8) == 0;
}

static int post_batches(struct collector *c, const struct otlp_spans *all, const struct profile *p,
                        struct err *err)
{
    for (size_t i = 0; i < all->n; i += POST_BATCH) {
        size_t n = all->n - i < POST_BATCH ? all->n - i : POST_BATCH;
        struct otlp_batch batch = {p, all->at + i, n};
        autobuf struct buf body = {0};
        otlp_add_protobuf(&body, &batch);
        struct err why;
        if (collector_post(c, buf_text(&body), &why) != 0)
            return err_set(err, EXIT_ERROR, "%.160s; %zu of %zu spans were sent before", why.text,
                           i, all->n);
    }
    return 0;
}

static int convert_post(const struct convert_opts *o, const struct input *in, struct err *err)
{
    struct collector c;
    struct otlp_spans all;
    if (o->to && strcmp(o->to, "otlp") != 0 && strcmp(o->to, "otlp-protobuf") != 0)
        return err_set(err, EXIT_ERROR,
                       "only OTLP can be sent to an address: use '--to otlp', or -o FILE");
    if (collector_init(&c, o->output, err) != 0 || otlp_spans_build(&all, &in->selection, err) != 0)
        return -1;
    c.patience_s = POST_PATIENCE_S;
    int rc = post_batches(&c, &all, in->selection.profile, err);
    size_t n = all.n;
    vec_done(&all);
    if (rc != 0)
        return -1;
    if (c.rejected)
        return err_set(err, EXIT_ERROR, "the collector did not take %llu of %zu span%s%s%s",
                       (unsigned long long)c.rejected, n, n == 1 ? "" : "s", *c.message ? ": " : "",
                       c.message);
    fprintf(stderr, "kelvin: %zu span%s sent to %.*s\n", n, n == 1 ? "" : "s",
            (int)strcspn(o->output, "?"), o->output); /* what follows may be a key */
    return 0;
}

static int no_format_to_write(const char *name, struct err *err)
{
    const char *names[64] = {0};
    for (int i = 0; export_formats[i] && i < 63; i++)
        names[i] = export_formats[i]->name;
    const char *near = opt_nearest(name, names);
    if (near)
        return err_set(err, EXIT_ERROR, "no format '%s' to write; did you mean '%s'?", name, near);
    return err_set(err, EXIT_ERROR, "no format '%s' to write; see 'kelvin help formats'", name);
}

static int convert_choose(const struct convert_opts *o, const struct exporter **ret,
                          struct err *err)
{
    if (is_url(o->output)) {
        *ret = &exporter_otlp;
        return 0;
    }
    *ret = o->to ? export_find(o->to) : export_for_path(o->output);
    if (!*ret && o->to)
        return no_format_to_write(o->to, err);
    if (!*ret && strcmp(o->output, "-") == 0)
        return err_set(err, EXIT_ERROR, "no format to write: give --to; see 'kelvin help formats'");
    if (!*ret)
        return err_set(
            err, EXIT_ERROR,
            "no format has names that end like '%s': give --to; see 'kelvin help formats'",
            o->output);
    if ((*ret)->for_viewers && strcmp(o->output, "-") == 0 && isatty(STDOUT_FILENO))
        return err_set(err, EXIT_ERROR,
                       "convert: %s is not for a terminal: give a file, -o out%s, or a pipe",
                       (*ret)->name, (*ret)->suffix);
    return 0;
}

static int write_as(const struct exporter *e, const struct convert_opts *o, const struct input *in,
                    struct err *err)
{
    bool chosen = o->input.event || o->input.value;
    struct export_opts opts = {.all = !chosen};
    struct publish file;
    bool private = e == &exporter_kelvin;
    if ((private ? publish_open_private : publish_open)(&file, o->output, err) != 0)
        return -1;
    if (export_write(e, file.out, &in->selection, &opts, err) == 0 || ferror(file.out))
        return publish_commit(&file, err); /* which says what a full disk means for the file */
    publish_drop(&file);
    return -1;
}

static int convert_run(const struct command *self, int n, char **args)
{
    struct convert_opts o = {.output = "-"};
    struct opt_result operands;
    int rc = command_parse(self, &o, n, args, &operands);
    if (rc != 0)
        return rc < 0 ? EXIT_ERROR : EXIT_OK;
    struct err err;
    const struct exporter *e;
    if (convert_choose(&o, &e, &err) != 0)
        return command_fail(&err);
    struct input in;
    struct import_opts want = {.addresses = true};
    if ((rc = input_load(&in, &operands, &o.input, &want)) != EXIT_OK)
        return rc;
    input_make_public(&in, &o.input);
    rc = is_url(o.output) ? convert_post(&o, &in, &err) : write_as(e, &o, &in, &err);
    input_done(&in);
    return rc == 0 ? EXIT_OK : command_fail(&err);
}

const struct command command_convert = {
    .name = "convert",
    .summary = "turn a profile into another tool's format",
    .operands = "PROFILE",
    .about = "Reads a profile in any format and writes it in another. All events and values are "
             "written if the format can hold them. If it cannot, or if one is enough, --event and "
             "--value choose. With --time, --thread and the like only the selected part of one "
             "event is written. The recorded command line is written without its arguments, unless "
             "--arguments asks for them. Home folders are written as ~.",
    .examples =
        "kelvin convert cpu.pb.gz --to speedscope -o cpu.speedscope.json   # for speedscope\n"
        "kelvin convert perf-script.txt -o app.pb.gz                       # for go tool pprof\n"
        "kelvin convert app.folded -o app.kelvin                           # Kelvin's own file\n"
        "kelvin convert app.kelvin -o http://127.0.0.1:4318                # spans to a collector",
    .opts = convert_table,
    .run = convert_run,
};
