/* run_sanitize.c - see run_sanitize.h. */
#include "suite/run_sanitize.h"
#include "base/path.h"
#include "suite/run_inner.h"
#include "suite/run_variants.h"
#include "suite/sanlog.h"

#include <unistd.h>

struct sanitizer {
    enum collect what;
    enum suite_finder finder;
    const char *variant; /* its folder; no section can have such a name */
    const char *flags;
    const char *trace; /* what such a program has in it */
    const char *mark;  /* what stands in the first line of each finding, before its kind */
    const char *options;
};

static const struct sanitizer sanitizers[] = {
    {COLLECT_ASAN, FOUND_ASAN, "asan+", "-g -fsanitize=address", "__asan_init",
     "ERROR: AddressSanitizer: ", "ASAN_OPTIONS=detect_leaks=0"},
    {COLLECT_UBSAN, FOUND_UBSAN, "ubsan+", "-g -fsanitize=undefined", "ubsan",
     ": runtime error: ", "UBSAN_OPTIONS=print_stacktrace=1"},
    {COLLECT_TSAN, FOUND_TSAN, "tsan+", "-g -fsanitize=thread", "__tsan_init",
     "WARNING: ThreadSanitizer: ", "TSAN_OPTIONS=exitcode=0"},
};

enum { SANITIZERS = sizeof sanitizers / sizeof *sanitizers };

/* --- building --- */

static bool is_asked_for(const struct run *r, enum collect what)
{
    bool asked = false;
    for (size_t i = 0; i < r->suite.results.n; i++)
        asked |= r->suite.results.at[i].workload.collect[what];
    return asked;
}

/* "CFLAGS=-O2 -g -fsanitize=address", from the suite's word or the environment's. */
static void add_flags(struct words *env, const struct words *base, const char *name,
                      const char *flags)
{
    const char *now = getenv(name);
    for (size_t i = 0; i < base->at.n; i++)
        if (strncmp(base->at.at[i], name, strlen(name)) == 0 && base->at.at[i][strlen(name)] == '=')
            now = base->at.at[i] + strlen(name) + 1;
    autofree char *word = mem_printf("%s=%s%s%s", name, now ? now : "", now ? " " : "", flags);
    words_add(env, text_of(word));
}

int run_build_sanitized(struct run *r, struct err *err)
{
    static const char *const names[] = {"CFLAGS", "CXXFLAGS", "LDFLAGS"};
    int rc = 0;
    for (size_t i = 0; i < SANITIZERS && rc == 0; i++) {
        const struct sanitizer *s = &sanitizers[i];
        if (!is_asked_for(r, s->what) || r->opts.skip_build)
            continue;
        struct words base = conf_words(&r->suite.conf, "", "build.env"), own = {0};
        for (size_t k = 0; k < sizeof names / sizeof *names; k++)
            add_flags(&own, &base, names[k], s->flags);
        struct suite_variant *v = run_variant_new(r, s->variant);
        rc = run_build_variant(r, v, &own, err);
        words_done(&base);
        words_done(&own);
    }
    return rc;
}

/* --- running --- */

enum { SANITIZE_MOST = 16 << 20, SANITIZE_SHOWN = 20 };

static void read_bytes(struct buf *b, const char *path)
{
    char chunk[65536];
    ssize_t n;
    autoclose int fd = path_open_file(path, 0, NULL);
    while (fd >= 0 && b->n < SANITIZE_MOST && (n = read(fd, chunk, sizeof chunk)) > 0)
        buf_add(b, chunk, (size_t)n);
}

static bool is_instrumented(const char *line, const struct sanitizer *s)
{
    autofree char *program = NULL;
    autobuf struct buf b = {0};
    if (words_first(line, &program))
        read_bytes(&b, program);
    return b.n && memmem(b.at, b.n, s->trace, strlen(s->trace));
}

static struct suite_findings sanitize_take(const char *log, const struct sanitizer *s)
{
    autofree char *here = getcwd(NULL, 0);
    struct sanlog_opts o = {.mark = s->mark, .root = here ? here : "", .most = SANITIZE_SHOWN};
    autobuf struct buf all = {0}, text = {0};
    struct suite_findings f = {.made = true};
    read_bytes(&all, log);
    f.n = sanlog_read(buf_text(&all), &o, &text);
    f.text = mem_strdup(buf_cstr(&text));
    return f;
}

/* -1 when the run cannot go on. */
static int run_sanitized(struct run *r, struct suite_result *w, const struct sanitizer *s,
                         const char *line, struct err *err)
{
    autobuf struct buf said = {0};
    struct words argv = {0}, env = {0};
    struct exec_result done;
    struct err why;
    for (size_t i = 0; i < w->workload.env.at.n; i++)
        words_add(&env, text_of(w->workload.env.at.at[i]));
    words_add(&env, text_of(s->options));
    struct exec_opts o = run_exec_opts(r, w);
    o.env = &env;
    int rc = workload_split(&argv, line, w->workload.shell, &why);
    o.argv = argv.at.at;
    o.fixed_layout = true; /* a sanitizer's own memory may not fit into a random layout */
    rc = rc == 0 ? run_command(r, &o, &done, err) : -1;
    words_done(&argv);
    words_done(&env);
    if (rc != 0)
        return -1;
    w->findings[s->finder] = sanitize_take(r->log, s);
    exec_say(&done, &said);
    if ((done.end != EXEC_EXITED || done.status != 0) && !w->findings[s->finder].n) {
        w->findings[s->finder].made = false;
        suite_absent(w, s->what, buf_cstr(&said));
    }
    return 0;
}

static int sanitize(struct run *r, struct suite_result *w, const struct sanitizer *s,
                    struct err *err)
{
    const struct suite_variant *v = run_variant_find(r, s->variant);
    autofree char *line = NULL;
    const char *why = v ? run_variant_line(v, w, &line) : "the build was skipped";
    if (!why && !is_instrumented(line, s))
        why = "the program that was built has no trace of it: build.command must use CFLAGS, "
              "CXXFLAGS and LDFLAGS";
    if (why)
        suite_absent(w, s->what, why);
    return why ? 0 : run_sanitized(r, w, s, line, err);
}

int run_sanitize(struct run *r, struct suite_result *w, struct err *err)
{
    for (size_t i = 0; i < SANITIZERS; i++) {
        const struct sanitizer *s = &sanitizers[i];
        if (!w->workload.collect[s->what])
            continue;
        run_say(r, "%s: %s", w->workload.name, collect_names[s->what]);
        if (sanitize(r, w, s, err) != 0)
            return -1;
        if (w->absent[s->what])
            run_say(r, "%s: no %s: %s", w->workload.name, collect_names[s->what],
                    w->absent[s->what]);
    }
    return 0;
}
