/*
 * diff_svg.c - both sides of a comparison as one flame graph.
 */
#include "base/buf.h"
#include "view/caption.h"
#include "view/diff.h"
#include "view/flame.h"

#include <math.h>

/* A share as a value of the drawn tree: widths keep this much of it. */
#define WHOLE 1e12

struct drawing {
    const struct diff *d;
    struct calltree *tree;
    uint32_t *path_of_node;
};

static void build_tree(struct drawing *w)
{
    const struct diff *d = w->d;
    size_t n = d->paths.n;
    autofree uint32_t *parent = mem_calloc(n, sizeof *parent);
    autofree struct text *name = mem_calloc(n, sizeof *name);
    autofree int64_t *self = mem_calloc(n, sizeof *self);
    for (size_t i = 0; i < n; i++) {
        const struct diff_entry *e = &d->paths.at[i];
        parent[i] = e->parent;
        name[i] = diff_name(d, e);
        self[i] = llround((e->self.before + e->self.after) / 2 * WHOLE);
    }
    struct calltree_nodes nodes = {n, parent, name, self};
    w->tree = calltree_of_nodes(&nodes, 0.1 / 1200, &w->path_of_node);
}

/* Stronger colour for a larger change; three steps, as there are three levels of lightness. Where
 * the whole below a frame is not proven to differ, its own share may be. */
static struct shade shade_of(const void *context, uint32_t node)
{
    const struct drawing *w = context;
    const struct diff_entry *e = &w->d->paths.at[w->path_of_node[node]];
    const struct diff_value *v = e->total.proven ? &e->total : &e->self;
    if (!v->proven)
        return (struct shade){FAMILY_GREY, 0};
    double points = fabs(diff_points(v));
    uint8_t level = points >= 5 ? 2 : points >= 1 ? 1 : 0;
    return (struct shade){v->cost > 1 ? FAMILY_RED : FAMILY_BLUE, (uint8_t)(level * 8 + 3)};
}

static void diff_svg_add_value(struct buf *b, const struct diff *d, const struct diff_entry *e,
                               bool total)
{
    const struct diff_value *v = total ? &e->total : &e->self;
    const char *what = total ? "total" : "self";
    buf_printf(b, "%s %.2f%% to %.2f%%, %+.2f points", what, v->before * 100, v->after * 100,
               diff_points(v));
    if (isnan(v->p))
        return;
    if (isfinite(v->low))
        buf_printf(b, " [%+.2f to %+.2f]", v->low * 100, v->high * 100);
    buf_str(b, ", cost ");
    if (!isnan(v->before_cost) && v->before > 0 && v->after > 0) {
        diff_add_costs(b, d, v->before_cost, v->after_cost);
        buf_str(b, ", ");
    }
    diff_cost(b, e, v);
    buf_printf(b, ", p %.3g%s", v->q, v->proven ? "" : ", not proven");
}

static void add_about(const void *context, uint32_t node, struct buf *xml)
{
    const struct drawing *w = context;
    const struct diff_entry *e = &w->d->paths.at[w->path_of_node[node]];
    if (!node) {
        buf_str(xml, "both sides");
        return;
    }
    const char *presence = diff_presence(&e->total);
    diff_svg_add_value(xml, w->d, e, true);
    buf_str(xml, "; ");
    diff_svg_add_value(xml, w->d, e, false);
    if (*presence)
        buf_printf(xml, "; %s", presence);
}

static enum palette_family all_grey(struct text name, enum frame_kind kind)
{
    (void)name, (void)kind;
    return FAMILY_GREY;
}

static const struct palette palette = {
    .name = "diff",
    .title = "difference",
    .family = all_grey,
    .legend = {[FAMILY_GREY] = "nothing proven", [FAMILY_RED] = "grew", [FAMILY_BLUE] = "shrank"},
};

static void diff_svg_add_warnings(struct buf *b, const struct diff_view *v)
{
    struct text rest = text_of(v->unlike);
    while (rest.n) {
        struct text line = text_cut(&rest, '\n');
        buf_printf(b, "compared anyway: %.*s\n", TEXT_ARG(line));
    }
    if (v->arguments && *v->arguments)
        buf_printf(b, "%s\n", v->arguments);
}

static void diff_svg_print(FILE *out, const struct drawing *w, const struct diff_view *v)
{
    autobuf struct buf caption = {0}, warnings = {0}, subtitle = {0};
    diff_basis(&caption, w->d);
    if (v->runs[0]->words)
        buf_printf(&caption, CAPTION_SEPARATOR "selected: %s", v->runs[0]->words);
    buf_str(&caption, CAPTION_SEPARATOR "width: mean share of both sides" CAPTION_SEPARATOR
                                        "kelvin " KELVIN_VERSION);
    buf_printf(&subtitle, "%s: %s", diff_verdict_names[w->d->verdict], w->d->why);
    diff_svg_add_warnings(&warnings, v);
    struct paint paint = {
        .context = w,
        .shade = shade_of,
        .add_about = add_about,
        .caption = buf_cstr(&caption),
        .warnings = buf_cstr(&warnings),
        .which = "",
    };
    struct flame_opts opts = {.palette = &palette,
                              .title = "Difference",
                              .subtitle = buf_cstr(&subtitle),
                              .theme = v->theme,
                              .hidden = "frames under 0.1 px not drawn"};
    flame_print(out, w->tree, &paint, &opts);
}

void diff_print_svg(FILE *out, const struct diff *d, const struct diff_view *v)
{
    struct drawing w = {.d = d};
    build_tree(&w);
    diff_svg_print(out, &w, v);
    free(w.path_of_node);
    calltree_free(w.tree);
}
