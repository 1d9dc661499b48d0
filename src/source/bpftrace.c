/*
 * bpftrace.c - stacks counted in bpftrace maps, as the maps are printed.
 *
 *     @name[dd, <- a key before the stacks
 *         vfs_read+570              <- leaf first; or "\tffffffff816b5a8a vfs_read+570" with
 *         entry_SYSCALL_64+118         kstack(perf), then "(module)" behind user frames
 *     ,                             <- the next stack, user after kernel
 *         read+13
 *     , 6819]: 42                   <- keys after the stacks, and the value
 *
 * An empty stack leaves nothing between its commas. Every map becomes a stream of its own.
 * Whether count() or sum() made the value is not in the text: it is called "counts". The text
 * does not say either which stack is the kernel's: its addresses show it, or how it was entered, or
 * else the first of two is taken for it.
 */
#include "base/buf.h"
#include "source/import.h"
#include "source/native.h"
#include "source/sources.h"

#include <ctype.h>

enum { DEPTH_MAX = 100000, STACKS_MAX = 8 };

struct piece {
    size_t start; /* in frames */
    bool kernel;
};

struct bpftrace {
    struct import *im;
    bool open; /* within an entry: between "@[" and "]: " */
    struct str_id map;
    VEC(struct frame_id) frames;     /* leaf first */
    struct piece pieces[STACKS_MAX]; /* stacks of the entry's key */
    int n_pieces;
    bool in_piece, too_deep, empty_key;
    struct buf name; /* the keys that are not numbers */
    int n_numbers;
    uint64_t numbers[2]; /* the first is taken for the pid, the second for the tid */
    uint64_t without_stack;
};

/* --- frames --- */

/* How every kernel stack begins, on x86 and arm64. */
static bool enters_kernel(struct text name)
{
    static const char *const entries[] = {"entry_SYSCALL", "asm_",          "ret_from_fork",
                                          "el0t_",         "el1h_",         "do_syscall_64",
                                          "start_kernel",  "secondary_sta", "common_startup_64"};
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        if (text_starts(name, entries[i]))
            return true;
    return false;
}

struct frame_text {
    uint64_t pc;
    struct text name, module;
};

/* Where " (module)" begins: behind an offset or an address. Both names and paths may hold " (". */
static const char *find_module(struct text t)
{
    const char *at = t.n && t.at[t.n - 1] == ')' ? t.at : NULL;
    while (at && (at = memmem(at, t.n - (size_t)(at - t.at), " (", 2))) {
        struct text before = {t.at, (size_t)(at - t.at)};
        if (text_starts(before, "0x") || native_cut_offset(before).n < before.n)
            return at;
        at++;
    }
    return NULL;
}

/* "read+13", "0x7f12", or with an address in front "7f12 read+13 (/lib/libc.so.6)". */
static struct frame_text parse_frame(struct text t)
{
    struct frame_text f = {0};
    struct text rest = t, hex = text_cut(&rest, ' ');
    rest = text_trim(rest);
    if (rest.n && hex.n >= 4 && text_u64(hex, 16, &f.pc))
        t = rest;
    const char *open = find_module(t);
    if (open) {
        f.module = (struct text){open + 2, t.n - (size_t)(open - t.at) - 3};
        t.n = (size_t)(open - t.at);
    }
    f.name = native_cut_offset(t);
    struct text digits = {t.at + 2, t.n > 2 ? t.n - 2 : 0};
    uint64_t pc;
    if (text_starts(t, "0x") && text_u64(digits, 16, &pc)) {
        f.pc = pc;
        f.name.n = 0;
    }
    if (text_is(f.module, "[unknown]"))
        f.module.n = 0;
    return f;
}

static void bpftrace_add_frame(struct bpftrace *b, struct text line)
{
    struct profile *p = b->im->profile;
    struct frame_text f = parse_frame(line);
    const struct import_opts *o = &b->im->opts;
    bool keep_pc = o->addresses || (o->bare_addresses && !f.name.n);
    struct function function = {.name = profile_add_str(p, f.name)};
    struct line name = {.function = profile_add_function(p, &function)};
    struct mapping mapping = {.path = profile_add_str(p, f.module)};
    struct frame_key key = {
        .pc = keep_pc ? f.pc : 0,
        .mapping = profile_add_mapping(p, &mapping),
        .kind = f.pc >> 63 ? FRAME_KERNEL : FRAME_USER,
        .lines = &name,
        .n_lines = f.name.n ? 1 : 0,
    };
    *vec_push(&b->frames) = profile_add_frame(p, &key);
    if (f.pc >> 63 || enters_kernel(f.name))
        b->pieces[b->n_pieces - 1].kernel = true;
}

