#include "source/pprof_header.h"

#include "base/buf.h"
#include "source/streamfacts.h"

void pprof_header_done(struct pprof_header *h)
{
    vec_done(&h->types);
    vec_done(&h->comments);
}

/* --- our own files --- */

static bool cut_prefix(struct text *t, const char *prefix)
{
    if (!text_starts(*t, prefix))
        return false;
    t->at += strlen(prefix);
    t->n -= strlen(prefix);
    return true;
}

/* Our comments start with '#', which keeps pprof from printing them; older files lack it. */
static struct text own_comment(const struct pprof_header *h, size_t i)
{
    struct text t = pprof_text(h->tables, h->comments.at[i]);
    return text_starts(t, "#kelvin") ? (struct text){t.at + 1, t.n - 1} : t;
}

static void find_marker(struct pprof_header *h)
{
    for (size_t i = 0; i < h->comments.n; i++)
        h->ours |= text_is(own_comment(h, i), "kelvin-export=1");
}

/* What a comment of ours says about a sample type. */
struct own_type {
    struct text event;
    struct text name; /* n = 0: the file's */
    uint64_t stream;  /* UINT64_MAX = the event's */
    int decimals;
};

/* "N-decimals=2": a property of type N that pprof has no field for. */
static void type_comment(struct own_type *own, size_t n, struct text comment)
{
    uint64_t i, v;
    if (!text_u64(text_cut(&comment, '-'), 10, &i) || i >= n)
        return;
    struct text key = text_cut(&comment, '=');
    bool number = text_u64(comment, 10, &v);
    if (text_is(key, "event"))
        own[i].event = comment;
    else if (text_is(key, "name"))
        own[i].name = comment;
    else if (text_is(key, "stream") && number)
        own[i].stream = v;
    else if (text_is(key, "decimals") && number && v <= 9)
        own[i].decimals = (int)v;
}

static void read_type_comments(struct pprof_header *h, struct own_type *own)
{
    for (size_t i = 0; i < h->types.n; i++)
        own[i] = (struct own_type){.event = {"", 0}, .name = {"", 0}, .stream = UINT64_MAX};
    for (size_t i = 0; i < h->comments.n; i++) {
        struct text t = own_comment(h, i);
        if (cut_prefix(&t, "kelvin-type-"))
            type_comment(own, h->types.n, t);
    }
}

/* A type's name without "EVENT/", and its unit without "/1000", which the exporter put there. */
static struct text own_name(struct text name, struct text event)
{
    struct text rest = name;
    if (!event.n || name.n <= event.n || memcmp(name.at, event.at, event.n) != 0)
        return name;
    rest.at += event.n;
    rest.n -= event.n;
    return cut_prefix(&rest, "/") ? rest : name;
}

static struct text own_unit(struct text unit, int decimals)
{
    size_t suffix = (size_t)decimals + 2;
    if (decimals && unit.n >= suffix && unit.at[unit.n - suffix] == '/')
        unit.n -= suffix;
    return unit;
}

/* The stream that type I shares with one before it, or -1. */
static int find_own_stream(const struct pprof_header *h, const struct own_type *own, size_t i)
{
    for (size_t k = 0; k < i; k++) {
        bool by_number = own[i].stream != UINT64_MAX || own[k].stream != UINT64_MAX;
        bool same_event = own[i].event.n == own[k].event.n &&
                          memcmp(own[i].event.at, own[k].event.at, own[i].event.n) == 0;
        if (by_number ? own[i].stream == own[k].stream : same_event)
            return h->types.at[k].column.stream;
    }
    return -1;
}

static void add_own_types(struct pprof_header *h)
{
    struct profile *p = h->tables->im->profile;
    autofree struct own_type *own = mem_calloc(h->types.n, sizeof *own);
    read_type_comments(h, own);
    for (size_t i = 0; i < h->types.n; i++) {
        struct pprof_value_type *t = &h->types.at[i];
        struct text name = own_name(pprof_text(h->tables, t->name), own[i].event);
        name = own[i].name.n ? own[i].name : name;
        struct text unit = own_unit(pprof_text(h->tables, t->unit), own[i].decimals);
        autofree char *event = mem_strndup(own[i].event.at, own[i].event.n);
        autofree char *name_copy = mem_strndup(name.at, name.n);
        autofree char *unit_copy = mem_strndup(unit.at, unit.n);
        int stream = find_own_stream(h, own, i);
        if (stream < 0)
            stream = profile_add_stream(p, event, OBTAINED_UNKNOWN);
        if (stream < 0)
            continue;
        int type = profile_add_value(p, stream, name_copy, unit_copy);
        if (type < 0)
            continue;
        t->column = (struct value_ref){stream, type};
        profile_stream(p, stream)->types[type].decimals = own[i].decimals;
    }
}

/* "K-lost=3" */
static void stream_comment(struct profile *p, struct text comment)
{
    uint64_t i;
    if (!text_u64(text_cut(&comment, '-'), 10, &i) || i >= p->streams.n)
        return;
    struct text key = text_cut(&comment, '=');
    streamfacts_set(p, (int)i, key, comment);
}

static void clock_comment(struct profile *p, struct text comment)
{
    struct clock_pair clock;
    if (text_u64(text_cut(&comment, ','), 10, &clock.monotonic_ns) &&
        text_u64(comment, 10, &clock.wall_ns))
        p->clock = clock;
}

