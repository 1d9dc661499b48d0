/*
 * Names, lines and inlined functions from ELF files and their debug information. The files are
 * compiled here, so the tests need a compiler and binutils, as the build does.
 */
#include "base/buf.h"
#include "symbol/elffile.h"
#include "symbol/symbolize.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

// clang-format off
#include <setjmp.h>
#include <cmocka.h>

#include "support.h"
// clang-format on

static char *folder;

/* The line numbers are part of the test. */
static const char source[] = "#include <stdio.h>\n"
                             "static inline __attribute__((always_inline)) int leaf(int x)\n"
                             "{\n"
                             "    __asm__ volatile(\"nop\");\n" /* 4 */
                             "    return x;\n"
                             "}\n"
                             "static inline __attribute__((always_inline)) int middle(int x)\n"
                             "{\n"
                             "    return leaf(x) + 1;\n" /* 9 */
                             "}\n"
                             "__attribute__((noinline)) int outer(int x)\n"
                             "{\n"
                             "    return middle(x) * 3;\n" /* 13 */
                             "}\n"
                             "__attribute__((noinline)) static int hidden(int x)\n"
                             "{\n"
                             "    __asm__ volatile(\"nop\");\n"
                             "    return puts(\"hidden\") + x;\n"
                             "}\n"
                             "int __alias(int x) __attribute__((alias(\"outer_too\"), weak));\n"
                             "int outer_too(int x) { return hidden(x) + 2; }\n"
                             "__asm__(\".globl bare\\n.text\\nbare: nop\\nnop\\nret\\n\");\n";

/* --- tools --- */

/* Run a line of shell in the folder. */
static bool run(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static bool run(const char *fmt, ...)
{
    char line[2000];
    va_list args;
    va_start(args, fmt);
    vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    autofree char *whole = mem_printf("cd '%s' && { %s; } >log 2>&1", folder, line);
    return system(whole) == 0;
}

/* Address and size of a symbol, by nm. */
static void find_symbol(const char *file, const char *name, uint64_t *ret_start, uint64_t *ret_size)
{
    unsigned long long start = 0, size = 0;
    autofree char *line = mem_printf("nm -S '%s/%s' | grep ' %s$'", folder, file, name);
    FILE *f = popen(line, "r");
    assert_non_null(f);
    assert_true(fscanf(f, "%llx %llx", &start, &size) >= 1);
    pclose(f);
    *ret_start = start;
    *ret_size = size;
}

struct asked {
    struct profile *p;
    struct symbolize_result result;
};

/* Ask for N addresses from START in FILE, which was running with BUILD_ID. */
static struct asked ask(const char *file, const char *build_id, uint64_t start, uint64_t n,
                        struct symbolize_opts opts)
{
    struct asked a = {.p = profile_new()};
    autofree char *path = mem_printf("%s/%s", folder, file);
    struct mapping m = {.path = profile_add_str(a.p, text_of(path)),
                        .build_id = profile_add_str(a.p, text_of(build_id))};
    struct mapping_id id = profile_add_mapping(a.p, &m);
    for (uint64_t i = 0; i < n; i++)
        profile_add_frame(a.p, &(struct frame_key){.pc = start + i, .mapping = id});
    opts.no_debuginfod = true;
    a.result = symbolize(a.p, &opts);
    return a;
}

/* "outer:13 middle:9 leaf:4" */
static void print_chain(const struct profile *p, const struct frame *f, struct buf *b)
{
    const struct line *lines = profile_lines(p, f);
    b->n = 0;
    for (uint16_t i = 0; i < f->n_lines; i++)
        buf_printf(b, "%s%s:%u", i ? " " : "", profile_function_name(p, lines[i].function).at,
                   lines[i].line);
    buf_cstr(b);
}

/* Whether a frame of A is printed as CHAIN. */
static bool has_chain(const struct asked *a, const char *chain)
{
    autobuf struct buf b = {0};
    for (size_t i = 0; i < a->p->frames.n; i++) {
        print_chain(a->p, &a->p->frames.at[i], &b);
        if (strcmp(b.at, chain) == 0)
            return true;
    }
    return false;
}

static void done(struct asked *a)
{
    profile_free(a->p);
}

static bool has_chain_in(const char *file, const char *symbols, const char *symbol,
                         const char *chain)
{
    uint64_t start, size;
    find_symbol(symbols, symbol, &start, &size);
    struct asked a = ask(file, "", start, size ? size : 3, (struct symbolize_opts){0});
    bool has = has_chain(&a, chain);
    done(&a);
    return has;
}

static void build_id_of(const char *file, char ret[2 * BUILD_ID_MAX + 1])
{
    struct elffile f;
    autofree char *path = mem_printf("%s/%s", folder, file);
    elf_version(EV_CURRENT);
    assert_int_equal(elffile_open(&f, path, (struct text){"", 0}), 0);
    elffile_build_id(f.elf, ret);
    elffile_close(&f);
    assert_true(strlen(ret) >= 16);
}

/* --- debug information --- */

static void inlined_functions_are_lines_of_the_frame(void **state)
{
    (void)state;
    static const char *const flags[] = {
        "gcc -O2 -g",
        "gcc -O2 -gdwarf-4",
        "gcc -O2 -g -gz",
        "gcc -O2 -gdwarf-5 -gsplit-dwarf",
        "clang -O2 -g",
        "clang -O2 -gdwarf-4",
        "clang -O2 -g -gsplit-dwarf",
    };
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        char compiler[8];
        sscanf(flags[i], "%7s", compiler);
        if (!run("command -v %s", compiler)) {
            print_message("no %s: skipped\n", compiler);
            continue;
        }
        assert_true(run("%s -shared -fPIC test.c -o inl.so", flags[i]));
        if (!has_chain_in("inl.so", "inl.so", "outer", "outer:13 middle:9 leaf:4"))
            fail_msg("no chain with %s", flags[i]);
        assert_true(has_chain_in("inl.so", "inl.so", "hidden", "hidden:17"));
        assert_true(has_chain_in("inl.so", "inl.so", "bare", "bare:0"));
    }
}

