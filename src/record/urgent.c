#include "record/urgent.h"

#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>

/* Microseconds without sleep after which it is over. */
enum { AWAKE_US = 200000 };

/* Called by the kernel's SIGXCPU too: only what a signal handler may do. */
static void be_plain(int sig)
{
    struct sched_param none = {0};
    (void)sig;
    sched_setscheduler(0, SCHED_OTHER, &none);
}

/* False when the way back cannot be had: then there is no way there. */
static bool limit_awake(void)
{
    struct sigaction back = {.sa_handler = be_plain, .sa_flags = SA_RESTART};
    struct rlimit limit;
    if (sigaction(SIGXCPU, &back, NULL) != 0 || getrlimit(RLIMIT_RTTIME, &limit) != 0)
        return false;
    if (limit.rlim_cur > AWAKE_US)
        limit.rlim_cur = AWAKE_US;
    return setrlimit(RLIMIT_RTTIME, &limit) == 0;
}

void urgent_begin(void)
{
    struct sched_param lowest = {.sched_priority = sched_get_priority_min(SCHED_RR)};
    setpriority(PRIO_PROCESS, 0, -20);
    if (limit_awake())
        sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &lowest);
}

void urgent_end(void)
{
    be_plain(0);
}
