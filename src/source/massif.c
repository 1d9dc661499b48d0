/*
 * massif.c - massif.out of valgrind: how much was held at some moments, and by whom at a few.
 *
 *     desc: ...            cmd: ./app            time_unit: i
 *     #-----------
 *     snapshot=17
 *     #-----------
 *     time=3495003
 *     mem_heap_B=145286      asked for by the program
 *     mem_heap_extra_B=9706  the allocator's own and padding: belongs to no stack
 *     mem_stacks_B=0
 *     heap_tree=peak         or "detailed"; "empty" where there is no tree
 *     n2: 145286 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.
 *      n1: 72704 0x48FB7B9: read_all (read.c:3)      the one that allocates; its callers below
 *       n0: 72704 0x4004A1D: main (app.c:9)
 *      n0: 352 in 3 places, all below massif's threshold (1.00%)
 *
 * The snapshot "peak" becomes the column peak, the last one that has a tree the column live. Each
 * is of one moment: they are never added up.
 *
 * Valgrind also writes --xtree-memory in this form ("desc: xtree.produce_report"). Its snapshots
 * are no moments but six sums, named in their first node; of them only the first, curB, is held
 * memory.
 */
#include "model/heapstream.h"
#include "source/import.h"
#include "source/sources.h"
#include "source/vgframe.h"

enum { MASSIF_PEAK, MASSIF_LIVE, MASSIF_COLUMNS, MASSIF_DEPTH_MAX = 100000 };

static const char massif_rest[] = "[below massif's threshold]";

/* A node of a tree whose children are still to come. */
struct massif_node {
    uint64_t left; /* bytes that no child has had so far */
    bool rest;     /* "in 3 places": callers that massif does not show */
};

struct massif_row {
    struct stack_id stack;
    int64_t bytes;
};

struct massif {
    struct import *im;
    VEC(struct massif_node) path; /* from the tree's root */
    VEC(struct frame_id) frames;  /* of path, without the root: innermost first */
    VEC(struct massif_row) rows[MASSIF_COLUMNS];
    struct frame_id rest_frame;
    uint64_t snapshot, snapshot_of[MASSIF_COLUMNS];
    uint64_t heap_bytes, extra_bytes, stacks_bytes;
    uint64_t peak_extra_bytes, peak_stacks_bytes;
    int column; /* of the tree at hand, or -1 */
    bool seen[MASSIF_COLUMNS], in_ms;
    bool xtree; /* valgrind's --xtree-memory in this form: each snapshot is another sum */
    bool pages; /* --pages-as-heap */
    uint64_t time_ns;
    int live_counter;
};

/* --- trees --- */

static void close_massif_node(struct massif *m)
{
    struct massif_node *top = &m->path.at[m->path.n - 1];
    if (top->left) {
        size_t n = m->frames.n;
        if (top->rest || n == 0)
            *vec_push(&m->frames) = m->rest_frame;
        *vec_push(&m->rows[m->column]) = (struct massif_row){
            stacks_intern_leaf_first(&m->im->profile->stacks, m->frames.at, m->frames.n),
            (int64_t)top->left};
        m->frames.n = n;
    }
    m->path.n--;
    if (m->frames.n && !top->rest)
        m->frames.n--;
}

static void close_massif_nodes(struct massif *m, size_t depth)
{
    while (m->path.n > depth)
        close_massif_node(m);
}

/* "n2: 14400 REST", indented by one blank a level. */
static bool parse_massif_node(struct text line, size_t *ret_depth, uint64_t *ret_bytes,
                              struct text *ret_rest)
{
    uint64_t children;
    size_t depth = 0;
    while (depth < line.n && line.at[depth] == ' ')
        depth++;
    line = (struct text){line.at + depth, line.n - depth};
    if (!text_starts(line, "n"))
        return false;
    struct text head = text_cut(&line, ':');
    line = text_trim(line);
    *ret_depth = depth;
    *ret_rest = line;
    return text_u64((struct text){head.at + 1, head.n - 1}, 10, &children) &&
           text_u64(text_cut(ret_rest, ' '), 10, ret_bytes) && *ret_bytes <= INT64_MAX;
}

