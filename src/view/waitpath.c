#include "view/waitpath.h"
#include "analysis/restack.h"
#include "base/shortname.h"
#include "base/utf8.h"

/* Whether a frame is the C library's and called by the program, not what starts that. */
static bool waitpath_is_call(const struct profile *p, struct frame_id id)
{
    const struct frame *f = profile_frame(p, id);
    struct text name =
        f->n_lines ? profile_function_name(p, profile_lines(p, f)->function) : (struct text){0};
    return waitsum_is_libc(p, f) && !restack_is_start(name);
}

/*
 * The innermost frame that is worth showing: of the C library's own calls the one that the program
 * made. The kernel's part is in the reason.
 */
static struct stack_id waitpath_start(const struct profile *p, struct stack_id stack)
{
    const struct stack_node *nodes = p->stacks.nodes.at;
    while (stack.i && profile_frame(p, nodes[stack.i].frame)->kind == FRAME_KERNEL)
        stack = nodes[stack.i].parent;
    for (struct stack_id up = stack; up.i; stack = up) {
        up = nodes[stack.i].parent;
        if (!up.i || !waitsum_is_libc(p, profile_frame(p, nodes[stack.i].frame)) ||
            !waitpath_is_call(p, nodes[up.i].frame))
            break;
    }
    return stack;
}

/* In brief a path begins with main, or with what a thread runs. */
static void waitpath_drop_start(struct waitpath *path)
{
    const struct text *at = path->names.at;
    size_t n = path->names.n;
    while (n > 1 && (restack_is_start(at[n - 1]) || /* _start of a program without names */
                     (text_starts(at[n - 1], "[") && restack_is_start(at[n - 2]))))
        n--;
    if (n > 1 && text_is(at[n - 1], "[unfinished]") && text_is(at[n - 2], "main"))
        n--;
    path->names.n = n;
}

void waitpaths_add(struct waitpaths *w, struct stack_id stack, struct stack_id bottom)
{
    const struct waitsum *sum = w->sum;
    const struct profile *p = sum->selection->profile;
    struct waitpath *path = vec_push(&w->rows);
    *path = (struct waitpath){0};
    for (stack = waitpath_start(p, stack); stack.i && stack.i != bottom.i;
         stack = p->stacks.nodes.at[stack.i].parent) {
        struct frame_id id = p->stacks.nodes.at[stack.i].frame;
        const struct frame *f = profile_frame(p, id);
        bool entry = !path->names.n && waitsum_is_libc(p, f); /* what is inlined there is its own */
        path->libc_entry |= entry;
        for (size_t i = entry ? 1 : labels_count(f); i-- > 0;)
            if (!selection_hides(sum->selection, id, i))
                *vec_push(&path->names) =
                    labels_text(&sum->labels, labels_get(&sum->labels, p, id, i));
    }
    if (w->room)
        waitpath_drop_start(path);
}

void waitpaths_done(struct waitpaths *w)
{
    for (size_t i = 0; i < w->rows.n; i++)
        vec_done(&w->rows.at[i].names);
    vec_done(&w->rows);
}

/* --- in brief --- */

enum {
    NEIGHBOURS = 64, /* rows that a row is compared with at most */
    PLUMBING = 6,    /* functions in common beyond which two rows are the same place */
};

static bool waitpath_same(struct text a, struct text b)
{
    return a.n == b.n && memcmp(a.at, b.at, a.n) == 0;
}

/*
 * How many functions two stacks have in common, from the innermost on; 0 if one is all of it, or
 * if they part so far out that it is the place they have in common that matters.
 */
static size_t waitpath_common(const struct waitpath *a, const struct waitpath *b)
{
    size_t n = 0;
    while (n < a->names.n && n < b->names.n && waitpath_same(a->names.at[n], b->names.at[n]))
        n++;
    return n == a->names.n || n == b->names.n || n > PLUMBING ? 0 : n;
}

/*
 * The function that tells a row from all others, or if that has no name the next one that has;
 * 1 = nothing is left out before it.
 */
static size_t waitpath_resume(const struct waitpaths *w, size_t row)
{
    const struct waitpath *path = &w->rows.at[row];
    size_t most = 1, n = w->rows.n < w->near ? w->rows.n : w->near;
    n = n < NEIGHBOURS ? n : NEIGHBOURS;
    for (size_t i = 0; w->room && i < n; i++) {
        size_t common = waitpath_common(path, &w->rows.at[i]);
        most = common > most ? common : most;
    }
    while (most > 1 && text_starts(path->names.at[most], "["))
        most--;
    return most;
}

enum {
    SHORT_NAME = 40, /* in characters: a stack is a line */
    LEAST_NAME = 12, /* what is left of a name that gives way to another */
    ARROW = 3        /* " < " */
};
#define SKIPPED ".. > "

