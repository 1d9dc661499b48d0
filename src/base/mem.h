/*
 * mem.h - memory that is there or the program is not, and scope-bound cleanup.
 *
 * Running out of memory is not a condition any caller could fix, so these never return NULL:
 * they write one line and end the program. Nothing is lost by that, because output files are
 * published whole or not at all.
 */
#pragma once
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void *mem_realloc(void *old, size_t size_bytes); /* old may be NULL */
void *mem_calloc(size_t n, size_t size_bytes);
void *mem_array(size_t n, size_t size_bytes); /* not zeroed: for what is filled at once */
char *mem_strdup(const char *s);
char *mem_strndup(const char *s, size_t n);
char *mem_printf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * Zeroed memory for large tables that are read at random: in huge pages where the kernel gives
 * them, which spares most of the page faults and TLB misses. Free with the same size.
 */
void *mem_table(size_t size_bytes);
void mem_table_free(void *table, size_t size_bytes); /* NULL is fine */

/* Ask for huge pages under a large block that is about to be filled. */
void mem_want_huge_pages(void *block, size_t size_bytes);

/*
 * For a program that does one thing and ends: freed blocks up to 1 MiB stay with the process,
 * so that the next ones come without page faults, which are a quarter of a short command's time.
 */
void mem_keep_freed(void);

/* A new zeroed object of a type. */
#define mem_new(T) ((T *)mem_calloc(1, sizeof(T)))

static inline void mem_autofree(void *p)
{
    free(*(void **)p);
}

static inline void mem_autoclose(int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

static inline void mem_autofclose(FILE **f)
{
    if (*f)
        fclose(*f);
}

#define autofree __attribute__((cleanup(mem_autofree)))
#define autoclose __attribute__((cleanup(mem_autoclose)))
#define autofclose __attribute__((cleanup(mem_autofclose)))
