/*
 * heaptrack.c - what heaptrack writes: every allocation and every free, with its call stack.
 *
 * Lines of a letter and hexadecimal numbers. Tables grow by one with each line and count from 1,
 * but for allocation kinds, which count from 0:
 *
 *     v VERSION FORMAT        of heaptrack, of the file (strings have their length since 3)
 *     X COMMAND               I PAGE-BYTES PAGES
 *     s LENGTH STRING         a string
 *     i PC MODULE [FUNCTION FILE LINE]...      an address, innermost inlined function first
 *     t IP PARENT             a stack: an address, called by another stack
 *     a BYTES TRACE           a kind of allocation
 *     + KIND   - KIND         one was made, one was freed
 *     c MILLISECONDS          since the start           R PAGES   resident now
 *
 * A raw file, not yet interpreted by heaptrack, has bare addresses and pointers instead:
 *
 *     x LENGTH EXECUTABLE     m LENGTH PATH BASE [VADDR BYTES]...   (path "x": the executable, "-":
 *                             forget all modules)
 *     t PC PARENT             + BYTES TRACE POINTER     - POINTER
 *
 * Files of format 0 have pointers in an interpreted file, too.
 *
 * heaptrack calls an allocation temporary when its free is the next event of any thread. An
 * interpreted file has no pointers: there it is the free of any block of the same kind.
 */
#include "model/heap_live.h"
#include "model/heap_tally.h"
#include "source/import.h"
#include "source/sources.h"

enum { STACK_MAX = 100000, NUMBERS_MAX = 3 * PROFILE_MAX_FRAME_LINES + 2 };

#define SIZE_MAX_BYTES (UINT64_C(1) << 48)
#define ALL_MAX_BYTES (INT64_C(1) << 62)
#define NO_KIND UINT64_MAX

struct kind {
    uint64_t size_bytes, live;
    uint32_t site;
};

struct trace {
    struct stack_id stack;
    uint32_t depth, site_plus_1;
};

struct raw_module {
    uint64_t start, end;
    struct mapping_id mapping;
};

struct heaptrack {
    struct import *im;
    struct heap_tally tally;
    int64_t allocated_bytes;    /* so far */
    struct heap_live live;      /* where the file has pointers */
    VEC(struct str_id) strings; /* [0] = "" */
    VEC(struct frame_id) ips;   /* [0] is not used */
    VEC(struct trace) traces;   /* [0] = no stack */
    VEC(struct kind) kinds;
    VEC(struct raw_module) modules;
    VEC(uint64_t) numbers; /* of the line at hand */
    struct str_id executable;
    uint64_t file_format, page_bytes, time_ns;
    uint64_t last; /* the last event was an allocation of this kind, or at this pointer */
    uint64_t unknown_frees;
    int rss_counter; /* -1 = none yet */
    bool raw, attached;
};

/* --- numbers --- */

/* All numbers of LINE; false when something else is in it. */
static bool heaptrack_numbers(struct heaptrack *h, struct text line)
{
    h->numbers.n = 0;
    while ((line = text_trim(line)).n) {
        uint64_t v;
        if (h->numbers.n == NUMBERS_MAX || !text_u64(text_cut(&line, ' '), 16, &v))
            return false;
        *vec_push(&h->numbers) = v;
    }
    return true;
}

static uint64_t number_at(const struct heaptrack *h, size_t i)
{
    return i < h->numbers.n ? h->numbers.at[i] : 0;
}

static int heaptrack_skip(struct heaptrack *h, struct err *err, const char *why)
{
    return import_skip_line(h->im, err, "%s", why);
}

/* "LENGTH STRING", or all of LINE in old files. What follows the string is left in LINE. */
static struct text sized_string(const struct heaptrack *h, struct text *line)
{
    uint64_t n;
    struct text s = *line;
    if (h->file_format < 3) {
        *line = (struct text){NULL, 0};
        return s;
    }
    if (!text_u64(text_cut(line, ' '), 16, &n))
        return (struct text){"", 0};
    s = (struct text){line->at, n < line->n ? (size_t)n : line->n};
    *line = (struct text){line->at + s.n, line->n - s.n};
    return s;
}

/* --- names --- */

