#include "symbol/busguard.h"

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/* The one exception to "no globals": what the process does about a signal is global itself. */
static struct {
    pthread_mutex_t lock;
    int held;
    uintptr_t page_bytes;
    struct sigaction former;
} guard = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The access is repeated after the return: it meets the new page, or the former action. */
static void put_zeros(int signal, siginfo_t *info, void *context)
{
    (void)context;
    uintptr_t at = (uintptr_t)info->si_addr & ~(guard.page_bytes - 1);
    if (info->si_code != BUS_ADRERR || !at ||
        mmap((void *)at, guard.page_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
             0) == MAP_FAILED)
        sigaction(signal, &guard.former, NULL);
}

void busguard_enter(void)
{
    pthread_mutex_lock(&guard.lock);
    if (!guard.held++) {
        struct sigaction act = {.sa_sigaction = put_zeros, .sa_flags = SA_SIGINFO | SA_ONSTACK};
        sigemptyset(&act.sa_mask);
        guard.page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
        sigaction(SIGBUS, &act, &guard.former);
    }
    pthread_mutex_unlock(&guard.lock);
}

void busguard_leave(void)
{
    pthread_mutex_lock(&guard.lock);
    if (!--guard.held)
        sigaction(SIGBUS, &guard.former, NULL);
    pthread_mutex_unlock(&guard.lock);
}
