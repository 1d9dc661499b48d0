/*
 * Walking the stacks of real programs, built in many ways, against what backtrace(3) says.
 */
#include "base/buf.h"
#include "base/reader.h"
#include "tiny_elf.h"
#include "unwind/arch.h"
#include "unwind/walk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "support.h"

enum { DEPTH_MAX = 4096 };

static char folder[] = "/tmp/kelvin-walk-XXXXXX";

/* --- running a program of tests/target and reading what it captured --- */

struct capture {
    struct unwind_regs regs;
    struct unwind_stack stack;
    const uint64_t *expected;
    size_t n_expected;
};

struct run {
    struct unwind_files *files;
    struct unwind_space *space;
    struct buf bytes; /* of the file of captures */
    size_t at;
};

/* Under an emulator compilers and what they build are of the other machine: tools/aarch64.sh. */
static bool can_build(const char *compiler, const char *flags, const char *source)
{
    if (getenv("KELVIN_EMULATED"))
        return false;
    autofree char *line = mem_printf("%s %s -pthread -o %s/program tests/target/%s 2>%s/errors",
                                     compiler, flags, folder, source, folder);
    return system(line) == 0;
}

static void build(const char *compiler, const char *flags, const char *source)
{
    if (can_build(compiler, flags, source))
        return;
    print_message("no '%s %s' here\n", compiler, flags);
    skip();
}

static void read_file(const char *path, struct buf *ret)
{
    struct reader in;
    struct err err;
    assert_int_equal(reader_open(&in, path, &err), 0);
    for (struct text t; (t = reader_peek(&in, 1)).n > 0; reader_take(&in, t.n))
        buf_add(ret, t.at, t.n);
    reader_close(&in);
}

static void map_line(struct unwind_space *s, char *line)
{
    struct unwind_map m = {0};
    char rights[8], path[256] = "";
    unsigned long start, end, offset;
    if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %255s", &start, &end, rights, &offset, path) < 4)
        return;
    m = (struct unwind_map){start, end, offset, path, NULL, 7};
    if (rights[2] == 'x')
        unwind_space_map(s, &m);
}

static void map_all(struct unwind_space *s, const char *path)
{
    FILE *f = fopen(path, "r");
    char line[1024];
    assert_non_null(f);
    while (fgets(line, sizeof line, f))
        map_line(s, line);
    fclose(f);
}

static struct run start(const char *mode, int depth)
{
    struct run r = {.files = unwind_files_new()};
    autofree char *line = mem_printf("%s/program %s %d %s/out", folder, mode, depth, folder);
    autofree char *out = mem_printf("%s/out", folder), *maps = mem_printf("%s/out.maps", folder);
    assert_int_equal(system(line), 0);
    r.space = unwind_space_new(r.files);
    read_file(out, &r.bytes);
    map_all(r.space, maps);
    return r;
}

static void end(struct run *r)
{
    unwind_space_free(r->space);
    unwind_files_free(r->files);
    buf_done(&r->bytes);
}

static const uint64_t *take(struct run *r, size_t n)
{
    const uint64_t *words = (const uint64_t *)(void *)(r->bytes.at + r->at);
    assert_true(n <= (r->bytes.n - r->at) / 8);
    r->at += n * 8;
    return words;
}

static bool next(struct run *r, struct capture *ret)
{
    if (r->at == r->bytes.n)
        return false;
    const uint64_t *h = take(r, 5);
    ret->regs = (struct unwind_regs){.pc = h[0], .sp = h[1], .fp = h[2], .extra = h[3]};
    ret->stack = (struct unwind_stack){h[1], (const uint8_t *)take(r, h[4]), h[4] * 8};
    ret->n_expected = *take(r, 1);
    ret->expected = take(r, ret->n_expected);
    return true;
}

/* --- comparing --- */

/* The place where a signal came in we give plus one. */
static bool same_address(uint64_t ours, uint64_t theirs)
{
    return ours == theirs || ours == theirs + 1;
}

static bool same_stack(struct run *r, const struct capture *c, bool tell)
{
    uint64_t pcs[DEPTH_MAX];
    enum unwind_end why;
    size_t n = unwind_walk(r->space, &c->regs, &c->stack, pcs, DEPTH_MAX, &why);
    size_t same = 1; /* the first are two places in one function */
    while (same < n && same < c->n_expected && same_address(pcs[same], c->expected[same]))
        same++;
    if (why == UNWIND_WHOLE && n == c->n_expected && same == n)
        return true;
    if (tell)
        print_message(
            "# %s from %s+%lx: %zu frames, %zu expected, the first %zu agree; then %lx, not %lx\n",
            unwind_end_name(why), unwind_space_find(r->space, pcs[n - 1] - 1)->path,
            (unsigned long)unwind_space_vaddr(r->space, pcs[n - 1]), n, c->n_expected, same,
            same < n ? (unsigned long)pcs[same] : 0,
            same < c->n_expected ? (unsigned long)c->expected[same] : 0);
    return false;
}

