#include "wire/otlp.h"

#include "base/json.h"
#include "base/protoput.h"
#include "base/utf8.h"
#include "wire/scopes.h"

#include <inttypes.h>

/* --- ids --- */

static uint64_t otlp_mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

uint64_t otlp_id(uint64_t of, uint64_t number, uint64_t salt)
{
    return otlp_mix(of ^ otlp_mix(number ^ salt << 56)) | 1;
}

/* Sixteen digits of T from AT on. */
static bool otlp_hex(struct text t, size_t at, uint64_t *ret)
{
    return t.n >= at + 16 && text_u64((struct text){t.at + at, 16}, 16, ret);
}

void otlp_context_of(const struct profile *p, struct attrs_id set, struct otlp_context *ret)
{
    *ret = (struct otlp_context){0};
    for (; set.i; set = p->attrs.nodes.at[set.i].parent) {
        const struct attr *a = &p->attrs.nodes.at[set.i].attr;
        struct text key = profile_str(p, a->key), value = profile_str(p, a->text);
        if (a->is_number)
            continue;
        if (!ret->has_trace && text_is(key, SCOPES_TRACE_ID))
            ret->has_trace = value.n == 32 && otlp_hex(value, 0, &ret->trace_high) &&
                             otlp_hex(value, 16, &ret->trace_low);
        else if (!ret->has_span && text_is(key, SCOPES_SPAN_ID))
            ret->has_span = value.n == 16 && otlp_hex(value, 0, &ret->span);
        else if (!ret->parent && text_is(key, SCOPES_PARENT_ID) && value.n == 16)
            otlp_hex(value, 0, &ret->parent);
    }
}

static bool is_context(struct text key)
{
    return text_is(key, SCOPES_TRACE_ID) || text_is(key, SCOPES_SPAN_ID) ||
           text_is(key, SCOPES_PARENT_ID);
}

/* --- processes --- */

/* "app" of "/usr/bin/app", else the name of its first thread. */
static struct text service_name(const struct profile *p, uint32_t process)
{
    struct text exe = profile_str(p, p->processes.at[process].executable);
    for (size_t i = exe.n; i-- > 0;)
        if (exe.at[i] == '/')
            return (struct text){exe.at + i + 1, exe.n - i - 1};
    for (uint32_t i = 1; !exe.n && i < p->threads.n; i++)
        if (p->threads.at[i].process.i == process)
            return profile_str(p, p->threads.at[i].name);
    return exe;
}

static uint32_t otlp_process(const struct otlp_batch *b, size_t i)
{
    return b->profile->threads.at[b->spans[i].thread.i].process.i;
}

/* The first span behind those of the same process as span I. */
static size_t otlp_process_end(const struct otlp_batch *b, size_t i)
{
    size_t end = i + 1;
    while (end < b->n && otlp_process(b, end) == otlp_process(b, i))
        end++;
    return end;
}

/* --- JSON --- */

static void json_put_u64(struct json *j, const char *key, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    json_put_str(j, key, text);
}

static void json_put_id(struct json *j, const char *key, uint64_t id)
{
    char text[24];
    snprintf(text, sizeof text, "%016" PRIx64, id);
    json_put_str(j, key, text);
}

static void json_put_attr(struct json *j, struct text key, const struct text *text, int64_t number)
{
    char digits[24];
    json_open(j, '{');
    json_key(j, "key");
    json_text(j, key);
    json_key(j, "value");
    json_open(j, '{');
    json_key(j, text ? "stringValue" : "intValue");
    snprintf(digits, sizeof digits, "%" PRId64, number);
    json_text(j, text ? *text : text_of(digits));
    json_close(j, '}');
    json_close(j, '}');
}

static void json_put_attrs(struct json *j, const struct profile *p, const struct otlp_span *s)
{
    const struct thread *thread = &p->threads.at[s->thread.i];
    struct text name = profile_str(p, thread->name);
    json_key(j, "attributes");
    json_open(j, '[');
    json_put_attr(j, text_of("thread.id"), NULL, thread->tid);
    json_put_attr(j, text_of("thread.name"), &name, 0);
    for (struct attrs_id set = s->attrs; set.i; set = p->attrs.nodes.at[set.i].parent) {
        const struct attr *a = &p->attrs.nodes.at[set.i].attr;
        struct text key = profile_str(p, a->key), text = profile_str(p, a->text);
        if (!is_context(key))
            json_put_attr(j, key, a->is_number ? NULL : &text, a->number);
    }
    json_close(j, ']');
}

static void json_put_span(struct json *j, const struct profile *p, const struct otlp_span *s)
{
    char trace[40];
    json_open(j, '{');
    snprintf(trace, sizeof trace, "%016" PRIx64 "%016" PRIx64, s->trace_high, s->trace_low);
    json_put_str(j, "traceId", trace);
    json_put_id(j, "spanId", s->span);
    if (s->parent)
        json_put_id(j, "parentSpanId", s->parent);
    json_key(j, "name");
    json_text(j, s->name);
    json_put_uint(j, "kind", 1);
    json_put_u64(j, "startTimeUnixNano", s->start_ns);
    json_put_u64(j, "endTimeUnixNano", s->start_ns + s->duration_ns);
    json_put_attrs(j, p, s);
    json_close(j, '}');
}

