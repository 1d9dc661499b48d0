#include "symbol/linetable.h"

#include "symbol/elffile.h"
#include "symbol/lookup.h"

#include <dwarf.h>
#include <limits.h>

/* --- the header --- */

static Elf_Data *section(Elf *elf, const char *name)
{
    Elf_Scn *scn = elffile_named_section(elf, name);
    return scn ? elf_getdata(scn, NULL) : NULL;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* A string of another section; "" where OFFSET is outside, and where it is too long for a path. */
static const char *string_at(const Elf_Data *data, uint64_t offset)
{
    if (!data || !data->d_buf || offset >= data->d_size ||
        !memchr((char *)data->d_buf + offset, 0, least(data->d_size - offset, PATH_MAX)))
        return "";
    return (const char *)data->d_buf + offset;
}

static const char *linetable_take_string(struct cursor *c)
{
    const char *s = (const char *)c->at;
    const uint8_t *nul = cursor_left(c) ? memchr(c->at, 0, cursor_left(c)) : NULL;
    if (!nul) {
        c->bad = true;
        return "";
    }
    c->at = nul + 1;
    return s;
}

/* A length: 4 bytes, or 0xffffffff and 8 bytes, which makes offsets 8 bytes too. */
static uint64_t take_length(struct cursor *c, unsigned *ret_offset_bytes)
{
    uint64_t length = cursor_uint(c, 4);
    *ret_offset_bytes = length == 0xffffffff ? 8 : 4;
    return length == 0xffffffff ? cursor_uint(c, 8) : length;
}

/* Versions 2 to 4: folders, then files, both ended by an empty name. */
static void take_old_names(struct linetable *t, struct cursor *c)
{
    const char *name;
    *vec_push(&t->folders) = "";
    *vec_push(&t->files) = (struct linetable_file){NULL, 0}; /* counted from 1 */
    while (cursor_more(c) && *(name = linetable_take_string(c)))
        *vec_push(&t->folders) = name;
    while (cursor_more(c) && *(name = linetable_take_string(c))) {
        *vec_push(&t->files) = (struct linetable_file){name, cursor_varint(c)};
        cursor_varint(c); /* time */
        cursor_varint(c); /* size */
    }
}

/* One part of a version 5 entry: a string or a number. */
struct part {
    const char *string;
    uint64_t number;
};

static struct part take_part(const struct linetable *t, struct cursor *c, uint64_t form)
{
    switch (form) {
    case DW_FORM_string:
        return (struct part){.string = linetable_take_string(c)};
    case DW_FORM_line_strp:
        return (struct part){.string =
                                 string_at(t->line_strings, cursor_uint(c, (int)t->offset_bytes))};
    case DW_FORM_strp:
        return (struct part){.string = string_at(t->strings, cursor_uint(c, (int)t->offset_bytes))};
    case DW_FORM_udata:
        return (struct part){.number = cursor_varint(c)};
    case DW_FORM_data1:
        return (struct part){.number = cursor_uint(c, 1)};
    case DW_FORM_data2:
        return (struct part){.number = cursor_uint(c, 2)};
    case DW_FORM_data4:
        return (struct part){.number = cursor_uint(c, 4)};
    case DW_FORM_data8:
        return (struct part){.number = cursor_uint(c, 8)};
    case DW_FORM_data16:
        cursor_bytes(c, 16);
        return (struct part){0};
    case DW_FORM_block:
        cursor_bytes(c, cursor_varint(c));
        return (struct part){0};
    default:
        c->bad = true;
        return (struct part){0};
    }
}

enum { PARTS_MAX = 16 };

/* Version 5: what an entry is made of, how many there are, and the entries. */
static void take_new_names(struct linetable *t, struct cursor *c, bool folders)
{
    uint64_t contents[PARTS_MAX], forms[PARTS_MAX];
    size_t n_parts = (size_t)cursor_uint(c, 1);
    if (n_parts > PARTS_MAX)
        c->bad = true;
    for (size_t i = 0; i < n_parts && !c->bad; i++) {
        contents[i] = cursor_varint(c);
        forms[i] = cursor_varint(c);
    }
    uint64_t n = cursor_varint(c);
    if (!n_parts)
        return;
    for (; n > 0 && cursor_more(c); n--) {
        struct linetable_file entry = {"", 0};
        for (size_t i = 0; i < n_parts; i++) {
            struct part part = take_part(t, c, forms[i]);
            if (contents[i] == DW_LNCT_path && part.string)
                entry.name = part.string;
            if (contents[i] == DW_LNCT_directory_index)
                entry.folder = part.number;
        }
        if (c->bad)
            return;
        if (folders)
            *vec_push(&t->folders) = entry.name;
        else
            *vec_push(&t->files) = entry;
    }
}

static void take_header(struct linetable *t, struct cursor *c)
{
    uint64_t length = take_length(c, &t->offset_bytes);
    if (length < cursor_left(c))
        c->end = c->at + length;
    t->version = (unsigned)cursor_uint(c, 2);
    if (t->version < 2 || t->version > 5)
        return;
    if (t->version == 5)
        cursor_bytes(c, 2); /* sizes of addresses and segments */
    uint64_t header = cursor_uint(c, (int)t->offset_bytes);
    if (c->bad || header > cursor_left(c))
        return;
    struct cursor program = {c->at + header, c->end, false};
    t->instruction_bytes = (uint8_t)cursor_uint(c, 1);
    if (t->version >= 4)
        cursor_bytes(c, 1); /* operations in an instruction: 1 but for machines long gone */
    cursor_bytes(c, 1);     /* whether lines are statements at first */
    t->line_base = (int8_t)cursor_uint(c, 1);
    t->line_range = (uint8_t)cursor_uint(c, 1);
    t->opcode_base = (uint8_t)cursor_uint(c, 1);
    t->opcode_operands = c->at;
    cursor_bytes(c, t->opcode_base ? t->opcode_base - 1u : 0);
    if (c->bad || !t->line_range || !t->opcode_base)
        return;
    if (t->version < 5) {
        take_old_names(t, c);
    } else {
        take_new_names(t, c, true);
        take_new_names(t, c, false);
    }
    t->program = program;
}

void linetable_init(struct linetable *t, Dwarf_Die *unit)
{
    Dwarf_Attribute attr;
    Dwarf_Word offset = 0;
    *t = (struct linetable){.cu = unit->cu};
    Elf *elf = dwarf_getelf(dwarf_cu_getdwarf(unit->cu));
    t->unit_folder = dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attr));
    if (dwarf_formudata(dwarf_attr(unit, DW_AT_stmt_list, &attr), &offset) != 0)
        return;
    static const char *const names[] = {".debug_line", ".debug_line.dwo", ".zdebug_line"};
    Elf_Data *data = NULL;
    for (size_t i = 0; i < 3 && !data; i++)
        data = section(elf, names[i]);
    if (!data || !data->d_buf || offset >= data->d_size)
        return;
    t->line_strings = section(elf, ".debug_line_str");
    t->strings = section(elf, ".debug_str");
    struct cursor c = cursor_of((uint8_t *)data->d_buf + offset, data->d_size - offset);
    take_header(t, &c);
}

