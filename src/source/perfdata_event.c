#include "source/perfdata_event.h"

#include <stddef.h>

/* Bits of sample_type and branch_sample_type that kernel headers may not know yet. */
#define BRANCH_COUNTERS ((uint64_t)1 << 19)

void perfdata_events_done(struct perfdata_events *es)
{
    for (size_t i = 0; i < es->list.n; i++) {
        free(es->list.at[i].name);
        free(es->list.at[i].unit);
    }
    vec_done(&es->list);
    vec_done(&es->ids);
    idmap_done(&es->by_id);
}

bool perfdata_events_add(struct perfdata_events *es, struct text attr)
{
    if (attr.n < PERF_ATTR_SIZE_VER0 || es->list.n >= PERFDATA_EVENTS_MAX)
        return false;
    struct perfdata_event e = {.stream = -1};
    memcpy(&e.attr, attr.at, attr.n < sizeof e.attr ? attr.n : sizeof e.attr);
    *vec_push(&es->list) = e;
    return true;
}

static uint32_t find_id(const struct perfdata_events *es, uint64_t id)
{
    for_each_match (&es->by_id, hash_u64(id), i) {
        if (es->ids.at[i].id == id)
            return i;
    }
    return IDMAP_NONE;
}

void perfdata_events_add_id(struct perfdata_events *es, uint64_t id, size_t index)
{
    if (find_id(es, id) != IDMAP_NONE)
        return;
    idmap_add(&es->by_id, hash_u64(id), (uint32_t)es->ids.n);
    *vec_push(&es->ids) = (struct perfdata_id){id, (uint32_t)index};
}

struct perfdata_event *perfdata_events_find(const struct perfdata_events *es, uint64_t id)
{
    uint32_t i = find_id(es, id);
    return i == IDMAP_NONE ? NULL : &es->list.at[es->ids.at[i].event];
}

/* --- names and kinds --- */

static const char *const hardware_names[] = {"cycles",
                                             "instructions",
                                             "cache-references",
                                             "cache-misses",
                                             "branches",
                                             "branch-misses",
                                             "bus-cycles",
                                             "stalled-cycles-frontend",
                                             "stalled-cycles-backend",
                                             "ref-cycles"};
static const char *const software_names[] = {
    "cpu-clock",        "task-clock",   "page-faults",  "context-switches",
    "cpu-migrations",   "minor-faults", "major-faults", "alignment-faults",
    "emulation-faults", "dummy",        "bpf-output",   "cgroup-switches"};

#define LENGTH(a) (sizeof(a) / sizeof *(a))

void perfdata_event_set_name(struct perfdata_event *e, struct text name)
{
    name.n = strnlen(name.at, name.n);
    if (!name.n)
        return;
    free(e->name);
    e->name = mem_strndup(name.at, name.n);
}

/* Which CPUs' own units an event counts on is in the upper half since Linux 5.13. */
static uint32_t config_of(const struct perfdata_event *e)
{
    return (uint32_t)e->attr.config;
}

static uint32_t counting_unit_of(const struct perfdata_event *e)
{
    bool general = e->attr.type == PERF_TYPE_HARDWARE || e->attr.type == PERF_TYPE_HW_CACHE;
    return general ? (uint32_t)(e->attr.config >> 32) : 0;
}

void perfdata_event_set_unit(struct perfdata_event *e, uint32_t number, struct text name)
{
    if (!name.n || !number || counting_unit_of(e) != number)
        return;
    free(e->unit);
    e->unit = mem_strndup(name.at, name.n);
}

struct text perfdata_event_core(const struct perfdata_event *e)
{
    char all_cores[EVENT_NAME_MAX];
    if (e->name && event_of_all_cores(text_of(e->name), all_cores))
        return event_core(text_of(e->name));
    return e->unit ? text_of(e->unit) : text_of(counting_unit_of(e) ? "unknown" : "");
}

static char *made_name(const struct perfdata_event *e)
{
    unsigned long long config = e->attr.config;
    if (e->attr.type == PERF_TYPE_HARDWARE && config_of(e) < LENGTH(hardware_names))
        return mem_strdup(hardware_names[config_of(e)]);
    if (e->attr.type == PERF_TYPE_SOFTWARE && config < LENGTH(software_names))
        return mem_strdup(software_names[config]);
    if (e->attr.type == PERF_TYPE_TRACEPOINT)
        return mem_printf("tracepoint:%llu", config);
    if (e->attr.type == PERF_TYPE_RAW)
        return mem_printf("raw 0x%llx", config);
    if (e->attr.type == PERF_TYPE_BREAKPOINT)
        return mem_printf("mem:0x%llx", (unsigned long long)e->attr.bp_addr);
    return mem_printf("event %u/0x%llx", e->attr.type, config);
}

