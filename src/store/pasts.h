/*
 * pasts.h - the past of benchmarks, read from a store; model/past.h has the type.
 */
#pragma once
#include "model/past.h"
#include "store/store.h"

/*
 * The past of each series of SET on its host, with the places where the level changed; only of
 * those that have one. FRESH: SET is not in the store and is the end of it. Free with pasts_done()
 * either way; names point into SET.
 */
int pasts_read(struct pasts *to, struct store *s, const struct series_set *set, enum measure m,
               bool fresh, struct err *err);
void pasts_done(struct pasts *p);
