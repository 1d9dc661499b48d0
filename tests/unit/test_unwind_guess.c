/*
 * Stacks made by hand: signals, coroutines, and code that came without unwind rules.
 */
#include "unwind/arch.h"
#include "unwind/walk.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "made_elf.h"
#include "support.h"
#include "support_numbers.h"
#include "unwind_guess_expected.h"

/* Where the file is mapped, where the stack begins, and where code made at run time is. */
enum { AT = 0x100000, STACK = 0x7000, JIT = 0x300000, WORDS = 4096 };

static char folder[] = "/tmp/kelvin-guess-XXXXXX";

/*
 * The file of these tests, at addresses from MADE_CODE on.
 *
 *     BOTTOM   the outermost function: no return address; a call ends at BOTTOM + 5
 *     CALLER   rsp + 8, from its fifth byte on rsp + 16; calls end at CALLER + 5 and at its end
 *     NEXT     a plain function that starts right behind CALLER
 *     PADDED   a plain function behind a gap
 *     START    as __start_context: a bottom behind a gap
 *     TRAMP    a signal trampoline, whose rules begin a byte before it
 *     BARE     code without rules
 */
enum {
    BOTTOM = 0x1000,
    CALLER = 0x1100,
    NEXT = 0x1140,
    PADDED = 0x1200,
    START = 0x1300,
    TRAMP = 0x1400,
    BARE = 0x1500,
    VFORK = 0x1600,
};

static const char call[] = "\xe8\0\0\0\0";

static struct text no_rules = {"", 0};

static void made_all(struct made *m)
{
    static const char undefined[] = {0x07, 16};
    static const char push[] = {0x45, 0x0e, 16};              /* after 5 bytes: CFA is rsp + 16 */
    static const char vfork[] = {0x41, 0x0e, 0, 0x09, 16, 5}; /* rsp + 0, pc in rdi */
    made_init(m);
    made_fde(m, m->plain, BOTTOM, 0x40, (struct text){undefined, 2});
    made_fde(m, m->plain, CALLER, 0x40, (struct text){push, 3});
    made_fde(m, m->plain, NEXT, 0x40, no_rules);
    made_fde(m, m->plain, PADDED, 0x40, no_rules);
    made_fde(m, m->plain, START, 0x40, (struct text){undefined, 2});
    made_fde(m, m->signal, TRAMP - 1, 10, no_rules);
    made_fde(m, m->plain, VFORK, 0x10, (struct text){vfork, sizeof vfork});
    memset(m->bytes + MADE_CODE, 0x90, MADE_BYTES - MADE_CODE);
    made_code(m, BOTTOM, call, 5);
    made_code(m, CALLER, call, 5);
    made_code(m, NEXT - 5, call, 5);
    made_code(m, TRAMP, "\x48\xc7\xc0\x0f\0\0\0\x0f\x05", 9);
}

struct scene {
    struct unwind_files *files;
    struct unwind_space *space;
    struct unwind_regs regs;
    uint64_t words[WORDS];
    uint64_t pcs[16];
    size_t n;
    bool ends; /* with the words */
    enum unwind_end end;
};

static struct scene *scene_of(const struct made *m)
{
    static int serial;
    struct scene *s = mem_new(struct scene);
    autofree char *path = mem_printf("%s/made%d", folder, serial++);
    struct unwind_map file = {AT, AT + MADE_BYTES, 0, path, NULL, 0};
    struct unwind_map jit = {JIT, JIT + 0x1000, 0, "", NULL, 0};
    made_write(m, path);
    s->files = unwind_files_new();
    s->space = unwind_space_new(s->files);
    unwind_space_map(s->space, &file);
    unwind_space_map(s->space, &jit);
    s->regs.sp = STACK;
    return s;
}

static struct scene *scene_new(void)
{
    struct made m;
    made_all(&m);
    return scene_of(&m);
}

static void scene_free(struct scene *s)
{
    unwind_space_free(s->space);
    unwind_files_free(s->files);
    free(s);
}

static void walk_words(struct scene *s, size_t n)
{
    struct unwind_stack stack = {STACK, (const uint8_t *)s->words, n * 8, s->ends};
    s->n = unwind_walk(s->space, &s->regs, &stack, s->pcs, 16, &s->end);
}

