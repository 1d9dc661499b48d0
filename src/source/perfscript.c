/*
 * perfscript.c - the text that `perf script` prints.
 *
 *     sh  7034 [001]  1286.185735:     500000 cpu-clock:u:
 *             ffffffff8168ec7a charge_memcg+0x4a ([kernel.kallsyms])
 *                        1e620 dl_main+0x2660 (/usr/lib/ld-linux-x86-64.so.2)
 *                                                              <- an empty line ends the sample
 *
 * Takes what FlameGraph's stackcollapse-perf.pl takes, and names frames as it does. The innermost
 * frame comes first. Every event gives two types: samples, and what its periods add up to.
 *
 * The same lines come again and again, so nearly everything is looked up by its raw text: see
 * perfscript_known.h. Memory is for distinct things only.
 */
#include "source/import.h"
#include "source/perfscript_frame.h"
#include "source/perfscript_header.h"
#include "source/perfscript_known.h"
#include "source/sources.h"

struct event {
    struct text name;    /* in the profile's strings */
    int samples, weight; /* sample types; weight is -1 until a period is seen */
    bool is_tracepoint;
};

struct perfscript {
    struct import *im;
    struct event events[PROFILE_MAX_TYPES];
    int n_events;

    struct known known;

    /* the sample that is being read */
    bool in_sample;
    bool padded;         /* its header was indented: no call chains here, a sample a line */
    struct event *event; /* NULL: leave it out */
    const struct known_thread *thread;
    struct sample sample;
    int64_t period;

    bool saw_empty_line; /* samples end with one; a last one that does not is cut off */
    uint64_t lost;
    int64_t values[PROFILE_MAX_TYPES]; /* all 0 between samples */
};

/* --- comments --- */

