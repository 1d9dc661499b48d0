/*
 * doctor_perf.c - what perf_event_open allows.
 *
 * The kernel says EACCES where rights are missing (kernel.perf_event_paranoid, security modules)
 * and ENOENT where a counter is. EPERM and ENOSYS come from seccomp filters, as Docker's, or from
 * kernels built without perf events, which have no kernel.perf_event_paranoid either.
 */
#include "base/mem.h"
#include "host/doctor_inner.h"
#include "host/sysfile.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

enum { WANTED_HZ = 999, WANTED_RING_BYTES = 512 << 10 };

/* --- asking --- */

static struct perf_event_attr clock_attr(void)
{
    return (struct perf_event_attr){
        .size = sizeof(struct perf_event_attr),
        .type = PERF_TYPE_SOFTWARE,
        .config = PERF_COUNT_SW_CPU_CLOCK,
        .sample_type = PERF_SAMPLE_IP,
        .sample_period = 1000000,
        .disabled = 1,
        .inherit = 1,
        .exclude_kernel = 1,
        .exclude_hv = 1,
    };
}

static int event_open(const struct perf_event_attr *a, int pid, int cpu)
{
    return (int)syscall(SYS_perf_event_open, a, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/* 0 if it opens, else the errno. */
static int doctor_try_open(const struct perf_event_attr *a, int pid, int cpu)
{
    autoclose int fd = event_open(a, pid, cpu);
    return fd < 0 ? errno : 0;
}

/* The same on each CPU, those that are offline left out. */
static int try_each_cpu(const struct perf_event_attr *a)
{
    int found = 0, n = (int)sysconf(_SC_NPROCESSORS_CONF);
    for (int cpu = 0; cpu < n; cpu++) {
        int e = doctor_try_open(a, 0, cpu);
        if (e && e != ENODEV)
            return e;
        found += e == 0;
    }
    return found ? 0 : ENODEV;
}

static bool under_seccomp(const char *root)
{
    char mode[8];
    return sysfile_field(root, "/proc/self/status", "Seccomp", ':', mode, sizeof mode) &&
           strcmp(mode, "0") != 0;
}

void doctor_probe_perf(struct doctor *d)
{
    struct perf_event_attr user = clock_attr(), kernel = user, cycles = user;
    kernel.exclude_kernel = 0;
    cycles.type = PERF_TYPE_HARDWARE;
    cycles.config = PERF_COUNT_HW_CPU_CYCLES;
    d->perf_user = doctor_try_open(&user, 0, -1);
    d->perf_kernel = doctor_try_open(&kernel, 0, -1);
    d->perf_cpus = try_each_cpu(&user);
    d->perf_system = doctor_try_open(&kernel, -1, 0);
    d->perf_cycles = doctor_try_open(&cycles, 0, -1);
    d->seccomp = under_seccomp(d->root);
    d->has_paranoid = sysfile_long(d->root, "/proc/sys/kernel/perf_event_paranoid", &d->paranoid);
    if (!sysfile_long(d->root, "/proc/sys/kernel/perf_event_max_sample_rate", &d->rate_max_hz))
        d->rate_max_hz = 0;
}

/* --- what the answers mean --- */

const char *doctor_perf_reason(const struct doctor *d, int errnum, char *to, size_t n)
{
    if (errnum == EACCES && d->has_paranoid)
        snprintf(to, n, "kernel.perf_event_paranoid is %ld", d->paranoid);
    else if (errnum == ENOSYS && !d->seccomp)
        snprintf(to, n, "this kernel has no perf_event_open");
    else if ((errnum == EPERM || errnum == ENOSYS) && d->seccomp)
        snprintf(to, n, "perf_event_open is blocked by seccomp");
    else if (errnum == ENOENT || errnum == EOPNOTSUPP)
        snprintf(to, n, "this machine has no such counter");
    else if (errnum == EMFILE)
        snprintf(to, n, "too few open files are allowed");
    else
        snprintf(to, n, "perf_event_open says '%s'", strerror(errnum));
    return to;
}

static void fix_seccomp(const struct doctor *d, struct doctor_finding *f)
{
    const char *box = d->host.container;
    if (strcmp(box, "kubernetes") == 0)
        doctor_fix(f, "in the pod: securityContext: {capabilities: {add: [PERFMON]}, "
                      "seccompProfile: {type: Unconfined}}");
    else if (strcmp(box, "none") == 0)
        doctor_fix(f, "start without the filter (in a systemd unit: "
                      "SystemCallFilter=perf_event_open)");
    else
        doctor_fix(f, "%s run --cap-add PERFMON --security-opt seccomp=unconfined ...",
                   strcmp(box, "podman") == 0 ? "podman" : "docker");
}

/* The line against a refusal that rights would lift, PARANOID being the value that would do. */
static void fix_refusal(const struct doctor *d, struct doctor_finding *f, int errnum, int paranoid)
{
    if (errnum == EACCES)
        doctor_fix(f, "sudo sysctl kernel.perf_event_paranoid=%d", paranoid);
    else if ((errnum == EPERM || errnum == ENOSYS) && d->seccomp)
        fix_seccomp(d, f);
    else if (errnum == EMFILE)
        doctor_fix(f, "ulimit -n 65536");
}

static void doctor_perf_refused(const struct doctor *d, struct doctor_finding *f, int errnum,
                                int paranoid)
{
    char why[128];
    doctor_say(f, DOCTOR_NO, "%s", doctor_perf_reason(d, errnum, why, sizeof why));
    fix_refusal(d, f, errnum, paranoid);
}

/* --- checks --- */

void doctor_user(const struct doctor *d, struct doctor_finding *f)
{
    if (d->perf_user)
        doctor_perf_refused(d, f, d->perf_user, 2);
    else
        doctor_say(f, DOCTOR_OK, "cpu-clock opens for user code");
}

void doctor_kernel(const struct doctor *d, struct doctor_finding *f)
{
    char why[128];
    if (!d->perf_kernel) {
        doctor_say(f, DOCTOR_OK, "cpu-clock opens with the kernel's part");
    } else if (d->perf_user) {
        doctor_perf_refused(d, f, d->perf_kernel, 1);
    } else {
        doctor_say(f, DOCTOR_LIMITED,
                   "%s: samples have no kernel part, and waits have durations only",
                   doctor_perf_reason(d, d->perf_kernel, why, sizeof why));
        fix_refusal(d, f, d->perf_kernel, 1);
    }
}

static bool in_pid_namespace(void)
{
    enum { FIRST_NAMESPACE = 0xeffffffc }; /* PROC_PID_INIT_INO: numbers are the kernel's own */
    struct stat ns;
    return stat("/proc/self/ns/pid", &ns) != 0 || ns.st_ino != (ino_t)FIRST_NAMESPACE;
}

/* Why nobody can say who ended a wait; NULL = that can be seen. */
static const char *no_wakers(const struct doctor *d)
{
    long id;
    if (in_pid_namespace())
        return "in a PID namespace the kernel's thread numbers are unknown";
    if (d->perf_system ||
        (geteuid() != 0 &&
         !sysfile_long(d->root, "/sys/kernel/tracing/events/sched/sched_waking/id", &id)))
        return "that needs root";
    return NULL;
}

static void fix_wakers(const struct doctor *d, struct doctor_finding *f)
{
    const char *box = d->host.container;
    if (!in_pid_namespace())
        doctor_fix(f, "run kelvin as root");
    else if (strcmp(box, "kubernetes") == 0)
        doctor_fix(f, "in the pod: hostPID: true");
    else if (strcmp(box, "docker") == 0 || strcmp(box, "podman") == 0)
        doctor_fix(f, "%s run --pid=host ...", box); /* command line */
    else
        doctor_fix(f, "record from outside the PID namespace");
}

/* What can be known of the time in which a program does not run. */
static bool has_kernel_names(const struct doctor *d)
{
    char line[128];
    return sysfile_line(d->root, "/proc/kallsyms", line, sizeof line) && strtoull(line, NULL, 16);
}

void doctor_waits(const struct doctor *d, struct doctor_finding *f)
{
    char why[128];
    if (d->perf_user) {
        doctor_say(f, DOCTOR_NO, "%s; waits for locks can still be recorded",
                   doctor_perf_reason(d, d->perf_user, why, sizeof why));
        fix_refusal(d, f, d->perf_user, 1);
    } else if (d->perf_kernel) {
        doctor_say(f, DOCTOR_LIMITED, "durations only, without reasons and stacks of their own: %s",
                   doctor_perf_reason(d, d->perf_kernel, why, sizeof why));
        fix_refusal(d, f, d->perf_kernel, 1);
    } else if (!has_kernel_names(d)) {
        doctor_say(f, DOCTOR_LIMITED,
                   "durations and stacks, but reasons only where a function of the C library says "
                   "them: kernel functions have no names");
        doctor_fix(f, "give the capability CAP_SYSLOG too   # docker run --cap-add SYSLOG");
    } else if (no_wakers(d)) {
        doctor_say(f, DOCTOR_LIMITED, "durations, reasons and stacks, but not who ended them: %s",
                   no_wakers(d));
        fix_wakers(d, f);
    } else {
        doctor_say(f, DOCTOR_OK, "durations, reasons, stacks, and who ended them");
    }
}

void doctor_cpus(const struct doctor *d, struct doctor_finding *f)
{
    if (d->perf_cpus)
        doctor_perf_refused(d, f, d->perf_cpus, 2);
    else
        doctor_say(f, DOCTOR_OK, "an event opens on each of %d CPUs, children included",
                   d->host.cpus_online);
}

void doctor_system(const struct doctor *d, struct doctor_finding *f)
{
    if (!d->perf_system) {
        doctor_say(f, DOCTOR_OK, "other users' processes and the whole machine can be seen");
        return;
    }
    doctor_perf_refused(d, f, d->perf_system, 0);
    if (!d->perf_user)
        f->state = DOCTOR_LIMITED;
}

void doctor_cycles(const struct doctor *d, struct doctor_finding *f)
{
    bool vm = strcmp(d->host.hypervisor, "none") != 0;
    if (!d->perf_cycles) {
        doctor_say(f, DOCTOR_OK, "the cycles counter opens");
    } else if (d->perf_cycles == ENOENT || d->perf_cycles == EOPNOTSUPP) {
        doctor_say(f, d->perf_user ? DOCTOR_NO : DOCTOR_LIMITED,
                   "%s has no cycles counter: the software clock is used instead",
                   vm ? "this virtual machine" : "this machine");
        if (vm)
            doctor_fix(f, "on the host, give it one: qemu -cpu host,pmu=on (in a cloud: a "
                          "bare-metal instance)");
    } else {
        doctor_perf_refused(d, f, d->perf_cycles, 2);
    }
}

void doctor_paranoid(const struct doctor *d, struct doctor_finding *f)
{
    long value = d->paranoid;
    if (!d->has_paranoid) {
        doctor_say(f, d->perf_user ? DOCTOR_NO : DOCTOR_NOTE,
                   "not there: the kernel has no perf events, or /proc is hidden");
        return;
    }
    bool binds = d->perf_kernel == EACCES || d->perf_user == EACCES;
    if (value <= 1)
        doctor_say(f, DOCTOR_OK, "%ld: user and kernel samples of your own processes", value);
    else if (!binds && d->perf_user)
        doctor_say(f, DOCTOR_NOTE, "%ld; perf_event_open fails for another reason", value);
    else if (!binds)
        doctor_say(f, DOCTOR_OK, "%ld, but you are exempt (root or CAP_PERFMON)", value);
    else
        doctor_say(f, d->perf_user == EACCES ? DOCTOR_NO : DOCTOR_LIMITED, "%ld: %s", value,
                   value == 2 ? "user samples only" : "nothing without rights");
    if (value > 1 && binds)
        doctor_fix(f, "echo kernel.perf_event_paranoid=1 | sudo tee /etc/sysctl.d/50-perf.conf && "
                      "sudo sysctl --system");
}

void doctor_seccomp(const struct doctor *d, struct doctor_finding *f)
{
    if (!d->seccomp) {
        doctor_say(f, DOCTOR_OK, "no filter");
    } else if (d->perf_user == EPERM || d->perf_user == ENOSYS) {
        doctor_say(f, DOCTOR_NO, "a filter answers perf_event_open with '%s'",
                   strerror(d->perf_user));
        fix_seccomp(d, f);
    } else {
        doctor_say(f, DOCTOR_OK, "a filter is on, but lets perf_event_open through");
    }
}

void doctor_rate(const struct doctor *d, struct doctor_finding *f)
{
    if (!d->rate_max_hz) {
        doctor_say(f, DOCTOR_NOTE, "not known: kernel.perf_event_max_sample_rate cannot be read");
    } else if (d->rate_max_hz >= WANTED_HZ) {
        doctor_say(f, DOCTOR_OK, "up to %ld samples per second on each CPU", d->rate_max_hz);
    } else {
        doctor_say(
            f, DOCTOR_LIMITED,
            "at most %ld samples per second: the kernel lowers this when interrupts take long",
            d->rate_max_hz);
        doctor_fix(f, "sudo sysctl kernel.perf_event_max_sample_rate=100000");
    }
}

/* --- ring memory --- */

/* Map a ring of BYTES on an event of CPU 0, as a recording does for each CPU. */
static int try_ring(size_t bytes)
{
    struct perf_event_attr a = clock_attr();
    autoclose int fd = event_open(&a, 0, 0);
    if (fd < 0)
        return errno;
    size_t all = bytes + (size_t)sysconf(_SC_PAGESIZE);
    void *ring = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (ring == MAP_FAILED)
        return errno;
    munmap(ring, all);
    return 0;
}

static void ring_limits(const struct doctor *d, char *to, size_t n)
{
    long kib = 0;
    struct rlimit lock = {0};
    sysfile_long(d->root, "/proc/sys/kernel/perf_event_mlock_kb", &kib);
    getrlimit(RLIMIT_MEMLOCK, &lock);
    if (lock.rlim_cur == RLIM_INFINITY)
        snprintf(to, n, "kernel.perf_event_mlock_kb is %ld per CPU, 'ulimit -l' unlimited", kib);
    else
        snprintf(to, n, "kernel.perf_event_mlock_kb is %ld per CPU, 'ulimit -l' %llu KiB", kib,
                 (unsigned long long)lock.rlim_cur / 1024);
}

void doctor_rings(const struct doctor *d, struct doctor_finding *f)
{
    char limits[120];
    ring_limits(d, limits, sizeof limits);
    int e = d->perf_user ? d->perf_user : try_ring(WANTED_RING_BYTES);
    if (d->perf_user) {
        doctor_say(f, DOCTOR_NOTE, "not tried without perf_event_open; %s", limits);
    } else if (!e) {
        doctor_say(f, DOCTOR_OK, "512 KiB can be locked per CPU; %s", limits);
    } else {
        doctor_say(f, DOCTOR_LIMITED, "512 KiB per CPU: %s; %s", strerror(e), limits);
        doctor_fix(f, "ulimit -l unlimited   # or: sudo sysctl kernel.perf_event_mlock_kb=4096");
    }
}

/* --- names of the kernel --- */

/* Without rights the file is there, with all addresses zero. */
void doctor_kallsyms(const struct doctor *d, struct doctor_finding *f)
{
    char line[128];
    long kptr = 0;
    bool there = sysfile_line(d->root, "/proc/kallsyms", line, sizeof line);
    sysfile_long(d->root, "/proc/sys/kernel/kptr_restrict", &kptr);
    if (has_kernel_names(d)) {
        doctor_say(f, DOCTOR_OK, "/proc/kallsyms has addresses");
        return;
    }
    doctor_say(f, DOCTOR_LIMITED, "%s: kernel frames have no names",
               !there      ? "/proc/kallsyms cannot be read"
               : kptr >= 2 ? "kernel.kptr_restrict is 2"
               : kptr == 1 ? "kernel.kptr_restrict is 1"
                           : "kernel.perf_event_paranoid hides kernel addresses");
    if (there)
        doctor_fix(f, "sudo sysctl kernel.kptr_restrict=0 kernel.perf_event_paranoid=1");
}
