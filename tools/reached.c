/*
 * reached.c - note which basic blocks of a program run; for tools/reached.py, linked into no
 * product.
 *
 * Files compiled with -fsanitize-coverage=trace-pc call in at the start of every block. A byte for
 * each place of the program is kept in the file that KELVIN_REACHED names, mapped and shared:
 * children, threads, and processes that are killed are all seen.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

extern char __executable_start, etext;
static uint8_t *reached;

void __sanitizer_cov_trace_pc(void);

__attribute__((constructor)) static void reached_open(void)
{
    const char *path = getenv("KELVIN_REACHED");
    int fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666) : -1;
    size_t bytes = (size_t)(&etext - &__executable_start);

    if (fd < 0)
        return;
    if (ftruncate(fd, (off_t)bytes) == 0) {
        void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

        reached = at == MAP_FAILED ? NULL : at;
    }
    close(fd);
}

void __sanitizer_cov_trace_pc(void)
{
    if (reached)
        reached[(char *)__builtin_return_address(0) - &__executable_start] = 1;
}
