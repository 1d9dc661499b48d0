#include "record/sender.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static const char *const sender_marks[SENDER_MARKS] = {
    [SENDER_RECEIVES] = "process_backlog",
    [SENDER_SENDS] = "__dev_queue_xmit",
    [SENDER_INTERRUPTED] = "__irq_exit_rcu",
    [SENDER_IS_OTHER] = "run_ksoftirqd",
};

/* "ffffffff81e65f80 t process_backlog", perhaps with a module behind it. */
static int mark_of_line(const char *line)
{
    const char *name = strchr(line, ' ');
    name = name ? strchr(name + 1, ' ') : NULL;
    for (int i = 0; name && i < SENDER_MARKS; i++) {
        size_t n = strlen(sender_marks[i]);
        if (strncmp(name + 1, sender_marks[i], n) == 0 && (name[n + 1] == '\n' || !name[n + 1]))
            return i;
    }
    return SENDER_MARKS;
}

/*
 * Lines are in the order of addresses: a function ends where the next begins. There are some
 * hundred thousand: no more are read than it takes.
 */
void sender_read(struct sender *s, FILE *symbols)
{
    char line[512];
    struct sender_range *open = NULL;
    int missing = SENDER_MARKS;
    while (symbols && (missing || open) && fgets(line, sizeof line, symbols)) {
        int mark = mark_of_line(line);
        if (!open && mark == SENDER_MARKS)
            continue;
        uint64_t address = strtoull(line, NULL, 16);
        if (open && address > open->from) {
            open->to = address;
            open = NULL;
        }
        if (open || mark == SENDER_MARKS || !address || s->at[mark].from)
            continue;
        open = &s->at[mark];
        open->from = address;
        missing--;
    }
}

void sender_find(struct sender *s)
{
    autofclose FILE *f = fopen("/proc/kallsyms", "re");
    sender_read(s, f);
}

static bool sender_is_at(const struct sender *s, enum sender_mark mark, uint64_t pc)
{
    return pc >= s->at[mark].from && pc < s->at[mark].to;
}

bool sender_is_current(const struct sender *s, const uint64_t *pcs, size_t n)
{
    bool receives = false;
    for (size_t i = 0; i < n; i++) {
        if (sender_is_at(s, SENDER_INTERRUPTED, pcs[i]) || sender_is_at(s, SENDER_IS_OTHER, pcs[i]))
            return false;
        receives |= sender_is_at(s, SENDER_RECEIVES, pcs[i]);
        if (sender_is_at(s, SENDER_SENDS, pcs[i]))
            return receives;
    }
    return false;
}
