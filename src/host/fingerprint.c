#include "host/fingerprint.h"
#include "base/buf.h"
#include "base/units.h"
#include "host/sysfile.h"
#include "host/virtual.h"
#include "model/meta.h"

#include <sched.h>
#include <sys/utsname.h>
#include <xxhash.h>

#define SET(field, text) snprintf(field, sizeof(field), "%s", text)

/* --- processor --- */

/* Arm has no name for people in /proc/cpuinfo: its numbers say as much. */
static bool arm_model(const char *root, char *ret, size_t n)
{
    char maker[16], part[16];
    if (!sysfile_field(root, "/proc/cpuinfo", "CPU implementer", ':', maker, sizeof maker) ||
        !sysfile_field(root, "/proc/cpuinfo", "CPU part", ':', part, sizeof part))
        return false;
    snprintf(ret, n, "Arm implementer %s part %s", maker, part);
    return true;
}

static void read_cpu(struct fingerprint *f, const char *root)
{
    static const char *const keys[] = {"model name", "cpu model", "cpu", "processor 0", NULL};
    for (int i = 0; keys[i]; i++)
        if (sysfile_field(root, "/proc/cpuinfo", keys[i], ':', f->cpu, sizeof f->cpu) && f->cpu[0])
            return;
    if (!arm_model(root, f->cpu, sizeof f->cpu))
        SET(f->cpu, FINGERPRINT_UNKNOWN);
}

/* The number of CPUs in a list like "0-3,8"; 0 if it makes no sense. */
static int count_cpus(const char *list)
{
    int n = 0;
    while (*list) {
        char *end;
        long first = strtol(list, &end, 10), last = first;
        if (end == list)
            return 0;
        if (*end == '-')
            last = strtol(end + 1, &end, 10);
        if (first < 0 || last < first || last > 1 << 20)
            return 0;
        n += (int)(last - first) + 1;
        list = *end == ',' ? end + 1 : "";
    }
    return n;
}

static int cpus_in(const char *root, const char *path)
{
    char list[1024];
    int n = sysfile_line(root, path, list, sizeof list) ? count_cpus(list) : 0;
    return n ? n : (int)sysconf(_SC_NPROCESSORS_ONLN);
}

/* The kernel's mask may be wider than cpu_set_t: ask with more until it fits. */
static int cpus_of_affinity(void)
{
    for (int room = 1024; room <= 1 << 20; room *= 4) {
        cpu_set_t *set = CPU_ALLOC((size_t)room);
        size_t bytes = CPU_ALLOC_SIZE((size_t)room);
        int n = set && sched_getaffinity(0, bytes, set) == 0 ? CPU_COUNT_S(bytes, set) : 0;
        CPU_FREE(set);
        if (n > 0)
            return n;
    }
    return (int)sysconf(_SC_NPROCESSORS_ONLN);
}

/* "max 100000" or "50000 100000": CPUs' worth, 0 = no limit. */
static double quota_v2(const char *root, const char *folder)
{
    char line[64];
    long quota, period;
    autofree char *path = mem_printf("/sys/fs/cgroup%s/cpu.max", folder);
    if (!sysfile_line(root, path, line, sizeof line) ||
        sscanf(line, "%ld %ld", &quota, &period) != 2 || quota <= 0 || period <= 0)
        return 0;
    return (double)quota / (double)period;
}

static double quota_v1(const char *root, const char *folder)
{
    long quota, period;
    autofree char *q = mem_printf("/sys/fs/cgroup/cpu%s/cpu.cfs_quota_us", folder);
    autofree char *p = mem_printf("/sys/fs/cgroup/cpu%s/cpu.cfs_period_us", folder);
    if (!sysfile_long(root, q, &quota) || !sysfile_long(root, p, &period) || quota <= 0 ||
        period <= 0)
        return 0;
    return (double)quota / (double)period;
}

