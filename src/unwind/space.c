#include "unwind/space.h"
#include "unwind/epilogue.h"
#include "unwind/files_inner.h"
#include "unwind/space_inner.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>

struct mapped {
    struct unwind_map map;
    char *open_path; /* until the file was opened */
    bool opened;
    struct unwind_file *file;         /* held; NULL: none */
    const struct unwind_table *table; /* the file's or the vdso's; NULL: none */
    struct codefile *code;            /* the file's; NULL: none */
    uint64_t bias;                    /* address in memory - address in the file */
};

/* --- files --- */

static int open_one(const char *path)
{
    return path && path[0] == '/' ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
}

/* The program itself may be opened by its user; links in map_files are for root alone. */
static int open_own_program(const char *path, int pid)
{
    char link[32], program[PATH_MAX];
    snprintf(link, sizeof link, "/proc/%d/exe", pid);
    ssize_t n = readlink(link, program, sizeof program - 1);
    if (n < 0)
        return -1;
    program[n] = '\0';
    size_t length = strlen(path);
    bool same = strncmp(program, path, length) == 0 &&
                (!program[length] || strcmp(program + length, " (deleted)") == 0);
    return same ? open_one(link) : -1;
}

int unwind_open_mapped(const char *path, int pid, uint64_t start, uint64_t end)
{
    char mapped[80];
    int fd = open_one(path);
    if (fd >= 0 || !pid || path[0] != '/')
        return fd;
    snprintf(mapped, sizeof mapped, "/proc/%d/map_files/%llx-%llx", pid, (unsigned long long)start,
             (unsigned long long)end);
    fd = open_one(mapped);
    return fd >= 0 ? fd : open_own_program(path, pid);
}

static struct unwind_file *load_map(struct unwind_files *f, const struct mapped *m)
{
    const struct unwind_map *at = &m->map;
    autoclose int fd = open_one(m->open_path);
    if (fd < 0)
        fd = unwind_open_mapped(at->path, at->pid, at->start, at->end);
    return fd < 0 ? NULL : unwind_file_hold(f, fd, at->path);
}

/* How many bytes of segment S are in the mapping's part of the file. */
static uint64_t overlap(const struct unwind_segment *s, const struct unwind_map *m)
{
    uint64_t m_end = m->offset + (m->end - m->start), s_end = s->offset + s->size;
    uint64_t from = s->offset > m->offset ? s->offset : m->offset;
    uint64_t to = s_end < m_end ? s_end : m_end;
    return to > from ? to - from : 0;
}

/*
 * Where the file's address 0 would be. Offset and address of a segment need not be equal, nor
 * their difference the same for all segments (lld, mold): take the segment that is mapped here.
 */
static bool find_bias(struct mapped *m)
{
    const struct unwind_segment *best = NULL;
    uint64_t most = 0;
    for (size_t i = 0; i < m->table->n_segments; i++) {
        uint64_t bytes = overlap(&m->table->segments[i], &m->map);
        if (bytes > most) {
            most = bytes;
            best = &m->table->segments[i];
        }
    }
    if (best)
        m->bias = m->map.start - m->map.offset + best->offset - best->vaddr;
    return best != NULL;
}

static void open_map(struct unwind_space *s, struct mapped *m)
{
    if (m->opened)
        return;
    m->opened = true;
    if (strcmp(m->map.path, "[vdso]") == 0) {
        m->table = unwind_files_vdso(s->files);
    } else {
        m->file = load_map(s->files, m);
        m->table = m->file ? m->file->table : NULL;
        m->code = m->file ? m->file->code : NULL;
    }
    free(m->open_path);
    m->open_path = NULL;
    if (m->table && !find_bias(m))
        m->table = NULL;
    if (m->table && arch_find(m->table->machine))
        s->arch = arch_find(m->table->machine);
}

/* What two mappings need of their own after one became two. */
static void mapped_copied(struct mapped *m)
{
    m->open_path = m->open_path ? mem_strdup(m->open_path) : NULL;
    if (m->file)
        m->file->n_holders++;
}

static void mapped_drop(struct unwind_space *s, struct mapped *m)
{
    free(m->open_path);
    if (m->file)
        unwind_file_release(s->files, m->file);
}

