/*
 * space_inner.h - what the walk needs of a space, at the speed it needs it.
 */
#pragma once
#include "unwind/arch.h"
#include "unwind/codefile.h"
#include "unwind/space.h"

/* The rule for one address of one state of one space. Six steps in seven are found here. */
struct rule_slot {
    uint64_t pc;
    uint32_t generation;
    struct unwind_row row;
};

enum { RULE_SLOTS_BITS = 12, RULE_SLOTS = 1 << RULE_SLOTS_BITS };

struct unwind_space {
    struct unwind_files *files;
    struct rule_slot *slots; /* the files', shared by all spaces */
    const struct arch *arch;
    struct mapped *maps; /* sorted by start, without overlaps */
    size_t n_maps, cap_maps;
    uint32_t generation; /* another number after each change, unlike that of any other space */
};

/* Look the rule for PC up in the tables, and keep it. */
const struct unwind_row *space_rule_slow(struct unwind_space *s, uint64_t pc,
                                         struct rule_slot *slot);

/* The rule for the instruction at PC; CFA_GAP and CFA_NO_MAP where there is none. */
static inline const struct unwind_row *space_rule(struct unwind_space *s, uint64_t pc)
{
    struct rule_slot *slot = &s->slots[pc * 0x9e3779b97f4a7c15u >> (64 - RULE_SLOTS_BITS)];
    if (slot->pc == pc && slot->generation == s->generation)
        return &slot->row;
    return space_rule_slow(s, pc, slot);
}

/* Whether PC lies in a mapping without a file: code made while the program runs. */
bool space_is_anonymous(struct unwind_space *s, uint64_t pc);

/* What ends right before PC; BEFORE_OTHER where no code of a file is at hand. */
enum code_before space_before(struct unwind_space *s, uint64_t pc);

/* The rules for the instruction at PC as its code has them: see epilogue_rows(). */
void space_code_rows(struct unwind_space *s, uint64_t pc, struct unwind_row *ret);
