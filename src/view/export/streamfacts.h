/*
 * streamfacts.h - what is known about a stream, as keys and texts: what formats that have no place
 * for it carry where others pass over. source/streamfacts.h reads them back.
 *
 *     event obtained rate_hz rate_achieved_hz lost throttled
 *     unfinished = "" known, none; unfinished:WHY = number
 */
#pragma once
#include "base/json.h"
#include "model/profile.h"

typedef void streamfacts_put(void *context, const char *key, const char *value);

/* Call PUT for everything that is known about S. */
void streamfacts_each(const struct profile *p, const struct stream *s, streamfacts_put *put,
                      void *context);

/* A PUT for formats that are JSON: the context is the struct json. */
void streamfacts_put_json(void *json, const char *key, const char *value);

/* "clock": one moment on both clocks, monotonic and wall; nothing where it is not known. */
void streamfacts_put_clock(struct json *j, const struct profile *p);
