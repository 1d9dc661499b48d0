#include "model/heapstream.h"

struct heap_word {
    const char *name, *unit;
};

static const struct heap_word heap_columns[HEAP_COLUMNS] = {
    [HEAP_ALLOCATIONS] = {"allocations", UNIT_COUNT},
    [HEAP_ALLOCATED] = {"allocated", UNIT_BYTES},
    [HEAP_FREES] = {"frees", UNIT_COUNT},
    [HEAP_FREED] = {"freed", UNIT_BYTES},
    [HEAP_TEMPORARY] = {"temporary", UNIT_COUNT},
    [HEAP_SAMPLES] = {VALUE_SAMPLES, UNIT_COUNT},
    [HEAP_LOCKED] = {"under_lock", UNIT_COUNT},
    [HEAP_LEAKED] = {"leaked", UNIT_BYTES},
    [HEAP_LEAKED_BLOCKS] = {"leaked_blocks", UNIT_COUNT},
    [HEAP_PEAK] = {"peak", UNIT_BYTES},
    [HEAP_LEAKED_SAMPLES] = {"leaked_samples", UNIT_COUNT},
    [HEAP_PEAK_SAMPLES] = {"peak_samples", UNIT_COUNT},
};

static const struct heap_word heap_sizes_columns[HEAP_SIZES_COLUMNS] = {
    [HEAP_SIZES_BLOCKS] = {"blocks", UNIT_COUNT},
    [HEAP_SIZES_ADDED] = {"added", UNIT_BYTES},
    [HEAP_SIZES_GROWN] = {"grown", UNIT_COUNT},
};

static const struct heap_word heap_counters[HEAP_COUNTERS] = {
    [HEAP_COUNTER_LIVE] = {"heap live", UNIT_BYTES},
    [HEAP_COUNTER_BLOCKS] = {"heap blocks", UNIT_COUNT},
    [HEAP_COUNTER_RSS] = {"RSS", UNIT_BYTES},
};

/* --- columns --- */

int heapstream_add_column(struct profile *p, int stream, enum heap_column column)
{
    return profile_add_value(p, stream, heap_columns[column].name, heap_columns[column].unit);
}

int heapstream_find_column(const struct profile *p, int stream, enum heap_column column)
{
    return profile_find_column(p, stream, heap_columns[column].name);
}

void heapstream_add_sizes_columns(struct profile *p, int stream)
{
    for (int i = 0; i < HEAP_SIZES_COLUMNS; i++)
        profile_add_value(p, stream, heap_sizes_columns[i].name, heap_sizes_columns[i].unit);
}

int heapstream_find_sizes_column(const struct profile *p, int stream, enum heap_sizes_column column)
{
    return profile_find_column(p, stream, heap_sizes_columns[column].name);
}

bool heapstream_find(const struct profile *p, enum heap_column column, struct value_ref *ret)
{
    for (int i = 0; i < (int)p->streams.n; i++) {
        bool is_heap = stream_kind_of(p, profile_stream(p, i)) == STREAM_HEAP;
        *ret = (struct value_ref){i, is_heap ? heapstream_find_column(p, i, column) : -1};
        if (ret->type >= 0)
            return true;
    }
    return false;
}

bool heapstream_has_inuse(const struct profile *p)
{
    for (int i = 0; i < (int)p->streams.n; i++)
        if (profile_find_column(p, i, "inuse_space") >= 0)
            return true;
    return false;
}

enum heap_column heapstream_column_of(const struct profile *p, struct value_ref value)
{
    bool is_heap = stream_kind_of(p, profile_stream(p, value.stream)) == STREAM_HEAP;
    struct text name = profile_str(p, profile_value(p, value)->name);
    for (int i = 0; is_heap && i < HEAP_COLUMNS; i++)
        if (text_is(name, heap_columns[i].name))
            return (enum heap_column)i;
    return HEAP_COLUMNS;
}

/* --- counters --- */

int heapstream_add_counter(struct profile *p, enum heap_counter counter, struct process_id of)
{
    return profile_add_counter(p, heap_counters[counter].name, heap_counters[counter].unit, of);
}

enum heap_counter heapstream_counter_of(const struct profile *p, const struct counter *c)
{
    struct text name = profile_str(p, c->name);
    for (int i = 0; i < HEAP_COUNTERS; i++)
        if (text_is(name, heap_counters[i].name))
            return (enum heap_counter)i;
    return HEAP_COUNTERS;
}
