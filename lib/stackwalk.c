/*
 * stackwalk.c - the stack of a call, as a node of the shared trie.
 *
 * The walk reads the thread's own stack, with the rows of src/unwind. It starts at a call, so it
 * needs only the rules that compilers make for calls; unwind/walk.c, which starts anywhere, has to
 * know more.
 *
 * Between two allocations most callers stay as they are. As soon as a frame of the last walk is
 * reached (same stack pointer, same return address), the return addresses further out are compared
 * with what lies in their slots now: two loads a frame instead of a rule and a table of nodes. And
 * a call that came before, with the same stack pointer, is compared with its own last stack.
 */
#include "stackwalk.h"
#include "proc.h"
#include "unwind/arch.h"

#include <string.h>

enum { WORD = 8, TRIE_TRIES = 256 };

/* The kernel keeps more than this free below the main thread's stack, which grows. */
#define MAIN_STACK_BYTES ((uintptr_t)64 << 20)

/* Of a fresh frame, in place of its node. */
enum { FRESH_USES_FP = 1, FRESH_HAS_FP = 2, FRESH_EXACT = 4 };

extern void *__libc_stack_end; /* somewhere in the main thread's stack, above all frames */

static struct stackwalk_trie *trie;
static uint32_t trie_max, trie_bits; /* copies: the memory may be scribbled on */

/* --- the trie --- */

bool stackwalk_init(void)
{
    uint64_t n;
    struct channel_file f = {(uint32_t)channel->params[STACKWALK_PARAM_TRIE_FD],
                             channel->params[STACKWALK_PARAM_TRIE_INODE]};
    if (trie)
        return true;
    struct stackwalk_trie *t = channel_map((uint64_t)channel->recorder_pid, &f, true, &n);
    if (!t || t->magic != STACKWALK_TRIE_MAGIC || t->size_bytes != n || t->table_bits > 31 ||
        stackwalk_trie_size(t->n_max, t->table_bits) > n)
        return false;
    trie_max = t->n_max;
    trie_bits = t->table_bits;
    trie = t;
    return true;
}

/* A new node; 0 when there is no room. */
static uint32_t trie_new(uint32_t parent, uint64_t pc)
{
    uint32_t id = atomic_load_explicit(&trie->n, memory_order_relaxed) < trie_max
                      ? atomic_fetch_add_explicit(&trie->n, 1, memory_order_relaxed)
                      : trie_max;
    if (id >= trie_max) {
        atomic_fetch_add_explicit(&trie->lost, 1, memory_order_relaxed);
        return 0;
    }
    struct stackwalk_node *node = stackwalk_trie_node(trie, id);
    node->pc = pc;
    node->parent = parent;
    return id;
}

/* An id that lost the race for its place stays unused: then a parent's is smaller always. */
uint32_t stackwalk_trie_add(uint32_t parent, uint64_t pc)
{
    _Atomic uint32_t *table = stackwalk_trie_table(trie, trie_max);
    uint64_t at = stackwalk_trie_hash(parent, pc) >> (64 - trie_bits), mask = (1u << trie_bits) - 1;
    for (int i = 0; i < TRIE_TRIES; i++, at = (at + 1) & mask) {
        uint32_t id = atomic_load_explicit(&table[at], memory_order_acquire);
        if (!id) {
            uint32_t new = trie_new(parent, pc);
            if (!new)
                return parent;
            if (atomic_compare_exchange_strong_explicit(&table[at], &id, new, memory_order_acq_rel,
                                                        memory_order_acquire))
                return new;
        }
        const struct stackwalk_node *node = stackwalk_trie_node(trie, id < trie_max ? id : 0);
        if (node->parent == parent && node->pc == pc)
            return id;
    }
    atomic_fetch_add_explicit(&trie->lost, 1, memory_order_relaxed);
    return parent;
}

/* --- rules --- */

static const struct unwind_row *row_find(const struct stackwalk_code *code, uint64_t pc)
{
    uint64_t at = pc - code->base;
    if (pc < code->base || at > UINT32_MAX || !code->n_rows || at < code->rows[0].pc)
        return NULL;
    const struct unwind_row *row = code->rows;
    for (size_t n = code->n_rows; n > 1;) {
        size_t half = n / 2;
        row = row[half].pc <= at ? row + half : row;
        n -= half;
    }
    return row;
}

static void rule_look_up(struct stackwalk_thread *t, uint64_t pc, struct stackwalk_rule *rule)
{
    const struct stackwalk_code *code = stackwalk_modules_find(t->modules, pc);
    if (!code && stackwalk_learn(t, pc))
        code = stackwalk_modules_find(t->modules, pc);
    const struct unwind_row *row = code ? row_find(code, pc) : NULL;
    rule->row = row ? *row : (struct unwind_row){.cfa = code ? CFA_GAP : CFA_NO_MAP};
    rule->pc = pc;
    rule->generation = t->modules ? t->modules->generation : 0;
}

