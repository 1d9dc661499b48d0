/*
 * top.c - the last seconds of a process or the machine, live in the terminal.
 */
#include "view/top.h"
#include "base/clock.h"
#include "base/publish.h"
#include "base/signals.h"
#include "cmd/command.h"
#include "suite/watch.h"
#include "view/export/export.h"

#include <errno.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <termios.h>

struct top_opts {
    long pid, times;
    const char *cpus, *cgroup, *user, *by, *sort, *filter;
    double rate_hz, delay_s, window_s;
};

#define AT(field) offsetof(struct top_opts, field)

static const struct opt top_table[] = {
    {'p', "pid", OPT_INT, AT(pid), "PID", "only this process (default: the whole machine)",
     .min = 1, .max = 4194304},
    {0, "cpu", OPT_TEXT, AT(cpus), "LIST", "only these CPUs: 0-3,8"},
    {0, "cgroup", OPT_TEXT, AT(cgroup), "NAME",
     "only what is in this cgroup, service or container, or below it"},
    {'u', "user", OPT_TEXT, AT(user), "USER", "only this user's processes"},
    {0, "by", OPT_CHOICE, AT(by), "WHAT", "function, thread or process (default: function)",
     "function thread process"},
    {0, "sort", OPT_CHOICE, AT(sort), "WHAT", "self or total (default: self)", "self total"},
    {0, "filter", OPT_TEXT, AT(filter), "TEXT", "only names with this text in them"},
    {'F', "rate", OPT_NUMBER, AT(rate_hz), "HZ",
     "samples per second of CPU time (default: 99; 499 with -p)", .min = 1, .max = 100000},
    {'d', "delay", OPT_SECONDS, AT(delay_s), "SECONDS", "between two screens (default: 2)",
     .min = 0.1, .max = 3600},
    {0, "window", OPT_SECONDS, AT(window_s), "SECONDS",
     "how far back a screen reaches (default: 10)", .min = 0.1, .max = 3600},
    {'n', "times", OPT_INT, AT(times), "N",
     "print N screens as plain text, without keys, and end (default: until q)", .min = 1,
     .max = 1e9},
    OPT_END,
};

struct top {
    const struct top_opts *opts;
    struct watch *watch;
    struct top_view view;
    char filter[64], message[260], *marked, *callers;
    bool typing, paused, over;
    struct watch_state state;
    struct signals signals;
    int pid_fd;      /* readable when the process has ended */
    int terminal_fd; /* Ctrl-Z, a return from it, a new size: as in struct signals */
    struct termios before;
    bool raw;
};

/* --- the terminal --- */

static int top_write(const char *s, size_t n, struct err *err)
{
    while (n) {
        ssize_t wrote = write(STDOUT_FILENO, s, n);
        if (wrote < 0 && errno == EPIPE)
            return err_set(err, EXIT_NOBODY_READS, "the pipe was closed");
        if (wrote < 0 && errno != EINTR)
            return err_set_errno(err, errno, "cannot write to standard output");
        s += wrote > 0 ? wrote : 0;
        n -= wrote > 0 ? (size_t)wrote : 0;
    }
    return 0;
}

/* Keys come one by one and unseen; Ctrl-C stays a signal. The screen of before comes back. */
static int enter_screen(struct top *t, struct err *err)
{
    static const char on[] = "\033[?1049h\033[?25l\033[2J";
    struct termios raw = t->before;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    t->raw = true;
    return top_write(on, sizeof on - 1, err);
}

static void leave_screen(struct top *t)
{
    static const char off[] = "\033[0m\033[?25h\033[?1049l";
    struct err ignored;
    if (!t->raw)
        return;
    top_write(off, sizeof off - 1, &ignored);
    tcsetattr(STDIN_FILENO, TCSANOW, &t->before);
    t->raw = false;
}

static int open_terminal(struct top *t, struct err *err)
{
    sigset_t set;
    const char *term = getenv("TERM");
    if (!isatty(STDOUT_FILENO) || tcgetattr(STDIN_FILENO, &t->before) != 0)
        return err_set(err, EXIT_ERROR, "top needs a terminal: '-n 1' prints one screen as text");
    if (!term || strcmp(term, "dumb") == 0)
        return err_set(err, EXIT_ERROR,
                       "top needs a terminal that can move its cursor, and TERM is %s: '-n 1' "
                       "prints one screen as text",
                       term ? "dumb" : "not set");
    sigemptyset(&set);
    sigaddset(&set, SIGTSTP);
    sigaddset(&set, SIGCONT);
    sigaddset(&set, SIGWINCH);
    sigprocmask(SIG_BLOCK, &set, NULL);
    t->terminal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return enter_screen(t, err);
}

