/*
 * stream_inner.h - what profile.c needs of streams to free them.
 */
#pragma once
#include "model/stream.h"

void stream_free(struct stream *s); /* NULL is fine */
