/*
 * leaksanitizer.c - reports of LeakSanitizer, alone or within AddressSanitizer, also in the middle
 * of what else a program prints.
 *
 *     ==10633==ERROR: LeakSanitizer: detected memory leaks
 *
 *     Direct leak of 6225 byte(s) in 50 object(s) allocated from:
 *         #0 0x561a8a8e0022 in malloc (/opt/app+0x31022) (BuildId: 254253a3)
 *         #1 0x561a8a8e27f7 in leak(int) /src/app.cc:9:89
 *         #2 0x561a8a8e27ff (/opt/app+0x337ff) (BuildId: 254253a3)        no name known
 *         #3 0x102215750 in wrap_malloc+0xa0 (libclang_rt.dylib:x86_64+0x44750)     macOS
 *
 *     SUMMARY: LeakSanitizer: 20481 byte(s) leaked in 347 allocation(s).
 *
 * A direct leak is a block that nothing points to; an indirect one is pointed to by leaked blocks
 * only. Both are leaked: the attribute "leak" keeps them apart.
 */
#include "model/heapstream.h"
#include "source/import.h"
#include "source/sources.h"

enum { LEAK_DEPTH_MAX = 100000 };

struct leak_module {
    struct str_id path;
    uint64_t start, end;
    struct mapping_id mapping;
};

struct leaks {
    struct import *im;
    int stream;
    bool open, indirect; /* in a leak's stack */
    int64_t bytes, objects;
    VEC(struct frame_id) frames; /* innermost first */
    VEC(struct leak_module) modules;
    int64_t all_bytes, all_objects; /* as the summaries say */
    int64_t seen_bytes;
    bool summary;
};

/* --- leaks --- */

static int close_leak(struct leaks *l, struct err *err)
{
    struct profile *p = l->im->profile;
    int64_t values[] = {l->bytes, l->objects};
    if (!l->open)
        return 0;
    l->open = false;
    struct attr attr = {.key = profile_add_str(p, text_of("leak")),
                        .text = profile_add_str(p, text_of(l->indirect ? "indirect" : "direct"))};
    struct row row = {.stack = stacks_intern_leaf_first(&p->stacks, l->frames.at, l->frames.n),
                      .attrs = attrs_add(&p->attrs, (struct attrs_id){0}, &attr),
                      .values = values};
    l->seen_bytes += l->bytes <= INT64_MAX - l->seen_bytes ? l->bytes : 0;
    return profile_add_row(p, l->stream, &row, err);
}

/* The number that T starts with, up to the next blank. */
static bool leading_number(struct text t, int64_t *ret)
{
    uint64_t v;
    if (!text_u64(text_cut(&t, ' '), 10, &v) || v > INT64_MAX)
        return false;
    *ret = (int64_t)v;
    return true;
}

/* "6225 byte(s) in 50 object(s) allocated from:" and the summary's "... leaked in 347 ..." */
static bool parse_leak(struct text t, int64_t *ret_bytes, int64_t *ret_objects)
{
    const char *in = memmem(t.at, t.n, " in ", 4);
    return in && leading_number(t, ret_bytes) &&
           leading_number((struct text){in + 4, (size_t)(t.at + t.n - in) - 4}, ret_objects);
}

static int open_leak(struct leaks *l, struct text rest, bool indirect, struct err *err)
{
    if (close_leak(l, err) != 0)
        return -1;
    if (!parse_leak(rest, &l->bytes, &l->objects))
        return import_skip_line(l->im, err, "a leak without bytes and objects");
    l->open = true;
    l->indirect = indirect;
    l->frames.n = 0;
    return 0;
}

/* --- frames --- */

