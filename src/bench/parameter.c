/* parameter.c - lists and ranges. */
#include "bench/parameter.h"

#include <math.h>

void parameter_done(struct plan_parameter *p)
{
    free(p->name);
    free(p->number);
    words_done(&p->values);
}

/* Cuts "name=" off; the rest has at least one byte. */
static int take_name(struct plan_parameter *p, struct text *spec, const char *example,
                     struct err *err)
{
    struct text name = text_cut(spec, '=');
    if (name.n == 0 || memchr(name.at, '{', name.n) || memchr(name.at, '}', name.n))
        return err_set(err, EXIT_ERROR, "a parameter needs a name: n=%s", example);
    if (spec->n == 0)
        return err_set(err, EXIT_ERROR, "parameter '%.*s': no values; write %.*s=%s",
                       TEXT_ARG(name), TEXT_ARG(name), example);
    p->name = mem_strndup(name.at, name.n);
    return 0;
}

static bool parameter_number_of(const char *s, double *ret)
{
    char *end;
    *ret = strtod(s, &end);
    return end != s && !*end && isfinite(*ret) && *ret > 0;
}

static void find_numbers(struct plan_parameter *p)
{
    size_t n = p->values.at.n;
    p->number = mem_calloc(n + 1, sizeof *p->number);
    p->numbers = true;
    for (size_t i = 0; i < n; i++)
        p->numbers &= parameter_number_of(p->values.at.at[i], &p->number[i]);
}

static int check_values(const struct plan_parameter *p, struct err *err)
{
    for (size_t i = 0; i < p->values.at.n; i++) {
        if (!*p->values.at.at[i])
            return err_set(err, EXIT_ERROR, "parameter '%s': a value is empty", p->name);
        for (size_t k = 0; k < i; k++)
            if (strcmp(p->values.at.at[i], p->values.at.at[k]) == 0)
                return err_set(err, EXIT_ERROR, "parameter '%s': the value '%s' is there twice",
                               p->name, p->values.at.at[i]);
    }
    return 0;
}

static int too_many(const struct plan_parameter *p, double n, struct err *err)
{
    return err_set(err, EXIT_ERROR, "parameter '%s' has %.0f values: at most %d", p->name, n,
                   PLAN_VALUES_MAX);
}

static bool has_gap(struct text list)
{
    return list.at[0] == ',' || list.at[list.n - 1] == ',' || memmem(list.at, list.n, ",,", 2);
}

int parameter_list(struct plan_parameter *p, const char *spec, struct err *err)
{
    struct text rest = text_of(spec);
    *p = (struct plan_parameter){0};
    if (take_name(p, &rest, "1,2,4", err) != 0)
        return -1;
    if (has_gap(rest))
        return err_set(err, EXIT_ERROR, "parameter '%s': a value is empty", p->name);
    if (words_split(&p->values, rest, ",", err) != 0)
        return -1;
    if (p->values.at.n > PLAN_VALUES_MAX)
        return too_many(p, (double)p->values.at.n, err);
    find_numbers(p);
    return check_values(p, err);
}

/* Up to three numbers, "1..10..2". Returns how many, 0 for nonsense. */
static int range_numbers(struct text t, double ret[3])
{
    int n = 0;
    for (; n < 3; n++) {
        const char *dots = memmem(t.at, t.n, "..", 2);
        size_t bytes = dots ? (size_t)(dots - t.at) : t.n;
        autofree char *word = mem_strndup(t.at, bytes);
        char *end;
        ret[n] = strtod(word, &end);
        if (end == word || *end || !isfinite(ret[n]))
            return 0;
        if (!dots)
            return n + 1;
        t = (struct text){dots + 2, t.n - bytes - 2};
    }
    return 0;
}

int parameter_range(struct plan_parameter *p, const char *spec, struct err *err)
{
    struct text rest = text_of(spec);
    double at[3] = {0, 0, 1};
    *p = (struct plan_parameter){0};
    if (take_name(p, &rest, "1..10..2", err) != 0)
        return -1;
    if (range_numbers(rest, at) < 2)
        return err_set(err, EXIT_ERROR,
                       "parameter '%s': write from..to or from..to..step, not '%.*s'", p->name,
                       TEXT_ARG(rest));
    double n = at[2] == 0 ? 0 : floor((at[1] - at[0]) / at[2] + 1e-9) + 1;
    if (!(n >= 1))
        return err_set(err, EXIT_ERROR, "parameter '%s': no values from %g to %g in steps of %g",
                       p->name, at[0], at[1], at[2]);
    if (n > PLAN_VALUES_MAX)
        return too_many(p, n, err);
    for (double i = 0; i < n; i++) {
        autofree char *value = mem_printf("%.12g", at[0] + i * at[2]);
        words_add(&p->values, text_of(value));
    }
    find_numbers(p);
    return check_values(p, err);
}
