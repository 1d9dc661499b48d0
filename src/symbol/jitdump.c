#include "symbol/jitdump.h"

#include "base/buf.h"
#include "base/cursor.h"
#include "symbol/jitfile.h"

#include <elf.h>

enum {
    MAGIC = 0x4A695444,
    HEADER_BYTES = 40,
    RECORD_BYTES = 16,
    LOAD_BYTES = 40,          /* of a load record before the name */
    NAME_MAX_BYTES = 1 << 14, /* longer names are cut */
    LINES_MAX_BYTES = 64 << 20,
    SKIP_MIN_BYTES = 1 << 14, /* less is read, as that takes no system call */
    STEP_BYTES = 256,         /* what a step over code costs at most, in bytes of names */
#if defined(__x86_64__)
    MACHINE = EM_X86_64,
#elif defined(__aarch64__)
    MACHINE = EM_AARCH64,
#else
    MACHINE = -1,
#endif
};

enum record_kind { LOAD, MOVE, LINES };

struct jit_line {
    uint64_t pc;
    uint32_t line, file; /* file: in dump.strings */
};

struct code {
    uint64_t start, end, index;
    uint32_t name;
    uint32_t first_line, n_lines;
};

struct dump {
    FILE *in;
    size_t left_bytes; /* of JITDUMP_MAX_BYTES */
    struct intern strings;
    VEC(struct code) codes;
    struct idmap by_index; /* code index -> codes */
    VEC(struct jit_line) lines;
    uint64_t lines_for; /* address of the code that the last lines are for */
    uint32_t lines_from;
};

bool jitdump_is(struct text path, uint64_t *ret_pid)
{
    return jitfile_pid(path, "jit-", ".dump", ret_pid);
}

/* --- reading --- */

/* The header: 0 if the file is of this machine and of process PID. Steps behind it. */
static int jitdump_read_header(FILE *in, uint64_t pid)
{
    uint32_t h[HEADER_BYTES / 4];
    if (fread(h, sizeof h, 1, in) != 1)
        return -1;
    enum { MAGIC_AT, VERSION_AT, SIZE_AT, MACHINE_AT, PID_AT = 5 };
    if (h[MAGIC_AT] != MAGIC || h[VERSION_AT] != 1 || h[SIZE_AT] < HEADER_BYTES)
        return -1;
    if (h[MACHINE_AT] != (uint32_t)MACHINE || h[PID_AT] != pid)
        return -1;
    return fseeko(in, (off_t)h[SIZE_AT], SEEK_SET);
}

/* A NUL-terminated string. One that is cut by the end is taken as far as it goes. */
static struct text jitdump_take_string(struct cursor *c)
{
    const uint8_t *start = c->at;
    const uint8_t *nul = memchr(start, 0, cursor_left(c));
    c->at = nul ? nul + 1 : c->end;
    return (struct text){(const char *)start, (size_t)((nul ? nul : c->end) - start)};
}

static void add_code(struct dump *d, const struct code *code)
{
    uint32_t hash = hash_pair((uint32_t)code->index, (uint32_t)(code->index >> 32));
    bool known = false;
    for_each_match (&d->by_index, hash, i) {
        if (d->codes.at[i].index == code->index)
            known = true;
    }
    if (!known)
        idmap_add(&d->by_index, hash, (uint32_t)d->codes.n);
    *vec_push(&d->codes) = *code;
}

static void take_load(struct dump *d, struct cursor c)
{
    struct code code = {0};
    cursor_bytes(&c, 16); /* pid, tid, vma */
    code.start = cursor_uint(&c, 8);
    uint64_t size = cursor_uint(&c, 8);
    code.index = cursor_uint(&c, 8);
    struct text name = jitdump_take_string(&c);
    if (c.bad || !name.n || __builtin_add_overflow(code.start, size, &code.end))
        return;
    code.name = intern_add(&d->strings, name);
    if (d->lines_for == code.start) {
        code.first_line = d->lines_from;
        code.n_lines = (uint32_t)d->lines.n - d->lines_from;
    }
    d->lines_for = 0;
    add_code(d, &code);
}

/* Code keeps its name and index when it moves. Its lines are left behind: they hold addresses. */
static void take_move(struct dump *d, struct cursor c)
{
    cursor_bytes(&c, 24); /* pid, tid, vma, old address */
    uint64_t start = cursor_uint(&c, 8), size = cursor_uint(&c, 8), index = cursor_uint(&c, 8), end;
    if (c.bad || __builtin_add_overflow(start, size, &end))
        return;
    for_each_match (&d->by_index, hash_pair((uint32_t)index, (uint32_t)(index >> 32)), i) {
        if (d->codes.at[i].index != index)
            continue;
        struct code moved = {.start = start, .end = end, .index = index};
        moved.name = d->codes.at[i].name;
        *vec_push(&d->codes) = moved;
        return;
    }
}

