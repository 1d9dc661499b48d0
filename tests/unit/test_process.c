/* What processes map, share and are called. */
#include "process/process.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "made_elf.h"

enum { PARENT = 100, CHILD = 200 };

struct fixture {
    struct profile *profile;
    struct processes *ps;
};

static int setup(void **state)
{
    struct fixture *f = mem_new(struct fixture);
    f->profile = profile_new();
    f->ps = processes_new(f->profile);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    processes_free(f->ps);
    profile_free(f->profile);
    free(f);
    return 0;
}

static void map(struct fixture *f, int pid, uint64_t start, const char *path)
{
    static const uint8_t id[] = {0xab, 0x01};
    processes_mmap(f->ps, &(struct process_map){.pid = pid,
                                                .start = start,
                                                .end = start + 0x1000,
                                                .path = path,
                                                .build_id = id,
                                                .build_id_bytes = sizeof id});
}

/* The stack of a ready chain of user addresses, innermost first. */
static struct stack_id chain(struct fixture *f, int pid, const uint64_t *pcs, size_t n)
{
    enum unwind_end end;
    struct process_sample s = {.pid = pid, .tid = pid, .user_pcs = pcs, .n_user_pcs = n};
    struct stack_id id = processes_stack(f->ps, &s, &end);
    assert_int_equal(end, UNWIND_WHOLE);
    return id;
}

static const struct frame *leaf(struct fixture *f, struct stack_id id)
{
    return profile_frame(f->profile, f->profile->stacks.nodes.at[id.i].frame);
}

static const char *path_of(struct fixture *f, const struct frame *frame)
{
    return profile_str(f->profile, f->profile->mappings.at[frame->mapping.i].path).at;
}

/* The file of the code at PC in PID. */
static const char *path_at(struct fixture *f, int pid, uint64_t pc)
{
    return path_of(f, leaf(f, chain(f, pid, &pc, 1)));
}

static const char *name_of(struct fixture *f, int pid, int tid)
{
    struct thread_id id = processes_thread(f->ps, pid, tid);
    return profile_str(f->profile, f->profile->threads.at[id.i].name).at;
}

static void test_return_addresses_name_the_call(void **state)
{
    struct fixture *f = *state;
    const uint64_t pcs[] = {0x5010, 0x5020};
    map(f, PARENT, 0x5000, "/no/such/app");
    struct stack_id id = chain(f, PARENT, pcs, 2);
    struct stack_id caller = f->profile->stacks.nodes.at[id.i].parent;
    assert_int_equal(leaf(f, id)->pc, 0x5010);
    assert_int_equal(leaf(f, caller)->pc, 0x501f);
}

static void test_mapping_has_path_and_build_id(void **state)
{
    struct fixture *f = *state;
    uint64_t pc = 0x5010;
    map(f, PARENT, 0x5000, "/no/such/app");
    const struct frame *frame = leaf(f, chain(f, PARENT, &pc, 1));
    const struct mapping *m = &f->profile->mappings.at[frame->mapping.i];
    assert_string_equal(path_of(f, frame), "/no/such/app");
    assert_string_equal(profile_str(f->profile, m->build_id).at, "ab01");
}

static void test_mappings_without_samples_are_not_in_the_profile(void **state)
{
    struct fixture *f = *state;
    map(f, PARENT, 0x5000, "/no/such/app");
    assert_int_equal(f->profile->mappings.n, 1);
}

static void test_fork_shares_until_one_side_maps(void **state)
{
    struct fixture *f = *state;
    processes_comm(f->ps, PARENT, PARENT, "parent", false);
    map(f, PARENT, 0x5000, "/no/such/app");
    processes_fork(f->ps, CHILD, CHILD, PARENT, PARENT);
    assert_string_equal(path_at(f, CHILD, 0x5010), "/no/such/app");
    map(f, CHILD, 0x5000, "/no/such/other");
    assert_string_equal(path_at(f, CHILD, 0x5010), "/no/such/other");
    assert_string_equal(path_at(f, PARENT, 0x5010), "/no/such/app");
}