/* NAME in at most ROOM characters, which is for whole stacks without an end. */
static void waitpath_name(const struct waitpaths *w, struct text name, size_t room, struct buf *ret)
{
    room = room < LEAST_NAME ? LEAST_NAME : room < SHORT_NAME ? room : SHORT_NAME;
    if (w->room)
        shortname_add(ret, name, room);
    else
        buf_add(ret, name.at, name.n);
}

/* --- inward --- */

static size_t waitpath_chars(const struct waitpaths *w, struct text name, size_t room)
{
    autobuf struct buf b = {0};
    waitpath_name(w, name, room, &b);
    return utf8_count(buf_text(&b));
}

/* The room for the innermost function: where it is the library's, it gives way to CALLER. */
static size_t waitpath_entry_room(const struct waitpaths *w, const struct waitpath *path,
                                  size_t caller)
{
    if (!path->libc_entry || caller >= path->names.n || w->room < 2 * LEAST_NAME)
        return SHORT_NAME;
    size_t used = waitpath_chars(w, path->names.at[caller], SHORT_NAME) + ARROW +
                  (caller > 1 ? strlen(SKIPPED) : 0);
    return w->room > used ? w->room - used : 0;
}

/* Beyond the last caller, from RESUME on, that there is room for; USED is what the rest takes. */
static size_t waitpath_end(const struct waitpaths *w, const struct waitpath *path, size_t resume,
                           size_t used)
{
    size_t end = resume, n = path->names.n;
    for (; end < n; end++) {
        size_t chars = ARROW + waitpath_chars(w, path->names.at[end], SHORT_NAME);
        if (w->room && used + chars + (end + 1 < n ? strlen(SKIPPED) : 0) > w->room)
            break;
        used += chars;
    }
    return end;
}

/* The first function from I on that is the program's own; I where there is none. */
static size_t waitpath_named(const struct waitpath *path, size_t i)
{
    size_t named = i;
    while (named < path->names.n && waitsum_is_runtime(path->names.at[named]))
        named++;
    return named < path->names.n ? named : i;
}

void waitpaths_inward(const struct waitpaths *w, size_t row, struct buf *ret)
{
    const struct waitpath *path = &w->rows.at[row];
    size_t resume = waitpath_resume(w, row), n = path->names.n;
    struct text innermost = n ? path->names.at[0] : text_of("[kernel]");
    size_t room = waitpath_entry_room(w, path, resume);
    size_t used = waitpath_chars(w, innermost, room) + (resume > 1 ? strlen(SKIPPED) : 0);
    size_t end = waitpath_end(w, path, resume, used);
    if (waitpath_named(path, resume) >= end && end < n) { /* no room for one of the program's */
        resume = waitpath_named(path, resume);
        room = waitpath_entry_room(w, path, resume);
        used = waitpath_chars(w, innermost, room) + (resume > 1 ? strlen(SKIPPED) : 0);
        end = waitpath_end(w, path, resume, used);
    }
    if (end < n && end > resume)
        buf_str(ret, SKIPPED);
    else if (end < n) { /* the nearest caller is worth more than its whole name */
        waitpath_name(w, path->names.at[end], w->room > used + ARROW ? w->room - used - ARROW : 0,
                      ret);
        buf_str(ret, " > ");
    }
    for (size_t i = end; i-- > resume;) {
        waitpath_name(w, path->names.at[i], SHORT_NAME, ret);
        buf_str(ret, " > ");
    }
    buf_str(ret, resume > 1 ? SKIPPED : "");
    waitpath_name(w, innermost, room, ret);
}

/* --- outward --- */

void waitpaths_outward(const struct waitpaths *w, size_t row, size_t most, struct buf *ret)
{
    const struct waitpath *path = &w->rows.at[row];
    size_t resume = waitpath_resume(w, row);
    size_t first = resume > 1 ? waitpath_named(path, resume) : 0;
    size_t caller = w->room ? waitpath_named(path, 1) : 1; /* of the innermost, if that is shown */
    buf_str(ret, !path->names.n ? "[kernel]" : first ? ".." : "");
    for (size_t i = first, n = 0; i < path->names.n && n < most; i = i ? i + 1 : caller, n++) {
        autobuf struct buf name = {0};
        waitpath_name(w, path->names.at[i], i ? SHORT_NAME : waitpath_entry_room(w, path, caller),
                      &name);
        size_t used = utf8_count(buf_text(ret)) + ARROW + utf8_count(buf_text(&name));
        if (n > (first == 0) && w->room && used > w->room)
            break;
        buf_str(ret, !first && n == 1 && caller > 1 ? " < .. < " : i ? " < " : "");
        buf_add(ret, name.at, name.n);
    }
}
