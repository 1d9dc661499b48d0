/*
 * A closer look at a case whose sides agree: what else does a call do or leave behind?
 *
 * Each of these is held against the reference. What both do, such as returning memory that the
 * body does not free, is the body's own affair.
 */
#include "equal.h"

#include <malloc.h>

/* --- the heap --- */

/* Since glibc 2.33; other C libraries lack it, and nothing is known then. */
extern struct mallinfo2 mallinfo2(void) __attribute__((weak));

static size_t heap_bytes(void)
{
    if (!mallinfo2)
        return 0;
    struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
}

enum { WARM_RUNS = 40, BATCH_RUNS = 16, BATCHES = 3 };

/* Once more, with the same results: else it depends on more than its inputs. */
static bool replay(struct kelvin_case *c, enum side side, struct failure *f)
{
    return case_run(c, SOURCE_REPLAY, side, f) && case_compare(c, f);
}

/* Bytes by which the heap grows over RUNS of a side. */
static bool heap_growth(struct kelvin_case *c, enum side side, int runs, size_t *ret,
                        struct failure *f)
{
    size_t before = heap_bytes();
    for (int i = 0; i < runs; i++)
        if (!replay(c, side, f))
            return false;
    size_t after = heap_bytes();
    *ret = after > before ? after - before : 0;
    return true;
}

/* Bytes for each call. Caches fill up once; what grows in every batch is never freed. */
static bool steady_growth(struct kelvin_case *c, enum side side, size_t *ret, struct failure *f)
{
    size_t least = SIZE_MAX, grown;
    if (!heap_growth(c, side, WARM_RUNS, &grown, f))
        return false;
    for (int i = 0; i < BATCHES && least; i++) {
        if (!heap_growth(c, side, BATCH_RUNS, &grown, f))
            return false;
        least = grown < least ? grown : least;
    }
    *ret = least / BATCH_RUNS;
    return true;
}

static bool frees_what_it_allocates(struct kelvin_case *c, struct failure *f)
{
    size_t grown, candidate, reference;
    if (!heap_growth(c, SIDE_CANDIDATE, 1, &grown, f) ||
        !heap_growth(c, SIDE_CANDIDATE, 2, &grown, f))
        return false;
    if (!grown)
        return true;
    if (!steady_growth(c, SIDE_CANDIDATE, &candidate, f) ||
        !steady_growth(c, SIDE_REFERENCE, &reference, f))
        return false;
    if (candidate <= reference)
        return true;
    *f = (struct failure){.way = WAY_LEAK, .side = SIDE_CANDIDATE, .index = EQUAL_DRAWS};
    f->leaked_bytes = candidate - reference;
    return false;
}

/* --- inputs --- */

static bool is_write_to_input(const struct kelvin_case *c, const struct failure *f)
{
    if (f->way != WAY_FAULT || f->index >= EQUAL_DRAWS)
        return false;
    const struct draw *d = &c->tape.draws[f->index];
    return d->role == ROLE_IN && f->element >= 0 && (size_t)f->element < d->n;
}

/* With inputs that cannot be written, a value that is put back is seen, too. */
static bool leaves_inputs_alone(struct kelvin_case *c, struct failure *f)
{
    struct failure first;
    c->seal = true;
    bool reference = replay(c, SIDE_REFERENCE, &first);
    bool fine = !reference || replay(c, SIDE_CANDIDATE, f);
    c->seal = false;
    if (!reference) /* if it writes, so may the candidate */
        return replay(c, SIDE_REFERENCE, f);
    if (!fine && is_write_to_input(c, f))
        f->way = WAY_WRITES;
    return fine;
}

bool case_look_closely(struct kelvin_case *c, struct failure *f)
{
    return leaves_inputs_alone(c, f) && frees_what_it_allocates(c, f);
}
