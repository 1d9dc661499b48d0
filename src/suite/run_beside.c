/*
 * run_beside.c - the program of a baseline, kept to run beside that of today.
 *
 * A machine is not the same from one hour to the next, so times stored with a baseline prove
 * little. The baseline therefore keeps the program itself (build.binary), and the two take turns.
 * That is right only where the program is all that changed: one that loads libraries of the project
 * would be run with today's, so those are not kept.
 */
#include "host/ask.h"
#include "suite/run_inner.h"

#include <sys/stat.h>

#define KEPT_PROGRAM "program"

static char *kept_path(const struct run *r, const char *baseline)
{
    autofree char *folder = run_baseline_folder(r, baseline);
    return mem_printf("%s/" KEPT_PROGRAM, folder);
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
    autofree char *to = folder_file(folder, KEPT_PROGRAM);
    if (!*binary || has_own_libraries(binary))
        return 0;
    if (run_copy_file(binary, to, err) != 0)
        return -1;
    chmod(to, 0755);
    return 0;
}

char *run_line_before(const struct run *r, const struct suite_result *w)
{
    const char *binary = conf_text(&r->suite.conf, "", "build.binary"), *line = w->workload.line;
    size_t n = strlen(binary);
    if (!r->suite.against || !n || strncmp(line, binary, n) != 0 || (line[n] && line[n] != ' '))
        return NULL;
    autofree char *kept = kept_path(r, r->suite.against);
    const struct series *before = series_find(&r->suite.before, w->workload.name);
    bool same_command = before && strcmp(before->command, line) == 0;
    if (access(kept, X_OK) != 0 || !same_command || has_own_libraries(binary))
        return NULL;
    return mem_printf("%s%s", kept, line + n);
}
