#include "record/launch.h"
#include "base/program.h"

#include <errno.h>

int launch_fork(struct subprocess *s, char **argv, const sigset_t *mask, struct err *err)
{
    struct subprocess_opts with = {.argv = argv, .mask = mask, .held = true};
    return subprocess_start(s, &with, err);
}

int launch_go(struct subprocess *s, const char *command, struct err *err)
{
    if (subprocess_go(s, err) != 0) {
        err->code = EXIT_OWN;
        return -1;
    }
    if (!s->errnum)
        return 0;
    program_explain(command, s->errnum, err);
    err->code = s->errnum == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
    return -1;
}