static struct str_id heaptrack_string(const struct heaptrack *h, uint64_t i)
{
    return i < h->strings.n ? h->strings.at[i] : (struct str_id){0};
}

/* FUNCTION FILE LINE at AT, of which only the first need be there. */
static struct line line_at(struct heaptrack *h, size_t at)
{
    uint64_t line = number_at(h, at + 2);
    struct function f = {.name = heaptrack_string(h, number_at(h, at)),
                         .file = heaptrack_string(h, number_at(h, at + 1))};
    return (struct line){.function = profile_add_function(h->im->profile, &f),
                         .line = line <= UINT32_MAX ? (uint32_t)line : 0};
}

/* A run-time address says nothing where the file does not say what was mapped where. */
static int ip_line(struct heaptrack *h, struct text line, struct err *err)
{
    struct profile *p = h->im->profile;
    struct mapping m = {0};
    VEC(struct line) lines = {0};
    bool good = heaptrack_numbers(h, line) && h->numbers.n >= 1;
    m.path = heaptrack_string(h, number_at(h, 1));
    size_t groups = h->numbers.n > 2 ? (h->numbers.n - 2 + 2) / 3 : 0;
    while (good && groups-- > 0)
        if (number_at(h, 2 + 3 * groups))
            *vec_push(&lines) = line_at(h, 2 + 3 * groups);
    struct frame_key key = {.lines = lines.at, .n_lines = lines.n};
    if (m.path.i)
        key.mapping = profile_add_mapping(p, &m);
    *vec_push(&h->ips) = profile_add_frame(p, &key);
    vec_done(&lines);
    return good ? 0 : heaptrack_skip(h, err, "an address without numbers");
}

/* --- raw files: modules --- */

/* One mapping from the first segment on: offset 0 of the file says how far it was moved. */
static void heaptrack_add_module(struct heaptrack *h, struct str_id path)
{
    struct mapping m = {.path = path};
    uint64_t base = number_at(h, 0), end = 0;
    m.start = base + number_at(h, 1);
    for (size_t i = 1; i + 1 < h->numbers.n; i += 2) {
        uint64_t to = base + h->numbers.at[i] + h->numbers.at[i + 1];
        end = to > end ? to : end;
    }
    m.end = end;
    if (m.end > m.start)
        *vec_push(&h->modules) =
            (struct raw_module){m.start, m.end, profile_add_mapping(h->im->profile, &m)};
}

static int module_line(struct heaptrack *h, struct text line, struct err *err)
{
    struct text path = sized_string(h, &line);
    if (h->file_format < 3) {
        line = path;
        path = text_cut(&line, ' ');
    }
    if (text_is(path, "-")) {
        h->modules.n = 0;
        return 0;
    }
    struct str_id id = text_is(path, "x") ? h->executable : profile_add_str(h->im->profile, path);
    if (!heaptrack_numbers(h, line))
        return heaptrack_skip(h, err, "a module whose addresses are no hex numbers");
    heaptrack_add_module(h, id);
    return 0;
}

static struct frame_id raw_frame(struct heaptrack *h, uint64_t return_pc)
{
    const struct import_opts *opts = &h->im->opts;
    struct frame_key key = {.pc = return_pc ? return_pc - 1 : 0};
    for (size_t i = 0; i < h->modules.n && !key.mapping.i; i++)
        if (key.pc >= h->modules.at[i].start && key.pc < h->modules.at[i].end)
            key.mapping = h->modules.at[i].mapping;
    if (!opts->addresses && !opts->bare_addresses)
        key.pc = 0;
    return profile_add_frame(h->im->profile, &key);
}

/* --- stacks --- */

static int trace_line(struct heaptrack *h, struct text line, struct err *err)
{
    struct trace t = {0};
    bool good = heaptrack_numbers(h, line) && h->numbers.n == 2;
    uint64_t ip = number_at(h, 0), parent = number_at(h, 1);
    good = good && parent < h->traces.n && (h->raw || (ip && ip < h->ips.n));
    if (good && h->traces.at[parent].depth < STACK_MAX) {
        struct frame_id frame = h->raw ? raw_frame(h, ip) : h->ips.at[ip];
        t.stack = stacks_push(&h->im->profile->stacks, h->traces.at[parent].stack, frame);
        t.depth = h->traces.at[parent].depth + 1;
    } else if (good)
        t = (struct trace){.stack = h->traces.at[parent].stack, .depth = STACK_MAX};
    *vec_push(&h->traces) = t; /* in any case: later lines count them */
    return good ? 0 : heaptrack_skip(h, err, "a stack of what is not in the file");
}

