/* count.c - who counts instructions, and valgrind's answer. */
#include "bench/count.h"
#include "base/program.h"
#include "bench/counter.h"

#include <math.h>

/* 9 is STARTER_ANSWER_FD. */
const char *const count_valgrind_words[] = {
    "valgrind",
    "--tool=cachegrind",
    "--cache-sim=no",
    "--branch-sim=no",
    "--log-fd=9",
    "--cachegrind-out-file=/dev/null",
    NULL,
};

int count_find(enum count_by *ret, struct err *err)
{
    const char *why = "";
    *ret = COUNT_BY_CPU;
    if (counter_works(&why))
        return 0;
    *ret = COUNT_BY_VALGRIND;
    if (program_exists("valgrind"))
        return 0;
    return err_set(err, EXIT_ERROR,
                   "instructions cannot be counted: %s, and valgrind is not installed: "
                   "'apt install valgrind'",
                   why);
}

/* "==123== I   refs:      70,125,467" */
double count_parse(struct text said)
{
    double n = NAN;
    while (said.n > 0) {
        struct text line = text_cut(&said, '\n');
        const char *mark = memmem(line.at, line.n, "refs:", 5);
        if (!mark || !memmem(line.at, line.n, "== I", 4) || !isnan(n))
            continue;
        n = 0;
        for (const char *c = mark + 5; c < line.at + line.n; c++)
            if (*c >= '0' && *c <= '9')
                n = n * 10 + (*c - '0');
    }
    return n;
}

const char *count_words(enum count_by by)
{
    static const char *const words[] = {
        [COUNT_BY_CPU] = "instructions in user code, by the CPU's counter",
        [COUNT_BY_VALGRIND] = ("instructions in user code, by valgrind: of the first process only, "
                               "and without the newest vector instructions"),
        [COUNT_ALLOCATIONS] = "blocks of the command and all it starts, by a preloaded library",
    };
    return words[by];
}