/* The walk is these addresses, counted from AT, and ends like that. */
#define assert_walk(s, how, ...)                                              \
    do {                                                                      \
        const uint64_t want[] = {__VA_ARGS__};                                \
        walk_words(s, WORDS);                                                 \
        assert_string_equal(unwind_end_name((s)->end), unwind_end_name(how)); \
        assert_int_equal((s)->n, sizeof want / sizeof *want);                 \
        for (size_t i_ = 0; i_ < (s)->n; i_++)                                \
            assert_int_equal((s)->pcs[i_], AT + want[i_]);                    \
    } while (0)

/* --- signals --- */

/* The words of a signal frame at I: what was interrupted. */
static void put_signal(struct scene *s, size_t i, uint64_t pc, uint64_t sp, uint64_t fp)
{
    const struct arch_regs *at = &arch_x86_64.signal;
    s->words[i + at->pc / 8] = pc;
    s->words[i + at->sp / 8] = sp;
    s->words[i + at->fp / 8] = fp;
}

/*
 * The signal came in at the first byte of NEXT. Its rule is not that of the byte before, and its
 * name is not that of the function before either: so it is given plus one, the trampoline too.
 */
static void signal_frame_is_where_it_came_in(void **state)
{
    (void)state;
    struct scene *s = scene_new();
    s->regs.pc = AT + NEXT;
    s->words[0] = AT + TRAMP;
    put_signal(s, 1, AT + NEXT, STACK + 8 * 100, 7);
    s->words[100] = AT + BOTTOM + 5;
    s->words[101] = AT + CALLER + 5; /* where the rule of the byte before would look */
    assert_walk(s, UNWIND_WHOLE, NEXT, TRAMP + 1, NEXT + 1, BOTTOM + 5);
    s->regs.pc = AT + TRAMP + 7; /* stopped in the trampoline itself */
    s->regs.sp = STACK + 8;
    assert_walk(s, UNWIND_WHOLE, TRAMP + 7, NEXT + 1, BOTTOM + 5);
    s->regs.pc = AT + TRAMP + 9; /* in its system call, which is its last instruction */
    assert_walk(s, UNWIND_WHOLE, TRAMP + 9, NEXT + 1, BOTTOM + 5);
    scene_free(s);
}

static void handlers_may_be_nested(void **state)
{
    (void)state;
    struct scene *s = scene_new();
    s->regs.pc = AT + NEXT;
    s->words[0] = AT + TRAMP;
    put_signal(s, 1, AT + PADDED, STACK + 8 * 100, 0);
    s->words[100] = AT + TRAMP;
    put_signal(s, 101, AT + CALLER, STACK + 8 * 200, 0);
    s->words[200] = AT + BOTTOM + 5;
    assert_walk(s, UNWIND_WHOLE, NEXT, TRAMP + 1, PADDED + 1, TRAMP + 1, CALLER + 1, BOTTOM + 5);
    scene_free(s);
}

/* What was interrupted is known, what called it is on the stack that was not copied. */
static void handler_on_a_stack_of_its_own(void **state)
{
    (void)state;
    static const uint64_t other[] = {0x7ffc00000000, STACK - 0x100000};
    struct scene *s = scene_new();
    s->regs.pc = AT + NEXT;
    s->words[0] = AT + TRAMP;
    for (int i = 0; i < 2; i++) {
        put_signal(s, 1, AT + CALLER, other[i], 0);
        assert_walk(s, UNWIND_ELSEWHERE, NEXT, TRAMP + 1, CALLER + 1);
    }
    put_signal(s, 1, AT + CALLER, STACK + 200 * 8, 0); /* not far: the copy is too small */
    walk_words(s, 150);
    assert_true(s->n == 3 && s->end == UNWIND_STACK_CUT);
    s->ends = true; /* or there is no more stack to copy: then it is not the copy's fault */
    walk_words(s, 150);
    assert_true(s->n == 3 && s->end != UNWIND_STACK_CUT);
    scene_free(s);
}

