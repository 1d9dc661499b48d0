/*
 * workload.c - a workload, ready to run.
 */
#include "suite/workload.h"
#include "base/buf.h"

#include <glob.h>
#include <strings.h>

const char *const collect_names[COLLECTS] = {
    [COLLECT_CPU] = "cpu",
    [COLLECT_BENCH] = "bench",
    [COLLECT_BENCHMARKS] = "benchmarks",
    [COLLECT_INSTRUCTIONS] = "instructions",
    [COLLECT_CACHE] = "cache",
    [COLLECT_HEAP] = "heap",
    [COLLECT_SCOPES] = "scopes",
    [COLLECT_SIMD] = "simd",
    [COLLECT_MEMCHECK] = "memcheck",
    [COLLECT_HELGRIND] = "helgrind",
    [COLLECT_ASAN] = "asan",
    [COLLECT_UBSAN] = "ubsan",
    [COLLECT_TSAN] = "tsan",
};

void workload_done(struct workload *w)
{
    free(w->line);
    words_done(&w->argv);
    words_done(&w->env);
    metrics_done(&w->metrics);
    w->line = NULL;
}

/* --- what stands in braces --- */

/* The first file of the first pattern that matches, in the order of their names. */
static int add_input(struct buf *b, const struct conf *c, const char *name, struct err *err)
{
    struct words patterns = conf_words(c, name, "input.patterns");
    glob_t found = {0};
    size_t i = 0;
    while (i < patterns.at.n && glob(patterns.at.at[i], GLOB_BRACE | GLOB_TILDE, NULL, &found) != 0)
        i++;
    bool is_there = i < patterns.at.n && found.gl_pathc > 0;
    if (is_there)
        buf_str(b, found.gl_pathv[0]);
    globfree(&found);
    words_done(&patterns);
    const char *hint = conf_text(c, name, "input.hint");
    return is_there ? 0
                    : err_set(err, EXIT_ERROR, "no file for input '%s' (%s)%s%s", name,
                              conf_text(c, name, "input.patterns"), *hint ? ": " : "", hint);
}

static bool is_input(const struct conf *c, const char *name)
{
    for (size_t i = 0; i < c->names[CONF_INPUTS].at.n; i++)
        if (strcmp(c->names[CONF_INPUTS].at.at[i], name) == 0)
            return true;
    return false;
}

static int workload_add_value(struct buf *b, const struct conf *c, const char *name,
                              struct err *err)
{
    if (strcmp(name, "seed") == 0)
        buf_str(b, conf_text(c, "", "determinism.seed"));
    else if (strcmp(name, "threads") == 0)
        buf_str(b, conf_text(c, "", "determinism.threads"));
    else if (is_input(c, name))
        return add_input(b, c, name, err);
    else
        return err_set(err, EXIT_ERROR,
                       "nothing is called {%s}: there are {seed}, {threads} and [input NAME]",
                       name);
    return 0;
}

/* How long the name in "{name}" at AT is; 0 where the brace is just a brace. */
static size_t name_bytes(const char *at)
{
    size_t n = strspn(at + 1, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.");
    return at[n + 1] == '}' ? n : 0;
}

static int workload_expand(struct buf *b, const struct conf *c, const char *text, struct err *err)
{
    for (; *text; text++) {
        size_t n = *text == '{' ? name_bytes(text) : 0;
        if (!n) {
            buf_byte(b, (uint8_t)*text);
            continue;
        }
        autofree char *name = mem_strndup(text + 1, n);
        if (workload_add_value(b, c, name, err) != 0)
            return -1;
        text += n + 1;
    }
    return 0;
}

/* --- environment --- */

static void add_variable(struct words *env, const char *name, const char *value)
{
    autofree char *word = mem_printf("%s=%s", name, value);
    words_add(env, text_of(word));
}

/* Libraries that start as many threads as there are CPUs, unless told otherwise. */
static const char *const thread_variables[] = {
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS", "GOMAXPROCS",
};

static void build_env(struct workload *w, const struct conf *c)
{
    const char *threads = conf_text(c, "", "determinism.threads");
    w->env = conf_words(c, "", "determinism.env");
    add_variable(&w->env, "KELVIN_SEED", conf_text(c, "", "determinism.seed"));
    if (strcmp(threads, "0") == 0)
        return;
    for (size_t i = 0; i < sizeof thread_variables / sizeof *thread_variables; i++)
        add_variable(&w->env, thread_variables[i], threads);
}

/* --- the whole --- */

int workload_split(struct words *to, const char *line, bool shell, struct err *err)
{
    if (!shell)
        return words_split(to, text_of(line), WORDS_BLANKS, err);
    words_add(to, text_of("/bin/sh"));
    words_add(to, text_of("-c"));
    words_add(to, text_of(line));
    return 0;
}

static int build_command(struct workload *w, const struct conf *c, struct err *err)
{
    autobuf struct buf line = {0};
    const char *command = conf_text(c, w->name, "workload.command");
    struct err why;
    if (!*command)
        return err_set(err, EXIT_ERROR, "workload '%s' has no command", w->name);
    int rc = workload_expand(&line, c, command, &why);
    w->line = mem_strdup(buf_cstr(&line));
    if (rc == 0)
        rc = workload_split(&w->argv, w->line, w->shell, &why);
    if (rc == 0 && !w->argv.at.n)
        rc = err_set(&why, EXIT_ERROR, "its command is empty");
    if (rc == 0)
        return 0;
    err_set(err, EXIT_ERROR, "workload '%s': %s", w->name, why.text);
    return conf_fail_at(c, w->name, "workload.command", err);
}

/* Pages are called as their workloads are. */
static int check_name(const char *name, struct err *err)
{
    static const char *const taken[] = {"README", "index", "summary"};
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        if (strcasecmp(name, taken[i]) == 0)
            return err_set(err, EXIT_ERROR,
                           "a workload cannot be called '%s', as a page of the suite is", name);
    return 0;
}

int workload_build(struct workload *w, const struct conf *c, size_t i, struct err *err)
{
    *w = (struct workload){.name = c->names[CONF_WORKLOADS].at.at[i]};
    if (check_name(w->name, err) != 0)
        return -1;
    for (int k = 0; k < COLLECTS; k++) {
        w->collect[k] = conf_has(c, w->name, "workload.collect", collect_names[k]);
        w->optional[k] = conf_has(c, w->name, "workload.optional", collect_names[k]);
    }
    w->min_samples = (long)conf_number(c, w->name, "workload.min-samples");
    w->decide_s = conf_number(c, w->name, "workload.decide-time");
    w->pool_s = conf_number(c, w->name, "workload.pool-time");
    w->recordings = (long)conf_number(c, w->name, "workload.recordings");
    w->rate_hz = (long)conf_number(c, w->name, "workload.rate");
    w->runs = (long)conf_number(c, w->name, "workload.runs");
    w->timeout_s = conf_number(c, w->name, "workload.timeout");
    w->size = conf_number(c, w->name, "workload.size");
    w->input = conf_text(c, w->name, "workload.stdin");
    w->results = conf_text(c, w->name, "workload.results");
    w->filter = conf_text(c, w->name, "workload.filter");
    w->binary = conf_text(c, w->name, "workload.binary");
    if (!*w->binary)
        w->binary = conf_text(c, "", "build.binary");
    w->shell = conf_has(c, w->name, "workload.shell", "yes");
    w->fixed_layout = conf_has(c, "", "determinism.aslr", "off");
    build_env(w, c);
    if (metrics_build(&w->metrics, c, w->name, err) != 0)
        return -1;
    return build_command(w, c, err);
}