static void test_exec_forgets_mappings(void **state)
{
    struct fixture *f = *state;
    map(f, PARENT, 0x5000, "/no/such/app");
    processes_comm(f->ps, PARENT, PARENT, "other", true);
    assert_string_equal(path_at(f, PARENT, 0x5010), "");
}

static void test_exit_of_the_last_thread_forgets_mappings(void **state)
{
    struct fixture *f = *state;
    processes_comm(f->ps, PARENT, PARENT, "app", true);
    map(f, PARENT, 0x5000, "/no/such/app");
    processes_fork(f->ps, PARENT, PARENT + 1, PARENT, PARENT);
    processes_exit(f->ps, PARENT, PARENT);
    assert_string_equal(path_at(f, PARENT, 0x5010), "/no/such/app");
    processes_exit(f->ps, PARENT, PARENT + 1);
    assert_string_equal(path_at(f, PARENT, 0x5010), "");
}

static void test_threads_inherit_and_change_names(void **state)
{
    struct fixture *f = *state;
    processes_comm(f->ps, PARENT, PARENT, "app", true);
    processes_fork(f->ps, PARENT, PARENT + 1, PARENT, PARENT);
    assert_string_equal(name_of(f, PARENT, PARENT + 1), "app");
    processes_comm(f->ps, PARENT, PARENT + 1, "worker", false);
    assert_string_equal(name_of(f, PARENT, PARENT + 1), "worker");
    assert_string_equal(name_of(f, PARENT, PARENT), "app");
    assert_string_equal(name_of(f, 7, 8), ":8");
}

static void test_number_of_a_dead_thread_is_another_thread(void **state)
{
    struct fixture *f = *state;
    processes_comm(f->ps, PARENT, PARENT, "old", true);
    processes_exit(f->ps, PARENT, PARENT);
    processes_comm(f->ps, CHILD, CHILD, "shell", true);
    processes_fork(f->ps, PARENT, PARENT, CHILD, CHILD);
    assert_string_equal(name_of(f, PARENT, PARENT), "shell");
}

static void test_anonymous_code_is_compiled_at_run_time(void **state)
{
    struct fixture *f = *state;
    uint64_t pc = 0x9010;
    map(f, PARENT, 0x9000, "//anon");
    const struct frame *frame = leaf(f, chain(f, PARENT, &pc, 1));
    assert_int_equal(frame->kind, FRAME_JIT);
    assert_int_equal(frame->pc, 0x9010);
    assert_string_equal(path_of(f, frame), "[anon]");
}

static void test_jitdump_names_anonymous_code(void **state)
{
    struct fixture *f = *state;
    map(f, PARENT, 0x9000, "//anon");
    map(f, PARENT, 0x20000, "/var/tmp/.debug/jit-100.dump");
    assert_string_equal(path_at(f, PARENT, 0x9010), "/var/tmp/.debug/jit-100.dump");
}

/* Java writes its map as it exits, long after its code was sampled: each process has its own. */
static void test_code_belongs_to_the_map_that_its_process_wrote_later(void **state)
{
    enum { FIRST = 40000001, PROCESSES = 3, SILENT = 1 }; /* no process has such a number */
    struct fixture *f = *state;
    struct stack_id stacks[PROCESSES];
    char path[PROCESSES][40];
    processes_set_live(f->ps);
    for (int i = 0; i < PROCESSES; i++) {
        uint64_t pc = 0x9010 + 0x1000 * (uint64_t)i;
        snprintf(path[i], sizeof path[i], "/tmp/perf-%d.map", FIRST + i);
        map(f, FIRST + i, pc - 0x10, "//anon");
        stacks[i] = chain(f, FIRST + i, &pc, 1);
        assert_string_equal(path_of(f, leaf(f, stacks[i])), "[anon]");
    }
    for (int i = 0; i < PROCESSES; i++)
        if (i != SILENT)
            close(open(path[i], O_CREAT | O_WRONLY, 0600));
    processes_find_maps(f->ps);
    for (int i = 0; i < PROCESSES; i++)
        unlink(path[i]);
    for (int i = 0; i < PROCESSES; i++)
        assert_string_equal(path_of(f, leaf(f, stacks[i])), i == SILENT ? "[anon]" : path[i]);
}

