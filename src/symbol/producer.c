#include "symbol/producer.h"

#include "base/mem.h"
#include "symbol/elffile.h"

#include <dwarf.h>

enum { UNITS_LOOKED_AT = 64, LENGTH_MAX = 1000 };

static const char *text_of_attribute(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attribute;
    return dwarf_attr(die, name, &attribute) ? dwarf_formstring(&attribute) : NULL;
}

/* Start-up code is written in assembly and comes first. */
static bool is_assembly(Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    Dwarf_Word language;
    return dwarf_attr(die, DW_AT_language, &attribute) &&
           dwarf_formudata(&attribute, &language) == 0 && language == DW_LANG_Mips_Assembler;
}

static char *from_dwarf(Dwarf *dw)
{
    Dwarf_CU *unit = NULL;
    for (int i = 0; i < UNITS_LOOKED_AT; i++) {
        Dwarf_Die die;
        uint8_t type;
        if (dwarf_get_units(dw, unit, &unit, NULL, &type, &die, NULL) != 0)
            break;
        const char *said = type == DW_UT_compile || type == DW_UT_skeleton
                               ? text_of_attribute(&die, DW_AT_producer)
                               : NULL;
        if (said && *said && !is_assembly(&die))
            return mem_strndup(said, strnlen(said, LENGTH_MAX));
    }
    return NULL;
}

/* Nothing where there is no such section. */
static struct text bytes_of_section(Elf *elf, const char *name)
{
    Elf_Scn *section = elffile_named_section(elf, name);
    Elf_Data *data = section ? elf_rawdata(section, NULL) : NULL;
    return data && data->d_buf ? (struct text){data->d_buf, data->d_size} : (struct text){0};
}

/* A text for each compiler, and one for the linker. That of start-up code in C may come first. */
static char *from_comment(Elf *elf)
{
    struct text rest = bytes_of_section(elf, ".comment"), said = {0};
    while (rest.n) {
        struct text one = text_cut(&rest, '\0');
        bool rust = text_starts(one, "rustc ");
        if (one.n && (!said.n || rust))
            said = one;
        if (rust)
            break;
    }
    return said.n ? mem_strndup(said.at, said.n < LENGTH_MAX ? said.n : LENGTH_MAX) : NULL;
}

/*
 * What Go 1.18 and later leave in every program, stripped ones too:
 *
 *     0   "\xff Go buildinf:"
 *     14  size of a pointer
 *     15  flags: 2 = texts follow, each behind its length
 *     32  length of the version, one byte up to 127; the version: "go1.19.8"
 */
static char *from_go(Elf *elf)
{
    static const char magic[] = "\xff Go buildinf:";
    enum { FLAGS = 15, LENGTH = 32, TEXTS_FOLLOW = 2 };
    struct text info = bytes_of_section(elf, ".go.buildinfo");
    if (info.n <= LENGTH || memcmp(info.at, magic, sizeof magic - 1) != 0 ||
        !(info.at[FLAGS] & TEXTS_FOLLOW))
        return NULL;
    size_t n = (unsigned char)info.at[LENGTH];
    if (!n || n > 127 || n > info.n - LENGTH - 1)
        return NULL;
    return mem_printf("Go %.*s", (int)n, info.at + LENGTH + 1);
}

char *producer_read(const char *path)
{
    struct elffile f;
    elf_version(EV_CURRENT);
    if (elffile_open(&f, path, text_of("")) != 0)
        return NULL;
    Dwarf *dw = elffile_dwarf_units(&f);
    char *said = dw ? from_dwarf(dw) : NULL;
    if (!said)
        said = from_go(f.elf);
    if (!said)
        said = from_comment(f.elf);
    elffile_close(&f);
    return said;
}

/* The last option counts: "-O2 -O0" is no optimization. -Og is some. */
bool producer_optimises_nothing(const char *said)
{
    bool nothing = true;
    if (strncmp(said, "GNU ", 4) != 0 || strncmp(said, "GNU AS", 6) == 0)
        return false;
    for (const char *at = said; (at = strstr(at, " -O")); at += 3)
        nothing = at[3] == '0' && (at[4] == ' ' || !at[4]);
    return nothing;
}

/* elffile_dwarf_units() leaves .debug_aranges out, so the units are asked in turn. */
bool producer_left_unoptimised(Dwarf *dw, uint64_t pc)
{
    Dwarf_CU *unit = NULL;
    Dwarf_Die die;
    uint8_t type;
    while (dwarf_get_units(dw, unit, &unit, NULL, &type, &die, NULL) == 0) {
        bool code = type == DW_UT_compile || type == DW_UT_skeleton;
        if (!code || dwarf_haspc(&die, pc) != 1)
            continue;
        const char *said = is_assembly(&die) ? NULL : text_of_attribute(&die, DW_AT_producer);
        return said && producer_optimises_nothing(said);
    }
    return false;
}
