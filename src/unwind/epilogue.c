#include "unwind/epilogue.h"
#include "unwind/insn.h"

enum {
    STEPS_MAX = 4000,       /* instructions looked at for one rule */
    CALLEE_STEPS_MAX = 300, /* for one called function */
    PENDING_MAX = 32,       /* branches not yet followed */
    SEEN_MAX = 256,         /* places where paths begin */
    WINDOW_BYTES = 64,      /* read at once */
    CALL_BACK_BYTES = 16,
};

/* System calls by x86-64's numbers: the code that is read is x86-64's, wherever Kelvin itself runs.
 */
enum { X86_RT_SIGRETURN = 15, X86_EXIT = 60, X86_EXIT_GROUP = 231 };

/* Where a value is: at an offset from rsp or rbp as they are at the start. */
enum basis { FROM_SP, FROM_FP, NOWHERE };

struct spot {
    enum basis basis;
    int64_t offset;
};

/* The registers on the way. */
struct path {
    uint64_t pc;
    struct spot sp, fp;          /* their values */
    struct spot fp_at, extra_at; /* where they were loaded from last; NOWHERE: not at all */
    int64_t ax;                  /* a known number, or -1 */
};

struct search {
    const struct epilogue_code *code;
    struct path pending[PENDING_MAX];
    size_t n_pending;
    uint64_t seen[SEEN_MAX];
    size_t n_seen;
    int steps, steps_max;
    bool in_callee; /* this is about a function that is called on the way */
    uint8_t window[WINDOW_BYTES];
    uint64_t window_pc;
    size_t window_n;
    struct unwind_row answers[EPILOGUE_ROWS];
    size_t n_answers;
    bool exits; /* a path ended in the system call exit */
    bool away;  /* a path left by a table, or to where nothing makes sense */
    bool other; /* a path returned on another stack */
};

static bool callee_returns(struct search *caller, uint64_t pc);

static struct insn insn_at(struct search *s, uint64_t pc)
{
    uint64_t into = pc - s->window_pc;
    if (into >= s->window_n || s->window_n - into < INSN_MAX_BYTES) {
        s->window_pc = pc;
        s->window_n = s->code->read(s->code->from, pc, s->window, sizeof s->window);
        into = 0;
    }
    if (into >= s->window_n)
        return (struct insn){.kind = INSN_BAD, .length = 1};
    return insn_decode(s->window + into, s->window_n - into);
}

/* --- answers --- */

static bool words_of(int64_t bytes, int16_t *ret)
{
    if (bytes % 8 || bytes / 8 > INT16_MAX || bytes / 8 < INT16_MIN)
        return false;
    *ret = (int16_t)(bytes / 8);
    return true;
}

static uint8_t saved_flag(struct spot at, const struct spot *cfa, uint8_t flag, uint8_t lost,
                          int16_t *ret)
{
    if (at.basis == NOWHERE)
        return 0;
    return at.basis == cfa->basis && words_of(at.offset - cfa->offset, ret) ? flag : lost;
}

/* The return address lies at p->sp. */
static void answer(struct search *s, const struct path *p)
{
    struct spot cfa = {p->sp.basis, p->sp.offset + 8};
    struct unwind_row row = {.cfa = cfa.basis == FROM_SP ? CFA_SP : CFA_FP};
    s->other |= cfa.basis == NOWHERE;
    s->away = true;
    if (cfa.basis == NOWHERE || !words_of(cfa.offset, &row.cfa_offset) || row.cfa_offset < 1)
        return;
    row.flags |= saved_flag(p->fp_at, &cfa, ROW_FP_SAVED, ROW_FP_AT_FP, &row.fp_offset);
    row.flags |= saved_flag(p->extra_at, &cfa, ROW_EXTRA_SAVED, ROW_EXTRA_AT_FP, &row.extra_offset);
    s->answers[s->n_answers++] = row;
}

/* --- paths --- */

static bool begin(struct search *s, struct path *p)
{
    for (size_t i = 0; i < s->n_seen; i++)
        if (s->seen[i] == p->pc)
            return false;
    if (s->n_seen == SEEN_MAX)
        return false;
    s->seen[s->n_seen++] = p->pc;
    return true;
}

