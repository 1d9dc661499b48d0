#include "process/process.h"

#include <fcntl.h>
#include <sys/stat.h>

enum { PCS_MAX = 8192, CACHE_SLOTS = 1 << 13, HELD_MAX = 256 };

/* Mappings of all processes together, about 60 MB: a file could else ask for any amount by forks.
 */
enum { MAPS_MAX = 1 << 19 };

#define SERIAL_KERNEL UINT32_MAX /* the others count from 1 */

/* An executable mapping as it was told; its row in the profile is made when a frame needs it. */
struct code_map {
    uint64_t start, end, offset;
    uint32_t path, build_id; /* in processes.texts */
    uint32_t open_path;      /* where to read it instead; 0 = there */
    struct mapping_id mapping;
};

/* A file with code that was sampled, held open until it was asked for names. */
struct held_file {
    uint32_t path; /* in processes.texts */
    int fd;
    char link[32];
};

/* Whose process it was that made code at run time. */
struct jit_owner {
    int pid;
    uid_t uid;
};

/* What a process has mapped. Shared after a fork until one side changes it. */
struct address_space {
    int refs;
    uint32_t serial; /* changes with the mappings; names them in the cache */
    struct unwind_space *unwind;
    VEC(struct code_map) maps; /* by unwind_map.user_id */
    size_t *n_all;             /* processes.n_maps */
};

/* What we know of a process now; the profile's row of it is made with its first sample. */
struct process_state {
    int pid, parent_pid; /* parent_pid: -1 = not known */
    int n_tasks;
    bool ended;             /* the next task of this pid is another process */
    uint32_t executable;    /* path of what it runs, in processes.texts; 0 = not known */
    uint32_t jitdump;       /* path of the dump it mapped, in processes.texts; 0 = none */
    bool asked_root, moved; /* moved: its root folder is not ours */
    uint64_t start_ns, end_ns;
    struct process_id row; /* 0 = none yet */
    struct address_space *space;
};

struct task {
    int pid, tid;
    bool alive;
    struct str_id comm;
    struct thread_id thread; /* 0 = no sample yet since it got this name */
};

/* What a pc of an address space became. */
struct known_pc {
    uint64_t pc;
    uint32_t serial;
    struct frame_id frame;
};

struct processes {
    struct profile *profile;
    struct unwind_files *files;
    struct intern texts;
    VEC(struct process_state) list;
    VEC(struct task) tasks;
    VEC(struct held_file) held;
    struct idmap by_pid, by_tid;
    struct address_space *nothing; /* of processes that are not known */
    uint32_t last_serial;
    size_t n_maps; /* of all address spaces */
    bool live;
    uint64_t now_ns; /* 0 = not known */
    struct mapping_id kernel;
    uint64_t kernel_start, kernel_end, kernel_text; /* 0 where not told */
    VEC(struct jit_owner) owners;
    VEC(struct frame_id) frames; /* of the sample at hand, innermost first */
    uint64_t pcs[PCS_MAX];
    struct known_pc cache[CACHE_SLOTS];
};

/* --- address spaces --- */

static struct str_id model_str(struct processes *ps, uint32_t text)
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
    free(ps);
}

void processes_set_live(struct processes *ps)
{
    ps->live = true;
}

void processes_set_time(struct processes *ps, uint64_t time_ns)
{
    ps->now_ns = time_ns;
}

static struct process_state *process_find(const struct processes *ps, int pid)
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
    proc->asked_root = proc->moved = false;
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
}

/* --- rows of the profile --- */

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
        .executable = model_str(ps, proc->executable),
        .start_ns = proc->start_ns,
        .end_ns = proc->end_ns,
    };
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

static struct task *task_find(const struct processes *ps, int tid)
{
    uint32_t hash = hash_pair((uint32_t)tid, 2);
    for_each_match (&ps->by_tid, hash, i) {
        if (ps->tasks.at[i].tid == tid)
            return &ps->tasks.at[i];
    }
    return NULL;
}

static void task_end(struct processes *ps, struct task *t)
{
    if (!t->alive)
        return;
    t->alive = false;
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
    if (exec)
        process_clear(process_get(ps, pid));
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
    if ((to->space = from->space))
        to->space->refs++;
}

void processes_exit(struct processes *ps, int pid, int tid)
{
    struct task *t = task_find(ps, tid);
    if (t && t->pid == pid)
        task_end(ps, t);
}

