/*
 * support.h - what several unit tests do. Include it after cmocka.h.
 */
#pragma once
#include "base/mem.h"
#include "source/import.h"

/* A profile of folded lines. Free it. */
static inline struct profile *support_folded(const char *text)
{
    struct reader in;
    struct import im;
    struct err err;
    struct profile *p = NULL;
    struct import_opts opts = {.format = "folded"};
    reader_open_memory(&in, text, strlen(text));
    assert_int_equal(import_reader(&im, &in, "test", &opts, &p, &err), 0);
    import_done(&im);
    reader_close(&in);
    return p;
}

/* Remove a folder with all that is in it; for tear-downs. */
static inline int support_remove(const char *folder)
{
    autofree char *line = mem_printf("rm -rf '%s'", folder);
    return system(line);
}
