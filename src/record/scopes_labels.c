/*
 * scopes_labels.c - which scopes a path stands for, for the recorder of the heap: its agent reports
 * numbers of paths, and may do so when the thread is over.
 */
#include "record/scopes_inner.h"

static uint32_t place_hash(const struct scopes_place *at)
{
    return hash_pair(hash_pair((uint32_t)at->pid, (uint32_t)at->tid), at->path);
}

/* + 1; 0 = none */
static uint32_t place_find(const struct scopes *s, const struct scopes_place *at)
{
    for_each_match (&s->places, place_hash(at), i) {
        const struct scopes_place *is = &s->kept.at[i].place;
        if (is->pid == at->pid && is->tid == at->tid && is->path == at->path)
            return i + 1;
    }
    return 0;
}

/* Functions (HAS_NAME false) have no names yet: they are in what is around them. */
void scopes_keep(struct scopes *s, const struct scopes_place *place, const struct scopes_path *path,
                 uint32_t parent, bool has_name)
{
    struct profile *p = s->opts.profile;
    struct scopes_place above = {place->pid, place->tid, parent};
    struct attr a = {.text = path->name};
    if (!s->opts.heap)
        return;
    a.key = profile_add_str(p, text_of(SCOPE_KEY));
    uint32_t around = place_find(s, &above), known = place_find(s, place);
    struct scopes_kept new = {*place,
                              around ? s->kept.at[around - 1].labels : (struct attrs_id){0}};
    if (has_name)
        new.labels = attrs_add(&p->attrs, new.labels, &a);
    if (known) { /* of a thread that is gone: numbers of threads are used again */
        s->kept.at[known - 1] = new;
        return;
    }
    *vec_push(&s->kept) = new;
    idmap_add(&s->places, place_hash(place), (uint32_t)s->kept.n - 1);
}

struct attrs_id scopes_labels(struct scopes *s, const struct scopes_place *place)
{
    uint32_t known = place_find(s, place);
    if (!known) {
        scopes_poll(s);
        known = place_find(s, place);
    }
    return known ? s->kept.at[known - 1].labels : (struct attrs_id){0};
}
