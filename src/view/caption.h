/*
 * caption.h - the honest label: how a profile was obtained and how far its shares can be trusted.
 *
 * Every picture and report carries it. What is not known is said to be not known.
 */
#pragma once
#include "base/buf.h"
#include "model/profile.h"

/* Between the parts of a caption. */
#define CAPTION_SEPARATOR " \xc2\xb7 "

/*
 * Append the caption of sample type TYPE: sample kind, event, samples, lost, source, and the
 * program's version, as plain text with CAPTION_SEPARATOR between the parts.
 */
void caption_build(struct buf *b, const struct profile *p, int type);

/* Append what a reader must be warned of, a line each ending in '\n'; nothing when all is well. */
void caption_warnings(struct buf *b, const struct profile *p, int type);

/*
 * Append a value of TYPE as people read it, with its unit or name: "1.23 s", "45 MiB",
 * "1,234 counts".
 */
void caption_value(struct buf *b, const struct profile *p, int type, int64_t value);
