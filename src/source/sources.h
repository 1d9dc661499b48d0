/*
 * sources.h - every source there is; import.c has the table.
 */
#pragma once

struct source;

extern const struct source source_bpftrace;
extern const struct source source_cachegrind;
extern const struct source source_callgrind;
extern const struct source source_chrometrace;
extern const struct source source_cpuprofile;
extern const struct source source_dhat;
extern const struct source source_dtrace;
extern const struct source source_firefox;
extern const struct source source_folded;
extern const struct source source_gperftools;
extern const struct source source_heaptrack;
extern const struct source source_jemalloc;
extern const struct source source_kelvin;
extern const struct source source_leaksanitizer;
extern const struct source source_macsample;
extern const struct source source_massif;
extern const struct source source_perfdata;
extern const struct source source_perfetto;
extern const struct source source_perfscript;
extern const struct source source_pprof;
extern const struct source source_speedscope;
