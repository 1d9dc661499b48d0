/*
 * spansend.h - spans to a collector while they are recorded: wire/otlp.h, wire/collector.h.
 *
 *     spans -> a batch, by the recorder -> a bounded queue of bodies -> a thread that posts them
 *
 * The recorder never waits: if the queue is full, because the collector is slow or gone, spans
 * are dropped and counted. At the end what is left gets a few seconds.
 */
#pragma once
#include "wire/collector.h"
#include "wire/otlp.h"

enum { SPANSEND_BATCH = 1024, SPANSEND_QUEUE = 64 };

struct spansend;

struct spansend_facts {
    uint64_t sent;     /* spans that the collector took */
    uint64_t dropped;  /* for want of room: the collector was slow or gone */
    uint64_t failed;   /* refused or given up */
    uint64_t rejected; /* of those sent: not taken after all */
    char why[240];     /* the last failure; "" = none */
};

int spansend_open(const char *url, const struct profile *p, struct spansend **ret, struct err *err);

/* NAME becomes the span's. Its start is of the profile's clock. */
void spansend_add(struct spansend *s, struct str_id name, const struct otlp_span *span);

/* About once a second: what has waited for long enough is sent, though the batch is not full. */
void spansend_flush(struct spansend *s);

/* No more come. Waits for those under way, SECONDS at most. */
void spansend_stop(struct spansend *s, double seconds);
void spansend_facts(struct spansend *s, struct spansend_facts *ret);
void spansend_close(struct spansend *s); /* NULL is fine */
