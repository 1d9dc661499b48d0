#include "unwind/cfi.h"

#include <dwarf.h>

/* A CIE's program runs for each of its FDEs: keep a hostile file from making that long. */
enum { CIE_PROGRAM_MAX_BYTES = 512 };

int64_t cfi_sleb(struct cursor *c)
{
    uint64_t v = 0;
    for (unsigned shift = 0; c->at < c->end; shift += 7) {
        uint8_t b = *c->at++;
        if (shift < 64)
            v |= (uint64_t)(b & 0x7f) << shift;
        if (b & 0x80)
            continue;
        if (shift + 7 < 64 && b & 0x40)
            v |= UINT64_MAX << (shift + 7);
        return (int64_t)v;
    }
    c->bad = true;
    return 0;
}

/* The number of an encoded pointer, before anything is added. */
static uint64_t pointer_value(struct cursor *c, uint8_t format)
{
    switch (format) {
    case DW_EH_PE_absptr:
    case DW_EH_PE_udata8:
    case DW_EH_PE_sdata8:
        return cursor_uint(c, 8);
    case DW_EH_PE_uleb128:
        return cursor_varint(c);
    case DW_EH_PE_sleb128:
        return (uint64_t)cfi_sleb(c);
    case DW_EH_PE_udata2:
        return cursor_uint(c, 2);
    case DW_EH_PE_sdata2:
        return (uint64_t)(int64_t)(int16_t)cursor_uint(c, 2);
    case DW_EH_PE_udata4:
        return cursor_uint(c, 4);
    case DW_EH_PE_sdata4:
        return (uint64_t)(int64_t)(int32_t)cursor_uint(c, 4);
    default:
        c->bad = true;
        return 0;
    }
}

uint64_t cfi_pointer(struct cursor *c, uint8_t encoding, const struct cfi_bases *bases)
{
    if (encoding == DW_EH_PE_omit)
        return 0;
    uint64_t here = bases->vaddr + (uint64_t)(c->at - bases->bytes);
    uint64_t v = pointer_value(c, encoding & 0x0f);
    switch (encoding & 0x70) {
    case DW_EH_PE_absptr:
        return v;
    case DW_EH_PE_pcrel:
        return here + v;
    case DW_EH_PE_datarel:
        c->bad |= !bases->data;
        return bases->data + v;
    default: /* textrel, funcrel, aligned: no toolchain writes them for these processors */
        c->bad = true;
        return 0;
    }
}

/* --- entries --- */

/* One CIE or FDE: its bytes after the length, and what tells one from the other. */
struct entry {
    struct cursor c;
    const uint8_t *id_at;
    uint64_t id;
    bool wide; /* the 64-bit format */
};

/* The entry at *AT, and step over it. False at the end, or where lengths make no sense. */
static bool next_entry(const struct cfi_section *s, struct cursor *at, struct entry *ret)
{
    if (!cursor_more(at))
        return false;
    uint64_t n = cursor_uint(at, 4);
    ret->wide = n == UINT32_MAX;
    if (ret->wide)
        n = cursor_uint(at, 8);
    struct text bytes = cursor_bytes(at, n);
    if (at->bad || (n == 0 && !s->is_debug))
        return false;
    ret->c = cursor_of(bytes.at, bytes.n);
    ret->id_at = ret->c.at;
    /* .eh_frame's id stays four bytes even in the 64-bit format. */
    ret->id = cursor_uint(&ret->c, ret->wide && s->is_debug ? 8 : 4);
    return true;
}

static bool is_cie(const struct cfi_section *s, const struct entry *e)
{
    if (!s->is_debug)
        return e->id == 0;
    return e->id == (e->wide ? UINT64_MAX : UINT32_MAX);
}

/* "zPLR" and such: a letter for each piece of data. */
static void read_augmentation(const struct cfi_section *s, struct cursor *c, const char *letters,
                              struct cfi_cie *cie)
{
    struct cfi_bases bases = {.vaddr = s->vaddr, .bytes = (const uint8_t *)s->bytes.at};
    cie->encoding = DW_EH_PE_absptr;
    cie->sized = letters[0] == 'z';
    if (!cie->sized) {
        c->bad |= letters[0] != '\0';
        return;
    }
    struct text bytes = cursor_bytes(c, cursor_varint(c));
    struct cursor data = cursor_of(bytes.at, bytes.n);
    for (letters++; *letters && !data.bad; letters++)
        switch (*letters) {
        case 'R':
            cie->encoding = (uint8_t)cursor_uint(&data, 1);
            break;
        case 'P':
            cfi_pointer(&data, (uint8_t)cursor_uint(&data, 1) & ~DW_EH_PE_indirect, &bases);
            break;
        case 'L':
            cursor_uint(&data, 1);
            break;
        case 'S':
            cie->signal = true;
            break;
        case 'B': /* aarch64: return addresses are signed with the B key */
        case 'G': /* aarch64: memory tags */
            break;
        default: /* no data follows that we could skip; what we have will have to do */
            return;
        }
    c->bad |= data.bad;
}

