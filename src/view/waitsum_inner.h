/*
 * waitsum_inner.h - what the files of the report on waits share.
 */
#pragma once
#include "view/waitsum.h"

void waitsum_cell_ns(struct document *d, int64_t ns);
void waitsum_cell_share(struct document *d, int64_t part, int64_t whole);

/* Five cells: time, its share of WHOLE_NS, how many, mean, max. */
void waitsum_cells_of_sum(struct document *d, const struct wait_sum *s, int64_t whole_ns);

int64_t waitsum_off_cpu_of_all(const struct waitsum *w);

/*
 * The tables of places. WIDTH: of a terminal, in which stacks are in brief; 0 = whole stacks. Rows
 * that would look alike are one.
 */
void waitsum_add_stacks(struct document *d, const struct waitsum_view *v, int width);
void waitsum_add_wakers(struct document *d, const struct waitsum_view *v, int width);