static uint32_t site_of_trace(struct heaptrack *h, uint64_t trace)
{
    struct trace *t = &h->traces.at[trace < h->traces.n ? trace : 0];
    if (!t->site_plus_1)
        t->site_plus_1 = heap_tally_new_site(&h->tally, &(struct heap_site){.stack = t->stack}) + 1;
    return t->site_plus_1 - 1;
}

/* --- events --- */

static int kind_line(struct heaptrack *h, struct text line, struct err *err)
{
    bool good =
        heaptrack_numbers(h, line) && h->numbers.n == 2 && h->numbers.at[0] < SIZE_MAX_BYTES;
    *vec_push(&h->kinds) = good ? (struct kind){.size_bytes = h->numbers.at[0],
                                                .site = site_of_trace(h, h->numbers.at[1])}
                                : (struct kind){.size_bytes = NO_KIND};
    return good ? 0 : heaptrack_skip(h, err, "no size and stack of an allocation");
}

static int count_alloc(struct heaptrack *h, uint32_t site, uint64_t size_bytes, struct err *err)
{
    if (h->allocated_bytes > ALL_MAX_BYTES - (int64_t)size_bytes)
        return err_set(err, EXIT_INPUT, "line %llu: the sum of all sizes is past 62 bits",
                       (unsigned long long)h->im->in->lines);
    h->allocated_bytes += (int64_t)size_bytes;
    heap_tally_alloc(&h->tally, site, size_bytes);
    return 0;
}

/* "BYTES TRACE POINTER": the block that was at POINTER before was freed unseen. */
static int pointer_alloc(struct heaptrack *h, struct err *err)
{
    struct heap_block old, b = {.address = h->numbers.at[2],
                                .size_bytes = h->numbers.at[0],
                                .ticks = h->time_ns,
                                .site = site_of_trace(h, h->numbers.at[1])};
    if (b.size_bytes >= SIZE_MAX_BYTES || b.address >= SIZE_MAX_BYTES || !b.address)
        return heaptrack_skip(h, err, "an allocation past 48 bits");
    if (!heap_live_add(&h->live, &b, &old)) {
        h->unknown_frees++;
        heap_tally_free(&h->tally, &(struct heap_free){.site = old.site,
                                                       .size_bytes = old.size_bytes,
                                                       .lifetime_ns = HEAP_LIFETIME_UNKNOWN});
    }
    h->last = b.address;
    return count_alloc(h, b.site, b.size_bytes, err);
}

static int alloc_line(struct heaptrack *h, struct text line, struct err *err)
{
    if (heaptrack_numbers(h, line) && h->numbers.n == 3)
        return pointer_alloc(h, err);
    uint64_t i = number_at(h, 0);
    if (h->numbers.n != 1 || i >= h->kinds.n || h->kinds.at[i].size_bytes == NO_KIND)
        return heaptrack_skip(h, err, "an allocation of a kind that is not in the file");
    h->kinds.at[i].live++;
    h->last = i;
    return count_alloc(h, h->kinds.at[i].site, h->kinds.at[i].size_bytes, err);
}

static void pointer_free(struct heaptrack *h, uint64_t pointer, bool temporary)
{
    struct heap_block b;
    if (pointer >= SIZE_MAX_BYTES || !heap_live_take(&h->live, pointer, &b)) {
        h->unknown_frees++;
        return;
    }
    heap_tally_free(&h->tally, &(struct heap_free){.site = b.site,
                                                   .size_bytes = b.size_bytes,
                                                   .lifetime_ns = HEAP_LIFETIME_UNKNOWN,
                                                   .temporary = temporary});
}

