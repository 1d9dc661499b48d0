#include "base/opt.h"
#include "base/buf.h"
#include "base/units.h"

#include <errno.h>

/* Equal when inner hyphens are left out. N bytes of WORD count. */
static bool same_name(const char *word, size_t n, const char *name)
{
    size_t i = 0;
    for (;; i++, name++) {
        while (i < n && word[i] == '-')
            i++;
        while (*name == '-')
            name++;
        if (i >= n || !*name)
            return i >= n && !*name;
        if (word[i] != *name)
            return false;
    }
}

static const struct opt *find_long(const struct opt *table, const char *word, size_t n)
{
    for (; table->name; table++)
        if (same_name(word, n, table->name) || (table->alias && same_name(word, n, table->alias)))
            return table;
    return NULL;
}

static const struct opt *find_letter(const struct opt *table, char letter)
{
    for (; table->name; table++)
        if (table->letter == letter)
            return table;
    return NULL;
}

/*
 * Edits that make A of B: a letter left out, added or replaced, or two neighbours swapped, which is
 * the most common slip of the fingers. Words are cut at 31 letters.
 */
static int opt_distance(const char *a, const char *b)
{
    int rows[3][32]; /* of the letter of A before the last, of the last, and of this one */
    int n = (int)strnlen(a, 31), m = (int)strnlen(b, 31);
    for (int i = 0; i <= n; i++) {
        int *row = rows[i % 3], *last = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
        row[0] = i;
        for (int j = 1; j <= m; j++) {
            int best = row[j - 1] + 1;
            if (i > 0 && last[j] + 1 < best)
                best = last[j] + 1;
            if (i > 0 && last[j - 1] + (a[i - 1] != b[j - 1]) < best)
                best = last[j - 1] + (a[i - 1] != b[j - 1]);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            row[j] = best;
        }
    }
    return rows[n % 3][m];
}

const char *opt_nearest(const char *word, const char *const *list)
{
    const char *best = NULL;
    size_t n = strlen(word); /* of a short word two slips leave too little */
    int best_distance = n < 2 ? 1 : n < 5 ? 2 : 3;
    for (; *list; list++) {
        int d = opt_distance(word, *list);
        if (d < best_distance) {
            best_distance = d;
            best = *list;
        }
    }
    return best;
}

static int unknown(const struct opt *table, const char *word, struct err *err)
{
    const char *names[64] = {0};
    for (int i = 0; table[i].name && i < 63; i++)
        names[i] = table[i].name;
    int length = (int)strcspn(word, "="); /* the value is not part of the name */
    char name[64];
    snprintf(name, sizeof name, "%.*s", length, word);
    const char *near = opt_nearest(name + strspn(name, "-"), names);
    if (near)
        return err_set(err, EXIT_ERROR, "no option '%.*s'; did you mean '--%s'?", length, word,
                       near);
    return err_set(err, EXIT_ERROR, "no option '%.*s'; see --help", length, word);
}

bool opt_is_known(const struct opt *table, const char *word)
{
    if (word[0] != '-' || !word[1])
        return true;
    return word[1] == '-' ? find_long(table, word + 2, strcspn(word + 2, "="))
                          : find_letter(table, word[1]);
}

static bool is_choice(const char *choices, const char *value)
{
    size_t n = strlen(value);
    for (const char *c = choices; n && (c = strstr(c, value)); c += n)
        if ((c == choices || c[-1] == ' ') && (c[n] == ' ' || !c[n]))
            return true;
    return false;
}

static bool is_number(const struct opt *o, const char *value, double *ret)
{
    char *end;
    errno = 0;
    *ret = strtod(value, &end);
    bool whole = o->kind != OPT_INT || *ret == (double)(long)*ret;
    if (end != value && !*end && !errno && whole && *ret == *ret)
        return true;
    return o->kind == OPT_SECONDS && units_parse_time(value, ret);
}

static int set_number(const struct opt *o, void *field, const char *value, struct err *err)
{
    double v;
    if (!is_number(o, value, &v))
        return err_set(err, EXIT_ERROR, "--%s takes %s, not '%s'", o->name,
                       o->kind == OPT_INT       ? "a whole number"
                       : o->kind == OPT_SECONDS ? "seconds, or a time such as 500ms or 10m"
                                                : "a number",
                       value);
    if (o->min != o->max && (v < o->min || v > o->max))
        return err_set(err, EXIT_ERROR, "--%s takes a number from %.10g to %.10g, not %s", o->name,
                       o->min, o->max, value);
    if (o->kind == OPT_INT)
        *(long *)field = (long)v;
    else
        *(double *)field = v;
    return 0;
}

