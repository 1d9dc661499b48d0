#include "cmd/command.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "cmd/manual.h"

#include <stdarg.h>

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
        [HINT_SAVE_BASELINE] = "; 'kelvin bench --save NAME' saves one",
        [HINT_FORMAT] = "; see 'kelvin help formats', or name it with --from",
        [HINT_STRICT] = " (--strict)",
        [HINT_FORCE] = "; --force shows the code it has now",
        [HINT_TIMER] = ", or use --engine timer",
        [HINT_LOCKS_ALONE] = ". Without it --locks still records waits for locks",
        [HINT_CPU_CLOCK] = ": use -e cpu-clock",
        [HINT_RECORD_HEAP] = ": record with 'kelvin record --heap -- COMMAND'",
        [HINT_RECORD_LOCKS] = ": record them with 'kelvin record --locks -- COMMAND'",
        [HINT_SCOPES] = "; a part of them is selected together with --event scopes",
    };
    return hints[hint];
}

int command_fail(const struct err *err)
{
    if (err->code != EXIT_NOBODY_READS)
        command_say("%s%s", err->text, command_hint(err->hint));
    return err->code ? err->code : EXIT_ERROR;
}

/* Options of perf that are needless here, or called something else. */
static const struct {
    const char *command, *option, *hint;
} perf_options[] = {
    {"record", "-g", "-g is not needed: whole call stacks are always recorded"},
    {"record", "--call-graph",
     "--call-graph is not needed: whole call stacks are always recorded, "
     "without frame pointers too"},
    {"record", "--all-cpus", "--all-cpus is called -a here, and -d SECONDS ends the recording"},
    {"record", "-c", "-c is not there: -F HZ sets how often to sample"},
    {"record", "-t",
     "-t is not there: -p PID samples all threads of a process; 'kelvin report "
     "--thread ID' shows one"},
    {"report", "-i", "-i is not needed: 'kelvin report FILE'"},
    {"report", "--stdio", "--stdio is not needed: text is printed anyway"},
    {"report", "-g", "-g is not needed: hot paths are always shown"},
    {"report", "--sort", "--sort is not there: --by function, module, thread or line"},
    {"report", "-s", "-s is not there: --by function, module, thread or line"},
    {"report", "--no-children", "--no-children is not needed: self time has a table of its own"},
    {"annotate", "-i", "-i is not needed: 'kelvin annotate FILE FUNCTION'"},
};

/* What to say to somebody who knows perf, if the first unknown option is one of perf's. */
static const char *find_hint(const struct command *self, int n, char **args)
{
    for (int i = 0; i < n && strcmp(args[i], "--") != 0; i++) {
        size_t word = strcspn(args[i], "=");
        if (opt_is_known(self->opts, args[i]))
            continue;
        for (size_t k = 0; k < sizeof perf_options / sizeof *perf_options; k++)
            if (strcmp(perf_options[k].command, self->name) == 0 &&
                strlen(perf_options[k].option) == word &&
                strncmp(perf_options[k].option, args[i], word) == 0)
                return perf_options[k].hint;
    }
    return NULL;
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
        return 0;
    manual_command(stdout, self);
    return 1;
}
