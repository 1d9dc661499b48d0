/*
 * simd.c - which vector instructions a program is made of, and where its time goes among them.
 */
#include "view/simd.h"
#include "analysis/heat.h"
#include "analysis/listing.h"
#include "base/publish.h"
#include "cmd/command.h"
#include "cmd/input.h"
#include "host/sysfile.h"
#include "symbol/code.h"

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
    INPUT_OPTS(struct cmd_simd_opts),
    OPT_END,
};

/* What is collected: the files stay open, as rows point into them. */
struct simd_job {
    const struct cmd_simd_opts *opts;
    VEC(struct code *) codes;
    VEC(struct simd_row) rows;
    struct simd_view view;
};

static void job_done(struct simd_job *job)
{
    for (size_t i = 0; i < job->codes.n; i++) {
        code_close(job->codes.at[i]);
        free(job->codes.at[i]);
    }
    vec_done(&job->codes);
    vec_done(&job->rows);
}

static struct code *job_open(struct simd_job *job, const char *path, struct text build_id,
                             struct err *err)
{
    struct code *c = mem_new(struct code);
    if (code_open(c, path, build_id, err) != 0) {
        code_close(c);
        free(c);
        return NULL;
    }
    *vec_push(&job->codes) = c;
    if (c->machine == EM_X86_64)
        return c;
    err_set(err, EXIT_INPUT, "'%s' is not x86-64 code, which is all that is known here yet", path);
    return NULL;
}

static struct simd_row *add_row(struct simd_job *job, const struct code *c,
                                const struct code_function *f)
{
    struct simd_row row = {f->name, c->module, .size_bytes = f->size_bytes};
    simd_count(&row.mix, code_bytes(c, f));
    simd_add(&job->view.all, &row.mix);
    row.hot = row.mix;
    struct simd_row *ret = vec_push(&job->rows);
    *ret = row;
    return ret;
}

/* --- a binary --- */

static uint64_t vector_weight(const struct simd_mix *m)
{
    return m->n - m->isa[X86_BASE];
}

static int by_vectors(const void *a, const void *b)
{
    const struct simd_row *x = a, *y = b;
    uint64_t m = vector_weight(&x->mix), n = vector_weight(&y->mix);
    if (m != n)
        return m > n ? -1 : 1;
    return strcmp(x->name, y->name);
}

static int read_binary(struct simd_job *job, const char *path, struct err *err)
{
    struct code *c = job_open(job, path, (struct text){0}, err);
    if (!c)
        return -1;
    for (size_t i = 0; i < c->functions.n; i++)
        add_row(job, c, &c->functions.at[i]);
    if (!job->rows.n)
        return err_set(err, EXIT_INPUT, "'%s' has no functions: neither symbols nor unwind rules",
                       path);
    qsort(job->rows.at, job->rows.n, sizeof *job->rows.at, by_vectors);
    return 0;
}

/* --- a profile --- */

static int by_self(const void *a, const void *b)
{
    const struct simd_row *x = a, *y = b;
    if (x->self != y->self)
        return x->self > y->self ? -1 : 1;
    return strcmp(x->name, y->name);
}

static bool is_file_path(struct text path)
{
    return path.n && path.at[0] == '/' && !memchr(path.at, 0, path.n);
}

static struct code *code_of_mapping(struct simd_job *job, const struct profile *p,
                                    struct mapping_id id)
{
    struct err err;
    const struct mapping *m = &p->mappings.at[id.i];
    struct text path = profile_str(p, m->path), build_id = profile_str(p, m->build_id);
    if (!is_file_path(path))
        return NULL;
    struct code *c = job_open(job, path.at, job->opts->force ? (struct text){0} : build_id, &err);
    if (!c)
        command_say("%s", err.text);
    return c;
}

/* Count the blocks that hold a tenth of the function's time: its loops, not their left-overs. */
static void count_hot(struct simd_row *row, const struct listing *l)
{
    row->hot = (struct simd_mix){0};
    for (size_t i = 0; i < l->blocks.n; i++) {
        const struct listing_block *b = &l->blocks.at[i];
        const struct listing_insn *first = &l->insns.at[b->first], *last = first + b->n - 1;
        size_t n = (size_t)(last->bytes - first->bytes) + last->x.length;
        if (b->self && b->self >= l->self / 10)
            simd_count(&row->hot, (struct text){(const char *)first->bytes, n});
    }
    row->hot.loops = row->mix.loops;
}

