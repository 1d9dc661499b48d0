/*
 * debuginfod.h - debug files from a server, if the user has named one.
 *
 * The library is loaded only when needed, because it includes an HTTP client.
 */
#pragma once
#include "base/text.h"

/* Fetch the debug file of a BUILD_ID (hex). A file descriptor, or -1. */
int debuginfod_find(struct text build_id);
