#include "cmd/view_start.h"

static void view_add_part(struct buf *b, const char *key, const char *value)
{
    if (!value)
        return;
    buf_printf(b, "%s%s=", b->n ? "&" : "", key);
    for (const char *c = value; *c; c++)
        if ((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') ||
            *c == '.' || *c == '_' || *c == '-')
            buf_byte(b, (uint8_t)*c);
        else
            buf_printf(b, "%%%02X", (unsigned char)*c);
}

static void view_add_parts(struct buf *b, const char *key, const struct opt_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        view_add_part(b, key, list->at[i]);
}

void view_add_start(struct buf *b, const struct input_opts *o)
{
    view_add_part(b, "event", o->event);
    view_add_part(b, "value", o->value);
    view_add_part(b, "time", o->time);
    view_add_parts(b, "thread", &o->threads);
    view_add_parts(b, "process", &o->processes);
    view_add_parts(b, "where", &o->where);
    view_add_parts(b, "scope", &o->scopes);
    view_add_parts(b, "focus", &o->focus);
    view_add_parts(b, "ignore", &o->ignore);
    view_add_parts(b, "hide", &o->hide);
    view_add_parts(b, "collapse-module", &o->collapse_modules);
    view_add_parts(b, "collapse-recursion", &o->collapse_recursion);
    view_add_part(b, "subtree", o->subtree);
    if (o->merge_recursion)
        view_add_part(b, "merge-recursion", "1");
}
