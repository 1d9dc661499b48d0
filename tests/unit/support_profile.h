/* support_profile.h - a profile as text, through names only, so that two can be compared. */
#pragma once
#include "base/buf.h"
#include "model/profile.h"

static inline void print_stack(struct buf *out, const struct profile *p, struct stack_id id)
{
    for (; id.i; id = p->stacks.nodes.at[id.i].parent) {
        const struct frame *f = profile_frame(p, p->stacks.nodes.at[id.i].frame);
        const struct mapping *m = &p->mappings.at[f->mapping.i];
        buf_printf(out, "  pc %llx kind %d in %s %s %llx-%llx+%llx\n", (unsigned long long)f->pc,
                   f->kind, profile_str(p, m->path).at, profile_str(p, m->build_id).at,
                   (unsigned long long)m->start, (unsigned long long)m->end,
                   (unsigned long long)m->offset);
        for (int i = 0; i < f->n_lines; i++) {
            struct line l = profile_lines(p, f)[i];
            const struct function *fn = &p->functions.at[l.function.i];
            buf_printf(out, "    %s (%s) %s:%u at %u:%u\n", profile_str(p, fn->name).at,
                       profile_str(p, fn->system_name).at, profile_str(p, fn->file).at, fn->line,
                       l.line, l.column);
        }
    }
}

static inline void print_attrs(struct buf *out, const struct profile *p, struct attrs_id id)
{
    for (; id.i; id = p->attrs.nodes.at[id.i].parent) {
        const struct attr *a = &p->attrs.nodes.at[id.i].attr;
        buf_printf(out, " {%s=", profile_str(p, a->key).at);
        if (a->is_number)
            buf_printf(out, "%lld %s}", (long long)a->number, profile_str(p, a->unit).at);
        else
            buf_printf(out, "'%s'}", profile_str(p, a->text).at);
    }
}

static inline void print_row(struct buf *out, const struct profile *p, const struct stream *s,
                             size_t i)
{
    const struct rows *r = &s->rows;
    const struct thread *t = &p->threads.at[r->thread[i].i];
    buf_printf(out, "row %s %d/%d", profile_str(p, t->name).at, profile_pid(p, t), t->tid);
    if (r->time_ns)
        buf_printf(out, " time %llu", (unsigned long long)r->time_ns[i]);
    if (r->duration_ns)
        buf_printf(out, " lasts %llu", (unsigned long long)r->duration_ns[i]);
    for (int j = 0; j < s->n_types; j++)
        buf_printf(out, " %lld", (long long)r->value[j][i]);
    if (r->attrs)
        print_attrs(out, p, r->attrs[i]);
    buf_str(out, "\n");
    print_stack(out, p, r->stack[i]);
}

static inline void print_stream(struct buf *out, const struct profile *p, const struct stream *s)
{
    static const char *const roles[VALUE_ROLES] = {"samples", "flow", "level"};
    buf_printf(out, "stream '%s' by %s rate %g lost %d %llu\n", profile_str(p, s->event).at,
               obtained_name(s->obtained), s->rate_hz, s->lost_known, (unsigned long long)s->lost);
    for (int i = 0; i < s->n_types; i++) {
        const struct value_type *t = &s->types[i];
        buf_printf(out, "type %s|%s %s decimals %d total %lld\n", profile_str(p, t->name).at,
                   profile_str(p, t->unit).at, roles[t->role], t->decimals, (long long)t->total);
    }
    for (size_t i = 0; i < s->rows.n; i++)
        print_row(out, p, s, i);
}

static inline void print_profile(struct buf *out, const struct profile *p)
{
    out->n = 0;
    buf_printf(out, "default %d %d\n", p->default_value.stream, p->default_value.type);
    buf_printf(out, "clock %llu %llu\n", (unsigned long long)p->clock.monotonic_ns,
               (unsigned long long)p->clock.wall_ns);
    for (size_t i = 0; i < p->meta.entries.n; i++)
        buf_printf(out, "meta %s=%s\n", p->meta.entries.at[i].key, p->meta.entries.at[i].value);
    for (size_t i = 0; i < p->streams.n; i++)
        print_stream(out, p, p->streams.at[i]);
    buf_cstr(out);
}
