/*
 * record.h - what `kelvin record` prints.
 */
#pragma once
#include "suite/record.h"

/* A line on the terminal that is rewritten each second. */
void record_status(const struct recorder *r);
void record_status_clear(void);
void record_begin_line(void); /* on a terminal: after what the command printed */

/* The same where there is no terminal: once, if a process that runs does nothing but wait. */
void record_say_idle(const struct recorder *r);

/* Where to ask: before the command runs. */
void record_say_listening(const struct listen *listen);

/* The rescued part of a recording that could not be finished. */
void record_say_left(const struct record_facts *f, const struct record_opts *o);

/* Why the recording was not published, and what to do. Sets ERR. */
void record_say_gate(const struct record_facts *f, const struct record_opts *o, struct err *err);

/* Print what was recorded, its quality, and what to do next. */
void record_summary(const struct record_facts *f, const struct record_opts *o);
