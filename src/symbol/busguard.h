/*
 * busguard.h - survive that a mapped file is cut short while it is read.
 *
 * libdw maps the files that debug information refers to (.dwo of -gsplit-dwarf, those of dwz) and
 * offers no other way. A build that overwrites one while names are looked up would end the
 * program by SIGBUS. While a guard is held, a page that is no longer in its file reads as zeros:
 * to DWARF that is the end of a list, so a name is missing and nothing else.
 *
 * Signals are the process's: the handler is set by the first guard and the former one is put back
 * by the last, from whichever threads. A SIGBUS of any other kind goes on as it would have.
 */
#pragma once

void busguard_enter(void);
void busguard_leave(void);
