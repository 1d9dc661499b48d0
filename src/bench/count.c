/* count.c - who counts, and valgrind's answer. */
#include "bench/count.h"
#include "base/mem.h"
#include "base/program.h"

#include <math.h>

/* 9 is STARTER_ANSWER_FD. */
#define VALGRIND(sim)                                                                       \
    "valgrind", "--tool=cachegrind", "--cache-sim=" sim, "--branch-sim=" sim, "--log-fd=9", \
        "--cachegrind-out-file=/dev/null", NULL

#define COUNTED_MISSES (COUNTED(MEASURE_CACHE_MISSES) | COUNTED(MEASURE_BRANCH_MISSES))

const char *const *count_valgrind_words(unsigned set)
{
    static const char *const plain[] = {VALGRIND("no")}, *const model[] = {VALGRIND("yes")};
    return set & COUNTED_MISSES ? model : plain;
}

int count_read(const char *words, unsigned *ret_set, enum measure *ret_first, struct err *err)
{
    static const enum measure known[] = {MEASURE_INSTRUCTIONS, MEASURE_CYCLES, MEASURE_CACHE_MISSES,
                                         MEASURE_BRANCH_MISSES, MEASURE_ALLOCATIONS};
    struct text rest = text_of(words);
    *ret_set = 0;
    do {
        struct text word = text_cut(&rest, ',');
        enum measure found = MEASURES;
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            if (text_is(word, measure_infos[known[i]].name))
                found = known[i];
        if (found == MEASURES)
            return err_set(err, EXIT_ERROR,
                           "'%.*s' cannot be counted: there are instructions, cycles, "
                           "cache-misses, branch-misses and allocations",
                           TEXT_ARG(word));
        *ret_first = *ret_set ? *ret_first : found;
        *ret_set |= COUNTED(found);
    } while (rest.n);
    if (*ret_set & COUNTED(MEASURE_ALLOCATIONS) && *ret_set != COUNTED(MEASURE_ALLOCATIONS))
        return err_set(err, EXIT_ERROR, "allocations are counted alone");
    return 0;
}

int count_find(unsigned set, enum count_by *ret, struct err *err)
{
    const char *why = "";
    *ret = COUNT_BY_CPU;
    if (counter_works(set, &why))
        return 0;
    if (set & COUNTED(MEASURE_CYCLES))
        return err_set(err, EXIT_ERROR,
                       "cycles cannot be counted: %s, and no simulator has them; instructions, "
                       "cache-misses and branch-misses can be simulated",
                       why);
    *ret = set & COUNTED_MISSES ? COUNT_BY_MODEL : COUNT_BY_VALGRIND;
    if (program_exists("valgrind"))
        return 0;
    return err_set(err, EXIT_ERROR,
                   "instructions cannot be counted: %s, and valgrind is not installed: "
                   "'apt install valgrind'",
                   why);
}

static double count_digits(const char *from, const char *end)
{
    double n = 0;
    for (; from < end && *from != '('; from++)
        if (*from >= '0' && *from <= '9')
            n = n * 10 + (*from - '0');
    return n;
}

/* "==123== I   refs:      70,125,467", "==123== Mispredicts:  1,234  (  1,000 cond + ...)" */
void count_parse(struct text said, unsigned set, double *values)
{
    static const struct {
        enum measure measure;
        const char *starts, *title;
    } lines[] = {{MEASURE_INSTRUCTIONS, "== I", "refs:"},
                 {MEASURE_CACHE_MISSES, "== LL", "LL misses:"},
                 {MEASURE_BRANCH_MISSES, "== Mis", "Mispredicts:"}};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        values[lines[i].measure] = NAN;
    while (said.n > 0) {
        struct text line = text_cut(&said, '\n');
        for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
            const char *mark = memmem(line.at, line.n, lines[i].title, strlen(lines[i].title));
            if (mark && set & COUNTED(lines[i].measure) && isnan(values[lines[i].measure]) &&
                memmem(line.at, line.n, lines[i].starts, strlen(lines[i].starts)))
                values[lines[i].measure] =
                    count_digits(mark + strlen(lines[i].title), line.at + line.n);
        }
    }
}

const char *count_words(enum count_by by)
{
    static const char *const words[] = {
        [COUNT_BY_CPU] = "counts of user code, by the CPU's counters",
        [COUNT_BY_VALGRIND] = ("instructions in user code, by valgrind: of the first process only, "
                               "and without the newest vector instructions"),
        [COUNT_BY_MODEL] = ("user code as valgrind simulates it, with its model of caches and "
                            "branches, not this CPU's: of the first process only"),
        [COUNT_ALLOCATIONS] = "blocks of the command and all it starts, by a preloaded library",
    };
    return words[by];
}
