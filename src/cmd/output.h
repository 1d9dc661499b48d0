/*
 * output.h - what all commands that print a report have in common: where to, in which format, how
 * wide and whether in colour.
 */
#pragma once
#include "base/opt.h"
#include "view/document.h"

struct output_opts {
    const char *path;   /* "-" = standard output */
    const char *format; /* NULL = by the end of the path */
    const char *colour; /* "auto" */
    long width;         /* 0 = the terminal's */
};

#define OUTPUT_DEFAULTS               \
    {                                 \
        .path = "-", .colour = "auto" \
    }

/*
 * Rows for a command's option table, whose struct S has a `struct output_opts output`. CHOICES are
 * the formats, "text md json"; IN_WORDS the same for help: "text, md or json".
 */
#define OUTPUT_OPTS(S, CHOICES, IN_WORDS)                                                         \
    {.letter = 'o',                                                                               \
     .name = "output",                                                                            \
     .kind = OPT_TEXT,                                                                            \
     .offset = offsetof(S, output.path),                                                          \
     .arg = "FILE",                                                                               \
     .help = "write to FILE (default: standard output)"},                                         \
        {.name = "format",                                                                        \
         .kind = OPT_CHOICE,                                                                      \
         .offset = offsetof(S, output.format),                                                    \
         .arg = "FORMAT",                                                                         \
         .help = IN_WORDS " (default: by the end of FILE's name, else text)",                     \
         .choices = CHOICES},                                                                     \
        {.name = "width",                                                                         \
         .kind = OPT_INT,                                                                         \
         .offset = offsetof(S, output.width),                                                     \
         .arg = "COLUMNS",                                                                        \
         .help = "width of text (default: the terminal's, else 100)",                             \
         .min = 40,                                                                               \
         .max = 1000},                                                                            \
    {                                                                                             \
        .name = "color", .kind = OPT_CHOICE, .offset = offsetof(S, output.colour), .arg = "WHEN", \
        .help = "auto, always or never; auto respects NO_COLOR (default: auto)",                  \
        .choices = "auto always never", .alias = "colour"                                         \
    }

/* The format's name: the one asked for, else by the end of the path: "x.htm" is html. */
const char *output_format(const struct output_opts *o);

int output_width(const struct output_opts *o);
bool output_to_terminal(const struct output_opts *o); /* a person reads it as it comes */
bool output_in_colour(const struct output_opts *o);

/* For documents: as markdown and HTML where that is the format, else as text. */
struct document_paper output_paper(const struct output_opts *o);
