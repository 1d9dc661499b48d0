#include "base/json.h"
#include "base/units.h"
#include "base/utf8.h"

#include <math.h>

/* Nobody else writes to the stream meanwhile: a lock for each number takes longer than the number.
 */
static void before_value(struct json *j)
{
    if (j->after_value && !j->after_key)
        putc_unlocked(',', j->out);
    j->after_value = true;
    j->after_key = false;
}

static void raw(struct json *j, const char *s)
{
    before_value(j);
    fputs_unlocked(s, j->out);
}

void json_open(struct json *j, char bracket)
{
    before_value(j);
    putc_unlocked(bracket, j->out);
    j->after_value = false;
}

void json_close(struct json *j, char bracket)
{
    putc_unlocked(bracket, j->out);
    j->after_value = true;
}

void json_key(struct json *j, const char *key)
{
    json_str(j, key);
    putc_unlocked(':', j->out);
    j->after_key = true;
}

/* Most texts are names that need no escape: they are written as they are. */
static bool json_is_plain(struct text t)
{
    for (size_t i = 0; i < t.n; i++)
        if ((unsigned char)t.at[i] < 0x20 || (unsigned char)t.at[i] >= 0x7f || t.at[i] == '"' ||
            t.at[i] == '\\')
            return false;
    return true;
}

void json_text(struct json *j, struct text t)
{
    if (json_is_plain(t)) {
        before_value(j);
        putc_unlocked('"', j->out);
        fwrite_unlocked(t.at ? t.at : "", 1, t.n, j->out);
        putc_unlocked('"', j->out);
        return;
    }
    autobuf struct buf b = {0};
    buf_byte(&b, '"');
    utf8_json(&b, t);
    buf_byte(&b, '"');
    before_value(j);
    fwrite_unlocked(b.at, 1, b.n, j->out);
}

void json_str(struct json *j, const char *s)
{
    json_text(j, text_of(s));
}

void json_int(struct json *j, int64_t v)
{
    json_decimal(j, v, 0);
}

void json_uint(struct json *j, uint64_t v)
{
    char s[UNITS_MAX];
    units_plain(s, v);
    raw(j, s);
}

void json_decimal(struct json *j, int64_t value, int decimals)
{
    char s[UNITS_MAX];
    raw(j, units_decimal(s, value, decimals));
}

void json_double(struct json *j, double v)
{
    char s[UNITS_MAX];
    if (!isfinite(v)) {
        json_null(j);
        return;
    }
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(s, sizeof s, "%.*g", digits, v);
        if (strtod(s, NULL) == v)
            break;
    }
    raw(j, s);
}

void json_bool(struct json *j, bool v)
{
    raw(j, v ? "true" : "false");
}

void json_null(struct json *j)
{
    raw(j, "null");
}

void json_raw(struct json *j, struct text t)
{
    before_value(j);
    fwrite_unlocked(t.at, 1, t.n, j->out);
}

void json_put_str(struct json *j, const char *key, const char *value)
{
    json_key(j, key);
    if (value)
        json_str(j, value);
    else
        json_null(j);
}

void json_put_number(struct json *j, const char *key, double value)
{
    json_key(j, key);
    json_double(j, value);
}

void json_put_uint(struct json *j, const char *key, uint64_t value)
{
    json_key(j, key);
    json_uint(j, value);
}

void json_put_bool(struct json *j, const char *key, bool value)
{
    json_key(j, key);
    json_bool(j, value);
}
