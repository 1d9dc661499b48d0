/* Long names of C++ and Rust, where there is little room. */
#include "base/shortname.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void expect_short(const char *name, size_t width, const char *wanted)
{
    autobuf struct buf b = {0};
    shortname_add(&b, text_of(name), width);
    assert_string_equal(buf_cstr(&b), wanted);
}

#define STRING "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"

static void names_that_fit_are_left_alone(void **state)
{
    (void)state;
    expect_short("", 10, "");
    expect_short("std::vector<int>::at", 20, "std::vector<int>::at");
    expect_short(STRING, sizeof STRING - 1, STRING);
}

static void strings_have_their_usual_name(void **state)
{
    (void)state;
    expect_short(STRING "::compare", 40, "std::string::compare");
    expect_short("std::less<" STRING " >::operator()", 40, "std::less<std::string >::operator()");
}

static void arguments_of_templates_go_before_the_end_of_the_name(void **state)
{
    (void)state;
    expect_short("std::map<" STRING ", int, std::less<int> >::operator[]", 30,
                 "std::map<..>::operator[]");
    expect_short("f<g<h<1, (2->3)> >, long>::k<another, one>::m", 20, "f<..>::k<..>::m");
    expect_short("std::vector<a_long_type, another>::push_back", 20, "std::vector<..>::p..");
}

static void other_angle_brackets_stay(void **state)
{
    (void)state;
    expect_short("bool std::operator< <char, std::traits<char> >(x)", 30,
                 "bool std::operator< <..>(x)");
    expect_short("std::operator<< <std::char_traits<char> >", 30, "std::operator<< <..>");
    expect_short("<core::hash::sip::Hasher<S_ty> as core::Hasher>::finish", 52,
                 "<core::hash::sip::Hasher<..> as core::Hasher>::fin..");
    expect_short("core::slice::<impl [T]>::sort_unstable_by", 30, "core::slice::<impl [T]>::sor..");
    expect_short("main(int, char**)::<lambda(int)>::operator()", 30,
                 "main(int, char**)::<lambda(i..");
    expect_short("a<b<c<d<e<f_without_an_end", 12, "a<b<c<d<e<..");
}

static void a_function_without_a_name_keeps_its_place(void **state)
{
    (void)state;
    expect_short("[libgs.so.10.00+0x3c20b0]", 25, "[libgs.so.10.00+0x3c20b0]");
    expect_short("[libgs.so.10.00+0x3c20b0]", 20, "[libgs.s..+0x3c20b0]");
    expect_short("[libgs.so.10.00+0x3c20b0]", 13, "[..+0x3c20b0]");
    expect_short("[libgs.so.10.00+0x3c20b0]", 12, "[libgs.so...");
    expect_short("[some module without a place]", 12, "[some modu..");
}

static bool is_form_of(const char *word, const char *name)
{
    return shortname_is(text_of(name), text_of(word));
}

static void every_shown_form_is_found(void **state)
{
    (void)state;
    assert_true(is_form_of("main", "main"));
    assert_false(is_form_of("mine", "main"));
    assert_true(is_form_of("std::string::compare", STRING "::compare"));
    assert_true(is_form_of(STRING "::compare", STRING "::compare"));
    assert_true(is_form_of("std::map<..>::at", "std::map<" STRING ", int>::at"));
    assert_true(is_form_of("std::map<std::string, int>::at", "std::map<" STRING ", int>::at"));
    assert_false(is_form_of("std::map<..>::a", "std::map<" STRING ", int>::at"));
    assert_false(is_form_of("", "main"));
}

static void variant_is_found_by_its_public_name(void **state)
{
    (void)state;
    assert_true(is_form_of("strlen", "__strlen_avx2"));
    assert_true(is_form_of("memmove", "__memmove_avx512_unaligned_erms"));
    assert_true(is_form_of("memcpy", "__memmove_avx512_unaligned_erms"));
    assert_true(is_form_of("memcpy", "__memcpy_thunderx2"));
    assert_true(is_form_of("strcasecmp_l", "__strcasecmp_l_avx2_rtm"));
    assert_false(is_form_of("strcasecmp", "__strcasecmp_l_avx2_rtm"));
    assert_false(is_form_of("memset", "__memmove_avx512_unaligned_erms"));
    assert_false(is_form_of("memcpy", "__memcpy_chk"));
    assert_false(is_form_of("mem", "__mem_ory"));
    assert_false(is_form_of("memcpy", "__memcpy_"));
    assert_false(is_form_of("", "___avx2"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_that_fit_are_left_alone),
        cmocka_unit_test(strings_have_their_usual_name),
        cmocka_unit_test(a_function_without_a_name_keeps_its_place),
        cmocka_unit_test(arguments_of_templates_go_before_the_end_of_the_name),
        cmocka_unit_test(other_angle_brackets_stay),
        cmocka_unit_test(every_shown_form_is_found),
        cmocka_unit_test(variant_is_found_by_its_public_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
