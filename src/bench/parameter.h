/*
 * parameter.h - a parameter and its values, as given on the command line.
 */
#pragma once
#include "bench/plan.h"

/* "n=1,2,4": values may be quoted as in a shell. Free with parameter_done() either way. */
int parameter_list(struct plan_parameter *p, const char *spec, struct err *err);

/* "n=1..10" or "n=1..10..2": from, to (included where it is met), step. */
int parameter_range(struct plan_parameter *p, const char *spec, struct err *err);

void parameter_done(struct plan_parameter *p);
