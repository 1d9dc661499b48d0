/*
 * wasm_libc.h - what wasi-libc lacks of the C library; included ahead of every file that becomes
 * part of the page's core. Defined in wasm.c.
 */
#pragma once
#include <stddef.h>
#include <sys/types.h>

/* A merge sort: stable, and quick with what is sorted already. */
void qsort_r(void *base, size_t n, size_t size, int (*compare)(const void *, const void *, void *),
             void *ctx);
uid_t geteuid(void);
