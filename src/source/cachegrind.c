/*
 * cachegrind.c - counts of valgrind's cachegrind: what each source line cost.
 *
 * The format is in grindfile.h. It knows of no calls: every stack is one frame.
 */
#include "source/grindfile.h"
#include "source/sources.h"

static int cachegrind_probe(struct text head, bool whole)
{
    (void)whole;
    bool events = false, file = false, function = false;
    while (head.n) {
        struct text line = text_cut(&head, '\n');
        events |= text_starts(line, "events: ");
        file |= events && text_starts(line, "fl=");
        function |= events && text_starts(line, "fn=");
    }
    return file && function ? 90 : 0;
}

const struct source source_cachegrind = {
    .name = "cachegrind",
    .title = "cachegrind profile",
    .probe = cachegrind_probe,
    .read = grindfile_read,
};