/* The smallest limit of FOLDER and all above it. Cuts FOLDER up on the way. */
static double quota_above(const char *root, char *folder,
                          double (*quota)(const char *root, const char *folder))
{
    double least = 0;
    if (strstr(folder, "..")) /* outside of this container: only its top can be seen */
        *folder = '\0';
    for (;;) {
        double q = quota(root, strcmp(folder, "/") == 0 ? "" : folder);
        if (q > 0 && (least == 0 || q < least))
            least = q;
        char *slash = strrchr(folder, '/');
        if (!slash)
            return least;
        *slash = '\0';
    }
}

/* Lines "0::/path" (version 2) and "3:cpu,cpuacct:/path" (version 1). */
static double read_quota(const char *root)
{
    autofree char *path = mem_printf("%s/proc/self/cgroup", root);
    autofclose FILE *f = fopen(path, "re");
    char line[1024];
    double least = 0;
    while (f && fgets(line, sizeof line, f)) {
        char *names = strchr(line, ':'), *folder = names ? strchr(names + 1, ':') : NULL;
        if (!folder)
            continue;
        *folder++ = '\0';
        folder[strcspn(folder, "\n")] = '\0';
        double q = 0;
        if (names[1] == '\0')
            q = quota_above(root, folder, quota_v2);
        else if (strncmp(names + 1, "cpu", 3) == 0 && (names[4] == ',' || names[4] == '\0'))
            q = quota_above(root, folder, quota_v1);
        if (q > 0 && (least == 0 || q < least))
            least = q;
    }
    return least;
}

static void read_cpus(struct fingerprint *f, const char *root)
{
    f->cpus_online = cpus_in(root, "/sys/devices/system/cpu/online");
    f->cpus_present = cpus_in(root, "/sys/devices/system/cpu/present");
    f->cpus_usable = cpus_of_affinity();
    f->cpus_quota = read_quota(root);
}

/* --- how fast it runs just now --- */

static void read_switch(const char *root, const char *path, long on, char *ret)
{
    long value;
    if (sysfile_long(root, path, &value))
        strcpy(ret, value == on ? "on" : "off");
}

static void read_speed(struct fingerprint *f, const char *root)
{
    if (!sysfile_line(root, "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", f->governor,
                      sizeof f->governor))
        SET(f->governor, FINGERPRINT_UNKNOWN);
    SET(f->turbo, FINGERPRINT_UNKNOWN);
    read_switch(root, "/sys/devices/system/cpu/cpufreq/boost", 1, f->turbo);
    read_switch(root, "/sys/devices/system/cpu/intel_pstate/no_turbo", 0, f->turbo);
    SET(f->smt, FINGERPRINT_UNKNOWN);
    read_switch(root, "/sys/devices/system/cpu/smt/active", 1, f->smt);
    if (!sysfile_line(root, "/sys/devices/system/clocksource/clocksource0/current_clocksource",
                      f->clock, sizeof f->clock))
        SET(f->clock, FINGERPRINT_UNKNOWN);
    char line[128];
    f->has_load = sysfile_line(root, "/proc/loadavg", line, sizeof line) &&
                  sscanf(line, "%lf %lf %lf", &f->load[0], &f->load[1], &f->load[2]) == 3;
}

/* --- memory and system --- */

static void read_memory(struct fingerprint *f, const char *root)
{
    char kib[32];
    f->memory_bytes = 0;
    if (sysfile_field(root, "/proc/meminfo", "MemTotal", ':', kib, sizeof kib))
        f->memory_bytes = strtoull(kib, NULL, 10) * 1024;
}

static bool read_release(const char *root, const char *key, char *ret, size_t n)
{
    return sysfile_field(root, "/etc/os-release", key, '=', ret, n) ||
           sysfile_field(root, "/usr/lib/os-release", key, '=', ret, n);
}

static void read_system(struct fingerprint *f, const char *root)
{
    struct utsname u;
    SET(f->kernel, FINGERPRINT_UNKNOWN);
    SET(f->arch, FINGERPRINT_UNKNOWN);
    if (uname(&u) == 0) {
        snprintf(f->kernel, sizeof f->kernel, "%s %s", u.sysname, u.release);
        SET(f->arch, u.machine);
    }
    if (!read_release(root, "PRETTY_NAME", f->os, sizeof f->os))
        SET(f->os, FINGERPRINT_UNKNOWN);
    if (!read_release(root, "ID", f->os_id, sizeof f->os_id))
        f->os_id[0] = '\0';
}

