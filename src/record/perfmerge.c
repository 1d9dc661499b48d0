#include "record/perfmerge.h"

struct perfring *perfmerge_next(struct perfring *rings, size_t n, uint64_t until_ns)
{
    struct perfring *next = NULL;
    for (size_t i = 0; i < n; i++) {
        uint64_t t = perfring_time(&rings[i]);
        if (t < until_ns) {
            until_ns = t;
            next = &rings[i];
        }
    }
    return next;
}
