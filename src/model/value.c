#include "model/value.h"

enum dimension dimension_of_unit(struct text unit)
{
    static const struct {
        const char *unit;
        enum dimension dimension;
    } known[] = {
        {"", DIM_COUNT},         {UNIT_COUNT, DIM_COUNT}, {UNIT_TIME, DIM_TIME},
        {UNIT_BYTES, DIM_BYTES}, {"objects", DIM_COUNT},  {"samples", DIM_COUNT},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (text_is(unit, known[i].unit))
            return known[i].dimension;
    return DIM_OTHER;
}

const char *dimension_unit(enum dimension d)
{
    static const char *const units[DIMENSIONS] = {[DIM_COUNT] = UNIT_COUNT,
                                                  [DIM_TIME] = UNIT_TIME,
                                                  [DIM_BYTES] = UNIT_BYTES,
                                                  [DIM_OTHER] = ""};
    return units[d];
}

/* What Go, gperftools, jemalloc and their readers call memory that is held. */
static bool is_level(struct text name)
{
    static const char *const levels[] = {"inuse_objects", "inuse_space", "leaked",
                                         "peak",          "peak_blocks", "leaked_blocks",
                                         "live",          "retained",    NULL};
    for (const char *const *l = levels; *l; l++)
        if (text_is(name, *l))
            return true;
    return false;
}

enum value_role value_role_of(struct text name, enum dimension d)
{
    if (d == DIM_COUNT && (text_is(name, VALUE_SAMPLES) || text_is(name, "sample")))
        return ROLE_SAMPLES;
    return is_level(name) ? ROLE_LEVEL : ROLE_FLOW;
}