static void test_kernel_frames_stand_on_the_users(void **state)
{
    struct fixture *f = *state;
    const uint64_t kernel[] = {0xffffffff81000010, 0}, user[] = {0x5010};
    enum unwind_end end;
    map(f, PARENT, 0x5000, "/no/such/app");
    struct process_sample s = {
        .pid = PARENT, .kernel_pcs = kernel, .n_kernel_pcs = 2, .user_pcs = user, .n_user_pcs = 1};
    struct stack_id id = processes_stack(f->ps, &s, &end);
    assert_int_equal(leaf(f, id)->kind, FRAME_KERNEL);
    assert_string_equal(path_of(f, leaf(f, id)), "[kernel.kallsyms]");
    assert_int_equal(stacks_depth(&f->profile->stacks, id), 3);
}

static void test_unfinished_stack_has_a_root_that_says_so(void **state)
{
    struct fixture *f = *state;
    enum unwind_end end;
    struct process_sample s = {.pid = PARENT, .regs = {.pc = 0x5010, .sp = 0x7000}};
    struct stack_id id = processes_stack(f->ps, &s, &end);
    assert_int_not_equal(end, UNWIND_WHOLE);
    while (f->profile->stacks.nodes.at[id.i].parent.i)
        id = f->profile->stacks.nodes.at[id.i].parent;
    const struct line *l = profile_lines(f->profile, leaf(f, id));
    assert_string_equal(profile_function_name(f->profile, l->function).at, "[unfinished]");
}

/* A file with a function at 0x1000 that is a bottom and a trampoline at 0x1100, mapped at 0x100000.
 */
static void map_made(struct fixture *f, const char *path)
{
    static const char undefined[] = {0x07, 16};
    struct made m;
    made_init(&m);
    made_fde(&m, m.plain, 0x1000, 0x40, (struct text){undefined, 2});
    made_fde(&m, m.signal, 0x10ff, 10, (struct text){"", 0});
    made_code(&m, 0x1000, "\xe8\0\0\0\0", 5);
    made_write(&m, path);
    processes_mmap(f->ps, &(struct process_map){
                              .pid = PARENT, .start = 0x100000, .end = 0x102000, .path = path});
}

static const char *function_of(struct fixture *f, const struct frame *frame)
{
    const struct line *l = profile_lines(f->profile, frame);
    return frame->n_lines ? profile_function_name(f->profile, l->function).at : "";
}

static void test_signal_trampoline_has_a_name(void **state)
{
    struct fixture *f = *state;
    char path[] = "/tmp/kelvin-process-XXXXXX";
    close(mkstemp(path));
    map_made(f, path);
    const uint64_t pcs[] = {0x101100};
    assert_string_equal(function_of(f, leaf(f, chain(f, PARENT, pcs, 1))), "__restore_rt");
    const uint64_t other[] = {0x101000};
    assert_string_equal(function_of(f, leaf(f, chain(f, PARENT, other, 1))), "");
    unlink(path);
}

/* A guess that reached the bottom is told by its end, not by a frame that says unfinished. */
static void test_guessed_stack_has_no_unfinished_root(void **state)
{
    struct fixture *f = *state;
    char path[] = "/tmp/kelvin-process-XXXXXX";
    uint64_t words[] = {1, 2, 0x101005, 3};
    enum unwind_end end;
    close(mkstemp(path));
    map_made(f, path);
    map(f, PARENT, 0x9000, "//anon");
    struct process_sample s = {.pid = PARENT,
                               .regs = {.pc = 0x9010, .sp = 0x7000},
                               .stack = {0x7000, (const uint8_t *)words, sizeof words}};
    struct stack_id id = processes_stack(f->ps, &s, &end);
    assert_int_equal(end, UNWIND_GUESSED);
    assert_int_equal(stacks_depth(&f->profile->stacks, id), 2);
    unlink(path);
}

static void test_scan_finds_ourselves(void **state)
{
    struct fixture *f = *state;
    struct err err;
    processes_set_live(f->ps);
    assert_int_equal(processes_scan(f->ps, getpid(), &err), 0);
    assert_non_null(strstr(path_at(f, getpid(), (uint64_t)(uintptr_t)test_scan_finds_ourselves),
                           "test_process"));
    assert_string_equal(name_of(f, getpid(), getpid()), "test_process");
    assert_int_equal(processes_scan(f->ps, 0x7ffffff0, &err), -1);
}

