/*
 * heapbpf_code.c - the programs themselves, see heapbpf.h. Registers: r6 has the process's
 * registers, r7 a number of bytes, r8 what this CPU has, r9 what a record says.
 */
#include "record/heapbpf_inner.h"

#include <stddef.h>

enum { CODE_MAX = 96 };

/* --- registers --- */

#if defined __x86_64__
enum { REG_RESULT = 80 };
static const int16_t argument_at[] = {-1, 112, 104, 96}; /* rdi, rsi, rdx in struct pt_regs */
#elif defined __aarch64__
enum { REG_RESULT = 0 };
static const int16_t argument_at[] = {-1, 0, 8, 16}; /* x0, x1, x2 */
#else
#error "where are a function's arguments?"
#endif

/* --- programs --- */

struct code {
    struct bpf_insn at[CODE_MAX];
    size_t n;
    size_t out[CODE_MAX]; /* jumps to the end */
    size_t n_out;
};

static void emit(struct code *c, struct bpf_insn i)
{
    c->at[c->n++] = i;
}

static void emit_load(struct code *c, uint8_t to, uint8_t from, int16_t at)
{
    emit(c, (struct bpf_insn){
                .code = BPF_LDX | BPF_MEM | BPF_DW, .dst_reg = to, .src_reg = from, .off = at});
}

static void emit_store(struct code *c, uint8_t base, int16_t at, uint8_t from)
{
    emit(c, (struct bpf_insn){
                .code = BPF_STX | BPF_MEM | BPF_DW, .dst_reg = base, .src_reg = from, .off = at});
}

/* On the stack. */
static void emit_store_number(struct code *c, int16_t at, int32_t number)
{
    emit(c,
         (struct bpf_insn){
             .code = BPF_ST | BPF_MEM | BPF_DW, .dst_reg = BPF_REG_10, .off = at, .imm = number});
}

static void emit_op(struct code *c, uint8_t op, uint8_t to, int32_t number)
{
    emit(c, (struct bpf_insn){.code = BPF_ALU64 | op | BPF_K, .dst_reg = to, .imm = number});
}

static void emit_op_reg(struct code *c, uint8_t op, uint8_t to, uint8_t from)
{
    emit(c, (struct bpf_insn){.code = BPF_ALU64 | op | BPF_X, .dst_reg = to, .src_reg = from});
}

static void emit_call(struct code *c, int32_t function)
{
    emit(c, (struct bpf_insn){.code = BPF_JMP | BPF_CALL, .imm = function});
}

/* A jump where REG OP NUMBER holds, over SKIP instructions. */
static void emit_skip(struct code *c, uint8_t op, uint8_t reg, int32_t number, int16_t skip)
{
    emit(c, (struct bpf_insn){
                .code = BPF_JMP | op | BPF_K, .dst_reg = reg, .off = skip, .imm = number});
}

/* The jump at AT leads to what comes next. */
static void land(struct code *c, size_t at)
{
    c->at[at].off = (int16_t)(c->n - at - 1);
}

/* Leave where REG OP NUMBER holds. */
static void leave_if(struct code *c, uint8_t op, uint8_t reg, int32_t number)
{
    c->out[c->n_out++] = c->n;
    emit_skip(c, op, reg, number, 0);
}

static void leave(struct code *c)
{
    c->out[c->n_out++] = c->n;
    emit(c, (struct bpf_insn){.code = BPF_JMP | BPF_JA});
}

static void set_map(struct code *c, uint8_t reg, int fd)
{
    emit(c, (struct bpf_insn){.code = BPF_LD | BPF_IMM | BPF_DW,
                              .dst_reg = reg,
                              .src_reg = BPF_PSEUDO_MAP_FD,
                              .imm = fd});
    emit(c, (struct bpf_insn){0}); /* the other half of a 64-bit number */
}

