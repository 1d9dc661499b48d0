/* annotate.c - a function in the terminal. */
#include "view/annotate.h"

#include "base/units.h"
#include "base/utf8.h"

/* CODE_WIDTH: address, instruction and class. */
enum { HOTTEST_SHOWN = 10, LEAST_SHARE_WIDTH = 13, CODE_WIDTH = 8 + 2 + 30 + 1 + 10 };

struct sheet {
    FILE *out;
    int width;
    bool colour;
    const struct annotate *a;
    int share_width; /* of the columns of self and total */
};

static const char *heat_style(double heat)
{
    return heat >= 0.5 ? "\033[31m" : heat >= 0.1 ? "\033[33m" : "";
}

/* Tabs become blanks, other control characters question marks. */
static void add_text(struct buf *b, struct text t)
{
    while (t.n) {
        bool has_tab = memchr(t.at, '\t', t.n);
        utf8_plain(b, text_cut(&t, '\t'));
        buf_str(b, has_tab ? "    " : "");
    }
}

static void put_words(const struct sheet *s, struct buf *b)
{
    struct text t = utf8_head(buf_text(b), (size_t)s->width);
    fprintf(s->out, "%.*s\n", (int)t.n, t.at ? t.at : "");
    b->n = 0;
}

static void put_share(const struct sheet *s, int64_t part, const char *style)
{
    autobuf struct buf b = {0};
    annotate_share(&b, s->a, part);
    int pad = s->share_width - (int)utf8_count(buf_text(&b));
    fprintf(s->out, "%*s%s%s%s", pad > 0 ? pad : 0, "", style, buf_cstr(&b),
            *style ? "\033[0m" : "");
}

/* Self and total of a place, and what is in B. */
static void annotate_put_row(const struct sheet *s, int64_t self, int64_t total, struct buf *b)
{
    bool hot = s->colour && (self || total);
    const char *style = hot ? heat_style(annotate_heat(s->a, self, total)) : "";
    put_share(s, self, style);
    put_share(s, total, style);
    fputc(' ', s->out);
    struct text t = utf8_head(buf_text(b), (size_t)(s->width - 2 * s->share_width - 1));
    while (t.n && t.at[t.n - 1] == ' ')
        t.n--;
    fprintf(s->out, "%.*s\n", (int)t.n, t.at ? t.at : "");
    b->n = 0;
}

static void put_titles(const struct sheet *s, const char *what)
{
    fprintf(s->out, "\n%*s%*s %s\n", s->share_width, "self", s->share_width, "total", what);
}

static int widest_share(const struct annotate *a, int so_far, int64_t self, int64_t total)
{
    autobuf struct buf b = {0}, c = {0};
    annotate_share(&b, a, self);
    annotate_share(&c, a, total);
    size_t n = utf8_count(buf_text(&b)), m = utf8_count(buf_text(&c));
    int most = (int)(n > m ? n : m) + 1; /* a blank before it */
    return most > so_far ? most : so_far;
}

/* Both ends of an interval take more room than a half-width. */
static int annotate_share_width(const struct annotate *a)
{
    int width = LEAST_SHARE_WIDTH;
    for (size_t i = 0; i < a->n_parts; i++) {
        const struct annotate_part *part = &a->parts[i];
        width = widest_share(a, width, part->self, part->total);
        for (size_t k = 0; k < part->lines.n; k++)
            width = widest_share(a, width, part->lines.at[k].self, part->lines.at[k].total);
    }
    for (size_t i = 0; i < a->listing->insns.n; i++)
        width = widest_share(a, width, a->listing->insns.at[i].self, a->listing->insns.at[i].total);
    return width;
}

/* The lines of T, wrapped at blanks. */
static void annotate_put_lines(const struct sheet *s, struct text t)
{
    while (t.n) {
        struct text line = text_cut(&t, '\n');
        while (utf8_count(line) > (size_t)s->width) {
            struct text head = utf8_head(line, (size_t)s->width + 1);
            const char *blank = memrchr(head.at, ' ', head.n);
            if (!blank)
                break;
            fprintf(s->out, "%.*s\n", (int)(blank - line.at), line.at);
            line.n -= (size_t)(blank + 1 - line.at);
            line.at = blank + 1;
        }
        fprintf(s->out, "%.*s\n", (int)line.n, line.at);
    }
}

static void print_head(const struct sheet *s)
{
    autobuf struct buf b = {0};
    annotate_words(s->a, &b);
    utf8_print(s->out, s->a->function);
    fputs(" (", s->out);
    utf8_print(s->out, s->a->module);
    fputs(")\n", s->out);
    annotate_put_lines(s, buf_text(&b));
    fputs(annotate_has_inlined(s->a) ? "'i' marks inlined code.\n" : "", s->out);
}

static void print_hottest(const struct sheet *s, uint32_t number)
{
    const struct listing *l = s->a->listing;
    const struct listing_block *b = &l->blocks.at[number];
    if (!b->self)
        return;
    fprintf(s->out, "Hottest: block %u at %llx, %.1f%% of the function in %zu instruction%s%s.\n",
            number + 1, (unsigned long long)l->insns.at[b->first].pc,
            s->a->whole ? 100 * (double)b->self / (double)s->a->whole : 0, b->n,
            b->n == 1 ? "" : "s", listing_loop_words(b));
}

