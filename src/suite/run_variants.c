/* run_variants.c - see run_variants.h. */
#include "suite/run_variants.h"
#include "suite/hotcode.h"
#include "suite/kept.h"
#include "suite/run_inner.h"

#include <math.h>
#include <unistd.h>

/* --- building --- */

static bool sets_same(const char *a, const char *b)
{
    size_t n = strcspn(a, "=");
    return strncmp(a, b, n) == 0 && b[n] == '=';
}

/* The words of build.env, those of OWN in place of the same names. */
static struct words variant_env(const struct conf *c, const struct words *own)
{
    struct words all = {0}, base = conf_words(c, "", "build.env");
    for (size_t i = 0; i < base.at.n; i++) {
        bool replaced = false;
        for (size_t k = 0; k < own->at.n; k++)
            replaced |= sets_same(own->at.at[k], base.at.at[i]);
        if (!replaced)
            words_add(&all, text_of(base.at.at[i]));
    }
    for (size_t k = 0; k < own->at.n; k++)
        words_add(&all, text_of(own->at.at[k]));
    words_done(&base);
    return all;
}

static const char *variant_command(const struct conf *c, const char *name)
{
    const char *own = conf_text(c, name, "variant.command");
    return *own ? own : conf_text(c, "", "build.command");
}

/* Copies of all programs that workloads run. */
static int put_aside(const struct run *r, struct suite_variant *v, struct err *err)
{
    struct folder to = {.lock = -1};
    autofree char *parent = run_home_folder(r, "variants");
    int rc = folder_make(parent, err);
    if (rc == 0)
        rc = folder_open(&to, v->folder, err);
    if (rc == 0)
        rc = run_keep_programs(r, &to, err);
    if (rc == 0)
        rc = folder_commit(&to, err);
    folder_drop(&to);
    return rc;
}

int run_build_variant(struct run *r, struct suite_variant *v, const struct words *own,
                      struct err *err)
{
    const struct conf *c = &r->suite.conf;
    char *argv[] = {(char *)"/bin/sh", (char *)"-c", (char *)variant_command(c, v->name), NULL};
    struct words env = variant_env(c, own);
    struct exec_result done;
    struct exec_opts o = {.argv = argv,
                          .env = &env,
                          .input = "",
                          .log = r->log,
                          .timeout_s = conf_number(c, "", "build.timeout"),
                          .stop_fd = r->opts.stop_fd};
    struct err why;
    int rc = run_command(r, &o, &done, err);
    words_done(&env);
    if (rc != 0)
        return -1;
    autobuf struct buf said = {0}, tail = {0};
    if (done.end != EXEC_EXITED || done.status != 0) {
        exec_say(&done, &said);
        exec_tail(r->log, RUN_TAIL_LINES, &tail);
        run_say(r, "variant %s: the last lines of its build:\n%s", v->name, buf_cstr(&tail));
        v->failure = mem_printf("its build %s", buf_cstr(&said));
    } else if (put_aside(r, v, &why) != 0) {
        v->failure = mem_strdup(why.text);
    }
    run_say(r, v->failure ? "variant %s: %s" : "variant %s: built", v->name, v->failure);
    return 0;
}

struct suite_variant *run_variant_new(struct run *r, const char *name)
{
    struct suite_variant *v = vec_push(&r->suite.variants);
    autofree char *home = run_home_folder(r, "variants");
    *v = (struct suite_variant){.name = name, .folder = mem_printf("%s/%s", home, name)};
    if (!*variant_command(&r->suite.conf, name))
        v->failure = mem_strdup("there is no build.command");
    return v;
}

const struct suite_variant *run_variant_find(const struct run *r, const char *name)
{
    for (size_t i = 0; i < r->suite.variants.n; i++)
        if (strcmp(r->suite.variants.at[i].name, name) == 0)
            return &r->suite.variants.at[i];
    return NULL;
}

int run_build_variants(struct run *r, struct err *err)
{
    const struct conf *c = &r->suite.conf;
    const struct conf_names *names = &c->names[CONF_VARIANTS];
    int rc = 0;
    for (size_t i = 0; i < names->at.n && rc == 0; i++) {
        struct suite_variant *v = run_variant_new(r, names->at.at[i]);
        struct words own = conf_words(c, v->name, "variant.env");
        if (!v->failure && !r->opts.skip_build)
            rc = run_build_variant(r, v, &own, err);
        words_done(&own);
    }
    r->suite.n_variants = r->suite.variants.n; /* those of sanitizers come behind */
    return rc;
}

/* --- running --- */

const char *run_variant_line(const struct suite_variant *v, const struct suite_result *w,
                             char **line)
{
    const char *binary = w->workload.binary;
    size_t n = *binary ? run_program_bytes(w->workload.line, binary) : 0;
    *line = NULL;
    if (v->failure)
        return v->failure;
    if (!*binary)
        return "neither build.binary nor its own binary names the program that is built: set one";
    if (!n)
        return "the command does not begin with build.binary or its own binary";
    autofree char *kept = kept_path(v->folder, binary);
    if (access(kept, X_OK) != 0)
        return kept_refuses(binary) ? kept_refuses(binary) : "its program was not built";
    *line = run_line_with(kept, w->workload.line + n);
    return NULL;
}

/* Whether two variants, or one and the suite's own build, are the same program. */
static bool is_same_program(const char *a, const char *b)
{
    autofree char *x = NULL, *y = NULL;
    if (!words_first(a, &x) || !words_first(b, &y))
        return false;
    autofree char *one = kept_hash(x), *other = kept_hash(y);
    return one && other && strcmp(one, other) == 0;
}

