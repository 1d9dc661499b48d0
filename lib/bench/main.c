/* main.c - the main function of benchmark programs. */
#include "bench.h"
#include "protocol.h"

#include <errno.h>
#include <fcntl.h>

static int main_complain(const struct session *s, const struct err *err)
{
    fprintf(stderr, "%s: %s\n", s->program, err->text);
    return err->code;
}

/* Where records go: to kelvin bench, or with --json to standard output. */
static int open_records(struct session *s, struct err *err)
{
    const char *word = getenv(PROTOCOL_FD);
    if (!word) {
        s->records = s->opts->json ? stdout : NULL;
        return 0;
    }
    uint64_t fd;
    if (!text_u64(text_of(word), 10, &fd) || fd > 1 << 20)
        return err_set(err, EXIT_ERROR, PROTOCOL_FD "='%s' is not a file descriptor", word);
    s->records = fdopen((int)fd, "w");
    if (!s->records)
        return err_set_errno(err, errno, PROTOCOL_FD "=%s cannot be written to", word);
    fcntl((int)fd, F_SETFD, FD_CLOEXEC);
    /* Programs that a benchmark starts have nothing to answer. */
    unsetenv(PROTOCOL_FD);
    unsetenv(PROTOCOL_ASK);
    return 0;
}

static void greet(struct session *s)
{
    struct json *j = session_record(s);
    if (!j)
        return;
    json_key(j, "kelvin_bench");
    json_int(j, PROTOCOL_VERSION);
    json_key(j, "program");
    json_str(j, s->program);
    session_record_end(s);
}

static void say_end(struct session *s)
{
    struct json *j = session_record(s);
    if (!j)
        return;
    json_key(j, "end");
    json_bool(j, true);
    json_key(j, "exit");
    json_int(j, s->exit);
    session_record_end(s);
}

static void main_list(struct session *s, const struct job *job)
{
    const struct kind *kind = job->entry->kind;
    struct json *j = session_record(s);
    if (!j) {
        session_say(s, "%s\n", job->name);
        return;
    }
    if (kind->describe) {
        kind->describe(j, job);
    } else {
        json_key(j, "name");
        json_str(j, job->name);
    }
    session_record_end(s);
}

/* JOB may be NULL: then nothing can be run. */
static void record_error(struct session *s, const struct job *job, const struct err *err)
{
    struct json *j = session_record(s);
    if (!j)
        return;
    json_key(j, "error");
    json_str(j, err->text);
    if (job) {
        json_key(j, "name");
        json_str(j, job->name);
    }
    json_key(j, "exit");
    json_int(j, err->code);
    session_record_end(s);
}

/* A job that cannot be run does not keep the others from it. */
static void say_error(struct session *s, const struct job *job, const struct err *err)
{
    session_complains(s, "%s: %s (%s:%d): %s\n", s->program, job->name, job->entry->file,
                      job->entry->line, err->text);
    session_fails(s, err->code);
    record_error(s, job, err);
}

static void run_job(struct session *s, const struct job *job)
{
    const struct kind *kind = job->entry->kind;
    struct err err = {0};
    session_waits_for(s, job->name);
    watchdog_start(s, job, s->opts->limit_s);
    int status = kind->run(s, job, &err);
    watchdog_stop();
    if (status < 0)
        say_error(s, job, &err);
}

/* After the last job of a kind it may have something to say about all of them. */
static void finish_kind(struct session *s, size_t at)
{
    const struct kind *kind = s->jobs.list.at[at].entry->kind;
    for (size_t i = at + 1; i < s->jobs.list.n; i++)
        if (s->jobs.list.at[i].entry->kind == kind)
            return;
    if (kind->finish)
        kind->finish(s);
}

static void run_jobs(struct session *s)
{
    s->name_width = (int)strlen("benchmark");
    for (size_t i = 0; i < s->jobs.list.n; i++) {
        int n = (int)strlen(s->jobs.list.at[i].name);
        s->name_width = n > s->name_width ? n : s->name_width;
    }
    for (size_t i = 0; i < s->jobs.list.n && !s->output_errno; i++) {
        if (s->opts->list)
            main_list(s, &s->jobs.list.at[i]);
        else
            run_job(s, &s->jobs.list.at[i]);
        finish_kind(s, i);
    }
}

/* Output that nobody could keep must not look like success. */
static int main_finish(struct session *s)
{
    say_end(s);
    session_say(s, "%s", "");
    jobs_done(&s->jobs);
    if (s->records && s->records != stdout && fclose(s->records) != 0)
        s->output_errno = errno;
    if (!s->output_errno)
        return s->exit;
    session_complains(s, "%s: cannot write the results: %s\n", s->program,
                      strerror(s->output_errno));
    return EXIT_ERROR;
}

static int run_session(struct session *s, const struct opt_result *names)
{
    struct err err = {0};
    if (open_records(s, &err) < 0)
        return main_complain(s, &err);
    greet(s);
    if (registry_jobs(&s->jobs, &err) < 0 || jobs_select(&s->jobs, s->opts, names, &err) < 0) {
        s->exit = main_complain(s, &err);
        record_error(s, NULL, &err);
    } else {
        run_jobs(s);
    }
    return main_finish(s);
}

PUBLIC int kelvin_main(int argc, char **argv)
{
    struct options opts;
    struct opt_result names;
    struct err err = {0};
    struct session s = {.opts = &opts, .program = argc > 0 ? argv[0] : "kelvin_bench"};
    int status = options_read(&opts, argc, argv, &names, &err);
    if (status < 0)
        status = main_complain(&s, &err);
    else
        status = status ? main_finish(&s) : run_session(&s, &names);
    options_done(&opts);
    return status;
}
