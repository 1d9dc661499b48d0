/*
 * Rows against readelf's reading of the same rules, for real files and for both processors.
 */
#include "base/buf.h"
#include "base/cachefile.h"
#include "unwind/arch.h"
#include "unwind/table.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "support.h"

static char folder[] = "/tmp/kelvin-rows-XXXXXX";

/* --- what readelf prints --- */

enum { COLUMNS = 40, WRONG_SHOWN = 5 };

/* The columns of the FDE at hand: "LOC CFA rbx rbp ra". */
struct columns {
    char names[COLUMNS][8];
    int n;
};

/* The words of one line. */
struct words {
    char *at[COLUMNS];
    int n;
};

static struct words split(char *line)
{
    struct words w = {0};
    char *rest = line;
    for (char *word; w.n < COLUMNS && (word = strsep(&rest, " \n"));)
        if (*word)
            w.at[w.n++] = word;
    return w;
}

static const char *cell(const struct columns *c, const struct words *w, const char *name)
{
    for (int i = 0; i < c->n && i < w->n; i++)
        if (strcmp(c->names[i], name) == 0)
            return w->at[i];
    return "u";
}

/* The names readelf has for the registers that we follow. */
struct names {
    const char *sp, *fp, *extra, *ra;
};

static const struct names x86_64 = {"rsp", "rbp", "rbx", "ra"};
static const struct names aarch64 = {"sp", "x29", "x30", "ra"};

/* --- comparing --- */

