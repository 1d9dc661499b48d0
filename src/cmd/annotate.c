/*
 * annotate.c - one function: its source lines and instructions, and the time spent at each.
 */
#include "view/annotate.h"
#include "base/publish.h"
#include "cmd/annotate.h"
#include "cmd/command.h"
#include "code/code.h"
#include "model/packed.h"
#include "symbol/symbolize.h"

#define AT(field) offsetof(struct cmd_annotate_opts, field)

static const struct opt annotate_table[] = {
    OUTPUT_OPTS(struct cmd_annotate_opts, "text html json", "text, html or json"),
    {0, "all", OPT_FLAG, AT(all), NULL, "show code that was not seen running too"},
    {0, "order", OPT_CHOICE, AT(order), "ORDER",
     "order of the blocks of instructions: hottest or address (default: hottest)",
     "hottest address"},
    {0, "force", OPT_FLAG, AT(force), NULL,
     "show the code of a file that has changed since it was recorded"},
    {0, "source", OPT_LIST, AT(source), "DIR",
     "put source files below DIR into a page too; may be repeated"},
    SELECTION_OPTS(struct cmd_annotate_opts),
    INPUT_OPTS(struct cmd_annotate_opts),
    OPT_END,
};

void annotate_add_code(struct annotate_job *job, struct listing *l)
{
    const struct profile *p = job->in.profile;
    VEC(const struct code_function *) parts = {0};
    for (size_t i = 0; i < p->frames.n; i++) {
        if (!annotate_is_frame(job, &p->frames.at[i]))
            continue;
        const struct code_function *f = code_find(&job->code, p->frames.at[i].pc);
        size_t k = 0;
        while (k < parts.n && parts.at[k] < f)
            k++;
        if (!f || (k < parts.n && parts.at[k] == f))
            continue;
        vec_reserve(&parts, 1);
        memmove(parts.at + k + 1, parts.at + k, (parts.n++ - k) * sizeof *parts.at);
        parts.at[k] = f;
    }
    for (size_t i = 0; i < parts.n; i++)
        listing_add(l, parts.at[i]->start, code_bytes(&job->code, parts.at[i]));
    vec_done(&parts);
}

void annotate_add_frames(struct profile *names, const char *path, struct listing *l)
{
    struct mapping m = {.path = profile_add_str(names, text_of(path))};
    struct mapping_id mapping = profile_add_mapping(names, &m);
    for (size_t i = 0; i < l->insns.n; i++) {
        struct frame_key key = {.pc = l->insns.at[i].pc, .mapping = mapping};
        l->insns.at[i].frame = profile_add_frame(names, &key);
        if (l->insns.at[i].x.target) {
            key.pc += (uint64_t)l->insns.at[i].x.target;
            l->insns.at[i].target = profile_add_frame(names, &key);
        }
    }
}

static bool is_of_listing(const void *job, struct mapping_id mapping)
{
    return annotate_is_mapping(job, mapping);
}

/* 0, or -1 where the disassembler cannot be started. */
static int print_as(FILE *out, struct annotate *a, const struct output_opts *o)
{
    const char *format = output_format(o);
    if (strcmp(format, "html") == 0)
        return annotate_print_html(out, a);
    if (strcmp(format, "json") != 0)
        return annotate_print_text(out, a, output_width(o), output_in_colour(o));
    if (a->listing->blocks.n && annotate_disassemble(a) != 0)
        return -1;
    annotate_print_json(out, a);
    return 0;
}

static int annotate_print(struct annotate_job *job, struct listing *l, const struct hits *hits,
                          struct err *err)
{
    struct profile *names = job->seen_only ? NULL : profile_new();
    if (names) {
        annotate_add_frames(names, job->path, l);
        symbolize(names, &(struct symbolize_opts){.no_debuginfod = true});
    }
    struct annotate a = {
        .function = job->function.at,
        .module = job->code.module,
        .names = names ? names : job->in.profile,
        .listing = l,
        .total = job->in.selection.total,
        .selected = job->in.selection.words,
        .hides = job->in.selection.hidden_line != NULL,
        .noun = quantity_noun(selection_quantity(&job->in.selection)),
        .whole = hits->total,
        .samples = job->in.selection.count_type < 0 ? -1 : hits->n_samples,
        .exact = obtained_exactly(job->in.selection.stream->obtained),
        .by_address = job->opts.order && strcmp(job->opts.order, "address") == 0,
        .all = job->opts.all,
        .warning = job->seen_only ? ANNOTATE_NO_PROGRAM
                   : job->opts.force
                       ? "the build-id was not checked: this may not be the code that ran"
                       : NULL,
    };
    struct publish file;
    const struct output_opts *o = &job->opts.output;
    bool is_page = strcmp(output_format(o), "html") == 0;
    annotate_parts_build(
        &a, hits, annotate_read_source,
        &(struct annotate_source){job->path, is_page, &job->opts.source, job->in.profile});
    int rc = publish_open(&file, o->path, err);
    if (rc == 0) {
        rc = print_as(file.out, &a, o);
        rc = rc == 0 ? publish_commit(&file, err)
                     : (publish_drop(&file),
                        err_set(err, EXIT_ERROR, "the disassembler cannot be started"));
    }
    annotate_parts_done(&a);
    profile_free(names);
    return rc;
}

