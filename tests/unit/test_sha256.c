/* The hash by which a page names its scripts, next to the examples of FIPS 180-4 and sha256sum. */
#include "base/sha256.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void expect_hash(struct text bytes, const char *wanted)
{
    uint8_t hash[SHA256_BYTES];
    char hex[2 * SHA256_BYTES + 1];
    sha256(bytes, hash);
    for (size_t i = 0; i < SHA256_BYTES; i++)
        snprintf(hex + 2 * i, 3, "%02x", hash[i]);
    assert_string_equal(hex, wanted);
}

static void hashes_are_those_of_the_standard(void **state)
{
    (void)state;
    expect_hash(text_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    expect_hash(text_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    expect_hash(text_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

static void every_length_has_its_end(void **state)
{
    (void)state;
    autofree char *a = mem_calloc(1000001, 1);
    memset(a, 'a', 1000000);
    expect_hash((struct text){a, 1000000},
                "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    for (size_t n = 54; n < 131; n++) {
        char command[200], wanted[65];
        snprintf(command, sizeof command, "printf '%%0%zud' 0 | tr 0 a | sha256sum", n);
        FILE *other = popen(command, "r");
        assert_non_null(other);
        assert_int_equal(fread(wanted, 1, 64, other), 64);
        pclose(other);
        wanted[64] = '\0';
        expect_hash((struct text){a, n}, wanted);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hashes_are_those_of_the_standard),
        cmocka_unit_test(every_length_has_its_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
