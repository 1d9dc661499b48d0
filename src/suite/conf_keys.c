/*
 * conf_keys.c - every key of kelvin.conf. A new one is a row here and its use.
 */
#include "suite/conf.h"

const struct conf_key conf_keys[] = {
    {"project", "name", CONF_TEXT, "", "what the pages call it (default: the folder's name)"},

    {"build", "command", CONF_TEXT, "",
     "makes the program; run by the shell; nothing is built without it"},
    {"build", "env", CONF_WORDS, "", "NAME=VALUE words for the build, such as CFLAGS=\"-O2 -g\""},
    {"build", "binary", CONF_TEXT, "",
     "must be there after the build; a baseline keeps it, to run it beside later ones"},
    {"build", "timeout", CONF_NUMBER, "1800", "seconds a build may take", .min = 0.1, .max = 1e6},

    {"determinism", "env", CONF_WORDS, "LC_ALL=C", "NAME=VALUE words for all workloads"},
    {"determinism", "seed", CONF_TEXT, "1",
     "put in place of {seed} in commands, and KELVIN_SEED for the program"},
    {"determinism", "threads", CONF_INT, "0",
     "put in place of {threads}; sets OMP_NUM_THREADS and the like; 0 = left alone", .min = 0,
     .max = 4096},
    {"determinism", "cpus", CONF_WORDS, "",
     "CPUs that workloads may use, such as 1 or 2-3 (default: all)"},
    {"determinism", "aslr", CONF_CHOICE, "off", "whether memory is laid out anew in each run",
     "on off"},

    {"input", "patterns", CONF_WORDS, "",
     "files, the first pattern that matches counts; {NAME} in commands"},
    {"input", "hint", CONF_TEXT, "", "what to do when nothing matches"},

    {"workload", "command", CONF_TEXT, "",
     "what to run; no shell; {seed}, {threads} and inputs' names are put in"},
    {"workload", "shell", CONF_CHOICE, "no", "whether the command needs a shell", "yes no"},
    {"workload", "stdin", CONF_TEXT, "", "file for standard input (default: nothing)"},
    {"workload", "collect", CONF_CHOICES, "cpu", "what to measure",
     "cpu bench instructions cache heap scopes simd memcheck helgrind"},
    {"workload", "optional", CONF_CHOICES, "",
     "what of that may be absent; else the run is incomplete without it",
     "cpu bench instructions cache heap scopes simd memcheck helgrind"},
    {"workload", "min-samples", CONF_INT, "200",
     "samples that a CPU recording needs; a program too short for that is run again, and all its "
     "runs are drawn as one",
     .min = 1, .max = 1e9},
    {"workload", "pool-time", CONF_NUMBER, "20",
     "seconds to run a short program again for that; 0 = once", .min = 0, .max = 1e6},
    {"workload", "recordings", CONF_INT, "1", "CPU recordings; several show run-to-run variation",
     .min = 1, .max = 100},
    {"workload", "rate", CONF_INT, "999", "samples per second", .min = 1, .max = 100000},
    {"workload", "runs", CONF_INT, "20", "repetitions for bench", .min = 2, .max = 100000},
    {"workload", "decide-time", CONF_NUMBER, "60",
     "seconds for each of two programs that take turns, until it is decided whether one is slower "
     "than allowed; 0 = just so many runs",
     .min = 0, .max = 1e6},
    {"workload", "timeout", CONF_NUMBER, "300", "seconds one run may take", .min = 0.1, .max = 1e6},
    {"workload", "rules", CONF_TEXT, "", "file of rules for this workload (see 'kelvin check')"},
    {"workload", "size", CONF_NUMBER, "0", "how big it is: several sizes give a scaling table",
     .min = 0, .max = 1e18},

    {"check", "rules", CONF_TEXT, "", "file of rules for all workloads"},
    {"check", "max-regression", CONF_PERCENT, "5%",
     "how much more time or instructions than the baseline fails the run"},
    {"check", "gates", CONF_CHOICES, "time cpu instructions",
     "what of that fails the run; the others are shown only", "time cpu instructions"},
    {"check", "max-findings", CONF_INT, "0",
     "findings of memcheck and helgrind that are allowed; more fail the run", .min = 0, .max = 1e9},

    {"publish", "folder", CONF_TEXT, "perf", "what is replaced as a whole by each run"},
    {"publish", "sources", CONF_WORDS, "", "files whose digest is published, patterns"},
    {"publish", "environment", CONF_WORDS, "",
     "names of variables whose values are shown, those of build.env and determinism.env too; no "
     "others are"},
    {"publish", "arguments", CONF_CHOICE, "hide",
     "whether arguments of commands are shown, which may hold secrets", "hide show"},
    {"publish", "host", CONF_CHOICE, "short", "whether the machine's own name is shown",
     "short full"},

    {"history", "store", CONF_TEXT, ".kelvin/history.db",
     "where runs are remembered; empty = nowhere"},
    {0},
};
