/* insight_rules.c - the table of rules; see insight.h. */
#include "analysis/insight_inner.h"
#include "analysis/insight_names.h"

/* What quantities a rule fits. Where the input does not say, most often CPU time was sampled. */
#define ON_CPU (1u << QUANTITY_CPU_TIME | 1u << QUANTITY_UNKNOWN)
#define RUNNING (ON_CPU | 1u << QUANTITY_WORK)

const struct insight_rule insight_rules[] = {
    {.id = "failed-run",
     .about_data = true,
     .test = insight_test_failed,
     .advice = "If that is an error, this is not a profile of the program's work."},
    {.id = "waiting",
     .about_data = true,
     .fits = ON_CPU,
     .test = insight_test_waiting,
     .advice =
         "CPU samples cannot show waiting (I/O, locks, sleeps, or a busy CPU), and all shares "
         "below are of the CPU time. Find the waits first: record waits too, and 'kelvin "
         "report' shows them by reason and call stack."},
    {.id = "off-cpu",
     .about_data = true,
     .fits = ON_CPU,
     .test = insight_test_off_cpu,
     .advice = "All shares below are of the CPU time. Record again on an idle machine: if the wall "
               "time stays, the program waits (I/O, locks, sleeps)."},
    {.id = "busy-host",
     .about_data = true,
     .fits = ON_CPU,
     .test = insight_test_busy,
     .least = 0.1,
     .advice = "Other processes use the CPUs. Wall times are too long, and vary."},
    {.id = "unoptimized",
     .fits = RUNNING,
     .test = insight_test_unoptimised,
     .advice = "Compile with -O2 before anything else: optimized code has other hot spots."},
    {.id = "few-samples",
     .about_data = true,
     .test = insight_test_few,
     .advice = "Record longer, or at a higher rate, before acting on small shares."},
    {.id = "lost-samples",
     .about_data = true,
     .test = insight_test_lost,
     .least = 0.01,
     .advice = "Busy moments lose the most, so shares may be shifted. Record at a lower rate."},
    {.id = "unfinished-stacks",
     .about_data = true,
     .test = insight_test_unfinished,
     .least = 0.02,
     .advice = "Totals of the outer functions are too small by that much."},
    {.id = "bursts",
     .about_data = true,
     .fits = RUNNING,
     .test = insight_test_bursts,
     .least = 0.1,
     .advice = "Work that such threads do in bursts of a few milliseconds may get a share several "
               "times too large or too small. Record at another rate to see whether it does. "
               "As root, outside of containers, the clocks of the CPUs show the true share."},
    {.id = "heap-recorded",
     .about_data = true,
     .fits = RUNNING,
     .test = insight_test_agent,
     .least = 0.01,
     .advice = "Allocation looks more expensive than it is, and everything else cheaper. Record "
               "again without "
               "the heap to see where the CPU time goes."},
    {.id = "unnamed",
     .about_data = true,
     .test = insight_test_unnamed,
     .least = 0.1,
     .advice =
         "If unwind tables show where a function starts, its name here is [file+0xstart], which "
         "'kelvin annotate' accepts. For real names, install the debug "
         "symbols of the file (on Debian a -dbgsym package), or set DEBUGINFOD_URLS, and record "
         "again."},
    {.id = "untrue-stacks",
     .about_data = true,
     .test = insight_test_strays,
     .least = 0.1,
     .advice = "Their stacks are wrong from there on, and so are totals and hot paths. This "
               "happens if frame pointers are followed through code that has none: 'kelvin record' "
               "needs none, nor does 'perf "
               "record --call-graph dwarf'."},
    {.id = "no-stacks",
     .about_data = true,
     .test = insight_test_empty,
     .least = 0.02,
     .advice = "That part is in the total but in no function."},
    {.id = "spinning",
     .fits = RUNNING,
     .test = insight_test_spinning,
     .least = 0.1,
     .advice = "Faster code there gains nothing. Share the work out more evenly, make parallel "
               "regions larger, or use fewer threads (OMP_NUM_THREADS), above all on a busy "
               "machine. OMP_WAIT_POLICY=passive lets them sleep instead."},
    {.id = "dominating",
     .fits = RUNNING,
     .test = insight_test_dominating,
     .least = 0.5,
     .advice = "Start here. 'kelvin annotate' shows its hottest lines."},
    {.id = "dominating",
     .fits = 1u << QUANTITY_ELAPSED,
     .test = insight_test_dominating,
     .least = 0.5,
     .advice =
         "Start here: the hot paths show its callers. A function that waits has no code to make "
         "faster: find out what it waits for."},
    {.id = "dominating",
     .fits = 1u << QUANTITY_MEMORY,
     .test = insight_test_dominating,
     .least = 0.5,
     .advice = "Start here: fewer, smaller or shorter-lived allocations in it save the most "
               "memory. The hot paths show who asks for them."},
    {.id = "dominating",
     .fits = 1u << QUANTITY_EVENTS,
     .test = insight_test_dominating,
     .least = 0.5,
     .advice = "Start here: most of these events happen in it. The hot paths show what leads to "
               "them."},
    {.id = "interpreter",
     .fits = RUNNING,
     .test = insight_test_interpreter,
     .names = names_interpreters,
     .what = "the main loop of an interpreter and what it calls",
     .count = FLAT_TOTAL,
     .least = 0.3,
     .advice =
         "The script decides what this loop has to do: use the language's own profiler to see "
         "which part of the script, or compile it."},
    {.id = "hot",
     .fits = RUNNING,
     .test = insight_test_hot,
     .least = 0.1,
     .advice = "'kelvin annotate' shows a function's hottest lines. Its callers show where to make "
               "fewer calls."},
    {.id = "flat-profile",
     .fits = RUNNING,
     .test = insight_test_flat,
     .advice = "No single function is worth tuning. Look for what all paths share: the hot paths "
               "and a report by module show larger units; fewer calls beat faster ones."},
    {.id = "deep-recursion",
     .fits = RUNNING,
     .test = insight_test_recursion,
     .least = 0.05,
     .advice = "Deep stacks cost memory and cache misses and may overflow: a loop with a work list "
               "of its own is safer."},
    {.id = "scalar-loop",
     .fits = RUNNING,
     .test = insight_test_scalar,
     .least = 0.05,
     .advice =
         "If iterations are independent, vector instructions compute 2 to 16 numbers at once: try "
         "-O3 -march=native (for floating-point sums also -ffast-math, if they may be "
         "rounded otherwise). "
         "-fopt-info-vec-missed (gcc) or -Rpass-missed=loop-vectorize (clang) shows what prevents "
         "that."},
    {.id = "allocation",
     .fits = RUNNING,
     .test = insight_test_names,
     .names = names_allocation,
     .what = "memory allocation and release",
     .count = FLAT_TOTAL,
     .least = 0.05,
     .advice = "Reuse buffers, reserve room ahead, or give short-lived objects an arena."},
    {.id = "garbage-collection",
     .fits = RUNNING,
     .test = insight_test_names,
     .names = names_collectors,
     .what = "collecting garbage",
     .count = FLAT_TOTAL,
     .least = 0.1,
     .advice =
         "Allocate less, and keep less alive. A larger heap is collected less often "
         "(OCAMLRUNPARAM=s=4M, java -Xmn, node --max-semi-space-size, GOGC, +RTS -A64m of GHC, "
         "erl +hms)."},
    {.id = "hashing",
     .fits = RUNNING,
     .test = insight_test_names,
     .names = names_hashing,
     .what = "hashing and hash tables",
     .count = FLAT_SELF,
     .least = 0.08,
     .advice = "Hash once and keep the result, size tables ahead, or use a cheaper hash."},
    {.id = "locks",
     .fits = RUNNING,
     .test = insight_test_locks,
     .names = names_locks,
     .what = "acquiring and releasing locks",
     .count = FLAT_TOTAL,
     .least = 0.03,
     .advice = "Hold locks for a shorter time, split them, or batch the work under them. Time "
               "spent asleep "
               "on a lock is not in CPU samples: the delay may be larger."},
    {.id = "copies",
     .fits = RUNNING,
     .test = insight_test_copies,
     .names = names_copies,
     .what = "copying or clearing memory",
     .count = FLAT_SELF,
     .least = 0.05,
     .advice = "Pass references, move instead of copying, and clear only what is read."},
    {.id = "kernel-copies",
     .fits = RUNNING,
     .test = insight_test_names,
     .names = names_kernel_copies,
     .what = "the kernel copying data to or from the program",
     .count = FLAT_SELF,
     .least = 0.05,
     .advice =
         "This is the data that read(), write(), send() and the like move. Move fewer bytes, or "
         "none: mmap() for files, sendfile() or splice() between files and sockets."},
    {.id = "page-faults",
     .fits = RUNNING,
     .test = insight_test_names,
     .names = names_faults,
     .what = "page faults",
     .count = FLAT_TOTAL,
     .least = 0.05,
     .advice =
         "Each page costs a fault when it is touched for the first time. If it is fresh memory: "
         "reuse it rather than give it back, raise malloc's trim and mmap thresholds, or use huge "
         "pages. If it is the program's own file, read as it starts: make that smaller."},
    {.id = "exceptions",
     .fits = RUNNING,
     .test = insight_test_names,
     .names = names_exceptions,
     .what = "throwing and catching exceptions",
     .count = FLAT_TOTAL,
     .least = 0.01,
     .advice = "Return errors that are expected as values; throw only what is rare."},
    {.id = "formatting",
     .fits = RUNNING,
     .test = insight_test_names,
     .names = names_format,
     .what = "formatting text",
     .count = FLAT_TOTAL,
     .least = 0.05,
     .advice = "Format only what is shown, and write numbers with a direct routine "
               "(std::to_chars, itoa) where it is hot."},
    {.id = "kernel",
     .fits = RUNNING,
     .test = insight_test_kernel,
     .least = 0.2,
     .advice = "The hot paths below show how it gets there. Make fewer system calls: use bigger "
               "buffers or batches. For page faults, see the insight page-faults."},
    {0},
};
