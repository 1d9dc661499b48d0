#include "view/style.h"

void style_class(struct style *s, struct buf *b, struct shade shade)
{
    s->used[shade.family][shade.step] = true;
    buf_printf(b, "k%c%d", 'a' + shade.family, shade.step);
}

int style_step_of(const struct style *s, int family)
{
    for (int i = 0; i < PALETTE_SHADES; i++)
        if (s->used[family][i])
            return i;
    return -1;
}

struct theme_colours {
    const char *background, *text, *muted, *line, *field, *warning, *warning_text, *hit, *hit_text;
};

static const struct theme_colours colours[] = {
    {"#ffffff", "#1f2328", "#59636e", "#d1d9e0", "#f6f8fa", "#fff1c2", "#5c4400", "#b5179e",
     "#ffffff"},
    {"#14161a", "#e6e9ed", "#9aa5b1", "#343a43", "#1f2329", "#453607", "#ffdf80", "#ff7ce5",
     "#14161a"},
};

static void add_hex(struct buf *b, struct rgb c)
{
    buf_printf(b, "#%02x%02x%02x", c.r, c.g, c.b);
}

static void add_shade_rules(struct buf *b, const struct style *s, bool dark)
{
    for (int family = 0; family < FAMILIES; family++)
        for (int i = 0; i < PALETTE_SHADES; i++) {
            if (!s->used[family][i])
                continue;
            buf_printf(b, "& .k%c%d{fill:", 'a' + family, i);
            add_hex(b, palette_rgb((struct shade){(uint8_t)family, (uint8_t)i}, dark));
            buf_str(b, "}\n");
        }
}

/*
 * Rules that depend on the theme, with their colours spelled out: not every viewer of pictures
 * knows variables, which are for the controls only, and those exist where scripts run.
 */
static void add_theme(struct buf *b, const struct style *s, bool dark)
{
    const struct theme_colours *c = &colours[dark];
    buf_printf(b,
               "&{color-scheme:%s;background:%s;--kbg:%s;--ktext:%s;--kmuted:%s;--kline:%s;"
               "--kfield:%s;--khit:%s;--khittext:%s}\n",
               dark ? "dark" : "light", c->background, c->background, c->text, c->muted, c->line,
               c->field, c->hit, c->hit_text);
    buf_printf(b, "& .kbg{fill:%s}\n& .kt{fill:%s}\n& .km,& .kc{fill:%s}\n", c->background, c->text,
               c->muted);
    buf_printf(b, "& .kwarn rect{fill:%s}\n& .kwarn text{fill:%s}\n", c->warning, c->warning_text);
    buf_printf(b, "& .kg rect{stroke:%s}\n& .kaxis path{stroke:%s}\n& .kaxis text{fill:%s}\n",
               c->background, c->muted, c->muted);
    add_shade_rules(b, s, dark);
    buf_str(b, "& .kg text{fill:");
    add_hex(b, palette_text(dark));
    buf_str(b, "}\n");
}

void style_rules(const struct style *s, struct buf *b, enum style_theme theme)
{
    add_theme(b, s, theme == THEME_DARK);
    if (theme != THEME_AUTO)
        return;
    buf_str(b, "@media (prefers-color-scheme:dark){\n");
    add_theme(b, s, true);
    buf_str(b, "}\n");
}
