/*
 * Length, class and flow of x86-64 instructions; basic blocks. The bytes are what GNU as makes of
 * the text beside them.
 */
#include "base/mem.h"
#include "code/intloop.h"
#include "code/listing.h"
#include "code/simd.h"

#include <stdarg.h>
// clang-format off
#include <setjmp.h>
#include <cmocka.h>
// clang-format on

#define DECODE(bytes) x86_decode((const uint8_t *)(bytes), sizeof(bytes) - 1)

struct sample_insn {
    const char *what, *bytes;
    int length, isa, kind, width_bits;
    bool math;
};

static const struct sample_insn samples[] = {
    {"add rax, rbx", "\x48\x01\xd8", 3, X86_BASE, X86_INTEGER, 0, false},
    {"movabs rax, imm64", "\x48\xb8\1\2\3\4\5\6\7\x8", 10, X86_BASE, X86_INTEGER, 0, false},
    {"mov ax, imm16", "\x66\xb8\1\2", 4, X86_BASE, X86_INTEGER, 0, false},
    {"test dword [rip+x], imm32", "\xf7\x05\1\2\3\4\5\6\7\x8", 10, X86_BASE, X86_INTEGER, 0, false},
    {"fmulp", "\xde\xc9", 2, X86_X87, X86_SCALAR_FP, 0, true},
    {"paddd mm0, mm1", "\x0f\xfe\xc1", 3, X86_MMX, X86_PACKED_INT, 64, false},
    {"addsd xmm0, xmm1", "\xf2\x0f\x58\xc1", 4, X86_SSE, X86_SCALAR_FP, 0, true},
    {"addpd xmm0, xmm1", "\x66\x0f\x58\xc1", 4, X86_SSE, X86_PACKED_FP, 128, true},
    {"movaps xmm0, xmm1", "\x0f\x28\xc1", 3, X86_SSE, X86_PACKED_FP, 128, false},
    {"ucomisd xmm0, xmm1", "\x66\x0f\x2e\xc1", 4, X86_SSE, X86_SCALAR_FP, 0, true},
    {"roundsd xmm0, xmm1, 3", "\x66\x0f\x3a\x0b\xc1\x03", 6, X86_SSE, X86_SCALAR_FP, 0, true},
    {"vaddps ymm0, ymm1, ymm2", "\xc5\xf4\x58\xc2", 4, X86_AVX, X86_PACKED_FP, 256, true},
    {"vaddss xmm0, xmm1, xmm2", "\xc5\xf2\x58\xc2", 4, X86_AVX, X86_SCALAR_FP, 0, true},
    {"vpaddd ymm0, ymm1, ymm2", "\xc5\xf5\xfe\xc2", 4, X86_AVX2, X86_PACKED_INT, 256, false},
    {"vmovdqu ymm0, [rdi]", "\xc5\xfe\x6f\x07", 4, X86_AVX, X86_PACKED_INT, 256, false},
    {"vfmadd231pd ymm0, ymm1, ymm2", "\xc4\xe2\xf5\xb8\xc2", 5, X86_AVX2, X86_PACKED_FP, 256, true},
    {"vfmadd231sd xmm0, xmm1, xmm2", "\xc4\xe2\xf1\xb9\xc2", 5, X86_AVX2, X86_SCALAR_FP, 0, true},
    {"vaddps zmm0, zmm1, zmm2", "\x62\xf1\x74\x48\x58\xc2", 6, X86_AVX512, X86_PACKED_FP, 512,
     true},
    {"vaddps zmm0, zmm1, zmm2, {rn-sae}", "\x62\xf1\x74\x18\x58\xc2", 6, X86_AVX512, X86_PACKED_FP,
     512, true},
    {"shlx eax, ebx, ecx", "\xc4\xe2\x71\xf7\xc3", 5, X86_BASE, X86_INTEGER, 0, false},
};

