/* Tables of files that no process maps any more are let go, the first unused first. */
#include "unwind/files_inner.h"

#include "base/mem.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

enum { AT = 0x1000000, BYTES = 0x400000, MANY = 5 * UNWIND_UNHELD_KEPT };

static char folder[] = "/tmp/kelvin-files-XXXXXX";

/* A file of its own with the code of this program. */
static char *program_number(size_t i)
{
    static char *self;
    static size_t n;
    char *path = mem_printf("%s/%zu", folder, i);
    if (access(path, F_OK) == 0)
        return path;
    if (!self) {
        int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
        n = (size_t)lseek(fd, 0, SEEK_END);
        self = mem_calloc(1, n);
        assert_int_equal(pread(fd, self, n, 0), (ssize_t)n);
        close(fd);
    }
    FILE *f = fopen(path, "w");
    assert_int_equal(fwrite(self, 1, n, f), n);
    fclose(f);
    return path;
}

/* A process that runs program I, whose file was opened; 0 = it had no table. */
static struct unwind_space *run_program(struct unwind_files *files, size_t i, uint64_t *ret_id)
{
    autofree char *path = program_number(i);
    struct unwind_space *s = unwind_space_new(files);
    struct unwind_map m = {.start = AT, .end = AT + BYTES, .path = path};
    struct unwind_code code;
    unwind_space_map(s, &m);
    assert_true(unwind_space_code(s, 0, &code));
    *ret_id = code.file_id;
    return s;
}

static uint64_t run_and_end(struct unwind_files *files, size_t i)
{
    uint64_t id;
    unwind_space_free(run_program(files, i, &id));
    return id;
}

static size_t count_descriptors(void)
{
    size_t n = 0;
    DIR *d = opendir("/proc/self/fd");
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

static void files_of_processes_that_ended_are_let_go(void **state)
{
    (void)state;
    size_t before = count_descriptors();
    struct unwind_files *files = unwind_files_new();
    for (size_t i = 0; i < MANY; i++) {
        run_and_end(files, i);
        assert_true(files->all.n <= 2 * UNWIND_UNHELD_KEPT);
        assert_true(count_descriptors() <= before + 2 * UNWIND_UNHELD_KEPT);
    }
    assert_true(files->all.n >= UNWIND_UNHELD_KEPT);
    unwind_files_free(files);
    assert_int_equal(count_descriptors(), before);
}

static void a_file_that_somebody_maps_stays(void **state)
{
    (void)state;
    uint64_t held, again;
    struct unwind_files *files = unwind_files_new();
    struct unwind_space *s = run_program(files, 0, &held);
    struct unwind_code code;
    assert_true(held != 0);
    for (size_t i = 1; i < MANY; i++)
        run_and_end(files, i);
    struct unwind_space *other = run_program(files, 0, &again);
    assert_int_equal(again, held);
    assert_true(unwind_space_code(s, 0, &code));
    assert_true(code.table->n_rows > 0 && code.table->rows[0].cfa <= CFA_GAP);
    unwind_space_free(other);
    unwind_space_free(s);
    unwind_files_free(files);
}

/* A fork, and a hole in the middle of a mapping: each part holds the file until it is gone. */
static void copies_and_halves_hold_the_file(void **state)
{
    (void)state;
    uint64_t id;
    struct unwind_files *files = unwind_files_new();
    struct unwind_space *s = run_program(files, 0, &id);
    struct unwind_file *file = files->all.at[0];
    struct unwind_space *child = unwind_space_copy(s);
    assert_int_equal(file->n_holders, 2);
    struct unwind_map hole = {.start = AT + 0x400, .end = AT + 0x800, .path = ""};
    unwind_space_map(child, &hole);
    assert_int_equal(file->n_holders, 3);
    unwind_space_free(s);
    assert_int_equal(file->n_holders, 2);
    struct unwind_map all = {.start = AT, .end = AT + BYTES, .path = ""};
    unwind_space_map(child, &all);
    assert_int_equal(file->n_holders, 0);
    assert_int_equal(files->n_unheld, 1);
    unwind_space_free(child);
    unwind_files_free(files);
}

static void what_ran_last_is_known_the_next_time(void **state)
{
    (void)state;
    struct unwind_files *files = unwind_files_new();
    uint64_t first = run_and_end(files, 0), often = run_and_end(files, 1);
    for (size_t i = 2; i < MANY; i++) {
        run_and_end(files, i);
        if (i % 16 == 0)
            assert_int_equal(run_and_end(files, 1), often);
    }
    assert_int_not_equal(run_and_end(files, 0), first); /* memory may come again, numbers do not */
    unwind_files_free(files);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    for (size_t i = 0; i < MANY; i++) {
        autofree char *path = mem_printf("%s/%zu", folder, i);
        unlink(path);
    }
    return rmdir(folder);
}

int main(void)
{
    setenv("XDG_CACHE_HOME", "/nowhere", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_of_processes_that_ended_are_let_go),
        cmocka_unit_test(a_file_that_somebody_maps_stays),
        cmocka_unit_test(copies_and_halves_hold_the_file),
        cmocka_unit_test(what_ran_last_is_known_the_next_time),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
