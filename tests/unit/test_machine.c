/* A recording of the machine: CPUs by number, cgroups and containers by their paths. */
#include "process/process_inner.h"
#include "record/cpulist.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

static void expect_cpus(const char *text, const int *want, size_t n)
{
    cpulist list = {0};
    struct err err;
    assert_int_equal(cpulist_parse(&list, text, &err), 0);
    assert_int_equal(list.n, n);
    assert_memory_equal(list.at, want, n * sizeof *want);
    vec_done(&list);
}

static void test_cpus_are_listed_once_and_in_order(void **state)
{
    (void)state;
    expect_cpus("3", (int[]){3}, 1);
    expect_cpus("0-2", (int[]){0, 1, 2}, 3);
    expect_cpus("8,0-2,1", (int[]){0, 1, 2, 8}, 4);
}

static void test_what_is_no_list_of_cpus_is_refused(void **state)
{
    static const char *const bad[] = {"", "x", "1,", "2-1", "1-", "-1", "0-99999999", "1;2"};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cpulist list = {0};
        struct err err = {0};
        assert_int_equal(cpulist_parse(&list, bad[i], &err), -1);
        assert_non_null(strstr(err.text, "list of CPUs"));
        vec_done(&list);
    }
}

static void test_idle_time_is_that_of_the_cpus_asked_for(void **state)
{
    struct text stat = text_of("cpu  10 0 10 500 20 0 0 0 0 0\n"
                               "cpu0 5 0 5 100 20 0 0 0 0 0\n"
                               "cpu1 5 0 5 400 0 0 0 0 0 0\n"
                               "intr 1 2 3\n");
    uint64_t tick_ns = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
    size_t n;
    (void)state;
    assert_int_equal(cpulist_idle_ns(stat, NULL, 0, &n), 520 * tick_ns);
    assert_int_equal(n, 2);
    assert_int_equal(cpulist_idle_ns(stat, (int[]){0}, 1, &n), 120 * tick_ns);
    assert_int_equal(n, 1);
    assert_int_equal(cpulist_idle_ns(text_of(""), NULL, 0, &n), 0);
    assert_int_equal(n, 0);
}

static void expect_text(struct text is, const char *want)
{
    assert_true(text_is(is, want));
}

static void test_cgroup_is_the_longest_path(void **state)
{
    (void)state;
    expect_text(process_cgroup(text_of("0::/system.slice/web.service\n")),
                "/system.slice/web.service");
    expect_text(process_cgroup(text_of("9:name=systemd:/\n4:memory:/docker/abc\n0::/\n")),
                "/docker/abc");
    expect_text(process_cgroup(text_of("")), "");
    expect_text(process_cgroup(text_of("nonsense\n")), "");
}

#define ID "97ae83101293b44bde4fdfa785aef79097ae83101293b44bde4fdfa785aef790"

static void test_containers_are_known_by_their_cgroup(void **state)
{
    (void)state;
    expect_text(process_container(text_of("/system.slice/docker-" ID ".scope")), "97ae83101293");
    expect_text(process_container(text_of("/docker/" ID)), "97ae83101293");
    expect_text(process_container(text_of("/docker/" ID "/init.scope")), "97ae83101293");
    expect_text(
        process_container(text_of("/kubepods.slice/pod1.slice/cri-containerd-" ID ".scope")),
        "97ae83101293");
    expect_text(process_container(text_of("/machine.slice/libpod-" ID ".scope/container")),
                "97ae83101293");
    expect_text(process_container(text_of("/lxc.payload.web/system.slice")), "web");
    expect_text(process_container(text_of("/lxc/db")), "db");
    expect_text(process_container(text_of("/machine.slice/machine-web.scope")), "web");
    expect_text(process_container(text_of("/user.slice/user-1000.slice")), "");
    expect_text(process_container(text_of("/")), "");
}

static void test_a_cgroup_is_asked_for_by_path_service_or_container(void **state)
{
    struct text web = text_of("/system.slice/web.service/worker");
    (void)state;
    assert_true(process_cgroup_is(web, "/system.slice/web.service"));
    assert_true(process_cgroup_is(web, "system.slice/web.service/"));
    assert_true(process_cgroup_is(web, "web.service"));
    assert_true(process_cgroup_is(web, "web"));
    assert_true(process_cgroup_is(web, "system"));
    assert_true(process_cgroup_is(web, "web.service/worker"));
    assert_true(process_cgroup_is(web, "/"));
    assert_false(process_cgroup_is(web, "we"));
    assert_false(process_cgroup_is(web, "eb"));
    assert_false(process_cgroup_is(web, "worker/web"));
    assert_false(process_cgroup_is(text_of("/"), "web"));
    assert_true(process_cgroup_is(text_of("/docker/" ID), "97ae83101293"));
    assert_true(process_cgroup_is(text_of("/docker/" ID), ID));
    assert_false(process_cgroup_is(text_of("/docker/" ID), "97ae83101294"));
}

static const struct process *labelled(struct processes *ps, struct profile *p, int pid)
{
    struct thread_id t = processes_thread(ps, pid, pid);
    return &p->processes.at[p->threads.at[t.i].process.i];
}

static const char *label_of(const struct profile *p, const struct process *process, const char *key)
{
    uint32_t id = intern_find(&p->strings, text_of(key));
    const struct attr *a =
        id == IDMAP_NONE ? NULL : attrs_find(&p->attrs, process->attrs, (struct str_id){id});
    return a ? profile_str(p, a->text).at : NULL;
}

/* A process that is gone when its first sample comes is labelled like the one that started it. */
static void test_labels_are_inherited(void **state)
{
    enum { GONE = 4194303 };
    struct profile *p = profile_new();
    struct processes *ps = processes_new(p);
    struct err err;
    int self = getpid();
    (void)state;
    processes_set_live(ps);
    processes_set_labels(ps, &(struct process_wish){.of_user = true, .user = getuid()});
    assert_true(processes_scan_all(ps, &err) > 0);
    const struct process *own = labelled(ps, p, self);
    assert_string_equal(label_of(p, own, "command"), "test_machine");
    assert_non_null(label_of(p, own, "user"));
    processes_fork(ps, GONE, GONE, self, self);
    assert_true(processes_wants(ps, GONE));
    assert_string_equal(label_of(p, labelled(ps, p, GONE), "user"),
                        label_of(p, labelled(ps, p, self), "user"));
    processes_comm(ps, GONE, GONE, "other", true);
    assert_string_equal(label_of(p, labelled(ps, p, GONE), "command"), "other");
    assert_false(processes_wants(ps, GONE - 1));
    processes_free(ps);
    profile_free(p);
}

static void test_other_users_are_not_wanted(void **state)
{
    struct profile *p = profile_new();
    struct processes *ps = processes_new(p);
    struct err err;
    (void)state;
    processes_set_live(ps);
    processes_set_labels(ps, &(struct process_wish){.of_user = true, .user = getuid() + 12345});
    processes_scan_all(ps, &err);
    assert_false(processes_wants(ps, getpid()));
    processes_free(ps);
    profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cpus_are_listed_once_and_in_order),
        cmocka_unit_test(test_what_is_no_list_of_cpus_is_refused),
        cmocka_unit_test(test_idle_time_is_that_of_the_cpus_asked_for),
        cmocka_unit_test(test_cgroup_is_the_longest_path),
        cmocka_unit_test(test_containers_are_known_by_their_cgroup),
        cmocka_unit_test(test_a_cgroup_is_asked_for_by_path_service_or_container),
        cmocka_unit_test(test_labels_are_inherited),
        cmocka_unit_test(test_other_users_are_not_wanted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