/* Stop as Ctrl-Z asks, with the terminal as the shell wants it. Where no shell could continue us
 * the kernel does not stop us either. */
static void stop_for_now(struct top *t)
{
    sigset_t set;
    leave_screen(t);
    sigemptyset(&set);
    sigaddset(&set, SIGTSTP);
    raise(SIGTSTP);
    sigprocmask(SIG_UNBLOCK, &set, NULL); /* here it stops */
    sigprocmask(SIG_BLOCK, &set, NULL);
}

/* After a stop the shell has given the terminal other ways; a new size may leave old lines. */
static int take_terminal_signal(struct top *t, struct err *err)
{
    struct signalfd_siginfo taken;
    bool any = false;
    while (read(t->terminal_fd, &taken, sizeof taken) == (ssize_t)sizeof taken) {
        any = true;
        if (taken.ssi_signo == SIGTSTP)
            stop_for_now(t);
    }
    return any ? enter_screen(t, err) : 0;
}

static void find_size(struct top_view *v)
{
    struct winsize size;
    bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col && size.ws_row;
    v->width = known ? size.ws_col : v->escapes ? 80 : 100;
    v->height = known && v->escapes ? size.ws_row : 24;
    v->width = v->width < 20 ? 20 : v->width;
}

/* --- a screen --- */

static char *top_head(const struct top *t)
{
    const struct watch_state *s = &t->state;
    autofree char *what = t->opts->pid ? mem_printf("process %ld", t->opts->pid)
                                       : mem_printf("machine, %zu CPUs", s->n_cpus);
    autofree char *busy = t->opts->pid    ? mem_printf(" %.2f CPUs used,", s->cpus)
                          : s->idle_known ? mem_printf(" %.0f%% busy,", 100 * (1 - s->idle))
                                          : mem_strdup("");
    char n[UNITS_MAX];
    autofree char *lost =
        s->lost ? mem_printf(", %s lost so far", units_count(n, s->lost)) : mem_strdup("");
    return mem_printf("%s:%s %lld sample%s in %.0f s%s%s%s", what, busy,
                      (long long)s->selection.n_samples, s->selection.n_samples == 1 ? "" : "s",
                      s->seconds, lost, s->kernel_hidden ? ", kernel hidden" : "",
                      t->paused ? " [paused]" : "");
}

_Static_assert((int)TOP_TIMES == (int)THREAD_TIMES, "the view shows what is read");

static bool top_times(void *arg, struct thread_id thread, double ret[TOP_TIMES])
{
    return watch_times(arg, thread, ret);
}

static int draw(struct top *t, struct err *err)
{
    autobuf struct buf b = {0};
    char prompt[100];
    if (!t->paused)
        watch_select(t->watch, &t->state);
    autofree char *head = top_head(t);
    struct top_view v = t->view;
    snprintf(prompt, sizeof prompt, "filter: %s_ (Enter ends)", t->filter);
    v.selection = &t->state.selection;
    v.head = head;
    v.filter = t->filter;
    v.message = t->typing ? prompt : *t->message ? t->message : NULL;
    v.callers_of = t->callers;
    v.times = top_times;
    v.times_arg = t->watch;
    v.waiting = t->opts->pid != 0;
    find_size(&v);
    buf_str(&b, v.escapes ? "\033[H" : "");
    free(t->marked);
    size_t n = top_print(&b, &v, &t->marked);
    if (t->view.cursor >= n)
        t->view.cursor = n ? n - 1 : 0;
    buf_str(&b, v.escapes ? "\033[J" : "\n");
    return top_write(b.at, b.n, err);
}

/* --- keys --- */

/* "top.kelvin", or "top-2.kelvin" and so on where something is there already. */
static void top_new_name(char *to, size_t size)
{
    enum { MOST = 9999 };
    struct stat st;
    snprintf(to, size, "top.kelvin");
    for (int i = 2; i <= MOST && lstat(to, &st) == 0; i++)
        snprintf(to, size, "top-%d.kelvin", i);
}

/* What is on the screen, as a recording that replaces none. */
static void top_save(struct top *t)
{
    struct publish out;
    struct err err;
    char file[32];
    top_new_name(file, sizeof file);
    int rc = publish_open_private(&out, file, &err);
    if (rc == 0 && (rc = exporter_kelvin.write(out.out, &t->state.selection, NULL, &err)) == 0)
        rc = publish_commit(&out, &err);
    else
        publish_drop(&out);
    if (rc == 0)
        snprintf(t->message, sizeof t->message, "saved as %s", file);
    else
        snprintf(t->message, sizeof t->message, "%s", err.text);
}

