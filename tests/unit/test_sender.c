/* Who wakes in a soft interrupt: a sender over the loopback interface, or a device. */
#include "record/sender.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const char symbols[] = "0000000000000000 A fixed_percpu_data\n"
                              "ffffffff81000100 T before\n"
                              "ffffffff81000200 t process_backlog\n"
                              "ffffffff81000200 t process_backlog_alias\n"
                              "ffffffff81000300 T __dev_queue_xmit\n"
                              "ffffffff81000400 t __irq_exit_rcu\n"
                              "ffffffff81000500 t run_ksoftirqd\n"
                              "ffffffff81000600 T after\n"
                              "ffffffff81000700 t process_backlog\n"
                              "ffffffff81000800 t last\n";

#define AT(n) (UINT64_C(0xffffffff81000000) + (n))

static struct sender sender_of(const char *text)
{
    struct sender s = {0};
    FILE *f = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
    sender_read(&s, f);
    fclose(f);
    return s;
}

static void who_sends_wakes(void **state)
{
    (void)state;
    struct sender s = sender_of(symbols);
    const uint64_t sends[] = {AT(0x110), AT(0x2ff), AT(0x620), AT(0x300), AT(0x640)};
    const uint64_t interrupted[] = {AT(0x110), AT(0x210), AT(0x450), AT(0x310)};
    const uint64_t others[] = {AT(0x110), AT(0x210), AT(0x510)};
    const uint64_t block[] = {AT(0x110), AT(0x310)}; /* not what it sent is received */
    const uint64_t elsewhere[] = {AT(0x710), AT(0x310)};
    assert_true(sender_is_current(&s, sends, 5));
    assert_false(sender_is_current(&s, interrupted, 4));
    assert_false(sender_is_current(&s, others, 3));
    assert_false(sender_is_current(&s, block, 2));
    assert_false(sender_is_current(&s, elsewhere, 2));
    assert_false(sender_is_current(&s, sends, 3));
    assert_false(sender_is_current(&s, NULL, 0));
}

/* Ordinary users see no addresses there. */
static void nobody_sends_where_the_kernel_is_hidden(void **state)
{
    (void)state;
    struct sender s = sender_of("0000000000000000 t process_backlog\n"
                                "0000000000000000 T __dev_queue_xmit\n");
    const uint64_t pcs[] = {0, 0, AT(0x200)};
    assert_false(sender_is_current(&s, pcs, 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_sends_wakes),
        cmocka_unit_test(nobody_sends_where_the_kernel_is_hidden),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
