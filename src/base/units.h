/*
 * units.h - numbers as people read them.
 *
 * Each writes into caller's storage of at least UNITS_MAX bytes and returns it, if not said
 * otherwise.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

enum { UNITS_MAX = 48 };

/* 1234567 -> "1234567". Returns the end of it, not the start. */
char *units_plain(char *s, uint64_t n);

/* 1234567 -> "1,234,567" */
char *units_count(char *s, uint64_t n);

/* "1 record was", "1,234 records were": ONE or MORE behind the number, 20 characters at most. */
char *units_many(char *s, uint64_t n, const char *one, const char *more);

/* VALUE / 10^DECIMALS, exact, no trailing zeros: (1250, 2) -> "12.5". */
char *units_decimal(char *s, int64_t value, int decimals);

/* The same with thousands separated: (123456, 1) -> "12,345.6". */
char *units_decimal_count(char *s, int64_t value, int decimals);

/* "90", "60s", "500ms", "10m", "24h", "7d" in seconds; false for all else and below 0. */
bool units_parse_time(const char *text, double *ret_s);

/* "2G", "512 MiB", "100k", "1000" in bytes; units are powers of 1,024. False for all else. */
bool units_parse_size(const char *text, uint64_t *ret_bytes);

/* "12.34%", of a part that may be zero; a whole of zero gives "0.00%". */
char *units_share(char *s, double part, double whole);

/* The percent to print with "%+.1f" for a change by RATIO: 1.0004 gives 0, and nothing gives -0. */
double units_change(double ratio);

/* What a value counts; the model says which (dimension_scaled() and measure_scaled()). */
enum scaled { SCALED_COUNT, SCALED_NS, SCALED_BYTES, SCALED_KINDS };

/* A value scaled for reading: nanoseconds "1.25 s", bytes "3.4 MiB", else a count. */
char *units_scaled(char *s, double value, enum scaled kind);

/* Any number in four digits: 3.142, "12,345", from a million on "304.8 M". */
char *units_number(char *s, double value);

/* As units_scaled(), of seconds: 0.0057 -> "5.7 ms". "0.00 s" is no duration of anything. */
char *units_seconds(char *s, double seconds);

/* Nanoseconds since 1970 as "2025-03-09 14:05:00 UTC"; "not known" where no calendar goes. */
char *units_utc(char *s, uint64_t since_1970_ns);
