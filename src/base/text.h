/*
 * text.h - a piece of somebody else's bytes: start and length, not terminated, not owned.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct text {
    const char *at;
    size_t n;
};

/* For printf's "%.*s". */
#define TEXT_ARG(t) (int)((t).n < 1000 ? (t).n : 1000), (t).at

static inline struct text text_of(const char *s)
{
    return (struct text){s, strlen(s)};
}

static inline bool text_is(struct text t, const char *s)
{
    size_t n = strlen(s);
    return t.n == n && memcmp(t.at, s, n) == 0;
}

static inline bool text_starts(struct text t, const char *s)
{
    size_t n = strlen(s);
    return t.n >= n && memcmp(t.at, s, n) == 0;
}

static inline bool text_ends(struct text t, const char *s)
{
    size_t n = strlen(s);
    return t.n >= n && memcmp(t.at + t.n - n, s, n) == 0;
}

/* Of a list that ends with NULL. */
bool text_is_one_of(struct text t, const char *const *list);

/* Without blanks (space, tab, CR) at both ends. */
struct text text_trim(struct text t);

/* Cut off and return the part before the first SEP; T keeps the rest, or is empty at the end. */
struct text text_cut(struct text *t, char sep);

/* The whole of T as a number. False when it is none or does not fit. */
bool text_u64(struct text t, int base, uint64_t *ret);

/*
 * A decimal number with up to nine digits after the point, as VALUE / 10^DECIMALS without
 * trailing zeros: "1.50" gives 15 and 1. False when it is none, is negative or does not fit.
 */
bool text_decimal(struct text t, int64_t *ret_value, int *ret_decimals);