/* Every stack of a run is as it should be, and at least DEPTH deep. */
static void check_run(const char *mode, int depth)
{
    struct run r = start(mode, depth);
    struct capture c;
    int n = 0;
    for (; next(&r, &c); n++) {
        assert_true(same_stack(&r, &c, true));
        assert_true(c.n_expected > (size_t)depth || strcmp(mode, "sampled") == 0);
    }
    assert_true(n >= (strcmp(mode, "sampled") == 0 ? 60 : 1));
    end(&r);
}

static void check_depths(const char *mode)
{
    static const int depths[] = {5, 50, 200};
    for (int i = 0; i < 3; i++)
        check_run(mode, depths[i]);
}

#define FLAGS "-O2 -g0 -fomit-frame-pointer "

/* --- ways of building --- */

static void c_without_frame_pointers(void **state)
{
    (void)state;
    build("gcc", FLAGS, "deep.c");
    check_depths("here");
    check_depths("thread");
    check_depths("signal");
    check_depths("sampled");
}

static void c_with_frame_pointers(void **state)
{
    (void)state;
    build("gcc", "-O1 -fno-omit-frame-pointer", "deep.c");
    check_depths("here");
    check_run("sampled", 50);
}

static void cxx_with_lambdas_and_exceptions(void **state)
{
    (void)state;
    build("g++", FLAGS, "deep_cxx.cc");
    check_depths("here");
    check_depths("sampled");
}

static void lazy_binding(void **state)
{
    (void)state;
    build("g++", FLAGS "-Wl,-z,lazy", "deep_cxx.cc");
    check_run("sampled", 5);
    build("gcc", FLAGS "-Wl,-z,lazy -fcf-protection -Wl,-z,ibtplt", "deep.c");
    check_run("sampled", 5);
}

