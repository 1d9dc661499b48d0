#include "unwind/codefile.h"
#include "base/idmap.h"
#include "base/vec.h"
#include "unwind/epilogue.h"
#include "unwind/insn.h"

#include <elf.h>
#include <fcntl.h>

enum { PAGE_BYTES = 4096, NOTES_MAX = 1 << 16 };

/* What is known of one address. */
struct code_note {
    uint64_t vaddr;
    bool has_rows, has_before;
    enum code_before before;
    struct unwind_row rows[EPILOGUE_ROWS];
};

struct codefile {
    int fd;
    const struct unwind_table *table;
    uint64_t page; /* file offset of the bytes at hand */
    size_t page_n;
    uint8_t bytes[PAGE_BYTES];
    struct idmap by_vaddr;
    VEC(struct code_note) notes;
};

struct codefile *codefile_new(int fd, const struct unwind_table *t)
{
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    if (copy < 0)
        return NULL;
    struct codefile *c = mem_new(struct codefile);
    c->fd = copy;
    c->table = t;
    return c;
}

void codefile_free(struct codefile *c)
{
    if (!c)
        return;
    close(c->fd);
    idmap_done(&c->by_vaddr);
    vec_done(&c->notes);
    free(c);
}

/* --- bytes --- */

static void load_page(struct codefile *c, uint64_t offset)
{
    uint64_t page = offset & ~(uint64_t)(PAGE_BYTES - 1);
    if (c->page_n && c->page == page)
        return;
    ssize_t n = pread(c->fd, c->bytes, sizeof c->bytes, (off_t)page);
    c->page = page;
    c->page_n = n > 0 ? (size_t)n : 0;
}

/* The file offset of VADDR and how many bytes of code follow there. */
static uint64_t code_left(const struct codefile *c, uint64_t vaddr, uint64_t *ret_offset)
{
    for (size_t i = 0; i < c->table->n_segments; i++) {
        const struct unwind_segment *s = &c->table->segments[i];
        if (vaddr >= s->vaddr && vaddr - s->vaddr < s->size) {
            *ret_offset = s->offset + (vaddr - s->vaddr);
            return s->size - (vaddr - s->vaddr);
        }
    }
    return 0;
}

static size_t read_code(void *from, uint64_t vaddr, uint8_t *ret, size_t n)
{
    struct codefile *c = from;
    uint64_t offset, left = code_left(c, vaddr, &offset);
    size_t done = 0;
    n = n < left ? n : (size_t)left;
    while (done < n) {
        load_page(c, offset + done);
        size_t into = (size_t)(offset + done - c->page);
        if (into >= c->page_n)
            break;
        size_t part = c->page_n - into < n - done ? c->page_n - into : n - done;
        memcpy(ret + done, c->bytes + into, part);
        done += part;
    }
    return done;
}

/* --- notes --- */

static struct code_note *note_of(struct codefile *c, uint64_t vaddr)
{
    uint32_t hash = hash_pair((uint32_t)vaddr, (uint32_t)(vaddr >> 32));
    for_each_match (&c->by_vaddr, hash, id)
        if (c->notes.at[id].vaddr == vaddr)
            return &c->notes.at[id];
    if (c->notes.n == NOTES_MAX) { /* hostile, or the whole of a large file: begin again */
        idmap_done(&c->by_vaddr);
        c->by_vaddr = (struct idmap){0};
        c->notes.n = 0;
    }
    idmap_add(&c->by_vaddr, hash, (uint32_t)c->notes.n);
    struct code_note *n = vec_push(&c->notes);
    *n = (struct code_note){.vaddr = vaddr};
    return n;
}

/* bl or blr, of four bytes. */
static bool is_call_aarch64(const uint8_t *at)
{
    uint32_t word;
    memcpy(&word, at, sizeof word);
    return (word & 0xfc000000) == 0x94000000 || (word & 0xfffffc1f) == 0xd63f0000;
}

static enum code_before look_before(struct codefile *c, uint64_t vaddr)
{
    uint8_t bytes[8];
    size_t n = sizeof bytes;
    uint64_t offset;
    while (n && (vaddr < n || !code_left(c, vaddr - n, &offset)))
        n--; /* near the start of a segment */
    if (n < 2 || read_code(c, vaddr - n, bytes, n) != n)
        return BEFORE_OTHER;
    const uint8_t *end = bytes + n;
    if (c->table->machine != EM_X86_64)
        return n >= 4 && is_call_aarch64(end - 4) ? BEFORE_CALL : BEFORE_OTHER;
    if (end[-2] == 0x0f && end[-1] == 0x05)
        return BEFORE_SYSCALL;
    return insn_call_before(end, n) ? BEFORE_CALL : BEFORE_OTHER;
}

enum code_before codefile_before(struct codefile *c, uint64_t vaddr)
{
    struct code_note *n = note_of(c, vaddr);
    if (!n->has_before) {
        n->before = look_before(c, vaddr);
        n->has_before = true;
    }
    return n->before;
}

const struct unwind_row *codefile_rows(struct codefile *c, uint64_t vaddr)
{
    struct code_note *n = note_of(c, vaddr);
    if (!n->has_rows) {
        struct epilogue_code code = {read_code, c};
        n->rows[0] = n->rows[1] = (struct unwind_row){.cfa = CFA_UNKNOWN};
        if (c->table->machine == EM_X86_64)
            epilogue_rows(&code, vaddr, n->rows);
        n->has_rows = true;
    }
    return n->rows;
}

/* A search through the code takes 20 us, and is for nothing where no syscall is near. */
static bool has_syscall(struct codefile *c, uint64_t vaddr)
{
    uint8_t bytes[EPILOGUE_SIGRETURN_BYTES];
    size_t n = read_code(c, vaddr, bytes, sizeof bytes);
    for (size_t i = 0; i + 1 < n; i++)
        if (bytes[i] == 0x0f && bytes[i + 1] == 0x05)
            return true;
    return false;
}

bool codefile_is_trampoline(struct codefile *c, uint64_t vaddr)
{
    return c->table->machine == EM_X86_64 && has_syscall(c, vaddr) &&
           codefile_rows(c, vaddr)->cfa == CFA_SIGNAL;
}