static void frame_line(struct bpftrace *b, struct text line)
{
    if (b->frames.n >= DEPTH_MAX || (!b->in_piece && b->n_pieces == STACKS_MAX)) {
        b->too_deep = true;
        return;
    }
    if (!b->in_piece)
        b->pieces[b->n_pieces++] = (struct piece){.start = b->frames.n};
    b->in_piece = true;
    bpftrace_add_frame(b, line);
}

/* --- keys --- */

static void add_key(struct bpftrace *b, struct text key)
{
    uint64_t number;
    if (!key.n) {
        b->empty_key = true;
    } else if (b->n_numbers < 2 && text_u64(key, 10, &number) && number <= INT32_MAX) {
        b->numbers[b->n_numbers++] = number;
    } else {
        if (b->name.n)
            buf_str(&b->name, ", ");
        buf_add(&b->name, key.at, key.n);
    }
}

/* Keys separated by commas. A comma at either end is where a stack is, or would be. */
static void add_keys(struct bpftrace *b, struct text keys, bool stack_before, bool stack_after)
{
    keys = text_trim(keys);
    if (stack_before && keys.n && keys.at[0] == ',')
        keys.at++, keys.n--;
    if (stack_after && keys.n && keys.at[keys.n - 1] == ',')
        keys.n--;
    if (!text_trim(keys).n && (stack_before || stack_after))
        return;
    bool more = true;
    while (more) {
        more = keys.n && memchr(keys.at, ',', keys.n);
        add_key(b, text_trim(text_cut(&keys, ',')));
    }
}

static struct thread_id bpftrace_thread_of(struct bpftrace *b)
{
    struct profile *p = b->im->profile;
    if (!b->name.n && b->n_numbers)
        buf_printf(&b->name, "%llu", (unsigned long long)b->numbers[0]);
    struct thread_key t = {
        .name = profile_add_str(p, buf_text(&b->name)),
        .pid = b->n_numbers ? (int32_t)b->numbers[0] : THREAD_NO_ID,
        .tid = b->n_numbers > 1 ? (int32_t)b->numbers[1] : THREAD_NO_ID,
    };
    return profile_add_thread(p, &t);
}

/* --- entries --- */

static struct stack_id push_piece(struct bpftrace *b, struct stack_id stack, int i, bool kernel)
{
    struct profile *p = b->im->profile;
    size_t start = b->pieces[i].start;
    size_t end = i + 1 < b->n_pieces ? b->pieces[i + 1].start : b->frames.n;
    while (end-- > start) {
        struct frame_id frame = b->frames.at[end];
        stack = stacks_push(&p->stacks, stack, kernel ? native_in_kernel(p, frame) : frame);
    }
    return stack;
}

/* The user's stacks first, as they are the callers, then the kernel's. */
static struct stack_id bpftrace_stack_of(struct bpftrace *b)
{
    struct profile *p = b->im->profile;
    struct stack_id stack = {0};
    bool known = false;
    for (int i = 0; i < b->n_pieces; i++)
        known |= b->pieces[i].kernel;
    if (!known && b->n_pieces > 1)
        b->pieces[0].kernel = true;
    for (int kernel = 0; kernel < 2; kernel++)
        for (int i = b->n_pieces - 1; i >= 0; i--)
            if (b->pieces[i].kernel == kernel)
                stack = push_piece(b, stack, i, kernel);
    if (!stack.i)
        stack = stacks_push(&p->stacks, stack,
                            profile_add_named_frame(p, text_of("[no stack]"), FRAME_USER));
    return stack;
}

/* The stream of the entry's map, or -1 past what a profile holds. */
static int stream_of(struct bpftrace *b)
{
    struct profile *p = b->im->profile;
    for (size_t i = 0; i < p->streams.n; i++)
        if (p->streams.at[i]->event.i == b->map.i)
            return (int)i;
    int stream = profile_add_stream(p, profile_str(p, b->map).at, OBTAINED_UNKNOWN);
    if (stream >= 0)
        profile_add_value(p, stream, "counts", "");
    return stream;
}

static const char *flaw_of(struct bpftrace *b, struct text value, int64_t *ret, int *ret_decimals)
{
    if (b->too_deep)
        return "the stack is over 100,000 frames deep";
    if (!text_decimal(value, ret, ret_decimals))
        return "the value is not one number (histograms and stats cannot be drawn)";
    return *ret == 0 ? "the count is zero" : NULL;
}

