#include "cmd/completion.h"
#include "base/buf.h"
#include "base/text.h"
#include "source/import.h"
#include "view/export/export.h"

/* --- what they have in common --- */

/* The values that are offered for O, with spaces between; "" for none. Free it. */
static char *completion_values(const struct opt *o)
{
    if (o->choices)
        return mem_strdup(o->choices);
    struct buf words = {0};
    if (strcmp(o->name, "to") == 0)
        for (int i = 0; export_formats[i]; i++)
            buf_printf(&words, "%s%s", i ? " " : "", export_formats[i]->name);
    else if (strcmp(o->name, "from") == 0)
        for (int i = 0; import_sources[i]; i++)
            buf_printf(&words, "%s%s", i ? " " : "", import_sources[i]->name);
    char *text = mem_strdup(buf_cstr(&words));
    buf_done(&words);
    return text;
}

/* The value of O is a file or a folder. */
static bool takes_file(const struct opt *o)
{
    static const char *const files[] = {"FILE",   "FOLDER", "DIR",   "PROFILE",
                                        "BEFORE", "AFTER",  "RULES", "RECORDING"};
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
    for (const struct opt *o = c->opts; o->name; o++) {
        autofree char *values = completion_values(o);
        if (*values && o->letter)
            fprintf(out, "    %s:--%s | %s:-%c) chosen=\"%s\" ;;\n", c->name, o->name, c->name,
                    o->letter, values);
        else if (*values)
            fprintf(out, "    %s:--%s) chosen=\"%s\" ;;\n", c->name, o->name, values);
    }
    if (c == &command_help) {
        fprintf(out, "    %s:%s) chosen=\"", c->name, c->name);
        print_topics(out);
        fprintf(out, "\" ;;\n");
    }
}

/* What follows a "--" is a command, which has a completion of its own where bash-completion is. */
static void bash_user_command(FILE *out)
{
    fprintf(out, "  for ((i = 2; i < COMP_CWORD; i++)); do\n"
                 "    [ \"${COMP_WORDS[i]}\" = -- ] || continue\n"
                 "    if declare -F _command_offset >/dev/null; then\n"
                 "      _command_offset $((i + 1))\n"
                 "    elif [ $((i + 1)) -eq \"$COMP_CWORD\" ]; then\n"
                 "      mapfile -t COMPREPLY < <(compgen -c -- \"$cur\"; compgen -f -- \"$cur\")\n"
                 "    else\n"
                 "      mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
                 "    fi\n"
                 "    return\n"
                 "  done\n");
}

void completion_bash(FILE *out)
{
    fprintf(out,
            "# bash completion for kelvin %s\n"
            "_kelvin() {\n"
            "  local cur=\"${COMP_WORDS[COMP_CWORD]}\" prev=\"${COMP_WORDS[COMP_CWORD-1]}\"\n"
            "  local words=\"\" chosen=\"\" i\n"
            "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
            "    words=\"",
            KELVIN_VERSION);
    for (int i = 0; commands[i]; i++)
        fprintf(out, "%s%s", i ? " " : "", commands[i]->name);
    fprintf(out, "\"\n    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
                 "    return\n  fi\n");
    bash_user_command(out);
    /* readline cuts "--by=line" into three words */
    fprintf(out, "  if [ \"$cur\" = = ]; then\n    cur=\"\"\n"
                 "  elif [ \"$prev\" = = ]; then\n    prev=\"${COMP_WORDS[COMP_CWORD-2]}\"\n  fi\n"
                 "  case \"${COMP_WORDS[1]}:$prev\" in\n");
    for (int i = 0; commands[i]; i++)
        bash_choices(out, commands[i]);
    fprintf(out, "    *) ;;\n  esac\n  case \"${COMP_WORDS[1]}\" in\n");
    for (int i = 0; commands[i]; i++)
        bash_command(out, commands[i]);
    fprintf(out, "  esac\n"
                 "  if [[ \"$cur\" == -* ]]; then\n"
                 "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
                 "  elif [ -n \"$chosen\" ]; then\n"
                 "    mapfile -t COMPREPLY < <(compgen -W \"$chosen\" -- \"$cur\")\n"
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
    else /* "=-": a value that may be left out is in the same word */
        fprintf(out, "      '%s--%s%s[", many, o->name, o->kind == OPT_OPTIONAL ? "=-" : "");
    zsh_text(out, o->help);
    putc(']', out);
    autofree char *values = completion_values(o);
    if (o->arg) {
        fputs(o->kind == OPT_OPTIONAL ? "::" : ":", out);
        zsh_text(out, o->arg);
        if (*values)
            fprintf(out, ":(%s)", values);
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
    fputs("      '(-h --help)'{-h,--help}'[show this help]' \\\n", out);
    if (c == &command_help) {
        fputs("      '*:topic:(", out);
        print_topics(out);
        fputs(")' ;;\n", out);
    } else if (takes_command(c))
        fputs("      '(-)1:command:_command_names -e' '*::argument:_normal' ;;\n", out);
    else
        fputs("      '*:file:_files' ;;\n", out);
}

void completion_zsh(FILE *out)
{
    fprintf(out, "#compdef kelvin\n# zsh completion for kelvin %s\n_kelvin() {\n", KELVIN_VERSION);
    fputs("  local -a subcommands=(\n", out);
    for (int i = 0; commands[i]; i++) {
        fprintf(out, "    '%s:", commands[i]->name);
        quote(out, commands[i]->summary, "'\\''", ":\\");
        fputs("'\n", out);
    }
    fputs("  )\n"
          "  if (( CURRENT == 2 )); then\n"
          "    _describe command subcommands\n"
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
    autofree char *values = completion_values(o);
    if (*values)
        fprintf(out, " -x -a '%s'", values);
    else if (o->arg && o->kind != OPT_OPTIONAL)
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
    fprintf(out, "complete -c kelvin -n '__kelvin_command %s' -s h -l help -d 'show this help'\n",
            c->name);
    if (takes_command(c))
        fprintf(out, "complete -c kelvin -n '__kelvin_command %s' -a '(__kelvin_user_command)'\n",
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
          "end\n"
          "function __kelvin_user_command # what follows a --\n"
          "  set -l words (commandline -opc)\n"
          "  set -l at (contains -i -- -- $words); or return\n"
          "  set -e words[1..$at]\n"
          "  complete -C (string join ' ' -- (string escape -- $words) (commandline -ct))\n"
          "end\n",
          out);
    for (int i = 0; commands[i]; i++)
        fish_command(out, commands[i]);
}
