/*
 * gperftools.c - CPU profiles of gperftools, and its heap profiles (heaptext.h).
 *
 * A CPU profile is a list of machine words, 4 or 8 bytes, in the byte order of its machine:
 *
 *     0  3  0  period  0          header; 3 words follow the second, the period is in microseconds
 *     count  depth  pc...         a stack, innermost first, and how often it was seen
 *     0  1  0                     the end of the stacks
 *     lines of /proc/self/maps
 *
 * google-pprof --raw puts the names in front, so that the program is not needed:
 *
 *     --- symbol
 *     binary=/opt/app
 *     0x0000000000401200 main
 *     ---
 *     --- profile                 as above, for heap profiles too, with a period of 1, which says
 *                                 nothing, and neither end mark nor maps
 */
#include "source/heaptext.h"
#include "source/sources.h"

enum { HEADER_WORDS = 5, HEADER_MAX = 1000 };

struct words {
    struct reader *in;
    int bytes; /* of a word; 0 = not a CPU profile */
    bool big;  /* the high byte comes first */
};

static uint64_t word_at(const struct words *w, const char *at)
{
    uint64_t v = 0;
    for (int i = 0; i < w->bytes; i++)
        v = v << 8 | (uint8_t)at[w->big ? i : w->bytes - 1 - i];
    return v;
}

/* Which words make a header of HEAD. */
static struct words words_of(struct text head)
{
    static const struct words kinds[] = {
        {NULL, 8, false}, {NULL, 4, false}, {NULL, 8, true}, {NULL, 4, true}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const struct words *w = &kinds[i];
        uint64_t v[HEADER_WORDS];
        if (head.n < (size_t)(HEADER_WORDS * w->bytes))
            continue;
        for (int k = 0; k < HEADER_WORDS; k++)
            v[k] = word_at(w, head.at + k * w->bytes);
        if (v[0] == 0 && v[1] >= 3 && v[1] < HEADER_MAX && v[2] == 0 && v[3] && v[3] < 1000000000)
            return *w;
    }
    return (struct words){0};
}

static bool next(struct words *w, uint64_t *ret)
{
    struct text t = reader_peek(w->in, (size_t)w->bytes);
    if (t.n < (size_t)w->bytes)
        return false;
    *ret = word_at(w, t.at);
    reader_take(w->in, (size_t)w->bytes);
    return true;
}

/* --- CPU profiles --- */

struct cpu {
    struct addrstacks *a;
    struct words words;
    int64_t period_us;
    bool rewritten; /* by google-pprof --raw */
};

static bool gperftools_read_header(struct cpu *c)
{
    uint64_t v[2 + HEADER_MAX] = {0};
    size_t n = 2;
    for (size_t i = 0; i < n; i++) {
        if (!next(&c->words, &v[i]))
            return false;
        if (i == 1)
            n += v[1] < HEADER_MAX ? (size_t)v[1] : 0;
    }
    c->period_us = (int64_t)v[3];
    return true;
}

/* The profiler may have the innermost frame twice: from the signal and from its own walk. */
static bool read_stack(struct cpu *c, uint64_t depth)
{
    uint64_t pc, first = 0;
    addrstacks_add(c->a);
    for (uint64_t i = 0; i < depth; i++) {
        if (!next(&c->words, &pc))
            return false;
        if (i == 0)
            first = pc;
        if (i != 1 || pc != first)
            addrstacks_push(c->a, i && pc ? pc - 1 : pc);
    }
    return true;
}

static void drop_stack(struct addrstacks *a)
{
    a->pcs.n = a->stacks.at[a->stacks.n - 1].first;
    a->stacks.n--;
}

