/* run_build.c - the phase of a run that builds, and how commands of a suite are run. */
#include "suite/run_inner.h"
#include "suite/run_sanitize.h"
#include "suite/run_variants.h"

#include <errno.h>
#include <unistd.h>

int run_command(struct run *r, const struct exec_opts *o, struct exec_result *ret, struct err *err)
{
    unlink(r->log);
    if (exec_run(o, ret, err) != 0)
        return -1;
    r->away_s += ret->wall_s;
    return run_go_on(r, err);
}

struct exec_opts run_exec_opts(const struct run *r, const struct suite_result *w)
{
    return (struct exec_opts){
        .env = &w->workload.env,
        .input = w->workload.input,
        .log = r->log,
        .timeout_s = w->workload.timeout_s,
        .fixed_layout = w->workload.fixed_layout,
        .stop_fd = r->opts.stop_fd,
    };
}

char *run_join_cpus(const struct words *cpus)
{
    autobuf struct buf b = {0};
    for (size_t i = 0; i < cpus->at.n; i++)
        buf_printf(&b, "%s%s", i ? "," : "", cpus->at.at[i]);
    return mem_strdup(buf_cstr(&b));
}

static int check_binary(const struct run *r, struct err *err)
{
    const char *binary = conf_text(&r->suite.conf, "", "build.binary");
    if (!*binary || access(binary, X_OK) == 0)
        return 0;
    return err_set_errno(err, errno, "after the build there is no program '%s' (build.binary)",
                         binary);
}

static int build_failed(struct run *r, const struct exec_result *done, struct err *err)
{
    autobuf struct buf said = {0}, tail = {0};
    exec_say(done, &said);
    exec_tail(r->log, RUN_TAIL_LINES, &tail);
    run_say(r, "the last lines of the build:\n%s", buf_cstr(&tail));
    r->tail = tail.n ? mem_strdup(buf_cstr(&tail)) : NULL;
    r->fault = RUN_BUILD_FAILED;
    return err_set(err, EXIT_ERROR, "the build %s", buf_cstr(&said));
}

int run_build(struct run *r, struct err *err)
{
    struct suite *s = &r->suite;
    const char *command = conf_text(&s->conf, "", "build.command");
    char *argv[] = {(char *)"/bin/sh", (char *)"-c", (char *)command, NULL};
    struct exec_result done;
    if (r->opts.skip_build || !*command) {
        run_say(r, *command ? "skipped" : "nothing to build (build.command is empty)");
        if (run_build_variants(r, err) != 0 || run_build_sanitized(r, err) != 0)
            return -1;
        return check_binary(r, err);
    }
    if (run_build_variants(r, err) != 0 || run_build_sanitized(r, err) != 0)
        return -1;
    struct words env = conf_words(&s->conf, "", "build.env");
    struct exec_opts o = {.argv = argv,
                          .env = &env,
                          .input = "",
                          .log = r->log,
                          .timeout_s = conf_number(&s->conf, "", "build.timeout"),
                          .stop_fd = r->opts.stop_fd};
    int rc = run_command(r, &o, &done, err);
    words_done(&env);
    if (rc != 0)
        return -1;
    s->build_s = done.wall_s;
    if (done.end != EXEC_EXITED || done.status != 0)
        return build_failed(r, &done, err);
    s->built = true;
    return check_binary(r, err);
}
