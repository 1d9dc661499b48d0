/* test_signature.c - C++ functions with their parameters, on request and where overloads are hot.
 */
#include "symbol/demangle.h"
#include "symbol/signature.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "support.h"

static void has_signature(const char *mangled, const char *wanted)
{
    autobuf struct buf b = {0};
    bool is = demangle_signature(mangled, &b);
    assert_int_equal(is, wanted != NULL);
    if (wanted)
        assert_string_equal(buf_cstr(&b), wanted);
}

static void cpp_has_parameters_and_rust_has_none(void **state)
{
    (void)state;
    has_signature("_ZN3app5parseEi", "app::parse(int)");
    has_signature("_ZN3app5parseEPKc", "app::parse(char const*)");
    has_signature("_ZNK3app4size4Ev", NULL);
    has_signature("_ZN3app5parse17h0123456789abcdefE", NULL);
    has_signature("_RNvCs4fqI2P2rA04_3app4main", NULL);
    has_signature("parse", NULL);
    has_signature("", NULL);
}

/* A function of a profile, with N samples of its own. */
static void add(struct profile *p, const char *name, const char *symbol, int64_t n)
{
    struct err err;
    struct function f = {.name = profile_add_str(p, text_of(name)),
                         .system_name = profile_add_str(p, text_of(symbol))};
    struct line line = {.function = profile_add_function(p, &f)};
    struct frame_key key = {.pc = p->frames.n + 0x1000, .lines = &line, .n_lines = 1};
    struct frame_id id = profile_add_frame(p, &key);
    struct row row = {.stack = stacks_intern(&p->stacks, &id, 1), .values = &n};
    assert_int_equal(profile_add_row(p, 0, &row, &err), 0);
}

static bool is_named(const struct profile *p, const char *name)
{
    for (size_t i = 1; i < p->functions.n; i++)
        if (text_is(profile_str(p, p->functions.at[i].name), name))
            return true;
    return false;
}

static struct profile *overloads(int64_t second)
{
    struct profile *p = profile_new();
    support_value(p, "cpu-clock", "samples", "count");
    add(p, "app::parse", "_ZN3app5parseEi", 500);
    add(p, "app::parse", "_ZN3app5parseEPKc", second);
    add(p, "app::other", "_ZN3app5otherEi", 400);
    return p;
}

static void overloads_get_parameters_where_two_are_hot(void **state)
{
    (void)state;
    struct profile *p = overloads(100);
    assert_int_equal(signature_rename(p, SIGNATURE_OVERLOADS), 2);
    assert_true(is_named(p, "app::parse(int)") && is_named(p, "app::parse(char const*)"));
    assert_true(is_named(p, "app::other")); /* there is only one of it */
    profile_free(p);
    p = overloads(5);
    assert_int_equal(signature_rename(p, SIGNATURE_OVERLOADS), 0);
    assert_true(is_named(p, "app::parse"));
    assert_int_equal(signature_rename(p, SIGNATURE_ALL), 3);
    assert_true(is_named(p, "app::other(int)"));
    profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cpp_has_parameters_and_rust_has_none),
        cmocka_unit_test(overloads_get_parameters_where_two_are_hot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
