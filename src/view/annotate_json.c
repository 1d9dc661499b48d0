/* annotate_json.c - a function for programs, and for the page: the same figures as in the terminal.
 */
#include "base/json.h"
#include "view/annotate.h"

static void annotate_put_share(struct json *j, const char *key, const struct annotate *a,
                               int64_t part)
{
    autobuf struct buf b = {0};
    annotate_share(&b, a, part);
    json_put_str(j, key, buf_cstr(&b));
}

/* Self and total of a place, as numbers and as the terminal prints them. */
static void annotate_put_times(struct json *j, const struct annotate *a, int64_t self,
                               int64_t total)
{
    json_key(j, "self");
    json_int(j, self);
    json_key(j, "total");
    json_int(j, total);
    annotate_put_share(j, "self_share", a, self);
    annotate_put_share(j, "total_share", a, total);
    json_put_number(j, "heat", annotate_heat(a, self, total));
}

static void annotate_put_text(struct json *j, const char *key, struct text t)
{
    json_key(j, key);
    json_text(j, t);
}

/* --- source --- */

static void put_files(struct json *j, const struct annotate *a)
{
    json_key(j, "files");
    json_open(j, '[');
    for (size_t i = 0; i < a->n_files; i++) {
        json_open(j, '{');
        annotate_put_text(j, "path", a->files[i].path);
        json_put_str(j, "note", a->files[i].note);
        json_put_uint(j, "lines", a->files[i].rows.n);
        json_close(j, '}');
    }
    json_close(j, ']');
}

/* The function as it stands in its file, if that is here and it is no larger; else what is hot, and
 * a little around it. */
enum { WHOLE_LINES = 600, AFTER = 3 };

static void annotate_put_row(struct json *j, const struct annotate *a,
                             const struct annotate_part *p, const struct annotate_line *line,
                             uint32_t number)
{
    bool own = line && number == line->line;
    json_open(j, '{');
    json_put_uint(j, "line", number);
    annotate_put_text(j, "text", annotate_row(a, p->file, number));
    annotate_put_times(j, a, own ? line->self : 0, own ? line->total : 0);
    json_close(j, '}');
}

static void annotate_put_whole(struct json *j, const struct annotate *a,
                               const struct annotate_part *p)
{
    uint32_t first = p->lines.at[0].line, last = p->lines.at[p->lines.n - 1].line + AFTER;
    uint32_t most = (uint32_t)a->files[p->file].rows.n;
    size_t at = 0;
    for (uint32_t k = first > AFTER ? first - AFTER : 1; k <= last && k <= most; k++) {
        while (at + 1 < p->lines.n && p->lines.at[at].line < k)
            at++;
        annotate_put_row(j, a, p, &p->lines.at[at], k);
    }
}

static void put_ranges(struct json *j, const struct annotate *a, const struct annotate_part *p)
{
    uint32_t shown = 0;
    for (size_t i = 0; i < p->lines.n; i++) {
        struct annotate_range r = annotate_around(a, p, i, shown);
        for (uint32_t k = r.from; k <= r.to; k++) {
            annotate_put_row(j, a, p, &p->lines.at[i], k);
            shown = k;
        }
    }
}

static void annotate_put_rows(struct json *j, const struct annotate *a,
                              const struct annotate_part *p)
{
    uint32_t lines = (uint32_t)a->files[p->file].rows.n, last = p->lines.at[p->lines.n - 1].line;
    bool whole = last <= lines && last - p->lines.at[0].line <= WHOLE_LINES;
    json_key(j, "rows");
    json_open(j, '[');
    (whole ? annotate_put_whole : put_ranges)(j, a, p);
    json_close(j, ']');
}

static void put_parts(struct json *j, const struct annotate *a)
{
    json_key(j, "parts");
    json_open(j, '[');
    for (size_t i = 0; i < a->n_parts; i++) {
        const struct annotate_part *p = &a->parts[i];
        if (!annotate_shows(a, p->total))
            continue;
        json_open(j, '{');
        annotate_put_text(j, "function", p->function);
        json_put_bool(j, "inlined", p->inlined);
        json_put_uint(j, "file", p->file);
        annotate_put_times(j, a, p->self, p->total);
        annotate_put_rows(j, a, p);
        json_close(j, '}');
    }
    json_close(j, ']');
}

/* --- instructions --- */

static void annotate_put_place(struct json *j, const struct annotate *a,
                               const struct listing_insn *i)
{
    struct annotate_place at;
    if (!annotate_place(a, i, &at))
        return;
    json_put_uint(j, "line", at.line);
    annotate_put_text(j, "file", at.file);
    annotate_put_text(j, "source", text_trim(annotate_source(a, &at)));
    if (at.inlined)
        annotate_put_text(j, "inlined", at.function);
}

static void annotate_put_insn(struct json *j, const struct annotate *a, size_t index)
{
    const struct listing_insn *i = &a->listing->insns.at[index];
    autobuf struct buf target = {0};
    char pc[20];
    snprintf(pc, sizeof pc, "%llx", (unsigned long long)i->pc);
    annotate_target(&target, a, i);
    json_open(j, '{');
    json_put_str(j, "pc", pc);
    json_put_str(j, "text", a->texts[index]);
    json_put_str(j, "class", annotate_class(&i->x));
    if (target.n)
        annotate_put_text(j, "target", buf_text(&target));
    annotate_put_times(j, a, i->self, i->total);
    annotate_put_place(j, a, i);
    json_close(j, '}');
}

static void put_blocks(struct json *j, const struct annotate *a)
{
    autofree uint32_t *order = annotate_order(a);
    json_key(j, "blocks");
    json_open(j, '[');
    for (size_t i = 0; i < a->listing->blocks.n; i++) {
        const struct listing_block *b = &a->listing->blocks.at[order[i]];
        if (!annotate_shows(a, b->most))
            continue;
        json_open(j, '{');
        json_put_uint(j, "block", order[i] + 1);
        json_put_bool(j, "loop", b->loop);
        json_put_bool(j, "in_loop", b->of_loop);
        json_key(j, "self");
        json_int(j, b->self);
        annotate_put_share(j, "self_share", a, b->self);
        json_key(j, "insns");
        json_open(j, '[');
        for (size_t k = 0; k < b->n; k++)
            annotate_put_insn(j, a, b->first + k);
        json_close(j, ']');
        json_close(j, '}');
    }
    json_close(j, ']');
}

void annotate_print_json(FILE *out, const struct annotate *a)
{
    autobuf struct buf words = {0}, left_out = {0};
    struct json j = {.out = out};
    annotate_words(a, &words);
    annotate_left_out(a, &left_out);
    json_open(&j, '{');
    json_put_str(&j, "function", a->function);
    json_put_str(&j, "module", a->module);
    json_put_str(&j, "words", buf_cstr(&words));
    json_put_str(&j, "left_out", buf_cstr(&left_out));
    json_key(&j, "self");
    json_int(&j, a->listing->self);
    json_key(&j, "total");
    json_int(&j, a->whole);
    json_key(&j, "samples");
    if (a->samples >= 0)
        json_int(&j, a->samples);
    else
        json_null(&j);
    put_files(&j, a);
    put_parts(&j, a);
    put_blocks(&j, a);
    json_close(&j, '}');
    putc('\n', out);
}
