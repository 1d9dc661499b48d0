/*
 * process_labels.c - whose a process is: its user, cgroup and container, as labels.
 *
 * /proc is asked when a process has its first sample, and again after an exec. One that has ended
 * by then is labelled like the process that started it.
 */
#include "process/process_inner.h"

#include "base/buf.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>

enum { PROC_BYTES = 4096 };

/* --- names --- */

/*
 *     0::/system.slice/web.service                the one hierarchy of version 2
 *     4:memory:/docker/97ae8310...                one of several of version 1
 *
 * Where there are several, the longest path says most.
 */
struct text process_cgroup(struct text lines)
{
    struct text best = {"", 0};
    while (lines.n) {
        struct text path = text_cut(&lines, '\n');
        text_cut(&path, ':');
        text_cut(&path, ':');
        if (path.n > best.n)
            best = path;
    }
    return best;
}

static bool is_id(struct text t)
{
    enum { ID_LEAST = 32 };
    for (size_t i = 0; i < t.n; i++)
        if (!strchr("0123456789abcdef", t.at[i]))
            return false;
    return t.n >= ID_LEAST;
}

static struct text cut_front(struct text t, const char *front)
{
    size_t n = strlen(front);
    return text_starts(t, front) ? (struct text){t.at + n, t.n - n} : t;
}

static struct text cut_unit(struct text t)
{
    static const char *const ends[] = {".service", ".scope", ".slice"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (text_ends(t, ends[i]))
            t.n -= strlen(ends[i]);
    return t;
}

/* "docker-97ae8310....scope", "lxc.payload.web", "machine-web.scope": one folder of a path. */
static struct text container_in(struct text folder, struct text above)
{
    static const char *const engines[] = {"docker-", "libpod-", "cri-containerd-", "crio-",
                                          "containerd-"};
    static const char *const named[] = {"lxc.payload.", "machine-", "systemd-nspawn@"};
    enum { SHORT_ID = 12 };
    struct text bare = cut_unit(folder);
    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        if (text_starts(bare, named[i]))
            return cut_front(bare, named[i]);
    if (text_is(above, "lxc"))
        return bare;
    for (size_t i = 0; i < sizeof engines / sizeof *engines; i++)
        bare = cut_front(bare, engines[i]);
    return is_id(bare) ? (struct text){bare.at, SHORT_ID} : (struct text){"", 0};
}

struct text process_container(struct text cgroup)
{
    struct text above = {"", 0}, found = {"", 0};
    while (cgroup.n) {
        struct text folder = text_cut(&cgroup, '/'), here = container_in(folder, above);
        if (here.n)
            found = here;
        above = folder;
    }
    return found;
}

/* Whether the first folders of PATH are NAME; the last one also without ".service" and its like. */
static bool begins_with(struct text path, struct text name)
{
    while (name.n) {
        struct text is = text_cut(&path, '/'), asked = text_cut(&name, '/'), bare = cut_unit(is);
        bool same = is.n == asked.n && memcmp(is.at, asked.at, is.n) == 0;
        bool same_unit = !name.n && bare.n == asked.n && memcmp(bare.at, asked.at, bare.n) == 0;
        if (!same && !same_unit)
            return false;
    }
    return true;
}

bool process_cgroup_is(struct text cgroup, const char *name)
{
    struct text asked = text_of(name), container = process_container(cgroup);
    while (asked.n && asked.at[0] == '/')
        asked = (struct text){asked.at + 1, asked.n - 1};
    while (asked.n && asked.at[asked.n - 1] == '/')
        asked.n--;
    if (container.n && asked.n >= container.n && memcmp(asked.at, container.at, container.n) == 0)
        return true;
    while (cgroup.n) {
        if (cgroup.at[0] != '/' && begins_with(cgroup, asked))
            return true;
        text_cut(&cgroup, '/');
    }
    return !asked.n;
}

/* --- what /proc says --- */

/* All of a small file of a process, and whose it is; "" where it is gone. */
static struct text read_proc(int pid, const char *name, struct buf *ret, uid_t *ret_owner)
{
    char path[48];
    struct stat st;
    snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
    vec_reserve(ret, PROC_BYTES);
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC); /* stdio would ask thrice as much of it */
    ssize_t n = fd < 0 || fstat(fd, &st) != 0 ? 0 : read(fd, ret->at, PROC_BYTES);
    *ret_owner = n > 0 ? st.st_uid : (uid_t)-1;
    return (struct text){ret->at, n > 0 ? (size_t)n : 0};
}