/* The first split unit of DW, whose file libdw has mapped. */
static bool find_split_unit(Dwarf *dw, Dwarf_Die *ret)
{
    Dwarf_CU *unit = NULL;
    Dwarf_Die die;
    while (dwarf_get_units(dw, unit, &unit, NULL, NULL, &die, ret) == 0)
        if (ret->addr)
            return true;
    return false;
}

static void debug_information_beside_a_program_may_be_cut_while_it_is_read(void **state)
{
    (void)state;
    struct elffile file;
    Dwarf_Die split, child;
    struct sigaction before, after;
    autofree char *cut = mem_printf("%s/cut.so", folder);
    sigaction(SIGBUS, NULL, &before);
    assert_true(run("rm -f *.dwo && gcc -O2 -g -gsplit-dwarf -shared -fPIC test.c -o cut.so"));
    assert_int_equal(elffile_open(&file, cut, (struct text){0}), 0);
    assert_non_null(elffile_dwarf(&file));
    assert_true(find_split_unit(file.dw, &split));
    assert_true(run("for f in *.dwo; do : >$f; done"));
    assert_true(dwarf_child(&split, &child) != 0); /* there is nothing, and we are alive */
    elffile_close(&file);
    sigaction(SIGBUS, NULL, &after);
    assert_true(before.sa_handler == after.sa_handler);
}

static void files_and_first_lines_are_known(void **state)
{
    (void)state;
    uint64_t start, size;
    find_symbol("all.so", "outer", &start, &size);
    struct asked a = ask("all.so", "", start, size, (struct symbolize_opts){0});
    const struct line *line = profile_lines(a.p, profile_frame(a.p, (struct frame_id){0}));
    const struct function *f = &a.p->functions.at[line->function.i];
    assert_int_equal(f->line, 11);
    autofree char *path = mem_printf("%s/test.c", folder);
    assert_string_equal(profile_str(a.p, f->file).at, path);
    assert_int_equal(a.result.frames, size);
    assert_int_equal(a.result.named, size);
    assert_int_equal(a.result.with_lines, size);
    done(&a);
}

