#include "host/doctor.h"
#include "base/json.h"
#include "host/doctor_inner.h"
#include "model/meta.h"

#include <stdarg.h>
#include <unistd.h>

static const struct {
    const char *group, *name;
    doctor_check *check;
} checks[] = {
    {"sampling", "user code", doctor_user},
    {"sampling", "kernel code", doctor_kernel},
    {"sampling", "each CPU", doctor_cpus},
    {"sampling", "whole system", doctor_system},
    {"sampling", "hardware counters", doctor_cycles},
    {"sampling", "perf_event_paranoid", doctor_paranoid},
    {"sampling", "seccomp", doctor_seccomp},
    {"sampling", "sample rate", doctor_rate},
    {"sampling", "ring memory", doctor_rings},
    {"sampling", "open files", doctor_files},
    {"sampling", "timer engine", doctor_timer},
    {"sampling", "attach", doctor_attach},
    {"sampling", "tracepoints", doctor_tracefs},
    {"sampling", "waits", doctor_waits},
    {"sampling", "BPF", doctor_bpf},
    {"names", "kernel symbols", doctor_kallsyms},
    {"names", "debug files", doctor_debuginfo},
    {"names", "debuginfod", doctor_debuginfod},
    {"machine", "hypervisor", doctor_virtual},
    {"machine", "container", doctor_container},
    {"machine", "CPUs", doctor_usable},
    {"machine", "governor", doctor_governor},
    {"machine", "load", doctor_load},
    {"machine", "clock source", doctor_clock},
    {"machine", "disk", doctor_disk},
    {"machine", "other tools", doctor_tools},
};

enum { N_CHECKS = sizeof checks / sizeof *checks, DEFAULT_HZ = 999 };

_Static_assert((int)N_CHECKS <= (int)DOCTOR_FINDINGS_MAX, "room for every check");

void doctor_say(struct doctor_finding *f, enum doctor_state state, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    f->state = state;
    vsnprintf(f->why, sizeof f->why, fmt, ap);
    va_end(ap);
}

void doctor_fix(struct doctor_finding *f, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(f->fix, sizeof f->fix, fmt, ap);
    va_end(ap);
}

/* The line as this user would type it here: root has no need of sudo, which may not be there. */
static void fit_fix(const struct doctor *d, struct doctor_finding *f)
{
    size_t n = strlen("sudo ");
    char *at;
    while (geteuid() == 0 && (at = strstr(f->fix, "sudo ")))
        memmove(at, at + n, strlen(at + n) + 1);
    n = strlen(f->fix);
    if (strstr(f->fix, "sysctl") && strcmp(d->host.container, "none") != 0)
        snprintf(f->fix + n, sizeof f->fix - n, "   # on the container's host");
}

/* --- the verdict --- */

static void judge_perf(struct doctor *d)
{
    long rate = d->rate_max_hz && d->rate_max_hz < DEFAULT_HZ ? d->rate_max_hz : DEFAULT_HZ;
    const char *event = d->perf_cycles ? "cpu-clock" : "cycles";
    char why[128];
    d->engine = "perf";
    if (d->perf_kernel)
        snprintf(d->verdict, sizeof d->verdict,
                 "records with perf, %s at %ld Hz, user stacks only: %s", event, rate,
                 doctor_perf_reason(d, d->perf_kernel, why, sizeof why));
    else
        snprintf(d->verdict, sizeof d->verdict,
                 "records with perf, %s at %ld Hz, user and kernel stacks", event, rate);
}

static void judge_timer(struct doctor *d, const char *why)
{
    int rate = d->tick_hz && d->tick_hz < DEFAULT_HZ ? d->tick_hz : DEFAULT_HZ;
    d->engine = "timer";
    snprintf(d->verdict, sizeof d->verdict,
             "records with the timer engine at about %d Hz, user stacks only: %s", rate, why);
}

/* Why the engine perf does not work, in TO; "" when it does. */
static void why_not_perf(const struct doctor *d, char *to, size_t n)
{
    int e = d->perf_user ? d->perf_user : d->perf_cpus;
    *to = '\0';
    if (e)
        doctor_perf_reason(d, e, to, n);
    else if (d->engines.perf)
        snprintf(to, n, "%s", d->engines.perf);
}

static void judge_engine(struct doctor *d)
{
    char why[240];
    why_not_perf(d, why, sizeof why);
    if (!*why) {
        judge_perf(d);
    } else if (!d->timer && !d->engines.timer) {
        judge_timer(d, why);
    } else {
        d->engine = NULL;
        snprintf(d->verdict, sizeof d->verdict, "cannot record here: %s; timer engine: %s", why,
                 d->timer ? strerror(d->timer) : d->engines.timer);
    }
}