static void later(struct search *s, const struct path *p, uint64_t pc)
{
    if (s->n_pending == PENDING_MAX)
        return;
    s->pending[s->n_pending] = *p;
    s->pending[s->n_pending++].pc = pc;
}

static void loaded(struct path *p, uint8_t reg, struct spot from)
{
    if (reg == REG_BP) {
        p->fp_at = from;
        p->fp.basis = NOWHERE;
    } else if (reg == REG_BX) {
        p->extra_at = from;
    }
    if (reg == REG_AX)
        p->ax = -1;
}

static struct spot moved(struct spot from, int64_t by)
{
    return (struct spot){from.basis, from.offset + by};
}

/* What is not about flow. */
static void epilogue_follow(struct path *p, const struct insn *i)
{
    switch (i->kind) {
    case INSN_PUSH:
        p->sp.offset -= 8;
        break;
    case INSN_POP:
        loaded(p, i->reg, p->sp);
        p->sp.offset += 8;
        break;
    case INSN_SP_ADD:
        p->sp.offset += i->value;
        break;
    case INSN_SP_FROM:
        p->sp = moved(p->fp, i->value);
        break;
    case INSN_SP_LOST:
        p->sp.basis = NOWHERE;
        break;
    case INSN_FP_FROM:
        p->fp = moved(p->sp, i->value);
        break;
    case INSN_LEAVE:
        p->sp = p->fp;
        loaded(p, REG_BP, p->sp);
        p->sp.offset += 8;
        break;
    case INSN_LOAD:
        loaded(p, i->reg, moved(i->base == REG_SP ? p->sp : p->fp, i->value));
        break;
    case INSN_SET:
    case INSN_OVERWRITE:
        if (i->reg == REG_AX)
            p->ax = i->kind == INSN_SET ? i->value : -1;
        if (i->reg == REG_BP)
            p->fp.basis = NOWHERE;
        break;
    case INSN_SET_LOW:
        if (i->reg == REG_AX)
            p->ax = p->ax == 0 ? i->value & 0xff : -1;
        break;
    default:
        break;
    }
}

/*
 * Functions that do not come back are called last, or in the code that compilers put last: what
 * follows up to the next function is padding.
 */
static bool is_padding(struct search *s, uint64_t pc)
{
    uint64_t end = (pc + 15) & ~UINT64_C(15);
    if (pc == end)
        return false;
    while (pc < end) {
        struct insn i = insn_at(s, pc);
        if (i.kind != INSN_NOP)
            return false;
        pc += i.length;
    }
    return true;
}

static bool comes_back(struct search *s, const struct path *p, const struct insn *call)
{
    if (is_padding(s, p->pc + call->length))
        return false;
    return !call->value || s->in_callee || callee_returns(s, p->pc + (uint64_t)call->value);
}

static bool is_exit(int64_t number)
{
    return number == X86_EXIT || number == X86_EXIT_GROUP;
}

/* False where the path ends. */
static bool flow(struct search *s, struct path *p, const struct insn *i, uint64_t start)
{
    uint64_t target = p->pc + (uint64_t)i->value;
    switch (i->kind) {
    case INSN_RET:
    case INSN_TAIL:
        answer(s, p);
        return false;
    case INSN_JUMP:
        p->pc = target;
        return begin(s, p);
    case INSN_BRANCH:
        later(s, p, target);
        break;
    case INSN_CALL:
        p->ax = -1;
        if (!comes_back(s, p, i))
            return false;
        break;
    case INSN_SYSCALL:
        if (p->ax == X86_RT_SIGRETURN && p->pc - start <= EPILOGUE_SIGRETURN_BYTES - 2)
            s->answers[s->n_answers++] = (struct unwind_row){.cfa = CFA_SIGNAL};
        s->exits |= is_exit(p->ax);
        if (p->ax == X86_RT_SIGRETURN || is_exit(p->ax))
            return false;
        p->ax = -1;
        break;
    case INSN_AWAY:
    case INSN_BAD:
        s->away = true;
        return false;
    case INSN_STOP:
        return false;
    default:
        break;
    }
    p->pc += i->length;
    return true;
}

