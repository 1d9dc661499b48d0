/*
 * vgframe.h - a frame as valgrind's tools write it.
 *
 *     0x10968F: main (std_thread.h:142)
 *     0x49324A2: ??? (in /usr/lib/libstdc++.so.6)
 *     0x109382: alloc::alloc::alloc (alloc/src/alloc.rs:86:14)      dhat of Rust
 */
#pragma once
#include "source/import.h"

/* The frame that TEXT describes; all of it is the name where it is in no such form. */
struct frame_id vgframe_add(struct import *im, struct text t);

/* Whether TEXT is in valgrind's own replacement of malloc and its relatives. */
bool vgframe_is_own(struct text t);
