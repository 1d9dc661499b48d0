#include "code/intloop.h"

/* What an instruction does, as far as it matters here. */
enum action {
    ACT_OTHER, /* not known: then nothing is said of the loop */
    ACT_MOVE,  /* load, store or copy, perhaps widening */
    ACT_ADD,   /* also subtract; each of these is a kind of reduction */
    ACT_AND,
    ACT_OR,
    ACT_XOR,
    ACT_MULTIPLY,
    ACT_SHIFT,
    ACT_COMPARE,
    ACT_BRANCH,
    ACT_NOTHING,
};

struct step {
    enum action action;
    int to;           /* register that is written, or compared; -1 = memory */
    int from;         /* the other register; -1 = memory or a constant */
    bool memory;      /* an operand is in memory: */
    uint32_t address; /* the registers of its address, a bit each */
    bool stores;      /* and that is what is written */
    bool has_immediate;
    bool overwrites; /* what is written is not read first, though it is no move */
};

enum { RAX = 0, RSP = 4 };

/* Registers of a memory operand; REX in its low four bits. Relative to rip: none. */
static uint32_t intloop_address_of(const uint8_t *modrm, unsigned rex)
{
    unsigned mod = modrm[0] >> 6, rm = modrm[0] & 7;
    if (rm != 4)
        return mod == 0 && rm == 5 ? 0 : 1u << (rm | (rex & 1) << 3);
    unsigned base = modrm[1] & 7, index = (modrm[1] >> 3 & 7) | (rex >> 1 & 1) << 3;
    uint32_t bits = mod == 0 && base == 5 ? 0 : 1u << (base | (rex & 1) << 3);
    return index == RSP ? bits : bits | 1u << index;
}

/* Operands by ModRM; TO_RM: the register or memory of r/m is written. */
static struct step with_modrm(enum action action, const uint8_t *modrm, unsigned rex, bool to_rm)
{
    int reg = (modrm[0] >> 3 & 7) | (int)(rex >> 2 & 1) << 3;
    bool memory = modrm[0] >> 6 != 3;
    int rm = memory ? -1 : (int)((modrm[0] & 7) | (rex & 1) << 3);
    struct step s = {action, to_rm ? rm : reg, to_rm ? reg : rm, .memory = memory};
    if (memory)
        s.address = intloop_address_of(modrm, rex);
    s.stores = memory && to_rm && action != ACT_COMPARE;
    return s;
}

static const enum action group1[] = {ACT_ADD, ACT_OR,  ACT_OTHER, ACT_OTHER,
                                     ACT_AND, ACT_ADD, ACT_XOR,   ACT_COMPARE};

static struct step with_constant(enum action action, const uint8_t *modrm, unsigned rex)
{
    struct step s = with_modrm(action, modrm, rex, true);
    s.from = -1;
    s.has_immediate = true;
    return s;
}

/* One byte of opcode: op r/m,r and op r,r/m of the eight old operations, moves, constants. */
static struct step decode_plain(const uint8_t *at, unsigned rex)
{
    uint8_t op = at[0];
    if (op < 0x40 && (op & 7) < 4)
        return with_modrm(group1[op >> 3], at + 1, rex, !(op & 2));
    switch (op) {
    case 0x63:
    case 0x8a:
    case 0x8b:
        return with_modrm(ACT_MOVE, at + 1, rex, false);
    case 0x88:
    case 0x89:
        return with_modrm(ACT_MOVE, at + 1, rex, true);
    case 0x8d: { /* lea: adds, and touches no memory */
        struct step s = with_modrm(ACT_ADD, at + 1, rex, false);
        s.memory = false;
        s.has_immediate = true;
        s.overwrites = true;
        return s;
    }
    case 0x69:
    case 0x6b: {
        struct step s = with_modrm(ACT_MULTIPLY, at + 1, rex, false);
        s.overwrites = true;
        return s;
    }
    case 0x80:
    case 0x81:
    case 0x83:
        return with_constant(group1[at[1] >> 3 & 7], at + 1, rex);
    case 0xc1:
    case 0xd1:
        return with_constant(ACT_SHIFT, at + 1, rex);
    case 0x84:
    case 0x85:
        return with_modrm(ACT_COMPARE, at + 1, rex, true);
    case 0x90:
        return (struct step){ACT_NOTHING, -1, -1};
    case 0x98: /* cltq: the number in rax grows wider */
        return (struct step){ACT_MOVE, RAX, RAX};
    case 0xf6:
    case 0xf7: /* neg */
        return (at[1] >> 3 & 7) == 3 ? with_constant(ACT_SHIFT, at + 1, rex)
                                     : (struct step){ACT_OTHER, -1, -1};
    case 0xff:
        return (at[1] >> 3 & 7) < 2 ? with_constant(ACT_ADD, at + 1, rex)
                                    : (struct step){ACT_OTHER, -1, -1};
    }
    return (struct step){op >> 4 == 7 ? ACT_BRANCH : ACT_OTHER, -1, -1};
}

