/*
 * notices.c - what went wrong in a run, for forges.
 */
#include "suite/notices.h"
#include "base/json.h"
#include "base/utf8.h"
#include "suite/suite.h"

#include <ctype.h>
#include <stdlib.h>
#include <xxhash.h>

struct note {
    bool error; /* else a warning */
    char *title, *text;
    const char *file; /* relative to the repository; NULL = none in particular */
    char *own_file;   /* to be freed; NULL = FILE is another's */
    uint32_t line;
};

struct notes {
    VEC(struct note) at;
};

static void notes_done(struct notes *n)
{
    for (size_t i = 0; i < n->at.n; i++) {
        free(n->at.at[i].title);
        free(n->at.at[i].text);
        free(n->at.at[i].own_file);
    }
    vec_done(&n->at);
}

/* --- what there is to say --- */

static struct note *notices_add(struct notes *n, bool error, const struct suite_result *r,
                                const char *what)
{
    struct note *to = vec_push(&n->at);
    *to = (struct note){.error = error, .title = mem_printf("%s %s", r->workload.name, what)};
    return to;
}

static void add_regression(struct notes *n, const struct suite *s, const struct suite_result *r)
{
    autobuf struct buf b = {0};
    struct note *to = notices_add(n, true, r, "regressed");
    for (int i = 0; i < COMPARISONS; i++)
        if (r->has_compared[i] && r->compared[i].gate == GATE_BROKEN) {
            suite_say_comparison(&b, s, r, &r->compared[i]);
            buf_str(&b, ". ");
        }
    for (size_t i = 0; r->benchmarks && i < r->benchmarks->outcome.against.n; i++)
        if (r->benchmarks->outcome.against.at[i].gate == GATE_BROKEN) {
            suite_say_comparison(&b, s, r, &r->benchmarks->outcome.against.at[i]);
            buf_str(&b, ". ");
        }
    for (size_t i = 0; i < r->metrics.n; i++)
        if (r->metrics.at[i].has_compared && r->metrics.at[i].compared.gate == GATE_BROKEN) {
            metric_say(&b, r->metrics.at[i].metric, &r->metrics.at[i].compared);
            buf_str(&b, ". ");
        }
    if (!b.n && r->diff)
        buf_printf(&b, "recordings in turns: %s; %s. ", diff_verdict_names[r->diff->verdict],
                   r->diff->why);
    if (r->culprit)
        buf_printf(&b, "Look at %s.", r->culprit);
    struct text text = text_trim(buf_text(&b));
    to->text = mem_strndup(text.at, text.n);
    to->file = r->culprit_file;
    to->line = r->culprit_line;
}

static void add_rules(struct notes *n, const struct suite_result *r)
{
    for (size_t i = 0; r->has_check && i < r->check.results.n; i++) {
        const struct check_result *c = &r->check.results.at[i];
        if (c->verdict == CHECK_HOLDS || c->verdict == CHECK_SKIPPED)
            continue;
        struct note *to =
            notices_add(n, c->verdict == CHECK_FAILS, r,
                        c->verdict == CHECK_FAILS ? "fails a rule" : "leaves a rule inconclusive");
        to->text = mem_printf("%s: %s", c->rule->text, c->why);
        to->file = r->rules_file;
        to->line = c->rule->line;
    }
}

/* How many, and the first ones of each finder. */
static char *all_findings(const struct suite_result *r)
{
    autobuf struct buf b = {0};
    size_t n = suite_count_findings(r);
    buf_printf(&b, "%zu finding%s.\n", n, n == 1 ? "" : "s");
    for (int i = 0; i < SUITE_FINDERS; i++)
        buf_str(&b, r->findings[i].text ? r->findings[i].text : "");
    return mem_strdup(buf_cstr(&b));
}

/* How many of T's bytes at AT are digits. */
static size_t digits_at(struct text t, size_t at)
{
    size_t n = 0;
    while (at + n < t.n && isdigit((unsigned char)t.at[at + n]))
        n++;
    return n;
}

/*
 * The file of the first place in LINE, at whose end the line's number is: "data race in f
 * (app.c:48)", "overflow in g (app.c:9): WRITE of size 8", "load of null pointer at app.c:7". None:
 * of 0 bytes.
 */
static struct text place_in(struct text line, uint32_t *ret_line)
{
    for (size_t i = 0; i < line.n; i++) {
        size_t n = line.at[i] == ':' ? digits_at(line, i + 1) : 0, end = i + 1 + n;
        bool closed = end < line.n && line.at[end] == ')';
        if (!n || n > 9 || (!closed && end < line.n && line.at[end] != ':'))
            continue;
        const char *before = memrchr(line.at, closed ? '(' : ' ', i);
        if (!before || before + 1 == line.at + i ||
            (!closed && !text_ends((struct text){line.at, (size_t)(before - line.at)}, " at")))
            continue;
        *ret_line = (uint32_t)strtoul(line.at + i + 1, NULL, 10);
        return (struct text){before + 1, (size_t)(line.at + i - before - 1)};
    }
    return (struct text){0};
}

