#include "analysis/pairchance.h"

#include "analysis/selection.h"
#include "model/meta.h"

#include <math.h>

bool pairchance_was_busy(const struct selection *const *runs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (meta_was_busy(&runs[i]->profile->meta))
            return true;
    return false;
}

/* The near end of a growth of at least LOW, which is one of LOW_NEXT relative to the rest. */
static double growth_less_chance(const struct pairchance *c, double low, double low_next)
{
    double alone = low / (c->has_rest ? PAIR_ALL : c->factor);
    double next = c->has_rest ? fmin(low, low_next) / c->factor : 0;
    return c->same ? 1 : fmax(1, fmax(next, alone));
}

struct interval pairchance_take_off(const struct pairchance *c, struct interval cost)
{
    struct interval rest = c->has_rest ? c->rest : (struct interval){1, 1}, left = cost;
    if (cost.low > 1)
        left.low = growth_less_chance(c, cost.low, cost.low / rest.high);
    if (cost.high < 1)
        left.high = 1 / growth_less_chance(c, 1 / cost.high, rest.low / cost.high);
    return left;
}
