/*
 * perfscript.c - the text that `perf script` prints.
 *
 *     sh  7034 [001]  1286.185735:     500000 cpu-clock:u:
 *             ffffffff8168ec7a charge_memcg+0x4a ([kernel.kallsyms])
 *                        1e620 dl_main+0x2660 (/usr/lib/ld-linux-x86-64.so.2)
 *                                                              <- an empty line ends the sample
 *
 * Takes what FlameGraph's stackcollapse-perf.pl takes, and names frames as it does. The innermost
 * frame comes first. Every event gives a stream with two columns: samples, and what its periods add
 * up to.
 *
 * The same lines come again and again, so nearly everything is looked up by its raw text: see
 * perfscript_known.h. Memory is for distinct things only.
 */
#include "source/import.h"
#include "source/perfscript_frame.h"
#include "source/perfscript_header.h"
#include "source/perfscript_known.h"
#include "source/sources.h"

/* Columns of a stream; a weight is there only once a period was seen. */
enum { COLUMN_SAMPLES, COLUMN_WEIGHT, COLUMNS };

struct event {
    struct text name; /* in the profile's strings */
    int stream;       /* events of a hybrid CPU's cores share one */
    bool is_tracepoint;
    struct attrs_id core; /* label of its rows; 0 = no hybrid CPU */
};

/* "# event : name = cycles": the events in the order of the recording, of which some have samples.
 */
struct announced {
    struct str_id name;
    double rate_hz; /* 0 = not known */
};

struct perfscript {
    struct import *im;
    struct event events[PROFILE_MAX_STREAMS];
    int n_events;
    VEC(struct announced) announced;

    struct known known;

    /* the sample that is being read */
    bool in_sample;
    bool full_headers;   /* one had more than names and numbers */
    bool padded;         /* its header was indented: no call chains here, a sample per line */
    struct event *event; /* NULL: leave it out */
    const struct known_thread *thread;
    struct row row;
    int64_t period;

    struct buf bare; /* a line that may be an inlined frame: the next one says; "" = none */

    bool saw_empty_line; /* samples end with one; the last may lack it */
    bool half_line;      /* the input ended inside the last line */
    uint64_t lost;
};

/* --- comments --- */

/* The number behind KEY, or 0. */
static double number_behind(struct text t, const char *key)
{
    const char *at = memmem(t.at, t.n, key, strlen(key)), *end = t.at + t.n;
    double v = 0;
    if (!at)
        return 0;
    for (at += strlen(key); at < end && *at >= '0' && *at <= '9'; at++)
        v = v * 10 + (*at - '0');
    return v;
}

/* "name = cycles:u, , id = { 1, 2 }, type = 0, ... { sample_period, sample_freq } = 99, ... freq =
 * 1" */
static void event_comment(struct perfscript *s, struct text value)
{
    static const char key[] = "name = ";
    if (!text_starts(value, key) || s->announced.n == PROFILE_MAX_STREAMS)
        return;
    struct text name = {value.at + sizeof key - 1, value.n - sizeof key + 1};
    const char *end = memmem(name.at, name.n, ", , ", 4);
    if (!end)
        end = memmem(name.at, name.n, ", ", 2);
    name.n = end ? (size_t)(end - name.at) : name.n;
    struct announced a = {.name = profile_add_str(s->im->profile, text_trim(name))};
    if (memmem(value.at, value.n, ", freq = 1", 10))
        a.rate_hz = number_behind(value, "sample_freq } = ");
    *vec_push(&s->announced) = a;
}

static void comment(struct perfscript *s, struct text line)
{
    static const struct {
        const char *key, *meta, *prefix;
    } known[] = {
        {"hostname", META_HOST, ""},
        {"os release", META_OS, "Linux "},
        {"perf version", META_TOOL, "perf "},
        {"arch", META_ARCH, ""},
        {"cpudesc", META_CPU, ""},
        {"cmdline", META_COMMAND, ""},
    };
    line = (struct text){line.at + 1, line.n - 1};
    struct text key = text_trim(text_cut(&line, ':'));
    struct text value = text_trim(line);
    if (text_is(key, "event"))
        event_comment(s, value);
    for (size_t i = 0; value.n && i < sizeof known / sizeof *known; i++) {
        if (!text_is(key, known[i].key))
            continue;
        autofree char *text = mem_printf("%s%.*s", known[i].prefix, TEXT_ARG(value));
        meta_set_str(&s->im->profile->meta, known[i].meta, text);
    }
}

