#include "cmd/completion.h"
#include "base/text.h"

/* --- bash --- */

static void bash_command(FILE *out, const struct command *c)
{
    fprintf(out, "    %s) words=\"--help", c->name);
    for (const struct opt *o = c->opts; o->name; o++)
        fprintf(out, " --%s", o->name);
    fprintf(out, "\" ;;\n");
}

static void bash_choices(FILE *out, const struct command *c)
{
    for (const struct opt *o = c->opts; o->name; o++)
        if (o->choices)
            fprintf(out, "    %s:--%s) words=\"%s\" ;;\n", c->name, o->name, o->choices);
}

void completion_bash(FILE *out)
{
    fprintf(out,
            "# bash completion for kelvin %s\n"
            "_kelvin() {\n"
            "  local cur=\"${COMP_WORDS[COMP_CWORD]}\" words=\"\" chosen=\"\"\n"
            "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
            "    words=\"",
            KELVIN_VERSION);
    for (int i = 0; commands[i]; i++)
        fprintf(out, "%s%s", i ? " " : "", commands[i]->name);
    fprintf(out, "\"\n    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
                 "    return\n  fi\n"
                 "  case \"${COMP_WORDS[1]}:${COMP_WORDS[COMP_CWORD-1]}\" in\n");
    for (int i = 0; commands[i]; i++)
        bash_choices(out, commands[i]);
    fprintf(out, "    *) ;;\n  esac\n  chosen=\"$words\"\n  case \"${COMP_WORDS[1]}\" in\n");
    for (int i = 0; commands[i]; i++)
        bash_command(out, commands[i]);
    fprintf(out, "  esac\n"
                 "  if [ -n \"$chosen\" ]; then\n"
                 "    mapfile -t COMPREPLY < <(compgen -W \"$chosen\" -- \"$cur\")\n"
                 "  elif [[ \"$cur\" == -* ]]; then\n"
                 "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
                 "  else\n"
                 "    mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
                 "  fi\n"
                 "}\n"
                 "complete -o filenames -F _kelvin kelvin\n");
}

/* --- what zsh and fish have in common --- */

/* TEXT between single quotes of a shell: AS stands for a quote, and SPECIAL get a backslash. */
static void quote(FILE *out, const char *text, const char *as, const char *special)
{
    for (; *text; text++) {
        if (strchr(special, *text))
            putc('\\', out);
        if (*text == '\'')
            fputs(as, out);
        else
            putc(*text == '\n' ? ' ' : *text, out);
    }
}

/* The value of O is a file or a folder. */
static bool takes_file(const struct opt *o)
{
    static const char *const files[] = {"FILE", "FOLDER", "PROFILE", "BEFORE", "AFTER", "RULES"};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        if (strncmp(o->arg, files[i], strlen(files[i])) == 0)
            return true;
    return false;
}

/* The operands are a command of the user's own, to be completed as one. */
static bool takes_command(const struct command *c)
{
    return strstr(c->operands, "COMMAND [ARGUMENT") != NULL;
}

static void print_topics(FILE *out)
{
    for (int i = 0; commands[i]; i++)
        fprintf(out, "%s ", commands[i]->name);
    fputs("formats suite", out);
}

/* --- zsh --- */

static void zsh_text(FILE *out, const char *text)
{
    quote(out, text, "'\\''", "[]:\\");
}

/* '(-o --output)'{-o,--output}'[help]:FILE:_files' */
static void zsh_option(FILE *out, const struct opt *o)
{
    const char *many = o->kind == OPT_LIST ? "*" : "";
    if (o->letter && *many)
        fprintf(out, "      '*'{-%c,--%s}'[", o->letter, o->name);
    else if (o->letter)
        fprintf(out, "      '(-%c --%s)'{-%c,--%s}'[", o->letter, o->name, o->letter, o->name);
    else
        fprintf(out, "      '%s--%s[", many, o->name);
    zsh_text(out, o->help);
    putc(']', out);
    if (o->arg) {
        putc(':', out);
        zsh_text(out, o->arg);
        if (o->choices)
            fprintf(out, ":(%s)", o->choices);
        else
            fputs(takes_file(o) ? ":_files" : ": ", out);
    }
    fputs("' \\\n", out);
}