static void find_lines(struct run *r, struct suite_result *w, struct suite_variants *v)
{
    *vec_push(&v->lines) = mem_strdup(w->workload.line);
    *vec_push(&v->names) = SUITE_OWN_BUILD;
    *vec_push(&v->same) = false;
    for (size_t i = 0; i < r->suite.n_variants && v->lines.n < OPT_LIST_MAX; i++) {
        const struct suite_variant *it = &r->suite.variants.at[i];
        char *line;
        const char *why = run_variant_line(it, w, &line);
        if (why) {
            *vec_push(&v->absent) = mem_printf("%s: %s", it->name, why);
            run_say(r, "%s: no variant %s: %s", w->workload.name, it->name, why);
            continue;
        }
        bool same = is_same_program(line, w->workload.line);
        if (same)
            run_say(r,
                    "%s: variant %s is the same program as the suite's own build: does the build "
                    "notice other flags?",
                    w->workload.name, it->name);
        *vec_push(&v->lines) = line;
        *vec_push(&v->names) = it->name;
        *vec_push(&v->same) = same;
    }
}

/* What the hottest function is made of; the whole program where that is not known. */
static char *describe_variant(const struct suite_result *w, const char *line)
{
    autofree char *program = NULL;
    words_first(line, &program);
    struct hotcode code = {0};
    struct err err;
    char text[200];
    uint32_t row;
    char *said = NULL;
    bool known = w->has_report && flat_top(w->report.functions, FLAT_SELF, 1, &row);
    struct text hottest = known ? flat_name(w->report.functions, row) : text_of("");
    if (program && hotcode_read_binary(&code, program, &err) == 0) {
        const struct simd_mix *mix = &code.all;
        for (size_t i = 0; known && i < code.rows.n; i++)
            if (text_is(hottest, code.rows.at[i].name))
                mix = &code.rows.at[i].mix;
        said = mem_printf("%s: %s", mix == &code.all ? "program" : "hottest function",
                          simd_describe(mix, text));
    }
    hotcode_done(&code);
    return said;
}

static int run_lines(struct run *r, struct suite_result *w, struct suite_variants *v,
                     struct err *err)
{
    static const struct opt_list none;
    struct opt_list names = {0};
    for (size_t i = 0; i < v->names.n && i < OPT_LIST_MAX; i++)
        names.at[names.n++] = v->names.at[i];
    struct plan_opts plan = {.lines = v->lines.at,
                             .n_lines = v->lines.n,
                             .names = &names,
                             .list = &none,
                             .range = &none,
                             .shell = w->workload.shell};
    struct session_opts with = {.warmup = 1,
                                .runs = w->workload.decide_s > 0 ? 0 : w->workload.runs,
                                .time_s = w->workload.decide_s,
                                .precision = 0.01,
                                .band = PAIRED_BAND,
                                .risk = PAIRED_RISK,
                                .seed = 1,
                                .measure = fingerprint_is_busy(&r->suite.host) ? MEASURE_CPU
                                                                               : MEASURE_TIME};
    struct starter_opts start = {.env = w->workload.env.at.at,
                                 .input = *w->workload.input ? w->workload.input : NULL,
                                 .timeout_s = w->workload.timeout_s,
                                 .stop_fd = r->opts.stop_fd,
                                 .fixed_layout = w->workload.fixed_layout};
    int rc = plan_build(&v->plan, &plan, err);
    if (rc == 0)
        rc = session_run(&v->outcome.session, &v->plan, &with, &start, err);
    r->away_s += v->outcome.session.programs_s;
    return rc;
}

/* Leave out the build that failed when it ran, and be ready to run the others. */
static void drop_failed(const struct run *r, const struct suite_result *w, struct suite_variants *v,
                        const char *why)
{
    size_t i = v->outcome.session.item, rest = v->lines.n - i - 1;
    autofree char *command = mem_printf("'%.100s' ", v->lines.at[i]);
    bool about = text_starts(text_of(why), command); /* "it ended with ..." is said of it */
    char *said = mem_printf("%s: %s%s", v->names.at[i], about ? "it " : "",
                            why + (about ? strlen(command) : 0));
    *vec_push(&v->absent) = said;
    run_say(r, "%s: no variant %s", w->workload.name, said);
    free(v->lines.at[i]);
    memmove(v->lines.at + i, v->lines.at + i + 1, rest * sizeof *v->lines.at);
    memmove(v->names.at + i, v->names.at + i + 1, rest * sizeof *v->names.at);
    memmove(v->same.at + i, v->same.at + i + 1, rest * sizeof *v->same.at);
    v->lines.n = v->names.n = v->same.n = v->lines.n - 1;
    outcome_done(&v->outcome);
    plan_done(&v->plan);
    v->outcome = (struct outcome){0};
    v->plan = (struct plan){0};
}

int run_variants(struct run *r, struct suite_result *w, struct err *err)
{
    struct suite_variants *v = mem_calloc(1, sizeof *v);
    struct err why;
    w->variants = v;
    find_lines(r, w, v);
    if (v->lines.n >= 2)
        run_say(r, "%s: %zu builds in turns", w->workload.name, v->lines.n);
    while (v->lines.n >= 2 && !v->ran) {
        v->ran = run_lines(r, w, v, &why) == 0;
        if (run_go_on(r, err) != 0)
            return -1;
        bool own = !v->ran && v->outcome.session.item == 0; /* with which all are compared */
        if (!v->ran)
            drop_failed(r, w, v, why.text);
        if (own)
            return 0;
    }
    if (v->ran)
        outcome_build(&v->outcome);
    return 0;
}

void run_describe_variants(struct suite_result *w)
{
    struct suite_variants *v = w->variants;
    for (size_t i = 0; v && i < v->lines.n; i++)
        *vec_push(&v->code) = describe_variant(w, v->lines.at[i]);
}