static void without_inlines_the_outermost_function_stays(void **state)
{
    (void)state;
    uint64_t start, size;
    find_symbol("all.so", "outer", &start, &size);
    struct asked a = ask("all.so", "", start, size, (struct symbolize_opts){.no_inlines = true});
    for (size_t i = 0; i < a.p->frames.n; i++)
        assert_int_equal(a.p->frames.at[i].n_lines, 1);
    assert_true(has_chain(&a, "outer:13"));
    done(&a);
}

static void cxx_names_are_readable_and_keep_their_symbol(void **state)
{
    (void)state;
    if (!run("command -v g++")) {
        print_message("no g++: skipped\n");
        return;
    }
    assert_true(
        run("printf 'namespace app { template <class T> __attribute__((noinline)) T twice(T "
            "x) {\\nreturn x+x; } template int twice<int>(int); }\\n' >x.cc && "
            "g++ -O2 -g -shared -fPIC x.cc -o x.so"));
    uint64_t start, size;
    find_symbol("x.so", "_ZN3app5twiceIiEET_S1_", &start, &size);
    struct asked a = ask("x.so", "", start, size, (struct symbolize_opts){0});
    assert_true(has_chain(&a, "app::twice<int>:2"));
    const struct line *line = profile_lines(a.p, &a.p->frames.at[0]);
    struct str_id symbol = a.p->functions.at[line->function.i].system_name;
    assert_string_equal(profile_str(a.p, symbol).at, "_ZN3app5twiceIiEET_S1_");
    done(&a);
}

/* --- one name --- */

/*
 * As in the C library: what programs call "thing" is "__thing_inside" to its own file. Part of it
 * is split off, and its twin is folded into it.
 */
static const char aliases[] =
    "#include <stdlib.h>\n"
    "extern int seen;\n"
    "__attribute__((cold, noinline)) void grumble(int x) { seen += x; abort(); }\n"
    "__attribute__((visibility(\"hidden\"), noinline)) int __thing_inside(int x)\n"
    "{\n"
    "    if (__builtin_expect(x > seen * 3, 0)) { seen = x; grumble(x); }\n"
    "    return seen * x;\n"
    "}\n"
    "int thing(int x) __attribute__((alias(\"__thing_inside\")));\n"
    "int __thing(int x) __attribute__((alias(\"__thing_inside\")));\n"
    "int thing_with_tail(int x) __attribute__((alias(\"__thing_inside\")));\n"
    "int user(int x) { return __thing_inside(x) + 1; }\n";

static void make_aliases(void)
{
    autofree char *path = mem_printf("%s/alias.c", folder);
    FILE *f = fopen(path, "w");
    fputs(aliases, f);
    fclose(f);
    assert_true(run("gcc -O2 -g -shared -fPIC -Wl,--build-id alias.c -o alias.so && "
                    "strip -g alias.so -o alias-symbols.so && strip alias.so -o alias-bare.so"));
}

/* How many of the frames' outermost functions are called NAME. */
static size_t count_called(const struct asked *a, const char *name)
{
    size_t n = 0;
    for (size_t i = 0; i < a->p->frames.n; i++) {
        const struct line *lines = profile_lines(a->p, &a->p->frames.at[i]);
        n += lines && strcmp(profile_function_name(a->p, lines->function).at, name) == 0;
    }
    return n;
}

static void the_public_name_is_shown_with_and_without_debug_information(void **state)
{
    (void)state;
    static const char *const files[] = {"alias.so", "alias-symbols.so", "alias-bare.so"};
    uint64_t start, size;
    make_aliases();
    find_symbol("alias.so", "__thing_inside", &start, &size);
    for (size_t i = 0; i < 3; i++) {
        struct asked a = ask(files[i], "", start, size, (struct symbolize_opts){0});
        if (count_called(&a, "thing") != size)
            fail_msg("%s: not all of it is called 'thing'", files[i]);
        assert_true(i > 0 || a.result.with_lines == size);
        done(&a);
    }
}

