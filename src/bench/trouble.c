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

static int not_run(const struct starter_run *r, const char *command, enum trouble_help *ret_help,
                   struct err *err)
{
    if (is_of_shell(command)) {
        *ret_help = HELP_SHELL;
        return err_set(err, EXIT_ERROR, "'%s' is a word of the shell, not a program", command);
    }
    enum program_state state = program_explain(command, r->status, err);
    if (state == PROGRAM_NOT_FOUND && !strchr(command, '/') && !strchr(err->text, ';'))
        *ret_help = HELP_SHELL_PERHAPS;
    return -1;
}

static int ended_badly(const struct trouble *t, const struct starter_run *r, struct err *err)
{
    char when[80] = "";
    if (t->block > 0)
        snprintf(when, sizeof when, " in run %ld, after %ld that went well", t->block + 1,
                 t->block);
    return err_set(err, EXIT_ERROR, "%s%s%s'%.100s' ended with %s %d%s", *t->what ? "the " : "",
                   t->what, *t->what ? " command " : "", t->line,
                   r->end == STARTER_SIGNALLED ? "signal" : "exit code", r->status, when);
}

int trouble_say(const struct trouble *t, const struct starter_run *r, char *const *argv,
                enum trouble_help *ret_help, struct err *err)
{
    *ret_help = HELP_NONE;
    if (r->end == STARTER_NOT_RUN)
        return not_run(r, argv[0], ret_help, err);
    if (r->end == STARTER_TIMED_OUT) {
        *ret_help = HELP_MORE_TIME;
        return err_set(err, EXIT_ERROR, "'%.100s' did not end within the time limit", t->line);
    }
    if (t->unseen && r->said.n == 0)
        *ret_help = HELP_SHOW_OUTPUT;
    else if (!t->ignoring)
        *ret_help = HELP_IGNORE_FAILURE;
    return ended_badly(t, r, err);
}
