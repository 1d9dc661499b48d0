/*
 * perfmerge.h - records of several rings, in the order of time.
 *
 * Each ring is in order by itself. Late records of one ring are not waited for: the caller asks
 * for records up to a time that all rings have passed.
 */
#pragma once
#include "record/perfring.h"

/*
 * The ring of RINGS whose next record is the earliest and older than UNTIL_NS; NULL when there is
 * none. Of equals the first in RINGS.
 */
struct perfring *perfmerge_next(struct perfring *rings, size_t n, uint64_t until_ns);
