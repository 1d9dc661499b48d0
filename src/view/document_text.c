/* document_text.c - a document for a terminal, and as markdown. */
#include "base/buf.h"
#include "base/shortname.h"
#include "base/utf8.h"
#include "view/document.h"

enum { MAX_COLUMNS = 16, MIN_WIDE = 16 };

struct printer {
    FILE *out;
    int width;
    bool colour;
};

#define BOLD "\033[1m"
#define DIM "\033[2m"
#define RED "\033[31m"
#define YELLOW "\033[33m"
#define PLAIN "\033[0m"

static void document_text_put(const struct printer *p, const char *style, struct text t)
{
    bool styled = p->colour && *style;
    fprintf(p->out, "%s%.*s%s", styled ? style : "", (int)t.n, t.at, styled ? PLAIN : "");
}

/* Control characters in names must not reach the terminal. */
static struct text clean(struct buf *b, struct text t)
{
    utf8_plain(b, t);
    return buf_text(b);
}

/* Words of T, wrapped; lines after the first start with INDENT blanks. */
static void put_wrapped(const struct printer *p, struct text t, int indent, int at)
{
    bool first = true; /* whoever wrote before has left the blank */
    while (t.n) {
        struct text word = text_cut(&t, ' ');
        int n = (int)utf8_count(word);
        if (at > indent && at + 1 + n > p->width) {
            fprintf(p->out, "\n%*s", indent, "");
            at = indent;
        } else if (!first) {
            putc(' ', p->out);
            at++;
        }
        document_text_put(p, "", word);
        at += n;
        first = false;
    }
    putc('\n', p->out);
}

/* --- tables --- */

static void document_text_measure(const struct document_block *t, int *width)
{
    for (size_t c = 0; c < t->n_columns; c++)
        width[c] = (int)utf8_count(text_of(t->columns[c].title));
    for (size_t i = 0; i < t->cells.n; i++) {
        int n = (int)utf8_count(t->cells.at[i].text);
        int *w = &width[document_column(t, i)];
        *w = n > *w ? n : *w;
    }
}

static int least_of(const struct document_column *c)
{
    enum { NAME_LEAST = 20 };
    return c->least ? c->least : NAME_LEAST;
}

/* What the table needs if names are cut to what they want at least. */
static int room_needed(const struct document_block *t, const int *width)
{
    int needed = 0;
    for (size_t c = 0; c < t->n_columns; c++) {
        int least = least_of(&t->columns[c]);
        bool cut = t->columns[c].wide && width[c] > least;
        needed += width[c] < 0 ? 0 : 2 + (cut ? least : width[c]);
    }
    return needed;
}

/* Columns that are left out get the width -1. */
static void drop_spare(const struct document_block *t, int *width, int room)
{
    while (room_needed(t, width) > room) {
        size_t best = t->n_columns;
        for (size_t c = 0; c < t->n_columns; c++)
            if (width[c] >= 0 && t->columns[c].spare &&
                (best == t->n_columns || t->columns[c].spare > t->columns[best].spare))
                best = c;
        if (best == t->n_columns)
            return;
        width[best] = -1;
    }
}

/* A wide column may be cut to so many characters. */
static int floor_of(const struct document_column *c)
{
    int least = least_of(c);
    return least < MIN_WIDE ? least : MIN_WIDE;
}

static int room_at_least(const struct document_block *t, const int *width)
{
    int needed = 0;
    for (size_t c = 0; c < t->n_columns; c++) {
        bool cut = t->columns[c].wide && width[c] > floor_of(&t->columns[c]);
        needed += width[c] < 0 ? 0 : 2 + (cut ? floor_of(&t->columns[c]) : width[c]);
    }
    return needed;
}

