#include "source/heaptext.h"
#include "source/sources.h"

#include <math.h>

enum { LIVE_OBJECTS, LIVE_BYTES, ALL_OBJECTS, ALL_BYTES };

struct heaptext {
    struct addrstacks *a;
    double rate; /* mean bytes from sample to sample; 0 = all were counted */
    bool in_stack;

    /* Go's comment at hand: an address, and its functions joined by "--" */
    uint64_t named_pc;
    struct buf names;
};

static const char tcmalloc_mark[] = "heap profile:", jemalloc_mark[] = "heap_v2/";

bool heaptext_is_tcmalloc(struct text head)
{
    return text_starts(head, tcmalloc_mark);
}

static bool heaptext_is_jemalloc(struct text head)
{
    return text_starts(head, jemalloc_mark) && head.n >= sizeof jemalloc_mark &&
           head.at[sizeof jemalloc_mark - 1] >= '0' && head.at[sizeof jemalloc_mark - 1] <= '9';
}

/* --- values --- */

static struct text trim_left(struct text t, char c)
{
    t = text_trim(t);
    if (t.n && t.at[0] == c)
        t = (struct text){t.at + 1, t.n - 1};
    return text_trim(t);
}

static bool cut_number(struct text *t, char sep, int64_t *ret)
{
    uint64_t v;
    if (!memchr(t->at, sep, t->n) || !text_u64(text_trim(text_cut(t, sep)), 10, &v) ||
        v > INT64_MAX)
        return false;
    *ret = (int64_t)v;
    return true;
}

/* "2: 3000 [ 9: 8000] REST" */
static bool parse_values(struct text *t, int64_t ret[ADDRSTACKS_VALUES])
{
    if (!cut_number(t, ':', &ret[LIVE_OBJECTS]) || !cut_number(t, '[', &ret[LIVE_BYTES]) ||
        !cut_number(t, ':', &ret[ALL_OBJECTS]) || !cut_number(t, ']', &ret[ALL_BYTES]))
        return false;
    *t = text_trim(*t);
    return true;
}

static int64_t heaptext_scaled(int64_t value, double scale)
{
    double v = (double)value * scale;
    return v < 9e18 ? (int64_t)llround(v) : value;
}

/* From what was sampled to what it stands for. */
static void unsample(int64_t *objects, int64_t *bytes, double rate)
{
    if (rate <= 1 || *objects <= 0 || *bytes <= 0)
        return;
    double mean = (double)*bytes / (double)*objects;
    double scale = 1 / -expm1(-mean / rate);
    *objects = heaptext_scaled(*objects, scale);
    *bytes = heaptext_scaled(*bytes, scale);
}

/* The last stack's values; a stack of which nothing was sampled is taken off again. */
static void set_values(struct heaptext *h, int64_t values[ADDRSTACKS_VALUES])
{
    struct addrstacks *a = h->a;
    struct addrstack *s = &a->stacks.at[a->stacks.n - 1];
    unsample(&values[LIVE_OBJECTS], &values[LIVE_BYTES], h->rate);
    unsample(&values[ALL_OBJECTS], &values[ALL_BYTES], h->rate);
    memcpy(s->values, values, sizeof s->values);
    for (int i = 0; i < ADDRSTACKS_VALUES; i++)
        if (values[i])
            return;
    a->pcs.n = s->first;
    a->stacks.n--;
}

/* --- lines --- */

static int add_stack(struct heaptext *h, struct text pcs, struct err *err)
{
    uint64_t pc;
    struct addrstack *s = addrstacks_add(h->a);
    while ((pcs = text_trim(pcs)).n) {
        struct text word = text_cut(&pcs, ' ');
        if (text_starts(word, "0x"))
            word = (struct text){word.at + 2, word.n - 2};
        if (text_u64(word, 16, &pc) && s->n < ADDRSTACKS_DEPTH_MAX) {
            addrstacks_push(h->a, pc ? pc - 1 : 0);
            continue;
        }
        h->a->pcs.n = s->first;
        h->a->stacks.n--;
        return import_skip_line(h->a->im, err, "the stack has %s",
                                s->n < ADDRSTACKS_DEPTH_MAX ? "an address that is not a hex number"
                                                            : "more than 100000 frames");
    }
    return 0;
}

static int skip_line(struct heaptext *h, struct text line, struct err *err)
{
    return import_skip_line(h->a->im, err, "no stack of a heap profile: '%.*s'",
                            line.n < 60 ? (int)line.n : 60, line.at);
}

static int tcmalloc_line(struct heaptext *h, struct text line, struct err *err)
{
    int64_t values[ADDRSTACKS_VALUES];
    struct text rest = line;
    if (!parse_values(&rest, values) || !text_starts(rest, "@"))
        return skip_line(h, line, err);
    size_t before = h->a->stacks.n;
    if (add_stack(h, trim_left(rest, '@'), err) != 0)
        return -1;
    if (h->a->stacks.n > before)
        set_values(h, values);
    return 0;
}

/* "@ 0x... 0x...", "t*: values", or "t12: values NAME" of one thread, which the first has in it. */
static int jemalloc_line(struct heaptext *h, struct text line, struct err *err)
{
    int64_t values[ADDRSTACKS_VALUES];
    struct text rest = text_trim(line);
    if (text_starts(rest, "@")) {
        size_t before = h->a->stacks.n;
        int rc = add_stack(h, trim_left(rest, '@'), err);
        h->in_stack = h->a->stacks.n > before;
        return rc;
    }
    struct text who = text_cut(&rest, ':');
    if (!text_starts(who, "t") || !parse_values(&rest, values))
        return skip_line(h, line, err);
    if (text_is(who, "t*") && h->in_stack) {
        h->in_stack = false;
        set_values(h, values);
    }
    return 0;
}

