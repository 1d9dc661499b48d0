#include "record/preload.h"

#include "base/mem.h"

#include <limits.h>
#include <string.h>

static char *library_beside(const char *exe, const char *folder, const char *file)
{
    int n = (int)(strrchr(exe, '/') - exe);
    char *path = mem_printf("%.*s/%s%s", n, exe, folder, file);
    if (access(path, R_OK) == 0)
        return path;
    free(path);
    return NULL;
}

/* Where it was built, or where it was installed. NULL = nowhere. */
char *preload_find(const char *file)
{
    char exe[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    if (n <= 0)
        return NULL;
    exe[n] = '\0';
    char *path = library_beside(exe, "", file);
    return path ? path : library_beside(exe, "../lib/kelvin/", file);
}

int preload_check(const char *file, struct err *err)
{
    autofree char *path = preload_find(file);
    if (!path)
        return err_set(err, EXIT_ERROR,
                       "no %s beside kelvin or in ../lib/kelvin: install kelvin whole ('make "
                       "install'), or copy the libraries that were built with it beside it",
                       file);
    if (strpbrk(path, ": "))
        return err_set(err, EXIT_ERROR,
                       "'%s' cannot be preloaded: install kelvin in a folder without blanks or "
                       "colons in its name",
                       path);
    return 0;
}

static void set_variable(struct preload *p, int i, const char *name, char *value)
{
    const char *before = getenv(name);
    p->names[i] = name;
    p->before[i] = before ? mem_strdup(before) : NULL;
    setenv(name, value, 1);
    free(value);
}

/* The variable's value with MORE before or behind it. */
static char *joined(const char *name, const char *more, enum preload_place place)
{
    const char *is = getenv(name);
    if (!is || !*is)
        return mem_strdup(more);
    return place == PRELOAD_FIRST ? mem_printf("%s:%s", more, is) : mem_printf("%s:%s", is, more);
}

void preload_begin(struct preload *p, const char *file, enum preload_place place, const char *name,
                   char *value)
{
    autofree char *library = preload_find(file);
    set_variable(p, 0, "LD_PRELOAD", joined("LD_PRELOAD", library ? library : "", place));
    set_variable(p, 1, name, value);
    /* Programs built with ASan refuse to start when something was loaded before its library. */
    set_variable(p, 2, "ASAN_OPTIONS",
                 joined("ASAN_OPTIONS", "verify_asan_link_order=0", PRELOAD_LAST));
    p->set = true;
}

void preload_end(struct preload *p)
{
    for (int i = PRELOAD_VARIABLES; p->set && i-- > 0;) {
        if (p->before[i])
            setenv(p->names[i], p->before[i], 1);
        else
            unsetenv(p->names[i]);
        free(p->before[i]);
    }
    p->set = false;
}
