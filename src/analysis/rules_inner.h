/*
 * rules_inner.h - how a line of rules is read: words, names, numbers, ranges. Shared by rules*.c.
 *
 * Each of these notes an error at its place and returns -1, so that a form of rule (rules.c) is a
 * chain of them.
 */
#pragma once
#include "analysis/rules.h"

/* A line that is being read. */
struct rule_line {
    struct rules *rules;
    const char *start;
    struct text rest; /* what has not been read yet */
    uint32_t number;
    const char *noun; /* what names are of: "function" */
    bool no_points;   /* it is no share: its change is in % only */
};

/* A piece of a line, and where it stands. */
struct rule_token {
    struct text text;
    const char *at;
    bool quoted;
};

/* The text at a place, for a message: short, and without anything that a terminal would act on. */
struct rule_shown {
    char text[48];
};

struct rule_shown rule_show(struct text t);

/* Characters of the line before AT, and 1. */
uint32_t rule_column_of(const struct rule_line *l, const char *at);

/* Note an error at AT. Always -1. */
__attribute__((format(printf, 3, 4))) int rule_fail(struct rule_line *l, const char *at,
                                                    const char *fmt, ...);

/* Step over blanks; a comment ends the line. Whether there is more. */
bool rule_more(struct rule_line *l);

/* The next word of the language, or an empty one at the end: "samples" of "samples>=200". */
struct rule_token rule_take_word(struct rule_line *l);

/* A name of l->noun, in quotes or not. */
int rule_take_name(struct rule_line *l, struct rule_token *ret);

bool rule_take_char(struct rule_line *l, char c);
int rule_take_number(struct rule_line *l, double *ret);

/* How many bytes of T are a number: sign, digits, point; 0 = none. */
size_t rule_number_length(struct text t);

/* "<= 5%", ">= 5%", "5..10%", and "== 0" of what is counted; r->unit says of what. */
int rule_take_range(struct rule_line *l, struct rule_range *r);

/* Is a range next? Then there is no name. */
bool rule_range_follows(struct rule_line *l);

/* The name that the rule is about: of l->noun. */
int rule_take_function(struct rule_line *l, struct rule *rule);

/* rules_runs.c: forms about measured runs, counters and expected hotspots. */
int rule_parse_runs(struct rule_line *l, struct rule *rule);
int rule_parse_events(struct rule_line *l, struct rule *rule);
int rule_parse_hotspot(struct rule_line *l, struct rule *rule);
