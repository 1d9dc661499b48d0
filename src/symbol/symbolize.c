#include "symbol/symbolize.h"

#include "symbol/alias.h"
#include "symbol/debugdata.h"
#include "symbol/dwarf.h"
#include "symbol/finder.h"
#include "symbol/gofuncs.h"
#include "symbol/jitdump.h"
#include "symbol/jitfile.h"
#include "symbol/kallcache.h"
#include "symbol/kernelname.h"
#include "symbol/lookup.h"
#include "symbol/perfmap.h"
#include "symbol/place.h"
#include "symbol/plt.h"

#include <sys/auxv.h>
#include <sys/stat.h>

/* Where the names of a module come from. */
enum module_kind { MODULE_NONE, MODULE_FILE, MODULE_VDSO, MODULE_KERNEL, MODULE_MAP, MODULE_DUMP };

/* A frame that wants a name. */
struct wanted {
    enum module_kind kind;
    uint32_t path, build_id; /* strings; 0 for the kernel, which is one with its modules */
    uint64_t pc;             /* as the module counts it */
    uint32_t frame;
};

/* The frames of one module: sorted by address. */
struct module {
    struct wanted *at;
    size_t n;
    struct lookup lookup;
    uint64_t *pcs; /* of the lookup */
};

struct symbolizer {
    struct profile *p;
    struct symbolize_opts opts;
    struct finder finder;
    struct symbolize_result result;
    VEC(struct wanted) wanted;
};

/* --- which frames, of which module --- */

/*
 * "//anon", "[heap]", "/memfd:x (deleted)" and the like have no file. Devices are not opened, as
 * that alone can do something; but /dev/shm is a folder like any other.
 */
static bool is_file(struct text path)
{
    bool device = text_starts(path, "/dev/") && !text_starts(path, "/dev/shm/");
    return path.n && path.at[0] != '[' && memchr(path.at, '/', path.n) &&
           !text_starts(path, "//") && !text_starts(path, "/memfd:") &&
           !text_starts(path, "/SYSV") && !device && !text_starts(path, "/anon_hugepage") &&
           !memchr(path.at, 0, path.n);
}

static enum module_kind symbolize_kind_of(struct text path, enum frame_kind kind)
{
    uint64_t pid;
    if (kind == FRAME_KERNEL || text_starts(path, "[kernel"))
        return MODULE_KERNEL;
    if (text_is(path, "[vdso]"))
        return MODULE_VDSO;
    if (!is_file(path))
        return MODULE_NONE;
    if (perfmap_is(path, &pid))
        return MODULE_MAP;
    return jitdump_is(path, &pid) ? MODULE_DUMP : MODULE_FILE;
}

static enum module_kind kind_of_frame(const struct profile *p, const struct frame *f,
                                      const struct symbolize_opts *o)
{
    const struct mapping *m = &p->mappings.at[f->mapping.i];
    enum module_kind kind = symbolize_kind_of(profile_str(p, m->path), (enum frame_kind)f->kind);
    /* Without a build-id a run-time range at least says how addresses count. */
    bool certain = kind == MODULE_FILE && (m->build_id.i || m->start);
    return o->files_only && !certain ? MODULE_NONE : kind;
}

/* Whether a frame has an address and no name for it. */
static bool is_bare(const struct profile *p, const struct frame *f, const struct symbolize_opts *o)
{
    if (!f->pc || f->n_lines > 1)
        return false;
    if (!f->n_lines)
        return true;
    struct text name = profile_function_name(p, profile_lines(p, f)->function);
    return o->places_too && f->mapping.i && profile_name_is_place(name);
}

static void add_wanted(struct symbolizer *s, uint32_t i)
{
    const struct frame *f = &s->p->frames.at[i];
    const struct mapping *m = &s->p->mappings.at[f->mapping.i];
    enum module_kind kind = kind_of_frame(s->p, f, &s->opts);
    s->result.frames++;
    if (kind == MODULE_NONE)
        return;
    struct wanted w = {kind, m->path.i, m->build_id.i, f->pc, i};
    if (kind == MODULE_KERNEL)
        w.path = w.build_id = 0;
    /* The vdso is not linked to an address; its own count from 0. */
    if (kind == MODULE_VDSO && m->start && f->pc >= m->start && f->pc < m->end)
        w.pc -= m->start;
    *vec_push(&s->wanted) = w;
}