/* The last column of a kind that is there, if it is not the only one; else their number. */
static size_t find_further(const struct document_block *t, const int *width, bool wide)
{
    size_t last = t->n_columns, n = 0;
    for (size_t c = 0; c < t->n_columns; c++)
        if (width[c] >= 0 && t->columns[c].wide == wide) {
            last = c;
            n++;
        }
    return n > 1 ? last : t->n_columns;
}

/* On a terminal of 40 columns a name and one number say more than lines that are broken in two. */
static void drop_further(const struct document_block *t, int *width, int room)
{
    while (room_at_least(t, width) > room) {
        size_t c = find_further(t, width, true);
        if (c == t->n_columns)
            c = find_further(t, width, false);
        if (c == t->n_columns)
            return;
        width[c] = -1;
    }
}

/* A wide column's part of ROOM, where WANTED is what all that share it want at least. */
static int document_part_of(const struct document_column *c, int room, int wanted)
{
    int part = wanted ? room * least_of(c) / wanted : room;
    return part > floor_of(c) ? part : floor_of(c);
}

/* Wide columns share the room that the others leave; what one does not need the others may use. */
static void share_room(const struct document_block *t, int *width, int room)
{
    bool shares[MAX_COLUMNS], fewer = true;
    int wanted = 0;
    for (size_t c = 0; c < t->n_columns; c++) {
        shares[c] = t->columns[c].wide && width[c] >= 0;
        room -= width[c] < 0 ? 0 : 2 + (shares[c] ? 0 : width[c]);
        wanted += shares[c] ? least_of(&t->columns[c]) : 0;
    }
    while (fewer) {
        fewer = false;
        for (size_t c = 0; c < t->n_columns; c++)
            if (shares[c] && width[c] <= document_part_of(&t->columns[c], room, wanted)) {
                room -= width[c];
                wanted -= least_of(&t->columns[c]);
                shares[c] = false;
                fewer = true;
            }
    }
    for (size_t c = 0; c < t->n_columns; c++)
        if (shares[c])
            width[c] = document_part_of(&t->columns[c], room, wanted);
}

/* Where one got its least, others may have to give up what they took before. */
static void give_back(const struct document_block *t, int *width, int room)
{
    for (size_t widest = 0; widest < t->n_columns;) {
        int used = 0;
        widest = t->n_columns;
        for (size_t c = 0; c < t->n_columns; c++) {
            used += width[c] < 0 ? 0 : 2 + width[c];
            if (t->columns[c].wide && width[c] > floor_of(&t->columns[c]) &&
                (widest == t->n_columns || width[c] > width[widest]))
                widest = c;
        }
        if (used <= room)
            return;
        if (widest < t->n_columns)
            width[widest]--;
    }
}

static struct text tail_of(struct text t, size_t skip)
{
    struct text head = utf8_head(t, skip);
    return (struct text){t.at + head.n, t.n - head.n};
}

/* Returns the blanks that fill the column: the last one goes without. */
static int document_text_cell(const struct printer *p, const struct document_column *col,
                              struct text text, int width, const char *style)
{
    autobuf struct buf b = {0}, shorter = {0};
    text = clean(&b, text);
    int n = (int)utf8_count(text);
    bool cut_head = n > width && col->tail && text.at[0] != '['; /* not of "[kernel.kallsyms]" */
    if (cut_head) {
        text = tail_of(text, (size_t)(n - width + 2));
    } else if (n > width) {
        shortname_add(&shorter, text, (size_t)width);
        text = buf_text(&shorter);
    }
    n = (int)utf8_count(text) + (cut_head ? 2 : 0);
    int pad = n < width ? width - n : 0;
    fprintf(p->out, "%*s%s", col->right ? pad : 0, "", cut_head ? ".." : "");
    document_text_put(p, style, text);
    return col->right ? 0 : pad;
}

static const char *heat_style(double heat)
{
    return heat >= 0.2 ? RED : heat >= 0.05 ? YELLOW : "";
}

/* The last column that is not left out: a row ends there. */
static size_t last_shown(const struct document_block *t, const int *width)
{
    size_t c = t->n_columns;
    while (c > 1 && width[c - 1] < 0)
        c--;
    return c - 1;
}

