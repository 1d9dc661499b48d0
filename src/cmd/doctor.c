/*
 * doctor.c - what this host lets kelvin do, and the lines that would give more.
 */
#include "host/doctor.h"
#include "base/publish.h"
#include "cmd/command.h"
#include "record/engine.h"

struct doctor_opts {
    bool json;
};

static const struct opt doctor_table[] = {
    {0, "json", OPT_FLAG, offsetof(struct doctor_opts, json), NULL, "print JSON, for programs"},
    OPT_END,
};

/* NULL, or what E says against recording here; the text is in WHY. */
static const char *refusal(const struct engine *e, struct err *why)
{
    struct engine_opts usual = {.rate_hz = 999, .stack_bytes = 32768, .engine = e->name};
    return e->probe(&usual, why) == 0 ? NULL : why->text;
}

static int doctor_command(const struct command *self, int n, char **args)
{
    struct doctor_opts o = {0};
    struct opt_result operands;
    struct err err;
    struct publish out;
    int rc = command_parse(self, &o, n, args, &operands);
    if (rc != 0)
        return rc < 0 ? EXIT_ERROR : EXIT_OK;
    if (operands.n_operands) {
        command_say("doctor: takes no operands, but got '%s'", operands.operands[0]);
        return EXIT_ERROR;
    }
    struct doctor d;
    struct err no_perf, no_timer;
    doctor_run(&d, "",
               (struct doctor_engines){refusal(&engine_perf, &no_perf),
                                       refusal(&engine_timer, &no_timer)});
    if (publish_open(&out, "-", &err) != 0)
        return command_fail(&err);
    (o.json ? doctor_print_json : doctor_print)(out.out, &d);
    if (publish_commit(&out, &err) != 0)
        return command_fail(&err);
    return d.engine ? EXIT_OK : EXIT_ERROR;
}

const struct command command_doctor = {
    .name = "doctor",
    .summary = "show what this host lets kelvin record, and how to allow more",
    .operands = "",
    .about =
        "Tries what a recording needs: perf_event_open for user code, kernel code, each CPU and "
        "hardware counters, memory for rings, CPU timers, names of kernel and library functions. "
        "Each line has a state (ok, limited, no, note), the reason, and after an arrow the command "
        "or setting that lifts the limit. The last line says what 'kelvin record' will use "
        "here.\n\n"
        "Changes nothing, needs no rights, and prints no host name. Exits with 0 when some engine "
        "works, with 1 when none does.",
    .examples = "kelvin doctor          # why are there no kernel frames?\n"
                "kelvin doctor --json   # the same for a program",
    .opts = doctor_table,
    .run = doctor_command,
};
