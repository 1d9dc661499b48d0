#include "symbol/place.h"

#include "base/buf.h"
#include "base/cursor.h"
#include "symbol/chosen.h"
#include "symbol/elffile.h"

/*
 * .eh_frame_hdr as linkers write it: a sorted table of offsets from its own address.
 *
 *     0     1       2       3       4              8          12
 *     | 1 u8 | enc u8 | enc u8 | enc u8 | .eh_frame s32 | count u32 | start s32, FDE s32 | ...
 */
struct starts {
    uint64_t base; /* address of the section */
    struct text table;
    size_t n;
    uint64_t frames_base; /* address of .eh_frame */
    struct text frames;
};

enum {
    ENC_COUNT_U32 = 0x03,
    ENC_TABLE_S32 = 0x3b, /* relative to the section */
    ENC_PCREL_S32 = 0x1b,
    ENTRY_BYTES = 8,
};

static bool get_section(Elf *elf, const char *name, uint64_t *ret_base, struct text *ret)
{
    GElf_Shdr shdr;
    Elf_Scn *scn = elffile_named_section(elf, name);
    Elf_Data *data = scn && gelf_getshdr(scn, &shdr) ? elf_getdata(scn, NULL) : NULL;
    if (!data || !data->d_buf)
        return false;
    *ret_base = shdr.sh_addr;
    *ret = (struct text){data->d_buf, data->d_size};
    return true;
}

static bool open_starts(struct starts *s, Elf *elf)
{
    struct text header;
    if (!get_section(elf, ".eh_frame_hdr", &s->base, &header) ||
        !get_section(elf, ".eh_frame", &s->frames_base, &s->frames))
        return false;
    struct cursor c = cursor_of(header.at, header.n);
    uint64_t version = cursor_uint(&c, 1), frame_enc = cursor_uint(&c, 1);
    uint64_t count_enc = cursor_uint(&c, 1), table_enc = cursor_uint(&c, 1);
    cursor_uint(&c, 4);
    uint64_t count = cursor_uint(&c, 4);
    if (version != 1 || frame_enc != ENC_PCREL_S32 || count_enc != ENC_COUNT_U32 ||
        table_enc != ENC_TABLE_S32)
        return false;
    s->table = cursor_bytes(&c, count * ENTRY_BYTES);
    s->n = count;
    return !c.bad;
}

/* The signed number at OFFSET of the table, from the section's address. */
static uint64_t address_at(const struct starts *s, size_t offset)
{
    int32_t v;
    memcpy(&v, s->table.at + offset, sizeof v);
    return s->base + (uint64_t)(int64_t)v;
}

/* Bytes of code that the FDE at ADDRESS covers: behind its length, CIE and start. */
static uint64_t size_of_fde(const struct starts *s, uint64_t address)
{
    uint64_t offset = address - s->frames_base;
    uint32_t size;
    if (offset > s->frames.n || s->frames.n - offset < 16)
        return 0;
    memcpy(&size, s->frames.at + offset + 12, sizeof size);
    return size;
}

/* The start of the function that holds PC. */
static bool find_start(const struct starts *s, uint64_t pc, uint64_t *ret)
{
    size_t low = 0, high = s->n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (address_at(s, mid * ENTRY_BYTES) <= pc)
            low = mid + 1;
        else
            high = mid;
    }
    if (low == 0)
        return false;
    size_t entry = (low - 1) * ENTRY_BYTES;
    *ret = address_at(s, entry);
    return pc - *ret < size_of_fde(s, address_at(s, entry + 4));
}

static void find_chosen(struct chosen *c, Elf *elf)
{
    char id[2 * BUILD_ID_MAX + 1];
    elffile_build_id(elf, id);
    chosen_find(c, elf, text_of(id));
}

void place_name(struct lookup *l, Elf *elf, struct text module)
{
    struct starts s;
    struct chosen chosen = {0};
    if (!lookup_count_unnamed(l) || !open_starts(&s, elf))
        return;
    find_chosen(&chosen, elf);
    const char *slash = module.n ? memrchr(module.at, '/', module.n) : NULL;
    const char *base = slash ? slash + 1 : module.at;
    for (size_t i = 0; i < l->n; i++) {
        uint64_t start;
        autobuf struct buf name = {0};
        if (!lookup_wants_name(l, i) || !find_start(&s, l->pcs[i], &start))
            continue;
        const char *public = chosen_name(&chosen, start);
        if (public)
            buf_str(&name, public);
        else
            buf_printf(&name, "[%s+0x%llx]", base, (unsigned long long)start);
        struct function f = {.name = profile_add_str(l->p, buf_text(&name))};
        lookup_set_name(l, i, profile_add_function(l->p, &f));
    }
    chosen_done(&chosen);
}
