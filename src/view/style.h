/*
 * style.h - the style rules of a drawing: shades of frames and colours of themes.
 *
 * Rules are written with '&' in place of the drawing's "#id", which keeps them to it.
 */
#pragma once
#include "base/buf.h"
#include "view/palette.h"

enum style_theme {
    THEME_AUTO, /* as the reader's system prefers */
    THEME_LIGHT,
    THEME_DARK,
};

/* Which shades a drawing uses: only those get a rule. */
struct style {
    bool used[FAMILIES][PALETTE_SHADES];
};

/* Append the class of a shade, "kb12", and remember that it is used. */
void style_class(struct style *s, struct buf *b, struct shade shade);

/* A used shade of a family, or -1 when there is none. */
int style_step_of(const struct style *s, int family);

/* Append the rules that depend on the theme. */
void style_rules(const struct style *s, struct buf *b, enum style_theme theme);
