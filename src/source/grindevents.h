/*
 * grindevents.h - the events of a callgrind or cachegrind file: their order in each part, those
 * that follow from others, and whether the costs sum up to what the file says.
 */
#pragma once
#include "source/import.h"

/* All events are columns of one stream. */
enum { GRINDEVENTS_STREAM = 0 };

/* "sum = Ir + 10 Dr" */
struct grindevents_derived {
    struct str_id name;
    int64_t factor[STREAM_MAX_TYPES]; /* of each event of the file */
};

struct grindevents {
    struct str_id name[STREAM_MAX_TYPES]; /* of the whole file, in the order of its first part */
    size_t n;
    uint8_t column[STREAM_MAX_TYPES]; /* of this part: which event its n-th cost is */
    size_t n_columns;
    VEC(struct grindevents_derived) derived;
    int64_t sum[STREAM_MAX_TYPES];                   /* of this part's own costs */
    int64_t told[STREAM_MAX_TYPES];                  /* what it says they are */
    enum { TOLD_NOT, TOLD_SUMMARY, TOLD_TOTALS } by; /* totals go before the summary */
};

void grindevents_done(struct grindevents *ev);

/* "Ir Dr Dw". Makes the stream and its columns, the first time; later parts may have fewer events.
 */
int grindevents_set(struct grindevents *ev, struct import *im, struct text list, struct err *err);

/* "sum = Ir + 10 Dr : long name"; without a "=" only a long name, which is left out. */
int grindevents_derive(struct grindevents *ev, struct import *im, struct text t, struct err *err);

/* The costs of a line, an entry an event of the file. False when they are no numbers. */
bool grindevents_costs(const struct grindevents *ev, struct text t, int64_t *ret);

/* "summary:" and "totals:"; both stand for the sum of this part. */
void grindevents_tell(struct grindevents *ev, struct text t, bool totals);

/* Compare at the end of a part. */
int grindevents_check(struct grindevents *ev, struct import *im, struct err *err);

/* When all rows are there: further columns for events that follow from others. */
void grindevents_add_derived(struct grindevents *ev, struct import *im);
