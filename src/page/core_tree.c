/* core_tree.c - call trees for flame graphs, charts and tables of calls. */
#include "analysis/treeshare.h"
#include "page/lanes_inner.h"
#include "view/palette.h"

enum { TREE_NODES_MAX = 60000 }; /* more than a screen has pixels for */

static enum calltree_group group_of_name(const char *name)
{
    return !name                       ? GROUP_NONE
           : strcmp(name, "comm") == 0 ? GROUP_COMM
           : strcmp(name, "pid") == 0  ? GROUP_PID
           : strcmp(name, "tid") == 0  ? GROUP_TID
                                       : GROUP_NONE;
}

/* As `kelvin flame` builds it, and without what is too small to be seen. */
static struct calltree *tree_of(struct core_view *v, const struct question *q)
{
    autobuf struct buf key = {0};
    double least = q->least >= 0 ? q->least : 0;
    buf_printf(&key, "%s %d %d %.9g", q->group ? q->group : "", q->inverted, q->chart, least);
    if (v->tree && strcmp(v->tree_key, buf_cstr(&key)) == 0)
        return v->tree;
    struct calltree_opts o = {
        .group = group_of_name(q->group),
        .order = q->chart ? ORDER_TIME : ORDER_NAME,
        .callers_first = q->inverted,
        .min_share = least,
        .keep_rows = !q->chart,
    };
    for (;; o.min_share = o.min_share > 0 ? o.min_share * 2 : 1e-5) {
        calltree_free(v->tree);
        v->tree = calltree_build(&v->selection, &o);
        if (v->tree->n <= TREE_NODES_MAX || o.min_share > 0.5)
            break;
    }
    free(v->tree_key);
    v->tree_key = mem_strdup(buf_cstr(&key));
    return v->tree;
}

/* --- labels --- */

static struct core_place *places_of(const struct calltree *t, const struct profile *p)
{
    struct core_place *at = mem_calloc(t->labels.at.n + 1, sizeof *at);
    for (uint32_t i = 0; i < p->frames.n; i++) {
        const struct frame *f = &p->frames.at[i];
        const struct line *lines = profile_lines(p, f);
        for (size_t k = 0; k < labels_count(f); k++) {
            bool known =
                f->n_lines ? f->first_line + k < t->labels.of_line.n : i < t->labels.of_bare.n;
            uint32_t label =
                known ? labels_get(&t->labels, p, (struct frame_id){i}, k) : LABEL_NONE;
            if (label == LABEL_NONE || at[label].met)
                continue;
            at[label] = (struct core_place){
                f->mapping, lines ? lines[k].function : (struct function_id){0}, true};
        }
    }
    return at;
}

void core_put_place(struct json *j, const struct profile *p, const struct core_place *at)
{
    const struct function *f = &p->functions.at[at->function.i];
    json_key(j, "module");
    json_text(j, profile_module_name(p, at->mapping));
    json_key(j, "file");
    json_text(j, profile_str(p, f->file));
    json_key(j, "line");
    json_uint(j, f->line);
}

/* Those of nodes that stay, of perhaps 10^6, and by node which of them it has. */
struct used_labels {
    size_t n;
    uint32_t *label, *of_node;
};

static struct used_labels used_labels_of(const struct calltree *t)
{
    struct used_labels u = {.label = mem_calloc(t->n, sizeof *u.label),
                            .of_node = mem_calloc(t->n, sizeof *u.of_node)};
    autofree uint32_t *number = mem_calloc(t->labels.at.n + 1, sizeof *number);
    for (size_t i = 1; i < t->n; i++) {
        uint32_t *own = &number[t->label[i]];
        if (!*own) {
            u.label[u.n++] = t->label[i];
            *own = (uint32_t)u.n;
        }
        u.of_node[i] = *own - 1;
    }
    return u;
}

static void used_labels_done(struct used_labels *u)
{
    free(u->label);
    free(u->of_node);
}

static void put_labels(struct json *j, const struct calltree *t, const struct profile *p,
                       const struct used_labels *used)
{
    autofree struct core_place *at = places_of(t, p);
    json_key(j, "labels");
    json_open(j, '[');
    for (size_t k = 0; k < used->n; k++) {
        uint32_t i = used->label[k];
        enum frame_kind kind = (enum frame_kind)t->labels.at.at[i].kind;
        struct text name = labels_text(&t->labels, i);
        struct shade shade = palette_shade(&palettes[0], name, kind);
        json_open(j, '{');
        json_key(j, "name");
        json_text(j, name);
        json_put_uint(j, "kind", kind);
        json_put_uint(j, "family", shade.family);
        json_put_uint(j, "step", shade.step);
        core_put_place(j, p, &at[i]);
        json_close(j, '}');
    }
    json_close(j, ']');
}

/* --- nodes --- */

static void tree_put_ids(struct json *j, const char *key, const uint32_t *at, size_t n)
{
    json_key(j, key);
    json_open(j, '[');
    for (size_t i = 0; i < n; i++)
        json_uint(j, at[i]);
    json_close(j, ']');
}

/* Nothing where there is no such column. */
static void tree_put_values(struct json *j, const char *key, const int64_t *at, size_t n)
{
    if (!at)
        return;
    json_key(j, key);
    json_open(j, '[');
    for (size_t i = 0; i < n; i++)
        json_int(j, at[i]);
    json_close(j, ']');
}

