/*
 * watchdog.c - a benchmark that never ends is ended.
 *
 * By a timer and its signal, not by a thread: in a program with a second thread malloc and stdio
 * take locks that they leave out in a program with one, and that would be measured.
 */
#include "base/buf.h"
#include "bench.h"

#include <math.h>
#include <signal.h>
#include <time.h>

/* One that programs hardly ever use. */
#define WATCHDOG_SIGNAL (SIGRTMAX - 4)

/* What a signal handler needs has to lie somewhere; written before the timer starts. */
static struct {
    timer_t timer;
    bool running;
    struct buf text, record;
    int record_fd;
} watch;

static void bite(int signal)
{
    (void)signal;
    /* The program ends here, heard or not. */
    if (write(STDERR_FILENO, watch.text.at, watch.text.n) < 0)
        _exit(EXIT_ERROR);
    if (watch.record.n && write(watch.record_fd, watch.record.at, watch.record.n) < 0)
        _exit(EXIT_ERROR);
    _exit(EXIT_ERROR);
}

static void write_record(const struct job *job, double limit_s)
{
    char *bytes = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&bytes, &n);
    if (!f)
        return;
    struct json j = {.out = f};
    json_open(&j, '{');
    json_key(&j, "error");
    autofree char *text = mem_printf("not over after %g s", limit_s);
    json_str(&j, text);
    json_key(&j, "name");
    json_str(&j, job->name);
    json_key(&j, "exit");
    json_int(&j, EXIT_ERROR);
    json_close(&j, '}');
    fputc('\n', f);
    fclose(f);
    buf_add(&watch.record, bytes, n);
    free(bytes);
}

void watchdog_start(const struct session *s, const struct job *job, double limit_s)
{
    if (!(limit_s > 0))
        return;
    buf_printf(&watch.text, "%s%s: %s (%s:%d): not over after %g s, see --limit\n",
               s->waiting ? "\r\033[K" : "", s->program, job->name, job->entry->file,
               job->entry->line, limit_s);
    if (s->records) {
        watch.record_fd = fileno(s->records);
        write_record(job, limit_s);
    }
    struct sigaction action = {.sa_handler = bite};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = WATCHDOG_SIGNAL};
    struct itimerspec when = {.it_value = {(time_t)limit_s, (long)(fmod(limit_s, 1) * 1e9)}};
    sigaction(WATCHDOG_SIGNAL, &action, NULL);
    watch.running = timer_create(CLOCK_MONOTONIC, &event, &watch.timer) == 0;
    if (watch.running)
        timer_settime(watch.timer, 0, &when, NULL);
}

void watchdog_stop(void)
{
    if (watch.running)
        timer_delete(watch.timer);
    watch.running = false;
    buf_done(&watch.text);
    buf_done(&watch.record);
}
