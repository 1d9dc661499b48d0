/* interleave.c - KELVIN_INTERLEAVE: schedules tried one after the other, and what fails reported.
 */
#include "base/units.h"
#include "bench.h"
#include "turns.h"

#include <signal.h>

/* Steps of a failing schedule that are printed. */
enum { STEPS_SHOWN = 60 };

struct trial {
    struct session *s;
    const struct job *job;
    void (*body)(void);
    struct schedule schedule;
    struct turns_result result;
    uint64_t tried; /* schedules within the bound that was reached */
    unsigned bound; /* that was reached, whole or not */
    bool whole;     /* all of them */
    bool other;     /* the body did another thing the second time */
};

/* --- a program that dies --- */

static struct trial *dying;

/* The program ends with this, so that it may allocate: there is nobody who could be harmed. */
static void tell_crash(int signal)
{
    struct trial *t = dying;
    struct buf b = {0};
    dying = NULL;
    if (t) {
        schedule_print(&t->schedule, &b);
        fprintf(
            stderr,
            "%s: the program died under this schedule; to run it again:\n  %s %s --schedule %s\n",
            t->job->name, t->s->program, t->job->name, b.n ? buf_cstr(&b) : "1");
    }
    raise(signal);
}

static const int deadly[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
enum { DEADLY = sizeof deadly / sizeof *deadly };

static void watch_crashes(struct trial *t, struct sigaction *old)
{
    struct sigaction act = {.sa_handler = tell_crash, .sa_flags = SA_RESETHAND | SA_NODEFER};
    dying = t;
    for (int i = 0; i < DEADLY; i++)
        sigaction(deadly[i], &act, &old[i]);
}

static void watch_no_more(const struct sigaction *old)
{
    dying = NULL;
    for (int i = 0; i < DEADLY; i++)
        sigaction(deadly[i], &old[i], NULL);
}

/* --- trying --- */

/* Whether to go on with the next schedule. */
static bool trial_once(struct trial *t)
{
    turns_result_done(&t->result);
    struct turns_opts o = {.body = t->body, .schedule = &t->schedule};
    turns_run(&o, &t->result);
    t->tried++;
    t->other = t->schedule.unlike;
    return !t->result.failure && !t->other;
}

/* Fewest preemptions first. The last round has those of all the others among its own. */
static void try_all(struct trial *t)
{
    uint64_t most = (uint64_t)t->s->opts->schedules;
    for (t->bound = 0;; t->bound++) {
        schedule_done(&t->schedule);
        t->schedule = (struct schedule){.bound = t->bound};
        t->tried = 0;
        t->whole = true;
        bool go_on = trial_once(t);
        while (go_on && schedule_next(&t->schedule)) {
            t->whole = t->tried < most;
            go_on = t->whole && trial_once(t);
        }
        if (!go_on || t->bound == (unsigned)t->s->opts->preemptions)
            return;
    }
}

/* --- out --- */

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void say_steps(const struct trial *t)
{
    size_t n = t->result.steps.n, skipped = n > STEPS_SHOWN ? n - STEPS_SHOWN : 0;
    if (skipped)
        session_say(t->s, "  ... %zu steps before these\n", skipped);
    for (size_t i = skipped; i < n; i++) {
        const struct turns_step *step = &t->result.steps.at[i];
        session_say(t->s, "  %4zu  %*sthread %u  %-16s  %s:%d\n", i + 1,
                    (int)(step->thread - 1) * 4, "", step->thread, step->what,
                    file_name(step->file), step->line);
    }
}

/* "fails under schedule 12 of those with at most 1 preemption: expected n == 2 (x.c:12)" */
static void say_failure(const struct trial *t, struct buf *b)
{
    char n[UNITS_MAX];
    if (t->other) {
        buf_str(b, t->s->opts->schedule
                       ? "this schedule does not fit the program as it is now"
                       : "its body does not do the same under the same schedule: a clock, random "
                         "numbers or what an earlier schedule left behind decide");
        return;
    }
    buf_printf(b, "fails");
    if (!t->s->opts->schedule)
        buf_printf(b, " under schedule %s of those with at most %u preemption%s",
                   units_count(n, t->tried), t->bound, t->bound == 1 ? "" : "s");
    buf_printf(b, ": %s", t->result.failure);
}

static void put_trial(struct json *j, const struct trial *t, const char *message,
                      const char *schedule)
{
    json_key(j, "interleave");
    json_str(j, t->job->name);
    json_key(j, "ok");
    json_bool(j, !message);
    json_key(j, "schedules");
    json_double(j, (double)t->tried);
    json_key(j, "preemptions");
    json_int(j, (int)t->bound);
    json_key(j, "whole");
    json_bool(j, t->whole);
    if (!message)
        return;
    json_key(j, "message");
    json_str(j, message);
    json_key(j, "schedule");
    json_str(j, schedule);
}

static void say_good(const struct trial *t)
{
    char n[UNITS_MAX];
    const char *all = t->whole ? "all " : "the first ";
    if (t->s->opts->schedule)
        session_say(t->s, "%s: holds under this schedule\n", t->job->name);
    else
        session_say(t->s, "%s: holds under %s%s schedule%s with at most %u preemption%s%s\n",
                    t->job->name, all, units_count(n, t->tried), t->tried == 1 ? "" : "s", t->bound,
                    t->bound == 1 ? "" : "s",
                    t->whole ? "" : "; --schedules sets how many are tried");
}

static void trial_tell(const struct trial *t)
{
    autobuf struct buf message = {0}, schedule = {0};
    bool bad = t->result.failure || t->other;
    schedule_print(&t->schedule, &schedule);
    if (bad)
        say_failure(t, &message);
    struct json *j = session_record(t->s);
    if (j) {
        put_trial(j, t, bad ? buf_cstr(&message) : NULL, buf_cstr(&schedule));
        session_record_end(t->s);
    } else if (bad) {
        session_say(t->s, "%s: %s\n", t->job->name, buf_cstr(&message));
        say_steps(t);
        if (schedule.n && !t->other)
            session_say(t->s, "  to run it again: %s %s --schedule %s\n", t->s->program,
                        t->job->name, buf_cstr(&schedule));
    } else {
        say_good(t);
    }
    if (bad)
        session_fails(t->s, EXIT_FAILS);
}

/* --- the kind --- */

static int interleave_run(struct session *s, const struct job *job, struct err *err)
{
    const struct kelvin_interleaving *i = (const struct kelvin_interleaving *)job->entry;
    struct trial t = {.s = s, .job = job, .body = i->body};
    struct sigaction old[DEADLY];
    int rc = 0;
    watch_crashes(&t, old);
    if (!s->opts->schedule)
        try_all(&t);
    else if ((rc = schedule_read(&t.schedule, s->opts->schedule, err)) == 0)
        trial_once(&t);
    watch_no_more(old);
    if (rc == 0)
        trial_tell(&t);
    turns_result_done(&t.result);
    schedule_done(&t.schedule);
    return rc;
}

static const struct kind interleave_kind = {.word = "interleaving", .run = interleave_run};

PUBLIC void kelvin_add_interleaving(struct kelvin_interleaving *i)
{
    registry_add(&i->entry, &interleave_kind);
}
