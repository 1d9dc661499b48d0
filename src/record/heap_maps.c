/*
 * heap_maps.c - records of anonymous maps. A part that is unmapped counts as freed bytes, not as a
 * freed block. Of a sample, which stands for several maps of its size, parts do not count: it is
 * freed when its first part is the last.
 */
#include "record/heap_inner.h"

static void free_area(struct heap *h, const struct heap_ring *ring, const struct heap_area *a)
{
    uint64_t ticks = ring->ticks > a->ticks ? ring->ticks - a->ticks : 0;
    struct heap_free f = {.site = a->site,
                          .size_bytes = a->told_bytes,
                          .lifetime_ns = ticks_length_ns(&h->clock, ticks)};
    if (a->told_bytes)
        heap_tally_free(&h->tally, &f);
}

/* What is left of a cut area counts on, each part as a block. */
static void keep_parts(struct heap *h, struct heap_areas *areas, const struct heap_cut *cut)
{
    for (unsigned i = 0; i < cut->n_left; i++) {
        struct heap_area *a = heap_areas_find(areas, cut->left[i].start);
        a->told_bytes = a->end - a->start;
        heap_tally_unfree(&h->tally, a->site, a->told_bytes);
    }
}

static void heap_unmap(struct heap *h, struct heap_ring *ring, uint64_t start, uint64_t end)
{
    struct heap_areas *areas = &heap_program_of(h, ring)->areas;
    struct heap_cut cut;
    ring->unmapped = (struct heap_area){0};
    while (heap_areas_cut(areas, start, end, &cut)) {
        if (!h->opts.sample_bytes || !cut.n_left)
            free_area(h, ring, &cut.was);
        if (!h->opts.sample_bytes)
            keep_parts(h, areas, &cut);
        h->n_live += cut.n_left;
        h->n_live--;
        ring->unmapped = cut.n_left ? (struct heap_area){0} : cut.was;
    }
}

/* Whether the place makes sense. */
static bool map_place(const struct record *rec, uint64_t *start, uint64_t *end)
{
    *start = rec->payload[1];
    *end = *start + rec->payload[2];
    return *start && *end > *start && *end <= HEAP_POINTER_MASK;
}

static bool has_room(struct heap *h)
{
    bool room = h->n_live < h->opts.blocks_max;
    h->facts.no_room += !room;
    return room;
}

static void add_area(struct heap *h, struct heap_ring *ring, const struct heap_area *a)
{
    heap_areas_add(&heap_program_of(h, ring)->areas, a);
    h->n_live++;
}

void heap_take_map(struct heap *h, struct heap_ring *ring, const struct record *rec)
{
    struct heap_area a = {.ticks = ring->ticks, .site = heap_site_of(h, ring, rec->own)};
    if (!map_place(rec, &a.start, &a.end) || !has_room(h))
        return;
    heap_unmap(h, ring, a.start, a.end);
    a.told_bytes = a.end - a.start;
    add_area(h, ring, &a);
    heap_tally_alloc(&h->tally, a.site, a.told_bytes);
}

void heap_take_unmap(struct heap *h, struct heap_ring *ring, const struct record *rec)
{
    uint64_t start, end;
    if (map_place(rec, &start, &end))
        heap_unmap(h, ring, start, end);
}

void heap_take_remap(struct heap *h, struct heap_ring *ring, const struct record *rec)
{
    struct heap_area was = ring->unmapped;
    if (!was.start)
        return;
    if (rec->own) {
        heap_take_map(h, ring, rec);
        return;
    }
    add_area(h, ring, &was);
    heap_tally_unfree(&h->tally, was.site, was.told_bytes);
    ring->unmapped = (struct heap_area){0};
}
