/*
 * simd.c - which vector instructions a program is made of, and where its time goes among them.
 */
#include "view/simd.h"
#include "base/publish.h"
#include "cmd/command.h"
#include "cmd/input.h"
#include "host/sysfile.h"
#include "suite/hotcode.h"

#include <elf.h>
#include <fcntl.h>

struct cmd_simd_opts {
    struct input_opts input;
    const char *output, *format;
    long top;
    bool force;
};

#define AT(field) offsetof(struct cmd_simd_opts, field)

static const struct opt simd_table[] = {
    {'o', "output", OPT_TEXT, AT(output), "FILE", "write to FILE (default: standard output)"},
    {0, "format", OPT_CHOICE, AT(format), "FORMAT", "text or json (default: text)", "text json"},
    {0, "top", OPT_INT, AT(top), "N", "how many functions to list (default: 20)", .min = 1,
     .max = 1e9},
    {0, "force", OPT_FLAG, AT(force), NULL, "read files that have changed since the profile"},
    SELECTION_OPTS(struct cmd_simd_opts),
    INPUT_OPTS(struct cmd_simd_opts),
    OPT_END,
};

struct simd_job {
    const struct cmd_simd_opts *opts;
    struct hotcode code;
    struct simd_view view;
};

static int simd_read_profile(struct simd_job *job, const struct input *in, struct err *err)
{
    struct hotcode_opts opts = {
        .force = job->opts->force,
        .find = input_find_file,
        .where = &job->opts->input,
    };
    hotcode_read_profile(&job->code, &in->selection, &opts);
    job->view.has_profile = true;
    job->view.quantity = selection_quantity(&in->selection);
    job->view.selected = in->selection.words;
    for (size_t i = 0; i < job->code.notes.n; i++)
        command_say("%s", job->code.notes.at[i]);
    if (!in->selection.total)
        return err_set(err, EXIT_INPUT, "there are no samples, so no code is hot");
    if (!job->code.has_addresses)
        return err_set(err, EXIT_INPUT,
                       "the profile has no addresses, so its code cannot be found: record with "
                       "'kelvin record', or name the program's file instead");
    if (!job->code.rows.n)
        return err_set(err, EXIT_INPUT, "none of the profile's code can be read here");
    return 0;
}

static void read_host(struct simd_view *v)
{
    char flags[8192];
    v->host_known = sysfile_field("", "/proc/cpuinfo", "flags", ':', flags, sizeof flags);
    struct text rest = text_of(v->host_known ? flags : "");
    while (rest.n) {
        struct text word = text_cut(&rest, ' ');
        for (int f = 0; f < X86_FEATURES; f++)
            if (text_is(word, x86_feature_flag((enum x86_feature)f)))
                v->host_has |= 1u << f;
    }
}

static int simd_publish(struct simd_job *job, struct err *err)
{
    struct publish file;
    struct simd_view *v = &job->view;
    v->rows = job->code.rows.at;
    v->n = job->code.rows.n;
    v->all = job->code.all;
    v->total = job->code.total;
    v->elsewhere = job->code.elsewhere;
    v->top = (size_t)job->opts->top;
    read_host(v);
    if (publish_open(&file, job->opts->output, err) != 0)
        return -1;
    bool json = strcmp(job->opts->format, "json") == 0;
    (json ? simd_print_json : simd_print)(file.out, v);
    return publish_commit(&file, err);
}

static bool is_elf(const char *path)
{
    char magic[4] = "";
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    return fd >= 0 && read(fd, magic, 4) == 4 && memcmp(magic, ELFMAG, 4) == 0;
}

static int run_profile(struct simd_job *job, const struct opt_result *operands)
{
    struct input in;
    struct err err;
    struct import_opts want = {.merge = true, .addresses = true};
    int rc = input_load(&in, operands, &job->opts->input, &want);
    if (rc != EXIT_OK)
        return rc;
    input_tell_events(&in, &job->opts->input);
    job->view.samples = in.selection.count_type < 0 ? -1 : in.selection.n_samples;
    rc = simd_read_profile(job, &in, &err);
    if (rc == 0)
        rc = simd_publish(job, &err);
    input_done(&in);
    return rc == 0 ? EXIT_OK : command_fail(&err);
}

static int simd_run(const struct command *self, int n, char **args)
{
    struct cmd_simd_opts o = {.output = "-", .format = "text", .top = 20};
    struct opt_result operands;
    struct err err;
    int rc = command_parse(self, &o, n, args, &operands);
    if (rc != 0)
        return rc < 0 ? EXIT_ERROR : EXIT_OK;
    struct simd_job job = {.opts = &o, .view.samples = -1};
    job.view.subject = operands.n_operands ? operands.operands[0] : "";
    if (operands.n_operands == 1 && is_elf(operands.operands[0])) {
        rc = hotcode_read_binary(&job.code, operands.operands[0], &err);
        rc = rc == 0 ? simd_publish(&job, &err) : rc;
        rc = rc == 0 ? EXIT_OK : command_fail(&err);
    } else {
        rc = run_profile(&job, &operands);
    }
    hotcode_done(&job.code);
    return rc;
}

const struct command command_simd = {
    .name = "simd",
    .summary = "show which vector instructions a program or library uses",
    .operands = "BINARY|PROFILE",
    .about = "Reads the code of an ELF file and counts its instructions, function by function: by "
             "instruction set (SSE, AVX, AVX2 with FMA, AVX-512; NEON, SVE), and floating point as "
             "packed (several numbers at a time) or scalar. The report compares what the code uses "
             "with what this CPU has.\n\n"
             "With a profile only functions that ran are listed, by the time spent in them. Hot "
             "loops that compute one number at a time are named, as candidates for vectorising. A "
             "function is classified by its hot blocks, those with "
             "a tenth or more of its samples, each weighted by its samples.\n\n"
             "x86-64 and AArch64 (NEON, SVE). On AArch64 hot blocks are not separated from the "
             "rest of a function.",
    .examples = "kelvin simd ./app                        # what did the compiler emit?\n"
                "kelvin simd app.kelvin --top 5           # and where is the time spent?\n"
                "kelvin simd libm.so.6 --format json      # for a program",
    .opts = simd_table,
    .run = simd_run,
};
