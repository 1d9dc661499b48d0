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

int command_fail(const struct err *err)
{
    command_say("%s", err->text);
    return err->code ? err->code : EXIT_ERROR;
}

int command_parse(const struct command *self, void *to, int n, char **args, struct opt_result *ret)
{
    struct err err;
    if (opt_parse(self->opts, to, n, args, ret, &err) != 0) {
        command_say("%s: %s", self->name, err.text);
        return -1;
    }
    if (!ret->help)
        return 0;
    manual_command(stdout, self);
    return 1;
}
