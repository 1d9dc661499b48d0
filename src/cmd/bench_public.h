/*
 * bench_public.h - what `kelvin bench` measured, without the arguments of commands.
 *
 * Pages are for others, and command lines hold passwords. Names are keys too, by which baselines
 * are found, so they are changed for as long as a page is printed only.
 */
#pragma once
#include "base/vec.h"
#include "bench/sweep.h"
#include "model/past.h"
#include "model/series.h"

struct bench_public_text {
    char **place, *kept; /* where it was, and what */
};

struct bench_public_name {
    const char *own; /* the series' own text */
    char *shown;
};

struct bench_public {
    bool on;
    bool named; /* sweeps are called by --name, not by their command */
    struct pasts *pasts;
    VEC(struct bench_public_text) texts;
    VEC(struct bench_public_name) names; /* of all sets: they are matched by name */
};

/* Whether a FORMAT is made to be shown to others: a page, not data. */
bool bench_public_is_page(const char *format);

/* Hide the arguments in S, or in the names of sweeps, until bench_public_done(). Nothing if not
 * `on`. */
void bench_public_hide(struct bench_public *b, struct series_set *s);
/* Histories are called like the sets' series: hide those first. */
void bench_public_hide_pasts(struct bench_public *b, struct pasts *p);
void bench_public_hide_sweeps(struct bench_public *b, struct sweeps *s);
void bench_public_done(struct bench_public *b);
