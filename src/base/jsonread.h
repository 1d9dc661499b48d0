/*
 * jsonread.h - JSON read as a stream of tokens, in the memory of one string.
 *
 * A pull parser: the caller asks for the next token and descends where it cares.
 *
 *     json_enter(&j, JSON_OBJECT);
 *     while (json_member(&j, &key))
 *         if (text_is(key, "frames"))
 *             read_frames(&j);
 *         else
 *             json_skip(&j);
 *
 * The first error sticks: from then on every call returns "nothing more", so that loops end and
 * one check of json_failed() at the bottom is enough. Nesting is limited to JSON_DEPTH_MAX and
 * one string to JSON_STRING_MAX bytes.
 *
 * Ours because jansson, like most, builds the whole document in memory first, and profiles in JSON
 * run to gigabytes. This one can name the byte where an input goes wrong. The tests compare it with
 * jansson on good and bad documents.
 */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "base/reader.h"

enum { JSON_DEPTH_MAX = 512, JSON_STRING_MAX = 64 << 20 };

enum json_token {
    JSON_END, /* of the document, or an error */
    JSON_OBJECT,
    JSON_ARRAY,
    JSON_STRING,
    JSON_NUMBER,
    JSON_TRUE,
    JSON_FALSE,
    JSON_NULL,
};

struct jsonread {
    struct reader *in;
    struct buf string; /* the last string or number, decoded */
    struct err err;    /* err.code != 0 after an error */
    int depth;
    bool fresh[JSON_DEPTH_MAX]; /* at this depth no element was read yet */
    bool in_object[JSON_DEPTH_MAX];
};

void jsonread_init(struct jsonread *j, struct reader *in);
void jsonread_done(struct jsonread *j);

/* The type of the next value, without taking it. */
enum json_token json_peek(struct jsonread *j);

/* Go into an object or array. False (and an error) when the next value is something else. */
bool json_enter(struct jsonread *j, enum json_token what);

/* In an object: the next member's key, good until the next call; false at the closing brace,
 * which it takes. The caller must then read or skip the value. */
bool json_member(struct jsonread *j, struct text *ret_key);

/* In an array: whether another element follows; false at the closing bracket, which it takes. */
bool json_element(struct jsonread *j);

/* Take a value. A wrong kind is an error, except that json_get_* of null gives 0, "" or false. */
struct text json_get_text(struct jsonread *j); /* good until the next call */
double json_get_double(struct jsonread *j);
int64_t json_get_int(struct jsonread *j); /* fractions are cut; what does not fit is an error */
bool json_get_bool(struct jsonread *j);

/*
 * The next value's exact decimal form: VALUE / 10^DECIMALS without trailing zeros, at most 18
 * decimals; digits of a fraction that do not fit are cut. False (no error) if negative, not a
 * number, or its whole part too big for 64 bits; the value is taken anyway.
 */
bool json_get_decimal(struct jsonread *j, int64_t *ret_value, int *ret_decimals);

/* Take the next value, whatever it is and holds. */
void json_skip(struct jsonread *j);

/* After the last value: only white space may follow. */
void json_finish(struct jsonread *j);

/* Report an error of meaning at the current place. Sticks like a syntax error. */
void json_fail(struct jsonread *j, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Whether anything went wrong; if so ERR has the byte and the reason. */
bool json_failed(const struct jsonread *j, struct err *err);
