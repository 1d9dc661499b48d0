/*
 * dtrace.c - stacks aggregated by DTrace, as @[stack()] = count() prints them.
 *
 *       bash                            <- other keys of the aggregation, if any
 *                   genunix`copen+0x20c <- leaf first
 *                   unix`sys_syscall+0x17a
 *                     884               <- the count ends the block
 *
 * Blank lines separate blocks, and also two stacks of one key, so they mean nothing by
 * themselves. A key after the stack stands on the line of the count. What was counted is not in
 * the text: count() and sum() look the same, so the value is called "counts" and has no unit.
 */
#include "base/buf.h"
#include "source/import.h"
#include "source/native.h"
#include "source/sources.h"

/* Frames are printed with fourteen blanks before them, keys with two. */
enum { KEY_INDENT_MAX = 9, DEPTH_MAX = 100000 };

struct dtrace {
    struct import *im;
    VEC(struct frame_id) frames; /* of the block so far, leaf first */
    struct buf keys;             /* the same block's, joined by ", " */
    bool has_number;             /* a number met before any frame: a key, or the count of nothing */
    uint64_t number;
    bool too_deep;
};

static size_t indent_of(struct text line)
{
    size_t n = 0;
    while (n < line.n && (line.at[n] == ' ' || line.at[n] == '\t'))
        n += line.at[n] == '\t' ? 8 : 1;
    return n;
}

/* "CPU     ID   FUNCTION:NAME", its row "  0  64091   :tick-60s", and dtrace's own messages. */
static bool is_header(struct text line)
{
    struct text t = text_trim(line);
    if (text_starts(t, "dtrace: ") || (text_starts(t, "CPU ") && text_ends(t, "FUNCTION:NAME")))
        return true;
    uint64_t cpu, id;
    bool numbers = text_u64(text_cut(&t, ' '), 10, &cpu);
    t = text_trim(t);
    numbers = numbers && text_u64(text_cut(&t, ' '), 10, &id);
    t = text_trim(t);
    return numbers && t.n && memchr(t.at, ':', t.n) && !memchr(t.at, '`', t.n);
}

static bool is_frame(struct text line)
{
    struct text t = text_trim(line);
    return memchr(t.at, '`', t.n) || text_starts(t, "0x") || indent_of(line) > KEY_INDENT_MAX;
}

/* --- names --- */

/* "ns::f<int>(char)" is shown as "ns::f<int>": arguments of C++ say little and are long. */
static struct text without_arguments(struct text name)
{
    const char *scope = memmem(name.at, name.n, "::", 2);
    size_t n = scope ? name.n : 0;
    while (n > 0 && name.at + n > scope + 2 && name.at[n - 1] != '(' && name.at[n - 1] != '<')
        n--;
    bool found = n > 0 && name.at + n > scope + 2;
    return found ? (struct text){name.at, n - 1} : name;
}

/* "Lcom/Job;::run" is Java's; ';' cannot stand in a folded name. */
static struct str_id java_name(struct profile *p, struct text name)
{
    if (!name.n || !memchr(name.at, ';', name.n))
        return profile_add_str(p, name);
    if (name.at[0] == 'L')
        name.at++, name.n--;
    autobuf struct buf b = {0};
    buf_add(&b, name.at, name.n);
    for (size_t i = 0; i < b.n; i++)
        if (b.at[i] == ';')
            b.at[i] = ':';
    return profile_add_str(p, buf_text(&b));
}

static enum frame_kind dtrace_kind_of(struct text module)
{
    static const char *const kernels[] = {"unix", "genunix", "kernel", "mach_kernel"};
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (text_is(module, kernels[i]))
            return FRAME_KERNEL;
    return FRAME_USER;
}

static struct mapping_id dtrace_mapping_of(struct profile *p, struct text module)
{
    struct mapping mapping = {.path = profile_add_str(p, module)};
    return profile_add_mapping(p, &mapping);
}