char *perfdata_event_name(const struct perfdata_event *e)
{
    if (e->name)
        return mem_strdup(e->name);
    autofree char *name = made_name(e);
    const char *who = e->attr.exclude_kernel ? ":u" : e->attr.exclude_user ? ":k" : "";
    return mem_printf("%s%s", name, who);
}

static bool is_clock(const struct perfdata_event *e)
{
    return e->attr.type == PERF_TYPE_SOFTWARE && e->attr.config <= PERF_COUNT_SW_TASK_CLOCK;
}

enum dimension perfdata_event_dimension(const struct perfdata_event *e)
{
    return is_clock(e) ? DIM_TIME : DIM_COUNT;
}

enum obtained perfdata_event_obtained(const struct perfdata_event *e)
{
    switch (e->attr.type) {
    case PERF_TYPE_HARDWARE:
    case PERF_TYPE_HW_CACHE:
    case PERF_TYPE_RAW:
        return BY_HARDWARE;
    case PERF_TYPE_SOFTWARE:
        return is_clock(e) ? BY_SOFTWARE_CLOCK : BY_SOFTWARE_EVENT;
    case PERF_TYPE_TRACEPOINT:
        return BY_TRACE;
    }
    return e->name ? event_obtained(text_of(e->name)) : OBTAINED_UNKNOWN;
}

/* --- which event, and when --- */

static size_t count_bits(uint64_t type, uint64_t bits)
{
    return (size_t)__builtin_popcountll(type & bits);
}

#define TRAILER_BITS                                                               \
    (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | \
     PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER)

/* Byte in a sample where its id is, or SIZE_MAX. */
static size_t id_in_sample(uint64_t type)
{
    if (type & PERF_SAMPLE_IDENTIFIER)
        return 0;
    if (type & PERF_SAMPLE_ID)
        return 8 * count_bits(type, PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                                        PERF_SAMPLE_ADDR);
    return SIZE_MAX;
}

/* Bytes from the end of another record to its id, or SIZE_MAX. */
static size_t id_from_end(uint64_t type)
{
    if (type & PERF_SAMPLE_IDENTIFIER)
        return 8;
    if (type & PERF_SAMPLE_ID)
        return 8 + 8 * count_bits(type, PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU);
    return SIZE_MAX;
}

struct perfdata_event *perfdata_record_event(const struct perfdata_events *es,
                                             const struct perfdata_record *r)
{
    if (es->list.n < 2)
        return es->list.n ? es->list.at : NULL;
    uint64_t type = es->list.at[0].attr.sample_type;
    bool sample = r->type == PERF_RECORD_SAMPLE;
    size_t place = sample ? id_in_sample(type) : id_from_end(type);
    if (place == SIZE_MAX)
        return es->list.at;
    if (sample ? r->body.n < 8 || place > r->body.n - 8 : place > r->body.n)
        return NULL;
    const char *at = sample ? r->body.at + place : r->body.at + r->body.n - place;
    return perfdata_events_find(es, perfdata_word(at));
}

static uint64_t sample_time(uint64_t type, struct text body)
{
    size_t at = 8 * count_bits(type, PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID);
    return type & PERF_SAMPLE_TIME && at + 8 <= body.n ? perfdata_word(body.at + at) : 0;
}

uint64_t perfdata_record_time(const struct perfdata_events *es, struct perfdata_record *r)
{
    const struct perfdata_event *e = perfdata_record_event(es, r);
    if (!e && es->list.n)
        e = es->list.at; /* perf itself makes records up, without an id */
    if (!e)
        return 0;
    uint64_t type = e->attr.sample_type;
    if (r->type == PERF_RECORD_SAMPLE)
        return sample_time(type, r->body);
    size_t n = 8 * count_bits(type, TRAILER_BITS);
    if (!e->attr.sample_id_all || n > r->body.n)
        return 0;
    r->body.n -= n;
    size_t at = type & PERF_SAMPLE_TID ? 8 : 0;
    return type & PERF_SAMPLE_TIME ? perfdata_word(r->body.at + r->body.n + at) : 0;
}

/* --- samples --- */

/* COUNT things of BYTES each; a count beyond the record makes it bad. */
static struct text take_array(struct cursor *c, uint64_t count, size_t bytes)
{
    return cursor_bytes(c, count > cursor_left(c) / bytes ? UINT64_MAX : count * bytes);
}

static void skip_words(struct cursor *c, size_t n)
{
    cursor_bytes(c, 8 * n);
}

/*
 * Values of counters: value | times | id | lost, or of a group: n | times | n * (value | id |
 * lost), each but the first only if asked for.
 */
