/*
 * caption.h - the honest label: how what is shown was obtained and how far its shares can be
 * trusted.
 *
 * Every picture and report carries it. It speaks of the stream that is shown, and of no other.
 * Unknown facts are called unknown.
 */
#pragma once
#include "analysis/selection.h"
#include "base/buf.h"

/* Between the parts of a caption. */
#define CAPTION_SEPARATOR " \xc2\xb7 "

/*
 * Append the caption: kind, event, samples, lost, what was selected, source, and the program's
 * version, as plain text with CAPTION_SEPARATOR between the parts.
 */
void caption_build(struct buf *b, const struct selection *s);

/* Append what a reader must be warned of, a line each ending in '\n'; nothing when all is well. */
void caption_warnings(struct buf *b, const struct selection *s);

/* Append "shown: cpu-clock; also in the input: page-faults"; nothing where there is no choice. */
void caption_others(struct buf *b, const struct selection *s);

/*
 * Append a value of a column as people read it, with its unit or name: "1.23 s", "45 MiB",
 * "1,234 counts".
 */
void caption_value(struct buf *b, const struct profile *p, const struct value_type *t,
                   int64_t value);

/* The column of samples that belongs to the one shown, or NULL. */
const struct value_type *caption_samples(const struct selection *s);
