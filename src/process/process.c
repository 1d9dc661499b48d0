/*
 * process.c - which processes and threads there are, what they are called and what they have
 * mapped.
 */
#include "process/process_inner.h"

#include <malloc.h>
#include <sys/stat.h>

/* Mappings of all processes together, about 60 MB: a file could else ask for any amount by forks.
 */
enum { MAPS_MAX = 1 << 19 };

/* --- address spaces --- */

struct str_id process_str(struct processes *ps, uint32_t text)
{
    return profile_add_str(ps->profile, intern_get(&ps->texts, text));
}

static struct address_space *space_new(struct processes *ps)
{
    struct address_space *as = mem_new(struct address_space);
    as->refs = 1;
    as->serial = ++ps->last_serial;
    as->unwind = unwind_space_new(ps->files);
    as->n_all = &ps->n_maps;
    return as;
}

static void space_drop(struct address_space *as)
{
    if (!as || --as->refs > 0)
        return;
    *as->n_all -= as->maps.n;
    unwind_space_free(as->unwind);
    vec_done(&as->maps);
    free(as);
}

/* The space of PROC for changing: its own, under a new serial. */
static struct address_space *space_own(struct processes *ps, struct process_state *proc)
{
    struct address_space *as = proc->space;
    if (!as)
        return proc->space = space_new(ps);
    if (as->refs > 1) {
        struct address_space *copy = mem_new(struct address_space);
        copy->refs = 1;
        copy->unwind = unwind_space_copy(as->unwind);
        vec_reserve(&copy->maps, as->maps.n + 1);
        if (as->maps.n)
            memcpy(copy->maps.at, as->maps.at, as->maps.n * sizeof *as->maps.at);
        copy->maps.n = as->maps.n;
        copy->n_all = as->n_all;
        *copy->n_all += copy->maps.n;
        space_drop(as);
        proc->space = as = copy;
    }
    as->serial = ++ps->last_serial;
    return as;
}

static bool has_room(const struct processes *ps, const struct address_space *as)
{
    size_t copied = as && as->refs > 1 ? as->maps.n : 0;
    return ps->n_maps + copied < MAPS_MAX;
}

/* --- processes and their threads --- */

struct processes *processes_new(struct profile *p)
{
    struct processes *ps = mem_new(struct processes);
    ps->profile = p;
    ps->files = unwind_files_new();
    intern_init(&ps->texts);
    ps->nothing = space_new(ps);
    return ps;
}

void processes_free(struct processes *ps)
{
    if (!ps)
        return;
    for (size_t i = 0; i < ps->list.n; i++)
        space_drop(ps->list.at[i].space);
    for (size_t i = 0; i < ps->held.n; i++)
        close(ps->held.at[i].fd);
    vec_done(&ps->held);
    space_drop(ps->nothing);
    unwind_files_free(ps->files);
    intern_done(&ps->texts);
    idmap_done(&ps->by_pid);
    idmap_done(&ps->by_tid);
    vec_done(&ps->list);
    vec_done(&ps->tasks);
    vec_done(&ps->frames);
    vec_done(&ps->owners);
    vec_done(&ps->unnamed_code);
    vec_done(&ps->build_ids);
    vec_done(&ps->users);
    free(ps);
}

void processes_end_walks(struct processes *ps)
{
    for (size_t i = 0; i < ps->list.n; i++) {
        space_drop(ps->list.at[i].space);
        ps->list.at[i].space = NULL;
    }
    space_drop(ps->nothing);
    unwind_files_free(ps->files);
    ps->files = unwind_files_new();
    ps->nothing = space_new(ps);
    malloc_trim(0);
}

void processes_set_live(struct processes *ps)
{
    struct stat root;
    ps->live = stat("/", &root) == 0;
    ps->root_dev = ps->live ? root.st_dev : 0;
    ps->root_ino = ps->live ? root.st_ino : 0;
}