/* A stack that lies in the copy is walked, wherever it lies. */
static void handler_on_a_stack_in_the_copy(void **state)
{
    (void)state;
    struct scene *s = scene_new();
    s->regs.pc = AT + NEXT;
    s->regs.sp = STACK + 8 * 100;
    s->words[100] = AT + TRAMP;
    put_signal(s, 101, AT + NEXT, STACK + 8 * (WORDS - 2), 0);
    s->words[WORDS - 2] = AT + BOTTOM + 5;
    assert_walk(s, UNWIND_WHOLE, NEXT, TRAMP + 1, NEXT + 1, BOTTOM + 5);
    scene_free(s);
}

/* --- return addresses that no call put there --- */

static void bottom_of_a_coroutine(void **state)
{
    (void)state;
    struct scene *s = scene_new();
    s->regs.pc = AT + NEXT;
    s->words[0] = AT + START;
    assert_walk(s, UNWIND_WHOLE, NEXT, START + 1);
    s->words[0] = AT + PADDED; /* a plain function, planted as Go does */
    assert_walk(s, UNWIND_WHOLE, NEXT, PADDED + 1);
    scene_free(s);
}

/* A call that does not come back may be a function's last instruction. */
static void call_at_the_end_of_a_function(void **state)
{
    (void)state;
    struct scene *s = scene_new();
    s->regs.pc = AT + PADDED;
    s->words[0] = AT + NEXT; /* CALLER's rule: rsp + 16 */
    s->words[1] = AT + CALLER + 5;
    s->words[2] = AT + BOTTOM + 5;
    assert_walk(s, UNWIND_WHOLE, PADDED, NEXT, BOTTOM + 5);
    scene_free(s);
}

/* Stopped at the last byte before a function: that byte's own rule holds. */
static void last_byte_of_a_function(void **state)
{
    (void)state;
    struct made m;
    made_all(&m);
    made_code(&m, NEXT - 5, "\x90\x90\x90\x90\xc3", 5);
    struct scene *s = scene_of(&m);
    s->regs.pc = AT + NEXT - 1;
    s->words[0] = 1;
    s->words[1] = AT + BOTTOM + 5;
    assert_walk(s, UNWIND_WHOLE, NEXT - 1, BOTTOM + 5);
    scene_free(s);
}

static void return_address_in_a_register(void **state)
{
    (void)state;
    struct scene *s = scene_new();
    s->regs.pc = AT + VFORK + 4;
    s->regs.others[5] = AT + CALLER + 5;
    s->words[0] = AT + BOTTOM + 5;
    assert_walk(s, UNWIND_WHOLE, VFORK + 4, CALLER + 5, BOTTOM + 5);
    s->regs.pc = AT + VFORK; /* before the pop */
    s->words[0] = AT + CALLER + 5;
    s->words[1] = AT + BOTTOM + 5;
    assert_walk(s, UNWIND_WHOLE, VFORK, CALLER + 5, BOTTOM + 5);
    s->regs.pc = AT + VFORK + 4;
    s->regs.others[5] = 0x99;
    assert_walk(s, UNWIND_NO_SENSE, VFORK + 4);
    s->regs.pc = AT + NEXT; /* registers of the second frame are not known */
    s->regs.others[5] = AT + BOTTOM + 5;
    s->words[0] = AT + VFORK + 6;
    assert_walk(s, UNWIND_NO_SENSE, NEXT, VFORK + 6);
    scene_free(s);
}

/* --- code without rules --- */

/* push rbx; sub rsp, 16; call; add rsp, 16; pop rbx; ret */
static const char bare[] = "\x53\x48\x83\xec\x10\xe8\x10\0\0\0\x48\x83\xc4\x10\x5b\xc3";

static struct scene *scene_bare(const char *code, size_t n)
{
    struct made m;
    made_all(&m);
    memset(m.bytes + BARE, 0xf4, 0x80);
    made_code(&m, BARE, code, n);
    made_code(&m, BARE + 0x1a, "\xc3", 1); /* what `bare` calls */
    return scene_of(&m);
}

