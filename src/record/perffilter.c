#include "record/perffilter.h"
#include "record/taskbits.h"

#include <dirent.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* How many of the others the kernel is given. */
enum { OTHERS_MAX = 1 << 16 };

/* Of /proc/self/ns/pid where numbers are the kernel's own: PROC_PID_INIT_INO. */
#define FIRST_NAMESPACE 0xEFFFFFFCu

static long call_bpf(int command, union bpf_attr *a)
{
    return syscall(SYS_bpf, command, a, sizeof *a);
}

/* --- the kernel's filter --- */

static int make_map(void)
{
    union bpf_attr a = {.map_type = BPF_MAP_TYPE_HASH,
                        .key_size = sizeof(uint32_t),
                        .value_size = sizeof(uint32_t),
                        .max_entries = OTHERS_MAX,
                        .map_flags = BPF_F_NO_PREALLOC};
    return (int)call_bpf(BPF_MAP_CREATE, &a);
}

/* return map[current process] == NULL */
static int load_program(int map_fd)
{
    const struct bpf_insn insns[] = {
        {.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_get_current_pid_tgid},
        {.code = BPF_ALU64 | BPF_RSH | BPF_K, .dst_reg = BPF_REG_0, .imm = 32},
        {.code = BPF_STX | BPF_MEM | BPF_W, .dst_reg = BPF_REG_10, .src_reg = BPF_REG_0, .off = -4},
        {.code = BPF_LD | BPF_IMM | BPF_DW,
         .dst_reg = BPF_REG_1,
         .src_reg = BPF_PSEUDO_MAP_FD,
         .imm = map_fd},
        {0}, /* the other half of a 64-bit number */
        {.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = BPF_REG_2, .src_reg = BPF_REG_10},
        {.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = BPF_REG_2, .imm = -4},
        {.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_map_lookup_elem},
        {.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = BPF_REG_1, .src_reg = BPF_REG_0},
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0},
        {.code = BPF_JMP | BPF_JNE | BPF_K, .dst_reg = BPF_REG_1, .off = 1, .imm = 0},
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 1},
        {.code = BPF_JMP | BPF_EXIT},
    };
    union bpf_attr a = {.prog_type = BPF_PROG_TYPE_PERF_EVENT,
                        .insns = (uintptr_t)insns,
                        .insn_cnt = sizeof insns / sizeof *insns,
                        .license = (uintptr_t) ""};
    return (int)call_bpf(BPF_PROG_LOAD, &a);
}

static void tell_kernel(struct perffilter *f, int pid, bool other)
{
    uint32_t key = (uint32_t)pid, one = 1;
    union bpf_attr a = {.map_fd = (uint32_t)f->map_fd, .key = (uintptr_t)&key};
    if (other)
        a.value = (uintptr_t)&one;
    if (taskbits_may_have(pid) &&
        call_bpf(other ? BPF_MAP_UPDATE_ELEM : BPF_MAP_DELETE_ELEM, &a) == 0)
        taskbits_set(f->others, pid, other);
}

/* All that run now; 0 is a CPU that idles. */
static int tell_of_all(struct perffilter *f)
{
    DIR *d = opendir("/proc");
    if (!d)
        return -1;
    tell_kernel(f, 0, true);
    for (struct dirent *e; (e = readdir(d));) {
        int pid = atoi(e->d_name);
        if (pid > 0)
            tell_kernel(f, pid, true);
    }
    closedir(d);
    return 0;
}

/* --- --- */

bool perffilter_is_first_namespace(void)
{
    struct stat ns;
    return stat("/proc/self/ns/pid", &ns) == 0 && ns.st_ino == FIRST_NAMESPACE;
}

int perffilter_open(struct perffilter *f)
{
    *f = (struct perffilter){.map_fd = -1, .program_fd = -1};
    if (!perffilter_is_first_namespace())
        return -1;
    f->threads = taskbits_new();
    f->own = taskbits_new();
    f->others = taskbits_new();
    f->map_fd = make_map();
    f->program_fd = f->map_fd < 0 ? -1 : load_program(f->map_fd);
    if (f->program_fd >= 0 && tell_of_all(f) == 0)
        return 0;
    perffilter_close(f);
    return -1;
}

void perffilter_close(struct perffilter *f)
{
    if (f->threads) { /* else the numbers of files are not set */
        int fds[] = {f->map_fd, f->program_fd};
        for (int i = 0; i < 2; i++)
            if (fds[i] >= 0)
                close(fds[i]);
    }
    free(f->threads);
    free(f->own);
    free(f->others);
    *f = (struct perffilter){.map_fd = -1, .program_fd = -1};
}

int perffilter_apply(const struct perffilter *f, int fd)
{
    return ioctl(fd, PERF_EVENT_IOC_SET_BPF, f->program_fd);
}

void perffilter_add(struct perffilter *f, int pid, int tid)
{
    taskbits_set(f->threads, tid, true);
    taskbits_set(f->own, pid, true);
    if (taskbits_has(f->others, pid)) /* a number that another had */
        tell_kernel(f, pid, false);
}

void perffilter_remove(struct perffilter *f, int tid)
{
    taskbits_set(f->threads, tid, false);
}

bool perffilter_take(struct perffilter *f, int pid, int tid)
{
    if (taskbits_has(f->threads, tid))
        return true;
    if (!taskbits_has(f->own, pid) && !taskbits_has(f->others, pid))
        tell_kernel(f, pid, true);
    return false;
}

uint64_t perffilter_lost(uint64_t lost, uint64_t unseen_ns, double rate_hz)
{
    uint64_t room = (uint64_t)ceil((double)unseen_ns * rate_hz / 1e9);
    return lost < room ? lost : room;
}