static void take_read(struct cursor *c, uint64_t format, struct perfdata_sample *ret)
{
    const uint64_t both = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    size_t times = count_bits(format, both);
    size_t each = 1 + count_bits(format, PERF_FORMAT_ID | (1u << 4)); /* bit 4: lost */
    bool group = format & PERF_FORMAT_GROUP;
    uint64_t n = group ? perfdata_take(c) : 1;
    const char *at = NULL; /* of the two times */
    if (group)
        at = cursor_bytes(c, 8 * times).at;
    else
        each += times;
    struct text t = take_array(c, n, 8 * each);
    if (!group && t.n)
        at = t.at + 8;
    if ((format & both) == both && at && !c->bad) {
        ret->enabled_ns = perfdata_word(at);
        ret->running_ns = perfdata_word(at + 8);
    }
    ret->read = t.at;
    ret->read_bytes = 8 * each;
    ret->n_read = t.n / ret->read_bytes;
    ret->id_at = format & PERF_FORMAT_ID ? 8 + (group ? 0 : 8 * times) : 0;
}

/* Branches are of use only where the CPU kept them as a call stack. */
static void take_branches(struct cursor *c, uint64_t format, struct perfdata_sample *ret)
{
    uint64_t n = perfdata_take(c);
    skip_words(c, format & PERF_SAMPLE_BRANCH_HW_INDEX ? 1 : 0);
    struct text t = take_array(c, n, 24);
    if (format & PERF_SAMPLE_BRANCH_CALL_STACK) {
        ret->calls = t.at;
        ret->n_calls = t.n / 24;
    }
    if (format & BRANCH_COUNTERS)
        take_array(c, n, 8);
}

static void take_chain(struct cursor *c, struct perfdata_sample *ret)
{
    uint64_t n = perfdata_take(c);
    struct text t = take_array(c, n, 8);
    ret->chain = t.at;
    ret->n_chain = t.n / 8;
}

static void take_regs(struct cursor *c, uint64_t mask, struct perfdata_sample *ret)
{
    ret->regs_abi = perfdata_take(c);
    if (ret->regs_abi != PERF_SAMPLE_REGS_ABI_NONE)
        ret->regs = cursor_bytes(c, 8 * count_bits(mask, UINT64_MAX)).at;
}

/* size | size bytes | of which were copied: the last word is missing when size is 0 */
static void take_stack(struct cursor *c, const char *start, struct perfdata_sample *ret)
{
    uint64_t size = perfdata_take(c);
    struct text t = cursor_bytes(c, size);
    if (!size || c->bad)
        return;
    uint64_t copied = perfdata_take(c);
    ret->stack_at = (size_t)(t.at - start);
    ret->stack_room = t.n;
    ret->stack = (struct text){t.at, copied < t.n ? (size_t)copied : t.n};
}

/* Field by field: clearing it as a whole becomes an instruction that is slow to start. */
static void perfdata_event_clear(struct perfdata_sample *s)
{
    s->ip = s->time = s->period = s->regs_abi = s->enabled_ns = s->running_ns = 0;
    s->pid = s->tid = 0;
    s->chain = s->calls = s->regs = NULL;
    s->n_chain = s->n_calls = s->stack_at = s->stack_room = s->n_read = s->id_at = 0;
    s->stack = (struct text){NULL, 0};
}

/* The words of fixed place. */
static void take_head(struct cursor *c, uint64_t type, struct perfdata_sample *ret)
{
    skip_words(c, type & PERF_SAMPLE_IDENTIFIER ? 1 : 0);
    if (type & PERF_SAMPLE_IP)
        ret->ip = perfdata_take(c);
    if (type & PERF_SAMPLE_TID) {
        ret->pid = perfdata_take_half(c);
        ret->tid = perfdata_take_half(c);
    }
    if (type & PERF_SAMPLE_TIME)
        ret->time = perfdata_take(c);
    skip_words(c, count_bits(type, PERF_SAMPLE_ADDR | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |
                                       PERF_SAMPLE_CPU));
    if (type & PERF_SAMPLE_PERIOD)
        ret->period = perfdata_take(c);
}

const char *perfdata_sample_parse(const struct perfdata_event *e, struct text body,
                                  struct perfdata_sample *ret)
{
    const struct perf_event_attr *a = &e->attr;
    uint64_t type = a->sample_type;
    struct cursor c = cursor_of(body.at, body.n);
    perfdata_event_clear(ret);
    ret->period = a->freq || !a->sample_period ? 1 : a->sample_period;
    take_head(&c, type, ret);
    if (type & PERF_SAMPLE_READ)
        take_read(&c, a->read_format, ret);
    if (type & PERF_SAMPLE_CALLCHAIN)
        take_chain(&c, ret);
    if (type & PERF_SAMPLE_RAW)
        cursor_bytes(&c, perfdata_take_half(&c));
    if (type & PERF_SAMPLE_BRANCH_STACK)
        take_branches(&c, a->branch_sample_type, ret);
    if (type & PERF_SAMPLE_REGS_USER)
        take_regs(&c, a->sample_regs_user, ret);
    if (type & PERF_SAMPLE_STACK_USER)
        take_stack(&c, body.at, ret);
    return c.bad ? "a sample is shorter than its parts" : NULL;
}
