/*
 * sha256.h - the hash by which a page's policy names its scripts (FIPS 180-4).
 *
 * For a few hundred kilobytes: nothing here is fast.
 */
#pragma once
#include "base/text.h"

#include <stdint.h>

enum { SHA256_BYTES = 32 };

void sha256(struct text bytes, uint8_t ret[SHA256_BYTES]);
