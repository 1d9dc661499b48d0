#include "record/heapbpf_inner.h"

#include "base/clock.h"
#include "base/path.h"
#include "unwind/walk.h"

#include <errno.h>
#include <math.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Samples that may be live at once, and threads that may be inside the allocator. */
enum { KEPT_MAX = 1 << 20, PENDING_MAX = 1 << 15 };

/* Room for what comes between two looks of the recorder. */
enum { RING_BYTES = 8 << 20, RING_BYTES_LEAST = 1 << 18 };

long heapbpf_call(int command, union bpf_attr *a)
{
    return syscall(SYS_bpf, command, a, sizeof *a);
}

/* --- maps --- */

static int heap_make_map(enum bpf_map_type type, uint32_t key_bytes, uint32_t value_bytes,
                         uint32_t n)
{
    union bpf_attr a = {.map_type = type,
                        .key_size = key_bytes,
                        .value_size = value_bytes,
                        .max_entries = n,
                        .map_flags = type == BPF_MAP_TYPE_HASH ? BPF_F_NO_PREALLOC : 0};
    return (int)heapbpf_call(BPF_MAP_CREATE, &a);
}

static int set_entry(int map_fd, const void *key, const void *value)
{
    union bpf_attr a = {
        .map_fd = (uint32_t)map_fd, .key = (uintptr_t)key, .value = (uintptr_t)value};
    return (int)heapbpf_call(BPF_MAP_UPDATE_ELEM, &a);
}

/* Bytes from one sample to the next: the K-th of HEAPBPF_DRAWS parts of an exponential
 * distribution. */
static uint64_t draw_of(uint64_t mean_bytes, uint32_t k)
{
    return (uint64_t)llround(-(double)mean_bytes * log1p(-(k + 0.5) / HEAPBPF_DRAWS));
}

static uint64_t random_number(void)
{
    uint64_t x = clock_kernel_ns() * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)getpid();
    return x ^ x >> 31;
}

/* Each CPU begins somewhere between two samples. */
static int fill_maps(struct heapbpf *b, uint64_t mean_bytes)
{
    uint64_t random = random_number();
    for (uint32_t k = 0; k < HEAPBPF_DRAWS; k++) {
        uint64_t n = draw_of(mean_bytes, k);
        if (set_entry(b->draws_fd, &k, &n) != 0)
            return -1;
    }
    autofree struct heapbpf_left *left = mem_calloc(b->n_possible, sizeof *left);
    for (size_t i = 0; i < b->n_possible; i++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
        left[i].left = draw_of(mean_bytes, (uint32_t)(random >> 40) % HEAPBPF_DRAWS);
    }
    return set_entry(b->left_fd, &(uint32_t){0}, left);
}

static int open_maps(struct heapbpf *b)
{
    uint32_t n = (uint32_t)b->n_possible;
    b->left_fd = heap_make_map(BPF_MAP_TYPE_PERCPU_ARRAY, 4, sizeof(struct heapbpf_left), 1);
    b->draws_fd = heap_make_map(BPF_MAP_TYPE_ARRAY, 4, 8, HEAPBPF_DRAWS);
    b->pending_fd =
        heap_make_map(BPF_MAP_TYPE_HASH, 8, sizeof(struct heapbpf_pending), PENDING_MAX);
    b->kept_fd = heap_make_map(BPF_MAP_TYPE_HASH, 8, 8, KEPT_MAX);
    b->stacks_fd = heap_make_map(BPF_MAP_TYPE_PERF_EVENT_ARRAY, 4, 4, n);
    b->bare_fd = heap_make_map(BPF_MAP_TYPE_PERF_EVENT_ARRAY, 4, 4, n);
    if (b->left_fd < 0 || b->draws_fd < 0 || b->pending_fd < 0 || b->kept_fd < 0 ||
        b->stacks_fd < 0 || b->bare_fd < 0)
        return -1;
    return 0;
}

/* --- rings --- */

/* IDENTIFIER, IP, TID and TIME come first, as perfring.h counts on. */
static struct perf_event_attr output_attr(size_t stack_bytes)
{
    struct perf_event_attr a = {.type = PERF_TYPE_SOFTWARE,
                                .config = PERF_COUNT_SW_BPF_OUTPUT,
                                .size = sizeof a,
                                .sample_period = 1,
                                .sample_id_all = 1,
                                .use_clockid = 1,
                                .clockid = CLOCK_MONOTONIC,
                                .watermark = 1,
                                .wakeup_watermark = RING_BYTES_LEAST / 2};
    a.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                    PERF_SAMPLE_CPU | PERF_SAMPLE_RAW;
    if (stack_bytes) {
        a.sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
        a.sample_regs_user = unwind_perf_regs_mask;
        a.sample_stack_user = (uint32_t)(stack_bytes & ~(size_t)7);
    }
    return a;
}

