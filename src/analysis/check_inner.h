/*
 * check_inner.h - what the files of the check share.
 */
#pragma once
#include "analysis/check.h"
#include "analysis/flat.h"
#include "analysis/quality.h"
#include "analysis/scopetree.h"
#include "base/buf.h"

struct check_job {
    struct check *check;
    struct rules *rules;
    const struct check_input *in;
    struct flat *list, *before; /* by function; before: NULL where there is none */
    struct quality quality;
    struct scopetree scopes; /* once a rule has asked for it */
    struct selection all_scopes;
    bool has_scopes;
    struct diff *pair; /* once a rule on changes has asked for it */
};

/* A share, or the change of one, with all that is known about it. */
struct check_value {
    double value;
    struct interval interval;
    struct interval wider_by; /* what is judged reaches further, for run-to-run variation */
    bool exact;               /* nothing was sampled: the interval is the value */
    const char *doubt;        /* why there is no interval; NULL = there is one */
    const char *remedy;       /* what would decide it; NULL = more samples */
    const char *noun;         /* what there would have to be more of; NULL = samples */
};

#define CHECK_NO_SAMPLES "the input does not say how many samples it has, so there is no interval"

/* Nothing was sampled: counted or simulated instead. */
static inline bool check_is_exact(const struct selection *s)
{
    return obtained_exactly(s->stream->obtained);
}

/* Each fills RET; -1 after noting an error. */
int check_change(struct check_job *job, const struct rule *rule, struct check_result *ret);
int check_code(struct check_job *job, const struct rule *rule, struct check_result *ret);
int check_heap(struct check_job *job, const struct rule *rule, struct check_result *ret);
int check_scopes(struct check_job *job, const struct rule *rule, struct check_result *ret);
void check_scopes_done(struct check_job *job);
int check_growth(struct check_job *job, const struct rule *rule, struct check_result *ret);
int check_runs(struct check_job *job, const struct rule *rule, struct check_result *ret);
int check_events(struct check_job *job, const struct rule *rule, struct check_result *ret);
int check_hotspot(struct check_job *job, const struct rule *rule, struct check_result *ret);

/* Whether a diff rule about whole runs has nothing to compare them with. Where there are no runs at
 * all that is for check_runs() to say, unless nothing is compared. */
bool check_runs_lack_before(const struct check_job *job);

/* The runs of a benchmark that has items to count, or of a metric; NULL = none of that name. */
const struct check_runs *check_find_rate(const struct check_job *job, const char *name);

/* The metric "NAME/s", as a suite calls what it counts per second; NULL = none. */
const struct check_runs *check_find_items(const struct check_job *job, const char *name);

/* Append the names of all of these, each after ", " or, the first of *N, after nothing. */
void check_list_rates(const struct check_job *job, struct buf *b, size_t *n);
int check_run_rate(struct check_job *job, const struct rule *rule, const struct check_runs *runs,
                   struct check_result *ret);

/*
 * The rows of LIST that the rule's function means, one entry a row, to be freed; NULL with ERR
 * set where there are none or several.
 */
bool *check_find(const struct flat *list, const char *function, struct err *err);

/*
 * The function that has most of a growth: WAS and IS have a value for each row of the two lists.
 * NULL = none grew.
 */
const char *check_most_grown(struct check_job *job, const struct flat *before, const double *was,
                             const struct flat *now, const double *is);

/* The canonical name of the first row in the set. */
struct text check_name(struct check_job *job, const struct flat *list, const bool *in_set);

/* A text that lives as long as the check. */
const char *check_text(struct check_job *job, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Note an error at the rule. Always -1. */
int check_fail(struct check_job *job, const struct rule *rule, const char *text);

/* Compare VALUE with BOUNDS, and say in RET why that decides the rule or not. */
void check_decide(struct check_job *job, const struct check_value *v, struct interval bounds,
                  struct check_result *ret);

/* "90..95%", "at most 5%": a range in words. */
void check_range(struct buf *b, struct interval i, enum rule_unit unit);

/* A number of a unit: "5.0%", "+5.0%", "1.20". */
void check_number(struct buf *b, double value, enum rule_unit unit);