/* "rsp+16" for a row. */
static const char *cfa_text(const struct unwind_row *r, const struct names *n, char *ret)
{
    static const char *const others[] = {"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp",
                                         "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};
    const char *reg = r->cfa == CFA_SP ? n->sp : r->cfa == CFA_FP ? n->fp : n->extra;
    if (r->cfa == CFA_OTHER)
        reg = others[r->flags >> ROW_NUMBER_SHIFT];
    sprintf(ret, "%s%+d", reg, r->cfa_offset * 8);
    return ret;
}

/* "c-16", "u": readelf has one letter for "no rule" and "undefined". */
static bool same_save(const char *cell_, bool saved, bool at_fp, int16_t words)
{
    char text[16];
    sprintf(text, "c%+d", words * 8);
    if (saved && at_fp)
        return strcmp(cell_, "exp") == 0;
    if (saved)
        return strcmp(cell_, text) == 0;
    if (at_fp)
        return cell_[0] != 'c';
    return strcmp(cell_, "u") == 0 || strcmp(cell_, "s") == 0;
}

static bool is_simple(uint8_t cfa)
{
    return cfa == CFA_SP || cfa == CFA_FP || cfa == CFA_EXTRA || cfa == CFA_OTHER;
}

static bool same_saves(const struct unwind_row *r, const struct names *n, const struct columns *c,
                       const struct words *w)
{
    const char *extra = strcmp(n->extra, "x30") == 0 ? cell(c, w, "ra") : cell(c, w, n->extra);
    return same_save(cell(c, w, n->fp), r->flags & ROW_FP_SAVED, r->flags & ROW_FP_AT_FP,
                     r->fp_offset) &&
           same_save(extra, r->flags & ROW_EXTRA_SAVED, r->flags & ROW_EXTRA_AT_FP,
                     r->extra_offset);
}

/* A CFA that our rows cannot hold: another register, far away, or not in words. */
static bool is_beyond(const char *cfa, const struct names *n)
{
    size_t reg = strcspn(cfa, "+-");
    long offset = atol(cfa + reg);
    bool followed = strncmp(cfa, n->sp, reg) == 0 || strncmp(cfa, n->fp, reg) == 0 ||
                    strncmp(cfa, n->extra, reg) == 0;
    return !followed || offset % 8 || offset > INT16_MAX * 8;
}

/* CIEs that are not of the usual kind, of signal frames, or with another ra. */
enum cie_kind { USUAL, SIGNAL, OTHER_RA };

static bool same_row(const struct unwind_row *r, const struct names *n, const struct columns *c,
                     const struct words *w, enum cie_kind kind)
{
    const char *cfa = cell(c, w, "CFA"), *ra = cell(c, w, "ra");
    bool x86 = n == &x86_64;
    char text[32];
    if (kind == SIGNAL || r->cfa == CFA_SIGNAL)
        return kind == SIGNAL && r->cfa == CFA_SIGNAL;
    if (kind == OTHER_RA)
        return r->cfa == CFA_UNKNOWN;
    if (r->cfa == CFA_BOTTOM)
        return strcmp(ra, "u") == 0;
    if (r->cfa == CFA_UNKNOWN)
        return strcmp(cfa, "exp") == 0 || is_beyond(cfa, n) || (x86 && strcmp(ra, "c-8") != 0);
    if (x86 && strcmp(ra, "c-8") != 0)
        return false;
    if (!is_simple(r->cfa))
        return strcmp(cfa, "exp") == 0;
    if (r->cfa_offset == INT16_MAX) /* further than any copy of a stack */
        return atol(cfa + strcspn(cfa, "+-")) >= INT16_MAX * 8;
    return strcmp(cfa, cfa_text(r, n, text)) == 0 && same_saves(r, n, c, w);
}

struct tally {
    size_t rows, wrong, unknown;
};

/* One row of readelf's against ours for that address. */
static void check_row(const struct unwind_table *t, const struct columns *c, struct words *w,
                      enum cie_kind kind, struct tally *to)
{
    static const struct unwind_row gap = {.cfa = CFA_GAP};
    const struct names *names = t->machine == EM_X86_64 ? &x86_64 : &aarch64;
    const struct unwind_row *r = unwind_table_find(t, strtoull(w->at[0], NULL, 16));
    to->rows++;
    to->unknown += r && r->cfa == CFA_UNKNOWN;
    if (r && same_row(r, names, c, w, kind))
        return;
    if (to->wrong++ < WRONG_SHOWN) {
        r = r ? r : &gap;
        print_message(
            "# %s: CFA %s, fp %s, ra %s; ours: kind %d, cfa %d, fp %d, extra %d, flags %x\n",
            w->at[0], cell(c, w, "CFA"), cell(c, w, names->fp), cell(c, w, "ra"), r->cfa,
            r->cfa_offset * 8, r->fp_offset * 8, r->extra_offset * 8, r->flags);
    }
}

/* The unusual ones of a file, by offset. */
struct cies {
    char offsets[64][24];
    enum cie_kind kinds[64];
    int n;
};

static enum cie_kind kind_of(const struct cies *c, const char *offset)
{
    for (int i = 0; i < c->n; i++)
        if (strcmp(c->offsets[i], offset) == 0)
            return c->kinds[i];
    return USUAL;
}

/* 00000000 0000000000000014 00000000 CIE "zRS" cf=1 df=-8 ra=16 */
static void note_cie(struct cies *c, const struct words *w)
{
    bool usual_ra = w->n > 7 && (!strcmp(w->at[7], "ra=16") || !strcmp(w->at[7], "ra=30"));
    enum cie_kind kind = strchr(w->at[4], 'S') ? SIGNAL : usual_ra ? USUAL : OTHER_RA;
    if (kind == USUAL || c->n == 64)
        return;
    c->kinds[c->n] = kind;
    snprintf(c->offsets[c->n++], sizeof c->offsets[0], "%s", w->at[0]);
}

static void note_columns(struct columns *c, const struct words *w)
{
    c->n = w->n;
    for (int i = 0; i < w->n; i++)
        snprintf(c->names[i], sizeof c->names[i], "%s", w->at[i]);
}

static void check_lines(FILE *in, const struct unwind_table *t, struct tally *ret)
{
    static struct cies unusual;
    struct columns c = {0};
    bool in_fde = false;
    enum cie_kind kind = USUAL;
    char line[4096];
    unusual.n = 0;
    while (fgets(line, sizeof line, in)) {
        struct words w = split(line);
        if (w.n > 4 && strcmp(w.at[3], "CIE") == 0)
            note_cie(&unusual, &w), in_fde = false;
        else if (w.n > 4 && strcmp(w.at[3], "FDE") == 0)
            kind = kind_of(&unusual, w.at[4] + strlen("cie=")), in_fde = true;
        else if (w.n > 1 && strcmp(w.at[0], "LOC") == 0)
            note_columns(&c, &w);
        else if (in_fde && w.n == c.n && strlen(w.at[0]) == 16)
            check_row(t, &c, &w, kind, ret);
    }
}

/* Every row of FILE agrees. Leaves the machine out when readelf is not there. */
static struct tally check_file(const char *path)
{
    struct tally tally = {0};
    struct unwind_table *t;
    struct err err;
    assert_int_equal(unwind_table_load(path, &t, &err), 0);
    autofree char *line = mem_printf("readelf --debug-dump=frames-interp %s 2>/dev/null", path);
    FILE *in = popen(line, "r");
    check_lines(in, t, &tally);
    pclose(in);
    print_message("# %s: %zu rows of readelf, %zu of ours, %zu unknown\n", path, tally.rows,
                  t->n_rows, tally.unknown);
    assert_int_equal(tally.wrong, 0);
    unwind_table_free(t);
    return tally;
}

static void need_readelf(void)
{
    if (system("readelf --version >/dev/null 2>&1") == 0)
        return;
    print_message("no readelf to compare with\n");
    skip();
}

static void files_of_this_machine(void **state)
{
    static const char *const paths[] = {
        "/lib/x86_64-linux-gnu/libc.so.6",
        "/lib64/ld-linux-x86-64.so.2",
        "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
        "/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
        "/usr/bin/python3",
    };
    size_t rows = 0;
    (void)state;
    need_readelf();
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        if (access(paths[i], R_OK) == 0) {
            struct tally t = check_file(paths[i]);
            assert_true(t.unknown * 50 <= t.rows);
            rows += t.rows;
        }
    assert_true(rows > 1000);
}

/* Build a program of tests/target without running it; false where the compiler is missing. */
static bool build(const char *compiler, const char *flags, const char *name)
{
    autofree char *line = mem_printf("%s %s -o %s/%s tests/target/frames.c 2>%s/errors", compiler,
                                     flags, folder, name, folder);
    if (system(line) == 0)
        return true;
    print_message("not tried, for want of it: %s %s\n", compiler, flags);
    return false;
}

static void programs_for_x86_64(void **state)
{
    static const char *const flags[] = {
        "-O2",
        "-O0 -fno-omit-frame-pointer",
        "-O3 -mavx2",
        "-O2 -g -fno-asynchronous-unwind-tables",
        "-O2 -fno-plt -static",
        "-Os -fcf-protection -Wl,-z,lazy -Wl,-z,ibtplt",
    };
    (void)state;
    need_readelf();
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        if (build("gcc", flags[i], "program")) {
            autofree char *path = mem_printf("%s/program", folder);
            assert_true(check_file(path).rows > 10);
        }
}

static void programs_for_aarch64(void **state)
{
    static const char *const flags[] = {
        "-O2",
        "-O2 -fomit-frame-pointer",
        "-O0",
        "-O2 -mbranch-protection=standard",
        "-O2 -mbranch-protection=pac-ret+b-key",
        "-O2 -g -fno-asynchronous-unwind-tables",
        "-O2 -static",
    };
    int tried = 0;
    (void)state;
    need_readelf();
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        if (build("aarch64-linux-gnu-gcc", flags[i], "program")) {
            autofree char *path = mem_printf("%s/program", folder);
            assert_true(check_file(path).rows > 10);
            tried++;
        }
    if (!tried)
        skip();
}

/* --- the cache --- */

static struct unwind_table *load(const char *path)
{
    struct unwind_table *t;
    struct err err;
    assert_int_equal(unwind_table_load(path, &t, &err), 0);
    return t;
}

static void assert_same(const struct unwind_table *a, const struct unwind_table *b)
{
    assert_int_equal(a->n_rows, b->n_rows);
    assert_int_equal(a->n_segments, b->n_segments);
    assert_true(a->base == b->base && a->machine == b->machine);
    assert_memory_equal(a->rows, b->rows, a->n_rows * sizeof *a->rows);
    assert_memory_equal(a->segments, b->segments, a->n_segments * sizeof *a->segments);
}

static void change_byte(const char *path, long at)
{
    FILE *f = fopen(path, "r+");
    assert_non_null(f);
    fseek(f, at, SEEK_SET);
    int c = getc(f);
    fseek(f, at, SEEK_SET);
    putc(c ^ 1, f);
    fclose(f);
}

/* Static, so that it is large enough for the cache to care. */
static char *cached_program(struct unwind_table **ret, char **ret_cache_file)
{
    if (!build("gcc", "-O2 -static -Wl,--build-id", "large"))
        skip();
    char *path = mem_printf("%s/large", folder);
    autofree char *kept = cachefile_folder();
    *ret = load(path);
    *ret_cache_file = mem_printf("%s/unwind/%s.rows", kept, (*ret)->build_id);
    assert_int_equal(access(*ret_cache_file, R_OK), 0);
    return path;
}

static void second_load_is_from_the_cache(void **state)
{
    (void)state;
    struct unwind_table *a, *b;
    autofree char *file = NULL;
    autofree char *path = cached_program(&a, &file);
    struct stat before, after;
    stat(file, &before);
    b = load(path);
    stat(file, &after);
    assert_same(a, b);
    assert_true(before.st_ino == after.st_ino); /* not written again */
    assert_true(a->mapped.n && b->mapped.n);    /* and used where it lies */
    unwind_table_free(a);
    unwind_table_free(b);
}

/* Bytes in memory are what a file was in a recording, perhaps: they are not kept for others. */
static void bytes_in_memory_are_not_cached(void **state)
{
    struct unwind_table *a, *b;
    struct err err;
    struct buf bytes = {0};
    char part[4096];
    char *file;
    (void)state;
    autofree char *path = cached_program(&a, &file);
    assert_int_equal(unlink(file), 0);
    FILE *in = fopen(path, "r");
    for (size_t n; (n = fread(part, 1, sizeof part, in)) > 0;)
        buf_add(&bytes, part, n);
    fclose(in);
    assert_int_equal(unwind_table_parse(bytes.at, bytes.n, &b, &err), 0);
    assert_int_equal(b->n_rows, a->n_rows);
    assert_int_not_equal(access(file, R_OK), 0);
    unwind_table_free(a);
    unwind_table_free(b);
    buf_done(&bytes);
    free(file);
}

static void a_damaged_cache_is_made_anew(void **state)
{
    static const long places[] = {0, 7, 9, 13, 17, 25, 33, 41, 60, 5000};
    (void)state;
    struct unwind_table *a, *b;
    autofree char *file = NULL;
    autofree char *path = cached_program(&a, &file);
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        change_byte(file, places[i]);
        b = load(path);
        assert_same(a, b);
        unwind_table_free(b);
    }
    static const off_t cuts[] = {100, 56, 55, 8, 1, 0}; /* in the rows, behind and in the head */
    for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++) {
        assert_int_equal(truncate(file, cuts[i]), 0);
        b = load(path);
        assert_same(a, b);
        unwind_table_free(b);
    }
    unwind_table_free(a);
}

