#include "view/export/spans.h"

#include "analysis/scopejoin.h"
#include "analysis/scopetree.h"

const struct stream *export_spans(const struct selection *s, const char *format, struct err *err)
{
    int scopes = scopetree_stream(s->profile);
    if (s->stream->rows.duration_ns && s->stream->rows.time_ns)
        return s->stream;
    if (scopes >= 0)
        return profile_stream(s->profile, scopes);
    err_set(err, EXIT_INPUT,
            "%s holds spans, and there are none: scopes come from programs that use kelvin.h",
            format);
    err_hint(err, HINT_SCOPES);
    return NULL;
}

struct text export_span_name(const struct profile *p, const struct stream *s, size_t row)
{
    struct stack_id stack = s->rows.stack[row];
    const struct frame *f = profile_frame(p, p->stacks.nodes.at[stack.i].frame);
    const struct line *lines = stack.i ? profile_lines(p, f) : NULL;
    return lines ? profile_function_name(p, lines[0].function) : text_of("[no name]");
}

bool export_span_is_async(const struct profile *p, const struct stream *s, size_t row)
{
    uint32_t key = intern_find(&p->strings, text_of(SCOPE_ASYNC_KEY));
    return key != IDMAP_NONE && s->rows.attrs &&
           attrs_find(&p->attrs, s->rows.attrs[row], (struct str_id){key});
}