static void test_class_of_instructions(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        const struct sample_insn *s = &samples[i];
        struct x86 x = x86_decode((const uint8_t *)s->bytes, (size_t)s->length);
        bool fine = !x.bad && x.length == s->length && x.isa == s->isa && x.kind == s->kind &&
                    x.width_bits == s->width_bits && x.math == s->math;
        if (!fine)
            fail_msg("%s: bad %d length %d isa %d kind %d width %d math %d", s->what, x.bad,
                     x.length, x.isa, x.kind, x.width_bits, x.math);
    }
}

static const struct {
    const char *what;
    uint32_t word;
    int isa, kind, width_bits;
    bool math;
} a64_samples[] = {
    {"add x0, x1, x2", 0x8b020020, A64_BASE, X86_INTEGER, 0, false},
    {"ldr x0, [x1]", 0xf9400020, A64_BASE, X86_INTEGER, 0, false},
    {"ldr d0, [x1]", 0xfd400020, A64_FP, X86_SCALAR_FP, 0, false},
    {"ldr q0, [x1]", 0x3dc00020, A64_NEON, X86_PACKED_INT, 128, false},
    {"ldp q0, q1, [x0]", 0xad400400, A64_NEON, X86_PACKED_INT, 128, false},
    {"fadd d0, d1, d2", 0x1e622820, A64_FP, X86_SCALAR_FP, 0, true},
    {"fmadd s0, s1, s2, s3", 0x1f020c20, A64_FP, X86_SCALAR_FP, 0, true},
    {"fmov d0, d1", 0x1e604020, A64_FP, X86_SCALAR_FP, 0, false},
    {"fcmp d0, d1", 0x1e612000, A64_FP, X86_SCALAR_FP, 0, false},
    {"fsqrt d0, d1", 0x1e61c020, A64_FP, X86_SCALAR_FP, 0, true},
    {"scvtf d0, x1", 0x9e620020, A64_FP, X86_SCALAR_FP, 0, false},
    {"fadd v0.4s, v1.4s, v2.4s", 0x4e22d420, A64_NEON, X86_PACKED_FP, 128, true},
    {"fadd v0.2s, v1.2s, v2.2s", 0x0e22d420, A64_NEON, X86_PACKED_FP, 64, true},
    {"fmla v0.2d, v1.2d, v2.2d", 0x4e62cc20, A64_NEON, X86_PACKED_FP, 128, true},
    {"fmla v0.4s, v1.4s, v2.s[1]", 0x4fa21020, A64_NEON, X86_PACKED_FP, 128, true},
    {"fcmgt v0.4s, v1.4s, v2.4s", 0x6ea2e420, A64_NEON, X86_PACKED_FP, 128, false},
    {"scvtf v0.4s, v1.4s", 0x4e21d820, A64_NEON, X86_PACKED_FP, 128, false},
    {"add v0.4s, v1.4s, v2.4s", 0x4ea28420, A64_NEON, X86_PACKED_INT, 128, false},
    {"mla v0.4s, v1.4s, v2.s[1]", 0x6fa20020, A64_NEON, X86_PACKED_INT, 128, false},
    {"movi v0.4s, #0", 0x4f000400, A64_NEON, X86_PACKED_INT, 128, false},
    {"fadd z0.s, z1.s, z2.s", 0x65820020, A64_SVE, X86_PACKED_FP, 128, true},
    {"add z0.s, z1.s, z2.s", 0x04a20020, A64_SVE, X86_PACKED_INT, 128, false},
};

static void test_class_of_aarch64_instructions(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof a64_samples / sizeof *a64_samples; i++) {
        struct a64 a = a64_decode(a64_samples[i].word);
        bool fine = !a.bad && a.isa == a64_samples[i].isa && a.kind == a64_samples[i].kind &&
                    a.width_bits == a64_samples[i].width_bits && a.math == a64_samples[i].math;
        if (!fine)
            fail_msg("%s: bad %d isa %d kind %d width %d math %d", a64_samples[i].what, a.bad,
                     a.isa, a.kind, a.width_bits, a.math);
    }
    assert_true(a64_decode(0).bad); /* udf */
}