/* As JSON reads a number: a double. */
static void tree_pack_values(struct buf *b, const int64_t *at, size_t n)
{
    vec_reserve(b, n * sizeof(double));
    char *to = b->at + b->n;
    for (size_t i = 0; i < n; i++, to += sizeof(double))
        memcpy(to, &(double){(double)at[i]}, sizeof(double));
    b->n += n * sizeof(double);
}

/* As text, or as bytes beside it: of a wide tree, numbers as text take longer than the tree. */
static void tree_put_columns(struct core *c, const struct calltree *t,
                             const struct used_labels *used, bool packed, struct json *j)
{
    const struct {
        const char *name;
        const int64_t *at;
    } values[] = {{"self", t->self},
                  {"total", t->total},
                  {"self_samples", t->self_count},
                  {"total_samples", t->total_count},
                  {"start", t->start},
                  {"extent", t->extent}};
    enum { VALUES = sizeof values / sizeof *values };
    if (!packed) {
        tree_put_ids(j, "parent", t->parent, t->n);
        tree_put_ids(j, "label", used->of_node, t->n);
        for (size_t i = 0; i < VALUES; i++)
            tree_put_values(j, values[i].name, values[i].at, t->n);
        return;
    }
    json_key(j, "columns");
    json_open(j, '[');
    for (size_t i = 0; i < VALUES; i++)
        if (values[i].at) {
            json_str(j, values[i].name);
            tree_pack_values(&c->columns, values[i].at, t->n);
        }
    json_str(j, "parent");
    json_str(j, "label");
    json_close(j, ']');
    buf_add(&c->columns, t->parent, t->n * sizeof *t->parent);
    buf_add(&c->columns, used->of_node, t->n * sizeof *used->of_node);
}

/* When a chart begins, as the timeline counts. */
static double chart_start_s(const struct calltree *t, const struct profile *p)
{
    uint64_t first, last;
    bool timed = lanes_span(p, &first, &last) && t->first_ns != UINT64_MAX;
    return timed && t->first_ns > first ? (double)(t->first_ns - first) / 1e9 : 0;
}

int core_tree(struct core *c, const struct question *q, struct json *j, struct err *err)
{
    struct core_view *v = core_view(c, q, err);
    if (!v)
        return -1;
    const struct calltree *t = tree_of(v, q);
    json_put_uint(j, "n", t->n);
    json_put_uint(j, "left_out", t->n_left_out);
    struct used_labels used = used_labels_of(t);
    tree_put_columns(c, t, &used, q->packed, j);
    if (t->extent)
        json_put_number(j, "from_s", chart_start_s(t, v->selection.profile));
    json_key(j, "groups");
    json_open(j, '[');
    for (size_t i = 0; t->group && i < t->n; i++)
        if (t->group[i])
            json_uint(j, i);
    json_close(j, ']');
    put_labels(j, t, v->selection.profile, &used);
    used_labels_done(&used);
    return 0;
}

/* Both ends of the interval of the total and of the self share of each node; null = not known. */
int core_tree_shares(struct core *c, const struct question *q, struct json *j, struct err *err)
{
    struct core_view *v = core_view(c, q, err);
    if (!v)
        return -1;
    const struct calltree *t = tree_of(v, q);
    if (!t->node_of_row)
        return err_set(err, EXIT_ERROR, "a chart by time has no shares");
    autofree struct treeshare *shares = treeshare_build(t, &v->selection, 0.001);
    json_key(j, "shares");
    json_open(j, '[');
    for (size_t i = 0; i < t->n; i++) {
        if (!shares[i].known) {
            json_null(j);
            continue;
        }
        json_open(j, '[');
        json_double(j, shares[i].total.low);
        json_double(j, shares[i].total.high);
        json_double(j, shares[i].self.low);
        json_double(j, shares[i].self.high);
        json_close(j, ']');
    }
    json_close(j, ']');
    return 0;
}

static void put_rgb(struct json *j, struct rgb c)
{
    char hex[8];
    snprintf(hex, sizeof hex, "#%02x%02x%02x", c.r, c.g, c.b);
    json_str(j, hex);
}

/* The colours of frames, [family][step] as [light, dark], of the text on them, and what they mean.
 */
int core_palette(struct core *c, const struct question *q, struct json *j, struct err *err)
{
    (void)c, (void)q, (void)err;
    json_key(j, "families");
    json_open(j, '[');
    for (int f = 0; f < FAMILIES; f++) {
        json_open(j, '[');
        for (int s = 0; s < PALETTE_SHADES; s++) {
            struct shade shade = {(uint8_t)f, (uint8_t)s};
            json_open(j, '[');
            put_rgb(j, palette_rgb(shade, false));
            put_rgb(j, palette_rgb(shade, true));
            json_close(j, ']');
        }
        json_close(j, ']');
    }
    json_close(j, ']');
    json_key(j, "text");
    json_open(j, '[');
    put_rgb(j, palette_text(false));
    put_rgb(j, palette_text(true));
    json_close(j, ']');
    json_key(j, "legend");
    json_open(j, '[');
    for (int f = 0; f < FAMILIES; f++)
        json_str(j, palettes[0].legend[f] ? palettes[0].legend[f] : "");
    json_close(j, ']');
    return 0;
}
