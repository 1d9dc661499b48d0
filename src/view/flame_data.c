/*
 * flame_data.c - the numbers behind a flame graph, for its script.
 *
 * Titles and widths are rounded; these are not, and they hold the nodes that are too narrow to
 * draw, so that a search finds the same totals as a table. Frames are numbered in the order of the
 * document, the nodes that are not drawn after them, parents first.
 *
 *     {"unit": {"kind", "name", "decimals", "factor"}, "counted": bool,
 *      "chart": {"span", "timed"} or null
 *      "frames": [parent, total, self (, samples, self samples), ...],    drawn
 *      "sure": [low, high, self low, self high, ...],      95% intervals in 1/1000 of a percent
 *      "time": [total, self, ...],     of all nodes, in nanoseconds
 *      "place": [index in places, ...], "places": ["MODULE\\tFILE:LINE", ...],
 *      "names": [...], "rest": [parent, index in names, total, self, samples, self samples, ...],
 *      "groups": [number of each frame that is a thread or process, ...]}
 */
#include "base/intern.h"
#include "base/json.h"
#include "base/utf8.h"
#include "view/flame_inner.h"

#include <math.h>

struct flame_data {
    const struct flame *f;
    struct json j;
    uint32_t *number; /* of a node, in the order of the document */
    VEC(uint32_t) order;
};

/* What is drawn, then all else that hangs on it. */
static void number_frames(struct flame_data *d)
{
    const struct flame *f = d->f;
    d->number = mem_calloc(f->t->n, sizeof *d->number);
    for (size_t i = 0; i < f->drawn.n; i++)
        *vec_push(&d->order) = f->drawn.at[i];
    for (size_t i = 0; i < f->rest.n; i++)
        *vec_push(&d->order) = f->rest.at[i];
    for (size_t i = f->drawn.n; i < d->order.n; i++)
        for_each_child (f->t, d->order.at[i], child)
            *vec_push(&d->order) = child;
    for (size_t i = 0; i < d->order.n; i++)
        d->number[d->order.at[i]] = (uint32_t)i;
}

static void flame_data_put_values(struct flame_data *d, uint32_t node, bool counts)
{
    const struct calltree *t = d->f->t;
    json_int(&d->j, t->total[node]);
    json_int(&d->j, t->self[node]);
    if (!counts)
        return;
    json_int(&d->j, t->total_count ? t->total_count[node] : 0);
    json_int(&d->j, t->self_count ? t->self_count[node] : 0);
}

static void put_frames(struct flame_data *d)
{
    const struct flame *f = d->f;
    json_key(&d->j, "frames");
    json_open(&d->j, '[');
    for (size_t i = 0; i < f->drawn.n; i++) {
        json_uint(&d->j, d->number[f->t->parent[f->drawn.at[i]]]);
        flame_data_put_values(d, f->drawn.at[i], f->t->total_count);
    }
    json_close(&d->j, ']');
}

/* Names are written once: many nodes have the same. */
static void put_rest(struct flame_data *d)
{
    struct intern names;
    intern_init(&names);
    json_key(&d->j, "rest");
    json_open(&d->j, '[');
    for (size_t i = d->f->drawn.n; i < d->order.n; i++) {
        uint32_t node = d->order.at[i];
        json_uint(&d->j, d->number[d->f->t->parent[node]]);
        json_uint(&d->j, intern_add(&names, flame_name(d->f, node)));
        flame_data_put_values(d, node, true);
    }
    json_close(&d->j, ']');
    json_key(&d->j, "names");
    json_open(&d->j, '[');
    for (uint32_t i = 0; i < names.strings.n; i++)
        json_text(&d->j, intern_get(&names, i));
    json_close(&d->j, ']');
    intern_done(&names);
}

static void put_groups(struct flame_data *d)
{
    const struct calltree *t = d->f->t;
    json_key(&d->j, "groups");
    json_open(&d->j, '[');
    for (size_t i = 0; t->group && i < d->order.n; i++)
        if (t->group[d->order.at[i]])
            json_uint(&d->j, i);
    json_close(&d->j, ']');
}

static void put_interval(struct json *j, const struct interval *in, bool known)
{
    json_int(j, known ? llround(in->low * 1e5) : -1);
    json_int(j, known ? llround(in->high * 1e5) : -1);
}