static bool annotate_is_seen(const void *job, const struct frame *f)
{
    return annotate_is_frame(job, f);
}

/* Whether a source file of the function came along with the recording. */
static bool annotate_has_packed(const struct annotate_job *job)
{
    const struct profile *p = job->in.profile;
    for (size_t i = 0; p->packed.n && i < p->frames.n; i++)
        for (size_t k = 0; annotate_is_frame(job, &p->frames.at[i]) && k < p->frames.at[i].n_lines;
             k++) {
            const struct line *line = &profile_lines(p, &p->frames.at[i])[k];
            if (packed_find(p, profile_str(p, p->functions.at[line->function.i].file)))
                return true;
        }
    return false;
}

/* The lines alone, where source came along and the program is gone. */
static int annotate_show_seen(struct annotate_job *job, struct err *err)
{
    struct listing l = {0};
    struct hits hits;
    job->seen_only = true;
    annotate_list_seen(&l, job->in.profile, annotate_is_seen, job);
    hits_build(&hits, &job->in.selection, &l, is_of_listing, job);
    int rc = annotate_print(job, &l, &hits, err);
    hits_done(&hits);
    listing_done(&l);
    return rc;
}

static int annotate_show(struct annotate_job *job, struct err *err)
{
    struct text path = profile_str(job->in.profile, job->mapping.path);
    struct text build_id = profile_str(job->in.profile, job->mapping.build_id);
    autofree char *found = input_find_file(&job->opts.input, path.at, build_id);
    job->path = found;
    /* A copy may be called anything. */
    const char *slash = strrchr(path.at, '/'), *module = slash ? slash + 1 : path.at;
    int rc = code_open(&job->code, found, job->opts.force ? (struct text){0} : build_id, err);
    job->code.module = module;
    if (rc != 0)
        return annotate_has_packed(job) ? annotate_show_seen(job, err) : -1;
    if (job->code.machine != EM_X86_64)
        return err_set(err, EXIT_INPUT, "'%s' is not x86-64 code: annotate shows no other",
                       path.at);
    struct listing l = {0};
    struct hits hits;
    annotate_add_code(job, &l);
    hits_build(&hits, &job->in.selection, &l, is_of_listing, job);
    listing_cut(&l);
    rc = l.insns.n
             ? annotate_print(job, &l, &hits, err)
             : err_set(err, EXIT_INPUT, "'%s' has no code at the profile's addresses", path.at);
    hits_done(&hits);
    listing_done(&l);
    return rc;
}

static int annotate_run(const struct command *self, int n, char **args)
{
    struct annotate_job job = {
        .opts = {.output = OUTPUT_DEFAULTS}, .code.main.fd = -1, .code.debug.fd = -1};
    struct opt_result operands;
    struct err err;
    int rc = command_parse(self, &job.opts, n, args, &operands);
    if (rc != 0)
        return rc < 0 ? EXIT_ERROR : EXIT_OK;
    if (operands.n_operands == 2)
        job.wanted = operands.operands[1];
    struct opt_result one = {operands.operands, operands.n_operands == 2 ? 1 : 0, false};
    if (operands.n_operands != 2) {
        err_set(&err, EXIT_ERROR, "annotate: give a profile and a function; see --help");
        return command_fail(&err);
    }
    struct import_opts want = {.merge = true, .addresses = true};
    if ((rc = input_load(&job.in, &one, &job.opts.input, &want)) != EXIT_OK)
        return rc;
    input_tell_events(&job.in, &job.opts.input);
    rc = annotate_find(&job, &err);
    if (rc == 0 && job.inlined.n)
        command_say("'%.*s' is inlined into '%.*s', which is shown", TEXT_ARG(job.inlined),
                    TEXT_ARG(job.function));
    rc = rc == 0 ? annotate_show(&job, &err) : -1;
    code_close(&job.code);
    input_done(&job.in);
    return rc == 0 ? EXIT_OK : command_fail(&err);
}

const struct command command_annotate = {
    .name = "annotate",
    .summary = "show a function's source and instructions with the time spent at each",
    .operands = "PROFILE FUNCTION",
    .about =
        "Shows the hottest lines of a function, then its source line by line (functions inlined "
        "into it included), then its instructions in basic blocks, the hottest block first. Each "
        "line and instruction has its self time and its total time (self + callees), with 95% "
        "intervals. Calls and jumps show the name of their target. Code that was not seen running "
        "is left out unless --all is given.\n\n"
        "The files that ran must be here and unchanged (their build-id is compared). Source files "
        "are shown if they are here or in the recording ('kelvin record --pack-source'), packed "
        "ones even if the program is gone. Part of a name is enough if only one function matches; "
        "NAME@MODULE picks one of several with the same name. An inlined function is shown as part "
        "of the function that it is inlined into. x86-64 only.\n\n"
        "A page holds source below the project's folder only (that of the program or the current "
        "one; .git, .hg or kelvin.conf marks it): debug information can name any file.",
    .examples = "kelvin annotate app.kelvin matmul                       # in the terminal\n"
                "kelvin annotate app.kelvin matmul -o m.html             # a page to read",
    .opts = annotate_table,
    .run = annotate_run,
};
