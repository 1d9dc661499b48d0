/*
 * findings.h - insights on heap, locks and scopes, for people and for programs.
 */
#pragma once
#include "analysis/finding.h"

struct document;
struct json;

void findings_list(struct document *d, const struct findings *s);
void findings_show(struct document *d, const struct findings *s); /* under a heading, if any */
void findings_put(struct json *j, const struct findings *s);
