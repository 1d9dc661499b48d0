/* run_grind.c - what valgrind counts and finds in a workload: caches, memory, threads. */
#include "base/publish.h"
#include "base/words.h"
#include "model/quantity.h"
#include "suite/memcheck.h"
#include "suite/run_inner.h"

#include <errno.h>
#include <math.h>

enum { FINDINGS_SHOWN = 20 };

struct grind {
    enum collect what;
    const char *tool, *option, *ending;
};

static const struct grind grinds[] = {
    {COLLECT_CACHE, "--tool=cachegrind", "--cachegrind-out-file=", "cachegrind"},
    {COLLECT_MEMCHECK, "--tool=memcheck", "--xml-file=", "memcheck.xml"},
    {COLLECT_HELGRIND, "--tool=helgrind", "--xml-file=", "helgrind.xml"},
};

static void grind_words(struct words *argv, const struct grind *g, const struct workload *w,
                        const char *file)
{
    autofree char *out = mem_printf("%s%s", g->option, file);
    words_add(argv, text_of("valgrind"));
    words_add(argv, text_of(g->tool));
    words_add(argv, text_of(out));
    if (g->what == COLLECT_CACHE)
        words_add(argv, text_of("--branch-sim=yes"));
    else
        words_add(argv, text_of("--xml=yes"));
    for (size_t i = 0; i < w->argv.at.n; i++)
        words_add(argv, text_of(w->argv.at.at[i]));
}

/* The instructions that were executed there, as a series of one run: baselines and gates use it. */
static void note_simulated(struct suite *s, const struct suite_result *w)
{
    const struct profile *p = w->cache;
    struct value_ref value;
    if (!simulated_pick(p, SIMULATED_INSTRUCTIONS, &value))
        return;
    autofree char *name = mem_printf("%s simulated", w->workload.name);
    struct series *to = series_add(&s->series, name);
    struct series_run *run = vec_push(&to->runs);
    double sum = (double)profile_value(p, value)->total;
    run->block = 0;
    for (int m = 0; m < MEASURES; m++)
        run->value[m] = m == MEASURE_INSTRUCTIONS ? sum : NAN;
    free(to->command);
    to->command = mem_strdup(w->workload.line);
}

/* The simulator writes down the whole command line, and its file is published. */
static int hide_command(const char *path, struct err *err)
{
    struct publish to;
    autofree char *line = NULL;
    size_t cap = 0;
    autofclose FILE *in = fopen(path, "re");
    if (!in)
        return err_set_errno(err, errno, "cannot open '%s'", path);
    if (publish_open(&to, path, err) != 0)
        return -1;
    for (ssize_t n; (n = getline(&line, &cap, in)) > 0;) {
        autobuf struct buf shown = {0};
        bool is_command = text_starts((struct text){line, (size_t)n}, "cmd: ");
        if (is_command)
            words_hide(&shown, line + 5);
        if (is_command)
            fprintf(to.out, "cmd: %s\n", buf_cstr(&shown));
        else
            fwrite(line, 1, (size_t)n, to.out);
    }
    return publish_commit(&to, err);
}

static void take_cache(struct suite *s, struct suite_result *w, const char *path, const char *name)
{
    struct suite_recording rec = {0};
    struct err err;
    bool hide = !conf_has(&s->conf, "", "publish.arguments", "show");
    if ((hide && hide_command(path, &err) != 0) || run_load_recording(&rec, path, &err) != 0) {
        suite_absent(w, COLLECT_CACHE, err.text);
        profile_free(rec.profile);
        return;
    }
    w->cache = rec.profile;
    w->cache_selection = rec.selection;
    w->cache_file = mem_strdup(name);
    note_simulated(s, w);
}

/* "InvalidRead in parse (a.c:12): Invalid read of size 4", a line each. */
static void say_findings(const struct memcheck *m, struct buf *b)
{
    for (size_t i = 0; i < m->first.n && i < FINDINGS_SHOWN; i++) {
        const struct memcheck_finding *f = &m->first.at[i];
        buf_printf(b, "%s in %s", f->kind, *f->function ? f->function : "code without a name");
        if (*f->file)
            buf_printf(b, " (%s:%u)", f->file, f->line);
        buf_printf(b, "%s%s\n", *f->text ? ": " : "", f->text);
    }
    if (m->findings > FINDINGS_SHOWN)
        buf_printf(b, "and %llu more\n", (unsigned long long)(m->findings - FINDINGS_SHOWN));
}

static void take_findings(struct suite_result *w, enum collect what, const char *path)
{
    struct suite_findings *to =
        &w->findings[what == COLLECT_MEMCHECK ? FOUND_MEMCHECK : FOUND_HELGRIND];
    autobuf struct buf text = {0};
    struct reader in;
    struct memcheck m;
    struct err err;
    if (reader_open_file(&in, path, &err) != 0) {
        suite_absent(w, what, err.text);
        return;
    }
    if (memcheck_read(&m, &in, &err) != 0) {
        suite_absent(w, what, err.text);
    } else {
        say_findings(&m, &text);
        *to = (struct suite_findings){true, (size_t)m.findings, mem_strdup(buf_cstr(&text))};
    }
    memcheck_done(&m);
    reader_close(&in);
}

static int grind(struct run *r, struct suite_result *w, const struct grind *g, struct err *err)
{
    autofree char *name = mem_printf("%s.%s", w->workload.name, g->ending);
    autofree char *path = folder_file(&r->suite.folder, name);
    autobuf struct buf said = {0};
    struct words argv = {0};
    struct exec_result done;
    grind_words(&argv, g, &w->workload, path);
    struct exec_opts o = run_exec_opts(r, w);
    o.argv = argv.at.at;
    int rc = run_command(r, &o, &done, err);
    words_done(&argv);
    if (rc != 0)
        return -1;
    exec_say(&done, &said);
    if (done.end == EXEC_NOT_RUN && done.status == ENOENT)
        suite_absent(w, g->what, "valgrind is not installed: 'apt install valgrind'");
    else if (done.end != EXEC_EXITED || done.status != 0)
        suite_absent(w, g->what, buf_cstr(&said));
    else if (g->what == COLLECT_CACHE)
        take_cache(&r->suite, w, path, name);
    else
        take_findings(w, g->what, path);
    if (w->absent[g->what])
        run_say(r, "%s: no %s: %s", w->workload.name, collect_names[g->what], w->absent[g->what]);
    return 0;
}

int run_grind(struct run *r, struct suite_result *w, struct err *err)
{
    for (size_t i = 0; i < sizeof grinds / sizeof *grinds; i++) {
        if (!w->workload.collect[grinds[i].what])
            continue;
        run_say(r, "%s: %s, under valgrind, which is many times slower", w->workload.name,
                collect_names[grinds[i].what]);
        if (grind(r, w, &grinds[i], err) != 0)
            return -1;
    }
    return 0;
}
