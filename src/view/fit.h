/*
 * fit.h - how wide a text will be in a font that is not at hand.
 *
 * An SVG does not know which font its reader has. Widths are estimated from above, after the
 * widest of the common sans-serif fonts, so that a label that is said to fit does.
 */
#pragma once
#include "base/text.h"

struct fit {
    double size_px;
    bool mono; /* every character is equally wide */
};

struct fit fit_of_font(const char *family, double size_px);

/* Width of T in pixels. */
double fit_width(const struct fit *f, struct text t);

/*
 * The longest head of T that fits into ROOM pixels with ".." behind it, or the whole of T if
 * that fits; RET_CUT says which. Empty where not even a few characters fit.
 */
struct text fit_cut(const struct fit *f, struct text t, double room, bool *ret_cut);