static void code_tells_where_its_return_address_is(void **state)
{
    (void)state;
    static const struct {
        uint64_t pc, sp;
    } at[] = {{0, 3}, {1, 2}, {5, 0}, {10, 0}, {14, 2}, {15, 3}};
    struct scene *s = scene_bare(bare, sizeof bare - 1);
    s->words[2] = 0x1234;
    s->words[3] = AT + CALLER + 5;
    s->words[4] = AT + BOTTOM + 5;
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        s->regs.pc = AT + BARE + at[i].pc;
        s->regs.sp = STACK + at[i].sp * 8;
        assert_walk(s, UNWIND_WHOLE, BARE + at[i].pc, CALLER + 5, BOTTOM + 5);
    }
    s->regs.pc = AT + NEXT; /* and as a caller */
    s->regs.sp = STACK;
    memmove(s->words + 1, s->words, 8 * 8);
    s->words[0] = AT + BARE + 10;
    assert_walk(s, UNWIND_WHOLE, NEXT, BARE + 10, CALLER + 5, BOTTOM + 5);
    scene_free(s);
}

/* je; pop rbp; ret; pop rbx; pop rbp; ret: one of the paths belongs to another function. */
static void stack_tells_which_path_is_right(void **state)
{
    (void)state;
    struct scene *s = scene_bare("\x74\x02\x5d\xc3\x5b\x5d\xc3", 7);
    s->regs.pc = AT + BARE;
    s->words[2] = AT + BOTTOM + 5;
    assert_walk(s, UNWIND_WHOLE, BARE, BOTTOM + 5);
    s->words[2] = 0;
    s->words[1] = AT + BOTTOM + 5;
    assert_walk(s, UNWIND_WHOLE, BARE, BOTTOM + 5);
    s->words[2] = AT + BOTTOM + 5; /* both fit: that is no knowledge */
    assert_walk(s, UNWIND_GUESSED, BARE, BOTTOM + 5);
    scene_free(s);
}

/* What follows no call is no return address, though it be code. */
static void code_is_not_believed_against_the_stack(void **state)
{
    (void)state;
    struct scene *s = scene_bare(bare, sizeof bare - 1);
    s->regs.pc = AT + BARE + 5;
    s->words[3] = AT + CALLER + 9;
    assert_walk(s, UNWIND_NO_RULE, BARE + 5);
    s->words[3] = AT + PADDED; /* a pointer to a function */
    assert_walk(s, UNWIND_NO_RULE, BARE + 5);
    scene_free(s);
}

/* A frame pointer of 0 means nothing in code that does not keep one. */
static void zero_is_no_bottom(void **state)
{
    (void)state;
    struct scene *s = scene_bare("\xff\xe0", 2); /* jmp *rax */
    s->regs.pc = AT + NEXT;
    s->words[0] = AT + BARE + 2;
    assert_walk(s, UNWIND_NO_RULE, NEXT, BARE + 2);
    scene_free(s);
}

static void leaf_that_never_returns_is_a_guess(void **state)
{
    (void)state;
    struct scene *s = scene_bare("\xff\xe0", 2);
    s->regs.pc = AT + BARE;
    s->words[0] = AT + CALLER + 5;
    s->words[1] = AT + BOTTOM + 5;
    assert_walk(s, UNWIND_GUESSED, BARE, CALLER + 5, BOTTOM + 5);
    scene_free(s);
}

/* JIT code without frame pointers: the nearest word that fits and leads to the bottom. */
static void search_for_the_caller_of_jit_code(void **state)
{
    (void)state;
    struct scene *s = scene_new();
    s->regs.pc = JIT + 0x10;
    s->regs.fp = 5;
    s->words[1] = AT + PADDED;     /* a pointer */
    s->words[2] = AT + CALLER + 5; /* left over: it leads nowhere */
    s->words[3] = 0x77;
    s->words[6] = AT + CALLER + 5;
    s->words[7] = AT + BOTTOM + 5;
    assert_walk(s, UNWIND_GUESSED, JIT - AT + 0x10, CALLER + 5, BOTTOM + 5);
    s->words[7] = 0x78;
    assert_walk(s, UNWIND_NO_RULE, JIT - AT + 0x10);
    scene_free(s);
}

/* The frame pointer that the caller needs lies below its return address. */
static void search_finds_the_frame_pointer(void **state)
{
    (void)state;
    static const char by_fp[] = {0x0d, 6}; /* the CFA is rbp + 8 */
    struct made m;
    made_all(&m);
    made_fde(&m, m.plain, 0x1700, 0x40, (struct text){by_fp, 2});
    made_code(&m, 0x1700, call, 5);
    struct scene *s = scene_of(&m);
    s->regs.pc = JIT;
    s->words[1] = STACK + 9 * 8;
    s->words[2] = AT + 0x1705;
    s->words[9] = AT + BOTTOM + 5;
    assert_walk(s, UNWIND_GUESSED, JIT - AT, 0x1705, BOTTOM + 5);
    scene_free(s);
}

