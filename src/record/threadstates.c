#include "record/threadstates.h"

#include "base/mem.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LOOK_NS UINT64_C(100000000)

const char *const worker_state_names[WORKER_STATES] = {"running", "waiting", "idle"};

/* A name may have blanks and brackets: the last one ends it. */
char threadstates_letter(const char *stat)
{
    const char *end = strrchr(stat, ')');
    return end && end[1] == ' ' ? end[2] : '\0';
}

static char letter_of_thread(int32_t pid, int32_t tid)
{
    char path[64], text[256];
    snprintf(path, sizeof path, "/proc/%d/task/%d/stat", pid, tid);
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    text[n > 0 ? n : 0] = '\0';
    return threadstates_letter(text);
}

static struct worker *worker_get(struct threadstates *t, const struct scopes_thread_now *s,
                                 uint64_t now_ns)
{
    for (size_t i = 0; i < t->workers.n; i++) {
        struct worker *w = &t->workers.at[i];
        if (w->pid == s->pid && w->tid == s->tid && w->start_ns == s->start_ns)
            return w;
    }
    struct worker *new = vec_push(&t->workers);
    *new =
        (struct worker){.pid = s->pid, .tid = s->tid, .start_ns = s->start_ns, .seen_ns = now_ns};
    return new;
}

/* The time since the last look was spent in the state of now. */
static void worker_look(struct threadstates *t, const struct scopes_thread_now *s, uint64_t now_ns)
{
    char letter = letter_of_thread(s->pid, s->tid);
    if (!letter)
        return;
    struct worker *w = worker_get(t, s, now_ns);
    snprintf(w->name, sizeof w->name, "%s", s->name);
    w->now = letter == 'R' ? WORKER_RUNNING : s->open ? WORKER_WAITING : WORKER_IDLE;
    w->ns[w->now] += now_ns - w->seen_ns;
    w->seen_ns = now_ns;
}

static void forget_gone(struct threadstates *t, uint64_t now_ns)
{
    size_t kept = 0;
    for (size_t i = 0; i < t->workers.n; i++)
        if (t->workers.at[i].seen_ns == now_ns)
            t->workers.at[kept++] = t->workers.at[i];
    t->workers.n = kept;
}

void threadstates_look(struct threadstates *t, const struct scopes *s, uint64_t now_ns)
{
    struct scopes_thread_now now;
    size_t i = 0;
    if (now_ns - t->last_ns < LOOK_NS)
        return;
    t->last_ns = now_ns;
    for (; i < WORKERS_MAX && scopes_thread_now(s, i, &now); i++)
        worker_look(t, &now, now_ns);
    for (t->left_out = 0; scopes_thread_now(s, i, &now); i++)
        t->left_out++;
    forget_gone(t, now_ns);
}

void threadstates_done(struct threadstates *t)
{
    vec_done(&t->workers);
}
