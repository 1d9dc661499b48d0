#include "cmd/manual.h"
#include "base/buf.h"
#include "record/launch.h"
#include "source/import.h"
#include "suite/conf.h"
#include "view/export/export.h"

static const char tagline[] = "where the time and memory of a native program go, and whether the "
                              "numbers can be trusted";

static const char start_here[] =
    "kelvin record -- ./app       # sample a program; writes app.kelvin\n"
    "kelvin report app.kelvin     # where its time goes, and what to try\n"
    "kelvin bench ./old ./new     # which one is faster?\n"
    "kelvin doctor                # what this machine allows";

static const struct {
    int code;
    const char *means;
} exit_codes[] = {
    {EXIT_OK, "all went well"},
    {EXIT_ERROR, "wrong usage, a name that the profile does not have, or a file error"},
    {EXIT_FAILS, "a check failed, or --strict met a flaw in the input"},
    {EXIT_INCONCLUSIVE, "not enough data for a verdict"},
    {EXIT_INPUT, "the input is not a profile, is damaged, or lacks the data asked for"},
    {EXIT_OWN, "'record' itself failed; else its exit code is that of the command"},
    {EXIT_CANNOT_RUN, "the command to record cannot be run"},
    {EXIT_NOT_FOUND, "the command to record was not found"},
    {EXIT_STOPPED, "interrupted by Ctrl-C"},
    {EXIT_NOBODY_READS, "the reader of the output went away"},
};

enum { N_EXIT_CODES = sizeof exit_codes / sizeof exit_codes[0], HELP_WIDTH = 80, HELP_COLUMN = 26 };

/* --- text for the terminal --- */

/* Print TEXT wrapped at HELP_WIDTH; lines after the first start at column INDENT. A line that
 * begins with a blank stays as it is. */
static void wrap(FILE *out, const char *text, int indent, int column)
{
    while (*text) {
        if (*text == '\n') {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
            text++;
            continue;
        }
        int n = (int)strcspn(text, column == indent && *text == ' ' ? "\n" : " \n");
        if (column > indent && column + 1 + n > HELP_WIDTH) {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
        } else if (column > indent) {
            putc(' ', out);
            column++;
        }
        fprintf(out, "%.*s", n, text);
        column += n;
        text += n;
        text += *text == ' ';
    }
    putc('\n', out);
}

/* "-o, --output FILE", "--heap[=sampled]" */
static void option_head(struct buf *b, const struct opt *o)
{
    if (o->letter)
        buf_printf(b, "-%c, ", o->letter);
    buf_printf(b, "--%s", o->name);
    if (o->arg)
        buf_printf(b, o->kind == OPT_OPTIONAL ? "[=%s]" : " %s", o->arg);
}

/* Whether HELP names every word of CHOICES. */
static bool names_choices(const char *help, const char *choices)
{
    struct text rest = text_of(choices);
    while (rest.n) {
        struct text word = text_cut(&rest, ' ');
        if (!memmem(help, strlen(help), word.at, word.n))
            return false;
    }
    return true;
}

/* What the option does, and its choices where the words do not name them. Free it. */
static char *option_help(const struct opt *o)
{
    if (!o->choices || names_choices(o->help, o->choices))
        return mem_strdup(o->help);
    return mem_printf("%s: %s", o->help, o->choices);
}

static void print_option(FILE *out, const struct opt *o)
{
    autobuf struct buf head = {0};
    buf_str(&head, "  ");
    option_head(&head, o);
    if (head.n > HELP_COLUMN - 2)
        fprintf(out, "%s\n%*s", buf_cstr(&head), HELP_COLUMN, "");
    else
        fprintf(out, "%-*s", HELP_COLUMN, buf_cstr(&head));
    autofree char *text = option_help(o);
    wrap(out, text, HELP_COLUMN, HELP_COLUMN);
}

/* Every command has it, in no table. */
static const struct opt help_option = {'h', "help", .help = "show this text"};

/* Each line of TEXT, indented. */
static void print_indented(FILE *out, const char *text)
{
    struct text rest = text_of(text);
    while (rest.n) {
        struct text line = text_cut(&rest, '\n');
        fprintf(out, "  %.*s\n", TEXT_ARG(line));
    }
}

void manual_command(FILE *out, const struct command *c)
{
    fprintf(out, "kelvin %s - %s\n\n", c->name, c->summary);
    autofree char *usage =
        mem_printf("kelvin %s [OPTION...]%s%s", c->name, *c->operands ? " " : "", c->operands);
    fputs("Usage: ", out);
    wrap(out, usage, 7, 7);
    fputc('\n', out);
    wrap(out, c->about, 0, 0);
    fprintf(out, "\nOptions:\n");
    for (const struct opt *o = c->opts; o->name; o++)
        print_option(out, o);
    print_option(out, &help_option);
    fprintf(out, "\nExamples:\n");
    print_indented(out, c->examples);
}