/* The spots from S on that are in F. Returns how many. */
static size_t add_function(struct simd_job *job, const struct code *c,
                           const struct code_function *f, const struct heat_spot *s,
                           const struct heat_spot *end)
{
    size_t n = 0;
    struct listing l = {0};
    listing_add(&l, f->start, code_bytes(c, f));
    for (; s + n < end && s[n].pc - f->start < f->size_bytes; n++)
        listing_heat(&l, s[n].pc, s[n].self);
    listing_cut(&l);
    struct simd_row *row = add_row(job, c, f);
    row->self = l.self;
    count_hot(row, &l);
    listing_done(&l);
    return n;
}

/* The N spots at S are of one mapping, by address. */
static void add_mapping(struct simd_job *job, const struct profile *p, const struct heat_spot *s,
                        size_t n)
{
    struct code *c = code_of_mapping(job, p, s->mapping);
    for (size_t i = 0; i < n;) {
        const struct code_function *f = c ? code_find(c, s[i].pc) : NULL;
        if (f)
            i += add_function(job, c, f, s + i, s + n);
        else
            job->view.elsewhere += s[i++].self;
    }
}

static int read_heat(struct simd_job *job, const struct input *in, struct err *err)
{
    struct heat heat;
    heat_build(&heat, in->profile, in->type);
    job->view.has_profile = true;
    job->view.total = heat.total;
    job->view.elsewhere = heat.no_address;
    for (size_t i = 0, next; i < heat.spots.n; i = next) {
        for (next = i + 1;
             next < heat.spots.n && heat.spots.at[next].mapping.i == heat.spots.at[i].mapping.i;)
            next++;
        add_mapping(job, in->profile, heat.spots.at + i, next - i);
    }
    bool addresses = heat.spots.n;
    heat_done(&heat);
    if (!addresses)
        return err_set(err, EXIT_INPUT,
                       "the profile has no addresses, so its code cannot be found: record with "
                       "'kelvin record', or name the program's file instead");
    if (!job->rows.n)
        return err_set(err, EXIT_INPUT, "none of the profile's code can be read here");
    qsort(job->rows.at, job->rows.n, sizeof *job->rows.at, by_self);
    return 0;
}

static int64_t count_samples(const struct input *in)
{
    int type = profile_count_type(in->profile, in->type);
    return type < 0 ? -1 : in->profile->types[type].total;
}

/* --- */

static void read_host(struct simd_view *v)
{
    char flags[8192];
    v->host_known = sysfile_field("", "/proc/cpuinfo", "flags", ':', flags, sizeof flags);
    struct text rest = text_of(v->host_known ? flags : "");
    while (rest.n) {
        struct text word = text_cut(&rest, ' ');
        for (int f = 0; f < X86_FEATURES; f++)
            if (text_is(word, x86_feature_name((enum x86_feature)f)))
                v->host_has |= 1u << f;
    }
}

static int print(struct simd_job *job, struct err *err)
{
    struct publish file;
    struct simd_view *v = &job->view;
    v->rows = job->rows.at;
    v->n = job->rows.n;
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
    job->view.samples = count_samples(&in);
    rc = read_heat(job, &in, &err);
    if (rc == 0)
        rc = print(job, &err);
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
        rc = read_binary(&job, operands.operands[0], &err) == 0 ? print(&job, &err) : -1;
        rc = rc == 0 ? EXIT_OK : command_fail(&err);
    } else {
        rc = run_profile(&job, &operands);
    }
    job_done(&job);
    return rc;
}

const struct command command_simd = {
    .name = "simd",
    .summary = "tell which vector instructions a program or library is made of",
    .operands = "BINARY|PROFILE",
    .about =
        "Reads the code of an ELF file and counts its instructions, function by function: of which "
        "set they are (SSE, AVX, AVX2 with FMA, AVX-512) and whether floating point is packed "
        "(several numbers at a time) or scalar. What the code uses is held against what this "
        "CPU has.\n"
        "\n"
        "With a profile only functions that ran are listed, by the time spent in them, and loops "
        "that are hot and compute one number at a time are named: those are the candidates for "
        "vectorising. What a function is called goes by its hot blocks.\n"
        "\n"
        "x86-64 only.",
    .examples = "kelvin simd ./app                        # what did the compiler emit?\n"
                "kelvin simd app.kelvin --top 5           # and where is the time spent?\n"
                "kelvin simd libm.so.6 --format json      # for a program",
    .opts = simd_table,
    .run = simd_run,
};
