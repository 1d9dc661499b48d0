/*
 * The flame graph's still picture, its caption, and text that is made to fit.
 */
#include "view/caption.h"
#include "view/fit.h"
#include "view/flame.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support.h"

/* A profile of one event with two columns: samples and time. */
static struct profile *timed_profile(void)
{
    struct profile *p = profile_new();
    support_value(p, "cpu-clock", "samples", "count");
    support_value(p, "cpu-clock", "cpu", "nanoseconds");
    return p;
}

static void add(struct profile *p, const char *stack, enum frame_kind leaf, int64_t samples,
                int64_t time_ns)
{
    struct stack_id id = {0};
    struct text rest = text_of(stack);
    while (rest.n) {
        struct text name = text_cut(&rest, ';');
        enum frame_kind kind = rest.n ? FRAME_USER : leaf;
        id = stacks_push(&p->stacks, id, profile_add_named_frame(p, name, kind));
    }
    int64_t values[] = {samples, time_ns};
    struct row s = {.stack = id, .values = values};
    struct err err;
    assert_int_equal(profile_add_row(p, 0, &s, &err), 0);
}

/* The drawing as a string. Frees P. */
static char *draw(struct profile *p, int type, const struct flame_opts *o)
{
    char *svg = NULL;
    size_t n;
    FILE *out = open_memstream(&svg, &n);
    const struct selection *s = SUPPORT_ALL(p, type);
    struct calltree *t = calltree_build(s, &(struct calltree_opts){0});
    assert_int_equal(flame_print_selection(out, s, t, o), 0);
    fclose(out);
    calltree_free(t);
    profile_free(p);
    return svg;
}

static void expect(const char *svg, const char *part)
{
    if (!strstr(svg, part))
        fail_msg("not in the drawing: %s", part);
}

static void expect_not(const char *svg, const char *part)
{
    if (strstr(svg, part))
        fail_msg("in the drawing: %s", part);
}

static void a_frame_tells_samples_share_and_weight(void **state)
{
    (void)state;
    struct profile *p = timed_profile();
    add(p, "main;matmul", FRAME_USER, 1234, 1230000000);
    add(p, "main", FRAME_USER, 766, 770000000);
    struct flame_opts o = {0};
    autofree char *svg = draw(p, 1, &o);
    expect(svg, "<title>matmul (1,234 samples, 61.50%, 1.23 s)</title>");
    expect(svg, "<title>all (2,000 samples, 100.00%, 2 s)</title>");
    expect(svg, "software clock \xc2\xb7 event cpu-clock \xc2\xb7 2,000 samples \xc2\xb7 2 s");
    expect(svg, "lost: not recorded");
    expect(svg, "kelvin " KELVIN_VERSION);
}

static void the_samples_column_needs_no_weight(void **state)
{
    (void)state;
    struct profile *p = timed_profile();
    add(p, "main", FRAME_USER, 300, 5);
    struct flame_opts o = {0};
    autofree char *svg = draw(p, 0, &o);
    expect(svg, "<title>main (300 samples, 100.00%)</title>");
}

static void weights_are_never_called_samples(void **state)
{
    (void)state;
    struct profile *p = profile_new();
    support_value(p, "", "counts", "");
    add(p, "main", FRAME_USER, 1234, 0);
    struct flame_opts o = {0};
    autofree char *svg = draw(p, 0, &o);
    expect(svg, "<title>main (1,234 counts, 100.00%)</title>");
    expect(svg, "kind not recorded");
    expect(svg, "samples not recorded \xc2\xb7 1,234 counts");
    expect_not(svg, "1,234 samples");
}

static void factor_scales_values_but_not_samples(void **state)
{
    (void)state;
    struct profile *p = timed_profile();
    add(p, "main", FRAME_USER, 300, 5);
    struct flame_opts o = {.factor = 0.5, .count_name = "pairs"};
    autofree char *svg = draw(p, 0, &o);
    expect(svg, "<title>main (300 samples, 100.00%, 150 pairs)</title>");
}

static void few_samples_are_warned_of(void **state)
{
    (void)state;
    for (int64_t n = 199; n <= 200; n++) {
        struct profile *p = timed_profile();
        add(p, "main", FRAME_USER, n, 1);
        struct flame_opts o = {0};
        autofree char *svg = draw(p, 1, &o);
        if (n < 200)
            expect(svg, ">only 199 samples: shares are rough</text>");
        else
            expect_not(svg, "shares are rough");
    }
}

static void cut_input_and_losses_are_told(void **state)
{
    (void)state;
    struct profile *p = timed_profile();
    add(p, "main", FRAME_USER, 900, 1);
    profile_stream(p, 0)->lost_known = true;
    profile_stream(p, 0)->lost = 100;
    meta_set_str(&p->meta, META_CUT, "cut at byte 77 <");
    meta_set_str(&p->meta, META_SOURCE, "a&b.txt");
    struct flame_opts o = {0};
    autofree char *svg = draw(p, 0, &o);
    expect(svg, "the input is incomplete: cut at byte 77 &lt;");
    expect(svg, "10% of the samples were lost");
    expect(svg, "lost: 100 \xc2\xb7 a&amp;b.txt");
}