static void no_place_for_a_cache_is_no_error(void **state)
{
    (void)state;
    struct unwind_table *a, *b;
    autofree char *file = NULL;
    autofree char *path = cached_program(&a, &file);
    autofree char *plain_file = mem_printf("%s/large", folder);
    setenv("XDG_CACHE_HOME", plain_file, 1);
    b = load(path);
    assert_same(a, b);
    setenv("XDG_CACHE_HOME", folder, 1);
    unwind_table_free(a);
    unwind_table_free(b);
}

/* --- Go --- */

static void check_kind(const struct unwind_table *t, uint64_t vaddr, enum unwind_cfa cfa)
{
    const struct unwind_row *row = unwind_table_find(t, vaddr);
    print_message("# %lx\n", (unsigned long)vaddr);
    assert_non_null(row);
    assert_int_equal(row->cfa, cfa);
}

/* Where Go's run-time system is on another stack its own rules are wrong. */
static void stack_changes_of_go(void **state)
{
    (void)state;
    autofree char *path = mem_printf("%s/gostack", folder);
    autofree char *line = mem_printf("gcc -nostdlib -static -Wl,--build-id=none "
                                     "-Wl,-Ttext=0x500000 -o %s tests/target/gostack.s 2>%s/errors",
                                     path, folder);
    static const struct {
        uint64_t vaddr;
        enum unwind_cfa cfa;
    } all[] = {
        {0x500000, CFA_SP},     {0x50000b, CFA_SP},     {0x50000c, CFA_BOTTOM},
        {0x50000e, CFA_BOTTOM}, {0x500011, CFA_BOTTOM}, {0x500012, CFA_SP},
        {0x500040, CFA_SP},     {0x500044, CFA_BOTTOM}, {0x500047, CFA_BOTTOM},
        {0x500080, CFA_BOTTOM}, {0x500083, CFA_BOTTOM}, {0x5000bf, CFA_SIGNAL},
        {0x5000c0, CFA_SIGNAL}, {0x5000c9, CFA_SIGNAL}, {0x500100, CFA_SP},
        {0x500104, CFA_SP},
    };
    if (system(line) != 0) {
        print_message("no assembler for x86-64 here\n");
        skip();
    }
    struct unwind_table *t = load(path);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        check_kind(t, all[i].vaddr, all[i].cfa);
    assert_int_equal(unwind_table_find(t, 0x5000c0)->flags, ROW_NAMED);
    assert_null(unwind_table_find(t, 0x500020)); /* between functions */
    for (size_t i = 1; i < t->n_rows; i++)
        assert_true(t->rows[i].pc > t->rows[i - 1].pc);
    unwind_table_free(t);
}