static void type_filter(struct top *t, char key)
{
    size_t n = strlen(t->filter);
    if (key == '\n' || key == '\r' || key == '\033')
        t->typing = false;
    else if ((key == 127 || key == '\b') && n)
        t->filter[n - 1] = '\0';
    else if (key >= ' ' && key < 127 && n + 1 < sizeof t->filter) {
        t->filter[n] = key;
        t->filter[n + 1] = '\0';
    }
    if (key == '\033')
        t->filter[0] = '\0';
}

static void toggle_callers(struct top *t)
{
    bool on = !t->callers && t->view.by == TOP_FUNCTIONS && t->marked && *t->marked;
    free(t->callers);
    t->callers = on ? mem_strdup(t->marked) : NULL;
    t->view.cursor = 0;
}

static void choose_list(struct top *t, enum top_by by)
{
    t->view.by = by;
    t->view.cursor = 0;
    free(t->callers);
    t->callers = NULL;
}

static void take_key(struct top *t, char key)
{
    t->message[0] = '\0';
    switch (key) {
    case 'q':
        t->over = true;
        break;
    case 'f':
        choose_list(t, TOP_FUNCTIONS);
        break;
    case 't':
        choose_list(t, TOP_THREADS);
        break;
    case 'o':
        choose_list(t, TOP_PROCESSES);
        break;
    case 's':
        t->view.by_total = !t->view.by_total;
        break;
    case '/':
        if (t->callers) /* the filter is for the list of functions */
            toggle_callers(t);
        t->typing = true;
        t->filter[0] = '\0';
        break;
    case ' ':
    case 'p':
        t->paused = !t->paused;
        break;
    case 'w':
        top_save(t);
        break;
    case '\r':
    case '\n':
    case 'c':
        toggle_callers(t);
        break;
    case 'j':
        t->view.cursor++;
        break;
    case 'k':
        t->view.cursor -= t->view.cursor > 0;
        break;
    default:
        snprintf(t->message, sizeof t->message, "no such key; q quits");
    }
}

/* Arrows come as ESC [ A and ESC [ B. */
static void take_keys(struct top *t)
{
    char keys[64];
    ssize_t n = read(STDIN_FILENO, keys, sizeof keys);
    if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN))
        t->over = true; /* the terminal is gone */
    for (ssize_t i = 0; i < n && !t->over; i++) {
        bool arrow = keys[i] == '\033' && i + 2 < n && keys[i + 1] == '[';
        char key = arrow ? keys[i + 2] : keys[i];
        i += arrow ? 2 : 0;
        if (arrow && (key == 'A' || key == 'B'))
            take_key(t, key == 'A' ? 'k' : 'j');
        else if (t->typing)
            type_filter(t, key);
        else if (!arrow)
            take_key(t, key);
    }
}

/* --- --- */

/* Take samples until it is time for the next screen, or something happens at the terminal. */
static int top_pass_time(struct top *t, uint64_t until_ns, struct err *err)
{
    enum { TURN_MS = 100 };
    for (bool key = false; !key && !t->over;) {
        uint64_t now_ns = clock_kernel_ns();
        int left_ms = now_ns < until_ns ? (int)((until_ns - now_ns) / 1000000u) + 1 : 0;
        struct pollfd fds[] = {{.fd = watch_fd(t->watch), .events = POLLIN},
                               {.fd = t->signals.fd, .events = POLLIN},
                               {.fd = t->raw ? STDIN_FILENO : -1, .events = POLLIN},
                               {.fd = t->terminal_fd, .events = POLLIN}};
        poll(fds, 4, left_ms < TURN_MS ? left_ms : TURN_MS);
        if (!t->paused && watch_take(t->watch, err) != 0)
            return -1;
        t->over |= signals_take(&t->signals) != 0;
        key = fds[2].revents != 0;
        if (key)
            take_keys(t);
        if (fds[3].revents)
            return take_terminal_signal(t, err);
        if (now_ns >= until_ns)
            return 0;
    }
    return 0;
}

/* Ended, also if its parent has not asked how. Linux before 5.3 tells only when it has. */
static bool is_gone(const struct top *t)
{
    struct pollfd ended = {.fd = t->pid_fd, .events = POLLIN};
    return t->opts->pid && (t->pid_fd >= 0 ? poll(&ended, 1, 0) == 1
                                           : kill((pid_t)t->opts->pid, 0) != 0 && errno == ESRCH);
}