static bool same_module(const struct wanted *a, const struct wanted *b)
{
    return a->kind == b->kind && a->path == b->path && a->build_id == b->build_id;
}

static int compare_wanted(const void *a, const void *b)
{
    const struct wanted *x = a, *y = b;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (x->path != y->path)
        return x->path < y->path ? -1 : 1;
    if (x->build_id != y->build_id)
        return x->build_id < y->build_id ? -1 : 1;
    if (x->pc != y->pc)
        return x->pc < y->pc ? -1 : 1;
    return x->frame < y->frame ? -1 : x->frame > y->frame;
}

/* --- names, by kind of module --- */

/*
 * From an open file and the one with its debug information; DEBUG may be the same, or NULL. All
 * tables are asked in any case, whatever the number of addresses: what a function is called must
 * not depend on how often it was seen.
 */
static void name_from_files(struct symbolizer *s, struct lookup *l, struct elffile *main,
                            struct elffile *debug)
{
    struct elfsyms symbols = {0};
    struct debugdata packed = {0};
    if (debug && elffile_dwarf(debug))
        dwarf_name(l, debug->dw, s->opts.no_inlines);
    if (main)
        elfsyms_add(&symbols, main->elf, SHT_DYNSYM);
    bool whole = (main && elfsyms_add(&symbols, main->elf, SHT_SYMTAB) == 0) ||
                 (debug && debug != main && elfsyms_add(&symbols, debug->elf, SHT_SYMTAB) == 0);
    if (main && !whole && debugdata_open(&packed, main->elf) == DEBUGDATA_OPEN)
        elfsyms_add(&symbols, packed.elf, SHT_SYMTAB);
    elfsyms_name_public(&symbols, l);
    if (main && lookup_count_unnamed(l))
        plt_name(l, main->elf);
    elfsyms_name_rest(&symbols, l);
    if (main && lookup_count_unnamed(l))
        gofuncs_name(l, main->elf);
    alias_fold(&symbols, l);
    elfsyms_done(&symbols);
    debugdata_close(&packed);
}

/* Each address once. */
static void start_lookup(struct symbolizer *s, struct module *m)
{
    size_t n = 0;
    m->pcs = mem_calloc(m->n, sizeof *m->pcs);
    for (size_t i = 0; i < m->n; i++)
        if (!n || m->pcs[n - 1] != m->at[i].pc)
            m->pcs[n++] = m->at[i].pc;
    lookup_init(&m->lookup, s->p, m->pcs, n);
}

/* What the frame's mapping adds to the addresses that the file was linked to. */
static uint64_t bias_of(const struct symbolizer *s, Elf *elf, const struct wanted *w)
{
    struct mapping_id id = s->p->frames.at[w->frame].mapping;
    const struct mapping *m = &s->p->mappings.at[id.i];
    return m->end ? elffile_bias(elf, m->start, m->offset) : 0;
}

static void count_from_file(struct symbolizer *s, struct module *m, Elf *elf)
{
    bool moved = false;
    for (size_t i = 0; i < m->n; i++) {
        uint64_t bias = bias_of(s, elf, &m->at[i]);
        m->at[i].pc -= bias;
        moved |= bias != 0;
    }
    if (moved)
        qsort(m->at, m->n, sizeof *m->at, compare_wanted);
}

static enum symbolize_reason reason_of(enum finder_end end)
{
    switch (end) {
    case FINDER_OTHER_BUILD:
        return SYMBOLIZE_OTHER_BUILD;
    case FINDER_FORBIDDEN:
        return SYMBOLIZE_FORBIDDEN;
    case FINDER_NOT_ELF:
        return SYMBOLIZE_NOT_ELF;
    default:
        return SYMBOLIZE_GONE;
    }
}

/* Where there is no build-id to go by: whether the file was written after the profile was taken. */
static bool is_newer(const struct symbolizer *s, const struct elffile *main)
{
    uint64_t taken_ns;
    struct stat st;
    if (!s->opts.files_only || !meta_find_u64(&s->p->meta, META_TIME_NS, &taken_ns) || !taken_ns ||
        fstat(main->fd, &st) != 0)
        return false;
    return st.st_mtim.tv_sec > 0 && (uint64_t)st.st_mtim.tv_sec > taken_ns / 1000000000u;
}

