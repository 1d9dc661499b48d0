/*
 * notprofile.h - files that people take for profiles: drawings, reports, programs, archives.
 */
#pragma once
#include "base/text.h"

/* What a file that starts with HEAD is, and what to read instead; NULL = not known. */
const char *notprofile_what(struct text head);
