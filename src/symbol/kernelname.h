/*
 * kernelname.h - names of kernel functions, of the kernel that was running and of no other.
 *
 * Its addresses change at every boot. A profile that knows where the symbol _text was
 * can therefore be named from any copy of the same kernel's symbols; without that only the running
 * kernel's own list will do.
 */
#pragma once
#include "symbol/finder.h"
#include "symbol/lookup.h"

/* The facts that a profile has about its kernel. */
struct kernelname_facts {
    const char *release;  /* "6.1.0-9-amd64"; "" where not known */
    struct text build_id; /* hex, perhaps empty */
    uint64_t text;        /* where _text was; 0 where not known */
};

struct kernelname_facts kernelname_facts_of(const struct profile *p);

enum kernelname_end { KERNELNAME_FOUND, KERNELNAME_OTHER, KERNELNAME_HIDDEN };

/*
 * Name the addresses of L. KALLSYMS is the running kernel's list. A file of symbols that was asked
 * for goes first, as it has lines; then the running kernel, then other places of such files.
 */
enum kernelname_end kernelname_name(struct lookup *l, struct finder *f,
                                    const struct kernelname_facts *k, const char *kallsyms);