static void take_lines(struct dump *d, struct cursor c)
{
    uint32_t file = 0;
    d->lines_for = cursor_uint(&c, 8);
    d->lines_from = (uint32_t)d->lines.n;
    for (uint64_t n = cursor_uint(&c, 8); n > 0 && cursor_more(&c); n--) {
        struct jit_line line = {.pc = cursor_uint(&c, 8), .line = (uint32_t)cursor_uint(&c, 4)};
        cursor_uint(&c, 4);
        struct text name = jitdump_take_string(&c);
        if (!text_is(name, "\xff"))
            file = intern_add(&d->strings, name);
        line.file = file;
        /* Out of order they could not be searched. */
        if (c.bad || (d->lines.n > d->lines_from && line.pc < d->lines.at[d->lines.n - 1].pc))
            return;
        *vec_push(&d->lines) = line;
    }
}

/* How much of a record of KIND to look at: code itself is stepped over. */
static size_t wanted_bytes(uint32_t kind, size_t size)
{
    size_t most = kind == LOAD    ? LOAD_BYTES + NAME_MAX_BYTES
                  : kind == MOVE  ? 64
                  : kind == LINES ? LINES_MAX_BYTES
                                  : 0;
    return size < most ? size : most;
}

/* Step over N bytes of code, or read them where they are few. */
static bool skip_bytes(struct dump *d, size_t n)
{
    char bytes[1 << 12];
    if (n >= SKIP_MIN_BYTES)
        return fseeko(d->in, (off_t)n, SEEK_CUR) == 0;
    for (size_t piece; n; n -= piece) {
        piece = n < sizeof bytes ? n : sizeof bytes;
        if (fread(bytes, 1, piece, d->in) != piece)
            return false;
    }
    return true;
}

/* Whether the file has not had its share yet: a program may write records as fast as we read. */
static bool may_spend(struct dump *d, size_t bytes)
{
    bool may = bytes <= d->left_bytes;
    d->left_bytes -= may ? bytes : d->left_bytes;
    return may;
}

/* One record. False at the end, or where the file makes no sense. */
static bool take_record(struct dump *d, struct buf *body)
{
    uint32_t h[RECORD_BYTES / 4];
    if (fread(h, sizeof h, 1, d->in) != 1 || h[1] < RECORD_BYTES)
        return false;
    size_t size = h[1] - RECORD_BYTES, want = wanted_bytes(h[0], size);
    size_t skip = size - want;
    if (!may_spend(d, sizeof h + want + (skip < STEP_BYTES ? skip : STEP_BYTES)))
        return false;
    body->n = 0;
    /* A size that lies past the end of the file must not cost memory. */
    while (body->n < want) {
        size_t piece = want - body->n < 1 << 16 ? want - body->n : 1 << 16;
        vec_reserve(body, piece);
        if (fread(body->at + body->n, 1, piece, d->in) != piece)
            return false;
        body->n += piece;
    }
    if (!skip_bytes(d, skip))
        return false;
    if (!body->n)
        return true;
    struct cursor c = cursor_of(body->at, body->n);
    if (h[0] == LOAD)
        take_load(d, c);
    else if (h[0] == MOVE)
        take_move(d, c);
    else if (h[0] == LINES)
        take_lines(d, c);
    return true;
}

/* --- naming --- */

/* The line of PC in CODE: the last one at or before it. */
static const struct jit_line *line_at(const struct dump *d, const struct code *code, uint64_t pc)
{
    size_t low = code->first_line, high = low + code->n_lines;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (d->lines.at[mid].pc <= pc)
            low = mid + 1;
        else
            high = mid;
    }
    return low > code->first_line ? &d->lines.at[low - 1] : NULL;
}

static void name_code(struct lookup *l, const struct dump *d, const struct code *code,
                      struct cover *c)
{
    size_t i = cover_first(c, code->start, code->end);
    for (; i < c->n; i = cover_take(c, i, code->end)) {
        const struct jit_line *at = line_at(d, code, l->pcs[i]);
        struct function f = {.name = lookup_add_name(l, intern_get(&d->strings, code->name))};
        if (at)
            f.file = lookup_add_name(l, intern_get(&d->strings, at->file));
        struct line line = {profile_add_function(l->p, &f), at ? at->line : 0, 0};
        lookup_set(l, i, &line, 1);
    }
}

static void name_codes(struct lookup *l, const struct dump *d)
{
    struct cover c;
    cover_init(&c, l->pcs, l->n);
    for (size_t i = d->codes.n; i-- > 0;)
        name_code(l, d, &d->codes.at[i], &c);
    cover_done(&c);
}

static void dump_done(struct dump *d)
{
    intern_done(&d->strings);
    vec_done(&d->codes);
    vec_done(&d->lines);
    idmap_done(&d->by_index);
}

int jitdump_name(struct lookup *l, int fd, uint64_t pid)
{
    autobuf struct buf body = {0};
    autofclose FILE *in = fdopen(fd, "rb");
    if (!in)
        close(fd);
    if (!in || jitdump_read_header(in, pid) != 0)
        return -1;
    struct dump d = {.in = in, .left_bytes = JITDUMP_MAX_BYTES};
    intern_init(&d.strings);
    while (take_record(&d, &body))
        ;
    name_codes(l, &d);
    dump_done(&d);
    return 0;
}
