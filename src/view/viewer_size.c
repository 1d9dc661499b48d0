/* viewer_size.c - what no page can hold; see viewer.h. */
#include "base/units.h"
#include "view/viewer.h"

static uint64_t viewer_rows_bytes(const struct profile *p)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < p->streams.n; i++) {
        const struct stream *s = p->streams.at[i];
        const struct rows *r = &s->rows;
        size_t row = sizeof *r->stack + sizeof *r->thread + (r->attrs ? sizeof *r->attrs : 0) +
                     (r->time_ns ? sizeof *r->time_ns : 0) +
                     (r->duration_ns ? sizeof *r->duration_ns : 0) +
                     (size_t)s->n_types * sizeof **r->value;
        bytes += row * r->n;
    }
    return bytes;
}

int viewer_check_size(const struct profile *p, uint64_t bytes_max, struct err *err)
{
    char rows[UNITS_MAX], bytes[UNITS_MAX], most[UNITS_MAX];
    uint64_t all = viewer_rows_bytes(p);
    if (all <= bytes_max)
        return 0;
    return err_set(err, EXIT_ERROR,
                   "the recording is too large for a browser: its %s rows take %s of memory, and a "
                   "page holds %s; convert a part of it and view that",
                   units_count(rows, profile_count_rows(p)),
                   units_scaled(bytes, (double)all, SCALED_BYTES),
                   units_scaled(most, (double)bytes_max, SCALED_BYTES));
}