/* A packed debug file used to be opened for many addresses only. */
static void names_do_not_depend_on_how_many_are_asked_for(void **state)
{
    (void)state;
    char id[2 * BUILD_ID_MAX + 1];
    uint64_t start, size;
    make_aliases();
    build_id_of("alias.so", id);
    find_symbol("alias.so", "__thing_inside", &start, &size);
    assert_true(run("mkdir -p few/.build-id/%.2s && objcopy --only-keep-debug "
                    "--compress-debug-sections=zlib alias.so few/.build-id/%.2s/%s.debug",
                    id, id, id + 2));
    autofree char *few = mem_printf("%s/few", folder);
    for (uint64_t n = 1; n <= 64; n *= 64) {
        struct asked a =
            ask("alias-bare.so", id, start, n, (struct symbolize_opts){.debug_folder = few});
        assert_int_equal(count_called(&a, "thing"), n < size ? n : size);
        assert_true(a.result.with_lines >= 1);
        done(&a);
    }
}

static void parts_split_off_have_the_name_of_the_whole(void **state)
{
    (void)state;
    uint64_t start, size;
    make_aliases();
    if (!run("nm alias.so | grep -q __thing_inside.cold")) {
        print_message("this compiler split nothing off: skipped\n");
        return;
    }
    find_symbol("alias.so", "__thing_inside.cold", &start, &size);
    assert_true(size > 0);
    static const char *const files[] = {"alias.so", "alias-symbols.so"};
    for (size_t i = 0; i < 2; i++) {
        struct asked a = ask(files[i], "", start, size, (struct symbolize_opts){0});
        assert_int_equal(count_called(&a, "thing"), size);
        done(&a);
    }
}

/* Local names: as perf does, so that what people look for is found. */
static void of_local_names_the_longest_is_shown(void **state)
{
    (void)state;
    assert_true(
        run("printf '.text\\n.type __memcpy_fast,@function\\n.type __memmove_fast,@function\\n"
            "__memcpy_fast:\\n__memmove_fast: nop\\nnop\\nret\\n"
            ".size __memcpy_fast, 3\\n.size __memmove_fast, 3\\n' >m.s && "
            "gcc -shared m.s -o m.so"));
    assert_true(has_chain_in("m.so", "m.so", "__memcpy_fast", "__memmove_fast:0"));
}

/* --- separate files --- */

static void a_stripped_file_gives_its_dynamic_symbols(void **state)
{
    (void)state;
    assert_true(run("cp all.so stripped.so && strip stripped.so"));
    assert_true(has_chain_in("stripped.so", "all.so", "outer", "outer:0"));
    assert_false(has_chain_in("stripped.so", "all.so", "hidden", "hidden:0"));
    /* its size is not known, and what came next may be gone */
    assert_false(has_chain_in("stripped.so", "all.so", "bare", "bare:0"));
}

static void packed_symbols_are_unpacked(void **state)
{
    (void)state;
    if (!run("command -v xz")) {
        print_message("no xz: skipped\n");
        return;
    }
    assert_true(run("objcopy -S --only-keep-debug all.so mini.debug; strip -g all.so -o mini && xz "
                    "-kf --format=xz mini && cp all.so packed.so && strip packed.so && objcopy "
                    "--add-section .gnu_debugdata=mini.xz packed.so"));
    assert_true(has_chain_in("packed.so", "all.so", "hidden", "hidden:0"));
}

/* Symbols, and after them 400 MB of zeros that pack to a few kilobytes. */
static void packed_symbols_may_not_unpack_to_gigabytes(void **state)
{
    (void)state;
    struct rusage before, after;
    if (!run("command -v xz")) {
        print_message("no xz: skipped\n");
        return;
    }
    assert_true(run("strip -g all.so -o bomb && truncate -s 400M bomb && xz -f -0 bomb && "
                    "cp all.so bomb.so && strip bomb.so && "
                    "objcopy --add-section .gnu_debugdata=bomb.xz bomb.so"));
    getrusage(RUSAGE_SELF, &before);
    assert_false(has_chain_in("bomb.so", "all.so", "hidden", "hidden:0"));
    assert_true(has_chain_in("bomb.so", "all.so", "outer", "outer:0"));
    getrusage(RUSAGE_SELF, &after);
    assert_true(after.ru_maxrss - before.ru_maxrss < 128 << 10); /* KB */
}

