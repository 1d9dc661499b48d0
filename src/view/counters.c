#include "view/counters.h"

static void counter_json(struct json *j, const struct profile *p, const struct counter *c)
{
    json_open(j, '{');
    json_key(j, "name");
    json_text(j, profile_str(p, c->name));
    json_key(j, "unit");
    json_text(j, profile_str(p, c->unit));
    json_put_uint(j, "points", c->points.n);
    json_key(j, "last");
    if (c->points.n)
        json_int(j, c->points.at[c->points.n - 1].value);
    else
        json_null(j);
    json_close(j, '}');
}

void counters_json(struct json *j, const struct profile *p)
{
    json_key(j, "counters");
    json_open(j, '[');
    for (size_t i = 0; i < p->counters.n; i++)
        counter_json(j, p, &p->counters.at[i]);
    json_close(j, ']');
}