static void test_flow_of_aarch64_instructions(void **state)
{
    (void)state;
    assert_int_equal(a64_decode(0x54ffffe1).flow, X86_BRANCH); /* b.ne -4 */
    assert_int_equal(a64_decode(0x54ffffe1).target, -4);
    assert_int_equal(a64_decode(0x14000002).flow, X86_JUMP); /* b +8 */
    assert_int_equal(a64_decode(0x14000002).target, 8);
    assert_int_equal(a64_decode(0xb5ffffc0).target, -8);     /* cbnz x0, -8 */
    assert_int_equal(a64_decode(0x94000001).flow, X86_CALL); /* bl +4 */
    assert_int_equal(a64_decode(0xd65f03c0).flow, X86_AWAY); /* ret */
    assert_int_equal(a64_decode(0xd63f0000).flow, X86_CALL); /* blr x0 */
}

static void test_cut_off_instruction_is_bad_and_one_byte(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++)
        for (int n = 1; n < samples[i].length; n++) {
            struct x86 x = x86_decode((const uint8_t *)samples[i].bytes, (size_t)n);
            assert_in_range(x.length, 1, n);
        }
}

static void test_any_bytes_end(void **state)
{
    (void)state;
    uint8_t bytes[4096];
    uint32_t x = 1;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)((x = x * 1664525 + 1013904223) >> 24);
    struct simd_mix m = {0};
    simd_count(&m, (struct text){(const char *)bytes, sizeof bytes});
    assert_in_range(m.n, 500, sizeof bytes);
    memset(bytes, 0x66, sizeof bytes);
    simd_count(&m, (struct text){(const char *)bytes, sizeof bytes});
}

static void test_targets(void **state)
{
    (void)state;
    struct x86 x = DECODE("\x75\xfe");
    assert_int_equal(x.flow, X86_BRANCH);
    assert_int_equal(x.target, 0);
    x = DECODE("\xe8\x00\x01\x00\x00");
    assert_int_equal(x.flow, X86_CALL);
    assert_int_equal(x.target, 0x105);
    x = DECODE("\xc3");
    assert_int_equal(x.flow, X86_AWAY);
}

/* 0: xor eax,eax  2: addsd xmm0,xmm1  6: sub edi,1  9: jne 2  b: ret */
static const char loop[] = "\x31\xc0\xf2\x0f\x58\xc1\x83\xef\x01\x75\xf7\xc3";

static void test_scalar_loop_is_a_candidate(void **state)
{
    (void)state;
    char what[32];
    struct simd_mix m = {0};
    simd_count(&m, (struct text){loop, sizeof loop - 1});
    assert_int_equal(m.n, 5);
    assert_true(simd_is_candidate(&m));
    assert_string_equal(simd_describe(&m, what), "scalar SSE");
    struct simd_mix straight = {0};
    simd_count(&straight, (struct text){loop, 9});
    assert_false(simd_is_candidate(&straight));
}

/* Whether any block of CODE is taken for a loop of integers that could use vectors. */
static bool is_int_loop(struct text code)
{
    struct listing l = {0};
    bool found = false;
    listing_add(&l, 0x1000, code);
    listing_cut(&l);
    for (size_t i = 0; i < l.blocks.n; i++)
        found |= intloop_is_candidate(&l, &l.blocks.at[i]);
    listing_done(&l);
    return found;
}