/* --- spaces --- */

static void space_changed(struct unwind_space *s)
{
    s->generation = ++s->files->generation;
}

struct unwind_space *unwind_space_new(struct unwind_files *files)
{
    struct unwind_space *s = mem_new(struct unwind_space);
    s->files = files;
    s->slots = files->slots;
    s->arch = arch_host();
    space_changed(s);
    return s;
}

void unwind_space_set_machine(struct unwind_space *s, uint16_t machine)
{
    const struct arch *arch = arch_find(machine);
    if (arch)
        s->arch = arch;
}

struct unwind_space *unwind_space_copy(const struct unwind_space *from)
{
    struct unwind_space *s = unwind_space_new(from->files);
    s->arch = from->arch;
    s->n_maps = s->cap_maps = from->n_maps;
    s->maps = mem_calloc(s->n_maps + 1, sizeof *s->maps);
    for (size_t i = 0; i < s->n_maps; i++) {
        s->maps[i] = from->maps[i];
        mapped_copied(&s->maps[i]);
    }
    return s;
}

void unwind_space_clear(struct unwind_space *s)
{
    for (size_t i = 0; i < s->n_maps; i++)
        mapped_drop(s, &s->maps[i]);
    s->n_maps = 0;
    space_changed(s);
}

void unwind_space_free(struct unwind_space *s)
{
    if (!s)
        return;
    unwind_space_clear(s);
    free(s->maps);
    free(s);
}

/* The index of the first mapping that ends after PC. */
static size_t find_index(const struct unwind_space *s, uint64_t pc)
{
    size_t from = 0, to = s->n_maps;
    while (from < to) {
        size_t half = from + (to - from) / 2;
        if (s->maps[half].map.end > pc)
            to = half;
        else
            from = half + 1;
    }
    return from;
}

/* Put a mapping in at place I. */
static struct mapped *space_insert(struct unwind_space *s, size_t i)
{
    if (s->n_maps == s->cap_maps)
        vec_grow((void **)&s->maps, &s->cap_maps, s->n_maps + 1, sizeof *s->maps);
    memmove(s->maps + i + 1, s->maps + i, (s->n_maps - i) * sizeof *s->maps);
    s->n_maps++;
    return &s->maps[i];
}

static void cut_front(struct mapped *m, uint64_t start)
{
    m->map.offset += start - m->map.start;
    m->map.start = start;
}

/* Make room from START to END; returns where a mapping of that range belongs. */
static size_t unmap(struct unwind_space *s, uint64_t start, uint64_t end)
{
    size_t i = find_index(s, start);
    if (i < s->n_maps && s->maps[i].map.start < start) {
        if (s->maps[i].map.end > end) { /* a hole in its middle: it becomes two */
            struct mapped *rest = space_insert(s, i + 1);
            *rest = s->maps[i];
            mapped_copied(rest);
        }
        s->maps[i++].map.end = start;
    }
    size_t gone = i;
    while (gone < s->n_maps && s->maps[gone].map.end <= end)
        mapped_drop(s, &s->maps[gone++]);
    if (gone > i)
        memmove(s->maps + i, s->maps + gone, (s->n_maps - gone) * sizeof *s->maps);
    s->n_maps -= gone - i;
    if (i < s->n_maps && s->maps[i].map.start < end)
        cut_front(&s->maps[i], end);
    return i;
}

void unwind_space_map(struct unwind_space *s, const struct unwind_map *m)
{
    if (m->end <= m->start)
        return;
    struct intern *paths = &s->files->paths;
    size_t i = unmap(s, m->start, m->end);
    struct mapped *new = space_insert(s, i);
    *new = (struct mapped){.map = *m};
    new->map.path = intern_get(paths, intern_add(paths, text_of(m->path ? m->path : ""))).at;
    new->map.open_path = NULL;
    new->open_path = m->open_path ? mem_strdup(m->open_path) : NULL;
    space_changed(s);
}

static struct mapped *find_map(const struct unwind_space *s, uint64_t pc)
{
    size_t i = find_index(s, pc);
    return i < s->n_maps && s->maps[i].map.start <= pc ? &s->maps[i] : NULL;
}