static bool is_allocation_function(struct text name)
{
    static const char *const names[] = {"malloc",         "calloc",   "realloc",
                                        "reallocarray",   "memalign", "aligned_alloc",
                                        "posix_memalign", "valloc",   "pvalloc"};
    static const char *const prefixes[] = {"__interceptor_", "___interceptor_", "wrap_"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        size_t n = strlen(prefixes[i]);
        if (text_starts(name, prefixes[i])) {
            name = (struct text){name.at + n, name.n - n};
            break;
        }
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (text_is(name, names[i]))
            return true;
    return false;
}

/* "(BuildId: HEX)" at the end of T is cut off. */
static struct text cut_build_id(struct text *t)
{
    static const char mark[] = "(BuildId: ";
    const char *at = text_ends(*t, ")") ? memmem(t->at, t->n, mark, sizeof mark - 1) : NULL;
    if (!at)
        return (struct text){"", 0};
    struct text id = {at + sizeof mark - 1, (size_t)(t->at + t->n - at) - sizeof mark};
    t->n = (size_t)(at - t->at);
    *t = text_trim(*t);
    return id;
}

/* "(PATH+0xOFFSET)" at the end of T is cut off. */
static bool cut_module(struct text *t, struct text *ret_path, uint64_t *ret_offset)
{
    const char *plus = text_ends(*t, ")") ? memmem(t->at, t->n, "+0x", 3) : NULL;
    for (const char *next = plus; next;
         next = memmem(next + 1, (size_t)(t->at + t->n - next) - 1, "+0x", 3))
        plus = next;
    if (!plus ||
        !text_u64((struct text){plus + 3, (size_t)(t->at + t->n - plus) - 4}, 16, ret_offset))
        return false;
    const char *open = memmem(t->at, (size_t)(plus - t->at), "(/", 2);
    if (!open)
        open = memrchr(t->at, '(', (size_t)(plus - t->at));
    if (!open || (open != t->at && open[-1] != ' '))
        return false;
    *ret_path = (struct text){open + 1, (size_t)(plus - open) - 1};
    t->n = (size_t)(open - t->at);
    *t = text_trim(*t);
    return true;
}

/* macOS: "libssl.3.dylib:x86_64" has the architecture behind the name. */
static struct text without_arch(struct text path)
{
    static const char *const archs[] = {":x86_64", ":x86_64h", ":arm64", ":arm64e", ":i386"};
    for (size_t i = 0; i < sizeof archs / sizeof *archs; i++)
        if (text_ends(path, archs[i]))
            path.n -= strlen(archs[i]);
    return path;
}

/* Without "+0xa0", where macOS says how far inside, and without "@@GLIBC_2.34". */
static struct text leak_function_name(struct text t)
{
    const char *plus = memmem(t.at, t.n, "+0x", 3);
    uint64_t offset;
    if (plus && text_u64((struct text){plus + 3, (size_t)(t.at + t.n - plus) - 3}, 16, &offset))
        t.n = (size_t)(plus - t.at);
    const char *version = memmem(t.at, t.n, "@@", 2);
    if (version && version > t.at)
        t.n = (size_t)(version - t.at);
    return t;
}

/* " FILE:LINE[:COLUMN]" at the end of T is cut off. */
static void cut_source(struct text *t, struct text *ret_file, uint32_t *ret_line)
{
    static const char unknown[] = " <null>";
    if (text_ends(*t, unknown))
        t->n -= sizeof unknown - 1;
    const char *blank = memmem(t->at, t->n, " /", 2); /* a path may have blanks */
    if (!blank)
        blank = t->n ? memrchr(t->at, ' ', t->n) : NULL;
    struct text place =
        blank ? (struct text){blank + 1, (size_t)(t->at + t->n - blank) - 1} : (struct text){"", 0};
    struct text file = text_cut(&place, ':');
    uint64_t line = 0;
    bool path = memchr(file.at, '/', file.n) || place.n;
    if (!blank || !path || memchr(file.at, '(', file.n) || memchr(file.at, ')', file.n) ||
        memchr(file.at, '<', file.n) || memchr(file.at, '>', file.n))
        return;
    if (place.n && !text_u64(text_cut(&place, ':'), 10, &line))
        return;
    *ret_file = file;
    *ret_line = line <= UINT32_MAX ? (uint32_t)line : 0;
    t->n = (size_t)(blank - t->at);
    *t = text_trim(*t);
}

/*
 * The module that begins at START. Its end is not in the report: a round number behind the address
 * will do, as only the beginning says how far the file was moved.
 */
static struct mapping_id leak_mapping(struct leaks *l, struct text path, uint64_t start,
                                      struct text build_id)
{
    struct profile *p = l->im->profile;
    struct mapping m = {.path = profile_add_str(p, path),
                        .build_id = profile_add_str(p, build_id),
                        .start = start,
                        .end = start + (UINT64_C(1) << 32)};
    for (size_t i = 0; i < l->modules.n; i++)
        if (l->modules.at[i].path.i == m.path.i && l->modules.at[i].start == start)
            return l->modules.at[i].mapping;
    struct mapping_id id = profile_add_mapping(p, &m);
    *vec_push(&l->modules) = (struct leak_module){m.path, start, m.end, id};
    return id;
}

/* The part of a frame's line behind its address. */
static void parse_leak_frame(struct leaks *l, struct text t, uint64_t pc, struct frame_key *key,
                             struct line *line)
{
    struct profile *p = l->im->profile;
    struct text build_id = cut_build_id(&t), path, file = {"", 0};
    uint64_t offset;
    struct function f = {0};
    if (cut_module(&t, &path, &offset) && offset <= pc)
        key->mapping = leak_mapping(l, without_arch(path), pc - offset, build_id);
    if (!text_starts(t, "in "))
        return;
    t = text_trim((struct text){t.at + 3, t.n - 3});
    cut_source(&t, &file, &line->line);
    t = leak_function_name(t);
    f.name = profile_add_str(p, t);
    f.file = profile_add_str(p, file);
    line->function = profile_add_function(p, &f);
    key->lines = line;
    key->n_lines = t.n && !text_is(t, "<null>") && !text_is(t, "??");
}

/* "#1 0x561a8a8e27f7 in leak(int) /src/app.cc:9:89" */
static int leak_frame(struct leaks *l, struct text t, struct err *err)
{
    const struct import_opts *opts = &l->im->opts;
    struct frame_key key = {0};
    struct line line = {0};
    uint64_t pc;
    text_cut(&t, ' ');
    t = text_trim(t);
    struct text address = text_cut(&t, ' ');
    if (!text_starts(address, "0x") || l->frames.n == LEAK_DEPTH_MAX ||
        !text_u64((struct text){address.at + 2, address.n - 2}, 16, &pc))
        return import_skip_line(l->im, err, "a frame without an address");
    parse_leak_frame(l, text_trim(t), pc, &key, &line);
    if (key.n_lines && !l->frames.n &&
        is_allocation_function(profile_function_name(l->im->profile, line.function)))
        return 0;
    if (opts->addresses || (!key.n_lines && opts->bare_addresses))
        key.pc = key.mapping.i ? pc : 0;
    *vec_push(&l->frames) = profile_add_frame(l->im->profile, &key);
    return 0;
}

/* --- lines --- */

static bool cut_start(struct text *t, const char *start)
{
    if (!text_starts(*t, start))
        return false;
    size_t n = strlen(start);
    *t = (struct text){t->at + n, t->n - n};
    return true;
}

/* "SUMMARY: LeakSanitizer: 20481 byte(s) leaked in 347 allocation(s)." */
static void leak_summary(struct leaks *l, struct text t)
{
    int64_t bytes, objects;
    text_cut(&t, ':');
    if (!parse_leak(text_trim(t), &bytes, &objects) || bytes > INT64_MAX - l->all_bytes ||
        objects > INT64_MAX - l->all_objects)
        return;
    l->all_bytes += bytes;
    l->all_objects += objects;
    l->summary = true;
}

static int leak_line(struct leaks *l, struct text line, struct err *err)
{
    struct text t = text_trim(line);
    if (cut_start(&t, "Direct leak of "))
        return open_leak(l, t, false, err);
    if (cut_start(&t, "Indirect leak of "))
        return open_leak(l, t, true, err);
    if (l->open && text_starts(t, "#"))
        return leak_frame(l, t, err);
    if (cut_start(&t, "SUMMARY: "))
        leak_summary(l, t);
    return close_leak(l, err);
}

static int leaksanitizer_read(struct import *im, struct err *err)
{
    struct leaks l = {.im = im};
    struct text line;
    int rc = 0;
    l.stream = stream_kind_add(im->profile, STREAM_HEAP, BY_EXACT_COUNT);
    heapstream_add_column(im->profile, l.stream, HEAP_LEAKED);
    heapstream_add_column(im->profile, l.stream, HEAP_LEAKED_BLOCKS);
    while (rc == 0 && reader_line(im->in, &line))
        rc = leak_line(&l, line, err);
    if (rc == 0)
        rc = close_leak(&l, err);
    if (rc == 0 && l.summary && l.all_bytes != l.seen_bytes)
        import_note(im, "the report counts %lld leaked bytes and lists %lld of them",
                    (long long)l.all_bytes, (long long)l.seen_bytes);
    meta_set_str(&im->profile->meta, META_TOOL, "LeakSanitizer");
    vec_done(&l.frames);
    vec_done(&l.modules);
    return rc;
}

static int leaksanitizer_probe(struct text head, bool whole)
{
    static const char title[] = "ERROR: LeakSanitizer: detected memory leaks";
    (void)whole;
    if (memmem(head.at, head.n, title, sizeof title - 1))
        return 95;
    return text_starts(head, "Direct leak of ") || text_starts(head, "Indirect leak of ") ? 90 : 0;
}

const struct source source_leaksanitizer = {
    .name = "leaksanitizer",
    .title = "LeakSanitizer report",
    .probe = leaksanitizer_probe,
    .read = leaksanitizer_read,
};
