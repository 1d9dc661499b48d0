/*
 * reseal.h - make the checksums of a damaged .kelvin file right again.
 *
 * A fuzzer that changes bytes would never get past the checksums of a recording. So the lengths
 * and checksums of most of its inputs are fixed: what is then read is hostile, not damaged.
 */
#pragma once
#include "wire/chunk.h"

#include <xxhash.h>

static uint32_t reseal_u32(const uint8_t *at)
{
    return at[0] | at[1] << 8 | at[2] << 16 | (uint32_t)at[3] << 24;
}

static void reseal_put(uint8_t *at, uint64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++)
        at[i] = (uint8_t)(v >> (8 * i));
}

static void reseal(uint8_t *bytes, size_t n)
{
    struct chunk_writer w;
    if (n < CHUNK_FILE_BYTES)
        return;
    chunk_start(&w, bytes);
    for (size_t at = CHUNK_FILE_BYTES; n - at >= CHUNK_HEAD_BYTES;) {
        uint8_t *head = bytes + at;
        size_t left = n - at - CHUNK_HEAD_BYTES, stored = reseal_u32(head + 20);
        stored = stored < left ? stored : left;
        reseal_put(head + 20, stored, 4);
        if (!(head[12] & CHUNK_PACKED))
            reseal_put(head + 16, stored, 4);
        w.chain = XXH3_64bits_withSeed(head + 8, CHUNK_HEAD_BYTES - 8 + stored, w.chain);
        reseal_put(head, w.chain, 8);
        at += CHUNK_HEAD_BYTES + stored;
    }
}
