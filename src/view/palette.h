/*
 * palette.h - what colour a frame gets: a pure function of its name and kind.
 *
 * A palette sorts frames into families of hues; within a family the name's hash picks one of a
 * few shades. There is one light and one dark colour for each shade, chosen so that the text
 * colour of the theme is readable on all of them.
 */
#pragma once
#include "base/text.h"
#include "model/profile.h"

enum palette_family {
    FAMILY_GREY, /* what is not code: the root, threads */
    FAMILY_HOT,
    FAMILY_RED,
    FAMILY_ORANGE,
    FAMILY_YELLOW,
    FAMILY_GREEN,
    FAMILY_AQUA,
    FAMILY_BLUE,
    FAMILY_PURPLE,
    FAMILIES,
};

enum { PALETTE_SHADES = 24 };

struct shade {
    uint8_t family; /* enum palette_family */
    uint8_t step;   /* below PALETTE_SHADES */
};

struct rgb {
    uint8_t r, g, b;
};

struct palette {
    const char *name, *title;
    enum palette_family (*family)(struct text name, enum frame_kind kind);
    const char *legend[FAMILIES]; /* what a family stands for; NULL where it says nothing */
};

/* NULL-terminated by name; the first is the default. */
extern const struct palette palettes[];

/* By name, or NULL. */
const struct palette *palette_find(const char *name);

struct shade palette_shade(const struct palette *p, struct text name, enum frame_kind kind);

struct rgb palette_rgb(struct shade s, bool dark);

/* Colour of the text on every frame. */
struct rgb palette_text(bool dark);

/* NAME without the "_[k]" that means the same as KIND. */
struct text palette_strip(struct text name, enum frame_kind kind);
