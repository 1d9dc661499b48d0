#include "symbol/perfmap.h"

#include "base/buf.h"
#include "symbol/jitfile.h"

#include <errno.h>

struct entry {
    uint64_t start, end;
    struct text name;
};

bool perfmap_is(struct text path, uint64_t *ret_pid)
{
    return jitfile_pid(path, "perf-", ".map", ret_pid);
}

/* The whole of FD, which is taken over. */
static int perfmap_read_file(int fd, struct buf *ret)
{
    autoclose int own = fd;
    for (;;) {
        vec_reserve(ret, 1 << 16);
        ssize_t n = read(own, ret->at + ret->n, ret->cap - ret->n);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 || ret->n + (size_t)n > PERFMAP_MAX_BYTES)
            return -1;
        if (n == 0)
            return 0;
        ret->n += (size_t)n;
    }
}

/* From the end, as the last entry for an address counts. */
static struct text cut_last_line(struct text *rest)
{
    size_t start = rest->n;
    while (start && rest->at[start - 1] != '\n')
        start--;
    struct text line = {rest->at + start, rest->n - start};
    rest->n = start ? start - 1 : 0;
    return line;
}

static bool take_hex(struct text *line, uint64_t *ret)
{
    struct text word = text_cut(line, ' ');
    if (text_starts(word, "0x"))
        word = (struct text){word.at + 2, word.n - 2};
    return text_u64(word, 16, ret);
}

static bool take_entry(struct text line, struct entry *ret)
{
    uint64_t size = 0;
    if (!take_hex(&line, &ret->start) || !take_hex(&line, &size))
        return false;
    ret->name = text_trim(line);
    return ret->name.n && size && !__builtin_add_overflow(ret->start, size, &ret->end);
}

static void name_entry(struct lookup *l, struct cover *c, const struct entry *e)
{
    size_t i = cover_first(c, e->start, e->end);
    if (i == c->n)
        return;
    struct function f = {.name = lookup_add_name(l, e->name)};
    struct function_id function = profile_add_function(l->p, &f);
    for (; i < c->n; i = cover_take(c, i, e->end))
        lookup_set_name(l, i, function);
}

int perfmap_name(struct lookup *l, int fd)
{
    autobuf struct buf file = {0};
    struct entry e;
    if (perfmap_read_file(fd, &file) != 0)
        return -1;
    struct cover c;
    cover_init(&c, l->pcs, l->n);
    for (struct text rest = buf_text(&file); rest.n && cover_first(&c, 0, UINT64_MAX) < c.n;)
        if (take_entry(cut_last_line(&rest), &e))
            name_entry(l, &c, &e);
    cover_done(&c);
    return 0;
}
