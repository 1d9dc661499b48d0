/* test_otlp.c - spans as bodies of OTLP; rings that another program made. */
#include "wire/otlp.h"

#include "base/mem.h"
#include "base/protofield.h"
#include "record/rings.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

static struct attrs_id text_attr(struct profile *p, struct attrs_id set, const char *key,
                                 const char *value)
{
    struct attr a = {.key = profile_add_str(p, text_of(key)),
                     .text = profile_add_str(p, text_of(value))};
    return attrs_add(&p->attrs, set, &a);
}

static void the_trace_of_another_program_is_understood(void **state)
{
    struct profile *p = profile_new();
    struct otlp_context c;
    struct attrs_id set = {0};
    (void)state;
    set = text_attr(p, set, "trace_id", "4bf92f3577b34da6a3ce929d0e0e4736");
    set = text_attr(p, set, "parent_span_id", "00f067aa0ba902b7");
    otlp_context_of(p, set, &c);
    assert_true(c.has_trace && !c.has_span);
    assert_true(c.trace_high == 0x4bf92f3577b34da6 && c.trace_low == 0xa3ce929d0e0e4736);
    assert_true(c.parent == 0x00f067aa0ba902b7);
    set = text_attr(p, (struct attrs_id){0}, "trace_id", "4bf92f3577b34da6a3ce929d0e0e47");
    set = text_attr(p, set, "span_id", "not hex at all!!");
    otlp_context_of(p, set, &c);
    assert_false(c.has_trace || c.has_span);
    profile_free(p);
}

/* The bytes of field NUMBER of a message. */
static struct text field(struct text message, uint32_t number)
{
    struct cursor c = cursor_of(message.at, message.n);
    struct protofield f = {0};
    while (protofield_next(&c, &f))
        if (f.number == number && f.wire == PROTO_BYTES)
            return f.bytes;
    fail_msg("no field %u", number);
    return message;
}

static void names_are_valid_text_and_ids_are_bytes(void **state)
{
    struct profile *p = profile_new();
    struct thread_key key = {.name = profile_add_str(p, text_of("t")), .pid = 7, .tid = 8};
    struct otlp_span s = {.name = text_of("a\xff\tb"),
                          .thread = profile_add_thread(p, &key),
                          .trace_high = 0x0102030405060708,
                          .trace_low = 9,
                          .span = 0xa1,
                          .start_ns = 1000,
                          .duration_ns = 5};
    struct otlp_batch batch = {p, &s, 1};
    autobuf struct buf body = {0};
    (void)state;
    otlp_add_protobuf(&body, &batch);
    struct text span = field(field(field(buf_text(&body), 1), 2), 2);
    assert_true(text_is(field(span, 5), "a\xef\xbf\xbd\tb"));
    struct text trace = field(span, 1);
    assert_int_equal(trace.n, 16);
    assert_memory_equal(trace.at, "\1\2\3\4\5\6\7\10\0\0\0\0\0\0\0\11", 16);
    char *json = NULL;
    size_t n;
    FILE *out = open_memstream(&json, &n);
    otlp_print_json(out, &batch);
    fclose(out);
    assert_non_null(strstr(json, "\"traceId\":\"01020304050607080000000000000009\""));
    assert_non_null(strstr(json, "\"spanId\":\"00000000000000a1\""));
    assert_null(strstr(json, "parentSpanId"));
    assert_non_null(strstr(json, "\"endTimeUnixNano\":\"1005\""));
    free(json);
    profile_free(p);
}

static int memory(uint64_t bytes, int seals)
{
    int fd = memfd_create("test", MFD_ALLOW_SEALING);
    assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
    if (seals)
        assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
    return fd;
}

/* A file that its owner could cut off would end us by SIGBUS. */
static void rings_of_others_are_looked_at_first(void **state)
{
    struct rings r;
    struct err err;
    const int seals = F_SEAL_SHRINK | F_SEAL_GROW;
    uint64_t size = channel_size(4, 4096);
    (void)state;
    assert_int_equal(rings_adopt(&r, memory(size, 0), &err), -1);
    rings_close(&r);
    assert_int_equal(rings_adopt(&r, memory(size, seals), &err), -1); /* all zero */
    rings_close(&r);
    assert_int_equal(rings_adopt(&r, memory(100, seals), &err), -1);
    rings_close(&r);
    int fd = memory(size, seals);
    struct channel c = {
        .magic = CHANNEL_MAGIC, .size_bytes = size, .n_rings = 4, .ring_bytes = 4096};
    assert_int_equal(pwrite(fd, &c, sizeof c, 0), sizeof c);
    assert_int_equal(rings_adopt(&r, dup(fd), &err), 0);
    assert_int_equal(r.n_rings, 4);
    rings_empty(&r);
    rings_close(&r);
    c.n_rings = 5; /* more than there are */
    assert_int_equal(pwrite(fd, &c, sizeof c, 0), sizeof c);
    assert_int_equal(rings_adopt(&r, dup(fd), &err), -1);
    rings_close(&r);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_trace_of_another_program_is_understood),
        cmocka_unit_test(names_are_valid_text_and_ids_are_bytes),
        cmocka_unit_test(rings_of_others_are_looked_at_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
