/*
 * standin.h - our own libraries inside of programs stand in for functions of the C library.
 *
 * libkelvin-locks.so has a pthread_mutex_lock() that calls the one of the C library, as
 * libkelvin-heap.so has a malloc(). A stack that passes through has the program's call and the
 * library's function. The frames between them are of no use:
 *
 *     enter > mutex_take > mutex_wait > pthread_mutex_lock   becomes   enter > pthread_mutex_lock
 *
 * Frames of our libraries' own work stay: those that are innermost, or that call something else.
 * In a recording that is written again the frames are there.
 */
#pragma once
#include "model/profile.h"

/* Leave those frames out, once functions have names and all that belongs to P is there. */
void standin_leave_out(struct profile *p);

/* Whether frames were left out between STACK's innermost frame and its caller; NULL = no. */
const struct standin *standin_find(const struct profile *p, struct stack_id stack);

/* STACK without its innermost frame, as it was recorded. */
struct stack_id standin_parent(const struct profile *p, struct stack_id stack);