static void read_our_comments(struct pprof_header *h)
{
    enum { META_MAX = 1000 }; /* far more than we write: the list is searched from end to end */
    struct profile *p = h->tables->im->profile;
    for (size_t i = 0; i < h->comments.n; i++) {
        struct text t = own_comment(h, i);
        uint64_t v;
        if (cut_prefix(&t, "kelvin:")) {
            struct text key = text_cut(&t, '=');
            autofree char *copy = mem_strndup(key.at, key.n);
            if (key.n && p->meta.entries.n < META_MAX)
                meta_set(&p->meta, copy, t);
        } else if (cut_prefix(&t, "kelvin-stream-")) {
            stream_comment(p, t);
        } else if (cut_prefix(&t, "kelvin-clock=")) {
            clock_comment(p, t);
        } else if (cut_prefix(&t, "kelvin-default=") && text_u64(t, 10, &v) && v < h->types.n) {
            p->default_value = h->types.at[v].column;
        }
    }
}

/* --- types and metadata of all other files --- */

static void add_types(struct pprof_header *h)
{
    struct profile *p = h->tables->im->profile;
    int stream = profile_add_stream(p, "", OBTAINED_UNKNOWN), last = -1;
    struct text wanted = pprof_text(h->tables, h->number[14]);
    for (size_t i = 0; i < h->types.n && i < STREAM_MAX_TYPES; i++) {
        struct pprof_value_type *t = &h->types.at[i];
        struct text name = pprof_text(h->tables, t->name);
        last = profile_add_value(p, stream, name.at, pprof_text(h->tables, t->unit).at);
        t->column = (struct value_ref){stream, last};
        if (wanted.n && name.at == wanted.at && p->default_value.stream < 0)
            p->default_value = t->column;
    }
    if (p->default_value.stream < 0)
        p->default_value = (struct value_ref){stream, last};
    if (h->types.n > STREAM_MAX_TYPES)
        import_note(h->tables->im, "the file has %zu sample types; the first %d were read",
                    h->types.n, STREAM_MAX_TYPES);
}

static void set_text(struct pprof_header *h, const char *key, uint64_t string)
{
    struct text t = pprof_text(h->tables, string);
    if (t.n)
        meta_set(&h->tables->im->profile->meta, key, t);
}

static void set_number(struct pprof_header *h, const char *key, uint64_t v)
{
    if (v && v <= INT64_MAX)
        meta_set_u64(&h->tables->im->profile->meta, key, v);
}

static void set_comments(struct pprof_header *h)
{
    autobuf struct buf all = {0};
    for (size_t i = 0; i < h->comments.n && all.n < 4096; i++) {
        struct text t = own_comment(h, i);
        if (t.n && all.n)
            buf_str(&all, "; ");
        buf_add(&all, t.at, t.n);
    }
    if (all.n)
        meta_set(&h->tables->im->profile->meta, META_COMMENT, buf_text(&all));
}

static void set_meta(struct pprof_header *h)
{
    uint64_t period = h->number[12];
    struct text unit = pprof_text(h->tables, h->period_type.unit);
    set_number(h, META_TIME_NS, h->number[9]);
    set_number(h, META_DURATION_NS, h->number[10]);
    set_number(h, "period", period);
    set_text(h, "period_type", h->period_type.name);
    set_text(h, "period_unit", h->period_type.unit);
    if (dimension_of_unit(unit) == DIM_TIME && period && period <= INT64_MAX)
        profile_stream(h->tables->im->profile, 0)->rate_hz = 1e9 / (double)period;
    set_text(h, "drop_frames", h->number[7]);
    set_text(h, "keep_frames", h->number[8]);
    set_text(h, "doc_url", h->number[15]);
    set_comments(h);
}

static bool has_column(const struct stream *s, enum dimension d, enum value_role role)
{
    for (int i = 0; i < s->n_types; i++)
        if (s->types[i].dimension == d && s->types[i].role == role)
            return true;
    return false;
}

/* Time is from a timer signal when the Go runtime itself took it; then no frame is the kernel's. */
void pprof_header_set_obtained(struct pprof_header *h)
{
    struct profile *p = h->tables->im->profile;
    struct stream *s = profile_stream(p, 0);
    bool is_go = intern_find(&p->strings, text_of("runtime.goexit")) != IDMAP_NONE ||
                 intern_find(&p->strings, text_of("runtime.main")) != IDMAP_NONE;
    bool is_time = stream_samples(s) >= 0 && has_column(s, DIM_TIME, ROLE_FLOW) &&
                   dimension_of_unit(pprof_text(h->tables, h->period_type.unit)) == DIM_TIME;
    for (size_t i = 0; i < p->frames.n; i++)
        is_go &= p->frames.at[i].kind != FRAME_KERNEL;
    if (!h->ours && is_go && is_time)
        s->obtained = BY_TIMER;
}

int pprof_header_apply(struct pprof_header *h, struct err *err)
{
    if (h->tables->strings.n == 0)
        return err_set(err, EXIT_INPUT, "no string table: the file is cut off or not pprof");
    if (h->types.n == 0)
        return err_set(err, EXIT_INPUT, "no sample type: nothing says what the values mean");
    if (h->types.n > PPROF_TYPES_MAX)
        return err_set(err, EXIT_INPUT, "the file has %zu sample types; %d are possible",
                       h->types.n, PPROF_TYPES_MAX);
    for (size_t i = 0; i < h->types.n; i++)
        h->types.at[i].column = (struct value_ref){-1, -1};
    find_marker(h);
    if (h->ours) {
        add_own_types(h);
        read_our_comments(h);
    } else {
        add_types(h);
        set_meta(h);
    }
    return 0;
}