/* --- addresses --- */

static void offsets_to_addresses(void **state)
{
    struct unwind_segment segments[] = {{0x201000, 0x1000, 0x500}, {0x403500, 0x1500, 0x100}};
    struct unwind_table t = {.segments = segments, .n_segments = 2};
    uint64_t vaddr = 0;
    (void)state;
    assert_true(unwind_table_vaddr(&t, 0x1010, &vaddr) && vaddr == 0x201010);
    assert_true(unwind_table_vaddr(&t, 0x1500, &vaddr) && vaddr == 0x403500);
    assert_false(unwind_table_vaddr(&t, 0x1600, &vaddr));
    assert_false(unwind_table_vaddr(&t, 0xfff, &vaddr));
}

static void lookups_at_the_edges(void **state)
{
    struct unwind_row rows[] = {
        {.pc = 0x10, .cfa_offset = 1},
        {.pc = 0x20, .cfa_offset = 2},
        {.pc = 0x30, .cfa = CFA_GAP},
    };
    struct unwind_table t = {.base = 0x1000, .rows = rows, .n_rows = 3};
    (void)state;
    assert_null(unwind_table_find(&t, 0));
    assert_null(unwind_table_find(&t, 0x100f));
    assert_ptr_equal(unwind_table_find(&t, 0x1010), &rows[0]);
    assert_ptr_equal(unwind_table_find(&t, 0x101f), &rows[0]);
    assert_ptr_equal(unwind_table_find(&t, 0x102f), &rows[1]);
    assert_null(unwind_table_find(&t, 0x1030));
    assert_null(unwind_table_find(&t, UINT64_MAX));
    t.n_rows = 0;
    assert_null(unwind_table_find(&t, 0x1010));
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
        cmocka_unit_test(files_of_this_machine),
        cmocka_unit_test(programs_for_x86_64),
        cmocka_unit_test(programs_for_aarch64),
        cmocka_unit_test(second_load_is_from_the_cache),
        cmocka_unit_test(bytes_in_memory_are_not_cached),
        cmocka_unit_test(a_damaged_cache_is_made_anew),
        cmocka_unit_test(no_place_for_a_cache_is_no_error),
        cmocka_unit_test(stack_changes_of_go),
        cmocka_unit_test(offsets_to_addresses),
        cmocka_unit_test(lookups_at_the_edges),
    };
    return cmocka_run_group_tests_name("unwind rows", tests, set_up, tear_down);
}
