/*
 * bench_beside.c - the program of a baseline, to run it in turns with that of today; suite/kept.h
 * says why. Of one command, without parameters and without a shell.
 */
#include "base/path.h"
#include "base/program.h"
#include "base/words.h"
#include "cmd/bench.h"
#include "suite/kept.h"

#include <ctype.h>

/* --- the command --- */

/* The program of a command, and the rest of its line; NULL = it is none. Free it. */
static char *bench_beside_program_of(const char *line, const char **ret_rest)
{
    size_t n = strcspn(line, " \t");
    autofree char *word = mem_strndup(line, n);
    char *path = NULL;
    *ret_rest = line + n;
    if (strpbrk(word, "'\"\\") || program_find(word, &path) != PROGRAM_FOUND) {
        free(path);
        return NULL;
    }
    return path;
}

/* Programs of the system stay what they are; what they are given is what changes. */
static bool is_of_user(const char *program)
{
    static const char *const system[] = {"/usr/", "/bin/", "/sbin/", "/lib"};
    autofree char *real = realpath(program, NULL);
    for (size_t i = 0; real && i < sizeof system / sizeof *system; i++)
        if (strncmp(real, system[i], strlen(system[i])) == 0 &&
            strncmp(real, "/usr/local/", 11) != 0)
            return false;
    return real != NULL;
}

/* What is in the files that a command names, as one number; "-" = it names none. Free it. */
static char *hash_arguments(const char *rest)
{
    struct words words;
    struct err ignored;
    autobuf struct buf all = {0};
    if (words_split(&words, text_of(rest), WORDS_BLANKS, &ignored) == 0)
        for (size_t i = 0; i < words.at.n; i++) {
            autofree char *hash =
                path_kind(words.at.at[i]) == PATH_FILE ? kept_hash(words.at.at[i]) : NULL;
            buf_str(&all, hash ? hash : "");
        }
    words_done(&words);
    return mem_strdup(all.n ? buf_cstr(&all) : "-");
}

static const char *why_not_one(const struct cmd_bench_opts *o, const struct opt_result *operands)
{
    if (operands->n_operands != 1)
        return "several commands are measured";
    if (o->shell)
        return "the command is handed to a shell";
    if (o->cwd)
        return "the command runs in another folder";
    return o->list.n || o->range.n ? "the command has parameters" : NULL;
}

/* --- where --- */

/* .kelvin/programs/NAME of the store; a name can have any character but some few. */
static char *beside_folder(const char *store, const char *name)
{
    autofree char *folder = path_folder(store);
    struct buf b = {0};
    buf_printf(&b, "%s/programs/", folder);
    for (const char *c = name; *c; c++)
        if (isalnum((unsigned char)*c) || *c == '_' || *c == '-' || (*c == '.' && c != name))
            buf_byte(&b, (uint8_t)*c);
        else
            buf_printf(&b, "%%%02x", (unsigned char)*c);
    buf_cstr(&b);
    return b.at;
}

void bench_beside_remove(const char *store, const char *name)
{
    autofree char *folder = beside_folder(store, name);
    folder_remove(folder);
}

/* --- keeping --- */

void bench_beside_note(struct bench_store *b, const struct opt_result *operands)
{
    const char *rest;
    if (!b->opts->store.save || why_not_one(b->opts, operands))
        return;
    autofree char *program = bench_beside_program_of(operands->operands[0], &rest);
    if (!program || !is_of_user(program) || kept_refuses(program))
        return;
    autofree char *hash = kept_hash(program), *files = hash_arguments(rest);
    if (!hash)
        return;
    b->program = mem_strdup(program);
    b->hash = mem_strdup(hash);
    b->files = mem_strdup(files);
}

int bench_beside_stage(struct bench_store *b, struct series_set *set, struct folder *to,
                       struct err *err)
{
    if (!b->program)
        return 0;
    autofree char *path = beside_folder(b->path, b->opts->store.save), *parent = path_folder(path);
    if (folder_make(parent, err) != 0 || folder_open(to, path, err) != 0 ||
        kept_copy(to->staging, b->program, err) != 0)
        return -1;
    autofree char *copy = kept_path(to->staging, b->program), *hash = kept_hash(copy);
    if (!hash || strcmp(hash, b->hash) != 0) /* rebuilt meanwhile: not what was measured */
        return 0;
    meta_set_str(&set->meta, META_KEPT, b->hash);
    meta_set_str(&set->meta, META_KEPT_FILES, b->files);
    return 0;
}

/* --- finding --- */

static bool is_same_text(const char *a, const char *b)
{
    return a && b && strcmp(a, b) == 0;
}

/* Why the kept program at KEPT cannot take turns with PROGRAM; NULL = it can. */
static const char *why_not_kept(const struct bench_store *b, const char *program, const char *kept,
                                const char *rest)
{
    const struct meta *m = &b->before.meta;
    const char *then = meta_find(m, META_KEPT);
    autofree char *hash = kept_hash(kept), *now = kept_hash(program), *files = hash_arguments(rest);
    if (!then)
        return "the baseline did not keep its program: only a program of your own is kept, run by "
               "a single command, that is not a script and loads no libraries of the project";
    if (!b->before.series.n ||
        strcmp(b->before.series.at[0].command + strcspn(b->before.series.at[0].command, " \t"),
               rest) != 0)
        return "the baseline ran with other arguments";
    if (!is_same_text(hash, then))
        return "the program that the baseline kept is gone";
    if (kept_refuses(program))
        return "the program is a script now, or loads libraries of the project";
    if (is_same_text(hash, now) && !is_same_text(files, meta_find(m, META_KEPT_FILES)))
        return "the program is the same, but the files that its command line names changed";
    return NULL;
}

/* The name under which the baseline has kept it: that of then. */
static char *kept_file(const struct bench_store *b, const char *folder)
{
    const char *line = b->before.series.n ? b->before.series.at[0].command : "";
    autofree char *word = mem_strndup(line, strcspn(line, " \t"));
    return kept_path(folder, word);
}

char *bench_beside_find(const struct bench_store *b, const struct opt_result *operands,
                        const char **ret_why)
{
    const char *rest = "";
    *ret_why = why_not_one(b->opts, operands);
    if (*ret_why)
        return NULL;
    autofree char *program = bench_beside_program_of(operands->operands[0], &rest);
    autofree char *folder = beside_folder(b->path, b->opts->store.against);
    autofree char *kept = kept_file(b, folder);
    *ret_why = program ? why_not_kept(b, program, kept, rest) : "the program was not found";
    if (!*ret_why && strpbrk(kept, " \t'\"\\"))
        *ret_why = "the store's path contains blanks or quotes";
    return *ret_why ? NULL : mem_printf("%s%s", kept, rest);
}