static struct step decode_step(const uint8_t *at)
{
    unsigned rex = 0;
    if (*at == 0x66)
        at++;
    if (*at >> 4 == 4)
        rex = *at++;
    if (*at != 0x0f)
        return decode_plain(at, rex);
    if (at[1] == 0xaf)
        return with_modrm(ACT_MULTIPLY, at + 2, rex, false);
    if (at[1] >> 4 == 4) /* cmov: what was there, or another */
        return with_modrm(ACT_AND, at + 2, rex, false);
    if (at[1] == 0xb6 || at[1] == 0xb7 || at[1] == 0xbe || at[1] == 0xbf)
        return with_modrm(ACT_MOVE, at + 2, rex, false);
    return (struct step){at[1] >> 4 == 8 ? ACT_BRANCH : ACT_OTHER, -1, -1};
}

/* --- the loop --- */

struct loop {
    uint32_t addresses, loaded, stepped; /* registers, a bit each */
    uint32_t mixed;                      /* written with what another register or memory has */
    uint32_t asked;                      /* compared before an exit in the middle */
    bool exits_by_data;                  /* such an exit depends on more than registers */
    uint32_t done_to[16];                /* by register: 1 << enum action */
    bool reads, computes;
    struct step last_compare;
};

static void note_step(struct loop *p, const struct step *s)
{
    bool heap = s->memory && s->address && s->address != 1u << RSP;
    p->addresses |= heap ? s->address : 0;
    p->reads |= heap && !(s->stores && s->action == ACT_MOVE);
    if (s->action == ACT_COMPARE)
        p->last_compare = *s;
    if (s->action == ACT_MOVE && heap && !s->stores)
        p->loaded |= 1u << s->to;
    bool writes = s->action >= ACT_MOVE && s->action <= ACT_SHIFT && s->to >= 0;
    if (writes && !s->has_immediate)
        p->mixed |= 1u << s->to;
    bool operation = s->action >= ACT_ADD && s->action <= ACT_SHIFT;
    if (!operation)
        return;
    if (s->to >= 0 && s->has_immediate && s->action == ACT_ADD)
        p->stepped |= 1u << s->to;
    if (s->to >= 0)
        p->done_to[s->to] |= 1u << s->action;
}

/* What goes from register to register, and from turn to turn. */
struct carry {
    uint32_t written, carried_in; /* read before it is written */
    uint32_t read;                /* by more than the operation that writes it */
    uint32_t no_step, moved;      /* written by more than adding a constant; by a copy */
};

static void carry_step(struct carry *c, const struct step *s)
{
    bool operation = s->action >= ACT_ADD && s->action <= ACT_SHIFT;
    uint32_t to = s->to >= 0 ? 1u << s->to : 0;
    uint32_t read = s->address | (s->from >= 0 ? 1u << s->from : 0);
    read |= s->action == ACT_COMPARE ? to : 0;
    uint32_t again = operation && !s->overwrites ? to : 0;
    c->carried_in |= (read | again) & ~c->written;
    c->read |= read;
    if (!operation && s->action != ACT_MOVE)
        return;
    bool step = s->action == ACT_ADD && s->has_immediate && (!s->overwrites || s->address == to);
    c->written |= to;
    c->no_step |= step ? 0 : to;
    c->moved |= s->action == ACT_MOVE || (s->overwrites && !step) ? to : 0;
}