static void the_debug_link_is_followed_and_checked(void **state)
{
    (void)state;
    assert_true(run("gcc -O2 -g -shared -fPIC -Wl,--build-id=none test.c -o link.so && "
                    "cp link.so whole.so && objcopy --only-keep-debug link.so link.debug && "
                    "strip link.so && objcopy --add-gnu-debuglink=link.debug link.so"));
    assert_true(has_chain_in("link.so", "whole.so", "outer", "outer:13 middle:9 leaf:4"));
    assert_true(run("mkdir -p .debug && mv link.debug .debug/"));
    assert_true(has_chain_in("link.so", "whole.so", "outer", "outer:13 middle:9 leaf:4"));
    assert_true(run("printf x >>.debug/link.debug")); /* the checksum is wrong now */
    assert_false(has_chain_in("link.so", "whole.so", "outer", "outer:13 middle:9 leaf:4"));
    assert_true(has_chain_in("link.so", "whole.so", "outer", "outer:0"));
}

static void debug_files_are_found_by_build_id(void **state)
{
    (void)state;
    char id[2 * BUILD_ID_MAX + 1];
    uint64_t start, size;
    build_id_of("all.so", id);
    find_symbol("all.so", "outer", &start, &size);
    assert_true(run("cp all.so byid.so && strip byid.so && mkdir -p dbg/.build-id/%.2s && "
                    "objcopy --only-keep-debug all.so dbg/.build-id/%.2s/%s.debug",
                    id, id, id + 2));
    autofree char *dbg = mem_printf("%s/dbg", folder);
    struct symbolize_opts opts = {.debug_folder = dbg};
    struct asked a = ask("byid.so", id, start, size, opts);
    assert_true(has_chain(&a, "outer:13 middle:9 leaf:4"));
    done(&a);
    a = ask("deleted.so", id, start, size, opts); /* the file itself is gone */
    assert_true(has_chain(&a, "outer:13 middle:9 leaf:4"));
    assert_int_equal(a.result.missing_files, 0);
    done(&a);
}

static void a_file_with_another_build_id_is_not_used(void **state)
{
    (void)state;
    uint64_t start, size;
    find_symbol("all.so", "outer", &start, &size);
    struct asked a = ask("all.so", "0123456789abcdef0123456789abcdef01234567", start, size,
                         (struct symbolize_opts){0});
    assert_int_equal(a.result.named, 0);
    assert_int_equal(a.result.missing_files, 1);
    done(&a);
}

/* --- symbols --- */

static void of_several_names_the_plain_one_is_shown(void **state)
{
    (void)state;
    assert_true(run("strip -g all.so -o symbols.so"));
    assert_true(has_chain_in("symbols.so", "symbols.so", "__alias", "outer_too:0"));
    assert_true(has_chain_in("symbols.so", "symbols.so", "hidden", "hidden:0"));
}

static void plt_stubs_have_the_name_of_what_they_call(void **state)
{
    (void)state;
#ifdef __x86_64__
    static const char *const flags[] = {"-fcf-protection=full", "-fcf-protection=none",
                                        "-fcf-protection=none -Wl,-z,now"};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        assert_true(run("gcc -O2 -shared -fPIC %s test.c -o plt.so", flags[i]));
        struct asked a = ask("plt.so", "", 0x1000, 0x100, (struct symbolize_opts){0});
        if (!has_chain(&a, "puts@plt:0"))
            fail_msg("no stub with %s", flags[i]);
        done(&a);
    }
#else
    skip();
#endif
}