/* --- events --- */

/* The stream of the same event on another kind of core of a hybrid CPU, or -1. */
static int find_hybrid(const struct perfscript *s, const char *name)
{
    for (int i = 0; i < s->n_events; i++) {
        char other[EVENT_NAME_MAX];
        if (event_of_all_cores(s->events[i].name, other) && strcmp(other, name) == 0)
            return s->events[i].stream;
    }
    return -1;
}

static int add_event_stream(struct profile *p, const char *name)
{
    int stream = profile_add_stream(p, name, event_obtained(text_of(name)));
    if (stream >= 0)
        profile_add_value(p, stream, VALUE_SAMPLES, UNIT_COUNT);
    return stream;
}

/* False when there are too many events. */
static bool make_event(struct perfscript *s, struct text name)
{
    struct profile *p = s->im->profile;
    char all_cores[EVENT_NAME_MAX];
    if (s->n_events == PROFILE_MAX_STREAMS)
        return false;
    struct event *e = &s->events[s->n_events];
    name = profile_str(p, profile_add_str(p, name));
    *e = (struct event){name, -1, event_is_tracepoint(name), {0}};
    bool hybrid = event_of_all_cores(name, all_cores);
    if (hybrid) {
        e->stream = find_hybrid(s, all_cores);
        struct attr core = {.key = profile_add_str(p, text_of(CORE_KEY)),
                            .text = profile_add_str(p, event_core(name))};
        e->core = attrs_add(&p->attrs, (struct attrs_id){0}, &core);
    }
    if (e->stream < 0)
        e->stream = add_event_stream(p, hybrid ? all_cores : name.at);
    s->n_events += e->stream >= 0;
    return e->stream >= 0;
}

/* NULL when there are too many of them. */
static struct event *find_event(struct perfscript *s, struct text name)
{
    for (int i = 0; i < s->n_events; i++) {
        struct event *e = &s->events[i];
        if (e->name.n == name.n && memcmp(e->name.at, name.at, name.n) == 0)
            return e;
    }
    return make_event(s, name) ? &s->events[s->n_events - 1] : NULL;
}

static inline struct stream *stream_of(const struct perfscript *s, const struct event *e)
{
    return profile_stream(s->im->profile, e->stream);
}

/* The column for periods. Samples that were read before had none: they count as 1 each. */
static void make_weight(struct perfscript *s, struct event *e)
{
    struct profile *p = s->im->profile;
    struct stream *stream = stream_of(s, e);
    struct text event = profile_str(p, stream->event);
    struct text name = profile_str(p, profile_add_str(p, event_bare_name(event)));
    profile_add_value(p, e->stream, name.n ? name.at : "period",
                      dimension_unit(event_dimension(event)));
    stream->types[COLUMN_WEIGHT].total = stream->types[COLUMN_SAMPLES].total;
    for (size_t i = 0; i < stream->rows.n; i++)
        stream->rows.value[COLUMN_WEIGHT][i] = stream->rows.value[COLUMN_SAMPLES][i];
}

/* --- samples --- */

/* Count the sample in a row that has its stack and thread. False if a sum would not fit. */
static bool add_to_row(struct perfscript *s, size_t row)
{
    struct stream *to = stream_of(s, s->event);
    int64_t count, weight = 0;
    bool weighs = to->n_types > COLUMN_WEIGHT;
    if (__builtin_add_overflow(to->types[COLUMN_SAMPLES].total, 1, &count))
        return false;
    if (weighs && __builtin_add_overflow(to->types[COLUMN_WEIGHT].total, s->period, &weight))
        return false;
    to->types[COLUMN_SAMPLES].total = count;
    to->rows.value[COLUMN_SAMPLES][row]++;
    if (weighs) {
        to->types[COLUMN_WEIGHT].total = weight;
        to->rows.value[COLUMN_WEIGHT][row] += s->period;
    }
    return true;
}

