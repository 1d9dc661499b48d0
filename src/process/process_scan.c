/*
 * process_scan.c - what is known of a process that runs already, from /proc.
 */
#include "process/process_inner.h"

#include <dirent.h>
#include <errno.h>

/* "55d0a000-55d0c000 r-xp 00002000 08:01 1234   /usr/bin/app" */
static void scan_map(struct processes *ps, int pid, char *line)
{
    unsigned long long start, end, offset;
    char rights[5];
    int path_at = 0;
    if (sscanf(line, "%llx-%llx %4s %llx %*s %*s %n", &start, &end, rights, &offset, &path_at) < 4)
        return;
    if (rights[2] != 'x' || !path_at)
        return;
    line[strcspn(line, "\n")] = '\0';
    processes_mmap(
        ps, &(struct process_map){
                .pid = pid, .start = start, .end = end, .offset = offset, .path = line + path_at});
}

void processes_maps(struct processes *ps, int pid, struct text maps)
{
    while (maps.n) {
        struct text line = text_cut(&maps, '\n');
        autofree char *copy = mem_strndup(line.at, line.n);
        scan_map(ps, pid, copy);
    }
}

static int scan_maps(struct processes *ps, int pid, struct err *err)
{
    char path[40];
    snprintf(path, sizeof path, "/proc/%d/maps", pid);
    autofclose FILE *f = fopen(path, "re");
    if (!f)
        return err_set_errno(err, errno, "cannot read '%s'", path);
    autofree char *line = NULL;
    size_t cap = 0;
    while (getline(&line, &cap, f) > 0)
        scan_map(ps, pid, line);
    return 0;
}

/*
 * Not at once, when the reports are likely on their way; and again and again, but ever more seldom,
 * as libraries may come.
 */
void process_look_again(struct processes *ps, int pid)
{
    enum { FIRST = 4 };
    struct process_state *proc = process_find(ps, pid);
    struct err gone;
    if (!proc || !proc->unreported)
        return;
    uint32_t samples = ++proc->unreported;
    if (samples < FIRST || (samples & (samples - 1)))
        return;
    scan_maps(ps, pid, &gone);
    process_find(ps, pid)->unreported = samples;
}

static void scan_comm(struct processes *ps, int pid, int tid)
{
    char path[64], comm[64] = "";
    snprintf(path, sizeof path, "/proc/%d/task/%d/comm", pid, tid);
    autofclose FILE *f = fopen(path, "re");
    if (!f || !fgets(comm, sizeof comm, f))
        return;
    comm[strcspn(comm, "\n")] = '\0';
    processes_comm(ps, pid, tid, comm, false);
}

int processes_scan(struct processes *ps, int pid, struct err *err)
{
    char path[40];
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *d = opendir(path);
    if (!d)
        return err_set_errno(err, errno, "no process %d", pid);
    for (struct dirent *e; (e = readdir(d));)
        if (atoi(e->d_name) > 0)
            scan_comm(ps, pid, atoi(e->d_name));
    closedir(d);
    return scan_maps(ps, pid, err);
}

int processes_scan_all(struct processes *ps, struct err *err)
{
    DIR *d = opendir("/proc");
    int n = 0;
    if (!d)
        return err_set_errno(err, errno, "cannot read '/proc'");
    for (struct dirent *e; (e = readdir(d));) {
        struct err gone; /* meanwhile, or another user's */
        int pid = atoi(e->d_name);
        if (pid <= 0)
            continue;
        processes_scan(ps, pid, &gone);
        process_ask(ps, pid);
        n += processes_wants(ps, pid);
    }
    closedir(d);
    return n;
}
