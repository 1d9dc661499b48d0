/*
 * pattern.h - extended regular expressions that a user or a link gives, at a bounded cost.
 *
 * The C library's own have no bounds: '(a*)(a*)\1\2b' took more than 20 s for one name of 1,000
 * letters, '(a+)+$' 1.9 s for one of 10,000, '(a{1,200}){1,200}b' more than 20 s, 'a' with 20
 * '+' 1.2 GB, and 60,000 opening parentheses overflow the stack. So:
 *
 *     back-references        refused
 *     {m,n}                  up to 255, which is what every C library takes
 *     parentheses            nested up to 50 deep
 *     size                   up to 1,000 characters, sets and dots with repetitions written out,
 *                            'a+' as 'aa*'
 *     characters alone       ('^operator new\(unsigned long\)$') up to 65,536 bytes, which are
 *                            compared without a regular expression
 *
 * glibc starts anew at each character of a name, which takes the square of its length. Where name
 * and pattern are long, the pattern is made to start at the first character alone ('^.*(...)'). In
 * such a name with line ends, '^' is behind these too; else only at its start.
 */
#pragma once
#include "base/err.h"

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

enum {
    PATTERN_BYTES_MAX = 65536,
    PATTERN_SIZE_MAX = 1000,
    PATTERN_DEPTH_MAX = 50,
    PATTERN_REPEAT_MAX = 255,
    PATTERN_SHORT_WORK = 20000, /* bytes of a name times size of the pattern */
};

struct pattern {
    char *plain; /* what a name must have in it; NULL = RE decides */
    size_t n;    /* its length */
    bool at_start, at_end;
    regex_t re, from_start; /* for short names, for others */
    size_t short_max;       /* bytes of a short one */
};

/* ANY_CASE: upper and lower case are alike. On failure there is nothing to end. */
int pattern_init(struct pattern *p, const char *text, bool any_case, struct err *err);
bool pattern_fits(const struct pattern *p, const char *name);
void pattern_done(struct pattern *p);
