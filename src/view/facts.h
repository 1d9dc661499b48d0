/*
 * facts.h - what is known about how something was recorded, as text: of the file's metadata, or of
 * the stream that is shown.
 */
#pragma once
#include "analysis/selection.h"
#include "base/buf.h"
#include "base/json.h"
#include "model/meta_words.h"

/* Facts of a stream; all others are keys of the metadata (META_*). */
#define FACT_KIND "kind"
#define FACT_EVENT "event"
#define FACT_SAMPLES "samples"
#define FACT_LOST "lost"
#define FACT_RATE_HZ "rate_hz"
#define FACT_RATE_ACHIEVED_HZ "rate_achieved_hz"
#define FACT_THROTTLED "throttled"
#define FACT_UNFINISHED "unfinished"
#define FACT_GUESSED "guessed"

/* Append the fact KEY as people read it. False, and nothing appended, where it is not known. */
bool facts_add(struct buf *b, const struct selection *s, const char *key);

/* The same for programs: "KEY": a number, a text, or null. KEY is a fact of a stream. */
void facts_put(struct json *j, const struct selection *s, const char *key);

/* The name of the fact KEY. */
const char *facts_title(const char *key);