/* Where "->" separates a function from one inlined into it: not in "operator->". */
static const char *find_arrow(struct text t)
{
    for (const char *at = t.at; (at = memmem(at, t.n - (size_t)(at - t.at), "->", 2)); at += 2)
        if (!text_ends((struct text){t.at, (size_t)(at - t.at)}, "operator"))
            return at;
    return NULL;
}

/* The function of a name; the outermost keeps the whole text FULL as its system name. */
static struct line dtrace_line_of(struct profile *p, struct text name, struct text full,
                                  bool outermost)
{
    struct function f = {.name = java_name(p, without_arguments(name))};
    struct str_id whole = profile_add_str(p, full);
    if (outermost && whole.i != f.name.i)
        f.system_name = whole;
    return (struct line){.function = profile_add_function(p, &f)};
}

/* The frame of one line; "outer->inner" is a function with another inlined into it. */
static void dtrace_add_frame(struct dtrace *d, struct text line)
{
    struct profile *p = d->im->profile;
    struct text full = native_cut_offset(text_trim(line)), rest = full, module = {"", 0};
    if (memchr(full.at, '`', full.n)) {
        struct text behind = full;
        module = text_cut(&behind, '`');
    }
    VEC(struct line) lines = {0};
    const char *arrow;
    while (lines.n < PROFILE_MAX_FRAME_LINES - 1 && (arrow = find_arrow(rest))) {
        struct text name = {rest.at, (size_t)(arrow - rest.at)};
        struct line l = dtrace_line_of(p, name, full, lines.n == 0);
        *vec_push(&lines) = l;
        rest = (struct text){arrow + 2, rest.n - name.n - 2};
    }
    struct line last = dtrace_line_of(p, rest, full, lines.n == 0);
    *vec_push(&lines) = last;
    struct frame_key key = {
        .mapping = dtrace_mapping_of(p, module),
        .kind = dtrace_kind_of(module),
        .lines = lines.at,
        .n_lines = lines.n,
    };
    d->too_deep |= d->frames.n >= DEPTH_MAX;
    if (!d->too_deep)
        *vec_push(&d->frames) = profile_add_frame(p, &key);
    vec_done(&lines);
}

/* --- blocks --- */

static void add_key(struct dtrace *d, struct text key)
{
    if (d->keys.n)
        buf_str(&d->keys, ", ");
    buf_add(&d->keys, key.at, key.n);
}

/* The number was a key after all: frames follow. */
static void number_is_key(struct dtrace *d)
{
    char s[24];
    if (d->has_number)
        add_key(d, (struct text){
                       s, (size_t)snprintf(s, sizeof s, "%llu", (unsigned long long)d->number)});
    d->has_number = false;
}

static void forget_block(struct dtrace *d)
{
    d->frames.n = 0;
    d->keys.n = 0;
    d->has_number = d->too_deep = false;
}

/* The kernel never calls back: all that a kernel frame called is the kernel's, other modules too.
 */
static void mark_kernel(struct dtrace *d)
{
    struct profile *p = d->im->profile;
    size_t n = d->frames.n;
    while (n && profile_frame(p, d->frames.at[n - 1])->kind != FRAME_KERNEL)
        n--;
    for (size_t i = 0; i < n; i++)
        d->frames.at[i] = native_in_kernel(p, d->frames.at[i]);
}

static int add_block(struct dtrace *d, uint64_t count, struct err *err)
{
    struct profile *p = d->im->profile;
    if (d->too_deep || count == 0 || count > INT64_MAX)
        return import_skip_line(d->im, err, "%s",
                                d->too_deep  ? "the stack is over 100,000 frames deep"
                                : count == 0 ? "the count is zero"
                                             : "the count does not fit");
    if (!d->frames.n)
        *vec_push(&d->frames) = profile_add_named_frame(p, text_of("[no stack]"), FRAME_USER);
    mark_kernel(d);
    struct thread_key thread = {profile_add_str(p, buf_text(&d->keys)), THREAD_NO_ID, THREAD_NO_ID};
    if (p->streams.n == 0)
        profile_add_value(p, profile_add_stream(p, "", OBTAINED_UNKNOWN), "counts", "");
    int64_t value = (int64_t)count;
    struct row row = {
        .stack = stacks_intern_leaf_first(&p->stacks, d->frames.at, d->frames.n),
        .thread = profile_add_thread(p, &thread),
        .values = &value,
    };
    return profile_add_row(p, 0, &row, err);
}

