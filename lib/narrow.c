/*
 * narrow.c - keeps the agent's signal away from threads that have no room for it.
 *
 * Under strict seccomp a look at the clock ends the program. An alternate signal stack may be so
 * small that the kernel's own frame fills it; whether ours would fit on top is luck. Such threads
 * are not sampled, and counted.
 */
#include "agent.h"

#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What our handler and those that interrupt it may need besides the kernel's frame. */
enum { HANDLER_BYTES = 2048, FRAME_BYTES = 2048 };

static bool is_sampled(void)
{
    return agent.box && !agent.box->stop;
}

/* By a plain system call, here and below: allocators ask for these before dlsym() may be used. */
AGENT_API int prctl(int option, ...)
{
    unsigned long a[4];
    va_list ap;
    va_start(ap, option);
    for (int i = 0; i < 4; i++)
        a[i] = va_arg(ap, unsigned long);
    va_end(ap);
    if (option == PR_SET_SECCOMP && a[0] == SECCOMP_MODE_STRICT && is_sampled())
        sampler_rest();
    return (int)syscall(SYS_prctl, option, a[0], a[1], a[2], a[3]);
}

static bool is_small(const stack_t *stack)
{
    unsigned long frame_bytes = getauxval(AT_MINSIGSTKSZ);
    if (frame_bytes < FRAME_BYTES)
        frame_bytes = FRAME_BYTES;
    return !(stack->ss_flags & SS_DISABLE) && stack->ss_size < frame_bytes + HANDLER_BYTES;
}

AGENT_API int sigaltstack(const stack_t *stack, stack_t *old)
{
    bool small = stack && is_small(stack), rested = self.resting;
    if (small && is_sampled())
        sampler_rest();
    int failed = (int)syscall(SYS_sigaltstack, stack, old);
    if (is_sampled() && self.resting && ((stack && !small && !failed) || (failed && !rested)))
        sampler_resume();
    return failed;
}
