/*
 * grindfile.h - the text format that callgrind and cachegrind share.
 *
 *     version: 1                              cachegrind has only desc, cmd, events, fl, fn,
 *     creator: callgrind-3.19.0               lines and summary
 *     cmd: ./prog
 *     positions: instr line                   what each line below starts with
 *     events: Ir Dr Dw
 *     event: sum = Ir + 10 Dr : long name     one that follows from others
 *     summary: 905836 221666 102741
 *
 *     ob=(4) /usr/lib/libx.so                 "(4)" alone stands for this name from now on:
 *     fl=(13) x.c                             numbers of modules, files and functions are apart
 *     fn=(72) work
 *     0x10c0 16 1 0 1                         address, line, costs; costs left out are 0
 *     +4 +1 2                                 both relative to the line before, "*" = the same
 *     fi=(14) inlined.h                       code from another file, until fe= or fl=
 *     cob=(5) cfi=(15) cfn=(73) callee        each in a line of its own; left out = the caller's
 *     calls=2 0x2000 30                       number of calls, where the callee starts
 *     +5 18 500 20 10                         where the call is, its cost with all it led to
 *     jump=1 +22 0, jcnd=1/2 +22 0            left out, together with the line after it
 *     totals: 905836 221666 102741
 *
 * Files that hold several dumps have parts, each with its own header.
 */
#pragma once
#include "source/import.h"

int grindfile_read(struct import *im, struct err *err);
