/*
 * view_start.h - the selection of the options, as in the page's address after its '#'.
 */
#pragma once
#include "base/buf.h"
#include "cmd/input.h"

void view_add_start(struct buf *b, const struct input_opts *o);
