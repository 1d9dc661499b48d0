/*
 * doctor_inner.h - the single checks; only doctor.c calls them.
 */
#pragma once
#include "host/doctor.h"

typedef void doctor_check(const struct doctor *d, struct doctor_finding *f);

/* Describe F; printf-style. */
void doctor_say(struct doctor_finding *f, enum doctor_state state, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void doctor_fix(struct doctor_finding *f, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* --- doctor_perf.c --- */

/* Ask the kernel: fills perf_*, seccomp, paranoid and rate_max_hz of D. */
void doctor_probe_perf(struct doctor *d);

/* Why perf_event_open said ERRNUM, a clause: "perf_event_open is blocked by seccomp". */
const char *doctor_perf_reason(const struct doctor *d, int errnum, char *to, size_t n);

doctor_check doctor_user, doctor_kernel, doctor_cpus, doctor_system, doctor_cycles, doctor_paranoid,
    doctor_seccomp, doctor_rate, doctor_rings, doctor_kallsyms, doctor_waits;

/* --- doctor_timer.c --- */

/* Fills timer and tick_hz of D. */
void doctor_probe_timer(struct doctor *d);

doctor_check doctor_timer;

/* --- doctor_host.c --- */

doctor_check doctor_attach, doctor_files, doctor_tracefs, doctor_bpf, doctor_debuginfo,
    doctor_debuginfod, doctor_disk, doctor_virtual, doctor_container, doctor_usable,
    doctor_governor, doctor_load, doctor_clock, doctor_tools;