/* Two ends at two pointers: as gcc -O2 makes it of bc's multiplication, by either order of both. */
static void test_a_loop_with_two_ends_is_a_candidate(void **state)
{
    (void)state;
    /* 0: cmp rdx,r9; jb 1d; movzx ecx,[rdx]; movzx edi,[rax]; add rax,1; sub rdx,1; imul ecx,edi;
     * add esi,ecx; cmp r8,rax; jae 0; ret */
    static const char header_first[] =
        "\x4c\x39\xca\x72\x18\x0f\xb6\x0a\x0f\xb6\x38\x48\x83\xc0\x01\x48\x83\xea\x01\x0f\xaf\xcf"
        "\x01\xce\x49\x39\xc0\x73\xe3\xc3";
    /* The same with the body first: ... cmp rdi,rsi; jb out; cmp rcx,rdx; jae 0; ret */
    static const char body_first[] =
        "\x0f\xb6\x07\x44\x0f\xb6\x0a\x48\x83\xef\x01\x48\x83\xc2\x01\x41\x0f\xaf\xc1\x41\x01\xc0"
        "\x48\x39\xf7\x72\x05\x48\x39\xd1\x73\xe0\xc3";
    /* 0: movzx ecx,[rdi+rax]; cmp cl,[rsi+rax]; jne out; add rax,1; add r8d,ecx; cmp rax,rdx;
     * jne 0; ret: ends by what it reads */
    static const char by_data[] = "\x0f\xb6\x0c\x07\x3a\x0c\x06\x75\x0c\x48\x83\xc0\x01\x41\x01\xc8"
                                  "\x48\x39\xd0\x75\xeb\xc3";
    assert_true(is_int_loop((struct text){header_first, sizeof header_first - 1}));
    assert_true(is_int_loop((struct text){body_first, sizeof body_first - 1}));
    assert_false(is_int_loop((struct text){by_data, sizeof by_data - 1}));
}

/* What gcc makes of products that grow wider, and of absolute differences. */
static void test_loops_that_widen_or_choose_are_candidates(void **state)
{
    (void)state;
    /* 0: mov eax,[rdi+rdx]; imul eax,[rsi+rdx]; add rdx,4; cltq; add rcx,rax; cmp r8,rdx; jne 0;
     * ret */
    static const char product[] = "\x8b\x04\x17\x0f\xaf\x04\x16\x48\x83\xc2\x04\x48\x98\x48\x01\xc1"
                                  "\x49\x39\xd0\x75\xeb\xc3";
    /* 0: movzx r8d,[rsi+rcx]; movzx eax,[rdi+rcx]; sub eax,r8d; mov r8d,eax; neg r8d;
     * cmovns eax,r8d; add rcx,1; add r9d,eax; cmp rdx,rcx; jne 0; ret */
    static const char difference[] =
        "\x44\x0f\xb6\x04\x0e\x0f\xb6\x04\x0f\x44\x29\xc0\x41\x89\xc0\x41\xf7\xd8\x41\x0f\x49\xc0"
        "\x48\x83\xc1\x01\x41\x01\xc1\x48\x39\xca\x75\xde\xc3";
    /* 0: lea rcx,[rdi+rax*4]; cmp [rcx],edx; cmovl rdi,rcx; shr rax; jne 0; ret: searches by halves
     */
    static const char search[] = "\x48\x8d\x0c\x87\x39\x11\x48\x0f\x4c\xf9\x48\xd1\xe8\x75\xf1\xc3";
    assert_true(is_int_loop((struct text){product, sizeof product - 1}));
    assert_true(is_int_loop((struct text){difference, sizeof difference - 1}));
    assert_false(is_int_loop((struct text){search, sizeof search - 1}));
}

/* Each turn needs what the one before computed. */
static void test_carries_and_running_sums_are_no_candidates(void **state)
{
    (void)state;
    /* 0: mov eax,[rbx+rcx*4+18]; imul rax,rdx; add rax,rbp; mov [rbx+rcx*4+18],eax; mov rbp,rax;
     * add rcx,1; shr rbp,20; cmp r12d,ecx; jg 0; ret: a long number times a word */
    static const char carry[] =
        "\x8b\x44\x8b\x18\x48\x0f\xaf\xc2\x48\x01\xe8\x89\x44\x8b\x18\x48\x89\xc5\x48\x83\xc1\x01"
        "\x48\xc1\xed\x20\x41\x39\xcc\x7f\xe1\xc3";
    /* 0: add edx,[rax]; mov [rax],edx; add rax,4; cmp rax,rdi; jne 0; ret */
    static const char running[] = "\x03\x10\x89\x10\x48\x83\xc0\x04\x48\x39\xf8\x75\xf3\xc3";
    /* 0: add edx,[rax]; add rax,4; cmp rax,rdi; jne 0; ret */
    static const char sum[] = "\x03\x10\x48\x83\xc0\x04\x48\x39\xf8\x75\xf5\xc3";
    assert_false(is_int_loop((struct text){carry, sizeof carry - 1}));
    assert_false(is_int_loop((struct text){running, sizeof running - 1}));
    assert_true(is_int_loop((struct text){sum, sizeof sum - 1}));
}

