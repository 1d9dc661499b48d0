/*
 * bench_store.c - what a measurement has to do with the store: a baseline to hold against, a past,
 * a place to be kept.
 *
 * The store is open only while it is used, as measuring takes long and others want to write.
 */
#include "cmd/bench_store.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/program.h"
#include "base/words.h"
#include "bench/baseline.h"
#include "cmd/bench.h"
#include "cmd/command.h"
#include "host/fingerprint.h"
#include "host/provenance.h"
#include "store/store.h"
#include "symbol/producer.h"

#include <time.h>

/* --- what is known about a measurement --- */

static void add_method(struct buf *b, const char *what, const char *value)
{
    if (value)
        buf_printf(b, "%s%s %s", b->n ? ", " : "", what, value);
}

/* What of the options changes the numbers. How long it is measured only makes them surer. */
static void put_method(const struct cmd_bench_opts *o, struct meta *m)
{
    autobuf struct buf b = {0};
    add_method(&b, "shell", o->shell ? "yes" : "no");
    add_method(&b, "prepare", o->prepare);
    add_method(&b, "input", o->input);
    add_method(&b, "output", o->show_output ? "inherit" : o->output_of);
    add_method(&b, "count", o->count);
    add_method(&b, "quick", o->quick ? "yes" : NULL);
    add_method(&b, "warm-up", o->warmup ? "yes" : "no");
    for (size_t i = 0; i < o->env.n; i++)
        add_method(&b, "env", o->env.at[i]);
    meta_set_str(m, META_METHOD, buf_cstr(&b));
}

/* The file that would be run for a word: as it is with a slash in it, else along PATH. Free it. */
static char *bench_store_find_program(const char *word, const char *cwd)
{
    char *path = NULL;
    if (strchr(word, '/'))
        return *word == '/' || !cwd ? mem_strdup(word) : mem_printf("%s/%s", cwd, word);
    if (program_find(word, &path) == PROGRAM_FOUND)
        return path;
    free(path);
    return mem_strdup(word);
}

/* The compilers of the commands, each once. */
static void put_build(const struct cmd_bench_opts *o, const struct opt_result *operands,
                      struct meta *m)
{
    autobuf struct buf b = {0};
    for (int i = 0; i < operands->n_operands && !o->shell; i++) {
        struct words words;
        struct err ignored;
        autofree char *said = NULL;
        if (words_split(&words, text_of(operands->operands[i]), WORDS_BLANKS, &ignored) == 0 &&
            words.at.n) {
            autofree char *file = bench_store_find_program(words.at.at[0], o->cwd);
            said = producer_read(file);
        }
        words_done(&words);
        if (said && !strstr(buf_cstr(&b), said))
            buf_printf(&b, "%s%s", b.n ? "; " : "", said);
    }
    if (b.n)
        meta_set_str(m, META_BUILD, buf_cstr(&b));
}

/* What is known about a measurement before it is made. */
static void put_facts(struct bench_store *b, const struct opt_result *operands)
{
    const struct cmd_bench_opts *o = b->opts;
    struct meta *m = &b->facts;
    struct fingerprint f;
    struct provenance p;
    meta_set_u64(m, META_TIME_NS, clock_wall_ns());
    fingerprint_read(&f, "");
    fingerprint_put(&f, m);
    b->busy = fingerprint_busy(&f);
    provenance_read(&p);
    provenance_put(&p, m);
    if (o->store.typed)
        meta_set_str(m, META_OPTIONS, o->store.typed);
    put_method(o, m);
    put_build(o, operands, m);
}

/* --- before measuring --- */

char *bench_store_path(const struct bench_store_opts *o)
{
    return o->path ? mem_strdup(o->path) : store_path();
}

int bench_store_load(const struct bench_store_opts *o, const char *name, struct series_set *ret,
                     struct err *err)
{
    struct store *s;
    autofree char *path = bench_store_path(o);
    if (store_open(&s, path, STORE_READ, err) != 0)
        return -1;
    int rc = store_load_baseline(s, name, ret, err);
    store_close(s);
    for (size_t i = 0; i < o->rename.n && rc == 0; i++) {
        struct err why;
        if (baseline_rename(ret, o->rename.at[i], &why) == 0)
            continue;
        rc = err_set(err, why.code, "--rename %s: %s", o->rename.at[i], why.text);
        series_set_done(ret);
    }
    return rc;
}

static int load_before(struct bench_store *b, struct err *err)
{
    const struct bench_store_opts *o = &b->opts->store;
    if (bench_store_load(o, o->against, &b->before, err) != 0)
        return -1;
    autofree char *rebuilt = baseline_rebuilt(&b->before.meta, &b->facts);
    if (rebuilt)
        command_say("note: %s, which is then part of what is compared", rebuilt);
    b->forced = baseline_differences(&b->before.meta, &b->facts);
    if (b->forced && !o->force)
        return err_set(err, EXIT_ERROR,
                       "cannot compare with '%s': %s; save it again, or use --force", o->against,
                       b->forced);
    return 0;
}

