/*
 * touch.c - touches new pages of memory, a known number of them: each is one page fault.
 *
 * touch PAGES IDLE_MS: 20 pages at a time in touch_page(), and a millisecond of sleep after that;
 * at half of them nothing happens for IDLE_MS.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

enum { PAGE_BYTES = 4096, AT_A_TIME = 20 };

static void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

__attribute__((noinline)) void touch_page(volatile char *page)
{
    *page = 1;
}

int main(int argc, char **argv)
{
    size_t pages = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
    long idle_ms = argc > 2 ? atol(argv[2]) : 0;
    char *at =
        mmap(NULL, pages * PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED || madvise(at, pages * PAGE_BYTES, MADV_NOHUGEPAGE) != 0)
        return 1;
    for (size_t i = 0; i < pages; i++) {
        touch_page(at + i * PAGE_BYTES);
        if (i % AT_A_TIME == 0)
            sleep_ms(1);
        if (i == pages / 2)
            sleep_ms(idle_ms);
    }
    return 0;
}
