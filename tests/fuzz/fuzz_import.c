/*
 * fuzz_import.c - any bytes as an input of one format, and out again in every format.
 *
 * The format is what follows "fuzz_" in the program's name, so that one program serves them all:
 * fuzz_pprof is a link to it. What was imported is then written by every exporter, because names
 * and numbers from a hostile file must not break those either.
 */
#include "reseal.h"
#include "source/import.h"
#include "view/export/export.h"
#include "view/export/folded.h"

#include <stdint.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);
size_t LLVMFuzzerMutate(uint8_t *bytes, size_t n, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t n, size_t max, unsigned int seed);

static const struct {
    const char *name;
    bool merge, addresses, bare_addresses, strict;
} ways[] = {
    {"as 'kelvin fold' reads it", .merge = true},
    {"as 'kelvin convert' reads it", .addresses = true, .bare_addresses = true},
    {"strict", .merge = true, .strict = true},
};

static const char *format;
static FILE *nowhere;

static bool is_source(const char *name)
{
    for (int i = 0; import_sources[i]; i++)
        if (strcmp(import_sources[i]->name, name) == 0)
            return true;
    return false;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    const char *name = strstr((*argv)[0], "fuzz_");
    for (const char *next = name; next; next = strstr(name + 1, "fuzz_"))
        name = next;
    if (!name || !is_source(name + strlen("fuzz_"))) {
        fprintf(stderr, "call it by the name fuzz_FORMAT, FORMAT being one of:\n");
        for (int i = 0; import_sources[i]; i++)
            fprintf(stderr, "%s\n", import_sources[i]->name);
        exit(1);
    }
    format = name + strlen("fuzz_");
    nowhere = fopen("/dev/null", "w");
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t n, size_t max, unsigned int seed)
{
    n = LLVMFuzzerMutate(bytes, n, max);
    if (strcmp(format, "kelvin") == 0 && seed % 8)
        reseal(bytes, n);
    return n;
}

static void export_all(const struct profile *p)
{
    struct err err;
    struct value_ref value;
    if (profile_pick_value(p, NULL, NULL, &value, &err) != 0)
        return;
    struct selection s = selection_all(p, value);
    for (int i = 0; export_formats[i]; i++) {
        export_write(export_formats[i], nowhere, &s, &(struct export_opts){0}, &err);
        export_write(export_formats[i], nowhere, &s, &(struct export_opts){.all = true}, &err);
    }
    struct folded_opts plain = {.group = GROUP_TID, .addresses = true};
    folded_print(nowhere, &s, &plain, &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        struct import_opts opts = {.format = format,
                                   .merge = ways[i].merge,
                                   .addresses = ways[i].addresses,
                                   .bare_addresses = ways[i].bare_addresses,
                                   .strict = ways[i].strict};
        struct import im;
        struct reader in;
        struct profile *p = NULL;
        struct err err;
        reader_open_memory(&in, bytes, n);
        if (import_reader(&im, &in, "fuzz", &opts, &p, &err) == 0)
            export_all(p);
        import_done(&im);
        reader_close(&in);
        profile_free(p);
    }
    return 0;
}