static void put_shares(struct flame_data *d)
{
    const struct treeshare *shares = d->f->paint->shares;
    if (!shares || !shares[0].known)
        return;
    json_key(&d->j, "sure");
    json_open(&d->j, '[');
    for (size_t i = 0; i < d->f->drawn.n; i++) {
        const struct treeshare *s = &shares[d->f->drawn.at[i]];
        put_interval(&d->j, &s->total, s->known);
        put_interval(&d->j, &s->self, s->known);
    }
    json_close(&d->j, ']');
}

static void put_times(struct flame_data *d)
{
    const int64_t *time_ns = d->f->paint->time_ns;
    if (!time_ns)
        return;
    json_key(&d->j, "time");
    json_open(&d->j, '[');
    for (size_t i = 0; i < d->order.n; i++) {
        json_int(&d->j, time_ns[2 * d->order.at[i]]);
        json_int(&d->j, time_ns[2 * d->order.at[i] + 1]);
    }
    json_close(&d->j, ']');
}

static void put_places(struct flame_data *d)
{
    const struct flame *f = d->f;
    struct intern places;
    if (!f->paint->add_place)
        return;
    intern_init(&places);
    intern_add(&places, text_of(""));
    json_key(&d->j, "place");
    json_open(&d->j, '[');
    for (size_t i = 0; i < f->drawn.n; i++) {
        uint32_t node = f->drawn.at[i];
        autobuf struct buf place = {0};
        if (node && !(f->t->group && f->t->group[node]))
            f->paint->add_place(f->paint->context, f->t->label[node], &place);
        json_uint(&d->j, intern_add(&places, buf_text(&place)));
    }
    json_close(&d->j, ']');
    json_key(&d->j, "places");
    json_open(&d->j, '[');
    for (uint32_t i = 0; i < places.strings.n; i++)
        json_text(&d->j, intern_get(&places, i));
    json_close(&d->j, ']');
    intern_done(&places);
}

static void put_unit(struct flame_data *d)
{
    const struct flame *f = d->f;
    const struct value_type *t = f->paint->type;
    bool renamed = f->o.count_name || (f->o.factor > 0 && f->o.factor != 1);
    json_key(&d->j, "unit");
    if (!t) {
        json_null(&d->j);
        return;
    }
    json_open(&d->j, '{');
    json_put_str(&d->j, "kind",
                 renamed                     ? "count"
                 : t->dimension == DIM_TIME  ? "time"
                 : t->dimension == DIM_BYTES ? "bytes"
                                             : "count");
    json_put_str(&d->j, "name",
                 f->o.count_name ? f->o.count_name
                 : renamed       ? "units"
                                 : f->paint->unit);
    json_put_uint(&d->j, "decimals", (uint64_t)t->decimals);
    json_put_number(&d->j, "factor", f->o.factor > 0 ? f->o.factor : 1);
    json_close(&d->j, '}');
}

static void put_chart(struct flame_data *d)
{
    json_key(&d->j, "chart");
    if (!d->f->t->start) {
        json_null(&d->j);
        return;
    }
    json_open(&d->j, '{');
    json_put_uint(&d->j, "span", (uint64_t)flame_span(d->f));
    json_put_bool(&d->j, "timed", d->f->t->extent != NULL);
    json_close(&d->j, '}');
}

static void put_data(struct flame_data *d)
{
    json_open(&d->j, '{');
    put_unit(d);
    json_put_bool(&d->j, "counted", d->f->t->total_count != NULL);
    put_chart(d);
    put_frames(d);
    put_shares(d);
    put_times(d);
    put_places(d);
    put_rest(d);
    put_groups(d);
    json_close(&d->j, '}');
}

void flame_print_data(FILE *out, const struct flame *f)
{
    char *text = NULL;
    size_t n = 0;
    autobuf struct buf xml = {0};
    struct flame_data d = {.f = f, .j = {.out = open_memstream(&text, &n)}};
    if (!d.j.out)
        return;
    number_frames(&d);
    put_data(&d);
    fclose(d.j.out);
    utf8_xml(&xml, (struct text){text, n});
    fputs("<metadata>", out);
    fwrite(xml.at, 1, xml.n, out);
    fputs("</metadata>\n", out);
    free(text);
    free(d.number);
    vec_done(&d.order);
}
