/*
 * Colours: readable in both themes, a function of name and kind only.
 */
#include "view/palette.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static double linear(uint8_t c)
{
    double v = c / 255.0;
    return v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4);
}

static double luminance(struct rgb c)
{
    return 0.2126 * linear(c.r) + 0.7152 * linear(c.g) + 0.0722 * linear(c.b);
}

/* The ratio that WCAG 2 defines. */
static double contrast(struct rgb a, struct rgb b)
{
    double x = luminance(a), y = luminance(b);
    return x > y ? (x + 0.05) / (y + 0.05) : (y + 0.05) / (x + 0.05);
}

static void text_is_readable_on_every_shade(void **state)
{
    (void)state;
    for (int dark = 0; dark < 2; dark++)
        for (uint8_t family = 0; family < FAMILIES; family++)
            for (uint8_t step = 0; step < PALETTE_SHADES; step++) {
                struct rgb c = palette_rgb((struct shade){family, step}, dark);
                assert_true(contrast(c, palette_text(dark)) >= 4.5);
            }
}

static void frames_stand_out_from_the_background(void **state)
{
    (void)state;
    for (uint8_t family = 0; family < FAMILIES; family++)
        for (uint8_t step = 0; step < PALETTE_SHADES; step++) {
            struct shade s = {family, step};
            assert_true(contrast(palette_rgb(s, false), (struct rgb){255, 255, 255}) > 1.25);
            assert_true(contrast(palette_rgb(s, true), (struct rgb){0x14, 0x16, 0x1a}) > 3);
        }
}

static void shade_depends_on_name_and_kind_only(void **state)
{
    (void)state;
    char copy[] = "matmul";
    struct shade a = palette_shade(palettes, text_of("matmul"), FRAME_USER);
    struct shade b = palette_shade(palettes, text_of(copy), FRAME_USER);
    assert_int_equal(a.family, b.family);
    assert_int_equal(a.step, b.step);
    struct shade kernel = palette_shade(palettes, text_of("matmul"), FRAME_KERNEL);
    assert_int_not_equal(a.family, kernel.family);
    struct shade marked = palette_shade(palettes, text_of("matmul_[k]"), FRAME_KERNEL);
    assert_int_equal(kernel.step, marked.step);
}

/* Inlining has a mark and no colour: the code is of the kind that it was inlined into. */
static void default_palette_tells_all_kinds_of_code_apart(void **state)
{
    (void)state;
    for (int a = 0; a < FRAME_KINDS; a++)
        for (int b = 0; b < a; b++) {
            struct shade x = palette_shade(palettes, text_of("f"), (enum frame_kind)a);
            struct shade y = palette_shade(palettes, text_of("f"), (enum frame_kind)b);
            bool inlined = a == FRAME_INLINED || b == FRAME_INLINED;
            bool user = a == FRAME_USER || b == FRAME_USER;
            assert_int_equal(x.family == y.family, inlined && user);
        }
}

static enum palette_family family(const char *palette, const char *name, enum frame_kind kind)
{
    const struct palette *p = palette_find(palette);
    assert_non_null(p);
    return palette_shade(p, text_of(name), kind).family;
}

static void java_and_js_know_their_names(void **state)
{
    (void)state;
    assert_int_equal(family("java", "java/lang/String.hashCode", FRAME_USER), FAMILY_GREEN);
    assert_int_equal(family("java", "Lorg/apache/Foo.bar", FRAME_USER), FAMILY_GREEN);
    assert_int_equal(family("java", "interp_[j]", FRAME_JIT), FAMILY_GREEN);
    assert_int_equal(family("java", "f_[i]", FRAME_INLINED), family("java", "f", FRAME_USER));
    assert_int_equal(family("java", "JavaCalls::call", FRAME_USER), FAMILY_YELLOW);
    assert_int_equal(family("java", "read_[k]", FRAME_KERNEL), FAMILY_ORANGE);
    assert_int_equal(family("java", "memcpy", FRAME_USER), FAMILY_RED);
    assert_int_equal(family("js", "LazyCompile:*f /app/x.js:3", FRAME_USER), FAMILY_GREEN);
    assert_int_equal(family("js", "Builtin:Array", FRAME_USER), FAMILY_AQUA);
    assert_int_equal(family("js", "v8::Run", FRAME_USER), FAMILY_YELLOW);
    assert_int_equal(family("chain", "f_[w]", FRAME_WAKER), FAMILY_AQUA);
    assert_int_equal(family("chain", "f", FRAME_USER), FAMILY_BLUE);
    assert_null(palette_find("no such palette"));
}

static void suffix_is_stripped_only_when_the_kind_tells_it(void **state)
{
    (void)state;
    assert_true(text_is(palette_strip(text_of("read_[k]"), FRAME_KERNEL), "read"));
    assert_true(text_is(palette_strip(text_of("read_[k]"), FRAME_USER), "read_[k]"));
    assert_true(text_is(palette_strip(text_of("read_[k]"), FRAME_JIT), "read_[k]"));
    assert_true(text_is(palette_strip(text_of("_[k]"), FRAME_KERNEL), "_[k]"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_readable_on_every_shade),
        cmocka_unit_test(frames_stand_out_from_the_background),
        cmocka_unit_test(shade_depends_on_name_and_kind_only),
        cmocka_unit_test(default_palette_tells_all_kinds_of_code_apart),
        cmocka_unit_test(java_and_js_know_their_names),
        cmocka_unit_test(suffix_is_stripped_only_when_the_kind_tells_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
