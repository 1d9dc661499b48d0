/*
 * page_heap.c - the heap of a workload, on its page: figures, and who asks for most.
 */
#include "base/units.h"
#include "suite/page_inner.h"
#include "suite/suite.h"
#include "view/document.h"
#include "view/findings.h"

enum { PLACES_SHOWN = 10 };

static const struct document_column place_columns[] = {
    {"function", .wide = true},     {"at the peak", .right = true}, {"never freed", .right = true},
    {"allocations", .right = true}, {"allocated", .right = true},   {"temporary", .right = true}};

static void page_heap_bytes(struct document *d, int64_t n)
{
    char s[UNITS_MAX];
    document_cell(d, text_of(n ? units_scaled(s, (double)n, SCALED_BYTES) : "-"), 0);
}

static void page_heap_count(struct document *d, int64_t n)
{
    char s[UNITS_MAX];
    document_cell(d, text_of(n ? units_count(s, (uint64_t)n) : "-"), 0);
}

static void page_heap_place(struct document *d, const struct heapstory *s,
                            const struct heapstory_place *p)
{
    document_cell(d, heapstory_name(s, p), 0);
    page_heap_bytes(d, p->value[STORY_PEAK]);
    page_heap_bytes(d, p->value[STORY_LEAKED]);
    page_heap_count(d, p->value[STORY_ALLOCATIONS]);
    page_heap_bytes(d, p->value[STORY_ALLOCATED]);
    page_heap_count(d, p->value[STORY_TEMPORARY]);
}

static void page_heap_figures(struct document *d, const struct heapstory *s)
{
    char peak[UNITS_MAX], leaked[UNITS_MAX], blocks[UNITS_MAX], n[UNITS_MAX], bytes[UNITS_MAX];
    const int64_t *value = s->value;
    document_text(d, "Peak %s; never freed %s in %s; %s of %s together.",
                  units_scaled(peak, (double)value[STORY_PEAK], SCALED_BYTES),
                  units_scaled(leaked, (double)value[STORY_LEAKED], SCALED_BYTES),
                  units_many(blocks, (uint64_t)heapstory_left(value), "block", "blocks"),
                  units_many(n, (uint64_t)value[STORY_ALLOCATIONS], "allocation", "allocations"),
                  units_scaled(bytes, (double)value[STORY_ALLOCATED], SCALED_BYTES));
}

void page_heap(struct document *d, const struct suite_result *r)
{
    const struct heapstory *s = &r->heap_story;
    uint32_t rows[PLACES_SHOWN];
    if (!r->has_heap)
        return;
    document_heading(d, "Heap");
    page_heap_figures(d, s);
    document_table(d, place_columns, sizeof place_columns / sizeof *place_columns);
    size_t n = heapstory_top(s, STORY_ALLOCATED, rows, PLACES_SHOWN);
    for (size_t i = 0; i < n; i++)
        page_heap_place(d, s, &s->places.at[rows[i]]);
    findings_list(d, &s->insights);
    document_text(d,
                  "Every block was counted, in a run of its own. Temporary blocks are freed by the "
                  "same thread before its next allocation. 'kelvin heap %s' has sizes, lifetimes "
                  "and a chart over time.",
                  r->heap.file);
}
