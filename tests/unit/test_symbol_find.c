/*
 * Where the files of a module are found, how its addresses count, and what is told when it has no
 * names. The files are compiled here.
 */
#include "base/buf.h"
#include "symbol/dwarf.h"
#include "symbol/elfsym.h"
#include "symbol/finder.h"
#include "symbol/sidecar.h"
#include "symbol/symbolize.h"

#include <sys/stat.h>

// clang-format off
#include <setjmp.h>
#include <cmocka.h>

#include "support.h"
// clang-format on

static char *folder;

static bool run(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static bool run(const char *fmt, ...)
{
    char line[2000];
    va_list args;
    va_start(args, fmt);
    vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    autofree char *whole = mem_printf("cd '%s' && { %s\n} >log 2>&1", folder, line);
    return system(whole) == 0;
}

static char *in_folder(const char *name)
{
    return mem_printf("%s/%s", folder, name);
}

/* The address of a symbol, by nm. */
static uint64_t address_of(const char *file, const char *name)
{
    unsigned long long start = 0;
    autofree char *line = mem_printf("nm '%s/%s' | grep ' %s$'", folder, file, name);
    FILE *f = popen(line, "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%llx", &start), 1);
    pclose(f);
    return start;
}

static void build_id_of(const char *file, char ret[2 * BUILD_ID_MAX + 1])
{
    struct elffile f;
    autofree char *path = in_folder(file);
    elf_version(EV_CURRENT);
    assert_int_equal(elffile_open(&f, path, (struct text){"", 0}), 0);
    elffile_build_id(f.elf, ret);
    elffile_close(&f);
}

/* What PC in a mapping of PATH is called; WHY is set if its module has no names. */
static char *name_at(struct mapping m, const char *path, const char *build_id, uint64_t pc,
                     struct symbolize_opts o, enum symbolize_reason *ret_why)
{
    symbolize_missing_list missing = {0};
    struct profile *p = profile_new();
    m.path = profile_add_str(p, text_of(path));
    m.build_id = profile_add_str(p, text_of(build_id));
    struct frame_key key = {.pc = pc, .mapping = profile_add_mapping(p, &m)};
    struct frame_id id = profile_add_frame(p, &key);
    o.no_debuginfod = true;
    o.missing = &missing;
    if (!o.cache_folder)
        o.cache_folder = "/nowhere";
    symbolize(p, &o);
    const struct frame *f = profile_frame(p, id);
    char *name =
        mem_strdup(f->n_lines ? profile_function_name(p, profile_lines(p, f)->function).at : "");
    if (missing.n) {
        assert_string_equal(profile_str(p, missing.at[0].path).at, path);
        assert_int_equal(missing.at[0].frames, 1);
        if (ret_why)
            *ret_why = missing.at[0].reason;
    }
    vec_done(&missing);
    profile_free(p);
    return name;
}

static void is_called(const char *path, const char *build_id, uint64_t pc, struct symbolize_opts o,
                      const char *want)
{
    autofree char *name = name_at((struct mapping){0}, path, build_id, pc, o, NULL);
    assert_string_equal(name, want);
}

/* --- how addresses count --- */

/* Where a loader would put the byte OFFSET of a segment with code. */
static void code_segment(const char *file, uint64_t *ret_offset, uint64_t *ret_vaddr)
{
    struct elffile f;
    size_t n = 0;
    autofree char *path = in_folder(file);
    assert_int_equal(elffile_open(&f, path, (struct text){"", 0}), 0);
    elf_getphdrnum(f.elf, &n);
    for (size_t i = 0; i < n; i++) {
        GElf_Phdr load;
        gelf_getphdr(f.elf, (int)i, &load);
        if (load.p_type != PT_LOAD || !(load.p_flags & PF_X))
            continue;
        *ret_offset = load.p_offset & ~0xfffull;
        *ret_vaddr = load.p_vaddr & ~0xfffull;
    }
    elffile_close(&f);
}

static void check_counting(const char *file)
{
    autofree char *path = in_folder(file);
    uint64_t pc = address_of(file, "work"), offset = 0, vaddr = 0;
    struct symbolize_opts none = {0};
    code_segment(file, &offset, &vaddr);
    struct mapping here = {.start = vaddr, .end = vaddr + 0x10000, .offset = offset};
    struct mapping moved = {.start = 0x7f1200000000, .end = 0x7f1200010000, .offset = offset};
    struct mapping image = {.start = 0, .end = UINT32_MAX, .offset = 0};
    uint64_t base = vaddr - offset > 0x10000 ? 0x400000 : 0;
    autofree char *plain = name_at((struct mapping){0}, path, "", pc, none, NULL);
    autofree char *own = name_at(here, path, "", pc, none, NULL);
    autofree char *run_time = name_at(moved, path, "", pc - vaddr + 0x7f1200000000, none, NULL);
    autofree char *relative = name_at(image, path, "", pc - base, none, NULL);
    assert_string_equal(plain, "work");
    assert_string_equal(own, "work");
    assert_string_equal(run_time, "work");
    assert_string_equal(relative, "work");
}

