/*
 * static.c - what the static build leaves out.
 *
 * libdw looks for libdebuginfod when the program starts. A static program that loads a library
 * brings in a second C library, in a container another one than it was built with, and may crash.
 * So nothing is ever found: debug files are looked for on disk.
 */
#if defined KELVIN_STATIC
#include <dlfcn.h>
#include <stddef.h>

void *dlopen(const char *file, int mode)
{
    (void)file;
    (void)mode;
    return NULL;
}
#endif