static int perfscript_add_row(struct perfscript *s, struct err *err)
{
    struct err inner;
    int64_t values[COLUMNS] = {[COLUMN_SAMPLES] = 1, [COLUMN_WEIGHT] = s->period};
    s->row.values = values;
    s->row.attrs = s->event->core;
    int rc = profile_add_row(s->im->profile, s->event->stream, &s->row, &inner);
    s->row.values = NULL;
    if (rc != 0)
        err_set(err, inner.code, "line %llu: %s", (unsigned long long)s->im->in->lines, inner.text);
    return rc;
}

/* Samples are merged, so a chain and thread seen before have their row. */
static int add_merged(struct perfscript *s, struct err *err)
{
    struct profile *p = s->im->profile;
    uint64_t hash, who = s->row.thread.i | (uint64_t)(s->event->stream + 1) << 32;
    struct recent_chain *c = known_chain(&s->known, who, &hash);
    uint32_t row = UINT32_MAX;
    if (c->hash == hash && c->id_plus_1 && add_to_row(s, c->id_plus_1 - 1))
        return 0;
    s->row.stack = stacks_intern_leaf_first(&p->stacks, s->known.chain.at, s->known.chain.n);
    s->row.hint = &row;
    int rc = perfscript_add_row(s, err);
    s->row.hint = NULL;
    if (rc == 0)
        *c = (struct recent_chain){hash, row + 1};
    return rc;
}

static int add_single(struct perfscript *s, struct err *err)
{
    uint64_t hash;
    struct recent_chain *c = known_chain(&s->known, 0, &hash);
    if (c->hash != hash || !c->id_plus_1) {
        struct stacks *stacks = &s->im->profile->stacks;
        uint32_t stack = stacks_intern_leaf_first(stacks, s->known.chain.at, s->known.chain.n).i;
        *c = (struct recent_chain){hash, stack + 1};
    }
    s->row.stack.i = c->id_plus_1 - 1;
    return perfscript_add_row(s, err);
}

/* A line that no "(inlined)" followed is none of a call chain. */
static int drop_bare(struct perfscript *s, struct err *err)
{
    if (!s->bare.n)
        return 0;
    int n = s->bare.n < 60 ? (int)s->bare.n : 60;
    int rc =
        import_skip_line(s->im, err, "not a line of perf script before it: '%.*s'", n, s->bare.at);
    s->bare.n = 0;
    return rc;
}

static int finish_sample(struct perfscript *s, struct err *err)
{
    s->in_sample = false;
    if (drop_bare(s, err) != 0)
        return -1;
    if (!s->event)
        return 0;
    return s->im->profile->merge_rows ? add_merged(s, err) : add_single(s, err);
}

static int push_frame(struct perfscript *s, const struct perfscript_frame *f, struct err *err)
{
    if (!s->event || perfscript_frame_is_comm(f))
        return 0;
    if (s->known.chain.n == PERFSCRIPT_MAX_DEPTH) {
        s->event = NULL;
        return import_skip_line(s->im, err, "a stack of more than %d frames", PERFSCRIPT_MAX_DEPTH);
    }
    *vec_push(&s->known.chain) = known_frame_of(&s->known, f, s->thread->java);
    return 0;
}

/* Put the place in the source into the frame above it. */
static void set_srcline(struct perfscript *s, struct text file, uint32_t number)
{
    struct profile *p = s->im->profile;
    struct frame_id *last = &s->known.chain.at[s->known.chain.n - 1];
    const struct frame *f = profile_frame(p, *last);
    if (!f->n_lines)
        return;
    VEC(struct line) lines = {0}; /* a copy, as the profile's own may move */
    vec_reserve(&lines, f->n_lines);
    memcpy(lines.at, profile_lines(p, f), f->n_lines * sizeof *lines.at);
    struct line *innermost = &lines.at[f->n_lines - 1];
    struct function function = p->functions.at[innermost->function.i];
    function.file = profile_add_str(p, file);
    innermost->function = profile_add_function(p, &function);
    innermost->line = number;
    struct frame_key key = {.pc = f->pc,
                            .mapping = f->mapping,
                            .kind = f->kind,
                            .lines = lines.at,
                            .n_lines = f->n_lines};
    *last = profile_add_frame(p, &key);
    vec_done(&lines);
}

