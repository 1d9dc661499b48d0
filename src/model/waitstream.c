#include "model/waitstream.h"

#define STATES_EVENT "thread-states"
#define WAKES_EVENT "wakeups"
#define WAKER_FRONT "[woken by "
#define PART_KEY "seen"
#define NO_STACK "[no stack recorded]"

static const struct {
    const char *name, *unit;
} wait_columns[WAIT_COLUMNS] = {
    [WAIT_COUNT] = {"waits", UNIT_COUNT},
    [WAIT_BLOCKED] = {"blocked", UNIT_TIME},
    [WAIT_RUNNABLE] = {"runnable", UNIT_TIME},
};

static const struct {
    const char *name, *unit;
} wake_columns[WAKE_COLUMNS] = {
    [WAKE_COUNT] = {"wakeups", UNIT_COUNT},
    [WAKE_WAITED] = {"woken", UNIT_TIME},
};

static const char *const state_names[THREAD_STATES] = {
    [THREAD_RUNNING] = "running",
    [THREAD_RUNNABLE] = "runnable",
    [THREAD_BLOCKED] = "blocked",
    [THREAD_UNKNOWN] = "unknown",
};

static const char *const part_names[WAIT_PARTS] = {
    [WAIT_NO_START] = "not the start",
    [WAIT_NO_END] = "not the end",
    [WAIT_SUMMED] = "summed up",
    [WAIT_NEAR] = "stack of the last CPU sample",
};

const char *thread_state_name(enum thread_state s)
{
    return state_names[s];
}

bool waitstream_add(struct profile *p, struct waitstream *ret)
{
    ret->wakes = -1;
    ret->waits = profile_add_stream(p, WAITSTREAM_EVENT, BY_TRACE);
    ret->states = ret->waits < 0 ? -1 : profile_add_stream(p, STATES_EVENT, BY_TRACE);
    if (ret->states < 0)
        return false;
    for (int i = 0; i < WAIT_COLUMNS; i++)
        ret->wait_column[i] =
            profile_add_value(p, ret->waits, wait_columns[i].name, wait_columns[i].unit);
    for (int i = 0; i < THREAD_STATES; i++)
        ret->state_column[i] = profile_add_value(p, ret->states, state_names[i], UNIT_TIME);
    return true;
}

bool waitstream_add_wakes(struct profile *p, struct waitstream *ret)
{
    ret->wakes = profile_add_stream(p, WAKES_EVENT, BY_TRACE);
    for (int i = 0; ret->wakes >= 0 && i < WAKE_COLUMNS; i++)
        ret->wake_column[i] =
            profile_add_value(p, ret->wakes, wake_columns[i].name, wake_columns[i].unit);
    return ret->wakes >= 0;
}

/* --- finding them --- */

static int column_called(const struct profile *p, const struct stream *s, const char *name,
                         enum dimension d)
{
    for (int i = 0; i < s->n_types; i++)
        if (s->types[i].dimension == d && text_is(profile_str(p, s->types[i].name), name))
            return i;
    return -1;
}

/* Whether a stream is called EVENT and was traced: others may use the name for something else. */
static bool is_trace_of(const struct profile *p, const struct stream *s, const char *event)
{
    return s->obtained == BY_TRACE && text_is(profile_str(p, s->event), event);
}

static bool find_wait_columns(const struct profile *p, const struct stream *s,
                              struct waitstream *ret)
{
    for (int i = 0; i < WAIT_COLUMNS; i++) {
        ret->wait_column[i] = column_called(p, s, wait_columns[i].name,
                                            dimension_of_unit(text_of(wait_columns[i].unit)));
        if (ret->wait_column[i] < 0)
            return false;
    }
    return true;
}

static bool find_state_columns(const struct profile *p, const struct stream *s,
                               struct waitstream *ret)
{
    for (int i = 0; i < THREAD_STATES; i++) {
        ret->state_column[i] = column_called(p, s, state_names[i], DIM_TIME);
        if (ret->state_column[i] < 0)
            return false;
    }
    return true;
}

static bool find_wake_columns(const struct profile *p, const struct stream *s,
                              struct waitstream *ret)
{
    for (int i = 0; i < WAKE_COLUMNS; i++) {
        ret->wake_column[i] = column_called(p, s, wake_columns[i].name,
                                            dimension_of_unit(text_of(wake_columns[i].unit)));
        if (ret->wake_column[i] < 0)
            return false;
    }
    return true;
}