/* --- the whole --- */

/* Kernels keep more or less of the memory for themselves: only whole GiB belong to the hardware. */
static unsigned memory_gib(const struct fingerprint *f)
{
    return (unsigned)((f->memory_bytes + (1u << 29)) >> 30);
}

static void fingerprint_set_name(struct fingerprint *f)
{
    char all[320];
    int n = snprintf(all, sizeof all, "%s\n%s\n%d\n%u\n%s\n", f->cpu, f->arch, f->cpus_present,
                     memory_gib(f), f->hypervisor);
    f->hash = XXH64(all, (size_t)n, 0);
    snprintf(f->name, sizeof f->name, "%dc-%ug-%08x", f->cpus_present, memory_gib(f),
             (unsigned)(f->hash >> 32));
}

void fingerprint_read(struct fingerprint *f, const char *root)
{
    *f = (struct fingerprint){0};
    read_cpu(f, root);
    read_cpus(f, root);
    read_memory(f, root);
    read_system(f, root);
    read_speed(f, root);
    virtual_hypervisor(root, f->hypervisor, sizeof f->hypervisor);
    virtual_container(root, f->container, sizeof f->container);
    fingerprint_set_name(f);
}

char *fingerprint_line(const struct fingerprint *f, char *to)
{
    char memory[UNITS_MAX];
    bool container = strcmp(f->container, "none") != 0;
    snprintf(to, 320, "%s, %d CPU%s, %s, %s%s%s", f->cpu, f->cpus_online,
             f->cpus_online == 1 ? "" : "s",
             units_scaled(memory, (double)f->memory_bytes, SCALED_BYTES),
             strcmp(f->hypervisor, "none") == 0 ? "no hypervisor" : f->hypervisor,
             container ? ", in a container: " : "", container ? f->container : "");
    return to;
}

static void put_cpus(const struct fingerprint *f, struct meta *m)
{
    char s[128];
    int n = snprintf(s, sizeof s, "%d online, %d usable", f->cpus_online, f->cpus_usable);
    if (f->cpus_quota > 0)
        snprintf(s + n, sizeof s - (size_t)n, ", time of %.2f allowed", f->cpus_quota);
    meta_set_str(m, META_CPUS, s);
}

bool fingerprint_is_busy(const struct fingerprint *f)
{
    return f->has_load && f->load[0] > f->cpus_usable * 0.5;
}

char *fingerprint_busy(const struct fingerprint *f)
{
    if (!fingerprint_is_busy(f))
        return NULL;
    return mem_printf("load was %.1f on %d CPU%s at the start: other processes distort the times",
                      f->load[0], f->cpus_usable, f->cpus_usable == 1 ? "" : "s");
}

void fingerprint_put(const struct fingerprint *f, struct meta *m)
{
    char s[UNITS_MAX];
    meta_set_str(m, META_HOST, f->name);
    meta_set_str(m, META_CPU, f->cpu);
    put_cpus(f, m);
    if (f->memory_bytes)
        meta_set_str(m, META_MEMORY, units_scaled(s, (double)f->memory_bytes, SCALED_BYTES));
    meta_set_str(m, META_ARCH, f->arch);
    meta_set_str(m, META_OS, f->os);
    meta_set_str(m, META_KERNEL, f->kernel);
    meta_set_str(m, META_VIRTUAL, f->hypervisor);
    meta_set_str(m, META_CONTAINER, f->container);
    meta_set_str(m, META_GOVERNOR, f->governor);
    meta_set_str(m, META_TURBO, f->turbo);
    meta_set_str(m, META_SMT, f->smt);
    meta_set_str(m, META_CLOCK, f->clock);
    if (f->has_load) {
        snprintf(s, sizeof s, "%.2f %.2f %.2f", f->load[0], f->load[1], f->load[2]);
        meta_set_str(m, META_LOAD, s);
    }
}
