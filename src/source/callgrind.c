/*
 * callgrind.c - counts of valgrind's callgrind, and of others that write its format.
 *
 * The format is in grindfile.h. It holds a call graph, not stacks; callpaths.h says how stacks
 * are made from it.
 */
#include "source/grindfile.h"
#include "source/sources.h"

/* What only this format has; "events:" and "fn=" it shares with cachegrind. */
static int callgrind_probe(struct text head, bool whole)
{
    (void)whole;
    bool events = false, creator = false, positions = false, calls = false;
    if (text_starts(head, "# callgrind format"))
        return 100;
    while (head.n) {
        struct text line = text_cut(&head, '\n');
        events |= text_starts(line, "events: ");
        creator |= text_starts(line, "creator: callgrind") || text_starts(line, "creator: xdebug");
        positions |= text_starts(line, "positions: ");
        calls |= text_starts(line, "calls=");
    }
    if (!events)
        return 0;
    return creator ? 98 : positions || calls ? 95 : 0;
}

const struct source source_callgrind = {
    .name = "callgrind",
    .title = "callgrind profile",
    .probe = callgrind_probe,
    .read = grindfile_read,
};
