/* gates.c - limits of benchmarks. */
#include "bench/gates.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>

/* "10%" or "10", of what stands after the last "=". NAN for nonsense. */
static double limit_of(const char *gate, struct text *ret_name)
{
    const char *equals = strrchr(gate, '='), *number = equals ? equals + 1 : gate;
    char *end;
    double percent = strtod(number, &end);
    *ret_name = (struct text){gate, equals ? (size_t)(equals - gate) : 0};
    if (end == number || (*end && strcmp(end, "%") != 0) || !(percent >= 0) || percent > 1e6)
        return NAN;
    return percent / 100;
}

struct text gates_name(const char *gate)
{
    struct text name;
    limit_of(gate, &name);
    return name;
}

int gates_check(const struct opt_list *gates, struct err *err)
{
    struct text name;
    for (size_t i = 0; i < gates->n; i++)
        if (isnan(limit_of(gates->at[i], &name)))
            return err_set(err, EXIT_ERROR, "takes a percentage, '10%%' or 'NAME=10%%', not '%s'",
                           gates->at[i]);
    return 0;
}

double gates_find(const struct opt_list *gates, const char *name, const char *other_name)
{
    double all = NAN, own = NAN;
    for (size_t i = 0; gates && i < gates->n; i++) {
        struct text of;
        double limit = limit_of(gates->at[i], &of);
        if (of.n == 0)
            all = limit;
        else if (text_is(of, name) || text_is(of, other_name))
            own = limit;
    }
    return isnan(own) ? all : own;
}
