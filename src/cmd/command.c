#include "cmd/command.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "cmd/manual.h"

#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

void command_say(const char *fmt, ...)
{
    va_list ap;
    char *text;
    va_start(ap, fmt);
    if (vasprintf(&text, fmt, ap) >= 0) {
        fputs("kelvin: ", stderr);
        utf8_print(stderr, text); /* it may quote anything */
        putc('\n', stderr);
        free(text);
    }
    va_end(ap);
}

const char *command_hint(enum err_hint hint)
{
    static const char *const hints[ERR_HINTS] = {
        [HINT_NONE] = "",
        [HINT_OTHER_STORE] = "; name another file with --store",
        [HINT_TRUST_CONF] = "; if you trust it, name it with --conf",
        [HINT_SAVE_BASELINE] = "; 'kelvin bench --save NAME COMMAND' saves one",
        [HINT_FORMAT] = "; see 'kelvin help formats', or name the format with --from",
        [HINT_STRICT] = " (--strict)",
        [HINT_FORCE] = "; --force shows the code it has now",
        [HINT_TIMER] = ", or use --engine timer",
        [HINT_LOCKS_ALONE] = ". Without it --locks still records waits for locks",
        [HINT_CPU_CLOCK] = (": use -e cpu-clock; 'kelvin bench --count instructions,cache-misses "
                            "COMMAND' simulates counts"),
        [HINT_RECORD_HEAP] = ": record with 'kelvin record --heap -- COMMAND'",
        [HINT_INUSE] = ": see it with 'kelvin report FILE --value inuse_space'",
        [HINT_RECORD_LOCKS] = ": record them with 'kelvin record --locks -- COMMAND'",
        [HINT_SCOPES] = "; to select a part of them, add --event scopes",
        [HINT_EXPLAIN] = "; 'kelvin run --explain' lists them",
    };
    return hints[hint];
}

int command_fail(const struct err *err)
{
    if (err->code != EXIT_NOBODY_READS)
        command_say("%s%s", err->text, command_hint(err->hint));
    return err->code ? err->code : EXIT_ERROR;
}

/* Options of perf, or of other commands, that are needless here or called something else. */
static const struct {
    const char *command, *option, *hint; /* of every command with --format json: NULL */
} perf_options[] = {
    {"record", "-g", "-g is not needed: whole call stacks are always recorded"},
    {"record", "--call-graph",
     "--call-graph is not needed: whole call stacks are always recorded, "
     "without frame pointers too"},
    {"record", "--all-cpus", "--all-cpus is called -a here, and -d SECONDS ends the recording"},
    {"record", "-c", "there is no -c: -F HZ sets how often to sample"},
    {"record", "-t",
     "there is no -t: -p PID samples all threads of a process; 'kelvin report "
     "--thread ID' shows one"},
    {"report", "-i", "-i is not needed: 'kelvin report FILE'"},
    {"report", "--stdio", "--stdio is not needed: text is printed anyway"},
    {"report", "-g", "-g is not needed: hot paths (call stacks) are always shown"},
    {"report", "--sort", "there is no --sort: --by function, module, thread or line"},
    {"report", "-s", "there is no -s: --by function, module, thread or line"},
    {"report", "--no-children",
     "--no-children is not needed: the table of functions is sorted by self time"},
    {"doctor", "--format", "there is no --format: --json prints JSON"},
    {"info", "--format", "there is no --format: --json prints JSON"},
    {NULL, "--json", "there is no --json: --format json, or -o FILE.json"},
    {"annotate", "-i", "-i is not needed: 'kelvin annotate FILE FUNCTION'"},
};

static bool writes_json(const struct command *self)
{
    for (const struct opt *o = self->opts; o && o->name; o++)
        if (strcmp(o->name, "format") == 0)
            return o->choices && strstr(o->choices, "json");
    return false;
}

/* What to say to somebody who knows perf, if the first unknown option is one of perf's. */
static const char *find_hint(const struct command *self, int n, char **args)
{
    for (int i = 0; i < n && strcmp(args[i], "--") != 0; i++) {
        size_t word = strcspn(args[i], "=");
        if (opt_is_known(self->opts, args[i]))
            continue;
        for (size_t k = 0; k < sizeof perf_options / sizeof *perf_options; k++)
            if ((perf_options[k].command ? strcmp(perf_options[k].command, self->name) == 0
                                         : writes_json(self)) &&
                strlen(perf_options[k].option) == word &&
                strncmp(perf_options[k].option, args[i], word) == 0)
                return perf_options[k].hint;
    }
    return NULL;
}

/* The word given for the option NAME; NULL = the command has none, or it was not given. */
static const char *word_of(const struct command *self, const char *name, const void *to)
{
    for (const struct opt *o = self->opts; o && o->name; o++)
        if ((o->kind == OPT_TEXT || o->kind == OPT_CHOICE) && strcmp(o->name, name) == 0)
            return *(const char *const *)((const char *)to + o->offset);
    return NULL;
}

/* The operand that is the file PATH, under whichever name; NULL = none is. */
static const char *operand_that_is(const char *path, const struct opt_result *operands)
{
    struct stat out, in;
    if (stat(path, &out) != 0 || !S_ISREG(out.st_mode))
        return NULL;
    for (int i = 0; i < operands->n_operands; i++)
        if (stat(operands->operands[i], &in) == 0 && in.st_dev == out.st_dev &&
            in.st_ino == out.st_ino)
            return operands->operands[i];
    return NULL;
}

/* A recording cannot be made again: no command writes over what it reads. */
static int refuse_to_replace_input(const struct command *self, const void *to,
                                   const struct opt_result *operands)
{
    const char *output = word_of(self, "output", to);
    const char *input = output ? operand_that_is(output, operands) : NULL;
    if (!input)
        return 0;
    command_say("%s: -o would replace '%s', which is the input: name another file", self->name,
                input);
    return -1;
}

/* A page or drawing is not for reading as it comes. */
static int refuse_page_on_terminal(const struct command *self, const void *to)
{
    const char *output = word_of(self, "output", to), *format = word_of(self, "format", to);
    bool is_page = format && (strcmp(format, "html") == 0 || strcmp(format, "svg") == 0);
    if (!is_page || !output || strcmp(output, "-") != 0 || !isatty(STDOUT_FILENO))
        return 0;
    command_say("%s: %s is not for a terminal: give a file, -o out.%s, or a pipe", self->name,
                *format == 'h' ? "a page" : "an SVG", format);
    return -1;
}

int command_parse(const struct command *self, void *to, int n, char **args, struct opt_result *ret)
{
    struct err err;
    if (opt_parse(self->opts, to, n, args, ret, &err) != 0) {
        const char *hint = find_hint(self, n, args);
        command_say("%s: %s", self->name, hint ? hint : err.text);
        return -1;
    }
    if (!ret->help)
        return refuse_page_on_terminal(self, to) != 0 ? -1 : refuse_to_replace_input(self, to, ret);
    manual_command(stdout, self);
    return 1;
}
