/* trouble.c - words for commands that fail. */
#include "bench/trouble.h"
#include "base/program.h"

static bool is_of_shell(const char *command)
{
    static const char *const words[] = {"cd",    "export", "source", ".",    "alias", "ulimit",
                                        "umask", "set",    "unset",  "eval", "exec",  "for",
                                        "while", "if",     "(",      "{"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(command, words[i]) == 0)
            return true;
    return false;
}

static int not_run(const struct starter_run *r, const char *command, struct err *err)
{
    if (is_of_shell(command))
        return err_set(err, EXIT_ERROR, "'%s' is a word of the shell, not a program; add --shell",
                       command);
    enum program_state state = program_explain(command, r->status, err);
    size_t n = strlen(err->text);
    if (state == PROGRAM_NOT_FOUND && !strchr(command, '/') && !strchr(err->text, ';'))
        snprintf(err->text + n, sizeof err->text - n, "; with --shell it may be one of sh");
    return -1;
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
        return not_run(r, argv[0], err);
    if (r->end == STARTER_TIMED_OUT)
        return err_set(err, EXIT_ERROR, "'%.100s' did not end in the time that --timeout gives it",
                       t->line);
    return err_set(err, EXIT_ERROR, "%s%s'%.100s' ended with %s %d%s%s", t->what,
                   *t->what ? " " : "", t->line,
                   r->end == STARTER_SIGNALLED ? "signal" : "exit code", r->status, when, hint);
}