static int end_block(struct dtrace *d, uint64_t count, struct err *err)
{
    int rc = add_block(d, count, err);
    forget_block(d);
    return rc;
}

/* A number without frames before it is the count of an empty stack once no frame follows it. */
static int end_number(struct dtrace *d, struct err *err)
{
    return d->has_number ? end_block(d, d->number, err) : 0;
}

/* "  bash      884": keys printed after the stack, then the count. */
static bool cut_count(struct text *line, uint64_t *ret)
{
    struct text t = text_trim(*line);
    size_t n = t.n;
    while (n && t.at[n - 1] != ' ' && t.at[n - 1] != '\t')
        n--;
    *line = text_trim((struct text){t.at, n});
    return text_u64((struct text){t.at + n, t.n - n}, 10, ret);
}

static int dtrace_number(struct dtrace *d, uint64_t number, struct err *err)
{
    if (d->frames.n)
        return end_block(d, number, err);
    if (d->has_number) /* "pid" alone, then the count of an empty stack */
        number_is_key(d);
    d->has_number = true;
    d->number = number;
    return 0;
}

static int dtrace_other(struct dtrace *d, struct text line, struct err *err)
{
    uint64_t count;
    struct text key = line;
    if (is_frame(line)) {
        number_is_key(d);
        if (d->frames.n < DEPTH_MAX)
            dtrace_add_frame(d, line);
        else
            d->too_deep = true;
        return 0;
    }
    if (!d->frames.n) {
        number_is_key(d);
        add_key(d, text_trim(line));
        return 0;
    }
    if (cut_count(&key, &count)) {
        add_key(d, key);
        return end_block(d, count, err);
    }
    forget_block(d);
    return import_skip_line(d->im, err, "a stack without a count before '%.*s'",
                            line.n < 60 ? (int)line.n : 60, line.at);
}

static int dtrace_line(struct dtrace *d, struct text line, struct err *err)
{
    struct text t = text_trim(line);
    uint64_t number;
    if (!t.n)
        return end_number(d, err);
    if (is_header(line))
        return 0;
    return text_u64(t, 10, &number) ? dtrace_number(d, number, err) : dtrace_other(d, line, err);
}

static int dtrace_read(struct import *im, struct err *err)
{
    struct dtrace d = {.im = im};
    struct text line;
    int rc = 0;
    while (rc == 0 && reader_line(im->in, &line))
        rc = dtrace_line(&d, line, err);
    if (rc == 0)
        rc = end_number(&d, err);
    if (rc == 0 && d.frames.n)
        rc = import_skip_line(im, err, "the input ends within a stack");
    vec_done(&d.frames);
    buf_done(&d.keys);
    return rc;
}

/* An indented "module`function" is DTrace's spelling; a line of only a number makes it sure. */
static int dtrace_probe(struct text head, bool whole)
{
    int frames = 0, counts = 0, others = 0;
    while (head.n && frames + others < 300) {
        bool complete = whole || memchr(head.at, '\n', head.n);
        struct text line = text_cut(&head, '\n'), t = text_trim(line);
        uint64_t number;
        if (!complete || !t.n || is_header(line))
            continue;
        const char *tick = memchr(t.at, '`', t.n);
        if (tick && tick > t.at && !memchr(t.at, ' ', (size_t)(tick - t.at)) && indent_of(line))
            frames++;
        else if (text_u64(t, 10, &number))
            counts++;
        else
            others++;
    }
    if (!frames || others > frames)
        return 0;
    return counts ? 80 : 40;
}

const struct source source_dtrace = {
    .name = "dtrace",
    .title = "DTrace aggregated stacks",
    .probe = dtrace_probe,
    .read = dtrace_read,
};