void doctor_judge(struct doctor *d)
{
    d->n_findings = N_CHECKS;
    for (int i = 0; i < N_CHECKS; i++) {
        d->findings[i] = (struct doctor_finding){.group = checks[i].group, .name = checks[i].name};
        checks[i].check(d, &d->findings[i]);
        fit_fix(d, &d->findings[i]);
    }
    judge_engine(d);
}

void doctor_run(struct doctor *d, const char *root, struct doctor_engines engines)
{
    *d = (struct doctor){.root = root, .engines = engines};
    fingerprint_read(&d->host, root);
    doctor_probe_perf(d);
    doctor_probe_timer(d);
    doctor_judge(d);
}

/* --- for people --- */

static const char *state_name(enum doctor_state s)
{
    static const char *const names[] = {"ok", "limited", "no", "note"};
    return names[s];
}

/* A line that would help in several places is shown at the first. */
static bool told_before(const struct doctor *d, int i)
{
    for (int before = 0; before < i; before++)
        if (strcmp(d->findings[before].fix, d->findings[i].fix) == 0)
            return true;
    return false;
}

void doctor_print(FILE *out, const struct doctor *d)
{
    char line[320];
    const char *group = "";
    fprintf(out, "%s\n%s, %s, %s\n", fingerprint_line(&d->host, line), d->host.os, d->host.kernel,
            d->host.arch);
    for (int i = 0; i < d->n_findings; i++) {
        const struct doctor_finding *f = &d->findings[i];
        if (strcmp(group, f->group) != 0)
            fprintf(out, "\n%s\n", f->group);
        group = f->group;
        fprintf(out, "  %-8s %-20s %s\n", state_name(f->state), f->name, f->why);
        if (f->fix[0] && !told_before(d, i))
            fprintf(out, "  %-8s %-20s -> %s\n", "", "", f->fix);
    }
    fprintf(out, "\nkelvin record: %s.\n", d->verdict);
}

/* --- for programs --- */

static void json_pair(struct json *j, const char *key, const char *value)
{
    json_key(j, key);
    json_str(j, value);
}

static void json_host(struct json *j, const struct fingerprint *h)
{
    char hash[24];
    snprintf(hash, sizeof hash, "%016llx", (unsigned long long)h->hash);
    json_key(j, "host");
    json_open(j, '{');
    json_pair(j, "name", h->name);
    json_pair(j, "hash", hash);
    json_pair(j, "cpu", h->cpu);
    json_key(j, "cpus_online");
    json_int(j, h->cpus_online);
    json_key(j, "cpus_usable");
    json_int(j, h->cpus_usable);
    json_key(j, "cpus_quota");
    h->cpus_quota > 0 ? json_double(j, h->cpus_quota) : json_null(j);
    json_key(j, "memory_bytes");
    json_uint(j, h->memory_bytes);
    json_pair(j, "arch", h->arch);
    json_pair(j, "os", h->os);
    json_pair(j, "kernel", h->kernel);
    json_pair(j, "hypervisor", h->hypervisor);
    json_pair(j, "container", h->container);
    json_pair(j, META_GOVERNOR, h->governor);
    json_pair(j, META_TURBO, h->turbo);
    json_pair(j, META_SMT, h->smt);
    json_pair(j, "clock", h->clock);
    json_key(j, "load");
    h->has_load ? json_double(j, h->load[0]) : json_null(j);
    json_close(j, '}');
}

static void json_finding(struct json *j, const struct doctor_finding *f)
{
    json_open(j, '{');
    json_pair(j, "group", f->group);
    json_pair(j, "name", f->name);
    json_pair(j, "state", state_name(f->state));
    json_pair(j, "why", f->why);
    json_key(j, "fix");
    f->fix[0] ? json_str(j, f->fix) : json_null(j);
    json_close(j, '}');
}

void doctor_print_json(FILE *out, const struct doctor *d)
{
    struct json j = {.out = out};
    json_open(&j, '{');
    json_pair(&j, "kelvin", KELVIN_VERSION);
    json_key(&j, "engine");
    d->engine ? json_str(&j, d->engine) : json_null(&j);
    json_pair(&j, "verdict", d->verdict);
    json_host(&j, &d->host);
    json_key(&j, "checks");
    json_open(&j, '[');
    for (int i = 0; i < d->n_findings; i++)
        json_finding(&j, &d->findings[i]);
    json_close(&j, ']');
    json_close(&j, '}');
    putc('\n', out);
}