const struct unwind_map *unwind_space_find(const struct unwind_space *s, uint64_t pc)
{
    const struct mapped *m = find_map(s, pc);
    return m ? &m->map : NULL;
}

uint64_t unwind_space_vaddr(struct unwind_space *s, uint64_t pc)
{
    struct mapped *m = find_map(s, pc);
    if (!m)
        return pc;
    open_map(s, m);
    return m->table ? pc - m->bias : pc;
}

bool space_is_anonymous(struct unwind_space *s, uint64_t pc)
{
    struct mapped *m = find_map(s, pc);
    if (m)
        open_map(s, m);
    return !m || !m->table;
}

static struct mapped *find_code(struct unwind_space *s, uint64_t pc)
{
    struct mapped *m = find_map(s, pc);
    if (m)
        open_map(s, m);
    return m && m->table && m->code ? m : NULL;
}

enum code_before space_before(struct unwind_space *s, uint64_t pc)
{
    struct mapped *m = pc ? find_code(s, pc - 1) : NULL;
    return m ? codefile_before(m->code, pc - m->bias) : BEFORE_OTHER;
}

void space_code_rows(struct unwind_space *s, uint64_t pc, struct unwind_row *ret)
{
    struct mapped *m = find_code(s, pc);
    const struct unwind_row *rows = m ? codefile_rows(m->code, pc - m->bias) : NULL;
    for (int i = 0; i < EPILOGUE_ROWS; i++)
        ret[i] = rows ? rows[i] : (struct unwind_row){.cfa = CFA_UNKNOWN};
}

bool unwind_space_is_trampoline(struct unwind_space *s, uint64_t pc)
{
    struct mapped *m = find_code(s, pc);
    if (!m || m->table->machine != EM_X86_64)
        return false;
    const struct unwind_row *row = unwind_table_find(m->table, pc - m->bias);
    return row ? row->cfa == CFA_SIGNAL && !(row->flags & ROW_NAMED)
               : codefile_is_trampoline(m->code, pc - m->bias);
}

static bool starts_function(const struct unwind_row *row)
{
    return row->cfa == CFA_BOTTOM || (row->cfa == CFA_SP && row->cfa_offset == 1);
}

/* What else VADDR may mean, as the byte before a return address. ROW is its own, NULL for none. */
static uint8_t planted(const struct mapped *m, uint64_t vaddr, const struct unwind_row *row)
{
    const struct unwind_table *t = m->table;
    bool in_gap = !row || row->cfa == CFA_GAP;
    const struct unwind_row *next = row ? row + 1 : t->rows;
    bool has_next = t->n_rows && next < t->rows + t->n_rows && next->pc + t->base == vaddr + 1;
    bool starts = has_next && starts_function(next);
    if ((!starts && !in_gap) || !m->code || t->machine != EM_X86_64 ||
        codefile_before(m->code, vaddr + 1) == BEFORE_CALL)
        return 0;
    if (codefile_is_trampoline(m->code, vaddr + 1))
        return CFA_PLANTED_TRAMPOLINE;
    return starts ? CFA_PLANTED : 0;
}

const struct unwind_row *space_rule_slow(struct unwind_space *s, uint64_t pc,
                                         struct rule_slot *slot)
{
    struct mapped *m = find_map(s, pc);
    *slot = (struct rule_slot){pc, s->generation, {.cfa = m ? CFA_GAP : CFA_NO_MAP}};
    if (m)
        open_map(s, m);
    if (!m || !m->table)
        return &slot->row;
    const struct unwind_row *row = unwind_table_row(m->table, pc - m->bias);
    if (row)
        slot->row = *row;
    slot->row.cfa |= planted(m, pc - m->bias, row);
    return &slot->row;
}

bool unwind_space_code(struct unwind_space *s, size_t i, struct unwind_code *ret)
{
    if (i >= s->n_maps)
        return false;
    struct mapped *m = &s->maps[i];
    open_map(s, m);
    uint64_t file_id = m->file ? m->file->id : UNWIND_VDSO_ID;
    *ret =
        (struct unwind_code){m->map.start, m->map.end, m->bias, m->table, m->table ? file_id : 0};
    return true;
}