static int open_output(struct heapbpf *b, int cpu, size_t stack_bytes, int map_fd)
{
    struct perf_event_attr a = output_attr(stack_bytes);
    int fd = (int)syscall(SYS_perf_event_open, &a, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0)
        return -1;
    *vec_push(&b->fds) = fd;
    return set_entry(map_fd, &(uint32_t){(uint32_t)cpu}, &(uint32_t){(uint32_t)fd}) == 0 ? fd : -1;
}

static int map_ring(struct heapbpf *b, int fd)
{
    struct perfring ring;
    for (size_t bytes = RING_BYTES; bytes >= RING_BYTES_LEAST; bytes /= 2) {
        if (perfring_map(&ring, fd, bytes) != 0)
            continue;
        *vec_push(&b->rings) = ring;
        return 0;
    }
    return -1;
}

/* CPUs that are off now have no ring: what runs there later is counted as lost. */
static int open_rings(struct heapbpf *b, size_t stack_bytes)
{
    for (int cpu = 0; cpu < (int)b->n_possible; cpu++) {
        int fd = open_output(b, cpu, stack_bytes, b->stacks_fd);
        if (fd < 0 && errno == ENODEV)
            continue;
        if (fd < 0 || map_ring(b, fd) != 0)
            return -1;
        int bare = open_output(b, cpu, 0, b->bare_fd);
        if (bare < 0 || ioctl(bare, PERF_EVENT_IOC_SET_OUTPUT, fd) != 0)
            return -1;
    }
    return 0;
}

/* --- probes --- */

static long uprobe_type(void)
{
    autofclose FILE *f = fopen("/sys/bus/event_source/devices/uprobe/type", "re");
    long type;
    return f && fscanf(f, "%ld", &type) == 1 ? type : -1;
}

