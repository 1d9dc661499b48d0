#include "record/hungstack.h"

#include "base/clock.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>
#include <sys/uio.h>

enum { KERNEL_NAMES_MAX = 64, HUNG_STACK_BYTES = 65536 };

static bool read_task(int pid, int tid, const char *file, char *ret, size_t size)
{
    char path[80];
    snprintf(path, sizeof path, "/proc/%d/task/%d/%s", pid, tid, file);
    autofclose FILE *f = fopen(path, "re");
    ret[f ? fread(ret, 1, size - 1, f) : 0] = '\0';
    return *ret;
}

size_t hungstack_names(char *text, const char **ret, size_t most)
{
    size_t n = 0;
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line && n < most;
         line = strtok_r(NULL, "\n", &rest)) {
        char *name = strchr(line, ' ');
        if (*line != '[' || !name || name[1] == '0')
            continue;
        name[1 + strcspn(name + 1, "+ ")] = '\0';
        ret[n++] = name + 1;
    }
    return n;
}

/* "202 0x7f.. 0x80 .. SP PC", "-1 SP PC" outside of a system call, "running". */
bool hungstack_place(const char *line, uint64_t *ret_sp, uint64_t *ret_pc)
{
    const char *pc = strrchr(line, ' '), *sp = pc;
    while (sp && sp > line && *--sp != ' ')
        ;
    if (!pc || sp <= line)
        return false;
    unsigned long long at[2];
    if (sscanf(sp, " 0x%llx 0x%llx", &at[0], &at[1]) != 2 || !at[0] || !at[1])
        return false;
    *ret_sp = at[0];
    *ret_pc = at[1];
    return true;
}

/* Up to a page at a time: the stack may end anywhere. */
static size_t read_stack(int pid, uint64_t sp, uint8_t *ret)
{
    enum { PAGE = 4096 };
    size_t n = 0;
    while (n < HUNG_STACK_BYTES) {
        size_t want = PAGE - (sp + n) % PAGE;
        want = want < HUNG_STACK_BYTES - n ? want : HUNG_STACK_BYTES - n;
        struct iovec to = {ret + n, want}, from = {(void *)(uintptr_t)(sp + n), want};
        if (process_vm_readv(pid, &to, 1, &from, 1, 0) != (ssize_t)want)
            break;
        n += want;
    }
    return n;
}

static struct stack_id user_stack(struct processes *ps, int pid, int tid)
{
    char line[256];
    enum unwind_end end;
    struct process_sample s = {.pid = pid, .tid = tid};
    autofree uint8_t *bytes = mem_calloc(1, HUNG_STACK_BYTES);
    if (!read_task(pid, tid, "syscall", line, sizeof line) ||
        !hungstack_place(line, &s.regs.sp, &s.regs.pc))
        return (struct stack_id){0};
    s.stack = (struct unwind_stack){.start = s.regs.sp, .bytes = bytes};
    s.stack.n = read_stack(pid, s.regs.sp, bytes);
    s.stack.ends = s.stack.n < HUNG_STACK_BYTES;
    return processes_stack(ps, &s, &end);
}

static struct frame_id hungstack_kernel_frame(struct processes *ps, const char *name)
{
    struct profile *p = processes_profile(ps);
    struct function f = {.name = profile_add_str(p, text_of(name))};
    struct line line = {.function = profile_add_function(p, &f)};
    struct frame_key key = {.mapping = processes_kernel_mapping(ps), .kind = FRAME_KERNEL};
    key.lines = &line;
    key.n_lines = 1;
    return profile_add_frame(p, &key);
}

/* STACK with the kernel's functions on top. */
static struct stack_id add_kernel(struct processes *ps, struct stack_id stack, int pid, int tid)
{
    char text[4096];
    struct stacks *stacks = &processes_profile(ps)->stacks;
    const char *names[KERNEL_NAMES_MAX];
    size_t n = 0;
    if (read_task(pid, tid, "stack", text, sizeof text))
        n = hungstack_names(text, names, KERNEL_NAMES_MAX);
    if (!n && read_task(pid, tid, "wchan", text, sizeof text) && strcmp(text, "0") != 0)
        names[n++] = text;
    while (n-- > 0)
        stack = stacks_push(stacks, stack, hungstack_kernel_frame(ps, names[n]));
    return stack;
}

struct stack_id hungstack_of(struct processes *ps, const struct hungstack_who *who,
                             uint64_t *ret_time_ns)
{
    int pid = who->pid, tid = who->tid;
    char before[96], after[96];
    struct stack_id none = {0};
    bool counted = read_task(pid, tid, "schedstat", before, sizeof before);
    *ret_time_ns = clock_kernel_ns();
    struct stack_id stack = who->user ? user_stack(ps, pid, tid) : none;
    stack = add_kernel(ps, stack, pid, tid);
    read_task(pid, tid, "schedstat", after, sizeof after);
    return counted && strcmp(before, after) != 0 ? none : stack;
}