static void test_blocks_and_heat(void **state)
{
    (void)state;
    struct listing l = {0};
    listing_add(&l, 0x1000, (struct text){loop, sizeof loop - 1});
    listing_heat(&l, 0x1007, 3); /* inside of an instruction */
    listing_heat(&l, 0x1000, 1);
    listing_heat(&l, 0x2000, 9); /* elsewhere */
    listing_cut(&l);
    assert_int_equal(l.blocks.n, 3);
    assert_int_equal(l.self, 4);
    assert_int_equal(l.insns.at[2].self, 3);
    assert_true(l.blocks.at[1].loop);
    uint32_t *order = listing_order(&l);
    assert_int_equal(order[0], 1);
    free(order);
    listing_done(&l);
}

/* 0: vmovups ymm0,[rsi]; vmovups [rdi],ymm0; vzeroupper; ret: how memmove copies 32 bytes. */
static void test_moves_in_vectors_are_no_integer_code(void **state)
{
    static const char code[] = "\xc5\xfc\x10\x06\xc5\xfc\x11\x07\xc5\xf8\x77\xc3";
    struct simd_mix m = {0};
    char what[32];
    (void)state;
    simd_count(&m, (struct text){code, sizeof code - 1});
    assert_int_equal(simd_verdict_of(&m), SIMD_MOVES);
    assert_string_equal(simd_describe(&m, what), "vector moves AVX");
}

/*
 * 0: aesenc xmm2,xmm1; dec eax; movups xmm1,[rcx]; lea rcx,[rcx+16]; jne 0, with the movups, lea
 * and xorps that come before: one block in five enciphers, the others fetch its keys.
 */
static void test_enciphering_is_no_move(void **state)
{
    static const char code[] =
        "\x0f\x10\x1f\x48\x8d\x7f\x10\x0f\x10\x01\x0f\x10\x49\x10\x0f\x57\xd8"
        "\x66\x0f\x38\xdc\xd1\xff\xc8\x0f\x10\x09\x48\x8d\x49\x10\x75\xf0"
        "\x66\x0f\x38\xdd\xd1";
    struct simd_mix m = {0};
    char what[32];
    (void)state;
    simd_count(&m, (struct text){code, sizeof code - 1});
    assert_int_equal(m.n, 11);
    assert_true(m.kind[X86_PACKED_INT] * 5 < m.n);
    assert_string_equal(simd_describe(&m, what), "packed integer SSE");
}

/* A block counts by the samples in it, not by its length. */
static void test_blocks_weigh_by_their_samples(void **state)
{
    struct simd_mix packed = {.n = 4, .packed_math = 2}, scalar = {.n = 400, .scalar_math = 200};
    struct simd_mix hot = {0};
    (void)state;
    simd_add_weighted(&hot, &packed, 900000);
    simd_add_weighted(&hot, &scalar, 100000);
    assert_int_equal(hot.n, 1000000);
    assert_int_equal(hot.packed_math, 450000);
    assert_int_equal(hot.scalar_math, 50000);
    assert_int_equal(simd_verdict_of(&hot), SIMD_PACKED);
}