/* At the first of them that has a place. */
static void place_findings(struct note *to)
{
    struct text rest = text_of(to->text);
    while (rest.n && !to->own_file) {
        struct text file = place_in(text_cut(&rest, '\n'), &to->line);
        if (file.n)
            to->file = to->own_file = mem_strndup(file.at, file.n);
    }
}

static void notices_add_result(struct notes *n, const struct suite *s, const struct suite_result *r)
{
    if (r->failure)
        notices_add(n, true, r, "failed")->text = mem_printf("It %s.", r->failure);
    if (r->outcome == SUITE_REGRESSED)
        add_regression(n, s, r);
    add_rules(n, r);
    if (r->too_many_findings) {
        struct note *to = notices_add(n, true, r, "has findings");
        to->text = all_findings(r);
        place_findings(to);
    }
    if (suite_undecided(r))
        notices_add(n, false, r, "is not decided")->text =
            mem_strdup("Too few runs to decide whether it is slower than allowed.");
    for (size_t i = 0; r->benchmarks && i < r->benchmarks->gone.n; i++)
        notices_add(n, false, r, "lost a benchmark")->text =
            mem_printf("The baseline has '%s'; this run does not.", r->benchmarks->gone.at[i]);
    for (size_t i = 0; i < r->metrics.n && !r->failure; i++)
        if (r->metrics.at[i].absent) {
            autofree char *what = mem_printf("has no metric %s", r->metrics.at[i].metric->name);
            notices_add(n, false, r, what)->text =
                mem_strdup(suite_why_no_metric(&r->metrics.at[i]));
        }
    for (int i = 0; i < COLLECTS && !r->failure; i++)
        if (r->absent[i]) {
            autofree char *what = mem_printf("has no %s", collect_names[i]);
            notices_add(n, false, r, what)->text = mem_strdup(r->absent[i]);
        }
}

/* --- GitHub's lines --- */

/* Line ends and % end a command; : and , end a property. What would act on a terminal becomes '?'.
 */
static void put_escaped(FILE *out, const char *text, bool property)
{
    autobuf struct buf b = {0};
    const char *special = property ? "%\r\n:," : "%\r\n";
    while (*text) {
        size_t n = strcspn(text, special);
        utf8_plain(&b, (struct text){text, n});
        text += n;
        if (*text)
            buf_printf(&b, "%%%02X", (unsigned)(unsigned char)*text++);
    }
    fwrite(b.at, 1, b.n, out);
}

static void put_github(FILE *out, const struct note *n)
{
    fputs(n->error ? "::error " : "::warning ", out);
    if (n->file) {
        fputs("file=", out);
        put_escaped(out, n->file, true);
        fprintf(out, ",line=%u,", n->line ? n->line : 1);
    }
    fputs("title=", out);
    put_escaped(out, n->title, true);
    fputs("::", out);
    put_escaped(out, n->text, false);
    fputc('\n', out);
}

/* --- GitLab's report --- */

static void notices_put_str(struct json *j, const char *key, const char *value)
{
    json_key(j, key);
    json_str(j, value);
}

static void put_place(struct json *j, const struct note *n)
{
    json_key(j, "location");
    json_open(j, '{');
    notices_put_str(j, "path", n->file ? n->file : "kelvin.conf");
    json_key(j, "lines");
    json_open(j, '{');
    json_key(j, "begin");
    json_uint(j, n->line ? n->line : 1);
    json_close(j, '}');
    json_close(j, '}');
}

/* The same finding has the same fingerprint in the next run, whatever its figures. */
static void put_gitlab(struct json *j, const struct note *n)
{
    char id[17];
    autofree char *key = mem_printf("%s %s %u", n->title, n->file ? n->file : "", n->line);
    snprintf(id, sizeof id, "%016llx", (unsigned long long)XXH3_64bits(key, strlen(key)));
    autofree char *said = mem_printf("%s: %s", n->title, n->text);
    json_open(j, '{');
    notices_put_str(j, "description", said);
    notices_put_str(j, "check_name", "kelvin");
    notices_put_str(j, "fingerprint", id);
    notices_put_str(j, "severity", n->error ? "major" : "minor");
    put_place(j, n);
    json_close(j, '}');
}

void notices_print(FILE *out, const struct suite *s, const char *why, enum notices_format format)
{
    struct notes n = {0};
    struct json j = {.out = out};
    if (why)
        *vec_push(&n.at) = (struct note){
            .error = true, .title = mem_strdup("kelvin run ended early"), .text = mem_strdup(why)};
    for (size_t i = 0; i < s->results.n && !why; i++)
        notices_add_result(&n, s, &s->results.at[i]);
    if (format == NOTICES_GITLAB)
        json_open(&j, '[');
    for (size_t i = 0; i < n.at.n; i++)
        if (format == NOTICES_GITHUB)
            put_github(out, &n.at.at[i]);
        else
            put_gitlab(&j, &n.at.at[i]);
    if (format == NOTICES_GITLAB) {
        json_close(&j, ']');
        fputc('\n', out);
    }
    notes_done(&n);
}
