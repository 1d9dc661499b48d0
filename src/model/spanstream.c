#include "model/spanstream.h"

static const char blocks_name[] = "allocations", bytes_name[] = "allocated";

void spanstream_add_blocks(struct profile *p, int stream)
{
    profile_add_value(p, stream, blocks_name, UNIT_COUNT);
    profile_add_value(p, stream, bytes_name, UNIT_BYTES);
}

bool spanstream_find_blocks(const struct profile *p, const struct stream *s,
                            struct span_blocks_columns *ret)
{
    *ret = (struct span_blocks_columns){-1, -1};
    for (int i = 0; i < s->n_types; i++) {
        struct text name = profile_str(p, s->types[i].name);
        if (text_is(name, blocks_name))
            ret->blocks = i;
        else if (text_is(name, bytes_name))
            ret->bytes = i;
    }
    return ret->blocks >= 0 && ret->bytes >= 0;
}
