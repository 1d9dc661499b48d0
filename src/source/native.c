#include "source/native.h"

struct text native_cut_offset(struct text name)
{
    enum { OFFSET_MAX = 20 }; /* looking no further back keeps long lines cheap */
    size_t skip = name.n > OFFSET_MAX ? name.n - OFFSET_MAX : 0;
    const char *plus = name.n ? memrchr(name.at + skip, '+', name.n - skip) : NULL;
    if (!plus || plus == name.at)
        return name;
    struct text digits = {plus + 1, name.n - (size_t)(plus + 1 - name.at)};
    uint64_t distance;
    bool hex = text_starts(digits, "0x");
    if (hex)
        digits.at += 2, digits.n -= 2;
    if (!text_u64(digits, hex ? 16 : 10, &distance))
        return name;
    return (struct text){name.at, (size_t)(plus - name.at)};
}

struct frame_id native_in_kernel(struct profile *p, struct frame_id id)
{
    struct frame f = *profile_frame(p, id);
    if (f.kind == FRAME_KERNEL)
        return id;
    struct line line = f.n_lines ? *profile_lines(p, &f) : (struct line){0};
    struct frame_key key = {f.pc, f.mapping, FRAME_KERNEL, &line, f.n_lines ? 1 : 0};
    return profile_add_frame(p, &key);
}
