/* starter_child.c - clone, exec, wait, measure; see starter.h. */
#include "bench/starter_child.h"
#include "base/clock.h"
#include "base/program.h"
#include "base/signals.h"
#include "bench/counter.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

/* --- environment --- */

static const char padding_name[] = "KELVIN_BENCH_PADDING=";

static size_t count_words(char *const *words)
{
    size_t n = 0;
    while (words && words[n])
        n++;
    return n;
}

/* "NAME=" of both is the same. */
static bool same_variable(const char *a, const char *b)
{
    size_t n = strcspn(a, "=");
    return strncmp(a, b, n) == 0 && b[n] == '=';
}

static void put_variable(char **env, size_t *n, char *variable)
{
    for (size_t i = 0; i < *n; i++)
        if (same_variable(variable, env[i])) {
            free(env[i]);
            env[i] = variable;
            return;
        }
    env[(*n)++] = variable;
}

void starter_child_environment(struct starter_child *c)
{
    const struct starter_opts *o = c->opts;
    size_t n = 0, most = count_words(environ) + count_words(o->env) + 4;
    c->env = mem_calloc(most, sizeof *c->env);
    for (char **e = environ; e && *e; e++)
        if (strchr(*e, '='))
            put_variable(c->env, &n, mem_strdup(*e));
    for (char *const *e = o->env; e && *e; e++)
        put_variable(c->env, &n, mem_strdup(*e));
    if (o->ask) {
        put_variable(c->env, &n, mem_printf("KELVIN_BENCH_FD=%d", STARTER_ANSWER_FD));
        put_variable(c->env, &n, mem_printf("KELVIN_BENCH_ASK=%s", o->ask));
    }
    c->padding = mem_calloc(1, sizeof padding_name + STARTER_PAD_MAX);
    strcpy(c->padding, padding_name);
    put_variable(c->env, &n, c->padding);
}

void starter_child_environment_done(struct starter_child *c)
{
    for (char **e = c->env; e && *e; e++)
        free(*e);
    free(c->env);
}

static void set_padding(struct starter_child *c, size_t bytes)
{
    size_t n = bytes < STARTER_PAD_MAX ? bytes : STARTER_PAD_MAX;
    char *at = c->padding + strlen(padding_name);
    memset(at, 'x', n);
    at[n] = '\0';
}

/* --- the new process, up to exec --- */

struct birth {
    struct starter_child *starter;
    char *const *argv;
    char path[PATH_MAX];
    int input_fd, null_fd;
    int go_fd; /* wait for a byte before exec: a counter is being attached; -1 = do not */
};

static int use_as(int fd, int as)
{
    return fd < 0 || dup2(fd, as) >= 0 ? 0 : -1;
}

static int starter_set_up(const struct birth *b)
{
    const struct starter_child *c = b->starter;
    const struct starter_opts *o = c->opts;
    bool inherit = o->output == STARTER_INHERIT;
    if (use_as(b->input_fd, STDIN_FILENO) != 0 ||
        use_as(inherit             ? -1
               : c->output_fd >= 0 ? c->output_fd
                                   : b->null_fd,
               STDOUT_FILENO) != 0 ||
        use_as(inherit ? -1 : c->error_fd, STDERR_FILENO) != 0 ||
        use_as(o->ask ? c->answer_fd : -1, STARTER_ANSWER_FD) != 0)
        return -1;
    if (o->cwd && chdir(o->cwd) != 0)
        return -1;
    if (o->fixed_layout)
        personality(ADDR_NO_RANDOMIZE);
    return 0;
}

static int give_birth(void *arg)
{
    struct birth *b = arg;
    struct starter_shared *shared = b->starter->shared;
    char go;
    setpgid(0, 0); /* so that all it starts can be ended together */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signals_unblock();
    if (starter_set_up(b) == 0 && (b->go_fd < 0 || read(b->go_fd, &go, 1) == 1)) {
        shared->start_ns = clock_kernel_ns();
        execve(b->path, b->argv, b->starter->env);
    }
    shared->errnum = errno;
    return 127; /* which ends the process */
}

/* --- the starter --- */

/*
 * The starter's memory at exec is the least that a command's peak can be, so it lets go of what it
 * can. Pages of a file that were not written to come back when they are needed. Libraries that
 * are known never to be called here lose the others as well: tables that were relocated. What
 * somebody preloaded (faketime, a sanitizer) is called all the time.
 */
static bool is_idle(const char *path)
{
    static const char *const names[] = {"/libdw",      "/libdebuginfod", "/libelf",  "/libcapstone",
                                        "/libsqlite3", "/libzstd",       "/liblzma", "/libbz2",
                                        "/libz.so",    "/libxxhash",     "/libinih", "/libcurl"};
    bool found = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        found |= strstr(path, names[i]) != NULL;
    return found;
}

static int add_ranges(struct dl_phdr_info *lib, size_t bytes, void *to)
{
    struct starter_child *c = to;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    (void)bytes;
    for (int i = 0; i < lib->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &lib->dlpi_phdr[i];
        uintptr_t at = (lib->dlpi_addr + p->p_vaddr) & ~(page - 1);
        uintptr_t end = (lib->dlpi_addr + p->p_vaddr + p->p_memsz + page - 1) & ~(page - 1);
        if (p->p_type == PT_LOAD && (!(p->p_flags & PF_W) || is_idle(lib->dlpi_name)))
            *vec_push(&c->spare) = (struct starter_range){(void *)at, end - at};
    }
    return 0;
}