/* Of the process's first thread, and yet its program runs in all: a probe is in the memory. */
static int open_probe(const struct heapbpf_opts *o, uint64_t offset, bool at_return)
{
    struct perf_event_attr a = {.type = (uint32_t)uprobe_type(),
                                .size = sizeof a,
                                .config = at_return,
                                .sample_period = 1,
                                .uprobe_path = (uintptr_t)o->allocator->path,
                                .probe_offset = offset};
    return (int)syscall(SYS_perf_event_open, &a, o->pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static int attach_probe(struct heapbpf *b, const struct heapbpf_opts *o,
                        const struct allocator_place *at, enum heapbpf_probe kind)
{
    autoclose int program = heapbpf_load(b, o, at->function, kind);
    if (program < 0)
        return -1;
    int fd = open_probe(o, at->offset, kind == PROBE_RETURN);
    if (fd < 0)
        return -1;
    *vec_push(&b->probes) = fd;
    return ioctl(fd, PERF_EVENT_IOC_SET_BPF, program);
}

static int heapbpf_refused(const char *what, struct err *err)
{
    int e = errno;
    if (e == EACCES || e == EPERM)
        return err_set(err, EXIT_ERROR,
                       "no right to follow the allocator of a running process, which takes uprobes "
                       "and BPF: run as root (CAP_BPF, CAP_PERFMON and CAP_SYS_ADMIN)");
    if (e == ENOSYS)
        return err_set(err, EXIT_ERROR,
                       "this kernel or container has no BPF: the heap of a running process cannot "
                       "be recorded");
    return err_set_errno(err, e, "%s", what);
}

/* Frees first and returns before entries, so that nothing is reported by halves. */
int heapbpf_attach(struct heapbpf *b, const struct heapbpf_opts *o, struct err *err)
{
    static const enum heapbpf_probe order[] = {PROBE_FREE, PROBE_RETURN, PROBE_ENTRY};
    for (size_t k = 0; k < sizeof order / sizeof *order; k++)
        for (size_t i = 0; i < o->allocator->n; i++) {
            const struct allocator_place *at = &o->allocator->places[i];
            bool wanted = order[k] == PROBE_FREE ? at->function->freed : at->function->size;
            if (wanted && attach_probe(b, o, at, order[k]) != 0)
                return heapbpf_refused("the kernel takes no probe of the allocator", err);
        }
    return 0;
}

void heapbpf_detach(struct heapbpf *b)
{
    for (size_t i = b->probes.n; i-- > 0;)
        close(b->probes.at[i]);
    b->probes.n = 0;
}

/* --- what a stop costs --- */

enum { TRIAL_BLOCKS = 200, TRIAL_STOPS = 3 * TRIAL_BLOCKS };

static double trial_stop_ns(void)
{
    uint64_t before_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < TRIAL_BLOCKS; i++) {
        void *volatile block = malloc(64);
        free(block);
    }
    return (double)(clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns) / TRIAL_STOPS;
}

/* 0 where no probe can be had: then the true ones say why. No block is a sample. */
static double measure_stop(struct heapbpf *b)
{
    struct allocator own;
    struct err ignored;
    double ns = 0;
    struct heapbpf_opts o = {.pid = getpid(), .allocator = &own};
    autofree struct heapbpf_left *left = mem_calloc(b->n_possible, sizeof *left);
    for (size_t i = 0; i < b->n_possible; i++)
        left[i].left = UINT64_MAX;
    if (allocator_find(&own, o.pid, &ignored) == 0 &&
        set_entry(b->left_fd, &(uint32_t){0}, left) == 0 && heapbpf_attach(b, &o, &ignored) == 0) {
        trial_stop_ns(); /* the first are slower */
        ns = trial_stop_ns();
    }
    heapbpf_detach(b);
    allocator_done(&own);
    return ns;
}

/* Maps have a value for each CPU that there may ever be: "0-7". */
static size_t possible_cpus(void)
{
    autofclose FILE *f = fopen("/sys/devices/system/cpu/possible", "re");
    unsigned last = 0, n;
    while (f && fscanf(f, "%u%*[,-]", &n) == 1)
        last = n;
    return (size_t)last + 1;
}

int heapbpf_open(struct heapbpf *b, const struct heapbpf_opts *o, struct err *err)
{
    *b = (struct heapbpf){-1, -1, -1, -1, -1, -1, .n_possible = possible_cpus()};
    if (uprobe_type() < 0)
        return err_set(err, EXIT_ERROR,
                       "this kernel has no uprobes (CONFIG_UPROBES): the heap of a running process "
                       "cannot be recorded");
    if (open_maps(b) != 0)
        return heapbpf_refused("no BPF map could be made", err);
    b->stop_ns = measure_stop(b);
    if (fill_maps(b, o->sample_bytes) != 0)
        return heapbpf_refused("no BPF map could be filled", err);
    if (open_rings(b, o->stack_bytes) != 0)
        return heapbpf_refused("no ring for the heap's samples could be made", err);
    return 0;
}

void heapbpf_close(struct heapbpf *b)
{
    int maps[] = {b->left_fd, b->draws_fd, b->pending_fd, b->kept_fd, b->stacks_fd, b->bare_fd};
    if (!b->n_possible) /* it was never opened: the numbers of files are not set */
        return;
    heapbpf_detach(b);
    for (size_t i = 0; i < b->rings.n; i++)
        perfring_unmap(&b->rings.at[i]);
    for (size_t i = 0; i < b->fds.n; i++)
        close(b->fds.at[i]);
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        if (maps[i] >= 0)
            close(maps[i]);
    vec_done(&b->rings);
    vec_done(&b->fds);
    vec_done(&b->probes);
    b->n_possible = 0;
}

void heapbpf_count(const struct heapbpf *b, struct heapbpf_counts *ret)
{
    autofree struct heapbpf_left *left = mem_calloc(b->n_possible, sizeof *left);
    uint32_t key = 0;
    union bpf_attr a = {
        .map_fd = (uint32_t)b->left_fd, .key = (uintptr_t)&key, .value = (uintptr_t)left};
    *ret = (struct heapbpf_counts){0};
    if (heapbpf_call(BPF_MAP_LOOKUP_ELEM, &a) != 0)
        return;
    for (size_t i = 0; i < b->n_possible; i++) {
        ret->calls += left[i].calls;
        ret->frees += left[i].frees;
        ret->lost += left[i].lost;
    }
}

/* --- records --- */

/*
 * identifier | ip | pid tid | time | cpu | size, kind and value from byte 4 on | abi [regs] | size
 * [bytes, bytes copied]
 */
bool heapbpf_read(const struct perf_event_header *h, struct heapbpf_record *ret)
{
    const uint64_t *at = (const uint64_t *)(h + 1),
                   *end = (const void *)((const char *)h + h->size);
    enum { RAW_AT = 5, RAW_BYTES = 20 };
    uint32_t raw_bytes = 0;
    uint64_t said[2];
    *ret = (struct heapbpf_record){0};
    if (h->type != PERF_RECORD_SAMPLE || end - at < RAW_AT + 3)
        return false;
    memcpy(&raw_bytes, at + RAW_AT, sizeof raw_bytes);
    memcpy(said, (const char *)(at + RAW_AT) + 4, sizeof said);
    if (raw_bytes < RAW_BYTES - 4 || said[0] < HEAPBPF_ALLOC || said[0] > HEAPBPF_FREE)
        return false;
    const uint32_t *ids = (const void *)(at + 2);
    *ret = (struct heapbpf_record){.kind = (enum heapbpf_kind)said[0],
                                   .value = said[1],
                                   .time_ns = at[3],
                                   .pid = (int)ids[0],
                                   .tid = (int)ids[1]};
    at += RAW_AT + (raw_bytes + 4) / 8;
    if (ret->kind != HEAPBPF_ALLOC || end - at < 1)
        return true;
    size_t n_regs = (size_t)__builtin_popcountll(unwind_perf_regs_mask);
    if (*at++ != PERF_SAMPLE_REGS_ABI_64 || (size_t)(end - at) <= n_regs)
        return true;
    ret->regs = at;
    at += n_regs;
    uint64_t size = *at++;
    if (size && size / 8 < (uint64_t)(end - at)) {
        ret->stack = (const uint8_t *)at;
        ret->stack_bytes = at[size / 8] < size ? at[size / 8] : size;
    }
    return true;
}