static int free_line(struct heaptrack *h, struct text line, struct err *err)
{
    if (!heaptrack_numbers(h, line) || h->numbers.n != 1)
        return heaptrack_skip(h, err, "a free of nothing");
    uint64_t i = h->numbers.at[0];
    bool temporary = h->last == i;
    h->last = NO_KIND;
    if (h->raw || h->file_format == 0) {
        pointer_free(h, i, temporary);
        return 0;
    }
    if (i >= h->kinds.n || !h->kinds.at[i].live)
        return heaptrack_skip(h, err, "a free of what was not allocated");
    h->kinds.at[i].live--;
    heap_tally_free(&h->tally, &(struct heap_free){.site = h->kinds.at[i].site,
                                                   .size_bytes = h->kinds.at[i].size_bytes,
                                                   .lifetime_ns = HEAP_LIFETIME_UNKNOWN,
                                                   .temporary = temporary});
    return 0;
}

/* --- what else is reported --- */

/* Time 0 stands for "not known", so the first moment is 1. */
static void set_time(struct heaptrack *h, uint64_t time_ns)
{
    h->time_ns = h->tally.now = time_ns + 1;
    heap_tally_time(&h->tally, h->time_ns);
}

static int time_line(struct heaptrack *h, struct text line, struct err *err)
{
    if (!heaptrack_numbers(h, line) || h->numbers.n != 1 || h->numbers.at[0] > INT64_MAX / 1000000)
        return heaptrack_skip(h, err, "no time");
    if (h->numbers.at[0] * 1000000 + 1 < h->time_ns)
        return heaptrack_skip(h, err, "a time before the one in front of it");
    set_time(h, h->numbers.at[0] * 1000000);
    return 0;
}

static int rss_line(struct heaptrack *h, struct text line, struct err *err)
{
    struct profile *p = h->im->profile;
    uint64_t bytes;
    if (!heaptrack_numbers(h, line) || h->numbers.n != 1 ||
        __builtin_mul_overflow(h->numbers.at[0], h->page_bytes, &bytes) || bytes > INT64_MAX)
        return heaptrack_skip(h, err, "no number of pages");
    if (h->rss_counter < 0)
        h->rss_counter = heapstream_add_counter(p, HEAP_COUNTER_RSS, (struct process_id){0});
    if (h->rss_counter >= 0)
        profile_add_point(p, h->rss_counter, h->time_ns, (int64_t)bytes);
    return 0;
}

/* "v 10400 3": heaptrack 1.4.0. Before it had formats, "10200" alone was what is 1 now. */
static int version_line(struct heaptrack *h, struct text line, struct err *err)
{
    enum { FORMAT_MAX = 3 };
    heaptrack_numbers(h, line);
    uint64_t v = number_at(h, 0);
    h->file_format = h->numbers.n > 1 ? h->numbers.at[1] : v == 0x10200;
    if (h->file_format > FORMAT_MAX)
        return err_set(err, EXIT_INPUT,
                       "heaptrack's file format %llu is not known; kelvin reads up to %d",
                       (unsigned long long)h->file_format, FORMAT_MAX);
    autofree char *tool = mem_printf("heaptrack %u.%u.%u", (unsigned)(v >> 16 & 255),
                                     (unsigned)(v >> 8 & 255), (unsigned)(v & 255));
    meta_set_str(&h->im->profile->meta, META_TOOL, tool);
    return 0;
}

static void set_command(struct heaptrack *h, struct text line)
{
    autofree char *command = mem_printf("%.*s", TEXT_ARG(line));
    meta_set_str(&h->im->profile->meta, META_COMMAND, command);
}

static int heaptrack_line(struct heaptrack *h, char letter, struct text rest, struct err *err)
{
    switch (letter) {
    case '+':
        return alloc_line(h, rest, err);
    case '-':
        return free_line(h, rest, err);
    case 'a':
        return kind_line(h, rest, err);
    case 't':
        return trace_line(h, rest, err);
    case 'i':
        return ip_line(h, rest, err);
    case 's':
        *vec_push(&h->strings) = profile_add_str(h->im->profile, sized_string(h, &rest));
        return 0;
    case 'c':
        return time_line(h, rest, err);
    case 'R':
        return rss_line(h, rest, err);
    case 'm':
        h->raw = true;
        return module_line(h, rest, err);
    case 'x':
        h->raw = true;
        h->executable = profile_add_str(h->im->profile, sized_string(h, &rest));
        return 0;
    case 'v':
        return version_line(h, rest, err);
    case 'I':
        heaptrack_numbers(h, rest);
        h->page_bytes = number_at(h, 0);
        return 0;
    case 'X':
        set_command(h, rest);
        return 0;
    case 'A':
        h->attached = true;
        return 0;
    case '#': /* comment */
    case 'S': /* a leak that heaptrack hides */
        return 0;
    }
    return heaptrack_skip(h, err, "a line that is not heaptrack's");
}