static int end_entry(struct bpftrace *b, struct text value, struct err *err)
{
    struct profile *p = b->im->profile;
    int64_t v = 0;
    int decimals;
    b->open = false;
    if (!b->n_pieces && !b->empty_key && !b->too_deep) {
        b->without_stack++;
        return 0;
    }
    const char *flaw = flaw_of(b, value, &v, &decimals);
    if (flaw)
        return import_skip_line(b->im, err, "%s", flaw);
    int stream = stream_of(b);
    if (stream < 0)
        return import_skip_line(b->im, err, "more than %d maps", PROFILE_MAX_STREAMS);
    if (profile_scale_value(p, (struct value_ref){stream, 0}, v, decimals, &v, err) != 0)
        return -1;
    struct row row = {.stack = bpftrace_stack_of(b), .thread = bpftrace_thread_of(b), .values = &v};
    return profile_add_row(p, stream, &row, err);
}

/* --- lines --- */

/* "@name[": the length of "@name", or 0. */
static size_t map_name(struct text line)
{
    size_t n = line.n && line.at[0] == '@';
    while (n && n < line.n && (isalnum((unsigned char)line.at[n]) || line.at[n] == '_'))
        n++;
    return n < line.n && line.at[n] == '[' ? n : 0;
}

/* The keys before "]: " and the value after it. */
static bool split_end(struct text line, struct text *ret_keys, struct text *ret_value)
{
    const char *end = NULL;
    for (const char *at = line.at; (at = memmem(at, line.n - (size_t)(at - line.at), "]:", 2));
         at++)
        end = at;
    if (!end)
        return false;
    *ret_keys = (struct text){line.at, (size_t)(end - line.at)};
    *ret_value = text_trim((struct text){end + 2, line.n - ret_keys->n - 2});
    return true;
}

static int start_entry(struct bpftrace *b, struct text line, size_t name_n, struct err *err)
{
    b->map = profile_add_str(b->im->profile, (struct text){line.at, name_n});
    b->frames.n = b->name.n = 0;
    b->n_pieces = b->n_numbers = 0;
    b->in_piece = b->too_deep = b->empty_key = false;
    struct text rest = {line.at + name_n + 1, line.n - name_n - 1}, keys, value;
    if (split_end(rest, &keys, &value)) {
        add_keys(b, keys, false, false);
        return end_entry(b, value, err);
    }
    b->open = true;
    add_keys(b, rest, false, true);
    return 0;
}

/* A line that starts with a comma or a bracket ends a stack. */
static int key_line(struct bpftrace *b, struct text line, struct err *err)
{
    struct text keys, value;
    b->in_piece = false;
    if (split_end(line, &keys, &value)) {
        add_keys(b, keys, true, false);
        return end_entry(b, value, err);
    }
    add_keys(b, line, true, true);
    return 0;
}

static int bpftrace_line(struct bpftrace *b, struct text line, struct err *err)
{
    size_t name_n = map_name(line);
    if (name_n) {
        if (b->open && import_skip_line(b->im, err, "the entry before has no end") != 0)
            return -1;
        return start_entry(b, line, name_n, err);
    }
    struct text t = text_trim(line);
    if (!b->open || !t.n)
        return 0; /* what the script printed, bars of histograms */
    if (line.at[0] == ',' || line.at[0] == ']')
        return key_line(b, line, err);
    frame_line(b, t);
    return 0;
}

static int bpftrace_read(struct import *im, struct err *err)
{
    struct bpftrace b = {.im = im};
    struct text line;
    int rc = 0;
    while (rc == 0 && reader_line(im->in, &line))
        rc = bpftrace_line(&b, line, err);
    if (rc == 0 && b.open)
        rc = import_skip_line(im, err, "the input ends within an entry");
    if (b.without_stack)
        import_note(im, "entries left out, as their maps hold no stacks: %llu",
                    (unsigned long long)b.without_stack);
    vec_done(&b.frames);
    buf_done(&b.name);
    return rc;
}

/* A map whose first line ends where a stack begins, and the end of an entry. */
static int bpftrace_probe(struct text head, bool whole)
{
    (void)whole;
    bool start = false, end = false, one_line = false;
    while (head.n && !(start && end)) {
        struct text line = text_cut(&head, '\n'), keys, value;
        size_t name_n = map_name(line);
        bool ends = split_end(line, &keys, &value);
        struct text t = text_trim(line);
        start |= name_n && !ends && t.n && (t.at[t.n - 1] == '[' || t.at[t.n - 1] == ',');
        one_line |= name_n && ends;
        end |= start && ends && (line.at[0] == ']' || line.at[0] == ',');
    }
    return start && end ? 90 : start ? 60 : one_line ? 20 : 0;
}

const struct source source_bpftrace = {
    .name = "bpftrace",
    .title = "bpftrace stack maps",
    .probe = bpftrace_probe,
    .read = bpftrace_read,
};