static struct text last_part(struct text path)
{
    const char *slash = memrchr(path.at, '/', path.n);
    return slash ? (struct text){slash + 1, path.n - (size_t)(slash + 1 - path.at)} : path;
}

static void print_hottest_lines(const struct sheet *s)
{
    autobuf struct buf b = {0};
    struct annotate_spot spots[HOTTEST_SHOWN];
    size_t n = annotate_hottest(s->a, HOTTEST_SHOWN, spots);
    if (n < 2)
        return;
    put_titles(s, "hottest lines");
    for (size_t i = 0; i < n; i++) {
        const struct annotate_part *part = spots[i].part;
        uint32_t line = spots[i].line->line;
        buf_str(&b, part->inlined ? "i " : "  ");
        add_text(&b, last_part(s->a->files[part->file].path));
        buf_printf(&b, ":%u  ", line);
        if (part->inlined) {
            add_text(&b, part->function);
            buf_str(&b, ": ");
        }
        add_text(&b, text_trim(annotate_row(s->a, part->file, line)));
        annotate_put_row(s, spots[i].line->self, spots[i].line->total, &b);
    }
}

/* --- source --- */

static void print_part_head(const struct sheet *s, const struct annotate_part *part)
{
    autobuf struct buf b = {0};
    const struct annotate_file *f = &s->a->files[part->file];
    fputs("\n", s->out);
    add_text(&b, part->function);
    buf_str(&b, part->inlined ? ", inlined, " : ", ");
    add_text(&b, f->path);
    buf_printf(&b, "%s%s", f->note ? ": " : "", f->note ? f->note : "");
    struct sheet uncut = *s; /* a path is worth little without its end */
    uncut.width += (int)b.n;
    annotate_put_row(&uncut, part->self, part->total, &b);
}

static void print_part(const struct sheet *s, const struct annotate_part *part)
{
    autobuf struct buf b = {0};
    uint32_t shown = 0;
    print_part_head(s, part);
    for (size_t i = 0; i < part->lines.n; i++) {
        const struct annotate_line *l = &part->lines.at[i];
        struct annotate_range r = annotate_around(s->a, part, i, shown);
        if (shown && r.from <= r.to && r.from > shown + 1)
            fprintf(s->out, "%*s...\n", 2 * s->share_width + 7, "");
        for (uint32_t k = r.from; k <= r.to; k++) {
            bool code = k == l->line;
            buf_printf(&b, "%c %6u  ", code ? (part->inlined ? 'i' : '.') : ' ', k);
            add_text(&b, annotate_row(s->a, part->file, k));
            annotate_put_row(s, code ? l->self : 0, code ? l->total : 0, &b);
            shown = k;
        }
    }
}

/* --- instructions --- */

static void print_insn(const struct sheet *s, struct asmtext *t, const struct listing_insn *i)
{
    struct annotate_place at;
    autobuf struct buf b = {0}, target = {0};
    annotate_target(&target, s->a, i);
    buf_printf(&b, target.n ? "%8llx  %s" : "%8llx  %-30s %-10s", (unsigned long long)i->pc,
               asmtext_of(t, i), annotate_class(&i->x));
    if (target.n) { /* a jump is no arithmetic: its target stands where others have a class */
        buf_str(&b, " \xe2\x86\x92 ");
        add_text(&b, buf_text(&target));
        size_t n = utf8_count(buf_text(&b));
        buf_printf(&b, "%*s", n < CODE_WIDTH ? (int)(CODE_WIDTH - n) : 0, "");
    }
    if (annotate_place(s->a, i, &at)) {
        buf_printf(&b, " %c%6u  ", at.inlined ? 'i' : ' ', at.line);
        if (at.inlined) {
            add_text(&b, at.function);
            buf_str(&b, ": ");
        }
        add_text(&b, text_trim(annotate_source(s->a, &at)));
    }
    annotate_put_row(s, i->self, i->total, &b);
}

static void print_block(const struct sheet *s, struct asmtext *t, uint32_t number)
{
    const struct listing_block *b = &s->a->listing->blocks.at[number];
    fprintf(s->out, "\nblock %u%s", number + 1, listing_loop_words(b));
    if (b->self)
        fprintf(s->out, ", %.2f%%", 100 * (double)b->self / (double)s->a->whole);
    fputs("\n", s->out);
    for (size_t i = 0; i < b->n; i++)
        print_insn(s, t, &s->a->listing->insns.at[b->first + i]);
}

int annotate_print_text(FILE *out, const struct annotate *a, int width, bool colour)
{
    struct sheet s = {out, width, colour, a, annotate_share_width(a)};
    struct asmtext *t = asmtext_open();
    autobuf struct buf b = {0};
    if (!t)
        return -1;
    autofree uint32_t *order = annotate_order(a), *hottest = listing_order(a->listing);
    print_head(&s);
    if (a->listing->blocks.n)
        print_hottest(&s, hottest[0]);
    print_hottest_lines(&s);
    for (size_t i = 0; i < a->n_parts; i++)
        if (annotate_shows(a, a->parts[i].total))
            print_part(&s, &a->parts[i]);
    if (a->listing->blocks.n)
        put_titles(&s, "instructions");
    for (size_t i = 0; i < a->listing->blocks.n; i++)
        if (annotate_shows(a, a->listing->blocks.at[order[i]].most))
            print_block(&s, t, order[i]);
    if (annotate_left_out(a, &b)) {
        fputs("\n", out);
        put_words(&s, &b);
    }
    asmtext_close(t);
    return 0;
}
