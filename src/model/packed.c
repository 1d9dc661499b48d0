#include "model/packed.h"

const struct packed_file *packed_find(const struct profile *p, struct text path)
{
    for (size_t i = 0; i < p->packed.n; i++) {
        struct text other = profile_str(p, p->packed.at[i].path);
        if (other.n == path.n && memcmp(other.at, path.at, path.n) == 0)
            return &p->packed.at[i];
    }
    return NULL;
}

static bool packed_fits(const struct profile *p, size_t bytes)
{
    size_t all = bytes;
    for (size_t i = 0; i < p->packed.n; i++)
        all += p->packed.at[i].text.n;
    return bytes <= PACKED_MAX_BYTES && all <= PACKED_MAX_ALL && p->packed.n < PACKED_MAX_FILES;
}

bool packed_add(struct profile *p, struct text path, struct text text, bool newer)
{
    if (!packed_fits(p, text.n) || !path.n || packed_find(p, path))
        return false;
    struct packed_file file = {.path = profile_add_str(p, path), .newer = newer};
    file.text = (struct text){mem_strndup(text.n ? text.at : "", text.n), text.n};
    *vec_push(&p->packed) = file;
    return true;
}

void packed_append(struct profile *to, const struct profile *from)
{
    for (size_t i = 0; i < from->packed.n; i++)
        packed_add(to, profile_str(from, from->packed.at[i].path), from->packed.at[i].text,
                   from->packed.at[i].newer);
}

void packed_forget(struct profile *p)
{
    for (size_t i = 0; i < p->packed.n; i++)
        free((char *)(uintptr_t)p->packed.at[i].text.at);
    vec_done(&p->packed);
}
