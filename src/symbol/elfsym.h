/*
 * elfsym.h - function names from an ELF file's symbol tables.
 *
 * Public names are what other files can call a function by. They count before everything else,
 * so that a function has the same name with and without debug information:
 *
 *     1. .dynsym, the newest version of a symbol before older ones
 *     2. global symbols of .symtab
 *     3. debug information (see dwarf.h)
 *     4. local symbols of .symtab
 *     5. labels of assembly, up to the next symbol, unless that may have been stripped
 *
 * Of several public names for one address the one with fewer underscores in front is shown, then
 * the shorter, then the first by alphabet: "write" and not "__write". Of several local names the
 * longer, as perf does: "__memmove_avx_unaligned_erms" and not "__memcpy_avx_unaligned_erms".
 *
 * Variants of a public function that the loader chooses from are not public. They are
 * "__memmove_avx_unaligned_erms" where debug symbols know them, else what they were chosen for
 * ("memcpy", see chosen.h), else a place ("[libc.so.6+0x152a80]").
 */
#pragma once
#include "symbol/lookup.h"

#include <gelf.h>

/* The best first. */
enum elfsym_rank {
    ELFSYM_DYNAMIC,
    ELFSYM_DYNAMIC_OLD, /* of an older version: "memcpy@GLIBC_2.2.5" */
    ELFSYM_GLOBAL,
    ELFSYM_LOCAL,
    ELFSYM_GLOBAL_LABEL,
    ELFSYM_LOCAL_LABEL,
};

/* A symbol of code. */
struct elfsym {
    uint64_t start, size;
    uint32_t name; /* offset in the table's strings */
    uint16_t section;
    uint8_t table, rank;
    bool chooses; /* code that the loader asks which of several functions of this name to take */
    /* By elfsyms_weigh(): what names are compared by. Many symbols may share a very long name. */
    bool weighed, label;
    uint8_t flaws;          /* how bad it is: of an old version, a part of a function ... */
    uint32_t lead, plain_n; /* underscores in front; bytes without the version */
};

enum {
    ELFSYM_NAME_MAX = 8192,    /* bytes of a name that count; the rest is cut off */
    ELFSYM_COMPARED_MAX = 4096 /* bytes by which names of one length are put into order */
};

struct elfsym_table {
    Elf *elf;
    Elf_Data *data, *versions; /* versions: NULL where there are none */
    size_t n, strings;         /* number of symbols, index of the section of their names */
    bool dynamic;
    VEC(bool) code; /* by section: holds code */
};

enum { ELFSYMS_MAX = 3 };

/* All tables of a module. The files must stay open. */
struct elfsyms {
    struct elfsym_table tables[ELFSYMS_MAX];
    int n;
};

/* Add the table of TYPE, SHT_DYNSYM or SHT_SYMTAB. -1 where ELF has none or there is no room. */
int elfsyms_add(struct elfsyms *s, Elf *elf, uint32_t type);
void elfsyms_done(struct elfsyms *s);

/* Symbol I of a table if it may name code. */
bool elfsyms_get(const struct elfsyms *s, int table, size_t i, struct elfsym *ret);

/* A symbol's name without its version. */
struct text elfsyms_name(const struct elfsyms *s, const struct elfsym *symbol);

/* Look at the name once, before it is compared with many others. Harmless when done already. */
void elfsyms_weigh(const struct elfsyms *s, struct elfsym *symbol);

/* Negative where A is the better name for the same address. */
int elfsyms_compare(const struct elfsyms *s, const struct elfsym *a, const struct elfsym *b);

/* The function of a symbol, not added yet; its name is 0 if that is only a label. */
struct function elfsyms_describe(const struct elfsyms *s, struct lookup *l,
                                 const struct elfsym *symbol);

/* Public names, in place of whatever the addresses are called so far. */
void elfsyms_name_public(const struct elfsyms *s, struct lookup *l);

/* All others, for addresses that have no name yet. Labels of a stripped file name nothing. */
void elfsyms_name_rest(const struct elfsyms *s, struct lookup *l);