static inline const struct unwind_row *rule_of(struct stackwalk_thread *t, uint64_t pc)
{
    struct stackwalk_rule *rule =
        &t->rules[pc * UINT64_C(0x9e3779b97f4a7c15) >> (64 - STACKWALK_RULE_BITS)];
    if (rule->pc != pc || !t->modules || rule->generation != t->modules->generation)
        rule_look_up(t, pc, rule);
    return &rule->row;
}

/* --- a step --- */

/* A frame: where it will go on, and its registers then. */
struct walk {
    uint64_t pc, sp, fp;
    uint64_t slot;        /* where pc lay */
    uint64_t low, end;    /* of the memory that may be read */
    bool exact;           /* pc is where a signal came in, not a return address */
    bool uses_fp, has_fp; /* by the rule: to find the caller; from the stack */
};

static inline bool walk_word(const struct walk *w, uint64_t address, uint64_t *ret)
{
    if (address < w->low || address > w->end - WORD || address % WORD)
        return false;
    *ret = *(const uint64_t *)address;
    return true;
}

/* The frame pointer as it was in the caller, whose stack begins at CFA. */
static bool restore_fp(struct walk *w, const struct unwind_row *row, uint64_t cfa)
{
    uint64_t place =
        (row->flags & ROW_FP_AT_FP ? w->fp : cfa) + (uint64_t)(row->fp_offset * (int64_t)WORD);
    w->has_fp = row->flags & (ROW_FP_SAVED | ROW_FP_AT_FP);
    w->uses_fp |= (row->flags & ROW_FP_AT_FP) != 0;
    if (row->flags & ROW_FP_SAVED)
        return place < w->sp || walk_word(w, place, &w->fp);
    if (row->flags & ROW_FP_AT_FP)
        w->fp = 0;
    return true;
}

static enum stackwalk_end stackwalk_to_caller(struct walk *w, const struct unwind_row *row,
                                              uint64_t cfa)
{
    uint64_t pc;
    if (cfa <= w->sp || !walk_word(w, cfa - WORD, &pc) || !restore_fp(w, row, cfa))
        return STACKWALK_END_NO_SENSE;
    w->slot = cfa - WORD;
    w->pc = pc;
    w->sp = cfa;
    w->exact = false;
    return STACKWALK_ENDS;
}

static enum stackwalk_end by_deref(struct walk *w, const struct unwind_row *row, uint64_t base)
{
    uint64_t cfa;
    if (!walk_word(w, base + (uint64_t)(row->cfa_offset * (int64_t)WORD), &cfa))
        return STACKWALK_END_NO_SENSE;
    return stackwalk_to_caller(w, row, cfa + (uint64_t)(row->flags >> ROW_NUMBER_SHIFT) * WORD);
}

static enum stackwalk_end by_signal(struct walk *w)
{
    const struct arch_regs *at = &arch_host()->signal;
    uint64_t frame = w->sp;
    if (!walk_word(w, frame + at->fp, &w->fp) || !walk_word(w, frame + at->pc, &w->pc) ||
        !walk_word(w, frame + at->sp, &w->sp))
        return STACKWALK_END_NO_SENSE;
    w->slot = frame + at->pc;
    w->exact = w->has_fp = true;
    return STACKWALK_ENDS;
}

/* Code without rules: made by a compiler at run time that keeps frame pointers, or assembly. */
static enum stackwalk_end by_frame_pointer(struct stackwalk_thread *t, struct walk *w)
{
    uint64_t fp = w->fp, next_fp, pc;
    if (fp == 0)
        return STACKWALK_END_WHOLE; /* the ABI's mark of the outermost frame */
    if (fp < w->sp || !walk_word(w, fp, &next_fp) || !walk_word(w, fp + WORD, &pc))
        return STACKWALK_END_NO_RULE;
    if (pc && rule_of(t, pc - 1)->cfa == CFA_NO_MAP)
        return STACKWALK_END_NO_RULE;
    w->uses_fp = w->has_fp = true;
    w->slot = fp + WORD;
    w->pc = pc;
    w->sp = fp + 2 * WORD;
    w->fp = next_fp;
    w->exact = false;
    return STACKWALK_ENDS;
}

