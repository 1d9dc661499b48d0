/*
 * doctor.h - what this host lets a profiler do, found out by trying.
 *
 * How to add a check: write a function in doctor_perf.c or doctor_host.c that fills a finding,
 * declare it in doctor_inner.h and add its row to the table in doctor.c.
 */
#pragma once
#include "host/fingerprint.h"

#include <stdio.h>

enum doctor_state {
    DOCTOR_OK,
    DOCTOR_LIMITED, /* works in part, or hurts measurements */
    DOCTOR_NO,
    DOCTOR_NOTE, /* good to know, neither good nor bad */
};

enum { DOCTOR_FINDINGS_MAX = 40 };

struct doctor_finding {
    const char *group, *name;
    enum doctor_state state;
    char why[240];
    char fix[240]; /* the line that would lift the limit; "" where there is none */
};

/* The engines' own verdicts, as they ask for more than is tried here: NULL, or why not. */
struct doctor_engines {
    const char *perf, *timer;
};

struct doctor {
    struct doctor_engines engines;
    const char *root; /* the folder that stands for "/"; see sysfile.h */
    struct fingerprint host;

    /* What perf_event_open said: 0 or an errno. */
    int perf_user, perf_kernel, perf_cpus, perf_system, perf_cycles;
    bool seccomp;      /* a filter governs this process */
    bool has_paranoid; /* kernels without perf events have no such setting */
    long paranoid;
    long rate_max_hz; /* of the kernel; 0 = not known */
    int timer;        /* 0 or an errno of per-thread CPU timers */
    int tick_hz;      /* of the kernel, which those timers wait for */

    struct doctor_finding findings[DOCTOR_FINDINGS_MAX];
    int n_findings;

    const char *engine; /* what would record: "perf", "timer", or NULL */
    char verdict[640];  /* one sentence about it */
};

/* Try everything; takes some milliseconds and changes nothing. ROOT is "" except in tests. */
void doctor_run(struct doctor *d, const char *root, struct doctor_engines engines);

/* Only what was probed is judged: fills findings and verdict. For tests; doctor_run() does it. */
void doctor_judge(struct doctor *d);

void doctor_print(FILE *out, const struct doctor *d);
void doctor_print_json(FILE *out, const struct doctor *d);