void linetable_done(struct linetable *t)
{
    vec_done(&t->folders);
    vec_done(&t->files);
}

static bool is_too_long(const char *path)
{
    return path && strnlen(path, PATH_MAX) == PATH_MAX;
}

bool linetable_path(const struct linetable *t, uint64_t number, struct buf *ret)
{
    if (number >= t->files.n || !t->files.at[number].name)
        return false;
    const struct linetable_file *f = &t->files.at[number];
    const char *folder = f->folder < t->folders.n ? t->folders.at[f->folder] : "";
    if (is_too_long(f->name) || is_too_long(folder) || is_too_long(t->unit_folder))
        return false;
    if (f->name[0] != '/') {
        if (folder[0] != '/' && t->unit_folder)
            buf_printf(ret, "%s/", t->unit_folder);
        if (folder[0])
            buf_printf(ret, "%s/", folder);
    }
    buf_str(ret, f->name);
    return true;
}

/* --- the program --- */

struct line_row {
    uint64_t address;
    uint32_t file, line, column;
};

struct run {
    const uint64_t *pcs;
    size_t n, next; /* the first address at or past the last row */
    struct linetable_line *ret;
    struct line_row now, last; /* last: the row before, if there is one in this sequence */
    bool has_last;
};

static int64_t take_signed(struct cursor *c)
{
    uint64_t v = 0;
    for (unsigned shift = 0; c->at < c->end;) {
        uint8_t byte = *c->at++;
        if (shift < 64)
            v |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
        if (byte >= 0x80)
            continue;
        if (shift < 64 && byte & 0x40)
            v |= ~0ull << shift;
        return (int64_t)v;
    }
    c->bad = true;
    return 0;
}