/* The name of a thread of which only the number is known: its process's, or ":1234". */
static struct str_id comm_of(struct processes *ps, int pid, int tid)
{
    struct task *leader = task_find(ps, pid);
    if (leader && leader->comm.i)
        return leader->comm;
    char name[24];
    snprintf(name, sizeof name, ":%d", tid);
    return profile_add_str(ps->profile, text_of(name));
}

struct thread_id processes_thread(struct processes *ps, int pid, int tid)
{
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
static bool is_anonymous(struct text path)
{
    static const char *const starts[] = {"//anon", "[heap]",      "[stack]",
                                         "[anon",  "/memfd:",     "/dev/zero",
                                         "/SYSV",  "anon_inode:", "/anon_hugepage"};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (text_starts(path, starts[i]))
            return true;
    return path.n == 0;
}

/* jit-1234.dump: mapped only to tell where it is. */
static bool is_jitdump(struct text path)
{
    const char *slash = memrchr(path.at, '/', path.n);
    return slash && text_ends(path, ".dump") && strncmp(slash, "/jit-", 5) == 0;
}

/* Whether the root folder of PID is another than ours: a container or a chroot. */
static bool has_other_root(int pid)
{
    char path[40];
    struct stat theirs, ours;
    snprintf(path, sizeof path, "/proc/%d/root/", pid);
    return stat(path, &theirs) == 0 && stat("/", &ours) == 0 &&
           (theirs.st_ino != ours.st_ino || theirs.st_dev != ours.st_dev);
}

/* Where to read a file that a running process sees as PATH; NULL = there. */
static char *open_path_of(struct process_state *proc, const struct process_map *m)
{
    if (!proc->asked_root) {
        proc->asked_root = true;
        proc->moved = has_other_root(proc->pid);
    }
    if (!proc->moved && access(m->path, F_OK) != 0) /* deleted */
        return mem_printf("/proc/%d/map_files/%llx-%llx", proc->pid, (unsigned long long)m->start,
                          (unsigned long long)m->end);
    return proc->moved ? mem_printf("/proc/%d/root%s", proc->pid, m->path) : NULL;
}

static uint32_t hex_text(struct processes *ps, const uint8_t *bytes, size_t n)
{
    char hex[2 * 64 + 1] = "";
    n = n < 64 ? n : 64;
    for (size_t i = 0; i < n; i++)
        snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
    return intern_add(&ps->texts, text_of(hex));
}

/* The first file with code that a program maps, or that stands first in its maps, is the program.
 */
static void set_executable(struct processes *ps, struct process_state *proc, uint32_t path)
{
    proc->executable = path;
    if (proc->row.i)
        ps->profile->processes.at[proc->row.i].executable = model_str(ps, path);
}

void processes_mmap(struct processes *ps, const struct process_map *m)
{
    struct process_state *proc = process_get(ps, m->pid);
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
    if (m->build_id)
        map.build_id = hex_text(ps, m->build_id, m->build_id_bytes);
    bool file = path.n && path.at[0] == '/' && !is_anonymous(path);
    if (file && !proc->executable)
        set_executable(ps, proc, path_id);
    autofree char *open_path = file && ps->live ? open_path_of(proc, m) : NULL;
    struct unwind_map um = {
        .start = m->start,
        .end = m->end,
        .offset = m->offset,
        .path = is_anonymous(path) ? "" : m->path,
        .open_path = open_path,
        .user_id = (uint32_t)as->maps.n,
    };
    if (open_path)
        map.open_path = intern_add(&ps->texts, text_of(open_path));
    *vec_push(&as->maps) = map;
    ps->n_maps++;
    unwind_space_map(as->unwind, &um);
}

/* --- frames --- */

/* The build-id of a file that was mapped before anybody told. */
static struct str_id read_build_id(struct processes *ps, const struct code_map *m)
{
    struct unwind_table *t = NULL;
    struct err ignored;
    const char *path = intern_get(&ps->texts, m->open_path ? m->open_path : m->path).at;
    if (!ps->live || path[0] != '/' || unwind_table_load(path, &t, &ignored) != 0)
        return (struct str_id){0};
    struct str_id id = profile_add_str(ps->profile, text_of(t->build_id));
    unwind_table_free(t);
    return id;
}

static bool is_held(const struct processes *ps, uint32_t path)
{
    for (size_t i = 0; i < ps->held.n; i++)
        if (ps->held.at[i].path == path)
            return true;
    return false;
}

/* Files get deleted and replaced, processes end: hold on to what the samples are from. */
static void hold(struct processes *ps, const struct code_map *m)
{
    const char *path = intern_get(&ps->texts, m->open_path ? m->open_path : m->path).at;
    if (!ps->live || path[0] != '/' || ps->held.n == HELD_MAX || is_held(ps, m->path))
        return;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return;
    struct held_file *h = vec_push(&ps->held);
    *h = (struct held_file){.path = m->path, .fd = fd};
    snprintf(h->link, sizeof h->link, "/proc/self/fd/%d", fd);
}

const char *processes_locate(const void *processes, const char *path)
{
    const struct processes *ps = processes;
    uint32_t id = intern_find(&ps->texts, text_of(path));
    for (size_t i = 0; i < ps->held.n; i++)
        if (ps->held.at[i].path == id)
            return ps->held.at[i].link;
    return path;
}

/*
 * The profile's mapping is in addresses of the file, like the frames in it, so that processes
 * share mappings and frames wherever the file was loaded.
 */
static struct mapping_id file_mapping(struct processes *ps, struct code_map *m, uint64_t start)
{
    if (m->mapping.i)
        return m->mapping;
    hold(ps, m);
    struct mapping key = {
        .path = model_str(ps, m->path),
        .build_id = m->build_id ? model_str(ps, m->build_id) : read_build_id(ps, m),
        .start = start,
        .end = start + (m->end - m->start),
        .offset = m->offset,
    };
    return m->mapping = profile_add_mapping(ps->profile, &key);
}

/* The last one counts: numbers of processes come again. */
bool processes_owner(const void *processes, uint64_t pid, uid_t *ret)
{
    const struct processes *ps = processes;
    for (size_t i = ps->owners.n; i-- > 0;)
        if ((uint64_t)ps->owners.at[i].pid == pid) {
            *ret = ps->owners.at[i].uid;
            return true;
        }
    return false;
}

static void keep_owner(struct processes *ps, int pid)
{
    char path[40];
    struct stat st;
    uid_t known;
    if (!ps->live || processes_owner(ps, (uint64_t)pid, &known))
        return;
    snprintf(path, sizeof path, "/proc/%d", pid);
    if (stat(path, &st) == 0)
        *vec_push(&ps->owners) = (struct jit_owner){pid, st.st_uid};
}

/*
 * Code without a file: its names are in a jitdump or, by custom, in /tmp/perf-PID.map, which may
 * appear at any time.
 */
static struct mapping_id jit_mapping(struct processes *ps, int pid)
{
    struct process_state *proc = process_find(ps, pid);
    keep_owner(ps, pid);
    if (proc && proc->jitdump) {
        struct mapping key = {.path = model_str(ps, proc->jitdump)};
        return profile_add_mapping(ps->profile, &key);
    }
    char path[40];
    snprintf(path, sizeof path, "/tmp/perf-%d.map", pid);
    bool named = access(path, F_OK) == 0;
    struct mapping key = {.path = profile_add_str(ps->profile, text_of(named ? path : "[anon]"))};
    return profile_add_mapping(ps->profile, &key);
}

/* C libraries hide the name of what signal handlers return to. */
static struct line trampoline_line(struct processes *ps)
{
    struct function f = {.name = profile_add_str(ps->profile, text_of("__restore_rt"))};
    return (struct line){.function = profile_add_function(ps->profile, &f)};
}

static struct frame_id make_frame(struct processes *ps, struct address_space *as, int pid,
                                  uint64_t pc)
{
    struct frame_key key = {.pc = pc, .kind = FRAME_USER};
    struct line line;
    const struct unwind_map *um = unwind_space_find(as->unwind, pc);
    if (um) {
        struct code_map *m = &as->maps.at[um->user_id];
        if (is_anonymous(intern_get(&ps->texts, m->path))) {
            key.kind = FRAME_JIT;
            key.mapping = jit_mapping(ps, pid);
        } else {
            uint64_t into = pc - um->start;
            key.pc = unwind_space_vaddr(as->unwind, pc);
            key.mapping = file_mapping(ps, m, key.pc - into);
            if (unwind_space_is_trampoline(as->unwind, pc)) {
                line = trampoline_line(ps);
                key.lines = &line;
                key.n_lines = 1;
            }
        }
    }
    return profile_add_frame(ps->profile, &key);
}

/* Every pc of a hot program comes thousands of times: one compare instead of four lookups. */
static struct frame_id user_frame(struct processes *ps, struct address_space *as, int pid,
                                  uint64_t pc)
{
    uint32_t hash = hash_pair((uint32_t)pc, (uint32_t)(pc >> 32) ^ as->serial);
    struct known_pc *k = &ps->cache[hash % CACHE_SLOTS];
    if (k->pc != pc || k->serial != as->serial)
        *k = (struct known_pc){pc, as->serial, make_frame(ps, as, pid, pc)};
    return k->frame;
}

void processes_kernel(struct processes *ps, uint64_t start, uint64_t end, uint64_t text)
{
    ps->kernel_start = start;
    ps->kernel_end = end;
    ps->kernel_text = text;
}

static struct frame_id kernel_frame(struct processes *ps, uint64_t pc)
{
    struct known_pc *k = &ps->cache[hash_pair((uint32_t)pc, 0) % CACHE_SLOTS];
    if (k->pc == pc && k->serial == SERIAL_KERNEL)
        return k->frame;
    if (!ps->kernel.i) {
        struct mapping m = {.path = profile_add_str(ps->profile, text_of("[kernel.kallsyms]"))};
        m.start = ps->kernel_start;
        m.end = ps->kernel_end;
        m.offset = ps->kernel_text;
        ps->kernel = profile_add_mapping(ps->profile, &m);
    }
    struct frame_key key = {.pc = pc, .mapping = ps->kernel, .kind = FRAME_KERNEL};
    *k = (struct known_pc){pc, SERIAL_KERNEL, profile_add_frame(ps->profile, &key)};
    return k->frame;
}

/* A return address is one past the call, perhaps in the next function. */
static uint64_t call_of(const uint64_t *pcs, size_t i)
{
    return i && pcs[i] ? pcs[i] - 1 : pcs[i];
}

static struct address_space *space_of(const struct processes *ps, int pid)
{
    const struct process_state *proc = process_find(ps, pid);
    return proc && proc->space ? proc->space : ps->nothing;
}

uint32_t processes_space(const struct processes *ps, int pid)
{
    return space_of(ps, pid)->serial;
}

struct frame_id processes_frame(struct processes *ps, int pid, uint64_t pc)
{
    return user_frame(ps, space_of(ps, pid), pid, pc);
}

bool processes_code(struct processes *ps, int pid, size_t i, struct unwind_code *ret)
{
    return unwind_space_code(space_of(ps, pid)->unwind, i, ret);
}

enum unwind_end processes_walk(struct processes *ps, const struct process_sample *s)
{
    enum unwind_end end;
    unwind_walk(space_of(ps, s->pid)->unwind, &s->regs, &s->stack, ps->pcs, PCS_MAX, &end);
    return end;
}

static enum unwind_end add_user_frames(struct processes *ps, const struct process_sample *s)
{
    struct address_space *as = space_of(ps, s->pid);
    const uint64_t *pcs = s->user_pcs;
    size_t n = s->n_user_pcs;
    enum unwind_end end = UNWIND_WHOLE;
    /* In the middle of an exec the old program's stack is gone and its registers mean nothing. */
    bool gone = s->n_kernel_pcs && !s->stack.n;
    if (!pcs && s->regs.pc && !gone) {
        pcs = ps->pcs;
        n = unwind_walk(as->unwind, &s->regs, &s->stack, ps->pcs, PCS_MAX, &end);
    }
    for (size_t i = 0; pcs && i < n; i++)
        *vec_push(&ps->frames) = user_frame(ps, as, s->pid, call_of(pcs, i));
    return end;
}

struct stack_id processes_stack(struct processes *ps, const struct process_sample *s,
                                enum unwind_end *ret_end)
{
    ps->frames.n = 0;
    for (size_t i = 0; i < s->n_kernel_pcs; i++)
        *vec_push(&ps->frames) = kernel_frame(ps, call_of(s->kernel_pcs, i));
    *ret_end = add_user_frames(ps, s);
    if (!unwind_end_is_bottom(*ret_end))
        *vec_push(&ps->frames) =
            profile_add_named_frame(ps->profile, text_of("[unfinished]"), FRAME_USER);
    return stacks_intern_leaf_first(&ps->profile->stacks, ps->frames.at, ps->frames.n);
}
