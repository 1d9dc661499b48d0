/*
 * collector.h - bodies of OTLP to a collector's address, by HTTP, again where that may help.
 *
 * The standard's rules: 429, 502, 503 and 504, and no answer, are tried again, after as long as
 * Retry-After says or else after twice as long each time, give or take; all other failures are for
 * good. A request that a collector takes only in part is not sent again.
 */
#pragma once
#include "base/http.h"

struct collector {
    struct http_url url;
    bool json;         /* else protobuf */
    int within_ms;     /* of one try */
    double patience_s; /* after that a body is given up */
    double first_pause_s;
    int stop_fd;       /* readable: no more tries; -1 = never */
    uint64_t tries;    /* of all bodies */
    uint64_t rejected; /* spans that the collector did not take of a body that it took */
    char message[160]; /* the last thing that it had to say; "" = nothing */
};

/* "http://127.0.0.1:4318": the path is /v1/traces where there is none. */
int collector_init(struct collector *c, const char *url, struct err *err);

/* Blocks until the body is taken, refused or given up; the last two are failures. */
int collector_post(struct collector *c, struct text body, struct err *err);
