#include "view/waitpath.h"
#include "base/shortname.h"

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
            !waitsum_is_libc(p, profile_frame(p, nodes[up.i].frame)))
            break;
    }
    return stack;
}

void waitpaths_add(struct waitpaths *w, struct stack_id stack, struct stack_id bottom)
{
    const struct waitsum *sum = w->sum;
    const struct profile *p = sum->selection->profile;
    waitpath_names *names = vec_push(&w->rows);
    *names = (waitpath_names){0};
    for (stack = waitpath_start(p, stack); stack.i && stack.i != bottom.i;
         stack = p->stacks.nodes.at[stack.i].parent) {
        struct frame_id id = p->stacks.nodes.at[stack.i].frame;
        const struct frame *f = profile_frame(p, id);
        bool entry = !names->n && waitsum_is_libc(p, f); /* what is inlined there is its own */
        for (size_t i = entry ? 1 : labels_count(f); i-- > 0;)
            if (!selection_hides(sum->selection, id, i))
                *vec_push(names) = labels_text(&sum->labels, labels_get(&sum->labels, p, id, i));
    }
}

void waitpaths_done(struct waitpaths *w)
{
    for (size_t i = 0; i < w->rows.n; i++)
        vec_done(&w->rows.at[i]);
    vec_done(&w->rows);
}

/* --- in brief --- */

enum {
    NEIGHBOURS = 64, /* rows that a row is compared with: nobody sees more at once */
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
static size_t waitpath_common(const waitpath_names *a, const waitpath_names *b)
{
    size_t n = 0;
    while (n < a->n && n < b->n && waitpath_same(a->at[n], b->at[n]))
        n++;
    return n == a->n || n == b->n || n > PLUMBING ? 0 : n;
}

/*
 * The function that tells a row from all others, or if that has no name the next one that has;
 * 1 = nothing is left out before it.
 */
static size_t waitpath_resume(const struct waitpaths *w, size_t row)
{
    size_t most = 1, n = w->rows.n < NEIGHBOURS ? w->rows.n : NEIGHBOURS;
    for (size_t i = 0; w->brief && i < n; i++) {
        size_t common = waitpath_common(&w->rows.at[row], &w->rows.at[i]);
        most = common > most ? common : most;
    }
    while (most > 1 && text_starts(w->rows.at[row].at[most], "["))
        most--;
    return most;
}

enum { SHORT_NAME = 40 }; /* in characters: a stack is a line */

static void waitpath_name(const struct waitpaths *w, struct text name, struct buf *ret)
{
    if (w->brief)
        shortname_add(ret, name, SHORT_NAME);
    else
        buf_add(ret, name.at, name.n);
}

void waitpaths_inward(const struct waitpaths *w, size_t row, struct buf *ret)
{
    const waitpath_names *names = &w->rows.at[row];
    size_t resume = waitpath_resume(w, row);
    for (size_t i = names->n; i-- > resume;) {
        waitpath_name(w, names->at[i], ret);
        buf_str(ret, " > ");
    }
    buf_str(ret, resume > 1 ? ".. > " : "");
    if (names->n)
        waitpath_name(w, names->at[0], ret);
    else
        buf_str(ret, "[kernel]");
}

void waitpaths_outward(const struct waitpaths *w, size_t row, size_t most, struct buf *ret)
{
    const waitpath_names *names = &w->rows.at[row];
    size_t resume = waitpath_resume(w, row);
    size_t first = resume > 1 ? resume : 0;
    buf_str(ret, !names->n ? "[kernel]" : first ? ".." : "");
    for (size_t i = first; i < names->n && i < first + most; i++) {
        buf_str(ret, i ? " < " : "");
        waitpath_name(w, names->at[i], ret);
    }
}