/* 0: inc eax; test al,1; je 8; call 20; 8: inc ecx; cmp ecx,edi; jne 0; ret */
/* Where a function ends is in no loop, even if the loop goes on behind it. */
static void test_what_returns_is_in_no_loop(void **state)
{
    static const char code[] = "\x48\xff\xc0" /* inc rax */
                               "\x74\x04"     /* je to the pop */
                               "\xff\xc9"     /* dec ecx */
                               "\x75\x02"     /* jne over the return, or fall into it */
                               "\x5b"         /* pop rbx */
                               "\xc3"         /* ret */
                               "\xeb\xf3";    /* jmp to the start */
    (void)state;
    struct listing l = {0};
    listing_add(&l, 0x1000, (struct text){code, sizeof code - 1});
    listing_cut(&l);
    size_t n = 0;
    for (size_t i = 0; i < l.blocks.n; i++) {
        const struct listing_insn *first = &l.insns.at[l.blocks.at[i].first];
        bool ends = first->pc == 0x1009; /* the pop */
        assert_string_equal(listing_loop_words(&l.blocks.at[i]), ends ? "" : ", in a loop");
        n += ends;
    }
    assert_int_equal(n, 1);
    listing_done(&l);
}

static void test_a_loop_of_several_blocks_is_a_loop(void **state)
{
    static const char code[] =
        "\xff\xc0\xa8\x01\x74\x05\xe8\x14\x00\x00\x00\xff\xc1\x39\xf9\x75\xef"
        "\xc3";
    static const char *const words[] = {", in a loop", ", in a loop", ", in a loop", ""};
    struct listing l = {0};
    (void)state;
    listing_add(&l, 0x1000, (struct text){code, sizeof code - 1});
    listing_cut(&l);
    assert_int_equal(l.blocks.n, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(listing_loop_words(&l.blocks.at[i]), words[i]);
        assert_false(l.blocks.at[i].in_loop); /* there is a call */
    }
    listing_done(&l);
}

/* All of a large stripped file is one listing. Asked in turns, each jump here would take one more.
 */
static void test_a_long_chain_of_jumps_to_a_return_is_no_loop(void **state)
{
    enum { JUMPS = 300000 };
    char *code = mem_calloc(JUMPS + 1, 2);
    struct listing l = {0};
    size_t in_loops = 0;
    (void)state;
    code[0] = '\xc3';
    for (size_t i = 0; i < JUMPS; i++) /* to the jump before, the first to the ret */
        memcpy(code + 1 + 2 * i, i ? "\xeb\xfc" : "\xeb\xfd", 2);
    listing_add(&l, 0x1000, (struct text){code, 1 + 2 * JUMPS});
    listing_cut(&l);
    assert_int_equal(l.blocks.n, 1 + JUMPS);
    for (size_t i = 0; i < l.blocks.n; i++)
        in_loops += l.blocks.at[i].in_loop || l.blocks.at[i].of_loop;
    assert_int_equal(in_loops, 0);
    listing_done(&l);
    free(code);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_class_of_instructions),
        cmocka_unit_test(test_class_of_aarch64_instructions),
        cmocka_unit_test(test_flow_of_aarch64_instructions),
        cmocka_unit_test(test_cut_off_instruction_is_bad_and_one_byte),
        cmocka_unit_test(test_any_bytes_end),
        cmocka_unit_test(test_targets),
        cmocka_unit_test(test_scalar_loop_is_a_candidate),
        cmocka_unit_test(test_a_loop_with_two_ends_is_a_candidate),
        cmocka_unit_test(test_loops_that_widen_or_choose_are_candidates),
        cmocka_unit_test(test_carries_and_running_sums_are_no_candidates),
        cmocka_unit_test(test_blocks_and_heat),
        cmocka_unit_test(test_a_loop_of_several_blocks_is_a_loop),
        cmocka_unit_test(test_what_returns_is_in_no_loop),
        cmocka_unit_test(test_a_long_chain_of_jumps_to_a_return_is_no_loop),
        cmocka_unit_test(test_moves_in_vectors_are_no_integer_code),
        cmocka_unit_test(test_enciphering_is_no_move),
        cmocka_unit_test(test_blocks_weigh_by_their_samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
