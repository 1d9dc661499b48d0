/*
 * process_frames.c - from addresses of a process to frames and stacks of the profile.
 */
#include "process/process_inner.h"

#include <fcntl.h>
#include <sys/stat.h>

enum { HELD_MAX = 1024 };

#define SERIAL_KERNEL UINT32_MAX /* the others count from 1 */

/* --- files --- */

/*
 * The build-id of a file that was mapped before anybody reported it. Libraries are mapped by every
 * process, and reading one takes milliseconds: each is read once.
 */
static uint32_t read_build_id(struct processes *ps, const struct code_map *m)
{
    struct unwind_table *t = NULL;
    struct err ignored;
    uint32_t id = m->open_path ? m->open_path : m->path;
    const char *path = intern_get(&ps->texts, id).at;
    if (!ps->live || path[0] != '/')
        return 0;
    for (size_t i = 0; i < ps->build_ids.n; i++)
        if (ps->build_ids.at[i].path == id)
            return ps->build_ids.at[i].build_id;
    uint32_t found = 0;
    autoclose int fd = unwind_open_mapped(path, m->pid, m->start, m->end);
    if (fd >= 0 && unwind_table_load_fd(fd, path, &t, &ignored) == 0) {
        found = intern_add(&ps->texts, text_of(t->build_id));
        unwind_table_free(t);
    }
    if (access(path, F_OK) == 0) /* of deleted ones several may have had this path */
        *vec_push(&ps->build_ids) = (struct known_build_id){id, found};
    return found;
}

static bool is_held(const struct processes *ps, const struct code_map *m)
{
    for (size_t i = 0; i < ps->held.n; i++)
        if (ps->held.at[i].path == m->path && ps->held.at[i].build_id == m->build_id)
            return true;
    return false;
}

/* Files get deleted and replaced, processes end: hold on to what the samples are from. */
static void hold(struct processes *ps, const struct code_map *m)
{
    const char *path = intern_get(&ps->texts, m->open_path ? m->open_path : m->path).at;
    if (!ps->live || path[0] != '/' || ps->held.n == HELD_MAX || is_held(ps, m))
        return;
    int fd = unwind_open_mapped(path, m->pid, m->start, m->end);
    if (fd < 0)
        return;
    struct held_file *h = vec_push(&ps->held);
    *h = (struct held_file){.path = m->path, .build_id = m->build_id, .fd = fd};
    snprintf(h->link, sizeof h->link, "/proc/self/fd/%d", fd);
}

const char *processes_locate(const void *processes, const char *path, struct text build_id)
{
    const struct processes *ps = processes;
    uint32_t id = intern_find(&ps->texts, text_of(path));
    uint32_t build = intern_find(&ps->texts, build_id);
    const char *found = path;
    for (size_t i = 0; i < ps->held.n; i++) {
        const struct held_file *h = &ps->held.at[i];
        if (h->path != id)
            continue;
        if (h->build_id == build)
            return h->link;
        found = found == path ? h->link : found;
    }
    return found;
}

/*
 * The profile's mapping is in addresses of the file, like the frames in it, so that processes
 * share mappings and frames wherever the file was loaded.
 */