static void json_put_resource(struct json *j, const struct profile *p, uint32_t process)
{
    struct text name = service_name(p, process);
    json_key(j, "resource");
    json_open(j, '{');
    json_key(j, "attributes");
    json_open(j, '[');
    json_put_attr(j, text_of("service.name"), &name, 0);
    json_put_attr(j, text_of("process.pid"), NULL, p->processes.at[process].pid);
    json_close(j, ']');
    json_close(j, '}');
}

void otlp_print_json(FILE *out, const struct otlp_batch *b)
{
    struct json j = {.out = out};
    json_open(&j, '{');
    json_key(&j, "resourceSpans");
    json_open(&j, '[');
    for (size_t i = 0; i < b->n;) {
        size_t end = otlp_process_end(b, i);
        json_open(&j, '{');
        json_put_resource(&j, b->profile, otlp_process(b, i));
        json_key(&j, "scopeSpans");
        json_open(&j, '[');
        json_open(&j, '{');
        json_key(&j, "scope");
        json_open(&j, '{');
        json_put_str(&j, "name", "kelvin");
        json_close(&j, '}');
        json_key(&j, "spans");
        json_open(&j, '[');
        for (; i < end; i++)
            json_put_span(&j, b->profile, &b->spans[i]);
        json_close(&j, ']');
        json_close(&j, '}');
        json_close(&j, ']');
        json_close(&j, '}');
    }
    json_close(&j, ']');
    json_close(&j, '}');
    putc('\n', out);
}

/* --- protobuf --- */

/* Protobuf's texts are UTF-8, or readers refuse the message. */
static void otlp_put_text(struct buf *b, uint32_t number, struct text t)
{
    autobuf struct buf valid = {0};
    utf8_valid(&valid, t);
    protoput_message(b, number, &valid);
}

/* A KeyValue as field NUMBER. */
static void otlp_put_attr(struct buf *b, uint32_t number, struct text key, const struct text *text,
                          int64_t n)
{
    autobuf struct buf value = {0}, pair = {0};
    if (text)
        otlp_put_text(&value, 1, *text);
    else
        protoput_present(&value, 3, (uint64_t)n);
    otlp_put_text(&pair, 1, key);
    protoput_message(&pair, 2, &value);
    protoput_message(b, number, &pair);
}

/* Ids are bytes, the highest first. */
static void otlp_put_id(struct buf *b, uint32_t number, const uint64_t *words, int n)
{
    protoput_tag(b, number, 2);
    buf_varint(b, (uint64_t)n * 8);
    for (int i = 0; i < n; i++)
        buf_u64(b, __builtin_bswap64(words[i]));
}

static void otlp_put_span(struct buf *to, const struct profile *p, const struct otlp_span *s)
{
    autobuf struct buf b = {0};
    const struct thread *thread = &p->threads.at[s->thread.i];
    struct text name = profile_str(p, thread->name);
    otlp_put_id(&b, 1, (const uint64_t[]){s->trace_high, s->trace_low}, 2);
    otlp_put_id(&b, 2, &s->span, 1);
    if (s->parent)
        otlp_put_id(&b, 4, &s->parent, 1);
    otlp_put_text(&b, 5, s->name);
    protoput_number(&b, 6, 1);
    protoput_fixed64(&b, 7, s->start_ns);
    protoput_fixed64(&b, 8, s->start_ns + s->duration_ns);
    otlp_put_attr(&b, 9, text_of("thread.id"), NULL, thread->tid);
    otlp_put_attr(&b, 9, text_of("thread.name"), &name, 0);
    for (struct attrs_id set = s->attrs; set.i; set = p->attrs.nodes.at[set.i].parent) {
        const struct attr *a = &p->attrs.nodes.at[set.i].attr;
        struct text key = profile_str(p, a->key), text = profile_str(p, a->text);
        if (!is_context(key))
            otlp_put_attr(&b, 9, key, a->is_number ? NULL : &text, a->number);
    }
    protoput_message(to, 2, &b);
}

void otlp_add_protobuf(struct buf *to, const struct otlp_batch *b)
{
    const struct profile *p = b->profile;
    for (size_t i = 0; i < b->n;) {
        autobuf struct buf resource = {0}, scope = {0}, spans = {0}, all = {0};
        size_t end = otlp_process_end(b, i);
        uint32_t process = otlp_process(b, i);
        struct text name = service_name(p, process);
        otlp_put_attr(&resource, 1, text_of("service.name"), &name, 0);
        otlp_put_attr(&resource, 1, text_of("process.pid"), NULL, p->processes.at[process].pid);
        protoput_str(&scope, 1, "kelvin");
        protoput_message(&spans, 1, &scope);
        for (; i < end; i++)
            otlp_put_span(&spans, p, &b->spans[i]);
        protoput_message(&all, 1, &resource);
        protoput_message(&all, 2, &spans);
        protoput_message(to, 1, &all);
    }
}