static bool read_cie(const struct cfi_section *s, struct entry *e, struct cfi_cie *ret)
{
    struct cursor *c = &e->c;
    ret->version = (uint8_t)cursor_uint(c, 1);
    const char *letters = (const char *)c->at;
    const uint8_t *end = memchr(c->at, 0, cursor_left(c));
    if (!end || (ret->version != 1 && ret->version != 3 && ret->version != 4))
        return false;
    c->at = end + 1;
    if (ret->version >= 4) {
        uint64_t address_bytes = cursor_uint(c, 1), segment_bytes = cursor_uint(c, 1);
        if (address_bytes != 8 || segment_bytes != 0)
            return false;
    }
    ret->code_align = cursor_varint(c);
    ret->data_align = cfi_sleb(c);
    ret->ra = ret->version == 1 ? cursor_uint(c, 1) : cursor_varint(c);
    read_augmentation(s, c, letters, ret);
    ret->program = *c;
    return !c->bad && cursor_left(c) <= CIE_PROGRAM_MAX_BYTES;
}

/* Where the CIE of an FDE is in the section; past its end when the FDE makes no sense. */
static uint64_t cie_offset(const struct cfi_section *s, const struct entry *fde)
{
    uint64_t here = (uint64_t)((const char *)fde->id_at - s->bytes.at);
    return s->is_debug ? fde->id : here - fde->id;
}

static bool read_cie_at(const struct cfi_section *s, uint64_t offset, struct cfi_cie *ret)
{
    if (offset >= s->bytes.n)
        return false;
    struct cursor at = cursor_of(s->bytes.at + offset, s->bytes.n - offset);
    struct entry e;
    return next_entry(s, &at, &e) && is_cie(s, &e) && read_cie(s, &e, ret);
}

static void add_fde(struct cfi_rows *to, const struct cfi_section *s, struct entry *e,
                    const struct cfi_cie *cie)
{
    struct cursor *c = &e->c;
    struct cfi_bases bases = {.vaddr = s->vaddr, .bytes = (const uint8_t *)s->bytes.at};
    uint64_t start = cfi_pointer(c, cie->encoding, &bases);
    uint64_t n = pointer_value(c, cie->encoding & 0x0f);
    if (cie->sized)
        cursor_bytes(c, cursor_varint(c));
    uint64_t from = start - to->base;
    if (c->bad || start < to->base || n == 0 || from >= UINT32_MAX || n > UINT32_MAX - from)
        return;
    struct cfi_span span = {.start = (uint32_t)from,
                            .end = (uint32_t)(from + n),
                            .first = (uint32_t)to->rows.n,
                            .rank = s->is_debug};
    cfi_run(to, cie, *c, span);
}

void cfi_parse(struct cfi_rows *to, const struct cfi_section *s)
{
    struct cursor at = cursor_of(s->bytes.at, s->bytes.n);
    struct cfi_cie cie = {0};
    uint64_t last = UINT64_MAX; /* neighbours mostly share a CIE */
    bool good = false;
    struct entry e;
    while (next_entry(s, &at, &e)) {
        if (e.c.bad || is_cie(s, &e))
            continue;
        uint64_t offset = cie_offset(s, &e);
        if (offset != last) {
            cie = (struct cfi_cie){.arch = to->arch};
            good = read_cie_at(s, offset, &cie);
            last = offset;
        }
        if (good)
            add_fde(to, s, &e, &cie);
    }
}

/* --- all FDEs into one table --- */

static int cfi_by_start(const void *a, const void *b)
{
    const struct cfi_span *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return x->first < y->first ? -1 : x->first > y->first;
}

static bool same_rule(const struct unwind_row *a, const struct unwind_row *b)
{
    return a->cfa == b->cfa && a->flags == b->flags && a->cfa_offset == b->cfa_offset &&
           a->fp_offset == b->fp_offset && a->extra_offset == b->extra_offset;
}

static void cfi_add_row(struct unwind_table *to, struct unwind_row row)
{
    struct unwind_row *last = to->n_rows ? &to->rows[to->n_rows - 1] : NULL;
    if (last && last->pc == row.pc)
        to->n_rows--;
    last = to->n_rows ? &to->rows[to->n_rows - 1] : NULL;
    if (!last || !same_rule(last, &row))
        to->rows[to->n_rows++] = row;
}

/* The rows of one span from address FROM on. */
static void add_span(struct unwind_table *to, const struct cfi_rows *rows,
                     const struct cfi_span *span, uint32_t from)
{
    for (uint32_t i = 0; i < span->n; i++) {
        struct unwind_row row = rows->rows.at[span->first + i];
        bool ends_before = i + 1 < span->n && rows->rows.at[span->first + i + 1].pc <= from;
        if (ends_before)
            continue;
        if (row.pc < from)
            row.pc = from;
        cfi_add_row(to, row);
    }
    cfi_add_row(to, (struct unwind_row){.pc = span->end, .cfa = CFA_GAP});
}

void cfi_finish(struct cfi_rows *rows, struct unwind_table *to)
{
    if (rows->spans.n)
        qsort(rows->spans.at, rows->spans.n, sizeof *rows->spans.at, cfi_by_start);
    to->rows = mem_calloc(rows->rows.n + rows->spans.n + 1, sizeof *to->rows);
    to->n_rows = 0;
    uint32_t covered = 0;
    for (size_t i = 0; i < rows->spans.n; i++) {
        const struct cfi_span *span = &rows->spans.at[i];
        if (span->end <= covered)
            continue;
        add_span(to, rows, span, span->start > covered ? span->start : covered);
        covered = span->end;
    }
    to->rows = mem_realloc(to->rows, (to->n_rows + 1) * sizeof *to->rows);
    vec_done(&rows->rows);
    vec_done(&rows->spans);
}
