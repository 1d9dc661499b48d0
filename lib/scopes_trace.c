/*
 * scopes_trace.c - W3C's trace context: a trace that goes through several programs.
 *
 *     00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
 *        trace, 16 bytes                  span, 8 bytes    sampled
 *
 * Ids become attributes of scopes that are open. A scope that sends a request gets an id when it
 * asks for one; a trace that begins in this program is named by its outermost open scope.
 */
#include "scopes.h"

#include <string.h>
#include <sys/random.h>

enum { TRACE_AT = 3, TRACE_N = 32, SPAN_AT = 36, SPAN_N = 16 };

/* --- ids --- */

/* Different in all threads of all programs; not secret. */
static uint64_t new_id(struct scopes_thread *t)
{
    if (!t->seed && getrandom(&t->seed, sizeof t->seed, GRND_NONBLOCK) != sizeof t->seed)
        t->seed = scopes_ticks() ^ (uint64_t)(uintptr_t)t << 20;
    uint64_t x = t->seed += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return (x ^ x >> 31) | 1; /* 0 means none */
}

static void put_hex(char *to, uint64_t x)
{
    for (int i = 15; i >= 0; i--, x >>= 4)
        to[i] = "0123456789abcdef"[x & 15];
}

/* N digits, not all of them 0. */
static bool are_hex(const char *at, int n)
{
    bool something = false;
    for (int i = 0; i < n; i++) {
        if (!(at[i] >= '0' && at[i] <= '9') && !(at[i] >= 'a' && at[i] <= 'f'))
            return false;
        something |= at[i] != '0';
    }
    return something;
}

/* Later versions may be longer. */
static bool is_traceparent(const char *at)
{
    size_t n = at ? strnlen(at, KELVIN_TRACEPARENT + 1) : 0;
    return n >= KELVIN_TRACEPARENT - 1 && memcmp(at, "ff", 2) != 0 && at[2] == '-' &&
           at[35] == '-' && at[52] == '-' && are_hex(at + TRACE_AT, TRACE_N) &&
           are_hex(at + SPAN_AT, SPAN_N) &&
           (n == KELVIN_TRACEPARENT - 1 || (memcmp(at, "00", 2) != 0 && at[55] == '-'));
}

/* --- scopes that are open --- */

static struct kelvin_scope open_scope(const struct scopes_thread *t, uint32_t depth)
{
    const struct inscope_open *o = &t->open[depth];
    struct kelvin_scope s = {.depth = depth, .path = scopes_pack(t, o->path)};
    bool pushed = o->at == INSCOPE_PUSHED || o->has_attrs & SCOPES_IS_FUNCTION;
    s.start = pushed ? t->pushed[depth] : ((const struct kelvin_scope *)o->at)->start;
    return s;
}

static bool tell_ids(struct scopes_thread *t, uint32_t depth, int n, const char *const *texts)
{
    struct kelvin_attr attrs[SCOPES_ATTRS_MAX];
    struct kelvin_scope s = open_scope(t, depth);
    for (int i = 0; i < n; i++)
        attrs[i] =
            (struct kelvin_attr){texts[2 * i], {.kind = SCOPES_TEXT, .is.text = texts[2 * i + 1]}};
    if (!scopes_tell_attrs(t, &s, n, attrs))
        return false;
    t->open[depth].has_attrs |= SCOPES_HAS_ATTRS;
    return true;
}

static struct scopes_thread *thread_in_scope(void)
{
    struct scopes_thread *t = scopes_thread_get();
    return t && t->depth ? t : NULL;
}

int scopes_trace_take(const char *traceparent)
{
    struct scopes_thread *t = thread_in_scope();
    char trace[TRACE_N + 1] = "", parent[SPAN_N + 1] = "";
    const char *const texts[] = {SCOPES_TRACE_ID, trace, SCOPES_PARENT_ID, parent};
    if (!t || !is_traceparent(traceparent))
        return 0;
    memcpy(trace, traceparent + TRACE_AT, TRACE_N);
    memcpy(parent, traceparent + SPAN_AT, SPAN_N);
    if (!tell_ids(t, t->depth, 2, texts))
        return 0;
    t->trace = (struct scopes_trace){.depth = t->depth, .scope = open_scope(t, t->depth).start};
    memcpy(t->trace.id, trace, TRACE_N);
    return 1;
}

/* The trace that the innermost scope is in: one of a scope that is still open. */
static bool find_trace(struct scopes_thread *t)
{
    struct scopes_trace *known = &t->trace;
    if (known->depth && known->depth <= t->depth &&
        open_scope(t, known->depth).start == known->scope)
        return true;
    struct scopes_trace new = {.depth = 1, .scope = open_scope(t, 1).start};
    put_hex(new.id, new_id(t));
    put_hex(new.id + 16, new_id(t));
    if (!tell_ids(t, 1, 1, (const char *const[]){SCOPES_TRACE_ID, new.id}))
        return false;
    *known = new;
    return true;
}

int scopes_trace_give(char *ret_traceparent)
{
    struct scopes_thread *t = thread_in_scope();
    char span[SPAN_N + 1] = "";
    if (!t || !find_trace(t))
        return 0;
    struct kelvin_scope s = open_scope(t, t->depth);
    uint64_t id = t->given.depth == t->depth && t->given.start == s.start ? t->given.id : new_id(t);
    put_hex(span, id);
    if (id != t->given.id && !tell_ids(t, t->depth, 1, (const char *const[]){SCOPES_SPAN_ID, span}))
        return 0;
    t->given.depth = t->depth, t->given.start = s.start, t->given.id = id;
    memcpy(ret_traceparent, "00-", 3);
    memcpy(ret_traceparent + TRACE_AT, t->trace.id, TRACE_N);
    ret_traceparent[SPAN_AT - 1] = '-';
    memcpy(ret_traceparent + SPAN_AT, span, SPAN_N);
    memcpy(ret_traceparent + SPAN_AT + SPAN_N, "-01", sizeof "-01");
    return 1;
}
