/*
 * Names from everything but ELF files: the kernel's list, perf maps, jitdumps, and mangled names.
 */
#include "model/modules.h"
#include "symbol/demangle.h"
#include "symbol/jitdump.h"
#include "symbol/symbolize.h"

#include <elf.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>

// clang-format off
#include <setjmp.h>
#include <cmocka.h>

#include "support.h"
// clang-format on

static char *folder;

static char *in_folder(const char *name)
{
    return mem_printf("%s/%s", folder, name);
}

static void write_file(const char *name, const void *bytes, size_t n)
{
    autofree char *path = in_folder(name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static struct frame_id add_frame(struct profile *p, const char *path, uint64_t pc, int kind)
{
    struct mapping m = {.path = profile_add_str(p, text_of(path))};
    struct frame_key key = {.pc = pc, .mapping = profile_add_mapping(p, &m)};
    key.kind = (enum frame_kind)kind;
    return profile_add_frame(p, &key);
}

/* The outermost name of a frame; "" if it has none. */
static const char *name_of(const struct profile *p, struct frame_id id)
{
    const struct frame *f = profile_frame(p, id);
    return f->n_lines ? profile_function_name(p, profile_lines(p, f)->function).at : "";
}

/* --- demangling --- */

static void check_demangled(const char *mangled, const char *expected)
{
    autobuf struct buf b = {0};
    buf_str(&b, "x");
    bool done = demangle(mangled, &b);
    assert_string_equal(buf_cstr(&b) + 1, expected);
    assert_int_equal(done, expected[0] != 0);
}

static void names_are_shown_without_parameters(void **state)
{
    (void)state;
    check_demangled("_ZN3app4runnEi", "app::runn");
    check_demangled("_ZNSt6vectorIiSaIiEE2atEm", "std::vector<int, std::allocator<int> >::at");
    check_demangled("_ZN12_GLOBAL__N_13fooEv", "(anonymous namespace)::foo");
    check_demangled("_ZZ4mainENKUliE_clEi", "main::{lambda(int)#1}::operator()");
    check_demangled("_ZN3fooEv.part.0", "foo");
    check_demangled("main", "");
    check_demangled("_Zfoo", "");
    check_demangled("_", "");
    check_demangled("", "");
}

static void rust_names_lose_their_hashes(void **state)
{
    (void)state;
    check_demangled("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad");
    check_demangled("_RNvCs1234_7mycrate3foo", "mycrate::foo");
}

static void long_cxx_names_are_demangled_too(void **state)
{
    (void)state;
    autobuf struct buf in = {0}, out = {0};
    buf_str(&in, "_ZN");
    for (int i = 0; i < 300; i++)
        buf_str(&in, "6longer");
    buf_str(&in, "3endEv");
    assert_true(demangle(buf_cstr(&in), &out));
    assert_true(text_ends(buf_text(&out), "longer::end"));
}

static void names_that_unfold_to_gigabytes_are_left_alone(void **state)
{
    (void)state;
    autobuf struct buf in = {0}, out = {0};
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    buf_str(&in, "_Z1fI1AIiiE"); /* then each argument is made of two of the one before */
    for (size_t i = 1; i < sizeof digits - 1; i++)
        buf_printf(&in, "S0_IS%c_S%c_E", digits[i], digits[i]);
    buf_str(&in, "Evv");
    assert_false(demangle(buf_cstr(&in), &out));
    in.n = 0;
    buf_str(&in, "_Z1f");
    while (in.n < DEMANGLE_INPUT_MAX - 1)
        buf_byte(&in, 'P');
    buf_byte(&in, 'i');
    demangle(buf_cstr(&in), &out);
    buf_str(&in, "iiii");
    out.n = 0;
    assert_false(demangle(buf_cstr(&in), &out));
}

/* --- the kernel --- */

static void kernel_addresses_are_named_from_the_list(void **state)
{
    (void)state;
    static const char list[] = "ffffffff81000000 T _stext\n"
                               "ffffffff81000100 t do_work\n"
                               "ffffffff81000100 T __do_work\n"
                               "ffffffff81000180 t walk.isra.0\n"
                               "ffffffff810001c0 T __ia32_sys_read\n"
                               "ffffffff810001c0 T __x64_sys_read\n"
                               "ffffffff81000200 D some_data\n"
                               "nonsense\n"
                               "ffffffffc0000000 t ext4_read\t[ext4]\n";
    write_file("kallsyms", list, sizeof list - 1);
    struct profile *p = profile_new();
    struct frame_id start = add_frame(p, "[kernel.kallsyms]", 0xffffffff810000ff, FRAME_KERNEL);
    struct frame_id work = add_frame(p, "[kernel.kallsyms]", 0xffffffff81000100, FRAME_KERNEL);
    struct frame_id data = add_frame(p, "[kernel.kallsyms]", 0xffffffff81000210, FRAME_KERNEL);
    struct frame_id module = add_frame(p, "[ext4]", 0xffffffffc0000010, FRAME_KERNEL);
    struct frame_id before = add_frame(p, "[kernel.kallsyms]", 0xffffffff80000000, FRAME_KERNEL);
    struct frame_id part = add_frame(p, "[kernel.kallsyms]", 0xffffffff81000184, FRAME_KERNEL);
    struct frame_id call = add_frame(p, "[kernel.kallsyms]", 0xffffffff810001c4, FRAME_KERNEL);
    autofree char *path = in_folder("kallsyms");
    struct symbolize_result r = symbolize(p, &(struct symbolize_opts){.kallsyms = path});
    assert_string_equal(name_of(p, start), "_stext");
    assert_string_equal(name_of(p, work), "__do_work"); /* global before local */
    assert_string_equal(name_of(p, data), "");
    assert_string_equal(name_of(p, module), "ext4_read");
    assert_string_equal(name_of(p, before), "");
    assert_string_equal(name_of(p, part), "walk");
    assert_string_equal(name_of(p, call), "__x64_sys_read");
    assert_int_equal(r.frames, 7);
    assert_int_equal(r.named, 5);
    assert_int_equal(profile_frame(p, work)->kind, FRAME_KERNEL);
    profile_free(p);
}

/* Addresses change at each boot; where _text was then and is now tells by how much. */
static void a_kernel_of_another_boot_is_named_where_text_is_known(void **state)
{
    (void)state;
    static const char list[] = "ffffffff81000000 T _text\nffffffff81000100 T do_work\n"
                               "ffffffff81000200 T do_more\n";
    write_file("booted", list, sizeof list - 1);
    uint64_t moved = 0x1c00000;
    struct profile *p = profile_new();
    struct mapping m = {.path = profile_add_str(p, text_of("[kernel.kallsyms]")),
                        .start = 0xffffffff81000000 + moved,
                        .end = 0xffffffff82000000 + moved,
                        .offset = 0xffffffff81000000 + moved};
    struct frame_key key = {.pc = 0xffffffff81000104 + moved,
                            .mapping = profile_add_mapping(p, &m),
                            .kind = FRAME_KERNEL};
    struct frame_id f = profile_add_frame(p, &key);
    autofree char *path = in_folder("booted");
    symbolize(p, &(struct symbolize_opts){.kallsyms = path});
    assert_string_equal(name_of(p, f), "do_work");
    assert_int_equal(profile_frame(p, f)->pc, key.pc);
    profile_free(p);
}

static void modules_without_a_single_name_are_known(void **state)
{
    (void)state;
    struct profile *p = profile_new();
    struct modules m;
    add_frame(p, "/bin/bare", 0x1000, FRAME_USER);
    struct frame_id place = add_frame(p, "/bin/bare", 0x2000, FRAME_USER);
    struct frame_id named = add_frame(p, "/bin/named", 0x1000, FRAME_USER);
    add_frame(p, "/bin/named", 0x2000, FRAME_USER);
    struct function at = {.name = profile_add_str(p, text_of("[bare+0x2000]"))};
    struct function work = {.name = profile_add_str(p, text_of("work"))};
    struct line lines[] = {{.function = profile_add_function(p, &at)},
                           {.function = profile_add_function(p, &work)}};
    struct mapping_id bare = profile_frame(p, place)->mapping;
    struct mapping_id other = profile_frame(p, named)->mapping;
    profile_set_frame(p, place, &(struct frame_key){0x2000, bare, FRAME_USER, &lines[0], 1});
    profile_set_frame(p, named, &(struct frame_key){0x1000, other, FRAME_USER, &lines[1], 1});
    modules_build(&m, p);
    const struct module_names *b = modules_find(&m, p, text_of("/bin/bare"));
    const struct module_names *n = modules_find(&m, p, text_of("/bin/named"));
    assert_true(b && module_is_bare(b) && b->frames == 2);
    assert_true(n && !module_is_bare(n) && n->frames == 2 && n->named == 1);
    assert_null(modules_find(&m, p, text_of("/bin/other")));
    modules_done(&m);
    profile_free(p);
}

/* Many system calls have one body for programs of 32 and of 64 bits. */
static void system_calls_have_their_64_bit_name(void **state)
{
    (void)state;
    static const char list[] = "ffffffff81000000 T __ia32_sys_read\n"
                               "ffffffff81000000 T __x64_sys_read\n"
                               "ffffffff81000100 T __x64_sys_write\n"
                               "ffffffff81000100 T __ia32_sys_write\n"
                               "ffffffff81000200 T __ia32_compat_sys_ioctl\n";
    write_file("kallsyms32", list, sizeof list - 1);
    struct profile *p = profile_new();
    struct frame_id reads = add_frame(p, "[kernel.kallsyms]", 0xffffffff81000010, FRAME_KERNEL);
    struct frame_id writes = add_frame(p, "[kernel.kallsyms]", 0xffffffff81000110, FRAME_KERNEL);
    struct frame_id compat = add_frame(p, "[kernel.kallsyms]", 0xffffffff81000210, FRAME_KERNEL);
    autofree char *path = in_folder("kallsyms32");
    symbolize(p, &(struct symbolize_opts){.kallsyms = path});
    assert_string_equal(name_of(p, reads), "__x64_sys_read");
    assert_string_equal(name_of(p, writes), "__x64_sys_write");
    assert_string_equal(name_of(p, compat), "__ia32_compat_sys_ioctl");
    profile_free(p);
}

static void hidden_kernel_addresses_name_nothing(void **state)
{
    (void)state;
    static const char list[] = "0000000000000000 T _stext\n0000000000000000 T do_work\n";
    write_file("hidden", list, sizeof list - 1);
    struct profile *p = profile_new();
    struct frame_id f = add_frame(p, "[kernel.kallsyms]", 0xffffffff81000100, FRAME_KERNEL);
    autofree char *path = in_folder("hidden");
    struct symbolize_result r = symbolize(p, &(struct symbolize_opts){.kallsyms = path});
    assert_string_equal(name_of(p, f), "");
    assert_int_equal(r.missing_files, 1);
    profile_free(p);
}

static void names_of_another_kernel_release_are_not_used(void **state)
{
    (void)state;
    static const char list[] = "ffffffff81000000 T _stext\nffffffff81000100 T do_work\n";
    struct utsname u;
    write_file("release", list, sizeof list - 1);
    autofree char *path = in_folder("release");
    assert_int_equal(uname(&u), 0);
    autofree char *this_one = mem_printf("Linux %s", u.release);
    autofree char *longer = mem_printf("Linux %s-other", u.release);
    const struct {
        const char *kernel, *name;
    } cases[] = {{this_one, "_stext"}, {longer, ""}, {"Linux 2.6.32", ""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct profile *p = profile_new();
        struct frame_id f = add_frame(p, "[kernel.kallsyms]", 0xffffffff81000010, FRAME_KERNEL);
        meta_set_str(&p->meta, META_KERNEL, cases[i].kernel);
        symbolize(p, &(struct symbolize_opts){.kallsyms = path});
        assert_string_equal(name_of(p, f), cases[i].name);
        profile_free(p);
    }
}

/* --- perf maps --- */

static void the_last_entry_of_a_perf_map_counts(void **state)
{
    (void)state;
    static const char map[] = "1000 100 old one\n1040 10 LazyCompile:*new /srv/a b.js:3\n"
                              "zz 10 bad\n\n1000 bad\nffffffffffffffff 10 wraps\n"
                              "0x2000 0x10 with prefix\r\n3000 10 last";
    write_file("perf-77.map", map, sizeof map - 1);
    struct profile *p = profile_new();
    struct frame_id old = add_frame(p, "/tmp/perf-77.map", 0x1050, FRAME_USER);
    struct frame_id new = add_frame(p, "/tmp/perf-77.map", 0x104f, FRAME_USER);
    struct frame_id prefix = add_frame(p, "/tmp/perf-77.map", 0x2000, FRAME_USER);
    struct frame_id last = add_frame(p, "/tmp/perf-77.map", 0x300f, FRAME_USER);
    struct frame_id none = add_frame(p, "/tmp/perf-77.map", 0x3010, FRAME_USER);
    struct frame_id gone = add_frame(p, "/tmp/perf-78.map", 0x1050, FRAME_USER);
    struct symbolize_result r = symbolize(p, &(struct symbolize_opts){.map_folder = folder});
    assert_string_equal(name_of(p, old), "old one");
    assert_string_equal(name_of(p, new), "LazyCompile:*new /srv/a b.js:3");
    assert_string_equal(name_of(p, prefix), "with prefix");
    assert_string_equal(name_of(p, last), "last");
    assert_string_equal(name_of(p, none), "");
    assert_string_equal(name_of(p, gone), "");
    assert_int_equal(profile_frame(p, new)->kind, FRAME_JIT);
    assert_int_equal(r.missing_files, 1);
    profile_free(p);
}

/* Frames named from the map of process 79 in the folder, and why not. */
static size_t named_by_map(enum symbolize_reason *ret_why, struct symbolize_opts o)
{
    symbolize_missing_list missing = {0};
    struct profile *p = profile_new();
    add_frame(p, "/tmp/perf-79.map", 0x1050, FRAME_USER);
    o.map_folder = folder;
    o.missing = &missing;
    size_t named = symbolize(p, &o).named;
    if (missing.n)
        *ret_why = missing.at[0].reason;
    vec_done(&missing);
    profile_free(p);
    return named;
}

static bool owner_is_4242(const void *arg, uint64_t pid, uid_t *ret)
{
    (void)arg;
    *ret = 4242;
    return pid == 79;
}

static void maps_of_other_users_are_not_believed(void **state)
{
    (void)state;
    static const char map[] = "1000 100 forged\n";
    enum symbolize_reason why = SYMBOLIZE_GONE;
    autofree char *path = in_folder("perf-79.map");
    write_file("perf-79.map", map, sizeof map - 1);
    assert_int_equal(named_by_map(&why, (struct symbolize_opts){0}), 1);
    if (chown(path, 4242, (gid_t)-1) != 0) {
        print_message("no right to give files away: skipped\n");
        return;
    }
    assert_int_equal(named_by_map(&why, (struct symbolize_opts){0}), 0);
    assert_int_equal(why, SYMBOLIZE_FOREIGN_MAP);
    assert_int_equal(named_by_map(&why, (struct symbolize_opts){.owner = owner_is_4242}), 1);
}

static void links_and_pipes_are_no_maps(void **state)
{
    (void)state;
    static const char map[] = "1000 100 linked\n";
    enum symbolize_reason why = SYMBOLIZE_GONE;
    autofree char *path = in_folder("perf-79.map"), *real = in_folder("real.map");
    write_file("real.map", map, sizeof map - 1);
    unlink(path);
    assert_int_equal(symlink(real, path), 0);
    assert_int_equal(named_by_map(&why, (struct symbolize_opts){0}), 0);
    assert_int_equal(why, SYMBOLIZE_NO_MAP);
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(named_by_map(&why, (struct symbolize_opts){0}), 0);
    unlink(path);
}

static void what_would_act_on_a_terminal_is_replaced(void **state)
{
    (void)state;
    static const char map[] = "1000 10 a\x1b[31mred\a\n2000 10 b\xc2\x9b"
                              "1m\n"
                              "3000 10 c\xe2\x80\xae"
                              "d\n4000 10 plain \xc3\xa9\n";
    write_file("perf-81.map", map, sizeof map - 1);
    struct profile *p = profile_new();
    static const char *const want[] = {"a?[31mred?", "b?1m", "c?d", "plain \xc3\xa9"};
    for (uint64_t i = 0; i < 4; i++)
        add_frame(p, "/tmp/perf-81.map", 0x1000 * (i + 1), FRAME_USER);
    symbolize(p, &(struct symbolize_opts){.map_folder = folder});
    for (uint32_t i = 0; i < 4; i++)
        assert_string_equal(name_of(p, (struct frame_id){i}), want[i]);
    profile_free(p);
}

/* --- jitdump --- */

static void add_header(struct buf *b, uint32_t machine, uint32_t pid)
{
    const uint32_t words[] = {0x4A695444, 1, 40, machine, 0, pid, 0, 0, 0, 0};
    buf_add(b, words, sizeof words);
}

static void add_record(struct buf *b, uint32_t kind, const struct buf *body)
{
    const uint32_t words[] = {kind, 16 + (uint32_t)body->n, 0, 0};
    buf_add(b, words, sizeof words);
    buf_add(b, body->at, body->n);
}

static void add_load(struct buf *b, uint64_t address, uint64_t size, uint64_t index,
                     const char *name)
{
    autobuf struct buf body = {0};
    const uint64_t words[] = {77ull << 32 | 77, address, address, size, index};
    buf_add(&body, words, sizeof words);
    buf_add(&body, name, strlen(name) + 1);
    for (uint64_t i = 0; i < size; i++)
        buf_byte(&body, 0xcc);
    add_record(b, 0, &body);
}

static void add_move(struct buf *b, uint64_t to, uint64_t size, uint64_t index)
{
    autobuf struct buf body = {0};
    const uint64_t words[] = {77ull << 32 | 77, to, 0x9999, to, size, index};
    buf_add(&body, words, sizeof words);
    add_record(b, 1, &body);
}

static void add_lines(struct buf *b, uint64_t address)
{
    autobuf struct buf body = {0};
    const uint64_t head[] = {address, 2, address, 10};
    buf_add(&body, head, sizeof head); /* the line, 10, and the discriminator, 0, as one word */
    buf_add(&body, "Main.java", 10);
    const uint64_t second[] = {address + 8, 12};
    buf_add(&body, second, sizeof second);
    buf_add(&body, "\xff", 2);
    add_record(b, 2, &body);
}

static void make_dump(struct buf *b, uint32_t machine, uint32_t pid)
{
    add_header(b, machine, pid);
    add_lines(b, 0x5000);
    add_load(b, 0x5000, 0x20, 1, "Main.run");
    add_load(b, 0x6000, 0x20, 2, "Main.gone");
    add_load(b, 0x6000, 0x20, 3, "Main.second");
    add_move(b, 0x7000, 0x20, 1);
    add_record(b, 3, &(struct buf){0});
}

#ifdef __aarch64__
enum { MACHINE = EM_AARCH64 };
#else
enum { MACHINE = EM_X86_64 };
#endif

static void a_jitdump_gives_names_files_and_lines(void **state)
{
    (void)state;
    autobuf struct buf b = {0};
    make_dump(&b, MACHINE, 77);
    write_file("jit-77.dump", b.at, b.n);
    autofree char *path = in_folder("jit-77.dump");
    struct profile *p = profile_new();
    struct frame_id run = add_frame(p, path, 0x5009, FRAME_USER);
    struct frame_id second = add_frame(p, path, 0x6001, FRAME_USER);
    struct frame_id moved = add_frame(p, path, 0x701f, FRAME_USER);
    struct frame_id none = add_frame(p, path, 0x7020, FRAME_USER);
    struct symbolize_result r = symbolize(p, NULL);
    assert_string_equal(name_of(p, run), "Main.run");
    const struct line *line = profile_lines(p, profile_frame(p, run));
    assert_int_equal(line->line, 12);
    struct str_id file = p->functions.at[line->function.i].file;
    assert_string_equal(profile_str(p, file).at, "Main.java");
    assert_string_equal(name_of(p, second), "Main.second");
    assert_string_equal(name_of(p, moved), "Main.run");
    assert_string_equal(name_of(p, none), "");
    assert_int_equal(r.with_lines, 1);
    assert_int_equal(profile_frame(p, run)->kind, FRAME_JIT);
    profile_free(p);
}

static uint64_t inverse(uint64_t odd)
{
    uint64_t x = odd;
    for (int i = 0; i < 6; i++)
        x *= 2 - odd * x;
    return x;
}

/* CPU time to name from a dump of N loads; numbered in turn or so that a plain hash is the same. */
static double time_of_dump(uint64_t n, bool chosen)
{
    autobuf struct buf b = {0};
    uint64_t first = inverse(0x9e3779b97f4a7c15u), last = inverse(0xd6e8feb86659fd93u);
    add_header(&b, MACHINE, 77);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t x = (12345ull << 32 | i) * last;
        x = (x ^ x >> 32) * first;
        add_load(&b, 0x5000 + i, 1, chosen ? x << 32 | x >> 32 : i, "f");
    }
    write_file("jit-77.dump", b.at, b.n);
    autofree char *path = in_folder("jit-77.dump");
    struct profile *p = profile_new();
    add_frame(p, path, 0x5009, FRAME_USER);
    clock_t start = clock();
    assert_int_equal(symbolize(p, NULL).named, 1);
    profile_free(p);
    return (double)(clock() - start) + 2000;
}

static void code_numbered_to_meet_costs_no_more(void **state)
{
    (void)state;
    double plain = time_of_dump(60000, false), chosen = time_of_dump(60000, true);
    if (chosen > 10 * plain)
        fail_msg("%.0f times as long", chosen / plain);
}

/* Frames named from a jitdump of these bytes, or -1 when it was refused. */
static int named_by(const void *bytes, size_t n)
{
    write_file("jit-77.dump", bytes, n);
    autofree char *path = in_folder("jit-77.dump");
    struct profile *p = profile_new();
    add_frame(p, path, 0x5009, FRAME_USER);
    add_frame(p, path, 0x701f, FRAME_USER);
    struct symbolize_result r = symbolize(p, NULL);
    profile_free(p);
    return r.missing_files ? -1 : (int)r.named;
}

static void a_jitdump_of_another_process_or_machine_is_refused(void **state)
{
    (void)state;
    autobuf struct buf other_pid = {0}, other_machine = {0}, own = {0};
    make_dump(&other_pid, MACHINE, 78);
    assert_int_equal(named_by(other_pid.at, other_pid.n), -1);
    make_dump(&other_machine, EM_PPC64, 77);
    assert_int_equal(named_by(other_machine.at, other_machine.n), -1);
    make_dump(&own, MACHINE, 77);
    assert_int_equal(named_by(own.at, own.n), 2);
}

static void a_jitdump_of_another_user_is_not_believed(void **state)
{
    (void)state;
    autobuf struct buf b = {0};
    make_dump(&b, MACHINE, 77);
    assert_int_equal(named_by(b.at, b.n), 2);
    autofree char *path = in_folder("jit-77.dump");
    if (chown(path, 4242, (gid_t)-1) != 0)
        print_message("no right to give files away: skipped\n");
    else
        assert_int_equal(named_by(b.at, b.n), -1);
    unlink(path);
}

static void a_cut_or_damaged_jitdump_does_no_harm(void **state)
{
    (void)state;
    autobuf struct buf b = {0};
    make_dump(&b, MACHINE, 77);
    for (size_t n = 0; n < b.n; n += 3)
        assert_true(named_by(b.at, n) <= 2);
    for (size_t i = 0; i < b.n; i++) {
        b.at[i] = (char)(b.at[i] ^ 0xff);
        assert_true(named_by(b.at, b.n) <= 2);
        b.at[i] = (char)(b.at[i] ^ 0xff);
    }
}

/* Records of KIND, 64 MB each, of which the disk holds nothing; then code. How much is named. */
static int named_behind(int n_large, uint32_t kind)
{
    enum { LARGE = 64 << 20 };
    autobuf struct buf front = {0}, load = {0};
    add_header(&front, MACHINE, 77);
    add_load(&load, 0x5000, 0x20, 1, "behind");
    write_file("jit-77.dump", front.at, front.n);
    autofree char *path = in_folder("jit-77.dump");
    FILE *f = fopen(path, "r+");
    off_t at = (off_t)front.n;
    for (int i = 0; i < n_large; i++, at += 16 + LARGE) {
        const uint32_t head[] = {kind, 16 + LARGE, 0, 0};
        fseeko(f, at, SEEK_SET);
        assert_int_equal(fwrite(head, sizeof head, 1, f), 1);
    }
    fseeko(f, at, SEEK_SET);
    assert_int_equal(fwrite(load.at, load.n, 1, f), 1);
    assert_int_equal(fclose(f), 0);
    struct profile *p = profile_new();
    add_frame(p, path, 0x5009, FRAME_USER);
    struct symbolize_result r = symbolize(p, NULL);
    profile_free(p);
    unlink(path);
    return (int)r.named;
}

static void a_jitdump_without_end_is_read_up_to_a_limit(void **state)
{
    (void)state;
    enum { LINES = 2, UNWINDING = 4, MOST = JITDUMP_MAX_BYTES / (64 << 20) };
    assert_int_equal(named_behind(MOST - 1, LINES), 1);
    assert_int_equal(named_behind(MOST, LINES), 0);
    assert_int_equal(named_behind(4 * MOST, UNWINDING),
                     1); /* what is stepped over does not count */
}

static void a_perf_map_of_tiny_entries_takes_no_more_memory_than_the_file(void **state)
{
    (void)state;
    enum { ENTRIES = 5000000 };
    struct rusage before, after;
    autobuf struct buf b = {0};
    buf_str(&b, "5000 10 wanted\n");
    for (int i = 0; i < ENTRIES; i++)
        buf_str(&b, "1 1 a\n");
    write_file("perf-77.map", b.at, b.n);
    autofree char *path = in_folder("perf-77.map");
    struct profile *p = profile_new();
    struct frame_id wanted = add_frame(p, path, 0x5009, FRAME_USER);
    getrusage(RUSAGE_SELF, &before);
    symbolize(p, NULL);
    getrusage(RUSAGE_SELF, &after);
    assert_string_equal(name_of(p, wanted), "wanted");
    assert_in_range(after.ru_maxrss - before.ru_maxrss, 0, 100 << 10);
    profile_free(p);
    unlink(path);
}

/* --- modules without names --- */

static void memory_without_a_file_stays_bare(void **state)
{
    (void)state;
    static const char *const paths[] = {"", "//anon", "[heap]", "/memfd:x (deleted)", "[anon]"};
    struct profile *p = profile_new();
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        add_frame(p, paths[i], 0x1000 + i, FRAME_USER);
    add_frame(p, "/no/such/file", 0x1000, FRAME_USER);
    struct symbolize_result r = symbolize(p, NULL);
    assert_int_equal(r.frames, 6);
    assert_int_equal(r.named, 0);
    assert_int_equal(r.missing_files, 1);
    profile_free(p);
}

static int make_folder(void **state)
{
    (void)state;
    char template[] = "/tmp/kelvin-names-XXXXXX";
    folder = mem_strdup(mkdtemp(template));
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    int rc = support_remove(folder);
    free(folder);
    return rc;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_shown_without_parameters),
        cmocka_unit_test(rust_names_lose_their_hashes),
        cmocka_unit_test(long_cxx_names_are_demangled_too),
        cmocka_unit_test(names_that_unfold_to_gigabytes_are_left_alone),
        cmocka_unit_test(kernel_addresses_are_named_from_the_list),
        cmocka_unit_test(a_kernel_of_another_boot_is_named_where_text_is_known),
        cmocka_unit_test(modules_without_a_single_name_are_known),
        cmocka_unit_test(system_calls_have_their_64_bit_name),
        cmocka_unit_test(hidden_kernel_addresses_name_nothing),
        cmocka_unit_test(names_of_another_kernel_release_are_not_used),
        cmocka_unit_test(the_last_entry_of_a_perf_map_counts),
        cmocka_unit_test(maps_of_other_users_are_not_believed),
        cmocka_unit_test(links_and_pipes_are_no_maps),
        cmocka_unit_test(what_would_act_on_a_terminal_is_replaced),
        cmocka_unit_test(a_jitdump_gives_names_files_and_lines),
        cmocka_unit_test(code_numbered_to_meet_costs_no_more),
        cmocka_unit_test(a_jitdump_of_another_process_or_machine_is_refused),
        cmocka_unit_test(a_jitdump_of_another_user_is_not_believed),
        cmocka_unit_test(a_cut_or_damaged_jitdump_does_no_harm),
        cmocka_unit_test(a_jitdump_without_end_is_read_up_to_a_limit),
        cmocka_unit_test(a_perf_map_of_tiny_entries_takes_no_more_memory_than_the_file),
        cmocka_unit_test(memory_without_a_file_stays_bare),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