/* --- all of it --- */

/* What was not freed. */
static void leak_rest(struct heaptrack *h)
{
    struct heap_block b;
    for (size_t i = 0; i < h->kinds.n; i++)
        for (; h->kinds.at[i].live; h->kinds.at[i].live--)
            heap_tally_leak(&h->tally, h->kinds.at[i].site, h->kinds.at[i].size_bytes);
    for (size_t at = 0; heap_live_next(&h->live, &at, &b);)
        heap_tally_leak(&h->tally, b.site, b.size_bytes);
}

static void heaptrack_finish(struct heaptrack *h)
{
    struct profile *p = h->im->profile;
    autofree char *duration = mem_printf("%llu", (unsigned long long)h->time_ns - 1);
    h->tally.peak_ns = h->tally.peak_at;
    heap_tally_end(&h->tally, h->time_ns);
    meta_set_str(&p->meta, META_DURATION_NS, duration);
    p->default_value =
        (struct value_ref){h->tally.stream, heapstream_find_column(p, h->tally.stream, HEAP_PEAK)};
    if (h->attached)
        import_note(h->im, "heaptrack was attached to a running program: what it had allocated "
                           "before is not in this file");
    if (h->unknown_frees && !h->attached)
        import_note(h->im,
                    "%llu frees do not fit the allocations of this file: some are missing from it",
                    (unsigned long long)h->unknown_frees);
}

static void heaptrack_init(struct heaptrack *h)
{
    heap_tally_init(&h->tally, h->im->profile, &(struct heap_tally_opts){0});
    *vec_push(&h->strings) = (struct str_id){0};
    *vec_push(&h->ips) = (struct frame_id){0};
    *vec_push(&h->traces) = (struct trace){0};
    set_time(h, 0);
}

static void heaptrack_done(struct heaptrack *h)
{
    heap_tally_done(&h->tally);
    heap_live_done(&h->live);
    vec_done(&h->strings);
    vec_done(&h->ips);
    vec_done(&h->traces);
    vec_done(&h->kinds);
    vec_done(&h->modules);
    vec_done(&h->numbers);
}

static int heaptrack_read(struct import *im, struct err *err)
{
    struct heaptrack h = {.im = im, .page_bytes = 4096, .last = NO_KIND, .rss_counter = -1};
    struct text line;
    int rc = 0;
    heaptrack_init(&h);
    while (rc == 0 && reader_line(im->in, &line)) {
        if (line.n == 0)
            continue;
        size_t skip = line.n > 1 && line.at[1] == ' ' ? 2 : 1;
        rc = heaptrack_line(&h, line.at[0], (struct text){line.at + skip, line.n - skip}, err);
    }
    if (rc == 0) {
        leak_rest(&h);
        heaptrack_finish(&h);
    }
    heaptrack_done(&h);
    return rc;
}

/* The first line is "v VERSION [FORMAT]"; the second the executable or the command. */
static int heaptrack_probe(struct text head, bool whole)
{
    (void)whole;
    uint64_t v;
    struct text line = text_cut(&head, '\n');
    if (!text_starts(line, "v "))
        return 0;
    text_cut(&line, ' ');
    if (!text_u64(text_cut(&line, ' '), 16, &v) || v < 0x10000 || v > 0xffffff)
        return 0;
    return text_starts(head, "X ") || text_starts(head, "x ") || text_starts(head, "A") ? 95 : 40;
}

const struct source source_heaptrack = {
    .name = "heaptrack",
    .title = "heaptrack recording",
    .probe = heaptrack_probe,
    .read = heaptrack_read,
};