/* To the caller, or STACKWALK_ENDS, which means on. */
static enum stackwalk_end walk_step(struct stackwalk_thread *t, struct walk *w)
{
    const struct unwind_row *row = rule_of(t, w->exact ? w->pc : w->pc - 1);
    uint64_t offset = (uint64_t)(row->cfa_offset * (int64_t)WORD);
    w->uses_fp = w->has_fp = false;
    switch (row->cfa) {
    case CFA_SP:
        return stackwalk_to_caller(w, row, w->sp + offset);
    case CFA_FP:
        w->uses_fp = true;
        return stackwalk_to_caller(w, row, w->fp + offset);
    case CFA_SP_DEREF:
        return by_deref(w, row, w->sp);
    case CFA_FP_DEREF:
        w->uses_fp = true;
        return by_deref(w, row, w->fp);
    case CFA_SIGNAL:
        return by_signal(w);
    case CFA_BOTTOM:
        return STACKWALK_END_WHOLE;
    case CFA_GAP:
        return by_frame_pointer(t, w);
    case CFA_NO_MAP:
        return STACKWALK_END_NO_MAP;
    default:
        return STACKWALK_END_NO_SENSE;
    }
}

/* --- the last walk --- */

/*
 * The number of frames from the outermost on up to the first, from I inwards out, whose return
 * address does not lie where it lay: 0 when all outside of frame I are as they were. Four at a
 * time: nearly always all are, and the processor need not ask after each.
 */
static inline uint32_t changed_outside(const struct stackwalk_link *link, uint32_t i)
{
    for (; i >= 4; i -= 4) {
        const struct stackwalk_link *l = &link[i - 4];
        if ((*(const uint64_t *)l[0].slot ^ l[0].pc) | (*(const uint64_t *)l[1].slot ^ l[1].pc) |
            (*(const uint64_t *)l[2].slot ^ l[2].pc) | (*(const uint64_t *)l[3].slot ^ l[3].pc))
            break;
    }
    while (i > 0 && *(const uint64_t *)link[i - 1].slot == link[i - 1].pc)
        i--;
    return i;
}

/*
 * The frame of the last walk that is the one of W, with all outside of it as it was; UINT32_MAX
 * when there is none. FROM is the first that may still be reached; frames go from there to 0.
 */
static uint32_t find_old(const struct stackwalk_frames *f, uint32_t *from, const struct walk *w)
{
    while (*from > 0 && f->of[*from - 1].sp < w->sp)
        --*from;
    uint32_t i = *from - 1;
    if (!*from || f->of[i].sp != w->sp || f->link[i].pc != w->pc || f->link[i].slot != w->slot ||
        (f->of[i].needs_fp && f->of[i].fp != w->fp))
        return UINT32_MAX;
    uint32_t changed = changed_outside(f->link, i);
    if (!changed)
        return i;
    *from = changed - 1;
    return UINT32_MAX;
}

/* --- stacks that came up before --- */

void stackwalk_forget(struct stackwalk_thread *t)
{
    t->frames.n = 0;
    t->generation++;
}

/* The return address of the function that called us, where a rule says so by itself; else 0. */
static inline uint64_t caller_of(struct stackwalk_thread *t, const struct stackwalk_call *at)
{
    const struct unwind_row *row = rule_of(t, at->pc - 1);
    uint64_t base = row->cfa == CFA_SP ? at->sp : row->cfa == CFA_FP ? at->fp : 0;
    uint64_t slot = base + (uint64_t)(row->cfa_offset * (int64_t)WORD) - WORD;
    bool may_read = slot >= at->sp && slot <= t->stack_end - WORD && slot % WORD == 0;
    return may_read ? *(const uint64_t *)slot : 0;
}

static inline struct stackwalk_seen *seen_of(struct stackwalk_thread *t,
                                             const struct stackwalk_call *at, uint64_t caller)
{
    uint64_t hash = (at->pc ^ at->sp << 20 ^ caller << 8) * UINT64_C(0x9e3779b97f4a7c15);
    return &t->seen[hash >> (64 - STACKWALK_SEEN_BITS)];
}

/* Keep the walk that is in t->frames, if the call has come before. */
static void seen_keep(struct stackwalk_thread *t, struct stackwalk_seen *s,
                      const struct stackwalk_call *at, uint64_t caller)
{
    const struct stackwalk_frames *f = &t->frames;
    bool again = stackwalk_seen_is_call(t, s, at) && s->caller == caller;
    s->n = 0;
    s->next = s->next ? s->next : s;
    s->pc = at->pc;
    s->sp = at->sp;
    s->caller = caller;
    s->generation = t->generation;
    if (!again || f->n < 2 || f->n - 1 > STACKWALK_SEEN_DEPTH)
        return;
    s->fp = at->fp;
    s->node = f->of[f->n - 1].node;
    s->needs_fp = f->of[f->n - 1].needs_fp;
    memcpy(s->link, f->link, (f->n - 1) * sizeof *s->link);
    for (s->n = f->n - 1; s->n % 4; s->n++)
        s->link[s->n] = s->link[0];
}

/* --- all of it --- */

