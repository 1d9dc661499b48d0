/*
 * heapstory_between.c - who held how much at the beginning and at the end of a part of a recording.
 */
#include "analysis/heapstory.h"

#include "model/heapstream.h"

/* Bytes that a row adds to what its place holds. */
struct held_columns {
    const int64_t *allocated, *freed;
    const int64_t *leaked; /* held no more once its process ends; NULL = not known */
};

/* What is held at a moment is all that came before. */
static void between_add(struct heapstory *s, const struct held_columns *c, size_t row, bool inside)
{
    const struct rows *rows = &profile_stream(s->profile, s->stream)->rows;
    uint32_t place = s->place_of_stack[rows->stack[row].i];
    int64_t bytes = c->allocated[row] - c->freed[row];
    if (c->leaked && rows->time_ns[row] < s->end_ns)
        bytes -= c->leaked[row];
    if (!place)
        return;
    s->places.at[place - 1].held_to += bytes;
    s->held_to += bytes;
    if (inside)
        return;
    s->places.at[place - 1].held_from += bytes;
    s->held_from += bytes;
}

/* A range in which nothing was allocated or freed is one like others: nobody grew. */
int heapstory_between(struct heapstory *s, const char *time, struct err *err)
{
    int allocated = heapstream_find_column(s->profile, s->stream, HEAP_ALLOCATED);
    int freed = heapstream_find_column(s->profile, s->stream, HEAP_FREED);
    struct selection_moments range;
    if (!s->timed || allocated < 0 || freed < 0)
        return err_set(err, EXIT_INPUT, "the input does not say when blocks were freed");
    struct selection selected;
    if (selection_moments(s->profile, time, &range, err) != 0 ||
        heapstory_select(s, s->stream, &selected, err) != 0)
        return -1;
    const struct rows *rows = &profile_stream(s->profile, s->stream)->rows;
    int leaked = heapstream_find_column(s->profile, s->stream, HEAP_LEAKED);
    struct held_columns c = {rows->value[allocated], rows->value[freed],
                             leaked >= 0 ? rows->value[leaked] : NULL};
    for (size_t i = 0; i < selected.n_rows; i++) {
        size_t row = selection_row(&selected, i);
        if (rows->time_ns[row] <= range.to_ns)
            between_add(s, &c, row, rows->time_ns[row] >= range.from_ns);
    }
    selection_done(&selected);
    s->range = arena_text(&s->arena, text_of(time)).at;
    return 0;
}
