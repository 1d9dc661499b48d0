/*
 * main.c - the command table.
 */
#include "base/mem.h"
#include "base/publish.h"
#include "base/signals.h"
#include "base/text.h"
#include "cmd/command.h"
#include "cmd/version.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

const struct command *const commands[] = {
    &command_record, &command_top,   &command_report,  &command_view,  &command_annotate,
    &command_flame,  &command_fold,  &command_convert, &command_info,  &command_doctor,
    &command_diff,   &command_check, &command_heap,    &command_locks, &command_scopes,
    &command_simd,   &command_bench, &command_init,    &command_run,   &command_history,
    &command_help,   NULL,
};

const struct command *command_find(const char *name)
{
    for (int i = 0; commands[i]; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

/* Words that users of other profilers know. */
static const struct {
    const char *name, *instead;
} known_elsewhere[] = {
    {"stat", "'kelvin bench' times commands, and counts with --count instructions"},
    {"script", "'kelvin fold' prints stacks, 'kelvin convert' writes other formats"},
    {"list", "'kelvin doctor' shows which events work here"},
    {"trace", "'kelvin record' samples; it does not trace system calls"},
    {"stackcollapse", "'kelvin fold' prints folded stacks"},
    {"flamegraph", "'kelvin flame' draws one"},
    {"completion", "'kelvin help --as bash' prints it for bash; or zsh, fish"},
    {"version", "'kelvin --version' prints it"},
    {"compare", "'kelvin diff' compares profiles, 'kelvin bench' whole runs"},
};

static int no_such_command(const char *name)
{
    for (size_t i = 0; i < sizeof known_elsewhere / sizeof *known_elsewhere; i++)
        if (strcmp(name, known_elsewhere[i].name) == 0) {
            command_say("no command '%s': %s", name, known_elsewhere[i].instead);
            return EXIT_ERROR;
        }
    const char *names[64] = {0};
    for (int i = 0; commands[i] && i < 63; i++)
        names[i] = commands[i]->name;
    if (*name == '-') {
        const char *near = opt_nearest(name, (const char *const[]){"--version", "--help", NULL});
        command_say("no option '%s'; %s%s%s", name, near ? "did you mean '" : "there are --help",
                    near ? near : " and --version", near ? "'?" : "");
        return EXIT_ERROR;
    }
    const char *near = opt_nearest(name, names);
    if (near)
        command_say("no command '%s'; did you mean '%s'?", name, near);
    else if (strchr(name, '/') && access(name, X_OK) == 0)
        command_say("no command '%s'; did you mean 'kelvin record -- %s'?", name, name);
    else if (access(name, R_OK) == 0)
        command_say("no command '%s'; did you mean 'kelvin report %s'?", name, name);
    else
        command_say("no command '%s'; 'kelvin help' lists them", name);
    return EXIT_ERROR;
}

static int dispatch(int argc, char **argv)
{
    if (argc < 2)
        return command_help.run(&command_help, 0, NULL);
    const char *word = argv[1];
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
        return command_help.run(&command_help, 0, NULL);
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
        version_print(stdout);
        return EXIT_OK;
    }
    const struct command *c = command_find(word);
    return c ? c->run(c, argc - 2, argv + 2) : no_such_command(word);
}

int main(int argc, char **argv)
{
    mem_keep_freed();
    /* A closed pipe and a file that may not grow are write errors with a message, not a death. */
    signals_survive(SIGPIPE);
    signals_survive(SIGXFSZ);
    int rc = dispatch(argc, argv);
    if (fflush(stdout) == 0 && !ferror(stdout))
        return rc;
    if (publish_nobody_reads(stdout))
        return EXIT_NOBODY_READS;
    command_say("cannot write to standard output: %s", strerror(errno));
    return rc ? rc : EXIT_ERROR;
}
