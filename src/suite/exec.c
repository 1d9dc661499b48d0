/*
 * exec.c - run a command of a suite.
 */
#include "suite/exec.h"
#include "base/clock.h"
#include "base/subprocess.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/personality.h>
#include <sys/wait.h>

enum { GRACE_MS = 2000, TAIL_BYTES = 16 << 10 };

/* --- CPUs --- */

static int add_cpus(cpu_set_t *set, const char *word)
{
    char *end;
    long first = strtol(word, &end, 10), last = first;
    if (end != word && *end == '-' && end[1])
        last = strtol(end + 1, &end, 10);
    if (end == word || *end || first < 0 || last < first || last >= CPU_SETSIZE)
        return -1;
    for (long i = first; i <= last; i++)
        CPU_SET((size_t)i, set);
    return 0;
}

int exec_check_cpus(const struct words *cpus, struct err *err)
{
    cpu_set_t usable, one;
    if (sched_getaffinity(0, sizeof usable, &usable) != 0)
        return 0;
    for (size_t i = 0; i < cpus->at.n; i++) {
        CPU_ZERO(&one);
        if (add_cpus(&one, cpus->at.at[i]) != 0)
            return err_set(err, EXIT_ERROR, "'%s' is not a list of CPUs: write '1' or '2-3'",
                           cpus->at.at[i]);
        CPU_AND(&one, &one, &usable);
        if (!CPU_COUNT(&one))
            return err_set(err, EXIT_ERROR, "CPU %s cannot be used here: %d can, see 'nproc'",
                           cpus->at.at[i], CPU_COUNT(&usable));
    }
    return 0;
}

/* --- running --- */

/* In the new process. */
static void exec_prepare(void *to)
{
    const struct exec_opts *o = to;
    cpu_set_t set;
    CPU_ZERO(&set);
    for (size_t i = 0; o->cpus && i < o->cpus->at.n; i++)
        if (add_cpus(&set, o->cpus->at.at[i]) != 0)
            return;
    if (CPU_COUNT(&set))
        sched_setaffinity(0, sizeof set, &set);
    if (o->fixed_layout)
        personality(ADDR_NO_RANDOMIZE);
}

static int exec_start(const struct exec_opts *o, struct subprocess *s, struct err *err)
{
    const char *input = *o->input ? o->input : "/dev/null";
    autoclose int in = open(input, O_RDONLY | O_CLOEXEC);
    autoclose int log = open(o->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    struct exec_opts copy = *o;
    fflush(NULL); /* or the new process might write what is still in our buffers */
    struct subprocess_opts with = {
        .argv = o->argv,
        .work = o->work,
        .work_to = o->work_to,
        .env = o->env ? o->env->at.at : NULL,
        .in_fd = in > 0 ? in : 0,
        .out_fd = log > 0 ? log : 0,
        .error_fd = log > 0 ? log : 0,
        .group = true,
        .death_signal = SIGTERM, /* if kelvin is killed, nothing goes on */
        .prepare = exec_prepare,
        .prepare_to = &copy,
    };
    return subprocess_start(s, &with, err);
}

static void put_end(const struct subprocess *s, enum subprocess_event event,
                    struct exec_result *ret)
{
    bool signalled = WIFSIGNALED(s->status);
    ret->end = s->errnum                     ? EXEC_NOT_RUN
               : event == SUBPROCESS_LATE    ? EXEC_TIMED_OUT
               : event == SUBPROCESS_STOPPED ? EXEC_INTERRUPTED
               : signalled                   ? EXEC_SIGNALLED
                                             : EXEC_EXITED;
    ret->status = s->errnum ? s->errnum : signalled ? WTERMSIG(s->status) : WEXITSTATUS(s->status);
}

int exec_run(const struct exec_opts *o, struct exec_result *ret, struct err *err)
{
    struct subprocess s;
    *ret = (struct exec_result){0};
    uint64_t began_ns = clock_monotonic_ns();
    if (exec_start(o, &s, err) != 0)
        return -1;
    uint64_t until_ns = began_ns + (uint64_t)(o->timeout_s * 1e9);
    enum subprocess_event event = subprocess_wait(&s, until_ns, o->stop_fd);
    if (event != SUBPROCESS_ENDED)
        subprocess_kill(&s, GRACE_MS);
    subprocess_reap(&s, true);
    ret->wall_s = (double)(clock_monotonic_ns() - began_ns) / 1e9;
    put_end(&s, event, ret);
    return 0;
}

void exec_say(const struct exec_result *r, struct buf *b)
{
    switch (r->end) {
    case EXEC_EXITED:
        buf_printf(b, "ended with exit code %d", r->status);
        break;
    case EXEC_SIGNALLED:
        buf_printf(b, "was killed by signal %d (%s)", r->status, strsignal(r->status));
        break;
    case EXEC_TIMED_OUT:
        buf_printf(b, "was not done after %.1f s and was ended", r->wall_s);
        break;
    case EXEC_INTERRUPTED:
        buf_str(b, "was interrupted");
        break;
    case EXEC_NOT_RUN:
        buf_printf(b, "could not be started: %s", strerror(r->status));
        break;
    }
}

void exec_tail(const char *log, size_t n, struct buf *b)
{
    autofree char *bytes = mem_calloc(1, TAIL_BYTES);
    autofclose FILE *in = fopen(log, "re");
    if (!in)
        return;
    if (fseek(in, -TAIL_BYTES, SEEK_END) != 0)
        rewind(in);
    struct text rest = {bytes, fread(bytes, 1, TAIL_BYTES, in)};
    while (rest.n && rest.at[rest.n - 1] == '\n')
        rest.n--;
    size_t from = rest.n;
    for (size_t lines = 0; from > 0; from--)
        if (rest.at[from - 1] == '\n' && ++lines == n)
            break;
    rest = (struct text){rest.at + from, rest.n - from};
    while (rest.n) {
        struct text line = text_cut(&rest, '\n');
        buf_printf(b, "  %.*s\n", TEXT_ARG(line));
    }
}
