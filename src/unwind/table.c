#include "unwind/table.h"
#include "unwind/cfi.h"
#include "unwind/epilogue.h"
#include "unwind/gostacks.h"
#include "unwind/objfile.h"
#include "unwind/rowfile.h"

#include <errno.h>
#include <fcntl.h>

enum {
    ENTRY_MAX_BYTES = 256,
    RANK_ENTRY = 2, /* .eh_frame is 0, .debug_frame 1 */
};

static void find_segments(const struct objfile *o, struct unwind_table *t)
{
    t->segments = mem_calloc(o->head.e_phnum + 1u, sizeof *t->segments);
    t->base = UINT64_MAX;
    for (int i = 0; i < o->head.e_phnum; i++) {
        const Elf64_Phdr *p = &o->segments[i];
        if (p->p_type != PT_LOAD || !(p->p_flags & PF_X) || !p->p_filesz)
            continue;
        t->segments[t->n_segments++] =
            (struct unwind_segment){p->p_vaddr, p->p_offset, p->p_filesz};
        if (p->p_vaddr < t->base)
            t->base = p->p_vaddr;
    }
}

static void parse_part(struct cfi_rows *rows, const struct objfile_part *part, bool is_debug)
{
    struct cfi_section s = {buf_text(&part->bytes), part->vaddr, is_debug};
    if (s.bytes.n)
        cfi_parse(rows, &s);
}

/*
 * Where the kernel starts a program nobody returns to: the outermost frame, marked or not. C
 * libraries mark it with an undefined return address; ld.so and musl do not.
 */
static void add_entry(struct cfi_rows *rows, const struct objfile *o)
{
    uint8_t code[ENTRY_MAX_BYTES];
    uint64_t from = o->head.e_entry - rows->base;
    size_t n = objfile_code(o, o->head.e_entry, code, sizeof code);
    uint32_t bytes = rows->arch->ra_on_stack ? epilogue_entry_bytes(code, n) : 0;
    if (!bytes || !o->head.e_entry || o->head.e_entry < rows->base || from > UINT32_MAX - bytes)
        return;
    *vec_push(&rows->spans) = (struct cfi_span){.start = (uint32_t)from,
                                                .end = (uint32_t)from + bytes,
                                                .first = (uint32_t)rows->rows.n,
                                                .n = 1,
                                                .rank = RANK_ENTRY};
    *vec_push(&rows->rows) = (struct unwind_row){.pc = (uint32_t)from, .cfa = CFA_BOTTOM};
}

/* Rules from both sections, and of the entry point. */
static int find_rows(const struct objfile *o, struct unwind_table *t, struct err *err)
{
    struct cfi_rows rows = {.arch = arch_find(t->machine), .base = t->base};
    struct objfile_part eh = {0}, debug = {0};
    int rc = 0;
    if (!objfile_eh_frame(o, &eh) || !objfile_debug_frame(o, &debug))
        rc = err_set(err, EXIT_INPUT, "'%s' is cut: its unwind rules lie past its end", o->name);
    if (rc == 0 && rows.arch && t->n_segments) {
        parse_part(&rows, &eh, false);
        parse_part(&rows, &debug, true);
        add_entry(&rows, o);
        cfi_finish(&rows, t);
        gostacks_mend(t, o);
    }
    buf_done(&eh.bytes);
    buf_done(&debug.bytes);
    return rc;
}

static struct unwind_table *new_table(const struct objfile *o)
{
    struct unwind_table *t = mem_new(struct unwind_table);
    t->machine = o->head.e_machine;
    objfile_build_id(o, t->build_id, sizeof t->build_id);
    find_segments(o, t);
    return t;
}

enum { INDEX_SHIFT = 12, INDEX_LEAST = 1 << 10 };

static void index_rows(struct unwind_table *t)
{
    size_t n = t->n_rows ? ((size_t)t->rows[t->n_rows - 1].pc >> INDEX_SHIFT) + 2 : 0, row = 0;
    if (t->n_rows < INDEX_LEAST || n > t->n_rows)
        return;
    t->before = mem_array(n, sizeof *t->before);
    t->n_before = n;
    for (size_t i = 0; i < n; i++) {
        while (row < t->n_rows && t->rows[row].pc >> INDEX_SHIFT < i)
            row++;
        t->before[i] = (uint32_t)row;
    }
}

/* Takes the headers O over. */
static int table_load(struct objfile *o, bool cached, struct unwind_table **ret, struct err *err)
{
    struct unwind_table *t = new_table(o);
    int rc = 0;
    if (!cached || !rowfile_read(t, o->size_bytes)) {
        rc = find_rows(o, t, err);
        if (rc == 0 && cached && rowfile_write(t, o->size_bytes))
            rowfile_read(t, o->size_bytes); /* from here on in the file, not in our memory */
    }
    objfile_done(o);
    if (rc != 0) {
        unwind_table_free(t);
        t = NULL;
    } else {
        index_rows(t);
        rowfile_rest(t);
    }
    *ret = t;
    return rc;
}

int unwind_table_load_fd(int fd, const char *path, struct unwind_table **ret, struct err *err)
{
    struct objfile o;
    *ret = NULL;
    if (objfile_open_fd(&o, fd, path, err) == 0)
        return table_load(&o, true, ret, err);
    objfile_done(&o);
    return -1;
}

int unwind_table_load(const char *path, struct unwind_table **ret, struct err *err)
{
    *ret = NULL;
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return err_set_errno(err, errno, "cannot open '%s'", path);
    return unwind_table_load_fd(fd, path, ret, err);
}

int unwind_table_parse(const void *image, size_t n, struct unwind_table **ret, struct err *err)
{
    struct objfile o;
    *ret = NULL;
    if (objfile_open_memory(&o, image, n, err) == 0)
        return table_load(&o, false, ret, err);
    objfile_done(&o);
    return -1;
}

void unwind_table_free(struct unwind_table *t)
{
    if (!t)
        return;
    rowfile_free(t);
    free(t->before);
    free(t->segments);
    free(t);
}

const struct unwind_row *unwind_table_row(const struct unwind_table *t, uint64_t vaddr)
{
    uint64_t pc = vaddr - t->base;
    if (vaddr < t->base || pc > UINT32_MAX || !t->n_rows || pc < t->rows[0].pc)
        return NULL;
    const struct unwind_row *row = t->rows;
    size_t page = pc >> INDEX_SHIFT, n = t->n_rows;
    if (page + 1 < t->n_before) { /* the last before this page is at or before PC as well */
        row += t->before[page] ? t->before[page] - 1 : 0;
        n = (size_t)(t->rows + t->before[page + 1] - row);
    }
    /* The last row at or before PC; no branch that would have to be guessed. */
    while (n > 1) {
        size_t half = n / 2;
        row = row[half].pc <= pc ? row + half : row;
        n -= half;
    }
    return row;
}

const struct unwind_row *unwind_table_find(const struct unwind_table *t, uint64_t vaddr)
{
    const struct unwind_row *row = unwind_table_row(t, vaddr);
    return row && row->cfa != CFA_GAP ? row : NULL;
}

bool unwind_table_vaddr(const struct unwind_table *t, uint64_t offset, uint64_t *ret)
{
    for (size_t i = 0; i < t->n_segments; i++) {
        const struct unwind_segment *s = &t->segments[i];
        if (offset >= s->offset && offset - s->offset < s->size) {
            *ret = s->vaddr + (offset - s->offset);
            return true;
        }
    }
    return false;
}
