/*
 * simd.h - what the compiler emitted, function by function.
 */
#pragma once
#include "code/simd.h"
#include "model/quantity.h"

#include <stdio.h>

struct simd_view {
    const char *subject;   /* file that was looked at */
    struct simd_row *rows; /* in the order to show */
    size_t n, top;         /* rows there are, rows to show */
    struct simd_mix all;
    bool has_profile;
    enum quantity quantity; /* of the profile's values */
    const char *selected;   /* the part of the profile, in words; NULL = all of it */
    int64_t total;          /* of the profile's values */
    int64_t elsewhere;      /* of that, in code that could not be read */
    int64_t samples;        /* behind the total; -1 = not known */
    bool host_known;        /* whether the CPU's features are */
    uint32_t host_has;      /* 1 << enum x86_feature */
};

void simd_print(FILE *out, const struct simd_view *v);
void simd_print_json(FILE *out, const struct simd_view *v);