void processes_move(struct processes *ps, struct profile *to)
{
    for (size_t i = 0; i < ps->tasks.n; i++) {
        struct task *t = &ps->tasks.at[i];
        t->comm =
            t->alive ? profile_add_str(to, profile_str(ps->profile, t->comm)) : (struct str_id){0};
        t->thread.i = 0;
    }
    for (size_t i = 0; i < ps->held.n; i++)
        close(ps->held.at[i].fd);
    ps->held.n = 0;
    for (size_t i = 0; i < ps->list.n; i++) {
        struct process_state *proc = &ps->list.at[i];
        proc->row.i = 0;
        for (size_t k = 0; proc->space && k < proc->space->maps.n; k++)
            proc->space->maps.at[k].mapping.i = 0;
    }
    memset(ps->cache, 0, sizeof ps->cache);
    ps->kernel.i = 0;
    ps->unnamed_code.n = 0;
    ps->profile = to;
}

void processes_set_time(struct processes *ps, uint64_t time_ns)
{
    ps->now_ns = time_ns;
}

struct process_state *process_find(const struct processes *ps, int pid)
{
    uint32_t hash = hash_pair((uint32_t)pid, 1);
    for_each_match (&ps->by_pid, hash, i) {
        if (ps->list.at[i].pid == pid)
            return &ps->list.at[i];
    }
    return NULL;
}

static struct process_state *process_get(struct processes *ps, int pid)
{
    struct process_state *proc = process_find(ps, pid);
    if (proc)
        return proc;
    idmap_add(&ps->by_pid, hash_pair((uint32_t)pid, 1), (uint32_t)ps->list.n);
    proc = vec_push(&ps->list);
    *proc = (struct process_state){.pid = pid, .parent_pid = -1};
    return proc;
}

/* Forget what was mapped: the process is gone, or runs another program. */
static void process_clear(struct process_state *proc)
{
    space_drop(proc->space);
    proc->space = NULL;
    proc->executable = proc->jitdump = 0;
    proc->asked_root = proc->asked_labels = false;
    proc->unreported = 0;
}

/* What it ran stays known: samples of its last moments may still come. */
static void process_end(struct processes *ps, struct process_state *proc)
{
    uint32_t executable = proc->executable;
    process_clear(proc);
    proc->executable = executable;
    proc->ended = true;
    proc->end_ns = ps->now_ns;
    if (proc->row.i)
        ps->profile->processes.at[proc->row.i].end_ns = ps->now_ns;
}

/* A process of this pid starts, now or before anybody looked; an older one is another. */
static void process_start(struct process_state *proc, int parent_pid, uint64_t start_ns)
{
    proc->row.i = 0;
    proc->ended = false;
    proc->parent_pid = parent_pid;
    proc->start_ns = start_ns;
    proc->end_ns = 0;
    proc->root_pid = 0;
    proc->belongs = (struct process_belongs){0};
    proc->asked_labels = false;
}

/* --- rows of the profile --- */

static struct task *task_find(const struct processes *ps, int tid)
{
    uint32_t hash = hash_pair((uint32_t)tid, 2);
    for_each_match (&ps->by_tid, hash, i) {
        if (ps->tasks.at[i].tid == tid)
            return &ps->tasks.at[i];
    }
    return NULL;
}

/* "" where not known. */
static struct str_id leader_name(const struct processes *ps, int pid)
{
    const struct task *leader = task_find(ps, pid);
    return leader ? leader->comm : (struct str_id){0};
}

struct profile *processes_profile(const struct processes *ps)
{
    return ps->profile;
}

struct str_id processes_name(const struct processes *ps, int tid)
{
    return leader_name(ps, tid);
}

/* Of two processes that a pid had, the parent is not the one that started after its child. */
static struct process_id parent_row(const struct processes *ps, const struct process_state *proc)
{
    const struct process_state *parent = process_find(ps, proc->parent_pid);
    if (!parent || (proc->start_ns && parent->start_ns > proc->start_ns))
        return (struct process_id){0};
    return parent->row;
}

