#include "record/heap_unseen.h"

#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* More would say no more, and a program may start any number of others. */
enum { PENDING_MAX = 4096, PROCESSES_MAX = 4096, NAMES_BYTES = 120 };

/* A loader may take some time until the agent is there: so many looks, ten in a second. */
enum { LOOKS = 5 };

void heap_unseen_done(struct heap_unseen *u)
{
    vec_done(&u->execs);
    vec_done(&u->starts);
    vec_done(&u->processes);
    buf_done(&u->names);
}

/* Few names say what is to be said. */
static void add_unseen_name(struct buf *to, const char *name)
{
    if (*name && to->n <= NAMES_BYTES && !strstr(buf_cstr(to), name))
        buf_printf(to, "%s%s", to->n ? ", " : "", name);
}

/* --- by reports --- */

static bool take_counterpart(unseen_programs *programs, int pid, const char *comm)
{
    for (size_t i = 0; i < programs->n; i++) {
        const struct unseen_program *p = &programs->at[i];
        if (p->pid != pid || strncmp(p->comm, comm, UNSEEN_COMM_BYTES - 1) != 0)
            continue;
        programs->at[i] = programs->at[--programs->n];
        return true;
    }
    return false;
}

static void add_program(unseen_programs *programs, int pid, const char *comm)
{
    if (programs->n >= PENDING_MAX)
        return;
    struct unseen_program *p = vec_push(programs);
    *p = (struct unseen_program){.pid = pid};
    snprintf(p->comm, sizeof p->comm, "%s", comm);
}

void heap_unseen_exec(struct heap_unseen *u, int pid, const char *comm)
{
    u->knows_execs = true;
    if (!take_counterpart(&u->starts, pid, comm))
        add_program(&u->execs, pid, comm);
}

void heap_unseen_start(struct heap_unseen *u, int pid, const char *comm)
{
    if (!take_counterpart(&u->execs, pid, comm))
        add_program(&u->starts, pid, comm);
}

/* --- by looks at processes --- */

/* The text of a file of /proc/PID; "" where it cannot be read. Free it. */
static char *read_of_process(int pid, const char *name)
{
    char path[NAME_MAX + 48];
    struct buf text = {0};
    snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
    char part[4096];
    for (ssize_t n; fd >= 0 && (n = read(fd, part, sizeof part)) > 0;)
        buf_add(&text, part, (size_t)n);
    char *copy = mem_strdup(buf_cstr(&text));
    buf_done(&text);
    return copy;
}

/* What a process runs, as a number; 0 = it is gone, or nobody may know. */
static uint64_t program_of(int pid)
{
    char path[40];
    struct stat st;
    snprintf(path, sizeof path, "/proc/%d/exe", pid);
    return stat(path, &st) == 0 ? st.st_ino : 0;
}

/* Whether nobody but its owner may see what a process has mapped. */
static bool is_closed_to_us(int pid)
{
    char path[40];
    snprintf(path, sizeof path, "/proc/%d/maps", pid);
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd < 0 && errno != ENOENT && errno != ESRCH;
}

/* A line of the maps: "... DEV INODE  /memfd:kelvin-channel (deleted)". */
static bool shares_file(const char *maps, uint64_t inode)
{
    char number[32];
    snprintf(number, sizeof number, " %llu ", (unsigned long long)inode);
    for (const char *at = maps; (at = strstr(at, number)); at++)
        if (strncmp(at + strlen(number) + strspn(at + strlen(number), " "), "/memfd:", 7) == 0)
            return true;
    return false;
}

static struct unseen_process *unseen_process_get(struct heap_unseen *u, int pid, uint64_t program)
{
    for (size_t i = 0; i < u->processes.n; i++) {
        struct unseen_process *p = &u->processes.at[i];
        if (p->pid != pid)
            continue;
        if (p->program != program)
            *p = (struct unseen_process){.pid = pid, .program = program};
        return p;
    }
    if (u->processes.n >= PROCESSES_MAX)
        return NULL;
    struct unseen_process *p = vec_push(&u->processes);
    *p = (struct unseen_process){.pid = pid, .program = program};
    return p;
}

static void look_at_process(struct heap_unseen *u, int pid, uint64_t inode)
{
    struct unseen_process *p = unseen_process_get(u, pid, program_of(pid));
    if (!p || p->settled)
        return;
    autofree char *maps = read_of_process(pid, "maps");
    if (!*maps && !is_closed_to_us(pid))
        return; /* it has ended */
    p->settled = shares_file(maps, inode) || ++p->looks >= LOOKS;
    if (p->looks < LOOKS)
        return;
    autofree char *comm = read_of_process(pid, "comm");
    comm[strcspn(comm, "\n")] = '\0';
    add_unseen_name(&u->names, comm);
}

static void look_at_descendants(struct heap_unseen *u, int pid, uint64_t inode);

/* Of one thread. A process that still runs our own program has not become another yet. */
static void look_at_children(struct heap_unseen *u, int pid, const char *tid, uint64_t inode)
{
    char name[NAME_MAX + 16];
    snprintf(name, sizeof name, "task/%s/children", tid);
    autofree char *children = read_of_process(pid, name);
    uint64_t own = program_of(getpid());
    char *at = children;
    for (int child; (child = (int)strtol(at, &at, 10)) > 0;) {
        if (program_of(child) != own)
            look_at_process(u, child, inode);
        look_at_descendants(u, child, inode);
    }
}

static void look_at_descendants(struct heap_unseen *u, int pid, uint64_t inode)
{
    char path[40];
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *threads = opendir(path);
    for (struct dirent *e; threads && (e = readdir(threads));)
        if (e->d_name[0] != '.')
            look_at_children(u, pid, e->d_name, inode);
    if (threads)
        closedir(threads);
}

void heap_unseen_look(struct heap_unseen *u, uint64_t inode)
{
    if (!u->knows_execs)
        look_at_descendants(u, getpid(), inode);
}

void heap_unseen_print(struct heap_unseen *u, struct buf *to)
{
    for (size_t i = 0; i < u->execs.n; i++)
        add_unseen_name(to, u->execs.at[i].comm);
    if (!u->knows_execs)
        add_unseen_name(to, buf_cstr(&u->names));
}
