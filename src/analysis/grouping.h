/*
 * grouping.h - rows of a stream by a label: to list, to draw and to select them by it.
 *
 *     process   the name of the program: processes of one name are one group
 *     pid       name and number of the process
 *     thread    the name of the thread
 *     tid       name and number of the thread
 *     state     what the thread did: running, or for waits blocked or runnable. A wait that was
 *               both is runnable where the value is the time runnable, else blocked
 *     reason    of waits: what the thread waited for
 *     scope     the innermost scope of the program (kelvin.h) that it was in
 *
 * and the key of any label (attrs.h) that rows or their processes have: command, user, cgroup,
 * container...
 */
#pragma once
#include "base/intern.h"
#include "model/profile.h"

struct grouping {
    struct intern names; /* of the groups; 0 is for rows without the label */
    uint32_t *of_row;    /* by row of the stream */
};

/* Whether KEY is one of the names above, which every profile has. */
bool grouping_is_known(const char *key);

/*
 * Rows of the stream of VALUE, whose column is the one to be summed. Fails where nothing has a
 * label of that key, with the keys there are.
 */
int grouping_build(struct grouping *g, const struct profile *p, struct value_ref value,
                   const char *key, struct err *err);
void grouping_done(struct grouping *g); /* zeroed is fine */

/* The name of a group as people read it: "[no container]" for 0. */
char *grouping_title(const struct grouping *g, uint32_t group, const char *key);
