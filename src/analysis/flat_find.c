/* flat_find.c - a row by what a person types. */
#include "analysis/flat.h"
#include "base/shortname.h"

/* An error's text has room for so many bytes of names, the last one of full width. */
enum { LISTED = 8, LISTED_BYTES = 90, NAME_WIDTH = 60, NEAR_MAX = 64 };

/* Number of letters to change; both words are short. */
static size_t flat_find_distance(struct text a, struct text b)
{
    size_t row[NEAR_MAX + 1];
    for (size_t j = 0; j <= b.n; j++)
        row[j] = j;
    for (size_t i = 1; i <= a.n; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b.n; j++) {
            size_t replace = diagonal + (a.at[i - 1] != b.at[j - 1]);
            size_t step = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            diagonal = row[j];
            row[j] = replace < step ? replace : step;
        }
    }
    return row[b.n];
}

/* What stands behind the last "::". */
static struct text last_part(struct text name)
{
    for (size_t i = name.n; i-- > 2;)
        if (name.at[i - 1] == ':' && name.at[i - 2] == ':')
            return (struct text){name.at + i, name.n - i};
    return name;
}

static size_t distance_to(struct text word, struct text name)
{
    struct text part = last_part(name);
    return word.n > NEAR_MAX || part.n > NEAR_MAX ? SIZE_MAX : flat_find_distance(word, part);
}

/* Whether there is a function NAME(...) without parameters in its name: then all its overloads are
 * one. */
static bool has_without_parameters(const struct flat *f, struct text word, struct text *ret)
{
    const char *open = memchr(word.at, '(', word.n);
    *ret = (struct text){word.at, open ? (size_t)(open - word.at) : 0};
    for (uint32_t i = 0; i < f->rows.n && ret->n; i++) {
        struct text row = flat_name(f, i);
        if (row.n == ret->n && memcmp(row.at, ret->at, row.n) == 0)
            return true;
    }
    return false;
}

static int none_found(const struct flat *f, struct text word, struct err *err)
{
    struct text bare;
    if (has_without_parameters(f, word, &bare))
        return err_set(err, EXIT_ERROR,
                       "no function '%.*s' in the profile, where names have no parameters: '%.*s' "
                       "is all its overloads",
                       TEXT_ARG(word), TEXT_ARG(bare));
    autobuf struct buf b = {0};
    size_t n = 0, limit = word.n / 3 + 1;
    for (size_t d = 1; d <= limit && n < 3; d++)
        for (uint32_t i = 0; i < f->rows.n && n < 3; i++)
            if (distance_to(word, flat_name(f, i)) == d)
                buf_printf(&b, "%s'%.*s'", n++ ? ", " : "", TEXT_ARG(flat_name(f, i)));
    if (n)
        return err_set(err, EXIT_ERROR, "no function '%.*s' in the profile; did you mean: %s?",
                       TEXT_ARG(word), buf_cstr(&b));
    return err_set(err, EXIT_ERROR, "no function '%.*s' in the profile, and nothing similar",
                   TEXT_ARG(word));
}

static int many_found(const struct flat *f, struct text word, const bool *in_set, struct err *err)
{
    autobuf struct buf b = {0};
    autofree uint32_t *rows = mem_calloc(f->rows.n, sizeof *rows);
    size_t n_rows = flat_top(f, FLAT_TOTAL, f->rows.n, rows), n = 0, listed = 0;
    for (size_t i = 0; i < n_rows; i++)
        if (in_set[rows[i]] && n++ < LISTED && b.n < LISTED_BYTES) {
            buf_str(&b, n > 1 ? ", " : "");
            shortname_add(&b, flat_name(f, rows[i]), NAME_WIDTH);
            listed++;
        }
    if (n > listed)
        buf_printf(&b, " and %zu more", n - listed);
    return err_set(err, EXIT_ERROR, "'%.*s' matches %zu functions: %s. Give the full name",
                   TEXT_ARG(word), n, buf_cstr(&b));
}

int flat_find(const struct flat *f, const char *name, bool *ret_in_set, struct err *err)
{
    struct text word = text_of(name);
    size_t n_exact = 0, n_short = 0, n_parts = 0;
    for (uint32_t i = 0; i < f->rows.n; i++) {
        ret_in_set[i] = f->rows.at[i].total > 0 && text_is(flat_name(f, i), name);
        n_exact += ret_in_set[i];
    }
    for (uint32_t i = 0; i < f->rows.n && !n_exact; i++)
        n_short += ret_in_set[i] = f->rows.at[i].total > 0 && shortname_is(flat_name(f, i), word);
    if (n_exact || n_short)
        return 0;
    for (uint32_t i = 0; i < f->rows.n; i++) {
        struct text row = flat_name(f, i);
        ret_in_set[i] = f->rows.at[i].total > 0 && memmem(row.at, row.n, word.at, word.n);
        n_parts += ret_in_set[i];
    }
    if (n_parts == 1)
        return 0;
    return n_parts && word.n ? many_found(f, word, ret_in_set, err) : none_found(f, word, err);
}
