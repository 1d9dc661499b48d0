/*
 * signature.h - C++ functions with their parameters: "app::parse(int)", "app::parse(char const*)".
 *
 * Names are shown without them (demangle.h), which is easier to read until two overloads are hot:
 * then both costs have one name, and there is no way to see which of the two it is.
 */
#pragma once
#include "model/profile.h"

enum signature_wish {
    SIGNATURE_OVERLOADS, /* of functions of one name, at least two of which are hot */
    SIGNATURE_ALL,       /* of every C++ function whose symbol is known */
};

/* A function below this share of the samples of the first stream is not hot. */
#define SIGNATURE_HOT 0.02

/* Rename the functions of P. Returns how many. */
size_t signature_rename(struct profile *p, enum signature_wish wish);
