/*
 * kelvin.c - our own recordings, also those whose recorder was killed.
 */
#include "source/import.h"
#include "source/sources.h"
#include "wire/recording.h"

static int kelvin_read(struct import *im, struct err *err)
{
    struct profile *p = im->profile;
    struct recording_state state;
    if (recording_read_into(im->in, p, &im->opts.rows, &state, err) != 0)
        return -1;
    if (state.unknown_chunks)
        import_note(im, "parts of the recording skipped, as they need a newer kelvin: %llu",
                    (unsigned long long)state.unknown_chunks);
    if (state.trailing)
        import_note(im, "bytes after the end of the recording were ignored");
    if (state.complete)
        return 0;
    if (im->opts.strict) {
        return err_set_hint(err, EXIT_FAILS, HINT_STRICT, "the recording is %s", state.why);
    }
    if (profile_count_rows(p) == 0)
        return err_set(err, EXIT_INPUT, "the recording is %s; there is no sample before that",
                       state.why);
    meta_set_str(&p->meta, META_CUT, state.why);
    import_note(im, "the recording is %s; everything before that is kept", state.why);
    return 0;
}

static int kelvin_probe(struct text head, bool whole)
{
    (void)whole;
    return chunk_probe(head) ? 100 : 0;
}

const struct source source_kelvin = {
    .name = "kelvin",
    .title = "kelvin recording",
    .probe = kelvin_probe,
    .read = kelvin_read,
};