/* "heap_v2/524288" and Go's "heap/1048576", which is twice its rate; 0 where all was counted. */
static double rate_of(struct text kind)
{
    struct text name = text_cut(&kind, '/');
    uint64_t rate;
    if (!kind.n || !text_u64(kind, 10, &rate))
        return 0;
    return text_is(name, "heap") ? (double)rate / 2 : (double)rate;
}

/* --- names --- */

static void end_names(struct heaptext *h)
{
    if (h->names.n)
        addrstacks_name(h->a, h->named_pc, buf_text(&h->names));
    h->a->names_from_caller |= h->names.n > 0;
    h->names.n = 0;
}

/*
 * "#\t0x4b951d\tmain.(*T).fill+0x2bd\t\tmain.go:4": Go's name for an address of the stack above;
 * inlined functions have a line each, innermost first. It leaves out its allocator.
 */
static void name_line(struct heaptext *h, struct text line)
{
    uint64_t pc;
    struct text rest = {line.at + 1, line.n - 1};
    rest = text_trim(rest);
    struct text address = text_cut(&rest, '\t'), name = text_cut(&rest, '\t');
    const char *plus = name.n ? memmem(name.at, name.n, "+0x", 3) : NULL;
    if (!plus || !rest.n || !text_starts(address, "0x") ||
        !text_u64((struct text){address.at + 2, address.n - 2}, 16, &pc))
        return;
    if (pc != h->named_pc)
        end_names(h);
    else if (h->names.n)
        buf_add(&h->names, "--", 2);
    h->named_pc = pc;
    buf_add(&h->names, name.at, (size_t)(plus - name.at));
}

/* --- the file --- */

static int read_first_line(struct heaptext *h, bool *ret_jemalloc, struct err *err)
{
    int64_t totals[ADDRSTACKS_VALUES];
    struct text line;
    if (!reader_line(h->a->im->in, &line))
        return 0;
    line = text_trim(line);
    *ret_jemalloc = heaptext_is_jemalloc(line);
    struct text kind = line;
    if (!*ret_jemalloc) {
        text_cut(&kind, ':');
        if (!heaptext_is_tcmalloc(line) || !parse_values(&kind, totals) || !text_starts(kind, "@"))
            return err_set(err, EXIT_INPUT, "line 1 is not that of a heap profile");
        kind = trim_left(kind, '@');
    }
    h->rate = rate_of(kind);
    return 0;
}

static int heaptext_read_lines(struct heaptext *h, bool jemalloc, struct err *err)
{
    struct text line;
    int rc = 0;
    while (rc == 0 && reader_line(h->a->im->in, &line)) {
        line = text_trim(line);
        if (text_is(line, "MAPPED_LIBRARIES:") || text_is(line, "--- Memory map: ---")) {
            addrstacks_read_maps(h->a);
            break;
        }
        if (line.n && line.at[0] == '#')
            name_line(h, line);
        else
            end_names(h);
        if (!line.n || line.at[0] == '#')
            continue;
        rc = jemalloc ? jemalloc_line(h, line, err) : tcmalloc_line(h, line, err);
    }
    end_names(h);
    return rc;
}

/* --- the profile --- */

static bool has_all(const struct addrstacks *a)
{
    for (size_t i = 0; i < a->stacks.n; i++)
        if (a->stacks.at[i].values[ALL_OBJECTS] || a->stacks.at[i].values[ALL_BYTES])
            return true;
    return false;
}

static int heaptext_build(struct heaptext *h, struct err *err)
{
    struct profile *p = h->a->im->profile;
    int stream = profile_add_stream(p, "", h->rate > 1 ? OBTAINED_UNKNOWN : BY_EXACT_COUNT);
    profile_add_value(p, stream, "inuse_objects", UNIT_COUNT);
    profile_add_value(p, stream, "inuse_space", UNIT_BYTES);
    if (has_all(h->a)) {
        profile_add_value(p, stream, "alloc_objects", UNIT_COUNT);
        profile_add_value(p, stream, "alloc_space", UNIT_BYTES);
    }
    int rc = addrstacks_build(h->a, stream, err);
    const struct stream *s = profile_stream(p, stream);
    bool live = s->types[LIVE_BYTES].total || s->n_types <= ALL_BYTES;
    p->default_value = (struct value_ref){stream, live ? LIVE_BYTES : ALL_BYTES};
    return rc;
}

int heaptext_read(struct addrstacks *a, struct err *err)
{
    struct heaptext h = {.a = a};
    bool jemalloc = false;
    a->heap = true;
    int rc = read_first_line(&h, &jemalloc, err);
    rc = rc == 0 ? heaptext_read_lines(&h, jemalloc, err) : rc;
    buf_done(&h.names);
    if (rc != 0)
        return -1;
    if (h.in_stack) { /* its values are missing */
        meta_set_str(&a->im->profile->meta, META_CUT, "the last stack has no values");
        a->stacks.n--;
    }
    return heaptext_build(&h, err);
}

static int jemalloc_read(struct import *im, struct err *err)
{
    struct addrstacks a = {.im = im};
    int rc = heaptext_read(&a, err);
    addrstacks_done(&a);
    return rc;
}

static int jemalloc_probe(struct text head, bool whole)
{
    (void)whole;
    return heaptext_is_jemalloc(head) ? 95 : 0;
}

const struct source source_jemalloc = {
    .name = "jemalloc",
    .title = "jemalloc heap profile",
    .probe = jemalloc_probe,
    .read = jemalloc_read,
};
