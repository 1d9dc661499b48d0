/* findings.c - see findings.h. */
#include "view/findings.h"

#include "base/json.h"
#include "view/document.h"

void findings_list(struct document *d, const struct findings *s)
{
    for (size_t i = 0; i < s->at.n; i++)
        document_item(d, s->at.at[i].title, s->at.at[i].text, s->at.at[i].advice);
}

void findings_show(struct document *d, const struct findings *s)
{
    if (s->at.n)
        document_heading(d, "Insights");
    findings_list(d, s);
}

void findings_put(struct json *j, const struct findings *s)
{
    json_key(j, "insights");
    json_open(j, '[');
    for (size_t i = 0; i < s->at.n; i++) {
        json_open(j, '{');
        json_put_str(j, "title", s->at.at[i].title);
        json_put_str(j, "text", s->at.at[i].text);
        json_put_str(j, "advice", s->at.at[i].advice);
        json_close(j, '}');
    }
    json_close(j, ']');
}