static void print_table(const struct printer *p, const struct document_block *t)
{
    int width[MAX_COLUMNS];
    document_text_measure(t, width);
    drop_spare(t, width, p->width);
    drop_further(t, width, p->width);
    share_room(t, width, p->width);
    give_back(t, width, p->width);
    size_t last = last_shown(t, width);
    for (size_t c = 0; c < t->n_columns; c++) {
        if (width[c] < 0)
            continue;
        fputs("  ", p->out);
        struct text title = text_of(t->columns[c].title);
        int pad = document_text_cell(p, &t->columns[c], title, width[c], DIM);
        fprintf(p->out, "%*s", c == last ? 0 : pad, "");
    }
    putc('\n', p->out);
    for (size_t i = 0; i < t->cells.n; i++) {
        size_t c = document_column(t, i);
        if (width[c] < 0)
            continue;
        fputs("  ", p->out);
        int pad = document_text_cell(p, &t->columns[c], t->cells.at[i].text, width[c],
                                     heat_style(t->cells.at[i].heat));
        if (c == last)
            putc('\n', p->out);
        else
            fprintf(p->out, "%*s", pad, "");
    }
}

static void print_item(const struct printer *p, const struct document_block *b)
{
    autobuf struct buf title = {0}, text = {0}, advice = {0};
    fputs("  ", p->out);
    document_text_put(p, BOLD, clean(&title, b->title));
    fputs(": ", p->out);
    struct text shown = clean(&text, b->text);
    put_wrapped(p, shown, 4, (int)utf8_count(b->title) + 4);
    if (!b->advice.n)
        return;
    fputs("    ", p->out);
    put_wrapped(p, clean(&advice, b->advice), 4, 4);
}

static void print_code(const struct printer *p, struct text lines)
{
    while (lines.n) {
        autobuf struct buf text = {0};
        struct text line = clean(&text, text_cut(&lines, '\n'));
        fprintf(p->out, "    %.*s\n", (int)line.n, line.at ? line.at : "");
    }
}

static void print_block(const struct printer *p, const struct document_block *b)
{
    autobuf struct buf text = {0};
    switch (b->kind) {
    case DOCUMENT_HEADING:
        putc('\n', p->out);
        document_text_put(p, BOLD, clean(&text, b->text));
        putc('\n', p->out);
        break;
    case DOCUMENT_TEXT:
        fputs("  ", p->out);
        put_wrapped(p, clean(&text, b->text), 2, 2);
        break;
    case DOCUMENT_ITEM:
        print_item(p, b);
        break;
    case DOCUMENT_TABLE:
        print_table(p, b);
        break;
    case DOCUMENT_CODE:
    case DOCUMENT_NOTES:
        print_code(p, b->text);
        break;
    case DOCUMENT_IMAGE:
    case DOCUMENT_FIGURE:
        break;
    }
}

void document_print_text(FILE *out, const struct document *d, int width, bool colour)
{
    struct printer p = {out, width, colour};
    size_t dash = document_last_dash(d);
    for (size_t i = 0; i < d->blocks.n; i++) {
        print_block(&p, &d->blocks.at[i]);
        if (i == dash)
            print_block(&p, &document_dash);
    }
}

/* --- markdown --- */

/* What markdown or HTML would take for its own gets a backslash. */
static void put_escaped(FILE *out, struct text t)
{
    autobuf struct buf b = {0};
    utf8_plain(&b, t);
    for (size_t i = 0; i < b.n; i++) {
        if (strchr("\\`*_{}[]<>|#~&", b.at[i]))
            putc('\\', out);
        putc(b.at[i], out);
    }
}

/* Where it leads to: what could end it early is written as %XX. */
static void put_link(FILE *out, struct text link)
{
    for (size_t i = 0; i < link.n; i++) {
        unsigned char c = (unsigned char)link.at[i];
        fprintf(out, c <= ' ' || c >= 0x7f || strchr("()<>\\", c) ? "%%%02X" : "%c", c);
    }
}

