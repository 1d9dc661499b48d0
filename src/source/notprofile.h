/*
 * notprofile.h - files that people take for profiles: drawings, reports, programs, archives.
 */
#pragma once
#include "base/text.h"

/* The kind of a file that starts with HEAD, and what to read instead; NULL = not known. */
const char *notprofile_what(struct text head);
