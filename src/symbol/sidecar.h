/*
 * sidecar.h - the names that samply writes beside a profile when asked to
 * (--unstable-presymbolicate).
 *
 *     {"string_table": ["UNKNOWN", "main", ...],
 *      "data": [{"debug_name": "app", "debug_id": "...", "code_id": "<build-id>",
 *                "symbol_table": [{"rva": 4096, "size": 32, "symbol": 1, "frames": [...]}, ...],
 *                "known_addresses": [[4100, 0], ...]}]}
 *
 * Only the symbols count: the inlined functions in it are those of one address of each function,
 * and would be wrong for all others.
 */
#pragma once
#include "model/profile.h"

/* Where it would be: "x.syms.json" for "x.json", "x.json.syms.json" for "x.json.gz". Free it. */
char *sidecar_path(const char *profile_path);

/* Name the frames that have an address and no name. Returns how many were named, or -1. */
int64_t sidecar_name(struct profile *p, const char *path, struct err *err);