static void walk_path(struct search *s, struct path p, uint64_t start)
{
    if (!begin(s, &p))
        return;
    while (s->steps++ < s->steps_max && s->n_answers < EPILOGUE_ROWS) {
        struct insn i = insn_at(s, p.pc);
        epilogue_follow(&p, &i);
        if (!flow(s, &p, &i, start))
            return;
    }
}

static void search(struct search *s, uint64_t pc)
{
    struct path p = {pc, {FROM_SP, 0}, {FROM_FP, 0}, {NOWHERE, 0}, {NOWHERE, 0}, -1};
    s->n_pending = s->n_seen = s->window_n = s->n_answers = 0;
    s->window_pc = 0;
    s->steps = 0;
    s->exits = s->away = s->other = false;
    walk_path(s, p, pc);
    while (s->n_pending && s->n_answers < EPILOGUE_ROWS && s->steps < s->steps_max)
        walk_path(s, s->pending[--s->n_pending], pc);
}

/*
 * False only where every way through the function was seen and none comes back. Its instructions
 * count among the caller's, so that code made of calls takes no longer than other code.
 */
static bool callee_returns(struct search *caller, uint64_t pc)
{
    struct search s;
    s.code = caller->code;
    s.steps_max = CALLEE_STEPS_MAX;
    s.in_callee = true;
    search(&s, pc);
    caller->steps += s.steps;
    return s.away || s.steps >= s.steps_max;
}

/* --- what the paths say --- */

static bool epilogue_agree(const struct unwind_row *a, const struct unwind_row *b)
{
    return a->cfa == b->cfa && a->cfa_offset == b->cfa_offset;
}

/*
 * What a C library starts a thread with clears rbp, the ABI's mark of the outermost frame, and
 * exits when the thread's function returns.
 */
static bool starts_thread(struct search *s, uint64_t pc)
{
    uint8_t before[CALL_BACK_BYTES];
    if (!s->exits || pc < sizeof before ||
        s->code->read(s->code->from, pc - sizeof before, before, sizeof before) != sizeof before ||
        !insn_call_before(before + sizeof before, sizeof before))
        return false;
    for (size_t i = 0; i + 2 < sizeof before; i++)
        if ((before[i] == 0x31 || before[i] == 0x33) && before[i + 1] == 0xed) /* xor ebp, ebp */
            return true;
    return false;
}

static struct unwind_row without_answer(struct search *s, uint64_t pc)
{
    bool never = !s->away && s->steps < s->steps_max;
    if (starts_thread(s, pc) || s->other)
        return (struct unwind_row){.cfa = CFA_BOTTOM};
    return (struct unwind_row){.cfa = CFA_UNKNOWN, .flags = never ? EPILOGUE_NEVER : 0};
}

void epilogue_rows(const struct epilogue_code *code, uint64_t pc,
                   struct unwind_row ret[static EPILOGUE_ROWS])
{
    struct search s;
    s.code = code;
    s.steps_max = STEPS_MAX;
    s.in_callee = false;
    search(&s, pc);
    ret[0] = s.n_answers ? s.answers[0] : without_answer(&s, pc);
    ret[1] = (struct unwind_row){.cfa = CFA_UNKNOWN};
    if (s.n_answers > 1 && !epilogue_agree(&s.answers[0], &s.answers[1]))
        ret[1] = s.answers[1];
}

/* Code after the last call that is not padding still belongs to the start. */
uint32_t epilogue_entry_bytes(const uint8_t *code, size_t n)
{
    size_t at = 0;
    bool called = false;
    while (at < n) {
        struct insn i = insn_decode(code + at, n - at);
        if (i.kind == INSN_BAD || i.kind == INSN_STOP || (called && i.kind == INSN_NOP))
            break;
        at += i.length;
        called |= i.kind == INSN_CALL;
        if (i.kind == INSN_JUMP || i.kind == INSN_AWAY || i.kind == INSN_TAIL || i.kind == INSN_RET)
            break;
    }
    return (uint32_t)(at < n ? at : n);
}
