/*
 * kelvin.c - a whole profile as a recording, so that nothing of it is lost.
 */
#include "view/export/export.h"
#include "wire/recording.h"

static int kelvin_write(FILE *out, const struct selection *s, const struct export_opts *opts,
                        struct err *err)
{
    (void)opts; /* it holds everything */
    return recording_write(out, s->profile, false, err);
}

const struct exporter exporter_kelvin = {
    .name = "kelvin",
    .title = "kelvin recording, everything in it",
    .suffix = ".kelvin",
    .for_viewers = true,
    .write = kelvin_write,
};
