/*
 * program.c - running the program of a CIE and FDE, and boiling its state down to rows.
 */
#include "unwind/cfi.h"

#include <dwarf.h>

enum {
    REMEMBER_MAX = 32,
    CFA_negate_ra_state = 0x2d, /* aarch64: signed return addresses; SPARC's window_save */
};

enum where {
    UNCHANGED,
    AT_CFA,   /* saved at CFA + offset */
    AT_FP,    /* saved at frame pointer + offset */
    IN_OTHER, /* in the register of that number */
    UNDEFINED,
    LOST, /* a rule we cannot follow */
};

struct rule {
    enum where where;
    int64_t offset;
};

struct state {
    uint64_t cfa_reg;
    int64_t cfa_offset, cfa_add;
    enum unwind_cfa expression; /* CFA_GAP: the CFA is not an expression but reg + offset */
    struct rule fp, extra, ra;
};

struct machine {
    const struct cfi_cie *cie;
    struct state now, initial;
    struct state remembered[REMEMBER_MAX];
    int n_remembered;
    struct cfi_rows *to;
    struct cfi_span span;
    uint64_t pc;
};

/* --- state to row --- */

static bool to_words(int64_t bytes, int16_t *ret)
{
    if (bytes % 8 != 0 || bytes / 8 > INT16_MAX || bytes / 8 < INT16_MIN)
        return false;
    *ret = (int16_t)(bytes / 8);
    return true;
}

static enum unwind_cfa cfa_kind(const struct arch *arch, const struct state *s)
{
    if (s->expression != CFA_GAP)
        return s->expression;
    if (s->cfa_reg == arch->dwarf.sp)
        return CFA_SP;
    if (s->cfa_reg == arch->dwarf.fp)
        return CFA_FP;
    if (s->cfa_reg == arch->dwarf.extra)
        return CFA_EXTRA;
    return arch->perf_others && s->cfa_reg < ARCH_OTHERS ? CFA_OTHER : CFA_UNKNOWN;
}

/* SAVED and AT_FP are the register's two flags. */
static uint8_t save_flags(const struct rule *r, uint8_t saved, uint8_t at_fp, int16_t *ret)
{
    switch (r->where) {
    case UNCHANGED:
    case UNDEFINED:
        return 0;
    case AT_CFA:
        return to_words(r->offset, ret) ? saved : at_fp;
    case AT_FP:
        return to_words(r->offset, ret) ? saved | at_fp : at_fp;
    default:
        return at_fp;
    }
}

static bool cfa_to_row(const struct arch *arch, const struct state *s, struct unwind_row *row)
{
    row->cfa = cfa_kind(arch, s);
    if (row->cfa == CFA_PLT) {
        row->cfa_offset = (int16_t)s->cfa_offset;
        return true;
    }
    bool far = row->cfa == CFA_SP && s->cfa_offset > INT16_MAX * 8;
    if (far) /* out of every stack copy: that, and no more, will be said */
        row->cfa_offset = INT16_MAX;
    if (row->cfa == CFA_UNKNOWN || (!far && !to_words(s->cfa_offset, &row->cfa_offset)))
        return false;
    int64_t number = row->cfa == CFA_OTHER ? (int64_t)s->cfa_reg : s->cfa_add / 8;
    if (s->cfa_add % 8 || number < 0 || number > 15)
        return false;
    row->flags = (uint8_t)(number << ROW_NUMBER_SHIFT);
    return true;
}

