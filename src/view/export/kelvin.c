/*
 * kelvin.c - a whole profile as a recording, so that nothing of it is lost.
 */
#include "view/export/export.h"
#include "wire/recording.h"

static int kelvin_write(FILE *out, const struct selection *s, const struct export_opts *opts,
                        struct err *err)
{
    struct recording_writer w;
    struct recording_mark mark = {0};
    const struct profile *p = s->profile;
    (void)opts; /* it holds everything */
    int rc = recording_writer_init(&w, out, err);
    if (rc == 0)
        rc = recording_append(&w, p, &mark, err);
    if (rc == 0)
        rc = recording_end(&w, p, err);
    recording_mark_done(&mark);
    recording_writer_done(&w);
    return rc;
}

const struct exporter exporter_kelvin = {
    .name = "kelvin",
    .title = "kelvin recording, everything in it",
    .suffix = ".kelvin",
    .binary = true,
    .write = kelvin_write,
};