bool waitstream_find(const struct profile *p, struct waitstream *ret)
{
    *ret = (struct waitstream){.waits = -1, .states = -1, .wakes = -1};
    for (int i = 0; i < (int)p->streams.n; i++) {
        const struct stream *s = p->streams.at[i];
        if (ret->waits < 0 && is_trace_of(p, s, WAITSTREAM_EVENT) && find_wait_columns(p, s, ret))
            ret->waits = i;
        if (ret->states < 0 && is_trace_of(p, s, STATES_EVENT) && find_state_columns(p, s, ret))
            ret->states = i;
        if (ret->wakes < 0 && is_trace_of(p, s, WAKES_EVENT) && find_wake_columns(p, s, ret))
            ret->wakes = i;
    }
    return ret->waits >= 0 && ret->states >= 0;
}

/* --- waits of which a part was seen --- */

struct attrs_id waitstream_part(struct profile *p, enum wait_part part)
{
    struct attr a = {.key = profile_add_str(p, text_of(PART_KEY))};
    if (part == WAIT_WHOLE)
        return (struct attrs_id){0};
    a.text = profile_add_str(p, text_of(part_names[part]));
    return attrs_add(&p->attrs, (struct attrs_id){0}, &a);
}

enum wait_part waitstream_part_of(const struct profile *p, const struct stream *s, size_t row)
{
    struct attrs_id set = s->rows.attrs ? s->rows.attrs[row] : (struct attrs_id){0};
    for (; set.i; set = p->attrs.nodes.at[set.i].parent) {
        const struct attr *a = &p->attrs.nodes.at[set.i].attr;
        for (int k = WAIT_WHOLE + 1; k < WAIT_PARTS; k++)
            if (text_is(profile_str(p, a->key), PART_KEY) &&
                text_is(profile_str(p, a->text), part_names[k]))
                return (enum wait_part)k;
    }
    return WAIT_WHOLE;
}

static struct stack_id stack_called(struct profile *p, const char *name)
{
    struct frame_id frame = profile_add_named_frame(p, text_of(name), FRAME_USER);
    return stacks_push(&p->stacks, (struct stack_id){0}, frame);
}

struct stack_id waitstream_no_stack(struct profile *p)
{
    return stack_called(p, NO_STACK);
}

struct stack_id waitstream_birth(struct profile *p)
{
    return stack_called(p, "[not started yet]");
}

bool waitstream_is_no_stack(const struct profile *p, struct stack_id stack)
{
    const struct stack_node *node = &p->stacks.nodes.at[stack.i];
    if (!stack.i)
        return true;
    const struct frame *f = profile_frame(p, node->frame);
    const struct line *lines = profile_lines(p, f);
    return !node->parent.i && f->n_lines == 1 &&
           text_is(profile_function_name(p, lines[0].function), NO_STACK);
}

/* --- wakers --- */

struct frame_id waitstream_waker(struct profile *p, struct text name)
{
    autofree char *called = mem_printf(WAKER_FRONT "%.*s]", TEXT_ARG(name));
    return profile_add_named_frame(p, text_of(called), FRAME_WAKER);
}

/* NAME of "[woken by NAME]", or "". */
static struct text waker_in(const struct profile *p, const struct frame *f)
{
    size_t front = strlen(WAKER_FRONT);
    struct text name = {"", 0};
    if (f->kind == FRAME_WAKER && !f->pc && f->n_lines == 1)
        name = profile_function_name(p, profile_lines(p, f)[0].function);
    if (!text_starts(name, WAKER_FRONT) || name.at[name.n - 1] != ']')
        return (struct text){"", 0};
    return (struct text){name.at + front, name.n - front - 1};
}

struct text waitstream_waker_of(const struct profile *p, struct stack_id stack,
                                struct stack_id *ret_waiter)
{
    for (; stack.i; stack = p->stacks.nodes.at[stack.i].parent) {
        const struct stack_node *node = &p->stacks.nodes.at[stack.i];
        struct text name = waker_in(p, profile_frame(p, node->frame));
        *ret_waiter = node->parent;
        if (name.n)
            return name;
    }
    *ret_waiter = (struct stack_id){0};
    return (struct text){"", 0};
}