/* Add the frame of W, and go to its caller. */
static inline enum stackwalk_end walk_frame(struct stackwalk_thread *t, struct walk *w)
{
    struct stackwalk_frames *f = &t->fresh;
    uint32_t i = f->n++, exact = w->exact ? FRESH_EXACT : 0;
    f->link[i] = (struct stackwalk_link){w->slot, w->pc};
    f->of[i].sp = w->sp;
    f->of[i].fp = w->fp;
    enum stackwalk_end end = walk_step(t, w);
    f->of[i].node = exact | (w->uses_fp ? FRESH_USES_FP : 0) | (w->has_fp ? FRESH_HAS_FP : 0);
    return end == STACKWALK_ENDS && !w->pc ? STACKWALK_END_WHOLE : end;
}

/* Put the new frames on top of the first KEPT old ones, and give them nodes. */
static uint32_t keep_fresh(struct stackwalk_thread *t, uint32_t kept, uint32_t node)
{
    struct stackwalk_frames *f = &t->frames, *fresh = &t->fresh;
    bool outside = kept && f->of[kept - 1].needs_fp;
    f->n = kept;
    for (uint32_t i = fresh->n; i-- > 0;) {
        uint32_t k = f->n++;
        uint32_t flags = fresh->of[i].node;
        outside = (flags & FRESH_USES_FP) || (!(flags & FRESH_HAS_FP) && outside);
        /* A return address is one past its call; let that hold for what a signal interrupted. */
        node = stackwalk_trie_add(node, fresh->link[i].pc + (flags & FRESH_EXACT ? 1 : 0));
        f->link[k] = fresh->link[i];
        f->of[k] = (struct stackwalk_frame){
            .sp = fresh->of[i].sp, .fp = fresh->of[i].fp, .node = node, .needs_fp = outside};
    }
    return node;
}

/* The stack, or what is below a signal handler's own, is not where this thread's was. */
static bool find_stack(struct stackwalk_thread *t, uintptr_t sp)
{
    uintptr_t low, end;
    if (!proc_find_map(sp, &low, &end))
        return false;
    bool is_main = (uintptr_t)__libc_stack_end >= low && (uintptr_t)__libc_stack_end < end;
    t->stack_low = is_main ? end - MAIN_STACK_BYTES : low;
    t->stack_end = end;
    stackwalk_forget(t);
    return true;
}

static uint32_t walk_anew(struct stackwalk_thread *t, const struct stackwalk_call *at)
{
    struct stackwalk_frames *fresh = &t->fresh;
    struct walk w = {.pc = at->pc,
                     .sp = at->sp,
                     .fp = at->fp,
                     .slot = at->sp - WORD,
                     .low = at->sp - WORD,
                     .end = t->stack_end};
    uint32_t from = t->frames.n;
    enum stackwalk_end end = STACKWALK_ENDS;
    fresh->n = 0;
    while (end == STACKWALK_ENDS && fresh->n < STACKWALK_DEPTH_MAX) {
        uint32_t old = find_old(&t->frames, &from, &w);
        if (old != UINT32_MAX && old + fresh->n < STACKWALK_DEPTH_MAX)
            return keep_fresh(t, old + 1, t->frames.of[old].node);
        end = walk_frame(t, &w);
    }
    if (end == STACKWALK_ENDS)
        end = STACKWALK_END_DEEP;
    if (end == STACKWALK_END_NO_MAP && fresh->n > 1)
        fresh->n--;
    uint32_t root = stackwalk_process->root;
    return keep_fresh(t, 0, end ? stackwalk_trie_add(root, end) : root);
}

__attribute__((noinline)) static uint32_t walk_or_find(struct stackwalk_thread *t,
                                                       const struct stackwalk_call *at)
{
    const struct stackwalk_modules *newest = stackwalk_modules();
    if (t->modules != newest) {
        t->modules = newest;
        stackwalk_forget(t);
    }
    if ((at->sp < t->stack_low || at->sp >= t->stack_end) && !find_stack(t, at->sp))
        return stackwalk_trie_add(stackwalk_process->root, STACKWALK_END_NO_SENSE);
    uint64_t caller = caller_of(t, at);
    struct stackwalk_seen *seen = seen_of(t, at, caller);
    t->last_seen->next = seen;
    t->last_seen = seen;
    if (stackwalk_seen_is_call(t, seen, at) && seen->caller == caller &&
        stackwalk_seen_is_stack(seen, at))
        return seen->node;
    uint32_t node = walk_anew(t, at);
    seen_keep(t, seen, at, caller);
    return node;
}

uint32_t stackwalk(struct stackwalk_thread *t, const struct stackwalk_call *at)
{
    if (t->walking)
        return stackwalk_trie_add(stackwalk_process->root, STACKWALK_END_HANDLER);
    uint32_t node = stackwalk_expected(t, at);
    if (node)
        return node;
    t->walking = true;
    node = walk_or_find(t, at);
    t->walking = false;
    return node;
}