/* That it can be written is found out before time is spent on measuring. */
static int try_save(const struct bench_store *b, struct err *err)
{
    struct store *s;
    if (store_check_name(b->opts->store.save, err) != 0 ||
        store_open(&s, b->path, STORE_WRITE, err) != 0)
        return -1;
    store_close(s);
    return 0;
}

int bench_store_begin(struct bench_store *b, const struct cmd_bench_opts *o,
                      const struct opt_result *operands, struct err *err)
{
    *b = (struct bench_store){.opts = o, .path = bench_store_path(&o->store)};
    put_facts(b, operands);
    bench_beside_note(b, operands);
    if (o->store.against && load_before(b, err) != 0)
        return -1;
    if (o->store.against)
        b->line_before = bench_beside_find(b, operands, &b->why_apart);
    return o->store.save ? try_save(b, err) : 0;
}

enum measure bench_store_measure(const struct cmd_bench_opts *o)
{
    const char *name = o->count ? o->count : o->measure;
    char first[40] = "";
    if (!name)
        return MEASURE_TIME;
    snprintf(first, sizeof first, "%.*s", (int)strcspn(name, ","), name);
    return (enum measure)measure_find(first);
}

int bench_store_pasts(struct pasts *to, const struct cmd_bench_opts *o,
                      const struct series_set *set, bool fresh, struct err *err)
{
    struct store *s;
    autofree char *path = bench_store_path(&o->store);
    if (store_open(&s, path, STORE_READ, err) != 0)
        return -1;
    int rc = pasts_read(to, s, set, bench_store_measure(o), fresh, err);
    store_close(s);
    return rc;
}

/* --- all of it --- */

/* What was known before; what the set says itself stays. */
static void add_facts(struct series_set *set, const struct meta *facts)
{
    for (size_t i = 0; i < facts->entries.n; i++)
        if (!meta_find(&set->meta, facts->entries.at[i].key))
            meta_set_str(&set->meta, facts->entries.at[i].key, facts->entries.at[i].value);
}

int bench_store_report(struct bench_store *b, struct outcome *o, struct bench_report *r,
                       struct err *err)
{
    const struct bench_store_opts *so = &b->opts->store;
    struct series_set *set = &o->session.set;
    add_facts(set, &b->facts);
    r->busy = b->busy;
    if (!so->against && !so->save)
        return 0;
    if (bench_store_pasts(&b->pasts, b->opts, set, true, err) != 0)
        return -1;
    r->pasts = b->pasts.at;
    r->n_pasts = b->pasts.n;
    if (!so->against)
        return 0;
    if (o->is_beside) {
        o->beside.meta = b->before.meta;
        b->before.meta = (struct meta){0};
    } else {
        outcome_compare(o, &b->before);
    }
    r->before = o->is_beside ? &o->beside : &b->before;
    r->before_name = so->against;
    r->forced = b->forced;
    return 0;
}

/* The program is put in its place last: until then the older baseline has its own. */
static int save(struct bench_store *b, struct series_set *set, struct err *err)
{
    struct store *s;
    struct folder program = {.lock = -1};
    int rc = bench_beside_stage(b, set, &program, err);
    if (rc == 0)
        rc = store_open(&s, b->path, STORE_WRITE, err);
    if (rc == 0) {
        rc = store_save_baseline(s, b->opts->store.save, set, err);
        store_close(s);
    }
    if (rc == 0 && program.path)
        rc = folder_commit(&program, err);
    else if (rc == 0)
        bench_beside_remove(b->path, b->opts->store.save);
    folder_drop(&program);
    return rc;
}

void bench_store_tell(const struct bench_store *b, const struct outcome *o)
{
    const struct cmd_bench_opts *opts = b->opts;
    bool times = measure_infos[bench_store_measure(opts)].unit == MEASURE_NS;
    if (b->busy && times && strcmp(output_format(&opts->output), "text") != 0)
        command_say("note: %s", b->busy);
    if (o->is_beside)
        command_say("note: ran in turns with the program that '%s' has kept", opts->store.against);
    else if (b->why_apart)
        command_say("note: compared with the figures of '%s', not side by side: %s",
                    opts->store.against, b->why_apart);
}

int bench_store_keep(struct bench_store *b, struct series_set *set, int code, struct err *err)
{
    const struct bench_store_opts *o = &b->opts->store;
    if (!o->save)
        return 0;
    bool whole = outcome_is_whole(code), same = o->against && strcmp(o->save, o->against) == 0;
    if (whole && !(code == EXIT_FAILS && same))
        return save(b, set, err);
    command_say("the baseline '%s' was not saved: %s", o->save,
                whole ? "its gate failed" : "the measurement was stopped");
    return 0;
}

char *bench_store_typed(int n, char **args)
{
    struct meta m = {0};
    provenance_put_options(&m, n, args);
    char *typed = mem_strdup(meta_find(&m, META_OPTIONS));
    meta_done(&m);
    return typed;
}

void bench_store_done(struct bench_store *b)
{
    series_set_done(&b->before);
    pasts_done(&b->pasts);
    meta_done(&b->facts);
    free(b->path);
    free(b->forced);
    free(b->program);
    free(b->hash);
    free(b->files);
    free(b->line_before);
    free(b->busy);
}
