/* trouble.c - words for commands that fail. */
#include "bench/trouble.h"
#include "base/opt.h"

#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>

/* The names in a folder that begin as WORD does: few enough to compare. */
static void add_names(const char *folder, const char *word, const char **names, size_t *n)
{
    DIR *d = opendir(folder);
    const struct dirent *e;
    while (d && *n < 63 && (e = readdir(d)))
        if (e->d_name[0] == word[0])
            names[(*n)++] = mem_strdup(e->d_name);
    if (d)
        closedir(d);
}

/* Something in PATH with a name much like WORD; "" if there is none. Free it. */
static char *near_in_path(const char *word)
{
    const char *path = getenv("PATH");
    struct text rest = text_of(path ? path : "");
    char *best = NULL;
    while (rest.n > 0 && !best) {
        const char *names[64] = {0};
        size_t n = 0;
        struct text folder = text_cut(&rest, ':');
        autofree char *name = mem_strndup(folder.at, folder.n);
        add_names(name, word, names, &n);
        const char *near = opt_nearest(word, names);
        best = near ? mem_strdup(near) : NULL;
        while (n > 0)
            free((char *)names[--n]);
    }
    return best ? best : mem_strdup("");
}

static int not_found(const char *command, struct err *err)
{
    struct stat st;
    if (strchr(command, '/'))
        return err_set(err, EXIT_ERROR, "%s '%s'",
                       stat(command, &st) == 0 ? "the interpreter is missing that is named by"
                                               : "there is no",
                       command);
    if (stat(command, &st) == 0)
        return err_set(err, EXIT_ERROR, "no command '%s' in PATH; './%s' is the one here", command,
                       command);
    autofree char *near = near_in_path(command);
    if (*near)
        return err_set(err, EXIT_ERROR, "no command '%s' in PATH; did you mean '%s'?", command,
                       near);
    return err_set(err, EXIT_ERROR, "no command '%s' in PATH; with --shell it may be one of sh",
                   command);
}

static int not_run(const struct starter_run *r, char *const *argv, struct err *err)
{
    if (r->status == ENOENT)
        return not_found(argv[0], err);
    struct stat st;
    if (r->status == EACCES && stat(argv[0], &st) == 0 && S_ISDIR(st.st_mode))
        return err_set(err, EXIT_ERROR, "cannot run '%s': it is a folder", argv[0]);
    if (r->status == EACCES)
        return err_set(err, EXIT_ERROR, "cannot run '%s': not executable; 'chmod +x' it", argv[0]);
    return err_set_errno(err, r->status, "cannot run '%s'", argv[0]);
}

int trouble_say(const struct trouble *t, const struct starter_run *r, char *const *argv,
                struct err *err)
{
    char when[80] = "";
    const char *hint = t->unseen && r->said.n == 0 ? "; --show-output shows what it says"
                       : t->ignoring               ? ""
                                                   : "; --ignore-failure goes on regardless";
    if (t->block > 0)
        snprintf(when, sizeof when, " in run %ld, after %ld that went well", t->block + 1,
                 t->block);
    if (r->end == STARTER_NOT_RUN)
        return not_run(r, argv, err);
    if (r->end == STARTER_TIMED_OUT)
        return err_set(err, EXIT_ERROR, "'%.100s' did not end in the time that --timeout gives it",
                       t->line);
    return err_set(err, EXIT_ERROR, "%s%s'%.100s' ended with %s %d%s%s", t->what,
                   *t->what ? " " : "", t->line,
                   r->end == STARTER_SIGNALLED ? "signal" : "exit code", r->status, when, hint);
}
