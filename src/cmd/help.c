/*
 * help.c - help in the terminal; the build makes man pages and completion with it too.
 */
#include "cmd/completion.h"
#include "cmd/manual.h"

#include <string.h>

struct help_opts {
    const char *as;
};

static const struct opt help_table[] = {
    {0, "as", OPT_CHOICE, offsetof(struct help_opts, as), "KIND",
     "text, man (a man page), or bash, zsh or fish (completion for that shell; default: text)",
     .choices = "text man bash zsh fish"},
    OPT_END,
};

static int no_topic(const char *topic)
{
    const char *names[64] = {"formats", "suite"};
    for (int i = 0; commands[i] && i < 61; i++)
        names[i + 2] = commands[i]->name;
    const char *near = strcmp(topic, "rules") == 0         ? "check"
                       : strcmp(topic, "kelvin.conf") == 0 ? "suite"
                                                           : opt_nearest(topic, names);
    if (near)
        command_say("no help on '%s'; did you mean '%s'?", topic, near);
    else
        command_say("no help on '%s'; 'kelvin help' lists the commands", topic);
    return EXIT_ERROR;
}

static int one_topic(void)
{
    command_say("help: one command or topic at a time");
    return EXIT_ERROR;
}

static int print_topic(const char *topic, const char *as)
{
    const struct command *c = command_find(topic);
    bool formats = strcmp(topic, "formats") == 0, man = strcmp(as, "man") == 0;
    bool suite = strcmp(topic, "suite") == 0 || strcmp(topic, "kelvin.conf") == 0;
    if (!formats && !suite && !c)
        return no_topic(topic);
    if (!c && man) {
        command_say("help: '%s' has no man page: leave out --as", topic);
        return EXIT_ERROR;
    }
    if (!c && formats)
        manual_formats(stdout);
    else if (!c)
        manual_suite(stdout);
    else if (man)
        manual_man_command(stdout, c);
    else
        manual_command(stdout, c);
    return EXIT_OK;
}

static int help_run(const struct command *self, int n, char **args)
{
    struct help_opts o = {.as = "text"};
    struct opt_result operands;
    int rc = command_parse(self, &o, n, args, &operands);
    if (rc != 0)
        return rc < 0 ? EXIT_ERROR : EXIT_OK;
    if (strcmp(o.as, "bash") == 0)
        completion_bash(stdout);
    else if (strcmp(o.as, "zsh") == 0)
        completion_zsh(stdout);
    else if (strcmp(o.as, "fish") == 0)
        completion_fish(stdout);
    else if (operands.n_operands > 1)
        return one_topic();
    else if (operands.n_operands)
        return print_topic(operands.operands[0], o.as);
    else if (strcmp(o.as, "man") == 0)
        manual_man_overview(stdout);
    else
        manual_overview(stdout);
    return EXIT_OK;
}

const struct command command_help = {
    .name = "help",
    .summary = "show how to use kelvin or one of its commands",
    .operands = "[COMMAND | formats | suite]",
    .about = "Without an operand, lists the commands and exit codes. With a command's name, shows "
             "how to use it. 'kelvin help formats' lists what can be read and written, 'kelvin "
             "help suite' the keys of kelvin.conf.",
    .examples = "kelvin help flame     # the options of 'kelvin flame'\n"
                "kelvin help formats   # every format that is read and written\n"
                "kelvin help suite     # every key of kelvin.conf",
    .opts = help_table,
    .run = help_run,
};
