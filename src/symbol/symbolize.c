#include "symbol/symbolize.h"

#include "symbol/alias.h"
#include "symbol/debugdata.h"
#include "symbol/debugfile.h"
#include "symbol/dwarf.h"
#include "symbol/jitdump.h"
#include "symbol/kallcache.h"
#include "symbol/kallsyms.h"
#include "symbol/lookup.h"
#include "symbol/perfmap.h"
#include "symbol/place.h"
#include "symbol/plt.h"

#include <sys/auxv.h>
#include <sys/utsname.h>

/* Where the names of a module come from. */
enum module_kind { MODULE_NONE, MODULE_FILE, MODULE_VDSO, MODULE_KERNEL, MODULE_MAP, MODULE_DUMP };

/* A frame that wants a name. */
struct wanted {
    enum module_kind kind;
    uint32_t path, build_id; /* strings; 0 for the kernel, which is one with its modules */
    uint64_t pc;             /* as the module counts it */
    uint32_t frame;
};

struct symbolizer {
    struct profile *p;
    struct symbolize_opts opts;
    struct symbolize_result result;
    VEC(struct wanted) wanted;
};

/* --- which frames, of which module --- */

/* "//anon", "[heap]", "/memfd:x (deleted)" and the like have no file. */
static bool is_file(struct text path)
{
    return path.n && path.at[0] != '[' && memchr(path.at, '/', path.n) &&
           !text_starts(path, "//") && !text_starts(path, "/memfd:") &&
           !text_starts(path, "/SYSV") && !text_starts(path, "/dev/") &&
           !text_starts(path, "/anon_hugepage") && !memchr(path.at, 0, path.n);
}

static enum module_kind kind_of(struct text path, enum frame_kind kind)
{
    uint64_t pid;
    if (kind == FRAME_KERNEL || text_starts(path, "[kernel"))
        return MODULE_KERNEL;
    if (text_is(path, "[vdso]"))
        return MODULE_VDSO;
    if (!is_file(path))
        return MODULE_NONE;
    if (perfmap_is(path))
        return MODULE_MAP;
    return jitdump_is(path, &pid) ? MODULE_DUMP : MODULE_FILE;
}

static void add_wanted(struct symbolizer *s, uint32_t i)
{
    const struct frame *f = &s->p->frames.at[i];
    const struct mapping *m = &s->p->mappings.at[f->mapping.i];
    enum module_kind kind = kind_of(profile_str(s->p, m->path), (enum frame_kind)f->kind);
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
    alias_fold(&symbols, l);
    elfsyms_done(&symbols);
    debugdata_close(&packed);
}

static int name_file(struct symbolizer *s, struct lookup *l, const struct wanted *w)
{
    const char *path = intern_get(&s->p->strings, w->path).at;
    struct text build_id = intern_get(&s->p->strings, w->build_id);
    struct elffile main, debug;
    struct debugfile_opts opts = {
        .folder = s->opts.debug_folder ? s->opts.debug_folder : "/usr/lib/debug",
        .ask_servers = !s->opts.no_debuginfod,
    };
    const char *at = s->opts.locate ? s->opts.locate(s->opts.locate_arg, path) : path;
    bool have_main = elffile_open(&main, at, build_id) == 0;
    bool apart = !(have_main && main.has_dwarf) &&
                 debugfile_open(&debug, path, have_main ? main.elf : NULL, build_id, &opts) == 0;
    if (have_main || apart)
        name_from_files(s, l, have_main ? &main : NULL, apart ? &debug : have_main ? &main : NULL);
    if (have_main)
        place_name(l, main.elf, text_of(path));
    if (apart)
        elffile_close(&debug);
    elffile_close(&main);
    return have_main || apart ? 0 : -1;
}

/* The vdso is in our own memory too. */
static int name_vdso(struct symbolizer *s, struct lookup *l, const struct wanted *w)
{
    (void)s, (void)w;
    char *image = (char *)getauxval(AT_SYSINFO_EHDR);
    if (!image)
        return -1;
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)image;
    size_t size = header->e_shoff + (size_t)header->e_shentsize * header->e_shnum;
    Elf *elf = elf_memory(image, size);
    struct elfsyms symbols = {0};
    if (elf && elfsyms_add(&symbols, elf, SHT_DYNSYM) == 0) {
        elfsyms_name_public(&symbols, l);
        elfsyms_name_rest(&symbols, l);
    }
    elfsyms_done(&symbols);
    elf_end(elf);
    return elf ? 0 : -1;
}

/* Whether the profile says that it was taken under another release: "Linux 6.1.0". */
static bool is_other_release(const struct symbolizer *s)
{
    struct utsname u;
    const char *kernel = meta_find(&s->p->meta, META_KERNEL);
    if (!kernel || strncmp(kernel, "Linux ", 6) != 0 || uname(&u) != 0)
        return false;
    return strcmp(kernel + 6, u.release) != 0;
}

