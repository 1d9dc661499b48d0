/* pattern.c - regular expressions at a bounded cost; see pattern.h. */
#include "base/pattern.h"

#include "base/mem.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* --- what is too much --- */

struct pattern_scan {
    const char *text, *at;
    size_t size, atom; /* of all before AT with repetitions written out; of the last part of it */
    size_t opened[PATTERN_DEPTH_MAX];
    int depth;
    struct err *err;
};

/* Long patterns are cut: the reason must be read too. */
static int pattern_refuse(const struct pattern_scan *s, const char *why)
{
    const char *more = strlen(s->text) > 60 ? "..." : "";
    return err_set(s->err, EXIT_ERROR, "the regular expression '%.60s%s' %s", s->text, more, why);
}

static void scan_atom(struct pattern_scan *s)
{
    s->atom = 1;
    s->size++;
}

/* Behind a '[': to the ']' that ends it. The first may be a ']' itself, and '[:alpha:]' has one. */
static void scan_set(struct pattern_scan *s)
{
    const char *c = s->at;
    c += *c == '^';
    c += *c == ']';
    while (*c && *c != ']') {
        if (*c == '[' && c[1] && strchr(":.=", c[1])) {
            const char end[] = {c[1], ']', '\0'}, *close = strstr(c + 2, end);
            c = close ? close + 1 : c;
        }
        c++;
    }
    s->at = c + (*c == ']');
    scan_atom(s);
}

/* What TIMES of the last part take together. */
static void scan_times(struct pattern_scan *s, size_t times)
{
    if (times > 1) {
        s->size += s->atom * (times - 1);
        s->atom *= times;
    }
}

/* Behind a '{': "3}", "3,}" or "3,5}"; anything else is for regcomp() to judge. Without a most,
 * as with '+', glibc writes one more: 'a+' is 'aa*', 'a++' 'aa*(aa*)*'. */
static int scan_repeat(struct pattern_scan *s)
{
    char *end;
    if (!isdigit((unsigned char)*s->at) && *s->at != ',')
        return 0;
    unsigned long least = strtoul(s->at, &end, 10), most = least;
    bool endless = *end == ',' && !isdigit((unsigned char)end[1]);
    if (*end == ',' && !endless)
        most = strtoul(end + 1, &end, 10);
    if (least > PATTERN_REPEAT_MAX || most > PATTERN_REPEAT_MAX)
        return pattern_refuse(s, "repeats more than 255 times");
    scan_times(s, (most > least ? most : least) + endless);
    s->at = strchr(end, '}') ? strchr(end, '}') + 1 : end;
    return 0;
}

static int scan_escape(struct pattern_scan *s)
{
    if (isdigit((unsigned char)*s->at))
        return pattern_refuse(s, "refers back to a group (\\1), which can take minutes");
    s->at += *s->at != '\0';
    scan_atom(s);
    return 0;
}

static int scan_open(struct pattern_scan *s)
{
    if (s->depth == PATTERN_DEPTH_MAX)
        return pattern_refuse(s, "nests parentheses more than 50 deep");
    s->opened[s->depth++] = s->size;
    return 0;
}

/* To some C libraries one that nothing opens is a character, to others a mistake. */
static int scan_close(struct pattern_scan *s)
{
    if (!s->depth)
        return pattern_refuse(s, "has a ')' that nothing opens: write '\\)'");
    s->atom = s->size - s->opened[--s->depth];
    return 0;
}

static int scan_next(struct pattern_scan *s)
{
    switch (*s->at++) {
    case '\\':
        return scan_escape(s);
    case '[':
        scan_set(s);
        return 0;
    case '{':
        return scan_repeat(s);
    case '(':
        return scan_open(s);
    case ')':
        return scan_close(s);
    case '+':
        scan_times(s, 2);
        return 0;
    case '*':
    case '?':
        return 0;
    default:
        scan_atom(s);
        return 0;
    }
}

static int pattern_check(const char *text, size_t *ret_size, struct err *err)
{
    struct pattern_scan s = {.text = text, .at = text, .err = err};
    while (*s.at) {
        if (scan_next(&s) != 0)
            return -1;
        if (s.size > PATTERN_SIZE_MAX)
            return pattern_refuse(&s, "is too large: at most 1000 characters, with repetitions "
                                      "written out");
    }
    *ret_size = s.size;
    return 0;
}

/* --- characters alone --- */

/* False where it takes a regular expression. */
static bool pattern_read_plain(struct pattern *p, const char *text)
{
    char *out = mem_calloc(strlen(text) + 1, 1);
    size_t n = 0;
    const char *c = text + (*text == '^');
    for (; *c && !(*c == '$' && !c[1]); c++) {
        bool escaped = *c == '\\' && ispunct((unsigned char)c[1]) && !strchr("<>`'", c[1]);
        if (!escaped && strchr("\\^$*+?()[{|.", *c)) {
            free(out);
            return false;
        }
        c += escaped;
        out[n++] = *c;
    }
    *p = (struct pattern){.plain = out, .n = n, .at_start = *text == '^', .at_end = *c == '$'};
    return true;
}

static bool plain_fits(const struct pattern *p, const char *name)
{
    size_t n = strlen(name);
    if (p->at_start)
        return (p->at_end ? n == p->n : n >= p->n) && memcmp(name, p->plain, p->n) == 0;
    if (p->at_end)
        return n >= p->n && memcmp(name + n - p->n, p->plain, p->n) == 0;
    return strstr(name, p->plain) != NULL;
}

/* --- all of it --- */

static int pattern_compile(regex_t *re, const char *text, int flags, struct err *err)
{
    char why[120];
    int rc = regcomp(re, text, flags);
    if (rc == 0)
        return 0;
    regerror(rc, re, why, sizeof why);
    return err_set(err, EXIT_ERROR, "'%.80s%s' is not a regular expression: %s", text,
                   strlen(text) > 80 ? "..." : "", why);
}

int pattern_init(struct pattern *p, const char *text, bool any_case, struct err *err)
{
    int flags = REG_EXTENDED | REG_NOSUB | (any_case ? REG_ICASE : 0);
    size_t size;
    *p = (struct pattern){0};
    if (strlen(text) > PATTERN_BYTES_MAX)
        return err_set(err, EXIT_ERROR, "a regular expression has more than %d bytes",
                       PATTERN_BYTES_MAX);
    if (!any_case && pattern_read_plain(p, text))
        return 0;
    if (pattern_check(text, &size, err) != 0 || pattern_compile(&p->re, text, flags, err) != 0)
        return -1;
    p->short_max = PATTERN_SHORT_WORK / (size + 1);
    autofree char *from_start = mem_printf("^.*(%s)", text);
    if (pattern_compile(&p->from_start, from_start, flags, err) == 0)
        return 0;
    regfree(&p->re);
    return -1;
}

bool pattern_fits(const struct pattern *p, const char *name)
{
    if (p->plain)
        return plain_fits(p, name);
    bool is_short = strnlen(name, p->short_max + 1) <= p->short_max;
    return regexec(is_short ? &p->re : &p->from_start, name, 0, NULL, 0) == 0;
}

void pattern_done(struct pattern *p)
{
    if (!p->plain) {
        regfree(&p->re);
        regfree(&p->from_start);
    }
    free(p->plain);
}
