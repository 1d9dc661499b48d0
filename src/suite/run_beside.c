/* run_beside.c - the program of a baseline beside that of today; see kept.h. */
#include "base/program.h"
#include "suite/kept.h"
#include "suite/run_inner.h"

#include <sys/stat.h>

/* Whether a workload before number I runs the same program. */
static bool is_kept(const struct run *r, size_t i, const char *binary)
{
    bool found = false;
    for (size_t k = 0; k < i; k++)
        found |= strcmp(r->suite.results.at[k].workload.binary, binary) == 0;
    return found;
}

int run_keep_programs(const struct run *r, const struct folder *folder, struct err *err)
{
    for (size_t i = 0; i < r->suite.results.n; i++) {
        const char *binary = r->suite.results.at[i].workload.binary;
        if (*binary && !is_kept(r, i, binary) && !kept_refuses(binary) &&
            kept_copy(folder->staging, binary, err) != 0)
            return -1;
    }
    return 0;
}

size_t run_program_bytes(const char *line, const char *binary)
{
    autofree char *word = NULL, *path = NULL;
    size_t n = words_first(line, &word);
    struct stat it, other;
    bool same = n && program_find(word, &path) == PROGRAM_FOUND && stat(path, &it) == 0 &&
                stat(binary, &other) == 0 && it.st_dev == other.st_dev && it.st_ino == other.st_ino;
    return same ? n : 0;
}

char *run_line_with(const char *program, const char *rest)
{
    autobuf struct buf b = {0};
    words_quote(&b, program);
    buf_str(&b, rest);
    return mem_strdup(buf_cstr(&b));
}

/* What the baseline ran; NULL where it has nothing of W. */
static const char *command_then(const struct run *r, const struct suite_result *w)
{
    autofree char *recorded = mem_printf("%s recorded", w->workload.name);
    autofree char *benchmark = mem_printf("%s benchmark ", w->workload.name);
    const struct series *s = series_find(&r->suite.before, w->workload.name);
    if (!s)
        s = series_find(&r->suite.before, recorded);
    for (size_t i = 0; !s && i < r->suite.before.series.n; i++)
        if (text_starts(text_of(r->suite.before.series.at[i].name), benchmark))
            s = &r->suite.before.series.at[i];
    return s ? s->command : NULL;
}

/* Counts and findings are those of one program, at any time. */
static bool takes_turns(const struct workload *w)
{
    return w->collect[COLLECT_CPU] || w->collect[COLLECT_BENCH] || w->collect[COLLECT_BENCHMARKS];
}

void run_find_beside(struct run *r, struct suite_result *w)
{
    const char *binary = w->workload.binary, *line = w->workload.line;
    const char *then = command_then(r, w), *why = NULL;
    if (!r->suite.against || !takes_turns(&w->workload))
        return;
    autofree char *folder = run_baseline_folder(r, r->suite.against);
    autofree char *kept = kept_path(folder, binary);
    size_t n = *binary ? run_program_bytes(line, binary) : 0;
    if (!then)
        why = "the baseline has nothing of this workload";
    else if (strcmp(then, line) != 0)
        why = "the baseline ran another command";
    else if (!*binary)
        why = "neither build.binary nor its own binary names the program, so the baseline has no "
              "copy of it";
    else if (!n)
        why = "the command does not begin with build.binary or its own binary";
    else if (access(kept, X_OK) != 0 || kept_refuses(binary))
        why = "the baseline did not keep the program: it keeps none that loads libraries of the "
              "project";
    if (why)
        w->why_apart = mem_strdup(why);
    else
        w->line_before = run_line_with(kept, line + n);
}