static struct unwind_row row_of(const struct machine *m)
{
    const struct arch *arch = m->cie->arch;
    const struct state *s = &m->now;
    struct unwind_row row = {0};
    const struct unwind_row unknown = {.cfa = CFA_UNKNOWN};
    if (m->cie->signal)
        return (struct unwind_row){.cfa = CFA_SIGNAL};
    if (m->cie->ra != arch->dwarf.pc)
        return unknown;
    if (s->ra.where == UNDEFINED)
        return (struct unwind_row){.cfa = CFA_BOTTOM};
    bool in_other = arch->ra_on_stack && s->ra.where == IN_OTHER && s->ra.offset < ARCH_OTHERS;
    if (arch->ra_on_stack && !in_other && (s->ra.where != AT_CFA || s->ra.offset != -8))
        return unknown;
    if (!cfa_to_row(arch, s, &row) || (in_other && row.cfa != CFA_SP))
        return unknown;
    if (in_other) {
        row.cfa = CFA_RA_OTHER;
        row.flags = (uint8_t)(s->ra.offset << ROW_NUMBER_SHIFT);
    }
    row.flags |= save_flags(&s->fp, ROW_FP_SAVED, ROW_FP_AT_FP, &row.fp_offset);
    row.flags |= save_flags(&s->extra, ROW_EXTRA_SAVED, ROW_EXTRA_AT_FP, &row.extra_offset);
    return row;
}

/* The state holds from here on. */
static void program_emit(struct machine *m, struct unwind_row row)
{
    if (m->pc >= m->span.end)
        return;
    row.pc = (uint32_t)m->pc;
    struct cfi_rows *to = m->to;
    if (to->rows.n > m->span.first && to->rows.at[to->rows.n - 1].pc == row.pc)
        to->rows.n--;
    *vec_push(&to->rows) = row;
}

/* --- expressions --- */

/* breg OFFSET of a register that is followed, then perhaps deref, then perhaps plus N. */
struct simple {
    uint64_t reg;
    int64_t offset, add;
    bool deref;
};

static bool simple_expression(struct cursor c, struct simple *ret)
{
    *ret = (struct simple){0};
    uint64_t op = cursor_uint(&c, 1);
    if (op < DW_OP_breg0 || op > DW_OP_breg31)
        return false;
    ret->reg = op - DW_OP_breg0;
    ret->offset = cfi_sleb(&c);
    if (cursor_more(&c) && *c.at == DW_OP_deref) {
        ret->deref = true;
        c.at++;
    }
    if (cursor_more(&c) && *c.at == DW_OP_plus_uconst) {
        c.at++;
        ret->add = (int64_t)(cursor_varint(&c) & INT32_MAX);
    }
    return !c.bad && c.at == c.end;
}

/*
 * What linkers write for the PLT of x86-64, N being where in the stub its push is done:
 *     breg7 8, breg16 0, lit15, and, litN, ge, lit3, shl, plus
 */
static bool plt_expression(struct cursor c, int64_t *ret_n)
{
    static const uint8_t head[] = {DW_OP_breg7, 8, DW_OP_breg16, 0, DW_OP_lit15, DW_OP_and};
    static const uint8_t tail[] = {DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus};
    if (cursor_left(&c) != sizeof head + 1 + sizeof tail)
        return false;
    uint8_t n = c.at[sizeof head];
    *ret_n = n - DW_OP_lit0;
    return n >= DW_OP_lit0 && n <= DW_OP_lit15 && memcmp(c.at, head, sizeof head) == 0 &&
           memcmp(c.at + sizeof head + 1, tail, sizeof tail) == 0;
}

static void cfa_expression(const struct arch *arch, struct cursor c, struct state *s)
{
    struct simple e;
    s->cfa_add = 0;
    s->expression = CFA_UNKNOWN;
    if (arch->ra_on_stack && plt_expression(c, &s->cfa_offset)) {
        s->expression = CFA_PLT;
    } else if (simple_expression(c, &e) && e.deref) {
        s->cfa_offset = e.offset;
        s->cfa_add = e.add;
        if (e.reg == arch->dwarf.sp)
            s->expression = CFA_SP_DEREF;
        else if (e.reg == arch->dwarf.fp)
            s->expression = CFA_FP_DEREF;
    } else if (simple_expression(c, &e)) {
        s->expression = CFA_GAP;
        s->cfa_reg = e.reg;
        s->cfa_offset = (int64_t)((uint64_t)e.offset + (uint64_t)e.add);
    }
}

