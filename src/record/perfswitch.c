#include "record/perfswitch.h"

#include "base/clock.h"

#include <dirent.h>

static struct waits_at switch_at(struct perfswitch *s, int pid, int tid, uint64_t time_ns)
{
    return (struct waits_at){pid, tid, time_ns, processes_thread(s->processes, pid, tid)};
}

/* Of one that can run nobody knows whether it does. */
static enum thread_state state_of_thread(int pid, int tid)
{
    char path[64], line[512];
    snprintf(path, sizeof path, "/proc/%d/task/%d/stat", pid, tid);
    autofclose FILE *f = fopen(path, "re");
    line[f ? fread(line, 1, sizeof line - 1, f) : 0] = '\0';
    const char *name_end = strrchr(line, ')');
    bool waits = name_end && name_end[1] && name_end[2] && strchr("SDI", name_end[2]);
    return waits ? THREAD_BLOCKED : THREAD_UNKNOWN;
}

void perfswitch_attach(struct perfswitch *s, int pid, uint64_t start_ns, const int *tids, size_t n)
{
    for (size_t i = 0; s->waits && i < n; i++) {
        struct waits_at at = switch_at(s, pid, tids[i], start_ns);
        enum thread_state state = state_of_thread(pid, tids[i]);
        waits_found(s->waits, &at, state, clock_monotonic_ns());
    }
}

static void attach_process(struct perfswitch *s, int pid, uint64_t start_ns)
{
    char path[40];
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *d = processes_wants(s->processes, pid) ? opendir(path) : NULL;
    for (struct dirent *e; d && (e = readdir(d));) {
        int tid = atoi(e->d_name);
        if (tid > 0)
            perfswitch_attach(s, pid, start_ns, &tid, 1);
    }
    if (d)
        closedir(d);
}

void perfswitch_attach_all(struct perfswitch *s, uint64_t start_ns)
{
    DIR *d = s->waits ? opendir("/proc") : NULL;
    for (struct dirent *e; d && (e = readdir(d));)
        if (atoi(e->d_name) > 0)
            attach_process(s, atoi(e->d_name), start_ns);
    if (d)
        closedir(d);
}

/* A CPU that idles, and who is not asked for, have no waits. */
static bool is_watched(const struct perfswitch *s, int pid)
{
    return s->waits && pid > 0 && processes_wants(s->processes, pid);
}

enum unwind_end perfswitch_leave(struct perfswitch *s, const struct engine_sample *sample)
{
    enum unwind_end end;
    if (!is_watched(s, sample->at.pid))
        return UNWIND_WHOLE;
    struct waits_at at = switch_at(s, sample->at.pid, sample->at.tid, sample->time_ns);
    struct stack_id stack = processes_stack(s->processes, &sample->at, &end);
    waits_leave(s->waits, &at, stack, end);
    return end;
}

/*
 * Behind the header there is what all records end with: pid tid | time | cpu | identifier. Of a CPU
 * there is first who came before or comes next.
 */
void perfswitch_take(struct perfswitch *s, const struct perf_event_header *h, uint64_t at_ns)
{
    const uint32_t *ids = (const void *)(h + 1);
    ids += h->type == PERF_RECORD_SWITCH_CPU_WIDE ? 2 : 0;
    if (!is_watched(s, (int)ids[0]))
        return;
    struct waits_at at = switch_at(s, (int)ids[0], (int)ids[1], at_ns);
    if (h->misc & PERF_RECORD_MISC_SWITCH_OUT)
        waits_out(s->waits, &at, h->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT);
    else
        waits_in(s->waits, &at);
}

/* Who calls exec runs. */
void perfswitch_exec(struct perfswitch *s, int pid, int tid, uint64_t at_ns)
{
    if (!is_watched(s, pid))
        return;
    struct waits_at at = switch_at(s, pid, tid, at_ns);
    waits_begin(s->waits, &at, THREAD_RUNNING);
}

/* Who is born waits for its first CPU. */
void perfswitch_fork(struct perfswitch *s, int pid, int tid, uint64_t at_ns)
{
    if (!is_watched(s, pid))
        return;
    struct waits_at at = switch_at(s, pid, tid, at_ns);
    waits_begin(s->waits, &at, THREAD_RUNNABLE);
}

void perfswitch_exit(struct perfswitch *s, int tid, uint64_t at_ns)
{
    if (s->waits)
        waits_end(s->waits, &(struct waits_at){.tid = tid, .time_ns = at_ns});
}

void perfswitch_lose(struct perfswitch *s, uint64_t n)
{
    if (s->waits)
        waits_lose(s->waits, n);
}

void perfswitch_stop(struct perfswitch *s, uint64_t end_ns)
{
    if (s->waits)
        waits_stop(s->waits, end_ns);
}