/* A rule that cannot be right at the first address is dropped for a guess. */
static void misleading_first_rule(void **state)
{
    (void)state;
    struct scene *s = scene_new();
    s->regs.pc = AT + CALLER + 8; /* rsp + 16 */
    s->words[0] = 0x44;
    s->words[1] = 0x55;
    assert_walk(s, UNWIND_NO_RULE, CALLER + 8);
    s->words[2] = AT + BOTTOM + 5;
    assert_walk(s, UNWIND_GUESSED, CALLER + 8, BOTTOM + 5);
    scene_free(s);
}

/* Rules further down are believed: where they lead nowhere the walk ends, and says so. */
static void misleading_second_rule(void **state)
{
    (void)state;
    struct scene *s = scene_new();
    s->regs.pc = AT + NEXT;
    s->words[0] = AT + CALLER + 5;
    s->words[1] = 0x55;
    s->words[2] = AT + BOTTOM + 5;
    assert_walk(s, UNWIND_NO_MAP, NEXT, CALLER + 5);
    s->words[0] = 0; /* and no caller at all is a bottom, not a guess */
    assert_walk(s, UNWIND_WHOLE, NEXT);
    scene_free(s);
}

/* The last bytes of a mapping may be a call. */
static void call_at_the_end_of_a_mapping(void **state)
{
    (void)state;
    static const char undefined[] = {0x07, 16};
    struct made m;
    made_all(&m);
    made_fde(&m, m.plain, MADE_BYTES - 0x10, 0x10, (struct text){undefined, 2});
    made_code(&m, MADE_BYTES - 5, call, 5);
    made_code(&m, BARE, "\x5d\xc3", 2);
    struct scene *s = scene_of(&m);
    s->regs.pc = AT + BARE;
    s->words[1] = AT + MADE_BYTES;
    assert_walk(s, UNWIND_WHOLE, BARE, MADE_BYTES);
    scene_free(s);
}

/* xor ebp, ebp; pop rdi; call *r9; mov edi, eax; xor eax, eax; mov al, 60; syscall; hlt */
static const char thread_start[] = "\x31\xed\x5f\x41\xff\xd1\x89\xc7\x31\xc0\xb0\x3c\x0f\x05\xf4";

static void bottom_of_a_thread(void **state)
{
    (void)state;
    struct scene *s = scene_bare(thread_start, sizeof thread_start - 1);
    s->regs.pc = AT + NEXT;
    s->words[0] = AT + BARE + 6;
    assert_walk(s, UNWIND_WHOLE, NEXT, BARE + 6);
    scene_free(s);
    char without[sizeof thread_start];
    memcpy(without, thread_start, sizeof without);
    without[0] = without[1] = (char)0x90; /* no cleared rbp: a function that exits */
    s = scene_bare(without, sizeof without - 1);
    s->regs.pc = AT + NEXT;
    s->words[0] = AT + BARE + 6;
    assert_walk(s, UNWIND_NO_RULE, NEXT, BARE + 6);
    scene_free(s);
}

/* The function that calls main and then exit has no ret; the entry point has called it. */
static void what_calls_main_is_no_guess(void **state)
{
    (void)state;
    /* push rbx; call *rax; mov edi, eax; call (to ud2); ud2 */
    static const char first[] = "\x53\xff\xd0\x89\xc7\xe8\0\0\0\0\x0f\x0b";
    struct scene *s = scene_bare(first, sizeof first - 1);
    s->regs.pc = AT + NEXT;
    s->words[0] = AT + BARE + 3;
    s->words[2] = AT + BOTTOM + 5;
    assert_walk(s, UNWIND_WHOLE, NEXT, BARE + 3, BOTTOM + 5);
    s->words[3] = AT + BOTTOM + 5;
    s->words[1] = AT + CALLER + 5; /* left over, leads nowhere: but perhaps there was a frame */
    s->words[2] = 0x77;
    assert_walk(s, UNWIND_GUESSED, NEXT, BARE + 3, BOTTOM + 5);
    s->words[2] = AT + BOTTOM + 5; /* the walk fits from there as well */
    assert_walk(s, UNWIND_GUESSED, NEXT, BARE + 3, CALLER + 5, BOTTOM + 5);
    scene_free(s);
}