static void zsh_command(FILE *out, const struct command *c)
{
    fprintf(out, "  %s)\n    _arguments -s -S \\\n", c->name);
    for (const struct opt *o = c->opts; o->name; o++)
        zsh_option(out, o);
    fputs("      '(-h --help)'{-h,--help}'[show help]' \\\n", out);
    if (c == &command_help) {
        fputs("      '*:topic:(", out);
        print_topics(out);
        fputs(")' ;;\n", out);
    } else if (takes_command(c))
        fputs("      '*:::command:_normal' ;;\n", out);
    else
        fputs("      '*:file:_files' ;;\n", out);
}

void completion_zsh(FILE *out)
{
    fprintf(out, "#compdef kelvin\n# zsh completion for kelvin %s\n_kelvin() {\n", KELVIN_VERSION);
    fputs("  local -a commands=(\n", out);
    for (int i = 0; commands[i]; i++) {
        fprintf(out, "    '%s:", commands[i]->name);
        quote(out, commands[i]->summary, "'\\''", ":\\");
        fputs("'\n", out);
    }
    fputs("  )\n"
          "  if (( CURRENT == 2 )); then\n"
          "    _describe command commands\n"
          "    return\n"
          "  fi\n"
          "  shift words\n"
          "  (( CURRENT-- ))\n"
          "  case $words[1] in\n",
          out);
    for (int i = 0; commands[i]; i++)
        zsh_command(out, commands[i]);
    fputs("  esac\n"
          "}\n"
          "if [[ $funcstack[1] == _kelvin ]]; then\n"
          "  _kelvin \"$@\"\n"
          "else\n"
          "  compdef _kelvin kelvin\n"
          "fi\n",
          out);
}

/* --- fish --- */

static void fish_text(FILE *out, const char *text)
{
    quote(out, text, "\\'", "\\");
}

static void fish_option(FILE *out, const struct command *c, const struct opt *o)
{
    fprintf(out, "complete -c kelvin -n '__kelvin_command %s'", c->name);
    if (o->letter)
        fprintf(out, " -s %c", o->letter);
    fprintf(out, " -l %s", o->name);
    if (o->choices)
        fprintf(out, " -x -a '%s'", o->choices);
    else if (o->arg)
        fputs(takes_file(o) ? " -r -F" : " -x", out);
    fputs(" -d '", out);
    fish_text(out, o->help);
    fputs("'\n", out);
}

static void fish_command(FILE *out, const struct command *c)
{
    fprintf(out, "complete -c kelvin -n __kelvin_no_command -f -a %s -d '", c->name);
    fish_text(out, c->summary);
    fputs("'\n", out);
    for (const struct opt *o = c->opts; o->name; o++)
        fish_option(out, c, o);
    fprintf(out, "complete -c kelvin -n '__kelvin_command %s' -s h -l help -d 'show help'\n",
            c->name);
    if (c == &command_help) {
        fprintf(out, "complete -c kelvin -n '__kelvin_command %s' -f -a '", c->name);
        print_topics(out);
        fputs("'\n", out);
    }
}

void completion_fish(FILE *out)
{
    fprintf(out, "# fish completion for kelvin %s\n", KELVIN_VERSION);
    fputs("function __kelvin_no_command\n"
          "  test (count (commandline -opc)) -eq 1\n"
          "end\n"
          "function __kelvin_command\n"
          "  set -l words (commandline -opc)\n"
          "  test (count $words) -gt 1; and test \"$words[2]\" = $argv[1]\n"
          "end\n",
          out);
    for (int i = 0; commands[i]; i++)
        fish_command(out, commands[i]);
}