/* The namers start the lookup, as soon as it is known how the module counts. False: RET_WHY. */
static bool name_file(struct symbolizer *s, struct module *m, enum symbolize_reason *ret_why)
{
    const char *path = intern_get(&s->p->strings, m->at->path).at;
    struct text build_id = intern_get(&s->p->strings, m->at->build_id);
    struct finder_files files;
    enum finder_end end = finder_open(&s->finder, &files, path, build_id);
    struct elffile *main = files.has_main ? &files.main : NULL;
    struct elffile *debug = files.has_debug ? &files.debug : main;
    if (main && !build_id.n && is_newer(s, main))
        end = FINDER_OTHER_BUILD;
    if (end == FINDER_FOUND) {
        count_from_file(s, m, (main ? main : debug)->elf);
        start_lookup(s, m);
        name_from_files(s, &m->lookup, main, debug);
        if (main)
            place_name(&m->lookup, main->elf, text_of(path));
    }
    finder_close(&files);
    *ret_why = reason_of(end);
    return end == FINDER_FOUND;
}

/* The vdso is in our own memory too. */
static bool name_vdso(struct symbolizer *s, struct module *m, enum symbolize_reason *ret_why)
{
    char *image = (char *)getauxval(AT_SYSINFO_EHDR);
    *ret_why = SYMBOLIZE_GONE;
    if (!image)
        return false;
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)image;
    size_t size = header->e_shoff + (size_t)header->e_shentsize * header->e_shnum;
    Elf *elf = elf_memory(image, size);
    struct elfsyms symbols = {0};
    start_lookup(s, m);
    if (elf && elfsyms_add(&symbols, elf, SHT_DYNSYM) == 0) {
        elfsyms_name_public(&symbols, &m->lookup);
        elfsyms_name_rest(&symbols, &m->lookup);
    }
    elfsyms_done(&symbols);
    elf_end(elf);
    return elf != NULL;
}

static bool name_kernel(struct symbolizer *s, struct module *m, enum symbolize_reason *ret_why)
{
    struct kernelname_facts facts = kernelname_facts_of(s->p);
    const char *list = s->opts.kallsyms ? s->opts.kallsyms : KALLSYMS_RUNNING;
    start_lookup(s, m);
    enum kernelname_end end = kernelname_name(&m->lookup, &s->finder, &facts, list);
    *ret_why = end == KERNELNAME_OTHER ? SYMBOLIZE_OTHER_KERNEL : SYMBOLIZE_HIDDEN_KERNEL;
    return end == KERNELNAME_FOUND;
}

/* Open what a program left about its code. */
static int open_jitfile(const struct symbolizer *s, const char *path, uint64_t pid,
                        enum symbolize_reason *ret_why)
{
    const struct symbolize_opts *o = &s->opts;
    uid_t owner;
    bool known = o->owner && o->owner(o->locate_arg, pid, &owner);
    int fd = jitfile_open(path, known ? &owner : NULL);
    *ret_why = fd == JITFILE_FOREIGN ? SYMBOLIZE_FOREIGN_MAP : SYMBOLIZE_NO_MAP;
    return fd;
}

static bool name_map(struct symbolizer *s, struct module *m, enum symbolize_reason *ret_why)
{
    struct text path = intern_get(&s->p->strings, m->at->path);
    uint64_t pid = 0;
    perfmap_is(path, &pid);
    const char *folder = s->opts.map_folder;
    autofree char *other = folder ? mem_printf("%s%s", folder, strrchr(path.at, '/')) : NULL;
    int fd = open_jitfile(s, other ? other : path.at, pid, ret_why);
    start_lookup(s, m);
    return fd >= 0 && perfmap_name(&m->lookup, fd) == 0;
}

static bool name_dump(struct symbolizer *s, struct module *m, enum symbolize_reason *ret_why)
{
    struct text path = intern_get(&s->p->strings, m->at->path);
    uint64_t pid = 0;
    jitdump_is(path, &pid);
    int fd = open_jitfile(s, path.at, pid, ret_why);
    start_lookup(s, m);
    return fd >= 0 && jitdump_name(&m->lookup, fd, pid) == 0;
}

static bool (*const namers[])(struct symbolizer *, struct module *, enum symbolize_reason *) = {
    [MODULE_FILE] = name_file, [MODULE_VDSO] = name_vdso, [MODULE_KERNEL] = name_kernel,
    [MODULE_MAP] = name_map,   [MODULE_DUMP] = name_dump,
};

/* --- back into the profile --- */