static void slim_down(const struct starter_child *c)
{
    for (size_t i = 0; i < c->spare.n; i++)
        madvise(c->spare.at[i].at, c->spare.at[i].bytes, MADV_DONTNEED);
    /* Begin the peak anew. Not every kernel has this: the peak then stays as it was. */
    if (c->peak_fd >= 0 && write(c->peak_fd, "5", 1) != 1)
        return;
}

/* Look NAME up in PATH now, not while the clock runs. */
static void starter_find_program(struct birth *b, const char *name)
{
    autofree char *path = NULL;
    bool there = program_find(name, &path) == PROGRAM_FOUND;
    if (strchr(name, '/'))
        snprintf(b->path, sizeof b->path, "%s", name); /* its folder may be another by then */
    else if (there)
        snprintf(b->path, sizeof b->path, "%s", path);
    else
        snprintf(b->path, sizeof b->path, "/nonexistent/%.200s", name);
}

static void put_usage(double *value, const struct rusage *u)
{
    value[MEASURE_USER] = (double)clock_timeval_ns(u->ru_utime);
    value[MEASURE_SYSTEM] = (double)clock_timeval_ns(u->ru_stime);
    value[MEASURE_CPU] = value[MEASURE_USER] + value[MEASURE_SYSTEM];
    value[MEASURE_PEAK_RSS] = (double)u->ru_maxrss * 1024;
    value[MEASURE_MINOR_FAULTS] = (double)u->ru_minflt;
    value[MEASURE_MAJOR_FAULTS] = (double)u->ru_majflt;
    value[MEASURE_SWITCHES_FREE] = (double)u->ru_nvcsw;
    value[MEASURE_SWITCHES_FORCED] = (double)u->ru_nivcsw;
}

static void await(struct starter_shared *shared, pid_t pid, struct starter_report *r)
{
    struct rusage usage;
    int status = 0;
    while (wait4(pid, &status, 0, &usage) < 0 && errno == EINTR)
        ;
    uint64_t end_ns = clock_kernel_ns();
    shared->pid = 0;
    r->value[MEASURE_TIME] = (double)(end_ns - shared->start_ns);
    put_usage(r->value, &usage);
    r->end = WIFSIGNALED(status) ? STARTER_SIGNALLED : STARTER_EXITED;
    r->status = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
    if (shared->errnum) {
        r->end = STARTER_NOT_RUN;
        r->status = shared->errnum;
    }
}

enum { BIRTH_STACK_BYTES = 64 << 10 };

static void run_timed(struct birth *b, struct starter_report *r)
{
    struct starter_shared *shared = b->starter->shared;
    pid_t pid = clone(give_birth, b->starter->stack + BIRTH_STACK_BYTES,
                      CLONE_VM | CLONE_VFORK | CLONE_PARENT_SETTID | SIGCHLD, b, &shared->pid);
    if (pid > 0) {
        await(shared, pid, r);
        return;
    }
    r->end = STARTER_NOT_RUN;
    r->status = errno;
}

/* The counter must be attached between birth and exec, so here the process is a copy that waits. */
static void run_counted(struct birth *b, struct starter_report *r)
{
    int go[2];
    if (starter_pipe(&go[0], &go[1]) != 0) {
        *r = (struct starter_report){.end = STARTER_NOT_RUN, .status = errno};
        return;
    }
    b->go_fd = go[0];
    pid_t pid = fork();
    if (pid == 0)
        _exit(give_birth(b));
    b->starter->shared->pid = pid;
    struct counter_group counter;
    bool counts = counter_open(&counter, b->starter->opts->count, pid) == 0;
    bool gone = write(go[1], "", 1) != 1;
    await(b->starter->shared, pid, r);
    if (!gone && counts)
        counter_read_all(&counter, r->value);
    counter_close(&counter);
    close(go[0]);
    close(go[1]);
}

static int open_input(const struct starter_opts *o, int null_fd)
{
    return o->input ? open(o->input, O_RDONLY | O_CLOEXEC) : null_fd;
}

static void serve(struct starter_child *c, const struct starter_request *q,
                  struct starter_report *r)
{
    autoclose int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    struct birth b = {.starter = c, .argv = c->opts->commands[q->command], .go_fd = -1};
    for (int i = 0; i < MEASURES; i++)
        r->value[i] = NAN;
    b.null_fd = null_fd;
    b.input_fd = open_input(c->opts, null_fd);
    if (b.input_fd < 0 || null_fd < 0) {
        r->end = STARTER_NOT_RUN;
        r->status = errno;
        return;
    }
    starter_find_program(&b, b.argv[0]);
    c->shared->errnum = 0;
    set_padding(c, q->pad_bytes);
    slim_down(c);
    if (c->opts->count)
        run_counted(&b, r);
    else
        run_timed(&b, r);
    if (b.input_fd != null_fd)
        close(b.input_fd);
}

_Noreturn void starter_child_main(struct starter_child *c)
{
    struct starter_request q;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "kelvin-starter");
    c->stack = mem_calloc(1, BIRTH_STACK_BYTES);
    dl_iterate_phdr(add_ranges, c);
    c->peak_fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    signals_survive(SIGINT); /* kelvin itself decides what Ctrl-C ends */
    while (read(c->request_fd, &q, sizeof q) == (ssize_t)sizeof q) {
        struct starter_report r = {.end = STARTER_NOT_RUN};
        serve(c, &q, &r);
        if (write(c->report_fd, &r, sizeof r) != (ssize_t)sizeof r)
            break;
    }
    _exit(0);
}
