/*
 * check_junit.c - rules as the XML that build servers read.
 *
 * JUnit knows passed, failed and skipped. An inconclusive rule was neither kept nor broken, which
 * is what skipped says: it turns no build red by itself, but is counted and has its reason.
 */
#include "base/utf8.h"
#include "view/caption.h"
#include "view/check.h"

static void attribute(FILE *out, const char *name, struct text value)
{
    autobuf struct buf b = {0};
    utf8_xml(&b, value);
    fprintf(out, " %s=\"%s\"", name, buf_cstr(&b));
}

static void element(FILE *out, const char *name, const char *message, const char *text)
{
    autobuf struct buf b = {0};
    utf8_xml(&b, text_of(text));
    fprintf(out, "      <%s", name);
    if (message)
        attribute(out, "message", text_of(message));
    fprintf(out, ">%s</%s>\n", buf_cstr(&b), name);
}

static void test_case(FILE *out, const struct check_view *v, const struct check_result *r)
{
    fputs("    <testcase", out);
    attribute(out, "classname", text_of(v->rules_name));
    attribute(out, "name", text_of(r->rule->text));
    attribute(out, "file", text_of(v->rules_name));
    fprintf(out, " line=\"%u\">\n", r->rule->line);
    autofree char *message = mem_printf("%s: observed %s, expected %s",
                                        check_verdict_names[r->verdict], r->observed, r->expected);
    if (r->verdict == CHECK_FAILS)
        element(out, "failure", message, r->why);
    else if (r->verdict == CHECK_INCONCLUSIVE || r->verdict == CHECK_SKIPPED)
        element(out, "skipped", message, r->why);
    else
        element(out, "system-out", NULL, r->why);
    fputs("    </testcase>\n", out);
}

static void check_junit_counts(FILE *out, const struct check *c)
{
    fprintf(out, " tests=\"%zu\" failures=\"%zu\" errors=\"0\" skipped=\"%zu\">\n", c->results.n,
            c->n[CHECK_FAILS], c->n[CHECK_INCONCLUSIVE]);
}

static void property(FILE *out, const char *name, struct text value)
{
    fputs("      <property", out);
    attribute(out, "name", text_of(name));
    attribute(out, "value", value);
    fputs("/>\n", out);
}

void check_print_junit(FILE *out, const struct check_view *v)
{
    autobuf struct buf caption = {0};
    caption_build(&caption, v->selection);
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"kelvin check\"", out);
    check_junit_counts(out, v->check);
    fputs("  <testsuite", out);
    attribute(out, "name", text_of(v->rules_name));
    check_junit_counts(out, v->check);
    fputs("    <properties>\n", out);
    property(out, "profile", text_of(v->subject));
    property(out, "recorded", buf_text(&caption));
    fputs("    </properties>\n", out);
    for (size_t i = 0; i < v->check->results.n; i++)
        test_case(out, v, &v->check->results.at[i]);
    fputs("  </testsuite>\n</testsuites>\n", out);
}
