#include "symbol/kallsyms.h"

#include "symbol/kallcache.h"

#include <elf.h>

enum {
    NAME_MAX_BYTES = 512,   /* the kernel's own limit */
    FUNCTION_MAX = 1 << 20, /* bytes past the start of the last symbol that we still believe in */
};

/* The nearest symbol before an address so far. */
struct nearest {
    uint64_t start;
    char type; /* 0 = none yet */
    char name[NAME_MAX_BYTES];
};

static bool is_code(char type)
{
    return type == 't' || type == 'T' || type == 'w' || type == 'W';
}

/* The name for 32-bit programs of a system call, which has one for 64-bit ones at the same address.
 */
static bool is_compat(const char *name)
{
    return strncmp(name, "__ia32_", 7) == 0 || strstr(name, "_compat_sys_");
}

/* Whether a symbol of the same address is a better name: code, global, fewer underscores. */
static bool better(const struct nearest *old, char type, const char *name)
{
    if (is_code(type) != is_code(old->type))
        return is_code(type);
    if ((type == 'T') != (old->type == 'T'))
        return type == 'T';
    if (is_compat(name) != is_compat(old->name))
        return is_compat(old->name);
    size_t a = strspn(name, "_"), b = strspn(old->name, "_");
    return a != b ? a < b : strcmp(name, old->name) < 0;
}

static void kallsyms_keep(struct nearest *n, uint64_t start, char type, struct text name)
{
    char copy[NAME_MAX_BYTES];
    size_t length = name.n < sizeof copy ? name.n : sizeof copy - 1;
    memcpy(copy, name.at, length);
    copy[length] = 0;
    if (n->type && (n->start > start || (n->start == start && !better(n, type, copy))))
        return;
    n->start = start;
    n->type = type;
    memcpy(n->name, copy, length + 1);
}

/* One line. False if its address is hidden or it is no symbol. */
static bool take_line(struct lookup *l, struct nearest *nearest, struct text line)
{
    uint64_t start;
    struct text address = text_cut(&line, ' '), type = text_cut(&line, ' ');
    struct text name = text_cut(&line, '\t');
    if (type.n != 1 || !name.n || !text_u64(address, 16, &start) || !start)
        return false;
    size_t i = lookup_lower_bound(l->pcs, l->n, start);
    if (i < l->n)
        kallsyms_keep(&nearest[i], start, type.at[0], name);
    return true;
}

static void name_all(struct lookup *l, const struct nearest *nearest)
{
    const struct nearest *last = NULL;
    for (size_t i = 0; i < l->n; i++) {
        if (nearest[i].type)
            last = &nearest[i];
        if (last && is_code(last->type) && l->pcs[i] - last->start < FUNCTION_MAX &&
            lookup_wants_name(l, i)) {
            struct function f = lookup_describe(l, last->name);
            lookup_set_name(l, i, profile_add_function(l->p, &f));
        }
    }
}

int kallsyms_name(struct lookup *l, struct text list)
{
    struct nearest *nearest = mem_calloc(l->n, sizeof *nearest);
    size_t shown = 0;
    while (list.n)
        shown += take_line(l, nearest, text_cut(&list, '\n'));
    name_all(l, nearest);
    free(nearest);
    return shown ? 0 : -1;
}

static int compare_ranges(const void *a, const void *b)
{
    const struct kallsyms_range *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

/* The kernel's own functions are listed by address: one ends where the next begins. */
static void find_range(kallsyms_ranges *ret, struct text line, int (*kind_of)(struct text name))
{
    uint64_t start;
    struct text address = text_cut(&line, ' '), type = text_cut(&line, ' ');
    struct text name = text_cut(&line, '\t');
    struct kallsyms_range *last = ret->n ? &ret->at[ret->n - 1] : NULL;
    if (type.n != 1 || !is_code(type.at[0]) || !text_u64(address, 16, &start) || !start)
        return;
    if (last && !last->end && start > last->start)
        last->end = start;
    if (kind_of(name))
        *vec_push(ret) = (struct kallsyms_range){.start = start, .kind = kind_of(name)};
}

void kallsyms_find(kallsyms_ranges *ret, const char *path, int (*kind_of)(struct text name))
{
    autobuf struct buf cached = {0};
    if (!kallcache_read(path, &cached))
        return;
    for (struct text list = buf_text(&cached); list.n;)
        find_range(ret, text_cut(&list, '\n'), kind_of);
    if (ret->n)
        qsort(ret->at, ret->n, sizeof *ret->at, compare_ranges);
}

uint64_t kallsyms_text(struct text list)
{
    uint64_t start = 0;
    while (list.n) {
        struct text line = text_cut(&list, '\n'), address = text_cut(&line, ' ');
        text_cut(&line, ' ');
        if (text_is(line, "_text"))
            return text_u64(address, 16, &start) ? start : 0;
    }
    return 0;
}

/* One ELF note: name and contents follow the header, each filled up to 4 bytes. */
static void take_note(FILE *in, const Elf64_Nhdr *note, char *ret, size_t size_bytes)
{
    char name[16] = "", id[64];
    size_t name_bytes = (note->n_namesz + 3ul) & ~3ul, id_bytes = (note->n_descsz + 3ul) & ~3ul;
    if (name_bytes > sizeof name || id_bytes > sizeof id ||
        fread(name, 1, name_bytes, in) != name_bytes || fread(id, 1, id_bytes, in) != id_bytes)
        return;
    if (note->n_type != NT_GNU_BUILD_ID || memcmp(name, "GNU", 4) != 0)
        return;
    for (size_t i = 0; i < note->n_descsz && 2 * i + 3 <= size_bytes; i++)
        snprintf(ret + 2 * i, 3, "%02x", (unsigned char)id[i]);
}

void kallsyms_build_id(char *ret, size_t size_bytes)
{
    Elf64_Nhdr note;
    ret[0] = 0;
    autofclose FILE *in = fopen("/sys/kernel/notes", "rbe");
    while (in && !ret[0] && fread(&note, sizeof note, 1, in) == 1)
        take_note(in, &note, ret, size_bytes);
}
