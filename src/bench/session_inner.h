/*
 * session_inner.h - shared by session*.c.
 */
#pragma once
#include "bench/order.h"
#include "bench/session.h"

struct session_group {
    struct order order;
    size_t blocks;
    int looks;        /* that took place */
    size_t looked_at; /* blocks at the last of them */
    double spent_s;
    bool done;
};

/* Two series that are compared. While it runs they are known by number: the set grows and moves. */
struct session_pair {
    size_t before, after;
    struct comparison c; /* as of the last look; its pointers hold until the next run */
    bool final;          /* decided: not looked at again */
};

/* --- session_run.c: one run --- */

/* Run an item once. BLOCK >= 0: its values go into the set. */
int session_measure(struct session *s, size_t item, size_t pad_bytes, long block, struct err *err);

/* Run a command that is not measured: prepare, setup, cleanup. WHAT names it. */
int session_do(struct session *s, size_t command, const char *what, struct err *err);

/* --- session_judge.c: verdicts --- */

/* Is it time to look at group G? If so look, and say whether it is done. */
void session_judge(struct session *s, size_t g);

/* The last look: time is up, or the user wants to stop. */
void session_judge_last(struct session *s, size_t g);

void session_judge_aa(struct session *s);

/* The median of a series, and half of its 95% interval; NAN without values. */
double session_median(const struct session *s, const struct series *series, double *ret_half);

/* The same of an item, for the progress bar. */
void session_middle(const struct session *s, size_t item, struct session_progress *p);

/* The verdict of CPU time on a comparison of wall times. */
struct comparison session_by_cpu(const struct session *s, const struct session_pair *pair);

/* When all is in order: fill in the session's comparisons. */
void session_conclude(struct session *s);

/* Blocks without which nothing could be said. */
size_t session_least(const struct session *s, size_t g);

/* --- session_doubt.c --- */

/* Note what is too short to be measured. */
void session_doubt(struct session *s);

void session_note(struct session *s, char *note); /* owns it; each once */