static void test_who_started_while_records_were_lost_has_a_name(void **state)
{
    struct fixture *f = *state;
    char unknown[24];
    snprintf(unknown, sizeof unknown, ":%d", getpid());
    processes_set_live(f->ps);
    assert_string_equal(name_of(f, getpid(), getpid()), unknown);
    processes_set_lossy(f->ps);
    assert_string_equal(name_of(f, getpid(), getpid()), "test_process");
    assert_string_equal(name_of(f, 0x7ffffff0, 0x7ffffff0), ":2147483632");
}

/* Whether the first file that PID has mapped could be read. */
static bool has_table(struct fixture *f, int pid)
{
    struct unwind_code code;
    return processes_code(f->ps, pid, 0, &code) && code.table;
}

/* It is opened with the first sample, long after it was mapped. */
static void test_a_file_deleted_after_it_was_mapped_is_read(void **state)
{
    struct fixture *f = *state;
    enum { BYTES = 0x2000 };
    char path[] = "/tmp/kelvin-process-XXXXXX";
    int fd = mkstemp(path);
    map_made(f, path);
    char *at = mmap(NULL, BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
    close(fd);
    char file[80];
    snprintf(file, sizeof file, "/proc/self/map_files/%lx-%lx", (unsigned long)at,
             (unsigned long)at + BYTES);
    fd = at == MAP_FAILED ? -1 : open(file, O_RDONLY);
    if (fd < 0) {
        unlink(path);
        skip(); /* for root alone, and not for that of a user namespace */
    }
    close(fd);
    processes_set_live(f->ps);
    struct process_map m = {.pid = getpid(), .start = (uint64_t)(uintptr_t)at, .path = path};
    m.end = m.start + BYTES;
    processes_mmap(f->ps, &m);
    unlink(path);
    assert_true(has_table(f, getpid()));
    munmap(at, BYTES);
}

/* A process that lives below FOLDER until it is killed. */
static pid_t start_below(const char *folder)
{
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        if (chroot(folder) == 0)
            (void)!write(ready[1], "", 1);
        close(ready[1]);
        pause();
        _exit(0);
    }
    close(ready[1]);
    bool moved = read(ready[0], &byte, 1) == 1;
    close(ready[0]);
    if (moved)
        return pid;
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    return -1;
}

/* A container's processes end before anybody asks where their root folder is. */
static void test_a_process_that_ended_sees_the_files_of_its_parent(void **state)
{
    struct fixture *f = *state;
    enum { GONE = 0x7ffffff0 };
    char folder[] = "/tmp/kelvin-root-XXXXXX";
    assert_non_null(mkdtemp(folder));
    autofree char *path = mem_printf("%s/app", folder);
    map_made(f, path);
    pid_t parent = start_below(folder);
    if (parent >= 0) {
        struct process_map m = {.pid = parent, .start = 0x100000, .end = 0x102000, .path = "/app"};
        processes_set_live(f->ps);
        processes_mmap(f->ps, &m);
        processes_fork(f->ps, GONE, GONE, parent, parent);
        processes_comm(f->ps, GONE, GONE, "app", true);
        m.pid = GONE;
        processes_mmap(f->ps, &m);
        assert_true(has_table(f, parent));
        assert_true(has_table(f, GONE));
        kill(parent, SIGKILL);
        waitpid(parent, NULL, 0);
    }
    unlink(path);
    rmdir(folder);
    if (parent < 0)
        skip();
}

/* --- rows of the profile --- */

static struct process_id row_of(struct fixture *f, int pid)
{
    struct thread_id id = processes_thread(f->ps, pid, pid);
    return f->profile->threads.at[id.i].process;
}

static const struct process *process_row(struct fixture *f, struct process_id id)
{
    return &f->profile->processes.at[id.i];
}

