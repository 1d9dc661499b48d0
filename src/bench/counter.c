/* counter.c - the CPU's counter of instructions. */
#include "bench/counter.h"
#include "base/mem.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

static int open_event(pid_t pid, bool on_exec)
{
    struct perf_event_attr attr = {
        .size = sizeof attr,
        .type = PERF_TYPE_HARDWARE,
        .config = PERF_COUNT_HW_INSTRUCTIONS,
        .disabled = 1,
        .enable_on_exec = on_exec,
        .inherit = 1,
        .exclude_kernel = 1,
        .exclude_hv = 1,
        .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
    };
    return (int)syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

int counter_open(pid_t pid)
{
    return open_event(pid, true);
}

double counter_read(int fd)
{
    struct {
        uint64_t value, enabled_ns, running_ns;
    } r;
    if (read(fd, &r, sizeof r) != (ssize_t)sizeof r || r.running_ns < r.enabled_ns)
        return NAN;
    return (double)r.value;
}

/* Some virtual machines open the counter and never count. */
bool counter_works(const char **ret_why)
{
    autoclose int fd = open_event(0, false);
    volatile unsigned work = 0;
    if (fd < 0) {
        *ret_why = errno == EACCES || errno == EPERM ? "kernel.perf_event_paranoid forbids it"
                                                     : "this machine has no such counter";
        return false;
    }
    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
    while (work < 100000)
        work = work + 1;
    ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
    double n = counter_read(fd);
    *ret_why = "the counter stands still";
    return n >= 100000;
}
