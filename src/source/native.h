/*
 * native.h - what the text formats of native samplers have in common.
 */
#pragma once
#include "model/profile.h"

/* NAME without the distance into the function, "+0x1f" or "+31"; "operator+" keeps its plus. */
struct text native_cut_offset(struct text name);

/* The same frame, marked as the kernel's. */
struct frame_id native_in_kernel(struct profile *p, struct frame_id id);