static struct mapping_id file_mapping(struct processes *ps, struct code_map *m, uint64_t start)
{
    if (m->mapping.i)
        return m->mapping;
    if (!m->build_id)
        m->build_id = read_build_id(ps, m);
    hold(ps, m);
    struct mapping key = {
        .path = process_str(ps, m->path),
        .build_id = process_str(ps, m->build_id),
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

static bool has_perf_map(int pid, char path[static 40])
{
    snprintf(path, 40, "/tmp/perf-%d.map", pid);
    return access(path, F_OK) == 0;
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
        struct mapping key = {.path = process_str(ps, proc->jitdump)};
        return profile_add_mapping(ps->profile, &key);
    }
    char path[40];
    bool named = has_perf_map(pid, path);
    struct mapping key = {.path = profile_add_str(ps->profile, text_of(named ? path : "[anon]"))};
    return profile_add_mapping(ps->profile, &key);
}

static bool is_code_without_map(const struct processes *ps, const struct frame_key *key)
{
    const struct mapping *m = &ps->profile->mappings.at[key->mapping.i];
    return key->kind == FRAME_JIT && text_is(profile_str(ps->profile, m->path), "[anon]");
}

void processes_find_maps(struct processes *ps)
{
    struct mapping_id map = {0};
    int pid = 0;
    for (size_t i = 0; i < ps->unnamed_code.n; i++) {
        const struct unnamed_code *c = &ps->unnamed_code.at[i];
        char path[40];
        if (c->pid != pid) {
            pid = c->pid;
            map.i = 0;
            if (has_perf_map(pid, path)) {
                struct mapping key = {.path = profile_add_str(ps->profile, text_of(path))};
                map = profile_add_mapping(ps->profile, &key);
            }
        }
        uint64_t pc = ps->profile->frames.at[c->frame.i].pc;
        struct frame_key key = {.pc = pc, .mapping = map, .kind = FRAME_JIT};
        if (map.i)
            profile_set_frame(ps->profile, c->frame, &key);
    }
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
        if (process_is_anonymous(intern_get(&ps->texts, m->path))) {
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
    size_t known = ps->profile->frames.n;
    struct frame_id frame = profile_add_frame(ps->profile, &key);
    if (ps->live && ps->profile->frames.n > known && is_code_without_map(ps, &key))
        *vec_push(&ps->unnamed_code) = (struct unnamed_code){frame, pid};
    return frame;
}

/* Every pc of a hot program comes thousands of times: one compare instead of four lookups. */
static struct frame_id user_frame(struct processes *ps, struct address_space *as, int pid,
                                  uint64_t pc)
{
    uint32_t hash = hash_pair((uint32_t)pc, (uint32_t)(pc >> 32) ^ as->serial);
    struct known_pc *k = &ps->cache[hash % PROCESS_CACHE_SLOTS];
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

struct mapping_id processes_kernel_mapping(struct processes *ps)
{
    if (!ps->kernel.i) {
        struct mapping m = {.path = profile_add_str(ps->profile, text_of("[kernel.kallsyms]"))};
        m.start = ps->kernel_start;
        m.end = ps->kernel_end;
        m.offset = ps->kernel_text;
        ps->kernel = profile_add_mapping(ps->profile, &m);
    }
    return ps->kernel;
}

static struct frame_id kernel_frame(struct processes *ps, uint64_t pc)
{
    struct known_pc *k = &ps->cache[hash_pair((uint32_t)pc, 0) % PROCESS_CACHE_SLOTS];
    if (k->pc == pc && k->serial == SERIAL_KERNEL)
        return k->frame;
    struct frame_key key = {
        .pc = pc, .mapping = processes_kernel_mapping(ps), .kind = FRAME_KERNEL};
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
    unwind_walk(space_of(ps, s->pid)->unwind, &s->regs, &s->stack, ps->pcs, PROCESS_PCS_MAX, &end);
    return end;
}

static enum unwind_end add_user_frames(struct processes *ps, const struct process_sample *s)
{
    process_look_again(ps, s->pid);
    struct address_space *as = space_of(ps, s->pid);
    const uint64_t *pcs = s->user_pcs;
    size_t n = s->n_user_pcs;
    enum unwind_end end = UNWIND_WHOLE;
    /* In the middle of an exec the old program's stack is gone and its registers mean nothing. */
    bool gone = s->n_kernel_pcs && !s->stack.n;
    if (!pcs && s->regs.pc && !gone) {
        pcs = ps->pcs;
        if (s->machine)
            unwind_space_set_machine(as->unwind, s->machine);
        n = unwind_walk(as->unwind, &s->regs, &s->stack, ps->pcs, PROCESS_PCS_MAX, &end);
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

/* --- wakers --- */

static struct frame_id waker_frame(struct processes *ps, struct frame_id id)
{
    struct profile *p = ps->profile;
    struct frame f = *profile_frame(p, id);
    struct line line = f.n_lines ? *profile_lines(p, &f) : (struct line){0};
    struct frame_key key = {.pc = f.pc, .mapping = f.mapping, .kind = FRAME_WAKER};
    key.lines = f.n_lines ? &line : NULL;
    key.n_lines = f.n_lines ? 1 : 0;
    return profile_add_frame(p, &key);
}

struct stack_id processes_woken_stack(struct processes *ps, struct stack_id waiter,
                                      struct frame_id waker, const struct process_sample *s)
{
    struct stack_id stack = stacks_push(&ps->profile->stacks, waiter, waker);
    ps->frames.n = 0;
    if (s)
        add_user_frames(ps, s);
    for (size_t i = ps->frames.n; i-- > 0;)
        stack = stacks_push(&ps->profile->stacks, stack, waker_frame(ps, ps->frames.at[i]));
    return stack;
}

bool processes_knows(const struct processes *ps, int pid)
{
    const struct process_state *proc = process_find(ps, pid);
    return proc && proc->space;
}
