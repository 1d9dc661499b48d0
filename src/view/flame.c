#include "view/flame_inner.h"

#include "base/buf.h"
#include "base/units.h"
#include "base/utf8.h"
#include "view/caption.h"
#include "view/fit.h"
#include "web_flame_css.h"
#include "web_flame_js.h"
#include "web_flame_tree_js.h"

#include <math.h>

#define DEFAULT_FONT "system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',Verdana,sans-serif"

/* A frame to be drawn: its node, and where it starts in units of the tree's value. */
struct box {
    uint32_t node;
    int64_t start;
};

struct flame_row {
    VEC(struct box) boxes;
};

static struct flame_opts with_defaults(const struct flame_opts *o, bool chart)
{
    struct flame_opts d = *o;
    d.width_px = o->width_px > 0 ? o->width_px : 1200;
    d.row_px = o->row_px > 0 ? o->row_px : 17;
    d.font_px = o->font_px > 0 ? o->font_px : 12;
    d.font = o->font ? o->font : DEFAULT_FONT;
    d.palette = o->palette ? o->palette : palettes;
    d.flames = o->flames && !chart;
    d.title = o->title ? o->title : "Flame graph";
    return d;
}

static double inner_px(const struct flame *f)
{
    return f->o.width_px - 2 * FLAME_MARGIN_PX;
}

/* --- numbers and text --- */

/* Thousandths of a pixel, without zeros at the end. */
static void add_milli(struct buf *b, int64_t milli)
{
    char s[UNITS_MAX];
    buf_str(b, units_decimal(s, milli, 3));
}

static void add_px(struct buf *b, double px)
{
    add_milli(b, llround(px * 1000));
}

static void add_xml(struct buf *b, const char *s)
{
    utf8_xml(b, text_of(s));
}

/* T, or as much of it as fits into ROOM pixels. False when nothing fits. */
static bool add_fitting(struct buf *b, const struct fit *fit, struct text t, double room)
{
    bool cut;
    struct text head = fit_cut(fit, t, room, &cut);
    if (!head.n)
        return false;
    utf8_xml(b, head);
    if (cut)
        buf_str(b, "..");
    return true;
}

/* --- frames --- */

static const char *const kind_names[FRAME_KINDS] = {
    [FRAME_KERNEL] = ", kernel",
    [FRAME_JIT] = ", JIT",
    [FRAME_INLINED] = ", inlined",
    [FRAME_WAKER] = ", waker",
};

/* What is known of a node besides its numbers. The root is no code and has no label. */
struct face {
    struct text name;
    enum frame_kind kind;
    struct shade shade;
};

struct text flame_name(const struct flame *f, uint32_t node)
{
    uint32_t label = f->t->label[node];
    if (!node)
        return text_of("all");
    return palette_strip(labels_text(&f->t->labels, label), f->t->labels.at.at[label].kind);
}

static struct face face_of(const struct flame *f, uint32_t node)
{
    if (node == 0)
        return (struct face){.name = {"all", 3}, .shade = {FAMILY_GREY, 8}};
    uint32_t label = f->t->label[node];
    enum frame_kind kind = f->t->labels.at.at[label].kind;
    bool group = f->t->group && f->t->group[node];
    struct shade grey = {FAMILY_GREY, 8};
    struct shade shade = group ? grey : f->paint->shade(f->paint->context, node);
    return (struct face){flame_name(f, node), kind, shade};
}

/* Text keeps off the frame's edge; below NARROW the line between frames would hide them. */
enum {
    MARGIN_MILLI = 1000 * FLAME_MARGIN_PX,
    TEXT_INSET_MILLI = 3000,
    NARROW_MILLI = 3000,
};

/* Where a value lies, in thousandths of a pixel. Rounded ends, so that neighbours touch. */
static int64_t position(const struct flame *f, int64_t value)
{
    int64_t total = flame_span(f) > 0 ? flame_span(f) : 1;
    int64_t inner = llround(inner_px(f) * 1000);
    return MARGIN_MILLI + (int64_t)(((__int128)value * inner + total / 2) / total);
}

static double baseline_px(const struct flame *f)
{
    return round((f->o.row_px - 1) / 2 * 10 + f->o.font_px * 3.5) / 10;
}

