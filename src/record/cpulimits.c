#include "record/cpulimits.h"

#include "base/mem.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CGROUPS "/sys/fs/cgroup"

static void read_text(const char *path, char *ret, size_t size)
{
    autofclose FILE *f = fopen(path, "re");
    ret[f ? fread(ret, 1, size - 1, f) : 0] = '\0';
}

/* "1:cpu,cpuacct:/a/b" of the first version of cgroups, "0::/a/b" of the second. */
int cpulimits_folder(const char *line, char *ret, unsigned long size)
{
    const char *controllers = strchr(line, ':');
    const char *path = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!path)
        return 0;
    int n = (int)(path - controllers - 1), length = (int)strcspn(path + 1, "\n");
    const char *list = controllers + 1;
    bool cpu = strncmp(list, "cpu,", 4) == 0 || (n == 3 && strncmp(list, "cpu", 3) == 0) ||
               (n > 4 && strncmp(list + n - 4, ",cpu", 4) == 0);
    if (n && !cpu)
        return 0;
    snprintf(ret, size, CGROUPS "%s%.*s%.*s", n ? "/" : "", n, list, length, path + 1);
    return 1;
}

uint64_t cpulimits_throttled_in(const char *stat)
{
    unsigned long long n = 0;
    const char *first = strstr(stat, "throttled_time "), *second = strstr(stat, "throttled_usec ");
    if (first && sscanf(first, "throttled_time %llu", &n) == 1)
        return n;
    return second && sscanf(second, "throttled_usec %llu", &n) == 1 ? n * 1000 : 0;
}

/* A quota may be that of any folder above. */
static uint64_t throttled_now(const char *cgroup)
{
    char folder[512], path[640], text[1024];
    uint64_t ns = 0;
    snprintf(folder, sizeof folder, "%s", cgroup);
    while (strlen(folder) > sizeof CGROUPS - 1) {
        snprintf(path, sizeof path, "%s/cpu.stat", folder);
        read_text(path, text, sizeof text);
        ns += cpulimits_throttled_in(text);
        *strrchr(folder, '/') = '\0';
    }
    return ns;
}

/* The eighth number of the first line, in ticks of the clock. */
static uint64_t stolen_now(void)
{
    char text[512];
    unsigned long long steal;
    long hz = sysconf(_SC_CLK_TCK);
    read_text("/proc/stat", text, sizeof text);
    bool known = sscanf(text, "cpu %*u %*u %*u %*u %*u %*u %*u %llu", &steal) == 1 && hz > 0;
    return known ? steal * (1000000000u / (uint64_t)hz) : 0;
}

void cpulimits_start(struct cpulimits *l, int pid)
{
    char path[40], text[4096];
    *l = (struct cpulimits){.stolen_ns = stolen_now()};
    snprintf(path, sizeof path, "/proc/%d/cgroup", pid);
    read_text(path, text, sizeof text);
    for (const char *line = text; *line; line += *line == '\n') {
        if (cpulimits_folder(line, l->cgroup, sizeof l->cgroup) && *line != '0')
            break; /* where the first version has the CPUs the second has not */
        line += strcspn(line, "\n");
    }
    l->throttled_ns = throttled_now(l->cgroup);
}

static uint64_t limit_growth(uint64_t now, uint64_t before)
{
    return now > before ? now - before : 0;
}

uint64_t cpulimits_throttled_ns(const struct cpulimits *l)
{
    return limit_growth(throttled_now(l->cgroup), l->throttled_ns);
}

uint64_t cpulimits_stolen_ns(const struct cpulimits *l)
{
    return limit_growth(stolen_now(), l->stolen_ns);
}
