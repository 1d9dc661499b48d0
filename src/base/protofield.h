/*
 * protofield.h - the fields of a protobuf message, one after the other.
 *
 * A message is a row of fields: a varint tag (number << 3 | wire type) and a value, which is a
 * varint, 4 or 8 bytes, or a length and so many bytes. Groups (wire types 3 and 4) are long out
 * of use and count as damage.
 *
 * Read by hand: pprof needs a handful of fields, and generated code would hold the whole message.
 */
#pragma once
#include "base/cursor.h"

enum proto_wire { PROTO_VARINT = 0, PROTO_FIXED64 = 1, PROTO_BYTES = 2, PROTO_FIXED32 = 5 };

struct protofield {
    uint32_t number;
    enum proto_wire wire;
    uint64_t value;    /* of all but PROTO_BYTES */
    struct text bytes; /* of PROTO_BYTES */
};

/* The next field; false at the end, and when C is bad. */
static inline bool protofield_next(struct cursor *c, struct protofield *ret)
{
    if (!cursor_more(c))
        return false;
    uint64_t tag = cursor_varint(c);
    ret->number = (uint32_t)(tag >> 3);
    ret->wire = (enum proto_wire)(tag & 7);
    if (tag >> 3 == 0 || tag > UINT32_MAX)
        c->bad = true;
    else if (ret->wire == PROTO_VARINT)
        ret->value = cursor_varint(c);
    else if (ret->wire == PROTO_BYTES)
        ret->bytes = cursor_bytes(c, cursor_varint(c));
    else if (ret->wire == PROTO_FIXED64 || ret->wire == PROTO_FIXED32)
        ret->value = cursor_uint(c, ret->wire == PROTO_FIXED64 ? 8 : 4);
    else
        c->bad = true;
    return !c->bad;
}

/*
 * A message that has only numbers: field I goes to VALUES[I], for I up to MAX. Unknown fields
 * are left out. False when it is damaged or a known field is not a varint.
 */
static inline bool protofield_numbers(struct text message, uint64_t *values, uint32_t max)
{
    struct cursor c = cursor_of(message.at, message.n);
    struct protofield f = {0};
    while (protofield_next(&c, &f)) {
        if (f.number > max)
            continue;
        if (f.wire != PROTO_VARINT)
            return false;
        values[f.number] = f.value;
    }
    return !c.bad;
}
