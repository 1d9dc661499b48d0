/*
 * streamfacts.h - what is known about a stream, as keys and texts: how exports that others read as
 * well carry it in places that those pass over.
 *
 *     event obtained rate_hz rate_achieved_hz lost throttled
 *     unfinished = "" known, none; unfinished:WHY = number
 */
#pragma once
#include "model/profile.h"

/* Take a fact in; keys that are not known are passed over. */
void streamfacts_set(struct profile *p, int stream, struct text key, struct text value);