/* ld.so and musl have no rules for it. */
static void entry_point_is_the_bottom(void **state)
{
    (void)state;
    struct made m;
    made_all(&m);
    made_code(&m, BARE, "\x48\x31\xed\xe8\0\0\0\0\x0f\x1f\x44\0\0", 13);
    m.tiny.head.e_entry = BARE;
    struct scene *s = scene_of(&m);
    s->regs.pc = AT + BARE;
    assert_walk(s, UNWIND_WHOLE, BARE);
    s->regs.pc = AT + NEXT;
    s->words[0] = AT + BARE + 8;
    assert_walk(s, UNWIND_WHOLE, NEXT, BARE + 8);
    scene_free(s);
}

/* A trampoline without rules is known by its code. */
static void trampoline_without_rules(void **state)
{
    (void)state;
    struct scene *s = scene_bare("\x48\xc7\xc0\x0f\0\0\0\x0f\x05", 9);
    s->regs.pc = AT + NEXT;
    s->words[0] = AT + BARE;
    put_signal(s, 1, AT + PADDED, STACK + 8 * 100, 0);
    s->words[100] = AT + BOTTOM + 5;
    assert_walk(s, UNWIND_WHOLE, NEXT, BARE + 1, PADDED + 1, BOTTOM + 5);
    assert_true(unwind_space_is_trampoline(s->space, AT + BARE));
    assert_true(unwind_space_is_trampoline(s->space, AT + TRAMP));
    assert_false(unwind_space_is_trampoline(s->space, AT + NEXT));
    assert_false(unwind_space_is_trampoline(s->space, JIT));
    scene_free(s);
}

/* A handler without rules returns to the kernel's trampoline, which no call precedes. */
static void handler_without_rules(void **state)
{
    (void)state;
    struct scene *s = scene_bare(bare, sizeof bare - 1);
    s->regs.pc = AT + BARE + 5;
    s->words[3] = AT + TRAMP;
    put_signal(s, 4, AT + PADDED, STACK + 8 * 100, 0);
    s->words[100] = AT + BOTTOM + 5;
    assert_walk(s, UNWIND_WHOLE, BARE + 5, TRAMP + 1, PADDED + 1, BOTTOM + 5);
    scene_free(s);
}

/* A chain of frame pointers ends where a signal came in. */
static void frame_pointers_end_at_a_signal(void **state)
{
    (void)state;
    struct scene *s = scene_bare("\xff\xe0", 2);
    s->regs.pc = JIT;
    s->regs.fp = STACK;
    s->words[0] = 0;
    s->words[1] = AT + TRAMP;
    put_signal(s, 2, AT + BARE, STACK + 8 * 100, 0);
    assert_walk(s, UNWIND_NO_RULE, JIT - AT, TRAMP + 1, BARE + 1);
    scene_free(s);
}

static void every_end_has_a_name(void **state)
{
    (void)state;
    for (int i = 0; i < UNWIND_ENDS; i++)
        assert_non_null(unwind_end_name((enum unwind_end)i));
    assert_true(unwind_end_is_bottom(UNWIND_WHOLE) && unwind_end_is_bottom(UNWIND_GUESSED));
    assert_false(unwind_end_is_bottom(UNWIND_ELSEWHERE));
}

/* --- files --- */

static const struct unwind_table *table_at(struct unwind_files *files, const char *path)
{
    struct unwind_space *space = unwind_space_new(files);
    struct unwind_map map = {AT, AT + MADE_BYTES, 0, path, NULL, 0};
    struct unwind_code code = {0};
    unwind_space_map(space, &map);
    assert_true(unwind_space_code(space, 0, &code));
    assert_false(unwind_space_code(space, 1, &code));
    unwind_space_free(space);
    return code.table;
}

