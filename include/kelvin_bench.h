/*
 * kelvin_bench.h - benchmarks in your own program, C11 and C++11 and later.
 *
 *     #include <kelvin_bench.h>
 *
 *     BENCH(sum)
 *     {
 *         int *xs = make(1000);                     // set-up: not timed
 *         kelvin_bytes(1000 * sizeof *xs);          // what one iteration works on
 *         BENCH_LOOP {
 *             KELVIN_KEEP(sum(xs, 1000));           // timed
 *         }
 *         free(xs);                                 // teardown: not timed
 *     }
 *
 *     BENCH_MAIN
 *
 *     cc -O2 my.c $(pkg-config --cflags --libs kelvin) && ./a.out
 *
 * Run alone, the program prints a table. `kelvin bench ./a.out` repeats it, keeps baselines and
 * compares. `kelvin record ./a.out sum` shows where the time goes. A body runs once: BENCH_LOOP
 * decides how often its loop goes round, and how often that is timed.
 */
#ifndef KELVIN_BENCH_H
#define KELVIN_BENCH_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A benchmark: set-up, one BENCH_LOOP, teardown. */
#define BENCH(name)                                                                    \
    KELVIN_BENCH_(BENCH_##name, kelvin_row_##name, kelvin_add_##name, kelvin_no_value, \
                  (#name, KELVIN_ONCE, NULL, NULL, 0))

/*
 * A benchmark for each value of a size: BENCH_OVER(sort, n, 1000, 2000) gives sort/n=1000 and
 * sort/n=2000. The body has the value as `const size_t n`.
 */
#define BENCH_OVER(name, parameter, ...)                                         \
    static const size_t kelvin_values_##name[] = {__VA_ARGS__};                  \
    KELVIN_BENCH_(BENCH_##name, kelvin_row_##name, kelvin_add_##name, parameter, \
                  (#name, KELVIN_OVER, #parameter, kelvin_values_##name,         \
                   sizeof kelvin_values_##name / sizeof kelvin_values_##name[0]))

/*
 * A body that several threads run at once, for each number given: BENCH_THREADS(push, 1, 4) gives
 * push/threads=1 and push/threads=4. The threads wait for each other where their loops begin, so
 * that thread 0 can set up what they share. A round lasts from the first start to the last end.
 */
#define BENCH_THREADS(name, ...)                                                       \
    static const size_t kelvin_values_##name[] = {__VA_ARGS__};                        \
    KELVIN_BENCH_(BENCH_##name, kelvin_row_##name, kelvin_add_##name, kelvin_no_value, \
                  (#name, KELVIN_THREADED, "threads", kelvin_values_##name,            \
                   sizeof kelvin_values_##name / sizeof kelvin_values_##name[0]))

/* The part that is timed. Exactly one per body; `continue` is fine, `break` and `return` are
 * errors. */
#define BENCH_LOOP                                                               \
    for (size_t kelvin_left = 0; (kelvin_left = kelvin_loop(kelvin_left)) != 0;) \
        for (; kelvin_left != 0; kelvin_left = kelvin_step(kelvin_left))

/* The main function of a benchmark program. A main function of your own can call kelvin_main(). */
#define BENCH_MAIN                      \
    int main(int argc, char **argv)     \
    {                                   \
        return kelvin_main(argc, argv); \
    }

/*
 * Barriers for the optimiser. They are no instructions themselves.
 * KELVIN_KEEP(value): the value is computed each time, although nothing uses it.
 * KELVIN_HIDE(variable): the compiler forgets its value and reads it anew in each iteration, so
 * that nothing is computed from it ahead. KELVIN_CLOBBER(): the compiler writes all memory whose
 * address was given away, and must assume that it has changed.
 */
#define KELVIN_CLOBBER() __asm__ volatile("" : : : "memory")
#define KELVIN_HIDE(variable) __asm__ volatile("" : "+m"(variable) : : "memory")
#ifdef __cplusplus
#define KELVIN_KEEP(value) kelvin_keep(value)
#else
#define KELVIN_KEEP(value)                                       \
    __extension__({                                              \
        __auto_type kelvin_value = (value);                      \
        __asm__ volatile("" : : "r,m"(kelvin_value) : "memory"); \
    })
#endif

/* The work of one iteration of one thread, for throughput. */
void kelvin_items(double items);
void kelvin_bytes(double bytes);
void kelvin_flops(double operations); /* of floating point: a multiply-add counts as 2 */

/* Inside the loop: time between the two does not count. A pair costs tens of nanoseconds. The
 * mean of that is subtracted; the work that is timed should take much longer. */
void kelvin_pause(void);
void kelvin_resume(void);

size_t kelvin_thread(void);  /* the number of this thread: 0, 1... */
size_t kelvin_threads(void); /* how many there are: 1 unless BENCH_THREADS */

/* Run the benchmarks that the command line asks for: see --help. Returns the exit code. */
int kelvin_main(int argc, char **argv);

/* --- behind the macros --- */

/* Anything that has a name and can be run. The library fills in the last two. */
struct kelvin_entry {
    const char *name, *file;
    int line;
    const void *kind;
    struct kelvin_entry *next;
};

enum kelvin_shape { KELVIN_ONCE, KELVIN_OVER, KELVIN_THREADED };

struct kelvin_benchmark {
    struct kelvin_entry entry;
    void (*body)(size_t value);
    void (*empty)(size_t value); /* a loop of nothing, built as the body is: what the loop costs */
    enum kelvin_shape shape;
    const char *parameter;
    const size_t *values;
    size_t n_values;
};

void kelvin_add(struct kelvin_benchmark *b);

/* The next number of iterations, 0 = enough. LEFT of the last were not done. */
size_t kelvin_loop(size_t left);

__attribute__((always_inline, unused)) static inline size_t kelvin_step(size_t left)
{
    __asm__ volatile("" : "+r"(left) : : "memory");
    return left - 1;
}

__attribute__((unused, noinline)) static void kelvin_empty(size_t kelvin_no_value)
{
    (void)kelvin_no_value;
    BENCH_LOOP
    {
    }
}

#define KELVIN_ROW_(name, shape, parameter, values, n) shape, parameter, values, n
#define KELVIN_NAME_(name, shape, parameter, values, n) name

#define KELVIN_BENCH_(function, row, add, argument, what)                                      \
    static void function(const size_t argument);                                               \
    static struct kelvin_benchmark row = {{KELVIN_NAME_ what, __FILE__, __LINE__, NULL, NULL}, \
                                          function,                                            \
                                          kelvin_empty,                                        \
                                          KELVIN_ROW_ what};                                   \
    __attribute__((constructor)) static void add(void)                                         \
    {                                                                                          \
        kelvin_add(&row);                                                                      \
    }                                                                                          \
    static void function(__attribute__((unused)) const size_t argument)

#ifdef __cplusplus
}

template <class T> __attribute__((always_inline)) inline void kelvin_keep(T const &value)
{
    __asm__ volatile("" : : "r,m"(value) : "memory");
}
#endif

#include "kelvin_equal.h"

#endif

#include "kelvin_interleave.h" /* which may be asked for atomics by a second #include */