static void test_after_the_last_walk_tables_are_gone_and_files_at_hand(void **state)
{
    struct fixture *f = *state;
    struct err err;
    struct unwind_code code;
    processes_set_live(f->ps);
    assert_int_equal(processes_scan(f->ps, getpid(), &err), 0);
    uint64_t here = (uint64_t)(uintptr_t)test_scan_finds_ourselves;
    const struct frame *fr = leaf(f, chain(f, getpid(), &here, 1));
    struct mapping m = f->profile->mappings.at[fr->mapping.i];
    assert_true(processes_code(f->ps, getpid(), 0, &code));
    processes_end_walks(f->ps);
    assert_false(processes_code(f->ps, getpid(), 0, &code));
    assert_false(processes_knows(f->ps, getpid()));
    const char *held = processes_locate(f->ps, profile_str(f->profile, m.path).at,
                                        profile_str(f->profile, m.build_id));
    assert_int_equal(strncmp(held, "/proc/self/fd/", 14), 0);
    assert_int_equal(access(held, R_OK), 0);
    chain(f, getpid(), &here, 1); /* a late one is borne, without a file */
}

static void test_processes_without_samples_are_not_in_the_profile(void **state)
{
    struct fixture *f = *state;
    processes_comm(f->ps, PARENT, PARENT, "shell", false);
    processes_fork(f->ps, CHILD, CHILD, PARENT, PARENT);
    processes_exit(f->ps, CHILD, CHILD);
    assert_int_equal(f->profile->processes.n, 1);
}

static void test_a_process_has_a_parent_a_program_and_times(void **state)
{
    struct fixture *f = *state;
    processes_comm(f->ps, PARENT, PARENT, "shell", false);
    map(f, PARENT, 0x5000, "/no/such/shell");
    processes_set_time(f->ps, 1000);
    processes_fork(f->ps, CHILD, CHILD, PARENT, PARENT);
    struct process_id id = row_of(f, CHILD);
    assert_string_equal(profile_str(f->profile, process_row(f, id)->executable).at,
                        "/no/such/shell");
    processes_set_time(f->ps, 1500);
    processes_comm(f->ps, CHILD, CHILD, "app", true);
    map(f, CHILD, 0x5000, "/no/such/app");
    map(f, CHILD, 0x8000, "/no/such/lib");
    assert_int_equal(row_of(f, CHILD).i, id.i);
    processes_set_time(f->ps, 2000);
    processes_exit(f->ps, CHILD, CHILD);
    const struct process *child = process_row(f, id), *parent = process_row(f, child->parent);
    assert_int_equal(child->pid, CHILD);
    assert_int_equal(child->start_ns, 1000);
    assert_int_equal(child->end_ns, 2000);
    assert_string_equal(profile_str(f->profile, child->executable).at, "/no/such/app");
    assert_int_equal(parent->pid, PARENT);
    assert_int_equal(parent->start_ns, 0);
    assert_int_equal(parent->end_ns, 0);
}

static void test_a_pid_that_comes_again_is_another_process(void **state)
{
    struct fixture *f = *state;
    processes_comm(f->ps, PARENT, PARENT, "shell", false);
    processes_set_time(f->ps, 10);
    processes_fork(f->ps, CHILD, CHILD, PARENT, PARENT);
    struct process_id first = row_of(f, CHILD);
    processes_set_time(f->ps, 20);
    processes_exit(f->ps, CHILD, CHILD);
    assert_int_equal(row_of(f, CHILD).i, first.i); /* its last moments */
    processes_set_time(f->ps, 30);
    processes_fork(f->ps, CHILD, CHILD, PARENT, PARENT);
    struct process_id second = row_of(f, CHILD);
    assert_int_not_equal(second.i, first.i);
    assert_int_equal(process_row(f, first)->end_ns, 20);
    assert_int_equal(process_row(f, second)->start_ns, 30);
    assert_int_equal(process_row(f, second)->end_ns, 0);
}

static void test_a_process_does_not_end_before_its_last_thread(void **state)
{
    struct fixture *f = *state;
    processes_comm(f->ps, PARENT, PARENT, "app", true);
    processes_fork(f->ps, PARENT, PARENT + 1, PARENT, PARENT);
    struct process_id id = row_of(f, PARENT);
    processes_set_time(f->ps, 20);
    processes_exit(f->ps, PARENT, PARENT);
    assert_int_equal(process_row(f, id)->end_ns, 0);
    processes_set_time(f->ps, 30);
    processes_exit(f->ps, PARENT, PARENT + 1);
    assert_int_equal(process_row(f, id)->end_ns, 30);
    assert_int_equal(f->profile->processes.n, 2);
}