/* 1 to go on, 0 at the end, -1 where the input ends too early or makes no sense. */
static int read_record(struct cpu *c, struct err *err)
{
    uint64_t count, depth, at = reader_offset(c->words.in);
    int64_t time_ns;
    if (c->rewritten && !reader_peek(c->words.in, 1).n)
        return 0;
    if (!next(&c->words, &count) || !next(&c->words, &depth)) {
        meta_set_str(&c->a->im->profile->meta, META_CUT, "the list of stacks has no end");
        return import_skip_byte(c->a->im, at, err, "the input ends inside the stacks");
    }
    if (depth == 0 || depth > ADDRSTACKS_DEPTH_MAX)
        return err_set(err, EXIT_INPUT, "byte %llu: a stack of %llu frames", (unsigned long long)at,
                       (unsigned long long)depth);
    if (!read_stack(c, depth)) {
        drop_stack(c->a);
        meta_set_str(&c->a->im->profile->meta, META_CUT, "the last stack is cut off");
        return import_skip_byte(c->a->im, at, err, "the input ends inside a stack");
    }
    struct addrstack *s = &c->a->stacks.at[c->a->stacks.n - 1];
    bool end = count == 0 && depth == 1 && c->a->pcs.at[s->first] == 0;
    if (count == 0 || count > INT64_MAX ||
        __builtin_mul_overflow((int64_t)count, c->period_us * 1000, &time_ns)) {
        drop_stack(c->a);
        if (end)
            return 0;
        return import_skip_byte(c->a->im, at, err, "a count of zero, or past 64 bits") ? -1 : 1;
    }
    s->values[0] = (int64_t)count;
    s->values[1] = time_ns;
    return 1;
}

/* The stream's number. */
static int gperftools_add_columns(const struct cpu *c)
{
    struct profile *p = c->a->im->profile;
    if (c->rewritten && c->period_us == 1) {
        profile_add_value(p, profile_add_stream(p, "", OBTAINED_UNKNOWN), "counts", "");
        return 0;
    }
    int stream = profile_add_stream(p, "", BY_TIMER);
    profile_add_value(p, stream, VALUE_SAMPLES, UNIT_COUNT);
    profile_add_value(p, stream, "cpu", UNIT_TIME);
    p->default_value = (struct value_ref){stream, 1};
    profile_stream(p, stream)->rate_hz = 1e6 / (double)c->period_us;
    return stream;
}

static int cpu_read(struct addrstacks *a, const struct words *words, struct err *err)
{
    struct cpu c = {.a = a, .words = *words, .rewritten = a->names.n > 0};
    int more = 1;
    if (!gperftools_read_header(&c))
        return err_set(err, EXIT_INPUT, "the header is cut off");
    while (more > 0)
        more = read_record(&c, err);
    if (more < 0)
        return -1;
    addrstacks_read_maps(a);
    return addrstacks_build(a, gperftools_add_columns(&c), err);
}

/* --- names in front --- */

/* "main<0000000000001200>" where a program has several functions of that name. */
static struct text without_start(struct text name)
{
    const char *open = text_ends(name, ">") ? memrchr(name.at, '<', name.n) : NULL;
    uint64_t start;
    if (!open || open == name.at || name.at + name.n - open != 18 ||
        !text_u64((struct text){open + 1, 16}, 16, &start))
        return name;
    return (struct text){name.at, (size_t)(open - name.at)};
}

static void symbol_line(struct addrstacks *a, struct text line)
{
    uint64_t pc;
    struct text address = text_cut(&line, ' ');
    if (text_starts(address, "0x") && line.n &&
        text_u64((struct text){address.at + 2, address.n - 2}, 16, &pc))
        addrstacks_name(a, pc, without_start(text_trim(line)));
}

/* Up to the profile's first byte. */
static void read_symbols(struct addrstacks *a)
{
    struct text line;
    while (reader_line(a->im->in, &line)) {
        if (text_starts(line, "--- ") && !text_is(line, "--- symbol"))
            return;
        symbol_line(a, line);
    }
}

/* --- all --- */

static int gperftools_read(struct import *im, struct err *err)
{
    enum { LOOK = HEADER_WORDS * 8 };
    struct addrstacks a = {.im = im};
    if (text_starts(reader_peek(im->in, LOOK), "--- symbol"))
        read_symbols(&a);
    struct words words = words_of(reader_peek(im->in, LOOK));
    words.in = im->in;
    int rc = words.bytes ? cpu_read(&a, &words, err) : heaptext_read(&a, err);
    addrstacks_done(&a);
    return rc;
}

static int gperftools_probe(struct text head, bool whole)
{
    (void)whole;
    if (words_of(head).bytes)
        return 90;
    return heaptext_is_tcmalloc(head) || text_starts(head, "--- symbol\n") ? 95 : 0;
}

const struct source source_gperftools = {
    .name = "gperftools",
    .title = "gperftools CPU or heap profile",
    .probe = gperftools_probe,
    .read = gperftools_read,
};