static void markdown_cell(FILE *out, const struct document_cell *c)
{
    fputs(c->link.n ? "[" : "", out);
    put_escaped(out, c->text);
    if (!c->link.n)
        return;
    fputs("](", out);
    put_link(out, c->link);
    putc(')', out);
}

static void markdown_table(FILE *out, const struct document_block *t)
{
    putc('|', out);
    for (size_t c = 0; c < t->n_columns; c++)
        fprintf(out, " %s |", t->columns[c].title);
    fputs("\n|", out);
    for (size_t c = 0; c < t->n_columns; c++)
        fputs(t->columns[c].right ? "---:|" : "---|", out);
    for (size_t i = 0; i < t->cells.n; i++) {
        fputs(document_column(t, i) == 0 ? "\n| " : " ", out);
        markdown_cell(out, &t->cells.at[i]);
        fputs(" |", out);
    }
    fputs("\n\n", out);
}

/* What ends the block must not be in it. */
static int longest_fence(struct text t)
{
    int most = 3, n = 0;
    for (size_t i = 0; i < t.n; i++) {
        n = t.at[i] == '`' ? n + 1 : 0;
        most = n > most ? n : most;
    }
    return most;
}

static void put_fence(FILE *out, int n)
{
    while (n--)
        putc('`', out);
}

static void markdown_code(FILE *out, struct text lines)
{
    int fence = longest_fence(lines) + 1;
    put_fence(out, fence);
    fputs("text\n", out);
    while (lines.n) {
        autobuf struct buf text = {0};
        struct text line = clean(&text, text_cut(&lines, '\n'));
        fprintf(out, "%.*s\n", (int)line.n, line.at ? line.at : "");
    }
    put_fence(out, fence);
    fputs("\n\n", out);
}

static void markdown_block(FILE *out, const struct document_block *b)
{
    switch (b->kind) {
    case DOCUMENT_HEADING:
        fputs("## ", out);
        put_escaped(out, b->text);
        fputs("\n\n", out);
        break;
    case DOCUMENT_TEXT:
        put_escaped(out, b->text);
        fputs("\n\n", out);
        break;
    case DOCUMENT_ITEM:
        fputs("- **", out);
        put_escaped(out, b->title);
        fputs("**: ", out);
        put_escaped(out, b->text);
        fprintf(out, "%s%s", document_stop(b->text), b->advice.n ? " *" : "");
        put_escaped(out, b->advice);
        fputs(b->advice.n ? "*\n\n" : "\n\n", out);
        break;
    case DOCUMENT_TABLE:
        if (b->fixed) {
            fputs("````text\n", out);
            print_table(&(struct printer){out, 110, false}, b);
            fputs("````\n\n", out);
        } else {
            markdown_table(out, b);
        }
        break;
    case DOCUMENT_IMAGE:
        fputs(b->link.n ? "[![" : "![", out);
        put_escaped(out, b->title);
        fputs("](", out);
        put_link(out, b->text);
        fputs(b->link.n ? ")](" : ")\n\n", out);
        if (b->link.n) {
            put_link(out, b->link);
            fputs(")\n\n", out);
        }
        break;
    case DOCUMENT_CODE:
    case DOCUMENT_NOTES:
        markdown_code(out, b->text);
        break;
    case DOCUMENT_FIGURE:
        break;
    }
}

void document_print_markdown(FILE *out, const struct document *d, const char *title)
{
    fputs("# ", out);
    put_escaped(out, text_of(title));
    fputs("\n\n", out);
    size_t dash = document_last_dash(d);
    for (size_t i = 0; i < d->blocks.n; i++) {
        markdown_block(out, &d->blocks.at[i]);
        if (i == dash)
            markdown_block(out, &document_dash);
    }
}
