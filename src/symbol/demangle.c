#include "symbol/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>

struct sink {
    struct buf *to;
    size_t limit;
    bool parameters;
    jmp_buf full;
};

/*
 * The demanglers work in stack memory and hand out pieces; there is no other way to stop them
 * than not to return.
 */
static void take_piece(const char *piece, size_t n, void *sink)
{
    struct sink *s = sink;
    if (s->to->n + n > s->limit)
        longjmp(s->full, 1);
    buf_add(s->to, piece, n);
}

/*
 * The library refuses C++ names over 1024 bytes unless told not to mind recursion. Its depth is
 * at most the length of the name, which DEMANGLE_INPUT_MAX keeps within a common stack.
 */
static bool demangle_into(const char *mangled, struct sink *s)
{
    size_t before = s->to->n;
    if (mangled[1] == 'R' || mangled[2] == 'N') {
        if (rust_demangle_callback(mangled, 0, take_piece, s))
            return true;
        s->to->n = before;
    }
    int options = DMGL_ANSI | DMGL_NO_RECURSE_LIMIT | (s->parameters ? DMGL_PARAMS : 0);
    return mangled[1] == 'Z' && cplus_demangle_v3_callback(mangled, options, take_piece, s);
}

static bool demangle_as(const char *mangled, bool parameters, struct buf *ret)
{
    if (mangled[0] != '_' || (mangled[1] != 'Z' && mangled[1] != 'R'))
        return false;
    if (strnlen(mangled, DEMANGLE_INPUT_MAX + 1) > DEMANGLE_INPUT_MAX)
        return false;
    size_t before = ret->n;
    struct sink s = {.to = ret, .limit = before + DEMANGLE_OUTPUT_MAX, .parameters = parameters};
    bool done = setjmp(s.full) == 0 && demangle_into(mangled, &s) && ret->n > before;
    if (!done)
        ret->n = before;
    return done;
}

bool demangle(const char *mangled, struct buf *ret)
{
    return demangle_as(mangled, false, ret);
}

/* Older Rust has symbols like those of C++, with a hash of 16 digits at their end. */
static bool is_rusts(const char *mangled)
{
    size_t n = strnlen(mangled, DEMANGLE_INPUT_MAX + 1);
    return mangled[0] == '_' && (mangled[1] == 'R' || (n > 20 && mangled[n - 1] == 'E' &&
                                                       memcmp(mangled + n - 20, "17h", 3) == 0));
}

bool demangle_signature(const char *mangled, struct buf *ret)
{
    return !is_rusts(mangled) && demangle_as(mangled, true, ret);
}
