/*
 * debuginfod.h - debug files from a server, if the user has named one.
 *
 * The library is loaded when it is needed and never otherwise: it brings an HTTP client with it.
 */
#pragma once
#include "base/text.h"

/* Fetch the debug file of a BUILD_ID (hex). A file descriptor, or -1. */
int debuginfod_find(struct text build_id);