/* Damaged files have processes that are their own grandparents, and endless lines of them. */
static void test_ancestors_without_end_are_borne(void **state)
{
    struct fixture *f = *state;
    processes_fork(f->ps, PARENT, PARENT, CHILD, CHILD);
    processes_fork(f->ps, CHILD, CHILD, PARENT, PARENT);
    assert_int_equal(process_row(f, row_of(f, PARENT))->pid, PARENT);
    assert_int_equal(f->profile->processes.n, 3);
    for (int pid = 1000; pid < 50000; pid++)
        processes_fork(f->ps, pid + 1, pid + 1, pid, pid);
    assert_int_equal(process_row(f, row_of(f, 50000))->pid, 50000);
}

/* A machine that starts a hundred a second, each with a thread more. */
static void test_who_ended_long_ago_is_forgotten(void **state)
{
    struct fixture *f = *state;
    size_t most = 0, before = 0, times = 0;
    processes_set_live(f->ps);
    processes_set_time(f->ps, 1000);
    processes_comm(f->ps, PARENT, PARENT, "parent", false);
    for (int i = 1; i <= 20000; i++) {
        int pid = 10000 + i;
        processes_set_time(f->ps, (uint64_t)i * 10000000);
        processes_fork(f->ps, pid, pid, PARENT, PARENT);
        processes_fork(f->ps, pid, pid + 100000, pid, pid);
        processes_exit(f->ps, pid, pid + 100000);
        before = processes_count(f->ps);
        processes_exit(f->ps, pid, pid);
        times += processes_count(f->ps) < before;
        most = processes_count(f->ps) > most ? processes_count(f->ps) : most;
    }
    assert_true(most < 12000);
    assert_true(times > 2 && times < 50); /* to go through all of them at each end would be slow */
    const struct thread *late =
        &f->profile->threads.at[processes_thread(f->ps, 30000, 30000).i]; /* its last moments */
    assert_string_equal(profile_str(f->profile, late->name).at, "parent");
    assert_int_equal(f->profile->processes.at[late->process.i].pid, 30000);
    const struct thread *alive = &f->profile->threads.at[processes_thread(f->ps, PARENT, PARENT).i];
    assert_string_equal(profile_str(f->profile, alive->name).at, "parent");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
        TEST(return_addresses_name_the_call),
        TEST(mapping_has_path_and_build_id),
        TEST(mappings_without_samples_are_not_in_the_profile),
        TEST(who_ended_long_ago_is_forgotten),
        TEST(fork_shares_until_one_side_maps),
        TEST(exec_forgets_mappings),
        TEST(exit_of_the_last_thread_forgets_mappings),
        TEST(threads_inherit_and_change_names),
        TEST(number_of_a_dead_thread_is_another_thread),
        TEST(anonymous_code_is_compiled_at_run_time),
        TEST(jitdump_names_anonymous_code),
        TEST(code_belongs_to_the_map_that_its_process_wrote_later),
        TEST(kernel_frames_stand_on_the_users),
        TEST(unfinished_stack_has_a_root_that_says_so),
        TEST(signal_trampoline_has_a_name),
        TEST(guessed_stack_has_no_unfinished_root),
        TEST(scan_finds_ourselves),
        TEST(who_started_while_records_were_lost_has_a_name),
        TEST(a_file_deleted_after_it_was_mapped_is_read),
        TEST(a_process_that_ended_sees_the_files_of_its_parent),
        TEST(after_the_last_walk_tables_are_gone_and_files_at_hand),
        TEST(processes_without_samples_are_not_in_the_profile),
        TEST(a_process_has_a_parent_a_program_and_times),
        TEST(a_pid_that_comes_again_is_another_process),
        TEST(a_process_does_not_end_before_its_last_thread),
        TEST(ancestors_without_end_are_borne),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