static void add_label(struct flame *f, struct text name, int64_t x, int64_t width)
{
    autobuf struct buf text = {0};
    double room = (double)(width - TEXT_INSET_MILLI - TEXT_INSET_MILLI) / 1000;
    if (f->o.row_px < f->o.font_px || !add_fitting(&text, &f->fit, name, room))
        return;
    buf_str(&f->rows, "<text x=\"");
    add_milli(&f->rows, x + TEXT_INSET_MILLI);
    buf_str(&f->rows, "\" y=\"");
    add_px(&f->rows, baseline_px(f));
    buf_str(&f->rows, "\">");
    buf_add(&f->rows, text.at, text.n);
    buf_str(&f->rows, "</text>");
}

static void add_rect(struct flame *f, int64_t x, int64_t width)
{
    struct buf *b = &f->rows;
    buf_str(b, "<rect x=\"");
    add_milli(b, x);
    buf_str(b, "\" width=\"");
    add_milli(b, width);
    buf_str(b, "\" height=\"");
    add_px(b, f->o.row_px - 1);
    buf_str(b, "\"/>");
}

static void flame_add_frame(struct flame *f, struct box box)
{
    struct buf *b = &f->rows;
    struct face face = face_of(f, box.node);
    const int64_t *size = f->t->extent ? f->t->extent : f->t->total;
    int64_t whole = size[0] > 0 ? size[box.node] : 1;
    int64_t x = position(f, box.start), width = position(f, box.start + whole) - x;
    buf_str(b, "<g class=\"");
    style_class(&f->style, b, face.shade);
    buf_str(b, face.kind == FRAME_INLINED ? " ki" : "");
    f->has_inlined |= face.kind == FRAME_INLINED;
    buf_str(b, width < NARROW_MILLI ? " kn\"><title>" : "\"><title>");
    utf8_xml(b, face.name);
    buf_str(b, " (");
    f->paint->add_about(f->paint->context, box.node, b);
    if (kind_names[face.kind])
        buf_str(b, kind_names[face.kind]);
    buf_str(b, ")</title>");
    add_rect(f, x, width);
    add_label(f, face.name, x, width);
    buf_str(b, "</g>\n");
}

/* --- rows --- */

/* Children stand side by side from the left edge of their parent; in charts, where time put them.
 */
static void add_children(struct flame *f, struct box box, struct flame_row *row)
{
    int64_t start = box.start;
    const int64_t *size = f->t->extent ? f->t->extent : f->t->total;
    double least = f->o.min_share * (double)size[0];
    for_each_child (f->t, box.node, child) {
        if ((double)size[child] < least) {
            *vec_push(&f->rest) = child;
            continue;
        }
        *vec_push(&row->boxes) = (struct box){child, f->t->start ? f->t->start[child] : start};
        start += f->t->total[child];
    }
}

static void flame_add_row(struct flame *f, const struct flame_row *row)
{
    double y = f->o.row_px * (double)f->n_rows;
    buf_str(&f->rows, "<g transform=\"translate(0 ");
    add_px(&f->rows, f->o.flames ? -y : y);
    buf_str(&f->rows, ")\">\n");
    for (size_t i = 0; i < row->boxes.n; i++) {
        *vec_push(&f->drawn) = row->boxes.at[i].node;
        flame_add_frame(f, row->boxes.at[i]);
    }
    buf_str(&f->rows, "</g>\n");
    f->n_rows++;
}

/* Row by row, so that depth costs neither stack nor much memory. Frees BOXES. */
static void add_rows_from(struct flame *f, struct flame_row row)
{
    struct flame_row next = {0};
    while (row.boxes.n) {
        flame_add_row(f, &row);
        next.boxes.n = 0;
        for (size_t i = 0; i < row.boxes.n; i++)
            add_children(f, row.boxes.at[i], &next);
        struct flame_row done = row;
        row = next;
        next = done;
    }
    vec_done(&row.boxes);
    vec_done(&next.boxes);
}

