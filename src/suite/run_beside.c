/*
 * run_beside.c - the program of a baseline, kept to run beside that of today.
 *
 * A machine is not the same from one hour to the next, so times stored with a baseline prove
 * little. The baseline therefore keeps the program itself (build.binary), and the two take turns.
 * That is right only where the program is all that changed: one that loads libraries of the project
 * would be run with today's, so those are not kept.
 */
#include "base/program.h"
#include "host/ask.h"
#include "suite/run_inner.h"

#include <errno.h>
#include <sys/stat.h>

/* It keeps its own name, which stacks and threads show. */
static char *kept_path(const char *folder, const char *binary)
{
    const char *slash = strrchr(binary, '/');
    return mem_printf("%s/program/%s", folder, slash ? slash + 1 : binary);
}

/* Whether it needs a library that lies below this folder. */
static bool has_own_libraries(const char *binary)
{
    autobuf struct buf said = {0};
    autofree char *here = getcwd(NULL, 0);
    const char *argv[] = {"ldd", binary, NULL};
    struct ask ask = {.ms_left = 5000};
    if (!here || !ask_program(&ask, argv, &said))
        return true;
    buf_cstr(&said);
    autofree char *below = mem_printf("=> %s/", here);
    return strstr(said.at, below) || strstr(said.at, "not found");
}

int run_keep_program(const struct run *r, const struct folder *folder, struct err *err)
{
    const char *binary = conf_text(&r->suite.conf, "", "build.binary");
    autofree char *to = kept_path(folder->staging, binary);
    autofree char *below = folder_file(folder, "program");
    if (!*binary || has_own_libraries(binary))
        return 0;
    if (mkdir(below, 0777) != 0)
        return err_set_errno(err, errno, "cannot make the folder '%s'", below);
    if (run_copy_file(binary, to, err) != 0)
        return -1;
    chmod(to, 0755);
    return 0;
}

/* How many bytes of LINE are the program, if that is BINARY however it is written; else 0. */
static size_t program_bytes(const char *line, const char *binary)
{
    size_t n = strcspn(line, " \t");
    autofree char *word = mem_strndup(line, n), *path = NULL;
    struct stat it, other;
    bool same = program_find(word, &path) == PROGRAM_FOUND && stat(path, &it) == 0 &&
                stat(binary, &other) == 0 && it.st_dev == other.st_dev && it.st_ino == other.st_ino;
    return same ? n : 0;
}

/* What the baseline ran; NULL where it has nothing of W. */
static const char *command_then(const struct run *r, const struct suite_result *w)
{
    autofree char *recorded = mem_printf("%s recorded", w->workload.name);
    const struct series *s = series_find(&r->suite.before, w->workload.name);
    if (!s)
        s = series_find(&r->suite.before, recorded);
    return s ? s->command : NULL;
}

void run_find_beside(struct run *r, struct suite_result *w)
{
    const char *binary = conf_text(&r->suite.conf, "", "build.binary"), *line = w->workload.line;
    const char *then = command_then(r, w), *why = NULL;
    if (!r->suite.against)
        return;
    autofree char *folder = run_baseline_folder(r, r->suite.against);
    autofree char *kept = kept_path(folder, binary);
    size_t n = *binary ? program_bytes(line, binary) : 0;
    if (!then)
        why = "the baseline has nothing of this workload";
    else if (strcmp(then, line) != 0)
        why = "the baseline ran another command";
    else if (!*binary)
        why = "build.binary does not name the program, so the baseline has no copy of it";
    else if (!n)
        why = "the command does not begin with build.binary";
    else if (access(kept, X_OK) != 0 || has_own_libraries(binary))
        why = "the baseline has not kept the program, as for one with libraries of the project";
    if (why)
        w->why_apart = mem_strdup(why);
    else
        w->line_before = mem_printf("%s%s", kept, line + n);
}
