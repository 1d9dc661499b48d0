/*
 * run_inner.h - the phases of a run, shared by run*.c.
 */
#pragma once
#include "suite/exec.h"
#include "suite/run.h"

/* Report what a phase is doing. */
void run_say(const struct run *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* -1 with ERR once the user wants to stop. */
int run_go_on(const struct run *r, struct err *err);

/* Each returns 0 to go on, or -1 with ERR when the run cannot. */
int run_host(struct run *r, struct err *err);
int run_build(struct run *r, struct err *err);
int run_record(struct run *r, struct err *err);
int run_bench(struct run *r, struct err *err);
int run_analyse(struct run *r, struct err *err);
int run_check(struct run *r, struct err *err);
int run_publish(struct run *r, struct err *err);

/* Lines of a command's output that are shown where it fails. */
enum { RUN_TAIL_LINES = 15 };

/* Run a command of the suite; its log is empty before. -1 when the user wants to stop, too. */
int run_command(struct run *r, const struct exec_opts *o, struct exec_result *ret, struct err *err);

/* How the command of W is run, but for its words. */
struct exec_opts run_exec_opts(const struct run *r, const struct suite_result *w);

/* CPUs in one word: "1,2-3". Free it. */
char *run_join_cpus(const struct words *cpus);

/* Run W under each tool of valgrind that it asks for. */
int run_grind(struct run *r, struct suite_result *w, struct err *err);

/* Refuse names of baselines that are no plain names, and one to compare with that is not there. */
int run_check_baselines(struct run *r, struct err *err);

/* Refuse rules that are not there or cannot be read, before anything runs. */
int run_check_rules(struct run *r, struct err *err);

/* Add what came of each workload to the history. */
void run_remember(struct run *r);

/* Read publish.notes, before anything runs: a missing file is an error of the suite file. */
int run_read_notes(struct run *r, struct err *err);

/* "NAME" beside the history. Free it. */
char *run_home_folder(const struct run *r, const char *name);

/* How many bytes of LINE are the program, if that is BINARY however it is written; else 0. */
size_t run_program_bytes(const char *line, const char *binary);

/* A command: PROGRAM, in quotes where it needs them, and the REST of a line. Free it. */
char *run_line_with(const char *program, const char *rest);

/* Where the files of a baseline are. Free it. */
char *run_baseline_folder(const struct run *r, const char *name);

/* Keep the programs in the folder of a baseline that is about to be saved. */
int run_keep_programs(const struct run *r, const struct folder *folder, struct err *err);

/* Fill in line_before of W, or why_apart: the two programs take turns where that proves something.
 */
void run_find_beside(struct run *r, struct suite_result *w);

/* Load the recordings of the baseline to compare with, unless it is of another machine. */
int run_load_baseline(struct run *r, struct err *err);

/* Keep what was measured as a baseline. */
int run_save_baseline(struct run *r, struct err *err);
