/* The machine's fingerprint, where the source comes from, and what the doctor makes of it. */
#include "base/buf.h"
#include "host/ask.h"
#include "host/doctor.h"
#include "host/provenance.h"
#include "host/sysfile.h"
#include "model/meta.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <time.h>

#include <cmocka.h>

/* --- a machine made of files --- */

struct machine {
    char root[64];
};

static int machine_setup(void **state)
{
    struct machine *m = mem_new(struct machine);
    strcpy(m->root, "/tmp/kelvin-host-XXXXXX");
    *state = m;
    return mkdtemp(m->root) ? 0 : -1;
}

static int machine_teardown(void **state)
{
    struct machine *m = *state;
    autofree char *line = mem_printf("rm -rf '%s'", m->root);
    int rc = chdir("/") != 0 || system(line) != 0;
    free(m);
    return rc;
}

static void put(struct machine *m, const char *path, const char *text)
{
    autofree char *full = mem_printf("%s%s", m->root, path);
    for (char *p = full + strlen(m->root) + 1; (p = strchr(p, '/')); p++) {
        *p = '\0';
        mkdir(full, 0755);
        *p = '/';
    }
    FILE *f = fopen(full, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

#define CPU "/sys/devices/system/cpu/"

static void put_desktop(struct machine *m)
{
    put(m, "/proc/cpuinfo",
        "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Some CPU @ 3.00GHz\n"
        "flags\t\t: fpu vme sse2 avx2\n");
    put(m, "/proc/meminfo", "MemTotal:       16303428 kB\nMemFree: 1 kB\n");
    put(m, "/proc/loadavg", "0.25 0.50 1.75 1/234 5678\n");
    put(m, "/etc/os-release", "NAME=\"Test\"\nPRETTY_NAME=\"Test Linux 7\"\nID=test\n");
    put(m, CPU "online", "0-3,6\n");
    put(m, CPU "present", "0-7\n");
    put(m, CPU "cpu0/cpufreq/scaling_governor", "powersave\n");
    put(m, CPU "intel_pstate/no_turbo", "0\n");
    put(m, CPU "smt/active", "1\n");
    put(m, "/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n");
}

static void test_desktop(void **state)
{
    struct machine *m = *state;
    struct fingerprint f;
    put_desktop(m);
    fingerprint_read(&f, m->root);
    assert_string_equal(f.cpu, "Some CPU @ 3.00GHz");
    assert_int_equal(f.cpus_online, 5);
    assert_int_equal(f.cpus_present, 8);
    assert_true(f.cpus_usable >= 1);
    assert_true(f.cpus_quota == 0);
    assert_int_equal(f.memory_bytes, 16303428ull * 1024);
    assert_string_equal(f.os, "Test Linux 7");
    assert_string_equal(f.os_id, "test");
    assert_string_equal(f.governor, "powersave");
    assert_string_equal(f.turbo, "on");
    assert_string_equal(f.smt, "on");
    assert_string_equal(f.clock, "hpet");
    assert_true(f.has_load && f.load[0] == 0.25 && f.load[2] == 1.75);
    assert_string_equal(f.hypervisor, "none");
    assert_string_equal(f.container, "none");
    assert_int_equal(strncmp(f.name, "8c-16g-", 7), 0);
}

/* What cannot be found out is said to be so; a count of CPUs is always there. */
static void test_nothing_known(void **state)
{
    struct machine *m = *state;
    struct fingerprint f;
    fingerprint_read(&f, m->root);
    assert_string_equal(f.cpu, "not known");
    assert_string_equal(f.os, "not known");
    assert_string_equal(f.governor, "not known");
    assert_string_equal(f.turbo, "not known");
    assert_string_equal(f.hypervisor, "not known");
    assert_string_equal(f.container, "none");
    assert_false(f.has_load);
    assert_true(f.cpus_online >= 1);
}

static void test_arm(void **state)
{
    struct machine *m = *state;
    struct fingerprint f;
    put(m, "/proc/cpuinfo", "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n");
    put(m, "/sys/class/dmi/id/sys_vendor", "Amazon EC2\n");
    put(m, "/sys/class/dmi/id/product_name", "m6g.large\n");
    fingerprint_read(&f, m->root);
    assert_string_equal(f.cpu, "Arm implementer 0x41 part 0xd0c");
    assert_string_equal(f.hypervisor, "Amazon EC2");
    put(m, "/sys/class/dmi/id/product_name", "m6g.metal\n");
    fingerprint_read(&f, m->root);
    assert_string_equal(f.hypervisor, "none");
}

static void test_hypervisor_flag(void **state)
{
    struct machine *m = *state;
    struct fingerprint f;
    put(m, "/proc/cpuinfo", "vendor_id : AuthenticAMD\nflags : fpu hypervisor avx\n");
    fingerprint_read(&f, m->root);
    assert_string_not_equal(f.hypervisor, "none");
    assert_string_not_equal(f.hypervisor, "not known");
    put(m, "/sys/hypervisor/type", "xen\n");
    fingerprint_read(&f, m->root);
    assert_string_equal(f.hypervisor, "Xen");
}

static void test_container_marks(void **state)
{
    static const struct {
        const char *path, *text, *name;
    } marks[] = {
        {"/run/systemd/container", "systemd-nspawn\n", "systemd-nspawn"},
        {"/run/.containerenv", "", "podman"},
        {"/.dockerenv", "", "docker"},
        {"/proc/self/cgroup", "0::/system.slice/libpod-12ab.scope\n", "podman"},
        {"/proc/self/cgroup", "4:cpu:/kubepods/burstable/x\n", "kubernetes"},
    };
    struct machine *m = *state;
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        struct fingerprint f;
        put(m, marks[i].path, marks[i].text);
        fingerprint_read(&f, m->root);
        assert_string_equal(f.container, marks[i].name);
    }
}

/* The tightest limit on the way up is the one that bites. */
static void test_quota(void **state)
{
    struct machine *m = *state;
    struct fingerprint f;
    put(m, "/proc/self/cgroup", "0::/outer/inner\n");
    put(m, "/sys/fs/cgroup/outer/inner/cpu.max", "max 100000\n");
    fingerprint_read(&f, m->root);
    assert_true(f.cpus_quota == 0);
    put(m, "/sys/fs/cgroup/outer/cpu.max", "150000 100000\n");
    put(m, "/sys/fs/cgroup/cpu.max", "300000 100000\n");
    fingerprint_read(&f, m->root);
    assert_true(f.cpus_quota == 1.5);
}

static void test_quota_of_version_1(void **state)
{
    struct machine *m = *state;
    struct fingerprint f;
    put(m, "/proc/self/cgroup", "5:cpuset:/other\n4:cpu,cpuacct:/box\n0::/\n");
    put(m, "/sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "50000\n");
    put(m, "/sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "100000\n");
    fingerprint_read(&f, m->root);
    assert_true(f.cpus_quota == 0.5);
}

/* Texts of absurd length and numbers out of range do no harm. */
static void test_hostile_files(void **state)
{
    struct machine *m = *state;
    struct fingerprint f;
    autobuf struct buf b = {0};
    for (int i = 0; i < 100000; i++)
        buf_byte(&b, 'x');
    autofree char *model = mem_printf("model name : %s\n", buf_cstr(&b));
    put(m, "/proc/cpuinfo", model);
    put(m, "/etc/os-release", "PRETTY_NAME=\"\nID=\n");
    put(m, CPU "online", "0-99999999999999999999,-5\n");
    put(m, CPU "present", "zebra\n");
    put(m, "/proc/meminfo", "MemTotal: 99999999999999999999999 kB\n");
    put(m, "/proc/loadavg", "full\n");
    put(m, "/proc/self/cgroup", "0::/../../elsewhere\nrubbish\n:\n::\n");
    put(m, "/sys/fs/cgroup/cpu.max", "100 0\n");
    fingerprint_read(&f, m->root);
    assert_int_equal(strlen(f.cpu), sizeof f.cpu - 1);
    assert_true(f.cpus_online >= 1 && f.cpus_online < 1 << 20);
    assert_true(f.cpus_quota == 0);
    assert_false(f.has_load);
}

/* --- the hash --- */

static void test_same_hardware_same_hash(void **state)
{
    struct machine *m = *state;
    struct fingerprint before, after;
    put_desktop(m);
    fingerprint_read(&before, m->root);
    put(m, CPU "online", "0\n");
    put(m, CPU "cpu0/cpufreq/scaling_governor", "performance\n");
    put(m, "/proc/loadavg", "9.00 9.00 9.00 1/2 3\n");
    put(m, "/etc/os-release", "PRETTY_NAME=\"Test Linux 8\"\n");
    put(m, "/proc/meminfo", "MemTotal:       16290000 kB\n");
    fingerprint_read(&after, m->root);
    assert_int_equal(before.hash, after.hash);
    assert_string_equal(before.name, after.name);
}

static void test_other_hardware_other_hash(void **state)
{
    struct machine *m = *state;
    struct fingerprint before, after;
    put_desktop(m);
    fingerprint_read(&before, m->root);
    put(m, "/proc/meminfo", "MemTotal:       32606856 kB\n");
    fingerprint_read(&after, m->root);
    assert_int_not_equal(before.hash, after.hash);
    put_desktop(m);
    put(m, "/proc/cpuinfo", "vendor_id : x\nmodel name : Another CPU\n");
    fingerprint_read(&after, m->root);
    assert_int_not_equal(before.hash, after.hash);
}

static void test_meta_of_host(void **state)
{
    struct machine *m = *state;
    struct fingerprint f;
    struct meta meta = {0};
    put_desktop(m);
    fingerprint_read(&f, m->root);
    fingerprint_put(&f, &meta);
    assert_string_equal(meta_find(&meta, META_HOST), f.name);
    assert_string_equal(meta_find(&meta, META_CPU), "Some CPU @ 3.00GHz");
    assert_string_equal(meta_find(&meta, META_MEMORY), "15.5 GiB");
    assert_string_equal(meta_find(&meta, META_GOVERNOR), "powersave");
    assert_string_equal(meta_find(&meta, META_VIRTUAL), "none");
    assert_string_equal(meta_find(&meta, META_LOAD), "0.25 0.50 1.75");
    assert_int_equal(strncmp(meta_find(&meta, META_CPUS), "5 online, ", 10), 0);
    meta_done(&meta);
}

/* --- where the source comes from --- */

static void shell(const char *line)
{
    if (system(line) != 0)
        fail_msg("failed: %s", line);
}

static void enter(struct machine *m)
{
    assert_int_equal(chdir(m->root), 0);
}

static void make_repository(struct machine *m)
{
    if (system("command -v git >/dev/null") != 0)
        skip();
    enter(m);
    setenv("GIT_CONFIG_GLOBAL", "/dev/null", 1);
    shell("git init -q -b trunk . && echo one >file && git add file && "
          "git -c user.name=x -c user.email=x@example.org commit -q -m first");
}

static void test_clean_and_dirty(void **state)
{
    struct provenance p;
    make_repository(*state);
    provenance_read(&p);
    assert_int_equal(strlen(p.commit), 40);
    assert_string_equal(p.branch, "trunk");
    assert_true(p.dirty_known && !p.dirty);
    shell("touch new");
    provenance_read(&p);
    assert_true(p.dirty_known && !p.dirty);
    shell("echo two >file && mkdir folder && cd folder");
    provenance_read(&p);
    assert_true(p.dirty_known && p.dirty);
}

static void test_detached(void **state)
{
    struct provenance p;
    struct meta meta = {0};
    make_repository(*state);
    shell("git checkout -q --detach");
    provenance_read(&p);
    assert_true(p.detached);
    provenance_put(&p, &meta);
    assert_string_equal(meta_find(&meta, META_COMMIT), p.commit);
    assert_string_equal(meta_find(&meta, META_BRANCH), "none (detached)");
    assert_string_equal(meta_find(&meta, META_DIRTY), "no");
    meta_done(&meta);
}

/* A repository from anywhere must not be able to run its programs. */
static void test_no_hooks(void **state)
{
    struct provenance p;
    make_repository(*state);
    shell("printf '#!/bin/sh\\ntouch ran\\n' >hook && chmod +x hook && "
          "git config core.fsmonitor ./hook && echo two >file");
    provenance_read(&p);
    assert_true(p.dirty);
    assert_int_not_equal(access("ran", F_OK), 0);
}

static void test_no_repository(void **state)
{
    struct provenance p;
    struct meta meta = {0};
    enter(*state);
    setenv("GIT_CEILING_DIRECTORIES", "/tmp", 1);
    provenance_read(&p);
    assert_string_equal(p.commit, "");
    provenance_put(&p, &meta);
    assert_null(meta_find(&meta, META_COMMIT));
    assert_null(meta_find(&meta, META_DIRTY));
    assert_string_equal(meta_find(&meta, META_TOOL), "kelvin " KELVIN_VERSION);
    meta_done(&meta);
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* A program that never answers is left after its time, and does not stay. */
static void test_slow_program(void **state)
{
    static const char *const slow[] = {"sh", "-c", "echo $$; exec sleep 60", NULL};
    (void)state;
    autobuf struct buf said = {0};
    struct ask a = {.ms_left = 200};
    double began = seconds();
    assert_false(ask_program(&a, slow, &said));
    assert_true(seconds() - began < 5);
    assert_true(a.ms_left <= 0);
    pid_t pid = (pid_t)atoi(buf_cstr(&said));
    assert_true(pid > 0);
    assert_int_equal(kill(pid, 0), -1);
    assert_false(ask_program(&a, slow, &said));
}

/* It may close its output and stay. */
static void test_silent_program(void **state)
{
    static const char *const silent[] = {"sh", "-c", "exec >&-; sleep 60", NULL};
    (void)state;
    autobuf struct buf said = {0};
    struct ask a = {.ms_left = 200};
    double began = seconds();
    assert_false(ask_program(&a, silent, &said));
    assert_true(seconds() - began < 5);
}

static void test_endless_program(void **state)
{
    static const char *const endless[] = {"yes", NULL}, *const none[] = {"kelvin-no-such", NULL};
    (void)state;
    autobuf struct buf said = {0};
    struct ask a = {.ms_left = 5000};
    assert_false(ask_program(&a, endless, &said));
    assert_true(said.n <= ASK_BYTES_MAX);
    assert_false(ask_program(&a, none, &said));
}

static void test_options(void **state)
{
    char title[] = "it's a test", list[] = "a;b", rate[] = "-F", hz[] = "999", empty[] = "";
    char *words[] = {rate, hz, title, empty, list};
    struct meta meta = {0};
    (void)state;
    provenance_put_options(&meta, 5, words);
    assert_string_equal(meta_find(&meta, META_OPTIONS), "-F 999 'it'\\''s a test' '' 'a;b'");
    meta_done(&meta);
}

/* --- the doctor --- */

static struct doctor healthy(struct machine *m)
{
    struct doctor d = {.root = m->root, .perf_cycles = ENOENT, .tick_hz = 250};
    d.has_paranoid = true;
    d.paranoid = 2;
    d.rate_max_hz = 100000;
    fingerprint_read(&d.host, m->root);
    return d;
}

static const struct doctor_finding *finding(const struct doctor *d, const char *name)
{
    for (int i = 0; i < d->n_findings; i++)
        if (strcmp(d->findings[i].name, name) == 0)
            return &d->findings[i];
    fail_msg("no finding '%s'", name);
    return NULL;
}

static void verdict_is(struct doctor *d, const char *engine, const char *verdict)
{
    doctor_judge(d);
    if (engine)
        assert_string_equal(d->engine, engine);
    else
        assert_null(d->engine);
    assert_string_equal(d->verdict, verdict);
}

static void test_verdict_perf(void **state)
{
    struct doctor d = healthy(*state);
    verdict_is(&d, "perf", "records with perf, cpu-clock at 999 Hz, user and kernel stacks");
    d.perf_cycles = 0;
    d.rate_max_hz = 500;
    verdict_is(&d, "perf", "records with perf, cycles at 500 Hz, user and kernel stacks");
    assert_int_equal(finding(&d, "sample rate")->state, DOCTOR_LIMITED);
}

static void test_verdict_paranoid(void **state)
{
    struct doctor d = healthy(*state);
    d.perf_kernel = d.perf_system = EACCES;
    verdict_is(&d, "perf",
               "records with perf, cpu-clock at 999 Hz, user stacks only: "
               "kernel.perf_event_paranoid is 2");
    assert_int_equal(finding(&d, "kernel code")->state, DOCTOR_LIMITED);
    assert_non_null(strstr(finding(&d, "kernel code")->fix, "sysctl kernel.perf_event_paranoid=1"));
    d.perf_user = d.perf_cpus = EACCES;
    d.paranoid = 3;
    verdict_is(&d, "timer",
               "records with the timer engine at about 250 Hz, user stacks only: "
               "kernel.perf_event_paranoid is 3");
    assert_int_equal(finding(&d, "user code")->state, DOCTOR_NO);
}

static void block_perf(struct doctor *d, int errnum)
{
    d->perf_user = d->perf_kernel = d->perf_cpus = d->perf_system = d->perf_cycles = errnum;
}

/* The same errno means a filter where there is one, and a bare kernel where there is none. */
static void test_verdict_blocked(void **state)
{
    static const char blocked[] = "records with the timer engine at about 250 Hz, user stacks "
                                  "only: perf_event_open is blocked by seccomp";
    struct doctor d = healthy(*state);
    d.seccomp = true;
    block_perf(&d, EPERM);
    verdict_is(&d, "timer", blocked);
    assert_int_equal(finding(&d, "seccomp")->state, DOCTOR_NO);
    block_perf(&d, ENOSYS);
    verdict_is(&d, "timer", blocked);
    d.seccomp = d.has_paranoid = false;
    verdict_is(&d, "timer",
               "records with the timer engine at about 250 Hz, user stacks only: this kernel has "
               "no perf_event_open");
}

static void test_verdict_none(void **state)
{
    struct doctor d = healthy(*state);
    d.seccomp = true;
    d.timer = EPERM;
    block_perf(&d, EPERM);
    verdict_is(&d, NULL,
               "cannot record here: perf_event_open is blocked by seccomp; timer engine: "
               "Operation not permitted");
}

/* An engine may refuse for a reason of its own, such as a missing file. */
static void test_verdict_of_engines(void **state)
{
    struct doctor d = healthy(*state);
    d.engines.perf = "no ring";
    verdict_is(&d, "timer",
               "records with the timer engine at about 250 Hz, user stacks only: no ring");
    d.engines.timer = "no agent";
    verdict_is(&d, NULL, "cannot record here: no ring; timer engine: no agent");
    assert_int_equal(finding(&d, "timer engine")->state, DOCTOR_NO);
}

/* The line for a container is the line of what runs it. */
static void test_fix_fits_the_container(void **state)
{
    struct machine *m = *state;
    put(m, "/run/.containerenv", "");
    struct doctor d = healthy(m);
    d.seccomp = true;
    block_perf(&d, EPERM);
    doctor_judge(&d);
    assert_int_equal(strncmp(finding(&d, "seccomp")->fix, "podman run --cap-add PERFMON", 28), 0);
    block_perf(&d, EACCES);
    doctor_judge(&d);
    assert_non_null(strstr(finding(&d, "kernel code")->fix, "on the container's host"));
}

static void test_kernel_symbols(void **state)
{
    struct machine *m = *state;
    struct doctor d = healthy(m);
    put(m, "/proc/kallsyms", "0000000000000000 T _text\n");
    put(m, "/proc/sys/kernel/kptr_restrict", "1\n");
    doctor_judge(&d);
    assert_int_equal(finding(&d, "kernel symbols")->state, DOCTOR_LIMITED);
    assert_non_null(strstr(finding(&d, "kernel symbols")->why, "kptr_restrict is 1"));
    put(m, "/proc/kallsyms", "ffffffff81000000 T _text\n");
    doctor_judge(&d);
    assert_int_equal(finding(&d, "kernel symbols")->state, DOCTOR_OK);
}

static void test_steadiness(void **state)
{
    struct machine *m = *state;
    put_desktop(m);
    put(m, "/proc/loadavg", "7.00 1.00 1.00 1/2 3\n");
    struct doctor d = healthy(m);
    doctor_judge(&d);
    assert_int_equal(finding(&d, "governor")->state, DOCTOR_LIMITED);
    assert_int_equal(finding(&d, "load")->state, DOCTOR_LIMITED);
    assert_int_equal(finding(&d, "clock source")->state, DOCTOR_LIMITED);
    assert_int_equal(finding(&d, "hypervisor")->state, DOCTOR_OK);
}

/* Every limit but those that only others can lift says what to do. */
static void test_this_machine(void **state)
{
    struct doctor d;
    (void)state;
    doctor_run(&d, "", (struct doctor_engines){0});
    for (int i = 0; i < d.n_findings; i++)
        assert_true(d.findings[i].why[0]);
    assert_true(d.verdict[0]);
    assert_true(d.tick_hz >= 24 && d.tick_hz <= 10000);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, machine_setup, machine_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_desktop),
        TEST(test_nothing_known),
        TEST(test_arm),
        TEST(test_hypervisor_flag),
        TEST(test_container_marks),
        TEST(test_quota),
        TEST(test_quota_of_version_1),
        TEST(test_hostile_files),
        TEST(test_same_hardware_same_hash),
        TEST(test_other_hardware_other_hash),
        TEST(test_meta_of_host),
        TEST(test_clean_and_dirty),
        TEST(test_detached),
        TEST(test_no_hooks),
        TEST(test_no_repository),
        TEST(test_slow_program),
        TEST(test_silent_program),
        TEST(test_endless_program),
        TEST(test_options),
        TEST(test_verdict_perf),
        TEST(test_verdict_paranoid),
        TEST(test_verdict_blocked),
        TEST(test_verdict_none),
        TEST(test_verdict_of_engines),
        TEST(test_fix_fits_the_container),
        TEST(test_kernel_symbols),
        TEST(test_steadiness),
        TEST(test_this_machine),
    };
    return cmocka_run_group_tests_name("host", tests, NULL, NULL);
}