static int opt_list_add(const struct opt *o, struct opt_list *list, const char *value,
                        struct err *err)
{
    if (list->n == OPT_LIST_MAX)
        return err_set(err, EXIT_ERROR, "--%s is given more than %d times", o->name, OPT_LIST_MAX);
    list->at[list->n++] = value;
    return 0;
}

static int opt_set(const struct opt *o, void *to, const char *value, struct err *err)
{
    void *field = (char *)to + o->offset;
    switch (o->kind) {
    case OPT_FLAG:
        *(bool *)field = true;
        return 0;
    case OPT_CHOICE:
        if (!is_choice(o->choices, value))
            return err_set(err, EXIT_ERROR, "--%s is one of: %s; not '%s'", o->name, o->choices,
                           value);
        /* fall through */
    case OPT_TEXT:
        *(const char **)field = value;
        return 0;
    case OPT_OPTIONAL:
        *(const char **)field = value ? value : "";
        return 0;
    case OPT_LIST:
        return opt_list_add(o, field, value, err);
    case OPT_INT:
    case OPT_NUMBER:
    case OPT_SECONDS:
        return set_number(o, field, value, err);
    }
    return 0;
}

/* One option at args[i]; returns how many words it took, or -1. */
static int opt_take(const struct opt *table, void *to, int left, char **args, struct err *err)
{
    char *word = args[0];
    bool is_long = word[1] == '-';
    char *value = is_long ? strchr(word, '=') : NULL;
    size_t name_bytes = value ? (size_t)(value - word) - 2 : strlen(word) - (is_long ? 2 : 1);
    const struct opt *o =
        is_long ? find_long(table, word + 2, name_bytes) : find_letter(table, word[1]);
    if (!o)
        return unknown(table, word, err);
    if (o->kind == OPT_FLAG) {
        if (!is_long && word[2])
            return err_set(err, EXIT_ERROR, "-%c takes no value; write options apart: -%c -%s",
                           o->letter, o->letter, word + 2);
        if (value)
            return err_set(err, EXIT_ERROR, "--%s takes no value", o->name);
        return opt_set(o, to, NULL, err) == 0 ? 1 : -1;
    }
    if (o->kind == OPT_OPTIONAL)
        return opt_set(o, to, value ? value + 1 : NULL, err) == 0 ? 1 : -1;
    if (value)
        value++;
    else if (!is_long && word[2])
        value = word + 2;
    if (value)
        return opt_set(o, to, value, err) == 0 ? 1 : -1;
    if (left < 2)
        return err_set(err, EXIT_ERROR, "--%s needs a value: %s", o->name, o->arg);
    return opt_set(o, to, args[1], err) == 0 ? 2 : -1;
}

int opt_parse(const struct opt *table, void *to, int n, char **args, struct opt_result *ret,
              struct err *err)
{
    *ret = (struct opt_result){.operands = args};
    bool only_operands = false;
    for (int i = 0; i < n;) {
        char *word = args[i];
        if (only_operands || word[0] != '-' || !word[1]) {
            args[ret->n_operands++] = word;
            i++;
        } else if (strcmp(word, "--") == 0) {
            only_operands = true;
            i++;
        } else if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
            ret->help = true;
            i++;
        } else {
            int used = opt_take(table, to, n - i, args + i, err);
            if (used < 0)
                return -1;
            i += used;
        }
    }
    return 0;
}

int opt_front(const struct opt *table, int n, char **args)
{
    int i = 0;
    while (i < n && args[i][0] == '-' && args[i][1]) {
        const char *word = args[i++];
        if (strcmp(word, "--") == 0)
            return i;
        bool is_long = word[1] == '-';
        bool joined = is_long ? strchr(word, '=') != NULL : word[2] != '\0';
        const struct opt *o =
            is_long ? find_long(table, word + 2, strlen(word + 2)) : find_letter(table, word[1]);
        if (o && o->kind != OPT_FLAG && o->kind != OPT_OPTIONAL && !joined && i < n)
            i++;
    }
    return i;
}
