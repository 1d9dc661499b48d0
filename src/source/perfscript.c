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
 * frame_of() and thread_of(). Memory is for distinct things only.
 */
#include "source/import.h"
#include "source/perfscript_frame.h"
#include "source/perfscript_header.h"
#include "source/sources.h"

#include <xxhash.h>

enum { MAX_DEPTH = 100000 };

struct event {
    struct text name;    /* in the profile's strings */
    int samples, weight; /* sample types; weight is -1 until a period is seen */
    bool is_tracepoint;
};

/* A symbol in a module, as it stands in the text. */
struct known_frame {
    struct text symbol, module;
    bool java; /* in a thread of Java: names are tidied differently */
    struct frame_id frame;
};

struct known_thread {
    struct text text; /* comm and ids as they stand in the text */
    struct thread_id thread;
    bool java;
};

struct perfscript {
    struct import *im;
    struct event events[PROFILE_MAX_TYPES];
    int n_events;

    struct arena texts; /* what the known things are known by */
    VEC(struct known_frame) known_frames;
    VEC(struct known_thread) known_threads;
    struct idmap frame_map, thread_map;
    struct buf name; /* scratch */

    /* the sample that is being read */
    bool in_sample;
    bool padded;         /* its header was indented: no call chains here, a sample a line */
    struct event *event; /* NULL: leave it out */
    const struct known_thread *thread;
    struct sample sample;
    int64_t period;
    VEC(struct frame_id) frames; /* innermost first */

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
        s->name.n = 0;
        buf_str(&s->name, known[i].prefix);
        buf_add(&s->name, value.at, value.n);
        meta_set(&s->im->profile->meta, known[i].meta, buf_text(&s->name));
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

/* --- threads --- */

static int32_t id_of(struct text digits)
{
    uint64_t v;
    return text_u64(digits, 10, &v) && v <= INT32_MAX ? (int32_t)v : THREAD_NO_ID;
}

static const struct known_thread *make_thread(struct perfscript *s,
                                              const struct perfscript_header *h, uint32_t hash)
{
    struct profile *p = s->im->profile;
    struct thread t = {
        .name = profile_add_str(p, h->comm), .pid = id_of(h->pid), .tid = id_of(h->tid)};
    idmap_add(&s->thread_map, hash, (uint32_t)s->known_threads.n);
    struct known_thread *known = vec_push(&s->known_threads);
    *known = (struct known_thread){
        .text = arena_text(&s->texts, h->thread),
        .thread = profile_add_thread(p, &t),
        .java = text_starts(h->comm, "java"),
    };
    return known;
}

static const struct known_thread *thread_of(struct perfscript *s, const struct perfscript_header *h)
{
    uint32_t hash = (uint32_t)XXH3_64bits(h->thread.at, h->thread.n);
    for_each_match (&s->thread_map, hash, i) {
        const struct known_thread *known = &s->known_threads.at[i];
        if (known->text.n == h->thread.n && memcmp(known->text.at, h->thread.at, h->thread.n) == 0)
            return known;
    }
    return make_thread(s, h, hash);
}

/* --- frames --- */

static struct line line_of(struct perfscript *s, struct text function, bool java)
{
    struct profile *p = s->im->profile;
    struct text name = perfscript_frame_tidy(&s->name, function, java);
    struct function f = {.name = profile_add_str(p, name)};
    return (struct line){.function = profile_add_function(p, &f)};
}

static struct mapping_id mapping_of(struct perfscript *s, struct text module)
{
    struct profile *p = s->im->profile;
    if (text_is(module, "[unknown]") || text_is(module, "inlined"))
        return (struct mapping_id){0};
    struct mapping m = {.path = profile_add_str(p, module)};
    return profile_add_mapping(p, &m);
}

static struct frame_id make_frame(struct perfscript *s, const struct perfscript_frame *f, bool java)
{
    struct text symbol = f->symbol, function;
    VEC(struct line) lines = {0};
    if (!text_is(symbol, "[unknown]"))
        while (lines.n < PROFILE_MAX_FRAME_LINES && perfscript_frame_next(&symbol, &function))
            *vec_push(&lines) = line_of(s, function, java);
    struct frame_key key = {.mapping = mapping_of(s, f->module),
                            .kind = perfscript_frame_kind(f->module),
                            .lines = lines.at,
                            .n_lines = lines.n};
    if (s->im->opts.addresses)
        text_u64(f->pc, 16, &key.pc);
    struct frame_id id = profile_add_frame(s->im->profile, &key);
    vec_done(&lines);
    return id;
}

static bool same_text(struct text a, struct text b)
{
    return a.n == b.n && memcmp(a.at, b.at, a.n) == 0;
}

/* The frame of a symbol in a module, wherever its pc is. */
static struct frame_id frame_of(struct perfscript *s, const struct perfscript_frame *f)
{
    bool java = s->thread->java;
    uint32_t hash = hash_pair((uint32_t)XXH3_64bits(f->symbol.at, f->symbol.n),
                              (uint32_t)XXH3_64bits(f->module.at, f->module.n) + java);
    for_each_match (&s->frame_map, hash, i) {
        const struct known_frame *k = &s->known_frames.at[i];
        if (same_text(k->symbol, f->symbol) && same_text(k->module, f->module) && k->java == java)
            return k->frame;
    }
    struct frame_id frame = make_frame(s, f, java);
    idmap_add(&s->frame_map, hash, (uint32_t)s->known_frames.n);
    *vec_push(&s->known_frames) = (struct known_frame){.symbol = arena_text(&s->texts, f->symbol),
                                                       .module = arena_text(&s->texts, f->module),
                                                       .java = java,
                                                       .frame = frame};
    return frame;
}

/* --- samples --- */

static int finish_sample(struct perfscript *s, struct err *err)
{
    struct profile *p = s->im->profile;
    struct event *e = s->event;
    s->in_sample = false;
    if (!e)
        return 0;
    struct err inner;
    s->values[e->samples] = 1;
    if (e->weight >= 0)
        s->values[e->weight] = s->period;
    s->sample.stack = stacks_intern_leaf_first(&p->stacks, s->frames.at, s->frames.n);
    s->sample.values = s->values;
    int rc = profile_add_sample(p, &s->sample, &inner);
    s->values[e->samples] = 0;
    if (e->weight >= 0)
        s->values[e->weight] = 0;
    return rc == 0 ? 0
                   : err_set(err, inner.code, "line %llu: %s", (unsigned long long)s->im->in->lines,
                             inner.text);
}

static int push_frame(struct perfscript *s, const struct perfscript_frame *f, struct err *err)
{
    if (!s->event || perfscript_frame_is_comm(f))
        return 0;
    if (s->frames.n == MAX_DEPTH) {
        s->event = NULL;
        return import_skip_line(s->im, err, "a stack of more than %d frames", MAX_DEPTH);
    }
    struct frame_id id = s->im->opts.addresses ? make_frame(s, f, s->thread->java) : frame_of(s, f);
    *vec_push(&s->frames) = id;
    return 0;
}

/* Put the place in the source into the frame above it. */
static void set_srcline(struct perfscript *s, struct text file, uint32_t number)
{
    struct profile *p = s->im->profile;
    struct frame_id *last = &s->frames.at[s->frames.n - 1];
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
    else if (s->event && !s->frames.n)
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

/* Take event and period; whatever is wrong with them makes the sample one to leave out. */
static int read_event(struct perfscript *s, const struct perfscript_header *h, struct err *err)
{
    uint64_t period = 0;
    s->event = NULL;
    if (h->period.n && (!text_u64(h->period, 10, &period) || period > INT64_MAX))
        return import_skip_line(s->im, err, "the period does not fit 64 bits");
    struct event *e = find_event(s, h->event);
    if (!e || (h->period.n && e->weight < 0 && !make_weight(s, e)))
        return import_skip_line(s->im, err, "more than %d events in one file",
                                PROFILE_MAX_TYPES / 2);
    s->event = e;
    s->period = period ? (int64_t)period : 1;
    return 0;
}

static int start_sample(struct perfscript *s, struct perfscript_header *h, bool padded,
                        struct err *err)
{
    if (s->in_sample && finish_sample(s, err) != 0)
        return -1;
    perfscript_header_tail(h);
    if (h->record.n) {
        read_record(s, h->record);
        return 0;
    }
    s->in_sample = true;
    s->padded = padded;
    s->frames.n = 0;
    s->thread = thread_of(s, h);
    s->sample = (struct sample){.thread = s->thread->thread};
    if (h->time.n && !s->im->opts.merge)
        s->sample.has_time = perfscript_header_time(h->time, &s->sample.time_ns);
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
    if (line.at[0] == '#') {
        comment(s, line);
        return 0;
    }
    if (perfscript_header_parse(line, &h))
        return start_sample(s, &h, indented, err);
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

/* A call chain ends with an empty line; without it frames may be missing, and the root first. */
static int read_end(struct perfscript *s, struct err *err)
{
    if (!s->in_sample)
        return 0;
    if (!s->frames.n && !s->saw_empty_line)
        return finish_sample(s, err);
    meta_set_str(&s->im->profile->meta, META_CUT, "the last sample has no end");
    return import_skip_line(s->im, err,
                            "the input ends inside a sample, which may lack frames and is left "
                            "out (an empty line must follow the last frame)");
}

static int read_lines(struct perfscript *s, struct err *err)
{
    struct text line;
    int rc = 0;
    while (rc == 0 && reader_line(s->im->in, &line)) {
        while (line.n && (line.at[line.n - 1] == ' ' || line.at[line.n - 1] == '\r'))
            line.n--;
        rc = line.n ? read_line(s, line, err) : read_empty_line(s, err);
    }
    return rc;
}

static int perfscript_read(struct import *im, struct err *err)
{
    struct perfscript s = {.im = im};
    int rc = read_lines(&s, err);
    if (rc == 0)
        rc = read_end(&s, err);
    if (s.lost)
        meta_set_u64(&im->profile->meta, META_LOST, s.lost);
    arena_done(&s.texts);
    vec_done(&s.known_frames);
    vec_done(&s.known_threads);
    idmap_done(&s.frame_map);
    idmap_done(&s.thread_map);
    vec_done(&s.frames);
    buf_done(&s.name);
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