static void names_are_escaped_and_marks_become_colour(void **state)
{
    (void)state;
    struct profile *p = timed_profile();
    add(p, "main;a<b>&\"\x01\xff]]>", FRAME_USER, 300, 1);
    add(p, "main;vfs_read_[k]", FRAME_KERNEL, 300, 1);
    struct flame_opts o = {0};
    autofree char *svg = draw(p, 0, &o);
    expect(svg, "<title>a&lt;b&gt;&amp;&quot;\xef\xbf\xbd\xef\xbf\xbd]]&gt; (300 samples");
    expect(svg, "<title>vfs_read (300 samples, 50.00%, kernel)</title>");
    expect(svg, ">kernel</text>"); /* in the legend */
    expect_not(svg, "_[k]");
}

static void widths_add_up(void **state)
{
    (void)state;
    struct profile *p = timed_profile();
    add(p, "a", FRAME_USER, 1, 1);
    add(p, "b", FRAME_USER, 1, 1);
    add(p, "c", FRAME_USER, 1, 1);
    struct flame_opts o = {.width_px = 1020};
    autofree char *svg = draw(p, 0, &o);
    expect(svg, "<rect x=\"10\" width=\"333.333\"");
    expect(svg, "<rect x=\"343.333\" width=\"333.334\"");
    expect(svg, "<rect x=\"676.667\" width=\"333.333\"");
}

static void before_and_after_says_which(void **state)
{
    (void)state;
    struct profile *p = profile_new();
    support_value(p, "", "before", "");
    support_value(p, "", "after", "");
    add(p, "main", FRAME_USER, 300, 400);
    struct flame_opts o = {0};
    autofree char *svg = draw(p, 1, &o);
    expect(svg, "shown: after; also in the input: before");
    expect(svg, "<title>main (400 after, 100.00%)</title>");
}

/* A recording of CPU time and page faults. */
static void the_label_is_that_of_the_stream_that_is_drawn(void **state)
{
    (void)state;
    struct profile *p = timed_profile();
    struct err err;
    add(p, "main;a", FRAME_USER, 300, 1);
    int faults = profile_add_stream(p, "page-faults", BY_SOFTWARE_EVENT);
    profile_add_value(p, faults, "page-faults", "count");
    profile_stream(p, faults)->lost_known = true;
    profile_stream(p, faults)->lost = 7;
    struct row r = {.stack = {1}, .values = (int64_t[]){500}};
    assert_int_equal(profile_add_row(p, faults, &r, &err), 0);
    struct selection s = selection_all(p, (struct value_ref){faults, 0});
    autobuf struct buf caption = {0}, others = {0};
    caption_build(&caption, &s);
    caption_others(&others, &s);
    expect(buf_cstr(&caption), "software event \xc2\xb7 event page-faults \xc2\xb7 samples not "
                               "recorded \xc2\xb7 500 page-faults \xc2\xb7 lost: 7");
    assert_string_equal(buf_cstr(&others), "shown: page-faults; also in the input: cpu-clock");
    profile_free(p);
}

static void drawings_keep_to_themselves(void **state)
{
    (void)state;
    struct profile *p = timed_profile();
    add(p, "main", FRAME_USER, 300, 1);
    struct flame_opts o = {.id = "a b}<"};
    autofree char *svg = draw(p, 0, &o);
    expect(svg, " id=\"a-b--\"");
    expect(svg, "\n#a-b-- .kg text{");
    expect_not(svg, "\n.k");
    o = (struct flame_opts){.still = true, .theme = THEME_DARK};
    p = timed_profile();
    add(p, "main", FRAME_USER, 300, 1);
    autofree char *still = draw(p, 0, &o);
    expect_not(still, "<script");
    expect_not(still, "prefers-color-scheme");
}

static void a_total_of_zero_still_has_a_root(void **state)
{
    (void)state;
    struct profile *p = timed_profile();
    add(p, "main", FRAME_USER, 0, 7);
    struct flame_opts o = {0};
    autofree char *svg = draw(p, 0, &o);
    expect(svg, "<title>all (0 samples, 0.00%)</title><rect x=\"10\" width=\"1180\"");
}

static void text_is_cut_to_fit(void **state)
{
    (void)state;
    struct fit f = fit_of_font("monospace", 10);
    bool cut;
    assert_true(f.mono);
    assert_true(text_is(fit_cut(&f, text_of("abcdef"), 37, &cut), "abcdef"));
    assert_false(cut);
    assert_true(text_is(fit_cut(&f, text_of("abcdefg"), 37, &cut), "abcd"));
    assert_true(cut);
    assert_int_equal(fit_cut(&f, text_of("abcdefg"), 20, &cut).n, 0);
    struct text wide = fit_cut(&f, text_of("\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4"), 29, &cut);
    assert_int_equal(wide.n % 2, 0); /* never inside a character */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_tells_samples_share_and_weight),
        cmocka_unit_test(the_samples_column_needs_no_weight),
        cmocka_unit_test(weights_are_never_called_samples),
        cmocka_unit_test(factor_scales_values_but_not_samples),
        cmocka_unit_test(few_samples_are_warned_of),
        cmocka_unit_test(cut_input_and_losses_are_told),
        cmocka_unit_test(names_are_escaped_and_marks_become_colour),
        cmocka_unit_test(widths_add_up),
        cmocka_unit_test(before_and_after_says_which),
        cmocka_unit_test(the_label_is_that_of_the_stream_that_is_drawn),
        cmocka_unit_test(drawings_keep_to_themselves),
        cmocka_unit_test(a_total_of_zero_still_has_a_root),
        cmocka_unit_test(text_is_cut_to_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