/* Tables are shared by all that map a file, and read anew when it has changed. */
static void a_file_is_read_once_unless_it_changes(void **state)
{
    (void)state;
    struct made m;
    struct unwind_files *files = unwind_files_new();
    autofree char *path = mem_printf("%s/shared", folder), *other = mem_printf("%s/other", folder);
    autofree char *link_to = mem_printf("%s/link", folder);
    made_all(&m);
    made_write(&m, path);
    made_write(&m, other);
    assert_int_equal(link(path, link_to), 0);
    const struct unwind_table *table = table_at(files, path);
    assert_non_null(table);
    assert_ptr_equal(table_at(files, path), table);
    assert_ptr_equal(table_at(files, link_to), table);
    assert_ptr_not_equal(table_at(files, other), table);
    struct timespec times[2] = {{1000, 5}, {1000, 5}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    const struct unwind_table *again = table_at(files, path);
    assert_ptr_not_equal(again, table);
    times[1].tv_nsec = 6;
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    assert_ptr_not_equal(table_at(files, path), again);
    assert_null(table_at(files, "/nowhere/at/all"));
    assert_null(table_at(files, folder)); /* no file */
    unwind_files_free(files);
}

/* --- made-up stacks --- */

/* Rules of every kind, and code without rules that says where its return address is. */
static void made_more(struct made *m)
{
    static const struct {
        uint16_t at;
        struct text rules;
    } functions[] = {
        {0x1700, {"\x41\x0e\x10\x86\x02\x43\x0d\x06", 8}}, /* push rbp; then rbp + 16 */
        {0x1740, {"\x0c\x06\x10\x86\x02\x83\x03", 7}},     /* rbp + 16, rbx saved */
        {0x1780, {"\x0c\x03\x08", 3}},                     /* rbx + 8 */
        {0x17c0, {"\x0c\x0c\x10", 3}},                     /* r12 + 16 */
        {0x1800, {"\x0f\x03\x77\x08\x06", 5}},             /* *(rsp + 8) */
        {0x1840, {"\x0f\x05\x77\x18\x06\x23\x08", 7}},     /* *(rsp + 24) + 8 */
        {0x1880, {"\x0f\x03\x76\x78\x06", 5}},             /* *(rbp - 8) */
        {0x18c0, {"\x0e\x20\x86\x03\x83\x04", 6}},         /* rsp + 32, both saved */
        {0x1900, {"\x0e\x18\x07\x06", 4}},                 /* rbp is lost */
        {0x1940, {"\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22", 13}}, /* a PLT */
    };
    made_all(m);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        made_fde(m, m->plain, functions[i].at, 0x30, functions[i].rules);
        made_code(m, functions[i].at + 3, call, 5);
        made_code(m, functions[i].at + 0x2b, call, 5);
    }
    made_code(m, 0x1a00, "\x55\x48\x89\xe5\xe8\0\0\0\0\x5d\xc3", 11);
    made_code(m, 0x1a20, "\x53\x48\x83\xec\x10\xe8\0\0\0\0\x48\x83\xc4\x10\x5b\xc3", 16);
    made_code(m, 0x1a40, "\xe8\0\0\0\0\x74\x02\x5d\xc3\x5b\x5d\xc3", 12);
    made_code(m, 0x1a60, "\xe8\0\0\0\0\x0f\x0b", 7);
    made_code(m, 0x1a80, "\x0f\x05", 2);
    made_code(m, 0x1aa0, "\x31\xed\xe8\0\0\0\0\xf4", 8);
}

static uint64_t made_pc(uint64_t *seed)
{
    static const uint16_t into[] = {0, 1, 5, 8, 0x30, 0x40, 10, 4, 9, 7};
    static const uint16_t starts[] = {BOTTOM, CALLER, CALLER, NEXT,   PADDED, START,  TRAMP,
                                      BARE,   VFORK,  0x1700, 0x1740, 0x1780, 0x17c0, 0x1800,
                                      0x1840, 0x1880, 0x18c0, 0x1900, 0x1940, 0x1a00, 0x1a20,
                                      0x1a40, 0x1a60, 0x1a80, 0x1aa0};
    uint32_t start = starts[numbers_random(seed, sizeof starts / sizeof *starts)];
    return AT + start + into[numbers_random(seed, sizeof into / sizeof *into)];
}

