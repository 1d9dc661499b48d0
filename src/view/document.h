/*
 * document.h - headings, paragraphs and tables, written once and printed for a terminal, as
 * markdown or as HTML.
 *
 * Texts are copied. Everything is freed at once with document_done().
 */
#pragma once
#include "base/arena.h"
#include "base/vec.h"

#include <stdio.h>

enum document_kind {
    DOCUMENT_HEADING,
    DOCUMENT_TEXT,
    DOCUMENT_ITEM, /* of a list: a bold word, what there is to say, what to do */
    DOCUMENT_TABLE,
    DOCUMENT_IMAGE,  /* a file beside the page; not in the terminal */
    DOCUMENT_CODE,   /* lines to be typed or that were printed, as they are */
    DOCUMENT_NOTES,  /* Markdown of somebody's own: read for HTML (markdown.h), else as it is */
    DOCUMENT_FIGURE, /* HTML only: whoever prints the page draws it */
};

struct document_column {
    const char *title;
    bool right; /* aligned to the right: numbers */
    bool wide;  /* takes the room that is left, is cut where there is none */
    bool tail;  /* cut at its start: the end of a path says more */
    int least;  /* characters that a wide one wants before others are left out; 0 = 20 */
    int spare;  /* left out where a terminal is too narrow, the highest first; 0 = never */
};

struct document_cell {
    struct text text;
    struct text link; /* where it leads, relative to the page; empty = nowhere */
    double heat;      /* a share, 0 to 1, shown as colour or bar; 0 = none */
};

struct document_block {
    enum document_kind kind;
    struct text title, text, advice;
    struct text link;                      /* of an image: what a click opens; empty = itself */
    const struct document_column *columns; /* of a table; the caller's */
    size_t n_columns;
    bool fixed;                      /* blanks in cells matter: a tree */
    VEC(struct document_cell) cells; /* row by row */
};

/* The column of cell I of a table. */
static inline size_t document_column(const struct document_block *t, size_t i)
{
    return t->n_columns ? i % t->n_columns : 0;
}

struct document {
    VEC(struct document_block) blocks;
    struct arena arena;
};

void document_done(struct document *d);

void document_heading(struct document *d, const char *text);
void document_text(struct document *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void document_item(struct document *d, const char *title, const char *text, const char *advice);

/* The full stop that the text of an item has not got. */
static inline const char *document_stop(struct text text)
{
    return text.n && text.at[text.n - 1] == '.' ? "" : ".";
}

void document_figure(struct document *d);
void document_image(struct document *d, const char *file, const char *alt);
void document_image_link(struct document *d, const char *link); /* of the image added last */
void document_code(struct document *d, const char *lines);
void document_notes(struct document *d, const char *markdown);

/* A table, filled cell by cell from the left and from the top. COLUMNS must outlive D. */
void document_table(struct document *d, const struct document_column *columns, size_t n_columns);
void document_tree(struct document *d, const struct document_column *columns, size_t n_columns);
void document_cell(struct document *d, struct text text, double heat);

/* Take the columns without any text out of the table that was added last. */
void document_drop_empty(struct document *d);
void document_cell_link(struct document *d, struct text text, const char *link);

/* A paragraph that says what "-" stands for, and the last table that has one, below which it goes;
 * SIZE_MAX where none has. */
extern const struct document_block document_dash;
size_t document_last_dash(const struct document *d);

void document_print_text(FILE *out, const struct document *d, int width, bool colour);
void document_print_markdown(FILE *out, const struct document *d, const char *title);

/* DRAW prints figure number I of the document, the first being 0, as SVG or HTML. */
struct document_figures {
    void (*draw)(FILE *out, const void *ctx, size_t i);
    const void *ctx;
    void (*end)(FILE *out, const void *end_ctx); /* prints before </body>; NULL = nothing */
    const void *end_ctx;
};

void document_print_html(FILE *out, const struct document *d, const char *title,
                         const struct document_figures *figures);

/* The output of a document. */
enum document_form { DOCUMENT_AS_TEXT, DOCUMENT_AS_MARKDOWN, DOCUMENT_AS_HTML };

struct document_paper {
    enum document_form form;
    int width;   /* of text, in columns */
    bool colour; /* of text */
};

/* D under TITLE in the form that PAPER asks for. FIGURES are for HTML; NULL = none. */
void document_print(FILE *out, const struct document *d, const char *title,
                    const struct document_paper *paper, const struct document_figures *figures);

/* As HTML without a script, and only what stands between <body> and </body>. */
void document_print_still(FILE *out, const struct document *d, const char *title,
                          const struct document_figures *figures);
void document_print_style(FILE *out);
