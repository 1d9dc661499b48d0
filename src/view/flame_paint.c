/* flame_paint.c - the tree of a selection, coloured by name and labelled with its numbers. */
#include "base/units.h"
#include "base/utf8.h"
#include "view/caption.h"
#include "view/flame.h"

#include <math.h>

struct numbers {
    const struct selection *s;
    const struct calltree *t;
    const struct palette *palette;
    const char *count_name; /* NULL = as in the profile */
    double factor;
};

static struct shade shade_by_name(const void *context, uint32_t node)
{
    const struct numbers *n = context;
    uint32_t label = n->t->label[node];
    return palette_shade(n->palette, labels_text(&n->t->labels, label),
                         n->t->labels.at.at[label].kind);
}

static void add_scaled_value(struct buf *b, const struct numbers *n, int64_t value)
{
    char s[UNITS_MAX];
    int decimals = selection_value(n->s)->decimals;
    if (n->factor != 1) {
        double v = (double)value / pow(10, decimals) * n->factor;
        buf_str(b, v < 9e15 ? units_decimal_count(s, llround(v * 100), 2)
                            : units_count(s, (uint64_t)fmin(v, 1e19)));
    } else {
        buf_str(b, units_decimal_count(s, value, decimals));
    }
    buf_byte(b, ' ');
    utf8_xml(b, text_of(n->count_name ? n->count_name : "units"));
}

static bool is_renamed(const struct numbers *n)
{
    return n->count_name || n->factor != 1;
}

static void add_value(struct buf *b, const struct numbers *n, int64_t value)
{
    if (is_renamed(n)) {
        add_scaled_value(b, n, value);
        return;
    }
    autobuf struct buf plain = {0};
    caption_value(&plain, n->s->profile, selection_value(n->s), value);
    utf8_xml(b, buf_text(&plain));
}

/* "1,234 samples, 12.34%, 1.23 s": the samples come first where they are known. */
static void add_numbers(const void *context, uint32_t node, struct buf *b)
{
    char s[UNITS_MAX];
    const struct numbers *n = context;
    bool weighted = n->t->total_count && (n->s->count_type != n->s->type || is_renamed(n));
    if (weighted)
        caption_value(b, n->s->profile, caption_samples(n->s), n->t->total_count[node]);
    else
        add_value(b, n, n->t->total[node]);
    buf_str(b, ", ");
    buf_str(b, units_share(s, (double)n->t->total[node], (double)n->t->total[0]));
    if (weighted) {
        buf_str(b, ", ");
        add_value(b, n, n->t->total[node]);
    }
}

int flame_print_selection(FILE *out, const struct selection *s, const struct calltree *t,
                          const struct flame_opts *o)
{
    autobuf struct buf caption = {0}, warnings = {0}, which = {0};
    caption_build(&caption, s);
    caption_warnings(&warnings, s);
    caption_others(&which, s);
    struct numbers numbers = {
        .s = s,
        .t = t,
        .palette = o->palette ? o->palette : palettes,
        .count_name = o->count_name,
        .factor = o->factor > 0 ? o->factor : 1,
    };
    struct paint paint = {
        .context = &numbers,
        .shade = shade_by_name,
        .add_about = add_numbers,
        .caption = buf_cstr(&caption),
        .warnings = buf_cstr(&warnings),
        .which = buf_cstr(&which),
    };
    return flame_print(out, t, &paint, o);
}