static void the_vdso_has_names(void **state)
{
    (void)state;
    struct profile *p = profile_new();
    struct mapping m = {.path = profile_add_str(p, text_of("[vdso]")),
                        .start = 0x7fff00000000,
                        .end = 0x7fff00002000};
    struct mapping_id id = profile_add_mapping(p, &m);
    for (uint64_t pc = m.start; pc < m.end; pc++)
        profile_add_frame(p, &(struct frame_key){.pc = pc, .mapping = id});
    struct symbolize_result r = symbolize(p, NULL);
    bool found = false;
    for (size_t i = 1; i < p->functions.n; i++)
        found |= strstr(profile_str(p, p->functions.at[i].name).at, "clock_gettime") != NULL;
    if (r.missing_files)
        print_message("no vdso here\n");
    else
        assert_true(found);
    profile_free(p);
}

/* --- hostile files --- */

/* Whatever is flipped in the file, naming comes back. */
static void damaged_files_do_no_harm(void **state)
{
    (void)state;
    autobuf struct buf file = {0};
    autofree char *from = mem_printf("%s/all.so", folder), *to = mem_printf("%s/bad.so", folder);
    FILE *f = fopen(from, "rb");
    vec_reserve(&file, 1 << 20);
    file.n = fread(file.at, 1, file.cap, f);
    fclose(f);
    uint64_t start, size, random = 12345;
    find_symbol("all.so", "outer", &start, &size);
    for (int round = 0; round < 400; round++) {
        autofree char *bad = mem_strndup("", 0);
        bad = mem_realloc(bad, file.n);
        memcpy(bad, file.at, file.n);
        for (int i = 0; i < 1 + round % 40; i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            bad[(random >> 33) % file.n] = (char)(random >> 20);
        }
        f = fopen(to, "wb");
        fwrite(bad, 1, round % 10 == 9 ? (random >> 33) % file.n : file.n, f);
        fclose(f);
        struct asked a = ask("bad.so", "", start, size, (struct symbolize_opts){0});
        assert_int_equal(a.result.frames, size);
        done(&a);
    }
}

static int make_files(void **state)
{
    (void)state;
    char template[] = "/tmp/kelvin-symbol-XXXXXX";
    folder = mem_strdup(mkdtemp(template));
    autofree char *path = mem_printf("%s/test.c", folder);
    FILE *f = fopen(path, "w");
    fputs(source, f);
    fclose(f);
    return run("gcc -O2 -g -shared -fPIC -Wl,--build-id test.c -o all.so") ? 0 : -1;
}

static int remove_files(void **state)
{
    (void)state;
    int rc = support_remove(folder);
    free(folder);
    return rc;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inlined_functions_are_lines_of_the_frame),
        cmocka_unit_test(debug_information_beside_a_program_may_be_cut_while_it_is_read),
        cmocka_unit_test(files_and_first_lines_are_known),
        cmocka_unit_test(without_inlines_the_outermost_function_stays),
        cmocka_unit_test(cxx_names_are_readable_and_keep_their_symbol),
        cmocka_unit_test(the_public_name_is_shown_with_and_without_debug_information),
        cmocka_unit_test(names_do_not_depend_on_how_many_are_asked_for),
        cmocka_unit_test(parts_split_off_have_the_name_of_the_whole),
        cmocka_unit_test(of_local_names_the_longest_is_shown),
        cmocka_unit_test(a_stripped_file_gives_its_dynamic_symbols),
        cmocka_unit_test(packed_symbols_are_unpacked),
        cmocka_unit_test(packed_symbols_may_not_unpack_to_gigabytes),
        cmocka_unit_test(the_debug_link_is_followed_and_checked),
        cmocka_unit_test(debug_files_are_found_by_build_id),
        cmocka_unit_test(a_file_with_another_build_id_is_not_used),
        cmocka_unit_test(of_several_names_the_plain_one_is_shown),
        cmocka_unit_test(plt_stubs_have_the_name_of_what_they_call),
        cmocka_unit_test(the_vdso_has_names),
        cmocka_unit_test(damaged_files_do_no_harm),
    };
    return cmocka_run_group_tests(tests, make_files, remove_files);
}
