/* plan.c - commands, parameters and their combinations; see plan.h. */
#include "bench/plan.h"
#include "base/buf.h"
#include "bench/parameter.h"

#include <math.h>

void plan_done(struct plan *p)
{
    for (size_t i = 0; i < p->parameters.n; i++)
        parameter_done(&p->parameters.at[i]);
    for (size_t i = 0; i < p->items.n; i++) {
        free(p->items.at[i].name);
        free(p->items.at[i].line);
        free(p->items.at[i].value);
    }
    for (size_t i = 0; i < p->groups.n; i++)
        vec_done(&p->groups.at[i].items);
    for (size_t i = 0; i < p->commands.n; i++) {
        words_done(&p->commands.at[i]);
        free(p->command_lines.at[i]);
    }
    vec_done(&p->parameters);
    vec_done(&p->items);
    vec_done(&p->groups);
    vec_done(&p->commands);
    vec_done(&p->command_lines);
}

/* The value of a parameter for an item. */
static const char *plan_value(const struct plan *p, const struct plan_item *item, size_t parameter)
{
    return p->parameters.at[parameter].values.at.at[item->value[parameter]];
}

size_t plan_sweep(const struct plan *p)
{
    for (size_t i = 0; i < p->parameters.n; i++)
        if (p->parameters.at[i].numbers && p->parameters.at[i].values.at.n > 1)
            return i;
    return PLAN_NONE;
}

/* --- lines --- */

char *plan_fill(const struct plan *p, const struct plan_item *item, const char *template,
                size_t except)
{
    struct buf b = {0};
    while (*template) {
        size_t i = 0, n = 0;
        for (; i < p->parameters.n; i++) {
            const char *name = p->parameters.at[i].name;
            n = strlen(name);
            if (template[0] == '{' && strncmp(template + 1, name, n) == 0 && template[n + 1] == '}')
                break;
        }
        if (i == p->parameters.n || i == except) {
            buf_byte(&b, (uint8_t) * template ++);
            continue;
        }
        buf_str(&b, plan_value(p, item, i));
        template += n + 2;
    }
    buf_cstr(&b);
    return b.at;
}

static int split_line(struct words *w, const char *line, const struct plan_opts *o, struct err *err)
{
    if (o->shell) {
        words_add(w, text_of("/bin/sh"));
        words_add(w, text_of("-c"));
        words_add(w, text_of(line));
        return 0;
    }
    struct words own = {0};
    int rc = words_split(&own, text_of(line), WORDS_BLANKS, err);
    for (size_t i = 0; i < own.at.n; i++)
        words_add(w, text_of(own.at.at[i]));
    bool empty = own.at.n == 0;
    words_done(&own);
    if (rc == 0 && empty)
        return err_set(err, EXIT_ERROR, "a command is empty: give its words in quotes");
    return rc;
}

/* The number of the command LINE, added if new. */
static int plan_add_command(struct plan *p, const char *line, bool wrapped,
                            const struct plan_opts *o, size_t *ret, struct err *err)
{
    char key = wrapped ? 'w' : ' ';
    autofree char *text = mem_printf("%c%s", key, line);
    for (*ret = 0; *ret < p->commands.n; ++*ret)
        if (strcmp(p->command_lines.at[*ret], text) == 0)
            return 0;
    struct words *w = vec_push(&p->commands);
    *w = (struct words){0};
    *vec_push(&p->command_lines) = mem_strdup(text);
    for (const char *const *word = wrapped ? o->wrap : NULL; word && *word; word++)
        words_add(w, text_of(*word));
    return split_line(w, line, o, err);
}

static int add_side_command(struct plan *p, const struct plan_item *item, const char *template,
                            const struct plan_opts *o, size_t *ret, struct err *err)
{
    *ret = PLAN_NONE;
    if (!template)
        return 0;
    autofree char *line = plan_fill(p, item, template, PLAN_NONE);
    return plan_add_command(p, line, false, o, ret, err);
}

/* --- names --- */

static bool name_taken(const struct plan *p, const char *name)
{
    for (size_t i = 0; i < p->items.n; i++)
        if (strcmp(p->items.at[i].name, name) == 0)
            return true;
    return false;
}

/* "NAME" for a plain command; with parameters that NAME does not have in it "NAME/n=10". */
static char *given_name(const struct plan *p, const struct plan_item *item, const char *template)
{
    char *name = plan_fill(p, item, template, PLAN_NONE);
    for (size_t i = 0; i < p->parameters.n; i++) {
        autofree char *mark = mem_printf("{%s}", p->parameters.at[i].name);
        if (strstr(template, mark))
            continue;
        char *longer =
            mem_printf("%s/%s=%s", name, p->parameters.at[i].name, plan_value(p, item, i));
        free(name);
        name = longer;
    }
    return name;
}

/* The same command may well be given twice, to see what the machine makes of it. */
static char *own_name(const struct plan *p, const char *line)
{
    char *name = mem_strdup(line);
    for (int i = 2; name_taken(p, name); i++) {
        free(name);
        name = mem_printf("%s #%d", line, i);
    }
    return name;
}

static int name_item(const struct plan *p, struct plan_item *item, const struct plan_opts *o,
                     struct err *err)
{
    if (item->line_number >= o->names->n) {
        item->name = own_name(p, item->line);
        return 0;
    }
    const char *template = o->names->at[item->line_number];
    item->name = given_name(p, item, template);
    if (!*item->name)
        return err_set(err, EXIT_ERROR, "a name is empty");
    if (name_taken(p, item->name))
        return err_set(err, EXIT_ERROR, "two commands are named '%s': names must differ",
                       item->name);
    return 0;
}

/* --- items and groups --- */

