/*
 * exchange.h - a set of series as JSON: for other machines, other tools and archives.
 *
 *     {"kelvin": "bench", "version": 1, "name": "main", "meta": {"host": "2c-8g-3f9a1c2d", ...},
 *      "series": [{"name": "sort", "command": "", "items": 0, "bytes": 4096, "size": null,
 *                  "parameter": "", "blocks": [0, 1, ...],
 *                  "measures": {"time": [1234.5, null, ...], ...}}]}
 *
 * Numbers are written so that they read back the same to the last bit. null is "not measured".
 */
#pragma once
#include "base/err.h"
#include "base/reader.h"
#include "model/series.h"

#include <stdio.h>

void exchange_write(FILE *out, const char *name, const struct series_set *set);

/*
 * Everything in the file is checked. RET_NAME is what it was called; free it. On failure both are
 * empty and ERR names the byte.
 */
int exchange_read(struct reader *in, char **ret_name, struct series_set *ret, struct err *err);
