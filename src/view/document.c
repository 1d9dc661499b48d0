/* document.c - building a document; printing it is in document_text.c and document_html.c. */
#include "view/document.h"

#include "base/buf.h"

#include <stdarg.h>

void document_done(struct document *d)
{
    for (size_t i = 0; i < d->blocks.n; i++)
        vec_done(&d->blocks.at[i].cells);
    vec_done(&d->blocks);
    arena_done(&d->arena);
}

static struct document_block *document_add_block(struct document *d, enum document_kind kind)
{
    struct document_block *b = vec_push(&d->blocks);
    *b = (struct document_block){.kind = kind};
    return b;
}

void document_heading(struct document *d, const char *text)
{
    document_add_block(d, DOCUMENT_HEADING)->text = arena_text(&d->arena, text_of(text));
}

void document_text(struct document *d, const char *fmt, ...)
{
    char *text;
    va_list args;
    va_start(args, fmt);
    int n = vasprintf(&text, fmt, args);
    va_end(args);
    if (n < 0)
        return;
    document_add_block(d, DOCUMENT_TEXT)->text = arena_text(&d->arena, text_of(text));
    free(text);
}

void document_item(struct document *d, const char *title, const char *text, const char *advice)
{
    struct document_block *b = document_add_block(d, DOCUMENT_ITEM);
    b->title = arena_text(&d->arena, text_of(title));
    b->text = arena_text(&d->arena, text_of(text));
    b->advice = arena_text(&d->arena, text_of(advice));
}

void document_figure(struct document *d)
{
    document_add_block(d, DOCUMENT_FIGURE);
}

void document_image(struct document *d, const char *file, const char *alt)
{
    struct document_block *b = document_add_block(d, DOCUMENT_IMAGE);
    b->title = arena_text(&d->arena, text_of(alt));
    b->text = arena_text(&d->arena, text_of(file));
}

void document_image_link(struct document *d, const char *link)
{
    d->blocks.at[d->blocks.n - 1].link = arena_text(&d->arena, text_of(link));
}

void document_code(struct document *d, const char *lines)
{
    document_add_block(d, DOCUMENT_CODE)->text = arena_text(&d->arena, text_of(lines));
}

void document_notes(struct document *d, const char *markdown)
{
    document_add_block(d, DOCUMENT_NOTES)->text = arena_text(&d->arena, text_of(markdown));
}

void document_table(struct document *d, const struct document_column *columns, size_t n_columns)
{
    struct document_block *b = document_add_block(d, DOCUMENT_TABLE);
    b->columns = columns;
    b->n_columns = n_columns;
}

void document_tree(struct document *d, const struct document_column *columns, size_t n_columns)
{
    document_table(d, columns, n_columns);
    d->blocks.at[d->blocks.n - 1].fixed = true;
}

void document_cell(struct document *d, struct text text, double heat)
{
    struct document_block *b = &d->blocks.at[d->blocks.n - 1];
    *vec_push(&b->cells) =
        (struct document_cell){.text = arena_text(&d->arena, text), .heat = heat};
}

void document_cell_link(struct document *d, struct text text, const char *link)
{
    document_cell(d, text, 0);
    struct document_block *b = &d->blocks.at[d->blocks.n - 1];
    b->cells.at[b->cells.n - 1].link = arena_text(&d->arena, text_of(link));
}

#define DASH_WORDS "A dash (-) stands for what is not known or does not apply."
const struct document_block document_dash = {.kind = DOCUMENT_TEXT,
                                             .text = {DASH_WORDS, sizeof DASH_WORDS - 1}};

size_t document_last_dash(const struct document *d)
{
    for (size_t i = d->blocks.n; i-- > 0;)
        for (size_t k = 0; k < d->blocks.at[i].cells.n; k++)
            if (text_is(d->blocks.at[i].cells.at[k].text, "-"))
                return i;
    return SIZE_MAX;
}

static bool column_is_empty(const struct document_block *b, size_t column)
{
    for (size_t i = column; i < b->cells.n; i += b->n_columns)
        if (b->cells.at[i].text.n)
            return false;
    return true;
}

void document_drop_empty(struct document *d)
{
    struct document_block *b = &d->blocks.at[d->blocks.n - 1];
    autofree bool *keep = mem_calloc(b->n_columns + 1, sizeof *keep);
    struct document_column *columns = arena_get(&d->arena, b->n_columns * sizeof *columns);
    size_t n = 0, n_cells = 0;
    for (size_t c = 0; c < b->n_columns; c++) {
        keep[c] = !column_is_empty(b, c);
        if (keep[c])
            columns[n++] = b->columns[c];
    }
    if (!n)
        return;
    for (size_t i = 0; i < b->cells.n; i++)
        if (keep[document_column(b, i)])
            b->cells.at[n_cells++] = b->cells.at[i];
    b->cells.n = n_cells;
    b->columns = columns;
    b->n_columns = n;
}

static void print_under_heading(FILE *out, const struct document *d, const char *title,
                                const struct document_paper *paper)
{
    struct document head = {0};
    document_heading(&head, title);
    document_print_text(out, &head, paper->width, paper->colour);
    document_print_text(out, d, paper->width, paper->colour);
    document_done(&head);
}

void document_print(FILE *out, const struct document *d, const char *title,
                    const struct document_paper *paper, const struct document_figures *figures)
{
    switch (paper->form) {
    case DOCUMENT_AS_TEXT:
        print_under_heading(out, d, title, paper);
        return;
    case DOCUMENT_AS_MARKDOWN:
        document_print_markdown(out, d, title);
        return;
    case DOCUMENT_AS_HTML:
        document_print_html(out, d, title, figures);
        return;
    }
}