static int run_screens(struct top *t, struct err *err)
{
    uint64_t delay_ns = (uint64_t)(t->opts->delay_s * 1e9), next_ns = clock_kernel_ns() + delay_ns;
    if (t->view.escapes && draw(t, err) != 0)
        return -1;
    for (long n = 0; !t->over && !is_gone(t) && (!t->opts->times || n < t->opts->times);) {
        if (top_pass_time(t, next_ns, err) != 0)
            return -1;
        bool due = clock_kernel_ns() >= next_ns;
        n += due;
        if ((due || t->view.escapes) && draw(t, err) != 0)
            return -1;
        if (due) /* names of a new program may take longer than the delay */
            next_ns = clock_kernel_ns() + delay_ns;
    }
    return 0;
}

static int top_show(struct top *t, struct err *err)
{
    t->view.escapes = t->opts->times == 0;
    if (signals_open(&t->signals, false) != 0)
        return err_set_errno(err, errno, "cannot wait for signals");
    int rc = t->view.escapes ? open_terminal(t, err) : 0;
    if (rc == 0)
        rc = run_screens(t, err);
    leave_screen(t);
    if (rc == 0 && is_gone(t))
        command_say("process %ld has ended", t->opts->pid);
    return rc;
}

static enum top_by top_by_of(const char *name)
{
    return strcmp(name, "thread") == 0    ? TOP_THREADS
           : strcmp(name, "process") == 0 ? TOP_PROCESSES
                                          : TOP_FUNCTIONS;
}

static int top_run(const struct command *self, int n, char **args)
{
    enum { RATE_HZ = 99, RATE_PROCESS_HZ = 499 };
    struct top_opts o = {
        .by = "function", .sort = "self", .filter = "", .delay_s = 2, .window_s = 10};
    struct opt_result operands;
    struct err err;
    int rc = command_parse(self, &o, n, args, &operands);
    if (rc != 0)
        return rc < 0 ? EXIT_ERROR : EXIT_OK;
    if (operands.n_operands) {
        err_set(&err, EXIT_ERROR, "top: '%s' is not an option: -p PID watches one process",
                operands.operands[0]);
        return command_fail(&err);
    }
    struct top t = {.opts = &o, .signals.fd = -1, .pid_fd = -1, .terminal_fd = -1};
    t.view = (struct top_view){.by = top_by_of(o.by), .by_total = strcmp(o.sort, "total") == 0};
    snprintf(t.filter, sizeof t.filter, "%s", o.filter);
    struct watch_opts watch = {.pid = (int)o.pid,
                               .cpus = o.cpus,
                               .cgroup = o.cgroup,
                               .user = o.user,
                               .window_s = o.window_s,
                               .rate_hz = o.rate_hz > 0 ? o.rate_hz
                                          : o.pid       ? RATE_PROCESS_HZ
                                                        : RATE_HZ};
    rc = watch_open(&t.watch, &watch, &err);
    if (rc == 0 && o.pid)
        t.pid_fd = (int)syscall(SYS_pidfd_open, (int)o.pid, 0);
    if (rc == 0)
        rc = top_show(&t, &err);
    signals_close(&t.signals);
    if (t.terminal_fd >= 0)
        close(t.terminal_fd);
    if (t.pid_fd >= 0)
        close(t.pid_fd);
    watch_close(t.watch);
    free(t.marked);
    free(t.callers);
    err.hint = HINT_NONE; /* other engines cannot do this */
    return rc == 0 ? EXIT_OK : command_fail(&err);
}

const struct command command_top = {
    .name = "top",
    .summary = "show live in the terminal what a process or the machine runs",
    .operands = "",
    .about =
        "Samples the whole machine, or with -p one process, and shows every two seconds where the "
        "CPU time of the last ten seconds went: functions with self and total time, threads or "
        "processes, each share with its 95% interval. The machine needs root, or "
        "kernel.perf_event_paranoid at most 0.\n\n"
        "Keys: f functions, t threads, o processes; s sorts by self or total time; up and down (or "
        "k and j) mark a function and Enter shows who calls it; / filters by a part of the name; "
        "space pauses; w saves what is shown as top.kelvin, or top-2.kelvin and so on; q or Ctrl-C "
        "quits.\n\n"
        "The list of threads also shows what part of the window each was running, runnable (it "
        "wanted a CPU and had none) and blocked, as the kernel counts them. With -p, threads that "
        "only wait are listed too. 'kelvin record --waits' records what they wait for.",
    .examples = "kelvin top                          # the whole machine\n"
                "kelvin top -p 1234                  # one process\n"
                "kelvin top -n 1 --by process        # one screen as text, for a script",
    .opts = top_table,
    .run = top_run,
};
