#include "model/heap_areas.h"

void heap_areas_done(struct heap_areas *a)
{
    vec_done(&a->at);
}

/* The first area that ends after ADDRESS. */
static size_t area_after(const struct heap_areas *a, uint64_t address)
{
    size_t from = 0, to = a->at.n;
    while (from < to) {
        size_t half = from + (to - from) / 2;
        if (a->at.at[half].end > address)
            to = half;
        else
            from = half + 1;
    }
    return from;
}

static void area_insert(struct heap_areas *a, size_t i, const struct heap_area *area)
{
    vec_push(&a->at);
    for (size_t k = a->at.n - 1; k > i; k--)
        a->at.at[k] = a->at.at[k - 1];
    a->at.at[i] = *area;
}

static void area_remove(struct heap_areas *a, size_t i)
{
    for (size_t k = i + 1; k < a->at.n; k++)
        a->at.at[k - 1] = a->at.at[k];
    a->at.n--;
}

void heap_areas_add(struct heap_areas *a, const struct heap_area *area)
{
    area_insert(a, area_after(a, area->start), area);
}

bool heap_areas_cut(struct heap_areas *a, uint64_t start, uint64_t end, struct heap_cut *ret)
{
    size_t i = area_after(a, start);
    if (i >= a->at.n || a->at.at[i].start >= end)
        return false;
    *ret = (struct heap_cut){.was = a->at.at[i]};
    const struct heap_area *was = &ret->was;
    uint64_t told = was->told_bytes;
    area_remove(a, i);
    struct heap_area before = *was, after = *was;
    before.end = start;
    after.start = end;
    if (was->start < start)
        ret->left[ret->n_left++] = before;
    if (was->end > end)
        ret->left[ret->n_left++] = after;
    for (unsigned k = 0; k < ret->n_left; k++, told = 0) {
        ret->left[k].told_bytes = told;
        area_insert(a, i + k, &ret->left[k]);
    }
    return true;
}

struct heap_area *heap_areas_find(struct heap_areas *a, uint64_t start)
{
    size_t i = area_after(a, start);
    return i < a->at.n && a->at.at[i].start == start ? &a->at.at[i] : NULL;
}