/* "# event : name = cycles, ... { sample_period, sample_freq } = 99, ... freq = 1" */
static void event_comment(struct perfscript *s, struct text value)
{
    static const char key[] = "sample_freq } = ";
    const char *at = memmem(value.at, value.n, key, sizeof key - 1);
    if (!at || !memmem(value.at, value.n, ", freq = 1", 10))
        return;
    struct text number = {at + sizeof key - 1, 0};
    const char *end = value.at + value.n;
    while (number.at + number.n < end && number.at[number.n] >= '0' && number.at[number.n] <= '9')
        number.n++;
    if (number.n && !meta_find(&s->im->profile->meta, META_RATE_HZ))
        meta_set(&s->im->profile->meta, META_RATE_HZ, number);
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

/* The event's type for samples. False when there are too many types. */
static bool make_event(struct perfscript *s, struct text name)
{
    struct profile *p = s->im->profile;
    if (s->n_events == PROFILE_MAX_TYPES)
        return false;
    struct event *e = &s->events[s->n_events];
    name = profile_str(p, profile_add_str(p, name));
    *e = (struct event){.name = name, .weight = -1};
    e->samples = profile_add_type(p, name.at, "samples", "count");
    if (e->samples < 0)
        return false;
    e->is_tracepoint = perfscript_event_is_tracepoint(name);
    if (s->n_events++ == 0) {
        const char *kind = e->is_tracepoint ? META_KIND_TRACE : meta_kind_of_event(name);
        p->default_type = e->samples;
        if (kind)
            meta_set_str(&p->meta, META_KIND, kind);
    }
    return true;
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

/* The event's type for periods. Samples that were read before had none: they count as 1 each. */
static bool make_weight(struct perfscript *s, struct event *e)
{
    struct profile *p = s->im->profile;
    struct text bare = perfscript_event_name(e->name);
    struct text name = profile_str(p, profile_add_str(p, bare));
    const char *unit = meta_unit_of_event(bare);
    e->weight = profile_add_type(p, e->name.at, name.n ? name.at : "period", unit);
    if (e->weight < 0)
        return false;
    struct sample_type *t = &p->types[e->weight];
    t->count_type = e->samples;
    t->total = p->types[e->samples].total;
    for (size_t i = 0; i < p->samples.n; i++)
        p->samples.value[e->weight][i] = p->samples.value[e->samples][i];
    if (e == s->events)
        p->default_type = e->weight;
    return true;
}

/* --- samples --- */

/* Count the sample in a row that has its stack and thread. False if a sum would not fit. */
static bool add_to_row(struct perfscript *s, size_t row)
{
    struct profile *p = s->im->profile;
    const struct event *e = s->event;
    int64_t count, weight = 0;
    if (__builtin_add_overflow(p->types[e->samples].total, 1, &count))
        return false;
    if (e->weight >= 0 && __builtin_add_overflow(p->types[e->weight].total, s->period, &weight))
        return false;
    p->types[e->samples].total = count;
    p->samples.value[e->samples][row]++;
    if (e->weight >= 0) {
        p->types[e->weight].total = weight;
        p->samples.value[e->weight][row] += s->period;
    }
    return true;
}

static int add_sample(struct perfscript *s, struct err *err)
{
    struct event *e = s->event;
    struct err inner;
    s->values[e->samples] = 1;
    if (e->weight >= 0)
        s->values[e->weight] = s->period;
    s->sample.values = s->values;
    int rc = profile_add_sample(s->im->profile, &s->sample, &inner);
    s->values[e->samples] = 0;
    if (e->weight >= 0)
        s->values[e->weight] = 0;
    return rc == 0 ? 0
                   : err_set(err, inner.code, "line %llu: %s", (unsigned long long)s->im->in->lines,
                             inner.text);
}

/* Samples are merged, so a chain and thread seen before have their row. */
static int add_merged(struct perfscript *s, struct err *err)
{
    struct profile *p = s->im->profile;
    uint64_t hash;
    struct thread_id thread = s->sample.thread;
    struct recent_chain *c = known_chain(&s->known, thread, &hash);
    if (c->hash == hash && c->id_plus_1 && add_to_row(s, c->id_plus_1 - 1))
        return 0;
    s->sample.stack = stacks_intern_leaf_first(&p->stacks, s->known.chain.at, s->known.chain.n);
    if (add_sample(s, err) != 0)
        return -1;
    uint32_t row = (uint32_t)profile_find_row(p, s->sample.stack, thread);
    *c = (struct recent_chain){hash, row + 1};
    return 0;
}

static int add_single(struct perfscript *s, struct err *err)
{
    uint64_t hash;
    struct recent_chain *c = known_chain(&s->known, (struct thread_id){0}, &hash);
    if (c->hash != hash || !c->id_plus_1) {
        struct stacks *stacks = &s->im->profile->stacks;
        uint32_t stack = stacks_intern_leaf_first(stacks, s->known.chain.at, s->known.chain.n).i;
        *c = (struct recent_chain){hash, stack + 1};
    }
    s->sample.stack.i = c->id_plus_1 - 1;
    return add_sample(s, err);
}

static int finish_sample(struct perfscript *s, struct err *err)
{
    s->in_sample = false;
    if (!s->event)
        return 0;
    return s->im->profile->merge_samples ? add_merged(s, err) : add_single(s, err);
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

/* False when it is no line of a call chain. */
static bool read_chain_line(struct perfscript *s, struct text line, struct err *err, int *ret)
{
    struct perfscript_frame frame;
    struct text file;
    uint32_t number;
    *ret = 0;
    if (perfscript_frame_split(line, &frame))
        *ret = push_frame(s, &frame, err);
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
static int read_event(struct perfscript *s, const struct perfscript_header *h, struct err *err)
{
    int64_t period = 0;
    s->event = NULL;
    if (!parse_period(h->period, &period))
        return import_skip_line(s->im, err, "the period does not fit 64 bits");
    struct event *e = find_event(s, h->event);
    if (!e || (h->period.n && e->weight < 0 && !make_weight(s, e)))
        return import_skip_line(s->im, err, "more than %d events in one file",
                                PROFILE_MAX_TYPES / 2);
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
    s->thread = thread;
    s->sample = (struct sample){.thread = thread->thread};
    if (h->time.n && !s->im->opts.merge)
        s->sample.has_time = perfscript_header_time(h->time, &s->sample.time_ns);
}

/* The whole of a header that is like the one before it, in another thread or at another time. */
static bool read_usual_header(struct perfscript *s, struct text line)
{
    struct perfscript_header h;
    int64_t period;
    if (!s->event || !s->event->name.n || !perfscript_header_guess(line, s->event->name, &h))
        return false;
    const struct known_thread *thread = known_thread_find(&s->known, h.thread);
    if (!thread || !parse_period(h.period, &period) || (h.period.n && s->event->weight < 0))
        return false;
    start_sample(s, thread, &h, false);
    s->period = period ? period : 1;
    return true;
}

static int read_header(struct perfscript *s, struct perfscript_header *h, bool padded,
                       struct err *err)
{
    perfscript_header_tail(h);
    if (h->record.n) {
        read_record(s, h->record);
        return 0;
    }
    start_sample(s, known_thread_of(&s->known, h), h, padded);
    if (read_event(s, h, err) != 0)
        return -1;
    struct perfscript_frame frame;
    if (!s->event || s->event->is_tracepoint || !perfscript_frame_split(h->rest, &frame))
        return 0;
    return push_frame(s, &frame, err) != 0 ? -1 : finish_sample(s, err);
}

static int read_line(struct perfscript *s, struct text line, struct err *err)
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
    if (perfscript_header_parse(line, &h)) {
        if (s->in_sample && finish_sample(s, err) != 0)
            return -1;
        return read_header(s, &h, indented, err);
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
                            "out (an empty line must follow the last frame)");
}

/* A call chain ends with an empty line; without it frames may be missing, and the root first. */
static int read_end(struct perfscript *s, struct err *err)
{
    if (!s->in_sample)
        return 0;
    if (!s->known.chain.n && !s->saw_empty_line)
        return finish_sample(s, err);
    return tell_cut(s, err);
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

static int read_lines(struct perfscript *s, struct err *err)
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
        if (s->saw_empty_line && !s->in_sample && in->buf[in->start - 1] != '\n')
            rc = tell_cut(s, err); /* half a header would be half an event's name */
        else
            rc = line.n ? read_line(s, line, err) : read_empty_line(s, err);
    }
    return rc;
}

static int perfscript_read(struct import *im, struct err *err)
{
    struct perfscript s = {.im = im};
    known_init(&s.known, im);
    int rc = read_lines(&s, err);
    if (rc == 0)
        rc = read_end(&s, err);
    if (s.lost)
        meta_set_u64(&im->profile->meta, META_LOST, s.lost);
    known_done(&s.known);
    return rc;
}

/* --- recognising --- */

/* What a line tells: 0 nothing, else how sure we are if the line before it was a header. */
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
};