/* r2 = the address of the stack's AT */
static void set_stack(struct code *c, uint8_t reg, int16_t at)
{
    emit_op_reg(c, BPF_MOV, reg, BPF_REG_10);
    emit_op(c, BPF_ADD, reg, at);
}

/* Where the stack has what: below r10. */
enum {
    AT_INDEX = -8,    /* of an array */
    AT_TASK = -16,    /* key of pending */
    AT_PENDING = -32, /* struct heapbpf_pending */
    AT_ADDRESS = -40, /* key of kept */
    AT_ONE = -48,     /* value of kept */
    AT_RECORD = -64,  /* kind, value */
};

/* r0 = map[the number at AT] */
static void emit_lookup(struct code *c, int map_fd, int16_t at)
{
    set_map(c, BPF_REG_1, map_fd);
    set_stack(c, BPF_REG_2, at);
    emit_call(c, BPF_FUNC_map_lookup_elem);
}

/* r8 = this CPU's struct heapbpf_left; one more at FIELD */
static void emit_count(struct code *c, const struct heapbpf *b, int16_t field)
{
    emit_store_number(c, AT_INDEX, 0);
    emit_lookup(c, b->left_fd, AT_INDEX);
    leave_if(c, BPF_JEQ, BPF_REG_0, 0);
    emit_op_reg(c, BPF_MOV, BPF_REG_8, BPF_REG_0);
    emit_load(c, BPF_REG_1, BPF_REG_8, field);
    emit_op(c, BPF_ADD, BPF_REG_1, 1);
    emit_store(c, BPF_REG_8, field, BPF_REG_1);
}

/* r0 = an error; r9 is the record's value, r6 the registers */
static void emit_tell(struct code *c, int events_fd)
{
    emit_store(c, BPF_REG_10, AT_RECORD + 8, BPF_REG_9);
    emit_op_reg(c, BPF_MOV, BPF_REG_1, BPF_REG_6);
    set_map(c, BPF_REG_2, events_fd);
    emit(c, (struct bpf_insn){
                .code = BPF_ALU | BPF_MOV | BPF_K, .dst_reg = BPF_REG_3, .imm = -1}); /* this CPU */
    set_stack(c, BPF_REG_4, AT_RECORD);
    emit_op(c, BPF_MOV, BPF_REG_5, 16);
    emit_call(c, BPF_FUNC_perf_event_output);
}

/* pending's key */
static void emit_task(struct code *c)
{
    emit_call(c, BPF_FUNC_get_current_pid_tgid);
    emit_store(c, BPF_REG_10, AT_TASK, BPF_REG_0);
}

static void emit_forget_pending(struct code *c, const struct heapbpf *b)
{
    set_map(c, BPF_REG_1, b->pending_fd);
    set_stack(c, BPF_REG_2, AT_TASK);
    emit_call(c, BPF_FUNC_map_delete_elem);
}

/* r7 = r9 = the size; calls that glibc hands on to malloc leave */
static void emit_size(struct code *c, const struct allocator_function *f, bool glibc)
{
    emit_load(c, BPF_REG_7, BPF_REG_6, argument_at[f->size]);
    if (f->times) {
        emit_load(c, BPF_REG_1, BPF_REG_6, argument_at[f->times]);
        emit_op_reg(c, BPF_MUL, BPF_REG_7, BPF_REG_1);
    }
    if (glibc && f->freed) {
        emit_load(c, BPF_REG_1, BPF_REG_6, argument_at[f->freed]);
        leave_if(c, BPF_JEQ, BPF_REG_1, 0);
    }
    if (glibc && f->align) {
        emit_load(c, BPF_REG_1, BPF_REG_6, argument_at[f->align]);
        leave_if(c, BPF_JLE, BPF_REG_1, 16);
    }
    emit_op_reg(c, BPF_MOV, BPF_REG_9, BPF_REG_7);
    emit_skip(c, BPF_JNE, BPF_REG_7, 0, 1);
    emit_op(c, BPF_MOV, BPF_REG_7, 1);
}

