/*
 * conf.h - a suite file, kelvin.conf: what to build, what to run, what to collect, where to
 * publish.
 *
 * Sections are "[build]", or with a name "[workload small]". A value comes from, the last one wins:
 *
 *     the default in the table of keys
 *     kelvin.conf
 *     the environment   KELVIN_BUILD_COMMAND, KELVIN_WORKLOAD_SMALL_RUNS
 *     an option         --set build.command=make, --set workload.small.runs=20
 *
 * and remembers from where. Everything about a key is in one row of conf_keys, for `kelvin init`,
 * `kelvin run --explain`, the checks here and the documentation.
 */
#pragma once
#include "base/buf.h"
#include "base/words.h"

enum conf_kind {
    CONF_TEXT,
    CONF_WORDS, /* separated by blanks or commas; quotes keep them together */
    CONF_INT,
    CONF_NUMBER,
    CONF_PERCENT, /* "10%" or "10"; kept as text */
    CONF_CHOICE,  /* one of choices */
    CONF_CHOICES, /* words, each one of choices */
};

struct conf_key {
    const char *section, *key;
    enum conf_kind kind;
    const char *fallback; /* "" = none */
    const char *help;     /* a sentence without a full stop */
    const char *choices;
    double min, max; /* of numbers; both 0 = any */
};

/* Section NULL at the end. */
extern const struct conf_key conf_keys[];

/* Sections that have a name: "[workload small]". */
enum conf_named { CONF_WORKLOADS, CONF_INPUTS, CONF_METRICS, CONF_VARIANTS, CONF_NAMED };

/* Whether SECTION is one of them. */
bool conf_section_has_name(const char *section);

struct conf_names {
    VEC(char *) at; /* in the order of the file */
};

struct conf_value {
    const struct conf_key *key;
    char *name; /* of the section; "" where it has none */
    char *text;
    char *origin; /* "kelvin.conf:12", "KELVIN_BUILD_COMMAND", "--set", "default" */
    int rank;     /* later origins are not overridden by earlier ones */
};

struct conf {
    char *path;
    VEC(struct conf_value) values; /* one for each key and section, in the order of the file */
    struct conf_names names[CONF_NAMED];
};

void conf_done(struct conf *c);

struct conf_sets {
    const char *const *at; /* "build.command=make" */
    size_t n;
    const char *origin; /* "--set": where they come from */
};

/*
 * Read PATH, then the environment, then the words of SETS. All that is wrong goes to ERRORS, a
 * line each with its place: unknown sections and keys with the nearest name, values of the wrong
 * kind, things said twice. Returns -1 with the first in ERR. Free with conf_done() either way.
 */
int conf_read(struct conf *c, const char *path, struct conf_sets sets, struct buf *errors,
              struct err *err);

/* The same from TEXT, for tests and fuzzing; no environment, no options. */
int conf_parse(struct conf *c, const char *path, struct text text, struct buf *errors,
               struct err *err);

/* The value of KEY, "section.key", NAME being the section's name or "". Not to be freed. */
struct conf_value conf_find(const struct conf *c, const char *name, const char *key);
const char *conf_text(const struct conf *c, const char *name, const char *key);
double conf_number(const struct conf *c, const char *name, const char *key);
bool conf_has(const struct conf *c, const char *name, const char *key, const char *word);

/* Put before ERR where KEY was given, if it was: "kelvin.conf:12: ". Returns -1. */
int conf_fail_at(const struct conf *c, const char *name, const char *key, struct err *err);

/* The words of a value, quotes undone. Free with words_done(). */
struct words conf_words(const struct conf *c, const char *name, const char *key);

/* The names of sections such as "workload"; NULL for those that have none. */
const struct conf_names *conf_section_names(const struct conf *c, const char *section);

/* Whether the value comes from the environment or an option. */
bool conf_overrules(const struct conf_value *v);

/*
 * Where kelvin.conf is: in this folder or the nearest above it; NULL = nowhere. Free it. Fails
 * where that one is another user's: it names commands to run, and one in /tmp must not count for
 * all who work below.
 */
int conf_locate(char **ret, struct err *err);