/* "file.c:12 (inlined)" behind a line without a module: together they are a frame. */
static bool push_inlined(struct perfscript *s, struct text line, struct err *err, int *ret)
{
    struct perfscript_frame frame;
    bool inlined = s->bare.n && text_ends(line, " (inlined)");
    if (!inlined)
        *ret = drop_bare(s, err);
    else if (perfscript_frame_bare(buf_text(&s->bare), &frame))
        *ret = push_frame(s, &frame, err);
    s->bare.n = 0;
    return inlined;
}

/* False when it is no line of a call chain. */
static bool read_chain_line(struct perfscript *s, struct text line, struct err *err, int *ret)
{
    struct perfscript_frame frame;
    struct text file;
    uint32_t number;
    *ret = 0;
    bool inlined = push_inlined(s, line, err, ret);
    if (*ret != 0)
        return true;
    if (perfscript_frame_split(line, &frame))
        *ret = push_frame(s, &frame, err);
    else if (!inlined && perfscript_frame_bare(line, &frame))
        buf_add(&s->bare, line.at, line.n);
    else if (s->event && !s->known.chain.n)
        return false;
    else if (perfscript_frame_srcline(line, &file, &number) && s->event)
        set_srcline(s, file, number);
    else
        return perfscript_frame_no_srcline(line);
    return true;
}

/* PERF_RECORD_LOST and its like; samples that the kernel had to drop are counted. */
static void read_record(struct perfscript *s, struct text record)
{
    uint64_t n;
    struct text word = text_cut(&record, ' ');
    if (!text_starts(word, "PERF_RECORD_LOST"))
        return;
    const char *at = memmem(record.at, record.n, "lost ", 5);
    if (!at)
        return;
    struct text number = {at + 5, (size_t)(record.at + record.n - at) - 5};
    if (text_u64(text_cut(&number, ' '), 10, &n) && !__builtin_add_overflow(s->lost, n, &n))
        s->lost = n;
}

/* Up to 18 digits, which fit; longer ones are looked at closely. */
static bool parse_period(struct text digits, int64_t *ret)
{
    uint64_t v = 0;
    if (digits.n > 18)
        return text_u64(digits, 10, (uint64_t *)ret) && *ret >= 0;
    for (size_t i = 0; i < digits.n; i++)
        v = v * 10 + (uint64_t)(digits.at[i] - '0');
    *ret = (int64_t)v;
    return true;
}

/* Take event and period; whatever is wrong with them makes the sample one to leave out. */
static int perfscript_read_event(struct perfscript *s, const struct perfscript_header *h,
                                 struct err *err)
{
    int64_t period = 0;
    s->event = NULL;
    if (!parse_period(h->period, &period))
        return import_skip_line(s->im, err, "the period does not fit 64 bits");
    struct event *e = find_event(s, h->event);
    if (!e)
        return import_skip_line(s->im, err, "more than %d events in one file", PROFILE_MAX_STREAMS);
    if (h->period.n && stream_of(s, e)->n_types == COLUMN_WEIGHT)
        make_weight(s, e);
    s->event = e;
    s->period = period ? period : 1;
    return 0;
}

/* Start a sample of a thread. Its event and what follows are still to be read. */
static void start_sample(struct perfscript *s, const struct known_thread *thread,
                         const struct perfscript_header *h, bool padded)
{
    s->in_sample = true;
    s->padded = padded;
    s->known.chain.n = 0;
    s->bare.n = 0;
    s->thread = thread;
    s->row = (struct row){.thread = thread->thread};
    if (h->time.n && !s->im->opts.merge)
        s->row.has_time = perfscript_header_time(h->time, &s->row.time_ns);
}

