/*
 * narrow.c - programs in which a signal handler of somebody else has little room.
 *
 * narrow strict: works under strict seccomp, which allows read, write and exit and no look at the
 *     clock.
 * narrow altstack: works with an alternate signal stack of 2,048 bytes, between pages that fault.
 * Each prints "done" and ends with 0.
 */
#define _GNU_SOURCE
#include <linux/seccomp.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SMALL_BYTES = 2048, PAGE_BYTES = 4096 };

static volatile uint64_t sink;

/* About half a second. Asks no clock. */
__attribute__((noinline)) void narrow_work(void)
{
    uint64_t x = 1;
    for (int i = 0; i < 400000000; i++)
        x = x * 6364136223846793005u + 1442695040888963407u;
    sink = x;
}

static int done(void)
{
    narrow_work();
    long n = write(STDOUT_FILENO, "done\n", 5);
    syscall(SYS_exit, n == 5 ? 0 : 1);
    return 1;
}

static int with_small_stack(void)
{
    char *at = mmap(NULL, 3 * PAGE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stack_t small = {.ss_sp = at + PAGE_BYTES, .ss_size = SMALL_BYTES};
    if (at == MAP_FAILED || mprotect(at + PAGE_BYTES, PAGE_BYTES, PROT_READ | PROT_WRITE) != 0 ||
        sigaltstack(&small, NULL) != 0)
        return 77;
    return done();
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    if (strcmp(mode, "altstack") == 0)
        return with_small_stack();
    if (strcmp(mode, "strict") == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0)
        return done();
    return 77;
}