static void layouts_of_linkers(void **state)
{
    static const struct {
        const char *compiler, *flags;
    } ways[] = {
        {"gcc", FLAGS "-Wl,-z,separate-code"},
        {"gcc", FLAGS "-Wl,-z,noseparate-code"},
        {"gcc", FLAGS "-no-pie -fno-pie"},
        {"gcc", FLAGS "-static"},
        {"gcc", FLAGS "-static-pie"},
        {"gcc", FLAGS "-Wl,-z,max-page-size=0x200000"},
        {"clang", FLAGS "-fuse-ld=lld"},
        {"clang", FLAGS "-fuse-ld=lld -no-pie"},
        {"clang", FLAGS "-fuse-ld=lld -Wl,-z,separate-code"},
        {"clang", FLAGS "-fuse-ld=lld -Wl,--no-rosegment"},
        {"gcc", FLAGS "-fuse-ld=mold"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        if (!can_build(ways[i].compiler, ways[i].flags, "deep.c")) {
            print_message("not tried, for want of it: %s %s\n", ways[i].compiler, ways[i].flags);
            continue;
        }
        check_run("here", 50);
        check_run("signal", 5);
    }
}

static void without_section_headers(void **state)
{
    (void)state;
    build("gcc", FLAGS "-s", "deep.c");
    autofree char *line = mem_printf(
        "python3 -c \"f=open('%s/program','r+b'); f.seek(40); f.write(bytes(8)); f.seek(58); "
        "f.write(bytes(6))\"",
        folder);
    assert_int_equal(system(line), 0);
    check_run("here", 50);
}

/* Rules in .debug_frame only, which may be packed. */
static void only_debug_frame(void **state)
{
    (void)state;
    build("gcc", "-O2 -g -fomit-frame-pointer -gz=zlib -fno-asynchronous-unwind-tables -rdynamic",
          "deep.c");
    struct run r = start("sampled", 20);
    struct capture c;
    enum unwind_end why;
    uint64_t pcs[DEPTH_MAX];
    while (next(&r, &c)) {
        size_t n = unwind_walk(r.space, &c.regs, &c.stack, pcs, DEPTH_MAX, &why);
        assert_int_equal(why, UNWIND_WHOLE);
        assert_true(n >= c.n_expected); /* backtrace has no rules for the program */
    }
    end(&r);
}

/* --- stacks that cannot be walked whole --- */

static void cut_stack(void **state)
{
    (void)state;
    build("gcc", FLAGS, "deep.c");
    struct run r = start("here", 200);
    struct capture c;
    uint64_t pcs[DEPTH_MAX], before = 0;
    enum unwind_end why;
    assert_true(next(&r, &c));
    for (size_t bytes = 0; bytes < c.stack.n; bytes += 500) {
        struct unwind_stack part = {c.stack.start, c.stack.bytes, bytes};
        size_t n = unwind_walk(r.space, &c.regs, &part, pcs, DEPTH_MAX, &why);
        if (why != UNWIND_WHOLE)
            assert_int_equal(why, UNWIND_STACK_CUT);
        assert_true(n >= before && n <= c.n_expected);
        for (size_t i = 1; i < n; i++)
            assert_true(pcs[i] == c.expected[i]);
        before = n;
    }
    assert_true(before > 100);
    end(&r);
}

static void asked_for_few(void **state)
{
    (void)state;
    build("gcc", FLAGS, "deep.c");
    struct run r = start("here", 50);
    struct capture c;
    uint64_t pcs[10];
    enum unwind_end why;
    assert_true(next(&r, &c));
    assert_int_equal(unwind_walk(r.space, &c.regs, &c.stack, pcs, 10, &why), 10);
    assert_int_equal(why, UNWIND_DEEP);
    assert_int_equal(unwind_walk(r.space, &c.regs, &c.stack, pcs, 0, &why), 0);
    end(&r);
}

/* Any registers and any stack: an answer, and no byte outside of the copy is read. */
static void nonsense(void **state)
{
    (void)state;
    build("gcc", FLAGS, "deep.c");
    struct run r = start("here", 200);
    struct capture c;
    uint64_t pcs[DEPTH_MAX], random = 1;
    enum unwind_end why;
    assert_true(next(&r, &c));
    uint8_t *bytes = mem_calloc(1, c.stack.n);
    for (int i = 0; i < 3000; i++) {
        memcpy(bytes, c.stack.bytes, c.stack.n);
        for (int k = 0; k < 20; k++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            bytes[(random >> 33) % c.stack.n] ^= (uint8_t)(1 << (random >> 29) % 8);
        }
        struct unwind_stack copy = {c.stack.start, bytes, c.stack.n - random % 64};
        struct unwind_regs regs = c.regs;
        if (i % 3 == 0)
            regs.fp = random;
        if (i % 5 == 0)
            regs.pc = c.expected[i % c.n_expected];
        if (i % 7 == 0)
            regs.sp = UINT64_MAX - random % 32;
        assert_true(unwind_walk(r.space, &regs, &copy, pcs, DEPTH_MAX, &why) >= 1);
        assert_true(why < UNWIND_ENDS);
    }
    free(bytes);
    end(&r);
}

/* --- stacks made by hand: code without a file --- */

/* A stack at 0x7000; JIT code at 0x100000. */
static size_t walk_made(const uint64_t *words, size_t n, struct unwind_regs regs, uint64_t *pcs,
                        enum unwind_end *ret)
{
    struct unwind_files *files = unwind_files_new();
    struct unwind_space *s = unwind_space_new(files);
    struct unwind_map jit = {0x100000, 0x110000, 0, "", NULL, 0};
    struct unwind_stack stack = {0x7000, (const uint8_t *)words, n * 8};
    unwind_space_map(s, &jit);
    struct unwind_code code;
    assert_true(unwind_space_code(s, 0, &code));
    assert_true(code.start == jit.start && code.end == jit.end && !code.table);
    assert_false(unwind_space_code(s, 1, &code)); /* there is but one */
    n = unwind_walk(s, &regs, &stack, pcs, 16, ret);
    unwind_space_free(s);
    unwind_files_free(files);
    return n;
}

static void jit_code_by_frame_pointer(void **state)
{
    (void)state;
    uint64_t words[] = {1, 2, 0x7028, 0x100200, 3, 0x7040, 0x100300, 4, 0, 0x100400};
    uint64_t pcs[16], right[] = {0x100100, 0x100200, 0x100300, 0x100400};
    struct unwind_regs regs = {.pc = 0x100100, .sp = 0x7000, .fp = 0x7010};
    enum unwind_end why;
    assert_int_equal(walk_made(words, 10, regs, pcs, &why), 4);
    assert_int_equal(why, UNWIND_WHOLE);
    assert_memory_equal(pcs, right, sizeof right);
    assert_int_equal(walk_made(words, 9, regs, pcs, &why), 3);
    assert_int_equal(why, UNWIND_STACK_CUT);
    words[6] = 0x99;
    assert_int_equal(walk_made(words, 10, regs, pcs, &why), 2);
    assert_int_equal(why, UNWIND_NO_MAP);
    regs.fp = 0x6ff0;
    assert_int_equal(walk_made(words, 10, regs, pcs, &why), 1);
    assert_int_equal(why, UNWIND_NO_RULE);
}

static void frame_pointers_that_go_round(void **state)
{
    (void)state;
    uint64_t words[] = {1, 2, 0x7010, 0x100200};
    uint64_t pcs[16];
    struct unwind_regs regs = {.pc = 0x100100, .sp = 0x7000, .fp = 0x7010};
    enum unwind_end why;
    assert_int_equal(walk_made(words, 4, regs, pcs, &why), 2);
    assert_int_equal(why, UNWIND_NO_RULE);
}

/* --- another processor --- */

/* A file for aarch64 with this program for its function, mapped at 0x100000. */
static struct unwind_space *map_tiny(struct unwind_files *files, const char *program, size_t n)
{
    static const char cie[] = "\x0c\x1f"; /* def_cfa sp+0 */
    struct tiny t;
    autofree char *path = mem_printf("%s/tiny%zu", folder, n);
    struct unwind_space *s = unwind_space_new(files);
    struct unwind_map m = {0x100000, 0x101000, 0, path, NULL, 0};
    tiny_init(&t, EM_AARCH64);
    size_t bytes = tiny_frames(&t, (struct text){cie, sizeof cie}, (struct text){program, n});
    FILE *f = fopen(path, "w");
    assert_int_equal(fwrite(&t, 1, bytes, f), bytes);
    fclose(f);
    unwind_space_map(s, &m);
    return s;
}

/*
 * From byte 16 on: stp x29, x30, [sp, #-16]!, signed with pointer authentication. The last call
 * ends the function: its return address is past it, and still the function's rule holds.
 */
static void aarch64_frames(void **state)
{
    (void)state;
    static const char program[] = "\x50\x2d\x0e\x10\x9d\x02\x9e\x01";
    struct unwind_files *files = unwind_files_new();
    struct unwind_space *s = map_tiny(files, program, sizeof program - 1);
    uint64_t words[] = {0x7777, UINT64_C(0x5a00000000100060), 0x8888, 0x100140, 9, 0};
    struct unwind_stack stack = {0x7000, (const uint8_t *)words, sizeof words};
    struct unwind_regs leaf = {.pc = 0x100044, .sp = 0x7000, .fp = 1, .extra = 0x100058};
    uint64_t pcs[16], right[] = {0x100044, 0x100058, 0x100060, 0x100140};
    enum unwind_end why;
    assert_int_equal(unwind_walk(s, &leaf, &stack, pcs, 16, &why), 4);
    assert_int_equal(why, UNWIND_WHOLE);
    assert_memory_equal(pcs, right, sizeof right);
    /* A caller that did not save its return address has lost it: no endless walk. */
    leaf.extra = 0x100048;
    assert_true(unwind_walk(s, &leaf, &stack, pcs, 16, &why) == 2 && why == UNWIND_NO_SENSE);
    unwind_space_free(s);
    unwind_files_free(files);
}

/* A copy that stops where memory does, at the end of a page: what is needed may lie behind it. */
static void ends_where_memory_does(void **state)
{
    (void)state;
    static const char program[] = "\x50\x2d\x0e\x10\x9d\x02\x9e\x01";
    struct unwind_files *files = unwind_files_new();
    struct unwind_space *s = map_tiny(files, program, sizeof program - 1);
    uint64_t words[] = {0x8fe0}, pcs[16];
    struct unwind_regs leaf = {.pc = 0x100058, .sp = 0x7ff8, .fp = 1, .extra = 0x100058};
    struct unwind_stack stack = {0x7ff8, (const uint8_t *)words, sizeof words, false};
    enum unwind_end why;
    unwind_walk(s, &leaf, &stack, pcs, 16, &why);
    assert_int_equal(why, UNWIND_STACK_CUT);
    stack.ends = true;
    unwind_walk(s, &leaf, &stack, pcs, 16, &why);
    assert_int_equal(why, UNWIND_ABSENT);
    stack.start = leaf.sp = 0x7ff0; /* in the middle of a page: there was no more */
    unwind_walk(s, &leaf, &stack, pcs, 16, &why);
    assert_int_equal(why, UNWIND_NO_SENSE);
    unwind_space_free(s);
    unwind_files_free(files);
}

/* --- spaces --- */

static void map(struct unwind_space *s, uint64_t start_, uint64_t end_, uint32_t id)
{
    unwind_space_map(s, &(struct unwind_map){start_, end_, start_, "//anon", NULL, id});
}

static uint32_t id_at(const struct unwind_space *s, uint64_t pc)
{
    const struct unwind_map *m = unwind_space_find(s, pc);
    if (m)
        assert_true(m->start <= pc && pc < m->end && m->offset == m->start);
    return m ? m->user_id : 0;
}

static void maps_over_maps(void **state)
{
    (void)state;
    struct unwind_files *files = unwind_files_new();
    struct unwind_space *s = unwind_space_new(files);
    map(s, 0x1000, 0x9000, 1);
    map(s, 0x3000, 0x5000, 2);
    map(s, 0x8000, 0xa000, 3);
    map(s, 0x4fff, 0x5001, 4);
    static const uint64_t at[] = {0xfff, 0x1000, 0x3000, 0x4ffe, 0x5000, 0x5001, 0x8000, 0xa000};
    static const uint32_t id[] = {0, 1, 2, 2, 4, 1, 3, 0};
    for (int i = 0; i < 8; i++)
        assert_int_equal(id_at(s, at[i]), id[i]);
    struct unwind_space *fork = unwind_space_copy(s);
    map(s, 0, 0x10000, 5);
    assert_int_equal(id_at(s, 0x5000), 5);
    assert_int_equal(id_at(fork, 0x5000), 4);
    unwind_space_clear(s);
    assert_int_equal(id_at(s, 0x5000), 0);
    assert_int_equal(unwind_space_vaddr(s, 0x5000), 0x5000);
    unwind_space_free(s);
    unwind_space_free(fork);
    unwind_files_free(files);
}

/* An unmapped file is not asked any more, though its rules were just used. */
static void another_file_at_the_same_place(void **state)
{
    (void)state;
    build("gcc", FLAGS, "deep.c");
    struct run r = start("here", 5);
    struct capture c;
    uint64_t pcs[DEPTH_MAX];
    enum unwind_end why;
    assert_true(next(&r, &c) && same_stack(&r, &c, true));
    map(r.space, 0, UINT64_MAX, 1);
    unwind_walk(r.space, &c.regs, &c.stack, pcs, DEPTH_MAX, &why);
    assert_int_not_equal(why, UNWIND_WHOLE);
    end(&r);
}

/* --- registers --- */

static void registers_of_perf(void **state)
{
    (void)state;
    const struct arch_regs *n = &arch_host()->perf;
    const uint8_t *others = arch_host()->perf_others;
    uint64_t mask = UINT64_C(1) << n->pc | UINT64_C(1) << n->sp | UINT64_C(1) << n->fp |
                    UINT64_C(1) << n->extra;
    for (int i = 0; i < ARCH_OTHERS && others; i++)
        mask |= UINT64_C(1) << others[i];
    assert_true(mask == unwind_perf_regs_mask);
    struct unwind_regs r;
    uint64_t all[64];
    for (uint64_t i = 0; i < 64; i++)
        all[i] = 100 + i;
    assert_true(unwind_regs_from_mask(0, UINT64_MAX, all, &r));
    assert_true(r.pc == 100u + n->pc && r.sp == 100u + n->sp && r.fp == 100u + n->fp &&
                r.extra == 100u + n->extra);
    assert_false(unwind_regs_from_mask(0, mask & ~(UINT64_C(1) << n->sp), all, &r));
    assert_true(unwind_regs_from_mask(0, mask & ~(UINT64_C(1) << n->extra), all, &r));
    assert_true(r.extra == 0);
    unwind_regs_from_perf(all, &r);
    assert_true(r.pc == 100u + (unsigned)__builtin_popcountll(mask & ((1ull << n->pc) - 1)));
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(c_without_frame_pointers),
        cmocka_unit_test(c_with_frame_pointers),
        cmocka_unit_test(cxx_with_lambdas_and_exceptions),
        cmocka_unit_test(lazy_binding),
        cmocka_unit_test(layouts_of_linkers),
        cmocka_unit_test(without_section_headers),
        cmocka_unit_test(only_debug_frame),
        cmocka_unit_test(cut_stack),
        cmocka_unit_test(asked_for_few),
        cmocka_unit_test(nonsense),
        cmocka_unit_test(jit_code_by_frame_pointer),
        cmocka_unit_test(frame_pointers_that_go_round),
        cmocka_unit_test(aarch64_frames),
        cmocka_unit_test(ends_where_memory_does),
        cmocka_unit_test(maps_over_maps),
        cmocka_unit_test(another_file_at_the_same_place),
        cmocka_unit_test(registers_of_perf),
    };
    return cmocka_run_group_tests_name("walking stacks", tests, set_up, tear_down);
}
