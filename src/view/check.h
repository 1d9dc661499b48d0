/*
 * check.h - what became of the rules, and how cost grows: text, markdown, JSON, JUnit XML.
 *
 * Everything is borrowed.
 */
#pragma once
#include "analysis/check.h"
#include "analysis/scaling.h"
#include "view/document.h"

struct check_view {
    const char *subject;               /* the profile's file */
    const struct selection *selection; /* what was checked */
    const char *rules_name;            /* the file of the rules; NULL = there are none */
    const struct check *check;         /* NULL = there are no rules */
    const struct scaling *scaling;     /* NULL = one size only */
    const char *against;               /* the file that changes are told from, or NULL */
    const char *unlike; /* why profiles should not be compared, a line each; "" = nothing */
};

/* The parts of a page: the rules as a table with evidence below, growth as two tables. */
void check_add_rules(struct document *d, const struct check_view *v);
void check_add_growth(struct document *d, const struct scaling *s);

void check_print_text(FILE *out, const struct check_view *v, int width, bool colour);
void check_print_markdown(FILE *out, const struct check_view *v);
void check_print_json(FILE *out, const struct check_view *v);

/* A test case a rule: what fails is a failure, what is inconclusive is skipped, with the reason. */
void check_print_junit(FILE *out, const struct check_view *v);
