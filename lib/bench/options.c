/* options.c - what was asked for: by kelvin bench, by the environment, on the command line. */
#include "base/buf.h"
#include "bench.h"
#include "protocol.h"

/* Options for every benchmark program that is started from here: "--quick --limit 60". */
#define OPTIONS_ENV "KELVIN_BENCH_OPTIONS"

static const struct opt table[] = {
    {'f', "filter", OPT_LIST, offsetof(struct options, filter), "TEXT",
     "only names with TEXT in them, or that match it as a pattern such as 'sort*'"},
    {'l', "list", OPT_FLAG, offsetof(struct options, list), NULL, "print the names and exit"},
    {'q', "quick", OPT_FLAG, offsetof(struct options, quick), NULL,
     "0.2 s of warm-up, 0.8 s and 50 samples each: for CI"},
    {'w', "warm-up", OPT_SECONDS, offsetof(struct options, warm_up_s), "SECONDS",
     "how long to warm each one up (default 3)", NULL, NULL, 0, 3600},
    {'t', "time", OPT_SECONDS, offsetof(struct options, time_s), "SECONDS",
     "how long to measure each one (default 5)", NULL, NULL, 0.001, 86400},
    {'n', "samples", OPT_INT, offsetof(struct options, samples), "N",
     "rounds into which that time is divided (default 100)", NULL, NULL, 2, 100000},
    {0, "limit", OPT_SECONDS, offsetof(struct options, limit_s), "SECONDS",
     "give up on one that takes longer than this; 0 = never (default 600)", NULL, NULL, 0, 1e6},
    {0, "inputs", OPT_NUMBER, offsetof(struct options, inputs), "N",
     "how many inputs to try in each KELVIN_EQUAL (default 1000000, with --quick 100000)", NULL,
     NULL, 1, 1e12},
    {0, "seed", OPT_NUMBER, offsetof(struct options, seed), "N",
     "which inputs those are (default 1)", NULL, NULL, 1, 9e15},
    {0, "preemptions", OPT_INT, offsetof(struct options, preemptions), "N",
     "most preemptions in a schedule of KELVIN_INTERLEAVE (default 2)", NULL, NULL, 0, 20},
    {0, "schedules", OPT_NUMBER, offsetof(struct options, schedules), "N",
     "most schedules to try in each KELVIN_INTERLEAVE (default 100000, with --quick 10000)", NULL,
     NULL, 1, 1e12},
    {0, "schedule", OPT_TEXT, offsetof(struct options, schedule), "WORD",
     "run KELVIN_INTERLEAVE under this schedule only; a failure prints its word"},
    {0, "json", OPT_FLAG, offsetof(struct options, json), NULL,
     "print JSON for programs, one object per line"},
    OPT_END,
};

static void help(const char *program)
{
    printf("Usage: %s [OPTION]... [NAME]...\n"
           "Run the benchmarks of this program, or those named.\n\n",
           program);
    for (const struct opt *o = table; o->name; o++) {
        char left[40];
        snprintf(left, sizeof left, "--%s%s%s", o->name, o->arg ? " " : "", o->arg ? o->arg : "");
        printf("  %c%c%s %-18s %s\n", o->letter ? '-' : ' ', o->letter ? o->letter : ' ',
               o->letter ? "," : " ", left, o->help);
    }
    printf("\n"
           "Times are per iteration, with a 95%% interval. Options can also be set in the "
           "environment:\n" OPTIONS_ENV
           "='--quick'. Under 'kelvin bench' results are kept and compared.\n"
           "Exit codes: 0 all passed, 1 an error, 3 a gate failed.\n");
}

/* --- what kelvin bench asks for --- */

static bool ask_number(struct text value, double *ret)
{
    int64_t digits;
    int decimals;
    if (!text_decimal(value, &digits, &decimals))
        return false;
    *ret = (double)digits;
    while (decimals-- > 0)
        *ret /= 10;
    return true;
}

static int ask_word(struct options *o, struct text key, struct text value, struct err *err)
{
    double number;
    static const char *const known[] = {"warmup_ms", "measure_ms", "samples", "limit_s",
                                        "list",      "seed",       "inputs",  NULL};
    size_t i = 0;
    while (known[i] && !text_is(key, known[i]))
        i++;
    if (!known[i])
        return 0;
    if (!ask_number(value, &number))
        return err_set(err, EXIT_ERROR, PROTOCOL_ASK ": '%.*s' is not a number for %s",
                       TEXT_ARG(value), known[i]);
    switch (i) {
    case 0:
        o->warm_up_s = number / 1e3;
        break;
    case 1:
        o->time_s = number / 1e3;
        break;
    case 2:
        o->samples = (long)(number < 2 ? 2 : number > 100000 ? 100000 : number);
        break;
    case 3:
        o->limit_s = number;
        break;
    case 4:
        o->list = number != 0;
        break;
    case 5:
        o->seed = number;
        break;
    default:
        o->inputs = number;
    }
    return 0;
}

static int read_ask(struct options *o, const char *ask, struct err *err)
{
    o->ask = mem_strdup(ask);
    struct text left = text_of(o->ask);
    while (left.n) {
        if (text_starts(left, "filter=")) {
            o->filter.at[o->filter.n++] = left.at + strlen("filter=");
            return 0;
        }
        if (text_starts(left, "only=")) {
            o->only = left.at + strlen("only=");
            return 0;
        }
        struct text word = text_cut(&left, ' ');
        struct text key = text_cut(&word, '=');
        if (ask_word(o, key, word, err) < 0)
            return -1;
    }
    return 0;
}

/* --- the environment and the command line --- */

static int read_env(struct options *o, const char *words, struct err *err)
{
    o->words = mem_strdup(words);
    VEC(char *) args = {0};
    for (char *rest = o->words, *word; (word = strsep(&rest, " \t"));)
        if (*word)
            *vec_push(&args) = word;
    struct opt_result got;
    int status = opt_parse(table, o, (int)args.n, args.at, &got, err);
    if (status == 0 && (got.n_operands || got.help))
        status = err_set(err, EXIT_ERROR, OPTIONS_ENV " takes options with their values only");
    vec_done(&args);
    return status;
}

static void options_settle(struct options *o)
{
    if (o->warm_up_s < 0)
        o->warm_up_s = o->quick ? 0.2 : 3;
    if (o->time_s < 0)
        o->time_s = o->quick ? 0.8 : 5;
    if (o->samples < 0)
        o->samples = o->quick ? 50 : 100;
    if (!(o->schedules > 0))
        o->schedules = o->quick ? 1e4 : 1e5;
}

int options_read(struct options *o, int n, char **args, struct opt_result *ret, struct err *err)
{
    *o = (struct options){
        .warm_up_s = -1, .time_s = -1, .samples = -1, .limit_s = 600, .preemptions = 2};
    const char *ask = getenv(PROTOCOL_FD) ? getenv(PROTOCOL_ASK) : NULL;
    const char *words = getenv(OPTIONS_ENV);
    if (words && read_env(o, words, err) < 0)
        return -1;
    if (ask && read_ask(o, ask, err) < 0)
        return -1;
    if (opt_parse(table, o, n - 1, args + 1, ret, err) < 0)
        return -1;
    options_settle(o);
    if (ret->help)
        help(args[0]);
    return ret->help;
}

void options_done(struct options *o)
{
    free(o->words);
    free(o->ask);
    o->words = o->ask = NULL;
}