/* Leave unless the block of r7 bytes is a sample; then r8's left is drawn anew. */
static void emit_draw(struct code *c, const struct heapbpf *b)
{
    emit_load(c, BPF_REG_1, BPF_REG_8, offsetof(struct heapbpf_left, left));
    emit(c, (struct bpf_insn){.code = BPF_JMP | BPF_JLT | BPF_X,
                              .dst_reg = BPF_REG_1,
                              .src_reg = BPF_REG_7,
                              .off = 3});
    emit_op_reg(c, BPF_SUB, BPF_REG_1, BPF_REG_7);
    emit_store(c, BPF_REG_8, offsetof(struct heapbpf_left, left), BPF_REG_1);
    leave(c);
    emit_call(c, BPF_FUNC_get_prandom_u32);
    emit_op(c, BPF_AND, BPF_REG_0, HEAPBPF_DRAWS - 1);
    emit_store(c, BPF_REG_10, AT_INDEX, BPF_REG_0);
    emit_lookup(c, b->draws_fd, AT_INDEX);
    leave_if(c, BPF_JEQ, BPF_REG_0, 0);
    emit_load(c, BPF_REG_1, BPF_REG_0, 0);
    emit_store(c, BPF_REG_8, offsetof(struct heapbpf_left, left), BPF_REG_1);
}

static void emit_entry(struct code *c, const struct heapbpf *b, const struct allocator_function *f,
                       bool glibc)
{
    emit_size(c, f, glibc);
    emit_count(c, b, offsetof(struct heapbpf_left, calls));
    emit_draw(c, b);
    emit_task(c);
    emit_store(c, BPF_REG_10, AT_PENDING, BPF_REG_9);
    if (f->result)
        emit_load(c, BPF_REG_1, BPF_REG_6, argument_at[f->result]);
    else
        emit_op(c, BPF_MOV, BPF_REG_1, 0);
    emit_store(c, BPF_REG_10, AT_PENDING + 8, BPF_REG_1);
    set_map(c, BPF_REG_1, b->pending_fd);
    set_stack(c, BPF_REG_2, AT_TASK);
    set_stack(c, BPF_REG_3, AT_PENDING);
    emit_op(c, BPF_MOV, BPF_REG_4, BPF_ANY);
    emit_call(c, BPF_FUNC_map_update_elem);
    size_t full = c->n;
    emit_skip(c, BPF_JNE, BPF_REG_0, 0, 0);
    emit_store_number(c, AT_RECORD, HEAPBPF_ALLOC);
    emit_tell(c, b->stacks_fd);
    leave_if(c, BPF_JEQ, BPF_REG_0, 0);
    emit_forget_pending(c, b);
    land(c, full);
    emit_load(c, BPF_REG_1, BPF_REG_8, offsetof(struct heapbpf_left, lost));
    emit_op(c, BPF_ADD, BPF_REG_1, 1);
    emit_store(c, BPF_REG_8, offsetof(struct heapbpf_left, lost), BPF_REG_1);
}

/* r9 = what the function returned, or put where r7 says */
static void emit_result(struct code *c)
{
    emit_load(c, BPF_REG_9, BPF_REG_6, REG_RESULT);
    size_t returned = c->n;
    emit_skip(c, BPF_JEQ, BPF_REG_7, 0, 0);
    emit_skip(c, BPF_JEQ, BPF_REG_9, 0, 2); /* else it failed */
    emit_op(c, BPF_MOV, BPF_REG_9, 0);
    size_t failed = c->n;
    emit(c, (struct bpf_insn){.code = BPF_JMP | BPF_JA});
    emit_store_number(c, AT_ADDRESS, 0);
    set_stack(c, BPF_REG_1, AT_ADDRESS);
    emit_op(c, BPF_MOV, BPF_REG_2, 8);
    emit_op_reg(c, BPF_MOV, BPF_REG_3, BPF_REG_7);
    emit_call(c, BPF_FUNC_probe_read_user);
    emit_load(c, BPF_REG_9, BPF_REG_10, AT_ADDRESS);
    land(c, returned);
    land(c, failed);
}