/* A row ends the range of the one before it. */
static void linetable_add_row(struct run *r)
{
    const struct line_row *row = &r->now;
    if (!r->has_last || row->address < r->last.address)
        r->next = lookup_lower_bound(r->pcs, r->n, row->address);
    else
        for (; r->next < r->n && r->pcs[r->next] < row->address; r->next++)
            if (!r->ret[r->next].known)
                r->ret[r->next] =
                    (struct linetable_line){r->last.file, r->last.line, r->last.column, true};
    r->last = *row;
    r->has_last = true;
}

static void start_sequence(struct run *r)
{
    r->now = (struct line_row){.file = 1, .line = 1};
    r->has_last = false;
}

static void run_extended(struct run *r, struct cursor *c)
{
    uint64_t length = cursor_varint(c);
    struct text body = cursor_bytes(c, length);
    if (c->bad || !body.n)
        return;
    if (body.at[0] == DW_LNE_end_sequence) {
        linetable_add_row(r);
        start_sequence(r);
    } else if (body.at[0] == DW_LNE_set_address && body.n <= 9) {
        r->now.address = 0;
        memcpy(&r->now.address, body.at + 1, body.n - 1);
    }
}

static void run_standard(const struct linetable *t, struct run *r, struct cursor *c, uint8_t op)
{
    switch (op) {
    case DW_LNS_copy:
        linetable_add_row(r);
        return;
    case DW_LNS_advance_pc:
        r->now.address += cursor_varint(c) * t->instruction_bytes;
        return;
    case DW_LNS_advance_line:
        r->now.line += (uint32_t)take_signed(c);
        return;
    case DW_LNS_set_file:
        r->now.file = (uint32_t)cursor_varint(c);
        return;
    case DW_LNS_set_column:
        r->now.column = (uint32_t)cursor_varint(c);
        return;
    case DW_LNS_const_add_pc:
        r->now.address += (uint64_t)((255 - t->opcode_base) / t->line_range) * t->instruction_bytes;
        return;
    case DW_LNS_fixed_advance_pc:
        r->now.address += cursor_uint(c, 2);
        return;
    default: /* operands we have no use for */
        for (uint8_t n = t->opcode_operands[op - 1]; n > 0; n--)
            cursor_varint(c);
    }
}

void linetable_find(const struct linetable *t, const uint64_t *pcs, size_t n,
                    struct linetable_line *ret)
{
    struct run r = {.pcs = pcs, .n = n, .ret = ret};
    struct cursor c = t->program;
    start_sequence(&r);
    while (cursor_more(&c)) {
        uint8_t op = *c.at++;
        if (op >= t->opcode_base) {
            unsigned special = op - t->opcode_base;
            r.now.address += (uint64_t)(special / t->line_range) * t->instruction_bytes;
            r.now.line += (uint32_t)(t->line_base + (int)(special % t->line_range));
            linetable_add_row(&r);
        } else if (op == 0) {
            run_extended(&r, &c);
        } else {
            run_standard(t, &r, &c, op);
        }
    }
}
