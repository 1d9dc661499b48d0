/*
 * protoput.h - fields of a protobuf message, one after the other; protofield.h reads them.
 */
#pragma once
#include "base/buf.h"

static inline void protoput_tag(struct buf *b, uint32_t number, int wire)
{
    buf_varint(b, number << 3 | (uint32_t)wire);
}

/* Zero is what a missing field means, so it is left out. */
static inline void protoput_number(struct buf *b, uint32_t number, uint64_t v)
{
    if (!v)
        return;
    protoput_tag(b, number, 0);
    buf_varint(b, v);
}

/* Of a field that may be there and 0. */
static inline void protoput_present(struct buf *b, uint32_t number, uint64_t v)
{
    protoput_tag(b, number, 0);
    buf_varint(b, v);
}

static inline void protoput_fixed64(struct buf *b, uint32_t number, uint64_t v)
{
    protoput_tag(b, number, 1);
    buf_u64(b, v);
}

static inline void protoput_bytes(struct buf *b, uint32_t number, struct text t)
{
    protoput_tag(b, number, 2);
    buf_varint(b, t.n);
    buf_add(b, t.at, t.n);
}

static inline void protoput_str(struct buf *b, uint32_t number, const char *s)
{
    protoput_bytes(b, number, text_of(s));
}

static inline void protoput_message(struct buf *b, uint32_t number, const struct buf *message)
{
    protoput_bytes(b, number, buf_text(message));
}
