#include "cmd/story.h"

int story_open(const struct command *self, const struct story_opts *o, int n, char **args,
               struct opt_result *ret_operands, struct input *ret)
{
    int rc = command_parse(self, o->all, n, args, ret_operands);
    if (rc != 0)
        return rc < 0 ? EXIT_ERROR : EXIT_OK;
    rc = input_load(ret, ret_operands, o->input, &o->want);
    if (rc != EXIT_OK)
        return rc;
    if (strcmp(output_format(o->output), "text") != 0)
        input_make_public(ret, o->input);
    return -1;
}

int story_close(struct input *in, int rc, const struct err *err)
{
    input_done(in);
    return rc == 0 ? EXIT_OK : command_fail(err);
}