/* Threads overlap in time, so each has rows of its own, below those of the one before. */
static void add_lanes(struct flame *f)
{
    struct flame_row root = {0}, all = {0};
    *vec_push(&root.boxes) = (struct box){0, 0};
    flame_add_row(f, &root);
    add_children(f, root.boxes.at[0], &all);
    for (size_t i = 0; i < all.boxes.n;) {
        struct flame_row lane = {0};
        do
            *vec_push(&lane.boxes) = all.boxes.at[i++];
        while (i < all.boxes.n && !(f->t->group && f->t->group[all.boxes.at[i].node]));
        add_rows_from(f, lane);
    }
    vec_done(&root.boxes);
    vec_done(&all.boxes);
}

static void flame_add_rows(struct flame *f)
{
    struct flame_row root = {0};
    if (f->t->extent) {
        add_lanes(f);
        return;
    }
    *vec_push(&root.boxes) = (struct box){0, 0};
    add_rows_from(f, root);
}

/* --- above and below --- */

/* A line of text at (X, Y); SIZE 0 is the size of the frames' text. */
static void flame_add_line(struct buf *b, const char *class, double x, double y, struct text xml)
{
    buf_printf(b, "<text class=\"%s\" x=\"", class);
    add_px(b, x);
    buf_str(b, "\" y=\"");
    add_px(b, y);
    buf_str(b, "\">");
    buf_add(b, xml.at, xml.n);
    buf_str(b, "</text>\n");
}

static void add_heading(struct flame *f, const char *class, const char *text, double size_px)
{
    autobuf struct buf xml = {0};
    struct fit fit = fit_of_font(f->o.font, size_px);
    if (!add_fitting(&xml, &fit, text_of(text), inner_px(f)))
        return;
    f->head_px += round(size_px * 1.5);
    flame_add_line(&f->head, class, FLAME_MARGIN_PX, f->head_px, buf_text(&xml));
}

static void add_warning(struct flame *f, struct text text)
{
    autobuf struct buf xml = {0};
    double height = round(f->o.font_px * 1.75);
    if (!add_fitting(&xml, &f->fit, text, inner_px(f) - 20))
        return;
    f->head_px += 8;
    buf_str(&f->head, "<g class=\"kwarn\"><rect x=\"");
    add_px(&f->head, FLAME_MARGIN_PX);
    buf_str(&f->head, "\" y=\"");
    add_px(&f->head, f->head_px);
    buf_str(&f->head, "\" width=\"");
    add_px(&f->head, round(fit_width(&f->fit, buf_text(&xml)) * 0.92 + 20));
    buf_str(&f->head, "\" height=\"");
    add_px(&f->head, height);
    buf_str(&f->head, "\" rx=\"4\"/>");
    flame_add_line(&f->head, "kw", FLAME_MARGIN_PX + 10, f->head_px + round(height * 0.68),
                   buf_text(&xml));
    buf_str(&f->head, "</g>");
    f->head_px += height;
}

static void flame_add_head(struct flame *f)
{
    f->head_px = 6;
    add_heading(f, "kt", f->o.title, f->o.font_px + 5);
    if (f->o.subtitle)
        add_heading(f, "km", f->o.subtitle, f->o.font_px + 1);
    if (*f->paint->which)
        add_heading(f, "km", f->paint->which, f->o.font_px);
    struct text rest = text_of(f->paint->warnings);
    while (rest.n)
        add_warning(f, text_cut(&rest, '\n'));
    f->head_px += f->t->start ? 12 + round(f->o.font_px * 1.3) : 12;
}

static void add_swatch(struct flame *f, int family, double *x, double y)
{
    const char *name = f->o.palette->legend[family];
    double side = round(f->o.font_px * 0.85);
    buf_str(&f->foot, "<rect class=\"");
    style_class(&f->style, &f->foot,
                (struct shade){(uint8_t)family, (uint8_t)style_step_of(&f->style, family)});
    buf_str(&f->foot, "\" x=\"");
    add_px(&f->foot, *x);
    buf_str(&f->foot, "\" y=\"");
    add_px(&f->foot, y - side + 1);
    buf_str(&f->foot, "\" width=\"");
    add_px(&f->foot, side);
    buf_str(&f->foot, "\" height=\"");
    add_px(&f->foot, side);
    buf_str(&f->foot, "\" rx=\"2\"/>");
    flame_add_line(&f->foot, "km", *x + side + 5, y, text_of(name));
    *x += side + 5 + round(fit_width(&f->fit, text_of(name))) + 14;
}