static void row_add(struct processes *ps, struct process_state *proc)
{
    struct process row = {
        .pid = proc->pid,
        .parent = parent_row(ps, proc),
        .executable = process_str(ps, proc->executable),
        .start_ns = proc->start_ns,
        .end_ns = proc->end_ns,
    };
    row.attrs = process_labels(ps, proc, leader_name(ps, proc->pid));
    proc->row = profile_add_process(ps->profile, &row);
}

/* The row of a process, made after those of its ancestors. */
static struct process_id row_of(struct processes *ps, int pid)
{
    enum { GENERATIONS_MAX = 32 };
    int line[GENERATIONS_MAX];
    size_t n = 0;
    const struct process_state *proc = process_get(ps, pid);
    if (proc->row.i)
        return proc->row;
    for (; proc && !proc->row.i && n < GENERATIONS_MAX; proc = process_find(ps, proc->parent_pid))
        line[n++] = proc->pid;
    while (n-- > 0) {
        struct process_state *next = process_find(ps, line[n]);
        if (!next->row.i) /* a damaged file may make a process its own ancestor */
            row_add(ps, next);
    }
    return process_find(ps, pid)->row;
}

/* --- tasks --- */

static void task_end(struct processes *ps, struct task *t)
{
    if (!t->alive)
        return;
    t->alive = false;
    t->end_ns = ps->now_ns;
    ps->n_ended++;
    struct process_state *proc = process_find(ps, t->pid);
    if (proc && --proc->n_tasks == 0)
        process_end(ps, proc);
}

/* A task that is alive and of process PID. Numbers come again: then it is another one. */
static struct task *task_get(struct processes *ps, int pid, int tid)
{
    struct task *t = task_find(ps, tid);
    if (t && t->alive && t->pid == pid)
        return t;
    if (t) {
        task_end(ps, t);
        ps->n_ended--;
    } else {
        idmap_add(&ps->by_tid, hash_pair((uint32_t)tid, 2), (uint32_t)ps->tasks.n);
        t = vec_push(&ps->tasks);
    }
    *t = (struct task){.pid = pid, .tid = tid, .alive = true};
    struct process_state *proc = process_get(ps, pid);
    if (proc->ended) {
        process_clear(proc);
        process_start(proc, -1, 0);
    }
    proc->n_tasks++;
    return t;
}

void processes_comm(struct processes *ps, int pid, int tid, const char *comm, bool exec)
{
    struct task *t = task_get(ps, pid, tid);
    struct str_id name = profile_add_str(ps->profile, text_of(comm));
    if (name.i != t->comm.i)
        t->thread.i = 0;
    t->comm = name;
    if (!exec)
        return;
    if (ps->on_exec)
        ps->on_exec(ps->on_exec_arg, pid, comm);
    struct process_state *proc = process_get(ps, pid);
    process_clear(proc);
    proc->unreported = ps->live ? 1 : 0;
    if (proc->row.i && ps->labels)
        ps->profile->processes.at[proc->row.i].attrs = process_labels(ps, proc, name);
}

void processes_on_exec(struct processes *ps, void (*on_exec)(void *arg, int pid, const char *comm),
                       void *arg)
{
    ps->on_exec = on_exec;
    ps->on_exec_arg = arg;
}

void processes_fork(struct processes *ps, int pid, int tid, int parent_pid, int parent_tid)
{
    struct task *parent = task_find(ps, parent_tid);
    struct str_id comm = parent && parent->alive ? parent->comm : (struct str_id){0};
    struct task *t = task_get(ps, pid, tid);
    t->thread.i = 0;
    t->comm = comm;
    if (pid == parent_pid)
        return;
    struct process_state *to = process_get(ps, pid);
    const struct process_state *from = process_find(ps, parent_pid);
    process_start(to, parent_pid, ps->now_ns);
    if (!from)
        return;
    process_clear(to);
    to->executable = from->executable;
    to->jitdump = from->jitdump;
    to->belongs = from->belongs;
    to->root_pid = from->root_pid;
    if ((to->space = from->space))
        to->space->refs++;
}