static void addresses_count_as_their_mapping_does(void **state)
{
    (void)state;
    check_counting("pie");
    check_counting("fixed");
    if (run("clang -fuse-ld=lld -O1 prog.c -o lld"))
        check_counting("lld");
    else
        print_message("no lld: skipped\n");
}

static void what_is_named_has_addresses_of_the_file(void **state)
{
    (void)state;
    uint64_t pc = address_of("pie", "work"), offset = 0, vaddr = 0;
    autofree char *path = in_folder("pie");
    code_segment("pie", &offset, &vaddr);
    struct profile *p = profile_new();
    struct mapping m = {.path = profile_add_str(p, text_of(path)),
                        .start = 0x7f1200000000,
                        .end = 0x7f1200010000,
                        .offset = offset};
    struct frame_key key = {.pc = pc - vaddr + m.start, .mapping = profile_add_mapping(p, &m)};
    struct frame_id id = profile_add_frame(p, &key);
    symbolize(p, &(struct symbolize_opts){.no_debuginfod = true});
    const struct frame *f = profile_frame(p, id);
    assert_int_equal(f->pc, pc);
    assert_int_equal(p->mappings.at[f->mapping.i].start, vaddr);
    assert_int_equal(p->mappings.at[f->mapping.i].offset, offset);
    profile_free(p);
}

/* --- where files are --- */

static void a_rebuilt_program_is_named_from_perfs_cache_only(void **state)
{
    (void)state;
    char id[2 * BUILD_ID_MAX + 1];
    enum symbolize_reason why = SYMBOLIZE_GONE;
    build_id_of("pie", id);
    uint64_t pc = address_of("pie", "work");
    assert_true(run("mkdir -p cache/.build-id/%.2s/%s && cp pie cache/.build-id/%.2s/%s/elf && "
                    "cp other rebuilt",
                    id, id + 2, id, id + 2));
    autofree char *path = in_folder("rebuilt"), *cache = in_folder("cache");
    autofree char *name =
        name_at((struct mapping){0}, path, id, pc, (struct symbolize_opts){0}, &why);
    assert_string_equal(name, "");
    assert_int_equal(why, SYMBOLIZE_OTHER_BUILD);
    is_called(path, id, pc, (struct symbolize_opts){.cache_folder = cache}, "work");
}

static void the_reason_why_a_module_has_no_names_is_told(void **state)
{
    (void)state;
    static const struct {
        const char *file;
        enum symbolize_reason reason;
    } cases[] = {{"nosuch", SYMBOLIZE_GONE},
                 {"prog.c", SYMBOLIZE_NOT_ELF},
                 {"other", SYMBOLIZE_OTHER_BUILD}};
    char id[2 * BUILD_ID_MAX + 1];
    build_id_of("pie", id);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        enum symbolize_reason why = SYMBOLIZE_NO_MAP;
        autofree char *path = in_folder(cases[i].file);
        free(name_at((struct mapping){0}, path, id, 0x1139, (struct symbolize_opts){0}, &why));
        assert_int_equal(why, cases[i].reason);
    }
}

static void folders_of_symbols_are_searched(void **state)
{
    (void)state;
    static const char *const places[] = {
        ".build-id/%.2s/%s/elf", ".build-id/%.2s/%s.debug", "srv/app", "app", "deep/down/here/app",
    };
    char id[2 * BUILD_ID_MAX + 1];
    build_id_of("pie", id);
    uint64_t pc = address_of("pie", "work");
    autofree char *dir = in_folder("syms"), *empty = in_folder("empty");
    const char *folders[] = {empty, dir};
    struct symbolize_opts o = {.symbols = folders, .n_symbols = 2};
    is_called("/srv/app", id, pc, o, "");
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        autofree char *by_id = mem_printf(".build-id/%.2s/%s%s", id, id + 2, i ? ".debug" : "/elf");
        const char *place = i < 2 ? by_id : places[i];
        assert_true(
            run("mkdir -p empty && rm -rf syms && mkdir -p syms/$(dirname %s) && cp pie syms/%s",
                place, place));
        is_called("/srv/app", id, pc, o, "work");
        /* The wrong build is not taken, wherever it lies. */
        assert_true(run("cp other syms/%s", place));
        is_called("/srv/app", id, pc, o, "");
    }
    assert_true(run("rm -rf syms && mkdir -p syms/srv && cp pie syms/srv/app"));
    is_called("/srv/app", id, pc, (struct symbolize_opts){.symfs = dir}, "work");
}

