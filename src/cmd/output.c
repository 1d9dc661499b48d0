/*
 * output.c - format, width and colour of what is printed.
 */
#include "cmd/output.h"
#include "base/text.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

static const struct {
    const char *ending, *format;
} endings[] = {
    {".html", "html"}, {".htm", "html"}, {".json", "json"}, {".md", "md"},
    {".svg", "svg"},   {".csv", "csv"},  {".xml", "junit"},
};

const char *output_format(const struct output_opts *o)
{
    if (o->format)
        return o->format;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (text_ends(text_of(o->path), endings[i].ending))
            return endings[i].format;
    return "text";
}

bool output_to_terminal(const struct output_opts *o)
{
    return strcmp(o->path, "-") == 0 && isatty(STDOUT_FILENO);
}

int output_width(const struct output_opts *o)
{
    struct winsize size;
    if (o->width)
        return (int)o->width;
    if (output_to_terminal(o) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40)
        return size.ws_col;
    return 100;
}

bool output_in_colour(const struct output_opts *o)
{
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    if (strcmp(o->colour, "auto") != 0)
        return strcmp(o->colour, "always") == 0;
    return output_to_terminal(o) && !(no && *no) && term && strcmp(term, "dumb") != 0;
}

struct document_paper output_paper(const struct output_opts *o)
{
    const char *format = output_format(o);
    if (strcmp(format, "md") == 0)
        return (struct document_paper){.form = DOCUMENT_AS_MARKDOWN};
    if (strcmp(format, "html") == 0)
        return (struct document_paper){.form = DOCUMENT_AS_HTML};
    return (struct document_paper){DOCUMENT_AS_TEXT, output_width(o), output_in_colour(o)};
}