static struct rule place_expression(const struct arch *arch, struct cursor c)
{
    struct simple e;
    if (simple_expression(c, &e) && e.reg == arch->dwarf.fp && !e.deref && !e.add)
        return (struct rule){AT_FP, e.offset};
    return (struct rule){LOST, 0};
}

/* --- instructions --- */

/* Registers that nobody needs take their rules to `ignored`. */
static void set_rule(struct state *s, const struct machine *m, uint64_t reg, struct rule r)
{
    const struct arch_regs *n = &m->cie->arch->dwarf;
    if (reg == n->fp)
        s->fp = r;
    if (reg == n->extra)
        s->extra = r;
    if (reg == n->pc)
        s->ra = r;
}

static void restore_rule(struct machine *m, uint64_t reg)
{
    const struct arch_regs *n = &m->cie->arch->dwarf;
    if (reg == n->fp)
        m->now.fp = m->initial.fp;
    if (reg == n->extra)
        m->now.extra = m->initial.extra;
    if (reg == n->pc)
        m->now.ra = m->initial.ra;
}

static int64_t times(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

static void set_saved(struct machine *m, uint64_t reg, int64_t factored)
{
    set_rule(&m->now, m, reg, (struct rule){AT_CFA, times(factored, m->cie->data_align)});
}

static void set_cfa(struct machine *m, uint64_t reg, int64_t offset)
{
    m->now.cfa_reg = reg;
    m->now.cfa_offset = offset;
    m->now.cfa_add = 0;
    m->now.expression = CFA_GAP;
}

static void advance(struct machine *m, uint64_t factored)
{
    uint64_t delta;
    if (__builtin_mul_overflow(factored, m->cie->code_align, &delta) || delta > UINT32_MAX)
        delta = UINT32_MAX;
    if (delta)
        program_emit(m, row_of(m));
    m->pc += delta;
}

static struct cursor expression_of(struct cursor *c)
{
    struct text t = cursor_bytes(c, cursor_varint(c));
    return cursor_of(t.at, t.n);
}

static void lose(struct machine *m, uint64_t reg)
{
    set_rule(&m->now, m, reg, (struct rule){LOST, 0});
}

/* Rules for the CFA. False when OP is none of them. */
static bool run_cfa(struct machine *m, uint8_t op, struct cursor *c)
{
    int64_t data = m->cie->data_align;
    uint64_t reg;
    switch (op) {
    case DW_CFA_def_cfa:
        reg = cursor_varint(c);
        set_cfa(m, reg, (int64_t)cursor_varint(c));
        return true;
    case DW_CFA_def_cfa_sf:
        reg = cursor_varint(c);
        set_cfa(m, reg, times(cfi_sleb(c), data));
        return true;
    case DW_CFA_def_cfa_register:
        set_cfa(m, cursor_varint(c), m->now.cfa_offset);
        return true;
    case DW_CFA_def_cfa_offset:
        m->now.cfa_offset = (int64_t)cursor_varint(c);
        return true;
    case DW_CFA_def_cfa_offset_sf:
        m->now.cfa_offset = times(cfi_sleb(c), data);
        return true;
    case DW_CFA_def_cfa_expression:
        cfa_expression(m->cie->arch, expression_of(c), &m->now);
        return true;
    default:
        return false;
    }
}

/* Rules for registers. False when OP is none of them. */
static bool run_register(struct machine *m, uint8_t op, struct cursor *c)
{
    if (op < DW_CFA_offset_extended || op > DW_CFA_GNU_negative_offset_extended)
        return false;
    uint64_t reg = cursor_varint(c);
    switch (op) {
    case DW_CFA_offset_extended:
        set_saved(m, reg, (int64_t)cursor_varint(c));
        return true;
    case DW_CFA_offset_extended_sf:
        set_saved(m, reg, cfi_sleb(c));
        return true;
    case DW_CFA_GNU_negative_offset_extended:
        set_saved(m, reg, times(-1, (int64_t)cursor_varint(c)));
        return true;
    case DW_CFA_restore_extended:
        restore_rule(m, reg);
        return true;
    case DW_CFA_undefined:
        set_rule(&m->now, m, reg, (struct rule){UNDEFINED, 0});
        return true;
    case DW_CFA_same_value:
        set_rule(&m->now, m, reg, (struct rule){UNCHANGED, 0});
        return true;
    case DW_CFA_expression:
        set_rule(&m->now, m, reg, place_expression(m->cie->arch, expression_of(c)));
        return true;
    case DW_CFA_val_expression:
        expression_of(c);
        lose(m, reg);
        return true;
    case DW_CFA_register:
        set_rule(&m->now, m, reg, (struct rule){IN_OTHER, (int64_t)(cursor_varint(c) & 0xff)});
        return true;
    case DW_CFA_val_offset:
    case DW_CFA_val_offset_sf:
        cursor_varint(c); /* skips a signed one as well */
        lose(m, reg);
        return true;
    default:
        return false;
    }
}

static bool program_remember(struct machine *m)
{
    if (m->n_remembered == REMEMBER_MAX)
        return false;
    m->remembered[m->n_remembered++] = m->now;
    return true;
}

static bool recall(struct machine *m)
{
    if (m->n_remembered == 0)
        return false;
    m->now = m->remembered[--m->n_remembered];
    return true;
}

/* What has no register in it. False for what we do not know. */
static bool run_other(struct machine *m, uint8_t op, struct cursor *c)
{
    switch (op) {
    case DW_CFA_nop:
    case CFA_negate_ra_state: /* signatures are masked off in any case */
        return true;
    case DW_CFA_set_loc: /* absolute: only ever seen in .debug_frame of other processors */
        return false;
    case DW_CFA_advance_loc1:
        advance(m, cursor_uint(c, 1));
        return true;
    case DW_CFA_advance_loc2:
        advance(m, cursor_uint(c, 2));
        return true;
    case DW_CFA_advance_loc4:
        advance(m, cursor_uint(c, 4));
        return true;
    case DW_CFA_MIPS_advance_loc8:
        advance(m, cursor_uint(c, 8));
        return true;
    case DW_CFA_remember_state:
        return program_remember(m);
    case DW_CFA_restore_state:
        return recall(m);
    case DW_CFA_GNU_args_size:
        cursor_varint(c);
        return true;
    default:
        return false;
    }
}

static bool run_one(struct machine *m, struct cursor *c)
{
    uint8_t op = (uint8_t)cursor_uint(c, 1), low = op & 0x3f;
    switch (op & 0xc0) {
    case DW_CFA_advance_loc:
        advance(m, low);
        return true;
    case DW_CFA_offset:
        set_saved(m, low, (int64_t)cursor_varint(c));
        return true;
    case DW_CFA_restore:
        restore_rule(m, low);
        return true;
    default:
        return run_other(m, op, c) || run_cfa(m, op, c) || run_register(m, op, c);
    }
}

/* False where the program makes no sense: its state then is not to be trusted. */
static bool program_run(struct machine *m, struct cursor c)
{
    while (cursor_more(&c) && m->pc < m->span.end)
        if (!run_one(m, &c))
            return false;
    return !c.bad;
}

void cfi_run(struct cfi_rows *to, const struct cfi_cie *cie, struct cursor program,
             struct cfi_span span)
{
    struct machine m;
    m.cie = cie;
    m.now = (struct state){.cfa_reg = UINT64_MAX, .expression = CFA_GAP};
    m.n_remembered = 0;
    m.to = to;
    m.span = span;
    m.pc = span.start;
    bool good = program_run(&m, cie->program);
    to->rows.n = span.first; /* a CIE has no business to advance */
    m.pc = span.start;
    m.initial = m.now;
    good = good && program_run(&m, program);
    program_emit(&m, good ? row_of(&m) : (struct unwind_row){.cfa = CFA_UNKNOWN});
    span.n = (uint32_t)(to->rows.n - span.first);
    if (span.n)
        *vec_push(&to->spans) = span;
}
