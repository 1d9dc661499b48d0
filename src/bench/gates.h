/*
 * gates.h - how much slower each benchmark may become: "10%", "NAME=10%".
 */
#pragma once
#include "base/err.h"
#include "base/opt.h"
#include "base/text.h"

/* Is every one valid? The text of ERR follows the name of the option. */
int gates_check(const struct opt_list *gates, struct err *err);

/* The benchmark that a gate is for; empty = for all. */
struct text gates_name(const char *gate);

/* The limit for a benchmark (0.1 = 10%) that goes by either name; NAN = none. */
double gates_find(const struct opt_list *gates, const char *name, const char *other_name);