/* Of "Uid:\t1000\t1000\t1000\t1000" the first. */
static bool find_user(struct text status, uid_t *ret)
{
    while (status.n) {
        struct text line = text_cut(&status, '\n'), key = text_cut(&line, '\t');
        uint64_t uid;
        if (text_is(key, "Uid:") && text_u64(text_cut(&line, '\t'), 10, &uid)) {
            *ret = (uid_t)uid;
            return true;
        }
    }
    return false;
}

/*
 * Files of /proc/PID belong to the user whose rights it has, or to root. Where that is still the
 * user of the process that started it, it is that user's; else /proc/PID/status, which takes the
 * kernel thrice as long to write as all the rest.
 */
static bool ask_user(const struct process_state *proc, uid_t owner, uid_t *ret)
{
    autobuf struct buf status = {0};
    uid_t ignored;
    *ret = owner;
    if (proc->belongs.known && proc->belongs.uid == owner)
        return true;
    return find_user(read_proc(proc->pid, "status", &status, &ignored), ret);
}

static void ask_about(struct processes *ps, struct process_state *proc)
{
    autobuf struct buf lines = {0};
    uid_t owner, uid;
    struct text cgroups = read_proc(proc->pid, "cgroup", &lines, &owner);
    proc->asked_labels = true;
    if (!cgroups.n || !ask_user(proc, owner, &uid))
        return;
    proc->belongs = (struct process_belongs){
        .known = true, .uid = uid, .cgroup = intern_add(&ps->texts, process_cgroup(cgroups))};
}

static const struct process_belongs *belongs_of(struct processes *ps, struct process_state *proc)
{
    if (!proc->asked_labels)
        ask_about(ps, proc);
    return &proc->belongs;
}

void process_ask(struct processes *ps, int pid)
{
    struct process_state *proc = process_find(ps, pid);
    if (proc)
        belongs_of(ps, proc);
}

/* --- labels --- */

static struct attrs_id with_label(struct profile *p, struct attrs_id set, const char *key,
                                  struct text value)
{
    struct attr a = {.key = profile_add_str(p, text_of(key)), .text = profile_add_str(p, value)};
    return value.n ? attrs_add(&p->attrs, set, &a) : set;
}

static struct text user_name(struct processes *ps, uid_t uid)
{
    for (size_t i = 0; i < ps->users.n; i++)
        if (ps->users.at[i].uid == uid)
            return intern_get(&ps->texts, ps->users.at[i].name);
    const struct passwd *found = getpwuid(uid);
    char number[24];
    snprintf(number, sizeof number, "%u", (unsigned)uid);
    uint32_t name = intern_add(&ps->texts, text_of(found ? found->pw_name : number));
    *vec_push(&ps->users) = (struct process_user){uid, name};
    return intern_get(&ps->texts, name);
}

struct attrs_id process_labels(struct processes *ps, struct process_state *proc, struct str_id comm)
{
    struct profile *p = ps->profile;
    struct attrs_id set = {0};
    if (!ps->labels)
        return set;
    const struct process_belongs *b = belongs_of(ps, proc);
    set = with_label(p, set, "command", profile_str(p, comm));
    if (!b->known)
        return set;
    struct text cgroup = intern_get(&ps->texts, b->cgroup);
    set = with_label(p, set, "user", user_name(ps, b->uid));
    set = with_label(p, set, "cgroup", cgroup);
    return with_label(p, set, "container", process_container(cgroup));
}

void processes_set_labels(struct processes *ps, const struct process_wish *w)
{
    ps->labels = true;
    ps->wish = *w;
}

bool processes_wants(struct processes *ps, int pid)
{
    const struct process_wish *w = &ps->wish;
    if (!w->cgroup && !w->of_user)
        return true;
    struct process_state *proc = process_find(ps, pid);
    const struct process_belongs *b = proc ? belongs_of(ps, proc) : NULL;
    return b && b->known && (!w->of_user || b->uid == w->user) &&
           (!w->cgroup || process_cgroup_is(intern_get(&ps->texts, b->cgroup), w->cgroup));
}