static void places_get_names_once_there_are_symbols(void **state)
{
    (void)state;
    char id[2 * BUILD_ID_MAX + 1];
    build_id_of("pie", id);
    autofree char *path = in_folder("bare"), *dir = in_folder("later");
    const char *folders[] = {dir};
    assert_true(run("strip pie -o bare && mkdir -p later && cp pie later/bare"));
    struct profile *p = profile_new();
    struct mapping m = {.path = profile_add_str(p, text_of(path)),
                        .build_id = profile_add_str(p, text_of(id))};
    struct frame_key key = {.pc = address_of("pie", "work"), .mapping = profile_add_mapping(p, &m)};
    struct frame_id f = profile_add_frame(p, &key);
    struct symbolize_opts o = {.no_debuginfod = true, .files_only = true};
    assert_true(symbolize_wanted(p, &o));
    symbolize(p, &o);
    const struct line *line = profile_lines(p, profile_frame(p, f));
    assert_true(profile_name_is_place(profile_function_name(p, line->function)));
    assert_false(symbolize_wanted(p, &o));
    o.symbols = folders;
    o.n_symbols = 1;
    o.places_too = true;
    assert_true(symbolize_wanted(p, &o));
    unlink(path);
    symbolize(p, &o);
    line = profile_lines(p, profile_frame(p, f));
    assert_string_equal(profile_function_name(p, line->function).at, "work");
    profile_free(p);
}

/* --- the kernel --- */

/* What a kernel of RELEASE with _text at TEXT is called at PC, from files in the folder. */
static char *kernel_name(const char *release, uint64_t text, uint64_t pc)
{
    autofree char *dir = in_folder("kernel"), *list = in_folder("nolist");
    const char *folders[] = {dir};
    struct profile *p = profile_new();
    autofree char *kernel = mem_printf("Linux %s", release);
    meta_set_str(&p->meta, META_KERNEL, kernel);
    struct mapping m = {.path = profile_add_str(p, text_of("[kernel.kallsyms]")),
                        .start = text,
                        .end = text + 0x1000000,
                        .offset = text};
    struct frame_key key = {.pc = pc, .mapping = profile_add_mapping(p, &m), .kind = FRAME_KERNEL};
    struct frame_id id = profile_add_frame(p, &key);
    symbolize(
        p, &(struct symbolize_opts){
               .symbols = folders, .n_symbols = 1, .kallsyms = list, .cache_folder = "/nowhere"});
    const struct frame *f = profile_frame(p, id);
    char *name =
        mem_strdup(f->n_lines ? profile_function_name(p, profile_lines(p, f)->function).at : "");
    profile_free(p);
    return name;
}

static void a_kernel_is_named_from_its_own_release_only(void **state)
{
    (void)state;
    assert_true(run(
        "mkdir -p kernel && "
        "printf 'const char banner[] = \"Linux version 1.2.3-test (x)\";\\n"
        "void do_idle(void) { __asm__ volatile(\"nop\\\\n nop\"); }\\n' >k.c && "
        "gcc -O1 -c k.c -o k.o && printf '.globl _text\\n_text:\\n.quad 0\\n' >t.s && "
        "gcc -c t.s -o t.o && ld -Ttext=0xffffffff81000000 -e do_idle t.o k.o -o kernel/vmlinux"));
    uint64_t pc = address_of("kernel/vmlinux", "do_idle"), moved = 0x2600000;
    uint64_t text = address_of("kernel/vmlinux", "_text") + moved;
    autofree char *same = kernel_name("1.2.3-test", text, pc + moved);
    autofree char *other = kernel_name("1.2.4-test", text, pc + moved);
    autofree char *longer = kernel_name("1.2.3", text, pc + moved);
    assert_string_equal(same, "do_idle");
    assert_string_equal(other, "");
    assert_string_equal(longer, "");
}

/* --- files that change --- */

