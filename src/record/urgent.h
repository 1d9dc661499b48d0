/*
 * urgent.h - run before busy programs, so that rings are emptied in time, but never for long.
 *
 * Where hundreds of busy threads keep the recorder from running, rings overflow and samples are
 * lost; the best nice value is not enough (a thousand threads: 8 to 41% lost). A real-time
 * priority is, and needs a right that root has. A recorder that then does not sleep for a
 * fifth of a second goes back to be like others by itself: it can never keep a machine busy.
 */
#pragma once

/* From here on this process goes first, as far as its rights allow. Children do not. */
void urgent_begin(void);

/* Be like others again. */
void urgent_end(void);
