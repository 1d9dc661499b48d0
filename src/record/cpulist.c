#include "record/cpulist.h"

#include "base/buf.h"

#include <stdio.h>
#include <unistd.h>

static int compare_cpus(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* "8" or "0-3". */
static bool add_range(cpulist *list, struct text range)
{
    struct text last = range, first = text_cut(&last, '-');
    uint64_t from, to;
    if (!text_u64(text_trim(first), 10, &from))
        return false;
    to = from;
    if (memchr(range.at, '-', range.n) && !text_u64(text_trim(last), 10, &to))
        return false;
    if (from > to || to >= CPULIST_MAX)
        return false;
    for (; from <= to; from++)
        *vec_push(list) = (int)from;
    return true;
}

int cpulist_parse(cpulist *ret, const char *text, struct err *err)
{
    struct text rest = text_of(text);
    bool good = rest.n && rest.at[rest.n - 1] != ',';
    while (good && rest.n)
        good = add_range(ret, text_cut(&rest, ','));
    if (!good)
        return err_set(err, EXIT_ERROR, "'%s' is not a list of CPUs: write 0-3,8", text);
    qsort(ret->at, ret->n, sizeof *ret->at, compare_cpus);
    size_t n = 0;
    for (size_t i = 0; i < ret->n; i++)
        if (!n || ret->at[n - 1] != ret->at[i])
            ret->at[n++] = ret->at[i];
    ret->n = n;
    return 0;
}

static bool has_cpu(const int *cpus, size_t n, uint64_t cpu)
{
    for (size_t i = 0; i < n; i++)
        if ((uint64_t)cpus[i] == cpu)
            return true;
    return n == 0;
}

/* "cpu3 user nice system idle iowait irq softirq steal ..." */
static bool idle_ticks(struct text line, const int *cpus, size_t n, uint64_t *ret)
{
    struct text name = text_cut(&line, ' ');
    uint64_t cpu, idle, iowait;
    if (!text_starts(name, "cpu") || !text_u64((struct text){name.at + 3, name.n - 3}, 10, &cpu) ||
        !has_cpu(cpus, n, cpu))
        return false;
    for (int i = 0; i < 3; i++)
        text_cut(&line, ' ');
    if (!text_u64(text_cut(&line, ' '), 10, &idle) || !text_u64(text_cut(&line, ' '), 10, &iowait))
        return false;
    *ret = idle + iowait;
    return true;
}

uint64_t cpulist_idle_ns(struct text stat, const int *cpus, size_t n, size_t *ret_cpus)
{
    uint64_t sum = 0, ticks;
    long hz = sysconf(_SC_CLK_TCK);
    *ret_cpus = 0;
    while (stat.n) {
        if (!idle_ticks(text_cut(&stat, '\n'), cpus, n, &ticks))
            continue;
        sum += ticks;
        ++*ret_cpus;
    }
    return hz > 0 ? sum * (1000000000u / (uint64_t)hz) : 0;
}

uint64_t cpulist_idle_now_ns(const int *cpus, size_t n, size_t *ret_cpus)
{
    autofclose FILE *f = fopen("/proc/stat", "re");
    autobuf struct buf lines = {0};
    char part[4096];
    for (size_t got; f && (got = fread(part, 1, sizeof part, f)) > 0;)
        buf_add(&lines, part, got);
    return cpulist_idle_ns(buf_text(&lines), cpus, n, ret_cpus);
}
