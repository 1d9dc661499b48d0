/*
 * opt.h - command-line options from a table, which is also what help, man pages and completion
 * are made of.
 *
 * Long options match without regard to inner hyphens ("--minwidth" is "--min-width"), so that
 * old habits go on working. "--" ends the options; options and operands may be mixed.
 */
#pragma once
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

enum opt_kind {
    OPT_FLAG,     /* bool */
    OPT_TEXT,     /* const char * */
    OPT_OPTIONAL, /* const char *, from "--name=VALUE" only; "" for "--name" */
    OPT_INT,      /* long; min and max apply */
    OPT_NUMBER,   /* double; min and max apply */
    OPT_SECONDS,  /* double: 2.5, or with a unit, as in 500ms and 10m; min and max apply */
    OPT_CHOICE,   /* const char *, one of choices */
    OPT_LIST,     /* struct opt_list: may be given several times */
};

/* The values of an option in the order given; what does not fit is an error. */
enum { OPT_LIST_MAX = 64 };
struct opt_list {
    const char *at[OPT_LIST_MAX];
    size_t n;
};

struct opt {
    char letter; /* 0 = none */
    const char *name;
    enum opt_kind kind;
    size_t offset;    /* of the field in the command's options struct */
    const char *arg;  /* what the value is called in help; NULL for flags */
    const char *help; /* a sentence without a full stop, defaults included */
    const char
        *choices;      /* "hot mem io": all there are for OPT_CHOICE, else what completion offers */
    const char *alias; /* another long name, not shown in help */
    double min, max;   /* both 0 = any */
};

#define OPT_END \
    {           \
        0       \
    }

struct opt_result {
    char **operands; /* moved to the front of argv */
    int n_operands;
    bool help; /* --help or -h was given */
};

/* Fill TO (already holding defaults) from the N words at ARGS. */
int opt_parse(const struct opt *table, void *to, int n, char **args, struct opt_result *ret,
              struct err *err);

/* Whether WORD is no option, or one of TABLE. */
bool opt_is_known(const struct opt *table, const char *word);

/*
 * How many words of ARGS come before the first operand, a "--" included: for commands whose
 * operands are another command with options of its own.
 */
int opt_front(const struct opt *table, int n, char **args);

/* The word of a list that comes closest to WORD, or NULL if none is near. */
const char *opt_nearest(const char *word, const char *const *list);