void manual_overview(FILE *out)
{
    fprintf(out, "kelvin %s - %s\n\n", KELVIN_VERSION, tagline);
    fprintf(out, "Start here:\n");
    print_indented(out, start_here);
    fprintf(out, "\nUsage: kelvin COMMAND [OPTION...] [OPERAND...]\n\nCommands:\n");
    for (int i = 0; commands[i]; i++)
        fprintf(out, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
    fprintf(out, "\nExit codes:\n");
    for (int i = 0; i < N_EXIT_CODES; i++)
        fprintf(out, "  %-10d %s\n", exit_codes[i].code, exit_codes[i].means);
    fprintf(out, "\n"
                 "'kelvin help COMMAND' or 'kelvin COMMAND --help' shows more.\n"
                 "'kelvin help formats' lists the formats that kelvin reads and writes,\n"
                 "'kelvin help suite' the keys of kelvin.conf.\n");
}

void manual_formats(FILE *out)
{
    fprintf(out, "Read (recognised by content; '-' is standard input; may be UTF-16, or\npacked "
                 "with gzip, zstd, xz or bzip2):\n");
    for (int i = 0; import_sources[i]; i++)
        fprintf(out, "  %-13s %s\n", import_sources[i]->name, import_sources[i]->title);
    fprintf(out, "\nWritten by 'kelvin convert --to FORMAT':\n");
    for (int i = 0; export_formats[i]; i++)
        fprintf(out, "  %-13s %s (%s)\n", export_formats[i]->name, export_formats[i]->title,
                export_formats[i]->suffix);
}

/* "build.env", "workload.NAME.runs". */
static void print_key(FILE *out, const struct conf_key *k)
{
    enum { KEY_INDENT = 6 };
    fprintf(out, "  %s.%s%s\n", k->section, conf_section_has_name(k->section) ? "NAME." : "",
            k->key);
    autobuf struct buf text = {0};
    buf_str(&text, k->help);
    if (k->choices)
        buf_printf(&text, ": %s", k->choices);
    if (*k->fallback)
        buf_printf(&text, " (default: %s)", k->fallback);
    fprintf(out, "%*s", KEY_INDENT, "");
    wrap(out, buf_cstr(&text), KEY_INDENT, KEY_INDENT);
}

void manual_suite(FILE *out)
{
    fprintf(out,
            "The keys of kelvin.conf, as --set takes them. In the file the part before the\n"
            "last dot is the section: [build], [workload NAME]. doc/suite.md has an example.\n\n");
    for (const struct conf_key *k = conf_keys; k->section; k++)
        print_key(out, k);
}

/* --- roff --- */

/* Lines that begin with a blank stay as they are. */
static void roff(FILE *out, const char *text)
{
    bool line_start = true, as_is = false;
    for (; *text; text++) {
        if (line_start && *text != '\n' && as_is != (*text == ' ')) {
            as_is = !as_is;
            fputs(as_is ? ".nf\n" : ".fi\n", out);
        }
        if (line_start && (*text == '.' || *text == '\''))
            fputs("\\&", out);
        if (*text == '-' || *text == '\\')
            fputs(*text == '-' ? "\\-" : "\\e", out);
        else if (*text == '\n' && text[1] == '\n')
            fputs("\n.PP", out);
        else
            putc(*text, out);
        line_start = *text == '\n';
    }
    putc('\n', out);
}

static void man_head(FILE *out, const char *name, const char *summary)
{
    fprintf(out, ".TH %s 1 \"\" \"kelvin %s\" \"User Commands\"\n.nh\n.ad l\n.SH NAME\n", name,
            KELVIN_VERSION);
    fprintf(out, "%s \\- ", name);
    roff(out, summary);
}

static void man_exit_codes(FILE *out)
{
    fprintf(out, ".SH EXIT STATUS\n");
    for (int i = 0; i < N_EXIT_CODES; i++) {
        fprintf(out, ".TP\n.B %d\n", exit_codes[i].code);
        roff(out, exit_codes[i].means);
    }
}

static void man_option(FILE *out, const struct opt *o)
{
    autobuf struct buf head = {0};
    option_head(&head, o);
    fprintf(out, ".TP\n.B ");
    roff(out, buf_cstr(&head));
    autofree char *text = option_help(o);
    roff(out, text);
}

void manual_man_command(FILE *out, const struct command *c)
{
    autofree char *name = mem_printf("kelvin-%s", c->name);
    man_head(out, name, c->summary);
    fprintf(out, ".SH SYNOPSIS\n.B kelvin %s\n[\\fIOPTION\\fR...] %s\n", c->name, c->operands);
    fprintf(out, ".SH DESCRIPTION\n");
    roff(out, c->about);
    fprintf(out, ".SH OPTIONS\n");
    for (const struct opt *o = c->opts; o->name; o++)
        man_option(out, o);
    man_option(out, &help_option);
    fprintf(out, ".SH EXAMPLES\n.nf\n");
    roff(out, c->examples);
    fprintf(out, ".fi\n");
    man_exit_codes(out);
    fprintf(out, ".SH SEE ALSO\n.BR kelvin (1)\n");
}

void manual_man_overview(FILE *out)
{
    man_head(out, "kelvin", tagline);
    fprintf(out, ".SH SYNOPSIS\n.B kelvin\n\\fICOMMAND\\fR [\\fIOPTION\\fR...] "
                 "[\\fIOPERAND\\fR...]\n.SH COMMANDS\n");
    for (int i = 0; commands[i]; i++) {
        fprintf(out, ".TP\n.BR kelvin\\-%s (1)\n", commands[i]->name);
        roff(out, commands[i]->summary);
    }
    fprintf(out, ".SH FORMATS\n.nf\n");
    char *text = NULL;
    size_t n = 0;
    FILE *formats = open_memstream(&text, &n);
    manual_formats(formats);
    fclose(formats);
    roff(out, text);
    free(text);
    fprintf(out, ".fi\n");
    man_exit_codes(out);
}