/*
 * Whether a turn needs what the turn before computed, other than for the sum itself: carries of
 * long numbers, running sums that are stored.
 */
static bool needs_turn_before(const struct listing_insn *insn, size_t n)
{
    struct carry c = {0};
    for (size_t i = 0; i < n; i++) {
        struct step s = decode_step(insn[i].bytes);
        carry_step(&c, &s);
    }
    return c.carried_in & c.written & c.no_step & (c.read | c.moved);
}

/* A number that goes from turn to turn must be a sum, a product or the like, not a mixture. */
static bool carries_simple_sums(const struct loop *p)
{
    for (int r = 0; r < 16; r++) {
        bool fresh = p->loaded >> r & 1; /* overwritten in each turn */
        if (!fresh && p->done_to[r] & (p->done_to[r] - 1))
            return false;
    }
    return true;
}

/* Whether a number that is no address is computed. */
static bool computes_numbers(const struct loop *p, const struct listing_insn *insn, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct step s = decode_step(insn[i].bytes);
        bool operation = s.action >= ACT_ADD && s.action <= ACT_MULTIPLY;
        if (operation && (s.stores || (s.to >= 0 && !(p->addresses >> s.to & 1) &&
                                       !(s.has_immediate && !(p->loaded >> s.to & 1)))))
            return true;
    }
    return false;
}

static bool ends_by_data(const struct loop *p)
{
    const struct step *c = &p->last_compare;
    bool memory = c->memory && c->address != 1u << RSP && c->address;
    bool read =
        (c->to >= 0 && p->loaded >> c->to & 1) || (c->from >= 0 && p->loaded >> c->from & 1);
    return c->action == ACT_COMPARE && (memory || read);
}

/* A branch out of the middle of the loop, right behind STEP. */
static void note_exit(struct loop *p, const struct step *step)
{
    p->exits_by_data |= step->action != ACT_COMPARE || step->memory;
    p->asked |= step->to >= 0 ? 1u << step->to : 0;
    p->asked |= step->from >= 0 ? 1u << step->from : 0;
}

/* The loop that B is in: it ends with a branch back, in B or a block or two after it. */
static size_t intloop_find(const struct listing *l, const struct listing_block *b, size_t *ret_n)
{
    const struct listing_block *end = l->blocks.at + l->blocks.n;
    for (const struct listing_block *at = b; at < end && at <= b + 2; at++) {
        const struct listing_insn *last = &l->insns.at[at->first + at->n - 1];
        if (last->x.flow != X86_BRANCH || last->x.target >= 0)
            continue;
        size_t first = listing_find(l, last->pc + (uint64_t)last->x.target);
        *ret_n = at->first + at->n - first;
        return first <= b->first ? first : SIZE_MAX;
    }
    return SIZE_MAX;
}

bool intloop_is_candidate(const struct listing *l, const struct listing_block *b)
{
    struct loop p = {0};
    struct step before = {.action = ACT_OTHER};
    size_t n, first = intloop_find(l, b, &n);
    if (first == SIZE_MAX || n > 40)
        return false;
    const struct listing_insn *insn = &l->insns.at[first];
    for (size_t i = 0; i < n; i++) {
        bool last = i + 1 == n;
        if (insn[i].x.bad || insn[i].x.isa != X86_BASE)
            return false;
        struct step s = decode_step(insn[i].bytes);
        bool leaves = insn[i].pc + (uint64_t)insn[i].x.target > insn[n - 1].pc;
        if (s.action == ACT_OTHER || (last && s.action != ACT_BRANCH) ||
            (s.action == ACT_BRANCH && !last && !leaves))
            return false;
        if (s.action == ACT_BRANCH && !last)
            note_exit(&p, &before);
        note_step(&p, &s);
        before = s;
    }
    if (p.exits_by_data || p.asked & (p.loaded | p.mixed))
        return false;
    return p.reads && p.stepped & p.addresses && !(p.addresses & p.loaded) &&
           carries_simple_sums(&p) && !needs_turn_before(insn, n) && !ends_by_data(&p) &&
           computes_numbers(&p, insn, n);
}
