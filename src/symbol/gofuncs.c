#include "symbol/gofuncs.h"

#include "base/cursor.h"
#include "symbol/elffile.h"

#include <string.h>

enum { MAGIC_1_16 = 0xfffffffa, MAGIC_1_18 = 0xfffffff0, MAGIC_1_20 = 0xfffffff1 };
enum { NAME_MAX_BYTES = 4096 };

static bool gofuncs_read(const struct gofuncs *g, uint64_t at, int bytes, uint64_t *ret)
{
    if (at > g->n_bytes || g->n_bytes - at < (size_t)bytes)
        return false;
    struct cursor c = cursor_of(g->at + at, (size_t)bytes);
    *ret = cursor_uint(&c, bytes);
    return true;
}

static Elf_Data *table_of(Elf *elf)
{
    Elf_Scn *scn = elffile_named_section(elf, ".gopclntab");
    scn = scn ? scn : elffile_named_section(elf, ".data.rel.ro.gopclntab"); /* -buildmode=pie */
    Elf_Data *data = scn ? elf_rawdata(scn, NULL) : NULL;
    return data && data->d_buf ? data : NULL;
}

/* Linkers that leave the address of the code to the loader write 0. */
static uint64_t address_of_text(Elf *elf)
{
    GElf_Shdr shdr;
    Elf_Scn *scn = elffile_named_section(elf, ".text");
    return scn && gelf_getshdr(scn, &shdr) ? shdr.sh_addr : 0;
}

bool gofuncs_open(struct gofuncs *g, Elf *elf)
{
    uint64_t magic, sizes, n;
    Elf_Data *data = elf ? table_of(elf) : NULL;
    if (!data)
        return false;
    *g = (struct gofuncs){.at = data->d_buf, .n_bytes = data->d_size, .width = 4};
    if (!gofuncs_read(g, 0, 4, &magic) || !gofuncs_read(g, 4, 4, &sizes) || sizes >> 24 != 8)
        return false;
    bool old = magic == MAGIC_1_16;
    if (!old && magic != MAGIC_1_18 && magic != MAGIC_1_20)
        return false;
    uint64_t offsets = old ? 24 : 32;
    g->width = old ? 8 : 4;
    if (!gofuncs_read(g, 8, 8, &n) || (!old && !gofuncs_read(g, 24, 8, &g->code)) ||
        !gofuncs_read(g, offsets, 8, &g->names) ||
        !gofuncs_read(g, offsets + 32, 8, &g->functions) || g->functions > g->n_bytes)
        return false;
    if (!old && !g->code)
        g->code = address_of_text(elf);
    size_t most = (g->n_bytes - (size_t)g->functions) / (2 * (size_t)g->width);
    g->n = n < most ? (size_t)n : most;
    return g->n > 0;
}

/* What is in place K of entry I. */
static bool gofuncs_entry(const struct gofuncs *g, size_t i, int k, uint64_t *ret)
{
    return gofuncs_read(g, g->functions + (2 * i + (size_t)k) * (size_t)g->width, g->width, ret);
}

static bool start_of(const struct gofuncs *g, size_t i, uint64_t *ret)
{
    bool there = gofuncs_entry(g, i, 0, ret);
    *ret += g->code;
    return there;
}

bool gofuncs_get(const struct gofuncs *g, size_t i, struct gofunc *ret)
{
    uint64_t rest, name;
    *ret = (struct gofunc){0};
    if (i >= g->n || !start_of(g, i, &ret->start) || !start_of(g, i + 1, &ret->end) ||
        ret->end <= ret->start || !gofuncs_entry(g, i, 1, &rest) || rest > g->n_bytes ||
        !gofuncs_read(g, g->functions + rest + (uint64_t)g->width, 4, &name) ||
        g->names > g->n_bytes || name >= g->n_bytes - g->names)
        return false;
    const char *at = (const char *)g->at + g->names + name;
    size_t room = g->n_bytes - (size_t)(g->names + name);
    ret->name = (struct text){at, strnlen(at, room < NAME_MAX_BYTES ? room : NAME_MAX_BYTES)};
    return ret->name.n > 0 && ret->name.n < room;
}

/* The last function that starts at or before PC. */
static bool gofuncs_find(const struct gofuncs *g, uint64_t pc, struct gofunc *ret)
{
    size_t low = 0, high = g->n;
    uint64_t start;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (start_of(g, middle, &start) && start <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    return low && gofuncs_get(g, low - 1, ret) && pc >= ret->start && pc < ret->end;
}

void gofuncs_name(struct lookup *l, Elf *elf)
{
    struct gofuncs g;
    struct gofunc f;
    if (!gofuncs_open(&g, elf))
        return;
    for (size_t i = 0; i < l->n; i++) {
        if (!lookup_wants_name(l, i) || !gofuncs_find(&g, l->pcs[i], &f))
            continue;
        struct function named = {.name = lookup_add_name(l, f.name)};
        struct function_id id = profile_add_function(l->p, &named);
        for (; i < l->n && l->pcs[i] < f.end; i++)
            if (lookup_wants_name(l, i))
                lookup_set_name(l, i, id);
        i--;
    }
}
