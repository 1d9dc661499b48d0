#include "symbol/perfmap.h"

#include "base/buf.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

struct entry {
    uint64_t start, end;
    struct text name;
};

bool perfmap_is(struct text path)
{
    uint64_t pid;
    for (size_t i = path.n; i-- > 0;)
        if (path.at[i] == '/') {
            path = (struct text){path.at + i + 1, path.n - i - 1};
            break;
        }
    if (!text_starts(path, "perf-") || !text_ends(path, ".map") || path.n < 10)
        return false;
    return text_u64((struct text){path.at + 5, path.n - 9}, 10, &pid);
}

/*
 * The whole file. Anybody may put a file of this name into /tmp: links are not followed, and
 * what is not a plain file is not opened for long.
 */
static int read_file(const char *path, struct buf *ret)
{
    struct stat st;
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return -1;
    for (;;) {
        vec_reserve(ret, 1 << 16);
        ssize_t n = read(fd, ret->at + ret->n, ret->cap - ret->n);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 || ret->n + (size_t)n > PERFMAP_MAX_BYTES)
            return -1;
        if (n == 0)
            return 0;
        ret->n += (size_t)n;
    }
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

int perfmap_name(struct lookup *l, const char *path)
{
    autobuf struct buf file = {0};
    VEC(struct entry) entries = {0};
    struct entry e;
    if (read_file(path, &file) != 0)
        return -1;
    for (struct text rest = buf_text(&file); rest.n;)
        if (take_entry(text_cut(&rest, '\n'), &e))
            *vec_push(&entries) = e;
    struct cover c;
    cover_init(&c, l->pcs, l->n);
    for (size_t i = entries.n; i-- > 0;)
        name_entry(l, &c, &entries.at[i]);
    cover_done(&c);
    vec_done(&entries);
    return 0;
}