static void emit_return(struct code *c, const struct heapbpf *b)
{
    emit_task(c);
    emit_lookup(c, b->pending_fd, AT_TASK);
    leave_if(c, BPF_JEQ, BPF_REG_0, 0);
    emit_load(c, BPF_REG_7, BPF_REG_0, offsetof(struct heapbpf_pending, result));
    emit_result(c);
    emit_forget_pending(c, b);
    emit_store_number(c, AT_RECORD, HEAPBPF_FAILED);
    size_t failed = c->n;
    emit_skip(c, BPF_JEQ, BPF_REG_9, 0, 0);
    emit_store(c, BPF_REG_10, AT_ADDRESS, BPF_REG_9);
    emit_store_number(c, AT_ONE, 1);
    set_map(c, BPF_REG_1, b->kept_fd);
    set_stack(c, BPF_REG_2, AT_ADDRESS);
    set_stack(c, BPF_REG_3, AT_ONE);
    emit_op(c, BPF_MOV, BPF_REG_4, BPF_ANY);
    emit_call(c, BPF_FUNC_map_update_elem);
    emit_store_number(c, AT_RECORD, HEAPBPF_NO_ROOM);
    emit_skip(c, BPF_JNE, BPF_REG_0, 0, 1);
    emit_store_number(c, AT_RECORD, HEAPBPF_BLOCK);
    land(c, failed);
    emit_tell(c, b->bare_fd);
}

static void emit_free(struct code *c, const struct heapbpf *b, const struct allocator_function *f)
{
    emit_load(c, BPF_REG_9, BPF_REG_6, argument_at[f->freed]);
    leave_if(c, BPF_JEQ, BPF_REG_9, 0);
    emit_count(c, b, offsetof(struct heapbpf_left, frees));
    emit_store(c, BPF_REG_10, AT_ADDRESS, BPF_REG_9);
    emit_lookup(c, b->kept_fd, AT_ADDRESS);
    leave_if(c, BPF_JEQ, BPF_REG_0, 0);
    set_map(c, BPF_REG_1, b->kept_fd);
    set_stack(c, BPF_REG_2, AT_ADDRESS);
    emit_call(c, BPF_FUNC_map_delete_elem);
    emit_store_number(c, AT_RECORD, HEAPBPF_FREE);
    emit_tell(c, b->bare_fd);
}

/* The probe itself leaves no record: the program returns 0. */
static int load_code(struct code *c)
{
    for (size_t i = 0; i < c->n_out; i++)
        land(c, c->out[i]);
    emit_op(c, BPF_MOV, BPF_REG_0, 0);
    emit(c, (struct bpf_insn){.code = BPF_JMP | BPF_EXIT});
    union bpf_attr a = {.prog_type = BPF_PROG_TYPE_KPROBE,
                        .insns = (uintptr_t)c->at,
                        .insn_cnt = (uint32_t)c->n,
                        .license = (uintptr_t) "Dual MIT/GPL"};
    return (int)heapbpf_call(BPF_PROG_LOAD, &a);
}

int heapbpf_load(const struct heapbpf *b, const struct heapbpf_opts *o,
                 const struct allocator_function *f, enum heapbpf_probe kind)
{
    struct code *c = &(struct code){0};
    emit_op_reg(c, BPF_MOV, BPF_REG_6, BPF_REG_1);
    if (kind == PROBE_ENTRY)
        emit_entry(c, b, f, o->allocator->glibc);
    else if (kind == PROBE_RETURN)
        emit_return(c, b);
    else
        emit_free(c, b, f);
    return load_code(c);
}
