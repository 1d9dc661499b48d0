#include "source/notprofile.h"

#include <elf.h>

struct notprofile {
    const char *start; /* "" = anything */
    const char *has;   /* somewhere in the head */
    const char *what;
};

static const struct notprofile known[] = {
    {"PK\003\004", "", "a zip archive: unpack it first"},
    {"\004\"M\030", "", "packed by lz4: unpack it first"},
    {" Performance counter stats for", "", "what 'perf stat' prints: counts without functions"},
    {"", "\n Performance counter stats for", "what 'perf stat' prints: counts without functions"},
    {"", "\n# Overhead ",
     "what 'perf report' prints: read perf.data itself, or what 'perf script' prints"},
    {"", "\n# Children ",
     "what 'perf report' prints: read perf.data itself, or what 'perf script' prints"},
    {"", "\nShowing nodes accounting for", "a table of pprof: read the profile itself"},
    {"", "\nMassif arguments: ", "what 'ms_print' prints: read massif.out itself"},
    {"", "\nProfile data file '", "what 'callgrind_annotate' prints: read callgrind.out itself"},
    {"", "MOST CALLS TO ALLOCATION FUNCTIONS",
     "what 'heaptrack_print' prints: read heaptrack's own file"},
    {"==", " HEAP SUMMARY:",
     "a log of memcheck: 'valgrind --leak-check=full --xtree-leak=yes "
     "--xtree-leak-file=leaks.kcg' writes what can be read"},
    {"{\"type\": \"attached_probes\"", "", "JSON of bpftrace: run it without '-f json'"},
    {"{", "\"selfSize\"", "a heap profile of V8, a format that kelvin does not know"},
    {"<?xml", "<svg", "a drawing: read the profile that it was drawn from"},
    {"<svg", "", "a drawing: read the profile that it was drawn from"},
    {"<!DOCTYPE html", "", "a page: read the profile that it was made from"},
    {"<!doctype html", "", "a page: read the profile that it was made from"},
    {"digraph ", "", "a drawing for Graphviz: read the profile that it was made from"},
};

static bool has(struct text head, const char *word)
{
    return !*word || (head.n && memmem(head.at, head.n, word, strlen(word)));
}

static const char *what_elf(struct text head)
{
    if (head.n < 17 || memcmp(head.at, ELFMAG, SELFMAG) != 0)
        return NULL;
    return head.at[16] == ET_CORE
               ? "a core dump, not a profile"
               : "a program or library, not a profile: 'kelvin record' makes one";
}

static bool is_tar(struct text head)
{
    enum { MAGIC_AT = 257 };
    return head.n > MAGIC_AT + 5 && memcmp(head.at + MAGIC_AT, "ustar", 5) == 0;
}

const char *notprofile_what(struct text head)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (text_starts(head, known[i].start) && has(head, known[i].has))
            return known[i].what;
    return is_tar(head) ? "a tar archive: unpack it first" : what_elf(head);
}