/* The whole of a header that is like the one before it, in another thread or at another time. */
static bool read_usual_header(struct perfscript *s, struct text line)
{
    struct perfscript_header h;
    int64_t period;
    if (!s->event || !s->event->name.n || !perfscript_header_guess(line, s->event->name, &h))
        return false;
    const struct known_thread *thread = known_thread_find(&s->known, h.thread);
    if (!thread || !parse_period(h.period, &period) ||
        (h.period.n && stream_of(s, s->event)->n_types == COLUMN_WEIGHT))
        return false;
    start_sample(s, thread, &h, false);
    s->period = period ? period : 1;
    return true;
}

static int perfscript_read_header(struct perfscript *s, struct perfscript_header *h, bool padded,
                                  struct err *err)
{
    perfscript_header_tail(h);
    if (h->record.n) {
        read_record(s, h->record);
        return 0;
    }
    start_sample(s, known_thread_of(&s->known, h), h, padded);
    if (perfscript_read_event(s, h, err) != 0)
        return -1;
    struct perfscript_frame frame;
    if (!s->event || s->event->is_tracepoint || !perfscript_frame_split(h->rest, &frame))
        return 0;
    return push_frame(s, &frame, err) != 0 ? -1 : finish_sample(s, err);
}

/* Whether LINE starts a sample: source code that ends in a number looks like a bare comm and tid.
 */
static bool is_header(struct perfscript *s, struct text line, struct perfscript_header *h)
{
    if (!perfscript_header_parse(line, h) || (s->in_sample && s->full_headers && h->tail.n == 0))
        return false;
    s->full_headers |= h->tail.n > 0;
    return true;
}

static int perfscript_read_line(struct perfscript *s, struct text line, struct err *err)
{
    struct perfscript_header h;
    bool indented = line.at[0] == ' ' || line.at[0] == '\t';
    int rc;
    if (s->in_sample && indented && !s->padded && read_chain_line(s, line, err, &rc))
        return rc;
    if (!s->in_sample && !indented && read_usual_header(s, line))
        return 0;
    if (line.at[0] == '#') {
        comment(s, line);
        return 0;
    }
    if (perfscript_header_is_extra(line)) {
        read_record(s, line);
        return 0;
    }
    if (is_header(s, line, &h)) {
        if (s->in_sample && finish_sample(s, err) != 0)
            return -1;
        return perfscript_read_header(s, &h, indented, err);
    }
    if (s->in_sample && (!indented || s->padded) && read_chain_line(s, line, err, &rc))
        return rc;
    return import_skip_line(s->im, err, "not a line of perf script: '%.*s'",
                            line.n < 60 ? (int)line.n : 60, line.at);
}

static int read_empty_line(struct perfscript *s, struct err *err)
{
    s->saw_empty_line = true;
    return s->in_sample ? finish_sample(s, err) : 0;
}

static int tell_cut(struct perfscript *s, struct err *err)
{
    meta_set_str(&s->im->profile->meta, META_CUT, "the last sample has no end");
    return import_skip_line(s->im, err,
                            "the input ends inside a sample, which may lack frames and is left "
                            "out (its last line is cut)");
}

/*
 * A call chain ends with an empty line, which many tools and editors drop from the end of a file.
 * The last sample counts if its last line is whole. An indented header has no chain to wait for.
 */
static int read_end(struct perfscript *s, struct err *err)
{
    if (!s->in_sample)
        return 0;
    if (s->known.chain.n || s->padded ? !s->half_line : !s->saw_empty_line)
        return finish_sample(s, err);
    return tell_cut(s, err);
}

/* Whether the last line of the input, which has no newline, may go on. */
static bool may_go_on(struct text line)
{
    struct perfscript_frame frame;
    int open = 0;
    for (size_t i = 0; i < line.n; i++)
        open += (line.at[i] == '(') - (line.at[i] == ')');
    return open != 0 || !text_ends(line, ")") || !perfscript_frame_split(line, &frame);
}

/* An empty line without looking for its end. */
static bool take_newline(struct reader *in)
{
    if (in->start == in->end || in->buf[in->start] != '\n')
        return false;
    in->start++;
    in->lines++;
    return true;
}