static uint64_t made_word(uint64_t *seed, uint32_t i)
{
    switch (numbers_random(seed, 8)) {
    case 0:
        return STACK + 8 * (i + numbers_random(seed, 12));
    case 1:
        return numbers_random(seed, 3);
    case 2:
        return JIT + numbers_random(seed, 64);
    case 3:
        return AT + BOTTOM + 5;
    default:
        return made_pc(seed);
    }
}

static void numbers_of_walks(struct buf *b)
{
    struct made m;
    made_more(&m);
    struct scene *s = scene_of(&m);
    uint64_t seed = 1;
    for (size_t group = 0; group < 100; group++) {
        uint64_t hash = NUMBERS_HASH_START;
        size_t ends[UNWIND_ENDS] = {0}, frames = 0;
        for (size_t k = 0; k < 60; k++) {
            size_t n = k % 9 == 8 ? numbers_random(&seed, 40) : 300;
            for (uint32_t i = 0; i < 300; i++)
                s->words[i] = made_word(&seed, i);
            s->regs = (struct unwind_regs){.sp = STACK};
            s->regs.pc = k % 7 == 6 ? JIT + 8 : made_pc(&seed);
            s->regs.fp = k % 5 == 4 ? numbers_random(&seed, 2) * 0x7013
                                    : STACK + 8 * numbers_random(&seed, 20);
            s->regs.extra = made_word(&seed, 3);
            for (size_t i = 0; i < 16; i++)
                s->regs.others[i] = made_word(&seed, 2);
            walk_words(s, n);
            ends[s->end]++;
            frames += s->n;
            hash = numbers_hash(hash, s->end);
            for (size_t i = 0; i < s->n; i++)
                hash = numbers_hash(hash, s->pcs[i]);
        }
        buf_printf(b, "walks %zu: %zu frames, ends", group, frames);
        for (size_t i = 0; i < UNWIND_ENDS; i++)
            buf_printf(b, " %zu", ends[i]);
        buf_printf(b, ", %016llx\n", (unsigned long long)hash);
    }
    scene_free(s);
}

static const struct numbers_part parts[] = {NUMBERS_PART(walks)};

static void walks_of_made_up_stacks_are_as_they_were(void **state)
{
    (void)state;
    numbers_compare(parts, 1);
}

static int set_up(void **state)
{
    (void)state;
    setenv("XDG_CACHE_HOME", mkdtemp(folder), 1);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return support_remove(folder);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signal_frame_is_where_it_came_in),
        cmocka_unit_test(handlers_may_be_nested),
        cmocka_unit_test(handler_on_a_stack_of_its_own),
        cmocka_unit_test(handler_on_a_stack_in_the_copy),
        cmocka_unit_test(bottom_of_a_coroutine),
        cmocka_unit_test(call_at_the_end_of_a_function),
        cmocka_unit_test(last_byte_of_a_function),
        cmocka_unit_test(return_address_in_a_register),
        cmocka_unit_test(code_tells_where_its_return_address_is),
        cmocka_unit_test(stack_tells_which_path_is_right),
        cmocka_unit_test(code_is_not_believed_against_the_stack),
        cmocka_unit_test(zero_is_no_bottom),
        cmocka_unit_test(leaf_that_never_returns_is_a_guess),
        cmocka_unit_test(search_for_the_caller_of_jit_code),
        cmocka_unit_test(search_finds_the_frame_pointer),
        cmocka_unit_test(misleading_first_rule),
        cmocka_unit_test(misleading_second_rule),
        cmocka_unit_test(call_at_the_end_of_a_mapping),
        cmocka_unit_test(bottom_of_a_thread),
        cmocka_unit_test(what_calls_main_is_no_guess),
        cmocka_unit_test(entry_point_is_the_bottom),
        cmocka_unit_test(trampoline_without_rules),
        cmocka_unit_test(handler_without_rules),
        cmocka_unit_test(frame_pointers_end_at_a_signal),
        cmocka_unit_test(every_end_has_a_name),
        cmocka_unit_test(a_file_is_read_once_unless_it_changes),
        cmocka_unit_test(walks_of_made_up_stacks_are_as_they_were),
    };
    (void)argv;
    if (argc > 1) {
        set_up(NULL);
        numbers_write("unwind_guess", parts, 1);
        return tear_down(NULL);
    }
    return cmocka_run_group_tests_name("stacks without rules", tests, set_up, tear_down);
}
