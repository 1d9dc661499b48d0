/*
 * streamfacts.h - what is known about a stream, as keys and texts: what formats that have no place
 * for it carry where others pass over. source/streamfacts.h reads them back.
 *
 *     event obtained rate_hz rate_achieved_hz lost throttled
 *     unfinished = "" known, none; unfinished:WHY = number
 */
#pragma once
#include "model/profile.h"

typedef void streamfacts_put(void *context, const char *key, const char *value);

/* Call PUT for everything that is known about S. */
void streamfacts_each(const struct profile *p, const struct stream *s, streamfacts_put *put,
                      void *context);
