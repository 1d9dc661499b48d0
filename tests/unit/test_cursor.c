/* cursor.h: numbers of bytes, as the reader of every binary format takes them. */
#include "base/cursor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static size_t encode(uint8_t *at, uint64_t v)
{
    size_t n = 0;
    for (; v >= 0x80; v >>= 7)
        at[n++] = (uint8_t)(v | 0x80);
    at[n++] = (uint8_t)v;
    return n;
}

/* Every length, with as few or as many bytes behind it as a reader may meet. */
static void varints_of_every_length_come_back(void **state)
{
    (void)state;
    for (int bits = 0; bits <= 64; bits++)
        for (size_t behind = 0; behind < 10; behind++) {
            uint64_t all = bits == 64 ? UINT64_MAX : (1ull << bits) - 1;
            uint64_t wanted = all & 0xd2c3b4a596877869;
            wanted |= bits ? 1ull << (bits - 1) : 0;
            uint8_t bytes[32];
            memset(bytes, 0xff, sizeof bytes);
            size_t n = encode(bytes, wanted);
            struct cursor c = {bytes, bytes + n + behind, false};
            assert_true(cursor_varint(&c) == wanted);
            assert_false(c.bad);
            assert_int_equal(c.at - bytes, n);
        }
}

static void a_varint_that_does_not_end_is_bad(void **state)
{
    (void)state;
    uint8_t bytes[16];
    memset(bytes, 0x80, sizeof bytes);
    for (size_t n = 0; n <= sizeof bytes; n++) {
        struct cursor c = {bytes, bytes + n, false};
        assert_true(cursor_varint(&c) == 0);
        assert_true(c.bad && c.at == c.end);
    }
}

static void a_varint_of_more_than_64_bits_is_bad(void **state)
{
    (void)state;
    uint8_t bytes[16] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02};
    struct cursor c = {bytes, bytes + sizeof bytes, false};
    cursor_varint(&c);
    assert_true(c.bad);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(varints_of_every_length_come_back),
        cmocka_unit_test(a_varint_that_does_not_end_is_bad),
        cmocka_unit_test(a_varint_of_more_than_64_bits_is_bad),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
