/* flame_paint.c - the tree of a selection, coloured by name and labelled with its numbers. */
#include "analysis/quality.h"
#include "base/calc.h"
#include "base/units.h"
#include "base/utf8.h"
#include "view/caption.h"
#include "view/flame.h"

#include <math.h>

struct spot;

struct numbers {
    const struct selection *s;
    const struct calltree *t;
    const struct palette *palette;
    const struct spot *spots; /* by label */
    const char *count_name;   /* NULL = as in the profile */
    double factor;
};

static enum frame_kind flame_paint_kind_of(const struct calltree *t, uint32_t node)
{
    return t->labels.at.at[t->label[node]].kind;
}

/* An inlined function is code of the kind that it was inlined into. */
static enum frame_kind host_kind(const struct calltree *t, uint32_t node)
{
    uint32_t at = node;
    while (at && flame_paint_kind_of(t, at) == FRAME_INLINED)
        at = t->parent[at];
    bool found = at && !(t->group && t->group[at]);
    return found ? flame_paint_kind_of(t, at) : FRAME_INLINED;
}

static struct shade shade_by_name(const void *context, uint32_t node)
{
    const struct numbers *n = context;
    struct text name = labels_text(&n->t->labels, n->t->label[node]);
    return palette_shade(n->palette, palette_strip(name, flame_paint_kind_of(n->t, node)),
                         host_kind(n->t, node));
}

/* Where the functions of each label are, by the first frame that has it. */
struct spot {
    struct mapping_id mapping;
    struct function_id function;
    bool known;
};

static struct spot *find_spots(const struct selection *s, const struct calltree *t)
{
    const struct profile *p = s->profile;
    struct spot *spots = mem_calloc(t->labels.at.n + 1, sizeof *spots);
    for (uint32_t i = 0; i < p->frames.n; i++) {
        const struct frame *frame = &p->frames.at[i];
        for (size_t k = 0; k < labels_count(frame); k++) {
            uint32_t label = labels_get(&t->labels, p, (struct frame_id){i}, k);
            if (label == LABEL_NONE || spots[label].known)
                continue;
            struct function_id none = {0};
            spots[label] = (struct spot){
                frame->mapping, frame->n_lines ? profile_lines(p, frame)[k].function : none, true};
        }
    }
    return spots;
}

static void add_place(const void *context, uint32_t label, struct buf *b)
{
    const struct numbers *n = context;
    const struct profile *p = n->s->profile;
    const struct spot *spot = &n->spots[label];
    struct text module = profile_module_name(p, spot->mapping);
    const struct function *function = &p->functions.at[spot->function.i];
    struct text file = profile_str(p, function->file);
    buf_add(b, module.at, module.n);
    if (!file.n)
        return;
    buf_byte(b, '\t');
    buf_add(b, file.at, file.n);
    if (function->line)
        buf_printf(b, ":%u", function->line);
}

static void add_scaled_value(struct buf *b, const struct numbers *n, int64_t value)
{
    char s[UNITS_MAX];
    int decimals = selection_value(n->s)->decimals;
    if (n->factor != 1) {
        double v = (double)value / calc_ten_to(decimals) * n->factor;
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

static void flame_paint_add_value(struct buf *b, const struct numbers *n, int64_t value)
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
        flame_paint_add_value(b, n, n->t->total[node]);
    buf_str(b, ", ");
    buf_str(b, units_share(s, (double)n->t->total[node], (double)n->t->total[0]));
    if (weighted) {
        buf_str(b, ", ");
        flame_paint_add_value(b, n, n->t->total[node]);
    }
}

/* The column of the stream that adds up time, if it is not the one that is drawn; or -1. */
static int time_column(const struct selection *s)
{
    for (int i = 0; i < s->stream->n_types; i++) {
        const struct value_type *t = &s->stream->types[i];
        if (i != s->type && t->dimension == DIM_TIME && t->role == ROLE_FLOW && !t->decimals)
            return s->type == s->count_type ? i : -1;
    }
    return -1;
}

/* Total and self time of each node, side by side; NULL where there is no such column. Free it. */
static int64_t *times_of_nodes(const struct selection *s, const struct calltree *t)
{
    int column = time_column(s);
    if (column < 0 || !t->node_of_row)
        return NULL;
    const int64_t *value = s->stream->rows.value[column];
    int64_t *time_ns = mem_calloc(t->n, 2 * sizeof *time_ns);
    for (size_t i = 0; i < s->n_rows; i++)
        time_ns[2 * t->node_of_row[i] + 1] += value[selection_row(s, i)];
    for (size_t i = t->n; i-- > 0;) {
        time_ns[2 * i] += time_ns[2 * i + 1];
        if (i)
            time_ns[2 * t->parent[i]] += time_ns[2 * i];
    }
    double scale = quality_cpu_scale(s);
    for (size_t i = 0; i < 2 * (size_t)t->n; i++)
        time_ns[i] = llround((double)time_ns[i] * scale);
    return time_ns;
}

int flame_print_selection(FILE *out, const struct selection *s, const struct calltree *t,
                          const struct flame_opts *o)
{
    autobuf struct buf caption = {0}, warnings = {0}, which = {0};
    caption_build(&caption, s);
    caption_warnings(&warnings, s);
    caption_others(&which, s);
    autofree struct spot *spots = find_spots(s, t);
    autofree struct treeshare *shares =
        t->node_of_row && !o->still ? treeshare_build(t, s, o->min_share) : NULL;
    autofree int64_t *time_ns = o->still ? NULL : times_of_nodes(s, t);
    const struct value_type *type = selection_value(s);
    struct text word =
        profile_str(s->profile, type->dimension == DIM_COUNT ? type->name : type->unit);
    autofree char *unit = mem_printf("%.*s", TEXT_ARG(word));
    struct numbers numbers = {
        .spots = spots,
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
        .type = type,
        .unit = unit,
        .shares = shares,
        .time_ns = time_ns,
        .add_place = add_place,
    };
    return flame_print(out, t, &paint, o);
}