/* Rebuilding a program while its recording is named must not end us by SIGBUS. */
static void a_file_may_be_cut_while_it_is_read(void **state)
{
    (void)state;
    for (int early = 0; early < 2; early++) {
        struct elffile f;
        struct lookup l;
        uint64_t pcs[1] = {address_of("pie", "work")};
        assert_true(run("cp pie cut"));
        autofree char *path = in_folder("cut");
        struct profile *p = profile_new();
        lookup_init(&l, p, pcs, 1);
        assert_int_equal(elffile_open(&f, path, (struct text){"", 0}), 0);
        if (early)
            assert_int_equal(truncate(path, 0), 0);
        Dwarf *dw = elffile_dwarf(&f);
        assert_int_equal(truncate(path, 0), 0);
        if (dw)
            dwarf_name(&l, dw, false);
        struct elfsyms symbols = {0};
        elfsyms_add(&symbols, f.elf, SHT_DYNSYM);
        elfsyms_add(&symbols, f.elf, SHT_SYMTAB);
        elfsyms_name_public(&symbols, &l);
        elfsyms_name_rest(&symbols, &l);
        elfsyms_done(&symbols);
        assert_true(early || !lookup_count_unnamed(&l));
        elffile_close(&f);
        lookup_done(&l);
        profile_free(p);
    }
}

/* --- samply's names beside a profile --- */

static void names_beside_a_profile_are_found_and_used(void **state)
{
    (void)state;
    static const struct {
        const char *profile, *want;
    } paths[] = {
        {"x.json", "x.syms.json"}, {"a.b/x", "a.b/x.syms.json"}, {"x.json.gz", "x.json.syms.json"}};
    for (size_t i = 0; i < 3; i++) {
        autofree char *got = sidecar_path(paths[i].profile);
        assert_string_equal(got, paths[i].want);
    }
    assert_true(run(
        "cat >s.json <<'E'\n"
        "{\"string_table\":[\"UNKNOWN\",\"one(int)\",\"two\"],\"data\":[{\"debug_name\":\"app\","
        "\"debug_id\":\"X\",\"code_id\":\"ABCD12\",\"symbol_table\":["
        "{\"rva\":8192,\"symbol\":2},{\"rva\":4096,\"size\":16,\"symbol\":1,"
        "\"frames\":[{\"function\":1,\"file\":null,\"line\":3}]},{\"rva\":9000,\"symbol\":77}],"
        "\"known_addresses\":[[4100,1]]}]}\nE\n"));
    struct profile *p = profile_new();
    struct mapping m = {.path = profile_add_str(p, text_of("/srv/app")),
                        .build_id = profile_add_str(p, text_of("abcd12"))};
    struct mapping n = {.path = m.path, .build_id = profile_add_str(p, text_of("ffff"))};
    static const uint64_t pcs[] = {4100, 4112, 8200, 9001, 4100};
    static const char *const want[] = {"one(int)", "", "two", "", ""};
    for (uint32_t i = 0; i < 5; i++)
        profile_add_frame(p, &(struct frame_key){
                                 .pc = pcs[i], .mapping = profile_add_mapping(p, i < 4 ? &m : &n)});
    struct err err;
    autofree char *path = in_folder("s.json"), *bad = in_folder("prog.c");
    assert_int_equal(sidecar_name(p, path, &err), 2);
    for (uint32_t i = 0; i < 5; i++) {
        const struct frame *f = &p->frames.at[i];
        assert_string_equal(
            f->n_lines ? profile_function_name(p, profile_lines(p, f)->function).at : "", want[i]);
    }
    assert_int_equal(sidecar_name(p, bad, &err), -1);
    profile_free(p);
}

static int make_files(void **state)
{
    (void)state;
    char template[] = "/tmp/kelvin-find-XXXXXX";
    elf_version(EV_CURRENT);
    folder = mem_strdup(mkdtemp(template));
    return run("printf '__attribute__((noinline)) int work(int x) { __asm__ volatile(\"nop\"); "
               "return "
               "x; }\\nint main(int n, char **v) { (void)v; return work(n); }\\n' >prog.c && "
               "gcc -O1 -g -pie -fPIE -Wl,--build-id prog.c -o pie && "
               "gcc -O1 -no-pie -fno-pie -Wl,--build-id prog.c -o fixed && "
               "gcc -O2 -DOTHER=1 -fPIE -pie -Wl,--build-id prog.c -o other")
               ? 0
               : -1;
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
        cmocka_unit_test(addresses_count_as_their_mapping_does),
        cmocka_unit_test(what_is_named_has_addresses_of_the_file),
        cmocka_unit_test(a_rebuilt_program_is_named_from_perfs_cache_only),
        cmocka_unit_test(the_reason_why_a_module_has_no_names_is_told),
        cmocka_unit_test(folders_of_symbols_are_searched),
        cmocka_unit_test(places_get_names_once_there_are_symbols),
        cmocka_unit_test(a_kernel_is_named_from_its_own_release_only),
        cmocka_unit_test(a_file_may_be_cut_while_it_is_read),
        cmocka_unit_test(names_beside_a_profile_are_found_and_used),
    };
    return cmocka_run_group_tests(tests, make_files, remove_files);
}
