/* The numbers of registers against the kernel's and the C library's headers. */
#include "unwind/arch.h"
#include "unwind/walk.h"

#include <elf.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

#include <cmocka.h>

#ifdef __x86_64__
#include <asm/perf_regs.h>

/* By DWARF's numbers: rax rdx rcx rbx rsi rdi rbp rsp r8 .. r15. */
static const int perf_numbers[ARCH_OTHERS] = {
    PERF_REG_X86_AX,  PERF_REG_X86_DX,  PERF_REG_X86_CX,  PERF_REG_X86_BX,
    PERF_REG_X86_SI,  PERF_REG_X86_DI,  PERF_REG_X86_BP,  PERF_REG_X86_SP,
    PERF_REG_X86_R8,  PERF_REG_X86_R9,  PERF_REG_X86_R10, PERF_REG_X86_R11,
    PERF_REG_X86_R12, PERF_REG_X86_R13, PERF_REG_X86_R14, PERF_REG_X86_R15};
static const int signal_numbers[ARCH_OTHERS] = {
    REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP,
    REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

static size_t in_ucontext(int number)
{
    return offsetof(ucontext_t, uc_mcontext.gregs) + (size_t)number * sizeof(greg_t);
}

static void registers_have_the_numbers_of_the_headers(void **state)
{
    (void)state;
    const struct arch *a = arch_find(EM_X86_64);
    assert_int_equal(a->perf.pc, PERF_REG_X86_IP);
    assert_int_equal(a->perf.sp, PERF_REG_X86_SP);
    assert_int_equal(a->perf.fp, PERF_REG_X86_BP);
    assert_int_equal(a->perf.extra, PERF_REG_X86_BX);
    assert_int_equal(a->signal.pc, a->ucontext + in_ucontext(REG_RIP));
    assert_int_equal(a->signal.sp, a->ucontext + in_ucontext(REG_RSP));
    assert_int_equal(a->signal.fp, a->ucontext + in_ucontext(REG_RBP));
    assert_int_equal(a->signal.extra, a->ucontext + in_ucontext(REG_RBX));
    for (int i = 0; i < ARCH_OTHERS; i++) {
        assert_int_equal(a->perf_others[i], perf_numbers[i]);
        assert_int_equal(a->signal_others[i], a->ucontext + in_ucontext(signal_numbers[i]));
    }
}
#else
static void registers_have_the_numbers_of_the_headers(void **state)
{
    (void)state;
    skip(); /* the headers are those of this processor */
}
#endif

static void processors_are_found_by_their_elf_number(void **state)
{
    (void)state;
    assert_ptr_equal(arch_find(EM_X86_64), &arch_x86_64);
    assert_ptr_equal(arch_find(EM_AARCH64), &arch_aarch64);
    assert_null(arch_find(EM_386));
}

/* perf asks for all 33 registers of AArch64, or for those that are followed. */
static void a_mask_says_whose_registers_they_are(void **state)
{
    (void)state;
    uint64_t values[33];
    struct unwind_regs regs;
    for (size_t i = 0; i < 33; i++)
        values[i] = 100 + i;
    assert_int_equal(unwind_machine_of_mask(UINT64_C(0x1ffffffff)), EM_AARCH64);
    assert_int_equal(unwind_machine_of_mask(UINT64_C(15) << 29), EM_AARCH64);
    assert_int_equal(unwind_machine_of_mask(0xff0fff), EM_X86_64);
    assert_int_equal(unwind_machine_of_mask(UINT64_C(1) << 32 | 0xff0fff), EM_X86_64);
    assert_true(unwind_regs_from_mask(EM_AARCH64, UINT64_C(0x1ffffffff), values, &regs));
    assert_int_equal(regs.fp, 129);
    assert_int_equal(regs.extra, 130);
    assert_int_equal(regs.sp, 131);
    assert_int_equal(regs.pc, 132);
}

#ifdef __x86_64__
/* Every register of perf's mask has its place; those that were not asked for are 0. */
static void registers_of_a_sample_are_those_of_its_mask(void **state)
{
    (void)state;
    uint64_t values[24], mask = 0;
    struct unwind_regs regs;
    for (int i = 0; i < ARCH_OTHERS; i++)
        mask |= 1ull << perf_numbers[i];
    mask |= 1ull << PERF_REG_X86_IP;
    for (size_t i = 0, bit = 0; bit < 24; bit++)
        if (mask >> bit & 1)
            values[i++] = 100 + bit;
    assert_true(unwind_regs_from_mask(EM_X86_64, mask, values, &regs));
    assert_int_equal(regs.pc, 100 + PERF_REG_X86_IP);
    assert_int_equal(regs.sp, 100 + PERF_REG_X86_SP);
    assert_int_equal(regs.fp, 100 + PERF_REG_X86_BP);
    assert_int_equal(regs.extra, 100 + PERF_REG_X86_BX);
    for (int i = 0; i < ARCH_OTHERS; i++)
        assert_int_equal(regs.others[i], 100 + perf_numbers[i]);
    uint64_t few = 1ull << PERF_REG_X86_IP | 1ull << PERF_REG_X86_SP;
    assert_true(unwind_regs_from_mask(EM_X86_64, few, (uint64_t[]){7, 8}, &regs));
    assert_true(regs.sp == 7 && regs.pc == 8 && regs.fp == 0 && regs.others[0] == 0);
    assert_false(unwind_regs_from_mask(EM_X86_64, 1ull << PERF_REG_X86_IP, values, &regs));
    assert_false(unwind_regs_from_mask(EM_X86_64, 1ull << PERF_REG_X86_SP, values, &regs));
    assert_false(unwind_regs_from_mask(EM_386, mask, values, &regs));
}
#endif

/* --- in a signal handler --- */

static struct unwind_regs seen;
static ucontext_t context;

static void look(int number, siginfo_t *info, void *ucontext)
{
    (void)number;
    (void)info;
    memcpy(&context, ucontext, sizeof context);
    unwind_regs_from_ucontext(ucontext, &seen);
}

static void a_handler_sees_the_registers_of_what_it_interrupted(void **state)
{
    (void)state;
    struct sigaction old, with = {.sa_sigaction = look, .sa_flags = SA_SIGINFO};
    memset(&seen, 0xff, sizeof seen);
    assert_int_equal(sigaction(SIGUSR1, &with, &old), 0);
    raise(SIGUSR1);
    sigaction(SIGUSR1, &old, NULL);
#ifdef __x86_64__
    const greg_t *regs = context.uc_mcontext.gregs;
    assert_int_equal(seen.pc, regs[REG_RIP]);
    assert_int_equal(seen.sp, regs[REG_RSP]);
    assert_int_equal(seen.fp, regs[REG_RBP]);
    assert_int_equal(seen.extra, regs[REG_RBX]);
    for (int i = 0; i < ARCH_OTHERS; i++)
        assert_int_equal(seen.others[i], regs[signal_numbers[i]]);
#endif
    assert_true(seen.pc && seen.sp);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#ifdef __x86_64__
        cmocka_unit_test(registers_of_a_sample_are_those_of_its_mask),
#endif
        cmocka_unit_test(a_handler_sees_the_registers_of_what_it_interrupted),
        cmocka_unit_test(registers_have_the_numbers_of_the_headers),
        cmocka_unit_test(a_mask_says_whose_registers_they_are),
        cmocka_unit_test(processors_are_found_by_their_elf_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
