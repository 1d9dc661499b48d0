/* What a caption warns of. */
#include "view/caption.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support.h"

static void assert_warns(const char *hidden, uint64_t cpu_ns, const char *wanted)
{
    autobuf struct buf b = {0};
    struct profile *p = support_folded("main;a 5000\nmain;b 5000\n");
    profile_stream(p, 0)->obtained = BY_SOFTWARE_CLOCK;
    if (hidden)
        meta_set_str(&p->meta, META_KERNEL_HIDDEN, hidden);
    if (cpu_ns) {
        meta_set_u64(&p->meta, META_CPU_TIME_NS, cpu_ns);
        meta_set_u64(&p->meta, META_SAMPLED_OF_NS, 5000000000);
    }
    caption_warnings(&b, SUPPORT_ALL(p, 0));
    assert_string_equal(buf_cstr(&b), wanted);
    profile_free(p);
}

#define HIDDEN "no right to sample the kernel (kernel.perf_event_paranoid): "

static void a_kernel_that_was_hidden_is_told_with_its_share(void **state)
{
    (void)state;
    assert_warns(NULL, 0, "");
    assert_warns("no", 10000000000, "");
    assert_warns("yes", 10000000000,
                 HIDDEN "about 50% of the CPU time is spent there and not shown\n");
    assert_warns("yes", 0, HIDDEN "what happens there is not shown\n");
}

static void guessed_stacks_are_told(void **state)
{
    (void)state;
    struct profile *p = support_folded("main;a 5000\nmain;b 5000\n");
    profile_stream(p, 0)->obtained = BY_SOFTWARE_CLOCK;
    for (uint64_t guessed = 400; guessed < 10000; guessed += 2800) {
        autobuf struct buf b = {0};
        profile_stream(p, 0)->guessed = guessed;
        struct selection all = selection_all(p, (struct value_ref){0, 0});
        all.count_type = 0;
        all.n_samples = 10000;
        caption_warnings(&b, &all);
        const char *wanted = guessed == 400    ? ""
                             : guessed == 3200 ? "32% of the stacks were guessed"
                             : guessed == 6000 ? "60% of the stacks were guessed"
                                               : "88% of the stacks were guessed";
        if (strncmp(buf_cstr(&b), wanted, *wanted ? strlen(wanted) : 1) != 0)
            fail_msg("%s", buf_cstr(&b));
    }
    profile_free(p);
}

static void blocks_are_counted_without_the_kernel(void **state)
{
    (void)state;
    autobuf struct buf b = {0};
    struct profile *p = profile_new();
    support_value(p, "", "peak", "bytes");
    meta_set_str(&p->meta, META_KERNEL_HIDDEN, "yes");
    caption_warnings(&b, SUPPORT_ALL(p, 0));
    assert_string_equal(buf_cstr(&b), "");
    profile_free(p);
}

/* Ten thousand samples that stand for 4 of 5 s, of threads with these numbers. */
static void assert_warns_of_sampled(int32_t second_tid, const char *wanted)
{
    autobuf struct buf b = {0};
    struct profile *p = support_folded("main;a 5000\nmain;b 5000\n");
    profile_stream(p, 0)->obtained = BY_SOFTWARE_CLOCK;
    profile_add_thread(p, &(struct thread_key){profile_add_str(p, text_of("sh")), 100, 100});
    profile_add_thread(p,
                       &(struct thread_key){profile_add_str(p, text_of("app")), 100, second_tid});
    meta_set_u64(&p->meta, META_SAMPLED_NS, 4000000000);
    meta_set_u64(&p->meta, META_SAMPLED_OF_NS, 5000000000);
    struct selection s = selection_all(p, (struct value_ref){0, 0});
    s.count_type = 0;
    s.n_samples = 10000;
    caption_warnings(&b, &s);
    assert_string_equal(buf_cstr(&b), wanted);
    profile_free(p);
}

static void time_without_samples_has_no_cause_that_the_recording_excludes(void **state)
{
    (void)state;
    assert_warns_of_sampled(100, "samples stand for 80% of the CPU time only: kernel code with "
                                 "interrupts off may have more than is shown\n");
    assert_warns_of_sampled(101, "samples stand for 80% of the CPU time only: short-lived "
                                 "processes and threads or kernel code with interrupts off may "
                                 "have more than is shown\n");
}

/* Wall time has samples in it, but no number of its own. */
static void wall_time_does_not_say_that_samples_were_not_recorded(void **state)
{
    autobuf struct buf b = {0};
    struct profile *p = support_folded("main;a 5000\nmain;b 5000\n");
    (void)state;
    profile_stream(p, 0)->event = profile_add_str(p, text_of("wall"));
    caption_build(&b, SUPPORT_ALL(p, 0));
    assert_non_null(strstr(buf_cstr(&b), "running by samples, waiting by switches"));
    assert_null(strstr(buf_cstr(&b), "samples not recorded"));
    assert_null(strstr(buf_cstr(&b), "lost"));
    profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_that_was_hidden_is_told_with_its_share),
        cmocka_unit_test(guessed_stacks_are_told),
        cmocka_unit_test(blocks_are_counted_without_the_kernel),
        cmocka_unit_test(wall_time_does_not_say_that_samples_were_not_recorded),
        cmocka_unit_test(time_without_samples_has_no_cause_that_the_recording_excludes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