static int perfscript_read_lines(struct perfscript *s, struct err *err)
{
    struct reader *in = s->im->in;
    struct text line;
    int rc = 0;
    while (rc == 0) {
        if (s->in_sample && s->event && !s->padded)
            known_read_chain(&s->known, in, s->thread->java);
        if (take_newline(in)) {
            rc = read_empty_line(s, err);
            continue;
        }
        if (!reader_line(in, &line))
            break;
        while (line.n && (line.at[line.n - 1] == ' ' || line.at[line.n - 1] == '\r'))
            line.n--;
        s->half_line = in->buf[in->start - 1] != '\n' && may_go_on(line);
        if (s->half_line && s->saw_empty_line && !s->in_sample)
            rc = tell_cut(s, err); /* half a header would be half an event's name */
        else
            rc = line.n ? perfscript_read_line(s, line, err) : read_empty_line(s, err);
    }
    return rc;
}

/* The stream of an event by its name, or NULL where none of it was sampled. */
static struct stream *find_stream(const struct perfscript *s, struct str_id name, int *ret)
{
    struct text t = profile_str(s->im->profile, name);
    for (int i = 0; i < s->n_events; i++)
        if (s->events[i].name.at == t.at) {
            *ret = s->events[i].stream;
            return stream_of(s, &s->events[i]);
        }
    return NULL;
}

/* The recording's first event is shown first, whichever came first in time; rates as announced. */
static void finish_streams(struct perfscript *s)
{
    struct profile *p = s->im->profile;
    int first = -1, stream;
    for (size_t i = 0; i < s->announced.n; i++) {
        struct stream *of = find_stream(s, s->announced.at[i].name, &stream);
        if (of && of->rate_hz == 0)
            of->rate_hz = s->announced.at[i].rate_hz;
        if (of && first < 0)
            first = stream;
    }
    if (p->streams.n == 0)
        return;
    first = first < 0 ? 0 : first;
    struct stream *shown = profile_stream(p, first);
    p->default_value = (struct value_ref){first, shown->n_types - 1};
    shown->lost = s->lost;
    shown->lost_known = s->lost > 0;
}

static int perfscript_read(struct import *im, struct err *err)
{
    struct perfscript s = {.im = im};
    known_init(&s.known, im);
    int rc = perfscript_read_lines(&s, err);
    if (rc == 0)
        rc = read_end(&s, err);
    finish_streams(&s);
    vec_done(&s.announced);
    known_done(&s.known);
    buf_done(&s.bare);
    return rc;
}

/* --- recognising --- */

/* What a line says: 0 nothing, else how sure we are if the line before it was a header. */
static int probe_line(struct text line, bool *after_header)
{
    struct perfscript_header h;
    struct perfscript_frame f;
    if (*after_header && perfscript_frame_split(line, &f))
        return 90;
    *after_header = perfscript_header_parse(line, &h);
    if (!*after_header)
        return 0;
    perfscript_header_tail(&h);
    if (h.time.n && perfscript_frame_split(h.rest, &f))
        return 85;
    return h.time.n && (h.event.n || h.record.n) ? 60 : 0;
}

static int perfscript_probe(struct text head, bool whole)
{
    bool after_header = false;
    int best = 0;
    for (int lines = 0; head.n && lines < 1000; lines++) {
        bool complete = whole || memchr(head.at, '\n', head.n);
        struct text line = text_cut(&head, '\n');
        if (!complete || memchr(line.at, '\0', line.n))
            return best;
        if (text_starts(line, "# captured on"))
            best = 70;
        if (line.n && line.at[line.n - 1] == '\r')
            line.n--;
        if (line.n == 0 || line.at[0] == '#')
            continue;
        int score = probe_line(line, &after_header);
        best = score > best ? score : best;
        if (best >= 85)
            break;
    }
    return best;
}

const struct source source_perfscript = {
    .name = "perfscript",
    .title = "perf script text",
    .probe = perfscript_probe,
    .read = perfscript_read,
    .no_mappings = true,
};
