/*
 * provenance.h - which state of which source a measurement belongs to.
 *
 * The commit, branch and dirty state come from git itself, asked with a time limit, without
 * prompts, locks or hooks. A folder without git, or a machine without it, has no commit: the keys
 * are then absent. Remotes, authors and paths are left out: a profile is shown to others.
 */
#pragma once
#include <stdbool.h>

struct meta;

struct provenance {
    char commit[65]; /* "" = not known */
    char branch[128];
    bool detached; /* no branch: a commit was checked out */
    bool dirty_known, dirty;
};

/* Ask about the current folder; takes at most two seconds. */
void provenance_read(struct provenance *p);

/* META_COMMIT, META_BRANCH, META_DIRTY as far as known, and META_TOOL. */
void provenance_put(const struct provenance *p, struct meta *m);

/*
 * META_OPTIONS: the N words at ARGS as one would type them, quoted where a shell needs it. Of the
 * address of a server what follows "?" is left out, as it may be a key.
 */
void provenance_put_options(struct meta *m, int n, char *const *args);
