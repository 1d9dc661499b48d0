#include "model/attrs.h"

void attrs_init(struct attrs *a)
{
    *a = (struct attrs){0};
    *vec_push(&a->nodes) = (struct attr_node){0};
}

void attrs_done(struct attrs *a)
{
    vec_done(&a->nodes);
    idmap_done(&a->map);
}

static uint32_t hash_attr(struct attrs_id parent, const struct attr *a)
{
    uint32_t value = a->is_number ? hash_pair((uint32_t)a->number, (uint32_t)(a->number >> 32))
                                  : hash_pair(a->text.i, 1);
    return hash_pair(hash_pair(parent.i, a->key.i), hash_pair(value, a->unit.i));
}

static bool same_attr(const struct attr *a, const struct attr *b)
{
    if (a->key.i != b->key.i || a->is_number != b->is_number)
        return false;
    return a->is_number ? a->number == b->number && a->unit.i == b->unit.i : a->text.i == b->text.i;
}

struct attrs_id attrs_add(struct attrs *a, struct attrs_id parent, const struct attr *attr)
{
    uint32_t hash = hash_attr(parent, attr);
    for_each_match (&a->map, hash, id) {
        const struct attr_node *n = &a->nodes.at[id];
        if (n->parent.i == parent.i && same_attr(&n->attr, attr))
            return (struct attrs_id){id};
    }
    uint32_t id = (uint32_t)a->nodes.n;
    *vec_push(&a->nodes) = (struct attr_node){parent, *attr};
    idmap_add(&a->map, hash, id);
    return (struct attrs_id){id};
}

const struct attr *attrs_find(const struct attrs *a, struct attrs_id id, struct str_id key)
{
    for (; id.i; id = a->nodes.at[id.i].parent)
        if (a->nodes.at[id.i].attr.key.i == key.i)
            return &a->nodes.at[id.i].attr;
    return NULL;
}