/* --- who has ended --- */

/* So many may be known; and after so long no record of its last moments comes any more. */
enum { ENDED_MOST = 1024 };
#define LATE_NS UINT64_C(10000000000)

static bool is_long_ago(const struct processes *ps, uint64_t end_ns)
{
    return end_ns && ps->now_ns > end_ns + LATE_NS;
}

static void forget_tasks(struct processes *ps)
{
    size_t kept = 0;
    idmap_done(&ps->by_tid);
    ps->n_ended = 0;
    for (size_t i = 0; i < ps->tasks.n; i++) {
        struct task t = ps->tasks.at[i];
        if (!t.alive && is_long_ago(ps, t.end_ns))
            continue;
        idmap_add(&ps->by_tid, hash_pair((uint32_t)t.tid, 2), (uint32_t)kept);
        ps->tasks.at[kept++] = t;
        ps->n_ended += !t.alive;
    }
    ps->tasks.n = kept;
}

/* Thousands that come and go are many megabytes in a day. Their rows in the profile stay. */
static void forget_ended(struct processes *ps)
{
    size_t kept = 0;
    forget_tasks(ps);
    idmap_done(&ps->by_pid);
    for (size_t i = 0; i < ps->list.n; i++) {
        struct process_state proc = ps->list.at[i];
        if (proc.ended && !proc.n_tasks && is_long_ago(ps, proc.end_ns))
            continue;
        idmap_add(&ps->by_pid, hash_pair((uint32_t)proc.pid, 1), (uint32_t)kept);
        ps->list.at[kept++] = proc;
    }
    ps->list.n = kept;
    ps->n_ended_kept = ps->n_ended;
}

/*
 * Only once as many more have ended as were kept the last time: those of the last seconds are kept
 * each time, and where hundreds end in a second going through them at each end would take all day.
 */
static bool too_many_ended(const struct processes *ps)
{
    return ps->live && ps->n_ended >= ENDED_MOST + 2 * ps->n_ended_kept &&
           ps->n_ended > ps->tasks.n / 2;
}

void processes_exit(struct processes *ps, int pid, int tid)
{
    struct task *t = task_find(ps, tid);
    if (t && t->pid == pid)
        task_end(ps, t);
    if (too_many_ended(ps))
        forget_ended(ps);
}

size_t processes_count(const struct processes *ps)
{
    return ps->list.n + ps->tasks.n;
}

/* The name of a thread of which only the number is known: its process's, or ":1234". */
static struct str_id comm_of(struct processes *ps, int pid, int tid)
{
    struct str_id leader = leader_name(ps, pid);
    if (leader.i)
        return leader;
    char name[24];
    snprintf(name, sizeof name, ":%d", tid);
    return profile_add_str(ps->profile, text_of(name));
}

void processes_set_lossy(struct processes *ps)
{
    ps->lossy = ps->live;
}

struct thread_id processes_thread(struct processes *ps, int pid, int tid)
{
    struct err gone;
    if (ps->lossy && pid > 0 && !leader_name(ps, pid).i)
        processes_scan(ps, pid, &gone);
    struct task *t = task_find(ps, tid);
    bool known = t && t->pid == pid;
    if (known && t->thread.i)
        return t->thread;
    struct thread key = {.name = known ? t->comm : (struct str_id){0}, .tid = tid};
    if (!key.name.i)
        key.name = comm_of(ps, pid, tid);
    key.process = row_of(ps, pid);
    struct thread_id id = profile_add_thread_of(ps->profile, &key);
    if (known)
        t->thread = id;
    return id;
}

struct thread_id processes_thread_called(struct processes *ps, int pid, int tid, const char *comm)
{
    const struct task *t = task_find(ps, tid);
    if (!t || t->pid != pid || !t->comm.i)
        processes_comm(ps, pid, tid, comm, false);
    return processes_thread(ps, pid, tid);
}

