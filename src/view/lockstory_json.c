/*
 * lockstory_json.c - which locks a program waited for, for programs. Nanoseconds.
 */
#include "base/json.h"
#include "view/findings.h"
#include "view/lockstory.h"

#include <stdint.h>

/* Innermost first. */
static void put_stack(struct json *j, struct lockstory *s, struct stack_id stack)
{
    const struct profile *p = s->profile;
    json_key(j, "stack");
    json_open(j, '[');
    for (; stack.i; stack = p->stacks.nodes.at[stack.i].parent) {
        struct frame_id frame = p->stacks.nodes.at[stack.i].frame;
        for (size_t i = labels_count(profile_frame(p, frame)); i-- > 0;)
            json_text(j, labels_text(&s->labels, labels_of_frame(&s->labels, p, frame, i)));
    }
    json_close(j, ']');
}

static void lockstory_put_text(struct json *j, const char *key, struct text text)
{
    json_key(j, key);
    json_text(j, text);
}

static void put_threads(struct json *j, const struct profile *p, const lockstory_threads *t)
{
    json_key(j, "threads");
    json_open(j, '[');
    for (size_t i = 0; i < t->n; i++) {
        const struct thread *thread = &p->threads.at[t->at[i].i];
        json_open(j, '{');
        lockstory_put_text(j, "name", profile_str(p, thread->name));
        json_put_number(j, "tid", thread->tid);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void put_sums(struct json *j, uint64_t waits, uint64_t wait_ns, uint64_t longest_ns)
{
    json_put_uint(j, "waits", waits);
    json_put_uint(j, "wait_ns", wait_ns);
    json_put_uint(j, "longest_ns", longest_ns);
}

static void lockstory_put_places(struct json *j, struct lockstory *s, const char *key,
                                 const lockstory_places *places)
{
    json_key(j, key);
    json_open(j, '[');
    for (size_t i = 0; i < places->n; i++) {
        const struct lockstory_place *p = &places->at[i];
        json_open(j, '{');
        put_sums(j, p->waits, p->wait_ns, p->longest_ns);
        put_threads(j, s->profile, &p->threads);
        put_stack(j, s, p->stack);
        json_close(j, '}');
    }
    json_close(j, ']');
}

/* How long, by whom, and where it ended; where the lock was made, if that is known. */
static void put_longest_hold(struct json *j, struct lockstory *s, const struct lockstory_lock *l)
{
    const struct profile *p = s->profile;
    if (l->holds) {
        json_key(j, "longest_hold");
        json_open(j, '{');
        json_put_uint(j, "ns", l->longest_held_ns);
        lockstory_put_text(j, "thread", profile_str(p, p->threads.at[l->longest_holder.i].name));
        put_stack(j, s, l->longest_held);
        json_close(j, '}');
    }
    if (l->created.i) {
        json_key(j, "created");
        json_open(j, '{');
        put_stack(j, s, l->created);
        json_close(j, '}');
    }
}

static void put_lock(struct json *j, struct lockstory *s, const struct lockstory_lock *l)
{
    json_open(j, '{');
    lockstory_put_text(j, "lock", profile_str(s->profile, l->name));
    lockstory_put_text(j, "kind", profile_str(s->profile, l->kind));
    put_sums(j, l->waits, l->wait_ns, l->longest_ns);
    json_put_number(j, "mean_ns", l->waits ? (double)l->wait_ns / (double)l->waits : 0);
    json_put_uint(j, "waited_for_ns", l->waited_ns);
    json_put_uint(j, "holder_known", l->held_known);
    json_put_uint(j, "holds", l->holds);
    json_put_uint(j, "held_ns", l->held_ns);
    put_longest_hold(j, s, l);
    put_threads(j, s->profile, &l->threads);
    lockstory_put_places(j, s, "waiters", &l->waiters);
    lockstory_put_places(j, s, "holders", &l->holders);
    json_close(j, '}');
}

static void put_orders(struct json *j, struct lockstory *s, const struct lockstory_cycle *c)
{
    const struct profile *p = s->profile;
    json_open(j, '[');
    for (size_t i = 0; i < c->orders.n; i++) {
        const struct lockstory_order *o = &s->orders.at[c->orders.at[i]];
        json_open(j, '{');
        lockstory_put_text(j, "held", profile_str(p, o->held));
        lockstory_put_text(j, "taken", profile_str(p, o->lock));
        lockstory_put_text(j, "thread", profile_str(p, p->threads.at[o->thread.i].name));
        put_stack(j, s, o->stack);
        json_close(j, '}');
    }
    json_close(j, ']');
}

void lockstory_print_json(FILE *out, const struct lockstory_view *v)
{
    struct lockstory *s = v->story;
    struct json j = {.out = out};
    json_open(&j, '{');
    json_put_str(&j, "source", v->subject);
    json_put_uint(&j, "duration_ns", s->end_ns - s->start_ns);
    json_put_uint(&j, "waits", s->waits);
    json_put_uint(&j, "open_waits", s->open);
    json_put_uint(&j, "wait_ns", s->wait_ns);
    json_put_uint(&j, "blocked_waits", s->blocked_waits);
    json_put_uint(&j, "woken_in_vain", lockstory_woken_in_vain(s));
    json_put_uint(&j, "retaken_waits", s->retaken);
    json_put_uint(&j, "retaken_ns", s->retaken_ns);
    json_put_uint(&j, "futex_waits", s->futex_waits);
    json_put_uint(&j, "futex_ns", s->futex_ns);
    json_put_uint(&j, "lost", s->waits_stream->lost);
    json_key(&j, "locks");
    json_open(&j, '[');
    for (size_t i = 0; i < s->locks.n; i++)
        if (s->locks.at[i].waits)
            put_lock(&j, s, &s->locks.at[i]);
    json_close(&j, ']');
    json_key(&j, "inversions");
    json_open(&j, '[');
    for (size_t i = 0; i < s->cycles.n; i++)
        put_orders(&j, s, &s->cycles.at[i]);
    json_close(&j, ']');
    findings_put(&j, &s->insights);
    json_close(&j, '}');
    putc('\n', out);
}
