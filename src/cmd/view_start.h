/*
 * view_start.h - what the options select, as the page's address has it behind its '#'.
 */
#pragma once
#include "base/buf.h"
#include "cmd/input.h"

void view_add_start(struct buf *b, const struct input_opts *o);
