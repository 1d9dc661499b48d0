/*
 * noperf.c - run a command with perf_event_open blocked by a seccomp filter, as in containers.
 *
 * noperf [--enosys | --no-timers] COMMAND...: the call fails with EPERM, as in Docker, or with
 * ENOSYS, as in some newer ones; --no-timers blocks timer_create too. Exits 125 if that cannot be
 * done, 127 if the command cannot be started.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int block(long number, int errnum)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)errnum),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {.len = sizeof rules / sizeof *rules, .filter = rules};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

int main(int argc, char **argv)
{
    int errnum = EPERM, no_timers = 0, at = 1;
    for (; at < argc && strncmp(argv[at], "--", 2) == 0; at++) {
        if (strcmp(argv[at], "--enosys") == 0)
            errnum = ENOSYS;
        else if (strcmp(argv[at], "--no-timers") == 0)
            no_timers = 1;
        else
            return 125;
    }
    if (at >= argc || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        block(SYS_perf_event_open, errnum) != 0 ||
        (no_timers && block(SYS_timer_create, EPERM) != 0)) {
        fprintf(stderr, "noperf: cannot set the filter: %s\n", strerror(errno));
        return 125;
    }
    execvp(argv[at], argv + at);
    fprintf(stderr, "noperf: %s: %s\n", argv[at], strerror(errno));
    return 127;
}
