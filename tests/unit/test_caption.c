/* What a caption warns of. */
#include "view/caption.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_that_was_hidden_is_told_with_its_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
