/*
 * json.h - writing JSON to a stream, commas and escapes taken care of.
 *
 *     struct json j = {.out = f};
 *     json_open(&j, '{');
 *     json_key(&j, "name");
 *     json_text(&j, name);
 *     json_close(&j, '}');
 */
#pragma once
#include "base/text.h"

#include <stdio.h>

struct json {
    FILE *out;
    bool after_value, after_key; /* what the next element must be preceded by */
};

void json_open(struct json *j, char bracket);  /* '{' or '[' */
void json_close(struct json *j, char bracket); /* '}' or ']' */
void json_key(struct json *j, const char *key);
void json_text(struct json *j, struct text t); /* any bytes; bad UTF-8 is replaced */
void json_str(struct json *j, const char *s);
void json_int(struct json *j, int64_t v);
void json_uint(struct json *j, uint64_t v);
void json_decimal(struct json *j, int64_t value, int decimals); /* VALUE / 10^DECIMALS, exact */
void json_double(struct json *j, double v); /* reads back the same; null if not finite */
void json_bool(struct json *j, bool v);
void json_null(struct json *j);
void json_raw(struct json *j, struct text t); /* what is JSON already */

/* A key with its value. A text that is NULL, a number that is not finite: null. */
void json_put_str(struct json *j, const char *key, const char *value);
void json_put_number(struct json *j, const char *key, double value);
void json_put_uint(struct json *j, const char *key, uint64_t value);
void json_put_bool(struct json *j, const char *key, bool value);
