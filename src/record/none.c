/*
 * none.c - the engine `none`: no samples. For scopes, the heap or locks alone, where samples may
 * not be taken or would cost too much. Only by its name.
 */
#include "record/engine.h"

#include "base/mem.h"

struct none_run {
    struct engine_facts facts;
};

static int none_probe(const struct engine_opts *o, struct err *err)
{
    if (o->n_events)
        return err_set(err, EXIT_ERROR, "the engine 'none' takes no samples of '%s'", o->events[0]);
    if (o->waits)
        return err_set(err, EXIT_ERROR, "the engine 'none' cannot see context switches");
    return 0;
}

static int none_open(const struct engine_opts *o, const struct engine_sink *to, void **ret,
                     struct err *err)
{
    (void)o, (void)to, (void)err;
    struct none_run *r = mem_new(struct none_run);
    *r = (struct none_run){
        .facts = {.event = "cpu-clock", .obtained = BY_SOFTWARE_CLOCK, .dimension = DIM_TIME}};
    snprintf(r->facts.note, sizeof r->facts.note, "no samples were asked for");
    *ret = r;
    return 0;
}

static int none_attach(void *run, int pid, struct err *err)
{
    (void)run, (void)pid, (void)err;
    return 0;
}

static int none_poll(void *run, struct err *err)
{
    (void)run, (void)err;
    return 0;
}

static const struct engine_facts *none_facts(void *run)
{
    return &((struct none_run *)run)->facts;
}

static void none_stop(void *run)
{
    (void)run;
}

static void none_close(void *run)
{
    free(run);
}

const struct engine engine_none = {
    .name = "none",
    .title = "no samples",
    .poll_ms = 100,
    .by_name = true,
    .probe = none_probe,
    .open = none_open,
    .attach = none_attach,
    .poll = none_poll,
    .facts = none_facts,
    .stop = none_stop,
    .close = none_close,
};