/* --- mappings --- */

/* Memory with code and no file that could name it: what compilers at run time make. */
bool process_is_anonymous(struct text path)
{
    static const char *const starts[] = {"//anon", "[heap]",      "[stack]",
                                         "[anon",  "/memfd:",     "/dev/zero",
                                         "/SYSV",  "anon_inode:", "/anon_hugepage"};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (text_starts(path, starts[i]))
            return true;
    return path.n == 0;
}

/* jit-1234.dump: mapped only to show where it is. */
static bool is_jitdump(struct text path)
{
    const char *slash = memrchr(path.at, '/', path.n);
    return slash && text_ends(path, ".dump") && strncmp(slash, "/jit-", 5) == 0;
}

/*
 * Whether the root folder of a process is another than ours: a container or a chroot. One that has
 * ended already is taken to have that of the process that started it.
 */
static void ask_root(struct processes *ps, struct process_state *proc)
{
    char path[40];
    struct stat theirs;
    proc->asked_root = true;
    snprintf(path, sizeof path, "/proc/%d/root/", proc->pid);
    if (stat(path, &theirs) != 0)
        return;
    bool ours = theirs.st_ino == ps->root_ino && theirs.st_dev == ps->root_dev;
    proc->root_pid = ours ? 0 : proc->pid;
}

/* Where to read a file that a running process sees as PATH; NULL = there. */
static char *open_path_of(struct processes *ps, struct process_state *proc, const char *path)
{
    if (!proc->asked_root)
        ask_root(ps, proc);
    return proc->root_pid ? mem_printf("/proc/%d/root%s", proc->root_pid, path) : NULL;
}

static uint32_t hex_text(struct processes *ps, const uint8_t *bytes, size_t n)
{
    static const char digits[] = "0123456789abcdef";
    char hex[2 * 64];
    n = n < 64 ? n : 64;
    for (size_t i = 0; i < n; i++) {
        hex[2 * i] = digits[bytes[i] >> 4];
        hex[2 * i + 1] = digits[bytes[i] & 15];
    }
    return intern_add(&ps->texts, (struct text){hex, 2 * n});
}

/* The first file with code that a program maps, or that stands first in its maps, is the program.
 */
static void set_executable(struct processes *ps, struct process_state *proc, uint32_t path)
{
    proc->executable = path;
    if (proc->row.i)
        ps->profile->processes.at[proc->row.i].executable = process_str(ps, path);
}

void processes_mmap(struct processes *ps, const struct process_map *m)
{
    struct process_state *proc = process_get(ps, m->pid);
    proc->unreported = 0;
    if (!has_room(ps, proc->space))
        return;
    struct address_space *as = space_own(ps, proc);
    struct text path = text_of(m->path);
    uint32_t path_id = intern_add(&ps->texts, path);
    if (is_jitdump(path)) {
        proc->jitdump = path_id;
        return;
    }
    struct code_map map = {.start = m->start, .end = m->end, .offset = m->offset, .path = path_id};
    map.pid = ps->live ? m->pid : 0;
    if (m->build_id)
        map.build_id = hex_text(ps, m->build_id, m->build_id_bytes);
    bool file = path.n && path.at[0] == '/' && !process_is_anonymous(path);
    if (file && !proc->executable)
        set_executable(ps, proc, path_id);
    autofree char *open_path = file && ps->live ? open_path_of(ps, proc, m->path) : NULL;
    struct unwind_map um = {
        .start = m->start,
        .end = m->end,
        .offset = m->offset,
        .path = process_is_anonymous(path) ? "" : m->path,
        .open_path = open_path,
        .pid = map.pid,
        .user_id = (uint32_t)as->maps.n,
    };
    if (open_path)
        map.open_path = intern_add(&ps->texts, text_of(open_path));
    *vec_push(&as->maps) = map;
    ps->n_maps++;
    unwind_space_map(as->unwind, &um);
}
