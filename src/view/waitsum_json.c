/*
 * waitsum_json.c - the time that a program did not run, for programs. Nanoseconds.
 */
#include "analysis/waitinsight.h"
#include "base/json.h"
#include "model/meta.h"
#include "view/waitsum.h"

#include <math.h>

static void put_ns(struct json *j, const char *key, int64_t ns)
{
    json_key(j, key);
    json_int(j, ns);
}

static void put_wait_sum(struct json *j, const struct wait_sum *s)
{
    json_put_uint(j, "waits", s->n);
    put_ns(j, "ns", s->ns);
    put_ns(j, "max_ns", s->max_ns);
}

static void put_states(struct json *j, const int64_t *state_ns, int64_t wall_ns)
{
    put_ns(j, "wall_ns", wall_ns);
    for (int i = 0; i < THREAD_STATES; i++) {
        autofree char *key = mem_printf("%s_ns", thread_state_name((enum thread_state)i));
        put_ns(j, key, state_ns[i]);
    }
}

static void put_reasons(struct json *j, const struct waitsum *w)
{
    struct waitsum_reason list[WAITSUM_REASONS];
    size_t n = waitsum_reasons(w, list);
    json_key(j, "reasons");
    json_open(j, '[');
    for (size_t i = 0; i < n; i++) {
        json_open(j, '{');
        json_put_str(j, "reason", list[i].name);
        put_wait_sum(j, &list[i].sum);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void put_by_reason(struct json *j, const char *key, const int64_t *ns)
{
    json_key(j, key);
    json_open(j, '{');
    for (int i = 0; i < WAIT_REASONS; i++)
        if (ns[i])
            put_ns(j, waitreason_name((enum wait_reason)i), ns[i]);
    json_close(j, '}');
}

static void put_thread(struct json *j, const struct profile *p, const struct waitsum_thread *t,
                       bool has_states)
{
    json_open(j, '{');
    json_key(j, "thread");
    json_text(j, profile_str(p, t->name));
    json_key(j, "pid");
    json_int(j, t->pid);
    json_key(j, "tid");
    json_int(j, t->tid);
    if (has_states)
        put_states(j, t->state_ns, t->wall_ns);
    json_put_uint(j, "waits", t->waits);
    put_by_reason(j, "blocked_by_reason_ns", t->reason_ns);
    put_by_reason(j, "runnable_after_ns", t->after_ns);
    json_close(j, '}');
}

/* The innermost function first, the kernel's marked: they are those of one wait among several. */
static void put_wait_frames(struct json *j, const struct waitsum *w, struct stack_id stack)
{
    const struct profile *p = w->selection->profile;
    json_key(j, "stack");
    json_open(j, '[');
    for (; stack.i; stack = p->stacks.nodes.at[stack.i].parent) {
        struct frame_id id = p->stacks.nodes.at[stack.i].frame;
        const struct frame *f = profile_frame(p, id);
        for (size_t i = labels_count(f); i-- > 0;) {
            if (selection_hides(w->selection, id, i))
                continue;
            json_open(j, '{');
            json_key(j, "function");
            json_text(j, labels_text(&w->labels, labels_get(&w->labels, p, id, i)));
            if (f->kind == FRAME_KERNEL)
                json_put_bool(j, "kernel", true);
            if (f->kind == FRAME_WAKER)
                json_put_bool(j, "waker", true);
            json_close(j, '}');
        }
    }
    json_close(j, ']');
}

static void put_stacks(struct json *j, const struct waitsum_view *v)
{
    json_key(j, "stacks");
    json_open(j, '[');
    for (size_t i = 0; i < v->sum->stacks.n && i < v->top; i++) {
        const struct waitsum_stack *s = &v->sum->stacks.at[i];
        json_open(j, '{');
        json_put_str(j, "reason",
                     s->runnable ? thread_state_name(THREAD_RUNNABLE) : waitreason_name(s->reason));
        put_wait_sum(j, &s->sum);
        put_wait_frames(j, v->sum, s->stack);
        json_close(j, '}');
    }
    json_close(j, ']');
}

/* Of a stack: the waker's functions are marked, those of the thread that waited are not. */
static void put_wakers(struct json *j, const struct waitsum_view *v)
{
    const struct waitsum *w = v->sum;
    json_key(j, "wakers");
    json_open(j, '[');
    for (size_t i = 0; i < w->wakers.n && i < v->top; i++) {
        const struct waitsum_stack *s = &w->wakers.at[i];
        struct stack_id waiter;
        json_open(j, '{');
        json_key(j, "waker");
        json_text(j, waitstream_waker_of(w->selection->profile, s->stack, &waiter));
        json_put_str(j, "reason", waitreason_name(s->reason));
        json_put_uint(j, "wakeups", s->sum.n);
        put_ns(j, "blocked_ns", s->sum.ns);
        put_wait_frames(j, w, s->stack);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void put_wait_insights(struct json *j, const struct waitsum *w)
{
    struct waitinsight list[WAITINSIGHTS_MAX];
    size_t n = waitinsight_find(w, list);
    json_key(j, "insights");
    json_open(j, '[');
    for (size_t i = 0; i < n; i++) {
        json_open(j, '{');
        json_put_str(j, "id", list[i].id);
        json_put_str(j, "evidence", list[i].evidence);
        json_put_str(j, "advice", list[i].advice);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void put_alone(struct json *j, const char *key, const struct parallel_alone *list)
{
    json_key(j, key);
    json_open(j, '[');
    for (int i = 0; i < PARALLEL_NAMES && (list[i].ns || list[i].samples); i++) {
        json_open(j, '{');
        json_put_str(j, "name", list[i].name);
        if (list[i].ns) {
            json_key(j, "tid");
            json_int(j, list[i].tid);
            put_ns(j, "ns", list[i].ns);
        } else {
            json_put_uint(j, "samples", list[i].samples);
        }
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void put_parallel(struct json *j, const struct parallel *q)
{
    json_key(j, "parallel");
    json_open(j, '{');
    put_ns(j, "wall_ns", q->wall_ns);
    put_ns(j, "busy_ns", parallel_busy_ns(q));
    put_ns(j, "starved_ns", q->starved_ns);
    put_ns(j, "alone_ns", q->alone_ns);
    put_ns(j, "serial_ns", q->serial_ns);
    json_put_number(j, "threads_running", q->mean);
    json_put_uint(j, "threads_most", q->threads_most);
    json_key(j, "over_time");
    json_open(j, '[');
    for (int i = 0; i < PARALLEL_SLICES; i++)
        json_double(j, q->slice[i]);
    json_close(j, ']');
    json_key(j, "others_waited_ns");
    json_open(j, '{');
    for (int i = 0; i < WAIT_REASONS; i++)
        if (q->others_ns[i])
            put_ns(j, waitreason_name((enum wait_reason)i), q->others_ns[i]);
    json_close(j, '}');
    put_alone(j, "alone", q->threads);
    put_alone(j, "functions_alone", q->functions);
    json_put_uint(j, "samples_alone", q->samples);
    json_close(j, '}');
}

void waitsum_print_json(FILE *out, const struct waitsum_view *v)
{
    const struct waitsum *w = v->sum;
    const struct stream *s = w->selection->stream;
    uint64_t unknown_ends = 0;
    struct json j = {.out = out};
    meta_find_u64(&w->selection->profile->meta, META_WAITS_UNKNOWN_ENDS, &unknown_ends);
    json_open(&j, '{');
    json_put_str(&j, "kind", "waits");
    json_put_uint(&j, "waits", w->n_waits);
    json_put_number(&j, "lost", s->lost_known ? (double)s->lost : NAN);
    json_put_uint(&j, "unknown_ends", unknown_ends);
    json_put_uint(&j, "open", w->n_open);
    json_put_uint(&j, "begun_before", w->n_begun);
    json_put_uint(&j, "cut_by_range", w->n_cut);
    json_put_uint(&j, "without_stack", w->n_stackless);
    json_put_uint(&j, "summed", w->n_summed);
    json_put_uint(&j, "stack_of_cpu_sample", w->n_near);
    json_put_bool(&j, "stacks_recorded", waitsum_has_stacks(w));
    json_put_bool(&j, "wakers_recorded", waitsum_has_wakers(w));
    json_put_str(&j, "selected", w->selection->words);
    if (w->has_states)
        put_states(&j, w->state_ns, w->wall_ns);
    put_wait_insights(&j, w);
    put_reasons(&j, w);
    json_key(&j, "threads");
    json_open(&j, '[');
    for (size_t i = 0; i < w->threads.n; i++)
        put_thread(&j, w->selection->profile, &w->threads.at[i], w->has_states);
    json_close(&j, ']');
    put_stacks(&j, v);
    json_put_uint(&j, "wakeups", w->woken.n);
    put_wakers(&j, v);
    if (v->parallel && v->parallel->known)
        put_parallel(&j, v->parallel);
    json_close(&j, '}');
    putc('\n', out);
}
