#include "record/engine.h"

const struct engine *const engines[] = {&engine_perf, &engine_timer, &engine_none, NULL};

static int pick_named(const struct engine_opts *o, const struct engine **ret, struct err *err)
{
    for (int i = 0; engines[i]; i++) {
        if (strcmp(engines[i]->name, o->engine) != 0)
            continue;
        *ret = engines[i];
        return engines[i]->probe(o, err);
    }
    return err_set(err, EXIT_ERROR, "no engine '%s'", o->engine);
}

int engine_pick(const struct engine_opts *o, const struct engine **ret, char *note,
                size_t note_bytes, struct err *err)
{
    struct err first = {0};
    *note = '\0';
    if (strcmp(o->engine, "auto") != 0)
        return pick_named(o, ret, err);
    for (int i = 0; engines[i]; i++) {
        struct err why;
        if (engines[i]->by_name)
            continue;
        if (engines[i]->probe(o, &why) == 0) {
            if (i)
                snprintf(note, note_bytes, "%s", first.text);
            *ret = engines[i];
            return 0;
        }
        if (!i)
            first = why;
    }
    *err = first;
    return -1;
}