/* Colours are explained only where they say something: with two kinds of code or more. */
static void add_legend(struct flame *f)
{
    int kinds = 0;
    for (int i = 0; i < FAMILIES; i++)
        kinds += f->o.palette->legend[i] && style_step_of(&f->style, i) >= 0;
    if (kinds < 2 && !f->has_inlined)
        return;
    double x = FLAME_MARGIN_PX;
    f->foot_px += round(f->o.font_px * 1.6);
    for (int i = 0; i < FAMILIES; i++)
        if (f->o.palette->legend[i] && style_step_of(&f->style, i) >= 0)
            add_swatch(f, i, &x, f->foot_px);
    if (f->has_inlined)
        flame_add_line(&f->foot, "km ki", x, f->foot_px, text_of("italic: inlined"));
}

static void add_caption_line(struct flame *f, struct buf *line)
{
    autobuf struct buf xml = {0};
    f->foot_px += round(f->o.font_px * 1.5);
    if (add_fitting(&xml, &f->fit, buf_text(line), inner_px(f)))
        flame_add_line(&f->foot, "kc", FLAME_MARGIN_PX, f->foot_px, buf_text(&xml));
    line->n = 0;
}

/* The next part of a caption, up to its separator. */
static struct text cut_part(struct text *rest)
{
    const char *end = memmem(rest->at, rest->n, CAPTION_SEPARATOR, strlen(CAPTION_SEPARATOR));
    struct text part = {rest->at, end ? (size_t)(end - rest->at) : rest->n};
    size_t used = end ? part.n + strlen(CAPTION_SEPARATOR) : part.n;
    *rest = (struct text){rest->at + used, rest->n - used};
    return part;
}

/* Lines are broken between parts only. */
static void add_caption(struct flame *f)
{
    autobuf struct buf caption = {0}, line = {0};
    buf_str(&caption, f->paint->caption);
    if (f->o.hidden && (f->t->n_left_out || f->rest.n))
        buf_printf(&caption, CAPTION_SEPARATOR "%s", f->o.hidden);
    struct text rest = buf_text(&caption);
    while (rest.n) {
        struct text part = cut_part(&rest);
        double width = fit_width(&f->fit, buf_text(&line)) + fit_width(&f->fit, part) + 10;
        if (line.n && width > inner_px(f))
            add_caption_line(f, &line);
        if (line.n)
            buf_str(&line, CAPTION_SEPARATOR);
        buf_add(&line, part.at, part.n);
    }
    add_caption_line(f, &line);
}

static void add_foot(struct flame *f)
{
    f->foot_px = 3;
    add_legend(f);
    add_caption(f);
    f->foot_px += 10;
}

/* --- the document --- */

/* Print rules with "#id" in place of every '&', which keeps them to this drawing. */
static void print_scoped(FILE *out, const struct buf *rules, const char *id)
{
    for (size_t i = 0; i < rules->n; i++)
        if (rules->at[i] == '&')
            fprintf(out, "#%s", id);
        else
            putc_unlocked(rules->at[i], out);
}

static uint64_t hash_bytes(uint64_t h, const struct buf *b)
{
    for (size_t i = 0; i < b->n; i++)
        h = (h ^ (uint8_t)b->at[i]) * 1099511628211u;
    return h;
}

/* An id that two different drawings do not share. Only letters that need no escape in CSS. */
static void make_id(const struct flame *f, char *ret, size_t n)
{
    if (f->o.id) {
        size_t used = (size_t)snprintf(ret, n, "%s", f->o.id);
        for (size_t i = 0; i < used && i < n - 1; i++)
            if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_", ret[i]))
                ret[i] = '-';
        return;
    }
    uint64_t h = hash_bytes(hash_bytes(14695981039346656037u, &f->head), &f->rows);
    h = hash_bytes(hash_bytes(h, &f->axis), &f->foot);
    snprintf(ret, n, "k%08x", (uint32_t)(h ^ h >> 32));
}

