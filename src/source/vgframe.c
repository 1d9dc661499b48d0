#include "source/vgframe.h"

/* The last "(...)" of T, without its brackets; T keeps what stands before. */
static bool cut_place(struct text *t, struct text *ret)
{
    const char *open = text_ends(*t, ")") ? memrchr(t->at, '(', t->n) : NULL;
    if (!open || open == t->at || open[-1] != ' ')
        return false;
    *ret = (struct text){open + 1, (size_t)(t->at + t->n - open) - 2};
    t->n = (size_t)(open - t->at) - 1;
    return true;
}

/* Cut ":NUMBER" off the end of T. */
static bool cut_last_number(struct text *t, uint64_t *ret)
{
    const char *colon = t->n ? memrchr(t->at, ':', t->n) : NULL;
    if (!colon || !text_u64((struct text){colon + 1, (size_t)(t->at + t->n - colon) - 1}, 10, ret))
        return false;
    t->n = (size_t)(colon - t->at);
    return true;
}

/* "FILE:LINE" or "FILE:LINE:COLUMN". */
static bool parse_source_line(struct text place, struct text *ret_file, uint32_t *ret_line)
{
    uint64_t line, outer;
    if (!cut_last_number(&place, &line))
        return false;
    if (cut_last_number(&place, &outer))
        line = outer;
    *ret_file = place;
    *ret_line = line <= UINT32_MAX ? (uint32_t)line : 0;
    return true;
}

static void cut_address(struct text *t)
{
    struct text rest = *t, address = text_cut(&rest, ':');
    uint64_t pc;
    if (text_starts(address, "0x") &&
        text_u64((struct text){address.at + 2, address.n - 2}, 16, &pc))
        *t = text_trim(rest);
}

struct frame_id vgframe_add(struct import *im, struct text t)
{
    struct profile *p = im->profile;
    struct mapping m = {0};
    struct function f = {0};
    struct line line = {0};
    struct text place, file;
    t = text_trim(t);
    cut_address(&t);
    struct text whole = t;
    if (cut_place(&t, &place)) {
        if (text_starts(place, "in "))
            m.path = profile_add_str(p, (struct text){place.at + 3, place.n - 3});
        else if (parse_source_line(place, &file, &line.line))
            f.file = profile_add_str(p, file);
        else
            t = whole; /* part of a C++ name */
    }
    f.name = profile_add_str(p, t);
    line.function = profile_add_function(p, &f);
    struct frame_key key = {.lines = &line, .n_lines = !text_is(t, "???")};
    if (m.path.i)
        key.mapping = profile_add_mapping(p, &m);
    return profile_add_frame(p, &key);
}

bool vgframe_is_own(struct text t)
{
    return memmem(t.at, t.n, "/vgpreload_", strlen("/vgpreload_")) != NULL;
}