static bool has_place(const struct profile *p, const struct line *lines, size_t n)
{
    const struct line *inner = &lines[n - 1];
    return inner->line && p->functions.at[inner->function.i].file.i;
}

/* The mapping of frame F, in addresses of the file as W is. */
static struct mapping_id symbolize_mapping_of(struct symbolizer *s, const struct wanted *w,
                                              const struct frame *f)
{
    uint64_t bias = f->pc - w->pc;
    if (w->kind != MODULE_FILE || !bias)
        return f->mapping;
    struct mapping m = s->p->mappings.at[f->mapping.i];
    m.start -= bias;
    m.end -= bias;
    return profile_add_mapping(s->p, &m);
}

static void set_frame(struct symbolizer *s, const struct wanted *w, const struct lookup *l,
                      size_t i)
{
    const struct frame *f = &s->p->frames.at[w->frame];
    bool jit = w->kind == MODULE_MAP || w->kind == MODULE_DUMP;
    struct frame_key key = {
        .pc = w->kind == MODULE_FILE ? w->pc : f->pc,
        .mapping = symbolize_mapping_of(s, w, f),
        .kind = jit ? FRAME_JIT : (enum frame_kind)f->kind,
        .lines = l->lines.at + l->found[i].first_line,
        .n_lines = l->found[i].n_lines,
    };
    s->result.named += !profile_name_is_place(profile_function_name(s->p, key.lines->function));
    s->result.with_lines += has_place(s->p, key.lines, key.n_lines);
    profile_set_frame(s->p, (struct frame_id){w->frame}, &key);
}

static void note_missing(struct symbolizer *s, const struct module *m, enum symbolize_reason why)
{
    s->result.missing_files++;
    if (s->opts.missing)
        *vec_push(s->opts.missing) = (struct symbolize_missing){
            .path = {m->at->path},
            .build_id = {m->at->build_id},
            .frames = m->n,
            .reason = why,
        };
}

static void name_module(struct symbolizer *s, struct module *m)
{
    enum symbolize_reason why = SYMBOLIZE_GONE;
    if (!namers[m->at->kind](s, m, &why))
        note_missing(s, m, why);
    for (size_t i = 0, pc = 0; m->pcs && i < m->n; i++) {
        while (m->pcs[pc] != m->at[i].pc)
            pc++;
        if (!lookup_wants_name(&m->lookup, pc))
            set_frame(s, &m->at[i], &m->lookup, pc);
    }
    lookup_done(&m->lookup);
    free(m->pcs);
}

static void finder_start(struct symbolizer *s)
{
    const struct symbolize_opts *o = &s->opts;
    finder_init(&s->finder, &(struct finder_opts){
                                .symbols = o->symbols,
                                .n_symbols = o->n_symbols,
                                .symfs = o->symfs,
                                .debug_folder = o->debug_folder,
                                .cache_folder = o->cache_folder,
                                .ask_servers = !o->no_debuginfod,
                                .locate = o->locate,
                                .locate_arg = o->locate_arg,
                            });
}

bool symbolize_wanted(const struct profile *p, const struct symbolize_opts *o)
{
    for (size_t i = 0; i < p->frames.n; i++)
        if (is_bare(p, &p->frames.at[i], o) && kind_of_frame(p, &p->frames.at[i], o) != MODULE_NONE)
            return true;
    return false;
}

struct symbolize_result symbolize(struct profile *p, const struct symbolize_opts *o)
{
    struct symbolizer s = {.p = p};
    if (o)
        s.opts = *o;
    elf_version(EV_CURRENT);
    finder_start(&s);
    for (size_t i = 0; i < p->frames.n; i++)
        if (is_bare(p, &p->frames.at[i], &s.opts))
            add_wanted(&s, (uint32_t)i);
    if (s.wanted.n)
        qsort(s.wanted.at, s.wanted.n, sizeof *s.wanted.at, compare_wanted);
    for (size_t i = 0, next; i < s.wanted.n; i = next) {
        for (next = i + 1; next < s.wanted.n && same_module(&s.wanted.at[i], &s.wanted.at[next]);)
            next++;
        name_module(&s, &(struct module){.at = s.wanted.at + i, .n = next - i});
    }
    vec_done(&s.wanted);
    finder_done(&s.finder);
    if (!s.result.missing_files)
        meta_set_str(&p->meta, META_NAMED, "yes");
    return s.result;
}
