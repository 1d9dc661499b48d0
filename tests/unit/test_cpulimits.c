/* What the kernel says of quotas, in both versions of cgroups. */
#include "record/cpulimits.h"

#include <stdio.h>
#include <unistd.h>

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

static void the_folder_of_the_cpu_controller_is_found(void **state)
{
    static const struct {
        const char *line, *folder;
    } cases[] = {
        {"0::/user.slice/a.scope\n", "/sys/fs/cgroup/user.slice/a.scope"},
        {"1:cpu:/box\n", "/sys/fs/cgroup/cpu/box"},
        {"4:cpu,cpuacct:/box\n1:cpu:/other", "/sys/fs/cgroup/cpu,cpuacct/box"},
        {"4:cpuacct,cpu:/box", "/sys/fs/cgroup/cpuacct,cpu/box"},
        {"3:cpuset:/box", NULL},
        {"2:cpuacct:/box", NULL},
        {"nonsense", NULL},
        {"", NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char folder[128] = "";
        assert_int_equal(cpulimits_folder(cases[i].line, folder, sizeof folder),
                         cases[i].folder != NULL);
        assert_string_equal(folder, cases[i].folder ? cases[i].folder : "");
    }
}

static void throttled_time_is_in_nanoseconds(void **state)
{
    (void)state;
    assert_int_equal(cpulimits_throttled_in("nr_throttled 3\nthrottled_time 1234567\n"), 1234567);
    assert_int_equal(cpulimits_throttled_in("usage_usec 9\nthrottled_usec 1234\n"), 1234000);
    assert_int_equal(cpulimits_throttled_in("usage_usec 9\n"), 0);
    assert_int_equal(cpulimits_throttled_in(""), 0);
}

static void limits_only_grow(void **state)
{
    struct cpulimits l;
    (void)state;
    cpulimits_start(&l, getpid());
    assert_true(cpulimits_throttled_ns(&l) < UINT64_C(1) << 40);
    assert_true(cpulimits_stolen_ns(&l) < UINT64_C(1) << 40);
    cpulimits_start(&l, -1); /* nobody */
    assert_string_equal(l.cgroup, "");
    assert_int_equal(cpulimits_throttled_ns(&l), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_folder_of_the_cpu_controller_is_found),
        cmocka_unit_test(throttled_time_is_in_nanoseconds),
        cmocka_unit_test(limits_only_grow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
