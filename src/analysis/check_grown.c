/* check_grown.c - which function has most of a change that a rule does not allow. */
#include "analysis/check_inner.h"

/* What each name has, by its number in the list's names. Free it. */
static double *grown_by_name(const struct flat *list, const double *values)
{
    double *sums = mem_calloc(list->names.strings.n + 1, sizeof *sums);
    for (size_t i = 0; i < list->rows.n; i++)
        sums[list->rows.at[i].name] += values[i];
    return sums;
}

const char *check_most_grown(struct check_job *job, const struct flat *before, const double *was,
                             const struct flat *now, const double *is)
{
    autofree double *old = grown_by_name(before, was);
    double most = 0;
    uint32_t worst = 0;
    for (uint32_t i = 0; i < now->rows.n; i++) {
        uint32_t id = intern_find(&before->names, flat_name(now, i));
        double by = is[i] - (id == IDMAP_NONE ? 0 : old[id]);
        worst = by > most ? i : worst;
        most = by > most ? by : most;
    }
    return most > 0 ? check_text(job, "%.*s", TEXT_ARG(flat_name(now, worst))) : NULL;
}