/* Names are those of the kernel that runs now: frames of another one are left alone. */
static bool is_this_kernel(const struct symbolizer *s)
{
    char running[129];
    if (is_other_release(s))
        return false;
    kallsyms_build_id(running, sizeof running);
    for (size_t i = 0; i < s->p->mappings.n; i++) {
        const struct mapping *m = &s->p->mappings.at[i];
        struct text id = profile_str(s->p, m->build_id);
        if (text_starts(profile_str(s->p, m->path), "[kernel") && id.n && running[0] &&
            !text_is(id, running))
            return false;
    }
    return true;
}

static int name_kernel(struct symbolizer *s, struct lookup *l, const struct wanted *w)
{
    (void)w;
    if (!is_this_kernel(s))
        return -1;
    return kallsyms_name(l, s->opts.kallsyms ? s->opts.kallsyms : KALLSYMS_RUNNING);
}

static int name_map(struct symbolizer *s, struct lookup *l, const struct wanted *w)
{
    const char *path = intern_get(&s->p->strings, w->path).at;
    if (!s->opts.map_folder)
        return perfmap_name(l, path);
    autofree char *other = mem_printf("%s%s", s->opts.map_folder, strrchr(path, '/'));
    return perfmap_name(l, other);
}

static int name_dump(struct symbolizer *s, struct lookup *l, const struct wanted *w)
{
    return jitdump_name(l, intern_get(&s->p->strings, w->path).at);
}

static int (*const namers[])(struct symbolizer *, struct lookup *, const struct wanted *) = {
    [MODULE_FILE] = name_file, [MODULE_VDSO] = name_vdso, [MODULE_KERNEL] = name_kernel,
    [MODULE_MAP] = name_map,   [MODULE_DUMP] = name_dump,
};

/* --- back into the profile --- */

static bool has_place(const struct profile *p, const struct line *lines, size_t n)
{
    const struct line *inner = &lines[n - 1];
    return inner->line && p->functions.at[inner->function.i].file.i;
}

static void set_frame(struct symbolizer *s, const struct wanted *w, const struct lookup *l,
                      size_t i)
{
    const struct frame *f = &s->p->frames.at[w->frame];
    bool jit = w->kind == MODULE_MAP || w->kind == MODULE_DUMP;
    struct frame_key key = {
        .pc = f->pc,
        .mapping = f->mapping,
        .kind = jit ? FRAME_JIT : (enum frame_kind)f->kind,
        .lines = l->lines.at + l->found[i].first_line,
        .n_lines = l->found[i].n_lines,
    };
    s->result.named += !profile_name_is_place(profile_function_name(s->p, key.lines->function));
    s->result.with_lines += has_place(s->p, key.lines, key.n_lines);
    profile_set_frame(s->p, (struct frame_id){w->frame}, &key);
}

/* The N frames at W are of one module and sorted by address. */
static void name_module(struct symbolizer *s, const struct wanted *w, size_t n)
{
    struct lookup l;
    size_t n_pcs = 0;
    autofree uint64_t *pcs = mem_calloc(n, sizeof *pcs);
    for (size_t i = 0; i < n; i++)
        if (!n_pcs || pcs[n_pcs - 1] != w[i].pc)
            pcs[n_pcs++] = w[i].pc;
    lookup_init(&l, s->p, pcs, n_pcs);
    if (namers[w->kind](s, &l, w) != 0)
        s->result.missing_files++;
    for (size_t i = 0, pc = 0; i < n; i++) {
        while (pcs[pc] != w[i].pc)
            pc++;
        if (!lookup_wants_name(&l, pc))
            set_frame(s, &w[i], &l, pc);
    }
    lookup_done(&l);
}

struct symbolize_result symbolize(struct profile *p, const struct symbolize_opts *o)
{
    struct symbolizer s = {.p = p};
    if (o)
        s.opts = *o;
    elf_version(EV_CURRENT);
    for (size_t i = 0; i < p->frames.n; i++)
        if (!p->frames.at[i].n_lines && p->frames.at[i].pc)
            add_wanted(&s, (uint32_t)i);
    if (s.wanted.n)
        qsort(s.wanted.at, s.wanted.n, sizeof *s.wanted.at, compare_wanted);
    for (size_t i = 0, next; i < s.wanted.n; i = next) {
        for (next = i + 1; next < s.wanted.n && same_module(&s.wanted.at[i], &s.wanted.at[next]);)
            next++;
        name_module(&s, s.wanted.at + i, next - i);
    }
    vec_done(&s.wanted);
    return s.result;
}