static void print_buf(FILE *out, const struct buf *b)
{
    fwrite(b->at, 1, b->n, out);
}

static void print_opening(FILE *out, const struct flame *f, const char *id, double height)
{
    autobuf struct buf b = {0};
    buf_printf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" id=\"%s\" width=\"", id);
    add_px(&b, f->o.width_px);
    buf_str(&b, "\" height=\"");
    add_px(&b, height);
    buf_str(&b, "\" viewBox=\"0 0 ");
    add_px(&b, f->o.width_px);
    buf_byte(&b, ' ');
    add_px(&b, height);
    buf_str(&b, "\" role=\"figure\" aria-label=\"");
    add_xml(&b, f->o.title);
    buf_str(&b, "\" font-family=\"");
    add_xml(&b, f->o.font);
    buf_str(&b, "\" font-size=\"");
    add_px(&b, f->o.font_px);
    buf_printf(&b, "\" data-kelvin=\"flame\" data-margin=\"%d\" data-baseline=\"", FLAME_MARGIN_PX);
    add_px(&b, baseline_px(f));
    buf_str(&b, "\" data-row=\"");
    add_px(&b, f->o.row_px);
    buf_str(&b, "\" data-head=\"");
    add_px(&b, f->head_px);
    buf_printf(&b, "\"%s>\n", f->o.flames ? " data-flames=\"1\"" : "");
    if (f->o.notes) {
        buf_str(&b, "<desc>");
        add_xml(&b, f->o.notes);
        buf_str(&b, "</desc>\n");
    }
    print_buf(out, &b);
}

static void print_style(FILE *out, const struct flame *f, const char *id)
{
    autobuf struct buf style = {0};
    style_rules(&f->style, &style, f->o.theme);
    buf_str(&style, web_flame_css);
    fputs("<style><![CDATA[\n", out);
    print_scoped(out, &style, id);
    fprintf(out, "#%s .kt{font-size:%gpx}\n]]></style>\n", id, f->o.font_px + 5);
}

/* A group of its own place; Y in pixels. */
static void print_group(FILE *out, const char *class, double y, const struct buf *content)
{
    autobuf struct buf b = {0};
    buf_printf(&b, "<g class=\"%s\" transform=\"translate(0 ", class);
    add_px(&b, y);
    buf_str(&b, ")\">\n");
    print_buf(out, &b);
    print_buf(out, content);
    fputs("</g>\n", out);
}

static void print_document(FILE *out, const struct flame *f)
{
    char id[64];
    double graph_px = f->o.row_px * (double)f->n_rows;
    double root_y = f->o.flames ? f->head_px + graph_px - f->o.row_px : f->head_px;
    make_id(f, id, sizeof id);
    print_opening(out, f, id, f->head_px + graph_px + f->foot_px);
    if (!f->o.still)
        flame_print_data(out, f);
    print_style(out, f, id);
    fputs("<rect class=\"kbg\" width=\"100%\" height=\"100%\"/>\n", out);
    print_group(out, "khead", 0, &f->head);
    print_group(out, "kg", root_y, &f->rows);
    if (f->t->start)
        print_group(out, "kaxis", f->head_px, &f->axis);
    print_group(out, "kfoot", f->head_px + graph_px, &f->foot);
    if (!f->o.still)
        fprintf(out, "<script><![CDATA[\n(function () {\n'use strict';\n%s%s})();\n]]></script>\n",
                web_flame_tree_js, web_flame_js);
    fputs("</svg>\n", out);
}

int flame_print(FILE *out, const struct calltree *t, const struct paint *paint,
                const struct flame_opts *o)
{
    struct flame f = {.t = t, .paint = paint, .o = with_defaults(o, t->start)};
    f.fit = fit_of_font(f.o.font, f.o.font_px);
    flame_add_head(&f);
    flame_add_rows(&f);
    if (t->start)
        flame_add_axis(&f);
    add_foot(&f);
    print_document(out, &f);
    buf_done(&f.head);
    buf_done(&f.rows);
    buf_done(&f.foot);
    buf_done(&f.axis);
    vec_done(&f.drawn);
    vec_done(&f.rest);
    return ferror(out) ? -1 : 0;
}