static int massif_tree_line(struct massif *m, struct text line, struct err *err)
{
    size_t depth;
    uint64_t bytes;
    struct text rest;
    if (!parse_massif_node(line, &depth, &bytes, &rest) || depth > m->path.n ||
        depth > MASSIF_DEPTH_MAX || (depth == 0 && m->path.n))
        return import_skip_line(m->im, err, "no node of the tree that it stands in");
    close_massif_nodes(m, depth);
    if (depth == 0 && m->xtree && !text_starts(rest, "curB"))
        return err_set(
            err, EXIT_INPUT,
            "an xtree of leaks is not a heap at one moment; write it in Callgrind's form: "
            "'valgrind --xtree-leak-file=FILE.kcg'");
    if (depth && bytes > m->path.at[depth - 1].left)
        return import_skip_line(m->im, err, "a node with more bytes than the one around it");
    if (depth)
        m->path.at[depth - 1].left -= bytes;
    bool places = text_starts(rest, "in ") && memmem(rest.at, rest.n, "threshold", 9);
    if (depth && !places)
        *vec_push(&m->frames) = vgframe_add(m->im, rest);
    *vec_push(&m->path) = (struct massif_node){bytes, places};
    return 0;
}

/* --- snapshots --- */

static void end_massif_tree(struct massif *m)
{
    close_massif_nodes(m, 0);
    m->column = -1;
}

/* A tree begins; the last detailed one replaces the one before. */
static void begin_massif_tree(struct massif *m, struct text kind)
{
    m->column = text_is(kind, "peak") ? MASSIF_PEAK : text_is(kind, "detailed") ? MASSIF_LIVE : -1;
    if (m->xtree && m->snapshot > 0)
        m->column = -1;
    if (m->column < 0)
        return;
    m->rows[m->column].n = 0;
    m->seen[m->column] = true;
    m->snapshot_of[m->column] = m->snapshot;
    if (m->column == MASSIF_PEAK) {
        m->peak_extra_bytes = m->extra_bytes;
        m->peak_stacks_bytes = m->stacks_bytes;
    }
}

static void add_massif_point(struct massif *m)
{
    struct profile *p = m->im->profile;
    if (!m->in_ms || m->xtree || m->heap_bytes > INT64_MAX)
        return;
    if (m->live_counter < 0)
        m->live_counter = heapstream_add_counter(p, HEAP_COUNTER_LIVE, (struct process_id){0});
    if (m->live_counter >= 0)
        profile_add_point(p, m->live_counter, m->time_ns, (int64_t)m->heap_bytes);
}

static void set_massif_time(struct massif *m, uint64_t value)
{
    uint64_t ns;
    if (!__builtin_mul_overflow(value, UINT64_C(1000000), &ns) && ns >= m->time_ns)
        m->time_ns = ns;
}

static int massif_number(struct massif *m, struct text key, struct text value, struct err *err)
{
    uint64_t v;
    if (!text_u64(value, 10, &v))
        return import_skip_line(m->im, err, "no number of a snapshot");
    if (text_is(key, "snapshot"))
        m->snapshot = v;
    else if (text_is(key, "time"))
        set_massif_time(m, v);
    else if (text_is(key, "mem_heap_B"))
        m->heap_bytes = v;
    else if (text_is(key, "mem_heap_extra_B"))
        m->extra_bytes = v;
    else if (text_is(key, "mem_stacks_B"))
        m->stacks_bytes = v;
    return 0;
}

static int massif_key_line(struct massif *m, struct text line, struct err *err)
{
    struct text value = line, key = text_cut(&value, '=');
    end_massif_tree(m);
    if (!text_is(key, "heap_tree"))
        return massif_number(m, key, value, err);
    add_massif_point(m);
    begin_massif_tree(m, value);
    return 0;
}

static void massif_head_line(struct massif *m, struct text line)
{
    struct text value = line, key = text_cut(&value, ':');
    autofree char *text = mem_printf("%.*s", TEXT_ARG(text_trim(value)));
    if (text_is(key, "desc")) {
        m->xtree = text_starts(text_of(text), "xtree.");
        m->pages = strstr(text, "--pages-as-heap=yes");
    } else if (text_is(key, "cmd"))
        meta_set_str(&m->im->profile->meta, META_COMMAND, text);
    else if (text_is(key, "time_unit"))
        m->in_ms = strcmp(text, "ms") == 0;
}

