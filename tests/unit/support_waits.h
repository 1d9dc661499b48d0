/* support_waits.h - a program of a few threads, played record by record. */
#pragma once
#include "base/mem.h"
#include "record/waits.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

struct stage {
    struct profile *profile;
    struct waits *waits;
    struct waitstream streams;
    const char *name; /* of threads; NULL = "worker" */
    int pid;          /* of theirs; 0 = 1 */
};

static inline struct stage stage_open(void)
{
    struct stage s = {.profile = profile_new()};
    struct err err;
    s.waits = waits_new(s.profile);
    assert_int_equal(waits_start(s.waits, &err), 0);
    assert_true(waitstream_find(s.profile, &s.streams));
    return s;
}

/* The same where it is seen who ends waits. */
static inline struct stage stage_with_wakes(void)
{
    struct stage s = {.profile = profile_new()};
    struct err err;
    s.waits = waits_new(s.profile);
    waits_expect_wakes(s.waits);
    assert_int_equal(waits_start(s.waits, &err), 0);
    assert_true(waitstream_find(s.profile, &s.streams));
    return s;
}

static inline void stage_close(struct stage *s)
{
    waits_free(s->waits);
    profile_free(s->profile);
}

static inline struct waits_at at(struct stage *s, int tid, uint64_t time_ns)
{
    int pid = s->pid ? s->pid : 1;
    const char *name = s->name ? s->name : "worker";
    struct thread_key key = {profile_add_str(s->profile, text_of(name)), pid, tid};
    return (struct waits_at){pid, tid,         time_ns, profile_add_thread(s->profile, &key),
                             0,   WAITS_NO_CPU};
}

/* A stack of two functions, the second the kernel's. */
static inline struct stack_id stack_of(struct stage *s, const char *user, const char *kernel)
{
    struct frame_id frames[] = {profile_add_named_frame(s->profile, text_of(user), FRAME_USER),
                                profile_add_named_frame(s->profile, text_of(kernel), FRAME_KERNEL)};
    return stacks_intern(&s->profile->stacks, frames, 2);
}

static inline void begins(struct stage *s, int tid, uint64_t ns, enum thread_state state)
{
    struct waits_at a = at(s, tid, ns);
    waits_begin(s->waits, &a, state);
}

static inline void leaves(struct stage *s, int tid, uint64_t ns, const char *kernel)
{
    struct waits_at a = at(s, tid, ns);
    waits_leave(s->waits, &a, stack_of(s, "work", kernel), UNWIND_WHOLE);
    waits_out(s->waits, &a, false);
}

static inline void is_preempted(struct stage *s, int tid, uint64_t ns)
{
    struct waits_at a = at(s, tid, ns);
    waits_out(s->waits, &a, true);
}

static inline void runs(struct stage *s, int tid, uint64_t ns)
{
    struct waits_at a = at(s, tid, ns);
    waits_in(s->waits, &a);
}

static inline void ends(struct stage *s, int tid, uint64_t ns)
{
    struct waits_at a = at(s, tid, ns);
    waits_end(s->waits, &a);
}

static inline int64_t wait_value(struct stage *s, enum wait_column column, size_t row)
{
    return profile_stream(s->profile, s->streams.waits)
        ->rows.value[s->streams.wait_column[column]][row];
}

static inline int64_t state_total(struct stage *s, enum thread_state state)
{
    return profile_stream(s->profile, s->streams.states)
        ->types[s->streams.state_column[state]]
        .total;
}

static inline size_t count_waits(struct stage *s)
{
    return profile_stream(s->profile, s->streams.waits)->rows.n;
}