static bool same_group(const struct plan *p, const struct plan_item *a, const struct plan_item *b)
{
    for (size_t i = 0; i < p->parameters.n; i++)
        if (p->parameters.at[i].numbers && a->value[i] != b->value[i])
            return false;
    return true;
}

static void put_in_group(struct plan *p, size_t number)
{
    struct plan_item *item = &p->items.at[number];
    for (size_t g = 0; g < p->groups.n; g++) {
        item->group = g;
        if (same_group(p, item, &p->items.at[p->groups.at[g].items.at[0]])) {
            *vec_push(&p->groups.at[g].items) = number;
            return;
        }
    }
    item->group = p->groups.n;
    struct plan_group *g = vec_push(&p->groups);
    *g = (struct plan_group){0};
    *vec_push(&g->items) = number;
}

/* Item number COMBINATION of a line: parameters as the digits of a number, the last fastest. */
static int add_item(struct plan *p, size_t line, size_t combination, const struct plan_opts *o,
                    struct err *err)
{
    struct plan_item item = {.line_number = line};
    item.value = mem_calloc(p->parameters.n + 1, sizeof *item.value);
    for (size_t i = p->parameters.n; i-- > 0;) {
        size_t n = p->parameters.at[i].values.at.n;
        item.value[i] = combination % n;
        combination /= n;
    }
    item.line = plan_fill(p, &item, o->lines[line], PLAN_NONE);
    int rc = name_item(p, &item, o, err);
    if (!item.name)
        item.name = mem_strdup("");
    *vec_push(&p->items) = item;
    struct plan_item *at = &p->items.at[p->items.n - 1];
    if (rc != 0 || plan_add_command(p, at->line, true, o, &at->command, err) != 0 ||
        add_side_command(p, at, o->prepare, o, &at->prepare, err) != 0 ||
        add_side_command(p, at, o->setup, o, &at->setup, err) != 0 ||
        add_side_command(p, at, o->cleanup, o, &at->cleanup, err) != 0)
        return -1;
    put_in_group(p, p->items.n - 1);
    return 0;
}

static void add_aa(struct plan *p, size_t group)
{
    struct plan_item item = p->items.at[p->groups.at[group].items.at[0]];
    size_t *value = mem_calloc(p->parameters.n + 1, sizeof *value);
    memcpy(value, item.value, p->parameters.n * sizeof *value);
    item.value = value;
    item.name = mem_printf("%s (A/A)", item.name);
    item.line = mem_strdup(item.line);
    item.aa = true;
    *vec_push(&p->items) = item;
    *vec_push(&p->groups.at[group].items) = p->items.n - 1;
}

/* A parameter that nobody uses would measure the same thing again and again. */
static int check_used(const struct plan *p, const struct plan_opts *o, struct err *err)
{
    for (size_t i = 0; i < p->parameters.n; i++) {
        const char *name = p->parameters.at[i].name;
        autofree char *mark = mem_printf("{%s}", name);
        bool used = o->prepare && strstr(o->prepare, mark);
        used |= o->setup && strstr(o->setup, mark);
        for (size_t k = 0; k < o->n_lines; k++)
            used |= strstr(o->lines[k], mark) != NULL;
        if (!used)
            return err_set(err, EXIT_ERROR,
                           "parameter '%s' is in no command: write %s where its "
                           "value belongs",
                           name, mark);
    }
    return 0;
}

static int count_combinations(const struct plan *p, const struct plan_opts *o, size_t *ret,
                              struct err *err)
{
    double all = 1;
    for (size_t i = 0; i < p->parameters.n; i++)
        all *= (double)p->parameters.at[i].values.at.n;
    if (all * (double)o->n_lines > PLAN_ITEMS_MAX)
        return err_set(err, EXIT_ERROR, "%g combinations of parameters are too many: at most %d",
                       all * (double)o->n_lines, PLAN_ITEMS_MAX);
    *ret = (size_t)all;
    return 0;
}

static int add_parameters(struct plan *p, const struct plan_opts *o, struct err *err)
{
    for (size_t i = 0; i < o->list->n + o->range->n; i++) {
        bool list = i < o->list->n;
        struct plan_parameter new = {0};
        int rc = list ? parameter_list(&new, o->list->at[i], err)
                      : parameter_range(&new, o->range->at[i - o->list->n], err);
        *vec_push(&p->parameters) = new;
        for (size_t k = 0; rc == 0 && k + 1 < p->parameters.n; k++)
            if (strcmp(p->parameters.at[k].name, new.name) == 0)
                rc = err_set(err, EXIT_ERROR, "parameter '%s' is given twice", new.name);
        if (rc != 0)
            return -1;
    }
    return 0;
}

int plan_build(struct plan *p, const struct plan_opts *o, struct err *err)
{
    size_t combinations = 0;
    *p = (struct plan){.lines = o->lines};
    if (o->names->n > 0 && o->names->n != o->n_lines)
        return err_set(err, EXIT_ERROR, "%zu name%s for %zu command%s: give one name for each",
                       o->names->n, o->names->n == 1 ? "" : "s", o->n_lines,
                       o->n_lines == 1 ? "" : "s");
    if (add_parameters(p, o, err) != 0 || check_used(p, o, err) != 0 ||
        count_combinations(p, o, &combinations, err) != 0)
        return -1;
    for (size_t i = 0; i < o->n_lines; i++)
        for (size_t k = 0; k < combinations; k++)
            if (add_item(p, i, k, o, err) != 0)
                return -1;
    struct plan_opts plain = {0};
    if (plan_add_command(p, "true", false, &plain, &p->nothing, err) != 0)
        return -1;
    for (size_t i = 0; o->aa && i < p->groups.n; i++)
        add_aa(p, i);
    return 0;
}
