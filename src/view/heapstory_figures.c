#include "base/units.h"
#include "view/heapstory_inner.h"

const struct heapfigure_kind heapfigures[HEAPFIGURES] = {
    [HEAP_PEAK_SHARE] = {"share", "peak_share", NULL, HEAP_PART_OF_ALL, STORY_PEAK},
    [HEAP_PEAK] = {"bytes", NULL, UNIT_BYTES, HEAP_AS_IT_IS, STORY_PEAK},
    [HEAP_LEAKED_SHARE] = {"share", "leaked_share", NULL, HEAP_PART_OF_ALL, STORY_LEAKED},
    [HEAP_LEAKED] = {"bytes", NULL, UNIT_BYTES, HEAP_AS_IT_IS, STORY_LEAKED},
    [HEAP_LEAKED_BLOCKS] = {"blocks", NULL, UNIT_COUNT, HEAP_AS_IT_IS, STORY_LEAKED_BLOCKS},
    [HEAP_LEAKED_SAMPLES] = {"samples", NULL, UNIT_COUNT, HEAP_AS_IT_IS, STORY_LEAKED_SAMPLES},
    [HEAP_PEAK_SAMPLES] = {"samples", NULL, UNIT_COUNT, HEAP_AS_IT_IS, STORY_PEAK_SAMPLES},
    [HEAP_SAMPLES] = {"samples", NULL, UNIT_COUNT, HEAP_AS_IT_IS, STORY_SAMPLES},
    [HEAP_GROWTH] = {"growth", "growth", UNIT_BYTES, HEAP_OVER_TIME, STORY_FREED},
    [HEAP_LIVE_HALF] = {"at half time", "live_at_half_time", UNIT_BYTES, HEAP_OVER_TIME,
                        STORY_FREED},
    [HEAP_LIVE_END] = {"near the end", "live_near_the_end", UNIT_BYTES, HEAP_OVER_TIME,
                       STORY_FREED},
    [HEAP_ALLOCATIONS_SHARE] = {"share", "allocations_share", NULL, HEAP_PART_OF_ALL,
                                STORY_ALLOCATIONS},
    [HEAP_ALLOCATIONS] = {"allocations", NULL, UNIT_COUNT, HEAP_AS_IT_IS, STORY_ALLOCATIONS},
    [HEAP_BLOCKS] = {"blocks", NULL, UNIT_COUNT, HEAP_AS_IT_IS, STORY_ALLOCATIONS},
    [HEAP_ALLOCATED_SHARE] = {"share", "allocated_share", NULL, HEAP_PART_OF_ALL, STORY_ALLOCATED},
    [HEAP_ALLOCATED] = {"bytes", NULL, UNIT_BYTES, HEAP_AS_IT_IS, STORY_ALLOCATED},
    [HEAP_MEAN] = {"mean", "mean_bytes", UNIT_BYTES, HEAP_PER_ALLOCATION, STORY_ALLOCATED},
    [HEAP_TEMPORARY_SHARE] = {"temporary", "temporary_share", NULL, HEAP_PART_OF_ITS_OWN,
                              STORY_TEMPORARY},
    [HEAP_RANGE_GROWTH] = {"growth", "range_growth", UNIT_BYTES, HEAP_IN_RANGE, STORY_FREED},
    [HEAP_RANGE_START] = {"at its start", "live_at_range_start", UNIT_BYTES, HEAP_IN_RANGE,
                          STORY_FREED},
    [HEAP_RANGE_END] = {"at its end", "live_at_range_end", UNIT_BYTES, HEAP_IN_RANGE, STORY_FREED},
};

bool heapfigure_is_known(const struct heapstory *s, enum heapfigure figure)
{
    const struct heapfigure_kind *k = &heapfigures[figure];
    return s->has[k->value] && (k->from != HEAP_OVER_TIME || s->timed) &&
           (k->from != HEAP_IN_RANGE || s->range);
}

/* Figures that are numbers of blocks or made of them. */
static bool is_count_known(const struct heapstory *s, const struct heapstory_place *p,
                           const struct heapfigure_kind *k)
{
    bool allocations = k->value == STORY_ALLOCATIONS || k->from == HEAP_PER_ALLOCATION ||
                       k->from == HEAP_PART_OF_ITS_OWN;
    if (!allocations && k->value != STORY_LEAKED_BLOCKS)
        return true;
    enum heapstory_count count = allocations ? STORY_COUNT_ALLOCATIONS : STORY_COUNT_LEAKED;
    return heapstory_counts_well(s, p, count) &&
           (k->from != HEAP_PART_OF_ALL || heapstory_counts_well(s, NULL, count));
}

bool heapfigure_is_known_of(const struct heapstory *s, const struct heapstory_place *p,
                            enum heapfigure figure)
{
    return heapfigure_is_known(s, figure) && is_count_known(s, p, &heapfigures[figure]);
}

double heapstory_part(int64_t part, int64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : 0;
}

static int64_t live_figure(const struct heapstory_place *p, enum heapfigure figure)
{
    return figure == HEAP_GROWTH      ? heapstory_growth(p)
           : figure == HEAP_LIVE_HALF ? p->live[STORY_TIMES / 2 - 1]
                                      : p->live[STORY_TIMES - 2];
}

static int64_t range_figure(const struct heapstory_place *p, enum heapfigure figure)
{
    return figure == HEAP_RANGE_START ? p->held_from
           : figure == HEAP_RANGE_END ? p->held_to
                                      : p->held_to - p->held_from;
}

double heapfigure_get(const struct heapstory *s, const struct heapstory_place *p,
                      enum heapfigure figure)
{
    const struct heapfigure_kind *k = &heapfigures[figure];
    int64_t value = p->value[k->value], own = p->value[STORY_ALLOCATIONS];
    switch (k->from) {
    case HEAP_PART_OF_ALL:
        return heapstory_part(value, s->value[k->value]);
    case HEAP_PER_ALLOCATION: {
        int64_t mean = own > 0 ? value / own : 0;
        return (double)mean;
    }
    case HEAP_PART_OF_ITS_OWN:
        return heapstory_part(value, own);
    case HEAP_OVER_TIME:
        return (double)live_figure(p, figure);
    case HEAP_IN_RANGE:
        return (double)range_figure(p, figure);
    case HEAP_AS_IT_IS:
        break;
    }
    return (double)value;
}

double heapstory_allocations_per_second(const struct heapstory *s)
{
    double seconds = heapstory_active_seconds(s);
    return seconds > 0 ? (double)s->value[STORY_ALLOCATIONS] / seconds : 0;
}

int64_t heapstory_classes_sum(const int64_t *classes)
{
    int64_t sum = 0;
    for (int k = 0; k < STORY_CLASSES; k++)
        sum += classes[k];
    return sum;
}
