#include "record/timer_follow.h"
#include "base/buf.h"

#include <fcntl.h>
#include <xxhash.h>

#define WAIT_MIN_NS UINT64_C(100000000)
#define WAIT_MAX_NS UINT64_C(30000000000)

void follow_done(struct follow *f)
{
    vec_done(&f->rows);
    idmap_done(&f->by_pid);
    idmap_done(&f->by_tid);
}

static uint64_t follow_hash_text(struct text t)
{
    return XXH3_64bits(t.at, t.n) | 1; /* never that of a row that was not answered */
}

/* The row of a thread, or with TID 0 of a process. */
static struct follow_row *row_get(struct follow *f, int pid, int tid)
{
    struct idmap *map = tid ? &f->by_tid : &f->by_pid;
    uint32_t hash = hash_pair((uint32_t)pid, (uint32_t)tid);
    for_each_match (map, hash, i) {
        if (f->rows.at[i].pid == pid && f->rows.at[i].tid == tid)
            return &f->rows.at[i];
    }
    idmap_add(map, hash, (uint32_t)f->rows.n);
    struct follow_row *row = vec_push(&f->rows);
    *row = (struct follow_row){.pid = pid, .tid = tid, .wait_ns = WAIT_MIN_NS};
    return row;
}

/* Take an answer; true when it is news. */
static bool row_answer(struct follow_row *row, struct text answer, uint64_t now_ns)
{
    uint64_t hash = follow_hash_text(answer);
    bool news = hash != row->seen;
    row->wait_ns = news ? WAIT_MIN_NS : row->wait_ns * 2;
    if (row->wait_ns > WAIT_MAX_NS)
        row->wait_ns = WAIT_MAX_NS;
    row->next_ns = now_ns + row->wait_ns;
    row->seen = hash;
    return news;
}

/* False when there is no such file, or nothing in it: the process is gone. */
static bool follow_read_all(const char *path, struct buf *to)
{
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : 1;
    while (n > 0) {
        vec_reserve(to, 4096);
        n = read(fd, to->at + to->n, 4096);
        to->n += n > 0 ? (size_t)n : 0;
    }
    return to->n > 0;
}

/* --- mappings --- */

void follow_maps(struct follow *f, int pid, struct text maps)
{
    if (row_answer(row_get(f, pid, 0), maps, 0))
        processes_maps(f->processes, pid, maps);
}

void follow_start(struct follow *f, int pid, const char *comm, struct text maps)
{
    processes_comm(f->processes, pid, pid, comm, true);
    row_get(f, pid, 0)->seen = 0;
    row_get(f, pid, pid)->seen = follow_hash_text(text_of(comm));
    follow_maps(f, pid, maps);
}

void follow_fork(struct follow *f, int pid, int parent_pid, int parent_tid)
{
    processes_fork(f->processes, pid, pid, parent_pid, parent_tid);
    uint64_t seen = row_get(f, parent_pid, 0)->seen;
    row_get(f, pid, 0)->seen = seen;
}

/* Leave only lines of code: "55d0a000-55d0c000 r-xp ..." */
static void keep_code(struct buf *maps)
{
    struct text rest = buf_text(maps);
    size_t kept = 0;
    while (rest.n) {
        struct text line = text_cut(&rest, '\n');
        const char *space = memchr(line.at, ' ', line.n);
        if (!space || line.at + line.n - space < 5 || space[3] != 'x')
            continue;
        memmove(maps->at + kept, line.at, line.n);
        kept += line.n;
        maps->at[kept++] = '\n';
    }
    maps->n = kept;
}

bool follow_look(struct follow *f, int pid, uint64_t now_ns)
{
    struct follow_row *row = row_get(f, pid, 0);
    char path[40];
    autobuf struct buf maps = {0};
    if (now_ns < row->next_ns)
        return false;
    snprintf(path, sizeof path, "/proc/%d/maps", pid);
    if (!follow_read_all(path, &maps)) {
        row->next_ns = now_ns + WAIT_MAX_NS;
        return false;
    }
    keep_code(&maps);
    if (!row_answer(row, buf_text(&maps), now_ns))
        return false;
    processes_maps(f->processes, pid, buf_text(&maps));
    return true;
}

/* --- names --- */

/* As it is now, or as it was when the thread began. */
static void look_at_name(struct follow *f, struct follow_row *row, const char *comm,
                         uint64_t now_ns)
{
    char path[64];
    autobuf struct buf now = {0};
    snprintf(path, sizeof path, "/proc/%d/task/%d/comm", row->pid, row->tid);
    if (!follow_read_all(path, &now))
        buf_str(&now, comm);
    else
        now.n--; /* the end of the line */
    if (row_answer(row, buf_text(&now), now_ns))
        processes_comm(f->processes, row->pid, row->tid, buf_cstr(&now), false);
}

void follow_thread(struct follow *f, int pid, int tid, const char *comm, uint64_t now_ns)
{
    if (!row_get(f, pid, 0)->seen)
        follow_look(f, pid, now_ns);
    struct follow_row *row = row_get(f, pid, tid);
    if (now_ns >= row->next_ns)
        look_at_name(f, row, comm, now_ns);
}
