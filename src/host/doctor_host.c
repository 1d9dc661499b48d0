/*
 * doctor_host.c - what else a recording needs or suffers from: rights beside perf_event_open,
 * names, room, and how steady the machine is.
 */
#include "base/mem.h"
#include "base/program.h"
#include "base/units.h"
#include "host/doctor_inner.h"
#include "host/sysfile.h"

#include <errno.h>
#include <linux/bpf.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>

static bool is(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

/* --- rights --- */

/* Sampling asks only for the right to look, which Yama leaves alone below 2. */
void doctor_attach(const struct doctor *d, struct doctor_finding *f)
{
    long scope;
    if (!sysfile_long(d->root, "/proc/sys/kernel/yama/ptrace_scope", &scope))
        doctor_say(f, DOCTOR_OK, "your own processes (the kernel has no Yama)");
    else if (scope == 0 || geteuid() == 0)
        doctor_say(f, scope < 3 ? DOCTOR_OK : DOCTOR_LIMITED, "kernel.yama.ptrace_scope is %ld",
                   scope);
    else
        doctor_say(f, DOCTOR_LIMITED,
                   "kernel.yama.ptrace_scope is %ld: your own processes can be sampled, but "
                   "kelvin can read the memory of its children only",
                   scope);
    if (f->state != DOCTOR_OK)
        doctor_fix(f, "sudo sysctl kernel.yama.ptrace_scope=0%s",
                   scope >= 3 ? "   # only after a reboot: 3 cannot be undone" : "");
}

/* A recording by attaching has an event for each thread on each CPU. */
void doctor_files(const struct doctor *d, struct doctor_finding *f)
{
    struct rlimit files = {0};
    getrlimit(RLIMIT_NOFILE, &files);
    rlim_t threads = files.rlim_max / (rlim_t)(d->host.cpus_online > 0 ? d->host.cpus_online : 1);
    if (threads >= 1000) {
        doctor_say(f, DOCTOR_OK, "enough to attach to a thousand threads");
        return;
    }
    doctor_say(f, DOCTOR_LIMITED, "%llu at most: enough to attach to about %llu threads",
               (unsigned long long)files.rlim_max, (unsigned long long)threads);
    doctor_fix(f, "sudo prlimit --pid $$ --nofile=65536:65536");
}

void doctor_tracefs(const struct doctor *d, struct doctor_finding *f)
{
    static const char *const at[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
    for (int i = 0; i < 2; i++) {
        autofree char *id = mem_printf("%s/events/sched/sched_switch/id", at[i]);
        long number;
        if (!sysfile_long(d->root, id, &number))
            continue;
        doctor_say(f, DOCTOR_OK, "tracepoints can be read in %s", at[i]);
        return;
    }
    bool mounted = sysfile_mentions(d->root, "/proc/mounts", " tracefs ");
    doctor_say(f, DOCTOR_LIMITED, "%s: no tracepoint events",
               mounted ? "tracefs may not be read" : "tracefs is not mounted");
    doctor_fix(f, mounted ? "sudo mount -o remount,mode=755 /sys/kernel/tracing"
                          : "sudo mount -t tracefs tracefs /sys/kernel/tracing");
}

/* Load the shortest program there is: return 0. */
static int try_bpf(void)
{
    struct bpf_insn program[] = {{.code = BPF_ALU64 | BPF_MOV | BPF_K},
                                 {.code = BPF_JMP | BPF_EXIT}};
    union bpf_attr attr = {
        .prog_type = BPF_PROG_TYPE_PERF_EVENT,
        .insn_cnt = 2,
        .insns = (uintptr_t)program,
        .license = (uintptr_t) "GPL",
    };
    autoclose int fd = (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof attr);
    return fd < 0 ? errno : 0;
}

void doctor_bpf(const struct doctor *d, struct doctor_finding *f)
{
    (void)d;
    int e = try_bpf();
    if (!e) {
        doctor_say(f, DOCTOR_OK, "programs can be loaded; recording does not need them");
        return;
    }
    doctor_say(f, DOCTOR_NOTE, "%s: %s; recording does not need it", "programs cannot be loaded",
               strerror(e));
    if (e == EPERM && geteuid() != 0)
        doctor_fix(f, "run as root, or: sudo setcap cap_bpf,cap_perfmon+ep PROGRAM");
}

/* --- room --- */

void doctor_disk(const struct doctor *d, struct doctor_finding *f)
{
    (void)d;
    struct statvfs s;
    char left[UNITS_MAX];
    if (statvfs(".", &s) != 0) {
        doctor_say(f, DOCTOR_NO, "the current folder: %s", strerror(errno));
        return;
    }
    double bytes = (double)s.f_bavail * (double)s.f_frsize;
    units_scaled(left, bytes, SCALED_BYTES);
    if (access(".", W_OK) != 0) {
        doctor_say(f, DOCTOR_NO, "the current folder may not be written to: %s", strerror(errno));
        doctor_fix(f, "cd /tmp   # or: kelvin record -o FILE");
    } else if (bytes < 100e6) {
        doctor_say(f, DOCTOR_LIMITED, "only %s left in the current folder", left);
        doctor_fix(f, "kelvin record -o FILE, on another disk");
    } else {
        doctor_say(f, DOCTOR_OK, "%s left in the current folder", left);
    }
}

/* --- how steady the machine is --- */

void doctor_virtual(const struct doctor *d, struct doctor_finding *f)
{
    const char *name = d->host.hypervisor;
    if (is(name, "none"))
        doctor_say(f, DOCTOR_OK, "none: this is the machine itself");
    else if (is(name, FINGERPRINT_UNKNOWN))
        doctor_say(f, DOCTOR_NOTE, "not known");
    else
        doctor_say(f, DOCTOR_NOTE, "%s: others share the machine, so repeat measurements", name);
}

void doctor_container(const struct doctor *d, struct doctor_finding *f)
{
    doctor_say(f, DOCTOR_NOTE, "%s", d->host.container);
}

void doctor_usable(const struct doctor *d, struct doctor_finding *f)
{
    const struct fingerprint *h = &d->host;
    if (h->cpus_quota > 0 && h->cpus_quota < h->cpus_usable) {
        doctor_say(
            f, DOCTOR_LIMITED,
            "%d of %d usable, but limited to the time of %.2f CPUs: threads are stopped when "
            "it is spent",
            h->cpus_usable, h->cpus_online, h->cpus_quota);
        doctor_fix(f, "docker update --cpus 0 CONTAINER   # or the cgroup's cpu.max");
    } else if (h->cpus_usable < h->cpus_online) {
        doctor_say(f, DOCTOR_NOTE, "%d of %d: bound by affinity", h->cpus_usable, h->cpus_online);
    } else {
        doctor_say(f, DOCTOR_OK, "all of %d", h->cpus_online);
    }
}

void doctor_governor(const struct doctor *d, struct doctor_finding *f)
{
    const char *name = d->host.governor;
    if (is(name, FINGERPRINT_UNKNOWN)) {
        doctor_say(f, DOCTOR_NOTE, "not known%s",
                   is(d->host.hypervisor, "none") ? "" : ": the hypervisor's host decides");
    } else if (is(name, "performance")) {
        doctor_say(f, DOCTOR_OK, "performance; turbo %s", d->host.turbo);
    } else {
        doctor_say(f, DOCTOR_LIMITED, "%s: the clock changes while measuring; turbo %s", name,
                   d->host.turbo);
        doctor_fix(f, "echo performance | sudo tee "
                      "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor");
    }
}

void doctor_load(const struct doctor *d, struct doctor_finding *f)
{
    double load = d->host.load[0];
    if (!d->host.has_load)
        doctor_say(f, DOCTOR_NOTE, "not known");
    else if (load > 0.75 * d->host.cpus_online)
        doctor_say(f, DOCTOR_LIMITED,
                   "%.2f on %d CPUs: other processes disturb measurements (see top)", load,
                   d->host.cpus_online);
    else
        doctor_say(f, DOCTOR_OK, "%.2f on %d CPUs", load, d->host.cpus_online);
}

/* Any other source makes each reading of the clock a system call. */
void doctor_clock(const struct doctor *d, struct doctor_finding *f)
{
    static const char *const fast[] = {"tsc", "arch_sys_counter", "kvm-clock", NULL};
    const char *name = d->host.clock;
    doctor_say(f, is(name, FINGERPRINT_UNKNOWN) ? DOCTOR_NOTE : DOCTOR_LIMITED,
               is(name, FINGERPRINT_UNKNOWN) ? "%s" : "%s: slow to read", name);
    for (int i = 0; fast[i]; i++)
        if (is(name, fast[i]))
            doctor_say(f, DOCTOR_OK, "%s", name);
    if (f->state == DOCTOR_LIMITED)
        doctor_fix(f, "echo tsc | sudo tee "
                      "/sys/devices/system/clocksource/clocksource0/current_clocksource");
}

/* --- other tools --- */

void doctor_tools(const struct doctor *d, struct doctor_finding *f)
{
    static const char *const names[] = {"perf",   "valgrind",        "gdb", "bpftrace",
                                        "samply", "debuginfod-find", NULL};
    (void)d;
    size_t n = 0;
    char found[160] = "";
    for (int i = 0; names[i]; i++)
        if (program_exists(names[i]))
            n += (size_t)snprintf(found + n, sizeof found - n, "%s%s", n ? ", " : "", names[i]);
    doctor_say(f, DOCTOR_NOTE, "%s", n ? found : "none of perf, valgrind, gdb, bpftrace, samply");
}