static bool is_massif_head(struct text line)
{
    return text_starts(line, "desc:") || text_starts(line, "cmd:") ||
           text_starts(line, "time_unit:");
}

static int massif_line(struct massif *m, struct text line, struct err *err)
{
    if (line.n && line.at[line.n - 1] == '\r')
        line.n--;
    if (line.n == 0 || line.at[0] == '#')
        return 0;
    if (is_massif_head(line)) {
        massif_head_line(m, line);
        return 0;
    }
    if (m->xtree && m->snapshot > 0 && (line.at[0] == ' ' || line.at[0] == 'n'))
        return 0;
    if (line.at[0] == ' ' || (line.at[0] == 'n' && m->column >= 0))
        return m->column >= 0 ? massif_tree_line(m, line, err)
                              : import_skip_line(m->im, err, "a node of no tree");
    return massif_key_line(m, line, err);
}

/* --- the profile --- */

static int add_massif_rows(struct massif *m, int stream, const int *type, struct err *err)
{
    struct profile *p = m->im->profile;
    int rc = 0;
    for (int c = 0; c < MASSIF_COLUMNS; c++)
        for (size_t i = 0; i < m->rows[c].n && rc == 0; i++) {
            int64_t values[MASSIF_COLUMNS] = {0};
            values[type[c]] = m->rows[c].at[i].bytes;
            rc = profile_add_row(
                p, stream, &(struct row){.stack = m->rows[c].at[i].stack, .values = values}, err);
        }
    return rc;
}

static int massif_build(struct massif *m, struct err *err)
{
    static const char *const names[] = {"peak", "live"};
    struct profile *p = m->im->profile;
    int stream = stream_kind_add(p, STREAM_HEAP, BY_EXACT_COUNT), type[MASSIF_COLUMNS] = {0};
    for (int c = 0; c < MASSIF_COLUMNS; c++)
        if (m->seen[c])
            type[c] = profile_add_value(p, stream, names[c], UNIT_BYTES);
    if (m->pages)
        import_note(m->im, "the bytes are mapped pages (--pages-as-heap): code, stacks and the "
                           "allocator's reserves are part of them");
    if (m->xtree)
        import_note(m->im, "'live' is what was held at the end; of an xtree only that is read: "
                           "write it as FILE.kcg for the rest");
    else if (m->seen[MASSIF_LIVE])
        import_note(m->im, "'live' is snapshot %llu, the last of which massif kept the stacks",
                    (unsigned long long)m->snapshot_of[MASSIF_LIVE]);
    if (m->peak_extra_bytes || m->peak_stacks_bytes)
        import_note(m->im,
                    "at the peak %llu bytes more were the allocator's own and %llu were stacks: "
                    "massif knows no function for them",
                    (unsigned long long)m->peak_extra_bytes,
                    (unsigned long long)m->peak_stacks_bytes);
    meta_set_str(&p->meta, META_TOOL, "valgrind massif");
    return add_massif_rows(m, stream, type, err);
}

static int massif_read(struct import *im, struct err *err)
{
    struct massif m = {.im = im, .column = -1, .live_counter = -1};
    struct text line;
    int rc = 0;
    m.rest_frame = profile_add_named_frame(im->profile, text_of(massif_rest), FRAME_USER);
    while (rc == 0 && reader_line(im->in, &line))
        rc = massif_line(&m, line, err);
    end_massif_tree(&m);
    if (rc == 0)
        rc = massif_build(&m, err);
    vec_done(&m.path);
    vec_done(&m.frames);
    for (int c = 0; c < MASSIF_COLUMNS; c++)
        vec_done(&m.rows[c]);
    return rc;
}

static int massif_probe(struct text head, bool whole)
{
    (void)whole;
    return text_starts(head, "desc: ") && memmem(head.at, head.n, "\ntime_unit: ", 12) &&
                   memmem(head.at, head.n, "\nsnapshot=", 10)
               ? 98
               : 0;
}

const struct source source_massif = {
    .name = "massif",
    .title = "massif snapshots",
    .probe = massif_probe,
    .read = massif_read,
};
